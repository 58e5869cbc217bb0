# engine/record: layer 2.
noinst_LIBRARIES += librecord.a
librecord_a_SOURCES = \
	%D%/difference.c %D%/facts.c %D%/files.c %D%/findings.c %D%/metrics.c \
	%D%/ranks.c %D%/record.c %D%/record.h %D%/samples.c %D%/scan.c %D%/scan.h \
	%D%/growing.c %D%/growing.h %D%/text_difference.c

check_PROGRAMS += tests/unit/record_read tests/unit/record_scan
tests_unit_record_read_LDADD = $(RECORD_LIBS)
tests_unit_record_scan_LDADD = $(RECORD_LIBS)

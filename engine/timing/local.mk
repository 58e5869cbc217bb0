# engine/timing: layer 6. Add the sources (headers too) to the first list, and a
# test as: check_PROGRAMS += tests/unit/timing_NAME
#          tests_unit_timing_NAME_LDADD = $(TIMING_LIBS)
noinst_LIBRARIES += libtiming.a
libtiming_a_SOURCES = \
	%D%/fit.c %D%/fit.h \
	%D%/lengths.c %D%/lengths.h \
	%D%/measured.c %D%/measured.h \
	%D%/paged.c \
	%D%/profile.c %D%/profile.h \
	%D%/sampling.c %D%/sampling.h \
	%D%/seconds.c %D%/seconds.h \
	%D%/transfers.c %D%/transfers.h \
	%D%/workload.c %D%/workload.h

check_PROGRAMS += tests/unit/timing_fit tests/unit/timing_lengths \
	tests/unit/timing_seconds tests/unit/timing_transfers \
	tests/unit/timing_workload
tests_unit_timing_fit_LDADD = $(TIMING_LIBS)
tests_unit_timing_lengths_LDADD = $(TIMING_LIBS)
tests_unit_timing_seconds_LDADD = $(TIMING_LIBS)
tests_unit_timing_transfers_LDADD = $(TIMING_LIBS)
tests_unit_timing_workload_LDADD = $(TIMING_LIBS)

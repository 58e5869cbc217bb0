# engine/comm: layer 2. Add the sources (headers too) to the first list, and a
# test as: check_PROGRAMS += tests/unit/comm_NAME
#          tests_unit_comm_NAME_LDADD = $(COMM_LIBS)
noinst_LTLIBRARIES += libcomm.la
libcomm_la_SOURCES = %D%/comm.h %D%/mail.h %D%/type.def

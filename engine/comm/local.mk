# engine/comm: layer 2. Add the sources (headers too) to the first list, and a
# test as: check_PROGRAMS += tests/unit/comm_NAME
#          tests_unit_comm_NAME_LDADD = $(COMM_LIBS)
noinst_LTLIBRARIES += libcomm.la
libcomm_la_SOURCES = \
	%D%/comm.h %D%/mail.h %D%/type.def \
	%D%/internal.h \
	%D%/batch.c \
	%D%/group.c \
	%D%/link.c %D%/link.h \
	%D%/mail.c \
	%D%/meet.c \
	%D%/reduce.c \
	%D%/sum.c \
	%D%/thread.c \
	%D%/world.c

check_PROGRAMS += tests/unit/comm_thread
tests_unit_comm_thread_LDADD = $(COMM_LIBS) -lm

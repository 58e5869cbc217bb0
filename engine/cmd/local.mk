# engine/cmd and engine/main.c: the program, on the layers themselves so that
# it starts without looking for the shared library.
bin_PROGRAMS += rlflow
rlflow_SOURCES = engine/main.c \
	%D%/check.c \
	%D%/cmd.h \
	%D%/common.c \
	%D%/fmt.c \
	%D%/graph.c \
	%D%/params.c \
	%D%/plan.c \
	%D%/run.c
rlflow_LDADD = $(API_LIBS)

# The same with the other kind of MPI, for the tests: it is none itself.
if HAVE_OTHER_MPI
EXTRA_PROGRAMS += tests/rlflow_other
check_DATA += tests/rlflow_other
tests_rlflow_other_SOURCES = $(rlflow_SOURCES) engine/comm/mpi.c
tests_rlflow_other_CFLAGS = $(AM_CFLAGS) $(OTHER_MPI_CFLAGS)
tests_rlflow_other_LDADD = $(API_OTHER_LIBS)
CLEANFILES += tests/rlflow_other
endif

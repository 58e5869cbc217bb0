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

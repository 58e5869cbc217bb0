# engine/cmd and engine/main.c: the program, on the layers themselves so that
# it starts without looking for the shared library. What is in this folder is an
# archive, for it is in the programs of tests below as well.
bin_PROGRAMS += rlflow
noinst_LIBRARIES += libcmd.a
libcmd_a_SOURCES = \
	%D%/check.c \
	%D%/chart.c %D%/chart.h \
	%D%/cluster.c \
	%D%/cmd.h \
	%D%/color.c \
	%D%/common.c \
	%D%/compare.c \
	%D%/data.c \
	%D%/doctor.c \
	%D%/display.c %D%/display.h \
	%D%/eval.c \
	%D%/fmt.c \
	%D%/generate.c \
	%D%/explain.c \
	%D%/graph.c \
	%D%/inspect.c \
	%D%/lsp.c \
	%D%/main.c \
	%D%/merge.c \
	%D%/message.c %D%/metric_order.c \
	%D%/params.c \
	%D%/plan.c \
	%D%/profile.c \
	%D%/times.c %D%/times.h \
	%D%/recorded.c \
	%D%/report.c \
	%D%/run.c \
	%D%/samples.c \
	%D%/schedule.c \
	%D%/search.c \
	%D%/simulate.c \
	%D%/given.c %D%/given.h \
	%D%/stack.c \
	%D%/tokenize.c %D%/trace_sample.c \
	%D%/version.c \
	%D%/watch.c
rlflow_SOURCES = engine/main.c
rlflow_LDADD = libcmd.a liblsp.a $(API_LIBS)

# The same with GPUs that are emulated, for tests.
if HAVE_CXX
EXTRA_PROGRAMS += tests/rlflow_emulated
check_DATA += tests/rlflow_emulated
tests_rlflow_emulated_SOURCES = tests/emulated.c
tests_rlflow_emulated_LDADD = libcmd.a liblsp.a $(EMULATED_DEVICE_LIBS) $(API_LIBS)
CLEANFILES += tests/rlflow_emulated
endif

# The same with the other kind of MPI, for the tests: it is none itself.
if HAVE_OTHER_MPI
EXTRA_PROGRAMS += tests/rlflow_other tests/api_fault_other
check_DATA += tests/rlflow_other tests/api_fault_other
tests_rlflow_other_SOURCES = $(rlflow_SOURCES) $(transports)
tests_rlflow_other_CFLAGS = $(AM_CFLAGS) $(OTHER_MPI_CFLAGS)
tests_rlflow_other_LDADD = libcmd.a liblsp.a $(API_OTHER_LIBS)
tests_api_fault_other_SOURCES = tests/unit/api_fault.c $(transports)
tests_api_fault_other_CFLAGS = $(AM_CFLAGS) $(OTHER_MPI_CFLAGS)
tests_api_fault_other_LDADD = $(API_OTHER_LIBS)
tests_api_fault_other_LDFLAGS = $(AM_LDFLAGS) $(faults)
CLEANFILES += tests/rlflow_other tests/api_fault_other
endif

# The scripts by which shells complete commands, printed by the program itself.
if !CROSS_COMPILING
bashcompletiondir = $(datadir)/bash-completion/completions
bashcompletion_DATA = %D%/rlflow
zshcompletiondir = $(datadir)/zsh/site-functions
zshcompletion_DATA = %D%/_rlflow
%D%/rlflow: rlflow$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) %D% && ./rlflow$(EXEEXT) completion bash >$@.tmp && \
	    mv $@.tmp $@
%D%/_rlflow: rlflow$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) %D% && ./rlflow$(EXEEXT) completion zsh >$@.tmp && \
	    mv $@.tmp $@
CLEANFILES += %D%/rlflow %D%/_rlflow
endif

check_PROGRAMS += tests/unit/cmd_chart
tests_unit_cmd_chart_LDADD = libcmd.a liblsp.a $(BASE_LIBS)

# tests: unit tests are check_PROGRAMS of their folder's local.mk; shell tests
# are tests/NAME.tap, listed here or in their folder's local.mk (tap_tests).
tap_tests += %D%/gpu_ranks.tap %D%/bad.tap %D%/checkpoints.tap %D%/flipped.tap %D%/paths.tap %D%/rescue.tap %D%/data.tap %D%/inspect_data.tap %D%/tokenize.tap %D%/inspect.tap %D%/merge.tap %D%/eval.tap %D%/ranks.tap %D%/weights.tap %D%/stages.tap %D%/zero.tap %D%/ahead.tap %D%/offload.tap %D%/resume.tap %D%/inputs.tap %D%/outputs.tap %D%/record.tap %D%/lock.tap %D%/bits.tap %D%/bf16.tap %D%/shared.tap %D%/pairs.tap %D%/guesses.tap %D%/migrate.tap %D%/pipe.tap %D%/schedule.tap %D%/collect.tap %D%/caps.tap %D%/language.tap %D%/leaks.tap %D%/learn.tap %D%/place.tap %D%/place_many.tap %D%/plan.tap %D%/plan_back.tap %D%/auto.tap %D%/searched.tap %D%/tight.tap %D%/slow_links.tap %D%/late_steps.tap %D%/estimated.tap %D%/odd_machines.tap %D%/profile.tap %D%/manual.tap %D%/layers.tap %D%/man.tap %D%/scripts.tap %D%/documents.tap %D%/vocab.tap %D%/gradient.tap %D%/readers.tap %D%/messages.tap %D%/nothing.tap %D%/arose.tap %D%/step_arguments.tap %D%/generate.tap %D%/graph_picture.tap %D%/explain.tap %D%/packaging.tap %D%/tutorial.tap %D%/gallery.tap %D%/html.tap %D%/python.tap %D%/embedding.tap %D%/doctor.tap %D%/recorded.tap
tap_tests += %D%/simulate.tap %D%/trace_sample.tap
tap_tests += %D%/lsp.tap %D%/editors.tap
tap_tests += %D%/tokens.tap %D%/sinks.tap %D%/traces.tap %D%/rank_times.tap
tap_tests += %D%/mpi.tap %D%/gpu_runs.tap %D%/terminal.tap %D%/heeded.tap %D%/in_way.tap
EXTRA_DIST += %D%/tap.h %D%/put.h %D%/damage.h %D%/fit_errors.h %D%/longest_term.h %D%/pipe_join.h %D%/tap.sh %D%/limit %D%/aarch64.sh %D%/gpu.sh \
	%D%/coverage
tap_tests += %D%/kills.tap %D%/layouts.tap %D%/mpi_end.tap %D%/mpi_other.tap
EXTRA_DIST += %D%/layouts.table %D%/mpi.sh

# Published numbers: what tests and bench/papers share lies in papers/.
papers_sources = %D%/papers/settings.c %D%/papers/settings.h \
	%D%/papers/real.c %D%/papers/real.h %D%/papers/real_table.h \
	%D%/papers/hybridflow.c %D%/papers/hybridflow.h \
	%D%/papers/scale.c %D%/papers/scale.h
check_PROGRAMS += %D%/unit/papers_exact %D%/unit/papers_real %D%/unit/papers_scale
%C%_unit_papers_exact_SOURCES = %D%/unit/papers_exact.c $(papers_sources)
%C%_unit_papers_exact_LDADD = $(API_LIBS)
%C%_unit_papers_real_SOURCES = %D%/unit/papers_real.c $(papers_sources)
%C%_unit_papers_real_LDADD = $(API_LIBS)
%C%_unit_papers_scale_SOURCES = %D%/unit/papers_scale.c $(papers_sources)
%C%_unit_papers_scale_LDADD = $(API_LIBS)

TESTS = $(check_PROGRAMS) $(tap_tests)
TEST_EXTENSIONS = .tap
unit_tests = $(filter tests/unit/%,$(check_PROGRAMS))
print-unit-tests:
	@echo $(unit_tests)
print-tests:
	@echo $(TESTS)
print-programs:
	@echo $(check_PROGRAMS)
.PHONY: print-unit-tests print-tests print-programs
tap_driver = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
LOG_DRIVER = $(tap_driver)
TAP_LOG_DRIVER = $(tap_driver)
# every test runs under a time limit: a hang is a failure with a message
LOG_COMPILER = $(SHELL) $(top_srcdir)/tests/limit
TAP_LOG_COMPILER = $(SHELL) $(top_srcdir)/tests/limit $(SHELL)
AM_TESTS_ENVIRONMENT = \
	RLFLOW='$(abs_top_builddir)/rlflow'; export RLFLOW; \
	RLFLOW_STDLIB='$(abs_top_srcdir)/stdlib'; export RLFLOW_STDLIB; \
	RLFLOW_SOURCE='$(abs_top_srcdir)'; export RLFLOW_SOURCE; \
	RLFLOW_BUILD='$(abs_top_builddir)'; export RLFLOW_BUILD; \
	MANDOC='$(MANDOC)'; export MANDOC; \
	PANDOC='$(PANDOC)'; export PANDOC; \
	MPIEXEC_OPENMPI='$(MPIEXEC_OPENMPI)'; export MPIEXEC_OPENMPI; \
	MPIEXEC_MPICH='$(MPIEXEC_MPICH)'; export MPIEXEC_MPICH; \
	MPIEXEC='$(MPIEXEC)'; export MPIEXEC; \
	OTHER_MPIEXEC='$(OTHER_MPIEXEC)'; export OTHER_MPIEXEC; \
	: "$${RLFLOW_TEST_DATA=$(abs_top_srcdir)/../shared/data}"; \
	export RLFLOW_TEST_DATA;

# Not a program's: it is preloaded into others by faults.tap.
tap_tests += %D%/faults.tap
tap_tests += %D%/frozen.tap %D%/report.tap
tap_tests += %D%/lora.tap %D%/clusters.tap
EXTRA_DIST += %D%/faults.c
check_DATA += %D%/faults.so
CLEANFILES += %D%/faults.so
%D%/faults.so: %D%/faults.c
	$(AM_V_CC)$(CC) -O1 -Wall -shared -fPIC -o $@ $(top_srcdir)/tests/faults.c

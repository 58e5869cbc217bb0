# engine/api: layer 8. Add the sources (headers too) to the first list, and a
# test as: check_PROGRAMS += tests/unit/api_NAME
#          tests_unit_api_NAME_LDADD = $(API_LIBS)
noinst_LIBRARIES += libapi.a
libapi_a_SOURCES = \
	%D%/answering.c %D%/build.c %D%/calling.c %D%/editing.c %D%/ending.c %D%/evaluating.c %D%/fingerprint.c %D%/host.c \
	%D%/measuring.c %D%/plan_origin.c %D%/plan_origin.h %D%/planning.c \
	%D%/processes.c %D%/program.c %D%/queries.c %D%/results.c %D%/session.c \
	%D%/session.h %D%/settings.c %D%/stdlib.c %D%/stopping.c %D%/tracing.c %D%/warnings.c %D%/weights.c \
	%D%/machines/doctor.c %D%/machines/speed.c %D%/machines/speed.h \
	%D%/machines/cluster.c %D%/machines/cluster.h %D%/machines/cluster_text.c \
	%D%/machines/links.c %D%/machines/planned_device.c \
	%D%/machines/planned_device.h %D%/machines/profile.c %D%/machines/profile.h \
	%D%/rundir/directory.c %D%/rundir/input_errors.c %D%/rundir/inputs.c \
	%D%/rundir/journal.c %D%/rundir/outputs.c %D%/rundir/record.c \
	%D%/rundir/rollback.c %D%/rundir/rundir.c %D%/rundir/rundir.h \
	%D%/rundir/saving.c %D%/rundir/tokens.c \
	%D%/sinks/sink.def %D%/sinks/sinks.c %D%/sinks/sinks.h \
	%D%/sinks/tensorboard.c %D%/sinks/trackio.c \
	%D%/simulating/mean_step.c %D%/simulating/mean_step.h \
	%D%/simulating/schedule.c %D%/simulating/schedule.h \
	%D%/simulating/schedule_read.c %D%/simulating/trial.c \
	%D%/simulating/trial.h %D%/simulating/workload.c %D%/simulating/workload.h \
	%D%/searching/auto.c %D%/searching/auto.h %D%/searching/candidate.c \
	%D%/searching/candidate.h %D%/searching/fused.c %D%/searching/generations.c \
	%D%/searching/kinds.c \
	%D%/searching/lanes.c %D%/searching/layouts.c %D%/searching/memory_advice.c \
	%D%/searching/memory_advice.h %D%/searching/prediction.c \
	%D%/searching/prediction.h %D%/searching/room.c %D%/searching/search.c \
	%D%/searching/search.h \
	%D%/reporting/report.c %D%/reporting/simulation.c %D%/reporting/text_edges.c \
	%D%/reporting/text_explain.c \
	%D%/reporting/text_needs.c %D%/reporting/text_search.c \
	%D%/reporting/texts.c %D%/reporting/texts.h \
	%D%/retracing/retracing.c %D%/retracing/text.c %D%/retracing/retracing.h \
	%D%/inspecting/data.c %D%/inspecting/merging.c %D%/inspecting/model.c \
	%D%/inspecting/model.h %D%/inspecting/model_print.c %D%/inspecting/text.c
include_HEADERS += engine/rlflow.h
# where *.rlf and *.lua are installed, as stdlib/... and examples/...
libapi_a_CPPFLAGS = $(AM_CPPFLAGS) -DRLF_PKGDATADIR='"$(pkgdatadir)"' \
	-DRLF_SOURCE_DIR='"$(abs_top_srcdir)"'

check_PROGRAMS += tests/unit/api_fault
# Faults come between the parts of the library when it is linked.
faults = $(message_fault) -Wl,--wrap=rlf_rank_execute,--wrap=rlf_group_exchange,--wrap=rlf_framing_hear,--wrap=rlf_run_close
tests_unit_api_fault_LDADD = $(API_LIBS)
tests_unit_api_fault_LDFLAGS = $(AM_LDFLAGS) $(faults)
check_PROGRAMS += tests/unit/api_editing
tests_unit_api_editing_LDADD = $(API_LIBS)
check_PROGRAMS += tests/unit/api_caps
tests_unit_api_caps_LDADD = $(API_LIBS)
check_PROGRAMS += tests/unit/api_outline
tests_unit_api_outline_LDADD = $(API_LIBS)
check_PROGRAMS += tests/unit/api_memory
tests_unit_api_memory_LDADD = $(API_LIBS)
check_PROGRAMS += tests/unit/api_estimate
tests_unit_api_estimate_LDADD = $(API_LIBS)
check_PROGRAMS += tests/unit/api_pareto
tests_unit_api_pareto_LDADD = $(API_LIBS)
check_PROGRAMS += tests/unit/api_law
tests_unit_api_law_LDADD = $(API_LIBS)
check_PROGRAMS += tests/unit/api_simulate tests/unit/api_simulate_hand
tests_unit_api_simulate_SOURCES = tests/unit/api_simulate.c \
	tests/unit/simulated_program.h
tests_unit_api_simulate_LDADD = $(API_LIBS)
tests_unit_api_simulate_hand_SOURCES = tests/unit/api_simulate_hand.c \
	tests/unit/simulated_program.h
tests_unit_api_simulate_hand_LDADD = $(API_LIBS)
check_PROGRAMS += tests/unit/api_roles
tests_unit_api_roles_SOURCES = tests/unit/api_roles.c tests/unit/roles.c \
	tests/unit/roles.h
tests_unit_api_roles_LDADD = $(API_LIBS)
check_PROGRAMS += tests/unit/api_mean_step
tests_unit_api_mean_step_LDADD = $(API_LIBS)
check_PROGRAMS += tests/unit/api_locale
tests_unit_api_locale_LDADD = $(API_LIBS)
check_PROGRAMS += tests/unit/api_misuse
tests_unit_api_misuse_LDADD = $(API_LIBS)
check_PROGRAMS += tests/unit/api_profile
tests_unit_api_profile_LDADD = $(API_LIBS)
check_PROGRAMS += tests/unit/api_hooks
tests_unit_api_hooks_LDADD = $(API_LIBS)

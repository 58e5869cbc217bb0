# engine/api: layer 8. Add the sources (headers too) to the first list, and a
# test as: check_PROGRAMS += tests/unit/api_NAME
#          tests_unit_api_NAME_LDADD = $(API_LIBS)
noinst_LIBRARIES += libapi.a
libapi_a_SOURCES = \
	%D%/results.c \
	%D%/answering.c \
	%D%/queries.c \
	%D%/auto.c %D%/auto.h \
	%D%/input_errors.c \
	%D%/build.c \
	%D%/fingerprint.c \
	%D%/cluster.c %D%/cluster.h %D%/cluster_text.c \
	%D%/search_layouts.c \
	%D%/directory.c \
	%D%/evaluating.c \
	%D%/search_fused.c \
	%D%/host.c \
	%D%/inputs.c \
	%D%/processes.c \
	%D%/search_lanes.c \
	%D%/search_room.c \
	%D%/links.c \
	%D%/inspect_data.c %D%/inspect_model.c %D%/inspect_model.h %D%/inspect_model_print.c %D%/inspect_text.c \
	%D%/journal.c \
	%D%/measuring.c \
	%D%/rollback.c \
	%D%/plan_origin.c %D%/plan_origin.h \
	%D%/search_candidate.c %D%/search_candidate.h \
	%D%/merging.c \
	%D%/mean_step.c %D%/mean_step.h \
	%D%/outputs.c \
	%D%/planning.c \
	%D%/planned_device.c %D%/planned_device.h \
	%D%/prediction.c %D%/prediction.h \
	%D%/profile.c %D%/profile.h \
	%D%/program.c \
	%D%/record.c \
	%D%/memory_advice.c %D%/memory_advice.h \
	%D%/rundir.c \
	%D%/search_generations.c \
	%D%/saving.c \
	%D%/schedule.c %D%/schedule.h %D%/schedule_read.c \
	%D%/search.c %D%/search.h %D%/simulation.c \
	%D%/stopping.c \
	%D%/text_edges.c %D%/text_needs.c %D%/text_search.c \
	%D%/texts.c %D%/texts.h \
	%D%/session.c %D%/session.h \
	%D%/settings.c \
	%D%/trial.c %D%/trial.h \
	%D%/warnings.c \
	%D%/workload.c %D%/workload.h
include_HEADERS += engine/rlflow.h
# where *.rlf and *.lua are installed, as stdlib/... and examples/...
libapi_a_CPPFLAGS = $(AM_CPPFLAGS) -DRLF_PKGDATADIR='"$(pkgdatadir)"' \
	-DRLF_SOURCE_DIR='"$(abs_top_srcdir)"'

check_PROGRAMS += tests/unit/api_fault
# Faults come between the parts of the library when it is linked.
faults = $(message_fault) -Wl,--wrap=rlf_rank_execute,--wrap=rlf_group_exchange,--wrap=rlf_framing_hear
tests_unit_api_fault_LDADD = $(API_LIBS)
tests_unit_api_fault_LDFLAGS = $(AM_LDFLAGS) $(faults)
check_PROGRAMS += tests/unit/api_caps
tests_unit_api_caps_LDADD = $(API_LIBS)
check_PROGRAMS += tests/unit/api_outline
tests_unit_api_outline_LDADD = $(API_LIBS)
check_PROGRAMS += tests/unit/api_memory
tests_unit_api_memory_LDADD = $(API_LIBS)
check_PROGRAMS += tests/unit/api_pareto
tests_unit_api_pareto_LDADD = $(API_LIBS)
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

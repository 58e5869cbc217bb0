# engine/simulate: layer 7. Add the sources (headers too) to the first list, and
# a test as: check_PROGRAMS += tests/unit/simulate_NAME
#            tests_unit_simulate_NAME_LDADD = $(SIMULATE_LIBS)
noinst_LIBRARIES += libsimulate.a
libsimulate_a_SOURCES = \
	%D%/account.c %D%/account.h \
	%D%/timeline_groups.c %D%/timeline_groups.h \
	%D%/costs.c %D%/costs.h \
	%D%/step_kinds.c %D%/step_kinds.h \
	%D%/pages.c \
	%D%/micro_batches.c \
	%D%/ranks.c %D%/ranks.h %D%/ranks_state.h \
	%D%/sequences.c \
	%D%/simulate.c %D%/simulate.h %D%/simulate_state.h \
	%D%/timeline.c %D%/timeline.h \
	%D%/generations.c

check_PROGRAMS += tests/unit/simulate_ranks tests/unit/simulate_timeline
tests_unit_simulate_ranks_LDADD = $(SIMULATE_LIBS)
tests_unit_simulate_ranks_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=rlf_control_assign
tests_unit_simulate_timeline_LDADD = $(SIMULATE_LIBS)

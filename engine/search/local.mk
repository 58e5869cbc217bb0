# engine/search: layer 6. Add the sources (headers too) to the first list, and a
# test as: check_PROGRAMS += tests/unit/search_NAME
#          tests_unit_search_NAME_LDADD = $(SEARCH_LIBS)
noinst_LTLIBRARIES += libsearch.la
libsearch_la_SOURCES = \
	%D%/account.c %D%/account.h \
	%D%/baseline.c %D%/baseline.h \
	%D%/branch.c \
	%D%/calls.c %D%/calls.h \
	%D%/chance.h \
	%D%/costs.c %D%/costs.h \
	%D%/dispatch.c %D%/dispatch.h \
	%D%/estimate.c %D%/estimate.h \
	%D%/fit.c %D%/fit.h \
	%D%/fronts.c %D%/fronts.h \
	%D%/measure.c %D%/measure.h \
	%D%/fuse.c %D%/fuse.h \
	%D%/hybridflow.c %D%/hybridflow.h \
	%D%/improve.c %D%/improve.h \
	%D%/lengths.c %D%/lengths.h \
	%D%/orders.c %D%/orders.h \
	%D%/passes.c \
	%D%/picture.c %D%/picture.h \
	%D%/problem.c %D%/problem.h \
	%D%/profile.c %D%/profile.h \
	%D%/published.c \
	%D%/ranks.c %D%/ranks.h %D%/ranks_state.h \
	%D%/rows.c %D%/rows.h \
	%D%/sampling.c %D%/sampling.h \
	%D%/search.c %D%/search.h \
	%D%/seconds.c %D%/seconds.h \
	%D%/sequences.c \
	%D%/simulate.c %D%/simulate.h %D%/simulate_state.h \
	%D%/timeline.c %D%/timeline.h \
	%D%/turns.c \
	%D%/workload.c %D%/workload.h

check_PROGRAMS += tests/unit/search_search tests/unit/search_ppo \
	tests/unit/search_lengths
tests_unit_search_ppo_SOURCES = tests/unit/search_ppo.c tests/ppo_problem.h
tests_unit_search_ppo_LDADD = $(SEARCH_LIBS)
check_PROGRAMS += tests/unit/search_fit
tests_unit_search_fit_LDADD = $(SEARCH_LIBS)
check_PROGRAMS += tests/unit/search_seconds
tests_unit_search_seconds_LDADD = $(SEARCH_LIBS)
tests_unit_search_lengths_LDADD = $(SEARCH_LIBS)
tests_unit_search_search_LDADD = $(SEARCH_LIBS)
check_PROGRAMS += tests/unit/search_workload
tests_unit_search_workload_LDADD = $(SEARCH_LIBS)
check_PROGRAMS += tests/unit/search_ranks
tests_unit_search_ranks_LDADD = $(SEARCH_LIBS)
check_PROGRAMS += tests/unit/search_timeline
tests_unit_search_timeline_LDADD = $(SEARCH_LIBS)
check_PROGRAMS += tests/unit/search_fuse
tests_unit_search_fuse_SOURCES = tests/unit/search_fuse.c tests/fused.h \
	tests/zero_bubble.h
tests_unit_search_fuse_LDADD = $(SEARCH_LIBS)

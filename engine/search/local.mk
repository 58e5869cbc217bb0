# engine/search: layer 7. Add the sources (headers too) to the first list, and a
# test as: check_PROGRAMS += tests/unit/search_NAME
#          tests_unit_search_NAME_LDADD = $(SEARCH_LIBS)
noinst_LIBRARIES += libsearch.a
libsearch_a_SOURCES = \
	%D%/baseline.c %D%/baseline.h \
	%D%/branch.c \
	%D%/calls.c %D%/call_memory.c %D%/calls.h \
	%D%/call_work.h %D%/call_pieces.c %D%/call_generation.c %D%/call_passes.c \
	%D%/descend.c %D%/descend.h \
	%D%/estimate.c %D%/estimate.h \
	%D%/estimate_least.c %D%/estimate_moves.c %D%/estimate_period.c \
	%D%/estimate_state.h \
	%D%/pareto.c %D%/pareto.h %D%/pareto_state.h %D%/words.c \
	%D%/fixed_rows.c %D%/fixed_rows.h \
	%D%/gather.c %D%/gather.h \
	%D%/pipelines.c %D%/pipelines.h \
	%D%/hybridflow.c %D%/hybridflow.h \
	%D%/lanes.c %D%/lanes.h \
	%D%/less.c %D%/less.h \
	%D%/measure.c %D%/measure.h \
	%D%/model_moves.c %D%/model_moves.h \
	%D%/model_sums.c %D%/model_sums.h \
	%D%/messages.c %D%/messages.h \
	%D%/moves.c %D%/moves.h %D%/moves_route.c %D%/moves_state.h \
	%D%/pages.c \
	%D%/placed.c %D%/placed.h \
	%D%/problem.c %D%/problem.h \
	%D%/program.c %D%/program.h \
	%D%/place_rows.c \
	%D%/reading.c %D%/reading.h \
	%D%/stages.c %D%/stages.h \
	%D%/search.c %D%/search.h \
	%D%/walk.c %D%/walk.h \
	%D%/shards.c %D%/shards.h

check_PROGRAMS += tests/unit/search_search tests/unit/search_estimate tests/unit/search_ppo \
	tests/unit/search_pipelines tests/unit/search_moves \
	tests/unit/search_walks
tests_unit_search_search_SOURCES = tests/unit/search_search.c tests/unit/search_problems.h
tests_unit_search_search_LDADD = $(SEARCH_LIBS)
tests_unit_search_estimate_SOURCES = tests/unit/search_estimate.c tests/unit/search_problems.h
tests_unit_search_estimate_LDADD = $(SEARCH_LIBS)
tests_unit_search_ppo_SOURCES = tests/unit/search_ppo.c tests/ppo_problem.h
tests_unit_search_ppo_LDADD = $(SEARCH_LIBS)
tests_unit_search_pipelines_LDADD = $(SEARCH_LIBS)
tests_unit_search_moves_LDADD = $(SEARCH_LIBS)
tests_unit_search_walks_LDADD = $(SEARCH_LIBS)

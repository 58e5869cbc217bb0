# engine/plan: layer 4. Add the sources (headers too) to the first list, and a
# test as: check_PROGRAMS += tests/unit/plan_NAME
#          tests_unit_plan_NAME_LDADD = $(PLAN_LIBS)
noinst_LIBRARIES += libplan.a
libplan_a_SOURCES = %D%/caps.c %D%/caps.h %D%/fit.c %D%/fit.h %D%/memory.c %D%/memory.h %D%/pools.c %D%/pools.h
libplan_a_SOURCES += %D%/candidate.c %D%/candidate.h %D%/rank_classes.c %D%/rank_classes.h
libplan_a_SOURCES += %D%/plan.c %D%/plan.h %D%/strategy.c %D%/strategy.h %D%/edge.c %D%/edge.h %D%/all_gather.c %D%/weight_copies.c %D%/weight_copies.h %D%/realloc.c %D%/realloc.h %D%/pipe.c %D%/pipe_make.c %D%/pipe_text.c %D%/pipe_vee.c %D%/pipe.h %D%/pipes.c %D%/pipes.h %D%/pipe_memory.c %D%/pipe_memory.h

check_PROGRAMS += tests/unit/plan_edge
tests_unit_plan_edge_LDADD = $(PLAN_LIBS)
check_PROGRAMS += tests/unit/plan_realloc
tests_unit_plan_realloc_LDADD = $(PLAN_LIBS)
check_PROGRAMS += tests/unit/plan_pipe tests/unit/plan_pipe_judge
tests_unit_plan_pipe_SOURCES = tests/unit/plan_pipe.c tests/unit/pipe_tables.h
tests_unit_plan_pipe_LDADD = $(PLAN_LIBS)
tests_unit_plan_pipe_judge_SOURCES = tests/unit/plan_pipe_judge.c \
	tests/unit/pipe_tables.h
tests_unit_plan_pipe_judge_LDADD = $(PLAN_LIBS)
check_PROGRAMS += tests/unit/plan_pipe_memory
tests_unit_plan_pipe_memory_LDADD = $(PLAN_LIBS)
check_PROGRAMS += tests/unit/plan_links
tests_unit_plan_links_LDADD = $(PLAN_LIBS)

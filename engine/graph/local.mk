# engine/graph: layer 3. Add the sources (headers too) to the first list, and a
# test as: check_PROGRAMS += tests/unit/graph_NAME
#          tests_unit_graph_NAME_LDADD = $(GRAPH_LIBS)
noinst_LIBRARIES += libgraph.a
libgraph_a_SOURCES = \
	%D%/caps.c %D%/caps.h \
	%D%/class.c %D%/class.h \
	%D%/dump.c \
	%D%/step_arguments.c %D%/step_arguments.h \
	%D%/gather.c \
	%D%/graph.c %D%/graph.h \
	%D%/hash.c \
	%D%/loss.c \
	%D%/measure.h \
	%D%/place.c %D%/place.h \
	%D%/resource.c %D%/resource.h \
	%D%/run.c %D%/run.h \
	%D%/sample_trace.c %D%/sample_trace.h \
	%D%/schedule.def \
	%D%/sizes.c %D%/sizes.h \
	%D%/verify.c

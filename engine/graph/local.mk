# engine/graph: layer 3. Add the sources (headers too) to the first list, and a
# test as: check_PROGRAMS += tests/unit/graph_NAME
#          tests_unit_graph_NAME_LDADD = $(GRAPH_LIBS)
noinst_LTLIBRARIES += libgraph.la
libgraph_la_SOURCES =

# nodes: layer 4, one file per node class. A test:
# check_PROGRAMS += tests/unit/nodes_NAME
# tests_unit_nodes_NAME_LDADD = $(NODES_LIBS)
noinst_LTLIBRARIES += libnodes.la
libnodes_la_SOURCES =

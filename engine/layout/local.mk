# engine/layout: layer 1. Add the sources (headers too) to the first list, and a
# test as: check_PROGRAMS += tests/unit/layout_NAME
#          tests_unit_layout_NAME_LDADD = $(LAYOUT_LIBS)
noinst_LIBRARIES += liblayout.a
liblayout_a_SOURCES = %D%/cluster.c %D%/cluster.def %D%/cluster.h \
	%D%/cluster_preset.c %D%/layout.c %D%/layout.h %D%/lanes.c %D%/lanes.h \
	%D%/slice.c %D%/slice.h

check_PROGRAMS += tests/unit/layout_cluster tests/unit/layout_layout \
	tests/unit/layout_lanes tests/unit/layout_slice
tests_unit_layout_cluster_LDADD = $(LAYOUT_LIBS)
tests_unit_layout_layout_LDADD = $(LAYOUT_LIBS)
tests_unit_layout_lanes_LDADD = $(LAYOUT_LIBS)
tests_unit_layout_slice_LDADD = $(LAYOUT_LIBS)

# engine/layout: layer 1. Add the sources (headers too) to the first list, and a
# test as: check_PROGRAMS += tests/unit/layout_NAME
#          tests_unit_layout_NAME_LDADD = $(LAYOUT_LIBS)
noinst_LTLIBRARIES += liblayout.la
liblayout_la_SOURCES = %D%/layout.c %D%/layout.h

check_PROGRAMS += tests/unit/layout_layout
tests_unit_layout_layout_LDADD = $(LAYOUT_LIBS)

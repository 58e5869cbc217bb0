# engine/search: layer 6. Add the sources (headers too) to the first list, and a
# test as: check_PROGRAMS += tests/unit/search_NAME
#          tests_unit_search_NAME_LDADD = $(SEARCH_LIBS)
noinst_LTLIBRARIES += libsearch.la
libsearch_la_SOURCES =

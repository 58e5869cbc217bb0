# engine/expr: layer 1. Add the sources (headers too) to the first list, and a
# test as: check_PROGRAMS += tests/unit/expr_NAME
#          tests_unit_expr_NAME_LDADD = $(EXPR_LIBS)
noinst_LTLIBRARIES += libexpr.la
libexpr_la_SOURCES =

# engine/expr: layer 1. Add the sources (headers too) to the first list, and a
# test as: check_PROGRAMS += tests/unit/expr_NAME
#          tests_unit_expr_NAME_LDADD = $(EXPR_LIBS)
noinst_LIBRARIES += libexpr.a
libexpr_a_SOURCES = %D%/check.c %D%/derive.c %D%/domain.c %D%/domain.h \
	%D%/expr.c %D%/expr.h %D%/hint.c %D%/op.def %D%/pointwise.def \
	%D%/print.c %D%/reach.c %D%/space.c %D%/space.h

check_PROGRAMS += tests/unit/expr_domain tests/unit/expr_table
tests_unit_expr_domain_LDADD = $(EXPR_LIBS)
tests_unit_expr_table_LDADD = $(EXPR_LIBS)

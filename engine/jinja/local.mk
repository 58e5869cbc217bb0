# engine/jinja: layer 2.
noinst_LIBRARIES += libjinja.a
libjinja_a_SOURCES = \
	%D%/attribute.c \
	%D%/call.c \
	%D%/case.c %D%/case_data.h \
	%D%/date.c \
	%D%/eval.c \
	%D%/expression.c \
	%D%/filter.c \
	%D%/filter_list.c \
	%D%/format.c \
	%D%/global.c \
	%D%/inside.h \
	%D%/iterate.c \
	%D%/jinja.c %D%/jinja.h \
	%D%/json.c \
	%D%/lexer.c \
	%D%/operate.c \
	%D%/parse.c \
	%D%/print.c \
	%D%/scope.c \
	%D%/statement.c \
	%D%/test.c \
	%D%/text.c \
	%D%/value.c

check_PROGRAMS += tests/unit/jinja_render
tests_unit_jinja_render_LDADD = $(JINJA_LIBS)
EXTRA_DIST += tests/data/jinja.json tests/oracle/jinja_cases.py \
	tests/oracle/jinja_case.py

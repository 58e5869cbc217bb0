# grammar: layer 6. What flex and bison make is compiled with fewer warnings,
# so parser.y and lexer.l are a library of their own inside it.
noinst_LTLIBRARIES += libgrammar.la libsyntax.la
libgrammar_la_SOURCES = \
	%D%/ast.c %D%/ast.h \
	%D%/dump.c \
	%D%/fmt.c \
	%D%/keyword.def \
	%D%/lex.c \
	%D%/op.def \
	%D%/parse.c %D%/parse.h \
	%D%/report.c %D%/report.h \
	%D%/syntax.h %D%/token.h
libgrammar_la_LIBADD = libsyntax.la
libsyntax_la_SOURCES = %D%/parser.y %D%/lexer.l
libsyntax_la_CFLAGS = $(GENERATED_CFLAGS)
BUILT_SOURCES += %D%/parser.h

# not tests/lang: that is the folder of its cases
check_PROGRAMS += tests/lang_cases tests/fuzz_replay
tests_lang_cases_SOURCES = tests/lang.c
tests_lang_cases_LDADD = $(GRAMMAR_LIBS)
tests_fuzz_replay_SOURCES = tests/fuzz_replay.c tests/fuzz_parse.c \
	tests/fuzz_lex.c tests/fuzz.h
tests_fuzz_replay_LDADD = $(GRAMMAR_LIBS)

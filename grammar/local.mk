# grammar: layer 6. What flex and bison make is compiled with fewer warnings,
# so parser.y and lexer.l have flags of their own.
noinst_LIBRARIES += libgrammar.a
EXTRA_LIBRARIES += libsyntax.a
libgrammar_a_SOURCES = \
	%D%/ahead.c \
	%D%/arg.c \
	%D%/args.c \
	%D%/assign.c \
	%D%/ast.c \
	%D%/ast.h \
	%D%/builtin.c \
	%D%/builtin.def \
	%D%/call.c %D%/call.h %D%/hook.c \
	%D%/cluster.c \
	%D%/cluster.h \
	%D%/collect.c \
	%D%/compile.c \
	%D%/compile.h \
	%D%/data.c \
	%D%/def.c \
	%D%/def_unused.c \
	%D%/eval.c \
	%D%/evaluation.c \
	%D%/finite.c \
	%D%/flow.c \
	%D%/fmt.c \
	%D%/form.c \
	%D%/bounds.c \
	%D%/formal.c \
	%D%/other_syntax.c \
	%D%/other_syntax.h \
	%D%/import.c \
	%D%/item.c \
	%D%/keyword.def \
	%D%/level.c \
	%D%/measure.c \
	%D%/lex.c \
	%D%/literal.c \
	%D%/literal.h \
	%D%/look.c %D%/look.h %D%/look_inside.h \
	%D%/look_at.c %D%/look_find.c %D%/look_propose.c \
	%D%/look_symbols.c %D%/look_uses.c %D%/look_words.c \
	%D%/lower.c \
	%D%/demand.c \
	%D%/lower.h \
	%D%/other_names.c \
	%D%/matcher.h \
	%D%/other_names.h \
	%D%/name.c \
	%D%/narrow.c \
	%D%/numbers.c \
	%D%/numbers.h \
	%D%/op.def \
	%D%/origin.c \
	%D%/origin.h \
	%D%/pair.c \
	%D%/param.c \
	%D%/parse.c \
	%D%/parse.h \
	%D%/place.c %D%/place_row.c %D%/place_row.h \
	%D%/program.c \
	%D%/range.c \
	%D%/repair.c %D%/repair.h \
	%D%/report.c \
	%D%/report.h \
	%D%/resource.c \
	%D%/passes.h %D%/sema.h \
	%D%/set.c \
	%D%/suggest.c \
	%D%/unused.c \
	%D%/syntax.h \
	%D%/term.c \
	%D%/token.h \
	%D%/update.c \
	%D%/vocab.c
libgrammar_a_LIBADD = $(libsyntax_a_OBJECTS)
libgrammar_a_DEPENDENCIES = $(libgrammar_a_LIBADD)
libsyntax_a_SOURCES = %D%/parser.y %D%/lexer.l
libsyntax_a_CFLAGS = $(GENERATED_CFLAGS)
BUILT_SOURCES += %D%/parser.h

# not tests/lang: that is the folder of its cases
check_PROGRAMS += tests/cluster_cases tests/lang_cases tests/sema_cases tests/graph_law tests/fuzz_replay tests/mutants tests/sentences
tests_cluster_cases_SOURCES = tests/cluster.c tests/golden.h
tests_cluster_cases_LDADD = $(GRAMMAR_LIBS)
tests_lang_cases_SOURCES = tests/lang.c tests/golden.h
tests_lang_cases_LDADD = $(GRAMMAR_LIBS)
tests_sema_cases_SOURCES = tests/sema.c tests/golden.h
tests_sema_cases_LDADD = $(API_LIBS)
tests_graph_law_SOURCES = tests/graph_law.c
tests_graph_law_LDADD = $(API_LIBS)
tests_mutants_SOURCES = tests/mutants.c
tests_mutants_LDADD = $(API_LIBS)
tests_sentences_SOURCES = tests/sentences.c
tests_sentences_LDADD = $(API_LIBS)
tests_fuzz_replay_SOURCES = tests/fuzz_replay.c tests/fuzz_parse.c \
	tests/fuzz_lex.c tests/fuzz_messages.c tests/fuzz_tokenizer.c tests/fuzz.h
tests_fuzz_replay_LDADD = libgrammar.a $(ORDER_LIBS)
tap_tests += tests/cluster.tap tests/large.tap tests/looking.tap

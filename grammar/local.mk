# grammar: layer 6. What flex and bison make is compiled with fewer warnings,
# so parser.y and lexer.l are a library of their own inside it:
#     libsyntax_la_SOURCES = %D%/parser.y %D%/lexer.l
#     BUILT_SOURCES += %D%/parser.h
# (AM_YFLAGS has -d; keep %option outfile="lex.yy.c" in lexer.l for ylwrap.)
noinst_LTLIBRARIES += libgrammar.la libsyntax.la
libgrammar_la_SOURCES =
libgrammar_la_LIBADD = libsyntax.la
libsyntax_la_SOURCES =
libsyntax_la_CFLAGS = $(GENERATED_CFLAGS)

# engine/lsp: a user of the library like engine/cmd, which calls it.
noinst_LIBRARIES += liblsp.a
liblsp_a_SOURCES = \
	%D%/completion.c %D%/diagnostics.c %D%/documents.c \
	%D%/formatting.c %D%/frame.c %D%/frame.h %D%/hover.c %D%/json.c \
	%D%/lsp.h %D%/methods.c %D%/references.c %D%/server.c %D%/server.h \
	%D%/symbols.c \
	%D%/text.c %D%/text.h %D%/uri.c %D%/uri.h

check_PROGRAMS += tests/unit/lsp_text tests/unit/lsp_frame
tests_unit_lsp_text_LDADD = liblsp.a
tests_unit_lsp_frame_LDADD = liblsp.a

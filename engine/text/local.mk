# engine/text: layer 2.
noinst_LIBRARIES += libtext.a
libtext_a_SOURCES = \
	%D%/added.c %D%/added.h \
	%D%/bpe.c %D%/bpe.h \
	%D%/decoder.c \
	%D%/detokenizer.c %D%/detokenizer.h \
	%D%/ends.c \
	%D%/files.c %D%/files.h \
	%D%/inside.h \
	%D%/load.c \
	%D%/normalizer.c %D%/normalizer.h \
	%D%/pair.c \
	%D%/pattern.c %D%/pattern.h %D%/pattern_class.c %D%/pattern_inside.h \
	%D%/regex.c %D%/regex.h \
	%D%/settings.c \
	%D%/splitter.c %D%/splitter.h \
	%D%/template.c %D%/template.h \
	%D%/tokenizer.c %D%/tokenizer.h \
	%D%/unicode.c %D%/unicode.h %D%/unicode_data.h \
	%D%/utf8.c %D%/utf8.h

check_PROGRAMS += tests/unit/text_oracle
tests_unit_text_oracle_LDADD = $(TEXT_LIBS)
EXTRA_DIST += tests/data/tokenizers.json tests/oracle/text_ids.py
EXTRA_DIST += tests/data/tokenizer_config.json tests/oracle/tokenizer_config.py
check_PROGRAMS += tests/unit/text_tokenizer
tests_unit_text_tokenizer_LDADD = $(TEXT_LIBS)
check_PROGRAMS += tests/unit/text_splitter
tests_unit_text_splitter_LDADD = $(TEXT_LIBS)
EXTRA_DIST += tests/data/pre_tokenizers.json tests/oracle/pre_tokenizers.py
check_PROGRAMS += tests/unit/text_regex
tests_unit_text_regex_LDADD = $(TEXT_LIBS)
EXTRA_DIST += tests/data/regex.json tests/oracle/text_regex.py \
	tests/oracle/unicode_tables.py

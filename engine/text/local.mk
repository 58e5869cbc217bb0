# engine/text: layer 2.
noinst_LIBRARIES += libtext.a
libtext_a_SOURCES = \
	%D%/added.c %D%/added.h \
	%D%/bpe.c %D%/bpe.h \
	%D%/charsmap.c %D%/charsmap.h \
	%D%/clean.c %D%/clean.h \
	%D%/class.c %D%/class.h %D%/class.def %D%/class_build.c \
	%D%/decoder.c %D%/decoder.h \
	%D%/detokenizer.c %D%/detokenizer.h \
	%D%/ends.c \
	%D%/files.c %D%/files.h \
	%D%/grapheme.c %D%/grapheme.h \
	%D%/inside.h \
	%D%/load.c \
	%D%/model.c %D%/model.h %D%/model_load.c \
	%D%/normalizer.c %D%/normalizer.h \
	%D%/pair.c \
	%D%/pattern.c %D%/pattern.h %D%/pattern_class.c %D%/pattern_inside.h \
	%D%/post.c \
	%D%/regex.c %D%/regex.h \
	%D%/revised.c \
	%D%/scores.c %D%/scores.h \
	%D%/scratch.c %D%/scratch.h \
	%D%/settings.c \
	%D%/pre_tokenizer.c %D%/pre_tokenizer.h \
	%D%/template.c %D%/template.h \
	%D%/tokenizer.c %D%/tokenizer.h \
	%D%/trie.c %D%/trie.h \
	%D%/unicode.c %D%/unicode.h %D%/unicode_data.h %D%/unicode_normal.h \
	%D%/unigram.c %D%/unigram.h \
	%D%/utf8.c %D%/utf8.h \
	%D%/vocabulary.c %D%/vocabulary.h \
	%D%/wordpiece.c %D%/wordpiece.h

check_PROGRAMS += tests/unit/text_oracle
tests_unit_text_oracle_LDADD = $(TEXT_LIBS)
EXTRA_DIST += tests/data/tokenizers.json tests/oracle/text_ids.py
EXTRA_DIST += tests/data/tokenizer_config.json tests/oracle/tokenizer_config.py
check_PROGRAMS += tests/unit/text_tokenizer
tests_unit_text_tokenizer_LDADD = $(TEXT_LIBS)
check_PROGRAMS += tests/unit/text_made
tests_unit_text_made_LDADD = $(TEXT_LIBS)
EXTRA_DIST += tests/data/made_tokenizers.json tests/oracle/text_made.py
check_PROGRAMS += tests/unit/text_pre_tokenizer
tests_unit_text_pre_tokenizer_LDADD = $(TEXT_LIBS)
EXTRA_DIST += tests/data/pre_tokenizers.json tests/oracle/pre_tokenizers.py
check_PROGRAMS += tests/unit/text_regex
tests_unit_text_regex_LDADD = $(TEXT_LIBS)
EXTRA_DIST += tests/data/regex.json tests/oracle/text_regex.py \
	tests/oracle/unicode_normal.py tests/oracle/unicode_tables.py

/* The "pre_tokenizer" of a tokenizer file: cuts a text into the words that are
 * tokenized one by one. Split, Digits, Punctuation, Whitespace,
 * WhitespaceSplit, BertPreTokenizer, CharDelimiterSplit, FixedLength,
 * ByteLevel, Metaspace, and sequences. */
#ifndef RLF_TEXT_PRE_TOKENIZER_H
#define RLF_TEXT_PRE_TOKENIZER_H

#include "engine/base/str.h"
#include "engine/text/regex.h"

#include <jansson.h>

/* The treatment of the matches of a Split. */
typedef enum rlf_split_behavior {
    RLF_SPLIT_ISOLATED,
    RLF_SPLIT_REMOVED,
    RLF_SPLIT_WITH_PREVIOUS,
    RLF_SPLIT_WITH_NEXT,
    RLF_SPLIT_CONTIGUOUS
} rlf_split_behavior;

typedef struct rlf_split_step {
    rlf_regex *regex; /* cut at its matches; NULL: do not cut */
    rlf_split_behavior behavior;
    bool invert;       /* the matches are what lies between matches */
    const char *space; /* Metaspace: stands for ' '; else NULL */
    bool prefix;       /* a word gets a space in front, if it has none */
    bool prefix_first; /* ... only a word that begins the text */
    size_t length;     /* FixedLength: characters of a word; else 0 */
    bool bytes;        /* ByteLevel: steps behind it see the characters that
                          stand for bytes */
} rlf_split_step;

typedef struct rlf_pre_tokenizer {
    rlf_split_step *data;
    size_t count, room;
    bool byte_level; /* words are bytes to the model, not characters */
} rlf_pre_tokenizer;

/* Words of a text: [from, to) of `text`. */
typedef struct rlf_pretokens {
    rlf_buf text;
    size_t first; /* bytes of it that the first character of the whole text has
                     become; 0: it does not begin the text */
    bool inside;  /* the text goes on after other text: a word that begins it
                     gets no space in front */
    struct rlf_pretoken {
        size_t from, to;
    } * data;
    size_t count, room;
} rlf_pretokens;

rlf_status rlf_pre_tokenizer_load(rlf_pre_tokenizer *pre_tokenizer,
                                  const json_t *json, const char *file,
                                  rlf_arena *arena, rlf_err *err);
/* Cut words->text (valid UTF-8) into words, rewriting it where a step adds or
 * replaces spaces. */
rlf_status rlf_pre_tokenizer_apply(const rlf_pre_tokenizer *pre_tokenizer,
                                   rlf_pretokens *words, rlf_err *err);
void rlf_pretokens_free(rlf_pretokens *words);

#endif

/* The "normalizer" of a tokenizer file: rewrites a text before it is split.
 * NFC, NFD, NFKC, NFKD, Prepend, Replace, Lowercase, Strip, StripAccents, Nmt,
 * Precompiled, BertNormalizer, ByteLevel, and sequences of them. */
#ifndef RLF_TEXT_NORMALIZER_H
#define RLF_TEXT_NORMALIZER_H

#include "engine/base/str.h"
#include "engine/text/charsmap.h"
#include "engine/text/regex.h"

#include <jansson.h>

typedef enum rlf_normal_kind {
    RLF_NORMAL_FORM,
    RLF_NORMAL_PREPEND,
    RLF_NORMAL_REPLACE,
    RLF_NORMAL_CHARSMAP,
    RLF_NORMAL_STRIP,
    /* character by character */
    RLF_NORMAL_LOWERCASE,
    RLF_NORMAL_STRIP_MARKS, /* all combining marks */
    RLF_NORMAL_STRIP_NONSPACING,
    RLF_NORMAL_NMT,
    RLF_NORMAL_CLEAN,   /* no control characters, all spaces alike */
    RLF_NORMAL_CHINESE, /* spaces around ideographs */
    RLF_NORMAL_BYTES    /* characters that stand for bytes */
} rlf_normal_kind;

typedef struct rlf_normalizer {
    struct rlf_normal_step {
        rlf_normal_kind kind;
        int form;          /* FORM: utf8proc's options */
        rlf_regex *regex;  /* REPLACE: its matches by `text` */
        rlf_str text;      /* the text of a REPLACE or a PREPEND */
        rlf_charsmap *map; /* CHARSMAP */
        bool left, right;  /* STRIP: of which sides */
    } * data;
    size_t count, room;
} rlf_normalizer;

/* `json` may be NULL or null: nothing is done. RLF_USER names what is not
 * supported. */
rlf_status rlf_normalizer_load(rlf_normalizer *normalizer, const json_t *json,
                               const char *file, rlf_arena *arena,
                               rlf_err *err);
/* Rewrite `text`, valid UTF-8. The first *first bytes of it, and then of what
 * it becomes, are those of its first character; `first` may be NULL. `inside`:
 * it goes on after other text, so what is done to the beginning of a text is
 * not done. */
rlf_status rlf_normalizer_apply(const rlf_normalizer *normalizer, rlf_buf *text,
                                bool inside, size_t *first, rlf_err *err);

/* The "pattern" of a Replace or Split: {"String": text} or {"Regex": text}. */
rlf_status rlf_pattern_load(const json_t *json, const char *file,
                            rlf_arena *arena, rlf_err *err, rlf_regex **out);

#endif

/* The "normalizer" of a tokenizer file: rewrites a text before it is split.
 * NFC, NFD, NFKC, NFKD, Prepend, Replace, and sequences of them. */
#ifndef RLF_TEXT_NORMALIZER_H
#define RLF_TEXT_NORMALIZER_H

#include "engine/base/str.h"
#include "engine/text/regex.h"

#include <jansson.h>

typedef struct rlf_normalizer {
    struct rlf_normal_step {
        int form;         /* 0: none, else utf8proc's options */
        rlf_regex *regex; /* replace its matches by `text` ... */
        rlf_str text;     /* ... or, without regex, put it in front */
    } * data;
    size_t count, room;
} rlf_normalizer;

/* `json` may be NULL or null: nothing is done. RLF_USER names what is not
 * supported. */
rlf_status rlf_normalizer_load(rlf_normalizer *normalizer, const json_t *json,
                               const char *file, rlf_arena *arena,
                               rlf_err *err);
/* Rewrite `text`, valid UTF-8. */
rlf_status rlf_normalizer_apply(const rlf_normalizer *normalizer, rlf_buf *text,
                                rlf_err *err);

/* The "pattern" of a Replace or Split: {"String": text} or {"Regex": text}. */
rlf_status rlf_pattern_load(const json_t *json, const char *file,
                            rlf_arena *arena, rlf_err *err, rlf_regex **out);

#endif

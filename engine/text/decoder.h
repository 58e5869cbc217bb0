/* The "decoder" of a tokenizer file: how the texts of tokens become one text.
 *
 * A list of steps changes each token by itself (Replace, Metaspace, WordPiece,
 * BPEDecoder, Strip, then ByteFallback or ByteLevel); behind Fuse, or
 * ByteLevel, there may be one Strip of the whole text's beginning. */
#ifndef RLF_TEXT_DECODER_H
#define RLF_TEXT_DECODER_H

#include "engine/base/arena.h"
#include "engine/base/str.h"
#include "engine/text/regex.h"

#include <jansson.h>

typedef enum rlf_decode_kind {
    RLF_DECODE_REPLACE,
    RLF_DECODE_SPACE,
    RLF_DECODE_WORDPIECE,
    RLF_DECODE_SUFFIX,
    RLF_DECODE_STRIP
} rlf_decode_kind;

typedef struct rlf_decode_step {
    rlf_decode_kind kind;
    rlf_regex *regex;     /* REPLACE: its matches by ... */
    rlf_str text;         /* ... this; else what is looked for */
    bool clean;           /* WORDPIECE: no spaces before punctuation */
    uint32_t start, stop; /* STRIP: so many at either end */
} rlf_decode_step;

typedef struct rlf_decoder {
    rlf_decode_step *steps;
    size_t n_steps, room;
    bool byte_level;    /* characters stand for bytes */
    bool byte_fallback; /* <0xHH> is a byte */
    bool join;          /* no decoder: tokens with spaces between */
    bool drop_first;    /* Metaspace: nothing for signs of the first token */
    bool with_first;    /* the first token is written in its own way */
    bool with_last;     /* the last one is */
    char strip;         /* drop so many of it at the text's beginning */
    uint32_t strip_most;
} rlf_decoder;

/* `json` may be NULL or null. RLF_USER names what is not supported. */
rlf_status rlf_decoder_load(rlf_decoder *decoder, const json_t *json,
                            const char *file, rlf_arena *arena, rlf_err *err);

enum { RLF_PIECE_FIRST = 1, RLF_PIECE_LAST = 2 };
/* Append the bytes that the token `text` stands for, as the first or the last
 * of all (`where`) or between others. */
void rlf_decoder_piece(const rlf_decoder *decoder, rlf_str text, unsigned where,
                       rlf_buf *out);

#endif

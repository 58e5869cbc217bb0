/* What a tokenizer is made of: for the files of this folder only. */
#ifndef RLF_TEXT_INSIDE_H
#define RLF_TEXT_INSIDE_H

#include "engine/base/map.h"
#include "engine/text/added.h"
#include "engine/text/bpe.h"
#include "engine/text/normalizer.h"
#include "engine/text/splitter.h"
#include "engine/text/tokenizer.h"

#include <jansson.h>

typedef struct rlf_decode_replace {
    rlf_str from, to;
} rlf_decode_replace;

/* The "decoder": how the texts of tokens become one text. */
typedef struct rlf_decoder {
    bool byte_level;    /* characters stand for bytes */
    bool byte_fallback; /* <0xHH> is a byte */
    bool join;          /* no decoder: tokens with spaces between */
    const char *space;  /* Metaspace: gives ' ', in the first token '' */
    bool drop_first;    /* ... if this is set */
    char strip;         /* drop so many of it at the beginning */
    uint32_t strip_most;
    RLF_VEC(rlf_decode_replace) replaces; /* in each token */
} rlf_decoder;

rlf_status rlf_decoder_load(rlf_decoder *decoder, const json_t *json,
                            const char *file, rlf_arena *arena, rlf_err *err);
/* Append the bytes that the token `text` stands for. */
void rlf_decoder_piece(const rlf_decoder *decoder, rlf_str text, rlf_buf *out);

struct rlf_tokenizer {
    rlf_arena *arena;
    const char *dir;  /* where its files are */
    const char *file; /* tokenizer.json or vocab.json, for messages */
    bool pair;        /* it is vocab.json */
    bool plain;       /* special tokens in texts are split as any text */
    uint32_t n_words; /* tokens of the vocabulary, without added ones */
    uint32_t vocab;   /* largest id + 1 */
    uint32_t room;    /* of texts and added_by_id */
    rlf_str *texts;   /* by id, as the file writes them; p NULL: none */
    rlf_str *words;   /* by id, as bpe sees them; p NULL: none */
    rlf_str *pieces;  /* by id, the bytes in a text */
    rlf_added **added_by_id; /* NULL: not an added token */
    RLF_VEC(const rlf_added *) added;
    rlf_map added_by_text;
    uint32_t next_id; /* behind the vocabulary and all added tokens */
    rlf_finder before, after; /* normalization */
    rlf_normalizer normalizer;
    rlf_splitter splitter;
    rlf_bpe bpe;
    rlf_decoder decoder;
    rlf_ids prefix, suffix, eos; /* in the arena */
    uint32_t bos;
    RLF_VEC(rlf_named_token) named;
    rlf_digest digest;
};

/* The byte that a character of GPT-2's alphabet stands for; -1: none. */
int rlf_char_byte(uint32_t code);
/* The character that stands for a byte. */
uint32_t rlf_byte_char(unsigned char byte);

/* Fill all from the parsed tokenizer.json. `config` is the parsed
 * tokenizer_config.json, with what special_tokens_map.json names, or NULL. */
rlf_status rlf_tokenizer_load(rlf_tokenizer *tokenizer, const json_t *root,
                              const json_t *config, rlf_err *err);
/* Add a token, or fail if it contradicts one that is there. */
rlf_status rlf_tokenizer_add(rlf_tokenizer *tokenizer, rlf_added *added,
                             rlf_err *err);
/* Bring what the files say of special tokens to one form. `config` is the
 * parsed tokenizer_config.json, `map` special_tokens_map.json, or NULL where
 * that does not count. Afterwards "model_specific_special_tokens" has all that
 * is named by an object of names, and "extra_special_tokens" is a list or
 * absent. */
void rlf_tokenizer_gather(json_t *config, json_t *map);
/* What tokenizer_config.json says besides the ends: names of special tokens (a
 * token that is nowhere else gets the next id), spaces in front of texts,
 * whether special tokens count in texts. */
rlf_status rlf_tokenizer_settings(rlf_tokenizer *tokenizer,
                                  const json_t *config, rlf_err *err);
/* What tokenizer.json would say, from vocab.json and merges.txt. */
rlf_status rlf_tokenizer_pair(const char *dir, rlf_arena *arena,
                              const json_t *config, rlf_err *err, json_t **out);
/* A JSON file of the directory, or NULL if it is not there. */
rlf_status rlf_tokenizer_beside(const rlf_tokenizer *tokenizer,
                                const char *name, rlf_err *err, json_t **out);
/* Beginning and ends, from the other files. Before `load` has made its finders
 * the tokens named there become added tokens. */
rlf_status rlf_tokenizer_ends(rlf_tokenizer *tokenizer, const json_t *config,
                              rlf_err *err);

#endif

/* The parts of a tokenizer: for the files of this folder only. */
#ifndef RLF_TEXT_INSIDE_H
#define RLF_TEXT_INSIDE_H

#include "engine/base/map.h"
#include "engine/text/added.h"
#include "engine/text/decoder.h"
#include "engine/text/model.h"
#include "engine/text/normalizer.h"
#include "engine/text/scratch.h"
#include "engine/text/pre_tokenizer.h"
#include "engine/text/tokenizer.h"

#include <jansson.h>

enum { RLF_IDS_MOST = 1 << 22 }; /* no vocabulary is nearly as large */

/* The words of its own files that decide which class builds it. */
typedef struct rlf_class_words {
    const char *class; /* the class without "Fast", or NULL */
    const char *said;  /* the class as it is written */
    bool code;         /* a program makes it */
    bool byte_level;   /* tokenizer.json has this word */
} rlf_class_words;

struct rlf_tokenizer {
    rlf_arena *arena;
    rlf_scratches *scratches;
    const char *dir;         /* the directory of its files */
    const char *file;        /* tokenizer.json or vocab.json, for messages */
    const char *config_path; /* the path of tokenizer_config.json beside it */
    bool pair;               /* the file is vocab.json */
    const char *built; /* the class that builds it; NULL: none */
    const struct rlf_builder *builder; /* the builder of the class (class.h) */
    const char *fill; /* a text with it is written otherwise; NULL: none */
    rlf_class_words named_by;
    bool mends;       /* the class asks for the pattern of Mistral's models */
    bool mended;      /* the config.json beside it is of a Mistral model */
    bool plain;       /* special tokens in texts are split as any text */
    uint32_t n_words; /* tokens of the vocabulary, without added ones */
    uint32_t vocab;   /* largest id + 1 */
    uint32_t room;    /* the room of texts and added_by_id */
    rlf_str *texts;   /* texts by id, as the file writes them; p NULL: none */
    rlf_str *words;   /* texts by id, as the model sees them; p NULL: none */
    rlf_str *pieces;  /* bytes by id, as they are in a text */
    rlf_added **added_by_id; /* NULL: not an added token */
    RLF_VEC(const rlf_added *) added;
    rlf_map added_by_text;
    /* The least id behind the vocabulary and all added tokens. */
    uint32_t next_id;
    rlf_finder before, after; /* normalization */
    rlf_normalizer normalizer;
    rlf_pre_tokenizer pre_tokenizer;
    rlf_word_model model;
    rlf_decoder decoder;
    bool cleans; /* decoded text loses spaces (clean.h) */
    bool bos_by_class, eos_by_class; /* no file names it */
    /* Ids before, behind and at the end of a text, in the arena. */
    rlf_ids prefix, suffix, eos;
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
/* Reads its parts: the model with the vocabulary, behind the pre-tokenizer; and
 * what stands before and after a text. */
rlf_status rlf_tokenizer_model(rlf_tokenizer *tokenizer, const json_t *model,
                               rlf_err *err);
rlf_status rlf_tokenizer_post(rlf_tokenizer *tokenizer, const json_t *json,
                              rlf_err *err);
/* The same by its class, where that has its own. */
rlf_status rlf_tokenizer_around(rlf_tokenizer *tokenizer, const json_t *root,
                                const json_t *config, rlf_err *err);
/* `value` as an id; `token` is for the message. */
rlf_status rlf_tokenizer_id(const rlf_tokenizer *tokenizer, const json_t *value,
                            const char *token, rlf_err *err, uint32_t *out);
/* A token that a file lists, with the id that stands there. */
typedef struct rlf_listed_token {
    double id;
    const json_t *entry; /* borrowed */
} rlf_listed_token;

/* The entries of a list of tokens or, unless it is NULL, of an object of them
 * by their ids, in the order of ids; in the tokenizer's arena. */
rlf_status rlf_tokenizer_listed(rlf_tokenizer *tokenizer, const json_t *list,
                                const json_t *by_ids, rlf_err *err,
                                rlf_listed_token **out, size_t *n);
/* Widen the tables of tokens to hold `id`. */
rlf_status rlf_tokenizer_room(rlf_tokenizer *tokenizer, uint32_t id,
                              rlf_err *err);
/* A copy in the tokenizer's arena. */
rlf_str rlf_tokenizer_keep(rlf_tokenizer *tokenizer, const char *p, size_t n);
/* Add a token, or fail if it contradicts one that is there. */
rlf_status rlf_tokenizer_add(rlf_tokenizer *tokenizer, rlf_added *added,
                             rlf_err *err);
/* Bring what the files say of special tokens to one form. `config` is the
 * parsed tokenizer_config.json, `map` special_tokens_map.json, or NULL where
 * that does not count. Afterwards "model_specific_special_tokens" has all that
 * is named by an object of names, and "extra_special_tokens" is a list or
 * absent. */
void rlf_tokenizer_gather(json_t *config, json_t *map);
/* Returns its list of special tokens without a name after that, or NULL; and
 * whether a name stands for the token. */
json_t *rlf_tokenizer_extra(const json_t *config);
bool rlf_tokenizer_is_named(const json_t *config, const char *token);
/* ... or is it of that list? */
bool rlf_tokenizer_is_special(const json_t *config, const char *token);
/* Applies what tokenizer_config.json says besides the ends: names of special
 * tokens (a token that is nowhere else gets the next id), spaces in front of
 * texts, whether special tokens count in texts. */
rlf_status rlf_tokenizer_settings(rlf_tokenizer *tokenizer,
                                  const json_t *config, rlf_err *err);
/* The vocabulary, the merges and the added tokens of vocab.json, merges.txt and
 * added_tokens.json, as tokenizer.json would say them. */
rlf_status rlf_tokenizer_pair(const char *dir, rlf_arena *arena, rlf_err *err,
                              json_t **out);
/* Adds the tokens of added_tokens.json to those of the parsed tokenizer.json, in
 * *config, which may be NULL before; only if tokenizer_config.json has no
 * added_tokens_decoder. */
rlf_status rlf_tokenizer_added_file(const rlf_tokenizer *tokenizer,
                                    const json_t *root, json_t **config,
                                    rlf_err *err);
/* Rewrites the parsed tokenizer.json to what the tokenizer's class builds of
 * it, where that does not take it as it is, and adds the names of special
 * tokens that the class has itself to *config, which may be NULL before.
 * RLF_USER: the class is known, and not one of those that are here. */
rlf_status rlf_tokenizer_class(rlf_tokenizer *tokenizer, json_t *root,
                               json_t **config, rlf_err *err);
/* RLF_USER: transformers reads another file than tokenizer.json. */
rlf_status rlf_tokenizer_check_files(const rlf_tokenizer *tokenizer,
                                     const json_t *config, rlf_err *err);
/* Gives the parsed tokenizer.json, as its class has made it, the pattern of
 * Mistral's models, where "fix_mistral_regex" counts. */
rlf_status rlf_tokenizer_mend(rlf_tokenizer *tokenizer, json_t *root,
                              const json_t *config, rlf_err *err);
/* Does that count beside this config.json? NULL: there is none. */
bool rlf_tokenizer_mends_beside(const json_t *model);
/* A JSON file of the directory, or NULL if it is not there. */
rlf_status rlf_tokenizer_beside(const rlf_tokenizer *tokenizer,
                                const char *name, rlf_err *err, json_t **out);
/* Beginning and ends, from the other files. Tokens from the id `listed` on have
 * a name only. */
rlf_status rlf_tokenizer_ends(rlf_tokenizer *tokenizer, const json_t *config,
                              uint32_t listed, rlf_err *err);

#endif

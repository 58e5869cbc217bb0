/* The parts that a class of transformers builds of a tokenizer's files, for
 * class.c, which finds the class, and class_build.c, which has their table. */
#ifndef RLF_TEXT_CLASS_H
#define RLF_TEXT_CLASS_H

#include "engine/text/inside.h"

typedef enum rlf_prefix_kind {
    RLF_PREFIX_NONE,   /* add_prefix_space says nothing */
    RLF_PREFIX_BYTES,  /* ByteLevel puts a space in front, if it is true */
    RLF_PREFIX_NULL,   /* as RLF_PREFIX_BYTES, where null is false */
    RLF_PREFIX_LEGACY, /* Metaspace puts a sign, unless it is false: before the
                      first word, or if `legacy` is true before all texts */
    RLF_PREFIX_FIRST,  /* the same without `legacy`; decoding takes a space away
                      whatever it is */
    RLF_PREFIX_ALWAYS, /* Metaspace puts one before all texts, unless it is
                          false */
} rlf_prefix_kind;

/* The tokens before and after a text. */
typedef enum rlf_post_kind {
    RLF_POST_FILE, /* post-processing is as tokenizer.json says */
    RLF_POST_NONE,
    RLF_POST_BOS, /* the beginning, if it has a name */
    RLF_POST_EOS,
    RLF_POST_BOTH
} rlf_post_kind;

/* Special tokens without a name where no file lists some. */
typedef enum rlf_extra_kind {
    RLF_EXTRA_NONE,
    RLF_EXTRA_FILL, /* tokens of texts that are to be filled in */
    RLF_EXTRA_IDS   /* <extra_id_0> and so on, `extra_ids` of them, else 100 */
} rlf_extra_kind;

/* Special tokens that are added a second time, with no flags. */
typedef enum rlf_again_kind {
    RLF_AGAIN_NONE,
    RLF_AGAIN_OWN, /* tokens that no file names: the model's own, the extra ones
                    */
    RLF_AGAIN_ALL
} rlf_again_kind;

struct rlf_builder {
    const char *name;   /* the name of the class without "Fast" */
    const char *parts;  /* its parts, in the form of tokenizer.json */
    const char *model;  /* options of its BPE */
    const char *tokens; /* names of special tokens that no file gives */
    rlf_prefix_kind prefix;
    rlf_again_kind again;
    rlf_post_kind post;
    rlf_extra_kind extra;
    int unigram; /* the number of the unknown token of its Unigram model; 0: its
                    model is BPE */
    bool unknown; /* its model has the unk_token */
    bool pair;    /* it reads vocab.json and merges.txt */
};

/* The builder of a class, named without "Fast"; NULL: it is not here. */
const struct rlf_builder *rlf_builder_find(const char *name);
/* Rewrites the parsed tokenizer.json to what the class builds of it, and gives
 * `config` the names of its special tokens. RLF_USER: the file has another kind
 * of model, or a setting that the class cannot take. */
rlf_status rlf_builder_apply(const struct rlf_builder *builder,
                             rlf_tokenizer *tokenizer, json_t *root,
                             json_t *config, rlf_err *err);

#endif

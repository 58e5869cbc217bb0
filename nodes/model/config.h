/* The shape of a decoder-only transformer, from a Hugging Face config.json or
 * from the arguments of `llama(...)`.
 *
 * One struct covers all families (families/); a key that asks for anything that
 * a family has not is refused by its name. Not here: weights
 * (weights.h) and what is computed with them (transformer.h). */
#ifndef RLF_MODEL_CONFIG_H
#define RLF_MODEL_CONFIG_H

#include "engine/base/arena.h"
#include "engine/base/status.h"
#include "kernels/kernels.h"
#include "nodes/model/rope.h"

#include <stdbool.h>
#include <stdint.h>

#define RLF_MODEL_MAX_EOS 8

/* The heads, which are computed on top of the last hidden state. */
typedef enum rlf_model_head {
    RLF_HEAD_LM = 1,     /* log-probabilities of tokens */
    RLF_HEAD_SCALAR = 2, /* one number: a value or a score */
    RLF_HEAD_BOTH = 3,
} rlf_model_head;

/* The largest dropout: what it leaves is divided by 1 - p, which 1 would make
 * 0. */
#define RLF_LORA_MOST_DROPOUT 0.999999999

/* Adapters of low rank beside products (Hu et al. 2021): y = x w^T + s (x a^T)
 * b^T, of which training changes a and b alone. See adapter.h. */
typedef struct rlf_lora {
    int rank; /* 0: the model has none */
    double alpha;
    bool stable; /* s is alpha / sqrt(rank), else alpha / rank */
    double dropout; /* the part of the inputs of adapters that is dropped where
                       they are trained, in [0, 1) */
    /* Products that have one: names of modules, or ends of them behind a dot,
     * "q_proj", "self_attn.q_proj" or "model.layers.0.self_attn.q_proj"; none:
     * every product of a layer. */
    const char *const *targets;
    int n_targets;
} rlf_lora;

typedef struct rlf_model_config {
    const struct rlf_family *family; /* families.h; NULL: Llama */
    int layers, hidden, heads, kv_heads, head_dim, ffn, vocab;
    int context; /* positions it was made for; longer sequences are errors */
    double eps;  /* the eps of every RMSNorm */
    rlf_rope rope;
    rlf_rope local_rope;  /* the rotation of layers with a window; theta 0: as
                             that of the others */
    int window;           /* keys a query sees, itself included; 0: all */
    const bool *windowed; /* [layers] which have it; NULL: all */
    const bool *still;    /* [layers] which rotate nothing; NULL: none */
    bool parallel;        /* attention and mlp side by side, where a family has
                             both forms */
    bool two_norms;       /* ... behind a norm each */
    rlf_act act;          /* the activation of the mlp */
    bool tied;       /* the head is the embedding's matrix */
    bool untied;     /* config.json says so, and the weights have another */
    bool qkv_bias, o_bias, mlp_bias;
    /* Factors of families that scale: of the embedding, of what is added to the
     * residual, of the scores of attention and of logits (0: 1); then soft caps
     * of these scores and of logits (0: none). */
    double embedding_scale, residual_scale, attention_scale, logits_scale;
    double clip_qkv; /* the bound of queries, keys and values; 0: none */
    /* Rotated queries at position p are multiplied by 1 + query_growth ln(1 +
     * floor(p / query_reach)); 0: by nothing. */
    double query_growth;
    int query_reach;
    double attention_cap, logits_cap;
    bool qk_norm; /* RMSNorm over each head of q and k before rotation */
    rlf_lora lora;
    int bos;      /* -1: none */
    int eos[RLF_MODEL_MAX_EOS];
    int n_eos;
    const char *dir;  /* the directory from which it was read; NULL: it was made
                         from scratch */
    const char *json; /* config.json as read or made; written on saving */
    const char *slips; /* keys of that which are none; see config_typos.h */
    const char *generation; /* generation_config.json as read, NULL if there is
                               none */
    const char *unheeded;   /* settings of generation in the model's files that
                               are not carried out: "num_beams 4, min_length 8";
                               NULL: there are none */
} rlf_model_config;

/* The arguments of `llama(...)`; 0 takes the default in brackets. */
typedef struct rlf_llama_args {
    int layers, hidden, heads;
    int kv_heads; /* [heads] */
    int ffn;      /* [8/3 hidden, up to a multiple of 32] */
    int vocab;
    int context;       /* [2048] */
    double rope_theta; /* [10000] */
    double eps;        /* [1e-5] */
    bool tied;
    int bos; /* -1: none */
    int eos[RLF_MODEL_MAX_EOS];
    int n_eos;
} rlf_llama_args;

/* The model_type of family `i` of config.json that can be read, or NULL; for
 * the test of the list in README.md. */
const char *rlf_model_family(size_t i);

/* Read `dir`/config.json, and the end tokens of generation_config.json in place
 * of its own, where that names any. USER with the file and the key where
 * something is missing, wrong or not supported. Strings live in `arena`. */
rlf_status rlf_model_config_read(const char *dir, rlf_arena *arena,
                                 rlf_err *err, rlf_model_config *out);
/* The same from arguments of the language. */
rlf_status rlf_model_config_llama(const rlf_llama_args *args, rlf_arena *arena,
                                  rlf_err *err, rlf_model_config *out);

/* config.json to be saved: what was read, with the architecture named after
 * the head, and the type of the weights, if it names one, after the types that
 * tensors are saved in ([RLF_ELEMENT_COUNT], of floats only). *out: in `arena`.
 * RLF_MEMORY. */
rlf_status rlf_model_config_text(const rlf_model_config *config,
                                 rlf_model_head head, const bool *types,
                                 rlf_arena *arena, rlf_err *err,
                                 const char **out);
/* generation_config.json to be saved: as it was read, or the special tokens.
 * In `arena` or the config's. */
const char *rlf_model_config_generation(const rlf_model_config *config,
                                        rlf_arena *arena);
/* Tables of rotations: by config.rope; by config.local_rope; by config.rope
 * with queries that grow. Which of them has a model? */
typedef enum rlf_rotation {
    RLF_ROTATION_ALL,
    RLF_ROTATION_LOCAL,
    RLF_ROTATION_QUERIES,
    RLF_ROTATIONS
} rlf_rotation;
static inline bool
rlf_model_config_rotates(const rlf_model_config *config, rlf_rotation which)
{
    return which == RLF_ROTATION_LOCAL     ? config->local_rope.theta > 0
           : which == RLF_ROTATION_QUERIES ? config->query_growth > 0
                                           : true;
}
/* Elements of each head that are rotated. */
int rlf_model_config_rotated(const rlf_model_config *config);

/* The window of one layer, 0 for none. */
int rlf_model_config_window(const rlf_model_config *config, int layer);

#endif

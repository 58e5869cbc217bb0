/* The table of a model's weights: names, shapes, and where each lies.
 *
 * All weights of a model are one block of f32; gradients and optimizer states
 * are blocks of the same form. Matrices come first (the part that weight decay
 * applies to), vectors after them. What is multiplied together lies together:
 * q, k and v are one matrix [q + k + v, hidden], gate and up another, though
 * Hugging Face files name them one by one. Integers only: no memory here. */
#ifndef RLF_MODEL_TABLE_H
#define RLF_MODEL_TABLE_H

#include "nodes/model/config.h"

/* What a tensor is, for its initial values. */
typedef enum rlf_slot_kind {
    RLF_SLOT_EMBEDDING, /* also the head: N(0, 0.02^2) */
    RLF_SLOT_LINEAR,    /* N(0, 1 / fan-in) */
    RLF_SLOT_RESIDUAL,  /* output onto the residual: / sqrt(2 layers) too */
    RLF_SLOT_NORM,      /* 1 */
    RLF_SLOT_ZERO,      /* biases and the scalar head: 0 */
} rlf_slot_kind;

/* One tensor of the file. */
typedef struct rlf_slot {
    const char *name; /* in Hugging Face files */
    rlf_slot_kind kind;
    int64_t rows, cols; /* as in the file; a vector has cols 0 */
    int64_t count;      /* elements */
    int64_t offset;     /* floats from the start of the block */
} rlf_slot;

#define RLF_NO_SLOT (-1)

/* Offsets of one layer's tensors, RLF_NO_SLOT where it has none. */
typedef struct rlf_layer_slots {
    int64_t norm1, norm2;       /* [hidden] */
    int64_t qkv, qkv_bias;      /* [(heads + 2 kv_heads) head_dim, hidden] */
    int64_t q_norm, k_norm;     /* [head_dim] */
    int64_t o, o_bias;          /* [hidden, heads head_dim] */
    int64_t gate_up, gate_bias; /* [2 ffn, hidden]; biases gate, up */
    int64_t down, down_bias;    /* [hidden, ffn] */
} rlf_layer_slots;

typedef struct rlf_table {
    rlf_model_config config;
    rlf_model_head head;
    rlf_slot *slots; /* in the order of the block */
    int n_slots;
    rlf_layer_slots *layers;
    int64_t embed, norm;
    int64_t lm;       /* [vocab, hidden]; == embed if tied */
    int64_t score;    /* [1, hidden], RLF_NO_SLOT without scalar head */
    int64_t matrices; /* floats of the block's first part */
    int64_t count;    /* floats of the block */
} rlf_table;

/* The table of a config with a head. In `arena`. */
const rlf_table *rlf_table_new(const rlf_model_config *config,
                               rlf_model_head head, rlf_arena *arena);
/* The slot named so, or NULL. */
const rlf_slot *rlf_table_find(const rlf_table *table, const char *name);

/* Widths that many places need. */
static inline int64_t
rlf_table_q(const rlf_table *t)
{
    return (int64_t)t->config.heads * t->config.head_dim;
}

static inline int64_t
rlf_table_kv(const rlf_table *t)
{
    return (int64_t)t->config.kv_heads * t->config.head_dim;
}

static inline int64_t
rlf_table_qkv(const rlf_table *t)
{
    return rlf_table_q(t) + 2 * rlf_table_kv(t);
}

#endif

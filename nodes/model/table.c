/* Lays out the block: see the order in rlf_table_new(). */
#include "nodes/model/table.h"

#include <string.h>

/* Tensors that stand alone begin on 64 bytes. */
#define ALIGN_FLOATS 16

typedef struct builder {
    rlf_table *table;
    rlf_arena *arena;
    int room;
} builder;

static void
align(builder *b)
{
    b->table->count =
        (b->table->count + ALIGN_FLOATS - 1) / ALIGN_FLOATS * ALIGN_FLOATS;
}

/* Append a tensor; `layer` < 0: the name is whole. Returns its offset. */
static int64_t
add(builder *b, rlf_slot_kind kind, int layer, const char *name, int64_t rows,
    int64_t cols)
{
    rlf_table *t = b->table;
    RLF_ASSERT(t->n_slots < b->room);
    rlf_slot *slot = &t->slots[t->n_slots++];
    *slot = (rlf_slot){
        .name = layer < 0 ? name
                          : rlf_arena_printf(b->arena, "model.layers.%d.%s",
                                             layer, name),
        .kind = kind,
        .rows = rows,
        .cols = cols,
        .count = cols ? rows * cols : rows,
        .offset = t->count,
    };
    t->count += slot->count;
    return slot->offset;
}

static void
add_layer_matrices(builder *b, int i)
{
    rlf_table *t = b->table;
    const rlf_model_config *c = &t->config;
    int64_t q = rlf_table_q(t), kv = rlf_table_kv(t);
    rlf_layer_slots *l = &t->layers[i];
    align(b);
    l->qkv =
        add(b, RLF_SLOT_LINEAR, i, "self_attn.q_proj.weight", q, c->hidden);
    add(b, RLF_SLOT_LINEAR, i, "self_attn.k_proj.weight", kv, c->hidden);
    add(b, RLF_SLOT_LINEAR, i, "self_attn.v_proj.weight", kv, c->hidden);
    align(b);
    l->o =
        add(b, RLF_SLOT_RESIDUAL, i, "self_attn.o_proj.weight", c->hidden, q);
    align(b);
    l->gate_up =
        add(b, RLF_SLOT_LINEAR, i, "mlp.gate_proj.weight", c->ffn, c->hidden);
    add(b, RLF_SLOT_LINEAR, i, "mlp.up_proj.weight", c->ffn, c->hidden);
    align(b);
    l->down =
        add(b, RLF_SLOT_RESIDUAL, i, "mlp.down_proj.weight", c->hidden, c->ffn);
}

static void
add_layer_vectors(builder *b, int i)
{
    rlf_table *t = b->table;
    const rlf_model_config *c = &t->config;
    rlf_layer_slots *l = &t->layers[i];
    int64_t q = rlf_table_q(t), kv = rlf_table_kv(t);
    align(b);
    l->norm1 = add(b, RLF_SLOT_NORM, i, "input_layernorm.weight", c->hidden, 0);
    align(b);
    l->norm2 = add(b, RLF_SLOT_NORM, i, "post_attention_layernorm.weight",
                   c->hidden, 0);
    if (c->qkv_bias) {
        align(b);
        l->qkv_bias = add(b, RLF_SLOT_ZERO, i, "self_attn.q_proj.bias", q, 0);
        add(b, RLF_SLOT_ZERO, i, "self_attn.k_proj.bias", kv, 0);
        add(b, RLF_SLOT_ZERO, i, "self_attn.v_proj.bias", kv, 0);
    }
    if (c->qk_norm) {
        align(b);
        l->q_norm =
            add(b, RLF_SLOT_NORM, i, "self_attn.q_norm.weight", c->head_dim, 0);
        align(b);
        l->k_norm =
            add(b, RLF_SLOT_NORM, i, "self_attn.k_norm.weight", c->head_dim, 0);
    }
    if (c->o_bias) {
        align(b);
        l->o_bias =
            add(b, RLF_SLOT_ZERO, i, "self_attn.o_proj.bias", c->hidden, 0);
    }
    if (c->mlp_bias) {
        align(b);
        l->gate_bias =
            add(b, RLF_SLOT_ZERO, i, "mlp.gate_proj.bias", c->ffn, 0);
        add(b, RLF_SLOT_ZERO, i, "mlp.up_proj.bias", c->ffn, 0);
        align(b);
        l->down_bias =
            add(b, RLF_SLOT_ZERO, i, "mlp.down_proj.bias", c->hidden, 0);
    }
}

const rlf_table *
rlf_table_new(const rlf_model_config *config, rlf_model_head head,
              rlf_arena *arena)
{
    rlf_table *t = RLF_NEW(arena, rlf_table);
    t->config = *config;
    t->head = head;
    builder b = {t, arena, 18 * config->layers + 4};
    t->slots = RLF_NEW_ARRAY(arena, rlf_slot, b.room);
    t->layers = RLF_NEW_ARRAY(arena, rlf_layer_slots, config->layers);
    t->embed = add(&b, RLF_SLOT_EMBEDDING, -1, "model.embed_tokens.weight",
                   config->vocab, config->hidden);
    for (int i = 0; i < config->layers; i++) {
        memset(&t->layers[i], 0xff, sizeof t->layers[i]); /* RLF_NO_SLOT */
        add_layer_matrices(&b, i);
    }
    t->lm = t->score = RLF_NO_SLOT;
    if (head & RLF_HEAD_LM) {
        align(&b);
        t->lm = config->tied ? t->embed
                             : add(&b, RLF_SLOT_EMBEDDING, -1, "lm_head.weight",
                                   config->vocab, config->hidden);
    }
    if (head & RLF_HEAD_SCALAR) {
        align(&b);
        t->score =
            add(&b, RLF_SLOT_ZERO, -1, "score.weight", 1, config->hidden);
    }
    align(&b);
    t->matrices = t->count;
    for (int i = 0; i < config->layers; i++)
        add_layer_vectors(&b, i);
    align(&b);
    t->norm =
        add(&b, RLF_SLOT_NORM, -1, "model.norm.weight", config->hidden, 0);
    align(&b);
    return t;
}

const rlf_slot *
rlf_table_find(const rlf_table *table, const char *name)
{
    for (int i = 0; i < table->n_slots; i++)
        if (!strcmp(table->slots[i].name, name))
            return &table->slots[i];
    return NULL;
}

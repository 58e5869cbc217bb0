/* Lays out the block: see the order in rlf_table_new(). */
#include "nodes/model/table.h"

#include <stdio.h>
#include <string.h>

#include "engine/layout/layout.h"

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

/* Cut n things; `first` and how many are held here. */
static int64_t
hold(const rlf_table *t, int64_t n, int64_t *first)
{
    *first = rlf_shard_first(n, t->shards.of, t->shards.first);
    return rlf_shards_held(t->shards, n);
}

/* The part of a slot that is held here. Ranks share a key/value head where
 * there are more of them than heads. */
static void
cut_slot(const rlf_table *t, rlf_slot *slot)
{
    if (slot->slice == RLF_SLICE_ROWS)
        slot->rows = hold(t, slot->file_rows, &slot->first);
    if (slot->slice == RLF_SLICE_COLS)
        slot->cols = hold(t, slot->file_cols, &slot->first);
    if (slot->slice == RLF_SLICE_KV) {
        slot->rows = rlf_table_kv(t);
        slot->first = t->cut.rank / t->copies * slot->rows;
    }
}

/* Append a tensor; `layer` < 0: the name is whole. Returns its offset. */
static int64_t
add(builder *b, rlf_slot_kind kind, rlf_slice slice, int layer,
    const char *name, int64_t rows, int64_t cols)
{
    rlf_table *t = b->table;
    RLF_ASSERT(t->n_slots < b->room);
    rlf_slot *slot = &t->slots[t->n_slots++];
    *slot = (rlf_slot){
        .name = layer < 0 ? name
                          : rlf_arena_printf(b->arena, "model.layers.%d.%s",
                                             layer, name),
        .kind = kind,
        .slice = slice,
        .rows = rows,
        .cols = cols,
        .offset = t->count,
        .file_rows = rows,
        .file_cols = cols,
    };
    cut_slot(t, slot);
    slot->count = cols ? slot->rows * slot->cols : slot->rows;
    t->count += slot->count;
    return slot->offset;
}

static void
add_layer_matrices(builder *b, int i)
{
    rlf_table *t = b->table;
    const rlf_model_config *c = &t->config;
    int64_t q = (int64_t)c->heads * c->head_dim, d = c->hidden;
    int64_t kv = (int64_t)c->kv_heads * c->head_dim, f = c->ffn;
    rlf_layer_slots *l = &t->layers[i];
    // clang-format off
    align(b);
    l->qkv = add(b, RLF_SLOT_LINEAR, RLF_SLICE_ROWS, i, "self_attn.q_proj.weight", q, d);
    add(b, RLF_SLOT_LINEAR, RLF_SLICE_KV, i, "self_attn.k_proj.weight", kv, d);
    add(b, RLF_SLOT_LINEAR, RLF_SLICE_KV, i, "self_attn.v_proj.weight", kv, d);
    align(b);
    l->o = add(b, RLF_SLOT_RESIDUAL, RLF_SLICE_COLS, i, "self_attn.o_proj.weight", d, q);
    align(b);
    l->gate_up = add(b, RLF_SLOT_LINEAR, RLF_SLICE_ROWS, i, "mlp.gate_proj.weight", f, d);
    add(b, RLF_SLOT_LINEAR, RLF_SLICE_ROWS, i, "mlp.up_proj.weight", f, d);
    align(b);
    l->down = add(b, RLF_SLOT_RESIDUAL, RLF_SLICE_COLS, i, "mlp.down_proj.weight", d, f);
    // clang-format on
}

/* A vector that stands alone. */
static int64_t
add_vector(builder *b, rlf_slot_kind kind, int layer, const char *name,
           int64_t n)
{
    align(b);
    return add(b, kind, RLF_SLICE_NOT, layer, name, n, 0);
}

static void
add_layer_vectors(builder *b, int i)
{
    rlf_table *t = b->table;
    const rlf_model_config *c = &t->config;
    rlf_layer_slots *l = &t->layers[i];
    int64_t q = (int64_t)c->heads * c->head_dim, d = c->hidden;
    int64_t kv = (int64_t)c->kv_heads * c->head_dim, f = c->ffn;
    // clang-format off
    l->norm1 = add_vector(b, RLF_SLOT_NORM, i, "input_layernorm.weight", d);
    l->norm2 = add_vector(b, RLF_SLOT_NORM, i, "post_attention_layernorm.weight", d);
    if (c->qkv_bias) {
        align(b);
        l->qkv_bias = add(b, RLF_SLOT_ZERO, RLF_SLICE_ROWS, i, "self_attn.q_proj.bias", q, 0);
        add(b, RLF_SLOT_ZERO, RLF_SLICE_KV, i, "self_attn.k_proj.bias", kv, 0);
        add(b, RLF_SLOT_ZERO, RLF_SLICE_KV, i, "self_attn.v_proj.bias", kv, 0);
    }
    if (c->qk_norm) {
        l->q_norm = add_vector(b, RLF_SLOT_NORM, i, "self_attn.q_norm.weight", c->head_dim);
        l->k_norm = add_vector(b, RLF_SLOT_NORM, i, "self_attn.k_norm.weight", c->head_dim);
    }
    if (c->o_bias)
        l->o_bias = add_vector(b, RLF_SLOT_ZERO, i, "self_attn.o_proj.bias", d);
    if (c->mlp_bias) {
        align(b);
        l->gate_bias = add(b, RLF_SLOT_ZERO, RLF_SLICE_ROWS, i, "mlp.gate_proj.bias", f, 0);
        add(b, RLF_SLOT_ZERO, RLF_SLICE_ROWS, i, "mlp.up_proj.bias", f, 0);
        l->down_bias = add_vector(b, RLF_SLOT_ZERO, i, "mlp.down_proj.bias", d);
    }
    // clang-format on
}

/* ---- cuts ---- */

static bool
power_of_two(int n)
{
    return n > 0 && (n & (n - 1)) == 0;
}

/* Either divides the other. */
static bool
divides(int a, int b)
{
    return a % b == 0 || b % a == 0;
}

/* Zeros have become ones, or a shard for each rank. */
static rlf_cut
resolved(const rlf_cut *cut)
{
    rlf_cut c = cut ? *cut : (rlf_cut){0};
    c.ranks += !c.ranks;
    c.shards = c.shards ? c.shards : c.ranks;
    c.stages += !c.stages;
    c.chunks += !c.chunks;
    return c;
}

bool
rlf_table_cut_alike(const rlf_cut *a, const rlf_cut *b)
{
    const rlf_cut x = resolved(a), y = resolved(b);
    return x.ranks == y.ranks && x.rank == y.rank && x.stages == y.stages &&
           x.stage == y.stage && x.chunks == y.chunks && x.vee == y.vee;
}

static bool
cut_fits(const rlf_model_config *c, int n)
{
    return c->heads % n == 0 && divides(c->kv_heads, n) && n <= c->ffn &&
           n <= c->vocab;
}

/* Refuse to cut into n; `what` is "shards" or "tp". */
static rlf_status
fail_cut(const rlf_model_config *c, const char *what, int n, bool powers,
         rlf_err *err)
{
    if (c->heads % n)
        rlf_fail(err, RLF_USER, "%s %d does not divide the %d attention heads",
                 what, n, c->heads);
    else if (!divides(c->kv_heads, n))
        rlf_fail(err, RLF_USER,
                 "%s %d neither divides the %d key/value heads nor is a "
                 "multiple of them",
                 what, n, c->kv_heads);
    else
        rlf_fail(err, RLF_USER, "%s %d is more than the model's %s of %d", what,
                 n, n > c->ffn ? "ffn" : "vocabulary",
                 n > c->ffn ? c->ffn : c->vocab);
    char text[256] = "";
    size_t used = 0;
    for (int i = 1; i <= c->heads && used < sizeof text - 16; i++)
        if (cut_fits(c, i) && (!powers || power_of_two(i)))
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%d",
                                     used ? ", " : "", i);
    rlf_err_hint(err, "%s can be %s", what, text);
    return RLF_USER;
}

/* Refuse more parts than there are layers. */
static rlf_status
fail_stages(const rlf_model_config *c, const rlf_cut *cut, rlf_err *err)
{
    if (cut->chunks == 1) {
        rlf_fail(err, RLF_USER, "pp %d is more than the model's %d layers",
                 cut->stages, c->layers);
        rlf_err_hint(err, "pp can be up to %d", c->layers);
        return RLF_USER;
    }
    rlf_fail(err, RLF_USER,
             "pp %d with %d chunks a rank is more than the model's %d layers",
             cut->stages, cut->chunks, c->layers);
    if (c->layers < cut->stages)
        rlf_err_hint(err, "pp can be up to %d, with one chunk", c->layers);
    else if (c->layers / cut->stages == 1)
        rlf_err_hint(err, "pp %d is possible with one chunk: give 'schedule:' another",
                     cut->stages);
    else
        rlf_err_hint(err, "chunks can be up to %d", c->layers / cut->stages);
    return RLF_USER;
}

rlf_status
rlf_table_check_cut(const rlf_model_config *c, const rlf_cut *wanted,
                    rlf_err *err)
{
    const rlf_cut cut = resolved(wanted);
    int shards = cut.shards, ranks = cut.ranks;
    bool said = wanted && wanted->shards;
    if (said && (!power_of_two(shards) || shards > RLF_MOST_SHARDS))
        return rlf_fail(err, RLF_USER,
                        "shards is %d; it must be a power of two up to %d",
                        shards, RLF_MOST_SHARDS);
    if (said && !cut_fits(c, shards))
        return fail_cut(c, "shards", shards, true, err);
    if (ranks > RLF_MOST_SHARDS || !cut_fits(c, ranks))
        return fail_cut(c, "tp", ranks, false, err);
    if ((int64_t)cut.stages * cut.chunks > c->layers)
        return fail_stages(c, &cut, err);
    if (shards % ranks)
        return rlf_fail(err, RLF_USER, "tp %d does not divide shards %d", ranks,
                        shards);
    return RLF_OK;
}

/* Each rank has as many neighbouring shards as the others. */
static void
cut_table(rlf_table *t, const rlf_cut *cut)
{
    const rlf_model_config *c = &t->config;
    t->cut = resolved(cut);
    int ranks = t->cut.ranks, of = t->cut.shards;
    RLF_ASSERT(of % ranks == 0);
    t->shards = (rlf_shards){
        .of = of, .first = t->cut.rank * (of / ranks), .count = of / ranks};
    t->heads = c->heads / ranks;
    t->copies = ranks > c->kv_heads ? ranks / c->kv_heads : 1;
    t->kv_heads = c->kv_heads * t->copies / ranks;
    t->norm_sums[0] = t->shards.count;
    t->norm_sums[1] =
        t->kv_heads < t->shards.count ? t->kv_heads : t->shards.count;
    int64_t first;
    t->ffn = hold(t, c->ffn, &first);
    t->vocab = hold(t, c->vocab, &t->token);
}

rlf_slot_part
rlf_slot_shard(const rlf_table *t, const rlf_slot *slot, int shard)
{
    int of = t->shards.of, first = t->shards.first;
    int64_t cols = slot->cols ? slot->cols : 1;
    bool copy = slot->slice == RLF_SLICE_KV && t->cut.rank % t->copies != 0;
    if (slot->slice == RLF_SLICE_NOT)
        return (rlf_slot_part){.count = first + shard ? 0 : slot->count};
    if (copy)
        return (rlf_slot_part){0};
    int64_t n = slot->slice == RLF_SLICE_COLS ? slot->file_cols
                : slot->slice == RLF_SLICE_KV ? slot->rows * t->cut.ranks
                                              : slot->file_rows;
    int pieces = slot->slice == RLF_SLICE_KV ? rlf_table_kv_pieces(t) : 0;
    int64_t from = rlf_piece_first(n, pieces, of, first);
    int64_t at = rlf_piece_first(n, pieces, of, first + shard) - from;
    int64_t held =
        rlf_piece_first(n, pieces, of, first + shard + 1) - from - at;
    if (slot->slice == RLF_SLICE_COLS)
        return (rlf_slot_part){.at = at,
                               .count = held * slot->rows,
                               .width = held,
                               .ld = slot->cols};
    return (rlf_slot_part){.at = at * cols, .count = held * cols};
}

/* ---- stages ---- */

static int
last_stage(const rlf_cut *cut)
{
    return rlf_part_stage(cut->stages, cut->vee, cut->stages * cut->chunks - 1);
}

int
rlf_table_last(const rlf_table *t)
{
    return last_stage(&t->cut);
}

bool
rlf_table_begins(const rlf_table *t, int chunk)
{
    return t->cut.stage == 0 && chunk == 0;
}

bool
rlf_table_ends(const rlf_table *t, int chunk)
{
    return t->cut.stage == last_stage(&t->cut) && chunk == t->cut.chunks - 1;
}

int
rlf_table_neighbour(const rlf_table *t, int chunk, int by)
{
    const rlf_cut *c = &t->cut;
    return rlf_part_stage(c->stages, c->vee,
                          rlf_stage_part(c->stages, c->vee, c->stage, chunk) +
                              by);
}

/* The layers of each chunk, and which they make all together. */
static void
cut_layers(rlf_table *t, rlf_arena *arena)
{
    const rlf_cut *cut = &t->cut;
    int parts = cut->stages * cut->chunks;
    t->chunk = RLF_NEW_ARRAY(arena, rlf_chunk, cut->chunks);
    t->layers = RLF_NEW_ARRAY(arena, rlf_layer_slots, t->config.layers);
    memset(t->layers, 0xff, /* RLF_NO_SLOT, no place */
           (size_t)t->config.layers * sizeof *t->layers);
    for (int k = 0; k < parts; k++) {
        rlf_range r = rlf_range_part(t->config.layers, parts, k);
        if (rlf_part_stage(cut->stages, cut->vee, k) != cut->stage)
            continue;
        t->chunk[k / cut->stages] = (rlf_chunk){(int)r.first, (int)r.last};
        for (int64_t i = r.first; i < r.last; i++)
            t->layers[i].place = t->n_layers++;
    }
    for (int stage = 0; stage < cut->stages; stage++) {
        int64_t n = 0;
        for (int c = 0; c < cut->chunks; c++)
            n += rlf_range_size(rlf_range_part(
                t->config.layers, parts,
                rlf_stage_part(cut->stages, cut->vee, stage, c)));
        t->most_layers = n > t->most_layers ? (int)n : t->most_layers;
    }
}

/* Which tensors of the whole are here: both tables have them in one order. */
static void
number_slots(rlf_table *t, rlf_arena *arena)
{
    t->own = RLF_NEW_ARRAY(arena, int, t->whole->n_slots);
    for (int i = 0, k = 0; i < t->whole->n_slots; i++) {
        bool here = k < t->n_slots &&
                    !strcmp(t->whole->slots[i].name, t->slots[k].name);
        t->own[i] = here ? k : -1;
        if (here)
            t->slots[k++].number = i;
    }
}

static void
add_heads(builder *b, bool first, bool last)
{
    rlf_table *t = b->table;
    const rlf_model_config *c = &t->config;
    if (last && (t->head & RLF_HEAD_LM)) {
        align(b);
        t->lm = !c->tied ? add(b, RLF_SLOT_EMBEDDING, RLF_SLICE_ROWS, -1,
                               "lm_head.weight", c->vocab, c->hidden)
                : first  ? t->embed
                         : t->ends;
    }
    if (last && (t->head & RLF_HEAD_SCALAR)) {
        align(b);
        t->score = add(b, RLF_SLOT_ZERO, RLF_SLICE_NOT, -1, "score.weight", 1,
                       c->hidden);
    }
}

const rlf_table *
rlf_table_stage(const rlf_model_config *config, rlf_model_head head,
                const rlf_cut *cut, const rlf_table *whole, rlf_arena *arena)
{
    rlf_table *t = RLF_NEW(arena, rlf_table);
    t->config = *config;
    t->head = head;
    cut_table(t, cut);
    cut_layers(t, arena);
    bool first = t->cut.stage == 0, last = t->cut.stage == last_stage(&t->cut);
    bool shared = !(first && last) && config->tied && (head & RLF_HEAD_LM);
    builder b = {t, arena, 18 * t->n_layers + 4};
    t->slots = RLF_NEW_ARRAY(arena, rlf_slot, b.room);
    t->embed = t->ends = t->lm = t->score = t->norm = RLF_NO_SLOT;
    if (first || (last && shared)) {
        int64_t at =
            add(&b, RLF_SLOT_EMBEDDING, RLF_SLICE_ROWS, -1,
                "model.embed_tokens.weight", config->vocab, config->hidden);
        t->embed = first ? at : RLF_NO_SLOT;
        t->ends = shared ? at : RLF_NO_SLOT;
    }
    for (int i = 0; i < config->layers; i++)
        if (t->layers[i].place >= 0)
            add_layer_matrices(&b, i);
    add_heads(&b, first, last);
    align(&b);
    t->matrices = t->count;
    for (int i = 0; i < config->layers; i++)
        if (t->layers[i].place >= 0)
            add_layer_vectors(&b, i);
    if (last)
        t->norm = add_vector(&b, RLF_SLOT_NORM, -1, "model.norm.weight",
                             config->hidden);
    align(&b);
    t->whole = whole ? whole : t;
    number_slots(t, arena);
    return t;
}

rlf_cut
rlf_table_whole_cut(const rlf_cut *cut)
{
    const rlf_cut c = resolved(cut);
    return (rlf_cut){.shards = c.shards,
                     .ranks = c.ranks,
                     .rank = c.rank,
                     .stages = 1,
                     .chunks = c.stages > 1 ? 1 : c.chunks};
}

const rlf_table *
rlf_table_new(const rlf_model_config *config, rlf_model_head head,
              const rlf_cut *cut, rlf_arena *arena)
{
    const rlf_cut all = rlf_table_whole_cut(cut);
    bool several = cut && cut->stages > 1;
    const rlf_table *whole =
        several ? rlf_table_stage(config, head, &all, NULL, arena) : NULL;
    return rlf_table_stage(config, head, cut, whole, arena);
}

const rlf_slot *
rlf_table_find(const rlf_table *table, const char *name)
{
    for (int i = 0; i < table->n_slots; i++)
        if (!strcmp(table->slots[i].name, name))
            return &table->slots[i];
    return NULL;
}

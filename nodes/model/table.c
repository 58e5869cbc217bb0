/* Lays out the block: see the order in rlf_table_new(). */
#include "nodes/model/table.h"

#include <stdio.h>
#include <string.h>

#include "engine/layout/layout.h"
#include "nodes/model/adapter.h"
#include "nodes/model/families/families.h"

/* Tensors that stand alone begin on 64 bytes. */
#define ALIGN_FLOATS 16

typedef struct builder {
    rlf_table *table;
    rlf_arena *arena;
    int room;
    int layer; /* of slots that are added now */
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

/* Append a tensor of the whole model's size. Returns its offset. */
static int64_t
add(builder *b, rlf_slot_kind kind, rlf_slice slice, const char *name,
    int64_t rows, int64_t cols)
{
    rlf_table *t = b->table;
    RLF_ASSERT(t->n_slots < b->room);
    rlf_slot *slot = &t->slots[t->n_slots++];
    *slot = (rlf_slot){
        .name = name,
        .form = {.tensor = name, .rows = rows},
        .layer = b->layer,
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

/* ---- rows ---- */

static const char *
name_of(const builder *b, const rlf_model_row *row, int part,
        const char *ending)
{
    const rlf_model_config *c = &b->table->config;
    if (row->layer < 0 || row->layer == c->layers)
        return rlf_arena_printf(b->arena, "%s.%s", row->name[part], ending);
    return rlf_arena_printf(b->arena, "%s.%d.%s.%s", rlf_program_layers(c),
                            row->layer, row->name[part], ending);
}

/* One tensor of a row: [rows, cols]. */
static int64_t
add_matrix(builder *b, rlf_slot_kind kind, const char *name, rlf_width rows,
           rlf_width cols)
{
    const rlf_model_config *c = &b->table->config;
    rlf_slice slice = rows == RLF_WIDTH_KV     ? RLF_SLICE_KV
                      : rlf_width_is_cut(rows) ? RLF_SLICE_ROWS
                      : rlf_width_is_cut(cols) ? RLF_SLICE_COLS
                                               : RLF_SLICE_NOT;
    return add(b, kind, slice, name, rlf_width_size(c, rows),
               rlf_width_size(c, cols));
}

static int64_t
add_vector(builder *b, rlf_slot_kind kind, const char *name, rlf_width width)
{
    rlf_slice slice = width == RLF_WIDTH_KV     ? RLF_SLICE_KV
                      : rlf_width_is_cut(width) ? RLF_SLICE_ROWS
                                                : RLF_SLICE_NOT;
    return add(b, kind, slice, name, rlf_width_size(&b->table->config, width),
               0);
}

/* The part of q, k or v (0, 1, 2) in a tensor that has, for each key head, the
 * query heads that read it, then itself, then its values. */
static void
set_group(const rlf_model_config *c, rlf_slot *slot, int part)
{
    int64_t per = c->heads / c->kv_heads, d = c->head_dim;
    slot->form.run = part == 0 ? per * d : d;
    slot->form.first = part == 0 ? 0 : (per + part - 1) * d;
    slot->form.stride = (per + 2) * d;
}

/* Sets how files have the tensors of a model row's product, which are those
 * from slot `first` on: neighbours of one name are parts of one tensor. */
static void
set_forms(builder *b, int first)
{
    const rlf_table *t = b->table;
    const rlf_family *f = t->config.family;
    bool heads = t->n_slots - first == 3;
    for (int i = first, end; i < t->n_slots; i = end) {
        const char *name = t->slots[i].name;
        int64_t rows = 0;
        for (end = i; end < t->n_slots && !strcmp(t->slots[end].name, name);
             rows += t->slots[end++].file_rows)
            t->slots[end].form.first = rows;
        for (int k = i; k < end; k++) {
            rlf_slot *slot = &t->slots[k];
            slot->form.rows = rows;
            slot->form.transposed = f && f->transposed && slot->file_cols;
            if (f && f->pairs && heads && k - first < 2) { /* q and k */
                slot->form.pairs = t->config.head_dim;
                slot->form.turned = rlf_model_config_rotated(&t->config);
            }
            if (f && f->groups && heads && end - i == 3)
                set_group(&t->config, slot, k - i);
            if (end - i > 1)
                slot->name = rlf_arena_printf(b->arena, "%s[%d]", name, k - i);
        }
    }
}

/* The matrix of an adapter: plain in files, but that rows of one back from the
 * rank are in the order of those that they are added to. */
static void
form_adapter(builder *b, const rlf_model_row *row)
{
    rlf_table *t = b->table;
    rlf_slot *slot = &t->slots[t->n_slots - 1];
    const char *name = slot->name;
    if (row->adapter == RLF_ADAPTER_B) {
        const rlf_slot *beside =
            rlf_table_find(t, rlf_arena_printf(b->arena, "%s.%d.%s",
                                               rlf_program_layers(&t->config),
                                               row->layer, row->beside));
        const char *part = strrchr(row->beside, '[');
        RLF_ASSERT(beside);
        slot->form = beside->form;
        slot->form.transposed = false;
        if (part)
            slot->name = rlf_arena_printf(b->arena, "%s%s", name, part);
    }
    slot->form.tensor =
        rlf_arena_printf(b->arena, RLF_ADAPTER_PREFIX "%s", name);
}

/* The matrices of a model row as one. */
static void
add_row_matrix(builder *b, const rlf_model_row *row)
{
    rlf_table *t = b->table;
    const rlf_var_info *value = t->program->values.data;
    rlf_row_slots *own = &t->rows[row - t->program->rows.data];
    if (!rlf_is_product(row))
        return;
    align(b);
    int first = t->n_slots;
    own->matrix = t->count;
    own->number = t->n_matrix++;
    for (int i = 0; i < row->n_out; i++)
        add_matrix(b,
                   row->adapter == RLF_ADAPTER_A   ? RLF_SLOT_LOW
                   : row->adapter == RLF_ADAPTER_B ? RLF_SLOT_ZERO
                   : row->kind == RLF_ROW_ONTO     ? RLF_SLOT_RESIDUAL
                                                   : RLF_SLOT_LINEAR,
                   name_of(b, row, i, "weight"), value[row->out[i]].width,
                   value[row->in[0]].width);
    if (row->adapter)
        form_adapter(b, row);
    else
        set_forms(b, first);
    int64_t cols = rlf_table_width(t, value[row->in[0]].width);
    t->matrix[own->number] =
        (rlf_matrix){own->matrix, (t->count - own->matrix) / cols, cols};
}

/* Positions, which are added alone and so are a vector to kernels; in files
 * they are a matrix. */
static void
add_positions(builder *b, const rlf_model_row *row)
{
    rlf_table *t = b->table;
    t->rows[row - t->program->rows.data].vector[0] = add_vector(
        b, RLF_SLOT_EMBEDDING, name_of(b, row, 0, "weight"), RLF_WIDTH_PLACES);
    t->slots[t->n_slots - 1].form.fold = t->config.hidden;
}

/* Those of each head are a row of the matrix that files have, in the order of
 * what a head's product gives. */
static void
form_head_norm(builder *b)
{
    rlf_table *t = b->table;
    rlf_slot *slot = &t->slots[t->n_slots - 1];
    slot->form.fold = t->config.head_dim;
    if (t->config.family && t->config.family->pairs) {
        slot->form.pairs = t->config.head_dim;
        slot->form.turned = rlf_model_config_rotated(&t->config);
    }
}

/* The weights of a norm, and biases. */
static void
add_row_vectors(builder *b, const rlf_model_row *row)
{
    rlf_table *t = b->table;
    const rlf_var_info *value = t->program->values.data;
    rlf_row_slots *own = &t->rows[row - t->program->rows.data];
    bool norm = row->kind == RLF_ROW_NORM,
         heads = row->kind == RLF_ROW_HEAD_NORM;
    for (int i = 0; (norm || heads) && i < row->n_out && row->name[i]; i++) {
        align(b);
        own->vector[i] =
            add_vector(b, t->program->one_plus ? RLF_SLOT_ZERO : RLF_SLOT_NORM,
                       name_of(b, row, i, "weight"),
                       heads ? RLF_WIDTH_HEAD : value[row->out[i]].width);
        if (row->by_head)
            form_head_norm(b);
    }
    if (!row->bias)
        return;
    align(b);
    int first = t->n_slots;
    own->vector[norm] = t->count;
    for (int i = 0; i < row->n_out; i++)
        add_vector(b, RLF_SLOT_ZERO, name_of(b, row, i, "bias"),
                   value[row->out[i]].width);
    set_forms(b, first);
}

/* Begins layer i, to which all that is added next belongs. */
static rlf_layer *
begin_layer(builder *b, int i)
{
    align(b);
    b->layer = i;
    return &b->table->layers[i];
}

/* Adds the matrices of the model rows of a layer that are adapters, or that are
 * not.
 */
static void
add_layer_rows(builder *b, int i, bool adapters)
{
    const rlf_program *p = b->table->program;
    for (int r = p->first[i]; r < p->first[i + 1]; r++)
        if ((p->rows.data[r].adapter != RLF_ADAPTER_NONE) == adapters)
            add_row_matrix(b, &p->rows.data[r]);
}

static void
add_layer_matrices(builder *b, int i)
{
    rlf_table *t = b->table;
    rlf_layer *l = begin_layer(b, i);
    l->matrices = t->count;
    l->first = t->n_matrix;
    add_layer_rows(b, i, false);
    l->matrices_end = t->count;
    l->last = t->n_matrix;
}

static void
add_layer_adapters(builder *b, int i)
{
    rlf_layer *l = begin_layer(b, i);
    l->adapters = b->table->count;
    add_layer_rows(b, i, true);
    l->adapters_end = b->table->count;
}

static void
add_layer_vectors(builder *b, int i)
{
    rlf_table *t = b->table;
    const rlf_program *p = t->program;
    rlf_layer *l = begin_layer(b, i);
    l->vectors = t->count;
    for (int later = 0; later < 2; later++)
        for (int r = p->first[i]; r < p->first[i + 1]; r++) {
            const rlf_model_row *row = &p->rows.data[r];
            bool first = row->kind == RLF_ROW_NORM &&
                         p->values.data[row->out[0]].width == RLF_WIDTH_HIDDEN;
            if (later == !first)
                add_row_vectors(b, row);
            if (row->kind == RLF_ROW_HEAD_NORM)
                l->head_norms = &t->rows[r];
        }
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

/* Refuse to cut into n; `what` is "shards" or "tp", which divides some. */
static rlf_status
fail_cut(const rlf_model_config *c, const char *what, int n, rlf_err *err)
{
    if (c->heads % n)
        rlf_fail(err, RLF_USER, "%s %d does not divide the %d attention heads",
                 what, n, c->heads);
    else if (!divides(c->kv_heads, n))
        rlf_fail(err, RLF_USER,
                 "%s %d neither divides the %d key/value heads nor is a "
                 "multiple of them",
                 what, n, c->kv_heads);
    else if (cut_fits(c, n))
        rlf_fail(err, RLF_USER,
                 "%s %d does not divide shards, which are a power of two up "
                 "to %d",
                 what, n, RLF_MOST_SHARDS);
    else
        rlf_fail(err, RLF_USER, "%s %d is more than the model's %s of %d", what,
                 n, n > c->ffn ? "ffn" : "vocabulary",
                 n > c->ffn ? c->ffn : c->vocab);
    char text[256] = "";
    size_t used = 0;
    for (int i = 1; i <= RLF_MOST_SHARDS; i *= 2)
        if (cut_fits(c, i))
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
        return fail_cut(c, "shards", shards, err);
    if (ranks > RLF_MOST_SHARDS || !power_of_two(ranks) || !cut_fits(c, ranks))
        return fail_cut(c, "tp", ranks, err);
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

int64_t
rlf_table_width(const rlf_table *t, rlf_width width)
{
    switch (width) {
    case RLF_WIDTH_Q:
        return rlf_table_q(t);
    case RLF_WIDTH_KV:
        return rlf_table_kv(t);
    case RLF_WIDTH_FFN:
        return t->ffn;
    case RLF_WIDTH_VOCAB:
        return t->vocab;
    case RLF_WIDTH_HIDDEN:
    case RLF_WIDTH_HEAD:
    case RLF_WIDTH_PLACES:
    case RLF_WIDTH_RANK:
        break;
    }
    return rlf_width_size(&t->config, width);
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
    t->layers = RLF_NEW_ARRAY(arena, rlf_layer, t->config.layers);
    for (int i = 0; i < t->config.layers; i++)
        t->layers[i].place = -1;
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

/* Numbers the tensors of the whole that are here: both tables have them in one
 * order. */
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
    b->layer = c->layers;
    if (last && (t->head & RLF_HEAD_LM)) {
        align(b);
        t->lm = !c->tied ? add_matrix(b, RLF_SLOT_EMBEDDING, rlf_head_name(c),
                                      RLF_WIDTH_VOCAB, RLF_WIDTH_HIDDEN)
                : first  ? t->embed
                         : t->ends;
    }
}

static void
add_head_bias(builder *b, bool last)
{
    rlf_table *t = b->table;
    const rlf_family *f = t->config.family;
    if (!last || !(t->head & RLF_HEAD_LM) || !f || !f->head_bias)
        return;
    align(b);
    t->lm_bias = add_vector(b, RLF_SLOT_ZERO, f->head_bias, RLF_WIDTH_VOCAB);
}

static void
add_score(builder *b)
{
    rlf_table *t = b->table;
    b->layer = t->config.layers;
    align(b);
    t->score = add(b, RLF_SLOT_ZERO, RLF_SLICE_NOT, "score.weight", 1,
                   t->config.hidden);
    if (rlf_table_adapted(t))
        t->slots[t->n_slots - 1].form.tensor = RLF_ADAPTER_SCORE;
}

/* Adds the slots behind the base: all that a model with adapters trains. */
static void
add_adapters(builder *b, bool score)
{
    rlf_table *t = b->table;
    for (int i = 0; i < t->config.layers; i++)
        if (t->layers[i].place >= 0)
            add_layer_adapters(b, i);
    if (score)
        add_score(b);
    align(b);
    t->decayed = t->count;
}

/* The embedding: of the first stage, and where it is the head of the last. */
static void
add_embedding(builder *b, bool first, bool shared)
{
    rlf_table *t = b->table;
    const rlf_model_row *row = t->program->rows.data;
    RLF_ASSERT(row->kind == RLF_ROW_EMBED);
    int64_t at = add_matrix(b, RLF_SLOT_EMBEDDING, name_of(b, row, 0, "weight"),
                            RLF_WIDTH_VOCAB, RLF_WIDTH_HIDDEN);
    t->embed = first ? at : RLF_NO_SLOT;
    t->ends = shared ? at : RLF_NO_SLOT;
}

/* May this stage have the weights of a model row? Of those around the layers
 * any may.
 */
static bool
may_hold(const rlf_table *t, const rlf_model_row *row)
{
    int layer = row->layer;
    return layer < 0 || layer == t->config.layers ||
           t->layers[layer].place >= 0;
}

/* At most as many slots and matrices as the model rows held here have. */
static void
make_lists(builder *b)
{
    rlf_table *t = b->table;
    const rlf_program *p = t->program;
    int matrices = 0;
    b->room = 3; /* heads, and the bias of one */
    for (int i = 0; i < rlf_program_rows(p); i++) {
        const rlf_model_row *row = &p->rows.data[i];
        if (!may_hold(t, row))
            continue;
        b->room += row->n_out * (1 + row->bias);
        matrices += rlf_is_product(row);
    }
    t->slots = RLF_NEW_ARRAY(b->arena, rlf_slot, b->room);
    t->rows = RLF_NEW_ARRAY(b->arena, rlf_row_slots, rlf_program_rows(p));
    t->matrix = RLF_NEW_ARRAY(b->arena, rlf_matrix, matrices);
    memset(t->rows, 0xff, /* RLF_NO_SLOT, no number */
           (size_t)rlf_program_rows(p) * sizeof *t->rows);
}

const rlf_table *
rlf_table_stage(const rlf_program *program, rlf_model_head head,
                const rlf_cut *cut, const rlf_table *whole, rlf_arena *arena)
{
    const rlf_model_config *config = program->config;
    rlf_table *t = RLF_NEW(arena, rlf_table);
    t->arena = arena;
    t->config = *config;
    t->program = program;
    t->rates = RLF_NEW_ARRAY(arena, struct rlf_chunk_rates *, 8);
    t->counted = RLF_NEW(arena, struct rlf_pass_bytes *);
    t->head = head;
    for (int r = 0; r < rlf_program_rows(program); r++)
        t->head_norms |= program->rows.data[r].kind == RLF_ROW_HEAD_NORM;
    cut_table(t, cut);
    cut_layers(t, arena);
    bool first = t->cut.stage == 0, last = t->cut.stage == last_stage(&t->cut);
    bool shared = !(first && last) && config->tied && (head & RLF_HEAD_LM);
    builder b = {.table = t, .arena = arena, .layer = -1};
    make_lists(&b);
    t->embed = t->ends = t->lm = t->lm_bias = t->score = RLF_NO_SLOT;
    if (first || (last && shared))
        add_embedding(&b, first, shared);
    for (int i = 0; i < config->layers; i++)
        if (t->layers[i].place >= 0)
            add_layer_matrices(&b, i);
    bool adapted = rlf_table_adapted(t);
    bool score = last && (head & RLF_HEAD_SCALAR);
    add_heads(&b, first, last);
    if (score && !adapted)
        add_score(&b);
    align(&b);
    t->matrices = t->count;
    b.layer = -1;
    for (int r = 1; first && r < program->first[0]; r++)
        if (program->rows.data[r].places)
            add_positions(&b, &program->rows.data[r]);
    align(&b);
    t->decayed = t->count;
    for (int r = 1; first && r < program->first[0]; r++)
        add_row_vectors(&b, &program->rows.data[r]);
    for (int i = 0; i < config->layers; i++)
        if (t->layers[i].place >= 0)
            add_layer_vectors(&b, i);
    b.layer = config->layers;
    for (int r = program->first[config->layers];
         last && r < rlf_program_rows(program); r++)
        add_row_vectors(&b, &program->rows.data[r]);
    add_head_bias(&b, last);
    align(&b);
    t->vectors = t->count;
    t->n_base = t->n_slots;
    t->base_matrices = t->n_matrix;
    t->trained = adapted ? t->count : 0;
    if (adapted)
        add_adapters(&b, score);
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
    const rlf_program *program = rlf_program_new(config, arena);
    const rlf_table *whole =
        several ? rlf_table_stage(program, head, &all, NULL, arena) : NULL;
    return rlf_table_stage(program, head, cut, whole, arena);
}

const rlf_slot *
rlf_table_find(const rlf_table *table, const char *name)
{
    for (int i = 0; i < table->n_slots; i++)
        if (!strcmp(table->slots[i].name, name))
            return &table->slots[i];
    return NULL;
}

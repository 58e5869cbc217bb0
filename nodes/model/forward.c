/* The calls that model rows become on the way forward. */
#include "nodes/model/compiler.h"

#include "engine/base/vec.h"

/* ---- calls ---- */

void
rlf_emit_end(rlf_compiler *c)
{
    if (c->counts)
        rlf_rates_add(c->counts, &c->measured);
    c->counts = NULL;
}

rlf_kernel_call *
rlf_emit(rlf_compiler *c, int op, rlf_count count)
{
    rlf_kernel_calls *o = c->out;
    const rlf_kernel_call call = {
        .op = (uint8_t)op, .count = (uint8_t)count, .layer = c->layer};
    if (c->measures) {
        rlf_emit_end(c);
        c->counts = o->rates;
        c->measured = call;
        return &c->measured;
    }
    RLF_PUSH_IN(c->arena, &o->list, call);
    return &o->list.data[o->list.count - 1];
}

void
rlf_emit_move(rlf_compiler *c, int op, rlf_count count, rlf_value_place to,
              rlf_value_place from, int64_t width)
{
    rlf_kernel_call *call = rlf_emit(c, op, count);
    call->move =
        (rlf_move_args){.width = width, .to = rlf_at(to), .from = rlf_at(from)};
}

void
rlf_emit_sum(rlf_compiler *c, rlf_var x, rlf_value_place s)
{
    if (c->table->cut.ranks > 1)
        rlf_emit_move(c, RLF_CALL_SUM, rlf_count_of(c, x), s,
                      (rlf_value_place){0}, rlf_width_of(c, x));
}

void
rlf_emit_norm_sums(rlf_compiler *c, int r, const rlf_value_place *dy,
                   rlf_address sums)
{
    const rlf_model_row *row = rlf_row_at(c, r);
    const rlf_table *t = c->table;
    rlf_var x = row->in[0];
    const rlf_value_place to = {.at = sums, .ld = 1};
    rlf_count count = rlf_count_of(c, x);
    rlf_norm_sums_args args = {.d = rlf_width_of(c, x),
                               RLF_OPERAND(x, c->value[x]),
                               .dy = dy ? rlf_at(*dy) : NULL,
                               .lddy = dy ? dy->ld : 0,
                               .weight = rlf_norm_at(c, t->rows[r].vector[0]),
                               .shards = t->shards,
                               .sums = (float *)sums};
    args.whole = rlf_cut_of(c, x, &args.pieces);
    /* heads that several hold count as the first one's */
    if (args.pieces && t->cut.rank % t->copies)
        rlf_emit_move(c, RLF_CALL_ZERO, count, to, (rlf_value_place){0},
                      (int64_t)(sizeof(float) / rlf_real_bytes(c->kernels)));
    else
        rlf_emit(c, RLF_OP_norm_sums, count)->norm_sums = args;
    if (t->cut.ranks > 1)
        rlf_emit_move(c, RLF_CALL_SUM_F32, count, to, (rlf_value_place){0}, 1);
}

void
rlf_emit_copy(rlf_compiler *c, rlf_var x, rlf_value_place to,
              rlf_value_place from)
{
    if (to.at == from.at)
        return;
    if (to.ld == from.ld) {
        rlf_emit_move(c, RLF_CALL_COPY, rlf_count_of(c, x), to, from, to.ld);
        return;
    }
    /* beside others, here or there: an addition of nothing */
    rlf_emit(c, RLF_OP_add, rlf_count_of(c, x))->add =
        (rlf_add_args){.d = rlf_width_of(c, x),
                       RLF_OPERAND(a, from),
                       .scale = 1,
                       RLF_OPERAND(c, to)};
}

static rlf_address
behind(const rlf_compiler *c, rlf_value_place s, int64_t columns)
{
    return s.at + (rlf_address)columns * rlf_real_bytes(c->kernels);
}

void
rlf_emit_rotation(rlf_compiler *c, const rlf_model_row *row, rlf_pair to,
                  rlf_pair from, bool back)
{
    const rlf_model_config *g = &c->table->config;
    int64_t heads = rlf_heads_of(c, row->out[0]),
            more = rlf_heads_of(c, row->out[1]);
    bool grow = rlf_model_config_rotates(g, RLF_ROTATION_QUERIES);
    bool together = to.k.at == behind(c, to.q, heads * g->head_dim) &&
                    from.k.at == behind(c, from.q, heads * g->head_dim) &&
                    !grow;
    rlf_rotation keys = row->local ? RLF_ROTATION_LOCAL : RLF_ROTATION_ALL;
    rlf_rotation queries = grow ? RLF_ROTATION_QUERIES : keys;
    rlf_rope_args args = {
        .heads = together ? heads + more : heads,
        .d = g->head_dim,
        .half = rlf_model_config_rotated(g) / 2,
        .positions = (const int32_t *)rlf_address_at(RLF_AT_POSITIONS, 0),
        .cos = (const float *)rlf_address_at(RLF_AT_COSINES, queries),
        .sin = (const float *)rlf_address_at(RLF_AT_SINES, queries),
        RLF_OPERAND(x, from.q),
        RLF_OPERAND(y, to.q),
        .back = back};
    rlf_emit(c, RLF_OP_rope, rlf_count_of(c, row->out[0]))->rope = args;
    if (together)
        return;
    args.heads = more;
    args.cos = (const float *)rlf_address_at(RLF_AT_COSINES, keys);
    args.sin = (const float *)rlf_address_at(RLF_AT_SINES, keys);
    args.x = rlf_at(from.k);
    args.ldx = from.k.ld;
    args.y = rlf_at(to.k);
    args.ldy = to.k.ld;
    rlf_emit(c, RLF_OP_rope, rlf_count_of(c, row->out[0]))->rope = args;
}

void
rlf_emit_drop(rlf_compiler *c, const rlf_model_row *row, rlf_value_place to,
              rlf_value_place from, bool add)
{
    rlf_var x = row->out[0];
    rlf_count count = rlf_count_of(c, x);
    bool rows = count == RLF_COUNT_ROWS;
    rlf_emit(c, RLF_OP_dropout, count)->dropout = (rlf_dropout_args){
        .d = rlf_width_of(c, x),
        .first = rlf_first_of(c, x),
        .module = (uint32_t)row->module,
        .below = (uint32_t)(row->rate * 0x1p32),
        .scale = (float)(1 / (1 - row->rate)),
        .keys = (const uint64_t *)rlf_address_at(RLF_AT_KEYS, 0),
        .index = rows ? (const int32_t *)rlf_address_at(RLF_AT_ROWS, 0) : NULL,
        RLF_OPERAND(x, from),
        RLF_OPERAND(y, to),
        .add = add};
}

/* ---- operations ---- */

static void
embed(rlf_compiler *c, int r)
{
    const rlf_model_row *row = rlf_row_at(c, r);
    rlf_value_place y = c->value[row->out[0]];
    rlf_lookup by = rlf_lookup_of(c, row);
    rlf_emit(c, RLF_OP_embed, RLF_COUNT_TOKENS)->embed =
        (rlf_embed_args){.d = rlf_width_of(c, row->out[0]),
                         .v = by.v,
                         .first = by.first,
                         .part = by.part,
                         .tokens = by.index,
                         .w = rlf_weight_at(c->table->rows[r].vector[0]),
                         RLF_OPERAND(y, y)};
    if (!row->places)
        rlf_emit_sum(c, row->out[0], y);
}

static void
layer_norm(rlf_compiler *c, int r)
{
    const rlf_model_row *row = rlf_row_at(c, r);
    const rlf_row_slots *w = &c->table->rows[r];
    rlf_value_place x = c->value[row->in[0]], y = c->value[row->out[0]];
    rlf_emit(c, RLF_OP_layernorm, rlf_count_of(c, row->out[0]))->layernorm =
        (rlf_layernorm_args){.d = row->by_head ? c->table->config.head_dim
                                               : rlf_width_of(c, row->in[0]),
                             .groups = rlf_groups_of(c, row),
                             RLF_OPERAND(x, x),
                             .weight = rlf_weight_at(w->vector[0]),
                             .bias = rlf_weight_at(w->vector[1]),
                             .eps = (float)c->table->config.eps,
                             RLF_OPERAND(y, y),
                             .rstd = (float *)c->kept[r][0],
                             .mean = (float *)c->kept[r][1]};
}

/* The norm of rows of a value, or of each head of a row. */
static void
norm(rlf_compiler *c, int r)
{
    const rlf_model_row *row = rlf_row_at(c, r);
    bool heads = row->kind == RLF_ROW_HEAD_NORM,
         shards = rlf_norm_in_shards(c, row);
    if (row->centred) {
        layer_norm(c, r);
        return;
    }
    for (int i = 0; i < row->n_out; i++) {
        rlf_value_place x = c->value[row->in[i]], y = c->value[row->out[i]];
        if (shards)
            rlf_emit_norm_sums(c, r, NULL, c->kept[r][0]);
        rlf_emit(c, RLF_OP_rmsnorm, rlf_count_of(c, row->out[i]))->rmsnorm =
            (rlf_rmsnorm_args){
                .d = heads ? c->table->config.head_dim
                           : rlf_width_of(c, row->in[i]),
                .groups = heads ? rlf_heads_of(c, row->in[i]) : 0,
                RLF_OPERAND(x, x),
                .weight = rlf_norm_at(c, c->table->rows[r].vector[i]),
                .eps = (float)c->table->config.eps,
                RLF_OPERAND(y, y),
                .rstd = (float *)c->kept[r][i],
                .sums = shards ? (const float *)c->kept[r][0] : NULL,
                .whole = rlf_whole_of(c, row->in[i])};
    }
}

/* Gates multiplied and taken: the same bits in one call. */
static void
product_glu(rlf_compiler *c, int r)
{
    const rlf_model_row *row = rlf_row_at(c, r);
    const rlf_row_slots *w = &c->table->rows[r];
    rlf_value_place x = c->value[row->in[0]], gates = c->value[row->out[0]],
                    y = c->value[row[1].out[0]];
    rlf_emit(c, RLF_OP_product_glu, rlf_count_of(c, row->out[0]))->product_glu =
        (rlf_product_glu_args){.d = rlf_width_of(c, row->out[0]),
                               .k = rlf_width_of(c, row->in[0]),
                               RLF_OPERAND(x, x),
                               .packed = rlf_packed_at(w, RLF_PRODUCT_FORWARD),
                               .bias = rlf_weight_at(w->vector[0]),
                               .act = row[1].act,
                               .c = rlf_at(gates),
                               .keep = c->options->train,
                               RLF_OPERAND(y, y)};
}

/* From a width that is cut it is a sum over shards, in all places: what it
 * begins with is the first rank's. */
static void
product(rlf_compiler *c, int r)
{
    const rlf_model_row *row = rlf_row_at(c, r);
    const rlf_row_slots *w = &c->table->rows[r];
    rlf_value_place x = c->value[row->in[0]], y = c->value[row->out[0]];
    bool onto = row->kind == RLF_ROW_ONTO, cut = rlf_is_cut(c, row->in[0]);
    bool begins = !cut || c->table->cut.rank == 0;
    if (onto)
        rlf_emit_copy(c, row->out[0], y, c->value[row->in[1]]);
    rlf_kernel_call *call =
        rlf_emit(c, RLF_OP_product, rlf_count_of(c, row->out[0]));
    call->product =
        (rlf_product_args){.n = rlf_out_width(c, row),
                           .k = rlf_width_of(c, row->in[0]),
                           RLF_OPERAND(x, x),
                           .packed = rlf_packed_at(w, RLF_PRODUCT_FORWARD),
                           .bias = begins ? rlf_weight_at(w->vector[0]) : NULL,
                           RLF_OPERAND(c, y),
                           .add = onto && begins};
    if (!cut) {
        call->prefetch = c->paged && row->n_out == 3;
        return;
    }
    call->product.shards = c->table->shards;
    int64_t *part = RLF_NEW(c->arena, int64_t);
    *part = rlf_whole_of(c, row->in[0]);
    call->product.parts = part;
    call->product.n_parts = 1;
    rlf_emit_sum(c, row->out[0], y);
}

static rlf_pair
pair_of(const rlf_compiler *c, const rlf_var *x)
{
    return (rlf_pair){c->value[x[0]], c->value[x[1]]};
}

static void
rotate(rlf_compiler *c, int r)
{
    const rlf_model_row *row = rlf_row_at(c, r);
    rlf_emit_rotation(c, row, pair_of(c, row->out), pair_of(c, row->in), false);
}

static void
attend(rlf_compiler *c, int r)
{
    const rlf_model_row *row = rlf_row_at(c, r);
    rlf_value_place q = c->value[row->in[0]], k = c->value[row->in[1]],
                    v = c->value[row->in[2]], o = c->value[row->out[0]];
    rlf_emit(c, RLF_OP_attention, RLF_COUNT_SEQUENCES)->attention =
        (rlf_attention_args){.heads = rlf_heads_of(c, row->in[0]),
                             .kv_heads = rlf_heads_of(c, row->in[1]),
                             .d = c->table->config.head_dim,
                             .scale = (float)row->scale,
                             .cap = (float)row->cap,
                             .window = row->window,
                             RLF_OPERAND(q, q),
                             RLF_OPERAND(k, k),
                             RLF_OPERAND(v, v),
                             RLF_OPERAND(o, o),
                             .lse = (float *)c->kept[r][0]};
}

/* Keys and values go to their pages, and attention reads them there. Norms of
 * heads and rotation are done on the way; keys stay what they are. */
static void
attend_paged(rlf_compiler *c, int r)
{
    const rlf_model_row *row = rlf_row_at(c, rlf_rows_together(c, r) - 1);
    const rlf_model_config *g = &c->table->config;
    const rlf_row_slots *norms = c->table->layers[row->layer].head_norms;
    rlf_value_place q = c->value[row->in[0]], k = c->value[row->in[1]],
                    v = c->value[row->in[2]], o = c->value[row->out[0]];
    int64_t heads = rlf_heads_of(c, row->in[0]),
            kv_heads = rlf_heads_of(c, row->in[1]);
    bool rotates =
        rlf_rows_together(c, r) - r > 1 && row[-1].kind == RLF_ROW_ROTATE;
    rlf_emit(c, RLF_OP_kv_write, RLF_COUNT_TOKENS)->kv_write =
        (rlf_kv_write_args){
            .kv_heads = kv_heads,
            .d = g->head_dim,
            RLF_OPERAND(k, k),
            RLF_OPERAND(v, v),
            .half = rotates ? rlf_model_config_rotated(g) / 2 : 0,
            .heads = rotates ? heads : 0,
            RLF_OPERAND(q, q),
            .positions = (const int32_t *)rlf_address_at(RLF_AT_POSITIONS, 0),
            .cos = (const float *)rlf_address_at(RLF_AT_COSINES, row[-1].local),
            .sin = (const float *)rlf_address_at(RLF_AT_SINES, row[-1].local),
            .q_weight = norms ? rlf_norm_at(c, norms->vector[0]) : NULL,
            .k_weight = norms ? rlf_norm_at(c, norms->vector[1]) : NULL,
            .eps = (float)g->eps};
    rlf_emit(c, RLF_OP_attention_paged, RLF_COUNT_SEQUENCES)->attention_paged =
        (rlf_attention_paged_args){.heads = heads,
                                   .kv_heads = kv_heads,
                                   .d = g->head_dim,
                                   .scale = (float)row->scale,
                                   .cap = (float)row->cap,
                                   .window = row->window,
                                   RLF_OPERAND(q, q),
                                   RLF_OPERAND(o, o)};
}

static void
glu(rlf_compiler *c, int r)
{
    const rlf_model_row *row = rlf_row_at(c, r);
    rlf_value_place gate = c->value[row->in[0]], y = c->value[row->out[0]],
                    up = row->n_in > 1 ? c->value[row->in[1]]
                                       : (rlf_value_place){0};
    rlf_emit(c, RLF_OP_glu, rlf_count_of(c, row->out[0]))->glu =
        (rlf_glu_args){.d = rlf_width_of(c, row->out[0]),
                       .gate = rlf_at(gate),
                       .up = rlf_at(up),
                       .ldx = gate.ld,
                       .act = row->act,
                       RLF_OPERAND(y, y)};
}

static void
add(rlf_compiler *c, int r)
{
    const rlf_model_row *row = rlf_row_at(c, r);
    rlf_value_place a = c->value[row->in[0]], y = c->value[row->out[0]],
                    b = row->n_in > 1 ? c->value[row->in[1]]
                                      : (rlf_value_place){0};
    rlf_emit(c, RLF_OP_add, rlf_count_of(c, row->out[0]))->add =
        (rlf_add_args){.d = rlf_width_of(c, row->out[0]),
                       RLF_OPERAND(a, a),
                       RLF_OPERAND(b, b),
                       .scale = rlf_scale_of(c, row),
                       RLF_OPERAND(c, y)};
}

/* Nothing where nothing is trained: rlf_program_undropped. */
static void
drop(rlf_compiler *c, int r)
{
    const rlf_model_row *row = rlf_row_at(c, r);
    if (row->n_out)
        rlf_emit_drop(c, row, c->value[row->out[0]], c->value[row->in[0]],
                      false);
}

static void
clip(rlf_compiler *c, int r)
{
    const rlf_model_row *row = rlf_row_at(c, r);
    rlf_value_place x = c->value[row->in[0]], y = c->value[row->out[0]];
    rlf_emit(c, RLF_OP_clip, rlf_count_of(c, row->out[0]))->clip =
        (rlf_clip_args){.d = rlf_width_of(c, row->out[0]),
                        .bound = (float)row->rate,
                        RLF_OPERAND(x, x),
                        RLF_OPERAND(y, y)};
}

static void
gather(rlf_compiler *c, int r)
{
    const rlf_model_row *row = rlf_row_at(c, r);
    rlf_value_place x = c->value[row->in[0]], y = c->value[row->out[0]];
    rlf_emit(c, RLF_OP_rows_gather, RLF_COUNT_ROWS)->rows_gather =
        (rlf_rows_gather_args){
            .d = rlf_width_of(c, row->in[0]),
            .index = (const int32_t *)rlf_address_at(RLF_AT_ROWS, 0),
            RLF_OPERAND(x, x),
            RLF_OPERAND(y, y)};
}

/* ---- rows ---- */

static void (*const forward[])(rlf_compiler *c, int r) = {
    [RLF_ROW_EMBED] = embed,    [RLF_ROW_NORM] = norm,
    [RLF_ROW_LINEAR] = product, [RLF_ROW_ONTO] = product,
    [RLF_ROW_HEAD_NORM] = norm, [RLF_ROW_ROTATE] = rotate,
    [RLF_ROW_ATTEND] = attend,  [RLF_ROW_GLU] = glu,
    [RLF_ROW_GATHER] = gather,  [RLF_ROW_ADD] = add,
    [RLF_ROW_DROP] = drop,      [RLF_ROW_CLIP] = clip,
};

/* Gates with the product that makes them: nobody else reads them. */
static int
gates_together(const rlf_compiler *c, int r)
{
    const rlf_model_row *row = rlf_row_at(c, r), *next = row + 1;
    bool fits = row->kind == RLF_ROW_LINEAR && row->n_out == 2 &&
                r + 1 < rlf_program_rows(c->program) &&
                next->kind == RLF_ROW_GLU && next->in[0] == row->out[0] &&
                next->in[1] == row->out[1];
    return fits ? 2 : 0;
}

/* Over pages: attention, with rotation and norms of heads before it, unless
 * queries are rotated otherwise than keys. */
static int
heads_together(const rlf_compiler *c, int r)
{
    static const rlf_row_kind kinds[] = {RLF_ROW_HEAD_NORM, RLF_ROW_ROTATE};
    int n = 0;
    bool grow =
        rlf_model_config_rotates(&c->table->config, RLF_ROTATION_QUERIES);
    for (int i = 0; i < 2 && !grow; i++)
        n += rlf_row_at(c, r + n)->kind == kinds[i];
    return c->paged && rlf_row_at(c, r + n)->kind == RLF_ROW_ATTEND ? n + 1 : 0;
}

/* Rows that are one call, with the bits of one call each: the first that fits
 * wins. */
static const struct {
    int (*fits)(const rlf_compiler *c, int r); /* how many model rows; 0: not */
    void (*forward)(rlf_compiler *c, int r);
} rewrites[] = {
    {gates_together, product_glu},
    {heads_together, attend_paged},
};

int
rlf_rows_together(const rlf_compiler *c, int r)
{
    for (size_t i = 0; i < RLF_COUNT(rewrites); i++) {
        int n = rewrites[i].fits(c, r);
        if (n)
            return r + n;
    }
    return r + 1;
}

void
rlf_forward_rows(rlf_compiler *c, int r)
{
    for (size_t i = 0; i < RLF_COUNT(rewrites); i++)
        if (rewrites[i].fits(c, r)) {
            rewrites[i].forward(c, r);
            return;
        }
    forward[rlf_row_at(c, r)->kind](c, r);
}

void
rlf_recompute_layer(rlf_compiler *c, int layer)
{
    int first = c->program->first[layer], last = c->program->first[layer + 1];
    bool *wanted = RLF_NEW_ARRAY(c->arena, bool, (int)c->program->values.count);
    bool *again = RLF_NEW_ARRAY(c->arena, bool, last - first);
    for (int r = last - 1; r >= first; r--) {
        const rlf_model_row *row = rlf_row_at(c, r);
        int reads = rlf_reads_of(c, r);
        again[r - first] = c->kept[r][0] != 0;
        for (int i = 0; i < row->n_out; i++)
            again[r - first] |= wanted[row->out[i]] && !c->crosses[row->out[i]];
        for (int i = 0; i < row->n_in; i++)
            wanted[row->in[i]] |= again[r - first] || reads & 1 << i;
    }
    for (int r = first; r < last; r = rlf_rows_together(c, r))
        if (again[r - first])
            rlf_forward_rows(c, r);
}

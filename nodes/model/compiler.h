/* The state of a compilation, for the files that compile.h describes:
 * allocate.c (where values and gradients lie), forward.c and backward.c (which
 * calls a row becomes), compile.c (in which order). Whoever uses compiled
 * passes takes compile.h. */
#ifndef RLF_MODEL_COMPILER_H
#define RLF_MODEL_COMPILER_H

#include "engine/base/half.h"
#include "nodes/model/compile.h"
#include "nodes/model/rates.h"

/* The place of a value or a gradient: rows that are `ld` numbers apart. */
typedef struct rlf_value_place {
    rlf_address at;
    int64_t ld;
    int buffer; /* -1: none of the compiler's */
} rlf_value_place;

/* Memory for `n` values of one model row of the program, or their gradients,
 * side by side; the first has this width. */
typedef struct rlf_buffer {
    rlf_address at;
    size_t bytes;
    rlf_width first;
    int n;
    int64_t width; /* elements of a row of it */
    int users;     /* values, or gradients, that lie there and are needed */
    bool again;    /* it has been free in between */
    int next; /* the next piece of the same block, behind it; -1: it is the last
               */
} rlf_buffer;

/* A gradient, of one value or, where a sum passes it on, of several. */
typedef struct rlf_grad {
    rlf_value_place at;
    int claims;
} rlf_grad;

typedef struct rlf_compiler {
    const rlf_table *table;
    const rlf_kernels *kernels;
    const rlf_program *program;
    const rlf_pass_options *options;
    rlf_code *code;
    rlf_arena *arena;
    rlf_kernel_calls *out;    /* the list that calls are appended to */
    bool measures;            /* calls go nowhere, and may be counted */
    rlf_kernel_call measured; /* the last one */
    /* The rates to which calls are counted; NULL: they are not. */
    rlf_rates *counts;
    bool paged;               /* calls for new tokens over pages */
    int layer;                /* the layer at hand */
    size_t used[RLF_N_BLOCKS];
    RLF_VEC(rlf_buffer) buffers;
    int lowest[RLF_N_BLOCKS]; /* buffer of each block, -1: none */
    int border;               /* the buffer that gradients come and go in */
    /* of each value */
    rlf_value_place *value;
    rlf_var *root;    /* the value whose memory it took over */
    int *until; /* the last model row that reads it; INT_MAX: a derivative */
    int *derivatives; /* of a root: derivatives that read its memory and are to
                         come */
    bool *crosses;    /* model rows of other layers read it */
    int *gradient;    /* -1: none yet */
    bool *taken;      /* of a root: a gradient lies, or has lain, over it */
    bool *multiplied; /* a product that is trained reads it */
    bool *wanted;     /* something that it is made of is trained, so it has a
                         gradient */
    /* of each row: where the gradient of a product's result waits for weights
     */
    rlf_value_place *late;
    /* of each row: rstd of each out, or rstd and mean, or lse; of a norm over
     * shards rstd and, for its derivative, sums */
    rlf_address (*kept)[2];
    RLF_VEC(rlf_grad) gradients;
} rlf_compiler;

/* ---- allocate.c ---- */

/* Called before all model rows. */
void rlf_values_open(rlf_compiler *c);
/* Places what comes into a chunk from another one. */
void rlf_values_residual(rlf_compiler *c, rlf_var x);
/* The results of model row `r`, and what its derivative needs besides. */
void rlf_values_row(rlf_compiler *c, int r);
void rlf_values_end_layer(rlf_compiler *c);
/* The residual has gone on, in a pass that only reads. */
void rlf_values_end_chunk(rlf_compiler *c);

/* The place of the gradient of a value that has one. */
rlf_value_place rlf_gradients_at(const rlf_compiler *c, rlf_var x);
/* Is it the gradient of this value alone? */
bool rlf_gradients_alone(const rlf_compiler *c, rlf_var x);
/* A place for the first gradient of a value: over the value, if no derivative
 * reads it any more; that of the residual, which goes through all layers, in
 * memory of its own. */
rlf_value_place rlf_gradients_place(rlf_compiler *c, rlf_var x);
/* The memory of a value itself, which no derivative reads any more. */
rlf_value_place rlf_gradients_own(const rlf_compiler *c, rlf_var x);
/* The place where a gradient comes into and goes out of a chunk. */
rlf_value_place rlf_gradients_border(rlf_compiler *c, rlf_var x);
/* Places the gradients of q, k and v, side by side as their product takes them;
 * but where several ranks hold the same heads, those of k and v apart. */
void rlf_gradients_heads(rlf_compiler *c, const rlf_model_row *row);
void rlf_gradients_put(rlf_compiler *c, rlf_var x, rlf_value_place s);
/* A gradient that goes on to the layer before is not in this one's memory. */
void rlf_gradients_settle(rlf_compiler *c, rlf_var x);
/* The gradient of what comes into a chunk is where it goes on, or waits. */
void rlf_gradients_end(rlf_compiler *c, rlf_var x);
/* The gradient of x is that of y too. */
void rlf_gradients_pass(rlf_compiler *c, rlf_var x, rlf_var y);
/* Nobody needs the gradient of x any more. */
void rlf_gradients_leave(rlf_compiler *c, rlf_var x);
/* A derivative that reads x has read it. */
void rlf_gradients_read(rlf_compiler *c, rlf_var x);

/* ---- forward.c, backward.c ---- */

/* The model row behind those from model row `r` on that are one call. */
int rlf_rows_together(const rlf_compiler *c, int r);
/* The calls of these model rows. */
void rlf_forward_rows(rlf_compiler *c, int r);
/* The model rows of a layer that make what its derivatives read, and is not
 * kept. */
void rlf_recompute_layer(rlf_compiler *c, int layer);
void rlf_backward_row(rlf_compiler *c, int r);
/* The calls that a split backward leaves: gradients of products' weights, and
 * of the embedding. */
void rlf_weights_row(rlf_compiler *c, int r);

/* Emits what a DROP row keeps of x or of dy, to `to` or added to what is there.
 */
void rlf_emit_drop(rlf_compiler *c, const rlf_model_row *row,
                   rlf_value_place to, rlf_value_place from, bool add);

/* q and k, or their gradients back: in one call where they are side by side. */
typedef struct rlf_pair {
    rlf_value_place q, k;
} rlf_pair;
void rlf_emit_rotation(rlf_compiler *c, const rlf_model_row *row, rlf_pair to,
                       rlf_pair from, bool back);

/* ---- calls ---- */

/* The next call, whose arguments the caller sets before another one; the last
 * one is set. */
rlf_kernel_call *rlf_emit(rlf_compiler *c, int op, rlf_count count);
void rlf_emit_end(rlf_compiler *c);
void rlf_emit_move(rlf_compiler *c, int op, rlf_count count, rlf_value_place to,
                   rlf_value_place from, int64_t width);
/* Into the sum over the ranks that have the model in parts. */
void rlf_emit_sum(rlf_compiler *c, rlf_var x, rlf_value_place s);
/* Emits what norm row `r` has to know of all places, to `sums`; with dy, what
 * its derivative has to. */
void rlf_emit_norm_sums(rlf_compiler *c, int r, const rlf_value_place *dy,
                        rlf_address sums);
/* Copies x, or its gradient; of whole rows, with what is beside it, where those
 * are as long in both places. Nothing if it is there. */
void rlf_emit_copy(rlf_compiler *c, rlf_var x, rlf_value_place to,
                   rlf_value_place from);

/* ---- what arguments are made of ---- */

static inline const rlf_model_row *
rlf_row_at(const rlf_compiler *c, int r)
{
    return &c->program->rows.data[r];
}

static inline bool
rlf_is_trained(const rlf_compiler *c, int r)
{
    return rlf_row_trains(c->program, rlf_row_at(c, r));
}

/* Has a result of a model row a gradient? */
static inline bool
rlf_is_wanted(const rlf_compiler *c, int r)
{
    const rlf_model_row *row = rlf_row_at(c, r);
    bool wanted = false;
    for (int i = 0; i < row->n_out; i++)
        wanted |= c->wanted[row->out[i]];
    return wanted;
}

/* Returns the inputs that the derivative of a model row reads, bit i for in[i],
 * and whether it reads its result. */
static inline int
rlf_reads_of(const rlf_compiler *c, int r)
{
    const rlf_model_row *row = rlf_row_at(c, r);
    bool reads =
        rlf_is_product(row) ? rlf_is_trained(c, r) : rlf_is_wanted(c, r);
    return reads ? rlf_row_infos[row->kind].reads : 0;
}

static inline bool
rlf_reads_out(const rlf_compiler *c, int r)
{
    return rlf_row_infos[rlf_row_at(c, r)->kind].reads_out &&
           rlf_is_wanted(c, r);
}

/* Numbers of a row of a value that are held here. */
static inline int64_t
rlf_width_of(const rlf_compiler *c, rlf_var x)
{
    return rlf_table_width(c->table, c->program->values.data[x].width);
}

/* ... and in all places. */
static inline int64_t
rlf_whole_of(const rlf_compiler *c, rlf_var x)
{
    return rlf_width_size(&c->table->config, c->program->values.data[x].width);
}

static inline rlf_count
rlf_count_of(const rlf_compiler *c, rlf_var x)
{
    return c->program->values.data[x].rows ? RLF_COUNT_ROWS : RLF_COUNT_TOKENS;
}

static inline bool
rlf_is_cut(const rlf_compiler *c, rlf_var x)
{
    return rlf_width_is_cut(c->program->values.data[x].width);
}

/* All results of a model row, side by side. */
static inline int64_t
rlf_out_width(const rlf_compiler *c, const rlf_model_row *row)
{
    int64_t n = 0;
    for (int i = 0; i < row->n_out; i++)
        n += rlf_width_of(c, row->out[i]);
    return n;
}

/* Returns the number, among the columns of all places, of the first one
 * here. */
static inline int64_t
rlf_first_of(const rlf_compiler *c, rlf_var x)
{
    const rlf_shards *s = &c->table->shards;
    RLF_ASSERT(c->program->values.data[x].width != RLF_WIDTH_KV);
    return rlf_is_cut(c, x)
               ? rlf_shard_first(rlf_whole_of(c, x), s->of, s->first)
               : 0;
}

static inline int64_t
rlf_heads_of(const rlf_compiler *c, rlf_var x)
{
    return rlf_width_of(c, x) / c->table->config.head_dim;
}

/* Vectors of a model row that a norm is of. */
static inline int64_t
rlf_groups_of(const rlf_compiler *c, const rlf_model_row *row)
{
    return row->by_head ? rlf_heads_of(c, row->in[0]) : 1;
}

static inline void *
rlf_at(rlf_value_place s)
{
    return (void *)s.at;
}

/* An operand of a call, and how far its rows are apart. */
#define RLF_OPERAND(member, spot) \
    .member = rlf_at(spot), .ld##member = (spot).ld

/* A number of the block of weights, or NULL. */
static inline const float *
rlf_weight_at(int64_t offset)
{
    return offset == RLF_NO_SLOT
               ? NULL
               : (const float *)rlf_address_at(RLF_AT_WEIGHTS,
                                               offset * (int64_t)sizeof(float));
}

/* The weights that a norm multiplies by. */
static inline const float *
rlf_norm_at(const rlf_compiler *c, int64_t offset)
{
    return (const float *)rlf_address_at(c->program->one_plus ? RLF_AT_ONE_PLUS
                                                              : RLF_AT_WEIGHTS,
                                         offset * (int64_t)sizeof(float));
}

/* The scale of an ADD row. */
static inline float
rlf_scale_of(const rlf_compiler *c, const rlf_model_row *row)
{
    float scale = (float)row->scale;
    return row->rounded && c->kernels->real == RLF_CAST_BF16
               ? rlf_bf16_to_f32(rlf_f32_to_bf16(scale))
               : scale;
}

/* The place where the gradient of a number of the block is added, or NULL: it
 * is not trained. */
static inline float *
rlf_gradient_at(const rlf_compiler *c, int64_t offset)
{
    int64_t at = offset - c->table->trained;
    return offset == RLF_NO_SLOT || at < 0
               ? NULL
               : (float *)rlf_address_at(RLF_AT_GRADIENT,
                                         at * (int64_t)sizeof(float));
}

/* The indices by which an EMBED row takes rows, and the table that it takes
 * them of. */
typedef struct rlf_lookup {
    int64_t v, first, part; /* as rlf_embed_args */
    const int32_t *index;
} rlf_lookup;

static inline rlf_lookup
rlf_lookup_of(const rlf_compiler *c, const rlf_model_row *row)
{
    const rlf_table *t = c->table;
    rlf_block block = row->places ? RLF_AT_POSITIONS : RLF_AT_TOKENS;
    rlf_lookup l = {.v = t->config.context,
                    .index = (const int32_t *)rlf_address_at(block, 0)};
    if (row->places)
        return l;
    l.v = t->config.vocab;
    l.first = t->token;
    l.part = t->cut.ranks > 1 ? t->vocab : 0;
    return l;
}

static inline const void *
rlf_packed_at(const rlf_row_slots *w, rlf_product_form form)
{
    return (const void *)rlf_address_at(
        form == RLF_PRODUCT_FORWARD ? RLF_AT_PACKED : RLF_AT_PACKED_BACK,
        w->number);
}

/* Is it a norm over a width whose sums are over shards? */
static inline bool
rlf_norm_in_shards(const rlf_compiler *c, const rlf_model_row *row)
{
    bool is = row->kind == RLF_ROW_NORM && !row->by_head &&
              c->table->shards.of > 1 && rlf_is_cut(c, row->in[0]);
    RLF_ASSERT(!is || !row->centred);
    return is;
}

/* Returns how a sum over shards of a value's columns is cut: their number in
 * all places, ranks that hold the same counted each, and the pieces that they
 * lie in (kernels.h). */
static inline int64_t
rlf_cut_of(const rlf_compiler *c, rlf_var x, int *pieces)
{
    const rlf_table *t = c->table;
    bool kv = c->program->values.data[x].width == RLF_WIDTH_KV;
    *pieces = kv ? rlf_table_kv_pieces(t) : 0;
    return kv ? rlf_width_of(c, x) * t->cut.ranks : rlf_whole_of(c, x);
}

#endif

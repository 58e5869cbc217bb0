/* Places of values and gradients: the rules of compile.h. Memory is buffers,
 * taken by the values of one model row and free again when nobody reads them.
 * Where only living buffers matter, which is in a pass that reads and for
 * gradients on their way, a new one takes the first gap that is large enough.
 */
#include "nodes/model/compiler.h"

#include <limits.h>

/* ---- memory ---- */

/* Can memory of a block be given back in any form? Else buffers stay as they
 * are, for gradients lie over the values of a pass that trains. */
static bool
gives_back(const rlf_compiler *c, rlf_block block)
{
    return block == RLF_AT_SCRATCH ||
           (block == RLF_AT_LAYER && !c->options->train);
}

/* Behind its neighbour in the block: a list in the order of addresses. */
static int
new_buffer(rlf_compiler *c, int before, rlf_buffer b)
{
    int i = (int)c->buffers.count;
    rlf_block block = rlf_address_block(b.at);
    int *link = before < 0 ? &c->lowest[block] : &c->buffers.data[before].next;
    size_t end = b.at - rlf_address_at(block, 0) + b.bytes;
    b.next = *link;
    *link = i;
    if (c->used[block] < end)
        c->used[block] = end;
    RLF_PUSH_IN(c->arena, &c->buffers, b);
    return i;
}

/* Takes memory in the first gap of a block, or behind all that is in it. */
static int
take(rlf_compiler *c, rlf_block block, rlf_buffer want, size_t bytes)
{
    int before = -1;
    want.at = rlf_address_at(block, 0);
    want.bytes = (bytes + 63) / 64 * 64;
    for (int i = c->lowest[block]; i >= 0; i = c->buffers.data[i].next) {
        const rlf_buffer *b = &c->buffers.data[i];
        if (b->at - want.at >= want.bytes)
            break;
        want.at = b->at + b->bytes;
        before = i;
    }
    return new_buffer(c, before, want);
}

/* A number for each row of each of so many columns, in f32. */
static rlf_address
take_floats(rlf_compiler *c, rlf_block block, int64_t columns)
{
    size_t bytes = (size_t)(c->options->tokens * columns) * sizeof(float);
    int i = take(c, block, (rlf_buffer){.users = 1}, bytes);
    return c->buffers.data[i].at;
}

/* The form of a buffer for the values x[0..n-1]. */
static rlf_buffer
form_of(const rlf_compiler *c, const rlf_var *x, int n)
{
    rlf_buffer b = {.first = c->program->values.data[x[0]].width, .n = n};
    for (int i = 0; i < n; i++)
        b.width += rlf_width_of(c, x[i]);
    return b;
}

/* A buffer of that form that is free again, or -1. */
static int
find_free(const rlf_compiler *c, rlf_block block, rlf_buffer form)
{
    int i = c->lowest[block];
    for (; i >= 0; i = c->buffers.data[i].next) {
        const rlf_buffer *b = &c->buffers.data[i];
        if (!b->users && b->first == form.first && b->n == form.n)
            break;
    }
    return i;
}

/* Takes a buffer for the values x[0..n-1]: one that is free again, or a new
 * one. */
static int
take_buffer(rlf_compiler *c, rlf_block block, const rlf_var *x, int n)
{
    const rlf_buffer form = form_of(c, x, n);
    int i = find_free(c, block, form);
    if (i < 0)
        return take(c, block, form,
                    (size_t)(c->options->tokens * form.width) *
                        rlf_real_bytes(c->kernels));
    c->buffers.data[i].again = true;
    return i;
}

/* Column `first` of a buffer and those behind it, in use. */
static rlf_value_place
spot_in(rlf_compiler *c, int i, int64_t first)
{
    rlf_buffer *b = &c->buffers.data[i];
    b->users++;
    return (rlf_value_place){
        b->at + (rlf_address)first * rlf_real_bytes(c->kernels), b->width, i};
}

static void
leave(rlf_compiler *c, rlf_value_place s)
{
    rlf_buffer *b = &c->buffers.data[s.buffer];
    rlf_block block = rlf_address_block(b->at);
    if (--b->users || !gives_back(c, block))
        return;
    int *link = &c->lowest[block];
    while (*link != s.buffer)
        link = &c->buffers.data[*link].next;
    *link = b->next;
}

/* From now on nothing lies over what is in a layer's memory: the next layer has
 * its own, or the same from the beginning. */
void
rlf_values_end_layer(rlf_compiler *c)
{
    c->code->layer[c->layer] = c->used[RLF_AT_LAYER];
    c->used[RLF_AT_LAYER] = 0;
    c->lowest[RLF_AT_LAYER] = -1;
}

/* ---- values ---- */

static void
make_lists(rlf_compiler *c)
{
    int n = (int)c->program->values.count;
    c->value = RLF_NEW_ARRAY(c->arena, rlf_value_place, n);
    c->root = RLF_NEW_ARRAY(c->arena, rlf_var, n);
    c->until = RLF_NEW_ARRAY(c->arena, int, n);
    c->derivatives = RLF_NEW_ARRAY(c->arena, int, n);
    c->crosses = RLF_NEW_ARRAY(c->arena, bool, n);
    c->gradient = RLF_NEW_ARRAY(c->arena, int, n);
    c->taken = RLF_NEW_ARRAY(c->arena, bool, n);
    c->multiplied = RLF_NEW_ARRAY(c->arena, bool, n);
    c->wanted = RLF_NEW_ARRAY(c->arena, bool, n);
    c->late =
        RLF_NEW_ARRAY(c->arena, rlf_value_place, rlf_program_rows(c->program));
    c->kept = rlf_arena_alloc(c->arena, (size_t)rlf_program_rows(c->program) *
                                            sizeof *c->kept);
    for (int i = 0; i < n; i++) {
        c->root[i] = i;
        c->gradient[i] = -1;
    }
    for (int i = 0; i < RLF_N_BLOCKS; i++)
        c->lowest[i] = -1;
    c->border =
        take(c, RLF_AT_D_X, (rlf_buffer){.width = c->table->config.hidden}, 0);
}

/* Finds the values that have gradients. */
static void
find_wanted(rlf_compiler *c)
{
    for (int r = 0; r < rlf_program_rows(c->program); r++) {
        const rlf_model_row *row = rlf_row_at(c, r);
        bool wanted = rlf_is_trained(c, r);
        for (int i = 0; i < row->n_in; i++)
            wanted |= c->wanted[row->in[i]];
        for (int i = 0; i < row->n_out; i++)
            c->wanted[row->out[i]] = wanted;
    }
}

/* Does the weight of a product have its gradient after all of backward? */
static bool
leaves_weights(const rlf_compiler *c, int r)
{
    return (c->options->split || c->options->layers) &&
           rlf_is_product(rlf_row_at(c, r)) && rlf_is_trained(c, r);
}

/* Finds the model rows of a chunk that read a value last, and whether
 * derivatives do. The next layer reads the residual too. */
static void
find_readers(rlf_compiler *c, rlf_chunk own)
{
    const rlf_program *p = c->program;
    bool train = c->options->train;
    int layers = p->config->layers, n = rlf_program_rows(p);
    int first = own.first ? p->first[own.first] : 0;
    int last = own.last < layers ? p->first[own.last] : n;
    int next = own.last < layers ? p->first[own.last + 1] : n;
    for (int r = first; r < next; r++) {
        const rlf_model_row *row = rlf_row_at(c, r);
        int reads = train ? rlf_reads_of(c, r) : 0;
        int end = rlf_rows_together(c, r) - 1; /* of its call */
        for (int i = 0; i < row->n_in; i++) {
            rlf_var x = row->in[i];
            bool derived = reads & 1 << i;
            /* behind the layers is the last one's memory */
            bool behind = !train && row->layer == layers;
            if (derived)
                c->until[x] = INT_MAX;
            else if (c->until[x] < end)
                c->until[x] = end;
            c->crosses[x] |= p->values.data[x].layer != row->layer && !behind;
            if (c->crosses[x] && c->options->recompute)
                c->until[x] = INT_MAX; /* its layer is computed again */
            c->multiplied[x] |=
                i == 0 && rlf_is_product(row) && rlf_is_trained(c, r);
            c->derivatives[x] += derived && r < last;
        }
        if (leaves_weights(c, r) && row->n_out == 1)
            c->until[row->out[0]] = INT_MAX; /* its gradient lies over it */
        if (train && rlf_reads_out(c, r)) {
            c->until[row->out[0]] = INT_MAX;
            c->derivatives[row->out[0]] += r < last;
        }
    }
    c->until[p->hidden] = INT_MAX;
}

void
rlf_values_open(rlf_compiler *c)
{
    const rlf_table *t = c->table;
    make_lists(c);
    find_wanted(c);
    for (int i = 0; i < t->cut.chunks; i++)
        if (!c->options->train || i == c->options->chunk)
            find_readers(c, t->chunk[i]);
}

void
rlf_values_residual(rlf_compiler *c, rlf_var x)
{
    c->value[x] = spot_in(c, take_buffer(c, RLF_AT_VALUES, &x, 1), 0);
}

/* The input that result i of a model row may be written over, or RLF_OVER_NONE.
 */
static int
may_overwrite(const rlf_model_row *row, int i)
{
    int over = rlf_row_infos[row->kind].over;
    return over == RLF_OVER_SAME ? i : over;
}

/* Can all results of a model row take the memory of inputs? */
static bool
takes_over(const rlf_compiler *c, int r)
{
    const rlf_model_row *row = rlf_row_at(c, r);
    for (int i = 0; i < row->n_out; i++) {
        int from = may_overwrite(row, i);
        bool kept =
            from >= 0 &&
            rlf_address_block(c->value[row->in[from]].at) == RLF_AT_VALUES;
        bool crosses = c->crosses[row->out[i]];
        /* not from one block to the other, but while the residual of a pass
         * that only reads is at hand */
        if (from < 0 || c->until[row->in[from]] > r || (crosses && !kept) ||
            (c->options->train && crosses != kept))
            return false;
    }
    return true;
}

static void
take_over(rlf_compiler *c, rlf_var x, rlf_var from)
{
    c->value[x] = c->value[from];
    c->buffers.data[c->value[x].buffer].users++;
    c->root[x] = c->root[from];
    c->derivatives[c->root[x]] += c->derivatives[x];
}

/* Values that other layers read are not in a layer's memory. A pass that only
 * reads has room beside it when nobody reads the residual again. */
static rlf_block
block_of(const rlf_compiler *c, const rlf_model_row *row)
{
    const rlf_buffer form = form_of(c, row->out, row->n_out);
    bool spare = !c->options->train && find_free(c, RLF_AT_VALUES, form) >= 0;
    return c->crosses[row->out[0]] || spare ? RLF_AT_VALUES : RLF_AT_LAYER;
}

/* New memory for all results of a model row, side by side. */
static void
place_new(rlf_compiler *c, const rlf_model_row *row)
{
    int i = take_buffer(c, block_of(c, row), row->out, row->n_out);
    int64_t column = 0;
    for (int k = 0; k < row->n_out; k++) {
        c->value[row->out[k]] = spot_in(c, i, column);
        column += rlf_width_of(c, row->out[k]);
    }
}

/* The place where the gradient of a product's result waits for the weights:
 * over the result, unless weights of another product wait for that. */
static void
place_late(rlf_compiler *c, int r)
{
    const rlf_model_row *row = rlf_row_at(c, r);
    c->late[r] = c->value[row->out[0]];
    if (leaves_weights(c, r) && c->multiplied[row->out[0]])
        c->late[r] =
            spot_in(c, take_buffer(c, RLF_AT_LAYER, row->out, row->n_out), 0);
}

/* Places what an operation measures for its derivative. */
static void
place_kept(rlf_compiler *c, int r)
{
    const rlf_model_row *row = rlf_row_at(c, r);
    rlf_address *kept = c->kept[r];
    bool last = row->out[0] == c->program->hidden, train = c->options->train;
    if (train && row->centred) /* it outlives the last layer's memory */
        kept[1] = take_floats(c, last ? RLF_AT_VALUES : RLF_AT_LAYER,
                              rlf_groups_of(c, row));
    if (last)
        kept[0] = rlf_address_at(RLF_AT_RSTD, 0);
    bool shards = rlf_norm_in_shards(c, row);
    if (shards && train)
        kept[1] = take_floats(c, RLF_AT_LAYER, 1);
    if (last || (!train && !shards))
        return;
    if (row->kind == RLF_ROW_NORM)
        kept[0] = take_floats(c, RLF_AT_LAYER, rlf_groups_of(c, row));
    if (row->kind == RLF_ROW_ATTEND)
        kept[0] = take_floats(c, RLF_AT_LAYER, c->table->heads);
    for (int i = 0; row->kind == RLF_ROW_HEAD_NORM && i < row->n_out; i++)
        kept[i] = take_floats(c, RLF_AT_LAYER, rlf_heads_of(c, row->out[i]));
}

void
rlf_values_row(rlf_compiler *c, int r)
{
    const rlf_model_row *row = rlf_row_at(c, r);
    if (!row->n_out)
        return;
    const rlf_buffer hidden = {.width = rlf_width_of(c, row->out[0])};
    if (row->out[0] == c->program->hidden)
        c->value[row->out[0]] =
            spot_in(c, take(c, RLF_AT_HIDDEN, hidden, 0), 0);
    else if (takes_over(c, r))
        for (int i = 0; i < row->n_out; i++)
            take_over(c, row->out[i], row->in[may_overwrite(row, i)]);
    else
        place_new(c, row);
    place_kept(c, r);
    place_late(c, r);
    for (int i = 0; i < row->n_in; i++) {
        bool twice = i > 0 && row->in[i] == row->in[i - 1];
        if (c->until[row->in[i]] == r && !twice)
            leave(c, c->value[row->in[i]]);
    }
}

void
rlf_values_end_chunk(rlf_compiler *c)
{
    for (int i = c->lowest[RLF_AT_VALUES]; i >= 0; i = c->buffers.data[i].next)
        c->buffers.data[i].users = 0;
}

/* ---- gradients ---- */

rlf_value_place
rlf_gradients_at(const rlf_compiler *c, rlf_var x)
{
    RLF_ASSERT(c->gradient[x] >= 0);
    return c->gradients.data[c->gradient[x]].at;
}

bool
rlf_gradients_alone(const rlf_compiler *c, rlf_var x)
{
    return c->gradients.data[c->gradient[x]].claims == 1;
}

void
rlf_gradients_put(rlf_compiler *c, rlf_var x, rlf_value_place s)
{
    RLF_ASSERT(c->gradient[x] < 0);
    c->gradient[x] = (int)c->gradients.count;
    RLF_PUSH_IN(c->arena, &c->gradients, (rlf_grad){s, 1});
}

void
rlf_gradients_settle(rlf_compiler *c, rlf_var x)
{
    rlf_value_place from = rlf_gradients_at(c, x);
    if (rlf_address_block(from.at) != RLF_AT_LAYER)
        return;
    rlf_gradients_leave(c, x);
    c->gradient[x] = -1;
    rlf_gradients_put(c, x,
                      c->buffers.data[c->border].users
                          ? spot_in(c, take_buffer(c, RLF_AT_SCRATCH, &x, 1), 0)
                          : rlf_gradients_border(c, x));
    rlf_emit_copy(c, x, rlf_gradients_at(c, x), from);
}

void
rlf_gradients_end(rlf_compiler *c, rlf_var x)
{
    rlf_value_place from = rlf_gradients_at(c, x);
    if (rlf_address_block(from.at) == RLF_AT_D_X)
        return;
    rlf_gradients_leave(c, x);
    c->gradient[x] = -1;
    RLF_ASSERT(!c->buffers.data[c->border].users);
    rlf_gradients_put(c, x, rlf_gradients_border(c, x));
    rlf_emit_copy(c, x, rlf_gradients_at(c, x), from);
}

void
rlf_gradients_pass(rlf_compiler *c, rlf_var x, rlf_var y)
{
    RLF_ASSERT(c->gradient[x] < 0);
    c->gradient[x] = c->gradient[y];
    c->gradients.data[c->gradient[x]].claims++;
}

void
rlf_gradients_leave(rlf_compiler *c, rlf_var x)
{
    rlf_grad *g = &c->gradients.data[c->gradient[x]];
    if (--g->claims == 0 && g->at.buffer >= 0)
        leave(c, g->at);
}

void
rlf_gradients_read(rlf_compiler *c, rlf_var x)
{
    c->derivatives[c->root[x]]--;
}

/* Is nothing needed any more of what lies where a value did? */
static bool
is_free(const rlf_compiler *c, rlf_var x)
{
    bool alone = c->until[x] == INT_MAX || /* nobody came after it */
                 !c->buffers.data[c->value[x].buffer].again;
    return c->derivatives[c->root[x]] == 0 && alone;
}

rlf_value_place
rlf_gradients_own(const rlf_compiler *c, rlf_var x)
{
    rlf_value_place s = c->value[x];
    RLF_ASSERT(is_free(c, x));
    s.buffer = -1;
    return s;
}

rlf_value_place
rlf_gradients_border(rlf_compiler *c, rlf_var x)
{
    RLF_ASSERT(c->buffers.data[c->border].width == rlf_width_of(c, x));
    return spot_in(c, c->border, 0);
}

rlf_value_place
rlf_gradients_place(rlf_compiler *c, rlf_var x)
{
    bool *taken = &c->taken[c->root[x]];
    if (is_free(c, x) && !*taken) {
        *taken = true;
        return rlf_gradients_own(c, x);
    }
    if (c->crosses[x] && !c->buffers.data[c->border].users)
        return rlf_gradients_border(c, x);
    return spot_in(c, take_buffer(c, RLF_AT_SCRATCH, &x, 1), 0);
}

void
rlf_gradients_heads(rlf_compiler *c, const rlf_model_row *row)
{
    int64_t q = rlf_width_of(c, row->in[0]), kv = rlf_width_of(c, row->in[1]);
    bool apart = c->table->copies > 1;
    int i = take_buffer(c, RLF_AT_SCRATCH, row->in, row->n_in);
    int k = apart ? take_buffer(c, RLF_AT_SCRATCH, &row->in[1], 2) : i;
    rlf_gradients_put(c, row->in[0], spot_in(c, i, 0));
    rlf_gradients_put(c, row->in[1], spot_in(c, k, apart ? 0 : q));
    rlf_gradients_put(c, row->in[2], spot_in(c, k, apart ? kv : q + kv));
}

/* The order in which rows are placed and become calls, chunk by chunk. */
#include "nodes/model/compiler.h"

/* Rows first..last-1 of a layer; the first has those before it, the last those
 * behind it. */
typedef struct span {
    int first, last;
} span;

static span
rows_of(rlf_compiler *c, int layer)
{
    const rlf_program *p = c->program;
    int layers = p->config->layers;
    c->layer = layer;
    return (span){layer ? p->first[layer] : 0, layer < layers - 1
                                                   ? p->first[layer + 1]
                                                   : rlf_program_rows(p)};
}

/* A layer's first row reads the residual, its last one gives it. */
static rlf_var
residual_behind(const rlf_compiler *c, int layer)
{
    return rlf_row_at(c, c->program->first[layer + 1] - 1)->out[0];
}

static void
place_chunk(rlf_compiler *c, int chunk)
{
    const rlf_chunk layers = c->table->chunk[chunk];
    if (layers.first > 0) {
        rlf_var x = residual_behind(c, layers.first - 1);
        rlf_values_residual(c, x);
        c->code->input[chunk] = c->value[x].at;
    }
    for (int i = layers.first; i < layers.last; i++) {
        const span rows = rows_of(c, i);
        for (int r = rows.first; r < rows.last; r++)
            rlf_values_row(c, r);
        rlf_values_end_layer(c);
    }
    c->code->output[chunk] = c->value[residual_behind(c, layers.last - 1)].at;
    if (!c->options->train)
        rlf_values_end_chunk(c);
}

static void
forward_chunk(rlf_compiler *c, int chunk, rlf_kernel_calls *out)
{
    const rlf_chunk layers = c->table->chunk[chunk];
    c->out = out;
    for (int i = layers.first; i < layers.last; i++) {
        const span rows = rows_of(c, i);
        if (!c->options->train)
            rlf_emit(c, RLF_CALL_BRING, RLF_COUNT_TOKENS);
        for (int r = rows.first; r < rows.last; r = rlf_rows_together(c, r))
            rlf_forward_rows(c, r);
    }
}

static void
weights_chunk(rlf_compiler *c, rlf_chunk layers)
{
    c->out = &c->code->weights;
    for (int i = layers.last - 1; i >= layers.first; i--) {
        const span rows = rows_of(c, i);
        for (int r = rows.last - 1; r >= rows.first; r--)
            rlf_weights_row(c, r);
    }
}

static void
backward_chunk(rlf_compiler *c, int chunk)
{
    const rlf_chunk layers = c->table->chunk[chunk];
    bool ends = rlf_table_ends(c->table, chunk);
    rlf_var x = ends ? c->program->hidden : residual_behind(c, layers.last - 1);
    const rlf_value_place d_hidden = {rlf_address_at(RLF_AT_D_HIDDEN, 0),
                                      rlf_width_of(c, x), -1};
    rlf_gradients_put(c, x, ends ? d_hidden : rlf_gradients_border(c, x));
    for (int i = layers.last - 1; i >= layers.first; i--) {
        const span rows = rows_of(c, i);
        bool last = ends && i == layers.last - 1;
        c->out = last ? &c->code->again : &c->code->backward;
        if (c->options->recompute)
            rlf_recompute_layer(c, i);
        c->out = &c->code->backward;
        for (int r = rows.last - 1; r >= rows.first; r--)
            rlf_backward_row(c, r);
        if (i > 0 && c->wanted[residual_behind(c, i - 1)])
            rlf_gradients_settle(c, residual_behind(c, i - 1));
    }
    x = layers.first ? residual_behind(c, layers.first - 1)
                     : rlf_row_at(c, 0)->out[0];
    if (c->wanted[x] && (layers.first || c->options->split))
        rlf_gradients_end(c, x); /* goes on, or waits */
    if (c->options->split)
        weights_chunk(c, layers);
}

/* Sets where measured calls are counted. */
static void
count_in(rlf_code *code, rlf_chunk_rates *rates, int chunk)
{
    code->forward[chunk].rates = &rates[chunk].forward;
    code->paged[chunk].rates = &rates[chunk].paged;
    code->again.rates = &rates[chunk].again;
    code->backward.rates = &rates[chunk].backward;
    code->weights.rates = &rates[chunk].weights;
}

/* Compiles a pass: its calls, or what they do, or its memory alone. */
static const rlf_code *
compile(rlf_compiler *c, rlf_chunk_rates *rates)
{
    const rlf_table *t = c->table;
    const rlf_pass_options *o = c->options;
    int chunks = t->cut.chunks, first = o->train ? o->chunk : 0;
    int last = o->train ? o->chunk + 1 : chunks;
    rlf_code *code = RLF_NEW(c->arena, rlf_code);
    c->code = code;
    c->program =
        o->train ? t->program : rlf_program_undropped(t->program, c->arena);
    code->forward = RLF_NEW_ARRAY(c->arena, rlf_kernel_calls, chunks);
    code->paged = RLF_NEW_ARRAY(c->arena, rlf_kernel_calls, chunks);
    code->input = RLF_NEW_ARRAY(c->arena, rlf_address, chunks);
    code->output = RLF_NEW_ARRAY(c->arena, rlf_address, chunks);
    code->layer = RLF_NEW_ARRAY(c->arena, size_t, t->config.layers);
    rlf_values_open(c);
    for (int i = first; i < last; i++)
        place_chunk(c, i);
    int before = t->chunk[o->chunk].first;
    code->keeps_input = o->train && o->split && before > 0 &&
                        c->multiplied[residual_behind(c, before - 1)];
    for (int i = first; i < last && (rates || !c->measures); i++) {
        if (rates)
            count_in(code, rates, i);
        forward_chunk(c, i, &code->forward[i]);
        c->paged = true;
        if (!o->train)
            forward_chunk(c, i, &code->paged[i]);
        c->paged = false;
    }
    if (o->train)
        backward_chunk(c, o->chunk);
    if (rates)
        rlf_emit_end(c);
    code->values = c->used[RLF_AT_VALUES];
    code->scratch = c->used[RLF_AT_SCRATCH];
    return code;
}

const rlf_code *
rlf_compile_pass(const rlf_table *t, const rlf_kernels *kernels,
                 const rlf_pass_options *o, rlf_arena *arena)
{
    rlf_compiler c = {
        .table = t, .kernels = kernels, .options = o, .arena = arena};
    return compile(&c, NULL);
}

const rlf_code *
rlf_measure_pass(const rlf_table *t, const rlf_kernels *kernels,
                 const rlf_pass_options *o, rlf_arena *arena)
{
    rlf_compiler c = {.table = t,
                      .kernels = kernels,
                      .options = o,
                      .arena = arena,
                      .measures = true};
    return compile(&c, NULL);
}

static rlf_chunk_rates *
find_rates(const rlf_table *t, rlf_pass_options o)
{
    int chunks = t->cut.chunks;
    rlf_chunk_rates *rates = RLF_NEW_ARRAY(t->arena, rlf_chunk_rates, chunks);
    rlf_arena *arena = rlf_arena_new();
    for (o.chunk = 0; o.chunk < (o.train ? chunks : 1); o.chunk++) {
        rlf_compiler c = {.table = t,
                          .kernels = rlf_kernels_cpu(), /* all count alike */
                          .options = &o,
                          .arena = arena,
                          .measures = true};
        compile(&c, rates);
    }
    rlf_arena_free(arena);
    return rates;
}

const rlf_chunk_rates *
rlf_table_rates(const rlf_table *t, bool train, bool recompute, bool split)
{
    rlf_chunk_rates **rates = &t->rates[train + 2 * recompute + 4 * split];
    if (!*rates)
        *rates = find_rates(t, (rlf_pass_options){.tokens = 1,
                                                  .train = train,
                                                  .recompute = recompute,
                                                  .split = split});
    return *rates;
}

/* What an update costs, counted at its caps: every lane's samples forward and
 * backward, the optimizer's step, columns of the program. */
#include "nodes/update.h"

#include <stdlib.h>

#include "nodes/model/optimizer.h"

/* The passes that an update takes: sets and kinds of rows that differ. */
static int
count_groups(const rlf_loss *loss)
{
    int n = 0;
    for (int i = 0; i < loss->n_calls; i++) {
        bool found = false;
        for (int k = 0; k < i && !found; k++)
            found = rlf_live_together(&loss->calls[i], &loss->calls[k]);
        n += !found;
    }
    return n;
}

/* The samples of a lane are taken as they come, as many as fit: all but the
 * last micro-batch have more than T - S tokens. */
int64_t
rlf_update_most_micros(const rlf_graph *graph, int model, const rlf_caps *caps,
                       int lanes)
{
    int groups = 0;
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        int n = node->loss && node->receiver == model ? count_groups(node->loss)
                                                      : 0;
        groups = n > groups ? n : groups;
    }
    int64_t rows = caps->rows[RLF_USE_UPDATE], longest = caps->longest;
    int64_t room = (int64_t)caps->tokens[RLF_USE_UPDATE] - longest + 1;
    if (room < 1)
        room = 1; /* refused before it runs */
    int64_t most = rows * longest / room + lanes;
    return groups * (most < rows ? most : rows);
}

/* On the host, where the heads are: what they give at a row, and derivatives;
 * in `words` results and what is odd (update.h). */
static double
row_bytes(const rlf_loss *loss, int set, bool last)
{
    double bytes = 4 * sizeof(float);
    for (int i = 0; i < loss->n_words; i++)
        if (!last && loss->words[i].set_input == set)
            bytes += sizeof(rlf_odd) +
                     8 * (double)loss->words[i].program->outputs.count;
    return bytes;
}

/* Of the live calls that one pass serves: those on input `set` that read after
 * the last token, or those that read per token. */
static void
cost_group(const rlf_load *load, const rlf_node *node, int set, bool last,
           rlf_cost *out)
{
    int columns = 0;
    const rlf_model *model = rlf_load_model(load, node);
    rlf_lengths all = rlf_sequences_lengths(load, node->inputs[set]);
    rlf_lengths lane = all;
    rlf_reading_load reading = {.lengths = &lane,
                                .n_lengths = 1,
                                .tokens = model->caps.tokens[RLF_USE_UPDATE],
                                .rows = last ? RLF_ROWS_LAST : RLF_ROWS_TOKENS,
                                .recompute = model->caps.recompute,
                                .several =
                                    model->flights && model->flights[0] > 1};
    for (int i = 0; i < node->loss->n_calls; i++) {
        const rlf_live_call *live = &node->loss->calls[i];
        rlf_reading kind = rlf_reading_of(live->class);
        if (live->set_input != set || (kind == RLF_READ_SCORE) != last)
            continue;
        columns += live->input >= 0;
        bool lm = kind == RLF_READ_LOGPROB || kind == RLF_READ_WORDS;
        reading.logprob |= lm;
        reading.scalar |= !lm;
    }
    if (!reading.logprob && !reading.scalar)
        return;
    const rlf_gradient *g = &model->gradient;
    rlf_counts counts = {.kernels = model->kernels};
    uint64_t own = 0;
    for (int l = g->first; l < g->first + g->held; l++) {
        /* samples of one length go round */
        uint64_t lanes = (uint64_t)g->lanes;
        lane.n = all.n / lanes + ((uint64_t)l < all.n % lanes);
        own += lane.n;
        rlf_cost_train(model->table, &reading, node->loss->reach, &counts);
    }
    if (rlf_table_ends(model->table, model->table->cut.chunks - 1)) {
        /* live values: its own to the replicas, all to the stages before */
        double rows = last ? 1 : all.response, each = (double)columns * rows;
        out->host += (double)own * rows * row_bytes(node->loss, set, last);
        counts.sent += 4 * (double)own * each * (load->layout->dp - 1);
        counts.sent += 8 * (double)all.n * each * (load->layout->pp - 1);
    }
    rlf_cost_add(out, &counts);
    out->host += rlf_sequences_bytes(&all);
}

/* Columns of the program that are no columns of the graph. */
static double
column_bytes(const rlf_load *load, const rlf_loss *loss)
{
    const rlf_expr *p = loss->program;
    const double *values = load->sizes->values;
    double n = 0;
    for (size_t i = 0; i < p->inputs.count; i++)
        if (loss->constant_input[i] < 0)
            n += values[p->inputs.data[i].domain];
    for (size_t i = 0; i < p->outputs.count; i++)
        n += values[p->ops.data[p->outputs.data[i].op].domain];
    return 8 * n;
}

/* Columns that a tile on the device takes from the host, at most: what live
 * operations use and does not live (update_point.c). */
static double
known_bytes(const rlf_model *model, const rlf_load *load, const rlf_loss *loss)
{
    const rlf_expr *p = loss->program;
    size_t n = p->ops.count;
    if (loss->reach != RLF_REACH_POINT)
        return 0;
    rlf_arena *arena = rlf_arena_new();
    const bool *live = rlf_expr_depends(p, arena);
    bool *used = RLF_NEW_ARRAY(arena, bool, n + 1);
    double values = 0;
    for (size_t i = 0; i < n; i++) {
        const rlf_expr_op *op = &p->ops.data[i];
        for (int k = 0; k < rlf_expr_arity(op->code) && live[i]; k++)
            used[op->arg[k]] |= !live[op->arg[k]];
        if (live[i] && load->sizes->values[op->domain] > values)
            values = load->sizes->values[op->domain];
    }
    double tile = (double)model->caps.tokens[RLF_USE_UPDATE];
    double bytes = 8 * tile * loss->n_calls; /* derivatives that are known */
    for (size_t i = 0; i < n; i++) {
        const rlf_expr_op *op = &p->ops.data[i];
        bool down = op->code == RLF_EXPR_DOWN;
        if (!used[i] ||
            p->ops.data[down ? op->arg[0] : (int)i].code == RLF_EXPR_CONST)
            continue;
        bool there = op->code == RLF_EXPR_INPUT &&
                     load->sizes->values[op->domain] == values;
        bytes += 8 * (there ? tile : values + tile);
    }
    rlf_arena_free(arena);
    return bytes;
}

void
rlf_update_cost(const rlf_load *load, const rlf_node *node, rlf_cost *out)
{
    const rlf_model *model = rlf_load_model(load, node);
    bool *seen = rlf_calloc((size_t)node->n_inputs, 2 * sizeof *seen);
    for (int i = 0; i < node->loss->n_calls; i++) {
        const rlf_live_call *live = &node->loss->calls[i];
        bool last = rlf_reading_of(live->class) == RLF_READ_SCORE;
        seen[2 * live->set_input + last] = true;
    }
    *out = (rlf_cost){.host = column_bytes(load, node->loss) +
                              known_bytes(model, load, node->loss)};
    for (int i = 0; i < 2 * node->n_inputs; i++)
        if (seen[i])
            cost_group(load, node, i / 2, i % 2, out);
    free(seen);
    rlf_counts counts = {.kernels = model->kernels};
    for (int i = 0; i < node->loss->n_words; i++) {
        const rlf_words *words = &node->loss->words[i];
        out->host += rlf_words_tile_bytes(load, node, words) +
                     rlf_words_kept_bytes(load, node, words);
        rlf_words_cost(load, node, words, &counts);
    }
    rlf_cost_optimizer(model, &counts);
    rlf_cost_add(out, &counts);
}

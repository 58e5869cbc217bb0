/* The cost of an update, counted at its caps: every lane's samples forward and
 * backward, the optimizer's step, columns of the program. */
#include "nodes/update.h"

#include "nodes/model/optimizer.h"

/* The samples of a lane are taken as they come, as many as fit: all but the
 * last micro-batch have more than T - S tokens, where S are those of samples
 * that stay together. */
int64_t
rlf_update_most_micros(const rlf_graph *graph, int model, const rlf_caps *caps,
                       int lanes)
{
    int groups = 0;
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        int n = node->loss && node->receiver == model
                    ? rlf_loss_passes(node->loss)
                    : 0;
        groups = n > groups ? n : groups;
    }
    int64_t rows = caps->rows[RLF_USE_UPDATE], longest = caps->longest;
    int64_t least = rlf_caps_least(caps, RLF_USE_UPDATE);
    int64_t room = (int64_t)caps->tokens[RLF_USE_UPDATE] - least + 1;
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
            bytes += sizeof(rlf_nonfinite) +
                     8 * (double)loss->words[i].program->outputs.count;
    return bytes;
}

/* The calls that a pass serves. */
typedef struct group {
    int pass;
    int *values; /* the sets that it reads, n_sets of them, */
    int *inputs; /* and which of the node's inputs they are */
    int n_sets;
    bool last;   /* after the last token, else per token */
    int columns; /* of live values, of a set on average */
    bool logprob, scalar;
    uint32_t tokens; /* of a micro-batch */
} group;

static rlf_read_sets
sets_of(const group *g)
{
    return (rlf_read_sets){g->values, g->n_sets};
}

static group
find_group(const rlf_load *load, const rlf_node *node, int pass,
           rlf_arena *arena)
{
    const rlf_loss *loss = node->loss;
    group g = {.pass = pass,
               .values = RLF_NEW_ARRAY(arena, int, loss->n_calls),
               .inputs = RLF_NEW_ARRAY(arena, int, loss->n_calls),
               .tokens =
                   rlf_load_model(load, node)->caps.tokens[RLF_USE_UPDATE]};
    g.n_sets = rlf_loss_sets(loss, pass, g.inputs);
    for (int k = 0; k < g.n_sets; k++)
        g.values[k] = node->inputs[g.inputs[k]];
    for (int i = 0; i < loss->n_calls; i++) {
        const rlf_live_call *live = &loss->calls[i];
        rlf_read_kind kind = rlf_read_kind_of(live->class);
        if (live->pass != pass)
            continue;
        g.columns += live->input >= 0;
        bool lm = kind == RLF_READ_LOGPROB || kind == RLF_READ_WORDS;
        g.last = kind == RLF_READ_SCORE;
        g.logprob |= lm;
        g.scalar |= !lm;
    }
    g.columns = (g.columns + g.n_sets - 1) / g.n_sets;
    for (int i = 0; i < loss->n_words && !g.last; i++)
        if (loss->words[i].set_input == g.inputs[0]) {
            g.columns += (int)loss->words[i].program->outputs.count;
            g.tokens = rlf_vocab_tokens(load, &loss->words[i], g.tokens);
        }
    return g;
}

static rlf_update_passes
passes_of(const rlf_piece *piece)
{
    return !piece                              ? RLF_UPDATE_ALL
           : piece->kind == RLF_PIECE_BEFORE   ? RLF_UPDATE_BEFORE
           : piece->kind == RLF_PIECE_FORWARD  ? RLF_UPDATE_FORWARD
           : piece->kind == RLF_PIECE_BACKWARD ? RLF_UPDATE_BACKWARD
           : piece->kind == RLF_PIECE_WEIGHTS  ? RLF_UPDATE_WEIGHTS
                                               : (rlf_update_passes)0;
}

/* The cost of a lane held here, or of the one micro-batch of the piece. */
static void
cost_lane(const rlf_load *load, const rlf_node *node, const group *g,
          const rlf_lengths *lane, rlf_counts *counts)
{
    const rlf_model *model = rlf_load_model(load, node);
    const rlf_piece *piece = load->piece;
    const rlf_loss *loss = node->loss;
    rlf_update_passes passes = passes_of(piece);
    rlf_reading_load reading = {
        .lengths = lane,
        .n_lengths = 1,
        .tokens = g->tokens,
        .rows = g->last ? RLF_ROWS_LAST : RLF_ROWS_TOKENS,
        .each = rlf_sequences_together(load, node, sets_of(g)),
        .logprob = g->logprob,
        .scalar = g->scalar,
        .recompute = model->caps.recompute,
        .several = model->flights && model->flights[0] > 1,
        .split = model->owed != NULL,
        .point = loss->reach == RLF_REACH_POINT && g->logprob && !g->scalar,
        .one_chunk = piece != NULL,
        .chunk = piece ? piece->chunk : 0};
    if (!passes)
        return;
    rlf_cost_train(model->table, &reading, loss->reach, passes, counts);
    for (int i = 0; i < loss->n_words && !g->last; i++)
        if (loss->words[i].set_input == g->inputs[0])
            rlf_vocab_cost(load, node, &loss->words[i], lane, counts);
    counts->kernels = model->kernels;
    counts->narrow = model->narrow;
}

/* All that this rank has; how many samples. */
static uint64_t
cost_lanes(const rlf_load *load, const rlf_node *node, const group *g,
           rlf_counts *counts)
{
    const rlf_gradient *gradient = &rlf_load_model(load, node)->gradient;
    rlf_lengths lane = rlf_load_own(load, sets_of(g));
    if (load->piece) {
        cost_lane(load, node, g, &lane, counts);
        return lane.n;
    }
    uint64_t all = rlf_sequences_lengths_of(load, sets_of(g)).n;
    uint64_t each = rlf_sequences_together(load, node, sets_of(g));
    uint64_t lanes = (uint64_t)gradient->lanes, own = 0;
    uint64_t units = (all + each - 1) / each, left = units * each - all;
    for (int l = gradient->first; l < gradient->first + gradient->held; l++) {
        /* samples of one length go round, those that stay together at once; the
         * last of them are fewer */
        lane.n = (units / lanes + ((uint64_t)l < units % lanes)) * each;
        if (left && (uint64_t)l == (units - 1) % lanes)
            lane.n -= left;
        own += lane.n;
        cost_lane(load, node, g, &lane, counts);
    }
    return own;
}

/* Live values: its own to the replicas, all to the stages before. */
static void
share_live(const rlf_load *load, const rlf_model *model, const group *g,
           double own, double all, double values, rlf_counts *counts)
{
    const rlf_layout *l = load->layout;
    double bytes = 8 * (double)g->columns * values;
    rlf_meets *meets = counts->cost.meets;
    bool last = rlf_table_ends(model->table, model->table->cut.chunks - 1);
    if (l->dp > 1 && last) {
        meets[RLF_AXIS_DP].n += g->n_sets;
        meets[RLF_AXIS_DP].bytes += bytes * own * (l->dp - 1);
    }
    if (l->pp > 1) {
        meets[RLF_AXIS_PP].n += g->columns * g->n_sets;
        meets[RLF_AXIS_PP].bytes += last ? bytes * all * (l->pp - 1) : 0;
    }
}

static void
cost_group(const rlf_load *load, const rlf_node *node, int pass, rlf_cost *out)
{
    const rlf_model *model = rlf_load_model(load, node);
    const rlf_piece *piece = load->piece;
    rlf_counts counts = {.kernels = model->kernels, .narrow = model->narrow};
    rlf_arena *arena = rlf_arena_new();
    group g = find_group(load, node, pass, arena);
    rlf_lengths all = rlf_sequences_lengths_of(load, sets_of(&g));
    double own = (double)cost_lanes(load, node, &g, &counts);
    double values = piece ? piece->response : all.response;
    double n = piece ? own * load->layout->dp : (double)all.n;
    values = g.last ? 1 : values;
    if (rlf_load_has(load, RLF_PIECE_FINISH))
        share_live(load, model, &g, own, n, values, &counts);
    rlf_cost_add(out, &counts.cost, 1);
    if (!piece) {
        int sets = g.n_sets > 1 ? 2 : 1; /* several are made one list */
        out->host += sets * rlf_sequences_bytes(&all);
        if (g.last)
            out->host += rlf_sequences_score_bytes(load, node, &all);
        if (rlf_table_ends(model->table, model->table->cut.chunks - 1))
            out->host +=
                own * values * row_bytes(node->loss, g.inputs[0], g.last);
    }
    rlf_arena_free(arena);
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

/* Bytes that reductions over vocab leave on the host. */
static double
words_bytes(const rlf_load *load, const rlf_node *node)
{
    double bytes = 0;
    for (int i = 0; i < node->loss->n_words; i++)
        bytes += rlf_vocab_tile_bytes(load, node, &node->loss->words[i]) +
                 rlf_vocab_kept_bytes(load, node, &node->loss->words[i]);
    return bytes;
}

void
rlf_update_cost(const rlf_load *load, const rlf_node *node, rlf_cost *out)
{
    const rlf_model *model = rlf_load_model(load, node);
    const rlf_loss *loss = node->loss;
    const rlf_piece *piece = load->piece;
    *out = (rlf_cost){0};
    if (!piece)
        out->host = column_bytes(load, loss) + known_bytes(model, load, loss) +
                    words_bytes(load, node);
    for (int pass = 0; pass < rlf_loss_passes(loss); pass++)
        if (!piece || piece->group == pass)
            cost_group(load, node, pass, out);
    if (!rlf_load_has(load, RLF_PIECE_FINISH) || (piece && piece->group))
        return;
    rlf_counts counts = {.kernels = model->kernels, .narrow = model->narrow};
    rlf_cost_optimizer(model, &counts);
    rlf_cost_add(out, &counts.cost, 1);
}

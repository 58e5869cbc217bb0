/* The search for fused schedules: first tables that always exist, then rounds
 * of dispatching (dispatch.h) and of moves in the orders (orders.h) that grow
 * until the moves are used up or a table ends at the bound. */
#include "engine/fuse/improve.h"

#include "engine/fuse/dispatch.h"
#include "engine/fuse/orders.h"

#include <string.h>

enum {
    POOL = 3,             /* tables that are kept */
    STARTS = 8,           /* rules that a round anneals.. */
    DISPATCH_MOVES = 128, /* ..so many times, in the first round */
    DISPATCH_COSTS = 40,  /* moves that a dispatched schedule counts as */
    ORDER_MOVES = 26,     /* by operation, in the first round */
    IDLE_RUNS = 6,        /* of orders that find nothing better in a row */
    DOUBLINGS = 7,        /* of rounds, one after the other; then seldom: */
    SELDOM = 8            /* many short runs find more than a few long ones */
};

/* The shortest tables of some, ascending. */
typedef struct pool {
    rlf_row_number *table[POOL];
    double makespan[POOL]; /* RLF_NO_LIMIT: there is none */
} pool;

typedef struct improving {
    rlf_fuse_rows rows, reversed;
    const rlf_fuse_options *options;
    rlf_arena *arena;
    rlf_timing timing;
    rlf_row_number *table;
    pool best, fresh; /* of all; of those that this round has dispatched */
    double bound, grain;
    rlf_splitmix dice;
    int64_t left, starts;
    bool stopped;
} improving;

/* ---- tables that always exist ---- */

/* The rows of a stage, kind after kind; returns how many. */
static int
rows_of(const rlf_fuse_rows *rows, int model, int stage, int *out)
{
    int n = 0;
    for (int r = 0; r < rows->n; r++)
        if (rows->row[r].model == model && rows->row[r].stage == stage)
            out[n++] = r;
    return n;
}

/* One model after the other, one micro-batch at a time: all fits that can. */
static void
one_at_a_time(const rlf_fuse *fuse, improving *s)
{
    const rlf_fuse_rows *rows = &s->rows;
    int at[8], *next = s->timing.next;
    memcpy(next, rows->start, sizeof *next * (size_t)rows->places);
    for (int m = 0; m < fuse->n_models; m++) {
        const rlf_pipe_model *model = &fuse->models[m];
        for (int i = 0; i < model->micros; i++)
            for (int k = 0; k < 2 * model->stages; k++) {
                bool back = k >= model->stages;
                int stage = back ? 2 * model->stages - 1 - k : k;
                int n = rows_of(rows, m, stage, at);
                for (int j = back; j < (back ? n : 1); j++)
                    s->table[next[model->path[stage]]++] =
                        (rlf_row_number)at[j];
            }
    }
}

/* One turn after the other, 1F1B: what memory without fusion is enough for. */
static void
one_by_one(const rlf_fuse *fuse, improving *s)
{
    const rlf_fuse_rows *rows = &s->rows;
    int at[8], *next = s->timing.next;
    memcpy(next, rows->start, sizeof *next * (size_t)rows->places);
    for (int m = 0; m < fuse->n_models; m++) {
        const rlf_pipe_model *model = &fuse->models[m];
        for (int k = 0; k < model->stages; k++) {
            int n = rows_of(rows, m, k, at), warm = model->stages - 1 - k;
            int *to = &next[model->path[k]];
            for (int i = 0; i < model->micros + warm; i++)
                for (int j = 0; j < n; j++)
                    if (j ? i >= warm : i < model->micros)
                        s->table[(*to)++] = (rlf_row_number)at[j];
        }
    }
}

/* The table of a pipeline that goes through the same stages, whatever its
 * places are called; whether it does. */
static bool
take_pipe(const rlf_fuse *fuse, const rlf_pipe *pipe, improving *s)
{
    const rlf_fuse_rows *rows = &s->rows;
    const rlf_pipe_model *model = &fuse->models[0], *like = &pipe->models[0];
    int at[8], *next = s->timing.next;
    if (model->split != like->split || model->stages != like->stages)
        return false;
    for (int k = 0; k < model->stages; k++) /* place i is where stage i is */
        if (model->path[k] != model->path[like->path[k]])
            return false;
    memcpy(next, rows->start, sizeof *next * (size_t)rows->places);
    for (int i = 0; i < pipe->places; i++)
        for (int j = 0; j < pipe->lists[i].count; j++) {
            rlf_pipe_op op = pipe->lists[i].ops[j];
            rows_of(rows, 0, rlf_pipe_stage(like, i, op.chunk), at);
            s->table[next[model->path[i]]++] = (rlf_row_number)at[op.kind];
        }
    return true;
}

/* ---- pools ---- */

static void
empty_pool(pool *out)
{
    for (int i = 0; i < POOL; i++)
        out->makespan[i] = RLF_NO_LIMIT;
}

/* Put a table among the best of a pool, if it is one of them. */
static void
add_table(const improving *s, pool *to, double makespan)
{
    size_t bytes = sizeof *s->table * (size_t)s->rows.operations;
    int at = POOL - 1;
    for (int i = 0; i < POOL; i++)
        if (to->makespan[i] == makespan &&
            memcmp(to->table[i], s->table, bytes) == 0)
            return;
    if (makespan >= to->makespan[at])
        return;
    rlf_row_number *room = to->table[at];
    for (; at > 0 && makespan < to->makespan[at - 1]; at--) {
        to->table[at] = to->table[at - 1];
        to->makespan[at] = to->makespan[at - 1];
    }
    to->table[at] = room;
    to->makespan[at] = makespan;
    memcpy(room, s->table, bytes);
}

/* Add s->table if it is a schedule below the caps; `fresh`: to the round's. */
static void
add_if_sound(improving *s, bool fresh)
{
    if (!rlf_fuse_rows_sound(&s->rows, s->table, &s->timing) ||
        !rlf_fuse_rows_time(&s->rows, s->table, RLF_NO_LIMIT, RLF_NO_LIMIT,
                            &s->timing))
        return;
    add_table(s, &s->best, s->timing.makespan);
    if (fresh)
        add_table(s, &s->fresh, s->timing.makespan);
}

/* A model alone whose backward is split has schedules by name. */
static void
add_zero_bubbles(const rlf_fuse *fuse, improving *s)
{
    const rlf_pipe_model *model = &fuse->models[0];
    if (fuse->n_models > 1 || !model->split)
        return;
    rlf_arena *scratch = rlf_arena_scratch(s->arena);
    rlf_pipe pipe;
    for (int depth = 1; depth <= 2; depth++) {
        rlf_pipe_zero_bubble(model->stages, model->micros, depth, scratch,
                             &pipe);
        if (take_pipe(fuse, &pipe, s))
            add_if_sound(s, false);
    }
    if (model->stages % 2 == 0) {
        rlf_pipe_vee(model->stages / 2, model->micros, scratch, &pipe);
        if (take_pipe(fuse, &pipe, s))
            add_if_sound(s, false);
    }
    rlf_arena_free(scratch);
}

static bool
is_done(const improving *s)
{
    return s->stopped || s->left <= 0 || s->best.makespan[0] <= s->bound;
}

/* ---- rounds ---- */

/* Three starts of four are with time reversed, which is the better way where
 * memory is tight. */
static void
dispatch(improving *s, int64_t moves)
{
    for (int i = 0; i < STARTS && !is_done(s); i++) {
        bool turned = s->starts % 4 != 0;
        double best = RLF_NO_LIMIT;
        rlf_arena *scratch = rlf_arena_scratch(s->arena);
        rlf_dispatch_job job = {
            .rows = turned ? &s->reversed : &s->rows,
            .moves = s->left / DISPATCH_COSTS < moves
                         ? s->left / DISPATCH_COSTS + 1
                         : moves,
            .number = s->starts++,
            .bound = s->bound,
            .best = &best,
            .table = s->table,
            .dice = &s->dice,
            .options = s->options,
            .stopped = &s->stopped,
        };
        s->left -= DISPATCH_COSTS * rlf_dispatch_anneal(&job, scratch);
        rlf_arena_free(scratch);
        if (best >= RLF_NO_LIMIT)
            continue;
        if (turned)
            rlf_fuse_rows_turn(&s->rows, s->table);
        add_if_sound(s, true);
    }
}

/* One annealing of the orders of s->table, which is sound and takes *makespan;
 * with time reversed or not, and with temperatures and weights that differ,
 * because it differs from problem to problem which are good. */
static void
change_orders(improving *s, int64_t moves, double *makespan)
{
    static const double weights[] = {0.3, 0.6, 0.6, 1.2};
    bool turned = rlf_splitmix_below(&s->dice, 2);
    rlf_arena *scratch = rlf_arena_scratch(s->arena);
    rlf_orders_job job = {
        .rows = turned ? &s->reversed : &s->rows,
        .moves = s->left < moves ? s->left : moves,
        .bound = s->bound,
        .hot = s->grain * (0.3 + 0.7 * rlf_splitmix_uniform(&s->dice)),
        .cold = s->grain * 0.015,
        .weight = weights[rlf_splitmix_below(&s->dice, 4)],
        .best = makespan,
        .table = s->table,
        .dice = &s->dice,
        .options = s->options,
        .stopped = &s->stopped,
    };
    if (turned)
        rlf_fuse_rows_turn(&s->rows, s->table);
    s->left -= rlf_orders_anneal(&job, scratch);
    if (turned)
        rlf_fuse_rows_turn(&s->rows, s->table);
    rlf_arena_free(scratch);
    add_if_sound(s, false);
}

/* Goes on from the best of some, until that finds nothing better. */
static void
follow(improving *s, const pool *from, int64_t moves)
{
    double best = from->makespan[0];
    if (best >= RLF_NO_LIMIT)
        return;
    memcpy(s->table, from->table[0],
           sizeof *s->table * (size_t)s->rows.operations);
    for (int idle = 0; idle < IDLE_RUNS && !is_done(s); idle++) {
        double makespan = best;
        change_orders(s, moves, &makespan);
        if (makespan < best)
            idle = -1;
        best = makespan;
    }
}

static void
start(const rlf_fuse *fuse, const rlf_fuse_options *options, rlf_arena *arena,
      improving *s)
{
    double work = 0;
    *s = (improving){.options = options, .arena = arena};
    rlf_fuse_rows_make(fuse, arena, &s->rows);
    rlf_fuse_rows_reverse(&s->rows, arena, &s->reversed);
    rlf_timing_make(&s->rows, arena, &s->timing);
    s->table = RLF_NEW_ARRAY(arena, rlf_row_number, s->rows.operations);
    for (int i = 0; i < POOL; i++) {
        int n = s->rows.operations;
        s->best.table[i] = RLF_NEW_ARRAY(arena, rlf_row_number, n);
        s->fresh.table[i] = RLF_NEW_ARRAY(arena, rlf_row_number, n);
    }
    empty_pool(&s->best);
    for (int p = 0; p < s->rows.places; p++)
        work += s->rows.work[p];
    s->grain = work / s->rows.operations;
    s->bound = rlf_fuse_rows_bound(&s->rows) * (1 + 1e-12);
    s->dice = rlf_splitmix_begin(options->seed, 0);
    s->left = options->moves;
}

rlf_row_number *
rlf_improve(const rlf_fuse *fuse, const rlf_fuse_options *options,
            rlf_arena *arena, int64_t *moves, bool *stopped)
{
    improving s;
    start(fuse, options, arena, &s);
    one_at_a_time(fuse, &s);
    add_if_sound(&s, false);
    one_by_one(fuse, &s);
    add_if_sound(&s, false);
    add_zero_bubbles(fuse, &s);
    int64_t more = 1, each = (int64_t)ORDER_MOVES * s.rows.operations;
    for (int round = 0; !is_done(&s); round++) {
        empty_pool(&s.fresh);
        dispatch(&s, DISPATCH_MOVES * more);
        follow(&s, &s.fresh, each * more);
        if (s.best.makespan[0] < s.fresh.makespan[0])
            follow(&s, &s.best, each * more);
        if (round < DOUBLINGS || round % SELDOM == 0)
            more *= 2;
    }
    /* the last one counts for what was left */
    *moves = options->moves - (s.left > 0 ? s.left : 0);
    *stopped = s.stopped;
    return s.best.makespan[0] < RLF_NO_LIMIT ? s.best.table[0] : NULL;
}

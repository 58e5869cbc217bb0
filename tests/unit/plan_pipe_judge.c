/* Pipeline tables, thousands of them damaged, and times of stages that differ,
 * as a slow and separate judge has them. */
#include "tests/unit/pipe_tables.h"
#include "tests/unit/randomness.h"

/* A judge of its own: counts, orders and circles from the definition. */

#define MAX_TASKS 2000

typedef struct judge {
    const rlf_pipe *pipe;
    int stage[MAX_TASKS], place[MAX_TASKS], at[MAX_TASKS];
    rlf_pipe_op op[MAX_TASKS];
    int n;
} judge;

static bool
before(const judge *j, int a, int b)
{
    const rlf_pipe_op *x = &j->op[a], *y = &j->op[b];
    int last = j->pipe->models[x->model].stages - 1;
    if (j->place[a] == j->place[b] && j->at[a] + 1 == j->at[b])
        return true;
    if (x->model != y->model || x->micro != y->micro)
        return false;
    if (x->kind == 0 && y->kind == 0)
        return j->stage[a] + 1 == j->stage[b];
    if (x->kind == 1 && y->kind == 1)
        return j->stage[a] == j->stage[b] + 1;
    if (x->kind == 1 && y->kind == 2)
        return j->stage[a] == j->stage[b];
    return x->kind == 0 && y->kind == 1 && j->stage[a] == last &&
           j->stage[b] == last;
}

/* Stages of all operations; false if one is nowhere. */
static bool
judge_read(judge *j, const rlf_pipe *pipe)
{
    j->pipe = pipe;
    j->n = 0;
    for (int p = 0; p < pipe->places; p++)
        for (int i = 0; i < pipe->lists[p].count; i++) {
            rlf_pipe_op op = pipe->lists[p].ops[i];
            if (op.model < 0 || op.model >= pipe->n_models)
                return false;
            const rlf_pipe_model *m = &pipe->models[op.model];
            int stage = -1, visits = 0;
            for (int k = 0; k < m->stages; k++)
                if (m->path[k] == p && visits++ == op.chunk)
                    stage = k;
            if (stage < 0 || op.micro < 0 || op.micro >= m->micros ||
                (op.kind > 0 && m->forward_only) || (op.kind > 1 && !m->split))
                return false;
            j->stage[j->n] = stage;
            j->place[j->n] = p;
            j->at[j->n] = i;
            j->op[j->n++] = op;
        }
    return true;
}

static bool
judge_fine(judge *j, const rlf_pipe *pipe)
{
    int all = 0;
    if (!judge_read(j, pipe))
        return false;
    for (int m = 0; m < pipe->n_models; m++)
        all += pipe->models[m].stages * pipe->models[m].micros *
               (pipe->models[m].forward_only ? 1
                : pipe->models[m].split      ? 3
                                             : 2);
    for (int a = 0; a < j->n; a++)
        for (int b = 0; b < j->n; b++) {
            const rlf_pipe_op *x = &j->op[a], *y = &j->op[b];
            if (a == b || x->model != y->model || j->stage[a] != j->stage[b])
                continue;
            if (x->micro == y->micro && x->kind == y->kind)
                return false; /* twice */
            if (x->kind > 0 && x->kind == y->kind && x->micro < y->micro &&
                j->at[a] > j->at[b])
                return false; /* out of order */
        }
    bool gone[MAX_TASKS] = {false};
    for (int left = j->n; left; left--) { /* take away what waits for nothing */
        int pick = -1;
        for (int b = 0; b < j->n && pick < 0; b++) {
            bool waits = gone[b];
            for (int a = 0; a < j->n && !waits; a++)
                waits = !gone[a] && before(j, a, b);
            pick = waits ? -1 : b;
        }
        if (pick < 0)
            return false;
        gone[pick] = true;
    }
    return j->n == all;
}

/* Damage */

static rlf_pipe
copy_of(const rlf_pipe *pipe)
{
    rlf_pipe copy = *pipe;
    copy.lists = RLF_NEW_ARRAY(arena, rlf_pipe_list, pipe->places);
    for (int i = 0; i < pipe->places; i++) {
        const rlf_pipe_list *list = &pipe->lists[i];
        copy.lists[i].count = list->count;
        copy.lists[i].ops = RLF_NEW_ARRAY(arena, rlf_pipe_op, list->count + 1);
        memcpy(copy.lists[i].ops, list->ops,
               sizeof *list->ops * (size_t)list->count);
    }
    return copy;
}

static void
swap(rlf_pipe_op *a, rlf_pipe_op *b)
{
    rlf_pipe_op c = *a;
    *a = *b;
    *b = c;
}

static void
damage(randomness *r, rlf_pipe *pipe)
{
    rlf_pipe_list *list = &pipe->lists[draw(r, pipe->places)];
    rlf_pipe_list *other = &pipe->lists[draw(r, pipe->places)];
    int i = draw(r, list->count), k = draw(r, list->count);
    rlf_pipe_op *op = &list->ops[i];
    switch (draw(r, 9)) {
    case 0: /* gone */
        memmove(op, op + 1, sizeof *op * (size_t)(list->count - i - 1));
        list->count--;
        break;
    case 1: /* twice */
        list->ops[list->count++] = *op;
        break;
    case 2:
        op->kind = (op->kind + 1) % (draw(r, 2) ? 2 : 3);
        break;
    case 3:
        op->micro += draw(r, 3) - 1;
        break;
    case 4:
        op->chunk += draw(r, 3) - 1;
        break;
    case 5: /* of another place */
        swap(op, &other->ops[draw(r, other->count)]);
        break;
    case 6:
        op->model = draw(r, pipe->n_models + 1);
        break;
    default: /* elsewhere in the list, or next to it: may be as good */
        k = draw(r, 2) ? k : i + 1 < list->count ? i + 1 : i;
        swap(op, &list->ops[k]);
        break;
    }
}

static void
test_damage(void)
{
    static judge j;
    rlf_pipe pipes[9];
    rlf_err err = RLF_ERR_NONE;
    struct fusion small = {4, 2, 5, 3, 1, 1, 1, 1, 0, 0, 0};
    rlf_pipe_gpipe(3, 4, arena, &pipes[0]);
    rlf_pipe_1f1b(4, 6, arena, &pipes[1]);
    rlf_pipe_forward(3, 4, arena, &pipes[2]);
    rlf_pipe_1f1b(1, 4, arena, &pipes[3]);
    rlf_pipe_interleaved(3, 5, 2, arena, &pipes[4]);
    fuse(&small, &pipes[5]);
    split(&pipes[1], 2, &pipes[6]);
    split(&pipes[4], 0, &pipes[7]);
    split(&pipes[5], 3, &pipes[8]);
    pipes[8].models[0].split = false;
    for (int p = 0; p < pipes[8].places; p++) { /* one splits, one does not */
        rlf_pipe_list *list = &pipes[8].lists[p];
        int n = 0;
        for (int i = 0; i < list->count; i++)
            if (list->ops[i].model || list->ops[i].kind != RLF_PIPE_WEIGHTS)
                list->ops[n++] = list->ops[i];
        list->count = n;
    }
    int fine = 0, refused = 0, differ = 0, silent = 0;
    for (int i = 0; i < 9; i++)
        differ += !judge_fine(&j, &pipes[i]);
    is_int(differ, 0, "the judge finds nothing wrong with whole tables");
    for (uint64_t seed = 0; seed < (quick() ? 1500 : 9000); seed++) {
        randomness r = {.key = {.seed = seed}};
        rlf_pipe pipe = copy_of(&pipes[seed % 9]);
        rlf_err_clear(&err);
        damage(&r, &pipe);
        bool want = judge_fine(&j, &pipe);
        bool got = rlf_pipe_check(&pipe, NULL, NULL, &err) == RLF_OK;
        fine += want;
        refused += !want;
        differ += got != want;
        silent += !got && !err.sentence[0];
    }
    ok(differ == 0 && silent == 0,
       "damaged tables: %d refused, %d still good, as the judge says", refused,
       fine);
    ok(refused > 500 && fine > 50, "both happened");
}

/* Stages that differ */

/* Returns the seconds of operation a. */
static double
seconds_of(const judge *j, const rlf_pipe_cost *const *cost, int a)
{
    const rlf_pipe_cost *c = &cost[j->op[a].model][j->stage[a]];
    const double of[] = {c->forward, c->backward, c->weights};
    return of[j->op[a].kind];
}

static double
kept_by(const judge *j, const rlf_pipe_cost *const *cost, int a)
{
    double memory = cost[j->op[a].model][j->stage[a]].memory;
    const rlf_pipe_model *m = &j->pipe->models[j->op[a].model];
    if (m->forward_only)
        return 0;
    return j->op[a].kind == 0                   ? memory
           : (int)j->op[a].kind == 1 + m->split ? -memory
                                                : 0;
}

/* The least start of each operation: from all nothing, what comes after what is
 * put off until no rule is broken. */
static void
judge_starts(const judge *j, const rlf_pipe_cost *const *cost, double *start)
{
    bool changed = true;
    for (int a = 0; a < j->n; a++)
        start[a] = 0;
    while (changed) {
        changed = false;
        for (int a = 0; a < j->n; a++)
            for (int b = 0; b < j->n; b++) {
                double at = start[a] + seconds_of(j, cost, a);
                int first =
                    j->stage[a] < j->stage[b] ? j->stage[a] : j->stage[b];
                if (!before(j, a, b))
                    continue;
                if (j->place[a] != j->place[b])
                    at += cost[j->op[a].model][first].send;
                if (at > start[b] + 1e-12) {
                    start[b] = at;
                    changed = true;
                }
            }
    }
}

static const rlf_pipe_cost *const *
random_costs(randomness *r, const rlf_pipe *pipe)
{
    const rlf_pipe_cost **cost =
        RLF_NEW_ARRAY(arena, const rlf_pipe_cost *, pipe->n_models);
    for (int m = 0; m < pipe->n_models; m++) {
        rlf_pipe_cost *stages =
            RLF_NEW_ARRAY(arena, rlf_pipe_cost, pipe->models[m].stages);
        for (int k = 0; k < pipe->models[m].stages; k++)
            stages[k] = (rlf_pipe_cost){.forward = draw(r, 8),
                                        .backward = draw(r, 16),
                                        .weights = draw(r, 16),
                                        .send = draw(r, 4),
                                        .memory = draw(r, 5)};
        cost[m] = stages;
    }
    return cost;
}

static bool
timed_as_judged(randomness *r, const rlf_pipe *pipe)
{
    static judge j;
    static double want[MAX_TASKS];
    double *start[16], makespan = 0, busy = 0, held[16] = {0}, peak[16] = {0};
    const rlf_pipe_cost *const *cost = random_costs(r, pipe);
    rlf_pipe_report report;
    judge_read(&j, pipe);
    judge_starts(&j, cost, want);
    rlf_pipe_time(pipe, cost, arena, &report, start);
    bool good = true;
    for (int a = 0; a < j.n; a++) {
        int place = j.place[a];
        double end = want[a] + seconds_of(&j, cost, a);
        good &= equal(start[place][j.at[a]], want[a]);
        makespan = end > makespan ? end : makespan;
        busy += seconds_of(&j, cost, a);
        held[place] += kept_by(&j, cost, a);
        peak[place] = held[place] > peak[place] ? held[place] : peak[place];
    }
    for (int p = 0; p < pipe->places; p++)
        good &= equal(report.peak[p], peak[p]);
    return good && equal(report.makespan, makespan) && equal(report.busy, busy);
}

static void
test_stages(void)
{
    bool good = true;
    for (uint64_t seed = 0; seed < 80; seed++) {
        randomness r = {.key = {.seed = seed}};
        struct fusion x = {
            4, 2, 1 + draw(&r, 6), 1 + draw(&r, 4), 1, 1, 1, 1, 0, 0, 0};
        rlf_pipe pipe;
        int pp = 1 + draw(&r, 4), micros = 1 + draw(&r, 6);
        if (seed % 4 == 0)
            rlf_pipe_gpipe(pp, micros, arena, &pipe);
        else if (seed % 4 == 1)
            rlf_pipe_1f1b(pp, micros, arena, &pipe);
        else if (seed % 4 == 2)
            rlf_pipe_interleaved(pp, micros, 1 + draw(&r, 3), arena, &pipe);
        else
            fuse(&x, &pipe);
        if (seed % 8 > 4)
            split(&pipe, draw(&r, 4), &pipe);
        good &= timed_as_judged(&r, &pipe);
    }
    ok(good, "stages that differ: every start, the makespan and the memory of "
             "each place as the judge says");
}

int
main(void)
{
    arena = rlf_arena_new();
    test_damage();
    test_stages();
    rlf_arena_free(arena);
    return done();
}

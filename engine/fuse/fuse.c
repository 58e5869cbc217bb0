/* Fused pipelines: the bound, the baselines, the search: see fuse.h. */
#include "engine/fuse/improve.h"

#include <math.h>

/* ---- checks ---- */

/* More of anything than this is a slip, not a pipeline. */
enum {
    MOST_PLACES = 4096,
    MOST_OPERATIONS = 1 << 18,
    MOST_ROWS = UINT16_MAX /* see rlf_row_number */
};

static bool
is_amount(double x)
{
    return isfinite(x) && x >= 0 && x < 1e15;
}

static rlf_status
check_model(const rlf_fuse *fuse, int m, rlf_err *err)
{
    const rlf_pipe_model *model = &fuse->models[m];
    if (model->micros < 1 || model->stages < 1)
        return rlf_fail(err, RLF_USER,
                        "%s has %d micro-batches and %d stages; both are at "
                        "least 1",
                        model->name, model->micros, model->stages);
    for (int k = 0; k < model->stages; k++) {
        const rlf_pipe_cost *cost = &fuse->cost[m][k];
        int p = model->path[k];
        if (!is_amount(cost->forward) || !is_amount(cost->backward) ||
            !is_amount(cost->weights) || !is_amount(cost->send) ||
            !is_amount(cost->memory) || cost->forward + cost->backward <= 0)
            return rlf_fail(err, RLF_USER,
                            "stage %d of %s takes %g forward, %g backward and "
                            "%g of memory; none is less than 0, and one of the "
                            "first two is more",
                            k, model->name, cost->forward, cost->backward,
                            cost->memory);
        if (p < 0 || p >= fuse->places)
            return rlf_fail(err, RLF_USER,
                            "stage %d of %s is at place %d, but the places are "
                            "0 to %d",
                            k, model->name, p, fuse->places - 1);
    }
    /* what has no backward keeps nothing */
    bool capped = fuse->cap && !model->forward_only;
    for (int p = 0; p < fuse->places && capped; p++) {
        double kept = 0; /* in all of its stages there */
        for (int k = 0; k < model->stages; k++)
            kept += model->path[k] == p ? fuse->cost[m][k].memory : 0;
        if (!(kept <= fuse->cap[p] * (1 + 1e-9)))
            return rlf_fail(err, RLF_USER,
                            "a micro-batch of %s keeps %g of memory at place "
                            "%d, which may hold %g",
                            model->name, kept, p, fuse->cap[p]);
    }
    return RLF_OK;
}

rlf_status
rlf_fuse_check(const rlf_fuse *fuse, rlf_err *err)
{
    int64_t operations = 0, rows = 0;
    if (fuse->n_models < 1 || fuse->places < 1 || fuse->places > MOST_PLACES)
        return rlf_fail(err, RLF_USER,
                        "a pipeline has at least one model and 1 to %d places, "
                        "not %d and %d",
                        MOST_PLACES, fuse->n_models, fuse->places);
    for (int m = 0; m < fuse->n_models; m++) {
        const rlf_pipe_model *model = &fuse->models[m];
        rows += (int64_t)RLF_PIPE_KINDS * model->stages;
        operations += (int64_t)RLF_PIPE_KINDS * model->stages * model->micros;
        if (operations > MOST_OPERATIONS)
            return rlf_fail(err, RLF_USER,
                            "these models have more than %d operations",
                            MOST_OPERATIONS);
        if (rows > MOST_ROWS)
            return rlf_fail(err, RLF_USER,
                            "these models have more than %d stages",
                            MOST_ROWS / RLF_PIPE_KINDS);
        RLF_TRY(check_model(fuse, m, err));
    }
    return RLF_OK;
}

/* ---- answers ---- */

/* A table as an answer: checked and timed by engine/plan. */
static rlf_status
answer(const rlf_fuse *fuse, const rlf_fuse_rows *rows,
       const rlf_row_number *table, const double *cap, rlf_arena *arena,
       rlf_err *err, rlf_fuse_answer *out)
{
    rlf_pipe_report report;
    rlf_fuse_rows_pipe(fuse, rows, table, arena, &out->pipe);
    RLF_TRY(rlf_pipe_check(&out->pipe, fuse->cost, cap, err));
    out->begin = RLF_NEW_ARRAY(arena, double *, fuse->places);
    rlf_pipe_time(&out->pipe, fuse->cost, arena, &report, out->begin);
    out->makespan = report.makespan;
    out->bubble = report.bubble;
    out->span = report.span;
    out->peak = 0;
    for (int p = 0; p < fuse->places; p++)
        out->peak = report.peak[p] > out->peak ? report.peak[p] : out->peak;
    return RLF_OK;
}

double
rlf_fuse_bound(const rlf_fuse *fuse, rlf_arena *arena)
{
    rlf_fuse_rows rows;
    double first = 0; /* when the last place can begin */
    rlf_fuse_rows_make(fuse, arena, &rows);
    for (int p = 0; p < rows.places && fuse->apart; p++)
        first = rows.lead[p] > first ? rows.lead[p] : first;
    return rlf_fuse_rows_bound(&rows) - first;
}

/* A model with one stage at each of its places, in the order in which its path
 * comes to them, and one backward: what its chunks and their weights take
 * together. Returns how many there are; place[stage] is where. */
static int
merged(const rlf_fuse *fuse, int m, rlf_arena *arena, int *place,
       rlf_pipe_cost **out)
{
    const rlf_pipe_model *model = &fuse->models[m];
    rlf_pipe_cost *whole = RLF_NEW_ARRAY(arena, rlf_pipe_cost, model->stages);
    int n = 0;
    for (int k = 0; k < model->stages; k++) {
        const rlf_pipe_cost *cost = &fuse->cost[m][k];
        int at = 0;
        while (at < n && place[at] != model->path[k])
            at++;
        if (at == n)
            place[n++] = model->path[k];
        whole[at].forward += cost->forward;
        whole[at].backward += cost->backward;
        if (model->split)
            whole[at].backward += cost->weights;
        whole[at].memory += cost->memory;
        if (cost->send > whole[at].send)
            whole[at].send = cost->send;
    }
    *out = whole;
    return n;
}

/* The models of one turn, side by side; adds to `busy` what they take. */
static double
time_turn(const rlf_fuse *fuse, int turn, rlf_arena *arena, double *busy,
          rlf_fuse_answer *out)
{
    double longest = 0;
    double *held = RLF_NEW_ARRAY(arena, double, fuse->places);
    for (int m = 0; m < fuse->n_models; m++) {
        const rlf_pipe_model *model = &fuse->models[m];
        int *place = RLF_NEW_ARRAY(arena, int, model->stages);
        rlf_pipe_cost *whole;
        rlf_pipe alone;
        rlf_pipe_report report;
        if (fuse->turn[m] != turn)
            continue;
        int n = merged(fuse, m, arena, place, &whole);
        const rlf_pipe_cost *cost = whole;
        rlf_pipe_1f1b(n, model->micros, arena, &alone);
        rlf_pipe_time(&alone, &cost, arena, &report, NULL);
        *busy += report.busy;
        longest = report.makespan > longest ? report.makespan : longest;
        for (int k = 0; k < n; k++) {
            double *at = &held[place[k]];
            *at += report.peak[k];
            out->peak = *at > out->peak ? *at : out->peak;
        }
    }
    return longest;
}

void
rlf_fuse_serial(const rlf_fuse *fuse, rlf_arena *arena, rlf_fuse_answer *out)
{
    double busy = 0;
    int turns = 0;
    *out = (rlf_fuse_answer){0};
    for (int m = 0; m < fuse->n_models; m++)
        turns = fuse->turn[m] >= turns ? fuse->turn[m] + 1 : turns;
    for (int turn = 0; turn < turns; turn++)
        out->makespan += time_turn(fuse, turn, arena, &busy, out);
    out->bubble = fmax(0, 1 - busy / (fuse->places * out->makespan));
}

rlf_status
rlf_fuse_greedy(const rlf_fuse *fuse, rlf_arena *arena, rlf_err *err,
                rlf_fuse_answer *out)
{
    rlf_fuse_rows rows;
    rlf_timing timing;
    *out = (rlf_fuse_answer){0};
    rlf_fuse_rows_make(fuse, arena, &rows);
    rlf_timing_make(&rows, arena, &timing);
    rlf_row_number *table =
        RLF_NEW_ARRAY(arena, rlf_row_number, rows.operations);
    rlf_greedy_table(fuse, &rows, &timing, table);
    return answer(fuse, &rows, table, NULL, arena, err, out);
}

rlf_status
rlf_fuse_published(const rlf_fuse *fuse, const rlf_fuse_options *options,
                   rlf_arena *arena, rlf_err *err, rlf_fuse_answer *out)
{
    rlf_fuse_rows rows;
    *out = (rlf_fuse_answer){0};
    rlf_fuse_rows_make(fuse, arena, &rows);
    rlf_row_number *table =
        RLF_NEW_ARRAY(arena, rlf_row_number, rows.operations);
    out->stopped =
        !rlf_published_table(fuse, &rows, options, arena, table, &out->moves);
    return answer(fuse, &rows, table, NULL, arena, err, out);
}

rlf_status
rlf_fuse_search(const rlf_fuse *fuse, const rlf_fuse_options *options,
                rlf_arena *arena, rlf_err *err, rlf_fuse_answer *out)
{
    rlf_fuse_rows rows;
    *out = (rlf_fuse_answer){0};
    rlf_fuse_rows_make(fuse, arena, &rows);
    const rlf_row_number *table =
        rlf_improve(fuse, options, arena, &out->moves, &out->stopped);
    if (!table)
        return rlf_fail(err, RLF_USER,
                        "no schedule fits: a place cannot hold what one "
                        "micro-batch leaves in its stages there");
    return answer(fuse, &rows, table, fuse->cap, arena, err, out);
}

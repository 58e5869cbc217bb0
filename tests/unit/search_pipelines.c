/* Seconds of the tables of schedules: those of rlf_pipe_time, bit by bit, also
 * when a table was asked for before and after others; and nearly those where
 * only a part of many micro-batches is timed. */
#include "engine/search/pipelines.h"

#include <math.h>

#include "engine/base/philox.h"
#include "tests/tap.h"

enum { ASKED = 400, MOST_PLACES = 9, MOST_MICROS = 24, MANY = 1000 };

static const struct {
    const char *name;
    int chunks;
} schedules[] = {{"1f1b", 1},  {"gpipe", 1}, {"zb-h1", 1},
                 {"zb-h2", 1}, {"zb-v", 2},  {"interleaved", 2}};

static double
time_table(const rlf_pipeline *of, const rlf_pipe_cost *cost,
           const double *send, rlf_arena *arena)
{
    rlf_pipe pipe;
    rlf_pipe_report report;
    rlf_err err = RLF_ERR_NONE;
    if (rlf_pipe_named(of->schedule, of->pp, of->micros, of->chunks, arena,
                       &err, &pipe) < 0)
        return NAN;
    const rlf_pipe_model *model = &pipe.models[0];
    rlf_pipe_cost *stages = RLF_NEW_ARRAY(arena, rlf_pipe_cost, model->stages);
    const rlf_pipe_cost *const list[] = {stages};
    for (int k = 0; k < model->stages; k++) {
        stages[k] = cost[k];
        if (!model->split)
            stages[k].weights = 0;
        stages[k].send = k + 1 < model->stages && send ? send[k] : 0;
    }
    rlf_pipe_time(&pipe, list, arena, &report, NULL);
    return report.makespan;
}

static void
draw_costs(const rlf_random_key *key, uint64_t *at, rlf_pipe_cost *cost,
           double *send, int n)
{
    for (int k = 0; k <= n; k++) {
        cost[k] = (rlf_pipe_cost){.forward = rlf_draw_uniform(key, (*at)++),
                                  .backward = rlf_draw_uniform(key, (*at)++)};
        cost[k].weights = rlf_draw_uniform(key, (*at)++);
    }
    for (int k = 0; k < n; k++)
        send[k] = 3 * rlf_draw_uniform(key, (*at)++);
}

int
main(void)
{
    const rlf_random_key key = {.seed = 15};
    rlf_arena *kept = rlf_arena_new(), *arena = rlf_arena_new();
    rlf_pipelines *known = rlf_pipelines_new(kept);
    uint64_t at = 0;
    int differ = 0, again = 0, far = 0,
        n = sizeof schedules / sizeof *schedules;
    plan(3);
    for (int i = 0; i < ASKED; i++) {
        int s = (int)rlf_draw_below(&key, at++, (uint32_t)n);
        rlf_pipeline of = {.schedule = schedules[s].name,
                           .chunks = schedules[s].chunks};
        of.pp = 1 + (int)rlf_draw_below(&key, at++, MOST_PLACES);
        of.micros = 1 + (int)rlf_draw_below(&key, at++, MOST_MICROS);
        if (of.chunks > 1 && !(i % 2)) /* as many as divide evenly */
            of.micros = of.pp * (1 + of.micros / of.pp);
        rlf_pipe_cost cost[2 * MOST_PLACES];
        double send[2 * MOST_PLACES];
        draw_costs(&key, &at, cost, send, of.pp * of.chunks - 1);
        rlf_arena_reset(arena);
        double first = rlf_pipelines_time(known, &of, cost, NULL);
        differ += first != time_table(&of, cost, NULL, arena);
        differ += rlf_pipelines_time(known, &of, cost, send) !=
                  time_table(&of, cost, send, arena);
        cost[0].forward *= 2;
        differ += rlf_pipelines_time(known, &of, cost, send) !=
                  time_table(&of, cost, send, arena);
        cost[0].forward /= 2;
        again += rlf_pipelines_time(known, &of, cost, NULL) != first;
        if (i % 10)
            continue;
        of.micros = MANY + (int)rlf_draw_below(&key, at++, MANY);
        double all = time_table(&of, cost, send, arena);
        double part = rlf_pipelines_time(known, &of, cost, send);
        far += !(fabs(part - all) <= 0.01 * all);
    }
    ok(!differ, "as long as the table: %d differ", differ);
    ok(!again, "and as long when it is asked for again");
    ok(!far, "of many micro-batches within 1 %%: %d are not", far);
    rlf_arena_free(kept);
    rlf_arena_free(arena);
    return done();
}

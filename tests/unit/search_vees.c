/* Seconds of the tables of "zb-v": those of rlf_pipe_time, bit by bit, also
 * when a table was asked for before and after others. */
#include "engine/search/vees.h"

#include "engine/base/philox.h"
#include "tests/tap.h"

enum { ASKED = 400, MOST_PLACES = 9, MOST_MICROS = 24 };

static double
time_table(int pp, int micros, const rlf_pipe_cost cost[2], rlf_arena *arena)
{
    rlf_pipe pipe;
    rlf_pipe_report report;
    rlf_pipe_vee(pp, micros, arena, &pipe);
    rlf_pipe_cost *stages = RLF_NEW_ARRAY(arena, rlf_pipe_cost, 2 * pp);
    const rlf_pipe_cost *const list[] = {stages};
    for (int k = 0; k < 2 * pp; k++)
        stages[k] = cost[k >= pp];
    rlf_pipe_time(&pipe, list, arena, &report, NULL);
    return report.makespan;
}

int
main(void)
{
    const rlf_random_key key = {.seed = 15};
    rlf_arena *kept = rlf_arena_new(), *arena = rlf_arena_new();
    rlf_vees *vees = rlf_vees_new(kept);
    uint64_t at = 0;
    int differ = 0, again = 0;
    plan(2);
    for (int i = 0; i < ASKED; i++) {
        int pp = 1 + (int)rlf_draw_below(&key, at++, MOST_PLACES);
        int micros = 1 + (int)rlf_draw_below(&key, at++, MOST_MICROS);
        rlf_pipe_cost cost[2] = {{0}};
        for (int k = 0; k < 2; k++) {
            cost[k].forward = rlf_draw_uniform(&key, at++);
            cost[k].backward = rlf_draw_uniform(&key, at++);
            cost[k].weights = rlf_draw_uniform(&key, at++);
        }
        rlf_arena_reset(arena);
        double first = rlf_vees_time(vees, pp, micros, cost);
        differ += first != time_table(pp, micros, cost, arena);
        cost[1].forward *= 2;
        differ += rlf_vees_time(vees, pp, micros, cost) !=
                  time_table(pp, micros, cost, arena);
        cost[1].forward /= 2;
        again += rlf_vees_time(vees, pp, micros, cost) != first;
    }
    ok(!differ, "a V takes as long as its table");
    ok(!again, "and as long when it is asked for again");
    rlf_arena_free(kept);
    rlf_arena_free(arena);
    return done();
}

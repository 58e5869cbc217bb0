/* This measures how long a search takes to look at a plan: candidates of a
 * program on some ranks, each with random rows, are made
 * (engine/plan/candidate.h), and then looked at on one rank: outlined, with the
 * costs of its nodes.
 *
 *     bench/candidates [PROGRAM [RANKS [COUNT]]]
 *
 * PROGRAM: examples/ppo.rlf; 8 ranks; 1000 candidates. */
#include "engine/api/session.h"
#include "engine/base/clock.h"
#include "engine/plan/candidate.h"
#include "engine/mesh/outline.h"
#include "nodes/table.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST_RANKS = 1024, MOST_MODELS = 16 };

static void
stop(const char *why)
{
    fprintf(stderr, "candidates: %s\n", why);
    exit(1);
}

static int
power_below(int n, unsigned *seed)
{
    int most = 0;
    while (2 << most <= n)
        most++;
    *seed = *seed * 1664525 + 1013904223;
    return 1 << (*seed >> 16) % (unsigned)(most + 1);
}

/* A row for each model: an aligned part of the ranks, tp and dp. */
static int
make_rows(const rlf_graph *graph, int ranks, const int *all, unsigned *seed,
          rlf_place_row *rows)
{
    int n = 0;
    for (size_t i = 0; i < graph->resources.count && n < MOST_MODELS; i++) {
        if (!graph->resources.data[i].class->model)
            continue;
        rlf_place_row *row = &rows[n++];
        *row = rlf_place_row_new((int)i, NULL);
        row->n_ranks = power_below(ranks, seed);
        row->ranks = all + ranks - row->n_ranks;
        row->tp = power_below(row->n_ranks < 2 ? row->n_ranks : 2, seed);
        row->dp = row->n_ranks / row->tp;
    }
    return n;
}

int
main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : RLF_SOURCE_DIR "/examples/ppo.rlf";
    int ranks = argc > 2 ? atoi(argv[2]) : 8;
    int count = argc > 3 ? atoi(argv[3]) : 1000;
    int all[MOST_RANKS], refused = 0;
    if (ranks < 1 || ranks > MOST_RANKS)
        stop("a number of ranks from 1 to 1024");
    for (int i = 0; i < ranks; i++)
        all[i] = i;
    rlf_session *s = rlf_session_open(path);
    if (rlf_session_check(s) != RLF_RESULT_OK)
        stop(rlf_session_message(s));
    rlf_err err = RLF_ERR_NONE;
    rlf_outline *outline;
    if (rlf_outline_open(s->graph, rlf_kernels_cpu(), &err, &outline) < 0)
        stop(err.sentence);
    const rlf_plan_options options = {.ranks = ranks};
    double made = 0, looked = 0;
    unsigned seed = 1;
    for (int k = 0; k < count; k++) {
        rlf_place_row rows[MOST_MODELS];
        int n = make_rows(s->graph, ranks, all, &seed, rows);
        rlf_arena *arena = rlf_arena_new();
        rlf_plan *plan;
        rlf_opened opened;
        uint64_t start = rlf_clock_now();
        rlf_err_clear(&err);
        if (rlf_plan_candidate(s->graph, rows, n, &options, arena, &err,
                               &plan) < 0)
            stop(err.sentence);
        made += rlf_clock_since(start);
        start = rlf_clock_now();
        rlf_status status =
            rlf_outline_rank(outline, plan, ranks - 1, arena, &err, &opened);
        if (status >= 0) {
            rlf_sizes sizes = rlf_opened_sizes(&opened, arena);
            for (size_t i = 0; i < s->graph->nodes.count; i++)
                rlf_opened_cost(&opened, &sizes, (int)i);
        }
        refused += status < 0;
        looked += rlf_clock_since(start);
        rlf_arena_free(arena);
    }
    printf("%s on %d ranks: %d candidates, %.3f ms each to make, %.3f ms to "
           "outline a rank and count its nodes (%d cannot be cut so)\n",
           path, ranks, count, 1e3 * made / count, 1e3 * looked / count,
           refused);
    rlf_outline_close(outline);
    rlf_session_close(s);
    return 0;
}

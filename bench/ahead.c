/* Sampling beside training on two ranks of their own, made 0 to 3 steps ahead.
 *
 *     bench/ahead [STEPS [ROUNDS]]     steps that are counted (default 16)
 *
 * Responses have log-normal lengths (lengths.h), so the time that a step
 * samples varies much, and that which it trains somewhat; on average they take
 * about as long. The runs take turns, ROUNDS (default 5) each. Printed are
 * seconds of a step, without the first ones, in the quickest run of each lag,
 * and, from traces of all, what a step samples and trains and how much of the
 * training time the other rank samples. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench/lengths.h"
#include "engine/base/clock.h"
#include "engine/base/trace.h"
#include "engine/base/vec.h"
#include "engine/sched/framing.h"
#include "engine/sched/run.h"
#include "grammar/compile.h"
#include "nodes/table.h"

enum { SAMPLES = 8, WARM = 4, MOST_AHEAD = 3, SEED = 7 };

/* Sums over all runs with the same lag. */
typedef struct sums {
    double seconds;                  /* a step, of the quickest */
    double sampling, training, both; /* microseconds of all runs together */
    double result;                   /* the same in every run */
    bool other;                      /* it was not */
} sums;

static void
must(rlf_status status, const rlf_err *err)
{
    if (status < 0) {
        fprintf(stderr, "bench/ahead: %s\n", err->sentence);
        exit(1);
    }
}

static rlf_graph *
compile(int lag, rlf_arena *arena, rlf_sources *sources)
{
    char text[16];
    snprintf(text, sizeof text, "%d", lag);
    const rlf_compile_setting setting = {"lag", text};
    rlf_err err = RLF_ERR_NONE;
    sources->arena = arena;
    rlf_diags diags = {.arena = arena, .sources = sources};
    const rlf_compile_options options = {.path =
                                             RLF_SOURCE_DIR "/bench/ahead.rlf",
                                         .stdlib = RLF_SOURCE_DIR "/stdlib",
                                         .settings = &setting,
                                         .n_settings = 1,
                                         .classes = &rlf_node_classes};
    rlf_graph *graph;
    must(rlf_compile(&options, arena, sources, &diags, &err, &graph), &err);
    return graph;
}

/* ---- from a trace ---- */

typedef struct span {
    double from, to;
} span;

typedef RLF_VEC(span) spans;

static void
read_trace(const char *path, spans *samples, spans *trains)
{
    FILE *f = fopen(path, "r");
    char line[1024], name[64], kind[64];
    int rank;
    double from, length;
    while (f && fgets(line, sizeof line, f)) {
        if (sscanf(line,
                   "{\"name\": \"%63[^\"]\", \"cat\": \"%63[^\"]\", "
                   "\"ph\": \"X\", \"pid\": %d, \"tid\": %*d, \"ts\": %lf, "
                   "\"dur\": %lf",
                   name, kind, &rank, &from, &length) != 5 ||
            strcmp(kind, "run") != 0)
            continue;
        span s = {from, from + length};
        if (rank == 0 && strcmp(name, "generate") == 0)
            RLF_PUSH(samples, s);
        if (rank == 1 && strcmp(name, "update") == 0)
            RLF_PUSH(trains, s);
    }
    if (f)
        fclose(f);
}

/* Both lists in order. */
static void
add_overlap(const char *path, sums *out)
{
    spans samples = {0}, trains = {0};
    size_t first = 0;
    read_trace(path, &samples, &trains);
    for (size_t i = 0; i < samples.count; i++)
        out->sampling += samples.data[i].to - samples.data[i].from;
    for (size_t i = 0; i < trains.count; i++) {
        span t = trains.data[i];
        out->training += t.to - t.from;
        while (first < samples.count && samples.data[first].to <= t.from)
            first++;
        for (size_t k = first; k < samples.count && samples.data[k].from < t.to;
             k++) {
            span s = samples.data[k];
            out->both += (s.to < t.to ? s.to : t.to) -
                         (s.from > t.from ? s.from : t.from);
        }
    }
    RLF_VEC_FREE(&samples);
    RLF_VEC_FREE(&trains);
}

/* ---- runs ---- */

static rlf_place_row
row_of(int model, const rlf_node_class *call, int *rank)
{
    rlf_place_row row = rlf_place_row_new(model, call);
    row.ranks = rank;
    row.n_ranks = row.dp = 1;
    return row;
}

static void
run(int lag, int steps, const rlf_kernels *kernels, sums *out)
{
    int ranks[] = {0, 1};
    char path[] = "/tmp/rlflow-ahead-XXXXXX";
    rlf_err err = RLF_ERR_NONE;
    rlf_arena *arena = rlf_arena_new();
    rlf_sources sources = {0};
    rlf_graph *graph = compile(lag, arena, &sources);
    const rlf_node *node = bench_generate(graph);
    rlf_place_row rows[] = {row_of(node->receiver, NULL, &ranks[1]),
                            row_of(node->receiver, node->class, &ranks[0])};
    rlf_placement placement = {.rows = rows, .n_rows = 2};
    graph->placement = &placement;
    rlf_plan *plan;
    must(rlf_plan_make(graph, &(rlf_plan_options){.ranks = 2}, arena, &err,
                       &plan),
         &err);
    const rlf_comm_options world = {.n_ranks = 2,
                                    .mail_slots = RLF_FRAME_SLOTS,
                                    .mail_bytes = RLF_FRAME_BYTES};
    rlf_run_options options = {
        .threads = 2, .seed = SEED, .kernels = kernels, .policy = {.piece = 4}};
    close(mkstemp(path));
    must(rlf_trace_open(path, rlf_clock_now(), &err, &options.trace), &err);
    must(rlf_comm_world_new(&world, &options.world, &err), &err);
    rlf_run *r;
    must(rlf_run_open(plan, &options, &err, &r), &err);
    uint64_t from = 0;
    for (int s = 0; s < WARM + steps; s++) {
        if (s == WARM)
            from = rlf_clock_now();
        must(rlf_run_step(r, &err), &err);
    }
    double seconds = rlf_clock_since(from) / steps;
    if (out->seconds <= 0 || seconds < out->seconds)
        out->seconds = seconds;
    double result = 0;
    rlf_metrics_get(rlf_run_metrics(r), "actor.gradient", &result);
    out->other |=
        out->result != 0 && (out->result < result || out->result > result);
    out->result = result;
    rlf_run_close(r);
    rlf_comm_world_free(options.world);
    must(rlf_trace_close(options.trace, &err), &err);
    add_overlap(path, out);
    unlink(path);
    rlf_arena_free(arena);
}

int
main(int argc, char **argv)
{
    int steps = argc > 1 ? atoi(argv[1]) : 16;
    int rounds = argc > 2 ? atoi(argv[2]) : 5;
    rlf_arena *arena = rlf_arena_new();
    rlf_sources sources = {0};
    rlf_err err = RLF_ERR_NONE;
    const bench_lengths lengths = {
        .seed = SEED,
        .site = bench_generate(compile(0, arena, &sources))->site,
        .samples = SAMPLES,
        .steps = (uint32_t)(WARM + steps + MOST_AHEAD),
        .sigma = 0.75,
        .median = 48,
        .most = 480,
        .words = RLF_SOURCE_DIR "/examples/models/arith",
    };
    rlf_arena_free(arena);
    rlf_kernels kernels;
    must(bench_lengths_force(&lengths, &err, &kernels), &err);
    sums all[MOST_AHEAD + 1] = {0};
    for (int i = 0; i < rounds; i++)
        for (int lag = 0; lag <= MOST_AHEAD; lag++)
            run(lag, steps, &kernels, &all[lag]);
    printf("%-6s %9s %6s %6s %9s %9s  %s\n", "ahead", "s a step", "of 0",
           "of 1", "sampling", "training", "beside sampling");
    for (int lag = 0; lag <= MOST_AHEAD; lag++) {
        const sums *s = &all[lag];
        /* samples are made for as many steps more */
        int trained = rounds * (WARM + steps), sampled = trained + rounds * lag;
        printf("%-6d %9.4f %6.2f %6.2f %9.4f %9.4f  %.0f %% of training%s\n",
               lag, s->seconds, s->seconds / all[0].seconds,
               s->seconds / all[1].seconds, s->sampling * 1e-6 / sampled,
               s->training * 1e-6 / trained, 100 * s->both / s->training,
               s->other ? "  OTHER RESULTS" : "");
    }
    bench_lengths_free();
    return 0;
}

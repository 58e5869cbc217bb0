/* Long-tail generation on thread ranks: streaming and migration against the
 * same run without.
 *
 *     bench/longtail [RANKS ...]      thread ranks (default 4 2)
 *
 * A step samples responses whose lengths are log-normal (sigma 0.75) and reads
 * them with a reference, a critic and a reward model. Time is wall time, which
 * means something where every rank has a core, and the processor time of the
 * ranks, which does in any case: of all, and of the busiest.
 *
 * Lengths are forced (lengths.h). The four ways take turns, one step each; a
 * step has the same responses in all. Their results are compared. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/lengths.h"
#include "engine/base/clock.h"
#include "engine/dev/cores.h"
#include "engine/sched/framing.h"
#include "engine/sched/run.h"
#include "grammar/compile.h"
#include "nodes/table.h"

enum {
    SAMPLES = 64, /* as in longtail.rlf */
    MOST_NEW = 480,
    MEDIAN = 64,
    LEARN = 2, /* steps from which the run learns, not counted */
    STEPS = 3,
    MOST_THREADS = 64,
    SEED = 7
};
static const double sigma = 0.75;

/* ---- processor time of threads ---- */

typedef struct times {
    int n;
    long id[MOST_THREADS];
    double seconds[MOST_THREADS];
} times;

static void
read_times(times *out)
{
    out->n = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *e; tasks && (e = readdir(tasks));) {
        char path[300];
        unsigned long long ns;
        snprintf(path, sizeof path, "/proc/self/task/%s/schedstat", e->d_name);
        FILE *f = e->d_name[0] == '.' ? NULL : fopen(path, "r");
        if (f && fscanf(f, "%llu", &ns) == 1 && out->n < MOST_THREADS) {
            out->id[out->n] = strtol(e->d_name, NULL, 10);
            out->seconds[out->n++] = (double)ns * 1e-9;
        }
        if (f)
            fclose(f);
    }
    if (tasks)
        closedir(tasks);
}

/* ---- runs ---- */

typedef struct way {
    const char *name;
    bool streams;
    int migrate; /* -1: as the run finds it */
} way;

static const way ways[] = {{"neither", false, 0},
                           {"streaming", true, 0},
                           {"and migration, at 20 %", true, SAMPLES / 5},
                           {"and migration, as found", true, -1}};
enum { WAYS = sizeof ways / sizeof *ways };

typedef struct one {
    rlf_arena *arena;
    rlf_sources sources;
    rlf_run *run;
    rlf_run_options options;
    double wall, busy, busiest; /* sums over steps */
    double result;
} one;

static void
must(rlf_status status, const rlf_err *err)
{
    if (status < 0) {
        fprintf(stderr, "bench/longtail: %s\n", err->sentence);
        exit(1);
    }
}

static rlf_graph *
compile(one *o)
{
    o->arena = rlf_arena_new();
    o->sources.arena = o->arena;
    rlf_err err = RLF_ERR_NONE;
    rlf_diags diags = {.arena = o->arena, .sources = &o->sources};
    const rlf_compile_options options = {.path = RLF_SOURCE_DIR
                                         "/bench/longtail.rlf",
                                         .stdlib = RLF_SOURCE_DIR "/stdlib",
                                         .classes = &rlf_node_classes};
    rlf_graph *graph;
    must(rlf_compile(&options, o->arena, &o->sources, &diags, &err, &graph),
         &err);
    return graph;
}

static void
open_run(one *o, const way *w, int ranks, const rlf_kernels *kernels)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_graph *graph = compile(o);
    const rlf_node *node = bench_generate(graph);
    int *all = RLF_NEW_ARRAY(o->arena, int, ranks);
    for (int i = 0; i < ranks; i++)
        all[i] = i;
    rlf_place_row row = rlf_place_row_new(node->receiver, node->class);
    row.ranks = all;
    row.n_ranks = row.dp = ranks;
    row.migrate = w->migrate;
    rlf_placement placement = {.rows = &row, .n_rows = 1};
    graph->placement = &placement;
    rlf_plan *plan;
    must(rlf_plan_make(graph, &(rlf_plan_options){.ranks = ranks}, o->arena,
                       &err, &plan),
         &err);
    graph->placement = NULL;
    const rlf_comm_options world = {.n_ranks = ranks,
                                    .mail_slots = RLF_FRAME_SLOTS,
                                    .mail_bytes = RLF_FRAME_BYTES};
    o->options =
        (rlf_run_options){.threads = ranks, .seed = SEED, .kernels = kernels};
    if (w->streams)
        o->options.policy = (rlf_policy){.piece = 8, .parts = 8};
    must(rlf_comm_world_new(&world, &o->options.world, &err), &err);
    must(rlf_run_open(plan, &o->options, &err, &o->run), &err);
}

static void
step(one *o, bool counts)
{
    rlf_err err = RLF_ERR_NONE;
    times before, after;
    read_times(&before);
    uint64_t from = rlf_clock_now();
    must(rlf_run_step(o->run, &err), &err);
    double wall = rlf_clock_since(from), sum = 0, most = 0;
    read_times(&after);
    for (int i = 0; i < after.n; i++)
        for (int k = 0; k < before.n; k++) {
            if (before.id[k] != after.id[i])
                continue;
            double x = after.seconds[i] - before.seconds[k];
            sum += x;
            most = x > most ? x : most;
        }
    const rlf_metrics *m = rlf_run_metrics(o->run);
    for (size_t i = 0; i < m->count; i++)
        o->result += m->data[i].sum / (double)m->data[i].count;
    if (!counts)
        return;
    o->wall += wall / STEPS;
    o->busy += sum / STEPS;
    o->busiest += most / STEPS;
}

static void
measure(int ranks, const rlf_kernels *kernels)
{
    one of[WAYS] = {0};
    for (int i = 0; i < WAYS; i++)
        open_run(&of[i], &ways[i], ranks, kernels);
    for (int s = 0; s < LEARN + STEPS; s++)
        for (int i = 0; i < WAYS; i++)
            step(&of[i], s >= LEARN);
    printf("%d ranks, %d cores; seconds a step\n"
           "%-26s %9s %7s %9s %7s %9s %7s\n",
           ranks, rlf_cores_count(), "", "all busy", "", "busiest", "", "wall",
           "");
    for (int i = 0; i < WAYS; i++) {
        const one *o = &of[i];
        printf("%-26s %9.3f %6.2fx %9.3f %6.2fx %9.3f %6.2fx%s\n", ways[i].name,
               o->busy, of[0].busy / o->busy, o->busiest,
               of[0].busiest / o->busiest, o->wall, of[0].wall / o->wall,
               o->result == of[0].result ? "" : "  OTHER RESULTS");
    }
    for (int i = 0; i < WAYS; i++) {
        rlf_run_close(of[i].run);
        rlf_comm_world_free(of[i].options.world);
        rlf_arena_free(of[i].arena);
    }
}

int
main(int argc, char **argv)
{
    one o = {0};
    rlf_err err = RLF_ERR_NONE;
    const bench_lengths lengths = {
        .seed = SEED,
        .site = bench_generate(compile(&o))->site,
        .samples = SAMPLES,
        .steps = LEARN + STEPS,
        .sigma = sigma,
        .median = MEDIAN,
        .most = MOST_NEW,
        .words = RLF_SOURCE_DIR "/examples/models/arith",
    };
    rlf_arena_free(o.arena);
    rlf_kernels kernels;
    must(bench_lengths_force(&lengths, &err, &kernels), &err);
    if (argc < 2) {
        measure(4, &kernels);
        measure(2, &kernels);
    }
    for (int i = 1; i < argc; i++)
        measure(atoi(argv[i]), &kernels);
    bench_lengths_free();
    return 0;
}

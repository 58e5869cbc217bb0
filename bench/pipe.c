/* This measures the time that pipelines wait, as the executor runs them, beside
 * the time that their tables say.
 *
 *     bench/pipe [MS [KB]]                thread ranks (default 4 ms, 1024 KB)
 *     mpiexec -n N bench/pipe [MS [KB]]   N processes, a rank each
 *     bench/pipe table P M                print the table that fuses two models
 *
 * An operation sleeps: MS going forward, twice that going back (a second model
 * half of it), and leaves KB for the next stage. So there may be more ranks
 * than cores, and a busy machine disturbs little. The table's makespan is that
 * of operations as long as they were measured, and of sends that take no time;
 * `idle` is the part of all ranks' time in which none runs, as the formula has
 * it, as the table, as measured. Two models are trained one after the other, by
 * tables of 1F1B put one behind the other, and by a table that fuses them; the
 * second goes the other way round. */
#include "config.h"

#include "engine/base/clock.h"
#include "engine/dev/dev.h"
#include "engine/comm/comm.h"
#include "engine/dev/cores.h"
#include "engine/plan/pipes.h"
#include "engine/sched/pipeline.h"
#include "tests/pipe_join.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 8, MODELS = 2, TURNS = 3 };

typedef enum table {
    NAMED,  /* one model, a schedule with a name */
    SERIAL, /* two models, 1F1B, one after the other */
    JOINED, /* the same lists, without a barrier between */
    FUSED,  /* each place takes what is ready */
} table;

typedef struct bench {
    table table;
    const char *schedule;
    int pp, micros, chunks;
} bench;

static const bench benches[] = {
    {NAMED, "gpipe", 2, 8, 1},        {NAMED, "1f1b", 2, 8, 1},
    {NAMED, "interleaved", 2, 8, 2},  {NAMED, "gpipe", 4, 8, 1},
    {NAMED, "1f1b", 4, 8, 1},         {NAMED, "interleaved", 4, 8, 2},
    {NAMED, "gpipe", 8, 16, 1},       {NAMED, "1f1b", 8, 16, 1},
    {NAMED, "interleaved", 8, 16, 2}, {SERIAL, "1f1b", 2, 4, 1},
    {JOINED, "1f1b + 1f1b", 2, 4, 1}, {FUSED, "fused", 2, 4, 1},
    {SERIAL, "1f1b", 4, 8, 1},        {JOINED, "1f1b + 1f1b", 4, 8, 1},
    {FUSED, "fused", 4, 8, 1},        {SERIAL, "1f1b", 8, 8, 1},
    {JOINED, "1f1b + 1f1b", 8, 8, 1}, {FUSED, "fused", 8, 8, 1},
};

static struct {
    double forward; /* seconds */
    size_t bytes;
} work = {4e-3, (size_t)1 << 20};

static void
must(rlf_status status, const rlf_err *err)
{
    if (status < 0) {
        fprintf(stderr, "bench/pipe: %s\n", err->sentence);
        exit(1);
    }
}

static double
seconds_of(int model, bool backward)
{
    return work.forward * (backward ? 2 : 1) / (model + 1);
}

/* ---- a class whose operations sleep ---- */

typedef struct state {
    int model, micros;
    const rlf_node_place *place;
    int *flights;     /* [chunks] */
    char *port[2][2]; /* backward; arrives, leaves: one for all flights */
    double took[2];   /* by direction: seconds of all operations */
    int n[2];
} state;

static rlf_status
begin(rlf_call *call, rlf_err *err, rlf_training *out)
{
    (void)err;
    state *s = call->state;
    const rlf_node_place *place = s->place;
    int stage = rlf_call_mesh(call)->at.pp;
    for (int c = 0; c < place->chunks; c++) {
        int kept = place->flights[stage * place->chunks + c];
        s->flights[c] = kept && kept < s->micros ? kept : s->micros;
    }
    *out = (rlf_training){.micros = s->micros,
                          .most = s->micros,
                          .chunks = place->chunks,
                          .flights = s->flights};
    return RLF_OK;
}

static rlf_train_ports
ports(rlf_call *call, const rlf_train_op *op)
{
    const state *s = call->state;
    return (rlf_train_ports){.arrives = s->port[op->backward][0],
                             .leaves = s->port[op->backward][1],
                             .bytes = work.bytes};
}

static rlf_status
run_op(rlf_call *call, const rlf_train_op *op, rlf_err *err)
{
    (void)err;
    state *s = call->state;
    uint64_t from = rlf_clock_now();
    double seconds = seconds_of(s->model, op->backward) / s->place->chunks;
    nanosleep(&(struct timespec){.tv_nsec = (long)(seconds * 1e9)}, NULL);
    s->took[op->backward] += rlf_clock_since(from);
    s->n[op->backward]++;
    return RLF_OK;
}

static rlf_status
nothing(rlf_call *call, rlf_err *err)
{
    (void)call, (void)err;
    return RLF_OK;
}

static const rlf_trainable sleeper = {.begin = begin,
                                      .ports = ports,
                                      .forward = run_op,
                                      .backward = run_op,
                                      .weights = run_op,
                                      .gather = nothing,
                                      .finish = nothing};
static const rlf_model_class weights = {.outline = NULL};
static const rlf_resource_class a_model = {.name = "model", .model = &weights};
static const rlf_node_class sleeping = {.name = "update",
                                        .work = RLF_WORK_TRAIN,
                                        .receiver = RLF_RECEIVER_MODEL,
                                        .trainable = &sleeper};

/* ---- a table that fuses two models ---- */

enum { MOST_OPS = 4 * 64 };

/* An operation with its time. */
typedef struct timed {
    rlf_pipe_op op;
    double from, to;
} timed;

typedef struct maker {
    const rlf_pipe *pipe;       /* the pipeline that both are times of */
    timed list[MOST][MOST_OPS]; /* operations by place, ascending */
    int n[MOST];
    double end[MODELS][MOST][64][2]; /* < 0: not yet */
    int next[MODELS][MOST][2];       /* micro-batch */
} maker;

/* Returns the moment at which the input of the next operation of that kind is
 * there; < 0: it is not known. */
static double
ready_at(const maker *m, int model, int stage, bool backward)
{
    const rlf_pipe_model *p = &m->pipe->models[model];
    const int *next = m->next[model][stage];
    int i = next[backward], last = p->stages - 1;
    if (i == p->micros || (!backward && next[0] - next[1] == p->stages - stage))
        return -1; /* no more than 1F1B keeps */
    int from = backward ? stage + 1 : stage - 1;
    double own = backward ? m->end[model][stage][i][0] : 0, other = 0;
    if (backward ? stage < last : stage > 0)
        other = m->end[model][from][i][backward];
    return own < 0 || other < 0 ? -1 : own > other ? own : other;
}

/* The first gap of a place after `ready` that is long enough. */
static int
find_gap(const maker *m, int place, double seconds, double *ready)
{
    int k = 0;
    for (; k < m->n[place]; k++) {
        const timed *t = &m->list[place][k];
        if (*ready + seconds <= t->from + 1e-9)
            break;
        *ready = t->to > *ready ? t->to : *ready;
    }
    return k;
}

/* The operation of the model that can run first, backward before forward, gets
 * its time; false: none is left. */
static bool
add_next(maker *m, int model)
{
    int stage = -1, gap = 0;
    bool backward = false;
    double from = 0;
    const rlf_pipe_model *p = &m->pipe->models[model];
    for (int k = 0; k < 2 * p->stages; k++) {
        double at = ready_at(m, model, k / 2, k % 2 == 0);
        if (at < 0)
            continue;
        int to =
            find_gap(m, p->path[k / 2], seconds_of(model, k % 2 == 0), &at);
        if (stage >= 0 && at >= from)
            continue;
        stage = k / 2;
        backward = k % 2 == 0;
        from = at;
        gap = to;
    }
    if (stage < 0)
        return false;
    int place = p->path[stage], micro = m->next[model][stage][backward]++;
    timed *t = &m->list[place][gap];
    memmove(t + 1, t, sizeof *t * (size_t)(m->n[place]++ - gap));
    *t = (timed){{.model = model, .micro = micro, .kind = backward},
                 from,
                 from + seconds_of(model, backward)};
    m->end[model][stage][micro][backward] = t->to;
    return true;
}

/* Both models' 1F1B tables, the second's reversed, one behind the other; or,
 * fused, the second in the gaps of the first. */
static void
make_pair(const bench *b, rlf_arena *arena, rlf_pipe *out)
{
    rlf_pipe one, two;
    int where[MOST];
    rlf_pipe_1f1b(b->pp, b->micros, arena, &one);
    rlf_pipe_1f1b(b->pp, b->micros, arena, &two);
    for (int i = 0; i < b->pp; i++)
        where[i] = b->pp - 1 - i;
    pipe_join(&one, &two, where, arena, out);
    out->models[0].name = "m0";
    out->models[1].name = "m1";
    if (b->table != FUSED)
        return;
    maker *m = RLF_NEW(arena, maker);
    m->pipe = out;
    for (int i = 0; i < MODELS * MOST * 64 * 2; i++)
        (&m->end[0][0][0][0])[i] = -1;
    for (int model = 0; model < MODELS; model++)
        while (add_next(m, model))
            continue;
    for (int i = 0; i < b->pp; i++)
        for (int k = 0; k < m->n[i]; k++)
            out->lists[i].ops[k] = m->list[i][k].op;
}

/* ---- what a plan would have ---- */

typedef struct setup {
    const bench *bench;
    rlf_arena *arena;
    rlf_plan plan;
    int models;
    int ranks[MOST];
    char path[64]; /* the path of the table's file, or "" */
} setup;

static void
write_table(setup *s)
{
    rlf_pipe pipe;
    rlf_buf text = {0};
    make_pair(s->bench, s->arena, &pipe);
    rlf_pipe_print(&pipe, &text);
    strcpy(s->path, "/tmp/rlflow-pipe-XXXXXX");
    int fd = mkstemp(s->path);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!file || fwrite(text.p, 1, text.n, file) != text.n || fclose(file)) {
        perror("bench/pipe");
        exit(1);
    }
    rlf_buf_free(&text);
}

static void
prepare(setup *s)
{
    static const char *const names[] = {"m0", "m1"};
    const bench *b = s->bench;
    rlf_sources *sources = RLF_NEW(s->arena, rlf_sources);
    sources->arena = s->arena;
    rlf_graph *graph = rlf_graph_new(s->arena, sources);
    rlf_err err = RLF_ERR_NONE;
    bool file = b->table == JOINED || b->table == FUSED;
    s->models = b->table == NAMED ? 1 : MODELS;
    s->plan = (rlf_plan){.graph = graph, .ranks = b->pp};
    s->plan.place = RLF_NEW_ARRAY(s->arena, rlf_node_place, s->models);
    if (file)
        write_table(s);
    for (int i = 0; i < b->pp; i++)
        s->ranks[i] = i;
    for (int i = 0; i < s->models; i++) {
        rlf_graph_add_resource(
            graph, (rlf_resource){.class = &a_model, .name = names[i]});
        rlf_graph_add_node(graph,
                           (rlf_node){.class = &sleeping, .receiver = i});
        s->plan.place[i] =
            (rlf_node_place){.ranks = s->ranks,
                             .layout = {.ranks = s->ranks,
                                        .n_ranks = b->pp,
                                        .tp = 1,
                                        .pp = b->pp,
                                        .dp = 1,
                                        .chunks = b->chunks},
                             .schedule = file ? "table" : b->schedule,
                             .table = file ? s->path : NULL,
                             .chunks = b->chunks};
    }
    must(rlf_pipes_make(&s->plan, NULL, s->arena, &err), &err);
    if (file)
        unlink(s->path);
}

/* ---- a rank ---- */

typedef struct rank_thread {
    const setup *setup;
    rlf_comm *comm;
    int rank;
    double seconds;         /* from the first operation to the last one's end */
    double took[MODELS][2]; /* seconds of an operation, the mean */
    double busy;
    pthread_t thread;
} rank_thread;

static state *
state_of(const rank_thread *s, int model, rlf_arena *arena)
{
    state *t = RLF_NEW(arena, state);
    *t = (state){.model = model,
                 .micros = s->setup->bench->micros,
                 .place = &s->setup->plan.place[model]};
    t->flights = RLF_NEW_ARRAY(arena, int, t->place->chunks);
    for (int i = 0; i < 4; i++)
        t->port[i / 2][i % 2] = RLF_NEW_ARRAY(arena, char, work.bytes);
    return t;
}

/* Train all, and how long that took. */
static double
train(const rank_thread *s, rlf_call *const *calls, rlf_group *all,
      rlf_err *err)
{
    const rlf_plan *plan = &s->setup->plan;
    int n = s->setup->models;
    double measured = 0;
    must(rlf_group_barrier(all, err), err);
    uint64_t from = rlf_clock_now();
    if (s->setup->bench->table == SERIAL)
        for (int i = 0; i < n; i++)
            must(rlf_pipeline_run(plan, calls + i, 1, &measured, err), err);
    else
        must(rlf_pipeline_run(plan, calls, n, &measured, err), err);
    must(rlf_group_barrier(all, err), err);
    return rlf_clock_since(from);
}

static void
measure_rank(rank_thread *s, rlf_queue *queue, rlf_group *all, rlf_arena *arena)
{
    const setup *up = s->setup;
    rlf_err err = RLF_ERR_NONE;
    rlf_mesh mesh[MODELS] = {0};
    rlf_group *groups[MODELS];
    rlf_call call[MODELS], *calls[MODELS];
    rlf_env env = {.graph = up->plan.graph,
                   .queue = queue,
                   .comm = s->comm,
                   .mesh = mesh,
                   .pool = arena};
    for (int i = 0; i < up->models; i++) {
        const rlf_layout *l = &up->plan.place[i].layout;
        must(rlf_group_new(s->comm, l->ranks, l->n_ranks, &groups[i], &err),
             &err);
        mesh[i] = (rlf_mesh){
            .layout = *l, .at = rlf_layout_find(l, s->rank), .pp = groups[i]};
        calls[i] = &call[i];
        call[i] = (rlf_call){.env = &env,
                             .node = &up->plan.graph->nodes.data[i],
                             .state = state_of(s, i, arena)};
    }
    for (int turn = 0; turn < TURNS; turn++) {
        double took = train(s, calls, all, &err);
        if (turn == 0 || took < s->seconds)
            s->seconds = took;
    }
    for (int i = 0; i < up->models; i++) {
        const state *t = call[i].state;
        for (int b = 0; b < 2; b++) {
            s->took[i][b] = t->took[b] / t->n[b];
            s->busy += t->took[b] / TURNS;
        }
        rlf_group_free(groups[i]);
    }
}

static void *
rank_main(void *arg)
{
    rank_thread *s = arg;
    rlf_err err = RLF_ERR_NONE;
    rlf_device *device;
    rlf_queue *queue;
    rlf_group *all;
    if (s->rank >= s->setup->bench->pp)
        return NULL;
    rlf_arena *arena = rlf_arena_new();
    must(rlf_device_cpu_new(&(rlf_cpu_options){.n_threads = 1}, &device, &err),
         &err);
    must(rlf_queue_new(device, &queue, &err), &err);
    must(rlf_group_new(s->comm, s->setup->ranks, s->setup->bench->pp, &all,
                       &err),
         &err);
    measure_rank(s, queue, all, arena);
    rlf_group_free(all);
    rlf_queue_free(queue);
    rlf_device_free(device);
    rlf_arena_free(arena);
    return NULL;
}

/* ---- all ---- */

/* The makespan of a table whose operations took as long as this rank's. */
static double
table_seconds(const setup *s, const rank_thread *first, int from, int n,
              double *busy)
{
    int micros[MODELS] = {s->bench->micros, s->bench->micros};
    rlf_pipe_cost cost[MODELS] = {0};
    rlf_pipe pipe;
    rlf_pipe_report report;
    for (int i = 0; i < n; i++)
        cost[i] = (rlf_pipe_cost){.forward = first->took[from + i][0],
                                  .backward = first->took[from + i][1]};
    rlf_pipes_table(&s->plan.place[from], micros, s->arena, &pipe);
    rlf_pipe_time(&pipe, rlf_pipe_even(&pipe, cost, s->arena), s->arena, &report,
                  NULL);
    *busy += report.busy;
    return report.makespan;
}

/* (p - 1) / (v m + p - 1) of a named schedule. */
static double
formula(const bench *b)
{
    int more = b->pp - 1;
    return (double)more / (b->chunks * b->micros + more);
}

static void
print_bench(const setup *s, const rank_thread *first, double *serial)
{
    const bench *b = s->bench;
    double busy = 0, ideal = 0;
    if (b->table == SERIAL)
        for (int i = 0; i < s->models; i++)
            ideal += table_seconds(s, first, i, 1, &busy);
    else
        ideal = table_seconds(s, first, 0, s->models, &busy);
    double idle = 1 - busy / (b->pp * ideal);
    double measured = 1 - busy / (b->pp * first->seconds);
    if (b->table == SERIAL)
        *serial = first->seconds;
    printf("%6d %-12s %3d %3d %2d ", s->models, b->schedule, b->pp, b->micros,
           b->chunks);
    printf(b->table == NAMED ? " %6.1f %%" : "        -", 100 * formula(b));
    printf(" %6.1f %% %6.1f %% %9.1f %8.2fx", 100 * idle, 100 * measured,
           1e3 * first->seconds, first->seconds / ideal);
    if (s->models > 1)
        printf(" %8.2fx", first->seconds / *serial);
    putchar('\n');
    fflush(stdout);
}

static void
measure(const bench *b, rlf_comm_world *world, double *serial)
{
    setup s = {.bench = b, .arena = rlf_arena_new()};
    rank_thread threads[MOST];
    int n = rlf_comm_world_local(world),
        first = rlf_comm_world_process(world) * n;
    prepare(&s);
    for (int i = 0; i < n; i++) {
        threads[i] = (rank_thread){
            .setup = &s, .comm = rlf_comm_of(world, i), .rank = first + i};
        pthread_create(&threads[i].thread, NULL, rank_main, &threads[i]);
    }
    for (int i = 0; i < n; i++)
        pthread_join(threads[i].thread, NULL);
    if (first == 0)
        print_bench(&s, &threads[0], serial);
    rlf_arena_free(s.arena);
}

static void
print_table(int pp, int micros)
{
    const bench b = {FUSED, "fused", pp, micros, 1};
    rlf_arena *arena = rlf_arena_new();
    rlf_pipe pipe;
    rlf_buf text = {0};
    if (pp < 1 || pp > MOST || micros < 1 || micros > 64) {
        fprintf(stderr, "bench/pipe: up to %d places, 64 micro-batches\n",
                MOST);
        exit(2);
    }
    make_pair(&b, arena, &pipe);
    rlf_pipe_print(&pipe, &text);
    fputs(text.p, stdout);
    rlf_buf_free(&text);
    rlf_arena_free(arena);
}

int
main(int argc, char **argv)
{
    rlf_comm_options options = {.n_ranks = MOST, .limit = 120};
    rlf_comm_world *world;
    rlf_err err = RLF_ERR_NONE;
    double serial = 0;
    if (argc == 4 && strcmp(argv[1], "table") == 0) {
        print_table(atoi(argv[2]), atoi(argv[3]));
        return 0;
    }
    if (argc > 1)
        work.forward = 1e-3 * atof(argv[1]);
    if (argc > 2)
        work.bytes = (size_t)atoi(argv[2]) << 10;
    options.backend = rlf_comm_backend_launched();
    if (options.backend)
        options.n_ranks = 1;
    must(rlf_comm_world_new(&options, &world, &err), &err);
    if (rlf_comm_world_process(world) == 0)
        printf("cores: %d; %g ms forward, %zu KB\n"
               "%6s %-12s %3s %3s %2s %9s %8s %8s %9s %9s %9s\n",
               rlf_cores_count(), 1e3 * work.forward, work.bytes >> 10,
               "models", "table", "p", "m", "v", "formula", "its idle", "idle",
               "ms", "of table", "of serial");
    for (size_t i = 0; i < sizeof benches / sizeof *benches; i++)
        if (benches[i].pp <= rlf_comm_world_size(world))
            measure(&benches[i], world, &serial);
    rlf_comm_world_free(world);
    return 0;
}

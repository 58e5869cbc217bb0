/* Steps of a model in parts, recorded with the messages between its ranks: over
 * emulated GPUs, one a rank, and what stands for NCCL (tests/fake_nccl.h), the
 * samples are those of one rank on the CPU, token by token and bit by bit,
 * generation after generation with the same recordings; also where memory came
 * to another place on one rank alone. So are those of a model in stages, each
 * of which records what it does between two messages. What NCCL cannot do with
 * recordings is not done: nothing is recorded on one rank alone, and no
 * communicator ends while a recording has it, in whatever way a run ends. */
#include "config.h"
#include "tests/tap.h"

#ifndef RLF_HAVE_EMULATED

int
main(void)
{
    skip_all("no C++ compiler for the emulated GPUs");
}

#else

#define FAKE_EMULATED
#include "engine/comm/device.h"
#include "engine/dev/replay.h"
#include "nodes/model/generate.h"
#include "nodes/model/parallel.h"
#include "tests/fake_nccl.h"
#include "tests/unit/model_places.h"

#include <pthread.h>

enum { RANKS = 2, SHARDS = 4, PROMPTS = 4, EACH = 2, ROWS = 8, NEW = 9 };
enum { ROUNDS = 5, MOVES = 3, STEPS = 4, PAGES = 40 };

typedef struct samples {
    uint32_t n[ROWS], ids[ROWS][NEW];
    float logprob[ROWS][NEW];
    rlf_generation_counts counts;
} samples;

/* Of all ranks. */
static rlf_model_config config = {.layers = 2,
                                  .heads = 4,
                                  .kv_heads = 4,
                                  .head_dim = 8,
                                  .hidden = 24,
                                  .ffn = 40,
                                  .vocab = 61,
                                  .context = 128,
                                  .eps = 1e-5,
                                  .rope.theta = 10000,
                                  .qk_norm = true,
                                  .bos = -1};
static uint32_t prompts[PROMPTS][20];
static const uint32_t lengths[PROMPTS] = {1, 7, 16, 20};
static rlf_model *whole; /* on the CPU */

typedef struct rank {
    rlf_comm *comm;
    pthread_barrier_t *attached;
    test_machine t;
    rlf_group *group;
    bool stages; /* else shards */
    samples got[ROUNDS];
    bool queued;
    int wrong;
} rank;

/* ---- one generation ---- */

typedef struct place {
    rlf_model *model;
    rlf_pass *pass;
    rlf_kv *kv;
    void *arrays;
    size_t array_bytes;
    rlf_replays *replays; /* or NULL */
} place;

static void
open_place(test_machine *t, rlf_model *model, place *p)
{
    const rlf_pass_options options = {.tokens = 64};
    *p = (place){.model = model,
                 .array_bytes = rlf_generation_array_bytes(64, ROWS, 8)};
    MUST(t, rlf_pass_new(model, &options, &t->err, &p->pass));
    MUST(t, rlf_kv_new(model, 16, PAGES, &t->err, &p->kv));
    MUST(t, rlf_device_alloc(t->device, p->array_bytes, &p->arrays, &t->err));
    if (t->device->caps.records)
        p->replays = rlf_replays_new(t->queue);
}

static void
close_place(test_machine *t, place *p)
{
    rlf_replays_free(p->replays);
    rlf_device_release(t->device, p->arrays, p->array_bytes);
    rlf_kv_free(p->kv);
    rlf_pass_free(p->pass);
}

static rlf_generation *
begin(test_machine *t, place *p, int round)
{
    static const uint32_t eos = 3;
    const rlf_generation_options how = {.max_new = NEW,
                                        .temperature = 0.9f,
                                        .top_k = round % 2 ? 12 : 0,
                                        .key = {.seed = (uint64_t)round},
                                        .eos = &eos,
                                        .n_eos = 1,
                                        .most_active = ROWS,
                                        .arrays = p->arrays,
                                        .array_bytes = p->array_bytes,
                                        .replays = p->replays};
    rlf_generation *g;
    MUST(t, rlf_generation_new(p->model, p->pass, p->kv, &how, &t->err, &g));
    for (uint32_t i = 0; i < PROMPTS; i++) {
        const uint64_t identity[] = {2 * i, 2 * i + 1};
        uint32_t first;
        MUST(t, rlf_generation_add(g, prompts[i], lengths[i], identity, EACH,
                                   &t->err, &first));
    }
    return g;
}

static void
generate(test_machine *t, place *p, int round, samples *out)
{
    rlf_generation *g = begin(t, p, round);
    for (rlf_status status = RLF_AGAIN; status == RLF_AGAIN;) {
        const uint32_t *rows;
        uint32_t n;
        status = rlf_generation_step(g, &t->err, &rows, &n);
        MUST(t, status);
    }
    for (uint32_t i = 0; i < ROWS; i++) {
        rlf_response r = rlf_generation_response(g, i);
        out->n[i] = r.n;
        memcpy(out->ids[i], r.ids, r.n * sizeof *r.ids);
        memcpy(out->logprob[i], r.logprob, r.n * sizeof *r.logprob);
    }
    out->counts = rlf_generation_count(g);
    rlf_generation_free(g);
}

static bool
same(const samples *a, const samples *b)
{
    bool all = true;
    for (int i = 0; i < ROWS; i++)
        all &= a->n[i] == b->n[i] &&
               !memcmp(a->ids[i], b->ids[i], a->n[i] * sizeof a->ids[i][0]) &&
               !memcmp(a->logprob[i], b->logprob[i],
                       a->n[i] * sizeof a->logprob[i][0]);
    return all;
}

/* ---- ranks ---- */

typedef struct fold_work {
    void *out;
    const void *parts[RANKS];
    int n_parts;
    size_t n;
    rlf_comm_type type;
    rlf_comm_op op;
} fold_work;

static void
fold_now(void *args)
{
    const fold_work *w = args;
    rlf_comm_fold(w->out, w->parts, w->n_parts, w->n, w->type, w->op);
}

static void
nothing(void *args)
{
    (void)args;
}

static rlf_status
fold(rlf_queue *queue, void *out, const void *const *parts, int n_parts,
     size_t n, rlf_comm_type type, rlf_comm_op op, rlf_err *err)
{
    (void)err;
    fold_work w = {
        .out = out, .n_parts = n_parts, .n = n, .type = type, .op = op};
    memcpy(w.parts, parts, (size_t)n_parts * sizeof *parts);
    rlf_emulated_run(queue, fold_now, nothing, &w, sizeof w);
    return RLF_OK;
}

static rlf_model *
part_of_whole(rank *r)
{
    test_machine *t = &r->t;
    const rlf_model_options how = {.head = RLF_HEAD_LM,
                                   .shards = SHARDS,
                                   .group = r->stages ? NULL : r->group,
                                   .stages = r->stages ? r->group : NULL,
                                   .peers = r->stages ? r->group : NULL,
                                   .chunks = 1};
    rlf_model *model;
    MUST(t,
         rlf_model_new(t->queue, t->kernels, &config, &how, &t->err, &model));
    for (int i = 0; i < model->table->n_slots; i++) {
        const rlf_slot *s = &model->table->slots[i];
        float *part = rlf_malloc((size_t)s->count * sizeof *part);
        rlf_parallel_cut(
            s, whole->weights + whole->table->slots[s->number].offset, part);
        test_write(t, part, (size_t)s->count, model->weights + s->offset);
        free(part);
    }
    MUST(t, rlf_model_changed(model, &t->err));
    return model;
}

/* Generations with the same recordings. Before round MOVES the pages of one
 * rank come to another place. */
static void
run_rounds(rank *r, rlf_model *model)
{
    test_machine *t = &r->t;
    place p;
    open_place(t, model, &p);
    r->queued = rlf_device_is_queued(r->group);
    for (int i = 0; i < ROUNDS; i++) {
        rlf_kv *old = p.kv;
        if (i == MOVES && rlf_comm_rank(r->comm) == 1) {
            MUST(t, rlf_kv_new(model, 16, PAGES, &t->err, &p.kv));
            rlf_kv_free(old);
        }
        generate(t, &p, i, &r->got[i]);
    }
    close_place(t, &p);
}

/* One rank ends the run while the other is in a step, with recordings made. */
static void
run_abort(rank *r, rlf_model *model)
{
    test_machine *t = &r->t;
    place p;
    open_place(t, model, &p);
    generate(t, &p, 0, &r->got[0]);
    rlf_generation *g = begin(t, &p, 0);
    rlf_status status = RLF_AGAIN;
    const uint32_t *rows;
    uint32_t n;
    bool first = rlf_comm_rank(r->comm) == 1;
    for (int i = 0; i < STEPS || (!first && status >= 0); i++)
        status = rlf_generation_step(g, &t->err, &rows, &n);
    if (first) {
        rlf_err mine = RLF_ERR_NONE;
        rlf_fail(&mine, RLF_USER, "no reward");
        rlf_comm_abort(rlf_comm_world_of(r->comm), &mine);
        rlf_comm_detach(r->comm);
    } else {
        r->wrong +=
            status != RLF_PEER || strcmp(t->err.sentence, "no reward") != 0;
    }
    t->err = (rlf_err)RLF_ERR_NONE;
    rlf_generation_free(g);
    close_place(t, &p);
}

/* Recorded on one rank alone. */
static void
run_mixed(rank *r, rlf_model *model)
{
    test_machine *t = &r->t;
    const rlf_device_ops *ops = t->device->ops;
    rlf_recording *recording = NULL;
    void *x;
    (void)model;
    MUST(t, rlf_device_alloc(t->device, 64, &x, &t->err));
    MUST(t, rlf_queue_set(t->queue, x, 0, 64, &t->err));
    bool records = rlf_comm_rank(r->comm) == 0;
    if (records)
        MUST(t, ops->record(t->queue, &t->err));
    rlf_status status = rlf_device_all_reduce(
        t->queue, r->group, x, x, 16, RLF_COMM_F32, RLF_COMM_SUM, &t->err);
    if (records) {
        r->wrong += status != RLF_OK;
        MUST(t, ops->recorded(t->queue, &recording, &t->err));
        MUST(t, ops->replay(t->queue, recording, &t->err));
        status = rlf_device_all_reduce(t->queue, r->group, x, x, 16,
                                       RLF_COMM_F32, RLF_COMM_SUM, &t->err);
    }
    r->wrong += status >= 0 ||
                !strstr(t->err.sentence, "recorded on one of its sides alone");
    t->err = (rlf_err)RLF_ERR_NONE;
    r->wrong += rlf_device_check(t->queue, r->group, &t->err) != RLF_PEER;
    rlf_comm_detach(r->comm);
    t->err = (rlf_err)RLF_ERR_NONE;
    if (records)
        r->wrong += ops->replay(t->queue, recording, &t->err) != RLF_BUG;
    ops->recording_free(recording);
    rlf_device_release(t->device, x, 64);
}

typedef void run_fn(rank *r, rlf_model *model);

typedef struct task {
    rank rank;
    run_fn *run;
} task;

static void *
rank_main(void *arg)
{
    task *k = arg;
    rank *r = &k->rank;
    test_machine *t = &r->t;
    const int all[RANKS] = {0, 1};
    const rlf_attach_options attach = {.nccl = &fake_nccl, .fold = fold};
    const rlf_backend_options options = {.n_threads = 1,
                                         .index = rlf_comm_rank(r->comm)};
    *t = (test_machine){.kernels =
                            rlf_backend_emulated.kernels(NULL, RLF_CAST_F32),
                        .err = RLF_ERR_NONE};
    MUST(t, rlf_backend_emulated.open(&options, &t->device, &t->err));
    MUST(t, rlf_queue_new(t->device, &t->queue, &t->err));
    MUST(t, rlf_comm_attach(r->comm, t->queue, &attach, &t->err));
    pthread_barrier_wait(r->attached);
    r->wrong += strcmp(rlf_comm_device_transport(r->comm)->name, "nccl") != 0;
    MUST(t, rlf_group_new(r->comm, all, RANKS, &r->group, &t->err));
    rlf_model *model = part_of_whole(r);
    k->run(r, model);
    rlf_model_free(model);
    rlf_group_free(r->group);
    rlf_comm_detach(r->comm);
    r->wrong += t->device->allocated != 0;
    test_machine_close(t);
    return NULL;
}

/* Things that went wrong. */
static int
run_ranks(run_fn *run, bool stages, task tasks[RANKS])
{
    rlf_err err = RLF_ERR_NONE;
    rlf_comm_world *world;
    const rlf_comm_options options = {.n_ranks = RANKS, .limit = 60};
    pthread_t threads[RANKS];
    pthread_barrier_t attached;
    if (rlf_comm_world_new(&options, &world, &err) < 0)
        bail("%s", err.sentence);
    pthread_barrier_init(&attached, NULL, RANKS);
    for (int i = 0; i < RANKS; i++) {
        tasks[i] = (task){.rank = {.comm = rlf_comm_of(world, i),
                                   .attached = &attached,
                                   .stages = stages},
                          .run = run};
        pthread_create(&threads[i], NULL, rank_main, &tasks[i]);
    }
    int wrong = 0;
    for (int i = 0; i < RANKS; i++) {
        pthread_join(threads[i], NULL);
        wrong += tasks[i].rank.wrong;
    }
    fake_bury();
    pthread_barrier_destroy(&attached);
    rlf_comm_world_free(world);
    return wrong;
}

static void
test_rounds(test_machine *t, bool stages)
{
    static task tasks[RANKS];
    static samples want;
    uint64_t replayed[ROUNDS], others[ROUNDS];
    int wrong = run_ranks(run_rounds, stages, tasks);
    note(stages ? "two stages" : "two shards");
    place p;
    open_place(t, whole, &p);
    for (int i = 0; i < ROUNDS; i++) {
        generate(t, &p, i, &want);
        const samples *a = &tasks[0].rank.got[i], *b = &tasks[1].rank.got[i];
        replayed[i] = a->counts.replayed;
        others[i] = a->counts.steps - replayed[i];
        ok(same(a, &want) && same(b, &want), "round %d: the CPU's samples", i);
        if (!stages)
            ok(b->counts.replayed == replayed[i] &&
                   a->counts.ahead == b->counts.ahead && a->counts.ahead > 4,
               "... all ranks replay %llu steps and send %llu ahead of %llu",
               (unsigned long long)replayed[i],
               (unsigned long long)a->counts.ahead,
               (unsigned long long)a->counts.steps);
    }
    close_place(t, &p);
    ok(tasks[0].rank.queued, "calls are work of the queue");
    /* rounds have options in turn */
    ok(replayed[0] > 0 && others[2] < others[0],
       "a generation goes on with the recordings of those before");
    if (!stages)
        ok(others[4] > others[2],
           "... unless memory has moved on a rank that it shares sums with");
    is_int(wrong, 0, "nothing else is wrong");
    is_int(fake_ended_held, 0, "recordings end before communicators");
}

int
main(void)
{
    static task tasks[RANKS];
    test_machine t;
    uint64_t seed = 11;
    const rlf_model_options how = {
        .head = RLF_HEAD_LM, .trained = true, .shards = SHARDS};
#ifdef __x86_64__
    if (!rlf_kernels_machine_has("v3"))
        skip_all("this machine has no fma");
#endif
    for (int i = 0; i < PROMPTS; i++)
        for (uint32_t k = 0; k < lengths[i]; k++)
            prompts[i][k] = test_random(&seed) % (uint32_t)config.vocab;
    test_machine_open(&t, 1);
    MUST(&t, rlf_model_new(t.queue, t.kernels, &config, &how, &t.err, &whole));
    randomize(&t, whole, 4);
    test_rounds(&t, false);
    test_rounds(&t, true);
    is_int(run_ranks(run_mixed, false, tasks), 0,
           "what is recorded on one rank alone is refused, and nothing that "
           "was recorded is carried out then");
    is_int(run_ranks(run_abort, false, tasks), 0,
           "a run that one rank ends while another replays");
    is_int(fake_ended_held, 0, "recordings end before communicators then too");
    rlf_model_free(whole);
    test_machine_close(&t);
    return done();
}

#endif

/* Random valid tables, and what an executor asks of a table: channels in which
 * messages keep the order in which they are waited for, tables for any number
 * of micro-batches, tables for reading, what a stage holds.
 *
 * With arguments it prints such a table, for tests that run it: a seed, the
 * number of places, and for each model NAME MICROS CHUNKS, the name behind a
 * minus if it is the other way round, behind a plus if it splits its backward.
 * CHUNKS is v for two, the second on the way back. */
#include "engine/plan/pipe.h"
#include "tests/tap.h"
#include "tests/unit/randomness.h"

enum { TABLES = 400 };

static rlf_arena *arena;

/* ---- random tables ---- */

static rlf_pipe_model
make_model(const char *name, int places, int micros, int chunks, bool vee,
           bool reversed, bool split)
{
    int *path = RLF_NEW_ARRAY(arena, int, places *chunks);
    for (int k = 0; k < places * chunks; k++)
        path[k] = (vee && k >= places) != reversed ? places - 1 - k % places
                                                   : k % places;
    return (rlf_pipe_model){.name = name,
                            .micros = micros,
                            .stages = places * chunks,
                            .path = path,
                            .split = split};
}

/* By model, stage, micro-batch and kind: is it in the table? */
typedef struct progress {
    bool *done[RLF_PIPE_KINDS];
    int most; /* micro-batches and stages of any model */
} progress;

static bool *
mark(const progress *p, rlf_pipe_kind kind, int model, int stage, int micro)
{
    return &p->done[kind][(model * p->most + stage) * p->most + micro];
}

static bool
can(const rlf_pipe *pipe, const progress *p, rlf_pipe_kind kind, int model,
    int stage, int micro)
{
    const rlf_pipe_model *m = &pipe->models[model];
    if (*mark(p, kind, model, stage, micro))
        return false;
    if (kind == RLF_PIPE_FORWARD)
        return stage == 0 || *mark(p, kind, model, stage - 1, micro);
    if (micro && !*mark(p, kind, model, stage, micro - 1))
        return false;
    return *mark(p, kind - 1, model, stage, micro) &&
           (kind == RLF_PIPE_WEIGHTS || stage == m->stages - 1 ||
            *mark(p, kind, model, stage + 1, micro));
}

/* One of the operations that are possible now, each as likely. */
static bool
choose(const rlf_pipe *pipe, const progress *p, randomness *r, rlf_pipe_op *out,
       int *stage)
{
    int found = 0;
    for (int m = 0; m < pipe->n_models; m++)
        for (int k = 0; k < pipe->models[m].stages; k++)
            for (int i = 0; i < pipe->models[m].micros; i++)
                for (int b = 0; b < 2 + pipe->models[m].split; b++)
                    if (can(pipe, p, b, m, k, i) && draw(r, ++found) == 0) {
                        *out = (rlf_pipe_op){m, i, k / pipe->places, b};
                        *stage = k;
                    }
    return found > 0;
}

static void
make_table(randomness *r, int places, const rlf_pipe_model *models, int n,
           rlf_pipe *out)
{
    int all = 0, stage;
    progress p = {.most = 1};
    *out = (rlf_pipe){.n_models = n, .places = places};
    out->models = RLF_NEW_ARRAY(arena, rlf_pipe_model, n);
    for (int m = 0; m < n; m++) {
        out->models[m] = models[m];
        all += RLF_PIPE_KINDS * models[m].stages * models[m].micros;
        p.most += models[m].stages + models[m].micros;
    }
    for (int b = 0; b < RLF_PIPE_KINDS; b++)
        p.done[b] = RLF_NEW_ARRAY(arena, bool, n *p.most *p.most);
    out->lists = RLF_NEW_ARRAY(arena, rlf_pipe_list, places);
    for (int i = 0; i < places; i++)
        out->lists[i].ops = RLF_NEW_ARRAY(arena, rlf_pipe_op, all);
    for (rlf_pipe_op op; choose(out, &p, r, &op, &stage);) {
        rlf_pipe_list *list = &out->lists[models[op.model].path[stage]];
        *mark(&p, op.kind, op.model, stage, op.micro) = true;
        list->ops[list->count++] = op;
    }
}

static void
make_random(uint64_t seed, rlf_pipe *out)
{
    static const char *const names[] = {"a", "b"};
    randomness r = {.key = {.seed = seed}};
    rlf_pipe_model models[2];
    int places = 2 + draw(&r, 3), n = 1 + draw(&r, 2);
    for (int m = 0; m < n; m++) {
        int micros = 1 + draw(&r, 6), chunks = 1 + draw(&r, 2);
        bool vee = chunks == 2 && draw(&r, 2);
        bool reversed = draw(&r, 2), split = seed % 2 && draw(&r, 2);
        models[m] =
            make_model(names[m], places, micros, chunks, vee, reversed, split);
    }
    make_table(&r, places, models, n, out);
}

/* ---- channels ---- */

static int
find(const rlf_pipe *pipe, int model, int stage, int micro, bool backward)
{
    int place = pipe->models[model].path[stage];
    const rlf_pipe_list *list = &pipe->lists[place];
    for (int i = 0; i < list->count; i++) {
        rlf_pipe_op op = list->ops[i];
        if (op.model == model && op.micro == micro &&
            op.kind == (backward ? RLF_PIPE_BACKWARD : RLF_PIPE_FORWARD) &&
            rlf_pipe_stage(&pipe->models[model], place, op.chunk) == stage)
            return i;
    }
    return -1;
}

/* The end `from` of a message that `op` waits for, as its sender has it. */
static bool
meets(const rlf_pipe *pipe, rlf_pipe_link *const *links, rlf_pipe_op op,
      bool backward, rlf_pipe_peer from, int stage, int *sent)
{
    int i = find(pipe, op.model, from.stage, op.micro, backward);
    const rlf_pipe_peer *out =
        &links[pipe->models[op.model].path[from.stage]][i].out;
    *sent = i;
    return i >= 0 && out->stage == stage && out->channel == from.channel;
}

/* Each message has two ends that agree, and what a place gets in one channel
 * from another is sent in the order in which it waits: by its forwards. */
static bool
right(const rlf_pipe *pipe, bool one_each, bool reading)
{
    enum { MOST = 64 };
    rlf_pipe_link *links[8];
    int last[8][MOST], channels = 0;
    for (int p = 0; p < pipe->places; p++)
        links[p] = rlf_pipe_links(pipe, p, arena, &channels);
    bool good = channels <= (one_each ? 2 : MOST);
    for (int p = 0; p < pipe->places && good; p++) {
        for (int i = 0; i < 8 * MOST; i++)
            last[i / MOST][i % MOST] = -1;
        for (int i = 0; i < pipe->lists[p].count; i++) {
            rlf_pipe_op op = pipe->lists[p].ops[i];
            const rlf_pipe_model *m = &pipe->models[op.model];
            int stage = rlf_pipe_stage(m, p, op.chunk), sent;
            const rlf_pipe_link *l = &links[p][i];
            rlf_pipe_peer ends[] = {l->in, l->back};
            good &= op.kind == RLF_PIPE_FORWARD ||
                    (l->in.stage < 0 && l->back.stage < 0);
            int next = reading || stage == m->stages - 1 ? -1 : stage + 1;
            good &= op.kind != RLF_PIPE_FORWARD ||
                    (l->in.stage == stage - 1 && l->back.stage == next);
            for (int b = 0; b < 2 && good; b++) {
                if (ends[b].stage < 0)
                    continue;
                int *before = &last[m->path[ends[b].stage]][ends[b].channel];
                good = meets(pipe, links, op, b, ends[b], stage, &sent) &&
                       ends[b].channel % 2 == b && sent > *before;
                *before = sent;
            }
        }
    }
    return good;
}

static void
test_links(void)
{
    bool random = true, named = true;
    for (uint64_t seed = 0; seed < TABLES; seed++) {
        rlf_pipe pipe;
        rlf_err err = RLF_ERR_NONE;
        make_random(seed, &pipe);
        random &= rlf_pipe_check(&pipe, NULL, NULL, &err) == RLF_OK &&
                  right(&pipe, false, false);
    }
    ok(random,
       "%d random tables: valid, and messages keep their order in "
       "their channels",
       TABLES);
    for (int p = 2; p < 6; p++)
        for (int m = 1; m < 12; m++) {
            rlf_pipe pipe;
            rlf_pipe_gpipe(p, m, arena, &pipe);
            named &= right(&pipe, true, false);
            rlf_pipe_1f1b(p, m, arena, &pipe);
            named &= right(&pipe, true, false);
        }
    ok(named, "GPipe and 1F1B: one channel each way");
}

/* ---- any number of micro-batches ---- */

static bool
serves(const rlf_pipe *pipe, const int *micros)
{
    rlf_pipe more;
    rlf_err err = RLF_ERR_NONE;
    rlf_pipe_serve(pipe, micros, arena, &more);
    bool good = rlf_pipe_check(&more, NULL, NULL, &err) == RLF_OK;
    for (int m = 0; m < pipe->n_models; m++)
        for (int k = 0; k < pipe->models[m].stages; k++) {
            int place = pipe->models[m].path[k], chunk = k / pipe->places;
            good &= rlf_pipe_held(&more, m, place, chunk) <=
                    rlf_pipe_held(pipe, m, place, chunk);
        }
    return good;
}

static void
test_serve(void)
{
    bool good = true;
    for (uint64_t seed = 0; seed < TABLES; seed++) {
        rlf_pipe pipe;
        randomness r = {.key = {.seed = seed + TABLES}};
        make_random(seed, &pipe);
        int micros[] = {1 + draw(&r, 15), 1 + draw(&r, 15)};
        good &= serves(&pipe, micros);
    }
    ok(good, "a table serves any numbers of micro-batches and holds no more");
}

static void
test_reading(void)
{
    bool good = true;
    for (uint64_t seed = 0; seed < TABLES; seed++) {
        rlf_pipe pipe, reading;
        rlf_err err = RLF_ERR_NONE;
        make_random(seed, &pipe);
        for (int m = 0; m < pipe.n_models; m++) {
            int micros = 1 + (int)(seed % 9);
            rlf_pipe_reading(&pipe, m, micros, arena, &reading);
            good &= right(&reading, false, true);
            reading.n_models = 1; /* alone it is a table */
            reading.models += m;
            reading.models->forward_only = true;
            for (int p = 0; p < reading.places; p++)
                for (int i = 0; i < reading.lists[p].count; i++)
                    reading.lists[p].ops[i].model = 0;
            good &= reading.models->micros == micros &&
                    rlf_pipe_check(&reading, NULL, NULL, &err) == RLF_OK;
        }
    }
    ok(good, "tables for reading: all forward, in an order that can run");
}

/* Checks that the activations which are planned from a few micro-batches are
 * enough for more of them. */
static void
test_held(void)
{
    bool good = true;
    for (int p = 1; p <= 5; p++)
        for (int v = 1; v <= (p > 1 ? 3 : 1); v++) {
            int few[15] = {0};
            for (int m = 1; m <= 10 * p; m++) {
                rlf_pipe pipe;
                if (v == 1)
                    rlf_pipe_1f1b(p, m, arena, &pipe);
                else
                    rlf_pipe_interleaved(p, m, v, arena, &pipe);
                for (int k = 0; k < p * v; k++) {
                    int held = rlf_pipe_held(&pipe, 0, k % p, k / p);
                    if (m <= 4 * p && held > few[k])
                        few[k] = held;
                    good &= held <= few[k];
                }
            }
        }
    ok(good, "1F1B and interleaving hold no more with many micro-batches than "
             "with 4 a place");
}

/* The same of ZB-H1 and ZB-H2, and of what lies between backward and weights.
 */
static void
test_owed(void)
{
    bool good = true;
    for (int p = 1; p <= 5; p++)
        for (int depth = 1; depth <= 2; depth++) {
            int few[2][5] = {0};
            for (int m = 1; m <= 10 * p; m++) {
                rlf_pipe pipe;
                rlf_pipe_zero_bubble(p, m, depth, arena, &pipe);
                good &= right(&pipe, true, false);
                for (int k = 0; k < p; k++) {
                    int n[] = {rlf_pipe_held(&pipe, 0, k, 0),
                               rlf_pipe_owed(&pipe, 0, k, 0)};
                    for (int i = 0; i < 2; i++) {
                        if (m <= 4 * p && n[i] > few[i][k])
                            few[i][k] = n[i];
                        good &= n[i] >= 1 && n[i] <= few[i][k];
                    }
                }
            }
        }
    ok(good, "nor do ZB-H1 and ZB-H2, of which messages need one channel each "
             "way");
}

static int
print_table(int argc, char **argv)
{
    rlf_pipe pipe;
    rlf_pipe_model models[8];
    rlf_buf text = {0};
    int n = 0, places = atoi(argv[2]);
    randomness r = {.key = {.seed = (uint64_t)atoi(argv[1])}};
    for (int i = 3; i + 2 < argc && n < 8; i += 3) {
        bool reversed = argv[i][0] == '-';
        bool split = argv[i][reversed] == '+';
        bool vee = argv[i + 2][0] == 'v';
        models[n++] =
            make_model(argv[i] + reversed + split, places, atoi(argv[i + 1]),
                       vee ? 2 : atoi(argv[i + 2]), vee, reversed, split);
    }
    make_table(&r, places, models, n, &pipe);
    rlf_pipe_print(&pipe, &text);
    fputs(text.p, stdout);
    rlf_buf_free(&text);
    return 0;
}

int
main(int argc, char **argv)
{
    int status = 0;
    arena = rlf_arena_new();
    if (argc > 1) {
        status = print_table(argc, argv);
    } else {
        test_links();
        test_serve();
        test_reading();
        test_held();
        test_owed();
        status = done();
    }
    rlf_arena_free(arena);
    return status;
}

/* More memory or more machines are never a worse plan by the estimate: random
 * programs on clusters of more and more memory, machines and links, with few
 * moves, and of all pairs of which one has as much of both or more it is no
 * worse. Machines of several kinds give the same plan in whatever order a
 * cluster names them, and those of one kind more no worse one.
 * RLFLOW_TEST_LAW=N looks at N programs (3 if it is not set), on more memories
 * and machines; RLFLOW_TEST_LAW_FROM=K begins with the K-th, and
 * RLFLOW_TEST_LAW_MOVES=M has as many moves. */
#include "engine/api/searching/search.h"
#include "engine/api/session.h"
#include "engine/base/splitmix.h"
#include "tests/put.h"
#include "tests/tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 8, PROGRAMS = 3, MOVES = 2000, ROWS = 192 };

static int
number(const char *name, int usual)
{
    const char *text = getenv(name);
    return text ? atoi(text) : usual;
}

static int
one_of(rlf_splitmix *chance, int n, const int *list)
{
    return list[rlf_splitmix_below(chance, n)];
}
#define ONE_OF(chance, ...)                                             \
    one_of((chance), (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), \
           (int[]){__VA_ARGS__})

/* ---- programs and clusters ---- */

static const char *
model(rlf_arena *arena, int size)
{
    static const struct {
        int layers, hidden, ffn, heads;
    } sizes[] = {{16, 2048, 8192, 32},
                 {24, 3072, 8192, 24},
                 {32, 4096, 11008, 32},
                 {40, 5120, 13824, 40}};
    return rlf_arena_printf(
        arena,
        "lm(llama(layers: %d, hidden: %d, heads: %d, ffn: %d, context: 4096), "
        "tokenizer: \"%s/examples/models/arith\"",
        sizes[size].layers, sizes[size].hidden, sizes[size].heads,
        sizes[size].ffn, getenv("RLFLOW_SOURCE"));
}

#define ADAM ", optimizer: adamw(lr: 1e-6))\n"

static const char *
make_program(rlf_splitmix *chance, rlf_arena *arena)
{
    int size = ONE_OF(chance, 0, 0, 1, 2, 2, 3), kind = ONE_OF(chance, 0, 1, 2);
    int other = ONE_OF(chance, 0, 1, 2), ahead = ONE_OF(chance, 0, 0, 0, 1, 2);
    int rows = ONE_OF(chance, 16, 32, 64, 128, 192);
    int n = ONE_OF(chance, 1, 2, 4, 8), fresh = ONE_OF(chance, 256, 512, 1024);
    bool two = kind == 1;
    const char *critic =
        two ? rlf_arena_printf(arena, "model critic = %s, head: scalar" ADAM,
                               model(arena, other))
            : "";
    const char *judge = rlf_arena_printf(
        arena, "model ref = %s)\n", model(arena, kind == 2 ? other : size));
    return rlf_arena_printf(
        arena,
        "data prompts = jsonl(\"rows.jsonl\", prompt: \"q\", max_prompt: 512)\n"
        "model actor = %s" ADAM "%s%s"
        "flow f(batch: prompts[%d]) {\n"
        "    roll = actor.generate(batch, n: %d, max_new: %d%s)\n"
        "    kl = roll.logprob - ref.logprob(roll)\n"
        "%s"
        "    update actor minimize mean(kl * actor.logprob(roll) over batch)\n"
        "%s"
        "}\n",
        model(arena, size), critic, judge, rows, n, fresh,
        ahead ? rlf_arena_printf(arena, ", ahead: %d", ahead) : "",
        two ? "    v = critic.value(roll)\n" : "",
        two ? "    update critic minimize mean((critic.value(roll) - v) ^ 2 "
              "over batch)\n"
            : "");
}

typedef struct shape {
    int each; /* devices of a machine */
    double link;
    int memory[MOST], n_memory; /* GB, ascending */
    int machines[MOST], n_machines;
} shape;

static int
by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void
make_shape(rlf_splitmix *chance, bool all, shape *out)
{
    *out = (shape){.each = ONE_OF(chance, 2, 4, 4, 8),
                   .link = 1e8 * ONE_OF(chance, 1, 10, 50, 250, 250)};
    out->n_memory = all ? 4 : 3;
    out->n_machines = all ? 4 : 2;
    int least = ONE_OF(chance, 16, 24, 40, 60);
    for (int i = 0; i < out->n_memory; i++)
        out->memory[i] = least + rlf_splitmix_below(chance, 3 * least);
    if (all)
        out->memory[0] = 80;
    for (int i = 0, at = 0; i < out->n_machines; i++)
        out->machines[i] = at += 1 + rlf_splitmix_below(chance, 3);
    qsort(out->memory, (size_t)out->n_memory, sizeof(int), by_number);
}

static const char *
make_cluster(const shape *s, double memory, int machines, rlf_arena *arena)
{
    return rlf_arena_printf(
        arena,
        "device d = gpu(bf16: 312e12, f32: 19.5e12, memory: %ge9,\n"
        "    bandwidth: 2.04e12, launch: 6e-6)\n"
        "machine b = node(d, count: %d, link: 300e9, start: 8e-6,\n"
        "    host: 2e12, copy: 20e9, cores: 96)\n"
        "cluster c = net(b, count: %d, link: %g, start: 2e-5)\n",
        memory, s->each, machines, s->link);
}

/* ---- the law ---- */

/* Seconds of a step by the estimate; INFINITY: it has no room. */
static double
search(const char *program, const char *cluster, const char *prompts,
       const char *responses, int moves)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_err err = RLF_ERR_NONE;
    rlf_session *s = rlf_session_open(put(arena, "f.rlf", program));
    const rlf_session_search_options options = {
        .search = {.seed = 1, .moves = moves, .branches = moves},
        .estimate = true};
    rlf_session_found *found = RLF_NEW(arena, rlf_session_found);
    rlf_session_set(s, "--cluster", put(arena, "c.rlf", cluster));
    rlf_session_set(s, "--prompts", prompts);
    rlf_session_set(s, "--lengths", responses);
    if (rlf_session_plan(s) != RLF_RESULT_OK)
        bail("%s", rlf_session_message(s));
    double period = INFINITY;
    if (rlf_session_find(s, &options, &err, found) >= 0)
        period = found->best->placing.period;
    else if (!strstr(err.sentence, "does not fit") &&
             !strstr(err.sentence, "no placement"))
        bail("%s", err.sentence);
    rlf_session_close(s);
    rlf_arena_free(arena);
    return period;
}

static void
test_program(int k, bool all)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_splitmix chance = rlf_splitmix_begin(7, (uint32_t)k);
    double period[MOST][MOST], worst = 0;
    int pairs = 0, fit = 0;
    shape s;
    const char *program = make_program(&chance, arena), *at = "";
    const char *responses =
        ONE_OF(&chance, 0, 1) ? "fixed:200" : "lognormal:200,0.8";
    make_shape(&chance, all, &s);
    int moves = number("RLFLOW_TEST_LAW_MOVES", MOVES);
    clock_t begin = clock();
    for (int m = 0; m < s.n_memory; m++)
        for (int n = 0; n < s.n_machines; n++) {
            const char *c = make_cluster(&s, s.memory[m], s.machines[n], arena);
            period[m][n] = search(program, c, "fixed:300", responses, moves);
            fit += isfinite(period[m][n]);
            for (int i = 0; i <= m; i++)
                for (int j = 0; j <= n; j++) {
                    double less = period[i][j], now = period[m][n];
                    if ((i == m && j == n) || !isfinite(less))
                        continue;
                    pairs++;
                    if (now / less - 1 > worst) {
                        worst = now / less - 1;
                        at = rlf_arena_printf(
                            arena,
                            "%d x %d of %d GB %g s, %d x %d of %d GB %g s",
                            s.machines[j], s.each, s.memory[i], less,
                            s.machines[n], s.each, s.memory[m], now);
                    }
                }
        }
    ok(worst < 1e-9, "program %d: %d answers, %d pairs, %.3f %% worse: %s", k,
       fit, pairs, 100 * worst, at);
    if (all)
        printf("# %.2f s of processor time a search; link %g\n",
               (double)(clock() - begin) / CLOCKS_PER_SEC / s.n_memory /
                   s.n_machines,
               s.link);
    fflush(stdout);
    rlf_arena_free(arena);
}

/* ---- several kinds of machines ---- */

enum { KINDS = 3 };

/* Machines of these kinds in that order; each has its memory and its speed. */
static const char *
make_mixed(const shape *s, const int *memory, const int *order, int n,
           rlf_arena *arena)
{
    rlf_buf text = {0}, names = {0};
    for (int i = 0; i < n; i++) {
        int k = order[i];
        rlf_buf_printf(&text,
                       "device d%d = gpu(bf16: %de12, f32: 19.5e12, memory: "
                       "%de9, bandwidth: 2.04e12, launch: 6e-6)\n"
                       "machine m%d = node(d%d, count: %d, link: 300e9, "
                       "start: 8e-6, host: 2e12, copy: 20e9, cores: 96)\n",
                       k, 300 - 70 * k, memory[k], k, k, s->each);
        rlf_buf_printf(&names, "m%d, ", k);
    }
    if (n > 1)
        rlf_buf_printf(&text, "cluster c = net(%slink: %g, start: 2e-5)\n",
                       names.p, s->link);
    else
        rlf_buf_printf(&text, "cluster c = net(%scount: 1)\n", names.p);
    const char *out = rlf_arena_strdup(arena, text.p);
    rlf_buf_free(&text);
    rlf_buf_free(&names);
    return out;
}

/* The i-th order of `n` kinds, of i = 0 .. n! - 1. */
static void
make_order(int i, int n, int *order)
{
    for (int k = 0; k < n; k++)
        order[k] = k;
    for (int k = n - 1; k > 0; i /= k + 1, k--) {
        int other = i % (k + 1), was = order[k];
        order[k] = order[other];
        order[other] = was;
    }
}

/* The machines of the k-th program. */
static const char *
make_kinds(int k, shape *s, int *memory, rlf_arena *arena)
{
    rlf_splitmix chance = rlf_splitmix_begin(11, (uint32_t)k);
    const char *program = make_program(&chance, arena);
    make_shape(&chance, false, s);
    for (int i = 0; i < KINDS; i++)
        memory[i] = 12 + rlf_splitmix_below(&chance, 60);
    return program;
}

/* All sets of kinds: one more is never worse, wherever it is named. */
static void
test_kinds(int k)
{
    rlf_arena *arena = rlf_arena_new();
    int memory[KINDS], order[KINDS],
        moves = number("RLFLOW_TEST_LAW_MOVES", MOVES);
    double period[1 << KINDS] = {0}, worst = 0;
    shape s;
    const char *program = make_kinds(k, &s, memory, arena);
    for (int set = 1; set < 1 << KINDS; set++) {
        int n = 0;
        for (int i = 0; i < KINDS; i++)
            if (set >> i & 1)
                order[n++] = i;
        const char *c = make_mixed(&s, memory, order, n, arena);
        period[set] = search(program, c, "fixed:300", "fixed:200", moves);
        for (int less = 1; less < set; less++)
            if (!(less & ~set) && isfinite(period[less]))
                worst = fmax(worst, period[set] / period[less] - 1);
    }
    ok(worst < 1e-9, "kinds of machines %d: one more is %.3f %% worse", k,
       100 * worst);
    rlf_arena_free(arena);
}

/* All kinds in all orders, the first two and the last in both. */
static void
test_orders(int k)
{
    rlf_arena *arena = rlf_arena_new();
    int memory[KINDS], order[KINDS], differ = 0, fit = 0;
    int moves = number("RLFLOW_TEST_LAW_MOVES", MOVES);
    shape s;
    const char *program = make_kinds(k, &s, memory, arena);
    for (int n = 2, orders = 2; n <= KINDS; n++, orders *= n) {
        double first = 0;
        for (int i = 0; i < orders; i++) {
            make_order(i, n, order);
            const char *c = make_mixed(&s, memory, order, n, arena);
            double now = search(program, c, "fixed:300", "fixed:200", moves);
            first = i ? first : now;
            fit += isfinite(now);
            differ += i && memcmp(&now, &first, sizeof now) != 0;
            if (i && memcmp(&now, &first, sizeof now) != 0)
                note("%g s and %g s", first, now);
        }
    }
    ok(!differ, "machines of several kinds %d: %d answers, %d differ", k, fit,
       differ);
    rlf_arena_free(arena);
}

/* With fewer lanes an update leaves memory; whether they are tried did depend
 * on what a short search found in just as much memory. */
static void
test_fewer_lanes(void)
{
    rlf_arena *arena = rlf_arena_new();
    const shape s = {.each = 2, .link = 1.2e9};
    const char *program = rlf_arena_printf(
        arena,
        "data prompts = jsonl(\"rows.jsonl\", prompt: \"q\", max_prompt: 512)\n"
        "model actor = %s" ADAM "model critic = %s, head: scalar" ADAM
        "model ref = %s)\n"
        "flow f(batch: prompts[64]) {\n"
        "    roll = actor.generate(batch, n: 4, max_new: 512)\n"
        "    kl = roll.logprob - ref.logprob(roll)\n"
        "    v = critic.value(roll)\n"
        "    update actor minimize mean(kl * actor.logprob(roll) over batch)\n"
        "    update critic minimize mean((critic.value(roll) - v) ^ 2 over "
        "batch)\n"
        "}\n",
        model(arena, 0), model(arena, 2), model(arena, 0));
    double less = search(program, make_cluster(&s, 22.25, 4, arena),
                         "fixed:200", "fixed:120", 0);
    double more = search(program, make_cluster(&s, 22.5, 4, arena), "fixed:200",
                         "fixed:120", 0);
    ok(more <= less * (1 + 1e-9) && isfinite(less),
       "a large critic without moves: 22.25 GB %g s, 22.5 GB %g s", less, more);
    rlf_arena_free(arena);
}

int
main(void)
{
    bool all = getenv("RLFLOW_TEST_LAW") != NULL;
    int n = number("RLFLOW_TEST_LAW", PROGRAMS);
    rlf_arena *arena = rlf_arena_new();
    rlf_buf rows = {0};
    for (int i = 0; i < ROWS; i++)
        rlf_buf_puts(&rows, "{\"q\": \"a\"}\n");
    make_root();
    put(arena, "rows.jsonl", rows.p);
    rlf_buf_free(&rows);
    for (int k = number("RLFLOW_TEST_LAW_FROM", 0); n > 0; k++, n--)
        test_program(k, all);
    test_fewer_lanes();
    if (all)
        for (int k = 0; k < 40; k++)
            test_orders(k);
    else
        test_orders(10), test_orders(24);
    static const int kinds[] = {32, 10, 16, 20, 23, 38};
    for (int i = 0; i < (all ? 6 : 1); i++)
        test_kinds(kinds[i]);
    rlf_arena_free(arena);
    return done();
}

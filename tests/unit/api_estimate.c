/* The estimate of a step's seconds beside the simulation of the same plan:
 * random programs of one to four models, on random clusters with slow and fast
 * links, in random placements that no search has chosen. Programs from number
 * KINDS_FROM on sample ahead, on machines of two kinds.
 *
 *     RLFLOW_TEST_ESTIMATE=N     so many programs, and a table of how far
 *                                estimates are from simulations
 *     RLFLOW_TEST_ESTIMATE=N,M   and a line for each call of M programs, from
 *                                number N on, with what was placed where */
#include "engine/api/machines/planned_device.h"
#include "engine/api/simulating/mean_step.h"
#include "engine/api/simulating/workload.h"
#include "engine/base/splitmix.h"
#include "engine/plan/candidate.h"
#include "engine/search/estimate.h"
#include "engine/search/pareto.h"
#include "nodes/table.h"
#include "tests/put.h"

enum { MODELS = 4, PLACES = 4, WARM = 2, STEPS = 2, DRAWN = 6, MOST = 1 << 16 };
enum { KINDS_FROM = 100000 };

/* ---- random programs ---- */

typedef struct made {
    rlf_arena *arena;
    rlf_splitmix random;
    const char *name; /* the name of the model at hand */
    int machines, count, ranks, layers;
    bool across; /* links between machines are slower than 1e10 B/s */
    bool kinds;  /* there are two machines, each of a kind of its own */
    rlf_buf cluster, text, place;
    const char *prompts, *lengths;
} made;

static int
below(made *m, int n)
{
    return rlf_splitmix_below(&m->random, n);
}

static double
between(made *m, double least, double most)
{
    double x = rlf_splitmix_uniform(&m->random);
    return least * pow(most / least, x);
}

static void
make_cluster(made *m)
{
    m->machines = m->kinds ? 2 : 1 + below(m, 4);
    m->count = 2 + below(m, 3);
    m->ranks = m->machines * m->count;
    double across = between(m, 1e8, 1e11);
    double inside = below(m, 3) ? between(m, 2e10, 4e11) : across;
    m->across = across < 1e10 && m->machines > 1;
    rlf_buf_printf(&m->cluster,
                   "device d = gpu(bf16: 3e14, f32: 2e13, memory: 8e10, "
                   "bandwidth: 2e12, launch: 6e-6)\n"
                   "machine m = node(d, count: %d, link: %.3g, start: %.2g, "
                   "host: 1e12, copy: 2e10, cores: 64)\n",
                   m->count, inside, between(m, 1e-6, 3e-5));
    const char *all = rlf_arena_printf(m->arena, "m, count: %d", m->machines);
    if (m->kinds) {
        rlf_buf_printf(
            &m->cluster,
            "device e = gpu(bf16: 9e14, f32: 6e13, memory: 8e10, "
            "bandwidth: 3.3e12, launch: 6e-6)\n"
            "machine k = node(e, count: %d, link: %.3g, start: 8e-6, "
            "host: 1e12, copy: 2e10, cores: 64)\n",
            m->count, inside);
        all = below(m, 2) ? "m, k" : "k, m";
    }
    rlf_buf_printf(&m->cluster,
                   "cluster c = net(%s, link: %.3g, start: %.2g)\n", all,
                   across, between(m, 5e-6, 1e-3));
}

static int
power_below(made *m, int n)
{
    int most = 0;
    while (2 << most <= n)
        most++;
    return 1 << below(m, most + 1);
}

/* Ranks of whole machines, or of a part of one, and a cut of them. */
static void
place_on(made *m, const char *call, const char *more)
{
    int size = m->count, first;
    if (below(m, 2) || m->machines == 1) {
        size = power_below(m, m->count);
        first = below(m, m->ranks / m->count) * m->count +
                below(m, m->count / size) * size;
    } else {
        int n = 1 + below(m, m->kinds ? 1 : m->machines);
        size = n * m->count;
        first = below(m, m->machines - n + 1) * m->count;
    }
    int tp = power_below(m, size), pp, dp;
    while (size % tp)
        tp /= 2;
    if (tp > m->count)
        tp = 1;
    do {
        pp = 1 + below(m, size / tp);
        dp = size / tp / pp;
    } while (pp * tp * dp != size || pp > m->layers || dp > 8);
    rlf_buf_printf(&m->place, "    %s%s on %d..%d (tp: %d, pp: %d, dp: %d%s)\n",
                   m->name, call, first, first + size - 1, tp, pp, dp, more);
}

static void
add_model(made *m, const char *name, const char *words, bool trained)
{
    static const int hidden[] = {512, 1024, 2048};
    int h = hidden[below(m, 3)];
    m->layers = 4 << below(m, 3);
    rlf_buf_printf(&m->text,
                   "model %s = lm(llama(layers: %d, hidden: %d, heads: 16, "
                   "ffn: %d, context: 2048), tokenizer: "
                   "\"%s/examples/models/arith\"%s%s)\n",
                   name, m->layers, h, 3 * h, getenv("RLFLOW_SOURCE"), words,
                   trained ? ", optimizer: adamw(lr: 1e-4)" : "");
    m->name = name;
}

static void
place_model(made *m, const char *name, bool trained)
{
    m->name = name;
    place_on(m, "", trained ? ", shards: 8, lanes: 8" : ", shards: 8");
}

/* Samples of an actor, and what scores them, trains on them and is averaged. */
static void
make_program(made *m)
{
    bool judge = below(m, 2), critic = !below(m, 3), ref = below(m, 2);
    bool sum = ref && below(m, 2), minis = !below(m, 4);
    int ahead = below(m, 4) && !m->kinds ? 0 : 1 + below(m, 2);
    int batch = 16 << below(m, 2), each = 1 << below(m, 4);
    int longest = 64 << below(m, 4);
    rlf_buf_puts(&m->text,
                 "data prompts = jsonl(\"rows.jsonl\", prompt: \"q\", "
                 "max_prompt: 512)\n");
    add_model(m, "actor", "", true);
    place_model(m, "actor", true);
    place_on(m, ".generate", "");
    place_on(m, ".update", "");
    if (ref) {
        rlf_buf_puts(&m->text, "model ref = copy(actor)\n");
        place_model(m, "ref", false);
    }
    if (judge) {
        add_model(m, "judge", ", head: scalar", false);
        place_model(m, "judge", false);
    }
    if (critic) {
        add_model(m, "critic", ", head: scalar", true);
        place_model(m, "critic", true);
        place_on(m, ".update", "");
    }
    rlf_buf_printf(&m->text,
                   "flow f(batch: prompts[%d]) {\n    roll = "
                   "actor.generate(batch, n: %d, max_new: %d",
                   batch, each, longest);
    if (ahead)
        rlf_buf_printf(&m->text, ", ahead: %d", ahead);
    rlf_buf_puts(&m->text, ")\n    a = roll.at_last(1.0)\n");
    if (ref)
        rlf_buf_puts(&m->text,
                     "    b = a - 0.1 * (roll.logprob - ref.logprob(roll))\n");
    if (judge)
        rlf_buf_printf(&m->text,
                       "    c = %s + roll.at_last(judge.score(roll))\n",
                       ref ? "b" : "a");
    if (critic)
        rlf_buf_printf(&m->text, "    v = %s - critic.value(roll)\n",
                       judge ? "c"
                       : ref ? "b"
                             : "a");
    const char *adv = critic ? "v" : judge ? "c" : ref ? "b" : "a";
    const char *set = minis ? "mini" : "roll";
    if (minis)
        rlf_buf_puts(&m->text, "    for mini in roll.split(parts: 2) {\n");
    rlf_buf_printf(&m->text,
                   "    update actor minimize mean(-%s * "
                   "exp(actor.logprob(%s) - %s.logprob) over batch)\n",
                   adv, set, set);
    if (critic)
        rlf_buf_printf(&m->text,
                       "    update critic minimize mean((critic.value(%s) - "
                       "v) ^ 2 over batch)\n",
                       set);
    if (minis)
        rlf_buf_puts(&m->text, "    }\n");
    if (sum)
        rlf_buf_puts(&m->text, below(m, 2)
                                   ? "    ref := 0.9 * ref + 0.1 * actor\n"
                                   : "    ref := actor\n");
    rlf_buf_printf(&m->text, "}\nplace {\n%s}\n", m->place.p);
    m->prompts = rlf_arena_printf(m->arena, "fixed:%d", 16 << below(m, 5));
    m->lengths =
        below(m, 2)
            ? rlf_arena_printf(m->arena, "fixed:%d", longest / 2)
            : rlf_arena_printf(m->arena, "lognormal:%d,0.7", longest / 3);
}

static void
make(made *m, uint32_t number, rlf_arena *arena)
{
    bool kinds = number >= KINDS_FROM;
    *m = (made){.arena = arena,
                .random = rlf_splitmix_begin(7, number % KINDS_FROM),
                .kinds = kinds};
    make_cluster(m);
    make_program(m);
}

static void
drop(made *m)
{
    rlf_buf_free(&m->cluster);
    rlf_buf_free(&m->text);
    rlf_buf_free(&m->place);
}

/* ---- both ---- */

typedef struct pair {
    double estimate, simulated;
} pair;

/* Kinds of calls: generate, read, update; in one stage or some; of links that
 * are slower than 1e10 B/s or not. And whole steps; STEPS_AHEAD: of samples
 * that are made ahead on machines of two kinds. */
enum { KINDS = 3 * 2 * 2 + 3, STEPS_OWN = KINDS - 3, STEPS_AHEAD = KINDS - 1 };
static pair *pairs[KINDS];
static int n_pairs[KINDS];

static void
note_pair(int kind, double estimate, double simulated)
{
    if (!pairs[kind])
        pairs[kind] = rlf_calloc(MOST, sizeof *pairs[kind]);
    if (n_pairs[kind] < MOST)
        pairs[kind][n_pairs[kind]++] = (pair){estimate, simulated};
}

static const char *
word_of(int kind, rlf_arena *arena)
{
    static const char *const words[] = {"generate", "read", "update"};
    if (kind >= STEPS_OWN)
        return kind == STEPS_OWN     ? "step"
               : kind == STEPS_AHEAD ? "step, ahead, machines of two kinds"
                                     : "step, slow links";
    return rlf_arena_printf(arena, "%s%s%s", words[kind / 4],
                            kind & 2 ? ", stages" : "",
                            kind & 1 ? ", slow links" : "");
}

static rlf_session *
open_session(made *m)
{
    rlf_session *s = rlf_session_open(put(m->arena, "f.rlf", m->text.p));
    rlf_session_set(s, "--cluster", put(m->arena, "c.rlf", m->cluster.p));
    rlf_session_set(s, "--prompts", m->prompts);
    rlf_session_set(s, "--lengths", m->lengths);
    return s;
}

static bool
simulate(rlf_session *s, const rlf_outline *outline, const rlf_plan *plan,
         const rlf_speeds *speeds, const rlf_workload *workload,
         rlf_arena *arena, rlf_mean_step **out)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_trial trial = {0};
    const rlf_trial_options options = {
        .speeds = speeds,
        .workload = workload,
        .warm = WARM,
        .steps = rlf_workload_draws(workload) ? DRAWN : STEPS};
    rlf_status status = rlf_trial_open(s, outline, plan, arena, &err, &trial);
    if (status >= 0)
        status = rlf_mean_step_make(&trial, &options, NULL, arena, &err, out);
    if (status < 0)
        note("%s", err.sentence);
    bool fits = status >= 0 && trial.fill <= 1;
    rlf_trial_close(&trial);
    return fits;
}

static void
compare(const made *m, rlf_session *s, const rlf_pareto *f, const int *choice,
        const rlf_mean_step *mean, uint32_t number, bool print)
{
    const rlf_problem *p = &f->problem;
    rlf_arena *arena = m->arena;
    rlf_estimator *e = rlf_estimator_new(p, arena);
    double period = rlf_estimate_period(e, choice);
    bool across = false;
    for (int i = 0; i < p->n_calls; i++) {
        const rlf_choice *at = &p->calls[i].choices[choice[i]];
        double seconds = rlf_estimate_call(e, choice, i), simulated = 0;
        bool slow = m->across && at->first / m->count !=
                                     (at->first + at->count - 1) / m->count;
        across |= slow;
        for (size_t k = 0; k < s->graph->nodes.count; k++)
            if (rlf_pareto_call_of(f, &s->graph->nodes.data[k]) == i)
                simulated += mean->calls[k];
        if (simulated > 0 && !m->kinds)
            note_pair((int)p->calls[i].kind * 4 + 2 * (at->pp > 1) + slow,
                      seconds, simulated);
        if (print)
            printf("#   %4u %-16s %2d..%-2d tp %d pp %d dp %d %s%9.4g "
                   "simulated %9.4g (%+.1f %%), weights %.4g\n",
                   number, p->calls[i].name, at->first,
                   at->first + at->count - 1, at->tp, at->pp, at->dp,
                   slow ? "slow " : "", seconds, simulated,
                   100 * (seconds / simulated - 1),
                   rlf_estimate_move(e, choice, i));
    }
    note_pair(m->kinds ? STEPS_AHEAD : STEPS_OWN + m->across, period,
              mean->step);
    if (print)
        printf("#   %4u step%s %.4g simulated %.4g (%+.1f %%)\n", number,
               across ? " slow" : "", period, mean->step,
               100 * (period / mean->step - 1));
}

/* One of the choices for each call, which keep its row, and the plan of them.
 */
static bool
choose(made *m, const rlf_pareto *f, const rlf_plan_options *how, bool print,
       int *choice, rlf_plan **out)
{
    const rlf_problem *p = &f->problem;
    rlf_err err = RLF_ERR_NONE;
    rlf_buf text = {0};
    int n;
    for (int i = 0; i < p->n_calls; i++)
        choice[i] = below(m, p->calls[i].n_choices + p->calls[i].n_others);
    const rlf_place_row *rows = rlf_pareto_rows(f, choice, m->arena, &n);
    for (int i = 0; print && i < n; i++) {
        rlf_buf_puts(&text, "\n#    ");
        rlf_place_row_print(f->options.graph, &rows[i], &text);
    }
    if (print)
        printf("# place%s\n", text.p);
    rlf_buf_free(&text);
    bool done = rlf_plan_candidate(f->options.graph, rows, n, how, m->arena,
                                   &err, out) >= 0;
    if (!done && print)
        note("%s", err.sentence);
    return done;
}

/* Returns whether the plan could be compared. */
static bool
look(uint32_t number, bool print)
{
    rlf_arena *arena = rlf_arena_new();
    made m;
    rlf_err err = RLF_ERR_NONE;
    rlf_outline *outline = NULL;
    rlf_session_workload workload;
    rlf_mean_step *mean;
    rlf_pareto pareto;
    bool done = false;
    make(&m, number, arena);
    rlf_session *s = open_session(&m);
    if (print)
        printf("# program %u\n%s%s%s %s\n", number, m.cluster.p, m.text.p,
               m.prompts, m.lengths);
    if (rlf_session_plan(s) != RLF_RESULT_OK) {
        if (print)
            note("%u: %s", number, rlf_session_message(s));
        goto out;
    }
    rlf_speeds speeds = rlf_planned_speeds(s);
    const rlf_plan *plan = s->plan;
    const rlf_plan_options how = {.ranks = plan->ranks,
                                  .same = plan,
                                  .backend = plan->numerics.backend,
                                  .dtype = plan->numerics.dtype,
                                  .links = plan->links};
    if (rlf_outline_open(s->graph, rlf_planned_kernels(s, arena), &err,
                         &outline) < 0 ||
        rlf_session_workload_make(s, outline, &err, &workload) < 0)
        bail("%u: %s", number, err.sentence);
    const rlf_pareto_options options = {
        .graph = s->graph,
        .outline = outline,
        .speeds = &speeds,
        .plan = &how,
        .workload = &workload.workload,
        .keeps = true,
        .real = (int)rlf_cast_bytes(s->options.real)};
    int choice[RLF_SEARCH_CALLS];
    rlf_plan *at;
    done = rlf_pareto_make(&options, arena, &err, &pareto) >= 0 &&
           choose(&m, &pareto, &how, print, choice, &at) &&
           simulate(s, outline, at, &speeds, &workload.workload, arena, &mean);
    if (done)
        compare(&m, s, &pareto, choice, mean, number, print);
    else if (print)
        note("%u: %s", number, *err.sentence ? err.sentence : "no room");
out:
    rlf_outline_close(outline);
    rlf_session_close(s);
    drop(&m);
    rlf_arena_free(arena);
    return done;
}

/* ---- the table ---- */

static int
ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The part of a kind's pairs that are within `most`; its quantiles, printed. */
static double
within(int kind, double most, bool print)
{
    rlf_arena *arena = rlf_arena_new();
    int n = n_pairs[kind], near = 0;
    double *off = RLF_NEW_ARRAY(arena, double, n + 1);
    for (int i = 0; i < n; i++) {
        off[i] = pairs[kind][i].estimate / pairs[kind][i].simulated - 1;
        near += fabs(off[i]) <= most;
    }
    qsort(off, (size_t)n, sizeof *off, ascending);
    if (n && print) {
        printf("# %-30s %6d %5.1f", word_of(kind, arena), n, 100.0 * near / n);
        static const double q[] = {0, 0.01, 0.05, 0.5, 0.95, 0.99, 1};
        for (size_t k = 0; k < sizeof q / sizeof *q; k++)
            printf(" %7.1f", 100 * off[(int)(q[k] * (n - 1) + 0.5)]);
        printf("\n");
    }
    rlf_arena_free(arena);
    return n ? (double)near / n : 1;
}

/* Programs of which a run let ranks stand idle: each is as long as estimated.
 */
static void
test_known(void)
{
    static const struct {
        uint32_t number;
        const char *what;
    } known[] = {
        {KINDS_FROM + 312, "what an update reads is sent while others sample"},
        {KINDS_FROM + 706, "... before another update begins"},
        {KINDS_FROM + 649, "samples are sent before weights of later steps"},
        {KINDS_FROM + 485, "... and before weights of what reads them"},
        {KINDS_FROM + 713, "who samples next waits for nobody's values"},
    };
    for (size_t i = 0; i < RLF_COUNT(known); i++) {
        n_pairs[STEPS_AHEAD] = 0;
        ok(look(known[i].number, false) && within(STEPS_AHEAD, 0.1, false) == 1,
           "%s", known[i].what);
    }
}

int
main(void)
{
    const char *set = getenv("RLFLOW_TEST_ESTIMATE");
    int first = 0, n = 360, print = 0, compared = 0;
    if (set && sscanf(set, "%d,%d", &n, &print) == 2) {
        first = n;
        n = print;
    }
    rlf_buf rows = {0};
    rlf_arena *arena = rlf_arena_new();
    make_root();
    for (int i = 0; i < 64; i++)
        rlf_buf_printf(&rows, "{\"q\": \"1 plus %d =\"}\n", i);
    put(arena, "rows.jsonl", rows.p);
    for (int i = 0; i < n; i++)
        compared += look((uint32_t)(first + i), print > 0);
    for (int i = 0; i < n && !print; i++)
        compared += look((uint32_t)(KINDS_FROM + i), false);
    printf("# estimate / simulated - 1, in %%\n# %-30s %6s %5s %7s %7s %7s "
           "%7s %7s %7s %7s\n",
           "", "n", "<10%", "least", "1", "5", "50", "95", "99", "most");
    for (int k = 0; k < KINDS; k++)
        within(k, 0.1, set != NULL);
    ok(compared > n / 2, "%d programs are compared", compared);
    for (int k = 4 * RLF_STAGE_UPDATE; k < STEPS_OWN; k++)
        ok(within(k, 0.1, false) > 0.98, "%s: as long as estimated",
           word_of(k, arena));
    ok(within(STEPS_OWN, 0.1, false) > 0.9 &&
           within(STEPS_OWN + 1, 0.1, false) > 0.9,
       "steps are as long as estimated");
    ok(within(STEPS_AHEAD, 0.1, false) > 0.9,
       "... where samples are made ahead on machines of two kinds");
    test_known();
    rlf_buf_free(&rows);
    rlf_arena_free(arena);
    for (int k = 0; k < KINDS; k++)
        free(pairs[k]);
    return done();
}

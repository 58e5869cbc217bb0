/* See scale.h. */
#include "tests/papers/scale.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "engine/api/searching/search.h"
#include "tests/longest_term.h"

const scale_reached scale_usual = {0.5, 0.8, 250.0 / 300, 20.0 / 25};

/* ---- strategies ---- */

/* Ranks of a layout that was found are a run. */
static bool
same(const rlf_layout *a, const rlf_layout *b)
{
    return a->n_ranks == b->n_ranks && a->ranks[0] == b->ranks[0];
}

static bool
apart(const rlf_layout *a, const rlf_layout *b)
{
    return a->ranks[0] + a->n_ranks <= b->ranks[0] ||
           b->ranks[0] + b->n_ranks <= a->ranks[0];
}

const char *
scale_strategy(const rlf_layout *const *at)
{
    bool all = true;
    for (int c = 1; c < PAPERS_CALLS; c++)
        all &= same(at[c], at[0]);
    return all                                            ? "colocate"
           : apart(at[PAPERS_GENERATE], at[PAPERS_ACTOR]) ? "separate"
           : apart(at[PAPERS_ACTOR], at[PAPERS_CRITIC])   ? "split"
                                                          : "mixed";
}

/* ---- a row ---- */

static const char *
layout_words(const rlf_node_place *place, bool trains, rlf_arena *arena)
{
    const rlf_layout *l = &place->layout;
    bool zero = trains && place->zero > 0;
    bool again = trains && place->recompute > 0;
    return rlf_arena_printf(arena, "tp %d pp %d dp %d on %d%s%s", l->tp, l->pp,
                            l->dp, l->n_ranks, zero ? ", zero" : "",
                            again ? ", recompute" : "");
}

/* The node that is a call of the problem. */
static const rlf_node *
node_of(const rlf_session *s, const rlf_pareto *pareto, int call)
{
    for (size_t i = 0; i < s->graph->nodes.count; i++)
        if (rlf_pareto_call_of(pareto, &s->graph->nodes.data[i]) == call)
            return &s->graph->nodes.data[i];
    return NULL;
}

static void
put_share(const rlf_session_found *f, int call, double step, rlf_buf *out)
{
    const rlf_seconds *t = &f->terms[call];
    double sum = 0;
    for (int k = 0; k < RLF_SECONDS_TERMS; k++)
        sum += t->term[k];
    rlf_seconds_term most = longest_term(t);
    rlf_buf_printf(out, "%s%s %.0f %% (%s %.0f %%)", out->n ? ", " : "",
                   f->pareto.problem.calls[call].name, 100 * t->total / step,
                   rlf_seconds_word(most), 100 * t->term[most] / sum);
}

/* The two calls that take longest. */
static const char *
find_binding(const rlf_session_found *f, rlf_arena *arena)
{
    rlf_buf text = {0};
    int first = 0, next = -1, n = f->pareto.problem.n_calls;
    for (int c = 1; c < n; c++)
        if (f->terms[c].total > f->terms[first].total)
            first = c;
    for (int c = 0; c < n; c++)
        if (c != first &&
            (next < 0 || f->terms[c].total > f->terms[next].total))
            next = c;
    put_share(f, first, f->best->placing.period, &text);
    if (next >= 0)
        put_share(f, next, f->best->placing.period, &text);
    const char *words = rlf_arena_strdup(arena, text.p);
    rlf_buf_free(&text);
    return words;
}

/* By the estimate: what no call has of the devices' time. */
static double
idle_of(const rlf_session_found *f)
{
    const rlf_problem *p = &f->pareto.problem;
    double busy = 0;
    for (int c = 0; c < p->n_calls; c++) {
        const rlf_choice *at = &p->calls[c].choices[f->best->placing.choice[c]];
        busy += at->seconds * at->count;
    }
    return 1 - busy / p->devices / f->best->placing.period;
}

static void
describe(const rlf_session *s, const rlf_session_found *f, rlf_arena *arena,
         scale_row *out)
{
    const rlf_layout *at[PAPERS_CALLS] = {0};
    const rlf_search_candidate *best = f->best;
    for (int c = 0; c < f->pareto.problem.n_calls; c++) {
        const rlf_node *node = node_of(s, &f->pareto, c);
        const rlf_node_place *place = &best->plan->place[node->id];
        at[c] = &place->layout;
        if (c == PAPERS_GENERATE)
            out->generate = layout_words(place, false, arena);
        if (c == PAPERS_ACTOR)
            out->train = layout_words(place, true, arena);
    }
    out->fits = true;
    out->strategy = scale_strategy(at);
    out->binds = find_binding(f, arena);
    out->simulated = best->simulated;
    out->step = best->simulated ? best->step : best->placing.period;
    out->idle = best->simulated ? best->mean->idle : idle_of(f);
    out->tokens =
        SCALE_BATCH * (double)(SCALE_PROMPT + SCALE_RESPONSE) / out->step;
    out->gap = 1 - f->found.bound / f->found.best.period;
}

/* ---- the search ---- */

double
scale_processor(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The moments at which there is first something to print, and at which the
 * shortest step was known; until then 0. */
typedef struct watching {
    double begun, first, best;
    double period; /* of the shortest */
} watching;

static bool
note_first(void *arg, double period, double bound)
{
    watching *w = arg;
    (void)bound;
    double now = scale_processor() - w->begun;
    if (!(w->first > 0) && isfinite(period))
        w->first = now;
    if (period < w->period * (1 - 1e-9)) {
        w->period = period;
        w->best = now;
    }
    return false;
}

/* Slows the devices and links of a cluster from their data sheets to the speeds
 * that machines reach. */
static void
slow(rlf_cluster *cluster, const scale_reached *reached, rlf_arena *arena)
{
    rlf_machine_kind *machine = RLF_NEW(arena, rlf_machine_kind);
    rlf_device_kind *device = RLF_NEW(arena, rlf_device_kind);
    *machine = *cluster->parts[0].machine;
    *device = *machine->device;
    device->bf16 *= reached->compute;
    device->f32 *= reached->compute;
    device->bandwidth *= reached->memory;
    machine->device = device;
    machine->link *= reached->inside;
    cluster->parts[0].machine = machine;
    cluster->parts[0].link *= reached->across;
}

void
scale_search(papers_size size, int devices, int64_t moves,
             const scale_reached *reached, rlf_arena *arena, scale_row *out)
{
    static const papers_lengths lengths = {SCALE_BATCH, SCALE_PROMPT,
                                           SCALE_RESPONSE};
    watching watch = {.begun = scale_processor(), .period = INFINITY};
    const rlf_session_search_options options = {.search = {.seed = 1,
                                                           .moves = moves,
                                                           .branches = moves,
                                                           .stop = note_first,
                                                           .arg = &watch}};
    papers_program program;
    char cluster[64];
    rlf_err err = RLF_ERR_NONE;
    papers_write(size, lengths, &program);
    rlf_session *s = rlf_session_open(program.path);
    rlf_session_found *f = RLF_NEW(arena, rlf_session_found);
    snprintf(cluster, sizeof cluster, "h100x8:%d", devices / 8);
    rlf_session_set(s, "--cluster", cluster);
    *out = (scale_row){.size = size, .devices = devices};
    if (rlf_session_plan(s) != RLF_RESULT_OK) {
        out->why = rlf_arena_strdup(arena, rlf_session_message(s));
    } else {
        double peak = s->planning.cluster->parts[0].machine->device->bf16;
        out->bound = papers_least_flops(size, size, lengths) / peak / devices;
        slow(s->planning.cluster, reached, s->arena);
        if (rlf_session_find(s, &options, &err, f) >= 0)
            describe(s, f, arena, out);
        else
            out->why =
                rlf_arena_printf(arena, "%s; %s", err.sentence, err.hint);
        out->lacks = f->found.best.over;
        out->first = watch.first;
        out->best = watch.best;
    }
    rlf_session_close(s);
    papers_remove(&program);
}

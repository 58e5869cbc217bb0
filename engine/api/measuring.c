/* A session's program is run for a few steps on 1, 2, 4... ranks of this
 * machine, its models cut in every way that so many ranks can have: each cut
 * has a session of its own. What its pieces took becomes a profile. */
#include "engine/api/machines/profile.h"
#include "engine/api/reporting/texts.h"
#include "engine/api/rundir/rundir.h"
#include "engine/base/clock.h"
#include "engine/dev/cores.h"
#include "engine/io/output.h"

#include <math.h>

enum {
    SECONDS = 60,     /* in all, if nothing is said */
    LEAST_STEPS = 5,  /* of a cut, where there is time */
    FEWEST_STEPS = 2, /* the first is not counted */
    MOST_CUTS = 512,
    PASSES = 2, /* as a machine is not as fast at all times */
};

/* Seconds for messages and sums: so many, or that part of the time. */
#define LINKS 1.5
#define LINKS_PART 20

/* Sure enough: the mean of what a piece takes is known so well. */
#define SURE 0.02

/* All models of the program on so many ranks, cut so. `small`: with smaller
 * micro-batches; `apart`: each model as one replica on ranks of its own, as far
 * as there are some, which has all rows: so that a line has two ends. */
typedef struct cut {
    int ranks, tp, pp;
    bool small, apart;
    bool cannot;   /* the models have no such parts */
    bool measured; /* in a step at least */
} cut;

typedef struct profiler {
    rlf_session *of; /* that was asked: the others are like it */
    rlf_watch_function *watch;
    void *arg;
    bool ended; /* by that */
    rlf_arena *arena;
    cut cuts[MOST_CUTS];
    int n_cuts;
    int *tokens; /* per model: of a small micro-batch; NULL: not known yet */
    uint64_t begun;
    double seconds;
} profiler;

static void
add_cut(profiler *p, cut c)
{
    if (p->n_cuts < MOST_CUTS)
        p->cuts[p->n_cuts++] = c;
}

static void
list_cuts(profiler *p, int most)
{
    for (int ranks = 1; ranks <= most; ranks *= 2)
        for (int tp = 1; tp <= ranks; tp *= 2)
            for (int pp = 1; tp * pp <= ranks; pp *= 2) {
                bool whole = tp * pp == ranks;
                cut c = {.ranks = ranks, .tp = tp, .pp = pp};
                add_cut(p, c);
                c.small = whole;
                c.apart = !whole;
                add_cut(p, c);
            }
}

/* The program's placement becomes that of the cut. */
static void
place(const profiler *p, rlf_session *s, const cut *c)
{
    rlf_graph *g = s->graph;
    rlf_placement *placement = RLF_NEW(s->arena, rlf_placement);
    int *ranks = RLF_NEW_ARRAY(s->arena, int, c->ranks), first = 0;
    int each = c->apart ? c->tp * c->pp : c->ranks;
    placement->rows =
        RLF_NEW_ARRAY(s->arena, rlf_place_row, g->resources.count + 1);
    for (int i = 0; i < c->ranks; i++)
        ranks[i] = i;
    for (size_t i = 0; i < g->resources.count; i++) {
        if (!g->resources.data[i].class->model)
            continue;
        rlf_place_row row = rlf_place_row_new((int)i, NULL);
        row.ranks = ranks + first;
        row.n_ranks = each;
        row.tp = c->tp;
        row.pp = c->pp;
        row.dp = each / c->tp / c->pp;
        first = (first + each) % c->ranks;
        if (c->small)
            row.tokens = p->tokens[i];
        placement->rows[placement->n_rows++] = row;
    }
    g->placement = placement;
}

/* A third of the tokens that micro-batches of updates have by themselves, if a
 * sequence fits. */
static void
find_tokens(profiler *p, const rlf_session *s)
{
    const rlf_opened opened = rlf_run_opened(s->run);
    size_t n = s->graph->resources.count;
    if (p->tokens)
        return;
    p->tokens = RLF_NEW_ARRAY(p->arena, int, n + 1);
    for (size_t i = 0; i < n; i++) {
        const rlf_resource *r = &s->graph->resources.data[i];
        const rlf_caps *caps = rlf_resource_caps(r, opened.resource[i]);
        if (!caps)
            continue;
        uint32_t tokens = caps->tokens[RLF_USE_UPDATE] / 3,
                 least = rlf_caps_least_of_all(caps);
        p->tokens[i] = (int)(tokens > least ? tokens : least);
    }
}

static bool
is_over(const profiler *p)
{
    return p->ended || rlf_clock_since(p->begun) >= p->seconds;
}

/* A cut begins (done 0), or that came of it (1). */
static void
tell(profiler *p, double done, const rlf_buf *text)
{
    const rlf_progress progress = {.phase = RLF_PHASE_MEASURE,
                                   .done = done,
                                   .of = 1,
                                   .best = NAN,
                                   .text = text->p};
    if (p->watch)
        p->ended |= p->watch(p->arg, &progress) != 0;
}

/* Steps until it is sure, or its part of the time is over; once all of it is,
 * none after the one at hand, but that the first cut has something. The first
 * step is not counted: it touches all memory for the first time. */
static rlf_result
measure_steps(profiler *p, rlf_session *s, uint64_t from, double share, cut *c)
{
    rlf_result result = RLF_RESULT_OK;
    int steps = 0;
    double doubt = 1;
    while (result == RLF_RESULT_OK && !rlf_session_over(s)) {
        result = rlf_session_step(s);
        rlf_collector_end(p->of->collector, rlf_run_threads(s->run),
                          steps++ > 0 && result == RLF_RESULT_OK);
        doubt = rlf_collector_doubt(p->of->collector);
        bool late = rlf_clock_since(from) > share;
        if (is_over(p) && (steps >= FEWEST_STEPS || c != p->cuts))
            break;
        if (steps >= (late ? FEWEST_STEPS : LEAST_STEPS) &&
            (late || doubt < SURE))
            break;
    }
    c->measured |= steps >= FEWEST_STEPS;
    rlf_buf text = {0};
    rlf_buf_printf(&text, "%d step%s, %.1f s", steps, steps == 1 ? "" : "s",
                   rlf_clock_since(from));
    if (steps >= FEWEST_STEPS)
        rlf_buf_printf(&text, ", sure within %.1f %%", 100 * doubt);
    else
        rlf_buf_puts(&text, ", too few to be counted");
    tell(p, 1, &text);
    rlf_buf_free(&text);
    return result;
}

static void
put_cut(const cut *c, rlf_buf *out)
{
    rlf_buf_printf(out, "%d %s, tp %d, pp %d%s", c->ranks,
                   c->ranks == 1 ? "rank" : "ranks", c->tp, c->pp,
                   c->small   ? ", small micro-batches"
                   : c->apart ? ", one replica"
                              : "");
}

/* Names the runs that the time was too short for. */
static void
put_rest(const profiler *p, rlf_buf *out)
{
    int rest = 0;
    for (int i = 0; i < p->n_cuts; i++)
        rest += !p->cuts[i].cannot && !p->cuts[i].measured;
    if (!rest)
        return;
    rlf_buf_printf(out,
                   "not measured in %g s, %d of %d cuts (--time-limit has more "
                   "time):\n",
                   p->seconds, rest, p->n_cuts);
    for (int i = 0; i < p->n_cuts; i++) {
        if (p->cuts[i].cannot || p->cuts[i].measured)
            continue;
        rlf_buf_puts(out, "    ");
        put_cut(&p->cuts[i], out);
        rlf_buf_putc(out, '\n');
    }
}

/* A session like the one that was asked, instead of the one before it. */
static rlf_session *
open_next(profiler *p, int ranks)
{
    rlf_session *of = p->of, *s = rlf_session_again(of);
    rlf_session_close_last(of);
    of->calls.last = s;
    if (!s)
        return NULL;
    s->options.ranks = ranks;
    s->collector = of->collector;
    return s;
}

/* Open it with its models cut so, and take steps. False: they cannot be. */
static bool
measure_cut(profiler *p, cut *c, double share, rlf_result *result)
{
    rlf_buf text = {0};
    uint64_t from = rlf_clock_now(); /* opening is of its part */
    rlf_session *s = open_next(p, c->ranks);
    *result = s ? rlf_session_compile(s, false) : RLF_RESULT_MEMORY;
    if (*result == RLF_RESULT_OK) {
        place(p, s, c);
        *result = rlf_session_ready(s);
    }
    bool can = *result == RLF_RESULT_OK;
    if (!s || (!can && c == p->cuts && !c->measured))
        return can;
    put_cut(c, &text);
    tell(p, 0, &text);
    rlf_buf_clear(&text);
    rlf_buf_printf(&text, "cannot be: %s", s->err.sentence);
    if (can) {
        find_tokens(p, s);
        *result = measure_steps(p, s, from, share, c);
    } else
        tell(p, 1, &text);
    rlf_buf_free(&text);
    return can;
}

/* One cut after the other, and all once more if that took less than half of the
 * time. One that models cannot have is passed over; but the first cuts nothing,
 * so what is wrong there is wrong with the program. */
static rlf_result
measure_cuts(profiler *p)
{
    rlf_result result = RLF_RESULT_OK;
    for (int i = 0; i < PASSES * p->n_cuts; i++) {
        int left = p->n_cuts - i % p->n_cuts;
        double rest = p->seconds - rlf_clock_since(p->begun);
        cut *c = &p->cuts[i % p->n_cuts];
        if (i == p->n_cuts && rlf_clock_since(p->begun) > p->seconds / PASSES)
            break;
        if (i && is_over(p))
            break;
        if (c->cannot)
            continue;
        c->cannot = !measure_cut(p, c, rest / left, &result);
        if (result != RLF_RESULT_OK && (!c->cannot || i == 0))
            return result;
    }
    return RLF_RESULT_OK;
}

/* The last session stays open, for its graph. One whose models could not be cut
 * so has failed, which the session that was asked must not: another one, that
 * is compiled and no more, takes its place. */
static rlf_result
keep_last(profiler *p)
{
    if (!rlf_session_failed(p->of->calls.last))
        return RLF_RESULT_OK;
    rlf_session *s = open_next(p, 1);
    return s ? rlf_session_compile(s, false) : RLF_RESULT_MEMORY;
}

/* The session's profile and notes. */
static rlf_status
make_profile(const profiler *p, rlf_session *s, rlf_err *err)
{
    rlf_profile profile;
    rlf_buf text = {0};
    RLF_TRY(rlf_collector_profile(s->collector, s->calls.last, p->arena, err,
                                  &profile));
    int ranks = p->cuts[p->n_cuts - 1].ranks, reached;
    RLF_TRY(rlf_profile_links(ranks, fmax(LINKS, p->seconds / LINKS_PART),
                              s->calls.last->options.backend, p->arena, err,
                              &reached, &profile));
    rlf_profile_print(&profile, &text);
    s->calls.profile = rlf_arena_strdup(s->arena, text.p);
    rlf_buf_clear(&text);
    rlf_buf_printf(&text, "%d line%s of %s with %d core%s, %.1f s\n",
                   profile.n_lines, profile.n_lines == 1 ? "" : "s",
                   profile.machine, profile.cores,
                   profile.cores == 1 ? "" : "s", rlf_clock_since(p->begun));
    if (reached < ranks)
        rlf_buf_printf(&text,
                       "not measured in that time: sums of more than %d "
                       "ranks, which count like those\n",
                       reached);
    put_rest(p, &text);
    s->calls.profiled = rlf_arena_strdup(s->arena, text.p);
    rlf_buf_free(&text);
    return RLF_OK;
}

rlf_result
rlf_session_profile(rlf_session *s, rlf_watch_function *watch, void *arg)
{
    if (!rlf_call_begins(s, __func__, NULL))
        return rlf_session_status(s);
    rlf_program_forget(s);
    if (s->graph || s->calls.last)
        return rlf_call_refuse(
            s, s->graph ? "a profile is made of a session that was not compiled"
                        : "a session has one profile, and has it already");
    if (rlf_outputs_try(&s->outputs, &s->err) < 0)
        return rlf_session_status(s);
    profiler p = {.of = s,
                  .watch = watch,
                  .arg = arg,
                  .arena = rlf_arena_new(),
                  .begun = rlf_clock_now(),
                  .seconds = s->options.time_limit
                                 ? (double)s->options.time_limit
                                 : SECONDS};
    list_cuts(&p, s->options.ranks ? s->options.ranks : rlf_cores_count());
    s->collector = rlf_collector_new();
    locale_t before = rlf_locale_enter(s->locale);
    rlf_result result = measure_cuts(&p);
    if (result == RLF_RESULT_OK)
        result = keep_last(&p);
    if (result == RLF_RESULT_OK)
        result = rlf_session_result(make_profile(&p, s, &s->err));
    rlf_locale_leave(before);
    rlf_arena_free(p.arena);
    return result;
}

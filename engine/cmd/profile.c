/* rlflow profile: run the program for a few steps on 1, 2, 4... ranks of this
 * machine, its models cut in every way that so many ranks can have, and write
 * what its pieces took as a profile. */
#include "engine/cmd/inside.h"

#include "engine/api/profile.h"
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
    const rlf_command_line *line;
    rlf_collector *collector;
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
        if (g->resources.data[i].kind != RLF_RESOURCE_MODEL)
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
        uint32_t tokens = caps->tokens[RLF_USE_UPDATE] / 3;
        p->tokens[i] = (int)(tokens > caps->longest ? tokens : caps->longest);
    }
}

static bool
is_over(const profiler *p)
{
    return rlf_clock_since(p->begun) >= p->seconds;
}

/* Steps until it is sure, or its part of the time is over; once all of it is,
 * none after the one at hand, but that the first cut has something. The first
 * step is not counted: it touches all memory for the first time. */
static rlf_result
measure_steps(const profiler *p, rlf_session *s, uint64_t from, double share,
              cut *c)
{
    rlf_result result = RLF_RESULT_OK;
    int steps = 0;
    double doubt = 1;
    while (result == RLF_RESULT_OK && !rlf_session_over(s)) {
        result = rlf_session_step(s);
        rlf_collector_end(p->collector, rlf_run_threads(s->run),
                          steps++ > 0 && result == RLF_RESULT_OK);
        doubt = rlf_collector_doubt(p->collector);
        bool late = rlf_clock_since(from) > share;
        if (is_over(p) && (steps >= FEWEST_STEPS || c != p->cuts))
            break;
        if (steps >= (late ? FEWEST_STEPS : LEAST_STEPS) &&
            (late || doubt < SURE))
            break;
    }
    c->measured |= steps >= FEWEST_STEPS;
    rlf_cmd_aside("%d step%s, %.1f s", steps, steps == 1 ? "" : "s",
            rlf_clock_since(from));
    if (steps >= FEWEST_STEPS)
        rlf_cmd_aside(", sure within %.1f %%\n", 100 * doubt);
    else
        rlf_cmd_aside(", too few to be counted\n");
    return result;
}

static void
put_cut(const cut *c)
{
    rlf_cmd_aside("%d %s, tp %d, pp %d%s", c->ranks,
            c->ranks == 1 ? "rank" : "ranks", c->tp, c->pp,
            c->small   ? ", small micro-batches"
            : c->apart ? ", one replica"
                       : "");
}

/* What the time was too short for. */
static void
put_rest(const profiler *p)
{
    int rest = 0;
    for (int i = 0; i < p->n_cuts; i++)
        rest += !p->cuts[i].cannot && !p->cuts[i].measured;
    if (!rest)
        return;
    fflush(stdout);
    rlf_cmd_aside("not measured in %g s, %d of %d cuts (--time-limit has more "
            "time):\n",
            p->seconds, rest, p->n_cuts);
    for (int i = 0; i < p->n_cuts; i++) {
        if (p->cuts[i].cannot || p->cuts[i].measured)
            continue;
        rlf_cmd_aside("    ");
        put_cut(&p->cuts[i]);
        rlf_cmd_aside("\n");
    }
}

/* One cut after the other, and all once more if that took less than half of the
 * time. One that models cannot have is passed over; but the first cuts nothing,
 * so what is wrong there is wrong with the program. The last session stays
 * open, for its graph. */
static rlf_session *
measure_cuts(profiler *p, rlf_result *result, int *status)
{
    rlf_session *s = NULL;
    *result = RLF_RESULT_OK;
    for (int i = 0; i < PASSES * p->n_cuts; i++) {
        int left = p->n_cuts - i % p->n_cuts;
        uint64_t from = rlf_clock_now(); /* what opens it is of its part */
        double rest = p->seconds - rlf_clock_since(p->begun);
        cut *c = &p->cuts[i % p->n_cuts];
        if (i == p->n_cuts && rlf_clock_since(p->begun) > p->seconds / PASSES)
            break;
        if (i && is_over(p))
            break;
        if (c->cannot)
            continue;
        if (s) {
            s->collector = NULL;
            rlf_session_close(s);
        }
        if (!(s = rlf_cmd_session(p->line, status)))
            return NULL;
        s->options.ranks = c->ranks;
        s->collector = p->collector;
        *result = rlf_session_compile(s, false);
        if (*result == RLF_RESULT_OK) {
            place(p, s, c);
            *result = rlf_session_ready(s);
        }
        if (*result != RLF_RESULT_OK && i == 0)
            return s;
        put_cut(c);
        rlf_cmd_aside(": ");
        if (*result != RLF_RESULT_OK) {
            rlf_cmd_aside("cannot be: %s\n", s->err.sentence);
            c->cannot = true;
            *result = RLF_RESULT_OK;
            continue;
        }
        find_tokens(p, s);
        *result = measure_steps(p, s, from, rest / left, c);
        if (*result != RLF_RESULT_OK)
            return s;
    }
    return s;
}

static rlf_status
write_profile(const profiler *p, rlf_session *s, const char *path, rlf_err *err)
{
    rlf_profile profile;
    rlf_buf text = {0};
    RLF_TRY(rlf_collector_profile(p->collector, s, p->arena, err, &profile));
    RLF_TRY(rlf_profile_links(p->cuts[p->n_cuts - 1].ranks, s->options.backend,
                              p->arena, err, &profile));
    rlf_profile_print(&profile, &text);
    rlf_status status = RLF_OK;
    if (path)
        status = rlf_output_write(path, text.p, text.n, err);
    else
        fputs(text.p, stdout);
    rlf_buf_free(&text);
    rlf_cmd_aside("%d lines of %s with %d cores, %.1f s\n", profile.n_lines,
            profile.machine, profile.cores, rlf_clock_since(p->begun));
    put_rest(p);
    return status;
}

int
rlf_cmd_profile(const rlf_command_line *line)
{
    const rlf_option_value *o = line->options;
    rlf_result result;
    rlf_err err = RLF_ERR_NONE;
    int status = 0;
    if (rlf_cmd_outputs(line, &err) < 0) {
        rlf_cmd_say(&err, NULL);
        return rlf_cmd_status(rlf_session_result(err.status));
    }
    profiler p = {.line = line,
                  .collector = rlf_collector_new(),
                  .arena = rlf_arena_new(),
                  .begun = rlf_clock_now(),
                  .seconds = o[RLF_OPTION_TIME_LIMIT].given
                                 ? (double)o[RLF_OPTION_TIME_LIMIT].number
                                 : SECONDS};
    list_cuts(&p, o[RLF_OPTION_RANKS].text ? (int)o[RLF_OPTION_RANKS].number
                                           : rlf_cores_count());
    rlf_session *s = measure_cuts(&p, &result, &status);
    if (s && result == RLF_RESULT_OK)
        result = rlf_session_result(
            write_profile(&p, s, o[RLF_OPTION_TABLE].text, &s->err));
    if (s) {
        s->collector = NULL;
        status = rlf_cmd_end(s, result);
    }
    rlf_collector_free(p.collector);
    rlf_arena_free(p.arena);
    return status;
}

/* Samples that are gathered: see gather.h. */
#include "engine/search/gather.h"

#include <math.h>
#include <string.h>

#include "engine/search/placed.h"

enum { PARTS = RLF_CHOICE_PARTS };

/* It must save this part of the time, as in a run. */
#define WORTH 0.125

double
rlf_choice_beside(const rlf_choice *c, const rlf_choice *other)
{
    int first = other->first - c->first, end = first + other->count;
    int size = c->tp * c->pp;
    first = first < 0 ? 0 : first / size;
    end = end > c->count ? c->dp : (end + size - 1) / size;
    return end > first ? 1 - (double)(end - first) / c->dp : 1;
}

double
rlf_gather_leaves(const rlf_choice *reading, const rlf_choice *generation,
                  int on)
{
    int size = reading->tp * reading->pp;
    int ranks = on * generation->tp * generation->pp;
    double among = 1 - rlf_choice_beside(reading, generation);
    double blocked = (double)((ranks + size - 1) / size) / reading->dp;
    return 1 - rlf_smaller(among, blocked);
}

/* The work behind a generation, in seconds of its replicas. */
typedef struct after {
    double all;      /* of all samples */
    double part;     /* of the replicas' ranks, those that do it */
    double beside;   /* so many replicas more do it, and never sample */
    double together; /* replicas that do it together, at least 1 */
} after;

static after
look_after(const rlf_problem *p, const rlf_choice *const *at,
           const double *seconds, int k)
{
    const rlf_problem_call *calls = p->calls;
    const rlf_choice *g = at[k];
    int ranks = g->tp * g->pp;
    double all = 0, within = 0, beside = 0, most = 1;
    for (int i = k + 1; i < p->n_calls; i++) {
        if (!(calls[i].follows >> k & 1) || calls[i].ahead != calls[k].ahead)
            continue;
        const rlf_choice *c = at[i];
        double work = seconds[i] * c->count;
        double apart = rlf_choice_beside(c, g) * c->count;
        all += work;
        within += work * (c->count - apart);
        beside += work * apart;
        most = rlf_larger(most, (double)(c->tp * c->pp) / ranks);
    }
    if (!(all > 0))
        return (after){.together = 1};
    return (after){.all = all / ranks,
                   .part = within / all / g->count,
                   .beside = beside / all / ranks,
                   .together = most};
}

/* Seconds until all is made and read. */
static double
total(const after *a, const rlf_gather *gather, int replicas)
{
    double time = 0, done = 0, open = 0;
    if (gather->on)
        open = replicas - ceil(gather->on / a->together) * a->together;
    for (int i = 0; i < PARTS; i++) {
        double end = gather->complete[i] * gather->seconds;
        bool late = gather->on && end > gather->from;
        double readers =
            a->beside + (late && open >= a->together ? open * a->part : 0);
        done = rlf_smaller(done + readers * (end - time), a->all * i / PARTS);
        time = end;
    }
    double rest = a->all - done, all = replicas * a->part + a->beside;
    return rest > 0 && all > 0 ? time + rest / all : time;
}

/* All go on. */
static void
keep_all(const rlf_choice *at, double seconds, rlf_gather *out)
{
    *out = (rlf_gather){.seconds = seconds, .from = seconds};
    memcpy(out->complete, at->complete, sizeof out->complete);
}

/* With `parts` of the samples complete, on the replicas of list[i]. With few
 * pages all takes as much longer. */
static void
gather(const rlf_choice *at, double seconds, int i, int parts, rlf_gather *out)
{
    double end[PARTS], longer = seconds / at->seconds;
    for (int k = 0; k < PARTS; k++)
        end[k] = k < parts
                     ? at->complete[k] * seconds
                     : end[k - 1] + longer * at->gathers->list[i].seconds[k];
    out->on = at->gathers->list[i].on;
    out->seconds = end[PARTS - 1];
    out->from = end[parts - 1];
    for (int k = 0; k < PARTS; k++)
        out->complete[k] = end[k] / out->seconds;
}

void
rlf_gather_find(const rlf_problem *p, const rlf_choice *const *at,
                const double *seconds, int k, rlf_gather *out)
{
    const rlf_choice_gathers *g = at[k]->gathers;
    after a = look_after(p, at, seconds, k);
    keep_all(at[k], seconds[k], out);
    if (!(a.part > 0))
        return;
    double best = total(&a, out, at[k]->dp) * (1 - WORTH);
    bool forced = g->always;
    for (int i = 0; i < g->n; i++)
        for (int parts = g->list[i].first; parts <= g->list[i].last; parts++) {
            rlf_gather one;
            gather(at[k], seconds[k], i, parts, &one);
            double time = total(&a, &one, at[k]->dp);
            if (!forced && time >= best)
                continue;
            forced = false;
            best = time;
            *out = one;
        }
}

void
rlf_gather_soonest(const rlf_choice *at, double seconds, rlf_gather *out)
{
    const rlf_choice_gathers *g = at->gathers;
    keep_all(at, seconds, out);
    for (int i = 0; i < g->n; i++) {
        if (g->list[i].first > g->list[i].last)
            continue;
        out->on = g->list[i].on;
        double from = at->complete[g->list[i].first - 1] * seconds;
        out->from = rlf_smaller(out->from, from);
    }
}

double
rlf_gather_area(const rlf_choice *at, const rlf_choice_gathers *g)
{
    double least = at->seconds * at->count;
    int size = at->tp * at->pp;
    for (int i = 0; i < g->n; i++)
        for (int parts = g->list[i].first; parts <= g->list[i].last; parts++) {
            double area = at->complete[parts - 1] * at->seconds * at->count;
            for (int k = parts; k < RLF_CHOICE_PARTS; k++)
                area += g->list[i].seconds[k] * g->list[i].on * size;
            least = fmin(least, area);
        }
    return least;
}

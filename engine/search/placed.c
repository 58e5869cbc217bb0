/* The memory of a placement: see placed.h. */
#include "engine/search/placed.h"

#include <math.h>

void
rlf_placed_lay(const rlf_problem *p, const int *choice, rlf_placed *out)
{
    for (int k = 0; k < p->n_calls; k++) {
        const rlf_problem_call *call = &p->calls[k];
        const rlf_choice *c = choice[k] < 0 ? NULL : &call->choices[choice[k]];
        out->at[k] = c;
        out->kept[k] = c ? c->kept : 0;
        out->again[k] = false;
        for (int i = 0; c && i < k; i++)
            if (out->at[i] && out->at[i]->copy == c->copy &&
                p->calls[i].model == call->model)
                out->again[k] = true;
        if (out->again[k])
            out->kept[k] = 0;
    }
}

/* Bytes of the model's other copies on a rank that lie in what call i's choice
 * lends. */
static double
lent(const rlf_problem *p, const rlf_placed *l, int i, int rank)
{
    double others = 0;
    for (int k = 0; k < p->n_calls; k++)
        if (rlf_placed_has(l->at[k], rank) &&
            p->calls[k].model == p->calls[i].model &&
            l->at[k]->copy != l->at[i]->copy)
            others += l->kept[k];
    return rlf_smaller(others, l->at[i]->lends);
}

double
rlf_placed_used(const rlf_problem *p, const rlf_placed *l, int rank)
{
    double stays = 0, work = 0;
    for (int k = 0; k < p->n_calls; k++) {
        const rlf_choice *c = l->at[k];
        if (!rlf_placed_has(c, rank))
            continue;
        stays += c->own + l->kept[k];
        if (c->lends > 0)
            stays -= lent(p, l, k, rank);
        work = rlf_larger(work, c->work);
    }
    return stays + work;
}

/* Bytes that a host lacks for what is offloaded on a rank's machine. */
static double
host_over(const rlf_problem *p, const rlf_placed *l, int rank)
{
    int machine = p->machine_of[rank], first = rank, last = rank;
    double bytes = 0;
    while (first > 0 && p->machine_of[first - 1] == machine)
        first--;
    while (last + 1 < p->devices && p->machine_of[last + 1] == machine)
        last++;
    for (int k = 0; k < p->n_calls; k++) {
        const rlf_choice *c = l->at[k];
        if (!c || c->host <= 0 || l->again[k])
            continue;
        int from = c->first > first ? c->first : first;
        int to = c->first + c->count - 1;
        to = to < last ? to : last;
        bytes += to < from ? 0 : c->host * (to - from + 1);
    }
    return bytes - p->host[rank];
}

/* The most that a host lacks; `most` if that is more. */
static double
hosts_over(const rlf_problem *p, const rlf_placed *l, double most)
{
    for (int k = 0; k < p->n_calls; k++) {
        const rlf_choice *c = l->at[k];
        for (int r = 0; c && c->host > 0 && r < c->count; r++)
            if (!r ||
                p->machine_of[c->first + r] != p->machine_of[c->first + r - 1])
                most = rlf_larger(most, host_over(p, l, c->first + r));
    }
    return most;
}

double
rlf_placed_over(const rlf_problem *p, const rlf_placed *l)
{
    double most = -INFINITY;
    for (int i = 0; i < p->n_calls; i++)
        if (rlf_placed_begins(l, i)) {
            int rank = l->at[i]->first;
            most =
                rlf_larger(most, rlf_placed_used(p, l, rank) - p->memory[rank]);
        }
    return p->host ? hosts_over(p, l, most) : most;
}

/* Bytes that the memory of a rank leaves for the keys and values of a call's
 * choice: with others that generate there it has the same share, but for what
 * they have no use for (engine/plan/pools.h). */
static double
bytes_for(const rlf_problem *p, const rlf_placed *l, const rlf_choice *of,
          int rank)
{
    double left = p->memory[rank] - rlf_placed_used(p, l, rank), others = 0;
    int n = 0;
    for (int k = 0; k < p->n_calls; k++) {
        const rlf_choice *c = l->at[k];
        if (!rlf_placed_has(c, rank) || !c->pages)
            continue;
        left += c->pages->has;
        others += c == of ? 0 : c->pages->most;
        n++;
    }
    left = rlf_larger(left, 0); /* else it does not fit at all */
    return rlf_larger(left / n, left - others);
}

double
rlf_placed_pages(const rlf_problem *p, const rlf_placed *l, int i)
{
    const rlf_choice *c = l->at[i];
    double bytes = INFINITY;
    for (int k = 0; k < p->n_calls; k++)
        if (rlf_placed_begins(l, k) && rlf_placed_has(c, l->at[k]->first))
            bytes = rlf_smaller(bytes, bytes_for(p, l, c, l->at[k]->first));
    return bytes;
}

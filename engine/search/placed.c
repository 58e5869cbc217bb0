/* The memory of a placement: see placed.h. */
#include "engine/search/placed.h"

#include <limits.h>
#include <math.h>

/* The copy of a call's choice was kept by a call before. */
static bool
is_kept(const rlf_problem *p, const rlf_placed *l, int k)
{
    for (int i = 0; i < k; i++)
        if (l->copy[i] == l->copy[k] && p->calls[i].model == p->calls[k].model)
            return true;
    return false;
}

void
rlf_placed_lay(const rlf_problem *p, const int *choice, rlf_placed *out)
{
    int n = p->n_calls;
    out->begins = out->lends = out->hosted = out->staged = 0;
    for (int k = 0; k < n; k++) {
        const rlf_problem_call *call = &p->calls[k];
        const rlf_choice *c = choice[k] < 0 ? NULL : &call->choices[choice[k]];
        uint32_t bit = 1u << k;
        out->at[k] = c;
        out->first[k] = c ? c->first : INT_MAX;
        out->end[k] = c ? c->first + c->count : INT_MIN;
        out->copy[k] = c ? c->copy : -1 - k;
        out->again[k] = c && is_kept(p, out, k);
        out->kept[k] = c && !out->again[k] ? c->kept : 0;
        out->own[k] = c ? c->own : 0;
        out->work[k] = c ? c->work : 0;
        bool begins = c != NULL;
        for (int i = 0; i < k; i++)
            begins &= out->first[i] != out->first[k];
        out->begins |= begins ? bit : 0;
        out->lends |= c && c->lends > 0 ? bit : 0;
        out->hosted |= c && c->host > 0 ? bit : 0;
        out->staged |= c && c->stages ? bit : 0;
    }
    for (uint32_t of = out->begins; of; of &= of - 1) {
        int k = __builtin_ctz(of);
        out->used[k] = rlf_placed_used(p, out, out->first[k]);
    }
}

static bool
has(const rlf_placed *l, int k, int rank)
{
    return (rank >= l->first[k]) & (rank < l->end[k]);
}

/* Bytes of the model's other copies on a rank that lie in what call i's choice
 * lends, which is `lends`. */
static double
lent(const rlf_problem *p, const rlf_placed *l, int i, int rank, double lends)
{
    double others = 0;
    for (int k = 0; k < p->n_calls; k++)
        if (has(l, k, rank) && p->calls[k].model == p->calls[i].model &&
            l->copy[k] != l->copy[i])
            others += l->kept[k];
    return rlf_smaller(others, lends);
}

double
rlf_placed_used(const rlf_problem *p, const rlf_placed *l, int rank)
{
    double stays = 0, work = 0;
    for (int k = 0; k < p->n_calls; k++) {
        if (!has(l, k, rank))
            continue;
        stays += l->own[k] + l->kept[k];
        if (l->lends >> k & 1)
            stays -= lent(p, l, k, rank, l->at[k]->lends);
        work = rlf_larger(work, l->work[k]);
    }
    return stays + work;
}

/* The same, with each update counted by its stage there. */
static double
used_by_stage(const rlf_problem *p, const rlf_placed *l, int rank)
{
    double stays = 0, work = 0;
    for (int k = 0; k < p->n_calls; k++) {
        const rlf_choice *c = l->at[k];
        if (!has(l, k, rank))
            continue;
        rlf_choice_stage stage = {c->kept + c->own, c->lends};
        if (c->stages)
            stage = c->stages[(rank - c->first) / c->tp % c->pp];
        stays += l->kept[k] + stage.all - c->kept;
        if (stage.lends > 0)
            stays -= lent(p, l, k, rank, stage.lends);
        work = rlf_larger(work, l->work[k]);
    }
    return stays + work;
}

/* ---- ranks that differ ---- */

/* Up to `end` ranks have the same calls and as much memory; those from `last`
 * on have the same stages as some before. */
typedef struct alike {
    int last, end;
} alike;

static int
common_multiple(int a, int b)
{
    int x = a, y = b;
    while (y) {
        int rest = x % y;
        x = y;
        y = rest;
    }
    return a / x * b;
}

static alike
alike_from(const rlf_problem *p, const rlf_placed *l, int rank, int to)
{
    int end = to, period = 1;
    for (int k = 0; k < p->n_calls; k++) {
        end = l->first[k] > rank && l->first[k] < end ? l->first[k] : end;
        end = l->end[k] > rank && l->end[k] < end ? l->end[k] : end;
    }
    for (int r = rank + 1; r < end; r++)
        if (p->memory[r] != p->memory[rank])
            end = r;
    for (uint32_t of = l->staged; of && period < end - rank; of &= of - 1) {
        int k = __builtin_ctz(of);
        if (has(l, k, rank))
            period = common_multiple(period, l->at[k]->tp * l->at[k]->pp);
    }
    return (alike){rank + period < end ? rank + period : end, end};
}

/* The next rank on which a call has another stage. */
static int
next_stage(const rlf_placed *l, int rank, int last)
{
    for (uint32_t of = l->staged; of; of &= of - 1) {
        int k = __builtin_ctz(of);
        const rlf_choice *c = l->at[k];
        int next = rank + c->tp - (rank - c->first) % c->tp;
        last = has(l, k, rank) && next < last ? next : last;
    }
    return last;
}

/* The most bytes that a rank lacks so. The fullest stages of calls that share
 * ranks may be on different ones. */
static double
over_by_stage(const rlf_problem *p, const rlf_placed *l)
{
    double most = -INFINITY;
    alike a = {0};
    for (int rank = 0; rank < p->devices; rank = a.end) {
        a = alike_from(p, l, rank, p->devices);
        for (int r = rank; r < a.last; r = next_stage(l, r, a.last))
            most = rlf_larger(most, used_by_stage(p, l, r) - p->memory[r]);
    }
    return most;
}

/* Bytes that a host lacks for what is offloaded on a rank's machine. */
static double
host_over(const rlf_problem *p, const rlf_placed *l, int rank)
{
    int first = p->machine_from[rank], end = p->machine_to[rank];
    double bytes = 0;
    for (uint32_t of = l->hosted; of; of &= of - 1) {
        int k = __builtin_ctz(of);
        int from = l->first[k] > first ? l->first[k] : first;
        int to = l->end[k] < end ? l->end[k] : end;
        if (!l->again[k] && from < to)
            bytes += l->at[k]->host * (to - from);
    }
    return bytes - p->host[rank];
}

/* Has a call before call k ranks of that machine, too, and something in its
 * host? */
static bool
is_counted(const rlf_placed *l, int k, int first, int end)
{
    for (uint32_t of = l->hosted & ((1u << k) - 1); of; of &= of - 1) {
        int i = __builtin_ctz(of);
        if (l->first[i] < end && first < l->end[i])
            return true;
    }
    return false;
}

/* The most that a host lacks; `most` if that is more. */
static double
hosts_over(const rlf_problem *p, const rlf_placed *l, double most)
{
    for (uint32_t of = l->hosted; of; of &= of - 1) {
        int k = __builtin_ctz(of);
        for (int r = l->first[k]; r < l->end[k]; r = p->machine_to[r])
            if (!is_counted(l, k, p->machine_from[r], p->machine_to[r]))
                most = rlf_larger(most, host_over(p, l, r));
    }
    return most;
}

double
rlf_placed_over(const rlf_problem *p, const rlf_placed *l)
{
    double most = -INFINITY, far = -INFINITY;
    for (uint32_t of = l->begins; of; of &= of - 1) {
        int k = __builtin_ctz(of);
        double over = l->used[k] - p->memory[l->first[k]];
        most = rlf_larger(most, over);
        far = rlf_larger(far, over - rlf_placed_near(p, l->first[k]));
    }
    if (most > 0 && far <= 0)
        most = rlf_smaller(most, over_by_stage(p, l));
    return p->host ? hosts_over(p, l, most) : most;
}

/* Bytes that the memory of a rank, of which `used` are, leaves for the keys and
 * values of call `of`: with others that generate there it has the same share,
 * but for what they have no use for (engine/plan/pools.h). */
static double
bytes_for(const rlf_problem *p, const rlf_placed *l, int of, int rank,
          double used)
{
    double left = p->memory[rank] - used, others = 0;
    int n = 0;
    for (int k = 0; k < p->n_calls; k++) {
        const rlf_choice *c = l->at[k];
        if (!has(l, k, rank) || !c->pages)
            continue;
        left += c->pages->has;
        others += c == l->at[of] ? 0 : c->pages->most;
        n++;
    }
    left = rlf_larger(left, 0); /* else it does not fit at all */
    return rlf_larger(left / n, left - others);
}

/* Of all ranks of the call the fewest, with each update counted by its stage.
 */
static double
pages_by_stage(const rlf_problem *p, const rlf_placed *l, int i)
{
    double bytes = INFINITY;
    alike a = {0};
    for (int rank = l->first[i]; rank < l->end[i]; rank = a.end) {
        a = alike_from(p, l, rank, l->end[i]);
        for (int r = rank; r < a.last; r = next_stage(l, r, a.last))
            bytes = rlf_smaller(bytes,
                                bytes_for(p, l, i, r, used_by_stage(p, l, r)));
    }
    return bytes;
}

double
rlf_placed_pages(const rlf_problem *p, const rlf_placed *l, int i)
{
    double bytes = INFINITY;
    for (uint32_t of = l->begins; of; of &= of - 1) {
        int k = __builtin_ctz(of), rank = l->first[k];
        if (has(l, i, rank))
            bytes = rlf_smaller(bytes, bytes_for(p, l, i, rank, l->used[k]));
    }
    if (p->staged && bytes < l->at[i]->pages->need)
        bytes = rlf_larger(bytes, pages_by_stage(p, l, i));
    return bytes;
}

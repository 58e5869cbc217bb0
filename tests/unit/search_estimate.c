/* The period of a placement against a simulation rank by rank, and its bounds
 * against what they bound, on random problems. */
#include "engine/search/gather.h"
#include "tests/unit/search_problems.h"

/* ---- a simulation rank by rank ---- */

/* The work of a rank beside the first call, whose samples it reads: its
 * seconds, those of them that each piece takes again, the moments since when it
 * has time for it and when it is done, and the moment when all else that the
 * rank has is done. */
typedef struct beside {
    double load, anew, since, read, rest;
} beside;

/* The part of a choice's replicas that have no rank of another one. */
static double
part_beside(const rlf_choice *at, const rlf_choice *other)
{
    int n = 0, size = at->tp * at->pp;
    for (int replica = 0; replica < at->dp; replica++) {
        rlf_choice own = {.first = at->first + replica * size, .count = size};
        n += !rlf_choices_meet(&own, other);
    }
    return (double)n / at->dp;
}

/* Returns the moment at which ranks have read all samples of the first call,
 * which begins at `begin` and is over at `over`; until then the part `can` of
 * the ranks reads. A piece is all that became complete at one moment, and the
 * last piece is all that is left. */
static double
read_pieces(const rlf_choice *first, double begin, double over, double can,
            const beside *own)
{
    double fluid = (own->load - own->anew) / RLF_CHOICE_PARTS;
    double now = own->since, piece = 0;
    int read = 0;
    while (now < over) {
        int there = 0, at_once = 0;
        for (int part = 0; part < RLF_CHOICE_PARTS; part++) {
            double is = begin + first->complete[part] * (over - begin);
            there += first->complete[part] < 1 && is <= now;
            at_once += first->complete[part] == first->complete[read];
        }
        if (there > read) {
            piece = own->anew + at_once * fluid / can;
            now += piece;
            read += at_once;
        } else if (first->complete[read] < 1) {
            now = begin + first->complete[read] * (over - begin);
        } else {
            now = over;
        }
    }
    /* A rank that reads counts as if it had all of its piece still to do, and
     * so gets less of the rest; all wait until it is done. */
    double rest = own->anew + (RLF_CHOICE_PARTS - read) * fluid;
    double each = can < 1 && now > over ? rest + can * piece : rest;
    return now + each;
}

/* Call i on its ranks, which begins at `start` or later, but for the first,
 * which ends at `over`: parts of samples as they are there, until then by
 * replicas that make none. Above `waited` only by what pieces take again. */
static double
read_beside(const made *m, const int *choice, const double *took, int i,
            double start, double over, double waited, beside *ranks)
{
    const rlf_choice *first = &m->calls[0].choices[choice[0]];
    const rlf_choice *at = &m->calls[i].choices[choice[i]];
    beside own = {.since = start};
    for (int r = at->first; r < at->first + at->count; r++) {
        own.since = fmax(own.since, fmax(ranks[r].rest, ranks[r].since));
        own.load = fmax(own.load, ranks[r].load);
        own.anew = fmax(own.anew, ranks[r].anew);
    }
    own.load += took[i];
    own.anew += at->anew;
    double end =
        read_pieces(first, over - took[0], over, part_beside(at, first), &own);
    for (int r = at->first; r < at->first + at->count; r++) {
        own.rest = ranks[r].rest;
        ranks[r] = own;
    }
    return fmin(end, waited + (RLF_CHOICE_PARTS - 1) * own.anew);
}

/* Returns the memory that the calls on a rank leave it, before keys and values;
 * weights of one model that are cut alike on the same ranks lie there once. */
static double
left_on(const made *m, const int *choice, int rank)
{
    double left = m->memory[rank], work = 0;
    for (int i = 0; i < m->problem.n_calls; i++) {
        const rlf_choice *c = &m->calls[i].choices[choice[i]];
        bool known = false;
        if (rank < c->first || rank >= c->first + c->count)
            continue;
        for (int k = 0; k < i; k++) {
            const rlf_choice *o = &m->calls[k].choices[choice[k]];
            known |= m->calls[k].model == m->calls[i].model &&
                     o->first == c->first && o->count == c->count &&
                     o->tp == c->tp && o->pp == c->pp;
        }
        left -= (known ? 0 : c->kept) + c->own;
        left += c->pages ? c->pages->has : 0;
        work = fmax(work, c->work);
    }
    return left - work;
}

/* A generation has the pages of the rank with the fewest: two have a half each,
 * or what the other has no use for. */
static double
seconds_of(const made *m, const int *choice, int i)
{
    const rlf_choice *c = &m->calls[i].choices[choice[i]];
    double least = INFINITY;
    for (int r = c->first; r < c->first + c->count && c->pages; r++) {
        double left = left_on(m, choice, r), bytes = left;
        for (int k = 0; k < m->problem.n_calls; k++) {
            const rlf_choice *o = &m->calls[k].choices[choice[k]];
            if (k != i && o->pages && r >= o->first && r < o->first + o->count)
                bytes = fmax(left / 2, left - o->pages->most);
        }
        least = fmin(least, bytes);
    }
    return c->pages ? rlf_choice_paged(c, least) : c->seconds;
}

static bool
lies_on(const rlf_choice *c, int rank)
{
    return rank >= c->first && rank < c->first + c->count;
}

static bool
cut_alike(const rlf_choice *a, const rlf_choice *b)
{
    return a->first == b->first && a->count == b->count && a->tp == b->tp &&
           a->pp == b->pp;
}

/* Do the ranks of `part` have the same parts of the model from `whole`, in the
 * same groups? Not where `whole` is cut into fewer parts on the ranks that
 * train it: then its parts are made of those. */
static bool
has_all(const rlf_choice *whole, const rlf_choice *part,
        const rlf_choice *trained)
{
    int group = whole->tp * whole->pp;
    bool same_ranks =
        whole->first == trained->first && whole->count == trained->count;
    if (same_ranks && !cut_alike(whole, trained) && group > 1 &&
        trained->tp % whole->tp == 0 && trained->pp % whole->pp == 0)
        return false;
    if (whole->tp != part->tp || whole->pp != part->pp)
        return false;
    for (int g = part->first; g < part->first + part->count; g += group) {
        bool is_group = false;
        for (int w = whole->first; w < whole->first + whole->count; w += group)
            is_group |= w == g;
        if (!is_group)
            return false;
    }
    return true;
}

/* The calls of the sum's other model whose copy has what the sum needs, and the
 * first of them since the model was trained; -1: the sum has a copy of its own.
 */
static int
shared_copy(const made *m, const int *choice, int *first)
{
    int other = __builtin_ctz(m->sum.lent), n = m->problem.n_calls, copy = -1;
    const rlf_choice *at = &m->calls[m->sum.at].choices[choice[m->sum.at]];
    const rlf_choice *from = &m->calls[other].choices[choice[other]];
    *first = -1;
    for (int i = 0; i < n && copy < 0; i++)
        if (m->calls[i].model == m->calls[other].model && i != other &&
            has_all(&m->calls[i].choices[choice[i]], at, from))
            copy = i;
    for (int back = 0; back < 3 * n && copy >= 0 && *first < 0; back++) {
        /* what is left of a step, what is ahead in the next, the rest of it */
        int i = back % n, part = back / n;
        bool now = part == 0   ? i > other && !m->calls[i].ahead
                   : part == 1 ? m->calls[i].ahead > 0
                               : i < other && !m->calls[i].ahead;
        if (now && m->calls[i].model == m->calls[other].model &&
            has_all(&m->calls[copy].choices[choice[copy]],
                    &m->calls[i].choices[choice[i]], from))
            *first = i;
    }
    return copy;
}

/* Is the shared copy as new as the model when the sum reads it? */
static bool
is_read_before(const made *m, int first)
{
    int other = __builtin_ctz(m->sum.lent), after = m->sum.after;
    bool ahead = m->calls[first].ahead > 0;
    bool same_step = !ahead && first > other;
    return after >= other ? same_step && first <= after
                          : same_step || ahead || first <= after;
}

/* The sum, of which `end` are the ends of the step's calls: when it is over. */
static double
simulate_sum(const made *m, const int *choice, const double *end, double begin,
             double *free_at, double *others, beside *ranks)
{
    int other = __builtin_ctz(m->sum.lent);
    const rlf_choice *at = &m->calls[m->sum.at].choices[choice[m->sum.at]];
    const rlf_choice *from = &m->calls[other].choices[choice[other]];
    int first, copy = shared_copy(m, choice, &first);
    const rlf_choice *to =
        copy < 0 ? at : &m->calls[copy].choices[choice[copy]];
    bool moved = !cut_alike(to, from) &&
                 m->calls[other].kind == RLF_STAGE_UPDATE &&
                 (copy < 0 || !is_read_before(m, first));
    double start = begin, seconds = at->model_sum;
    if (moved)
        seconds += move_model(m, m->calls[other].model, from, to);
    for (int k = 0; k < m->problem.n_calls; k++)
        if (m->sum.needs >> k & 1)
            start = fmax(start, end[k]);
    for (int r = 0; r < m->problem.devices; r++)
        if (lies_on(at, r) || (moved && (lies_on(from, r) || lies_on(to, r))))
            start = fmax(start, free_at[r]);
    start += m->sum.share * seconds;
    for (int r = 0; r < m->problem.devices; r++)
        if (lies_on(at, r) || (moved && (lies_on(from, r) || lies_on(to, r))))
            ranks[r].rest = free_at[r] = others[r] = start;
    return start;
}

/* The time from one step to the next, over many steps, where every rank keeps
 * the time at which it is free, and so do generations, of which there is one at
 * a time. Step s runs what is made ahead for s + ahead, then what is its own.
 */
static double
simulate(const made *m, const int *choice)
{
    enum { STEPS = 600, AHEAD = 4 };
    static double end[STEPS + AHEAD][MOST_CALLS];
    double free_at[MOST_DEVICES] = {0}, generated = 0, begin = 0, half = 0;
    double others[MOST_DEVICES] = {0}; /* all but the first call */
    const rlf_choice *first = &m->calls[0].choices[choice[0]];
    bool gradual = first->complete[0] > 0 && !m->calls[0].ahead;
    const rlf_problem_call *calls = m->calls;
    double took[MOST_CALLS], made_ahead = 0, paused = 0;
    int n = m->problem.n_calls;
    memset(end, 0, sizeof end);
    for (int i = 0; i < n; i++)
        took[i] = seconds_of(m, choice, i);
    for (int s = 0; s < STEPS; s++) {
        beside ranks[MOST_DEVICES] = {{0}};
        for (int r = 0; r < m->problem.devices; r++)
            ranks[r].rest = free_at[r];
        if (s == STEPS / 2)
            half = begin;
        double summed = 0;
        for (int turn = 0; turn < 2 * n; turn++) {
            int i = turn % n;
            if (m->problem.n_model_sums && turn >= n && m->sum.after == i - 1)
                summed = simulate_sum(m, choice, end[s], begin, free_at, others,
                                      ranks);
            if ((calls[i].ahead > 0) != (turn < n))
                continue;
            const rlf_choice *at = &calls[i].choices[choice[i]];
            double start = begin;
            int source = -1;
            for (int back = 1; back <= n && source < 0; back++) {
                int k = (i - back + n) % n;
                if (calls[k].kind == RLF_STAGE_UPDATE &&
                    calls[k].model == calls[i].model)
                    source = k;
            }
            if (source >= 0 && source < i && !calls[i].ahead)
                start = fmax(start, end[s][source]);
            int made_by = source; /* where weights change, and after which */
            if (source < 0 && m->problem.n_model_sums &&
                m->sum.model == calls[i].model) {
                made_by = m->sum.after;
                source = m->sum.at;
            }
            const rlf_choice *from =
                source < 0 ? at : &calls[source].choices[choice[source]];
            bool moved = from->first != at->first || from->count != at->count ||
                         from->tp != at->tp || from->pp != at->pp;
            for (int k = 0; k < i && source >= 0; k++) {
                const rlf_choice *c = &calls[k].choices[choice[k]];
                bool as_old = calls[k].model == calls[i].model &&
                              calls[k].ahead == calls[i].ahead &&
                              (k > made_by) == (i > made_by);
                moved &= !(as_old && c->first == at->first &&
                           c->count == at->count && c->tp == at->tp &&
                           c->pp == at->pp);
            }
            bool follows =
                gradual && calls[i].follows && part_beside(at, first) > 0;
            double share = 1; /* of steps that bring it its weights */
            int reader = -1, copy = -1;
            const rlf_choice *to = at; /* all of a copy that a sum shares */
            if (m->problem.n_model_sums)
                copy = shared_copy(m, choice, &reader);
            if (copy >= 0 && reader == i &&
                calls[__builtin_ctz(m->sum.lent)].kind == RLF_STAGE_UPDATE) {
                to = &calls[copy].choices[choice[copy]];
                share = is_read_before(m, reader) ? 1 : 1 - m->sum.share;
            }
            if (moved && share > 0) {
                double seconds =
                    share * move_model(m, calls[i].model, from, to);
                bool stops = false; /* samplers, between two turns */
                bool aside = calls[0].ahead && !calls[i].ahead &&
                             calls[0].kind == RLF_STAGE_GENERATE &&
                             calls[i].kind == RLF_STAGE_READ &&
                             part_beside(at, first) < 1;
                for (int k = 0; k < n; k++) /* ranks that train wait */
                    aside &=
                        calls[k].kind != RLF_STAGE_UPDATE ||
                        !rlf_choices_meet(&calls[k].choices[choice[k]], first);
                for (int k = 0; k < calls[i].n_needs; k++) {
                    int need = calls[i].needs[k];
                    double over = end[s + calls[i].ahead][need];
                    if (follows && !need)
                        over -= took[0] * (1 - first->complete[0]);
                    if (calls[need].ahead == calls[i].ahead)
                        start = fmax(start, over);
                }
                for (int r = 0; r < m->problem.devices; r++) {
                    if (!lies_on(at, r) && !lies_on(from, r))
                        continue;
                    start = fmax(start, follows ? ranks[r].rest
                                        : aside ? others[r]
                                                : free_at[r]);
                    stops |= (follows || aside) && lies_on(first, r);
                }
                int its = s + calls[0].ahead;
                stops &= follows || end[its][0] > start;
                start += seconds;
                for (int r = 0; r < m->problem.devices; r++)
                    if (lies_on(at, r) || lies_on(from, r)) {
                        ranks[r].rest = others[r] = start;
                        free_at[r] = fmax(free_at[r], start);
                    }
                double longer =
                    aside ? fmax(0, start - fmax(start - seconds, paused))
                          : seconds;
                end[its][0] += stops ? longer : 0;
                if (aside && stops)
                    paused = fmax(paused, start);
                made_ahead = aside ? end[its][0] : made_ahead;
                generated = fmax(generated, stops ? end[its][0] : 0);
                for (int r = 0; r < m->problem.devices && stops; r++)
                    if (lies_on(first, r))
                        free_at[r] = fmax(free_at[r], end[its][0]);
            }
            double sooner = start;
            int own = s + calls[i].ahead;
            for (int k = 0; k < calls[i].n_needs; k++) {
                start = fmax(start, end[own][calls[i].needs[k]]);
                if (calls[i].needs[k])
                    sooner = fmax(sooner, end[own][calls[i].needs[k]]);
            }
            double part = part_beside(at, first);
            bool apart = calls[0].ahead && !calls[i].ahead &&
                         calls[0].kind == RLF_STAGE_GENERATE &&
                         calls[i].kind == RLF_STAGE_READ && part < 1;
            for (int r = at->first; r < at->first + at->count; r++)
                start = fmax(start, apart ? others[r] : free_at[r]);
            if (calls[i].kind == RLF_STAGE_GENERATE)
                start = fmax(start, generated);
            end[own][i] = start + took[i];
            if (apart && part > 0 && start < made_ahead)
                end[own][i] = start + took[i] / part;
            if (apart && part <= 0 && start < made_ahead) {
                double until = start + took[i];
                end[s + calls[0].ahead][0] +=
                    fmax(0, until - fmax(start, paused));
                paused = fmax(paused, until);
                made_ahead = end[s + calls[0].ahead][0];
                generated = fmax(generated, made_ahead);
                for (int r = 0; r < m->problem.devices; r++)
                    if (lies_on(first, r))
                        free_at[r] = fmax(free_at[r], made_ahead);
            }
            if (follows)
                end[own][i] = read_beside(m, choice, took, i, sooner,
                                          end[own][0], end[own][i], ranks);
            if (calls[i].kind == RLF_STAGE_GENERATE)
                generated = end[own][i];
            made_ahead = i ? made_ahead : end[own][0];
            for (int r = at->first; r < at->first + at->count; r++) {
                free_at[r] = fmax(free_at[r], end[own][i]);
                others[r] = i ? fmax(others[r], end[own][i]) : others[r];
                if (follows)
                    ranks[r].read = end[own][i];
                else if (i)
                    ranks[r].rest = end[own][i];
            }
        }
        if (m->problem.n_model_sums && m->sum.after == n - 1)
            summed =
                simulate_sum(m, choice, end[s], begin, free_at, others, ranks);
        for (int i = 0; i < n; i++)
            begin = fmax(begin, end[s + (calls[i].ahead > 0)][i]);
        begin = fmax(begin, summed);
    }
    return (begin - half) / (STEPS - STEPS / 2);
}

static void
draw(const made *m, chance *c, int *choice)
{
    for (int i = 0; i < m->problem.n_calls; i++)
        choice[i] = below(c, m->calls[i].n_choices);
}

/* The bounds for all choices of a call on its ranks hold for the choice that it
 * has. */
static bool
is_beside(const made *m, const rlf_estimator *e, const int *choice,
          double period)
{
    bool good = true;
    for (int i = 0; i < m->problem.n_calls; i++) {
        const rlf_choice *at = &m->calls[i].choices[choice[i]];
        rlf_others others;
        rlf_around b;
        rlf_estimate_others(e, choice, i, &others);
        rlf_estimate_beside(e, &others, at->first, at->count, &b);
        double over = rlf_estimate_least_over(e, &others, at, &b);
        good &= b.seconds + at->seconds <= period * (1 + 1e-9) &&
                over <= rlf_estimate_over(e, choice) + 1e-9;
    }
    return good;
}

/* Asked for no more than a limit, the period is the same, or longer than that.
 */
static bool
is_limited(rlf_estimator *e, const int *choice, double period)
{
    static const double parts[] = {0.2, 0.5, 0.9, 0.99, 1, 1.01, INFINITY};
    double over = rlf_estimate_over(e, choice);
    bool good = true;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        double limit = parts[i] * period;
        good &= parts[i] < 1 || !rlf_estimate_is_longer(e, choice, limit);
        good &= rlf_estimate_lay(e, choice) == over;
        double one = rlf_estimate_laid(e, limit);
        good &= parts[i] < 1 ? one > limit : one == period;
    }
    return good;
}

/* A generation whose last samples may be gathered, where turns then take
 * longer.
 */
static void
add_gathers(made *m, uint32_t number, rlf_arena *arena)
{
    chance c = {.key = {.seed = 16, .site = number}};
    rlf_problem_call *first = &m->calls[0];
    for (int i = 0; i < first->n_choices && !first->ahead; i++) {
        rlf_choice *at = &first->choices[i];
        rlf_choice_gathers *g = RLF_NEW(arena, rlf_choice_gathers);
        if (first->kind != RLF_STAGE_GENERATE || at->complete[0] <= 0)
            return;
        for (int on = at->dp / 2; on; on /= 2, g->n++) {
            double longer = 1 + 0.4 * uniform(&c), before = 0;
            g->list[g->n].on = on;
            g->list[g->n].first = 1 + below(&c, 3);
            g->list[g->n].last = RLF_CHOICE_PARTS - 1;
            for (int k = 0; k < RLF_CHOICE_PARTS; k++) {
                double part = at->complete[k] - before;
                g->list[g->n].seconds[k] = longer * part * at->seconds;
                before = at->complete[k];
            }
        }
        g->area = rlf_gather_area(at, g);
        at->gathers = g->n ? g : NULL;
    }
}

/* A run may gather samples: what is known of some of the choices still holds.
 */
static void
test_gathers(void)
{
    int above = 0, odd = 0, less = 0, longer = 0, gathered = 0, unlimited = 0;
    for (uint32_t number = 1; number < 80; number += 2) {
        rlf_arena *arena = rlf_arena_new();
        made m;
        make(&m, 8, 3 + (int)number % 4, number, arena);
        rlf_estimator *without = rlf_estimator_new(&m.problem, arena);
        chance c = {.key = {.seed = 17, .site = number}};
        for (int trial = 0; trial < 100; trial++) {
            int choice[MOST_CALLS], part[MOST_CALLS];
            draw(&m, &c, choice);
            for (int i = 0; i < m.problem.n_calls; i++)
                part[i] = below(&c, 2) ? choice[i] : -1;
            for (int i = 0; i < m.calls[0].n_choices; i++)
                m.calls[0].choices[i].gathers = NULL;
            double still = rlf_estimate_period(without, choice);
            add_gathers(&m, number, arena);
            rlf_estimator *e = rlf_estimator_new(&m.problem, arena);
            double period = rlf_estimate_period(e, choice);
            double whole = rlf_estimate_bound(e, choice);
            gathered += fabs(still - period) > 1e-9 * period;
            longer += period > 1.2 * still;
            less += !is_beside(&m, e, choice, period);
            unlimited += !is_limited(e, choice, period);
            above += whole > period * (1 + 1e-12);
            odd += rlf_estimate_bound(e, part) > whole * (1 + 1e-12);
        }
        rlf_arena_free(arena);
    }
    ok(gathered > 50, "samples are gathered in %d placements", gathered);
    is_int(above, 0, "a bound of all choices is not above the period");
    is_int(odd, 0, "a bound of some choices is not above that of all");
    is_int(less, 0, "what is said of a call's ranks holds of its choice there");
    is_int(unlimited, 0, "nor is a period longer where a limit is asked for");
    is_int(longer, 0, "a step takes little longer for it where that was wrong");
}

/* Half of the ends as given, half as they come: with one rank all calls are one
 * after another. */
static void
test_estimate(void)
{
    int wrong = 0, above = 0, odd = 0, over = 0, lower = 0, far = 0, less = 0;
    int unlimited = 0;
    double worst = 0;
    for (uint32_t number = 0; number < 40; number++) {
        rlf_arena *arena = rlf_arena_new();
        made m;
        make(&m, 8, 3 + (int)number % 4, number, arena);
        rlf_estimator *e = rlf_estimator_new(&m.problem, arena);
        chance c = {.key = {.seed = 13, .site = number}};
        for (int trial = 0; trial < 100; trial++) {
            int choice[MOST_CALLS], part[MOST_CALLS];
            draw(&m, &c, choice);
            double period = rlf_estimate_period(e, choice);
            double real = simulate(&m, choice);
            double off = fabs(period - real) / real;
            worst = fmax(worst, off);
            wrong += off > 1e-9;
            less += !is_beside(&m, e, choice, period);
            unlimited += !is_limited(e, choice, period);
            double whole = rlf_estimate_bound(e, choice);
            above += whole > period * (1 + 1e-12);
            lower += whole < period * (1 - 1e-9) && m.calls[0].ahead <= 1;
            far += m.calls[0].ahead > 1;
            for (int i = 0; i < m.problem.n_calls; i++)
                part[i] = below(&c, 2) ? choice[i] : -1;
            odd += rlf_estimate_bound(e, part) > whole * (1 + 1e-12);
            over += rlf_estimate_over(e, part) >
                    rlf_estimate_over(e, choice) + 1e-9;
        }
        rlf_arena_free(arena);
    }
    is_int(wrong, 0, "the period is that of a simulation rank by rank");
    printf("# worst %.3g\n", worst);
    is_int(above, 0, "a bound of all choices is not above the period");
    is_int(lower, 0, "and is it where nothing is made more than a step ahead");
    ok(far > 100, "... which %d are", far);
    is_int(odd, 0, "a bound of some choices is not above that of all");
    is_int(over, 0, "some choices take no more memory than all");
    is_int(less, 0, "what is said of a call's ranks holds of its choice there");
    is_int(unlimited, 0, "a period below a limit is the same, another above it");
}

/* ---- gathered samples ---- */

/* A generation of 8 s on 8 ranks and a reading of 4 s there. From the moment on
 * at which an eighth is complete half of the ranks can make the rest, in
 * `eighth` seconds an eighth, while the others read an eighth a second. */
static double
gather_by_hand(double eighth, bool always)
{
    static const double memory[8] = {9, 9, 9, 9, 9, 9, 9, 9};
    static const int first[] = {0};
    rlf_arena *arena = rlf_arena_new();
    rlf_choice_gathers gathers = {
        .n = 1, .list = {{.on = 4, .first = 1, .last = 7}}, .always = always};
    rlf_choice choices[2] = {{.count = 8, .tp = 1, .pp = 1, .dp = 8}};
    choices[1] = choices[0];
    choices[0].seconds = 8;
    choices[1].seconds = 4;
    for (int k = 0; k < RLF_CHOICE_PARTS; k++) {
        choices[0].complete[k] = (k + 1.0) / RLF_CHOICE_PARTS;
        gathers.list[0].seconds[k] = eighth;
    }
    gathers.area = rlf_gather_area(&choices[0], &gathers);
    choices[0].gathers = &gathers;
    rlf_problem_call calls[2] = {
        {.name = "generate", .choices = &choices[0], .n_choices = 1},
        {.name = "read",
         .kind = RLF_STAGE_READ,
         .model = 1,
         .needs = first,
         .n_needs = 1,
         .follows = 1,
         .choices = &choices[1],
         .n_choices = 1}};
    rlf_problem problem = {
        .calls = calls, .n_calls = 2, .devices = 8, .memory = memory};
    rlf_err err = RLF_ERR_NONE;
    if (rlf_problem_close(&problem, arena, &err))
        bail("%s", err.sentence);
    const int choice[2] = {0};
    double period =
        rlf_estimate_period(rlf_estimator_new(&problem, arena), choice);
    rlf_arena_free(arena);
    return period;
}

static void
test_gathers_by_hand(void)
{
    near(gather_by_hand(1, false), 8.5, 1e-9,
         "half of the ranks read while the others make the last samples");
    near(gather_by_hand(1.5, false), 12, 1e-9,
         "not where turns become as much longer");
    near(gather_by_hand(3, true), 12.5, 1e-9,
         "... unless the program says when: then when it is least");
}

int
main(void)
{
    test_estimate();
    test_gathers();
    test_gathers_by_hand();
    return done();
}

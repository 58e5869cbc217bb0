/* What is found with less: see search.h.
 *
 * The same walk is made on each number of ranks and in each memory of a list,
 * from what those before it found, and none of them knows how much more there
 * is. So with more memory or more ranks what was found with less is found, and
 * more; of all that the best is taken that fits. */
#include "engine/search/less.h"

#include <limits.h>
#include <math.h>
#include <string.h>

/* Machines of which any number is a size; of more, and of devices of a machine,
 * powers of two and three times these; of more than ROUND machines powers of
 * two. */
enum { MACHINES = 8, ROUND = 32 };
/* On more ranks than MANY walks are on no less than that part of all. */
enum { MANY = RLF_LESS_MANY, LEAST_PART = 16 };

/* ---- sizes ---- */

static bool
is_round(int n)
{
    int odd = n / (n & -n);
    return odd == 1 || odd == 3;
}

/* Are the first ranks a part of a machine, or so many whole machines, that they
 * are a size of every cluster of more? */
static bool
is_size(const rlf_problem *p, int ranks)
{
    const int *machine = p->machine_of;
    if (p->devices > MANY && ranks < p->devices / LEAST_PART)
        return false;
    if (!machine || machine[ranks - 1] == machine[0])
        return is_round(ranks);
    int n = machine[ranks] - machine[0];
    return machine[ranks] != machine[ranks - 1] &&
           (n <= MACHINES || (n <= ROUND ? is_round(n) : !(n & (n - 1))));
}

int
rlf_less_sizes(const rlf_problem *problem, int sizes[RLF_LESS_SIZES])
{
    int n = 0;
    for (int ranks = problem->devices - 1; ranks > 0 && n < RLF_LESS_SIZES - 1;
         ranks--)
        if (is_size(problem, ranks))
            sizes[n++] = ranks;
    for (int i = 0; i < n / 2; i++) {
        int other = sizes[i];
        sizes[i] = sizes[n - 1 - i];
        sizes[n - 1 - i] = other;
    }
    sizes[n++] = problem->devices;
    return n;
}

/* ---- memories ---- */

/* Of a power of two of GB; memories that devices have are among them: 141 GB,
 * as much as 80 or 96. */
static const double parts[] = {1, 141.0 / 128, 1.25, 1.5};
enum { PARTS_OF_TWO = sizeof parts / sizeof *parts, MANY_PART = 2 };

double
rlf_less_level(int k)
{
    if (k == INT_MAX)
        return INFINITY;

    int octave =
        k >= 0 ? k / PARTS_OF_TWO : -((PARTS_OF_TWO - 1 - k) / PARTS_OF_TWO);
    return ldexp(1e9 * parts[k - octave * PARTS_OF_TWO], octave);
}

int
rlf_less_level_of(double bytes)
{
    if (!isfinite(bytes))
        return INT_MAX;
    int k = (int)floor(log2(fmax(bytes, 1e-9) / 1e9)) * PARTS_OF_TWO;
    while (rlf_less_level(k) < bytes)
        k++;
    return k;
}

/* ---- the walks ---- */

enum {
    RESTARTS = 3,
    EACH = 16,   /* moves of a walk for each of its choices, at most */
    LEVELS = 24, /* below the memory with which no placement waits */
    SLACKS = RLF_LESS_SLACKS,
};

typedef struct chain {
    const rlf_problem *whole;
    rlf_problem problem; /* the whole, with `memory` */
    rlf_search_options options;
    rlf_arena *arena, *scratch;
    rlf_estimator *e;
    int64_t moves;  /* of a walk, at most */
    double *memory; /* of the walk at hand */
    double most;    /* of a device, that there is */
    double *least;  /* per size: bytes that each of its ranks holds at least */
    rlf_search_scope scope;
    const rlf_search_options *asked; /* who looks on */
    double best; /* period of the shortest so far that surely fits */
    rlf_less *out;
} chain;

static bool
stop(void *arg, double period, double bound)
{
    const chain *c = arg;
    (void)period;
    return c->asked->stop(c->asked->arg, c->best, bound);
}

static double
most_memory(const rlf_problem *p)
{
    double most = 0;
    for (int r = 0; r < p->devices; r++)
        most = fmax(most, p->memory[r]);
    return most;
}

/* The device with most has so much, others as much less as they have. */
static void
set_memory(chain *c, double level)
{
    int most = rlf_less_level_of(c->most);
    for (int r = 0; r < c->whole->devices; r++) {
        double has = c->whole->memory[r];
        bool same = r && has == c->whole->memory[r - 1];
        int k = same ? 0 : rlf_less_level_of(has);
        c->memory[r] = same ? c->memory[r - 1]
                       : k == most
                           ? level
                           : level * rlf_less_level(k) / rlf_less_level(most);
    }
}

/* The choices on the first ranks. False: a call has none. */
static bool
set_scope(chain *c, int ranks)
{
    bool any = true;
    c->scope.ranks = ranks;
    c->scope.restarts = RESTARTS;
    c->scope.rounds = ranks <= MANY;
    for (int i = 0; i < c->whole->n_calls; i++) {
        const rlf_problem_call *call = &c->whole->calls[i];
        int n = 0;
        for (int k = 0; k < call->n_choices; k++)
            if (call->choices[k].first + call->choices[k].count <= ranks)
                c->scope.choices[i][n++] = k;
        c->scope.n[i] = n;
        any &= n > 0;
    }
    return any;
}

/* What was found where the device with most has so much. */
static void
add(chain *c, double memory, const rlf_placing *at)
{
    size_t n = (size_t)c->whole->n_calls;
    if (!isfinite(at->period))
        return;
    if (memory + at->over <= c->most)
        c->best = fmin(c->best, at->period);
    for (size_t i = 0; i < c->out->list.count; i++)
        if (memcmp(c->out->list.data[i], at->choice, n * sizeof(int)) == 0)
            return;
    int *choice = RLF_NEW_ARRAY(c->arena, int, n);
    memcpy(choice, at->choice, n * sizeof *choice);
    RLF_PUSH_IN(c->arena, &c->out->list, choice);
}

/* Bytes that each of the scope's ranks holds at least. */
static double
least_bytes(const chain *c)
{
    const rlf_problem *p = c->whole;
    double sum = 0;
    for (int model = 0; model < p->n_models; model++) {
        double most = 0;
        for (int i = 0; i < p->n_calls; i++) {
            double least = INFINITY;
            for (int k = 0; k < c->scope.n[i]; k++) {
                const rlf_choice *at =
                    &p->calls[i].choices[c->scope.choices[i][k]];
                least = fmin(least, (at->kept + at->own) * at->count);
            }
            if (p->calls[i].model == model)
                most = fmax(most, least);
        }
        sum += most;
    }
    return sum / c->scope.ranks;
}

/* Bytes with which no sample of a placement waits. */
static double
wanted(const rlf_problem *p, const int *choice)
{
    rlf_placed l;
    double most = 0;
    rlf_placed_lay(p, choice, &l);
    for (int i = 0; i < p->n_calls; i++) {
        if (!rlf_placed_begins(&l, i))
            continue;
        double bytes = rlf_placed_used(p, &l, l.at[i]->first);
        for (int k = 0; k < p->n_calls; k++)
            if (rlf_placed_has(l.at[k], l.at[i]->first) && l.at[k]->pages)
                bytes += l.at[k]->pages->most - l.at[k]->pages->has;
        most = fmax(most, bytes);
    }
    return most;
}

/* With a part less memory than a level, from what the walk saw that needs no
 * more, or what was found for the level before. */
static void
descend_below(chain *c, double memory, const rlf_placing *seen,
              const rlf_placing *before)
{
    rlf_placing at = {.choice =
                          RLF_NEW_ARRAY(c->scratch, int, c->whole->n_calls)};
    set_memory(c, memory);
    const rlf_placing *from[] = {seen, before};
    for (int i = 0; i < 2; i++) {
        if (!from[i] || !isfinite(from[i]->period))
            continue;
        memcpy(at.choice, from[i]->choice,
               sizeof *at.choice * (size_t)c->whole->n_calls);
        rlf_placing_look(c->e, &at);
        if (!isfinite(at.period))
            continue;
        rlf_search_descend_on(c->e, &c->problem, c->scope.ranks, &at);
        rlf_search_recut(c->e, &c->problem, &at);
        add(c, memory, &at);
    }
}

/* A few choices are soon looked at. */
static int64_t
moves_of(const chain *c)
{
    int64_t n = 0, part = c->scope.ranks > MANY ? 16 : 1;
    for (int i = 0; i < c->whole->n_calls; i++)
        n += c->scope.n[i];
    n = EACH * n < c->moves ? EACH * n : c->moves;
    return n < c->moves / part ? n : c->moves / part;
}

/* The next level that has a walk: of many ranks one of 20, 40, 80, 160 GB. */
static int
up(const chain *c, int k)
{
    while (c->scope.ranks > MANY && k != INT_MAX &&
           (k % PARTS_OF_TWO + PARTS_OF_TWO) % PARTS_OF_TWO != MANY_PART)
        k++;
    return k;
}

/* One walk: *best is what it finds, with infinite period if nothing fits. */
static void
walk(chain *c, double level, double below, uint32_t stream,
     const rlf_placing *const *from, int n_from, rlf_placing *best)
{
    rlf_placing starts[2], slack[SLACKS];
    rlf_found found;
    int n = 0;
    for (int i = 0; i < n_from; i++)
        if (from[i] && isfinite(from[i]->period))
            starts[n++] = *from[i];
    for (int i = 0; i < SLACKS; i++)
        slack[i] = (rlf_placing){
            .choice = RLF_NEW_ARRAY(c->scratch, int, c->whole->n_calls),
            .period = INFINITY};
    set_memory(c, level);
    c->options.moves = moves_of(c);
    rlf_search_walk(c->e, &c->problem, &c->scope, &c->options, stream, starts,
                    n, level, slack, c->scratch, &found);
    c->out->looks += found.looks;
    c->out->stopped |= found.stopped;
    *best = (rlf_placing){.period = INFINITY};
    if (!isfinite(found.best.period))
        return;
    add(c, level, &found.best);
    for (int i = 0; i < found.n_kept; i++)
        add(c, level, &found.kept[i]);
    *best = found.best;
    best->choice = RLF_NEW_ARRAY(c->scratch, int, c->whole->n_calls);
    memcpy(best->choice, found.best.choice,
           sizeof *best->choice * (size_t)c->whole->n_calls);
    rlf_search_recut(c->e, &c->problem, best);
    add(c, level, best);
    int *answer = RLF_NEW_ARRAY(c->arena, int, c->whole->n_calls);
    memcpy(answer, best->choice, sizeof *answer * (size_t)c->whole->n_calls);
    RLF_PUSH_IN(c->arena, &c->out->answers, answer);
    for (int i = SLACKS - 1; i > 0; i--) {
        double memory = level * (1 - i * RLF_LESS_SLACK);
        add(c, level, &slack[i]);
        if (i == SLACKS / 2 && memory > below && c->scope.ranks <= MANY)
            descend_below(c, memory, &slack[i], n ? &starts[n - 1] : NULL);
    }
}

/* All walks on the first ranks; `last` and `now`: what was found on the ranks
 * before and on these, without a limit and then for each level. */
static void
walk_on(chain *c, int size, const rlf_placing *last, int last_from,
        rlf_placing *now, int *now_from)
{
    const rlf_placing *from[2] = {last, NULL};
    uint32_t stream = (uint32_t)c->scope.ranks * 1024;
    double least = c->least[size];
    walk(c, INFINITY, INFINITY, stream, from, 1, &now[0]);
    if (!isfinite(now[0].period))
        return;
    int top = up(c, rlf_less_level_of(c->most));
    int end = up(c, rlf_less_level_of(wanted(c->whole, now[0].choice)));
    int begin = end - LEVELS, before = 0;
    while (begin < end && rlf_less_level(begin) < least)
        begin++;
    *now_from = begin;
    for (int k = begin; k <= end && k <= top && !c->out->stopped; k++) {
        int there = k - last_from;
        if (up(c, k) != k)
            continue;
        from[0] =
            last && there >= 0 && there < LEVELS ? &last[1 + there] : NULL;
        from[1] = before ? &now[before] : NULL;
        walk(c, rlf_less_level(k), k > begin ? rlf_less_level(k - 1) : 0,
             stream + 1 + (uint32_t)(k + 512), from, 2, &now[1 + k - begin]);
        before = 1 + k - begin;
    }
}

void
rlf_less_find(const rlf_problem *problem, const rlf_search_options *options,
              rlf_arena *arena, rlf_less *out)
{
    rlf_arena *scratch = rlf_arena_new();
    int sizes[RLF_LESS_SIZES], n = rlf_less_sizes(problem, sizes);
    chain c = {.whole = problem,
               .problem = *problem,
               .options = *options,
               .arena = arena,
               .scratch = scratch,
               .most = most_memory(problem),
               .asked = options,
               .best = INFINITY,
               .memory = RLF_NEW_ARRAY(scratch, double, problem->devices),
               .least = RLF_NEW_ARRAY(scratch, double, n),
               .out = out};
    rlf_placing *last = NULL;
    int last_from = 0;
    *out = (rlf_less){0};
    c.moves = options->moves / RLF_LESS_WALKS;
    c.options.stop = options->stop ? stop : NULL;
    c.options.arg = &c;
    c.problem.memory = c.memory;
    c.e = rlf_estimator_new(&c.problem, scratch);
    for (int i = 0; i < problem->n_calls; i++)
        c.scope.choices[i] =
            RLF_NEW_ARRAY(scratch, int, problem->calls[i].n_choices);
    for (int i = 0; i < n && !out->stopped; i++) {
        if (!set_scope(&c, sizes[i]))
            continue;
        rlf_placing *now = RLF_NEW_ARRAY(scratch, rlf_placing, LEVELS + 2);
        for (int k = 0; k < LEVELS + 2; k++)
            now[k].period = INFINITY;
        c.least[i] = least_bytes(&c);
        int now_from = 0;
        walk_on(&c, i, last, last_from, now, &now_from);
        last = now;
        last_from = now_from;
    }
    rlf_arena_free(scratch);
}

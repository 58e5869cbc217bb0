/* Searches with less memory and on fewer ranks find placements, too: see less.h.
 *
 * The same walk is made on each number of ranks and in each memory of a list,
 * and none of them knows how much more there is. So with more memory or more
 * ranks what was found with less is found, and more; of all that the best is
 * taken that fits. On fewer ranks nothing is looked for where no placement can
 * be shorter than what is there: that changes no answer.
 *
 * A walk is made in phases, each of which has as many moves as all before it
 * together. Phases are the same however many moves there are, so that more
 * moves only add to what is found. */
#include "engine/search/less.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "engine/search/baseline.h"
#include "engine/search/descend.h"
#include "engine/search/walk.h"

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
    EACH = 16,   /* moves of a walk for each of its choices, at most */
    LEVELS = 24, /* levels at most; no more than so many below the first with
                    which no placement waits */
    SLACKS = RLF_LESS_SLACKS,
    FINE = 32,  /* ranks; on more, a level has one finer one below it */
    SMALL = 16, /* ranks; on more, finer ones are only gone downhill in */
    PHASES = 12,
    ANYWHERE = 8, /* starts without any reason, on few ranks */
    AROUND = 4,   /* phases of which one looks around, on few ranks */
};

/* Moves of a search for which walks have their last phase; for half as many
 * they have the one before, and so on. */
enum { MOST_MOVES = 400000 };

/* A memory, and what was found with it on the ranks at hand. */
typedef struct rung {
    double memory;   /* of the device with most; INFINITY: any */
    rlf_found found; /* the best, and others */
    rlf_placing cut; /* the best with other cuts */
    int *last[2];    /* starts that were taken downhill before, by source */
} rung;

/* A level of memory, and finer ones below it. */
typedef struct level {
    rung at;
    rlf_placing slack[SLACKS];
    rung *fine[SLACKS]; /* by the part of the level's memory that is left out;
                           NULL: there is none */
} level;

/* Where others would put calls. */
static const rlf_baseline starts[] = {
    RLF_BASELINE_FLATTEN, RLF_BASELINE_INTERLEAVE, RLF_BASELINE_SEPARATE};
enum { STARTS = sizeof starts / sizeof *starts };

/* The levels on the ranks at hand. */
typedef struct ladder {
    level any, of[LEVELS + 1];
    bool known; /* the numbers of the first level and the last: */
    int begin, end;
    int *last[STARTS]; /* where others would put calls with less memory */
    uint32_t stream;
} ladder;

typedef struct chain {
    const rlf_problem *whole;
    rlf_problem problem; /* the whole, with `memory`, on the ranks at hand */
    rlf_search_options options;
    rlf_arena *arena;
    rlf_arena *size; /* what lasts as long as the ranks at hand */
    rlf_estimator *e;
    double *memory; /* of the walk at hand */
    double most;    /* of a device, that there is */
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
set_memory(chain *c, double memory)
{
    int most = rlf_less_level_of(c->most);
    for (int r = 0; r < c->whole->devices; r++) {
        double has = c->whole->memory[r];
        bool same = r && has == c->whole->memory[r - 1];
        int k = same ? 0 : rlf_less_level_of(has);
        c->memory[r] = same ? c->memory[r - 1]
                       : k == most
                           ? memory
                           : memory * rlf_less_level(k) / rlf_less_level(most);
    }
}

/* The choices on the first ranks, and what they take at least. False: a call
 * has none. */
static bool
set_scope(chain *c, int ranks)
{
    bool any = true;
    c->scope.ranks = c->problem.devices = ranks;
    for (int i = 0; i < c->whole->n_calls; i++) {
        rlf_problem_call *call = &c->problem.calls[i];
        int n = 0;
        call->fast = call->area = INFINITY;
        for (int k = 0; k < call->n_choices; k++) {
            const rlf_choice *at = &call->choices[k];
            if (at->first + at->count > ranks)
                continue;
            c->scope.choices[i][n++] = k;
            call->fast = fmin(call->fast, at->seconds);
            call->area = fmin(call->area, rlf_choice_area(at, at->seconds));
        }
        c->scope.n[i] = n;
        any &= n > 0;
    }
    return any;
}

/* Seconds that every placement on the first ranks takes at least. */
static double
least_seconds(const chain *c)
{
    int none[RLF_SEARCH_CALLS];
    for (int i = 0; i < c->whole->n_calls; i++)
        none[i] = -1;
    return rlf_estimate_bound(c->e, none);
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

/* Moves of a walk when a phase is over. A few choices are soon looked at. */
static int64_t
moves_after(const chain *c, int phase)
{
    int64_t n = 0, most = phase ? MOST_MOVES >> (PHASES - 1 - phase) : 0;
    for (int i = 0; i < c->whole->n_calls; i++)
        n += c->scope.n[i];
    most /= c->scope.ranks > MANY ? 16 : c->scope.ranks > SMALL ? 4 : 1;
    return most < EACH * n ? most : EACH * n;
}

/* Are there moves for a phase? */
static bool
has_moves(const chain *c, int phase)
{
    return phase < PHASES &&
           (!phase || (MOST_MOVES >> (PHASES - 1 - phase)) <= c->asked->moves);
}

/* The phase before: of walks on more ranks, where it takes long to go downhill,
 * each has three times as many moves as all before. */
static int
last_phase(const chain *c, int phase)
{
    return phase - (c->scope.ranks > SMALL && phase > 1 ? 2 : 1);
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

static void
begin_rung(const chain *c, double memory, rung *r)
{
    size_t n = (size_t)c->whole->n_calls;
    r->memory = memory;
    rlf_walk_found(c->whole, c->size, &r->found);
    r->cut = (rlf_placing){.choice = RLF_NEW_ARRAY(c->size, int, n),
                           .period = INFINITY};
    for (int i = 0; i < 2; i++) {
        r->last[i] = RLF_NEW_ARRAY(c->size, int, n);
        r->last[i][0] = -1;
    }
}

static void
begin_level(const chain *c, double memory, double below, level *l)
{
    size_t n = (size_t)c->whole->n_calls;
    *l = (level){0};
    begin_rung(c, memory, &l->at);
    for (int i = 0; i < SLACKS && isfinite(memory); i++) {
        double less = memory * (1 - i * RLF_LESS_SLACK);
        l->slack[i] = (rlf_placing){.choice = RLF_NEW_ARRAY(c->size, int, n),
                                    .period = INFINITY};
        if (!i || less <= below || c->scope.ranks > MANY ||
            (c->scope.ranks > FINE && i != SLACKS / 2))
            continue;
        l->fine[i] = RLF_NEW(c->size, rung);
        begin_rung(c, less, l->fine[i]);
    }
}

/* What the walk at hand found is added. */
static void
end_walk(chain *c, rung *r)
{
    size_t n = (size_t)c->whole->n_calls;
    const rlf_placing *best = &r->found.best;
    if (!isfinite(best->period))
        return;
    for (int i = 0; i < r->found.n_kept; i++)
        add(c, r->memory, &r->found.kept[i]);
    add(c, r->memory, best);
    rlf_placing at = {.choice = RLF_NEW_ARRAY(c->size, int, n)};
    rlf_placing_copy(c->whole, &at, best);
    rlf_search_recut(c->e, &c->problem, &at);
    add(c, r->memory, &at);
    if (at.period < r->cut.period)
        rlf_placing_copy(c->whole, &r->cut, &at);
}

/* From a start downhill, unless it was the last one of that source. */
static void
descend_once(rlf_walk *w, rung *r, const rlf_placing *from, int source)
{
    size_t bytes = sizeof(int) * (size_t)w->problem->n_calls;
    if (!from || !isfinite(from->period) ||
        memcmp(r->last[source], from->choice, bytes) == 0)
        return;
    memcpy(r->last[source], from->choice, bytes);
    if (memcmp(r->found.best.choice, from->choice, bytes) != 0 ||
        !isfinite(r->found.best.period))
        rlf_walk_descend(w, from);
}

static rlf_walk
walk_of(chain *c, rung *r, rlf_placing *slack)
{
    set_memory(c, r->memory);
    return (rlf_walk){.problem = &c->problem,
                      .e = c->e,
                      .options = &c->options,
                      .scope = &c->scope,
                      .memory = slack ? r->memory : INFINITY,
                      .slack = slack,
                      .found = &r->found};
}

/* Much longer ones are left where they are, on many ranks. */
#define NEAR 1.2

/* From what annealing came by downhill. */
static void
anneal_from(rlf_walk *w, rlf_walk_start start, int64_t moves)
{
    double was = w->found->best.period;
    bool small = w->scope->ranks <= SMALL;
    rlf_walk_anneal(w, start, moves);
    if (start == RLF_WALK_BEST ? w->run.period < was
                               : small || w->run.period < NEAR * was)
        rlf_walk_descend(w, &w->run);
}

static void
anneal(const chain *c, rlf_walk *w, int phase)
{
    int64_t n = moves_after(c, phase) - moves_after(c, last_phase(c, phase));
    anneal_from(w, RLF_WALK_BEST, n - n / 2);
    anneal_from(w, RLF_WALK_ANYWHERE, n / 2);
}

/* With a part less memory than a level, from what the walk saw that needs no
 * more, or what was found with a little less. */
static void
walk_below(chain *c, level *l, uint32_t stream, int phase,
           const rlf_placing *before)
{
    for (int i = SLACKS - 1; i > 0; i--) {
        rung *r = l->fine[i];
        if (!r)
            continue;
        rlf_walk w = walk_of(c, r, NULL);
        double was = r->found.best.period;
        rlf_walk_begin(&w, (stream + (uint32_t)i) * 16 + (uint32_t)phase,
                       c->size);
        descend_once(&w, r, before, 0);
        descend_once(&w, r, &l->slack[i], 1);
        if (phase && c->scope.ranks <= SMALL)
            anneal(c, &w, phase);
        if (r->found.best.period < was)
            end_walk(c, r);
        before = isfinite(r->found.best.period) ? &r->found.best : before;
    }
}

/* Downhill from where others would put calls, and from where each is fastest.
 * On many ranks the latter are left out with less memory, and so are those that
 * put them as with a little less. */
static void
descend_all(const chain *c, rlf_walk *w, ladder *l)
{
    size_t n = (size_t)c->whole->n_calls;
    bool few = c->scope.ranks <= SMALL;
    rlf_placing at = {.choice = RLF_NEW_ARRAY(c->size, int, n)};
    if (few || !l->known) {
        rlf_walk_anneal(w, RLF_WALK_FASTEST, 0);
        rlf_walk_descend(w, &w->run);
    }
    for (int i = 0; i < ANYWHERE && few; i++) {
        rlf_walk_anneal(w, RLF_WALK_ANYWHERE, 0);
        rlf_walk_descend(w, &w->run);
    }
    for (int i = 0; i < STARTS; i++) {
        rlf_baseline_start(w->problem, w->e, starts[i], &at);
        bool any = isfinite(at.period) || isfinite(at.over);
        if (any && (few || memcmp(l->last[i], at.choice, n * sizeof(int)) != 0))
            rlf_walk_descend(w, &at);
        if (any)
            memcpy(l->last[i], at.choice, n * sizeof(int));
    }
}

/* A phase of a walk, from what was found with less memory, if anything was. */
static void
walk(chain *c, ladder *on, level *l, uint32_t stream, int phase,
     const rlf_placing *before)
{
    rung *r = &l->at;
    bool limited = isfinite(r->memory);
    rlf_walk w = walk_of(c, r, limited ? l->slack : NULL);
    rlf_walk_begin(&w, stream * 16 + (uint32_t)phase, c->size);
    descend_once(&w, r, before, 0);
    if (l->fine[1])
        descend_once(&w, r, &l->fine[1]->found.best, 1);
    if (!phase) {
        descend_all(c, &w, on);
    } else {
        anneal(c, &w, phase);
        if (c->scope.ranks <= SMALL && phase % AROUND == AROUND - 1)
            rlf_walk_around(&w);
    }
    end_walk(c, r);
    r->found.stopped |= c->options.stop && stop(c, 0, 0);
    c->out->stopped |= r->found.stopped;
    for (int i = 1; i < SLACKS && limited; i++)
        add(c, r->memory, &l->slack[i]);
}

/* The first phase in which anything fits decides which level is the first one;
 * others may add some behind the last. */
static void
find_end(const chain *c, ladder *l)
{
    double bytes = wanted(c->whole, l->any.at.found.best.choice);
    int end = up(c, rlf_less_level_of(bytes));
    if (!l->known) {
        double least = least_bytes(c);
        l->begin = end - LEVELS;
        while (l->begin < end && rlf_less_level(l->begin) < least)
            l->begin++;
        l->end = l->begin - 1;
        l->known = true;
    }
    for (int k = l->end + 1; k <= end && k <= l->begin + LEVELS; k++)
        begin_level(c, rlf_less_level(k),
                    k > l->begin ? rlf_less_level(k - 1) : 0,
                    &l->of[k - l->begin]);
    l->end = end > l->end ? end : l->end;
    if (l->end > l->begin + LEVELS)
        l->end = l->begin + LEVELS;
}

static void
walk_phase(chain *c, int phase, ladder *l)
{
    const rlf_placing *before = NULL;
    int top = up(c, rlf_less_level_of(c->most));
    walk(c, l, &l->any, l->stream, phase, NULL);
    if (!isfinite(l->any.at.found.best.period))
        return;
    find_end(c, l);
    for (int k = l->begin; k <= l->end && k <= top && !c->out->stopped; k++) {
        level *to = &l->of[k - l->begin];
        if (up(c, k) != k)
            continue;
        uint32_t stream = l->stream + SLACKS * (1 + (uint32_t)(k + 512));
        walk(c, l, to, stream, phase, before);
        walk_below(c, to, stream, phase, before);
        if (isfinite(to->at.found.best.period))
            before = &to->at.found.best;
    }
}

/* The best of each level is an answer. */
static void
add_answers(chain *c, const ladder *l)
{
    size_t n = (size_t)c->whole->n_calls;
    c->out->looks += l->any.at.found.looks;
    for (int k = 0; l->known && k <= l->end - l->begin; k++) {
        const rung *r = &l->of[k].at;
        if (r->memory > 0)
            c->out->looks += r->found.looks;
        if (!(r->memory > 0) || !isfinite(r->cut.period))
            continue;
        int *answer = RLF_NEW_ARRAY(c->arena, int, n);
        memcpy(answer, r->cut.choice, sizeof *answer * n);
        RLF_PUSH_IN(c->arena, &c->out->answers, answer);
    }
}

static void
walk_on(chain *c, int ranks)
{
    c->size = rlf_arena_new();
    ladder *l = RLF_NEW(c->size, ladder);
    l->stream = (uint32_t)ranks * SLACKS * 1024;
    for (int i = 0; i < STARTS; i++) {
        l->last[i] = RLF_NEW_ARRAY(c->size, int, c->whole->n_calls);
        l->last[i][0] = -1;
    }
    begin_level(c, INFINITY, 0, &l->any);
    for (int p = 0; has_moves(c, p) && !c->out->stopped; p++)
        if (!p || ((c->scope.ranks <= SMALL || p % 2) &&
                   moves_after(c, p) - moves_after(c, last_phase(c, p)) > 1))
            walk_phase(c, p, l);
    add_answers(c, l);
    rlf_arena_free(c->size);
}

void
rlf_less_find(const rlf_problem *problem, const rlf_search_options *options,
              rlf_arena *arena, rlf_less *out)
{
    rlf_arena *scratch = rlf_arena_new();
    int sizes[RLF_LESS_SIZES], n = rlf_less_sizes(problem, sizes);
    size_t calls = (size_t)problem->n_calls;
    chain c = {.whole = problem,
               .problem = *problem,
               .options = *options,
               .arena = arena,
               .most = most_memory(problem),
               .asked = options,
               .best = INFINITY,
               .memory = RLF_NEW_ARRAY(scratch, double, problem->devices),
               .out = out};
    *out = (rlf_less){0};
    c.options.stop = options->stop ? stop : NULL;
    c.options.arg = &c;
    c.problem.memory = c.memory;
    c.problem.calls = RLF_NEW_ARRAY(scratch, rlf_problem_call, calls);
    memcpy(c.problem.calls, problem->calls, sizeof *c.problem.calls * calls);
    c.e = rlf_estimator_new(&c.problem, scratch);
    for (int i = 0; i < problem->n_calls; i++)
        c.scope.choices[i] =
            RLF_NEW_ARRAY(scratch, int, problem->calls[i].n_choices);
    for (int i = n - 1; i >= 0 && !out->stopped; i--)
        if (set_scope(&c, sizes[i]) && least_seconds(&c) < c.best)
            walk_on(&c, sizes[i]);
    rlf_arena_free(scratch);
}

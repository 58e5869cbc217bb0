/* Words of place rows for the layouts of a call: recompute, zero, schedules,
 * offload, and tokens of micro-batches. See pareto_state.h.
 *
 * What a word costs or saves of one call is seconds or bytes of that call;
 * which of them are worth it beside other calls the search tells, which has all
 * that no other beats. */
#include "engine/search/pareto_state.h"

#include <math.h>
#include <string.h>

#include "engine/search/fixed_rows.h"

enum {
    SPLIT = 16, /* stages up to which a split backward is looked at */
    FINE = 16,  /* ranks of layouts that have all numbers of tokens */
    FEW = 96,   /* devices; with more no tokens between steps are looked at */
};

/* Adds a layout with those words of a place row, if they are not its own. */
static void
add_variant(options_of *o, int call, const rlf_choice *layout, int variant)
{
    rlf_choice at = *layout;
    at.variant = variant;
    if (variant != layout->variant)
        rlf_pareto_look(o, &at, call);
}

/* May the search say how many tokens micro-batches of the call have? */
static bool
may_cut(const options_of *o, int call)
{
    const rlf_place_row *fixed = rlf_fixed_rows_call(o->pareto, call);
    return !(fixed && fixed->tokens > 0);
}

/* Are micro-batches of one sequence less than the default? */
static bool
has_fewest(const options_of *o, int call)
{
    return o->pareto->problem.calls[call].kind != RLF_STAGE_GENERATE &&
           rlf_measure_halves(o->pareto, o->measure.model) && may_cut(o, call);
}

/* Of n choices those that another one with the same cut comes before are left
 * out, since both have the same words. */
static int
take_cuts(rlf_choice *list, int n)
{
    int left = 0;
    for (int k = 0; k < n; k++) {
        bool is_there = false;
        for (int i = 0; i < left; i++)
            is_there |= list[i].tp == list[k].tp && list[i].pp == list[k].pp;
        if (!is_there)
            list[left++] = list[k];
    }
    return left;
}

/* Leaves the call's layouts that no other beats: of an update with the default
 * tokens or with those of one sequence, which have the least activations and
 * keep the most stages at work. */
static int
list_layouts(options_of *o, int call)
{
    int n = o->n[call];
    bool update = o->pareto->problem.calls[call].kind == RLF_STAGE_UPDATE;
    for (int k = 0; k < n && update && has_fewest(o, call); k++)
        add_variant(o, call, &o->all[call][k], RLF_VARIANT_TOKENS);
    n = rlf_choices_front(o->all[call], o->n[call]);
    return o->n[call] = take_cuts(o->all[call], n);
}

/* Seconds of a layout with those words, which is added; INFINITY: it is none.
 */
static double
seconds_of(options_of *o, int call, const rlf_choice *layout, int variant)
{
    int n = o->n[call];
    rlf_choice at = *layout;
    at.variant = variant;
    rlf_pareto_look(o, &at, call);
    return o->n[call] > n ? o->all[call][n].seconds : INFINITY;
}

/* More micro-batches on their way, up to twice as many, hide messages: of a
 * split backward they must save that part of an update's seconds, as they take
 * as much more memory, and each choice more is one that a search of as many
 * moves looks less well at. */
#define HIDDEN 0.02

/* Adds a layout with its backward split, and that with more micro-batches on
 * their way where they are worth it. */
static void
add_split(options_of *o, int call, const rlf_choice *layout, int variant)
{
    double split = seconds_of(o, call, layout, variant);
    int ahead = variant - RLF_VARIANT_SPLIT + RLF_VARIANT_AHEAD;
    int n = o->n[call];
    if (!(seconds_of(o, call, layout, ahead) < (1 - HIDDEN) * split))
        o->n[call] = n;
}

/* Adds a layout with each of those words, and tokens of that step. */
static void
add_words(options_of *o, int call, const rlf_choice *layout, int step, int most)
{
    int each = most & ~RLF_VARIANT_AHEAD;
    for (int words = 0; words <= each; words++) {
        int variant = step * RLF_VARIANT_TOKENS | words;
        if ((words & ~each) ||
            !rlf_pareto_is_one(words & RLF_VARIANT_SCHEDULES))
            continue;
        if (words & RLF_VARIANT_SPLIT)
            add_split(o, call, layout, variant);
        else
            add_variant(o, call, layout, variant);
    }
}

/* An update of that layout, with the words of a place row. */
static void
vary_update(options_of *o, int call, const rlf_choice *at)
{
    bool many = o->pareto->problem.devices > RLF_PARETO_MANY;
    bool room = o->pareto->options.room; /* words that cost memory are no use */
    bool split = at->pp > 1 && at->pp <= SPLIT && !many && !room;
    int schedules = split ? RLF_VARIANT_SCHEDULES : 0;
    int most =
        (at->dp > 1 ? RLF_VARIANT_ZERO : 0) | schedules | RLF_VARIANT_RECOMPUTE;
    most = rlf_fixed_rows_free(rlf_fixed_rows_call(o->pareto, call), most);
    add_words(o, call, at, 0, most);
    if (has_fewest(o, call))
        add_words(o, call, at, 1, most);
    if (many || room || !may_cut(o, call))
        return;
    for (int half = 1; half < rlf_measure_halves(o->pareto, o->measure.model);
         half++)
        add_words(o, call, at, RLF_VARIANT_HALF + half - 1, most);
    for (int step = 2; step < RLF_VARIANT_STEPS; step++)
        add_variant(o, call, at, step * RLF_VARIANT_TOKENS);
}

/* A model with one call, that nothing changes, may lie in host memory. */
static bool
may_offload(const options_of *o)
{
    const rlf_graph *graph = o->pareto->options.graph;
    const rlf_call_measure *m = &o->measure;
    int calls = 0;
    for (int c = 0; c < o->pareto->problem.n_calls; c++)
        calls += rlf_pareto_calls(o, c);
    for (size_t i = 0; i < graph->nodes.count; i++)
        if (graph->nodes.data[i].class->work == RLF_WORK_WEIGHTS &&
            graph->nodes.data[i].receiver == m->model)
            return false;
    const rlf_place_row *fixed = rlf_fixed_rows_model(o->pareto, m->model);
    return calls == 1 && !m->trains && !m->unified &&
           rlf_fixed_rows_free(fixed, RLF_VARIANT_OFFLOAD);
}

/* Other micro-batches of a reading must save that part of its seconds, or, as
 * it keeps no activations, LIGHTER of its bytes. */
#define WORTH 0.01
#define LIGHTER 0.05
/* On more ranks than FINE one in between is a choice that saves that part of
 * the one before: each choice more is one that a search of as many moves looks
 * less well at. */
#define DISTINCT 0.7

/* Adds a layout with as many tokens as it has and so many quarters of them
 * more, once, twice ..., as long as that is less than the next step. Where
 * calls share little memory, what is left beside the steps of one may do for
 * those of another. */
static void
add_between(options_of *o, int call, const rlf_choice *at, int quarters)
{
    const rlf_pareto *f = o->pareto;
    int model = o->measure.model, step = at->variant / RLF_VARIANT_TOKENS;
    uint32_t more = rlf_measure_more(f, model, step);
    if (at->count > FINE || f->problem.devices > FEW)
        return;
    for (int k = quarters; k < RLF_VARIANT_QUARTERS; k += quarters) {
        int other = k * RLF_VARIANT_QUARTER;
        if (rlf_measure_tokens(f, model, step + other) < more)
            add_variant(o, call, at, at->variant + other * RLF_VARIANT_TOKENS);
    }
}

/* Weights in host memory are copied for each micro-batch of a reading: larger
 * ones are looked at while each doubling saves more than WORTH. */
static void
read_more(options_of *o, int call, const rlf_choice *at, int offload)
{
    double before = seconds_of(o, call, at, offload), kept = before;
    rlf_choice from = *at;
    int last = -1; /* the last choice; `kept` is of the one before it */
    from.variant = offload;
    for (int step = 2; step < RLF_VARIANT_READ_STEPS; step++) {
        int n = o->n[call], variant = offload | step * RLF_VARIANT_TOKENS;
        double now = seconds_of(o, call, at, variant);
        if (!(now < (1 - WORTH) * before)) {
            o->n[call] = n;
            break;
        }
        if (at->count > FINE && last >= 0 && before > (1 - DISTINCT) * kept) {
            o->all[call][last] = o->all[call][n];
            o->n[call] = n;
        } else {
            kept = last >= 0 ? before : kept;
            last = n;
        }
        add_between(o, call, &from, 2);
        from.variant = variant;
        before = now;
    }
}

/* Smaller ones are for where other calls leave them little memory. */
static void
read_in_less(options_of *o, int call, const rlf_choice *at, int offload)
{
    int halves = rlf_measure_halves(o->pareto, o->measure.model);
    rlf_choice to = *at;
    for (int half = halves; half > 0; half--) {
        int step = half == halves ? 1 : RLF_VARIANT_HALF + half - 1;
        to.variant = offload | step * RLF_VARIANT_TOKENS;
        rlf_pareto_look(o, &to, call);
        if (o->pareto->options.room || at->count > FINE)
            break;
        add_between(o, call, &to, 2);
    }
}

/* Micro-batches of one sequence. */
static void
read_less(options_of *o, int call, const rlf_choice *at)
{
    int n = o->n[call];
    double seconds = seconds_of(o, call, at, RLF_VARIANT_TOKENS);
    const rlf_choice *now = &o->all[call][n];
    bool lighter = isfinite(seconds) &&
                   now->kept + now->own < (1 - LIGHTER) * (at->kept + at->own);
    if (!lighter && !(seconds < (1 - WORTH) * at->seconds))
        o->n[call] = n;
}

static void
vary_reading(options_of *o, int call, const rlf_choice *at)
{
    bool reads = o->pareto->problem.calls[call].kind == RLF_STAGE_READ;
    int offload = may_offload(o) ? RLF_VARIANT_OFFLOAD : 0;
    add_variant(o, call, at, offload);
    if (has_fewest(o, call))
        read_less(o, call, at);
    if (!reads || o->measure.unified || !may_cut(o, call) ||
        rlf_measure_offload(o->pareto, o->measure.model, offload) <= 0)
        return;
    read_in_less(o, call, at, offload);
    if (!o->pareto->options.room)
        read_more(o, call, at, offload);
}

/* Adds an update's micro-batches between the steps that no other beats. */
static void
update_between(options_of *o, int call)
{
    int n = o->n[call];
    for (int k = 0; k < n && !o->pareto->options.room; k++) {
        rlf_choice at = o->all[call][k];
        int step = at.variant / RLF_VARIANT_TOKENS;
        if (step == 1 || step >= RLF_VARIANT_HALF)
            add_between(o, call, &at, 1);
    }
    o->n[call] = rlf_choices_front(o->all[call], o->n[call]);
}

void
rlf_pareto_vary(options_of *o, int call)
{
    bool update = o->pareto->problem.calls[call].kind == RLF_STAGE_UPDATE;
    int n = list_layouts(o, call);
    rlf_choice *cuts = RLF_NEW_ARRAY(o->arena, rlf_choice, n + 1);
    memcpy(cuts, o->all[call], sizeof *cuts * (size_t)n);
    for (int k = 0; k < n; k++) {
        if (update)
            vary_update(o, call, &cuts[k]);
        else
            vary_reading(o, call, &cuts[k]);
        o->n[call] = rlf_choices_front(o->all[call], o->n[call]);
    }
    if (update)
        update_between(o, call);
}

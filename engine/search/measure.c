/* See measure.h. */
#include "engine/search/measure.h"

#include <math.h>
#include <string.h>

#include "engine/layout/lanes.h"
#include "engine/order/order.h"
#include "engine/plan/candidate.h"
#include "engine/search/gather.h"
#include "engine/search/model_sums.h"
#include "engine/search/moves.h"
#include "engine/search/fixed_rows.h"
#include "engine/search/shards.h"
#include "engine/timing/measured.h"

enum { SCRATCH = 4 << 20 }; /* bytes that layouts take, mostly */
_Static_assert((int)RLF_CHOICE_PARTS == (int)RLF_PIECES, "parts of a run");

/* ---- rows ---- */

static const char *
schedule_of(int variant)
{
    return variant & RLF_VARIANT_SPLIT         ? "zb-h1"
           : variant & RLF_VARIANT_AHEAD       ? "zb-h2"
           : variant & RLF_VARIANT_VEE         ? "zb-v"
           : variant & RLF_VARIANT_INTERLEAVED ? "interleaved"
                                               : NULL;
}

int
rlf_measure_halves(const rlf_pareto *f, int model)
{
    int halves = 0;
    while ((uint32_t)RLF_CAP_TOKENS >> halves > f->longest[model])
        halves++;
    return halves;
}

uint32_t
rlf_measure_tokens(const rlf_pareto *f, int model, int step)
{
    uint32_t longest = f->longest[model];
    uint32_t most = longest > RLF_CAP_TOKENS ? longest : RLF_CAP_TOKENS;
    int whole = step % RLF_VARIANT_QUARTER;
    uint32_t tokens = whole == 1 ? longest
                      : whole >= RLF_VARIANT_HALF
                          ? most >> (whole - RLF_VARIANT_HALF + 1)
                          : most << (whole ? whole - 1 : 0);
    return tokens + tokens / RLF_VARIANT_QUARTERS *
                        (uint32_t)(step / RLF_VARIANT_QUARTER);
}

uint32_t
rlf_measure_more(const rlf_pareto *f, int model, int step)
{
    int halves = rlf_measure_halves(f, model);
    if (step != 1)
        return 2 * rlf_measure_tokens(f, model, step);
    return (uint32_t)RLF_CAP_TOKENS >> (halves ? halves - 1 : 0);
}

void
rlf_measure_words(const rlf_pareto *f, int model, const rlf_node_class *call,
                  int variant, rlf_place_row *row)
{
    int step = variant / RLF_VARIANT_TOKENS;
    if (call && call->work == RLF_WORK_TRAIN) {
        row->recompute = variant & RLF_VARIANT_RECOMPUTE ? 1 : -1;
        row->zero = variant & RLF_VARIANT_ZERO ? 1 : -1;
        row->schedule = schedule_of(variant);
    }
    if (call && call->work != RLF_WORK_GENERATE && step)
        row->tokens = (int)rlf_measure_tokens(f, model, step);
}

int
rlf_measure_offload(const rlf_pareto *f, int model, int variant)
{
    const rlf_place_row *fixed = rlf_fixed_rows_model(f, model);
    return variant & RLF_VARIANT_OFFLOAD ? 1 : fixed ? fixed->offload : -1;
}

void
rlf_place_row_cut(rlf_place_row *row, const rlf_choice *at, const int *ranks)
{
    row->ranks = ranks;
    row->n_ranks = at->count;
    row->tp = at->tp;
    row->pp = at->pp;
    row->dp = at->dp;
}

/* A rank that none of those that are looked at is, if there is one. */
static int
aside(const rlf_call_measure *m, const rlf_choice *at)
{
    int all = m->pareto->problem.devices;
    if (at->first > 0)
        return 0;
    return at->count < all ? all - 1 : at->tp > 1 ? 1 : 0;
}

static bool
is_aside(const rlf_choice *at, int rank)
{
    int from = at->first + (at->dp - 1) * at->tp * at->pp;
    return rank < from || rank >= at->first + at->count ||
           (rank - from) % at->tp > 0;
}

static int
power_above(int n)
{
    int power = 1;
    while (power < n)
        power *= 2;
    return power;
}

/* The place rows of this model: all of it there, or its update aside. */
static int
model_rows(const rlf_call_measure *m, const rlf_choice *at, const int *ranks,
           const int *other, bool apart, rlf_place_row *rows)
{
    static const rlf_choice alone = {.count = 1, .tp = 1, .pp = 1, .dp = 1};
    const rlf_pareto *f = m->pareto;
    rlf_sums sums = f->sums[m->model];
    int n = 1;
    rows[0] = rlf_place_row_new(m->model, NULL);
    rlf_place_row_cut(&rows[0], at, ranks);
    rows[0].shards = sums.shards;
    rows[0].offload = rlf_measure_offload(f, m->model, at->variant);
    if (m->trains)
        rows[0].lanes = at->dp > sums.lanes ? power_above(at->dp) : sums.lanes;
    for (int c = 0; c < f->problem.n_calls; c++) {
        if (f->calls[c].model != m->model)
            continue;
        bool aside = apart && f->problem.calls[c].kind == RLF_STAGE_UPDATE;
        const rlf_choice *cut = aside ? &alone : at;
        rows[n] = rlf_place_row_new(m->model, f->calls[c].class);
        rlf_place_row_cut(&rows[n], cut, aside ? other : ranks);
        rlf_measure_words(f, m->model, f->calls[c].class, at->variant,
                          &rows[n]);
        const rlf_place_row *fixed = rlf_fixed_rows_call(f, c);
        if (rlf_fixed_rows_allow_cut(fixed, cut->tp, cut->pp, cut->dp))
            rlf_fixed_rows_words(fixed, f->calls[c].class, &rows[n]);
        n++;
    }
    return n;
}

/* Another model has its shards; one that calls of others read where they run no
 * fewer than parts here: those that would have too many are left out (shards.h).
 */
static int
other_shards(const rlf_call_measure *m, int model, int tp)
{
    int shards = m->pareto->sums[model].shards;
    if (shards > 0 && shards < tp && rlf_shards_lent(m->pareto, model))
        return tp;
    return shards > 0 ? shards : -1;
}

/* Every other model lies aside. */
static rlf_status
make_plan(const rlf_call_measure *m, const rlf_choice *at, bool apart,
          rlf_err *err, rlf_plan **out)
{
    const rlf_graph *graph = m->pareto->options.graph;
    rlf_place_row *rows =
        RLF_NEW_ARRAY(m->scratch, rlf_place_row,
                      graph->resources.count + RLF_SEARCH_CALLS + 1);
    int *ranks = RLF_NEW_ARRAY(m->scratch, int, at->count + 1);
    for (int i = 0; i < at->count; i++)
        ranks[i] = at->first + i;
    int *other = &ranks[at->count];
    *other = aside(m, at);
    int n = model_rows(m, at, ranks, other, apart, rows);
    for (size_t i = 0; i < graph->resources.count; i++) {
        if (!graph->resources.data[i].class->model || (int)i == m->model)
            continue;
        rows[n] = rlf_place_row_new((int)i, NULL);
        rows[n].shards = other_shards(m, (int)i, at->tp);
        rows[n++].ranks = other;
    }
    rlf_plan_options options = *m->pareto->options.plan;
    options.links = rlf_moves_links(m->pareto->moves);
    return rlf_plan_candidate(graph, rows, n, &options, m->scratch, err, out);
}

/* ---- layouts ---- */

/* The call of the problem that a node belongs to, or -1. */
int
rlf_measure_call(const rlf_call_measure *m, const rlf_node *node)
{
    return node->receiver == m->model ? rlf_pareto_call_of(m->pareto, node)
                                      : -1;
}

/* Seconds of a call that computes nothing by itself, as one of `logprobs`,
 * whose words are made where they are read: 0 would say that it was not
 * measured. */
static const double nothing = 1e-9;

/* The part of samples that is complete last is there when all is over. Of
 * several runs the longest is the one that is followed. */
static void
put_complete(rlf_choice *to, const double *seconds, double all)
{
    for (int k = 0; k < RLF_CHOICE_PARTS; k++)
        to->complete[k] = fmin(seconds[k] / all, 1);
    to->complete[RLF_CHOICE_PARTS - 1] = 1;
}

static bool
is_followed(const rlf_problem *p, int c)
{
    bool any = false;
    for (int i = 0; i < p->n_calls; i++)
        any |= p->calls[i].follows >> c & 1;
    return any;
}

/* Sets when samples of a generation of the call are gathered: as a run finds
 * that it pays, or as a place row says. Where ranks share cores those that are
 * free leave theirs to others. */
static void
put_gathers(rlf_call_measure *m, const rlf_opened *opened,
            const rlf_sizes *sizes, const rlf_node *node, int c,
            const rlf_call_times *times)
{
    const rlf_problem *p = &m->pareto->problem;
    rlf_choice *to = &m->choice[c];
    double share = rlf_pareto_share(m->pareto, node);
    int migrate = opened->plan->place[node->id].migrate;
    int set = opened->plan->graph->values.data[node->outputs[0]].set;
    double part = migrate / fmax(1, sizes->set[set].samples);
    to->gathers = NULL;
    if (!migrate || p->cores || !is_followed(p, c))
        return;
    rlf_choice_gathers *g = RLF_NEW(m->kept, rlf_choice_gathers);
    g->n = times->n_gathers;
    g->always = migrate > 0;
    for (int i = 0; i < g->n; i++) {
        g->list[i].on = times->gather[i].on;
        g->list[i].first = times->gather[i].least;
        g->list[i].last = RLF_CHOICE_PARTS - 1;
        for (int k = 0; k < RLF_CHOICE_PARTS; k++)
            g->list[i].seconds[k] = share * times->gather[i].seconds[k];
        if (migrate < 0)
            continue;
        double parts = round(RLF_CHOICE_PARTS * (1 - part));
        parts = fmin(fmax(parts, g->list[i].first), RLF_CHOICE_PARTS - 1);
        g->list[i].first = g->list[i].last = (int)parts;
    }
    g->area = rlf_gather_area(to, g);
    to->gathers = g;
}

/* Is a call timed? Not others beside one whose words are tried, nor readings
 * while updates are compared. */
static bool
is_timed(const rlf_call_measure *m, int c, bool updates)
{
    if (c < 0 || (m->only >= 0 && m->only != c))
        return false;
    bool update = m->pareto->problem.calls[c].kind == RLF_STAGE_UPDATE;
    return update ? updates : m->reads && !m->untimed;
}

/* Adds the sums that the model is set to, which are made where it lies. */
static void
take_model_sums(rlf_call_measure *m, const rlf_opened *opened,
                const rlf_sizes *sizes)
{
    const rlf_graph *graph = m->pareto->options.graph;
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        if (node->class->work != RLF_WORK_WEIGHTS || node->receiver != m->model)
            continue;
        double one = rlf_model_sums_seconds(m->pareto, opened, sizes, node);
        for (int c = 0; c < m->pareto->problem.n_calls; c++)
            m->choice[c].model_sum = fmax(m->choice[c].model_sum, one);
    }
}

/* By the pages of the stage that has too few, if any has. */
static rlf_call_cut
cut_of(rlf_call_measure *m, const rlf_call_stages *stages,
       const rlf_sizes *sizes, const rlf_node *node)
{
    rlf_call_cut cut = rlf_measure_cut(m, &stages->kinds[0], sizes, node);
    for (int k = 1; k < stages->n_kinds && m->unified && !cut.paged; k++)
        cut = rlf_measure_cut(m, &stages->kinds[k], sizes, node);
    return cut;
}

/* Seconds of a call, summed up. */
typedef struct call_sum {
    double all, busy, anew, scattered[RLF_SCATTERS];
    rlf_choice_messages messages;
    double longest; /* of one node's: */
    double complete[RLF_CHOICE_PARTS];
    const rlf_node *of;
    rlf_call_times times;
    rlf_seconds terms;
} call_sum;

static void
add_node(rlf_call_measure *m, const rlf_call_stages *stages,
         const rlf_sizes *sizes, const rlf_node *node, bool follows,
         call_sum *sum)
{
    rlf_seconds seconds;
    rlf_call_times times;
    rlf_call_seconds(stages, sizes, m->expected, node,
                     cut_of(m, stages, sizes, node), m->pareto->options.speeds,
                     &seconds, &times);
    double share = rlf_pareto_share(m->pareto, node);
    double total = share * seconds.total;
    bool most = total > sum->longest;
    for (int k = 0; k < RLF_CHOICE_PARTS && most; k++)
        sum->complete[k] = sum->all + total * times.complete[k];
    if (most) {
        sum->of = node;
        sum->times = times;
        sum->longest = total;
    }
    rlf_seconds_add(&sum->terms, &seconds, share);
    sum->all += fmax(total, nothing);
    sum->busy += share * times.busy;
    sum->messages.n += share * times.messages.n;
    sum->messages.bytes += share * times.messages.bytes;
    sum->messages.spare += share * times.messages.spare;
    sum->anew += follows ? share * times.anew : 0;
    for (int k = 0; k < RLF_SCATTERS; k++)
        sum->scattered[k] += share * times.scattered[k];
}

/* Is it on several machines? */
static bool
is_across(const rlf_call_measure *m, const rlf_choice *at)
{
    const rlf_cluster *c = m->pareto->options.speeds->cluster;
    return rlf_cluster_machine(c, at->first) !=
           rlf_cluster_machine(c, at->first + at->count - 1);
}

/* Seconds of all runs of each call in a step on average, of that replica. */
static void
take_seconds(rlf_call_measure *m, const rlf_call_stages *stages, bool updates)
{
    const rlf_pareto *f = m->pareto;
    const rlf_opened *opened = &stages->kinds[0];
    rlf_sizes sizes = rlf_opened_sizes(opened, m->scratch);
    if (!m->expected)
        m->expected = rlf_workload_expect(f->options.workload, f->options.graph,
                                          &sizes, m->arena);
    call_sum *sum = RLF_NEW_ARRAY(m->scratch, call_sum, f->problem.n_calls + 1);
    for (size_t i = 0; i < f->options.graph->nodes.count; i++) {
        const rlf_node *node = &f->options.graph->nodes.data[i];
        int c = rlf_measure_call(m, node);
        if (is_timed(m, c, updates))
            add_node(m, stages, &sizes, node, f->problem.calls[c].follows,
                     &sum[c]);
    }
    for (int c = 0; c < f->problem.n_calls; c++) {
        rlf_choice *to = &m->choice[c];
        bool slower = sum[c].all > to->seconds;
        if (slower) {
            put_complete(to, sum[c].complete, sum[c].all);
            m->terms[c] = sum[c].terms;
            to->messages =
                is_across(m, to) ? sum[c].messages : (rlf_choice_messages){0};
        }
        to->seconds = fmax(to->seconds, sum[c].all);
        if (slower && sum[c].times.n_gathers)
            put_gathers(m, opened, &sizes, sum[c].of, c, &sum[c].times);
        to->busy = fmax(to->busy, sum[c].busy);
        to->anew = fmax(to->anew, sum[c].anew);
        for (int k = 0; k < RLF_SCATTERS; k++)
            to->scattered[k] = fmax(to->scattered[k], sum[c].scattered[k]);
    }
    for (int k = 0; k < stages->n_kinds; k++) {
        rlf_measure_pages(m, &stages->kinds[k], &sizes);
        take_model_sums(m, &stages->kinds[k], &sizes);
    }
}

/* A call on more ranks than there are cores takes as long as these have to do
 * for it. */
static void
share_cores(rlf_call_measure *m)
{
    int cores = m->pareto->problem.cores;
    for (int c = 0; c < m->pareto->problem.n_calls; c++) {
        rlf_choice *to = &m->choice[c];
        to->filled = to->busy;
        if (cores)
            to->seconds = fmax(to->seconds, to->busy * to->count / cores);
        else
            to->busy = 0;
    }
}

static void
take_caps(rlf_call_measure *m, const rlf_opened *opened)
{
    const rlf_resource *r = &m->pareto->options.graph->resources.data[m->model];
    const rlf_caps *caps = rlf_resource_caps(r, opened->resource[m->model]);
    memcpy(m->tokens, caps->tokens, sizeof m->tokens);
    m->longest = rlf_caps_least_of_all(caps);
    m->pareto->longest[m->model] = m->longest;
}

/* The most of all stages. The stage with most weights (that of the embedding,
 * say) need not be the one that takes most to train. */
static void
raise_bytes(rlf_call_bytes *most, const rlf_call_bytes *one)
{
    most->kept = fmax(most->kept, one->kept);
    most->trained = fmax(most->trained, one->trained);
    most->lends = fmax(most->lends, one->lends);
    most->host = fmax(most->host, one->host);
    for (int k = 0; k <= RLF_STAGE_UPDATE; k++)
        most->own[k] = fmax(most->own[k], one->own[k]);
}

/* The layout of the model's update, or NULL. */
static const rlf_layout *
trained_on(const rlf_call_measure *m, const rlf_plan *plan)
{
    for (size_t i = 0; i < plan->graph->nodes.count; i++) {
        const rlf_node *node = &plan->graph->nodes.data[i];
        if (node->receiver == m->model && node->class->work == RLF_WORK_TRAIN)
            return &plan->place[i].layout;
    }
    return NULL;
}

/* What a stage takes to train. */
static void
raise_stage(rlf_choice_stage *stage, const rlf_call_bytes *one)
{
    stage->all = fmax(stage->all, one->trained);
    stage->lends = fmax(stage->lends, one->lends);
}

/* A replica of so many stages: seconds into `choice` if `seconds`; bytes, of
 * all stages and of each. */
static rlf_status
take_replica(rlf_call_measure *m, const rlf_plan *plan,
             const rlf_stages *replica, int pp, bool seconds, bool updates,
             rlf_err *err, rlf_call_bytes *bytes)
{
    rlf_opened *kinds = RLF_NEW_ARRAY(m->scratch, rlf_opened, replica->n_kinds);
    for (int k = 0; k < replica->n_kinds; k++) {
        RLF_TRY(rlf_outline_rank(m->pareto->options.outline, plan,
                                 replica->rank[k], m->scratch, err, &kinds[k]));
        const rlf_call_bytes one =
            rlf_call_memory(&kinds[k], m->model, m->unified);
        raise_bytes(bytes, &one);
        for (int s = 0; s < pp; s++)
            if (replica->of[s] == k)
                raise_stage(&m->stages[s], &one);
    }
    take_caps(m, &kinds[0]);
    const rlf_call_stages stages = {kinds, replica->n_kinds, replica->of};
    if (seconds)
        take_seconds(m, &stages, updates);
    return RLF_OK;
}

/* One plan on the layout. */
static rlf_status
take_plan(rlf_call_measure *m, const rlf_choice *at, bool apart, bool seconds,
          rlf_err *err, rlf_call_bytes *bytes)
{
    const rlf_cluster *cluster = m->pareto->options.speeds->cluster;
    rlf_plan *plan;
    rlf_stages *replicas;
    RLF_TRY(make_plan(m, at, apart, err, &plan));
    int *ranks = RLF_NEW_ARRAY(m->scratch, int, at->count);
    for (int i = 0; i < at->count; i++)
        ranks[i] = at->first + i;
    const rlf_layout layout = {.ranks = ranks,
                               .n_ranks = at->count,
                               .tp = at->tp,
                               .pp = at->pp,
                               .dp = at->dp};
    int n = rlf_stages_find(cluster, &layout, m->layers, trained_on(m, plan),
                            m->scratch, &replicas);
    m->unified = !rlf_cluster_part_of(cluster, at->first)->machine->device->gpu;
    *bytes = (rlf_call_bytes){0};
    m->stages = RLF_NEW_ARRAY(m->scratch, rlf_choice_stage, at->pp);
    for (int i = 0; i < n; i++)
        RLF_TRY(take_replica(m, plan, &replicas[i], at->pp, seconds, !apart,
                             err, bytes));
    return RLF_OK;
}

/* Stages that take as much as each other are not kept. */
static const rlf_choice_stage *
keep_stages(rlf_call_measure *m, const rlf_choice_stage *stages, int pp)
{
    bool alike = true;
    for (int s = 1; s < pp; s++)
        alike &= stages[s].all == stages[0].all;
    if (alike)
        return NULL;
    rlf_choice_stage *kept = RLF_NEW_ARRAY(m->kept, rlf_choice_stage, pp);
    memcpy(kept, stages, (size_t)pp * sizeof *kept);
    return kept;
}

/* `read`: of a copy that is only read; `all`: of one that is trained too, with
 * `stages`. */
static void
put_bytes(rlf_call_measure *m, const rlf_call_bytes *read,
          const rlf_call_bytes *all, const rlf_choice_stage *stages)
{
    const rlf_pareto *f = m->pareto;
    for (int c = 0; c < f->problem.n_calls; c++) {
        rlf_choice *to = &m->choice[c];
        rlf_stage_kind kind = f->problem.calls[c].kind;
        if (to->seconds <= 0)
            continue;
        to->kept = read->kept;
        to->host = read->host;
        to->own = read->own[kind];
        if (kind == RLF_STAGE_UPDATE) {
            to->own = fmax(0, all->trained - read->kept);
            to->lends = all->lends;
            to->stages = keep_stages(m, stages, to->pp);
        }
    }
}

/* On more replicas than there are lanes nothing is trained; and weights that
 * are trained take more than those that are only read: a variant has what is
 * only read from the layout without words, in at->kept. */
rlf_status
rlf_measure_layout(rlf_call_measure *m, const rlf_choice *at, rlf_err *err)
{
    const rlf_pareto *f = m->pareto;
    bool trains = m->trains && at->dp <= f->sums[m->model].lanes;
    rlf_call_bytes read, all;
    const rlf_choice_stage *stages;
    rlf_arena_reset(m->scratch);
    if (!trains && (!m->reads || m->untimed))
        return rlf_fail(err, RLF_USER,
                        "%d replicas are more than can have a lane", at->dp);
    for (int c = 0; c < f->problem.n_calls; c++)
        m->choice[c] = (rlf_choice){.first = at->first,
                                    .count = at->count,
                                    .tp = at->tp,
                                    .pp = at->pp,
                                    .dp = at->dp,
                                    .variant = at->variant};
    memset(m->terms, 0, sizeof m->terms);
    memset(m->pages, 0, sizeof m->pages);
    m->pool = (rlf_pool){0};
    RLF_TRY(take_plan(m, at, m->trains && !trains, true, err, &all));
    read = all;
    stages = m->stages;
    if (trains && m->reads && at->variant)
        read.kept = at->kept;
    else if (trains && m->reads && is_aside(at, aside(m, at)))
        RLF_TRY(take_plan(m, at, true, false, err, &read));
    put_bytes(m, &read, &all, stages);
    rlf_measure_put_pages(m);
    share_cores(m);
    return RLF_OK;
}

rlf_status
rlf_measure_begin(rlf_call_measure *m, const rlf_pareto *f, int model,
                  rlf_arena *kept, rlf_err *err)
{
    const rlf_resource *r = &f->options.graph->resources.data[model];
    *m = (rlf_call_measure){.pareto = f,
                            .model = model,
                            .only = -1,
                            .scratch = rlf_arena_sized(SCRATCH),
                            .arena = rlf_arena_new(),
                            .kept = kept};
    m->pipelines = f->options.pipelines ? f->options.pipelines
                                        : rlf_pipelines_new(m->arena);
    for (int c = 0; c < f->problem.n_calls; c++) {
        bool update = f->problem.calls[c].kind == RLF_STAGE_UPDATE;
        m->trains |= f->calls[c].model == model && update;
        m->reads |= f->calls[c].model == model && !update;
    }
    rlf_shapes shapes;
    RLF_TRY(r->class->model->shapes(f->options.graph, r, NULL, m->scratch, err,
                                    &shapes));
    m->layers = shapes.layers;
    return RLF_OK;
}

void
rlf_measure_end(rlf_call_measure *m)
{
    rlf_arena_free(m->scratch);
    rlf_arena_free(m->arena);
}

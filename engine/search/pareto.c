/* Problems of programs: see pareto.h. */
#include "engine/search/pareto.h"

#include <math.h>
#include <string.h>

#include "engine/layout/lanes.h"
#include "engine/search/lanes.h"
#include "engine/search/model_moves.h"
#include "engine/search/fixed_rows.h"
#include "engine/search/pareto_state.h"
#include "engine/search/program.h"
#include "engine/search/shards.h"
#include "engine/timing/measured.h"

enum {
    MOST_STAGES = 64,
    MOST_LAYOUTS = 1024, /* of a call on a mesh, with all words */
};

/* ---- layouts ---- */

/* The choices for a model's calls on the meshes of one size and kind. */
typedef struct layouts {
    rlf_choice *list[RLF_SEARCH_CALLS]; /* per call of the problem: */
    int n[RLF_SEARCH_CALLS];            /* those that none beats, */
    int others[RLF_SEARCH_CALLS];       /* and behind them the other cuts */
} layouts;

/* Says whether it is to stop; also tells who looks how far it is. */
static bool
is_stopped(const options_of *o)
{
    const rlf_pareto_options *options = &o->pareto->options;
    bool stop =
        options->stop && options->stop(options->arg, o->seen, o->meshes);
    return stop && o->may_stop;
}

static bool
allows_cut(const options_of *o, int c, const rlf_choice *at)
{
    const rlf_place_row *fixed = rlf_fixed_rows_call(o->pareto, c);
    return rlf_fixed_rows_allow_cut(fixed, at->tp, at->pp, at->dp) &&
           rlf_shards_allow(o->pareto, c, at->tp);
}

/* May any of the model's calls be on the ranks, or (with all of `at`) be cut
 * so?
 */
static bool
any_on(const options_of *o, const rlf_cluster_mesh *mesh, const rlf_choice *at)
{
    bool any = false;
    for (int c = 0; c < o->pareto->problem.n_calls; c++)
        any |= rlf_pareto_calls(o, c) &&
               rlf_fixed_rows_allow_ranks(rlf_fixed_rows_call(o->pareto, c),
                                          mesh->first, mesh->n) &&
               (!at || allows_cut(o, c, at));
    return any;
}

void
rlf_pareto_look(options_of *o, const rlf_choice *at, int only)
{
    rlf_err err = RLF_ERR_NONE;
    if (is_stopped(o))
        return;
    o->measure.only = only;
    if (rlf_measure_layout(&o->measure, at, &err) < 0) {
        for (int c = 0; c < o->pareto->problem.n_calls; c++)
            if (allows_cut(o, c, at))
                o->why[c] = err;
        return;
    }
    for (int c = 0; c < o->pareto->problem.n_calls; c++)
        if (rlf_pareto_calls(o, c) && (only < 0 || only == c) &&
            allows_cut(o, c, at) && o->measure.choice[c].seconds > 0 &&
            o->n[c] < MOST_LAYOUTS)
            o->all[c][o->n[c]++] = o->measure.choice[c];
}

/* Does a place row ask for that tp, or that pp? */
static bool
said(const options_of *o, const rlf_choice *at, bool tp)
{
    bool any = false;
    for (int c = 0; c < o->pareto->problem.n_calls; c++) {
        const rlf_place_row *fixed = rlf_fixed_rows_call(o->pareto, c);
        any |= rlf_pareto_calls(o, c) && fixed &&
               (tp ? fixed->tp == at->tp : fixed->pp == at->pp);
    }
    return any;
}

static void
look_at_layouts(options_of *o, const rlf_cluster_mesh *mesh, int machine)
{
    const int shards = o->pareto->sums[o->measure.model].shards;
    int stages = o->pareto->options.keeps ? mesh->n : MOST_STAGES;
    memset(o->n, 0, sizeof o->n);
    for (int tp = 1; tp <= mesh->n && shards % tp == 0; tp *= 2)
        for (int pp = 1; pp <= stages && tp * pp <= mesh->n; pp++) {
            rlf_choice at = {.first = mesh->first,
                             .count = mesh->n,
                             .tp = tp,
                             .pp = pp,
                             .dp = mesh->n / tp / pp};
            bool usual = (tp <= machine || said(o, &at, true)) &&
                         (pp <= MOST_STAGES || said(o, &at, false));
            if (usual && tp * pp * at.dp == mesh->n &&
                at.dp <= RLF_MOST_LANES && any_on(o, mesh, &at))
                rlf_pareto_look(o, &at, -1);
        }
}

static bool
same_cut(const rlf_choice *a, const rlf_choice *b)
{
    return a->tp == b->tp && a->pp == b->pp && a->dp == b->dp &&
           a->variant == b->variant;
}

/* Puts those of `n` cuts that are not in the front behind it. */
static int
put_others(const rlf_choice *cuts, int n, rlf_choice *front, int n_front)
{
    int others = 0;
    for (int i = 0; i < n; i++) {
        bool is_there = false;
        for (int k = 0; k < n_front; k++)
            is_there |= same_cut(&cuts[i], &front[k]);
        if (!is_there)
            front[n_front + others++] = cuts[i];
    }
    return others;
}

/* All layouts of one mesh, with words. */
static void
look_at_mesh(options_of *o, const rlf_cluster_mesh *mesh, int machine,
             layouts *out)
{
    int n_calls = o->pareto->problem.n_calls;
    rlf_choice *cuts[RLF_SEARCH_CALLS];
    int n_cuts[RLF_SEARCH_CALLS];
    look_at_layouts(o, mesh, machine);
    for (int c = 0; c < n_calls; c++) {
        n_cuts[c] = o->pareto->problem.devices <= RLF_PARETO_MANY ? o->n[c] : 0;
        cuts[c] = RLF_NEW_ARRAY(o->arena, rlf_choice, n_cuts[c] + 1);
        memcpy(cuts[c], o->all[c], sizeof *o->all[c] * (size_t)n_cuts[c]);
        if (rlf_pareto_calls(o, c))
            rlf_pareto_vary(o, c);
    }
    for (int c = 0; c < n_calls; c++) {
        out->n[c] = rlf_choices_front(o->all[c], o->n[c]);
        out->list[c] =
            RLF_NEW_ARRAY(o->arena, rlf_choice, out->n[c] + n_cuts[c] + 1);
        memcpy(out->list[c], o->all[c], sizeof *o->all[c] * (size_t)out->n[c]);
        out->others[c] =
            put_others(cuts[c], n_cuts[c], out->list[c], out->n[c]);
    }
}

static bool
alike(const rlf_pareto *f, const rlf_cluster_mesh *a, const rlf_cluster_mesh *b)
{
    const rlf_cluster *c = f->options.speeds->cluster;
    return a->n == b->n &&
           rlf_cluster_part_of(c, a->first) ==
               rlf_cluster_part_of(c, b->first) &&
           !rlf_fixed_rows_name_mesh(f, a) && !rlf_fixed_rows_name_mesh(f, b);
}

/* Are its choices found here, and not those of the problem that this one is
 * like? */
static bool
is_measured(const options_of *o, int c)
{
    return rlf_pareto_calls(o, c) &&
           (!o->measure.untimed ||
            o->pareto->problem.calls[c].kind == RLF_STAGE_UPDATE);
}

/* Is the call the model's, and may it be on that mesh? */
static bool
is_on(const options_of *o, int c, const rlf_cluster_mesh *mesh)
{
    return rlf_pareto_calls(o, c) &&
           rlf_fixed_rows_allow_ranks(rlf_fixed_rows_call(o->pareto, c),
                                      mesh->first, mesh->n);
}

/* The choices of a mesh like `meshes[i]`, at its place, and behind all choices
 * those that others beat. */
static void
put_choices(options_of *o, const rlf_cluster_mesh *mesh, const layouts *l,
            int *room)
{
    for (int c = 0; c < o->pareto->problem.n_calls; c++) {
        rlf_problem_call *call = &o->pareto->problem.calls[c];
        for (int k = 0; is_on(o, c, mesh) && k < l->n[c] + l->others[c]; k++) {
            int at =
                k < l->n[c] ? call->n_choices++ : room[c] + call->n_others++;
            call->choices[at] = l->list[c][k];
            call->choices[at].first = mesh->first;
        }
    }
}

static bool
has_all(const options_of *o, const layouts *l)
{
    bool all = true;
    for (int c = 0; c < o->pareto->problem.n_calls; c++)
        all &= !is_measured(o, c) || l->n[c] > 0;
    return all;
}

/* If it is only asked whether all fits: a call takes least of each device if
 * it is on all of them, or on their half, a quarter ... or a power of two where
 * it cannot be cut into as many parts. */
static bool
may_give_room(const options_of *o, const rlf_cluster_mesh *mesh)
{
    int times = o->pareto->problem.devices / mesh->n;
    return !o->pareto->options.room || rlf_pareto_is_one(mesh->n) ||
           (times * mesh->n == o->pareto->problem.devices &&
            rlf_pareto_is_one(times)) ||
           rlf_fixed_rows_name_mesh(o->pareto, mesh);
}

/* All meshes of the cluster, larger ones first; those of one size in one part
 * are alike, so one of them is looked at. */
static void
look_at_meshes(options_of *o, const rlf_cluster_mesh *meshes, int n)
{
    const rlf_cluster *cluster = o->pareto->options.speeds->cluster;
    layouts **of = RLF_NEW_ARRAY(o->arena, layouts *, n);
    int room[RLF_SEARCH_CALLS] = {0}, others[RLF_SEARCH_CALLS] = {0};
    for (int i = 0; i < n; i++) {
        const rlf_cluster_part *part =
            rlf_cluster_part_of(cluster, meshes[i].first);
        if (meshes[i].first + meshes[i].n > o->pareto->problem.devices ||
            !any_on(o, &meshes[i], NULL) || !may_give_room(o, &meshes[i]))
            continue;
        if (i && of[i - 1] && alike(o->pareto, &meshes[i - 1], &meshes[i])) {
            of[i] = of[i - 1];
        } else {
            of[i] = RLF_NEW(o->arena, layouts);
            look_at_mesh(o, &meshes[i], part->machine->count, of[i]);
            o->may_stop |= has_all(o, of[i]);
        }
        o->seen++;
        for (int c = 0; c < o->pareto->problem.n_calls; c++)
            if (is_on(o, c, &meshes[i])) {
                room[c] += of[i]->n[c];
                others[c] += of[i]->others[c];
            }
    }
    for (int c = 0; c < o->pareto->problem.n_calls; c++) {
        rlf_problem_call *call = &o->pareto->problem.calls[c];
        if (!rlf_pareto_calls(o, c))
            continue;
        call->choices =
            RLF_NEW_ARRAY(o->arena, rlf_choice, room[c] + others[c]);
    }
    for (int i = 0; i < n; i++)
        if (of[i])
            put_choices(o, &meshes[i], of[i], room);
}

/* ---- lanes ---- */

/* The model's updates on a mesh with so many lanes, that were measured once:
 * bytes and seconds of each layout. */
typedef struct trained {
    const rlf_cluster_mesh *mesh;
    int lanes, n;
    double (*layout)[2];
    struct trained *next;
} trained;

static const trained *
train_on(options_of *o, const rlf_cluster_mesh *mesh, int lanes)
{
    rlf_pareto *f = o->pareto;
    bool reads = o->measure.reads;
    for (const trained *t = o->trained; t; t = t->next)
        if (t->mesh == mesh && t->lanes == lanes)
            return t;
    f->sums[o->measure.model].lanes = lanes;
    o->measure.reads = false;
    look_at_layouts(o, mesh,
                    rlf_cluster_part_of(f->options.speeds->cluster, mesh->first)
                        ->machine->count);
    o->measure.reads = reads;
    int n = 0;
    for (int c = 0; c < f->problem.n_calls; c++)
        n += o->n[c];
    trained *t = RLF_NEW(o->arena, trained);
    *t = (trained){.mesh = mesh, .lanes = lanes, .next = o->trained};
    t->layout = rlf_arena_alloc(o->arena, (size_t)n * sizeof *t->layout);
    o->trained = t;
    for (int c = 0; c < f->problem.n_calls; c++) {
        bool update = f->problem.calls[c].kind == RLF_STAGE_UPDATE;
        for (int k = 0; k < o->n[c] && update; k++) {
            t->layout[t->n][0] = o->all[c][k].kept + o->all[c][k].own;
            t->layout[t->n++][1] = o->all[c][k].seconds;
        }
    }
    return t;
}

/* See rlf_search_lanes_ask. */
static double
fastest(void *arg, const rlf_cluster_mesh *mesh, int lanes, double memory)
{
    options_of *o = arg;
    const trained *t = train_on(o, mesh, lanes);
    double least = INFINITY;
    double room =
        fmin(memory, rlf_search_lanes_memory(&o->pareto->problem, mesh->first));
    for (int k = 0; k < t->n; k++)
        if (t->layout[k][0] <= room)
            least = fmin(least, t->layout[k][1]);
    return least;
}

/* May the model's update be on that mesh? It may if it has none. */
static bool
may_train(void *arg, const rlf_cluster_mesh *mesh)
{
    const options_of *o = arg;
    bool may = true;
    for (int c = 0; c < o->pareto->problem.n_calls; c++)
        may &= !rlf_pareto_calls(o, c) || is_on(o, c, mesh) ||
               o->pareto->problem.calls[c].kind != RLF_STAGE_UPDATE;
    return may;
}

/* The fewest, from `least` on, with which the model is trained on all ranks: as
 * many replicas as it takes where it cannot be cut into more parts. */
static int
fewest_lanes(options_of *o, const rlf_cluster_mesh *largest, int least)
{
    while (least < RLF_MOST_LANES && !train_on(o, largest, least)->n)
        least *= 2;
    return least;
}

/* As a checkpoint or the program says; else the best, on the CPU no fewer than
 * by default. */
static void
choose_lanes(options_of *o, const rlf_cluster_mesh *meshes, int n,
             const rlf_cluster_mesh *largest)
{
    rlf_pareto *f = o->pareto;
    int model = o->measure.model;
    const rlf_machine_kind *machine =
        rlf_cluster_part_of(f->options.speeds->cluster, largest->first)
            ->machine;
    const rlf_sums *given = f->options.plan->sums;
    const rlf_place_row *row = rlf_shards_row(f, model);
    int *lanes = &f->sums[model].lanes;
    rlf_search_lanes_ask ask = {.meshes = meshes,
                                .n = n,
                                .machine = machine->count,
                                .least =
                                    machine->device->gpu ? 1 : RLF_CPU_LANES,
                                .may_train = may_train,
                                .fastest = fastest,
                                .arg = o};
    *lanes = 1;
    if (!o->measure.trains)
        return;
    if (given && given[model].lanes > 0) {
        *lanes = given[model].lanes;
    } else if (row && row->lanes > 0) {
        *lanes = row->lanes;
    } else {
        while (ask.least < rlf_shards_said(f, model, false))
            ask.least *= 2;
        f->fewest[model] = fewest_lanes(o, largest, ask.least);
        int best = f->options.room
                       ? f->fewest[model]
                       : rlf_search_lanes_best(&ask, largest, INFINITY);
        rlf_search_lanes_choose_lesser(f, model, &ask, largest);
        *lanes = best;
    }
}

/* No layout is left of a call. */
static rlf_status
fail_to_cut(const options_of *o, int call, rlf_err *err)
{
    const rlf_pareto *f = o->pareto;
    const rlf_graph *graph = f->options.graph;
    if (rlf_fixed_rows_call(f, call))
        return rlf_fixed_rows_fail(f, call, &o->why[call], err);
    rlf_fail(err, RLF_USER,
             "'%s' cannot be cut so that it runs on this cluster",
             graph->resources.data[o->measure.model].name);
    rlf_err_hint(err, "%s", o->why[call].sentence);
    return RLF_USER;
}

/* True: the sums given for the model are those that it has in the problem that
 * this one is like. */
static bool
is_known(const rlf_pareto *f, int model)
{
    const rlf_sums *given = f->options.plan->sums;
    const rlf_sums *has =
        f->options.like ? &f->options.like->sums[model] : NULL;
    return has && given && given[model].shards == has->shards &&
           given[model].lanes == has->lanes;
}

/* Says whether the calls' cuts are known: with the same shards they are as in
 * that problem. */
static bool
cuts_are_known(const rlf_pareto *f, int model)
{
    const rlf_pareto *like = f->options.like;
    return like && like->sums[model].shards == f->sums[model].shards;
}

/* The choices of the other problem on the ranks of this one, of calls but
 * updates or of all. */
static rlf_status
take_choices(rlf_pareto *f, int model, bool updates, rlf_arena *arena,
             rlf_err *err)
{
    const rlf_pareto *like = f->options.like;
    f->longest[model] = like->longest[model];
    if (updates)
        f->sums[model] = like->sums[model];
    for (int c = 0; c < f->problem.n_calls; c++) {
        rlf_problem_call *to = &f->problem.calls[c];
        const rlf_problem_call *from = &like->problem.calls[c];
        int n = from->n_choices + from->n_others;
        if (f->calls[c].model != model ||
            (to->kind == RLF_STAGE_UPDATE && !updates))
            continue;
        to->n_choices = to->n_others = 0;
        to->choices = RLF_NEW_ARRAY(arena, rlf_choice, n);
        for (int k = 0; k < n; k++) {
            const rlf_choice *at = &from->choices[k];
            if (at->first + at->count > f->problem.devices)
                continue;
            to->choices[to->n_choices + to->n_others] = *at;
            *(k < from->n_choices ? &to->n_choices : &to->n_others) += 1;
        }
        if (!to->n_choices)
            return rlf_fail(err, RLF_USER, "'%s' has no room on %d ranks",
                            to->name, f->problem.devices);
    }
    return RLF_OK;
}

/* `models`: how many are done, of how many. */
static rlf_status
add_choices(rlf_pareto *f, int model, const rlf_cluster_mesh *meshes, int n,
            const int *models, rlf_arena *arena, rlf_err *err)
{
    options_of o = {.pareto = f,
                    .arena = arena,
                    .seen = models[0] * n,
                    .meshes = models[1] * n,
                    .why = RLF_NEW_ARRAY(arena, rlf_err, f->problem.n_calls)};
    rlf_status status = rlf_measure_begin(&o.measure, f, model, arena, err);
    o.measure.untimed = cuts_are_known(f, model);
    for (int c = 0; c < f->problem.n_calls; c++)
        o.all[c] = RLF_NEW_ARRAY(arena, rlf_choice, MOST_LAYOUTS);
    int first = 0; /* that all lies on ranks of the plan, and may train */
    while (first < n - 1 &&
           (meshes[first].first + meshes[first].n > f->problem.devices ||
            !may_train(&o, &meshes[first])))
        first++;
    if (status >= 0) {
        choose_lanes(&o, meshes, n, &meshes[first]);
        look_at_meshes(&o, meshes, n);
    }
    rlf_measure_end(&o.measure);
    RLF_TRY(status);
    if (o.measure.untimed)
        RLF_TRY(take_choices(f, model, false, arena, err));
    for (int c = 0; c < f->problem.n_calls; c++)
        if (rlf_pareto_calls(&o, c) && !f->problem.calls[c].n_choices)
            return fail_to_cut(&o, c, err);
    return RLF_OK;
}

/* ---- problems ---- */

static void
set_memory(rlf_pareto *f, rlf_arena *arena)
{
    double *memory = RLF_NEW_ARRAY(arena, double, f->problem.devices);
    double *host = RLF_NEW_ARRAY(arena, double, f->problem.devices);
    int *machine_of = RLF_NEW_ARRAY(arena, int, f->problem.devices);
    const rlf_cluster *cluster = f->options.speeds->cluster;
    for (int i = 0; i < f->problem.devices; i++) {
        const rlf_machine_kind *m = rlf_cluster_part_of(cluster, i)->machine;
        memory[i] = m->device->memory;
        host[i] = m->host;
        machine_of[i] = rlf_cluster_machine(cluster, i);
    }
    f->problem.memory = memory;
    f->problem.host = host;
    f->problem.machine_of = machine_of;
}

rlf_status
rlf_pareto_make(const rlf_pareto_options *options, rlf_arena *arena,
                rlf_err *err, rlf_pareto *out)
{
    const rlf_cluster *cluster = options->speeds->cluster;
    rlf_cluster_mesh *meshes;
    int n;
    *out = (rlf_pareto){.options = *options};
    out->problem.devices = options->plan->ranks;
    out->problem.cores = rlf_measured_cores(options->speeds);
    int machine = cluster->parts[0].machine->count;
    bool alike = cluster->n_parts == 1 && !(machine & (machine - 1)) &&
                 out->problem.devices == cluster->ranks;
    size_t models = options->graph->resources.count;
    out->longest = RLF_NEW_ARRAY(arena, uint32_t, models);
    out->sums = RLF_NEW_ARRAY(arena, rlf_sums, models);
    out->fewest = RLF_NEW_ARRAY(arena, int, models);
    set_memory(out, arena);
    RLF_TRY(rlf_program_calls(out, arena, err));
    RLF_TRY(rlf_model_moves_set(out, arena, err));
    rlf_search_lanes_list_lesser(out, arena);
    RLF_TRY(rlf_fixed_rows_check(out, err));
    rlf_shards_set(out);
    RLF_TRY(rlf_cluster_meshes(cluster, out->problem.devices, RLF_PARETO_RUNS,
                               arena, err, &meshes, &n));
    bool odd = rlf_fixed_rows_add_meshes(out, arena, &meshes, &n);
    out->problem.machine = alike && !odd ? machine : 0;
    for (int i = 0; i < cluster->n_parts; i++)
        out->some |= cluster->parts[i].count > RLF_PARETO_RUNS;
    int done[2] = {0}; /* models, of all */
    for (int i = 0; i < (int)models; i++)
        done[1] += rlf_shards_called(out, i);
    for (int i = 0; i < (int)models; i++)
        if (rlf_shards_called(out, i)) {
            RLF_TRY(is_known(out, i)
                        ? take_choices(out, i, true, arena, err)
                        : add_choices(out, i, meshes, n, done, arena, err));
            done[0]++;
        }
    rlf_search_lanes_keep_lesser(out);
    return rlf_problem_close(&out->problem, arena, err);
}

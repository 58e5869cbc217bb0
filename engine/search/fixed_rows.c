/* See fixed_rows.h. */
#include "engine/search/fixed_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/layout/lanes.h"
#include "engine/search/measure.h"
#include "engine/search/shards.h"

/* Of a size that no mesh of a cluster has by itself: how often it is doubled at
 * most, and in how many places each is looked at. */
enum { SIZES = 32, PLACES = 16 };

static const rlf_placement *
placement_of(const rlf_pareto *f)
{
    return f->options.keeps ? f->options.graph->placement : NULL;
}

bool
rlf_fixed_rows_any(const rlf_pareto *f)
{
    return placement_of(f) && placement_of(f)->n_pins;
}

const rlf_place_row *
rlf_fixed_rows_call(const rlf_pareto *f, int call)
{
    return rlf_placement_pin(placement_of(f), f->calls[call].model,
                             f->calls[call].class);
}

const rlf_place_row *
rlf_fixed_rows_model(const rlf_pareto *f, int model)
{
    return rlf_placement_pin(placement_of(f), model, NULL);
}

bool
rlf_fixed_rows_allow_ranks(const rlf_place_row *fixed, int first, int count)
{
    return !fixed || !fixed->n_ranks ||
           (fixed->ranks[0] == first && fixed->n_ranks == count);
}

/* A row that speaks of samples that replicas hand over needs two of them. */
static bool
hands_over(const rlf_place_row *fixed)
{
    return fixed->migrate >= 0 || fixed->seats >= 0 ||
           fixed->carry != RLF_CARRY_CHEAPER;
}

/* Chunks of a rank, which its schedule or the row itself asks for, need stages
 * to lie between them. */
static bool
has_chunks(const rlf_place_row *fixed)
{
    return fixed->schedule &&
           (fixed->chunks > 1 || strcmp(fixed->schedule, "zb-v") == 0 ||
            strcmp(fixed->schedule, "interleaved") == 0);
}

bool
rlf_fixed_rows_allow_cut(const rlf_place_row *fixed, int tp, int pp, int dp)
{
    return !fixed ||
           ((fixed->tp < 0 || fixed->tp == tp) &&
            (fixed->pp < 0 || fixed->pp == pp) &&
            (fixed->dp < 0 || fixed->dp == dp) &&
            (dp > 1 || !hands_over(fixed)) && (pp > 1 || !has_chunks(fixed)));
}

void
rlf_fixed_rows_words(const rlf_place_row *fixed, const rlf_node_class *call,
                     rlf_place_row *row)
{
    if (!fixed)
        return;
    if (call->work != RLF_WORK_GENERATE && fixed->tokens > 0)
        row->tokens = fixed->tokens;
    if (call->work == RLF_WORK_GENERATE) {
        row->migrate = fixed->migrate;
        row->seats = fixed->seats;
        row->carry = fixed->carry;
    }
    if (call->work != RLF_WORK_TRAIN)
        return;
    if (fixed->zero >= 0)
        row->zero = fixed->zero;
    if (fixed->recompute >= 0)
        row->recompute = fixed->recompute;
    if (fixed->schedule) {
        row->schedule = fixed->schedule;
        row->table = fixed->table;
        row->chunks = fixed->chunks;
    }
}

int
rlf_fixed_rows_free(const rlf_place_row *fixed, int variants)
{
    int said = 0;
    if (fixed && fixed->zero >= 0)
        said |= RLF_VARIANT_ZERO;
    if (fixed && fixed->recompute >= 0)
        said |= RLF_VARIANT_RECOMPUTE;
    if (fixed && fixed->schedule)
        said |= RLF_VARIANT_SCHEDULES;
    if (fixed && fixed->offload >= 0)
        said |= RLF_VARIANT_OFFLOAD;
    return variants & ~said;
}

/* ---- meshes ---- */

bool
rlf_fixed_rows_name_mesh(const rlf_pareto *f, const rlf_cluster_mesh *mesh)
{
    bool any = false;
    for (int c = 0; c < f->problem.n_calls; c++) {
        const rlf_place_row *fixed = rlf_fixed_rows_call(f, c);
        any |= fixed && fixed->n_ranks && fixed->n_ranks == mesh->n &&
               fixed->ranks[0] == mesh->first;
    }
    return any;
}

/* Larger ones first, then by rank. */
static int
by_size(const void *a, const void *b)
{
    const rlf_cluster_mesh *x = a, *y = b;
    return x->n != y->n ? (x->n < y->n ? 1 : -1)
                        : (x->first > y->first) - (x->first < y->first);
}

static void
add_mesh(const rlf_pareto *f, int first, int count, rlf_cluster_mesh *list,
         int *n)
{
    const rlf_cluster *cluster = f->options.speeds->cluster;
    for (int i = 0; i < *n; i++)
        if (list[i].first == first && list[i].n == count)
            return;
    list[(*n)++] = (rlf_cluster_mesh){
        .first = first,
        .n = count,
        .kind = rlf_cluster_part_of(cluster, first)->machine->device};
}

/* Ranks that are divided as a row says, which says no ranks. */
static int
product_of(const rlf_place_row *fixed)
{
    int product = 1;
    const int part[] = {fixed->tp, fixed->pp, fixed->dp};
    for (int i = 0; i < 3; i++)
        product *= part[i] > 0 ? part[i] : 1;
    return product;
}

bool
rlf_fixed_rows_add_meshes(const rlf_pareto *f, rlf_arena *arena,
                          rlf_cluster_mesh **meshes, int *n)
{
    int devices = f->problem.devices, was = *n;
    int room = *n + f->problem.n_calls * SIZES * PLACES;
    bool any = false;
    if (!placement_of(f))
        return false;
    rlf_cluster_mesh *list = RLF_NEW_ARRAY(arena, rlf_cluster_mesh, room);
    for (int i = 0; i < *n; i++)
        list[i] = (*meshes)[i];
    for (int c = 0; c < f->problem.n_calls; c++) {
        const rlf_place_row *fixed = rlf_fixed_rows_call(f, c);
        any |= fixed && fixed->n_ranks;
        if (fixed && fixed->n_ranks)
            add_mesh(f, fixed->ranks[0], fixed->n_ranks, list, n);
        if (!fixed || fixed->n_ranks)
            continue;
        int64_t size = product_of(fixed);
        if (!(size & (size - 1)))
            continue;
        for (; size <= devices; size *= 2)
            for (int k = 0; k < PLACES && (k + 1) * size <= devices; k++)
                add_mesh(f, (int)(k * size), (int)size, list, n);
    }
    qsort(list, (size_t)*n, sizeof *list, by_size);
    *meshes = list;
    return any || *n > was;
}

/* ---- models that nobody calls ---- */

static bool
is_called(const rlf_pareto *f, int model)
{
    bool called = false;
    for (int c = 0; c < f->problem.n_calls; c++)
        called |= f->calls[c].model == model;
    return called;
}

rlf_place_row *
rlf_fixed_rows_idle(const rlf_pareto *f, rlf_arena *arena, int *n)
{
    const rlf_placement *p = placement_of(f);
    rlf_place_row *rows =
        RLF_NEW_ARRAY(arena, rlf_place_row, p ? p->n_pins : 0);
    *n = 0;
    for (int i = 0; p && i < p->n_pins; i++) {
        if (is_called(f, p->pins[i].model))
            continue;
        rlf_place_row *row = &rows[(*n)++];
        *row = p->pins[i];
        if (!row->n_ranks) {
            int *ranks = RLF_NEW_ARRAY(arena, int, f->problem.devices);
            for (int r = 0; r < f->problem.devices; r++)
                ranks[r] = r;
            row->ranks = ranks;
            row->n_ranks = f->problem.devices;
        }
        row->tp = row->tp < 0 ? 1 : row->tp;
        row->pp = row->pp < 0 ? 1 : row->pp;
        row->dp = row->n_ranks / row->tp / row->pp;
    }
    return rows;
}

/* ---- rows that cannot be kept ---- */

/* The row as it is written. */
static const char *
words_of(const rlf_pareto *f, const rlf_place_row *fixed, rlf_arena *arena)
{
    rlf_buf text = {0};
    rlf_place_row_print(f->options.graph, fixed, &text);
    const char *words = rlf_arena_strdup(arena, text.p);
    rlf_buf_free(&text);
    return words;
}

static rlf_status
fail_at(const rlf_place_row *fixed, rlf_err *err)
{
    rlf_err_place(err, fixed->span, NULL);
    return RLF_USER;
}

static rlf_status
check_ranks(const rlf_pareto *f, const rlf_place_row *fixed, rlf_err *err)
{
    int last = fixed->ranks[fixed->n_ranks - 1];
    const char *model = f->options.graph->resources.data[fixed->model].name;
    const char *dot = fixed->call ? "." : "";
    const char *call = fixed->call ? fixed->call->name : "";
    if (last >= f->problem.devices) {
        rlf_fail(err, RLF_USER,
                 "'%s%s%s' is to be kept on rank %d, so it needs %d ranks, and "
                 "there are %d",
                 model, dot, call, last, last + 1, f->problem.devices);
        return fail_at(fixed, err);
    }
    if (last - fixed->ranks[0] + 1 == fixed->n_ranks ||
        !is_called(f, fixed->model))
        return RLF_OK;
    rlf_fail(err, RLF_USER,
             "a search places calls on ranks that follow one another, and "
             "those of '%s%s%s' do not",
             model, dot, call);
    rlf_err_hint(err, "write a range, as %d..%d, or place all calls by rows",
                 fixed->ranks[0], fixed->ranks[0] + fixed->n_ranks - 1);
    return fail_at(fixed, err);
}

static rlf_status
fail_to_divide(const rlf_pareto *f, const rlf_place_row *fixed, rlf_err *err)
{
    rlf_fail(
        err, RLF_USER,
        "'%s' cannot keep its row, which does not divide the %d ranks that "
        "there are",
        f->options.graph->resources.data[fixed->model].name,
        f->problem.devices);
    return fail_at(fixed, err);
}

rlf_status
rlf_fixed_rows_check(const rlf_pareto *f, rlf_err *err)
{
    const rlf_placement *p = placement_of(f);
    for (int i = 0; p && i < p->n_pins; i++) {
        const rlf_place_row *fixed = &p->pins[i];
        int product = product_of(fixed);
        if (fixed->n_ranks)
            RLF_TRY(check_ranks(f, fixed, err));
        else if (!is_called(f, fixed->model) && f->problem.devices % product)
            return fail_to_divide(f, fixed, err);
    }
    return RLF_OK;
}

/* Has the call a tp of which its model has no such parts? *why says so. */
static bool
is_uneven(const rlf_pareto *f, int call, int tp, rlf_err *why)
{
    const rlf_graph *graph = f->options.graph;
    const rlf_resource *r = &graph->resources.data[f->calls[call].model];
    const rlf_layout layout = {.tp = tp, .pp = 1, .dp = 1, .chunks = 1};
    const rlf_layout *const list[] = {&layout};
    int wrong;
    return tp > 0 && !(tp & (tp - 1)) &&
           r->class->model->fits(graph, r, list, 1, 1, why, &wrong) < 0;
}

rlf_status
rlf_fixed_rows_fail(const rlf_pareto *f, int call, const rlf_err *why,
                    rlf_err *err)
{
    const rlf_place_row *fixed = rlf_fixed_rows_call(f, call);
    const char *name = f->problem.calls[call].name;
    int devices = f->problem.devices, product = product_of(fixed);
    rlf_sums sums = f->sums[f->calls[call].model];
    bool update = f->calls[call].class->work == RLF_WORK_TRAIN;
    rlf_err uneven = RLF_ERR_NONE;
    if (is_uneven(f, call, fixed->tp, &uneven)) {
        rlf_fail(err, RLF_USER, "'%s' cannot keep tp: %d: %s", name, fixed->tp,
                 uneven.sentence);
        rlf_err_hint(err, "%s", uneven.hint);
    } else if (fixed->tp > 0 && sums.shards % fixed->tp) {
        rlf_fail(err, RLF_USER,
                 "'%s' cannot keep tp: %d: the model has %d shard%s, and tp "
                 "divides them",
                 name, fixed->tp, sums.shards, sums.shards == 1 ? "" : "s");
        rlf_err_hint(err,
                     "a tp is a power of two, as shards are, and 'shards:' "
                     "of a row of the model says how many there are");
    } else if (fixed->tp > 0 && !rlf_shards_allow(f, call, fixed->tp)) {
        int lender = f->calls[call].lender, shards = f->sums[lender].shards;
        rlf_fail(err, RLF_USER,
                 "'%s' cannot keep tp: %d: weights of '%s' are read where it "
                 "runs, which has %d shard%s, and tp divides them",
                 name, fixed->tp, f->options.graph->resources.data[lender].name,
                 shards, shards == 1 ? "" : "s");
    } else if (product > devices) {
        rlf_fail(err, RLF_USER,
                 "'%s' cannot keep its row: that takes %d ranks at least, and "
                 "there are %d",
                 name, product, devices);
    } else if (update && fixed->dp > sums.lanes) {
        rlf_fail(err, RLF_USER,
                 "'%s' cannot keep dp: %d: the model has %d lane%s, and each "
                 "replica needs one",
                 name, fixed->dp, sums.lanes, sums.lanes == 1 ? "" : "s");
    } else if (why->status < 0) {
        rlf_fail(err, RLF_USER, "'%s' cannot keep its row: %s", name,
                 why->sentence);
        if (*why->hint)
            rlf_err_hint(err, "%s", why->hint);
    } else {
        rlf_fail(err, RLF_USER,
                 "'%s' cannot keep its row: no ranks of the cluster can be "
                 "divided so",
                 name);
    }
    return fail_at(fixed, err);
}

rlf_status
rlf_fixed_rows_fit(const rlf_pareto *f, rlf_err *err)
{
    for (int c = 0; c < f->problem.n_calls; c++) {
        const rlf_problem_call *call = &f->problem.calls[c];
        const rlf_place_row *fixed = rlf_fixed_rows_call(f, c);
        double over = INFINITY;
        for (int k = 0; fixed && k < call->n_choices; k++) {
            const rlf_choice *at = &call->choices[k];
            double least = INFINITY;
            for (int r = at->first; r < at->first + at->count; r++)
                least = fmin(least, f->problem.memory[r]);
            over = fmin(over, at->kept + at->own + at->work - least);
        }
        if (!fixed || !(over > 0))
            continue;
        rlf_arena *scratch = rlf_arena_new();
        char lacks[RLF_BYTES_TEXT];
        rlf_fail(err, RLF_USER,
                 "'%s' does not fit as its row says, '%s': the fullest device "
                 "lacks at least %s",
                 call->name, words_of(f, fixed, scratch),
                 rlf_gb_text(over, 3, lacks));
        rlf_arena_free(scratch);
        rlf_err_hint(err, "leave out a part of the row, or give it more ranks");
        return fail_at(fixed, err);
    }
    return RLF_OK;
}

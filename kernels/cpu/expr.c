/* Running planned expression programs on the host: see kernels/expr.h for what
 * and expr_plan.h for how. Here are stages, frames and the calls; steps are in
 * expr_step.c, what crosses rows in expr_cross.c. One thread: a program costs
 * far less than the model calls around it. */
#include "kernels/cpu/expr_frame.h"

#include "engine/base/hash.h"
#include "kernels/kernels.h"

/* ---- stages ---- */

static void
run_steps(const frame *f, const rlf_expr_steps *steps)
{
    for (size_t i = 0; i < steps->count; i++)
        rlf_expr_step_run(f, &steps->data[i]);
}

/* Rows of registers in scratch memory; aliases are set row by row. */
static rlf_status
lay_out(frame *f, rlf_err *err)
{
    const rlf_expr_stage *s = f->stage;
    size_t longest = 1, size = sizeof(double);
    for (size_t i = 0; i < s->registers.count; i++) {
        const rlf_expr_register *r = &s->registers.data[i];
        if (r->text)
            size = sizeof(rlf_str);
        if (r->place != RLF_PLACE_TOKENS)
            continue;
        const rlf_space *space = f->space[r->tokens];
        for (uint32_t k = 0; k < space->count; k++)
            if (space->length[k] > longest)
                longest = space->length[k];
    }
    /* a row's: as many lanes as there are while it is being reduced */
    _Static_assert(RLF_EXPR_ROWS <= RLF_EXPR_BLOCK, "room for all rows");
    const size_t slot[] = {[RLF_PLACE_ROW] = RLF_EXPR_BLOCK * size,
                           [RLF_PLACE_BLOCK] = RLF_EXPR_BLOCK * size,
                           [RLF_PLACE_TOKENS] = longest * size};
    size_t start[3], total = 0;
    for (int p = 0; p < 3; p++) {
        start[p] = total;
        total += slot[p] * (size_t)s->n_slots[p];
    }
    if (total > f->scratch_size) {
        RLF_TRY(rlf_arena_room(f->arena, total,
                               "what an expression has on the way", err));
        f->scratch = rlf_arena_alloc_aligned(f->arena, total, 64);
        f->scratch_size = total;
    }
    if (s->registers.count > f->room) {
        f->room = s->registers.count;
        f->base = RLF_NEW_ARRAY(f->arena, char *, f->room);
        f->stride = RLF_NEW_ARRAY(f->arena, size_t, f->room);
    }
    for (size_t i = 0; i < s->registers.count; i++) {
        const rlf_expr_register *r = &s->registers.data[i];
        bool moves =
            r->place == RLF_PLACE_TOKENS || r->place == RLF_PLACE_ALIAS;
        f->stride[i] = moves ? element(r->text) : 0;
        if (r->place != RLF_PLACE_ALIAS)
            f->base[i] =
                f->scratch + start[r->place] + slot[r->place] * (size_t)r->slot;
    }
    return RLF_OK;
}

static void
set_aliases(frame *f, uint32_t row)
{
    for (size_t i = 0; i < f->stage->registers.count; i++) {
        const rlf_expr_register *r = &f->stage->registers.data[i];
        if (r->place != RLF_PLACE_ALIAS)
            continue;
        uint32_t there = follow(&f->hops[r->hop], row);
        uint64_t at = f->space[r->column.domain]->offset[there];
        f->base[i] = column_data(f, &r->column) + at * element(r->text);
    }
}

static void
run_blocks(frame *f, const rlf_expr_pass *pass, const rlf_expr_part *part)
{
    uint32_t length = length_of(f, pass->tokens, part->row);
    uint32_t last = part->last < length ? part->last : length;
    f->first = part->first < last ? part->first : last;
    f->starts = true;
    do { /* once also for a row without tokens: sums start at 0 */
        uint32_t left = last - f->first;
        f->count = left < RLF_EXPR_BLOCK ? left : RLF_EXPR_BLOCK;
        f->ends = f->count == left;
        run_steps(f, &pass->steps);
        f->first += f->count;
        f->starts = false;
    } while (f->first < last);
}

/* Runs operations that look along a row, which need all of its tokens. */
static void
run_scans(frame *f, const rlf_expr_pass *pass, const rlf_expr_part *part)
{
    for (size_t i = 0; i < pass->steps.count; i++) {
        const rlf_expr_step *s = &pass->steps.data[i];
        f->first = 0;
        f->count = length_of(f, s->tokens, part->row);
        if (f->count && part->first == 0 && part->last >= f->count)
            rlf_expr_step_run(f, s);
    }
}

static void
run_row(frame *f, const rlf_expr_part *part)
{
    f->row = &part->row;
    f->n_rows = 1;
    set_aliases(f, part->row);
    for (size_t i = 0; i < f->stage->passes.count; i++) {
        const rlf_expr_pass *pass = &f->stage->passes.data[i];
        f->first = 0;
        if (pass->kind == RLF_PASS_ROWS)
            run_steps(f, &pass->steps);
        else if (pass->kind == RLF_PASS_BLOCKS)
            run_blocks(f, pass, part);
        else
            run_scans(f, pass, part);
    }
}

/* A stage without tokens: many rows at a time. */
static void
run_row_blocks(frame *f, const rows *r)
{
    uint32_t list[RLF_EXPR_ROWS];
    for (uint32_t i = 0; i < r->n; i += f->n_rows) {
        f->n_rows = r->n - i < RLF_EXPR_ROWS ? r->n - i : RLF_EXPR_ROWS;
        for (uint32_t k = 0; k < f->n_rows; k++)
            list[k] = r->parts  ? r->parts[i + k].row
                      : r->list ? r->list[i + k]
                                : i + k;
        f->row = list;
        f->first = 0;
        for (size_t k = 0; k < f->stage->passes.count; k++)
            run_steps(f, &f->stage->passes.data[k].steps);
    }
}

/* A choice of texts by a NaN: unlike a number, no text can stand for that. */
static rlf_status
check_decided(const frame *f, rlf_err *err)
{
    if (*f->undecided < 0)
        return RLF_OK;
    rlf_fail(err, RLF_USER, "the condition of a choice is not a number");
    rlf_err_hint(err, "%s", RLF_EXPR_NAN_HINT);
    rlf_err_place(err, f->expr->ops.data[*f->undecided].span, NULL);
    return RLF_USER;
}

static rlf_status
run_stage(frame *f, const rlf_expr_stage *stage, rlf_err *err)
{
    const rows *r = &f->rows[stage->rows];
    f->stage = stage;
    for (size_t i = 0; i < stage->cross.count; i++)
        rlf_expr_cross_run(f, &stage->cross.data[i]);
    RLF_TRY(lay_out(f, err));
    if (!stage->has_tokens) {
        run_row_blocks(f, r);
        return check_decided(f, err);
    }
    for (uint32_t i = 0; i < r->n; i++) {
        rlf_expr_part part = {row_at(r, i), 0, UINT32_MAX};
        if (r->parts)
            part = r->parts[i];
        run_row(f, &part);
    }
    return check_decided(f, err);
}

/* ---- frames ---- */

static void
visit(frame *f, const rlf_space *space)
{
    if (!space || space->domain == 0 || f->space[space->domain])
        return;
    f->space[space->domain] = space;
    const rlf_domain *d = rlf_domains_get(f->domains, space->domain);
    for (int i = 0; i < d->n_up; i++)
        visit(f, space->up[i].to);
}

static rlf_status
need_space(const frame *f, int domain, rlf_err *err)
{
    if (domain == 0 || f->space[domain])
        return RLF_OK;
    return rlf_fail(err, RLF_BUG, "expression program: no space of %s",
                    name_of(f, domain));
}

static rlf_status
find_spaces(frame *f, rlf_err *err)
{
    const rlf_expr *e = f->expr;
    size_t n = f->domains->list.count;
    f->space = RLF_NEW_ARRAY(f->arena, const rlf_space *, n);
    for (size_t i = 0; i < n && f->bind->spaces; i++)
        visit(f, f->bind->spaces[i]);
    for (size_t i = 0; i < e->inputs.count; i++)
        visit(f, f->bind->inputs[i].space);
    for (size_t i = 0; i < e->outputs.count; i++)
        visit(f, f->bind->outputs[i].space);
    const rlf_expr_plan *plan = f->plan;
    for (size_t i = 0; i < plan->stages.count; i++)
        RLF_TRY(need_space(f, plan->stages.data[i].rows, err));
    for (size_t i = 0; i < plan->hops.count; i++) {
        RLF_TRY(need_space(f, plan->hops.data[i].from, err));
        RLF_TRY(need_space(f, plan->hops.data[i].to, err));
    }
    for (size_t i = 0; i < e->ops.count; i++)
        RLF_TRY(need_space(f, e->ops.data[i].domain, err));
    return RLF_OK;
}

static void
find_hop(const frame *f, const rlf_expr_hop *way, hop *out)
{
    if (way->to == 0 || way->from == way->to) {
        out->to_scalar = way->to == 0;
        return;
    }
    int path[DEEPEST];
    const rlf_space *space = f->space[way->from];
    int n = rlf_domain_path(f->domains, way->to, way->from, DEEPEST, path);
    RLF_ASSERT(n < DEEPEST);
    for (int i = 0; i < n; i++) {
        const rlf_domain *d = rlf_domains_get(f->domains, space->domain);
        int k = 0;
        while (d->up[k] != path[i])
            k++;
        if (space->up[k].index)
            out->index[out->n++] = space->up[k].index;
        space = space->up[k].to;
    }
}

static rlf_expr_loop *const *
choose_loops(void)
{
#ifdef RLF_ISA_V4
    if (strcmp(rlf_kernels_cpu()->isa, "v4") == 0)
        return rlf_cpu_v4_expr_loops;
#endif
#ifdef RLF_ISA_V3
    if (strcmp(rlf_kernels_cpu()->isa, "v3") == 0)
        return rlf_cpu_v3_expr_loops;
#endif
    return rlf_cpu_portable_expr_loops;
}

static rlf_status
open_frame(const rlf_expr_plan *plan, rlf_queue *queue,
           const rlf_expr_bind *bind, rlf_arena *arena, rlf_err *err,
           frame **out)
{
    frame *f = RLF_NEW(arena, frame);
    *f = (frame){.plan = plan,
                 .expr = plan->expr,
                 .domains = plan->expr->domains,
                 .bind = bind,
                 .queue = queue,
                 .arena = arena,
                 .loops = choose_loops(),
                 .seed = bind->seed,
                 .scalars = true};
    f->undecided = RLF_NEW(arena, int);
    *f->undecided = -1;
    if (bind->iteration)
        f->seed = rlf_hash_mix(bind->seed ^ rlf_hash_mix(bind->iteration));
    RLF_TRY(find_spaces(f, err));
    f->hops = RLF_NEW_ARRAY(arena, hop, plan->hops.count + 1);
    for (size_t i = 0; i < plan->hops.count; i++)
        find_hop(f, &plan->hops.data[i], &f->hops[i]);
    f->temp = RLF_NEW_ARRAY(arena, void *, plan->temps.count + 1);
    for (size_t i = 0; i < plan->temps.count; i++) {
        int domain = plan->temps.data[i].domain;
        const rlf_space *s = f->space[domain];
        bool tokens = domain && rlf_domain_rows(f->domains, domain) != domain;
        uint64_t n = tokens ? s->extent : row_count(f, domain);
        RLF_TRY(rlf_arena_try(arena, n * element(plan->temps.data[i].text),
                              "the values of an expression", err, &f->temp[i]));
    }
    f->rows = RLF_NEW_ARRAY(arena, rows, f->domains->list.count);
    *out = f;
    return RLF_OK;
}

static bool
is_rows(const frame *f, int domain)
{
    return domain == 0 ||
           (rlf_domain_rows(f->domains, domain) == domain && f->space[domain]);
}

static void
select_all(frame *f)
{
    for (int d = 0; d < (int)f->domains->list.count; d++)
        f->rows[d] =
            is_rows(f, d) ? (rows){.n = row_count(f, d)} : (rows){.none = true};
}

/* The rows of `d` that belong to the selected ones: those that they come from
 * if d is above, those that come from them if it is below. */
static rows
related(const frame *f, int d, int domain, const bool *chosen,
        const uint32_t *list, uint32_t n)
{
    bool above = rlf_domain_reaches(f->domains, d, domain);
    if (!is_rows(f, d) ||
        (!above && !rlf_domain_reaches(f->domains, domain, d)))
        return (rows){.none = true};
    uint32_t count = row_count(f, d), kept = 0;
    bool *keep = RLF_NEW_ARRAY(f->arena, bool, count + 1);
    hop way = {0};
    if (above) {
        find_hop(f, &(rlf_expr_hop){domain, d}, &way);
        for (uint32_t i = 0; i < n; i++)
            keep[follow(&way, list[i])] = true;
    } else {
        find_hop(f, &(rlf_expr_hop){d, domain}, &way);
        for (uint32_t i = 0; i < count; i++)
            keep[i] = chosen[follow(&way, i)];
    }
    uint32_t *out = RLF_NEW_ARRAY(f->arena, uint32_t, count + 1);
    for (uint32_t i = 0; i < count; i++)
        if (keep[i])
            out[kept++] = i;
    return (rows){.n = kept, .list = out};
}

static void
select_rows(frame *f, int domain, const uint32_t *list, uint32_t n)
{
    bool *chosen = RLF_NEW_ARRAY(f->arena, bool, row_count(f, domain) + 1);
    for (uint32_t i = 0; i < n; i++)
        chosen[list[i]] = true;
    for (int d = 0; d < (int)f->domains->list.count; d++)
        f->rows[d] = related(f, d, domain, chosen, list, n);
    f->rows[domain] = (rows){.n = n, .list = list};
    f->scalars = false;
}

enum { STAGES_CONSTANT = 1, STAGES_LIVE = 2 };

static rlf_status
run_stages(frame *f, unsigned which, rlf_err *err)
{
    for (size_t i = 0; i < f->plan->stages.count; i++) {
        const rlf_expr_stage *s = &f->plan->stages.data[i];
        if (which & (s->live ? STAGES_LIVE : STAGES_CONSTANT) &&
            !f->rows[s->rows].none)
            RLF_TRY(run_stage(f, s, err));
    }
    return RLF_OK;
}

static void
tell(rlf_queue *queue, bool begin)
{
    if (queue && queue->hook)
        queue->hook(queue->hook_ctx, "expr", begin);
}

/* ---- the calls of expr.h ---- */

rlf_status
rlf_expr_begin(const rlf_expr_plan *plan, rlf_queue *queue,
               const rlf_expr_bind *bind, rlf_arena *arena, rlf_err *err,
               rlf_expr_frame **out)
{
    RLF_TRY(open_frame(plan, queue, bind, arena, err, out));
    select_all(*out);
    tell(queue, true);
    rlf_status status = run_stages(*out, STAGES_CONSTANT, err);
    tell(queue, false);
    return status;
}

rlf_status
rlf_expr_part_run(rlf_expr_frame *f, int domain, const rlf_expr_part *parts,
                  uint32_t n_parts, rlf_err *err)
{
    RLF_TRY(need_space(f, domain, err));
    rows all = f->rows[domain];
    f->rows[domain] = (rows){.n = n_parts, .parts = parts};
    rlf_status status = RLF_OK;
    tell(f->queue, true);
    for (size_t i = 0; i < f->plan->stages.count && status == RLF_OK; i++) {
        const rlf_expr_stage *s = &f->plan->stages.data[i];
        /* deeper live stages look across rows */
        if (s->live && s->depth == 0 && s->rows == domain)
            status = run_stage(f, s, err);
    }
    tell(f->queue, false);
    f->rows[domain] = all;
    return status;
}

rlf_status
rlf_expr_rest(rlf_expr_frame *f, rlf_err *err)
{
    tell(f->queue, true);
    rlf_status status = run_stages(f, STAGES_LIVE, err);
    tell(f->queue, false);
    return status;
}

rlf_status
rlf_expr_run(const rlf_expr_plan *plan, rlf_queue *queue,
             const rlf_expr_bind *bind, rlf_err *err)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_expr_frame *f;
    rlf_status status = open_frame(plan, queue, bind, arena, err, &f);
    if (status == RLF_OK) {
        select_all(f);
        tell(queue, true);
        status = run_stages(f, STAGES_CONSTANT | STAGES_LIVE, err);
        tell(queue, false);
    }
    rlf_arena_free(arena);
    return status;
}

rlf_status
rlf_expr_run_rows(const rlf_expr_plan *plan, rlf_queue *queue,
                  const rlf_expr_bind *bind, int domain, const uint32_t *list,
                  uint32_t n_rows, rlf_err *err)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_expr_frame *f;
    rlf_status status = open_frame(plan, queue, bind, arena, err, &f);
    if (status == RLF_OK)
        status = need_space(f, domain, err);
    if (status == RLF_OK) {
        select_rows(f, domain, list, n_rows);
        tell(queue, true);
        status = run_stages(f, STAGES_CONSTANT | STAGES_LIVE, err);
        tell(queue, false);
    }
    rlf_arena_free(arena);
    return status;
}

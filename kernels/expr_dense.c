/* Lowering plans to programs over dense columns: see expr_dense.h. */
#include "kernels/expr_dense.h"

#include <string.h>

#include "engine/base/vec.h"
#include "kernels/expr_plan.h"

typedef struct steps {
    rlf_dense_step *data;
    size_t count, room;
} steps;

typedef struct lowering {
    rlf_arena *arena;
    const rlf_expr_plan *plan;
    const rlf_expr_stage *stage;
    rlf_dense_operand *at; /* per register of the stage */
    int extra;             /* registers of blocks that only stand here */
    steps steps;
    struct {
        rlf_dense_pass *data;
        size_t count, room;
    } passes;
    struct {
        double *data;
        size_t count, room;
    } values;
    uint32_t n_rows, n_blocks, n_kept;
    bool ranks, chains;
} lowering;

static rlf_dense_operand
operand(rlf_dense_place place, size_t index)
{
    RLF_ASSERT(index <= UINT16_MAX);
    return (rlf_dense_operand){(uint16_t)place, (uint16_t)index};
}

static const rlf_expr_op *
op_of(const lowering *l, const rlf_expr_step *s)
{
    return &l->plan->expr->ops.data[s->op];
}

/* Texts are only compared: the number of the first operation with these bytes
 * does for one. */
static double
text_number(const lowering *l, rlf_str words)
{
    const rlf_expr *e = l->plan->expr;
    size_t i = 0;
    while (e->ops.data[i].code != RLF_EXPR_CONST || !e->ops.data[i].text ||
           !rlf_str_eq(e->ops.data[i].words, words))
        i++;
    return (double)i;
}

static rlf_dense_operand
constant(lowering *l, const rlf_expr_op *op)
{
    RLF_PUSH_IN(l->arena, &l->values,
                op->text ? text_number(l, op->words) : op->constant);
    return operand(RLF_DENSE_CONST, l->values.count - 1);
}

/* Places registers, as long as no step says otherwise: under its own number,
 * slots come later. */
static void
place_registers(lowering *l)
{
    const rlf_expr_stage *s = l->stage;
    l->at = RLF_NEW_ARRAY(l->arena, rlf_dense_operand, s->registers.count + 1);
    for (size_t i = 0; i < s->registers.count; i++) {
        const rlf_expr_register *r = &s->registers.data[i];
        l->at[i] = r->place == RLF_PLACE_ALIAS
                       ? operand(RLF_DENSE_INPUT, (size_t)r->column.index)
                   : r->place == RLF_PLACE_ROW    ? operand(RLF_DENSE_ROW, i)
                   : r->place == RLF_PLACE_TOKENS ? operand(RLF_DENSE_KEPT, i)
                                                  : operand(RLF_DENSE_BLOCK, i);
    }
}

/* Steps that only say where a value is. */
static bool
names_a_place(lowering *l, const rlf_expr_step *s)
{
    switch (s->kind) {
    case RLF_STEP_LOAD:
        l->at[s->y] = operand(RLF_DENSE_INPUT, (size_t)s->store.index);
        return true;
    case RLF_STEP_CONST:
        l->at[s->y] = constant(l, op_of(l, s));
        return true;
    case RLF_STEP_BROADCAST:
        l->at[s->y] = l->at[s->arg[0]];
        return true;
    case RLF_STEP_LENGTH:
        l->at[s->y] = operand(RLF_DENSE_LENGTH, 0);
        return true;
    default:
        return false;
    }
}

static rlf_dense_step
lower_step(lowering *l, const rlf_expr_step *s)
{
    rlf_dense_step out = {.code = op_of(l, s)->code};
    for (int k = 0; k < 3; k++)
        if (s->arg[k] >= 0)
            out.arg[k] = l->at[s->arg[k]];
    if (s->kind == RLF_STEP_STORE) {
        out.code = RLF_EXPR_SG;
        out.y = operand(RLF_DENSE_OUTPUT, (size_t)s->store.index);
        return out;
    }
    out.y = l->at[s->y];
    if (s->kind == RLF_STEP_TEXT_EQ)
        out.code = RLF_EXPR_EQ;
    l->ranks |= out.code == RLF_EXPR_RANK;
    l->chains |= out.code == RLF_EXPR_CUMSUM || out.code == RLF_EXPR_DISCOUNT ||
                 out.code == RLF_EXPR_COMPOUND;
    return out;
}

/* Reductions of a block come when all its steps are done, and read registers of
 * the block. */
static void
push_reductions(lowering *l, steps *reductions)
{
    for (size_t i = 0; i < reductions->count; i++) {
        rlf_dense_step *s = &reductions->data[i];
        if (s->arg[0].place == RLF_DENSE_BLOCK)
            continue;
        rlf_dense_step copy = {
            .code = RLF_EXPR_SG,
            .y = operand(RLF_DENSE_BLOCK,
                         l->stage->registers.count + (size_t)l->extra++),
            .arg = {s->arg[0]}};
        RLF_PUSH_IN(l->arena, &l->steps, copy);
        s->arg[0] = copy.y;
    }
    for (size_t i = 0; i < reductions->count; i++)
        RLF_PUSH_IN(l->arena, &l->steps, reductions->data[i]);
}

/* Registers of `place` that one pass alone uses share slots: each is free after
 * its last use, which for a reduction is the end. Gives how many there are. */
static uint32_t
share_slots(lowering *l, const rlf_dense_pass *pass, rlf_dense_place place)
{
    size_t n = l->stage->registers.count + (size_t)l->extra;
    uint32_t n_free = 0, made = 0, end = pass->count + pass->reductions;
    rlf_dense_step *s = l->steps.data + pass->first;
    uint32_t *last = RLF_NEW_ARRAY(l->arena, uint32_t, n + 1);
    uint16_t *slot = RLF_NEW_ARRAY(l->arena, uint16_t, n + 1);
    uint16_t *unused = RLF_NEW_ARRAY(l->arena, uint16_t, n + 1);
    for (uint32_t i = 0; i < end; i++)
        for (int k = 0; k < 3; k++)
            if (s[i].arg[k].place == place)
                last[s[i].arg[k].index] = i < pass->count ? i : end;
    for (uint32_t i = 0; i < end; i++) {
        for (int k = 0; k < 3; k++) {
            rlf_dense_operand *a = &s[i].arg[k];
            uint16_t reg = a->index;
            if (a->place != place)
                continue;
            a->index = slot[reg];
            if (last[reg] != i)
                continue;
            unused[n_free++] = slot[reg];
            last[reg] = end; /* once, though it may be an argument twice */
        }
        if (s[i].y.place != place)
            continue;
        uint16_t y = n_free ? unused[--n_free] : (uint16_t)made++;
        slot[s[i].y.index] = y;
        s[i].y.index = y;
    }
    return made;
}

/* Registers of `place` that any pass may use are numbered anew, without those
 * that no step names. */
static uint32_t
number_slots(lowering *l, rlf_dense_place place)
{
    size_t n = l->stage->registers.count;
    uint32_t made = 0;
    uint16_t *slot = RLF_NEW_ARRAY(l->arena, uint16_t, n + 1);
    for (size_t i = 0; i < l->steps.count; i++)
        for (int k = 0; k < 4; k++) {
            rlf_dense_step *s = &l->steps.data[i];
            rlf_dense_operand *o = k < 3 ? &s->arg[k] : &s->y;
            if (o->place != place)
                continue;
            if (!slot[o->index])
                slot[o->index] = (uint16_t)++made;
            o->index = (uint16_t)(slot[o->index] - 1);
        }
    return made;
}

/* Storage for all registers. */
static void
give_slots(lowering *l)
{
    for (size_t i = 0; i < l->passes.count; i++) {
        uint32_t n = share_slots(l, &l->passes.data[i], RLF_DENSE_BLOCK);
        l->n_blocks = n > l->n_blocks ? n : l->n_blocks;
    }
    l->n_rows = l->passes.count == 1
                    ? share_slots(l, l->passes.data, RLF_DENSE_ROW)
                    : number_slots(l, RLF_DENSE_ROW);
    l->n_kept = number_slots(l, RLF_DENSE_KEPT);
}

static rlf_status
lower_pass(lowering *l, const rlf_expr_pass *from, rlf_err *err)
{
    static const rlf_dense_kind kinds[] = {[RLF_PASS_ROWS] = RLF_DENSE_ROWS,
                                           [RLF_PASS_BLOCKS] = RLF_DENSE_WORDS,
                                           [RLF_PASS_SCANS] = RLF_DENSE_SCANS};
    rlf_dense_pass pass = {.kind = kinds[from->kind],
                           .first = (uint32_t)l->steps.count};
    steps reductions = {0};
    for (size_t i = 0; i < from->steps.count; i++) {
        const rlf_expr_step *s = &from->steps.data[i];
        if (s->kind == RLF_STEP_UNIFORM || s->store.kind == RLF_STORE_TEMP)
            return rlf_fail(err, RLF_BUG,
                            "'%s' is not for a program over dense columns",
                            rlf_expr_text(op_of(l, s)->code));
        if (names_a_place(l, s))
            continue;
        rlf_dense_step step = lower_step(l, s);
        if (s->kind == RLF_STEP_REDUCE)
            RLF_PUSH_IN(l->arena, &reductions, step);
        else
            RLF_PUSH_IN(l->arena, &l->steps, step);
    }
    push_reductions(l, &reductions);
    pass.reductions = (uint32_t)reductions.count;
    pass.count = (uint32_t)l->steps.count - pass.first - pass.reductions;
    if (!pass.count && !pass.reductions)
        return RLF_OK;
    RLF_PUSH_IN(l->arena, &l->passes, pass);
    return RLF_OK;
}

static uint32_t
append(char *image, uint32_t *used, const void *data, size_t bytes)
{
    uint32_t at = *used;
    if (image && bytes)
        memcpy(image + at, data, bytes);
    *used += (uint32_t)(bytes + 7) / 8 * 8;
    return at;
}

static const rlf_dense_image *
make_image(lowering *l)
{
    rlf_dense_image head = {.n_passes = (uint32_t)l->passes.count,
                            .n_rows = l->n_rows,
                            .n_blocks = l->n_blocks,
                            .n_kept = l->n_kept,
                            .ranks = l->ranks,
                            .chains = l->chains};
    char *image = NULL;
    for (int pass = 0; pass < 2; pass++) {
        uint32_t used = 0;
        append(NULL, &used, NULL, sizeof head);
        head.passes = append(image, &used, l->passes.data,
                             l->passes.count * sizeof *l->passes.data);
        head.steps = append(image, &used, l->steps.data,
                            l->steps.count * sizeof *l->steps.data);
        head.values = append(image, &used, l->values.data,
                             l->values.count * sizeof *l->values.data);
        head.bytes = used;
        if (!image)
            image = rlf_arena_alloc_aligned(l->arena, used, 64);
    }
    memcpy(image, &head, sizeof head);
    return (const rlf_dense_image *)image;
}

/* The same with nothing live, so that all of it is one stage. */
static const rlf_expr *
without_live(const rlf_expr *expr, rlf_arena *arena)
{
    rlf_expr *out = rlf_expr_copy(expr, arena);
    for (size_t i = 0; i < out->inputs.count; i++)
        out->inputs.data[i].live = false;
    return out;
}

static rlf_status
find_domains(rlf_expr_dense *d, const rlf_expr *e, rlf_err *err)
{
    const rlf_domains *domains = e->domains;
    bool good = true;
    d->rows = d->words = -1;
    for (int i = 1; i < (int)domains->list.count; i++) {
        bool tokens = rlf_domains_get(domains, i)->kind == RLF_DOMAIN_TOKENS;
        int *of = tokens ? &d->words : &d->rows;
        good &= *of < 0;
        *of = i;
    }
    for (size_t i = 0; i < e->inputs.count; i++)
        good &= e->inputs.data[i].domain > 0 && !e->inputs.data[i].text;
    for (size_t i = 0; i < e->outputs.count; i++) {
        const rlf_expr_op *op = &e->ops.data[e->outputs.data[i].op];
        good &= op->domain > 0 && !op->text;
    }
    return good && d->rows > 0
               ? RLF_OK
               : rlf_fail(err, RLF_BUG, "no program over dense columns");
}

static void
find_columns(rlf_expr_dense *d, const rlf_expr *e, rlf_arena *arena)
{
    d->n_inputs = (uint32_t)e->inputs.count;
    d->n_outputs = (uint32_t)e->outputs.count;
    bool *of_words = RLF_NEW_ARRAY(arena, bool, d->n_inputs + d->n_outputs + 1);
    for (uint32_t i = 0; i < d->n_inputs; i++)
        of_words[i] = e->inputs.data[i].domain == d->words;
    for (uint32_t i = 0; i < d->n_outputs; i++)
        of_words[d->n_inputs + i] =
            e->ops.data[e->outputs.data[i].op].domain == d->words;
    d->of_words = of_words;
}

rlf_status
rlf_expr_dense_new(const rlf_expr *expr, rlf_arena *arena, rlf_err *err,
                   const rlf_expr_dense **out)
{
    rlf_expr_dense *d = RLF_NEW(arena, rlf_expr_dense);
    lowering l = {.arena = arena};
    RLF_TRY(find_domains(d, expr, err));
    RLF_TRY(rlf_expr_plan_new(without_live(expr, arena), arena, err, &l.plan));
    d->plan = l.plan;
    find_columns(d, expr, arena);
    if (l.plan->stages.count > 1)
        return rlf_fail(err, RLF_BUG,
                        "a program over dense columns looks across rows");
    if (l.plan->stages.count) {
        l.stage = l.plan->stages.data;
        if (l.stage->rows != d->rows || l.stage->cross.count)
            return rlf_fail(err, RLF_BUG,
                            "a program over dense columns looks across rows");
        place_registers(&l);
        for (size_t i = 0; i < l.stage->passes.count; i++)
            RLF_TRY(lower_pass(&l, &l.stage->passes.data[i], err));
        give_slots(&l);
    }
    for (size_t i = 0; i < l.passes.count; i++)
        d->has_words |= l.passes.data[i].kind != RLF_DENSE_ROWS;
    d->image = make_image(&l);
    *out = d;
    return RLF_OK;
}

/* Values that a row has on this domain: none of its own on the scalar one. */
static double
values_on(const rlf_expr *e, int domain, double v)
{
    switch (rlf_domains_get(e->domains, domain)->kind) {
    case RLF_DOMAIN_ROWS:
        return 1;
    case RLF_DOMAIN_TOKENS:
        return v;
    default:
        return 0;
    }
}

static double
column_bytes(const rlf_expr *e, int domain, double v)
{
    return rlf_domains_get(e->domains, domain)->kind == RLF_DOMAIN_TOKENS
               ? v * sizeof(float)
               : sizeof(double);
}

rlf_dense_work
rlf_expr_dense_work(const rlf_expr *e, double v)
{
    rlf_dense_work work = {0};
    for (size_t i = 0; i < e->inputs.count; i++)
        work.read += column_bytes(e, e->inputs.data[i].domain, v);
    for (size_t i = 0; i < e->outputs.count; i++)
        work.written +=
            column_bytes(e, e->ops.data[e->outputs.data[i].op].domain, v);
    for (size_t i = 0; i < e->ops.count; i++) {
        const rlf_expr_op *op = &e->ops.data[i];
        if (op->code == RLF_EXPR_INPUT || op->code == RLF_EXPR_CONST ||
            op->code == RLF_EXPR_DOWN)
            continue;
        double made = values_on(e, op->domain, v);
        double from = values_on(e, e->ops.data[op->arg[0]].domain, v);
        work.ops += made > from ? made : from;
    }
    return work;
}

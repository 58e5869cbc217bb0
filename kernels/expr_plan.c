/* Planning expression programs: stages, phases, registers. See expr_plan.h.
 *
 * Three things are decided, in this order. The stage of each operation: what
 * depends on live inputs is apart from what does not, and an operation that
 * crosses rows starts a later stage than its argument. Which values are stored
 * because another stage needs them. Then, stage by stage, the steps: a phase
 * for each time that a row's tokens have to be gone through again. Inputs,
 * constants and DOWN are "loads": cheap enough to be made anew wherever they
 * are used. */
#include "kernels/expr_plan.h"

#include "engine/base/vec.h"

#include <string.h>

typedef struct use_memo {
    int op, phase, reg;
} use_memo;

/* One operation's place in the plan. */
typedef struct node {
    bool real;   /* computed by a stage (not a load) */
    bool live;   /* depends on a live input */
    bool cross;  /* looks at other rows */
    int depth;   /* of its stage */
    int stage;   /* index */
    int temp;    /* where it is stored for other stages, or -1 */
    int phase;   /* when its step runs */
    int ready;   /* the first phase whose steps may use it */
    int reg;     /* in its stage */
    bool loaded; /* INPUT, CONST or DOWN */
} node;

/* Steps by blocks of tokens of a domain. */
typedef struct block_steps {
    int tokens;
    rlf_expr_steps steps;
} block_steps;

/* Steps of one phase of the stage being built. A graph may have thousands of
 * domains, of which an expression has few. */
typedef struct phase {
    rlf_expr_steps rows, scans;
    RLF_VEC(block_steps) blocks; /* by domain, ascending */
} phase;

typedef struct planner {
    rlf_expr_plan *plan;
    const rlf_expr *expr;
    rlf_arena *arena;
    node *nodes;
    rlf_expr_stage *stage; /* being built */
    phase *phases;
    int n_phases;
    RLF_VEC(use_memo) memo; /* loads of the stage */
} planner;

static const rlf_expr_op *
op_at(const planner *p, int op)
{
    return &p->expr->ops.data[op];
}

static bool
is_tokens(const planner *p, int domain)
{
    return rlf_domains_get(p->expr->domains, domain)->kind == RLF_DOMAIN_TOKENS;
}

static int
rows_of(const planner *p, int domain)
{
    return rlf_domain_rows(p->expr->domains, domain);
}

static bool
is_grouped(rlf_expr_code code)
{
    return code == RLF_EXPR_RANK || code == RLF_EXPR_ROTATE ||
           code == RLF_EXPR_UNROTATE;
}

/* COUNT and UNIFORM look at indices only. */
static int
value_arity(const rlf_expr_op *op)
{
    if (op->code == RLF_EXPR_COUNT || op->code == RLF_EXPR_UNIFORM)
        return 0;
    return rlf_expr_arity(op->code);
}

static int
hop_to(planner *p, int from, int to)
{
    for (size_t i = 0; i < p->plan->hops.count; i++)
        if (p->plan->hops.data[i].from == from &&
            p->plan->hops.data[i].to == to)
            return (int)i;
    RLF_PUSH_IN(p->arena, &p->plan->hops, (rlf_expr_hop){from, to});
    return (int)p->plan->hops.count - 1;
}

/* ---- stages ---- */

static void
find_depths(planner *p)
{
    for (int i = 0; i < (int)p->expr->ops.count; i++) {
        const rlf_expr_op *op = op_at(p, i);
        node *n = &p->nodes[i];
        n->temp = n->reg = -1;
        n->cross = rlf_expr_crosses(p->expr, i);
        n->loaded = op->code == RLF_EXPR_INPUT || op->code == RLF_EXPR_CONST ||
                    op->code == RLF_EXPR_DOWN;
        n->real = !n->loaded;
        n->live =
            op->code == RLF_EXPR_INPUT && p->expr->inputs.data[op->index].live;
        for (int k = 0; k < value_arity(op); k++)
            n->live = n->live || p->nodes[op->arg[k]].live;
        for (int k = 0; k < value_arity(op); k++) {
            const node *a = &p->nodes[op->arg[k]];
            const rlf_expr_op *from = op_at(p, op->arg[k]);
            bool there =
                from->code == RLF_EXPR_INPUT || from->code == RLF_EXPR_CONST;
            if (a->live != n->live)
                continue; /* constants are there before live stages */
            int depth = a->depth + (n->cross && (!there || a->live));
            n->depth = depth > n->depth ? depth : n->depth;
        }
    }
    /* a load is a real operation where its column as such is wanted */
    for (size_t i = 0; i < p->expr->outputs.count; i++)
        p->nodes[p->expr->outputs.data[i].op].real = true;
    for (int i = 0; i < (int)p->expr->ops.count; i++) {
        const rlf_expr_op *op = op_at(p, i);
        if (p->nodes[i].cross && p->nodes[i].real && !p->nodes[i].loaded &&
            value_arity(op) && op_at(p, op->arg[0])->code != RLF_EXPR_INPUT)
            p->nodes[op->arg[0]].real = true;
    }
}

static int
stage_order(const rlf_expr_stage *a, const rlf_expr_stage *b)
{
    if (a->live != b->live)
        return a->live ? 1 : -1;
    if (a->depth != b->depth)
        return a->depth < b->depth ? -1 : 1;
    return a->rows < b->rows ? -1 : a->rows > b->rows;
}

static void
find_stages(planner *p)
{
    rlf_expr_plan *plan = p->plan;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < (int)p->expr->ops.count; i++) {
            node *n = &p->nodes[i];
            if (!n->real)
                continue;
            rlf_expr_stage key = {.rows = rows_of(p, op_at(p, i)->domain),
                                  .live = n->live,
                                  .depth = n->depth};
            size_t at = 0;
            while (at < plan->stages.count &&
                   stage_order(&plan->stages.data[at], &key) < 0)
                at++;
            if (pass == 1) {
                n->stage = (int)at;
            } else if (at == plan->stages.count ||
                       stage_order(&plan->stages.data[at], &key) != 0) {
                RLF_PUSH_IN(p->arena, &plan->stages, key);
                rlf_expr_stage *s = plan->stages.data;
                memmove(s + at + 1, s + at,
                        (plan->stages.count - 1 - at) * sizeof *s);
                s[at] = key;
            }
        }
}

/* ---- what is stored ---- */

static int
temp_of(planner *p, int op)
{
    node *n = &p->nodes[op];
    if (n->temp < 0) {
        n->temp = (int)p->plan->temps.count;
        RLF_PUSH_IN(p->arena, &p->plan->temps,
                    (rlf_expr_store){.kind = RLF_STORE_TEMP,
                                     .index = n->temp,
                                     .domain = op_at(p, op)->domain,
                                     .text = op_at(p, op)->text});
    }
    return n->temp;
}

/* `op` is used by a step of `stage`: store it if that is another stage. */
static void
find_temp(planner *p, int op, int stage)
{
    const rlf_expr_op *o = op_at(p, op);
    if (o->code == RLF_EXPR_INPUT || o->code == RLF_EXPR_CONST)
        return;
    if (o->code == RLF_EXPR_DOWN) {
        int from = o->arg[0];
        if (op_at(p, from)->code == RLF_EXPR_INPUT ||
            op_at(p, from)->code == RLF_EXPR_CONST)
            return;
        if (p->nodes[op].cross || p->nodes[from].stage != stage)
            temp_of(p, from);
    } else if (p->nodes[op].stage != stage || p->nodes[op].cross) {
        temp_of(p, op);
    }
}

static void
find_temps(planner *p)
{
    for (int i = 0; i < (int)p->expr->ops.count; i++) {
        const rlf_expr_op *op = op_at(p, i);
        const node *n = &p->nodes[i];
        if (!n->real)
            continue;
        if (n->loaded) {
            find_temp(p, i, n->stage);
        } else if (n->cross) {
            temp_of(p, i);
            if (value_arity(op) && op_at(p, op->arg[0])->code != RLF_EXPR_INPUT)
                temp_of(p, op->arg[0]);
        } else {
            for (int k = 0; k < value_arity(op); k++)
                find_temp(p, op->arg[k], n->stage);
        }
    }
}

/* ---- phases of a stage ---- */

static bool
is_reduction(const planner *p, const rlf_expr_op *op)
{
    return (op->code == RLF_EXPR_SUM || op->code == RLF_EXPR_LEAST ||
            op->code == RLF_EXPR_MOST) &&
           is_tokens(p, op_at(p, op->arg[0])->domain);
}

static bool
is_scan(const rlf_expr_op *op)
{
    switch (op->code) {
    case RLF_EXPR_DISCOUNT:
    case RLF_EXPR_COMPOUND:
    case RLF_EXPR_CUMSUM:
    case RLF_EXPR_NEXT:
    case RLF_EXPR_PREV:
        return true;
    default:
        return is_grouped(op->code);
    }
}

/* The first phase of stage `stage` in which `op` can be used. */
static int
ready_in(const planner *p, int op, int stage)
{
    const rlf_expr_op *o = op_at(p, op);
    if (o->code == RLF_EXPR_DOWN)
        return p->nodes[op].cross ? 0 : ready_in(p, o->arg[0], stage);
    const node *n = &p->nodes[op];
    if (n->loaded || !n->real || n->stage != stage || n->cross)
        return 0;
    return n->ready;
}

static void
find_phases(planner *p, int stage)
{
    p->n_phases = 1;
    for (int i = 0; i < (int)p->expr->ops.count; i++) {
        const rlf_expr_op *op = op_at(p, i);
        node *n = &p->nodes[i];
        if (!n->real || n->stage != stage)
            continue;
        n->phase = n->loaded ? ready_in(p, i, stage) : 0;
        for (int k = 0; k < value_arity(op) && !n->loaded && !n->cross; k++) {
            int ready = ready_in(p, op->arg[k], stage);
            n->phase = ready > n->phase ? ready : n->phase;
        }
        bool later = !n->cross && (is_reduction(p, op) || is_scan(op));
        n->ready = n->phase + later;
        if (n->ready + 1 > p->n_phases)
            p->n_phases = n->ready + 1;
    }
}

/* ---- steps of a stage ---- */

static int
new_register(planner *p, rlf_expr_register reg)
{
    if (reg.tokens >= 0)
        p->stage->has_tokens = true;
    RLF_PUSH_IN(p->arena, &p->stage->registers, reg);
    return (int)p->stage->registers.count - 1;
}

/* Valid until another domain's are asked for. */
static rlf_expr_steps *
list_of(planner *p, int at, int tokens)
{
    phase *ph = &p->phases[at];
    size_t i = 0;
    if (tokens < 0)
        return &ph->rows;
    while (i < ph->blocks.count && ph->blocks.data[i].tokens < tokens)
        i++;
    if (i == ph->blocks.count || ph->blocks.data[i].tokens != tokens) {
        RLF_PUSH_IN(p->arena, &ph->blocks, (block_steps){0});
        for (size_t k = ph->blocks.count - 1; k > i; k--)
            ph->blocks.data[k] = ph->blocks.data[k - 1];
        ph->blocks.data[i] = (block_steps){.tokens = tokens};
    }
    return &ph->blocks.data[i].steps;
}

static void
push(planner *p, rlf_expr_steps *list, rlf_expr_step step)
{
    RLF_PUSH_IN(p->arena, list, step);
}

/* The column that holds `op` for other stages. */
static rlf_expr_store
store_of(const planner *p, int op)
{
    const rlf_expr_op *o = op_at(p, op);
    if (o->code == RLF_EXPR_INPUT)
        return (rlf_expr_store){RLF_STORE_INPUT, o->index, o->domain, o->text};
    RLF_ASSERT(p->nodes[op].temp >= 0);
    return p->plan->temps.data[p->nodes[op].temp];
}

static int use(planner *p, int op, int at);

/* A register with the value of `from` brought to tokens domain (or row) of
 * `domain`, loaded in phase `at`. */
static int
load(planner *p, int op, int from, int domain, int at)
{
    const rlf_expr_op *f = op_at(p, from);
    int tokens = is_tokens(p, domain) ? domain : -1;
    rlf_expr_step step = {.op = from, .arg = {-1, -1, -1}, .tokens = tokens};
    rlf_expr_register reg = {
        .text = f->text, .tokens = tokens, .phase = at, .slot = -1};
    reg.place = tokens < 0 ? RLF_PLACE_ROW : RLF_PLACE_BLOCK;
    if (f->code == RLF_EXPR_CONST) {
        step.kind = RLF_STEP_CONST;
    } else if (is_tokens(p, f->domain)) {
        reg.place = RLF_PLACE_ALIAS;
        reg.column = store_of(p, from);
        reg.hop = hop_to(p, p->stage->rows, rows_of(p, f->domain));
        return new_register(p, reg);
    } else if (tokens < 0) {
        step.kind = RLF_STEP_LOAD;
        step.store = store_of(p, from);
        step.hop = hop_to(p, p->stage->rows, f->domain);
    } else {
        /* by way of the row */
        step.kind = RLF_STEP_BROADCAST;
        bool own = f->domain == p->stage->rows && !p->nodes[op].cross;
        step.arg[0] =
            own ? use(p, from, at) : load(p, op, from, p->stage->rows, at);
    }
    step.y = new_register(p, reg);
    push(p, list_of(p, at, tokens), step);
    return step.y;
}

/* A register that holds `op` for a step of phase `at`. */
static int
use(planner *p, int op, int at)
{
    const rlf_expr_op *o = op_at(p, op);
    const node *n = &p->nodes[op];
    int here = (int)(p->stage - p->plan->stages.data);
    if (n->real && !n->loaded && n->stage == here && !n->cross) {
        rlf_expr_register *r = &p->stage->registers.data[n->reg];
        if (r->place == RLF_PLACE_BLOCK && r->phase != at)
            r->place = RLF_PLACE_TOKENS;
        return n->reg;
    }
    for (size_t i = 0; i < p->memo.count; i++)
        if (p->memo.data[i].op == op && p->memo.data[i].phase == at)
            return p->memo.data[i].reg;
    int from = o->code == RLF_EXPR_DOWN ? o->arg[0] : op;
    int reg = load(p, op, from, o->domain, at);
    RLF_PUSH_IN(p->arena, &p->memo, (use_memo){op, at, reg});
    return reg;
}

static rlf_expr_step_kind
kind_of(const planner *p, const rlf_expr_op *op)
{
    switch (op->code) {
    case RLF_EXPR_TEXT_EQ:
        return RLF_STEP_TEXT_EQ;
    case RLF_EXPR_SELECT:
        return op->text ? RLF_STEP_TEXT_SELECT : RLF_STEP_POINT;
    case RLF_EXPR_COUNT:
        return RLF_STEP_LENGTH;
    case RLF_EXPR_UNIFORM:
        return RLF_STEP_UNIFORM;
    case RLF_EXPR_AT_LAST:
        return RLF_STEP_AT_LAST;
    default:
        return is_scan(op)           ? RLF_STEP_SCAN
               : is_reduction(p, op) ? RLF_STEP_REDUCE
                                     : RLF_STEP_POINT;
    }
}

/* Copy register `reg`, ready in phase `at`, to `op`'s columns. */
static void
emit_stores(planner *p, int op, int reg, int at, rlf_expr_steps *list)
{
    int domain = op_at(p, op)->domain;
    rlf_expr_step step = {.kind = RLF_STEP_STORE,
                          .op = op,
                          .y = -1,
                          .arg = {reg, -1, -1},
                          .tokens = is_tokens(p, domain) ? domain : -1};
    if (!list)
        list = list_of(p, at, step.tokens);
    bool stored = p->nodes[op].cross && !p->nodes[op].loaded;
    if (p->nodes[op].temp >= 0 && !stored) {
        step.store = p->plan->temps.data[p->nodes[op].temp];
        push(p, list, step);
    }
    for (size_t i = 0; i < p->expr->outputs.count; i++)
        if (p->expr->outputs.data[i].op == op) {
            step.store = (rlf_expr_store){RLF_STORE_OUTPUT, (int)i, domain,
                                          op_at(p, op)->text};
            push(p, list, step);
        }
}

static bool
is_output(const planner *p, int op)
{
    for (size_t i = 0; i < p->expr->outputs.count; i++)
        if (p->expr->outputs.data[i].op == op)
            return true;
    return false;
}

static void
emit_cross(planner *p, int op)
{
    const rlf_expr_op *o = op_at(p, op);
    int below = op_at(p, o->arg[0])->domain;
    int to = is_grouped(o->code) ? o->over : o->domain;
    rlf_expr_cross cross = {.op = op, .temp = p->nodes[op].temp};
    cross.from.domain = below;
    if (value_arity(o))
        cross.from = store_of(p, o->arg[0]);
    cross.hop = hop_to(p, rows_of(p, below), rows_of(p, to));
    RLF_PUSH_IN(p->arena, &p->stage->cross, cross);
}

static void
emit(planner *p, int op)
{
    const rlf_expr_op *o = op_at(p, op);
    node *n = &p->nodes[op];
    if (n->cross && !n->loaded)
        emit_cross(p, op);
    if (n->loaded || n->cross) {
        if (n->loaded || is_output(p, op))
            emit_stores(p, op, use(p, op, n->phase), n->phase, NULL);
        return;
    }
    rlf_expr_step step = {.kind = kind_of(p, o),
                          .op = op,
                          .arg = {-1, -1, -1},
                          .tokens = is_tokens(p, o->domain) ? o->domain : -1};
    bool scan = step.kind == RLF_STEP_SCAN;
    for (int k = 0; k < value_arity(o); k++) {
        step.arg[k] = use(p, o->arg[k], n->phase);
        rlf_expr_register *r = &p->stage->registers.data[step.arg[k]];
        if (scan && r->place == RLF_PLACE_BLOCK)
            r->place = RLF_PLACE_TOKENS;
    }
    rlf_expr_register reg = {
        .text = o->text, .tokens = step.tokens, .phase = n->phase, .slot = -1};
    reg.place = step.tokens < 0 ? RLF_PLACE_ROW
                : scan          ? RLF_PLACE_TOKENS
                                : RLF_PLACE_BLOCK;
    step.y = n->reg = new_register(p, reg);
    if (step.kind == RLF_STEP_REDUCE || step.kind == RLF_STEP_LENGTH)
        step.tokens = op_at(p, o->arg[0])->domain;
    rlf_expr_steps *list = scan ? &p->phases[n->phase].scans
                           : step.kind == RLF_STEP_LENGTH
                               ? &p->phases[n->phase].rows
                               : list_of(p, n->phase, step.tokens);
    if (step.kind == RLF_STEP_REDUCE)
        p->stage->has_tokens = true;
    push(p, list, step);
    emit_stores(p, op, step.y, n->ready, scan ? list : NULL);
}

/* ---- storage ---- */

/* Registers of one block pass share slots: each is free after its last use. */
static void
share_slots(planner *p, const rlf_expr_pass *pass)
{
    rlf_expr_register *regs = p->stage->registers.data;
    int n = (int)p->stage->registers.count, n_free = 0, made = 0;
    int *last = RLF_NEW_ARRAY(p->arena, int, n + 1);
    int *free_slots = RLF_NEW_ARRAY(p->arena, int, n + 1);
    for (int i = 0; i < (int)pass->steps.count; i++)
        for (int k = 0; k < 3; k++)
            if (pass->steps.data[i].arg[k] >= 0)
                last[pass->steps.data[i].arg[k]] = i;
    for (int i = 0; i < (int)pass->steps.count; i++) {
        const rlf_expr_step *s = &pass->steps.data[i];
        for (int k = 0; k < 3; k++) {
            rlf_expr_register *r = s->arg[k] < 0 ? NULL : &regs[s->arg[k]];
            bool again = k > 0 && (s->arg[k] == s->arg[0] ||
                                   (k > 1 && s->arg[k] == s->arg[1]));
            if (r && r->place == RLF_PLACE_BLOCK && last[s->arg[k]] == i &&
                !again)
                free_slots[n_free++] = r->slot;
        }
        rlf_expr_register *y = s->y < 0 ? NULL : &regs[s->y];
        if (!y || y->place != RLF_PLACE_BLOCK)
            continue;
        y->slot = n_free ? free_slots[--n_free] : made++;
    }
    if (made > p->stage->n_slots[RLF_PLACE_BLOCK])
        p->stage->n_slots[RLF_PLACE_BLOCK] = made;
}

static void
flatten(planner *p)
{
    for (int i = 0; i < p->n_phases; i++) {
        phase *ph = &p->phases[i];
        if (ph->rows.count)
            RLF_PUSH_IN(p->arena, &p->stage->passes,
                        (rlf_expr_pass){RLF_PASS_ROWS, -1, ph->rows});
        for (size_t k = 0; k < ph->blocks.count; k++)
            if (ph->blocks.data[k].steps.count)
                RLF_PUSH_IN(p->arena, &p->stage->passes,
                            (rlf_expr_pass){RLF_PASS_BLOCKS,
                                            ph->blocks.data[k].tokens,
                                            ph->blocks.data[k].steps});
        if (ph->scans.count)
            RLF_PUSH_IN(p->arena, &p->stage->passes,
                        (rlf_expr_pass){RLF_PASS_SCANS, -1, ph->scans});
    }
    for (size_t i = 0; i < p->stage->passes.count; i++)
        if (p->stage->passes.data[i].kind == RLF_PASS_BLOCKS)
            share_slots(p, &p->stage->passes.data[i]);
    for (size_t i = 0; i < p->stage->registers.count; i++) {
        rlf_expr_register *r = &p->stage->registers.data[i];
        if (r->place == RLF_PLACE_ROW || r->place == RLF_PLACE_TOKENS)
            r->slot = p->stage->n_slots[r->place]++;
    }
}

static void
build_stage(planner *p, int stage)
{
    p->stage = &p->plan->stages.data[stage];
    p->memo.count = 0;
    find_phases(p, stage);
    p->phases = RLF_NEW_ARRAY(p->arena, phase, p->n_phases);
    for (int i = 0; i < (int)p->expr->ops.count; i++)
        if (p->nodes[i].real && p->nodes[i].stage == stage)
            emit(p, i);
    flatten(p);
}

static rlf_status
refuse_vocabulary(const rlf_expr *expr, rlf_err *err)
{
    for (size_t i = 0; i < expr->ops.count; i++) {
        const rlf_expr_op *op = &expr->ops.data[i];
        if (rlf_domains_get(expr->domains, op->domain)->kind !=
            RLF_DOMAIN_VOCAB)
            continue;
        rlf_status status =
            rlf_fail(err, RLF_USER,
                     "values per word of the vocabulary cannot be computed "
                     "here");
        rlf_err_place(err, op->span, NULL);
        return status;
    }
    return RLF_OK;
}

rlf_status
rlf_expr_plan_new(const rlf_expr *given, rlf_arena *arena, rlf_err *err,
                  const rlf_expr_plan **out)
{
    RLF_TRY(rlf_expr_check(given, err));
    RLF_TRY(refuse_vocabulary(given, err));
    rlf_expr_plan *plan = RLF_NEW(arena, rlf_expr_plan);
    plan->arena = arena;
    plan->expr = rlf_expr_lower(given, arena);
    planner p = {.plan = plan, .expr = plan->expr, .arena = arena};
    p.nodes = RLF_NEW_ARRAY(arena, node, p.expr->ops.count + 1);
    find_depths(&p);
    find_stages(&p);
    find_temps(&p);
    for (int i = 0; i < (int)plan->stages.count; i++)
        build_stage(&p, i);
    *out = plan;
    return RLF_OK;
}

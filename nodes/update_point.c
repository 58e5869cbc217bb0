/* Losses whose derivatives look at one token only, on the device.
 *
 * The derivatives by what the head of a set gives at a token are a program over
 * rows (kernels/expr_dense.h): what depends on live values is pointwise, and
 * what it needs besides is known before the update begins. So the loss's
 * program gets those as outputs more, which the host computes once; a tile of
 * the head takes its rows of them to the device and goes on there. Losses that
 * are not so go by way of the host (update_micro.c): scalar heads, several
 * calls on a set. */
#include "nodes/update.h"

typedef struct cutter {
    const rlf_loss *loss;
    rlf_arena *arena;
    rlf_expr *whole;         /* the loss's program, with more outputs */
    rlf_update_point *point; /* being made */
    rlf_expr *expr;          /* its program */
    int domain;              /* in the loss's program: the set's tokens */
    bool *live;              /* per operation of the loss's program */
    int *op;                 /* per operation: in expr; -1: not yet */
    bool fails;
} cutter;

enum { AT = 1 }; /* the domain of its rows */

static int
add_source(cutter *c, rlf_update_source source)
{
    rlf_update_point *p = c->point;
    for (int i = 0; i < p->n_sources; i++)
        if (p->sources[i].kind == source.kind &&
            p->sources[i].index == source.index)
            return rlf_expr_input_op(c->expr, i, (rlf_span){0});
    p->sources[p->n_sources++] = source;
    int input = rlf_expr_add_input(
        c->expr, (rlf_expr_input){.name = "it", .domain = AT});
    return rlf_expr_input_op(c->expr, input, (rlf_span){0});
}

/* The source of a live input: the head, or a value over vocab. */
static int
live_source(cutter *c, int input)
{
    const rlf_loss *loss = c->loss;
    for (int i = 0; i < loss->n_calls; i++)
        if (loss->calls[i].input == input && c->point->call == i)
            return add_source(c, (rlf_update_source){RLF_SOURCE_LOGPROB, i});
    const rlf_vocab_program *w = c->point->words;
    for (size_t i = 0; w && i < w->program->outputs.count; i++)
        if (w->result[i] == input)
            return add_source(c, (rlf_update_source){RLF_SOURCE_WORDS, (int)i});
    c->fails = true;
    return rlf_expr_constant(c->expr, 0, (rlf_span){0});
}

/* The source of what does not depend on live values: a column of the host. */
static int
known_source(cutter *c, int op)
{
    const rlf_expr_op *o = &c->loss->program->ops.data[op];
    if (o->code == RLF_EXPR_CONST && !o->text)
        return rlf_expr_constant(c->expr, o->constant, o->span);
    if (o->code == RLF_EXPR_DOWN &&
        c->loss->program->ops.data[o->arg[0]].code == RLF_EXPR_CONST)
        return known_source(c, o->arg[0]);
    if (o->text) {
        c->fails = true;
        return rlf_expr_constant(c->expr, 0, o->span);
    }
    if (o->code == RLF_EXPR_INPUT && o->domain == c->domain)
        return add_source(c, (rlf_update_source){RLF_SOURCE_INPUT, o->index});
    int down = rlf_expr_down(c->whole, op, c->domain), n = 0;
    while (n < (int)c->whole->outputs.count &&
           c->whole->outputs.data[n].op != down)
        n++;
    if (n == (int)c->whole->outputs.count)
        rlf_expr_add_output(c->whole, "known", down);
    return add_source(c, (rlf_update_source){RLF_SOURCE_OUTPUT, n});
}

static int
cut(cutter *c, int op)
{
    const rlf_expr_op o = c->loss->program->ops.data[op];
    if (c->op[op] >= 0)
        return c->op[op];
    int made, arg[3] = {-1, -1, -1};
    if (!c->live[op]) {
        made = known_source(c, op);
    } else if (o.domain != c->domain ||
               (o.code != RLF_EXPR_INPUT && !rlf_expr_is_pointwise(o.code))) {
        c->fails = true;
        made = rlf_expr_constant(c->expr, 0, o.span);
    } else if (o.code == RLF_EXPR_INPUT) {
        made = live_source(c, o.index);
    } else {
        for (int k = 0; k < rlf_expr_arity(o.code); k++)
            arg[k] = cut(c, o.arg[k]);
        made =
            rlf_expr_pointwise(c->expr, o.code, arg[0], arg[1], arg[2], o.span);
    }
    return c->op[op] = made;
}

static void
add_derivative(cutter *c, int output)
{
    int op = cut(c, c->loss->program->outputs.data[output].op);
    rlf_expr_add_output(c->expr, "d", rlf_expr_down(c->expr, op, AT));
}

static rlf_expr *
rows_program(rlf_arena *arena)
{
    rlf_domains *domains = RLF_NEW(arena, rlf_domains);
    rlf_domains_init(domains, arena);
    rlf_domains_add(
        domains,
        (rlf_domain){.kind = RLF_DOMAIN_ROWS, .name = "tokens", .owner = -1});
    return rlf_expr_new(arena, domains);
}

/* Of the calls on a set: the one that the head's log-probabilities serve, and
 * what is reduced over vocab. False: not for the device. */
static bool
find_calls(cutter *c, int set)
{
    const rlf_loss *loss = c->loss;
    rlf_update_point *p = c->point;
    int n = 0;
    p->set_input = set;
    p->call = -1;
    for (int i = 0; i < loss->n_calls; i++) {
        const rlf_live_call *live = &loss->calls[i];
        rlf_read_kind reading = rlf_read_kind_of(live->class);
        if (live->set_input != set || reading == RLF_READ_WORDS)
            continue;
        p->call = i;
        n += reading == RLF_READ_LOGPROB ? 1 : 2;
    }
    for (int i = 0; i < loss->n_words; i++)
        if (loss->words[i].set_input == set)
            p->words = &loss->words[i];
    c->domain =
        n == 1 ? loss->program->inputs.data[loss->calls[p->call].input].domain
        : p->words ? loss->program->inputs.data[p->words->result[0]].domain
                   : -1;
    return n < 2 && c->domain >= 0;
}

static rlf_status
cut_point(cutter *c, int set, rlf_err *err)
{
    const rlf_loss *loss = c->loss;
    size_t n = loss->program->ops.count;
    rlf_update_point *p = c->point;
    *p = (rlf_update_point){0};
    if (!find_calls(c, set))
        return RLF_OK;
    p->sources = RLF_NEW_ARRAY(c->arena, rlf_update_source, n + 1);
    c->expr = rows_program(c->arena);
    c->op = RLF_NEW_ARRAY(c->arena, int, n + 1);
    for (size_t i = 0; i < n; i++)
        c->op[i] = -1;
    c->fails = false;
    if (p->call >= 0)
        add_derivative(c, loss->calls[p->call].gradient);
    for (size_t i = 0; p->words && i < p->words->program->outputs.count; i++)
        add_derivative(c, p->words->derivative[i]);
    return c->fails ? RLF_OK
                    : rlf_expr_dense_new(c->expr, c->arena, err, &p->program);
}

rlf_status
rlf_update_points_new(const rlf_loss *loss, rlf_arena *arena, rlf_err *err,
                      rlf_update_points *out)
{
    cutter c = {.loss = loss, .arena = arena};
    *out = (rlf_update_points){.program = loss->program};
    if (loss->reach != RLF_REACH_POINT)
        return RLF_OK;
    c.whole = rlf_expr_copy(loss->program, arena);
    c.live = rlf_expr_depends(loss->program, arena);
    out->points = RLF_NEW_ARRAY(arena, rlf_update_point, loss->n_calls);
    for (int i = 0; i < loss->n_calls; i++) {
        bool seen = false;
        for (int k = 0; k < i; k++)
            seen |= loss->calls[k].set_input == loss->calls[i].set_input;
        if (seen)
            continue;
        c.point = &out->points[out->n_points++];
        RLF_TRY(cut_point(&c, loss->calls[i].set_input, err));
    }
    out->program = c.whole;
    return RLF_OK;
}

const rlf_update_point *
rlf_update_point_of(const rlf_update_points *points, int set_input)
{
    for (int i = 0; i < points->n_points; i++)
        if (points->points[i].program &&
            points->points[i].set_input == set_input)
            return &points->points[i];
    return NULL;
}

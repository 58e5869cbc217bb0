/* The measure of a metric: nothing, if what it averages has no values.
 *
 * In arithmetic a mean of nothing is 0, so that a set without samples adds
 * nothing, and a min or max of nothing is not a number. A metric of these would
 * be a number that nobody measured: it is rlf_expr_nothing() instead, which no
 * mean over the step counts. What a choice does not take is not measured. Only
 * sets that may be empty are looked at: those of where, split, collect, and
 * what is made of them. */
#include "grammar/numbers.h"
#include "grammar/passes.h"

typedef struct measuring {
    rlf_sema *s;
    size_t n;             /* terms that there were */
    rlf_numbers seen;     /* by term */
    rlf_numbers measured; /* by term: 1 if all that it averages has values;
                             -1: no such entity */
} measuring;

/* Does the term reduce a set to one number, which nothing has not? */
static bool
averages(const rlf_sema *s, const rlf_term *t)
{
    switch (t->code) {
    case RLF_EXPR_MEAN:
    case RLF_EXPR_VAR:
    case RLF_EXPR_STD:
    case RLF_EXPR_LEAST:
    case RLF_EXPR_MOST:
        return rlf_level_may_be_empty(s, s->terms.data[t->arg[0]].domain);
    default:
        return false;
    }
}

/* 1 if both hold; -1 is no condition. */
static int
both(const measuring *m, int a, int b, rlf_span span)
{
    if (a < 0 || a == b)
        return b;
    return b < 0 ? a : rlf_term_pointwise(m->s, RLF_EXPR_AND, a, b, -1, span);
}

static int
count(rlf_sema *s, const rlf_term *t)
{
    int n = rlf_term_op(s, (rlf_term){.code = RLF_EXPR_COUNT,
                                      .arg = {t->arg[0], -1, -1},
                                      .span = t->span});
    if (n >= 0) /* what is counted is not looked at */
        s->terms.data[t->arg[0]].uses--;
    return n;
}

/* Of a choice: what decides has values, and what is taken. */
static int
choice(const measuring *m, const rlf_term *t, const int *measured)
{
    rlf_sema *s = m->s;
    int side[2] = {measured[1], measured[2]};
    if (side[0] < 0 && side[1] < 0)
        return measured[0];
    for (int k = 0; k < 2; k++)
        if (side[k] < 0)
            side[k] = rlf_term_number(s, 1, t->span);
    int taken = rlf_term_pointwise(s, RLF_EXPR_SELECT, t->arg[0], side[0],
                                   side[1], t->span);
    return both(m, measured[0], taken, t->span);
}

/* Of `and` and `or`: one side that has values decides alone, or both have. */
static int
either(const measuring *m, const rlf_term *t, const int *measured)
{
    rlf_sema *s = m->s;
    int all = both(m, measured[0], measured[1], t->span);
    for (int k = 0; k < 2 && all >= 0; k++) {
        int decides = t->arg[k];
        if (t->code == RLF_EXPR_AND)
            decides =
                rlf_term_pointwise(s, RLF_EXPR_NOT, decides, -1, -1, t->span);
        if (measured[1 - k] < 0)
            continue;
        decides = both(m, measured[k], decides, t->span);
        all = rlf_term_pointwise(s, RLF_EXPR_OR, all, decides, -1, t->span);
    }
    return all;
}

static int
measured(measuring *m, int term)
{
    const rlf_term t = m->s->terms.data[term];
    int made = -1, of[3] = {-1, -1, -1};
    if ((size_t)term >= m->n || t.kind != RLF_TERM_OP || t.domain != 0)
        return -1;
    if (rlf_numbers_get(&m->seen, term, 0))
        return rlf_numbers_get(&m->measured, term, -1);
    if (averages(m->s, &t)) {
        made = count(m->s, &t);
    } else if (rlf_expr_is_pointwise(t.code)) {
        for (int k = 0; k < 3; k++)
            of[k] = t.arg[k] >= 0 ? measured(m, t.arg[k]) : -1;
        bool logic = t.code == RLF_EXPR_AND || t.code == RLF_EXPR_OR;
        made = t.code == RLF_EXPR_SELECT ? choice(m, &t, of)
               : logic                   ? either(m, &t, of)
                       : both(m, both(m, of[0], of[1], t.span), of[2], t.span);
    }
    rlf_numbers_put(&m->seen, term, 1);
    rlf_numbers_put(&m->measured, term, made);
    return made;
}

int
rlf_measure(rlf_sema *s, int term)
{
    measuring m = {.s = s, .n = s->terms.count};
    m.seen.arena = m.measured.arena = s->arena;
    rlf_span span = s->terms.data[term].span;
    int condition = measured(&m, term);
    if (condition < 0)
        return term;
    return rlf_term_pointwise(s, RLF_EXPR_SELECT, condition, term,
                              rlf_term_number(s, rlf_expr_nothing(), span),
                              span);
}

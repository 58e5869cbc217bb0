/* What a metric measures: nothing, if what it averages has no values.
 *
 * In arithmetic a mean of nothing is 0, so that a set without samples adds
 * nothing, and a min or max of nothing ends the run. A metric of these would
 * be a number that nobody measured: it is rlf_expr_nothing() instead, which no
 * mean over the step counts. What a choice does not take is not measured, nor
 * does a min or max of nothing there end a run. Only sets that may be empty are
 * looked at: those of where, split, collect, and what is made of them. */
#include "grammar/numbers.h"
#include "grammar/sema.h"

typedef struct measuring {
    rlf_sema *s;
    size_t n;         /* terms that there were */
    int choice;       /* -1, or only min and max are looked at, on its sides */
    rlf_numbers safe; /* by term: the same that ends no run */
    rlf_numbers measured; /* by term: 1 if all that it averages has values;
                             -1: no such thing */
} measuring;

/* Does the term reduce a set to one number, which nothing has not? */
static bool
averages(const measuring *m, const rlf_term *t)
{
    if (m->choice >= 0 && !t->ends)
        return false;
    switch (t->code) {
    case RLF_EXPR_MEAN:
    case RLF_EXPR_VAR:
    case RLF_EXPR_STD:
    case RLF_EXPR_LEAST:
    case RLF_EXPR_MOST:
        return rlf_level_may_be_empty(m->s, m->s->terms.data[t->arg[0]].domain);
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

/* The same reduction, infinite of nothing; the values are counted. */
static int
safe_reduction(measuring *m, int term, int *measured)
{
    rlf_sema *s = m->s;
    rlf_term t = s->terms.data[term];
    t.ends = false;
    t.quiet = t.code == RLF_EXPR_LEAST || t.code == RLF_EXPR_MOST;
    int count = rlf_term_op(s, (rlf_term){.code = RLF_EXPR_COUNT,
                                          .arg = {t.arg[0], -1, -1},
                                          .span = t.span});
    if (count >= 0) /* what is counted is not looked at */
        s->terms.data[t.arg[0]].uses--;
    *measured = count;
    int made = t.quiet ? rlf_term_op(s, t) : -1;
    return made >= 0 ? made : term;
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

/* `term`, or one like it that ends no run; *measured as above. */
static int
safe(measuring *m, int term, int *measured)
{
    rlf_term t = m->s->terms.data[term];
    *measured = -1;
    if ((size_t)term >= m->n || t.kind != RLF_TERM_OP || t.domain != 0)
        return term;
    int made = rlf_numbers_get(&m->safe, term, -1);
    if (made >= 0) {
        *measured = rlf_numbers_get(&m->measured, term, -1);
        return made;
    }
    made = term;
    if (averages(m, &t)) {
        made = safe_reduction(m, term, measured);
    } else if (rlf_expr_is_pointwise(t.code)) {
        bool same = true;
        int of[3] = {-1, -1, -1};
        for (int k = term == m->choice; k < 3; k++) {
            int arg = t.arg[k] >= 0 ? safe(m, t.arg[k], &of[k]) : -1;
            same = same && arg == t.arg[k];
            t.arg[k] = arg;
        }
        t.ends = false; /* found again */
        made = same ? term : rlf_term_op(m->s, t);
        if (t.code == RLF_EXPR_SELECT)
            *measured = choice(m, &t, of);
        else
            *measured = both(m, both(m, of[0], of[1], t.span), of[2], t.span);
    }
    rlf_numbers_put(&m->safe, term, made);
    rlf_numbers_put(&m->measured, term, *measured);
    return made;
}

static int
measure(rlf_sema *s, int term, int choice)
{
    measuring m = {.s = s, .n = s->terms.count, .choice = choice};
    m.safe.arena = m.measured.arena = s->arena;
    rlf_span span = s->terms.data[term].span;
    int measured, value = safe(&m, term, &measured);
    if (measured < 0 || value < 0)
        return value;
    return rlf_term_pointwise(s, RLF_EXPR_SELECT, measured, value,
                              rlf_term_number(s, rlf_expr_nothing(), span),
                              span);
}

int
rlf_measure(rlf_sema *s, int term)
{
    return measure(s, term, -1);
}

int
rlf_measure_choice(rlf_sema *s, int term)
{
    const rlf_term *t = &s->terms.data[term];
    if (!s->terms.data[t->arg[1]].ends && !s->terms.data[t->arg[2]].ends)
        return term;
    return measure(s, term, term);
}

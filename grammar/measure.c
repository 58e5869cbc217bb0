/* What a metric measures: nothing, if what it averages has no values.
 *
 * In arithmetic a mean of nothing is 0, so that a set without samples adds
 * nothing, and a min or max of nothing ends the run. A metric of these would
 * be a number that nobody measured: it is rlf_expr_nothing() instead, which no
 * mean over the step counts. Only sets that may be empty are looked at:
 * those of where, split, collect, and what is made of them. */
#include "grammar/numbers.h"
#include "grammar/sema.h"

typedef struct measuring {
    rlf_sema *s;
    rlf_numbers safe; /* by term: the same that ends no run */
    size_t n;         /* terms that there were */
    int measured; /* 1 if all that is averaged has values; -1: no such thing */
} measuring;

static bool
may_be_empty(const rlf_sema *s, int domain)
{
    const rlf_domain *d = rlf_domains_get(&s->graph->domains, domain);
    bool maybe = d->maybe_empty;
    for (int k = 0; k < d->n_up && !maybe; k++)
        maybe = may_be_empty(s, d->up[k]);
    return maybe;
}

/* Does the term reduce a set to one number, which nothing has not? */
static bool
averages(const measuring *m, const rlf_term *t)
{
    switch (t->code) {
    case RLF_EXPR_MEAN:
    case RLF_EXPR_VAR:
    case RLF_EXPR_STD:
    case RLF_EXPR_LEAST:
    case RLF_EXPR_MOST:
        return may_be_empty(m->s, m->s->terms.data[t->arg[0]].domain);
    default:
        return false;
    }
}

/* The same reduction, infinite of nothing; the values are counted. */
static int
safe_reduction(measuring *m, rlf_term t)
{
    rlf_sema *s = m->s;
    t.quiet = t.code == RLF_EXPR_LEAST || t.code == RLF_EXPR_MOST;
    int count = rlf_term_op(s, (rlf_term){.code = RLF_EXPR_COUNT,
                                          .arg = {t.arg[0], -1, -1},
                                          .span = t.span});
    if (count >= 0) /* what is counted is not looked at */
        s->terms.data[t.arg[0]].uses--;
    m->measured = m->measured < 0
                      ? count
                      : rlf_term_pointwise(s, RLF_EXPR_AND, m->measured, count,
                                           -1, t.span);
    return t.quiet ? rlf_term_op(s, t) : -1;
}

/* `term`, or one like it that ends no run. */
static int
safe(measuring *m, int term)
{
    rlf_term t = m->s->terms.data[term];
    if ((size_t)term >= m->n || t.kind != RLF_TERM_OP || t.domain != 0)
        return term;
    int made = rlf_numbers_get(&m->safe, term, -1);
    if (made >= 0)
        return made;
    made = term;
    if (averages(m, &t)) {
        int other = safe_reduction(m, t);
        made = other >= 0 ? other : term;
    } else if (rlf_expr_is_pointwise(t.code)) {
        bool same = true;
        for (int k = 0; k < 3; k++) {
            int arg = t.arg[k] >= 0 ? safe(m, t.arg[k]) : -1;
            same = same && arg == t.arg[k];
            t.arg[k] = arg;
        }
        made = same ? term : rlf_term_op(m->s, t);
    }
    rlf_numbers_put(&m->safe, term, made);
    return made;
}

int
rlf_measure(rlf_sema *s, int term)
{
    measuring m = {.s = s, .n = s->terms.count, .measured = -1};
    m.safe.arena = s->arena;
    rlf_span span = s->terms.data[term].span;
    int value = safe(&m, term);
    if (m.measured < 0 || value < 0)
        return value;
    return rlf_term_pointwise(s, RLF_EXPR_SELECT, m.measured, value,
                              rlf_term_number(s, rlf_expr_nothing(), span),
                              span);
}

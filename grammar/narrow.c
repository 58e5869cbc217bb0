/* Losses that leave out rows without a word: where live values of a set meet
 * live values of a part of it, the result has the part's rows, and what the
 * model gives for the others does not count.
 *
 * Columns that are no calls on the model narrow what they meet by intent: an
 * advantage of the kept samples is of these. Two calls of the model on sets of
 * different size seldom do, so a call whose values come into the loss in no
 * other way is warned of. */
#include "grammar/passes.h"

typedef struct walk {
    const rlf_sema *s;
    char *ways; /* per term: how it was met on the way down from the loss */
    int *by;    /* and of a call, the operation that leaves out rows of it */
} walk;

enum { NO_WAY, SOME_ROWS, ALL_ROWS };

static int
rows_of(const rlf_sema *s, const rlf_term *t)
{
    return rlf_domain_rows(&s->graph->domains, t->domain);
}

/* Has the operation only some of the rows of its argument k, because of another
 * live argument? */
static bool
leaves_out(const rlf_sema *s, const rlf_term *op, int k)
{
    int whole = rows_of(s, &s->terms.data[op->arg[k]]), part = rows_of(s, op);
    if (whole == 0 || whole == part || !rlf_set_some_of(s, part, whole))
        return false;
    for (int j = 0; j < 3; j++) {
        const rlf_term *other =
            op->arg[j] >= 0 && j != k ? &s->terms.data[op->arg[j]] : NULL;
        if (other && other->live && other->domain && rows_of(s, other) != whole)
            return true;
    }
    return false;
}

/* `by`: the operation above that leaves out rows; -1: none does. */
static void
go_down(walk *w, int term, int by)
{
    const rlf_term *t = &w->s->terms.data[term];
    char way = by < 0 ? ALL_ROWS : SOME_ROWS;
    if (!t->live || w->ways[term] >= way)
        return;
    w->ways[term] = way;
    w->by[term] = by;
    for (int k = 0; k < 3 && t->kind == RLF_TERM_OP; k++)
        if (t->arg[k] >= 0)
            go_down(w, t->arg[k], leaves_out(w->s, t, k) ? term : by);
}

static void
warn(rlf_sema *s, const rlf_term *call, const rlf_term *op)
{
    const rlf_set *sets = s->graph->sets.data;
    int part = rlf_set_of_domain(s, rows_of(s, op));
    const char *all = call->set >= 0 ? sets[call->set].name : "the set",
               *some = part >= 0 ? sets[part].name : "the part";
    rlf_span a = call->span, b = op->span;
    rlf_diag *diag = rlf_diag_warning(
        s->diags, "level", b,
        "of '%s' the loss takes only the rows of '%s', with which %s is "
        "combined here",
        all, some, call->name);
    if (a.source != b.source || a.first < b.first || a.last > b.last)
        rlf_diag_note(s->diags, diag, a, "it is called here");
    rlf_diag_hint(s->diags, diag,
                  "where that is meant, say so: %s[%s]; where all rows are to "
                  "count, reduce each by itself, mean(... over batch) + "
                  "mean(... over batch)",
                  all, some);
}

void
rlf_narrow_warn(rlf_sema *s, const rlf_update_statement *u)
{
    size_t n = s->terms.count;
    if (u->calls.count < 2)
        return;
    walk w = {.s = s,
              .ways = RLF_NEW_ARRAY(s->arena, char, n),
              .by = RLF_NEW_ARRAY(s->arena, int, n)};
    go_down(&w, u->loss, -1);
    for (size_t i = 0; i < u->calls.count; i++) {
        int call = u->calls.data[i].term;
        if (w.ways[call] == SOME_ROWS)
            warn(s, &s->terms.data[call], &s->terms.data[w.by[call]]);
    }
}

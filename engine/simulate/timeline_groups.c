/* See timeline_groups.h. */
#include "engine/simulate/timeline_groups.h"

#include <math.h>

/* A rank's spans that are to be seen, in the order in which they end. */
typedef struct seen {
    const rlf_span_spent **span;
    int n;
} seen;

static bool
is_seen(const rlf_span_spent *s, double from, double to, double tolerance)
{
    return fmin(s->to, to) - fmax(s->from, from) > tolerance;
}

static seen *
look(const rlf_timeline *t, double from, double to, double tolerance,
     rlf_arena *arena)
{
    seen *of = RLF_NEW_ARRAY(arena, seen, t->ranks);
    for (size_t i = 0; i < t->spans.count; i++)
        of[t->spans.data[i].rank].n +=
            is_seen(&t->spans.data[i], from, to, tolerance);
    for (int r = 0; r < t->ranks; r++) {
        of[r].span = RLF_NEW_ARRAY(arena, const rlf_span_spent *, of[r].n);
        of[r].n = 0;
    }
    for (size_t i = 0; i < t->spans.count; i++) {
        const rlf_span_spent *s = &t->spans.data[i];
        if (is_seen(s, from, to, tolerance))
            of[s->rank].span[of[s->rank].n++] = s;
    }
    return of;
}

static bool
alike(const seen *a, const seen *b, double tolerance)
{
    bool same = a->n == b->n;
    for (int i = 0; same && i < a->n; i++) {
        const rlf_span_spent *s = a->span[i], *of = b->span[i];
        same = s->kind == of->kind && s->node == of->node &&
               s->turns == of->turns && s->rows == of->rows &&
               fabs(s->from - of->from) <= tolerance &&
               fabs(s->to - of->to) <= tolerance &&
               fabs(s->bubble - of->bubble) <= tolerance;
    }
    return same;
}

rlf_timeline_group *
rlf_timeline_groups(const rlf_timeline *t, double from, double to,
                    double tolerance, rlf_arena *arena, int *n)
{
    const seen *of = look(t, from, to, tolerance, arena);
    rlf_timeline_group *groups =
        RLF_NEW_ARRAY(arena, rlf_timeline_group, t->ranks);
    *n = 0;
    for (int r = 0; r < t->ranks; r++) {
        int k = 0;
        while (k < *n && !alike(&of[groups[k].ranks[0]], &of[r], tolerance))
            k++;
        if (k == *n)
            groups[(*n)++].ranks = RLF_NEW_ARRAY(arena, int, t->ranks - r);
        groups[k].ranks[groups[k].n++] = r;
    }
    return groups;
}

void
rlf_timeline_group_text(const rlf_timeline_group *b, int most, rlf_buf *out)
{
    int runs = 0, at = 0;
    rlf_buf_puts(out, b->n > 1 ? "ranks " : "rank ");
    while (at < b->n) {
        int first = at++;
        while (at < b->n && b->ranks[at] == b->ranks[at - 1] + 1)
            at++;
        if (runs++ == most) {
            rlf_buf_printf(out, ", ... (%d)", b->n);
            return;
        }
        rlf_buf_printf(out, "%s%d", first ? ", " : "", b->ranks[first]);
        if (at - first > 1)
            rlf_buf_printf(out, "-%d", b->ranks[at - 1]);
    }
}

/* The lines in which two texts differ, by their longest common subsequence. */
#include "engine/record/record.h"

#include <stdlib.h>

enum { AROUND = 3, MOST = 4000 }; /* lines: around a change; of a text */

typedef struct text_lines {
    RLF_VEC(rlf_str) line;
} text_lines;

static void
split(rlf_str text, text_lines *out)
{
    const char *p = text.p ? text.p : "", *end = p + text.n;
    while (p < end) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        size_t n = stop ? (size_t)(stop - p) : (size_t)(end - p);
        RLF_PUSH(&out->line, (rlf_str){p, n});
        p += n + 1;
    }
}

/* A line of the result: of a, of b, or of both. */
typedef struct edit {
    char sign;
    rlf_str line;
} edit;

typedef RLF_VEC(edit) edits;

/* The middle of both, of n and m lines, by a table of the lengths of what their
 * ends have in common. Too large: all of a, then all of b. */
static void
compare_middle(const rlf_str *a, size_t n, const rlf_str *b, size_t m,
               edits *out)
{
    size_t i = 0, k = 0;
    uint16_t *table = n <= MOST && m <= MOST
                          ? rlf_try_calloc((n + 1) * (m + 1), sizeof *table)
                          : NULL;
    for (size_t x = n; table && x-- > 0;)
        for (size_t y = m; y-- > 0;) {
            uint16_t *at = &table[x * (m + 1) + y], below = at[m + 1];
            *at = rlf_str_eq(a[x], b[y]) ? (uint16_t)(at[m + 2] + 1)
                  : below > at[1]        ? below
                                         : at[1];
        }
    while (table && i < n && k < m) {
        const uint16_t *at = &table[i * (m + 1) + k];
        if (rlf_str_eq(a[i], b[k])) {
            RLF_PUSH(out, (edit){' ', a[i++]});
            k++;
        } else if (at[m + 1] >= at[1]) {
            RLF_PUSH(out, (edit){'-', a[i++]});
        } else {
            RLF_PUSH(out, (edit){'+', b[k++]});
        }
    }
    while (i < n)
        RLF_PUSH(out, (edit){'-', a[i++]});
    while (k < m)
        RLF_PUSH(out, (edit){'+', b[k++]});
    free(table);
}

/* Is there a change within some lines of line i? */
static bool
is_near_change(const edits *all, size_t i)
{
    size_t from = i < AROUND ? 0 : i - AROUND;
    for (size_t k = from; k <= i + AROUND && k < all->count; k++)
        if (all->data[k].sign != ' ')
            return true;
    return false;
}

void
rlf_text_difference(rlf_str a, rlf_str b, rlf_buf *out)
{
    text_lines x = {0}, y = {0};
    edits all = {0};
    split(a, &x);
    split(b, &y);
    size_t n = x.line.count, m = y.line.count, front = 0, back = 0;
    while (front < n && front < m &&
           rlf_str_eq(x.line.data[front], y.line.data[front]))
        front++;
    while (back < n - front && back < m - front &&
           rlf_str_eq(x.line.data[n - 1 - back], y.line.data[m - 1 - back]))
        back++;
    for (size_t i = 0; i < front; i++)
        RLF_PUSH(&all, (edit){' ', x.line.data[i]});
    if (n > front + back || m > front + back)
        compare_middle(n ? x.line.data + front : NULL, n - front - back,
                       m ? y.line.data + front : NULL, m - front - back, &all);
    for (size_t i = n - back; i < n; i++)
        RLF_PUSH(&all, (edit){' ', x.line.data[i]});
    bool gap = false;
    for (size_t i = 0; i < all.count; i++) {
        bool near = is_near_change(&all, i);
        if (near && gap && out->n)
            rlf_buf_puts(out, " ...\n");
        gap = !near;
        if (!near)
            continue;
        rlf_buf_putc(out, all.data[i].sign);
        rlf_buf_add(out, all.data[i].line.p, all.data[i].line.n);
        rlf_buf_putc(out, '\n');
    }
    RLF_VEC_FREE(&all);
    RLF_VEC_FREE(&x.line);
    RLF_VEC_FREE(&y.line);
}

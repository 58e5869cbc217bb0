/* What ranks did with their time, and their memory: means of steps that follow
 * each other, as many as the page can draw, as numbers that it unpacks. */
#include "engine/report/page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEVEL = 6, MOST = 1 << 17 }; /* rows of ranks and bins */

/* Steps that stand together in the page. */
typedef struct bins {
    size_t n;       /* steps that have rows */
    size_t each;    /* of them in a bin */
    size_t count;   /* bins */
    uint32_t *of;   /* per row: its bin */
    uint32_t *ends; /* per bin: its first and last step */
} bins;

static void
bins_free(bins *b)
{
    free(b->of);
    free(b->ends);
}

static bool
begins_step(const rlf_rank_table *t, size_t row)
{
    return row == 0 || t->step.data[row] != t->step.data[row - 1];
}

static bool
find_bins(rlf_page *page, const rlf_rank_table *t, bins *out)
{
    size_t rows = t->step.count, seen = 0;
    *out = (bins){0};
    for (size_t i = 0; i < rows; i++)
        out->n += begins_step(t, i);
    size_t most = MOST / (t->most ? t->most : 1);
    most = most ? most : 1;
    out->each = (out->n + most - 1) / most;
    out->count = out->n ? (out->n + out->each - 1) / out->each : 0;
    out->of = rlf_try_malloc((rows + 1) * sizeof *out->of);
    out->ends = rlf_try_malloc((2 * out->count + 1) * sizeof *out->ends);
    if (!out->of || !out->ends) {
        page->status = rlf_fail_memory(page->err, rows * sizeof *out->of,
                                       "times of ranks");
        return false;
    }
    for (size_t i = 0; i < rows; i++) {
        seen += begins_step(t, i);
        size_t at = (seen - 1) / out->each;
        if (begins_step(t, i) && (seen - 1) % out->each == 0)
            out->ends[2 * at] = (uint32_t)t->step.data[i];
        out->ends[2 * at + 1] = (uint32_t)t->step.data[i];
        out->of[i] = (uint32_t)at;
    }
    return true;
}

static bool
is_memory(const char *name)
{
    return strncmp(name, "memory.", 7) == 0;
}

void
rlf_page_ranks(rlf_page *page, const rlf_record *r)
{
    const rlf_rank_table *t = &r->ranks;
    bins b;
    if (!t->step.count || !find_bins(page, t, &b)) {
        rlf_page_puts(page, ",\"ranks\":null");
        return;
    }
    rlf_page_printf(page, ",\"ranks\":{\"n\":%llu,\"bins\":%zu,\"columns\":[",
                    (unsigned long long)t->most, b.count);
    for (size_t i = 0; i < t->columns.count; i++) {
        rlf_page_puts(page, i ? "," : "");
        rlf_page_text(page, t->columns.data[i].name);
    }
    rlf_page_puts(page, "]}");
    bins_free(&b);
}

/* The means of a column, of memory the most, of each bin and rank; NaN where
 * the bin has no row of the rank. */
static void
put_column(const rlf_rank_table *t, const bins *b, const rlf_rank_column *c,
           double *sum, uint32_t *n, float *out)
{
    size_t cells = b->count * t->most;
    bool most = is_memory(c->name);
    memset(sum, 0, cells * sizeof *sum);
    memset(n, 0, cells * sizeof *n);
    for (size_t i = 0; i < t->step.count; i++) {
        size_t cell = b->of[i] * t->most + t->rank.data[i];
        double x = c->value.data[i];
        if (!isfinite(x))
            continue;
        n[cell]++;
        sum[cell] = !most ? sum[cell] + x : x > sum[cell] ? x : sum[cell];
    }
    for (size_t i = 0; i < cells; i++)
        out[i] = !n[i] ? NAN : most ? (float)sum[i] : (float)(sum[i] / n[i]);
}

/* The first and last step of each bin, then column by column, bin by bin, a
 * number for each rank. */
void
rlf_page_rank_numbers(rlf_page *page, const rlf_record *r, size_t run)
{
    const rlf_rank_table *t = &r->ranks;
    rlf_buf out = {0};
    bins b;
    char id[32];
    if (!t->step.count || page->status < 0 || !find_bins(page, t, &b))
        return;
    size_t cells = b.count * t->most;
    double *sum = rlf_try_malloc(cells * sizeof *sum);
    uint32_t *n = rlf_try_malloc(cells * sizeof *n);
    float *means = rlf_try_malloc(cells * sizeof *means);
    bool room = sum && n && means &&
                rlf_buf_try(&out, (t->columns.count * cells + 2 * b.count) *
                                      sizeof *means);
    if (!room)
        page->status =
            rlf_fail_memory(page->err, cells * sizeof *sum, "times of ranks");
    if (room)
        rlf_buf_add(&out, b.ends, 2 * b.count * sizeof *b.ends);
    for (size_t i = 0; room && i < t->columns.count; i++) {
        put_column(t, &b, &t->columns.data[i], sum, n, means);
        rlf_buf_add(&out, means, cells * sizeof *means);
    }
    snprintf(id, sizeof id, "ranks-%zu", run);
    if (room)
        rlf_page_pack(page, id, out.p, out.n, LEVEL);
    rlf_buf_free(&out);
    free(sum);
    free(n);
    free(means);
    bins_free(&b);
}

/* Numbers of metrics and samples, as columns that the page unpacks to arrays:
 * little endian, of whole numbers the difference to the one before. */
#include "engine/report/page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEVEL = 6, QUICK_LEVEL = 1, MANY = 200000 };

/* ---- metrics ---- */

static bool
same_steps(const rlf_metric_column *a, const rlf_metric_column *b)
{
    return a->step.count == b->step.count &&
           (!a->step.count ||
            memcmp(a->step.data, b->step.data,
                   a->step.count * sizeof *a->step.data) == 0);
}

/* The first metric that has the steps of metric i. */
static size_t
steps_of(const rlf_metric_table *t, size_t i)
{
    size_t k = 0;
    while (k < i && !same_steps(&t->columns.data[k], &t->columns.data[i]))
        k++;
    return k;
}

void
rlf_page_metrics(rlf_page *page, const rlf_record *r)
{
    const rlf_metric_table *t = &r->metrics;
    rlf_page_puts(page, ",\"metrics\":[");
    for (size_t i = 0; i < t->columns.count; i++) {
        rlf_page_puts(page, i ? ",{\"name\":" : "{\"name\":");
        rlf_page_text(page, t->columns.data[i].name);
        rlf_page_count(page, "n", t->columns.data[i].step.count);
        rlf_page_count(page, "steps", steps_of(t, i));
        rlf_page_puts(page, "}");
    }
    rlf_page_puts(page, "]");
}

/* All values first, as doubles, then the steps. */
void
rlf_page_metric_numbers(rlf_page *page, const rlf_record *r, size_t run)
{
    const rlf_metric_table *t = &r->metrics;
    rlf_buf out = {0};
    char id[32];
    for (size_t i = 0; i < t->columns.count; i++)
        rlf_buf_add(&out, t->columns.data[i].value.data,
                    t->columns.data[i].value.count * sizeof(double));
    for (size_t i = 0; i < t->columns.count; i++) {
        uint32_t before = 0;
        const rlf_metric_column *c = &t->columns.data[i];
        for (size_t k = 0; steps_of(t, i) == i && k < c->step.count; k++) {
            uint32_t step = (uint32_t)c->step.data[k], more = step - before;
            rlf_buf_add(&out, &more, sizeof more);
            before = step;
        }
    }
    snprintf(id, sizeof id, "metrics-%zu", run);
    rlf_page_pack(page, id, out.p ? out.p : "", out.n, LEVEL);
    rlf_buf_free(&out);
}

/* ---- samples ---- */

void
rlf_page_samples(rlf_page *page, const rlf_record *r)
{
    const rlf_sample_table *t = &r->samples;
    rlf_page_printf(page, ",\"samples\":{\"n\":%zu,\"of\":%llu,\"prompts\":%zu,\"sets\":[",
                    t->samples.count, (unsigned long long)t->sampled,
                    t->hashes.count);
    for (size_t i = 0; i < t->sets.count; i++) {
        rlf_page_puts(page, i ? "," : "");
        rlf_page_text(page, t->sets.data[i]);
    }
    rlf_page_puts(page, "],\"columns\":[");
    for (size_t i = 0; i < t->columns.count; i++) {
        rlf_page_puts(page, i ? "," : "");
        rlf_page_text(page, t->columns.data[i].name);
    }
    rlf_page_puts(page, "]");
    rlf_page_blocks(page, r);
    rlf_page_puts(page, "}");
}

static uint32_t
whole_of(const rlf_sample_entry *e, int which)
{
    return which == 0   ? e->step
           : which == 1 ? e->set
           : which == 2 ? e->group
           : which == 3 ? e->prompt
           : which == 4 ? (uint32_t)e->sample
                        : e->of;
}

void
rlf_page_sample_numbers(rlf_page *page, const rlf_record *r, size_t run)
{
    enum { WHOLE = 6 };
    const rlf_sample_table *t = &r->samples;
    size_t n = t->samples.count;
    int level = n > MANY ? QUICK_LEVEL : LEVEL;
    uint32_t *column = n ? rlf_try_malloc(n * sizeof *column) : NULL;
    float *number = (float *)column;
    char id[48];
    if (n && !column) {
        page->status = rlf_fail_memory(page->err, n * sizeof *column,
                                       "numbers of samples");
        return;
    }
    for (int k = 0; n && k < WHOLE; k++) {
        uint32_t before = 0;
        for (size_t i = 0; i < n; i++) {
            uint32_t x = whole_of(&t->samples.data[i], k);
            column[i] = x - before;
            before = x;
        }
        snprintf(id, sizeof id, "whole-%zu-%d", run, k);
        rlf_page_pack(page, id, column, n * sizeof *column, level);
    }
    for (size_t k = 0; n && k < t->columns.count; k++) {
        for (size_t i = 0; i < n; i++)
            number[i] = (float)t->columns.data[k].value.data[i];
        snprintf(id, sizeof id, "number-%zu-%zu", run, k);
        rlf_page_pack(page, id, number, n * sizeof *number, level);
    }
    free(column);
}

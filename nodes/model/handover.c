/* Giving and taking: see handover.h. What travels is, for each prompt that has
 * responses in it, a head, the prompt, the responses and their pages. */
#include "nodes/model/handover.h"

#include <string.h>

#include "nodes/model/generation.h"

/* The head of a prompt: n_prompt tokens follow, then the responses, then the
 * pages. */
typedef struct group_head {
    uint32_t n_prompt, n_samples, n_pages;
} group_head;

/* Of a response: n tokens, n log-probabilities and the numbers of its pages
 * among those of its prompt follow. */
typedef struct sample_head {
    uint64_t identity;
    uint32_t label, n, cached, n_pages;
} sample_head;

/* ---- giving ---- */

/* The pages of some samples of a prompt, each once. */
typedef struct distinct {
    RLF_VEC(int32_t) pages;
    RLF_VEC(uint32_t) number; /* of the page of each sample in turn */
} distinct;

static rlf_status
list_pages(distinct *d, const sequence *s, rlf_err *err)
{
    RLF_TRY_ROOM(&d->pages, s->n_pages, "pages for another rank");
    RLF_TRY_ROOM(&d->number, s->n_pages, "pages for another rank");
    for (uint32_t i = 0; i < s->n_pages; i++) {
        uint32_t k = 0;
        while (k < d->pages.count && d->pages.data[k] != s->pages[i])
            k++;
        if (k == d->pages.count)
            RLF_PUSH(&d->pages, s->pages[i]);
        RLF_PUSH(&d->number, k);
    }
    return RLF_OK;
}

/* Is it cheaper to send the pages than to compute what is in them? Counted for
 * the whole model, so that all ranks of a replica decide alike; *sent are the
 * bytes that were so far. */
static bool
sends_pages(const rlf_generation *g, const rlf_handover_price *price,
            size_t pages, uint64_t positions, double *sent)
{
    const rlf_model_config *c = &g->model->table->config;
    double bytes = 2.0 * (double)pages * g->kv->page_size * c->layers *
                   c->kv_heads * c->head_dim *
                   (double)rlf_real_bytes(g->kv->kernels);
    if (!pages || *sent + bytes > (double)price->most ||
        bytes * price->byte > (double)positions * price->token)
        return false;
    *sent += bytes;
    return true;
}

static void
put_sample(const sequence *s, uint32_t label, const uint32_t *number,
           bool pages, rlf_buf *out)
{
    const sample_head head = {.identity = s->identity,
                              .label = label,
                              .n = s->n,
                              .cached = pages ? s->cached : 0,
                              .n_pages = pages ? s->n_pages : 0};
    rlf_buf_add(out, &head, sizeof head);
    rlf_buf_add(out, s->ids, s->n * sizeof *s->ids);
    rlf_buf_add(out, s->logprob, s->n * sizeof *s->logprob);
    rlf_buf_add(out, number, head.n_pages * sizeof *number);
}

static const char for_another[] = "samples for another rank";

/* The pages themselves, behind what `out` has. */
static rlf_status
put_pages(const rlf_generation *g, const distinct *d, rlf_buf *out,
          rlf_err *err)
{
    size_t each =
        rlf_kv_page_bytes(g->kv->table, g->kv->kernels, g->kv->page_size);
    void *page = NULL;
    rlf_status status = rlf_try_array(1, each, for_another, err, &page);
    for (size_t i = 0; i < d->pages.count && status >= 0; i++) {
        status = rlf_kv_read(g->kv, d->pages.data[i], page, err);
        if (status >= 0 && !rlf_buf_try(out, each))
            status = rlf_fail_memory(err, out->n + each, "%s", for_another);
        if (status >= 0)
            rlf_buf_add(out, page, each);
    }
    free(page);
    return status;
}

/* Samples of one prompt; d: to list their pages in. */
static rlf_status
put_listed(const rlf_generation *g, const uint32_t *rows, const uint32_t *label,
           uint32_t n, const rlf_handover_price *price, distinct *d,
           double *sent, rlf_buf *out, rlf_err *err)
{
    const group *p = &g->groups.data[g->sequences.data[rows[0]].group];
    uint64_t positions = p->n_prompt;
    for (uint32_t i = 0; i < n; i++) {
        const sequence *s = &g->sequences.data[rows[i]];
        RLF_TRY(list_pages(d, s, err));
        positions += s->n;
    }
    size_t bytes = sizeof(group_head) + n * sizeof(sample_head) +
                   positions * (sizeof(uint32_t) + sizeof(float)) +
                   d->number.count * sizeof *d->number.data;
    if (!rlf_buf_try(out, bytes))
        return rlf_fail_memory(err, out->n + bytes, "%s", for_another);
    bool pages = sends_pages(g, price, d->pages.count, positions, sent);
    const group_head head = {.n_prompt = p->n_prompt,
                             .n_samples = n,
                             .n_pages = pages ? (uint32_t)d->pages.count : 0};
    rlf_buf_add(out, &head, sizeof head);
    rlf_buf_add(out, p->prompt, p->n_prompt * sizeof *p->prompt);
    const uint32_t *number = d->number.data;
    for (uint32_t i = 0; i < n; i++) {
        const sequence *s = &g->sequences.data[rows[i]];
        put_sample(s, label[i], number, pages, out);
        number += s->n_pages;
    }
    return pages ? put_pages(g, d, out, err) : RLF_OK;
}

static rlf_status
put_group(const rlf_generation *g, const uint32_t *rows, const uint32_t *label,
          uint32_t n, const rlf_handover_price *price, double *sent,
          rlf_buf *out, rlf_err *err)
{
    distinct d = {0};
    rlf_status status =
        put_listed(g, rows, label, n, price, &d, sent, out, err);
    RLF_VEC_FREE(&d.pages);
    RLF_VEC_FREE(&d.number);
    return status;
}

static void
forget(rlf_generation *g, uint32_t index)
{
    sequence *s = &g->sequences.data[index];
    if (take_out(&g->active, index))
        quit(g, s);
    else if (take_out(&g->waiting, index))
        g->groups.data[s->group].n_waiting--;
    drop_pages(g, s);
    s->done = true;
}

/* The rows, of n, that are not done, and what they are called. */
typedef struct leaving {
    indices rows, label;
} leaving;

static rlf_status
put_leaving(rlf_generation *g, leaving *l, const uint32_t *rows,
            const uint32_t *label, uint32_t n, const rlf_handover_price *price,
            rlf_buf *out, rlf_err *err)
{
    double sent = 0;
    RLF_TRY_ROOM(&l->rows, n, for_another);
    RLF_TRY_ROOM(&l->label, n, for_another);
    for (uint32_t i = 0; i < n; i++) {
        if (g->sequences.data[rows[i]].done)
            continue;
        RLF_PUSH(&l->rows, rows[i]);
        RLF_PUSH(&l->label, label[i]);
    }
    for (size_t i = 0, end; i < l->rows.count; i = end) {
        uint32_t of = g->sequences.data[l->rows.data[i]].group;
        for (end = i + 1; end < l->rows.count; end++)
            if (g->sequences.data[l->rows.data[end]].group != of)
                break;
        RLF_TRY(put_group(g, l->rows.data + i, l->label.data + i,
                          (uint32_t)(end - i), price, &sent, out, err));
    }
    return RLF_OK;
}

rlf_status
rlf_generation_give(rlf_generation *g, const uint32_t *rows,
                    const uint32_t *label, uint32_t n,
                    const rlf_handover_price *price, rlf_buf *out, rlf_err *err)
{
    leaving l = {0};
    RLF_TRY(rlf_generation_settle(g, err));
    rlf_status status = put_leaving(g, &l, rows, label, n, price, out, err);
    for (size_t i = 0; i < l.rows.count; i++)
        forget(g, l.rows.data[i]);
    RLF_VEC_FREE(&l.rows);
    RLF_VEC_FREE(&l.label);
    if (status < 0)
        return status;
    if (g->active.count || g->waiting.count || g->complete.count)
        return RLF_AGAIN;
    drop_keepers(g);
    return RLF_OK;
}

/* ---- taking ---- */

typedef struct reader {
    const char *p, *end;
    bool torn;
} reader;

/* The next n things of a size; NULL if there are not so many. */
static const void *
next(reader *r, size_t n, size_t size)
{
    const void *at = r->p;
    if (r->torn || n > (size_t)(r->end - r->p) / size) {
        r->torn = true;
        return NULL;
    }
    r->p += n * size;
    return at;
}

static bool
next_head(reader *r, void *head, size_t size)
{
    const void *at = next(r, 1, size);
    if (at)
        memcpy(head, at, size);
    return at != NULL;
}

static const char from_another[] = "samples of another rank";

/* The tokens of a response so far, for which there is room, and what follows
 * from them. */
static void
recall(rlf_generation *g, sequence *s, const void *ids, const void *logprob,
       uint32_t n)
{
    s->n = n;
    memcpy(s->ids, ids, n * sizeof *s->ids);
    memcpy(s->logprob, logprob, n * sizeof *s->logprob);
    for (uint32_t i = 0; g->options.n_stop && i < n; i++)
        rlf_detokenizer_feed(&s->detokenizer, s->ids[i], &s->text);
}

/* Takes the sequence of a sample, with numbers below `n_pages` in place of
 * pages. */
static rlf_status
take_sample(rlf_generation *g, uint32_t of, uint32_t n_pages, reader *r,
            indices *labels, rlf_err *err)
{
    sample_head head;
    if (!next_head(r, &head, sizeof head))
        return RLF_OK;
    const void *ids = next(r, head.n, sizeof(uint32_t));
    const void *logprob = next(r, head.n, sizeof(float));
    const char *number = next(r, head.n_pages, sizeof(uint32_t));
    if (r->torn)
        return RLF_OK;
    RLF_PUSH(labels, head.label);
    uint32_t index = add_sequence(g, of, head.identity);
    sequence *s = &g->sequences.data[index];
    RLF_TRY(make_sequence_room(s, head.n + 1, head.n_pages, err));
    recall(g, s, ids, logprob, head.n);
    s->cached = head.cached;
    for (uint32_t i = 0; i < head.n_pages; i++) {
        uint32_t k;
        memcpy(&k, number + i * sizeof k, sizeof k);
        r->torn |= k >= n_pages;
        push_page(s, (int32_t)k);
    }
    return RLF_OK;
}

/* Pages for all that came, filled; false: there is no room for them. Each has
 * one reference, which is the caller's. */
static rlf_status
place_pages(rlf_generation *g, reader *r, uint32_t n, rlf_arena *arena,
            int32_t **out, bool *placed, rlf_err *err)
{
    size_t each =
        rlf_kv_page_bytes(g->kv->table, g->kv->kernels, g->kv->page_size);
    const char *data = next(r, n, each);
    if (!data)
        return RLF_OK;
    while ((uint32_t)g->kv->n_free < n && drop_keepers(g))
        ;
    *placed = (uint32_t)g->kv->n_free >= n;
    RLF_TRY(rlf_arena_try(arena, n * sizeof **out, from_another, err, out));
    int32_t *pages = *out;
    for (uint32_t i = 0; i < n && *placed; i++) {
        pages[i] = rlf_kv_take(g->kv);
        RLF_TRY(rlf_kv_write(g->kv, data + i * each, pages[i], err));
    }
    return RLF_OK;
}

/* Let a sequence that came in: into the batch with its pages, or to those that
 * wait. */
static void
seat(rlf_generation *g, uint32_t index, const int32_t *pages, bool placed)
{
    sequence *s = &g->sequences.data[index];
    group *p = &g->groups.data[s->group];
    if (!s->n_pages || !placed || g->active.count == g->most_active) {
        s->n_pages = s->cached = 0;
        insert_sorted(&g->waiting, index);
        p->n_waiting++;
        return;
    }
    for (uint32_t i = 0; i < s->n_pages; i++) {
        s->pages[i] = pages[s->pages[i]];
        rlf_kv_hold(g->kv, s->pages[i]);
    }
    enter(g, index);
}

static rlf_status
take_group(rlf_generation *g, reader *r, rlf_arena *arena, indices *labels,
           rlf_err *err)
{
    group_head head;
    uint32_t first = (uint32_t)g->sequences.count;
    if (!next_head(r, &head, sizeof head))
        return RLF_OK;
    const void *ids = next(r, head.n_prompt, sizeof(uint32_t));
    if (r->torn)
        return RLF_OK;
    uint32_t *prompt;
    RLF_TRY(rlf_arena_try(arena, head.n_prompt * sizeof *prompt, from_another,
                          err, &prompt));
    memcpy(prompt, ids, head.n_prompt * sizeof *prompt);
    uint32_t of = (uint32_t)g->groups.count;
    RLF_TRY(make_room(g, head.n_samples, err));
    RLF_TRY_ROOM(labels, head.n_samples, from_another);
    add_group(g, prompt, head.n_prompt, 0);
    rlf_status status = RLF_OK;
    for (uint32_t i = 0; i < head.n_samples && !r->torn && status >= 0; i++)
        status = take_sample(g, of, head.n_pages, r, labels, err);
    int32_t *pages = NULL;
    bool placed = false;
    if (head.n_pages && status >= 0)
        status = place_pages(g, r, head.n_pages, arena, &pages, &placed, err);
    placed &= status >= 0;
    for (uint32_t i = first; i < g->sequences.count; i++)
        seat(g, i, pages, placed && !r->torn);
    for (uint32_t i = 0; i < head.n_pages && placed; i++)
        rlf_kv_drop(g->kv, pages[i]);
    return status;
}

rlf_status
rlf_generation_take(rlf_generation *g, const char *bytes, size_t n,
                    rlf_arena *arena, rlf_err *err, uint32_t *first,
                    const uint32_t **label, uint32_t *n_rows)
{
    reader r = {.p = bytes, .end = bytes + n};
    indices labels = {0};
    *first = (uint32_t)g->sequences.count;
    rlf_status status = RLF_OK;
    while (r.p < r.end && !r.torn && status >= 0)
        status = take_group(g, &r, arena, &labels, err);
    uint32_t *copy = NULL;
    if (status >= 0)
        status = rlf_arena_try(arena, (labels.count + 1) * sizeof *copy,
                               from_another, err, &copy);
    if (status >= 0 && labels.count)
        memcpy(copy, labels.data, labels.count * sizeof *copy);
    *label = copy;
    *n_rows = (uint32_t)labels.count;
    RLF_VEC_FREE(&labels);
    if (status >= 0 && r.torn)
        status = rlf_fail(err, RLF_BUG,
                          "responses that came from another rank are torn");
    return status;
}

uint32_t
rlf_generation_seats(const rlf_generation *g)
{
    uint32_t fit = (uint32_t)g->kv->n_pages / g->ld_pages;
    return fit < g->most_active ? fit : g->most_active;
}

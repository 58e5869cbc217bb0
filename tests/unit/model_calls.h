/* A backend that computes nothing and writes down the calls that it gets: the
 * program that a model's passes are.
 *
 * A call is a line: operation, numbers, and for each operand which value it is.
 * A value is the result of a call, named after the number of its line ("12", or
 * "12y" of several results); a part of its columns is "12[16:32]", values that
 * lie side by side are joined by "|". So a list does not depend on where values
 * lie: buffers may move, be shared or be copied, but whoever reads a value
 * reads the one that the formula wants. A row of which a part was written over
 * meanwhile is not one value, and its line says "torn". Weights have the names
 * of their tensors, gradients the same with "d ".
 *
 * Ranks do not talk: a sum over them is a line, whose result is a value. What
 * pages hold of a sequence is values too, position by position. */
#ifndef RLF_TESTS_UNIT_MODEL_CALLS_H
#define RLF_TESTS_UNIT_MODEL_CALLS_H

#include "nodes/model/gradient.h"
#include "tests/unit/model.h"

/* One number in memory: element (row, col) of a value. */
typedef struct place {
    const char *at; /* NULL: empty */
    int value, row, col;
} place;

typedef struct packing {
    const void *packed;
    const float *weight;
} packing;

typedef struct calls {
    rlf_buf text; /* the list */
    rlf_buf line; /* the call at hand */
    int n;        /* calls so far */
    int outputs;  /* outputs of the call at hand */
    int n_values, room_values;
    char (*name)[16]; /* the name of each value */
    int *width;       /* its columns */
    place *places;    /* places by address, open addressing */
    size_t n_places, room;
    packing *packings;
    size_t n_packings, room_packings;
    const rlf_model *model; /* NULL: nothing is written down yet */
    int64_t tokens;         /* tokens of the micro-batch at hand */
} calls;

/* Kernels have no context of their own: one recorder for each thread, which is
 * a rank. */
static _Thread_local calls *recorder;

static place *
place_of(calls *c, const char *at)
{
    if (2 * (c->n_places + 1) > c->room) {
        place *old = c->places;
        size_t n = c->room;
        c->room = c->room ? 2 * c->room : 1 << 12;
        c->places = rlf_calloc(c->room, sizeof *c->places);
        c->n_places = 0;
        for (size_t i = 0; i < n; i++)
            if (old[i].at)
                *place_of(c, old[i].at) = old[i];
        free(old);
    }
    size_t i = (uintptr_t)at / 4 * 0x9e3779b97f4a7c15u >> 20;
    for (;; i++) {
        place *p = &c->places[i % c->room];
        if (p->at == at)
            return p;
        if (p->at)
            continue;
        *p = (place){at, -1, 0, 0};
        c->n_places++;
        return p;
    }
}

/* ---- values ---- */

static int
new_value(calls *c, const char *name, int width)
{
    if (c->n_values == c->room_values) {
        c->room_values = c->room_values ? 2 * c->room_values : 64;
        c->name =
            rlf_realloc(c->name, (size_t)c->room_values * sizeof *c->name);
        c->width =
            rlf_realloc(c->width, (size_t)c->room_values * sizeof *c->width);
    }
    snprintf(c->name[c->n_values], sizeof *c->name, "%s", name);
    c->width[c->n_values] = width;
    return c->n_values++;
}

static void
put_value(calls *c, const void *at, int value, int64_t m, int64_t n, int64_t ld)
{
    for (int64_t i = 0; at && i < m; i++)
        for (int64_t k = 0; k < n; k++) {
            const char *x = (const char *)at + 4 * (i * (ld ? ld : n) + k);
            *place_of(c, x) = (place){x, value, (int)i, (int)k};
        }
}

/* Has the value no rows and columns? Zeros, and sums of zeros over ranks. */
static bool
is_flat(const calls *c, int value)
{
    return value >= 0 && strstr(c->name[value], "zeros");
}

/* Columns first..last-1 of the operand are those of one value. */
static void
say_columns(calls *c, const place *first, int n)
{
    rlf_buf_printf(&c->line, "%s", c->name[first->value]);
    if (is_flat(c, first->value))
        return;
    if (first->col || n != c->width[first->value])
        rlf_buf_printf(&c->line, "[%d:%d]", first->col, first->col + n);
}

/* Are rows and columns of the operand, from column k on, those of the value
 * that its first row has there? */
static bool
is_whole(calls *c, const char *at, int64_t m, int64_t ld, int64_t k, int64_t n)
{
    const place first = *place_of(c, at + 4 * k);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            const place *p = place_of(c, at + 4 * (i * ld + k + j));
            if (p->value != first.value ||
                (!is_flat(c, first.value) &&
                 (p->row != first.row + i || p->col != first.col + j)))
                return false;
        }
    return true;
}

static void
say_value(calls *c, const void *operand, int64_t m, int64_t n, int64_t ld)
{
    const char *at = operand;
    ld = ld ? ld : n;
    for (int64_t k = 0, width; k < n && m > 0; k += width) {
        const place first = *place_of(c, at + 4 * k);
        for (width = 1; k + width < n; width++)
            if (place_of(c, at + 4 * (k + width))->value != first.value)
                break;
        rlf_buf_printf(&c->line, "%s", k ? "|" : "");
        if (first.value < 0 || !is_whole(c, at, m, ld, k, width))
            rlf_buf_printf(&c->line, first.value < 0 ? "unwritten" : "torn");
        else
            say_columns(c, &first, (int)width);
        if (first.row && !is_flat(c, first.value))
            rlf_buf_printf(&c->line, " from row %d", first.row);
    }
}

/* ---- weights ---- */

/* A number of a block that has the form of the weights. */
static bool
say_slot(calls *c, const char *what, const float *block, const float *at)
{
    const rlf_table *t = c->model->table;
    if (!block || at < block || at >= block + t->count)
        return false;
    for (int i = 0; i < t->n_slots; i++) {
        const rlf_slot *s = &t->slots[i];
        if (at - block < s->offset || at - block >= s->offset + s->count)
            continue;
        rlf_buf_printf(&c->line, "%s%s", what, s->name);
        if (at - block > s->offset)
            rlf_buf_printf(&c->line, "+%lld",
                           (long long)(at - block - s->offset));
    }
    return true;
}

static void
say_weight(calls *c, const float *at)
{
    const rlf_model *m = c->model;
    const rlf_gradient *g = &m->gradient;
    if (!at)
        rlf_buf_printf(&c->line, "none");
    else if (say_slot(c, "", m->weights, at))
        return;
    else if (m->one_plus &&
             say_slot(c, "1 + ", m->one_plus - m->table->matrices, at))
        return;
    else if (say_slot(c, "d ", g->weights, at))
        return;
    else if (at == m->cosines[0] || at == m->sines[0])
        rlf_buf_printf(&c->line, at == m->sines[0] ? "sines" : "cosines");
    else if (at == m->cosines[1] || at == m->sines[1])
        rlf_buf_printf(&c->line, "local %s",
                       at == m->sines[1] ? "sines" : "cosines");
    else if (at == g->tied)
        rlf_buf_printf(&c->line, "d head");
    else if (g->head_norms && at >= g->head_norms)
        rlf_buf_printf(&c->line, "d head norms+%lld",
                       (long long)(at - g->head_norms));
    else
        rlf_buf_printf(&c->line, "elsewhere");
}

static void
say_packed(calls *c, const void *packed, const char *form)
{
    for (size_t i = c->n_packings; i-- > 0;)
        if (c->packings[i].packed == packed) {
            say_weight(c, c->packings[i].weight);
            rlf_buf_printf(&c->line, "%s", form);
            return;
        }
    rlf_buf_printf(&c->line, "not packed");
}

/* ---- one call ---- */

static void
say_name(const char *operation)
{
    calls *c = recorder;
    c->n++;
    c->outputs = 0;
    rlf_buf_clear(&c->line);
    rlf_buf_printf(&c->line, "%d %s", c->n, operation);
}

static void
say_number(const char *name, double x)
{
    if (x != 0)
        rlf_buf_printf(&recorder->line, " %s %.6g", name, x);
}

static void
say_input(const char *name, const void *at, int64_t m, int64_t n, int64_t ld)
{
    if (!at)
        return;
    rlf_buf_printf(&recorder->line, ", %s = ", name);
    say_value(recorder, at, m, n, ld);
}

static void
say_operand(const char *name, const float *weight)
{
    if (!weight)
        return;
    rlf_buf_printf(&recorder->line, ", %s = ", name);
    say_weight(recorder, weight);
}

static void
say_matrix(const void *packed, rlf_product_form form)
{
    rlf_buf_printf(&recorder->line, ", w = ");
    say_packed(recorder, packed, form == RLF_PRODUCT_BACKWARD ? " back" : "");
}

static void
say_output(const char *name, void *at, int64_t m, int64_t n, int64_t ld)
{
    calls *c = recorder;
    char text[16];
    if (!at)
        return;
    snprintf(text, sizeof text, "%d%s", c->n, c->outputs++ ? name : "");
    put_value(c, at, new_value(c, text, (int)n), m, n, ld);
    rlf_buf_printf(&c->line, " -> %s", text);
}

static rlf_status
end_call(void)
{
    rlf_buf_printf(&recorder->text, "%s\n", recorder->line.p);
    return RLF_OK;
}

/* ---- operations ---- */

#define RECORD(name)                                  \
    static rlf_status record_##name(rlf_queue *queue, \
                                    const rlf_##name##_args *a, rlf_err *err)
#define BEGIN(name) ((void)queue, (void)err, say_name(#name))
#define NUMBER(member) say_number(#member, (double)a->member)
#define INPUT(member, m, n, ld) say_input(#member, a->member, m, n, ld)
#define OUTPUT(member, m, n, ld) say_output(#member, a->member, m, n, ld)

RECORD(product_pack)
{
    (void)queue, (void)err;
    calls *c = recorder;
    if (c->n_packings == c->room_packings) {
        c->room_packings = c->room_packings ? 2 * c->room_packings : 64;
        c->packings =
            rlf_realloc(c->packings, c->room_packings * sizeof *c->packings);
    }
    c->packings[c->n_packings++] = (packing){a->packed, a->w};
    return RLF_OK;
}

static void
say_shards(rlf_shards s)
{
    say_number("shards", s.of);
}

RECORD(product)
{
    BEGIN(product);
    NUMBER(m), NUMBER(n), NUMBER(k), NUMBER(add);
    say_shards(a->shards);
    for (int i = 0; i < a->n_parts; i++)
        say_number("part", (double)a->parts[i]);
    INPUT(x, a->m, a->k, a->ldx);
    say_matrix(a->packed, a->form);
    say_operand("bias", a->bias);
    if (a->add)
        say_input("onto", a->c, a->m, a->n, a->ldc);
    OUTPUT(c, a->m, a->n, a->ldc);
    return end_call();
}

RECORD(product_glu)
{
    BEGIN(product_glu);
    NUMBER(m), NUMBER(d), NUMBER(k), NUMBER(act);
    INPUT(x, a->m, a->k, a->ldx);
    say_matrix(a->packed, RLF_PRODUCT_FORWARD);
    say_operand("bias", a->bias);
    OUTPUT(y, a->m, a->d, a->ldy);
    if (a->keep)
        OUTPUT(c, a->m, 2 * a->d, 0);
    return end_call();
}

RECORD(product_grad)
{
    BEGIN(product_grad);
    NUMBER(m), NUMBER(n), NUMBER(k);
    INPUT(dy, a->m, a->n, a->lddy);
    INPUT(x, a->m, a->k, a->ldx);
    say_operand("onto", a->dw);
    return end_call();
}

RECORD(bias_grad)
{
    BEGIN(bias_grad);
    NUMBER(m), NUMBER(n);
    INPUT(dy, a->m, a->n, a->lddy);
    say_operand("onto", a->db);
    return end_call();
}

RECORD(embed)
{
    BEGIN(embed);
    NUMBER(m), NUMBER(d), NUMBER(v), NUMBER(first), NUMBER(part);
    say_operand("w", a->w);
    OUTPUT(y, a->m, a->d, a->ldy);
    return end_call();
}

RECORD(embed_grad)
{
    BEGIN(embed_grad);
    NUMBER(m), NUMBER(d), NUMBER(v), NUMBER(first), NUMBER(part);
    INPUT(dy, a->m, a->d, a->lddy);
    say_operand("onto", a->dw);
    return end_call();
}

RECORD(rows_gather)
{
    BEGIN(rows_gather);
    NUMBER(m), NUMBER(d);
    INPUT(x, recorder->tokens, a->d, a->ldx);
    OUTPUT(y, a->m, a->d, a->ldy);
    return end_call();
}

/* Into rows that were zeros, or onto what is there. */
RECORD(rows_scatter)
{
    BEGIN(rows_scatter);
    NUMBER(m), NUMBER(d), NUMBER(add);
    INPUT(x, a->m, a->d, a->ldx);
    say_input("into", a->y, recorder->tokens, a->d, a->ldy);
    OUTPUT(y, recorder->tokens, a->d, a->ldy);
    return end_call();
}

RECORD(rmsnorm)
{
    int64_t groups = a->groups ? a->groups : 1, n = groups * a->d;
    BEGIN(rmsnorm);
    NUMBER(m), NUMBER(d), NUMBER(groups), NUMBER(eps);
    INPUT(x, a->m, n, a->ldx);
    INPUT(sums, a->m, 1, 0);
    say_operand("weight", a->weight);
    OUTPUT(y, a->m, n, a->ldy);
    OUTPUT(rstd, a->m, groups, 0);
    return end_call();
}

RECORD(norm_sums)
{
    BEGIN(norm_sums);
    NUMBER(m), NUMBER(d), NUMBER(whole), NUMBER(pieces);
    say_shards(a->shards);
    INPUT(x, a->m, a->d, a->ldx);
    INPUT(dy, a->m, a->d, a->lddy);
    if (a->dy)
        say_operand("weight", a->weight);
    OUTPUT(sums, a->m, 1, 0);
    return end_call();
}

RECORD(rmsnorm_grad)
{
    int64_t groups = a->groups ? a->groups : 1, n = groups * a->d;
    BEGIN(rmsnorm_grad);
    NUMBER(m), NUMBER(d), NUMBER(groups), NUMBER(shards);
    INPUT(x, a->m, n, a->ldx);
    say_operand("weight", a->weight);
    INPUT(rstd, a->m, groups, 0);
    INPUT(sums, a->m, 1, 0);
    INPUT(dy, a->m, n, a->lddy);
    if (a->add)
        say_input("onto", a->dx, a->m, n, a->lddx);
    say_operand("dweight", a->dweight);
    OUTPUT(dx, a->m, n, a->lddx);
    return end_call();
}

RECORD(rope_table)
{
    (void)queue, (void)a, (void)err;
    return RLF_OK;
}

RECORD(layernorm)
{
    BEGIN(layernorm);
    NUMBER(m), NUMBER(d), NUMBER(eps);
    INPUT(x, a->m, a->d, a->ldx);
    say_operand("weight", a->weight);
    say_operand("bias", a->bias);
    OUTPUT(y, a->m, a->d, a->ldy);
    OUTPUT(mean, a->m, 1, 0);
    OUTPUT(rstd, a->m, 1, 0);
    return end_call();
}

RECORD(layernorm_grad)
{
    BEGIN(layernorm_grad);
    NUMBER(m), NUMBER(d);
    INPUT(x, a->m, a->d, a->ldx);
    say_operand("weight", a->weight);
    INPUT(mean, a->m, 1, 0);
    INPUT(rstd, a->m, 1, 0);
    INPUT(dy, a->m, a->d, a->lddy);
    if (a->add)
        say_input("onto", a->dx, a->m, a->d, a->lddx);
    say_operand("dweight", a->dweight);
    say_operand("dbias", a->dbias);
    OUTPUT(dx, a->m, a->d, a->lddx);
    return end_call();
}

RECORD(rope)
{
    BEGIN(rope);
    NUMBER(m), NUMBER(heads), NUMBER(d), NUMBER(half), NUMBER(back);
    INPUT(x, a->m, a->heads * a->d, a->ldx);
    say_operand("cos", a->cos);
    say_operand("sin", a->sin);
    OUTPUT(y, a->m, a->heads * a->d, a->ldy);
    return end_call();
}

RECORD(glu)
{
    BEGIN(glu);
    NUMBER(m), NUMBER(d), NUMBER(act);
    INPUT(gate, a->m, a->d, a->ldx);
    INPUT(up, a->m, a->d, a->ldx);
    OUTPUT(y, a->m, a->d, a->ldy);
    return end_call();
}

RECORD(glu_grad)
{
    BEGIN(glu_grad);
    NUMBER(m), NUMBER(d), NUMBER(act);
    INPUT(gate, a->m, a->d, a->ldx);
    INPUT(up, a->m, a->d, a->ldx);
    INPUT(dy, a->m, a->d, a->lddy);
    OUTPUT(dgate, a->m, a->d, a->lddx);
    OUTPUT(dup, a->m, a->d, a->lddx);
    return end_call();
}

RECORD(attention)
{
    int64_t m = a->offsets[a->n_seqs], q = a->heads * a->d;
    int64_t kv = a->kv_heads * a->d;
    BEGIN(attention);
    NUMBER(heads), NUMBER(kv_heads), NUMBER(d), NUMBER(scale), NUMBER(window);
    NUMBER(cap);
    INPUT(q, m, q, a->ldq);
    INPUT(k, m, kv, a->ldk);
    INPUT(v, m, kv, a->ldv);
    OUTPUT(o, m, q, a->ldo);
    OUTPUT(lse, m, a->heads, 0);
    return end_call();
}

RECORD(attention_grad)
{
    int64_t m = a->offsets[a->n_seqs], q = a->heads * a->d;
    int64_t kv = a->kv_heads * a->d;
    BEGIN(attention_grad);
    NUMBER(heads), NUMBER(kv_heads), NUMBER(d), NUMBER(scale), NUMBER(window);
    NUMBER(cap);
    NUMBER(parts);
    INPUT(q, m, q, a->ldq);
    INPUT(k, m, kv, a->ldk);
    INPUT(v, m, kv, a->ldv);
    INPUT(o, m, q, a->ldo);
    INPUT(d_o, m, q, a->lddo);
    INPUT(lse, m, a->heads, 0);
    OUTPUT(dq, m, q, a->lddq);
    OUTPUT(dk, m, kv, a->lddk);
    OUTPUT(dv, m, kv, a->lddv);
    return end_call();
}

RECORD(add)
{
    BEGIN(add);
    NUMBER(m), NUMBER(d), NUMBER(scale);
    INPUT(a, a->m, a->d, a->lda);
    INPUT(b, a->m, a->d, a->ldb);
    OUTPUT(c, a->m, a->d, a->ldc);
    return end_call();
}

RECORD(clip)
{
    BEGIN(clip);
    NUMBER(m), NUMBER(d), NUMBER(bound);
    INPUT(x, a->m, a->d, a->ldx);
    INPUT(by, a->m, a->d, a->ldby);
    OUTPUT(y, a->m, a->d, a->ldy);
    return end_call();
}

RECORD(dropout)
{
    BEGIN(dropout);
    NUMBER(m), NUMBER(d), NUMBER(first), NUMBER(module), NUMBER(add);
    INPUT(x, a->m, a->d, a->ldx);
    if (a->add)
        say_input("onto", a->y, a->m, a->d, a->ldy);
    OUTPUT(y, a->m, a->d, a->ldy);
    return end_call();
}

/* ---- pages ---- */

/* Key or value (`side` 1) of a position: number `col` of all heads. */
static const char *
page_number(const rlf_real *kv, int64_t page_size, int64_t page_stride,
            int64_t d, int64_t slot, int side, int64_t col)
{
    int64_t at = slot % page_size, head = col / d, k = col % d;
    const float *page = (const float *)kv + slot / page_size * page_stride +
                        2 * page_size * d * head;
    return (const char *)(side ? page + page_size * d + at * d + k
                               : page + k * page_size + at);
}

/* Row `row` of a value lies in a slot from now on. */
static void
put_in_page(calls *c, const rlf_real *kv, int64_t page_size,
            int64_t page_stride, int64_t width, int64_t d, int64_t slot,
            int side, int value, int row)
{
    for (int64_t k = 0; k < width; k++) {
        const char *x =
            page_number(kv, page_size, page_stride, d, slot, side, k);
        *place_of(c, x) = (place){x, value, row, (int)k};
    }
}

RECORD(kv_write)
{
    calls *c = recorder;
    int64_t q = a->heads * a->d, kv = a->kv_heads * a->d;
    BEGIN(kv_write);
    NUMBER(m), NUMBER(heads), NUMBER(kv_heads), NUMBER(d), NUMBER(half);
    if (a->q_weight)
        NUMBER(eps);
    INPUT(k, a->m, kv, a->ldk);
    INPUT(v, a->m, kv, a->ldv);
    if (a->half) {
        INPUT(q, a->m, q, a->ldq);
        say_operand("cos", a->cos);
        say_operand("sin", a->sin);
        say_operand("q_weight", a->q_weight);
        say_operand("k_weight", a->k_weight);
        OUTPUT(q, a->m, q, a->ldq);
    }
    for (int side = 0; side < 2; side++) {
        char name[16];
        snprintf(name, sizeof name, "%d%s", c->n, side ? "v" : "k");
        int value = new_value(c, name, (int)kv);
        for (int64_t i = 0; i < a->m; i++)
            put_in_page(c, a->kv, a->page_size, a->page_stride, kv, a->d,
                        a->slots[i], side, value, (int)i);
        rlf_buf_printf(&c->line, " -> %s", name);
    }
    return end_call();
}

/* Returns the first number of the row that lies in a slot of a page; .value < 0
 * if no row of one value does. */
static place
row_in_page(calls *c, const rlf_attention_paged_args *a, int64_t slot, int side)
{
    place first = {0};
    for (int64_t k = 0; k < a->kv_heads * a->d; k++) {
        const place p =
            *place_of(c, page_number(a->kv, a->page_size, a->page_stride, a->d,
                                     slot, side, k));
        if (k == 0)
            first = p;
        if (p.value < 0 || p.value != first.value || p.row != first.row ||
            p.col != k)
            return (place){.value = -1};
    }
    return first;
}

/* Runs of rows of values, over all positions that a sequence's last token sees.
 */
static void
say_pages(const rlf_attention_paged_args *a, int64_t s, int side)
{
    calls *c = recorder;
    int64_t n = a->starts[s] + a->offsets[s + 1] - a->offsets[s];
    place before = {.value = -2};
    for (int64_t i = 0; i < n; i++) {
        int64_t page = a->pages[s * a->ld_pages + i / a->page_size];
        const place p =
            row_in_page(c, a, page * a->page_size + i % a->page_size, side);
        if (p.value < 0)
            rlf_buf_printf(&c->line, " unwritten");
        else if (p.value != before.value || p.row != before.row + 1)
            rlf_buf_printf(&c->line, " %s from row %d", c->name[p.value],
                           p.row);
        before = p;
    }
    rlf_buf_printf(&c->line, " up to position %lld", (long long)n - 1);
}

RECORD(attention_paged)
{
    int64_t m = a->offsets[a->n_seqs], q = a->heads * a->d;
    BEGIN(attention_paged);
    NUMBER(heads), NUMBER(kv_heads), NUMBER(d), NUMBER(scale), NUMBER(window);
    NUMBER(cap);
    INPUT(q, m, q, a->ldq);
    for (int64_t s = 0; s < a->n_seqs; s++)
        for (int side = 0; side < 2; side++) {
            rlf_buf_printf(&recorder->line, side ? ", v" : "; k");
            say_pages(a, s, side);
        }
    OUTPUT(o, m, q, a->ldo);
    return end_call();
}

/* ---- ranks ---- */

/* Columns of a dense operand, by the rows that its first value has. */
static int64_t
dense_width(const char *at, int64_t n)
{
    const place first = *place_of(recorder, at);
    int64_t width = 1;
    while (width < n && place_of(recorder, at + 4 * width)->row == first.row)
        width++;
    return width;
}

static rlf_status
record_sum(const char *name, void *x, int64_t n)
{
    calls *c = recorder;
    int64_t width = dense_width(x, n);
    bool flat = is_flat(c, place_of(c, x)->value);
    char text[16];
    say_name(name);
    say_input("x", x, n / width, width, 0);
    snprintf(text, sizeof text, "%d%s", c->n, flat ? " of zeros" : "");
    put_value(c, x, new_value(c, text, (int)width), n / width, width, 0);
    rlf_buf_printf(&c->line, " -> %s", text);
    return end_call();
}

/* Sums over ranks go through these, which stand in for nodes/model/parallel.c
 * (see local.mk). */
rlf_status __wrap_rlf_parallel_sum(const rlf_model *model, rlf_real *x,
                                   int64_t n, rlf_err *err);
rlf_status __wrap_rlf_parallel_sum_f32(const rlf_model *model, float *x,
                                       int64_t n, rlf_err *err);
rlf_status __wrap_rlf_parallel_sum_copies(const rlf_model *model, rlf_real *x,
                                          int64_t n, rlf_err *err);

rlf_status
__wrap_rlf_parallel_sum(const rlf_model *model, rlf_real *x, int64_t n,
                        rlf_err *err)
{
    (void)model, (void)err;
    return record_sum("sum", x, n);
}

rlf_status
__wrap_rlf_parallel_sum_f32(const rlf_model *model, float *x, int64_t n,
                            rlf_err *err)
{
    (void)model, (void)err;
    return record_sum("sum_f32", x, n);
}

rlf_status
__wrap_rlf_parallel_sum_copies(const rlf_model *model, rlf_real *x, int64_t n,
                               rlf_err *err)
{
    (void)model, (void)err;
    return record_sum("sum_copies", x, n);
}

/* ---- the device ---- */

/* A copy takes its values along and is no call. */
static rlf_status
record_copy(rlf_queue *queue, void *to, const void *from, size_t bytes,
            rlf_copy kind, rlf_err *err)
{
    (void)queue, (void)err;
    if (kind != RLF_COPY_ON_DEVICE)
        memcpy(to, from, bytes);
    if (kind != RLF_COPY_ON_DEVICE || !recorder->model)
        return RLF_OK;
    for (size_t i = 0; i < bytes; i += 4) {
        place p = *place_of(recorder, (const char *)from + i);
        p.at = (char *)to + i;
        *place_of(recorder, p.at) = p;
    }
    return RLF_OK;
}

static rlf_status
record_set(rlf_queue *queue, void *to, int byte, size_t bytes, rlf_err *err)
{
    (void)queue, (void)err;
    calls *c = recorder;
    memset(to, byte, bytes);
    int zeros = c->model ? new_value(c, "zeros", (int)(bytes / 4)) : -1;
    for (size_t i = 0; zeros >= 0 && i < bytes; i += 4) {
        const char *at = (const char *)to + i;
        *place_of(c, at) = (place){at, zeros, 0, 0};
    }
    return RLF_OK;
}

/* From now on calls of the machine are written down. */
static void
record(test_machine *t, calls *c, rlf_device_ops *ops, rlf_kernels *kernels)
{
    *kernels = *t->kernels;
    kernels->product_pack = record_product_pack;
    kernels->product = record_product;
    kernels->product_glu = record_product_glu;
    kernels->product_grad = record_product_grad;
    kernels->bias_grad = record_bias_grad;
    kernels->embed = record_embed;
    kernels->embed_grad = record_embed_grad;
    kernels->rows_gather = record_rows_gather;
    kernels->rows_scatter = record_rows_scatter;
    kernels->rmsnorm = record_rmsnorm;
    kernels->rmsnorm_grad = record_rmsnorm_grad;
    kernels->norm_sums = record_norm_sums;
    kernels->rope_table = record_rope_table;
    kernels->rope = record_rope;
    kernels->layernorm = record_layernorm;
    kernels->layernorm_grad = record_layernorm_grad;
    kernels->glu = record_glu;
    kernels->glu_grad = record_glu_grad;
    kernels->add = record_add;
    kernels->clip = record_clip;
    kernels->dropout = record_dropout;
    kernels->attention = record_attention;
    kernels->kv_write = record_kv_write;
    kernels->attention_paged = record_attention_paged;
    kernels->attention_grad = record_attention_grad;
    t->kernels = kernels;
    *ops = *t->device->ops;
    ops->copy = record_copy;
    ops->set = record_set;
    t->device->ops = ops;
    *c = (calls){0};
    recorder = c;
}

static void
forget(calls *c)
{
    rlf_buf_free(&c->text);
    rlf_buf_free(&c->line);
    free(c->name);
    free(c->width);
    free(c->places);
    free(c->packings);
}

#endif

/* Cursors of draws: the rows that come next, in shuffled epochs, by the shares
 * of a mixture, or by weight; and their state in checkpoints. See data.h. */
#include "engine/base/fmath.h"
#include "engine/base/philox.h"
#include "engine/base/vec.h"
#include "engine/io/file.h"
#include "engine/io/json.h"
#include "nodes/data.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- epochs ---- */

rlf_cursor *
rlf_data_cursor(rlf_data *data, uint32_t site, uint32_t member)
{
    for (size_t i = 0; i < data->cursors.count; i++)
        if (data->cursors.data[i].site == site &&
            data->cursors.data[i].member == member)
            return &data->cursors.data[i];
    RLF_PUSH(&data->cursors, (rlf_cursor){.site = site, .member = member});
    return &data->cursors.data[data->cursors.count - 1];
}

/* The order of the epoch at hand. */
static void
shuffle(rlf_cursor *cursor, uint64_t seed, uint32_t rows)
{
    rlf_random_key key = {.seed = seed,
                          .purpose = RLF_PURPOSE_SHUFFLE,
                          .site = cursor->site,
                          .step = cursor->epoch,
                          .sample = cursor->member};
    rlf_draw_shuffle(&key, rows, cursor->order);
}

/* The next row in the order of the epochs. */
static uint32_t
next_row(rlf_cursor *cursor, uint64_t seed, uint32_t rows)
{
    bool ended = cursor->index == rows, made = cursor->order != NULL;
    if (ended) {
        cursor->epoch++;
        cursor->index = 0;
    }
    if (!made)
        cursor->order = rlf_malloc(sizeof *cursor->order * rows);
    if (!made || ended)
        shuffle(cursor, seed, rows);
    return cursor->order[cursor->index++];
}

/* Gives a cursor the memory for draws of n rows of `rows`. */
static rlf_status
make_room(rlf_cursor *cursor, uint64_t seed, uint32_t rows, uint32_t n,
          rlf_err *err)
{
    if (!cursor->taken)
        cursor->taken = rlf_try_calloc(rows, sizeof *cursor->taken);
    if (!cursor->taken)
        return rlf_fail_memory(err, rows, "the rows that a step has drawn");
    RLF_TRY_ROOM(&cursor->later, (size_t)cursor->n_taken + n,
                 "rows that are put off");
    if (cursor->order)
        return RLF_OK;
    cursor->order = rlf_try_malloc(sizeof *cursor->order * rows);
    if (!cursor->order)
        return rlf_fail_memory(err, sizeof *cursor->order * rows,
                               "the order of rows");
    shuffle(cursor, seed, rows);
    return RLF_OK;
}

rlf_status
rlf_data_room(rlf_data *data, uint64_t seed, uint32_t site, uint32_t n,
              rlf_err *err)
{
    size_t bytes = 2 * sizeof *data->drawing * ((size_t)n + 1);
    if (!data->share)
        return make_room(rlf_data_cursor(data, site, 0), seed,
                         (uint32_t)data->records.count, n, err);
    for (uint32_t m = 0; m < data->n_members; m++)
        RLF_TRY(make_room(rlf_data_cursor(data, site, m), seed,
                          rlf_data_rows_of(data, m), n, err));
    if (data->drawing_room >= bytes)
        return RLF_OK;
    uint32_t *drawing = rlf_try_realloc(data->drawing, bytes);
    if (!drawing)
        return rlf_fail_memory(err, bytes, "the rows that are drawn");
    data->drawing = drawing;
    data->drawing_room = bytes;
    return RLF_OK;
}

/* A new step has no row yet. */
static void
begin_step(rlf_cursor *cursor, uint32_t step, uint32_t rows)
{
    if (!cursor->taken)
        cursor->taken = rlf_calloc(rows, sizeof *cursor->taken);
    if (cursor->step != step) {
        memset(cursor->taken, 0, rows * sizeof *cursor->taken);
        cursor->n_taken = 0;
    }
    cursor->step = step;
}

static void
take(rlf_cursor *cursor, uint32_t row)
{
    cursor->taken[row] = true;
    cursor->n_taken++;
}

/* Rows put off that the step does not have, the oldest first; at most n. */
static uint32_t
take_later(rlf_cursor *cursor, uint32_t n, uint32_t *out)
{
    uint32_t got = 0;
    size_t left = 0;
    for (size_t i = 0; i < cursor->later.count; i++) {
        uint32_t row = cursor->later.data[i];
        if (got < n && !cursor->taken[row]) {
            take(cursor, row);
            out[got++] = row;
        } else {
            cursor->later.data[left++] = row;
        }
    }
    cursor->later.count = left;
    return got;
}

/* The next n of `rows` rows. */
static void
draw_rows(rlf_cursor *cursor, uint64_t seed, uint32_t rows, uint32_t n,
          uint32_t *out)
{
    uint32_t got = take_later(cursor, n, out);
    while (got < n) {
        uint32_t row = next_row(cursor, seed, rows);
        if (cursor->taken[row]) {
            RLF_PUSH(&cursor->later, row);
        } else {
            take(cursor, row);
            out[got++] = row;
        }
    }
    cursor->drawn += n;
}

uint32_t
rlf_data_rows_of(const rlf_data *data, uint32_t m)
{
    return data->first[m + 1] - data->first[m];
}

/* Draws the member that each of the next n rows is of: always the one that is
 * farthest behind its share of all draws of the run, if it has rows left in
 * this step. So after k draws each has had its share of k, give or take a row
 * or so. */
static void
draw_members(rlf_data *data, uint32_t site, uint32_t step, uint32_t n,
             uint32_t *member, uint32_t *count)
{
    double total = 0;
    double *had = rlf_calloc(data->n_members, sizeof *had);
    uint32_t *left = rlf_calloc(data->n_members, sizeof *left);
    for (uint32_t m = 0; m < data->n_members; m++) {
        rlf_cursor *cursor = rlf_data_cursor(data, site, m);
        begin_step(cursor, step, rlf_data_rows_of(data, m));
        left[m] = rlf_data_rows_of(data, m) - cursor->n_taken;
        total += had[m] = (double)cursor->drawn;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t best = UINT32_MAX;
        double most = 0;
        for (uint32_t m = 0; m < data->n_members; m++) {
            double behind = data->share[m] * (total + i + 1) - had[m];
            if (count[m] == left[m] || (best != UINT32_MAX && behind <= most))
                continue;
            best = m;
            most = behind;
        }
        RLF_ASSERT(best != UINT32_MAX);
        member[i] = best;
        had[best]++;
        count[best]++;
    }
    free(had);
    free(left);
}

/* Each member is walked through by itself, epoch after epoch of its own. */
static void
draw_shares(rlf_data *data, uint64_t seed, uint32_t site, uint32_t step,
            uint32_t n, uint32_t *out)
{
    size_t bytes = 2 * sizeof *data->drawing * ((size_t)n + 1);
    if (data->drawing_room < bytes) {
        data->drawing = rlf_realloc(data->drawing, bytes);
        data->drawing_room = bytes;
    }
    uint32_t *member = data->drawing, *rows = data->drawing + n;
    uint32_t *count = rlf_calloc(data->n_members, sizeof *count);
    draw_members(data, site, step, n, member, count);
    for (uint32_t m = 0; m < data->n_members; m++) {
        draw_rows(rlf_data_cursor(data, site, m), seed,
                  rlf_data_rows_of(data, m), count[m], rows);
        for (uint32_t i = 0, k = 0; i < n; i++)
            if (member[i] == m)
                out[i] = data->first[m] + rows[k++];
    }
    free(count);
}

/* Rows drawn in the run. */
static uint64_t
count_drawn(const rlf_data *data, uint32_t site)
{
    uint64_t drawn = 0;
    for (size_t i = 0; i < data->cursors.count; i++)
        if (data->cursors.data[i].site == site)
            drawn += data->cursors.data[i].drawn;
    return drawn;
}

uint64_t
rlf_data_draw(rlf_data *data, uint64_t seed, uint32_t site, uint32_t step,
              uint32_t n, uint32_t *out)
{
    uint32_t rows = (uint32_t)data->records.count;
    uint64_t first = count_drawn(data, site);
    RLF_ASSERT(n <= rows);
    if (data->share) {
        draw_shares(data, seed, site, step, n, out);
        return first;
    }
    rlf_cursor *cursor = rlf_data_cursor(data, site, 0);
    begin_step(cursor, step, rows);
    draw_rows(cursor, seed, rows, n, out);
    return first;
}

/* ---- drawing by weight ---- */

/* The time is `time` * 2^exponent, with time 0 or from 1/2 up to 1: the quotient
 * of a random number and any weight, rounded as others are, that is neither
 * infinite nor 0 where weights are 1e-320 or 1e300. */
typedef struct ticket {
    double time;
    int exponent;
    uint32_t row;
} ticket;

static ticket
ticket_of(uint32_t row, double ring, double weight)
{
    ticket t = {.row = row};
    int over, under, rest;
    double quotient = frexp(ring, &over) / frexp(weight, &under);
    t.time = frexp(quotient, &rest);
    t.exponent = t.time > 0 ? rest + over - under : INT_MIN;
    return t;
}

static int
by_time(const void *a, const void *b)
{
    const ticket *x = a, *y = b;
    if (x->exponent != y->exponent)
        return x->exponent < y->exponent ? -1 : 1;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* Put a ticket at the root of a heap with the latest on top. */
static void
sift(ticket *heap, uint32_t n, uint32_t i, ticket t)
{
    for (uint32_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && by_time(&heap[child], &heap[child + 1]) < 0)
            child++;
        if (by_time(&t, &heap[child]) >= 0)
            break;
        heap[i] = heap[child];
    }
    heap[i] = t;
}

uint32_t
rlf_data_left(rlf_data *data, uint32_t site, uint32_t step,
              const double *weight)
{
    uint32_t rows = (uint32_t)data->records.count, left = 0;
    rlf_cursor *cursor = rlf_data_cursor(data, site, 0);
    begin_step(cursor, step, rows);
    for (uint32_t i = 0; i < rows; i++)
        left += weight[i] > 0 && !cursor->taken[i];
    return left;
}

rlf_status
rlf_data_check_weights(const rlf_data *data, const double *weight,
                       const bool *taken, uint32_t n, rlf_err *err)
{
    uint32_t rows = (uint32_t)data->records.count, positive = 0;
    for (uint32_t i = 0; i < rows; i++) {
        positive += weight[i] > 0 && !(taken && taken[i]);
        if (weight[i] >= 0 && isfinite(weight[i]))
            continue;
        char is[32] = "not a number";
        if (!isnan(weight[i]))
            snprintf(is, sizeof is, "%g", weight[i]);
        rlf_fail(err, RLF_USER, "the weight of row %s of '%s' is %s",
                 rlf_data_place(data, i, data->arena), data->name, is);
        rlf_err_hint(err, "a weight is a number, 0 or more");
        return RLF_USER;
    }
    if (positive >= n)
        return RLF_OK;
    rlf_fail(err, RLF_USER,
             "a step draws %u rows from '%s', and %u of its %u have a weight "
             "above 0",
             n, data->name, positive, rows);
    rlf_err_hint(err, "add a little to every weight, or draw fewer");
    return RLF_USER;
}

/* Every row has a bell that rings at a random time, exponentially distributed
 * with its weight as rate; the first n to ring are drawn (Efraimidis and
 * Spirakis 2006). So each next row comes in proportion to the weights of those
 * left, and a row's time depends on nothing but its own number. */
static void
first_to_ring(const rlf_random_key *base, uint64_t draw, const double *weight,
              const bool *taken, uint32_t rows, uint32_t n, ticket *heap)
{
    uint32_t got = 0;
    rlf_random_key key = *base;
    for (uint32_t i = 0; i < rows; i++) {
        if (taken[i] || !(weight[i] > 0))
            continue;
        key.sample = i;
        double u = rlf_draw_uniform(&key, draw);
        ticket t = ticket_of(i, -rlf_ln(1 - u), weight[i]);
        if (got == n && by_time(&t, &heap[0]) < 0)
            sift(heap, n, 0, t);
        if (got == n)
            continue;
        heap[got++] = t;
        for (uint32_t k = n / 2; got == n && k-- > 0;)
            sift(heap, n, k, heap[k]);
    }
    qsort(heap, n, sizeof *heap, by_time);
}

rlf_status
rlf_data_draw_weighted(rlf_data *data, uint64_t seed, uint32_t site,
                       uint32_t step, uint32_t n, const double *weight,
                       rlf_err *err, uint32_t *out, uint64_t *first)
{
    uint32_t rows = (uint32_t)data->records.count;
    rlf_cursor *cursor = rlf_data_cursor(data, site, 0);
    begin_step(cursor, step, rows);
    RLF_TRY(rlf_data_check_weights(data, weight, cursor->taken, n, err));
    const rlf_random_key key = {
        .seed = seed, .purpose = RLF_PURPOSE_WEIGHT, .site = site};
    ticket *heap = rlf_try_malloc(sizeof *heap * n);
    if (!heap)
        return rlf_fail_memory(err, sizeof *heap * n, "the rows of a draw");
    first_to_ring(&key, cursor->drawn, weight, cursor->taken, rows, n, heap);
    for (uint32_t i = 0; i < n; i++) {
        out[i] = heap[i].row;
        take(cursor, out[i]);
    }
    free(heap);
    *first = cursor->drawn;
    cursor->drawn += n;
    return RLF_OK;
}

/* ---- checkpoints ---- */

void
rlf_cursor_free(rlf_cursor *cursor)
{
    RLF_VEC_FREE(&cursor->later);
    free(cursor->order);
    free(cursor->taken);
}

static char *
state_path(rlf_arena *arena, const rlf_resource *resource,
           const char *directory)
{
    return rlf_path_join(arena, directory,
                         rlf_arena_printf(arena, "%s.json", resource->name));
}

rlf_status
rlf_cursors_save(const rlf_env *env, const rlf_resource *resource, void *object,
                 const char *directory, rlf_err *err)
{
    const rlf_data *data = object;
    rlf_buf text = {0};
    rlf_buf_puts(&text, "{\"cursors\": [");
    for (size_t i = 0; i < data->cursors.count; i++) {
        const rlf_cursor *c = &data->cursors.data[i];
        rlf_buf_printf(&text,
                       "%s\n  {\"site\": %u, \"member\": %u, \"epoch\": %u, "
                       "\"index\": %u, \"drawn\": %llu, \"later\": [",
                       i ? "," : "", c->site, c->member, c->epoch, c->index,
                       (unsigned long long)c->drawn);
        for (size_t k = 0; k < c->later.count; k++)
            rlf_buf_printf(&text, "%s%u", k ? ", " : "", c->later.data[k]);
        rlf_buf_puts(&text, "]}");
    }
    rlf_buf_puts(&text, "]}\n");
    rlf_status status = rlf_file_write(
        state_path(env->pool, resource, directory), text.p, text.n, err);
    rlf_buf_free(&text);
    return status;
}

static rlf_status
get_u32(const json_t *object, const char *file, const char *key, uint64_t most,
        rlf_err *err, uint32_t *out)
{
    int64_t value = 0;
    RLF_TRY(rlf_json_get_int(object, file, key, true, err, &value));
    if (value < 0 || (uint64_t)value > most)
        return rlf_fail(err, RLF_USER, "%s: \"%s\" is %lld, out of range", file,
                        key, (long long)value);
    *out = (uint32_t)value;
    return RLF_OK;
}

/* Other data than the run's were accepted, and the run is past their end. */
static rlf_status
fail_rows(const rlf_data *data, uint64_t need, uint64_t rows, rlf_err *err)
{
    rlf_fail(err, RLF_USER,
             "the run is at row %llu of '%s', which has %llu rows now",
             (unsigned long long)need, data->name, (unsigned long long)rows);
    rlf_err_hint(err,
                 "fewer rows cannot be accepted in the middle of an epoch: "
                 "give it the ones it had, or more, or begin a new run in "
                 "another --out");
    return RLF_USER;
}

static rlf_status
restore_cursor(rlf_data *data, const json_t *object, const char *file,
               rlf_err *err)
{
    uint32_t rows = (uint32_t)data->records.count, site, member;
    uint64_t members = data->share ? data->n_members - 1 : 0;
    RLF_TRY(get_u32(object, file, "site", UINT32_MAX, err, &site));
    RLF_TRY(get_u32(object, file, "member", members, err, &member));
    if (data->share)
        rows = rlf_data_rows_of(data, member);
    rlf_cursor *c = rlf_data_cursor(data, site, member);
    RLF_TRY(get_u32(object, file, "epoch", UINT32_MAX, err, &c->epoch));
    RLF_TRY(get_u32(object, file, "index", UINT32_MAX, err, &c->index));
    if (c->index > rows)
        return fail_rows(data, c->index, rows, err);
    int64_t drawn = 0;
    RLF_TRY(rlf_json_get_int(object, file, "drawn", true, err, &drawn));
    c->drawn = (uint64_t)drawn;
    free(c->order);
    c->order = NULL;
    c->step = 0;
    c->later.count = 0;
    json_t *later;
    RLF_TRY(rlf_json_get_array(object, file, "later", true, err, &later));
    for (size_t i = 0; i < json_array_size(later); i++) {
        int64_t row;
        if (!rlf_json_as_int(json_array_get(later, i), &row) || row < 0)
            return rlf_fail(err, RLF_USER, "%s: \"later\" has no row %zu", file,
                            i);
        if (row >= (int64_t)rows)
            return fail_rows(data, (uint64_t)row + 1, rows, err);
        RLF_PUSH(&c->later, (uint32_t)row);
    }
    return RLF_OK;
}

static rlf_status
restore_all(rlf_data *data, const json_t *root, const char *file, rlf_err *err)
{
    json_t *cursors;
    RLF_TRY(rlf_json_get_array(root, file, "cursors", true, err, &cursors));
    for (size_t i = 0; i < json_array_size(cursors); i++)
        RLF_TRY(restore_cursor(data, json_array_get(cursors, i), file, err));
    return RLF_OK;
}

rlf_status
rlf_cursors_restore(const rlf_env *env, const rlf_resource *resource,
                    void *object, const char *directory, rlf_err *err)
{
    const char *path = state_path(env->pool, resource, directory);
    json_t *root;
    RLF_TRY(rlf_json_load(path, err, &root));
    rlf_status status = restore_all(object, root, path, err);
    json_decref(root);
    return status;
}

/* Copies what a checkpoint has of a cursor. */
static void
copy_cursor(const rlf_cursor *from, rlf_cursor *to)
{
    to->site = from->site;
    to->member = from->member;
    to->epoch = from->epoch;
    to->index = from->index;
    to->drawn = from->drawn;
    to->later.count = 0;
    for (size_t i = 0; i < from->later.count; i++)
        RLF_PUSH(&to->later, from->later.data[i]);
}

void
rlf_cursors_mark(void *object)
{
    rlf_data *data = object;
    for (size_t i = data->marked.count; i < data->cursors.count; i++)
        RLF_PUSH(&data->marked, (rlf_cursor){0});
    for (size_t i = 0; i < data->cursors.count; i++)
        copy_cursor(&data->cursors.data[i], &data->marked.data[i]);
}

/* Cursors that the step has made go; orders are made again. */
bool
rlf_cursors_back(void *object)
{
    rlf_data *data = object;
    while (data->cursors.count > data->marked.count)
        rlf_cursor_free(&data->cursors.data[--data->cursors.count]);
    for (size_t i = 0; i < data->cursors.count; i++) {
        rlf_cursor *c = &data->cursors.data[i];
        copy_cursor(&data->marked.data[i], c);
        free(c->order);
        c->order = NULL;
        c->step = 0;
    }
    return true;
}

/* ranks.jsonl as columns of one length: a row for each rank in each step. What
 * is no number is left out; a column that a row lacks is NaN there. Rows of one
 * step follow each other, as the run wrote them. */
#include "engine/record/record.h"

#include <inttypes.h>
#include <math.h>

enum { COLUMNS = 64, MOST = 1 << 16 }; /* of them, and of ranks */

static void
forget(void *arg)
{
    rlf_rank_table *t = &((rlf_record *)arg)->ranks;
    for (size_t i = 0; i < t->columns.count; i++)
        RLF_VEC_FREE(&t->columns.data[i].value);
    t->columns.count = t->step.count = t->rank.count = 0;
    t->most = 0;
    rlf_arena_reset(t->arena);
}

void
rlf_rank_table_free(rlf_rank_table *t)
{
    for (size_t i = 0; i < t->columns.count; i++)
        RLF_VEC_FREE(&t->columns.data[i].value);
    RLF_VEC_FREE(&t->columns);
    RLF_VEC_FREE(&t->step);
    RLF_VEC_FREE(&t->rank);
    rlf_arena_free(t->arena);
}

const rlf_rank_column *
rlf_rank_find(const rlf_record *record, const char *name)
{
    const rlf_rank_table *t = &record->ranks;
    for (size_t i = 0; i < t->columns.count; i++)
        if (strcmp(t->columns.data[i].name, name) == 0)
            return &t->columns.data[i];
    return NULL;
}

/* The column of that name, as it is written in the file; a new one is NaN in
 * the rows before. NULL: there are too many. */
static rlf_status
column_called(rlf_rank_table *t, rlf_str key, rlf_err *err,
              rlf_rank_column **out)
{
    *out = NULL;
    for (size_t i = 0; i < t->columns.count; i++)
        if (rlf_key_is(key, t->columns.data[i].name))
            *out = &t->columns.data[i];
    if (*out || t->columns.count == COLUMNS)
        return RLF_OK;
    rlf_rank_column new = {.name = rlf_arena_strndup(t->arena, key.p, key.n)};
    RLF_PUSH(&t->columns, new);
    *out = &t->columns.data[t->columns.count - 1];
    RLF_TRY_ROOM(&(*out)->value, t->step.count + 1, "numbers of ranks");
    while ((*out)->value.count < t->step.count)
        RLF_PUSH(&(*out)->value, NAN);
    return RLF_OK;
}

/* A whole number of what is there, or -1. */
static double
whole(rlf_scanned value, double most)
{
    double x = value.kind == RLF_SCAN_NUMBER ? value.number : -1;
    return x >= 0 && x <= most && x == floor(x) ? x : -1;
}

/* The step and the rank of a line, which is JSON as a whole. */
static bool
row_of(rlf_str line, double *step, double *rank, const char **why)
{
    rlf_json_scan scan = rlf_scan_object(line);
    rlf_str key;
    rlf_scanned value;
    *step = *rank = -1;
    while (rlf_scan_member(&scan, &key, &value)) {
        if (rlf_key_is(key, "step"))
            *step = whole(value, UINT32_MAX);
        else if (rlf_key_is(key, "rank"))
            *rank = whole(value, MOST - 1);
    }
    *why = scan.why ? scan.why : "it has no step, or no rank";
    return !scan.why && *step >= 0 && *rank >= 0;
}

static rlf_status
take_row(rlf_rank_table *t, rlf_str line, double step, double rank,
         rlf_err *err)
{
    rlf_json_scan scan = rlf_scan_object(line);
    rlf_str key;
    rlf_scanned value;
    size_t row = t->step.count;
    while (rlf_scan_member(&scan, &key, &value)) {
        rlf_rank_column *c;
        if (value.kind != RLF_SCAN_NUMBER || rlf_key_is(key, "step") ||
            rlf_key_is(key, "rank"))
            continue;
        RLF_TRY(column_called(t, key, err, &c));
        if (!c)
            continue;
        RLF_TRY_ROOM(&c->value, 1, "numbers of ranks");
        if (c->value.count == row) /* else the line has it twice */
            RLF_PUSH(&c->value, value.number);
    }
    for (size_t i = 0; i < t->columns.count; i++) {
        rlf_rank_column *c = &t->columns.data[i];
        RLF_TRY_ROOM(&c->value, 1, "numbers of ranks");
        if (c->value.count == row)
            RLF_PUSH(&c->value, NAN);
    }
    RLF_TRY_ROOM(&t->step, 1, "numbers of ranks");
    RLF_TRY_ROOM(&t->rank, 1, "numbers of ranks");
    RLF_PUSH(&t->step, (uint64_t)step);
    RLF_PUSH(&t->rank, (uint64_t)rank);
    t->most = rank + 1 > (double)t->most ? (uint64_t)rank + 1 : t->most;
    return RLF_OK;
}

static rlf_status
take(void *arg, const rlf_growing_line *line, rlf_err *err)
{
    rlf_record *record = arg;
    const char *why = "it has more than 64 MiB";
    double step, rank;
    if (line->too_long || !row_of(line->text, &step, &rank, &why)) {
        rlf_record_leave_out(record,
                             "%s/ranks.jsonl:%" PRIu64 " is left out: %s",
                             record->directory, line->number, why);
        return RLF_OK;
    }
    return take_row(&record->ranks, line->text, step, rank, err);
}

rlf_status
rlf_record_read_ranks(rlf_record *record, rlf_err *err)
{
    rlf_rank_table *t = &record->ranks;
    const rlf_growing_reader reader = {record, forget, take};
    if (!t->arena)
        t->arena = rlf_arena_new();
    return rlf_growing_read(&t->tail, record->ranks_path, &reader, err);
}

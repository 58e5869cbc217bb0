/* See lanes.h. */
#include "nodes/lanes.h"

#include "engine/comm/comm.h"
#include "engine/layout/lanes.h"

/* The samples of one member, which has the lanes `has`. */
static void
take_member(const int *lane, uint32_t n, int member, rlf_range has,
            int64_t *rows, rlf_arena *pool, rlf_update_lanes *out)
{
    int64_t count = 0;
    for (int64_t l = has.first; l < has.last; l++) {
        if (member == out->self)
            out->first[l - has.first] = (uint32_t)count;
        count += rlf_lanes_rows(lane, n, (rlf_range){l, l + 1}, rows + count);
    }
    if (member == out->self)
        out->first[has.last - has.first] = (uint32_t)count;
    out->n_rows[member] = (uint32_t)count;
    out->rows[member] = RLF_NEW_ARRAY(pool, uint32_t, count + 1);
    for (int64_t i = 0; i < count; i++)
        out->rows[member][i] = (uint32_t)rows[i];
}

/* Gives each sample a lane: one that follows the one before it the same. */
static rlf_status
assign(const rlf_sequence *seqs, uint32_t n, int lanes, rlf_arena *pool,
       rlf_err *err, int *lane)
{
    int64_t *length = RLF_NEW_ARRAY(pool, int64_t, n + 1);
    int *of = RLF_NEW_ARRAY(pool, int, n + 1);
    uint32_t units = 0;
    for (uint32_t i = 0; i < n; i++) {
        units += !seqs[i].follows;
        length[units - 1] += (int64_t)seqs[i].n_prompt + seqs[i].n_response -
                             (int64_t)seqs[i].shared;
    }
    RLF_TRY(rlf_lanes_deal(length, units, lanes, err, of));
    for (uint32_t i = 0, unit = 0; i < n; i++) {
        unit += !seqs[i].follows;
        lane[i] = of[unit - 1];
    }
    return RLF_OK;
}

rlf_status
rlf_update_lanes_take(const rlf_model *model, const rlf_sequence *seqs,
                      uint32_t n, rlf_arena *pool, rlf_err *err,
                      rlf_update_lanes *out)
{
    struct rlf_group *dp = model->replicas;
    int lanes = model->gradient.lanes, members = dp ? rlf_group_size(dp) : 1;
    /* each sample is assigned, listed, and a row of one member */
    RLF_TRY(rlf_arena_room(
        pool,
        ((size_t)n + (size_t)members + 8) *
                (2 * sizeof(int64_t) + 2 * sizeof(int) + sizeof(uint32_t)) +
            (size_t)(members + lanes + 8) * 64,
        "how samples go to lanes", err));
    int64_t *rows = RLF_NEW_ARRAY(pool, int64_t, n + 1);
    int *lane = RLF_NEW_ARRAY(pool, int, n + 1);
    RLF_TRY(assign(seqs, n, lanes, pool, err, lane));
    *out =
        (rlf_update_lanes){.dp = dp,
                           .n_members = members,
                           .rows = RLF_NEW_ARRAY(pool, uint32_t *, members),
                           .n_rows = RLF_NEW_ARRAY(pool, uint32_t, members),
                           .self = dp ? rlf_group_index(dp) : 0,
                           .first = RLF_NEW_ARRAY(pool, uint32_t, lanes + 1)};
    for (int d = 0; d < members; d++)
        take_member(lane, n, d, rlf_lanes_part(lanes, members, d), rows, pool,
                    out);
    return RLF_OK;
}

/* Values that a member's samples of the set have in one column. */
static size_t
count_values(const rlf_update_lanes *l, int member, const rlf_update_set *set,
             bool on_samples)
{
    size_t count = 0;
    for (uint32_t i = 0; i < l->n_rows[member]; i++) {
        uint32_t at = l->rows[member][i];
        if (at % set->of == set->index)
            count += on_samples ? 1 : set->rows->tokens->length[at / set->of];
    }
    return count;
}

/* Between a column and the values of a member, in the order of its samples. */
static double *
copy_values(const rlf_update_lanes *l, int member, const rlf_update_set *set,
            bool on_samples, double *column, double *values, bool out)
{
    const rlf_rows *rows = set->rows;
    for (uint32_t i = 0; i < l->n_rows[member]; i++) {
        uint32_t row = l->rows[member][i] / set->of;
        if (l->rows[member][i] % set->of != set->index)
            continue;
        uint64_t first = on_samples ? row : rows->tokens->offset[row];
        uint32_t n = on_samples ? 1 : rows->tokens->length[row];
        for (uint32_t t = 0; t < n; t++, values++)
            if (out)
                *values = column[first + t];
            else
                column[first + t] = *values;
    }
    return values;
}

rlf_status
rlf_update_lanes_share(const rlf_update_lanes *l, const rlf_update_set *set,
                       bool on_samples, double *const *columns, int n_columns,
                       rlf_arena *pool, rlf_err *err)
{
    if (!l->dp)
        return RLF_OK;
    size_t *bytes = RLF_NEW_ARRAY(pool, size_t, l->n_members), all = 0;
    size_t own = 0; /* where this member's begin */
    for (int d = 0; d < l->n_members; d++) {
        bytes[d] = count_values(l, d, set, on_samples) * (size_t)n_columns *
                   sizeof(double);
        own = d == l->self ? all : own;
        all += bytes[d];
    }
    char *values;
    RLF_TRY(rlf_arena_try(pool, all + sizeof(double),
                          "values that replicas share", err, &values));
    double *mine = (double *)(void *)(values + own);
    for (int k = 0; k < n_columns; k++)
        mine = copy_values(l, l->self, set, on_samples, columns[k], mine, true);
    RLF_TRY(rlf_group_all_gatherv(l->dp, values + own, bytes, values, err));
    double *at = (double *)(void *)values;
    for (int d = 0; d < l->n_members; d++)
        for (int k = 0; k < n_columns; k++)
            at = copy_values(l, d, set, on_samples, columns[k], at, false);
    return RLF_OK;
}

/* Memory of the device goes by the calls of engine/comm/device.h, that which
 * the host has by those of comm.h. */
#include "nodes/model/parallel.h"

#include <stdlib.h>
#include <string.h>

#include "engine/comm/device.h"
#include "nodes/model/block.h"

enum {
    TAG_GATHER = 700,
    TAG_SLICES,
    TAG_ENDS,
    TAG_TELL,
    TAG_WORDS,
    TAG_STAGES,
    TAG_HOST
};

static rlf_status
sum_type(const rlf_model *m, rlf_group *group, void *x, int64_t n,
         rlf_comm_type type, rlf_err *err)
{
    if (!group)
        return RLF_OK;
    return rlf_device_all_reduce(m->queue, group, x, x, (size_t)n, type,
                                 RLF_COMM_SUM, err);
}

static rlf_status
sum(const rlf_model *m, rlf_group *group, float *x, int64_t n, rlf_err *err)
{
    return sum_type(m, group, x, n, RLF_COMM_F32, err);
}

static rlf_status
sum_reals(const rlf_model *m, rlf_group *group, rlf_real *x, int64_t n,
          rlf_err *err)
{
    bool f32 = m->kernels->real == RLF_CAST_F32;
    return sum_type(m, group, x, n, f32 ? RLF_COMM_F32 : RLF_COMM_BF16, err);
}

rlf_status
rlf_parallel_sum(const rlf_model *m, rlf_real *x, int64_t n, rlf_err *err)
{
    return sum_reals(m, m->group, x, n, err);
}

rlf_status
rlf_parallel_sum_f32(const rlf_model *m, float *x, int64_t n, rlf_err *err)
{
    return sum(m, m->group, x, n, err);
}

rlf_status
rlf_parallel_sum_replicas(const rlf_model *m, float *x, int64_t n, rlf_err *err)
{
    return sum(m, m->replicas, x, n, err);
}

rlf_status
rlf_parallel_sum_f64(const rlf_model *m, double *x, int64_t n, rlf_err *err)
{
    if (!m->group)
        return RLF_OK;
    return rlf_group_all_reduce(m->group, x, x, (size_t)n, RLF_COMM_F64,
                                RLF_COMM_SUM, err);
}

rlf_status
rlf_parallel_sum_copies(const rlf_model *m, rlf_real *x, int64_t n,
                        rlf_err *err)
{
    return sum_reals(m, m->copies, x, n, err);
}

/* ---- slices of the optimizer ---- */

/* Per replica, how many of floats first..first+n-1 of the block it has. */
static size_t *
overlaps(const rlf_model *m, int64_t first, int64_t n)
{
    int64_t at;
    size_t *counts = rlf_calloc((size_t)m->slices.n, sizeof *counts);
    for (int i = 0; i < m->slices.n; i++)
        counts[i] = (size_t)rlf_slices_overlap(&m->slices, i, first, n, &at);
    return counts;
}

rlf_status
rlf_parallel_sum_slices(const rlf_model *m, float *x, int64_t first, int64_t n,
                        rlf_err *err)
{
    if (m->slices.n == 1)
        return rlf_parallel_sum_replicas(m, x, n, err);
    size_t *counts = overlaps(m, first, n), before = 0;
    for (int i = 0; i < m->slices.own; i++)
        before += counts[i];
    rlf_status status =
        rlf_device_reduce_scatter(m->queue, m->replicas, x, x + before, counts,
                                  RLF_COMM_F32, RLF_COMM_SUM, err);
    free(counts);
    return status;
}

rlf_status
rlf_parallel_gather_slices(const rlf_model *m, rlf_err *err)
{
    if (m->slices.n == 1)
        return RLF_OK;
    const rlf_table *t = m->table;
    size_t *bytes = overlaps(m, t->trained, rlf_table_trained(t));
    for (int i = 0; i < m->slices.n; i++)
        bytes[i] *= sizeof(float);
    rlf_status status = rlf_device_all_gatherv(
        m->queue, m->replicas, rlf_block_place(m, m->slices.first), bytes,
        rlf_block_place(m, t->trained), err);
    free(bytes);
    return status;
}

/* The ranks that hold together all blocks of the gradient's norm; NULL: this
 * rank does. */
static rlf_group *
everyone(const rlf_model *m)
{
    if (m->slices.n == 1)
        return m->stages;
    return m->stages ? m->peers : m->replicas;
}

rlf_status
rlf_parallel_gather_blocks(const rlf_model *m, rlf_err *err, double *all)
{
    int stages = m->table->cut.stages, n = m->slices.n * stages;
    int self = m->slices.own * stages + m->table->cut.stage;
    size_t *bytes = rlf_calloc((size_t)n, sizeof *bytes), before = 0;
    for (int i = 0; i < n; i++) {
        const rlf_stage *s = &m->stage[i % stages];
        bytes[i] = sizeof *all *
                   (size_t)rlf_slices_blocks(&s->slices, s->table, i / stages);
        before += i < self ? bytes[i] : 0;
    }
    char *mine = (char *)all + before;
    rlf_status status = rlf_queue_copy(m->queue, mine, m->norm_sums,
                                       bytes[self], RLF_COPY_TO_HOST, err);
    if (status >= 0)
        status = rlf_queue_sync(m->queue, err);
    if (status >= 0 && n > 1)
        status = rlf_group_all_gatherv(everyone(m), mine, bytes, all, err);
    free(bytes);
    return status;
}

/* ---- stages ---- */

rlf_status
rlf_parallel_start(const rlf_model *m, int stage, const rlf_real *x, int64_t n,
                   rlf_err *err, rlf_device_transfer **sending)
{
    rlf_part sent = {stage, (void *)(uintptr_t)x,
                     (size_t)n * rlf_real_bytes(m->kernels)};
    return rlf_device_start(m->queue, m->stages, TAG_STAGES, &sent, 1, NULL, 0,
                            sending, err);
}

rlf_status
rlf_parallel_receive(const rlf_model *m, int stage, rlf_real *x, int64_t n,
                     rlf_err *err)
{
    rlf_part got = {stage, x, (size_t)n * rlf_real_bytes(m->kernels)};
    rlf_device_transfer *coming;
    RLF_TRY(rlf_device_start(m->queue, m->stages, TAG_STAGES, NULL, 0, &got, 1,
                             &coming, err));
    return rlf_device_wait(&coming, err);
}

rlf_status
rlf_parallel_send_host(const rlf_model *m, int stage, const float *x, int64_t n,
                       rlf_err *err)
{
    rlf_part sent = {stage, (void *)(uintptr_t)x, (size_t)n * sizeof *x};
    return rlf_group_exchange(m->stages, TAG_HOST, &sent, 1, NULL, 0, err);
}

rlf_status
rlf_parallel_receive_host(const rlf_model *m, int stage, float *x, int64_t n,
                          rlf_err *err)
{
    rlf_part got = {stage, x, (size_t)n * sizeof *x};
    return rlf_group_exchange(m->stages, TAG_HOST, NULL, 0, &got, 1, err);
}

rlf_status
rlf_parallel_tell(const rlf_model *m, void *data, size_t bytes, rlf_err *err,
                  rlf_batch **telling)
{
    int stages = m->table->cut.stages, n = 0;
    if (!m->stages)
        return RLF_OK;
    rlf_part *sends = rlf_calloc((size_t)stages, sizeof *sends);
    for (int i = 0; i < stages; i++)
        if (i != m->table->cut.stage)
            sends[n++] = (rlf_part){i, data, bytes};
    rlf_status status =
        rlf_group_start(m->stages, TAG_TELL, sends, n, NULL, 0, telling, err);
    free(sends);
    return status;
}

rlf_status
rlf_parallel_hear(const rlf_model *m, void *data, size_t bytes, rlf_err *err,
                  rlf_batch **telling)
{
    int last = rlf_table_last(m->table);
    rlf_part told = {last, data, bytes};
    if (!m->stages)
        return RLF_OK;
    if (m->table->cut.stage == last)
        return rlf_batch_wait(telling, err);
    return rlf_group_exchange(m->stages, TAG_TELL, NULL, 0, &told, 1, err);
}

rlf_status
rlf_parallel_alike(const rlf_model *m, uint64_t number, rlf_err *err,
                   bool *alike)
{
    int n = m->group ? m->table->cut.ranks : 1;
    *alike = true;
    if (n == 1)
        return RLF_OK;
    uint64_t *all = rlf_calloc((size_t)n, sizeof *all);
    rlf_status status =
        rlf_group_all_gather(m->group, &number, sizeof number, all, err);
    for (int i = 0; i < n && status >= 0; i++)
        *alike &= all[i] == number;
    free(all);
    return status;
}

/* Slices of the two ends are cut each for itself: each rank exchanges with
 * those of the other end what both have. */
rlf_status
rlf_parallel_swap_ends(const rlf_model *m, rlf_err *err)
{
    const rlf_table *t = m->table;
    int stages = t->cut.stages, stage = t->cut.stage ? 0 : stages - 1;
    const rlf_stage *other = &m->stage[stage];
    int64_t floats = t->vocab * t->config.hidden, first;
    int64_t n =
        rlf_slices_overlap(&m->slices, m->slices.own, t->ends, floats, &first);
    rlf_part *sends = rlf_calloc((size_t)m->slices.n, 2 * sizeof *sends);
    rlf_part *receives = sends + m->slices.n;
    int count = 0;
    for (int i = 0; i < m->slices.n; i++) {
        int64_t its, width = rlf_slices_overlap(
                         &other->slices, i, other->table->ends, floats, &its);
        int64_t from = its > first ? its : first;
        int64_t to = its + width < first + n ? its + width : first + n;
        if (to <= from)
            continue;
        int replica = m->slices.n > 1 ? i
                      : m->replicas   ? rlf_group_index(m->replicas)
                                      : 0;
        size_t bytes = (size_t)(to - from) * sizeof(float);
        sends[count] = (rlf_part){replica * stages + stage,
                                  rlf_gradient_of(m, t->ends + from), bytes};
        receives[count++] =
            (rlf_part){replica * stages + stage,
                       m->gradient.other + (from - first), bytes};
    }
    rlf_status status = rlf_device_exchange(m->queue, m->peers, TAG_ENDS, sends,
                                            count, receives, count, err);
    free(sends);
    return status;
}

/* ---- moments ---- */

rlf_status
rlf_parallel_collect_slot(const rlf_model *m, const rlf_slot *slot, float *part,
                          rlf_err *err)
{
    const rlf_slices *s = &m->slices;
    rlf_part *parts = rlf_calloc((size_t)s->n, sizeof *parts);
    int64_t at, n;
    int count = 0;
    for (int i = 1; i < s->n; i++) {
        n = rlf_slices_overlap(s, i, slot->offset, slot->count, &at);
        if (n && (s->own == 0 || s->own == i))
            parts[count++] =
                (rlf_part){s->own ? 0 : i, part + at, (size_t)n * sizeof *part};
    }
    rlf_status status = RLF_OK;
    if (count)
        status = rlf_group_exchange(m->replicas, TAG_SLICES, parts,
                                    s->own ? count : 0, parts,
                                    s->own ? 0 : count, err);
    free(parts);
    return status;
}

/* ---- the head ---- */

static rlf_status
share(void *ctx, rlf_queue *queue, void *blocks, size_t bytes, rlf_err *err)
{
    rlf_group *group = ctx;
    char *own = (char *)blocks + (size_t)rlf_group_index(group) * bytes;
    return rlf_device_all_gather(queue, group, own, bytes, blocks, err);
}

rlf_head_part
rlf_parallel_head(const rlf_model *m)
{
    return (rlf_head_part){.shards = m->table->shards,
                           .share = m->group ? share : NULL,
                           .ctx = m->group};
}

/* The columns of rank `rank`'s tokens, in n rows. */
static rlf_strided_rows
columns_of(const rlf_model *m, int rank, float *words, int64_t n)
{
    const rlf_table *t = m->table;
    int each = t->shards.of / t->cut.ranks;
    int64_t v = t->config.vocab;
    int64_t first = rlf_shard_first(v, t->shards.of, rank * each);
    int64_t last = rlf_shard_first(v, t->shards.of, (rank + 1) * each);
    return (rlf_strided_rows){.data = words + first,
                              .bytes = (size_t)(last - first) * sizeof *words,
                              .stride = (size_t)v * sizeof *words,
                              .rows = (size_t)n};
}

rlf_status
rlf_parallel_gather_words(const rlf_model *m, float *words, int64_t n,
                          rlf_err *err)
{
    if (!m->group)
        return RLF_OK;
    rlf_strided_rows of[RLF_MOST_SHARDS];
    rlf_strided_message sends[RLF_MOST_SHARDS], receives[RLF_MOST_SHARDS];
    int ranks = m->table->cut.ranks, self = m->table->cut.rank, peers = 0;
    for (int i = 0; i < ranks; i++)
        of[i] = columns_of(m, i, words, n);
    for (int i = 0; i < ranks; i++) {
        if (i == self)
            continue;
        sends[peers] = (rlf_strided_message){i, &of[self], 1};
        receives[peers++] = (rlf_strided_message){i, &of[i], 1};
    }
    return rlf_device_exchange_strided(m->queue, m->group, TAG_WORDS, sends,
                                       peers, receives, peers, err);
}

/* ---- slots as a whole ---- */

/* Rows or columns first..first+n-1 of a slot lie at rank `rank`. */
static int64_t
part_of(const rlf_table *t, const rlf_slot *slot, int rank, int64_t *first)
{
    int each = t->shards.of / t->cut.ranks;
    rlf_shards s = {t->shards.of, rank * each, each};
    int64_t n =
        slot->slice == RLF_SLICE_COLS ? slot->file_cols : slot->file_rows;
    if (slot->slice == RLF_SLICE_KV) {
        *first = rank / t->copies * slot->rows;
        return slot->rows;
    }
    *first = rlf_shard_first(n, s.of, s.first);
    return rlf_shards_held(s, n);
}

static int64_t
row_floats(const rlf_slot *slot)
{
    return slot->file_cols ? slot->file_cols : 1;
}

/* Rows or columns between the whole and a part of it. */
static void
copy_part(const rlf_slot *slot, int64_t first, int64_t n, float *whole,
          float *part, bool out)
{
    bool cols = slot->slice == RLF_SLICE_COLS;
    int64_t ld = row_floats(slot);
    int64_t rows = cols ? slot->file_rows : 1, width = cols ? n : n * ld;
    float *at = whole + (cols ? first : first * ld);
    for (int64_t i = 0; i < rows; i++) {
        float *a = at + i * ld, *b = part + i * width;
        memcpy(out ? b : a, out ? a : b, (size_t)width * sizeof *a);
    }
}

void
rlf_parallel_cut(const rlf_slot *slot, const float *whole, float *part)
{
    int64_t n = slot->slice == RLF_SLICE_COLS ? slot->cols : slot->rows;
    copy_part(slot, slot->first, n, (float *)(uintptr_t)whole, part, true);
}

rlf_status
rlf_parallel_gather(const rlf_model *m, const rlf_slot *slot, const float *part,
                    rlf_err *err, float *whole)
{
    const rlf_table *t = m->table;
    float *own = (float *)(uintptr_t)part; /* only read */
    rlf_part mine = {0, own, (size_t)slot->count * sizeof *own};
    if (t->cut.rank != 0)
        return slot->slice == RLF_SLICE_NOT ||
                       (slot->slice == RLF_SLICE_KV && t->cut.rank % t->copies)
                   ? RLF_OK
                   : rlf_group_exchange(m->group, TAG_GATHER, &mine, 1, NULL, 0,
                                        err);
    copy_part(slot, 0, slot->slice == RLF_SLICE_COLS ? slot->cols : slot->rows,
              whole, own, false);
    if (slot->slice == RLF_SLICE_NOT)
        return RLF_OK;
    size_t bytes =
        (size_t)(slot->file_rows * row_floats(slot)) * sizeof(float);
    float *room = rlf_try_malloc(bytes);
    if (!room)
        return rlf_fail_memory(err, bytes, "the parts of a tensor");
    rlf_status status = RLF_OK;
    int step = slot->slice == RLF_SLICE_KV ? t->copies : 1;
    for (int rank = step; rank < t->cut.ranks && status >= 0; rank += step) {
        int64_t first, n = part_of(t, slot, rank, &first);
        int64_t each =
            slot->slice == RLF_SLICE_COLS ? slot->file_rows : row_floats(slot);
        rlf_part theirs = {rank, room, (size_t)(n * each) * sizeof *room};
        status =
            rlf_group_exchange(m->group, TAG_GATHER, NULL, 0, &theirs, 1, err);
        if (status >= 0)
            copy_part(slot, first, n, whole, room, false);
    }
    free(room);
    return status;
}

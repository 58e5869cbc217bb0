/* See slices.h. */
#include "nodes/model/slices.h"

#include "kernels/kernels.h"

static int64_t
file_count(const rlf_slot *slot)
{
    return slot->file_rows * (slot->file_cols ? slot->file_cols : 1);
}

/* Do the shards held of a tensor lie side by side in each row? */
static bool
is_interleaved(const rlf_slot_part *part)
{
    return part->width != part->ld;
}

/* Rows whose elements of every shard are whole blocks. */
static int64_t
row_unit(const rlf_table *t, const rlf_slot *slot)
{
    int64_t unit = 1;
    for (int s = 0; s < t->shards.count; s++) {
        int64_t width = rlf_slot_shard(t, slot, s).width;
        int64_t rows = RLF_SUMSQ_BLOCK; /* a power of two */
        while (rows > 1 && rows / 2 * width % RLF_SUMSQ_BLOCK == 0)
            rows /= 2;
        unit = rows > unit ? rows : unit;
    }
    return unit;
}

/* The last place at or before element `x` where a tensor may be cut. What
 * several ranks hold of key/value heads is not cut. */
static int64_t
cut_before(const rlf_table *t, const rlf_slot *slot, int64_t x)
{
    if (slot->slice == RLF_SLICE_KV && t->copies > 1)
        return 0;
    if (slot->slice == RLF_SLICE_NOT)
        return x / RLF_SUMSQ_BLOCK * RLF_SUMSQ_BLOCK;
    for (int s = t->shards.count; s-- > 0;) {
        rlf_slot_part part = rlf_slot_shard(t, slot, s);
        if (is_interleaved(&part)) {
            int64_t unit = row_unit(t, slot) * slot->cols;
            return x / unit * unit;
        }
        if (part.count && x >= part.at)
            return part.at + (x - part.at) / RLF_SUMSQ_BLOCK * RLF_SUMSQ_BLOCK;
    }
    return 0;
}

/* The beginning of slice i: by the elements of the whole model, so that tensors
 * that ranks of a group have alike are cut alike. */
static int64_t
cut_at(const rlf_table *t, int i, int n)
{
    int64_t all = 0, before = 0;
    int begin = rlf_table_adapted(t) ? t->n_base : 0;
    for (int k = begin; k < t->n_slots; k++)
        all += file_count(&t->slots[k]);
    int64_t wanted = all / n * i + all % n * i / n;
    for (int k = begin; k < t->n_slots; k++) {
        const rlf_slot *slot = &t->slots[k];
        int64_t count = file_count(slot);
        if (wanted < before + count) {
            double share = (double)(wanted - before) / (double)count;
            int64_t x = (int64_t)(share * (double)slot->count);
            return slot->offset + cut_before(t, slot, x);
        }
        before += count;
    }
    return t->count;
}

rlf_slices
rlf_slices_make(const rlf_table *t, int n, int own, rlf_arena *arena)
{
    rlf_slices s = {.n = n, .own = own};
    s.cut = RLF_NEW_ARRAY(arena, int64_t, n + 1);
    s.cut[0] = t->trained;
    for (int i = 1; i < n; i++)
        s.cut[i] = cut_at(t, i, n);
    s.cut[n] = t->count;
    s.first = s.cut[own];
    s.last = s.cut[own + 1];
    return s;
}

int64_t
rlf_slices_overlap(const rlf_slices *s, int slice, int64_t first, int64_t n,
                   int64_t *at)
{
    int64_t from = s->cut[slice] > first ? s->cut[slice] : first;
    int64_t to = s->cut[slice + 1];
    to = to < first + n ? to : first + n;
    *at = from - first;
    return to > from ? to - from : 0;
}

rlf_slot_part
rlf_slices_part(const rlf_slices *s, const rlf_table *t, const rlf_slot *slot,
                int shard, int slice)
{
    rlf_slot_part part = rlf_slot_shard(t, slot, shard);
    int64_t at;
    if (!is_interleaved(&part)) {
        part.count = rlf_slices_overlap(s, slice, slot->offset + part.at,
                                        part.count, &at);
        part.at += at;
        return part;
    }
    int64_t rows =
        rlf_slices_overlap(s, slice, slot->offset, slot->count, &at) / part.ld;
    part.at += at;
    part.count = rows * part.width;
    return part;
}

int64_t
rlf_slices_blocks(const rlf_slices *s, const rlf_table *t, int slice)
{
    int64_t blocks = 0;
    for (int i = 0; i < t->n_slots; i++)
        for (int shard = 0; shard < t->shards.count; shard++) {
            rlf_slot_part part =
                rlf_slices_part(s, t, &t->slots[i], shard, slice);
            blocks += (part.count + RLF_SUMSQ_BLOCK - 1) / RLF_SUMSQ_BLOCK;
        }
    return blocks;
}

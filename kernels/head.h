/* Parts that the heads of all backends have in common: where the vocabulary is
 * cut, and what is known of a row. Internal to the backends. */
#ifndef RLF_KERNELS_HEAD_H
#define RLF_KERNELS_HEAD_H

#include "kernels/kernels.h"

/* Tokens between the cuts of the vocabulary: a multiple of 64 lanes and of
 * every panel width (48, 16, 8). Part of the bits. */
#define CHUNK 768

typedef struct head_args {
    int64_t m, v, d;
    rlf_head_part part;
    const rlf_real *x;
    int64_t ldx;
    const void *packed;
    bool bf16;        /* packed as bf16 */
    const float *bias; /* the bias of the tokens held here; or NULL */
    float scale, cap; /* scale 0: 1; cap 0: none */
    float temperature;
    const float *temperatures;
    const int32_t *targets; /* NULL: none */
    bool greedy;            /* temperature 1 */
    bool with_entropy;
    bool whole_rows; /* all logits of a row are wanted here */
    bool words;      /* log-probabilities of all tokens of the tile as well */
    bool brief;      /* logits need not be kept once they are measured */
    bool near;       /* ... but for what is left of them in half precision when
                        the largest of some neighbours is taken away */
} head_args;

/* Sums of a row and chunk: maximum, sum of e^(z - m), sum of e^(z - m) (z - m).
 */
typedef struct part {
    float m, s, t;
} part;

/* The same of a row and slice, or of the row. */
typedef struct measured {
    double m, s, t;
} measured;

/* Sums of a row: maximum M, sum S of e^(z - M), its logarithm. */
typedef struct whole {
    double m, s, log_s;
} whole;

/* A token that was chosen, -1 where another place holds it, and its logit. */
typedef struct pick {
    int32_t token;
    float z;
} pick;

static inline bool
head_part_is_sound(const rlf_head_part *p, int64_t v)
{
    rlf_shards s = rlf_shards_of(p->shards);
    return s.of <= RLF_MOST_SHARDS && s.of <= v && s.count > 0 &&
           s.of % s.count == 0 && s.first % s.count == 0 && s.first >= 0 &&
           s.first < s.of && (s.count == s.of || p->share);
}

/* Bytes of a tile with so many rows: linear in them. */
typedef size_t head_tile_bytes(const void *tile, int64_t rows);

/* The most rows, in sixteens, of m whose tile has room in the work; RLF_BUG if
 * sixteen have not. */
static inline rlf_status
head_rows(int64_t m, const void *tile, head_tile_bytes *bytes,
          size_t work_bytes, rlf_err *err, int64_t *out)
{
    int64_t rows = (m + 15) / 16 * 16;
    while (rows > 16 && bytes(tile, rows) > work_bytes) {
        double each = (double)bytes(tile, rows) / (double)rows;
        int64_t fit = (int64_t)((double)work_bytes / each) / 16 * 16;
        rows = fit < rows && fit >= 16 ? fit : rows - 16;
    }
    if (rows < 16)
        rows = 16;
    if (bytes(tile, rows) > work_bytes)
        return rlf_fail(err, RLF_BUG,
                        "the head needs %zu bytes of work, not %zu",
                        bytes(tile, rows), work_bytes);
    *out = rows;
    return RLF_OK;
}

#endif

/* What the heads of all backends have in common: where the vocabulary is cut,
 * and what is known of a row. Internal to the backends. */
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
    float temperature;
    const float *temperatures;
    const int32_t *targets; /* NULL: none */
    bool greedy;            /* temperature 1 */
    bool with_entropy;
    bool whole_rows; /* all logits of a row are wanted here */
    bool words;      /* log-probabilities of all tokens of the tile as well */
} head_args;

/* Of a row and chunk: maximum, sum of e^(z - m), sum of e^(z - m) (z - m). */
typedef struct part {
    float m, s, t;
} part;

/* The same of a row and slice, or of the row. */
typedef struct measured {
    double m, s, t;
} measured;

/* Of a row: maximum M, sum S of e^(z - M), its logarithm. */
typedef struct whole {
    double m, s, log_s;
} whole;

/* A token that was chosen, -1 where another place holds it, and its logit. */
typedef struct pick {
    int32_t token;
    float z;
} pick;

#endif

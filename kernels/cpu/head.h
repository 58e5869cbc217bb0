/* A tile of the language-model head: shared by head.c and sample.c. */
#ifndef RLF_KERNELS_CPU_HEAD_H
#define RLF_KERNELS_CPU_HEAD_H

#include "kernels/cpu/ops.h"

/* Tokens between the cuts of the vocabulary: a multiple of 64 lanes and of
 * every panel width (48, 16, 8). Part of the bits. */
#define CHUNK 768

typedef struct head_args {
    int64_t m, v, d;
    const float *x;
    int64_t ldx;
    const void *packed;
    float temperature;
    const float *temperatures;
    bool greedy; /* temperature 1 */
    bool with_entropy;
} head_args;

/* Of a row and chunk: maximum, sum of e^(z - m), sum of e^(z - m) (z - m). */
typedef struct part {
    float m, s, t;
} part;

/* Of a row: maximum M, sum S of e^(z - M), its logarithm. */
typedef struct whole {
    double m, s, log_s;
} whole;

typedef struct tile {
    head_args a;
    int64_t rows;     /* at most */
    int64_t first, n; /* the rows now in it */
    int64_t n_chunks, ld;
    float *z;      /* [rows, ld] logits / temperature */
    part *parts;   /* [rows, n_chunks] */
    whole *wholes; /* [rows] */
    float *logprob, *entropy, *dlogprob, *dentropy; /* [rows] */
} tile;

/* Place the tile in `work`. */
rlf_status ISA(head_open)(const head_args *a, void *work, size_t work_bytes,
                          tile *t, rlf_err *err);
/* z, parts, wholes and entropy of the rows first..first+n-1. */
void ISA(head_logits)(rlf_queue *queue, tile *t);
/* 1 / temperature of a row of the operation. */
float ISA(head_scale)(const head_args *a, int64_t row);
/* The log-probability of a token in a row of the tile. */
float ISA(head_logprob_of)(const tile *t, int64_t row, int64_t token);

#endif

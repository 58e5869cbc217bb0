/* A tile of the language-model head: shared by head.c and sample.c. */
#ifndef RLF_KERNELS_CPU_HEAD_H
#define RLF_KERNELS_CPU_HEAD_H

#include "kernels/cpu/ops.h"
#include "kernels/head.h"

/* A slice that is held here; tokens and chunks are counted among those held. */
typedef struct slice {
    int64_t from, n, chunk, n_chunks;
    const char *packed;
} slice;

typedef struct chunk {
    int64_t from, n, slice;
} chunk;

typedef struct tile {
    head_args a;
    int64_t rows;               /* the number of rows at most */
    int64_t first, n;           /* the rows now in it */
    int64_t token, held;        /* the first token held here, and how many */
    int64_t n_slices, n_chunks; /* held here */
    int64_t places, place; /* the number of places that share the vocabulary,
                              and this one */
    int64_t ld;
    slice *slices;
    chunk *chunks;
    float *z;      /* [rows, ld] logits / temperature */
    part *parts;   /* [rows, n_chunks] */
    whole *wholes; /* [rows] */
    double *known; /* [places, n, 3 n_slices + 1]: what each place measured of
                      its slices, then z of the target if it holds that */
    pick *picks;   /* [places, n] */
    float *logprob, *entropy, *dlogprob, *dentropy; /* [rows] */
    float *gathered; /* [places, n, most held] with whole_rows */
    float *full;     /* [rows, v] with whole_rows */
    float *words;    /* [rows, v] with words: log-probabilities, and then the
                        derivatives by them */
    double *sums;    /* [rows] with words: of those derivatives */
} tile;

/* Place the tile in `work`. */
rlf_status ISA(head_open)(const head_args *a, void *work, size_t work_bytes,
                          tile *t, rlf_err *err);
/* z, parts, wholes and entropy of the rows first..first+n-1. */
rlf_status ISA(head_logits)(rlf_queue *queue, tile *t, rlf_err *err);
/* The measure of a slice of the whole vocabulary. */
const measured *ISA(head_slice)(const tile *t, int64_t row, int64_t slice);
/* The factor of a row's logits when they are capped, if they are: 1 /
 * temperature, and scale where there is no cap. */
float ISA(head_scale)(const head_args *a, int64_t row);
/* The log-probability of a token with logit z in a row of the tile. */
float ISA(head_logprob_of)(const tile *t, int64_t row, float z);

#endif

/* Attention: the arguments of its operations (kernels.h says what holds of
 * all), and the cache of keys and values.
 *
 * softmax(cap(scale * q k^T)) v, where cap(s) is s, or c tanh(s / c) with a
 * soft cap c (Gemma 2); causal: the token at position p of its sequence sees
 * positions 0..p, or max(0, p-window+1)..p with a window. heads is a multiple
 * of kv_heads, at most RLF_MOST_GROUP times as many; head h reads kv head
 * h / (heads / kv_heads). d is a multiple of 8 up to RLF_MOST_HEAD. Keys are
 * taken in blocks of 64 from position 0 with a running maximum; a block in
 * which a row sees nothing leaves it untouched. One row function serves
 * `attention` and `attention_paged`, so a token's output has the same bits in
 * training, prefill and decode.
 *
 * The cache of one layer: page p begins at kv + p * page_stride and holds
 * rlf_kv_page_floats() activations, how is the backend's own: its kv_write and
 * attention_paged agree, pages move between places with the same backend as
 * they are. In f32 they are for each kv head its keys transposed [d,
 * page_size], then its values [page_size, d]. A page may hold more (say all
 * layers, page_stride apart): page_stride is the caller's. What lies in slots
 * not yet written is never used, not even NaN. */
#ifndef RLF_KERNELS_ATTENTION_H
#define RLF_KERNELS_ATTENTION_H

#include "kernels/real.h"

#include <stdbool.h>
#include <stdint.h>

/* Elements of a head of attention, and heads that read one key/value head, at
 * most. */
#define RLF_MOST_HEAD 256
#define RLF_MOST_GROUP 128

static inline int64_t
rlf_kv_page_floats(int64_t page_size, int64_t kv_heads, int64_t d)
{
    return 2 * page_size * kv_heads * d;
}

/* Write k, v [m, kv_heads, d] into slots: slot = page * page_size + place in
 * the page; negative: skipped. With `half`, q and k are rotated as by rope:
 * q in place (in all rows), k on its way, so that it stays what it is. With
 * weights, which needs `half`, their heads are normed before, as by rmsnorm. */
typedef struct rlf_kv_write_args {
    int64_t m, kv_heads, d;
    const rlf_real *k, *v;
    int64_t ldk, ldv;     /* 0: kv_heads * d */
    const int32_t *slots; /* [m] */
    rlf_real *kv;         /* this layer's first page */
    int64_t page_size;    /* a multiple of 16 */
    int64_t page_stride;  /* floats; 0: rlf_kv_page_floats() */
    int64_t half;         /* 0: nothing is rotated, there is no q */
    int64_t heads;        /* heads of q */
    rlf_real *q;
    int64_t ldq;              /* 0: heads * d */
    const int32_t *positions; /* [m], each < n_positions */
    int64_t n_positions;
    const float *cos, *sin;           /* cosines and sines of rope_table */
    const float *q_weight, *k_weight; /* [d], both or none */
    float eps;
} rlf_kv_write_args;

/* Beginnings that sequences share, as a prompt for its samples: sequence s has
 * tokens offsets[s]..offsets[s+1]-1 of its own, at positions starts[s], ...;
 * the keys and values of the positions before are those of sequence parents[s]
 * or, before that begins, of its parent. parents[s] < s, where s is no root;
 * starts[s] is more than its parent's and at most where that ends. Sequences of
 * one root follow one another. NULL, both: each begins at position 0. */
typedef struct rlf_prefixes {
    const int32_t *starts;  /* [n_seqs], host-readable; 0: a root */
    const int32_t *parents; /* [n_seqs], host-readable; -1: a root */
} rlf_prefixes;

/* Packed sequences: sequence s has tokens offsets[s]..offsets[s+1]-1, at
 * positions 0, 1, ..., or behind a beginning that it shares. */
typedef struct rlf_attention_args {
    int64_t n_seqs;
    const int32_t *offsets; /* [n_seqs + 1], host-readable */
    rlf_prefixes prefixes;
    int64_t heads, kv_heads, d;
    float scale, cap; /* cap 0: none */
    int64_t window;   /* 0: none */
    const rlf_real *q, *k, *v;
    int64_t ldq, ldk, ldv; /* 0: heads * d, kv_heads * d */
    rlf_real *o;
    int64_t ldo; /* 0: heads * d */
    float *lse;  /* [tokens, heads] =: log of the sum of exp, for the
                    gradient; or NULL */
} rlf_attention_args;

/* New tokens over their cache: sequence s has the new tokens
 * offsets[s]..offsets[s+1]-1 (rows of q and o) at positions starts[s], ...;
 * the keys and values of positions 0 up to its last new token are in pages
 * pages[s * ld_pages + position / page_size] (kv_write came before). One new
 * token a sequence is decoding, many are a prefill. */
typedef struct rlf_attention_paged_args {
    int64_t n_seqs;
    const int32_t *offsets; /* [n_seqs + 1], host-readable */
    const int32_t *starts;  /* [n_seqs], host-readable */
    /* If a call is recorded once and carried out often: the same in device
     * memory, then read; the host's starts only say how large they may become.
     * NULL: the host's count. A backend in host memory ignores them. */
    const int32_t *device_offsets, *device_starts;
    const int32_t *pages; /* [n_seqs, ld_pages] */
    int64_t ld_pages;
    int64_t heads, kv_heads, d;
    float scale, cap; /* cap 0: none */
    int64_t window;   /* 0: none */
    const rlf_real *q;
    int64_t ldq; /* 0: heads * d */
    const rlf_real *kv;
    int64_t page_size;
    int64_t page_stride; /* 0: rlf_kv_page_floats() */
    rlf_real *o;
    int64_t ldo; /* 0: heads * d */
} rlf_attention_paged_args;

/* dq =, dk =, dv =: of `attention` with the same inputs, its o and lse. dk and
 * dv of a token add over (query head of the group, sequence that sees it, query
 * position) in order (in bf16 over the head last), dq over positions in order.
 * So those of a shared beginning are sums over its sequences. With `parts`,
 * which is a power of two and divides the group, dk and dv are the sums over as
 * many equal parts of the group's query heads, added in a binary tree (in bf16
 * one sum). */
typedef struct rlf_attention_grad_args {
    int64_t n_seqs;
    const int32_t *offsets;
    rlf_prefixes prefixes;
    int64_t heads, kv_heads, d;
    float scale, cap;
    int64_t window;
    const rlf_real *q, *k, *v;
    int64_t ldq, ldk, ldv; /* 0: heads * d, kv_heads * d */
    const rlf_real *o, *d_o;
    int64_t ldo, lddo; /* 0: heads * d */
    const float *lse;
    rlf_real *dq, *dk, *dv;
    int64_t lddq, lddk, lddv; /* 0: heads * d, kv_heads * d */
    int parts;                /* 0: 1 */
} rlf_attention_grad_args;

/* Returns the row of `position` of sequence s, and where the rows that follow
 * it end: a position. */
static inline int64_t
rlf_prefixes_row(const rlf_prefixes *p, const int32_t *offsets, int64_t s,
                 int64_t position, int64_t *end)
{
    int64_t start = 0;
    *end = INT64_MAX;
    for (; p->starts && (start = p->starts[s]) > position; s = p->parents[s])
        *end = start;
    return offsets[s] + position - start;
}

/* Returns the position from which on sequence s has keys of its own, or of a
 * sequence behind `from`, one before it in the list: those before are of
 * `from`, if it is a parent; 0: it is none. */
static inline int64_t
rlf_prefixes_sees(const rlf_prefixes *p, int64_t s, int64_t from)
{
    while (p->parents[s] > from)
        s = p->parents[s];
    return p->parents[s] == from ? p->starts[s] : 0;
}

/* Returns the end of the sequences of the root that s is of: the next root. */
static inline int64_t
rlf_prefixes_end(const rlf_prefixes *p, int64_t n_seqs, int64_t s)
{
    for (s++; p->parents && s < n_seqs && p->parents[s] >= 0; s++)
        continue;
    return s;
}

/* Are they as rlf_prefixes says? */
static inline bool
rlf_prefixes_valid(const rlf_prefixes *p, const int32_t *offsets,
                   int64_t n_seqs)
{
    if (!p->starts || !p->parents)
        return !p->starts && !p->parents;
    for (int64_t s = 0, first = 0; s < n_seqs; s++) {
        int64_t start = p->starts[s], of = p->parents[s];
        if (of < 0) {
            first = s;
            if (of != -1 || start != 0)
                return false;
        } else if (of < first || of >= s || start <= p->starts[of] ||
                   start > p->starts[of] + offsets[of + 1] - offsets[of]) {
            return false;
        }
    }
    return true;
}

#endif

/* Declarations that the files which count work share: a counter, and what one
 * operation of kernels/op.def, or one meeting of ranks, adds to it. cost.c
 * counts passes, cost_weights.c what is done with weights. */
#ifndef RLF_MODEL_COUNTER_H
#define RLF_MODEL_COUNTER_H

#include "nodes/model/cost.h"
#include "nodes/model/rates.h"

typedef struct rlf_counter {
    const rlf_table *table;
    const rlf_model_config *config;
    double passes; /* the number of passes in which each operation is started
                      once */
    double d, q, kv, qkv, ffn, vocab;
    double real; /* bytes of an activation, and of a packed weight */
    double narrow; /* the share of packed weights that are of bf16 */
    bool offload, packed_rows;
    const rlf_chunk_rates *rates; /* the rates of the passes */
    int64_t tile; /* rows of the head at a time */
    rlf_counts *out;
} rlf_counter;

static inline rlf_counter
rlf_counter_of(const rlf_table *t, rlf_counts *out)
{
    return (rlf_counter){.table = t,
                         .config = &t->config,
                         .passes = 1,
                         .d = t->config.hidden,
                         .q = (double)rlf_table_q(t),
                         .kv = (double)rlf_table_kv(t),
                         .qkv = (double)rlf_table_qkv(t),
                         .ffn = (double)t->ffn,
                         .vocab = (double)t->vocab,
                         .real = (double)rlf_real_bytes(out->kernels),
                         .narrow = out->narrow,
                         .out = out};
}

/* Counts that so many operations are started in each pass. */
static inline void
rlf_counter_start(const rlf_counter *c, double n)
{
    c->out->cost.calls += c->passes * n;
}

/* Activations and packed weights read and written. */
static inline void
rlf_counter_add(const rlf_counter *c, double flops, double read, double written)
{
    c->out->cost.flops += flops;
    c->out->cost.read += c->real * read;
    c->out->cost.written += c->real * written;
}

/* Packed weights read, n of them. */
static inline void
rlf_counter_read_packed(const rlf_counter *c, double n)
{
    c->out->cost.read += (c->real - (c->real - 2) * c->narrow) * n;
}

/* The same of floats. */
static inline void
rlf_counter_add_f32(const rlf_counter *c, double flops, double read,
                    double written)
{
    c->out->cost.flops += flops;
    c->out->cost.read += 4 * read;
    c->out->cost.written += 4 * written;
}

/* `n` collectives, or messages that come, with those along `axes`; bytes that
 * this rank sends in all of them. */
static inline void
rlf_counter_meet(const rlf_counter *c, int axes, double n, double bytes)
{
    c->out->cost.meets[axes].n += n;
    c->out->cost.meets[axes].bytes += bytes;
}

/* `n` sums of so many bytes together over p ranks; one alone adds nothing. */
static inline void
rlf_counter_sum(const rlf_counter *c, int axes, int p, double n, double bytes)
{
    if (p > 1)
        rlf_counter_meet(c, axes, n, bytes * 2 * (p - 1) / p);
}

#endif

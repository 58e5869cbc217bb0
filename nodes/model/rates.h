/* The work of compiled calls, by what it is proportional to.
 *
 * The work of a call is affine in what the micro-batches have: so many
 * operations for each token, so many numbers for each pass. So a list of calls
 * has rates, found once, and the work of a thousand passes is rates times sums
 * (cost.c). The formulas are those of kernels/op.def, with read and written
 * apart; copies and fills are no operation and not counted. */
#ifndef RLF_MODEL_RATES_H
#define RLF_MODEL_RATES_H

#include "nodes/model/call.h"

/* The bases that work is proportional to. */
typedef enum rlf_base {
    RLF_PER_PASS,
    RLF_PER_TOKEN,
    RLF_PER_ROW,
    RLF_PER_PAIR,   /* by pair of query and key */
    RLF_PER_NEARBY, /* by pair of these within the model's window */
    RLF_PER_KEY,    /* by key that lies in pages before, or is new there */
    RLF_N_BASES
} rlf_base;

/* Operations; activations, or packed weights, and floats that are read and
 * written; activations that ranks add up. */
typedef struct rlf_rates {
    double flops[RLF_N_BASES];
    double read[RLF_N_BASES], written[RLF_N_BASES];
    double read_f32[RLF_N_BASES], written_f32[RLF_N_BASES];
    double embedded[RLF_N_BASES]; /* read of the embedding, in either form */
    double summed[RLF_N_BASES];   /* activations that all ranks of the model add
                                     up */
    double summed_f32[RLF_N_BASES]; /* the same, floats */
    double joined[RLF_N_BASES]; /* activations that ranks add up which hold the
                                   same heads */
    /* Operations, sums and joint sums in each pass. */
    double calls, sums, joins;
} rlf_rates;

/* rates += those of a call. */
void rlf_rates_add(rlf_rates *rates, const rlf_kernel_call *call);

/* The rates of one chunk: see rlf_code. */
typedef struct rlf_chunk_rates {
    rlf_rates forward, paged, again, backward, weights;
} rlf_chunk_rates;

/* [chunks] of a pass of this kind, found when first asked for; they live as
 * long as the table. One asks at a time. */
const rlf_chunk_rates *rlf_table_rates(const rlf_table *table, bool train,
                                       bool recompute, bool split);

#endif

/* Responses as long as a benchmark wants them: log-normal lengths.
 *
 * They are forced by the kernel that samples, which is ours here: a row's
 * random number says which sample and position it is, whoever samples it, and
 * there the end token comes when the sample's length is reached and not before.
 */
#ifndef RLF_BENCH_LENGTHS_H
#define RLF_BENCH_LENGTHS_H

#include "kernels/kernels.h"
#include "engine/graph/graph.h"

typedef struct bench_lengths {
    uint64_t seed;    /* the seed of the run */
    uint32_t site;    /* the site of the generate call: bench_generate's */
    uint32_t samples; /* a step */
    uint32_t steps;   /* steps that are sampled for */
    double sigma;     /* the standard deviation of the logarithm of a length */
    uint32_t median, most;
    const char *words; /* directory of the tokenizer */
} bench_lengths;

/* The kernels of the CPU, with such a one. Once a program. */
rlf_status bench_lengths_force(const bench_lengths *lengths, rlf_err *err,
                               rlf_kernels *out);
void bench_lengths_free(void);
/* The first node that samples. */
const rlf_node *bench_generate(const rlf_graph *graph);

#endif

/* Computes how large the values of a step can be: rows, lengths, and how often
 * each node runs, as upper bounds that follow from the program alone.
 *
 * Everything that is sized before a run is sized by these: the caps of the plan
 * (engine/plan/README.md), the memory that `rlflow check` prints, and the work.
 * What the program does not bound (all rows of a data set that is not open yet,
 * a text of any length) is INFINITY. Integers and products only: no resource is
 * touched. */
#ifndef RLF_GRAPH_SIZES_H
#define RLF_GRAPH_SIZES_H

#include "engine/graph/graph.h"

typedef struct rlf_set_size {
    double prompts, samples; /* rows */
    double prompt, response; /* tokens of one, each at most */
    /* Tokens of prompt and response together at most: less than their sum where
     * a model's context is what bounds them. */
    double sequence;
} rlf_set_size;

typedef struct rlf_sizes {
    rlf_set_size *set; /* per set of the graph */
    double *values;    /* per domain: values of a column on it */
    double *runs;      /* per node: how often it runs in a step that takes
                          every `every` and both sides of every `if` */
} rlf_sizes;

typedef struct rlf_sizes_options {
    const double *rows; /* per resource: rows of that data set; NULL: unknown */
    double longest;     /* tokens of any sequence; 0: unknown */
} rlf_sizes_options;

/* Makes the sizes of a graph, in `arena`. */
rlf_sizes rlf_sizes_make(const rlf_graph *graph,
                         const rlf_sizes_options *options, rlf_arena *arena);

/* Bytes of one row of a text that a hook gives, at most: its `max_text`, and
 * what an arena adds. 0: any other value, whose texts lie elsewhere, in a set
 * or in data. */
double rlf_sizes_text(const rlf_graph *graph, const rlf_value *value);

/* Host bytes of the content of a value, as the step's pool holds it: a column's
 * numbers, and the texts that a hook gives; a set's arrays, tokens and (8 bytes
 * a token) texts. What a part shares with its whole is not counted again. */
double rlf_sizes_bytes(const rlf_graph *graph, const rlf_sizes *sizes,
                       const rlf_value *value);

#endif

/* Samples of a set as the sequences that a model computes on. */
#ifndef RLF_NODES_SEQUENCES_H
#define RLF_NODES_SEQUENCES_H

#include "engine/graph/class.h"
#include "nodes/model.h"
#include "nodes/model/cost.h"

/* The values that a model's call reads off a sequence; what may be live in an
 * update. */
typedef enum rlf_read_kind {
    RLF_READ_LOGPROB, /* per response token */
    RLF_READ_VALUE,   /* per response token, before it */
    RLF_READ_SCORE,   /* per sample, after its last token */
    RLF_READ_WORDS,   /* per word at a response token */
} rlf_read_kind;

extern const rlf_node_class rlf_node_logprob, rlf_node_logprobs, rlf_node_value,
    rlf_node_score;

static inline rlf_read_kind
rlf_read_kind_of(const rlf_node_class *class)
{
    return class == &rlf_node_logprob    ? RLF_READ_LOGPROB
           : class == &rlf_node_logprobs ? RLF_READ_WORDS
           : class == &rlf_node_value    ? RLF_READ_VALUE
                                         : RLF_READ_SCORE;
}

/* The samples `which` (n of them; NULL: all) of the set in tokens of the model,
 * in the step's pool: prompts as the model writes them itself, and the set's
 * responses. Responses in tokens of another vocabulary are read as text;
 * RLF_USER if the reading is per token then. Failures name the sample. */
rlf_status rlf_sequences_read(const rlf_env *env, const rlf_rows *rows,
                              const rlf_model_object *model,
                              rlf_read_kind reading, const uint32_t *which,
                              uint32_t n, rlf_err *err, rlf_sequence **out);

/* Sets that are read by turns, row by row a sample of each. */
typedef struct rlf_read_sets {
    const int *values;
    int n;
} rlf_read_sets;

/* The lengths of the samples of a set, at its caps. */
rlf_lengths rlf_sequences_lengths(const rlf_load *load, int value);
/* ... of all samples of sets: their number, and means. */
rlf_lengths rlf_sequences_lengths_of(const rlf_load *load, rlf_read_sets sets);
/* Samples of a prompt of the sets, on average. */
uint64_t rlf_sequences_each(const rlf_load *load, rlf_read_sets sets);
/* Those of a prompt that the node, an update, takes together: 1, if it does not
 * say that they share it. */
uint64_t rlf_sequences_together(const rlf_load *load, const rlf_node *node,
                                rlf_read_sets sets);
/* Those that the rank is assigned of n. */
uint64_t rlf_load_rows(const rlf_load *load, uint64_t n);
/* The samples of sets that the load is counted for on the rank: those of the
 * piece, or those that it is assigned of all. */
rlf_lengths rlf_load_own(const rlf_load *load, rlf_read_sets sets);
/* Is there no piece, or one of this kind? */
bool rlf_load_has(const rlf_load *load, rlf_piece_kind kind);
/* Host bytes that reading them leaves in the step's pool. */
double rlf_sequences_bytes(const rlf_lengths *lengths);
/* ... and, where the node scores what its model reads anew, their tokens. */
double rlf_sequences_score_bytes(const rlf_load *load, const rlf_node *node,
                                 const rlf_lengths *lengths);

/* The weights of a model that the rank's part of a node takes; of a rank that
 * has no part an outline of them. */
const rlf_model *rlf_load_part(const rlf_load *load, int model);
/* Returns the model of the node's receiver. */
const rlf_model *rlf_load_model(const rlf_load *load, const rlf_node *node);

/* The index of the value of response token t of sample `row` in a column on the
 * set's tokens. */
static inline uint64_t
rlf_sequences_place(const rlf_rows *rows, uint32_t row, uint32_t t)
{
    return rows->tokens->offset[row] + t;
}

#endif

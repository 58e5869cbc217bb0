/* Are all weights of a model numbers, and finite? Asked after each change of
 * them, so that what went wrong is told where it did. */
#ifndef RLF_MODEL_FINITE_H
#define RLF_MODEL_FINITE_H

#include "nodes/model/model.h"

/* RLF_USER, naming the first tensor that this rank holds for which it is not
 * so. Waits for the queue. */
rlf_status rlf_model_check_finite(const rlf_model *model, rlf_err *err);
/* Returns the number of calls of sumsq by which it looks at a tensor of n
 * numbers. */
int64_t rlf_finite_pieces(int64_t n);

#endif

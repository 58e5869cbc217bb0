/* Can the models of a plan be cut as their rows ask? That needs what their
 * declarations name (configs, and the tokenizers of new models), so it is no
 * part of making a plan, but for the number of shards that nothing says: who
 * cannot read them has a plan all the same. */
#ifndef RLF_PLAN_FIT_H
#define RLF_PLAN_FIT_H

#include "engine/plan/plan.h"

/* RLF_USER at the row that asks for what a model has not: more stages than
 * layers, a tp or shards that its heads do not divide into, a tp that does not
 * divide the shards. The message says which number fails, and which are
 * possible. */
rlf_status rlf_plan_fits(const rlf_plan *plan, rlf_err *err);

/* The largest power of two of shards, `most` at most, into which a model's sums
 * can be cut; of one that cannot be read any can. */
int rlf_fit_shards(const rlf_graph *graph, const rlf_resource *model, int most);

#endif

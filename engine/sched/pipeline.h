/* The pipeline executor: walks this rank's list of a table (engine/plan/pipe.h)
 * over the micro-batches of one trained node, or of several that share a
 * table. It knows no schedule by name and no model; what an operation does is
 * the class's (rlf_trainable), what stages tell each other goes from port to
 * port. */
#ifndef RLF_SCHED_PIPELINE_H
#define RLF_SCHED_PIPELINE_H

#include "engine/graph/class.h"
#include "engine/plan/plan.h"

/* Carry out the trained nodes of these calls, in the order of the table's
 * models, up to their `finish`. All ranks of their mesh do so together. What
 * is measured of its operations is added to *taken. After an error the run is
 * aborted. */
rlf_status rlf_pipeline_run(const rlf_plan *plan, rlf_call *const *calls, int n,
                            double *taken, rlf_err *err);

#endif

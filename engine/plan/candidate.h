/* A plan under other place rows, as a search tries them: what `--plan FILE`
 * does with the rows of a file, without the file. */
#ifndef RLF_PLAN_CANDIDATE_H
#define RLF_PLAN_CANDIDATE_H

#include "engine/plan/plan.h"

/* The plan of a copy of `graph` whose placement is these place rows, or none.
 * All of it, the copy and what is hashed of it too, is in `arena`; the place
 * rows, and the lists that they point to, must live as long. RLF_USER as making
 * a plan says, or for place rows that the grammar would refuse: two of one
 * call, ranks that are not tp * pp * dp different ones. Whether models can be
 * cut so is asked as ever (fit.h). */
rlf_status rlf_plan_candidate(const rlf_graph *graph, const rlf_place_row *rows,
                              int n_rows, const rlf_plan_options *options,
                              rlf_arena *arena, rlf_err *err, rlf_plan **out);

#endif

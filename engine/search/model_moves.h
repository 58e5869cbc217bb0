/* Moves of the weights of a program's models between the layouts of choices. */
#ifndef RLF_SEARCH_MODEL_MOVES_H
#define RLF_SEARCH_MODEL_MOVES_H

#include "engine/search/pareto.h"

/* Sets what the problem moves weights with (rlf_problem.move), once its calls
 * are known. RLF_USER if a model cannot be read. */
rlf_status rlf_model_moves_set(rlf_pareto *pareto, rlf_arena *arena,
                               rlf_err *err);

#endif

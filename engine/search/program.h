/* The calls that a program makes in a step, as calls of a problem, and which of
 * them each needs. */
#ifndef RLF_SEARCH_PROGRAM_H
#define RLF_SEARCH_PROGRAM_H

#include "engine/search/pareto.h"

/* Into `calls` and those of the problem, all in `arena`; they have no choices
 * yet. RLF_USER if the program calls no model, or more than a problem can have.
 */
rlf_status rlf_program_calls(rlf_pareto *pareto, rlf_arena *arena,
                             rlf_err *err);

#endif

/* The caps of every model, from the program: how long its sequences, how large
 * its batches can be, and how many tokens a micro-batch takes. */
#ifndef RLF_PLAN_CAPS_H
#define RLF_PLAN_CAPS_H

#include "engine/graph/caps.h"
#include "engine/graph/class.h"

/* Per resource, in `arena`; those of no model stay empty. */
rlf_caps *rlf_plan_caps(const rlf_graph *graph, rlf_arena *arena);

#endif

/* The pipelines that the updates of a plan run in: tables by name, from a
 * row or a file, checked against the layouts, and how much each stage keeps. */
#ifndef RLF_PLAN_PIPES_H
#define RLF_PLAN_PIPES_H

#include "engine/plan/pipe_memory.h"
#include "engine/plan/pipe.h"
#include "engine/plan/plan.h"

/* Sets the pipelines of all updates: reads their tables' files, lists the ranks
 * so that the coordinate pp is the stage of the model and all models of a table
 * have the same ranks at a place, finds the updates that share one.
 * RLF_USER, at the row that says it, with what cannot be run. Layouts must be
 * set. `known`: as rlf_pipe_memory_named has it, or NULL. */
rlf_status rlf_pipes_make(rlf_plan *plan, rlf_pipe_memories *known,
                          rlf_arena *arena, rlf_err *err);
/* The name of a row's table in messages: its file, or where it stands. */
const char *rlf_pipes_name(const char *table);
/* The table of an update for so many micro-batches, by model of the table. */
void rlf_pipes_table(const rlf_node_place *place, const int *micros,
                     rlf_arena *arena, rlf_pipe *out);
/* The model of that table that a rank's replica is, and the place of its stage;
 * `at`: its coordinates in the update's layout. */
int rlf_pipes_model(const rlf_node_place *place, rlf_coordinates at);
int rlf_pipes_place(const rlf_node_place *place, rlf_coordinates at);

#endif

/* The contents of a checkpoint by declaration: a list in its state.json, by
 * which a resume knows, before any rank reads a file, what the program needs
 * and the checkpoint lacks. --accept cannot make up for that: there is nothing
 * to go on from. */
#ifndef RLF_SCHED_SAVED_H
#define RLF_SCHED_SAVED_H

#include "engine/base/str.h"
#include "engine/sched/state.h"

#include <jansson.h>

/* A JSON list of what the run saves: each with name, kind, and, for states, the
 * data set that they have a number for each row of. */
void rlf_saved_print(const rlf_run *run, rlf_buf *out);
/* RLF_USER, with what to do, if the checkpoint `dir` with that `state` lacks
 * what the program needs, or has a model of another shape. What it has and the
 * program does not go on with is added to `said`, a line each. */
rlf_status rlf_saved_check(const rlf_run *run, const char *dir,
                           const json_t *state, rlf_err *err, rlf_buf *said);

#endif

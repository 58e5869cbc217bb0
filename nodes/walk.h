/* Rows of data looked at one by one before the first step, on the threads that
 * a rank has, since each is read, written and made into tokens. */
#ifndef RLF_NODES_WALK_H
#define RLF_NODES_WALK_H

#include "engine/graph/run.h"

/* Looks at a row, in env->pool, which is the thread's own. */
typedef rlf_status rlf_walk_fn(const rlf_env *env, void *arg, uint32_t row,
                               rlf_err *err);

/* fn of the rows below n, of several of them at a time, but where a model of
 * the program has a template in Lua. Status and *err are those of the first
 * row, in the order of rows, with which fn fails; those behind it may not have
 * been looked at. */
rlf_status rlf_walk_rows(const rlf_env *env, uint32_t n, rlf_walk_fn *fn,
                         void *arg, rlf_err *err);

#endif

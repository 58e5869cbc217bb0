/* Pipeline memory: how many micro-batches each stage of a pipeline keeps at
 * once under the table of its schedule.
 *
 * Of a schedule by name that is found by going through many tables, and a
 * search needs the same few in each of its thousands of plans: an
 * rlf_pipe_memories remembers them. */
#ifndef RLF_PLAN_PIPE_MEMORY_H
#define RLF_PLAN_PIPE_MEMORY_H

#include "engine/plan/pipe.h"

/* [pp][chunks] each, by place and chunk. */
typedef struct rlf_pipe_memory {
    int *flights; /* between forward and backward, at most */
    int *owed;    /* between backward and weights; NULL: not split */
} rlf_pipe_memory;

typedef struct rlf_pipe_memories rlf_pipe_memories;

/* Makes a memory of answers in `arena`, which frees it and what it remembers.
 */
rlf_pipe_memories *rlf_pipe_memories_new(rlf_arena *arena);
/* All 0, in `arena`. */
rlf_pipe_memory rlf_pipe_memory_new(int pp, int chunks, bool split,
                                    rlf_arena *arena);
/* No less than a model of this table, of pp * chunks stages; `vee`: its second
 * chunk goes back. */
void rlf_pipe_memory_raise(rlf_pipe_memory *kept, const rlf_pipe *pipe,
                           int model, int pp, bool vee);
/* With any number of micro-batches, of a schedule that rlf_pipe_named knows;
 * all 0 of gpipe, which keeps all. In `arena`, the caller's to change.
 * `known`: asks that, and has it remember; NULL: nothing is remembered. */
rlf_pipe_memory rlf_pipe_memory_named(rlf_pipe_memories *known,
                                      const char *schedule, int pp, int chunks,
                                      bool vee, rlf_arena *arena);

#endif

/* How many micro-batches each stage of a pipeline keeps at once under the table
 * of its schedule: what its memory is counted by.
 *
 * Of a schedule by name that is asked for by going through many tables, and a
 * search asks for the same few in each of its thousands of plans: an rlf_kepts
 * remembers them. */
#ifndef RLF_PLAN_KEPT_H
#define RLF_PLAN_KEPT_H

#include "engine/plan/pipe.h"

/* [pp][chunks] each, by place and chunk. */
typedef struct rlf_kept {
    int *flights; /* between forward and backward, at most */
    int *owed;    /* between backward and weights; NULL: not split */
} rlf_kept;

typedef struct rlf_kepts rlf_kepts;

/* In `arena`, which frees it and what it remembers. */
rlf_kepts *rlf_kepts_new(rlf_arena *arena);
/* All 0, in `arena`. */
rlf_kept rlf_kept_new(int pp, int chunks, bool split, rlf_arena *arena);
/* No less than a model of this table, of pp * chunks stages; `vee`: its second
 * chunk goes back. */
void rlf_kept_raise(rlf_kept *kept, const rlf_pipe *pipe, int model, int pp,
                    bool vee);
/* With any number of micro-batches, of a schedule that rlf_pipe_named knows;
 * all 0 of gpipe, which keeps all. In `arena`, the caller's to change.
 * `known`: asks that, and has it remember; NULL: nothing is remembered. */
rlf_kept rlf_kept_named(rlf_kepts *known, const char *schedule, int pp,
                        int chunks, bool vee, rlf_arena *arena);

#endif

/* Parts of ranks in a command of the controller: the share of a rank, its
 * messages, its hand in moving weights.
 *
 * One rank's view of control.h's commands, for who carries them out and for who
 * only plays them, so that the two cannot differ about it. What it takes to
 * carry a command out is not said here. */
#ifndef RLF_ORDER_PART_H
#define RLF_ORDER_PART_H

#include "engine/order/control.h"

/* The part of one rank in a command. */
typedef struct rlf_rank_part {
    bool works; /* RUN: it has a share, WEIGHTS: it has weights of a side, EDGE,
                   MOVE: it has moves; OPEN, END: always. Else it is only told,
                   and makes the outputs of an instance's first RUN */
    const rlf_share *share; /* RUN: its own, or NULL */
    const rlf_move *moves;  /* EDGE, MOVE: from or to this rank, in the order of
                               the command's */
    int n_moves;
} rlf_rank_part;

/* True: the command is for `rank` at all. Arrays are the command's, or in
 * `arena`. A test compares the lists below with it. */
bool rlf_rank_part_of(const rlf_control *control,
                      const rlf_rank_command *command, int rank,
                      rlf_arena *arena, rlf_rank_part *out);
/* The command as `rank` gets it, with its own part. False: it gets none. */
bool rlf_rank_command_for(const rlf_control *control,
                          const rlf_rank_command *command, int rank,
                          rlf_arena *arena, rlf_rank_command *out);
/* The parts of all ranks, in two lists with an entry for each rank: out[r] is
 * the part of rank r, told[r] says whether it gets the command. */
void rlf_rank_parts_of(const rlf_control *control,
                       const rlf_rank_command *command, rlf_arena *arena,
                       rlf_rank_part *out, bool *told);

#endif

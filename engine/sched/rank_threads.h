/* The ranks of a run that has more than one: a thread for each of this
 * process, and the mail between them and the controller.
 *
 * Process 0 holds the controller, which the thread that opened them
 * plays; in the others that thread has nothing to do but wait. Private to this
 * folder. */
#ifndef RLF_SCHED_RANK_THREADS_H
#define RLF_SCHED_RANK_THREADS_H

#include "engine/sched/rank.h"

typedef struct rlf_rank_threads rlf_rank_threads;

typedef struct rlf_rank_threads_options {
    rlf_comm_world *world;
    int threads;     /* threads of each rank */
    int n_machine;   /* ranks on this machine */
    double patience; /* seconds in which no rank made progress end the run while
                        it opens, and in which threads have to end after an
                        abort; 0: never */
    double step_patience; /* the same in a step, in which ranks look whether the
                             controller is there; 0: they do not */
    rlf_needs *needs;     /* per rank of the run, to be filled in process 0 with
                             what is in `arena` */
    rlf_arena *arena;
} rlf_rank_threads_options;

/* Start the threads of this process's ranks (which stay the caller's) and wait
 * until every rank of the run is open. The ranks' tell and sink are set. *out
 * is to be closed also after an error. */
rlf_status rlf_rank_threads_open(rlf_rank *ranks,
                                 const rlf_rank_threads_options *options,
                                 rlf_err *err, rlf_rank_threads **out);
/* Tell all ranks to close and wait for them; after an error they close by
 * themselves. False: a thread is stuck, in a system call or in somebody else's
 * code, so nothing that it may touch was freed. NULL is fine. */
bool rlf_rank_threads_close(rlf_rank_threads *rank_threads);

/* Sends a command to a rank, as the controller; it never waits for the rank's
 * work. */
rlf_status rlf_rank_threads_tell(rlf_rank_threads *rank_threads, int rank,
                                 const rlf_rank_command *command, rlf_err *err);
/* The next event (in `arena`), waiting for it. RLF_AGAIN: for `patience`
 * seconds (0: for ever) no rank made progress; or there is none, and nobody was
 * to wait. */
enum { RLF_RANK_THREADS_NOT_AT_ALL = -1 };
rlf_status rlf_rank_threads_hear(rlf_rank_threads *rank_threads,
                                 double patience, rlf_arena *arena,
                                 rlf_err *err, rlf_rank_event *out);
/* Adds what each rank waits for as the detail of an error. */
void rlf_rank_threads_waits(const rlf_rank_threads *rank_threads, rlf_err *err);
/* Finds, after RLF_PEER, the first error as the rank that met it knows it. */
rlf_status rlf_rank_threads_cause(const rlf_rank_threads *rank_threads,
                                  rlf_err *err);
/* Called after an error: rlf_rank_rescue by the thread of each rank of this
 * process, once all have come to their end. RLF_AGAIN also if one does not. */
rlf_status rlf_rank_threads_rescue(rlf_rank_threads *rank_threads,
                                   uint32_t step, const char *directory,
                                   rlf_err *err);
/* Waits, in a process without the controller, until the ranks have closed or
 * the run was aborted. */
rlf_status rlf_rank_threads_follow(rlf_rank_threads *rank_threads,
                                   rlf_err *err);

#endif

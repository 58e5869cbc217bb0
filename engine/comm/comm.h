/* Communication between the ranks of a run: the contract.
 *
 * A *world* is what the ranks of one process share; it knows all ranks of the
 * run. Ranks are threads of one process (backend `thread`), or of several
 * (`mpi`): rank = process x ranks of a process + index. An `rlf_comm` is one
 * rank's end of the world, used by that rank's thread alone. A *group* is an
 * ordered list of ranks as one of its members sees it; peers are named by
 * their index in the group.
 *
 * The primitive is a *batch* of sends and receives that all go on at once.
 * Messages of one (sender, receiver, tag) match in the order in which each
 * side started them; other orders are free. Everything else is written over
 * batches, once for all transports, and every member of the group must call it
 * with the same sizes, in the same order for two groups that share two ranks.
 *
 * Buffers belong to the caller and stay untouched until the batch is done. A
 * call returns RLF_OK; RLF_PEER when the run was aborted (by another rank or
 * this one), with the first error's sentence in *err; RLF_ENV when it waited
 * longer than the limit, or the transport failed, and then the run is aborted
 * for all. After an error no byte of a receive buffer means anything, and none
 * is read or written any more.
 *
 * Every wait looks at the abort word and at the limit. It spins (<= 50 us) only
 * when all threads of the run have a core. Nothing here is global. Mailboxes of
 * the controller are in mail.h. Where to start reading: group.c. */
#ifndef RLF_COMM_COMM_H
#define RLF_COMM_COMM_H

#include "engine/base/status.h"

typedef struct rlf_comm_world rlf_comm_world;
typedef struct rlf_comm rlf_comm;
typedef struct rlf_group rlf_group;
typedef struct rlf_batch rlf_batch;
typedef struct rlf_comm_backend rlf_comm_backend;

/* The transport, of those that this build has (backend.def), that connects this
 * process to others, since its launcher started them; NULL: there is none. */
const rlf_comm_backend *rlf_comm_backend_launched(void);

typedef struct rlf_comm_options {
    const rlf_comm_backend *backend; /* the transport to other processes; NULL:
                                        there is one process */
    int n_ranks; /* ranks of this process; the same number in every process */
    int n_all;         /* ranks in all, shared out evenly over the processes;
                          0: n_ranks a process */
    int n_run_threads; /* threads of all ranks on this machine, for the wait
                          rule; 0: one a rank */
    double limit;      /* seconds a wait may last in which nothing moves and
                          its peers send no heartbeat; 0: no limit */
    double silence;    /* seconds without a sign of life of another process
                          that end the run, or the meeting before it, with
                          err->rank; 0: no limit */
    /* The ports of which process 0 listens at the first free one until the
     * others have come; 0: any port. */
    int first_port, last_port;
    int mail_slots;    /* messages that a mailbox holds; 0: 64 */
    size_t mail_bytes; /* longest message; 0: 512 */
    /* A process is gone that did not say good-bye, or is silent; called at
     * once, by a thread of the world's own. Or the controller hangs: process 0,
     * by the thread that found it. NULL: nothing to be done. */
    void (*lost)(void *sink, const rlf_comm_world *world, int process);
    void *sink;
} rlf_comm_options;

typedef struct rlf_comm_caps {
    const char *name, *doc; /* the name of the transport between processes, and
                               what it is in words */
    int n_processes;
    int n_machines;
    int n_cores;          /* cores of this machine, for all ranks on it */
    bool spins;           /* every thread of the run has a core */
    size_t eager_bytes;   /* within a process: a send of at most that much
                             does not wait for its receiver */
} rlf_comm_caps;

/* The name of the launcher that started this process as one of several
 * ("mpiexec", "srun"), from its environment; NULL: started alone. */
const char *rlf_comm_launcher(void);
/* The name of the transport that its processes are connected by, which this
 * build may lack (backend.def); NULL: started alone. */
const char *rlf_comm_launcher_transport(void);
/* Returns the number of this process, and the number of processes, as the
 * launcher says; 0 of 1 if there is none. */
int rlf_comm_launcher_process(void);
int rlf_comm_launcher_size(void);

/* Called once in each process, before its rank threads start. With a backend
 * it meets the other processes; RLF_USER when they disagree about n_ranks,
 * RLF_USAGE when n_all cannot be shared out evenly or the launcher belongs to
 * another MPI. */
rlf_status rlf_comm_world_new(const rlf_comm_options *options,
                              rlf_comm_world **out, rlf_err *err);
/* After all rank threads have ended. In a good run it waits for the other
 * processes to come here too. After an abort it leaves them alone: report, then
 * rlf_comm_world_kill(). NULL is fine. */
void rlf_comm_world_free(rlf_comm_world *world);
/* Ends the processes of a run that was aborted: with a backend its own way of
 * killing all (does not return), else nothing. Where a process is gone, which
 * the launcher sees, this one just ends. */
void rlf_comm_world_kill(rlf_comm_world *world, int exit_status);

int rlf_comm_world_size(const rlf_comm_world *world);    /* ranks in all */
int rlf_comm_world_local(const rlf_comm_world *world);   /* of this process */
int rlf_comm_world_process(const rlf_comm_world *world); /* this one's index */
/* The machine that a rank runs on, 0..n_machines - 1 by first appearance. */
int rlf_comm_world_machine(const rlf_comm_world *world, int rank);
const rlf_comm_caps *rlf_comm_world_caps(const rlf_comm_world *world);
/* The end of this process's rank `index` (0..local - 1); the world's. */
rlf_comm *rlf_comm_of(rlf_comm_world *world, int index);
/* The controller's end (process 0 only, else NULL): mail and abort alone. */
rlf_comm *rlf_comm_controller(rlf_comm_world *world);

rlf_comm_world *rlf_comm_world_of(const rlf_comm *comm);
int rlf_comm_rank(const rlf_comm *comm); /* the controller's: -1 */
int rlf_comm_size(const rlf_comm *comm);
/* For tests that hold costs against what a rank does.
 * Bytes that this rank has begun to send to other ranks, mail apart; of what
 * was recorded (dev.h) once, however often it is carried out. */
uint64_t rlf_comm_sent(const rlf_comm *comm);
/* Counts how often this rank has begun to wait for others: collectives of
 * several ranks are one each, messages that it receives from others one each;
 * of what was recorded likewise. */
uint64_t rlf_comm_met(const rlf_comm *comm);
/* Nanoseconds that this rank's thread has done nothing so far but wait, for
 * messages of other ranks, for their receivers, or for mail. Copying while it
 * waits does not count, nor what a device waits for by itself. The rank's
 * thread asks. */
uint64_t rlf_comm_waited(const rlf_comm *comm);
/* Names what this rank works on, for messages; `node` must outlive its use. */
void rlf_comm_label(rlf_comm *comm, const char *node);
/* "I am still working": restarts the limit of the ranks of this process that
 * wait for this one. Each message that a rank finishes is a heartbeat too. NULL
 * is fine. */
void rlf_comm_heartbeat(rlf_comm *comm);
/* Writes in words for what this rank waits now; "" when it does not wait. Any
 * thread of the process may ask. */
void rlf_comm_waits(const rlf_comm *comm, char *text, size_t room);
/* In process 0: the heartbeats of all ranks of the run so far (those of other
 * processes come about once a second while they change), and what any of them
 * waits for. */
uint64_t rlf_comm_world_heartbeats(const rlf_comm_world *world);
/* The heartbeats of the controller's end, as this process knows them: elsewhere
 * than in process 0 they come about once a second. */
uint32_t rlf_comm_world_controller_heartbeats(const rlf_comm_world *world);
/* A process was told something, such as to end: a signal's number. By note()
 * process 0 hears of it with the next heartbeat; by tell(), called in process
 * 0, all others do, before any message that it sends later. note() may be
 * called by a signal handler. */
void rlf_comm_world_note(rlf_comm_world *world, int number);
void rlf_comm_world_tell(rlf_comm_world *world, int number);
/* Returns the number that another process was told, in process 0; elsewhere the
 * one that process 0 told all; 0: nothing was told. */
int rlf_comm_world_told(const rlf_comm_world *world);
/* In process 0: while `on`, what it notes or another process was told goes to
 * all of them with the next heartbeat, for one of them may be what the rest
 * waits for. */
void rlf_comm_world_relay(rlf_comm_world *world, bool on);
/* Counts how often this process was found to have been stopped for more than
 * about two seconds (SIGSTOP, a suspended job) and to go on; 0 in a world of
 * one process, where nobody looks. */
uint32_t rlf_comm_world_pauses(const rlf_comm_world *world);
void rlf_comm_world_waits(const rlf_comm_world *world, int rank, char *text,
                          size_t room);
/* Seconds since this process heard of the process of that rank: signs of life
 * come about once a second, four times within `silence`. Own ranks: 0. */
double rlf_comm_world_silence(const rlf_comm_world *world, int rank);

/* Abort: `cause` becomes the run's first error unless there is one; every wait
 * of every rank returns RLF_PEER. Returns RLF_PEER. Any thread may call it. */
rlf_status rlf_comm_abort(rlf_comm_world *world, const rlf_err *cause);
/* The same, of the controller, which hangs: process 0 is lost though it lives,
 * and `lost` of the options is called, in its own process too. */
rlf_status rlf_comm_abort_controller(rlf_comm_world *world,
                                     const rlf_err *cause);
/* RLF_OK, or RLF_PEER with the first error's sentence. */
rlf_status rlf_comm_check(const rlf_comm_world *world, rlf_err *err);
/* Another limit than that of the options, for waits that begin later. */
void rlf_comm_world_limit(rlf_comm_world *world, double seconds);
/* The kind of the run's first error; RLF_OK if there is none. */
rlf_status rlf_comm_cause(const rlf_comm_world *world);
/* The process whose end or silence that was, or -1. It may be this one. */
int rlf_comm_lost(const rlf_comm_world *world);
/* It has ended. */
bool rlf_comm_gone(const rlf_comm_world *world);

/* -- groups ------------------------------------------------------------- */

/* `ranks`: n different ranks of the world, this one among them, the same list
 * in every member. No communication. */
rlf_status rlf_group_new(rlf_comm *comm, const int *ranks, int n,
                         rlf_group **out, rlf_err *err);
/* Members first..first + n - 1 of another one, this rank among them. */
rlf_status rlf_group_part(const rlf_group *group, int first, int n,
                          rlf_group **out, rlf_err *err);
/* A group of n, seen by member `index`, in a run that is only planned: it can be
 * asked for both, and parted, and nothing else. */
rlf_group *rlf_group_planned(int n, int index);
void rlf_group_free(rlf_group *group);
/* All ranks in order; the end's own, not to be freed. */
rlf_group *rlf_group_world(rlf_comm *comm);
int rlf_group_size(const rlf_group *group);
int rlf_group_index(const rlf_group *group);        /* this member's */
int rlf_group_rank(const rlf_group *group, int at); /* a member's world rank */

/* -- batches ------------------------------------------------------------ */

/* One message: to or from `peer` (index in the group; itself is allowed).
 * bytes 0 is a message too. Both sides must agree on bytes. */
typedef struct rlf_part {
    int peer;
    void *data; /* only read where it is sent */
    size_t bytes;
} rlf_part;

/* Tags are 0..RLF_TAG_LAST; the collectives have their own. */
#define RLF_TAG_LAST 1023

/* Start all; *out is to be given to rlf_batch_wait() in any case but an error
 * (then it is NULL). The arrays may go, the buffers must stay. */
rlf_status rlf_group_start(rlf_group *group, int tag, const rlf_part *sends,
                           int n_sends, const rlf_part *receives,
                           int n_receives, rlf_batch **out, rlf_err *err);
/* RLF_OK: all are done (*batch is released and NULL). RLF_AGAIN: not yet; all
 * that this rank has under way was moved on. */
rlf_status rlf_batch_test(rlf_batch **batch, rlf_err *err);
/* Waits until all are done. *batch becomes NULL, also after an error. */
rlf_status rlf_batch_wait(rlf_batch **batch, rlf_err *err);
/* Start and wait. */
rlf_status rlf_group_exchange(rlf_group *group, int tag, const rlf_part *sends,
                              int n_sends, const rlf_part *receives,
                              int n_receives, rlf_err *err);

/* Rows of `bytes` bytes, the first at `data`, each `stride` bytes behind the
 * one before. */
typedef struct rlf_strided_rows {
    void *data;
    size_t bytes, stride, rows;
} rlf_strided_rows;

/* A message of strided rows, one list entry behind another. The other side may
 * have its bytes in rows that are cut otherwise. */
typedef struct rlf_strided_message {
    int peer;
    const rlf_strided_rows *list;
    int n;
} rlf_strided_message;

/* Does as rlf_group_exchange(). Within a process the bytes go straight from the
 * rows of the one to those of the other. */
rlf_status rlf_group_exchange_strided(rlf_group *group, int tag,
                                      const rlf_strided_message *sends,
                                      int n_sends,
                                      const rlf_strided_message *receives,
                                      int n_receives, rlf_err *err);

/* -- collectives that move ---------------------------------------------- */

rlf_status rlf_group_barrier(rlf_group *group, rlf_err *err);
rlf_status rlf_group_bcast(rlf_group *group, int root, void *data, size_t bytes,
                           rlf_err *err);
/* `data` of every member, `bytes` each, one after the other into `out`; `data`
 * may be its own place in `out`. */
rlf_status rlf_group_all_gather(rlf_group *group, const void *data,
                                size_t bytes, void *out, rlf_err *err);
/* The same with bytes[member]. */
rlf_status rlf_group_all_gatherv(rlf_group *group, const void *data,
                                 const size_t *bytes, void *out, rlf_err *err);
/* -- collectives that add ----------------------------------------------- */

typedef enum rlf_comm_type {
#define COMM_TYPE(name, type, text) RLF_COMM_##name,
#include "engine/comm/type.def"
#undef COMM_TYPE
    RLF_COMM_TYPES
} rlf_comm_type;

/* A sum is a binary tree over the index in the group, ((0+1)+(2+3))+..., an odd
 * last one going up unchanged: the same bits on every transport, and the tree
 * over p k values where each of p members has folded its k = 2^m neighbours by
 * rlf_comm_fold(). Integers wrap. MAX and MIN of a NaN are NaN. */
typedef enum rlf_comm_op {
    RLF_COMM_SUM,
    RLF_COMM_MAX,
    RLF_COMM_MIN,
    RLF_COMM_OPS
} rlf_comm_op;

size_t rlf_comm_type_size(rlf_comm_type type);

/* n elements of `in` of all members, combined, in `out` of every member. `in`
 * and `out` are the same or do not overlap (so below). */
rlf_status rlf_group_all_reduce(rlf_group *group, const void *in, void *out,
                                size_t n, rlf_comm_type type, rlf_comm_op op,
                                rlf_err *err);
/* `in` holds counts[0] + counts[1] + ... elements; member i gets its counts[i]
 * of the result. `out` may be its own place in `in`. */
rlf_status rlf_group_reduce_scatter(rlf_group *group, const void *in, void *out,
                                    const size_t *counts, rlf_comm_type type,
                                    rlf_comm_op op, rlf_err *err);
/* The same tree on one rank: out[i] = the tree over parts[0..n_parts)[i] for n
 * elements. `out` may be one of the parts. */
void rlf_comm_fold(void *out, const void *const *parts, int n_parts, size_t n,
                   rlf_comm_type type, rlf_comm_op op);

#endif

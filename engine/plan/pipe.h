/* Pipeline tables: for every place of a pipeline the list of what it does.
 *
 * A table is data; whoever runs it knows no schedule by name. Several models
 * may share one (RLHFuse: actor and critic trained in one pipeline, the second
 * reversed): each has its own path of stages through the places. A place stands
 * for all tensor-parallel ranks of a stage; every dp index runs the same table.
 * Generators, a text form, a validator and a clock; no transport here. */
#ifndef RLF_PLAN_PIPE_H
#define RLF_PLAN_PIPE_H

#include "engine/base/arena.h"
#include "engine/base/status.h"
#include "engine/base/str.h"

/* One model of a table: stage k of its `stages` runs at place path[k]. A place
 * that has several stages of a model calls them its chunks 0, 1.. in order of
 * the path (interleaving). */
typedef struct rlf_pipe_model {
    const char *name;
    int micros; /* micro-batches */
    int stages;
    const int *path;
    bool forward_only;
    bool split; /* its backward is two operations */
} rlf_pipe_model;

/* Backward makes the gradient of what a stage was given, which the stage before
 * waits for, and adds up those of its weights. Of a model that splits it only
 * makes the first; the second nobody waits for, so it can fill a gap. */
typedef enum rlf_pipe_kind {
    RLF_PIPE_FORWARD,
    RLF_PIPE_BACKWARD,
    RLF_PIPE_WEIGHTS,
    RLF_PIPE_KINDS
} rlf_pipe_kind;

typedef struct rlf_pipe_op {
    int model, micro, chunk;
    rlf_pipe_kind kind;
} rlf_pipe_op;

typedef struct rlf_pipe_list {
    rlf_pipe_op *ops;
    int count;
} rlf_pipe_list;

typedef struct rlf_pipe {
    rlf_pipe_model *models;
    int n_models;
    rlf_pipe_list *lists; /* one a place */
    int places;
} rlf_pipe;

/* Time and memory of one model's operations at one stage. Stages differ: the
 * first has the embedding, the last the head, and layers may be uneven. */
typedef struct rlf_pipe_cost {
    double forward, backward; /* any unit */
    double send;    /* between this stage and the next, either way, where they
                     * are at two places */
    double memory;  /* kept from forward to backward, or to weights */
    double weights; /* seconds of a model that splits backward: what backward
                       then lacks */
} rlf_pipe_cost;

typedef struct rlf_pipe_report {
    double makespan;
    double span;   /* seconds of the place that is at it longest, from its first
                      operation's start to its last one's end */
    double busy;   /* summed over places */
    double bubble; /* 1 - busy / (places makespan) */
    double *peak;  /* memory per place */
} rlf_pipe_report;

/* One model named "model", its path 0..pp-1; in `arena`. */
void rlf_pipe_gpipe(int pp, int micros, rlf_arena *arena, rlf_pipe *out);
void rlf_pipe_forward(int pp, int micros, rlf_arena *arena, rlf_pipe *out);
void rlf_pipe_1f1b(int pp, int micros, rlf_arena *arena, rlf_pipe *out);
/* `chunks` stages a place, in turns of pp micro-batches. */
void rlf_pipe_interleaved(int pp, int micros, int chunks, rlf_arena *arena,
                          rlf_pipe *out);
/* The hand-made schedules of Zero Bubble Pipeline Parallelism (arXiv
 * 2401.10241), whose backward is split: depth 1 is ZB-H1, which holds no more
 * than pp micro-batches, depth 2 is ZB-H2, 2 pp - 1. */
void rlf_pipe_zero_bubble(int pp, int micros, int depth, rlf_arena *arena,
                          rlf_pipe *out);
/* ZB-V of the same paper: two chunks a place, down the places and up again, so
 * that the first place has the first stage and the last. It holds no more than
 * 2 pp micro-batches of a chunk, as many bytes as ZB-H1. */
void rlf_pipe_vee(int pp, int micros, rlf_arena *arena, rlf_pipe *out);
/* The schedule of this name in engine/graph/schedule.def; `chunks` is for those
 * that ask for it. RLF_USER for another name. */
rlf_status rlf_pipe_named(const char *schedule, int pp, int micros, int chunks,
                          rlf_arena *arena, rlf_err *err, rlf_pipe *out);
/* The same table with only the first micros[model] micro-batches of each model
 * (no more than it has). What was valid stays valid: see README. Outside of
 * pipe_make.c only tests call it, with several models. */
void rlf_pipe_limit(const rlf_pipe *pipe, const int *micros, rlf_arena *arena,
                    rlf_pipe *out);
/* The same table for any number of micro-batches: one pass through it after the
 * other, as often as it takes, the last one limited. Nothing is held between
 * passes, so no place ever holds more than the table does. */
void rlf_pipe_serve(const rlf_pipe *pipe, const int *micros, rlf_arena *arena,
                    rlf_pipe *out);
/* Only forward, of one model of a table alone, micros of them in the order of
 * an interleaved schedule; the other models have empty lists. */
void rlf_pipe_reading(const rlf_pipe *pipe, int model, int micros,
                      rlf_arena *arena, rlf_pipe *out);
/* The text form (README); `name` is the file's, for errors. What is read has
 * still to be checked. */
rlf_status rlf_pipe_read(const char *text, const char *name, rlf_arena *arena,
                         rlf_err *err, rlf_pipe *out);
void rlf_pipe_print(const rlf_pipe *pipe, rlf_buf *out);
/* The same in one line, as a row has it (rlf_place_is_table). */
void rlf_pipe_print_row(const rlf_pipe *pipe, rlf_buf *out);

/* RLF_USER with a sentence on the first thing that is wrong, unless the table
 * can be run: every operation exactly once and at its stage's place; backward
 * after forward, and weights after backward; a model's micro-batches backward
 * in index order on each chunk, and so their weights (else sums would depend on
 * the schedule); no place waits for ever; no place holds more than cap[place]
 * of the memory of cost[model][stage] (cost or cap NULL: no limit). */
rlf_status rlf_pipe_check(const rlf_pipe *pipe,
                          const rlf_pipe_cost *const *cost, const double *cap,
                          rlf_err *err);
/* Times a checked table whose operations start as soon as they can, with
 * cost[model][stage]. `peak` is in `arena`; so are the lists start[place], if
 * `start` is not NULL: when each operation of the place's list starts. */
void rlf_pipe_time(const rlf_pipe *pipe, const rlf_pipe_cost *const *cost,
                   rlf_arena *arena, rlf_pipe_report *out, double **start);
/* Costs by model and stage where all stages of a model cost the same:
 * cost[model]; in `arena`. */
const rlf_pipe_cost *const *rlf_pipe_even(const rlf_pipe *pipe,
                                          const rlf_pipe_cost *cost,
                                          rlf_arena *arena);
/* Micro-batches that `chunk` of a model at a place holds at most, from forward
 * to the last of their operations there. */
int rlf_pipe_held(const rlf_pipe *pipe, int model, int place, int chunk);
/* Returns the most micro-batches of a model that splits which lie between
 * backward and weights there. */
int rlf_pipe_owed(const rlf_pipe *pipe, int model, int place, int chunk);
/* The other end of a message: stage -1 if there is none. */
typedef struct rlf_pipe_peer {
    int stage, channel;
} rlf_pipe_peer;

/* The messages by which an operation of a place meets its neighbours. Messages
 * between two places that have one channel go one way, and are sent in the
 * order of the receiver's forwards of their micro-batches: so whatever the
 * lists' orders are, it may start to receive `in` when it has done so for the
 * forwards before in its list, and `back` at the forward. */
typedef struct rlf_pipe_link {
    rlf_pipe_peer in, back; /* peers of a forward: of its input, and of its
                               output's gradient */
    rlf_pipe_peer out;      /* the peer of its result */
} rlf_pipe_link;
/* A table that needs more channels is not run. One that needs no more does not
 * either when it serves other numbers of micro-batches: channels are as many as
 * the longest series of messages that are awaited in the opposite of the order
 * in which they are sent, and those of later passes are sent later. */
enum { RLF_PIPE_CHANNELS = 512 };
/* Lists the links of each operation of a place of a checked table, or of one
 * for reading; *channels: how many the table has. */
rlf_pipe_link *rlf_pipe_links(const rlf_pipe *pipe, int place, rlf_arena *arena,
                              int *channels);
/* The stage that `chunk` of a model at a place is, or -1. */
int rlf_pipe_stage(const rlf_pipe_model *model, int place, int chunk);

#endif

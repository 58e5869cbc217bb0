/* A run that is simulated: the real controller, ranks on a virtual clock
 * (ranks.h), and seconds that somebody says things take.
 *
 * Rows and turns are those of a step at the caps (engine/order/answer.h); only
 * prompts and responses have lengths of their own, drawn by seed, step and row,
 * and a split cuts its set in order. What a rank does takes what
 * `rlf_durations` says of it; an update takes what its pipeline's table does
 * with the times of its stages. Of memory only the pages of keys and values are
 * looked at: who has none waits. */
#ifndef RLF_SIMULATE_SIMULATE_H
#define RLF_SIMULATE_SIMULATE_H

#include "engine/graph/sizes.h"
#include "engine/simulate/ranks.h"
#include "engine/timing/workload.h"

typedef enum rlf_portion_kind {
    RLF_PORTION_ROWS, /* all that is done for some rows, or of a node without */
    /* A micro-batch through a chunk of the model, of an update and (FORWARD) of
     * a call that reads in a pipeline. BEFORE: where all is read first. */
    RLF_PORTION_BEFORE,
    RLF_PORTION_FORWARD,
    RLF_PORTION_BACKWARD, /* both gradients, or of a schedule that splits it */
    RLF_PORTION_WEIGHTS,  /* all but those of weights, which are asked for so */
    RLF_PORTION_FINISH,   /* what follows all micro-batches of an update */
    RLF_PORTION_OPEN,     /* the outputs of a call are made */
    RLF_PORTION_STEP, /* the step of a rank apart from all calls; it has no node
                       */
} rlf_portion_kind;

/* A part of a call on one rank. */
typedef struct rlf_portion {
    rlf_portion_kind kind;
    const rlf_node *node;
    int rank;
    double rows; /* rows on average; of a micro-batch no whole number */
    double prompt, response; /* tokens of each, on average */
    double each; /* of a reading: rows that share a prompt, on average; 0: it is
                    none */
    int chunk;
    int micros; /* FORWARD, BEFORE: micro-batches of the pass */
    bool all; /* ROWS: nobody has picked rows */
} rlf_portion;

/* Seconds. A function that is NULL: it takes no time. */
typedef struct rlf_durations {
    void *self;
    double (*portion)(void *self, const rlf_portion *portion);
    double (*turn)(void *self, const rlf_turn *turn);
    /* A message between ranks; what a stage makes of a micro-batch going
     * FORWARD, to the rank that has the next. */
    double (*message)(void *self, int from, int to, double bytes);
    /* Seconds that a rank itself works for the messages of an edge, besides. */
    double (*edge)(void *self, int rank, double bytes, int messages);
    double (*stage)(void *self, const rlf_portion *portion, int to);
    /* WEIGHTS, all of it; MOVE, what a rank gives and takes. */
    double (*weights)(void *self, const rlf_rank_command *command);
    double (*handover)(void *self, const rlf_node *node, int rank,
                       uint32_t samples, uint64_t tokens);
    double post; /* seconds of the controller for each command */
    double mail; /* a command to its rank, or a report to the controller */
    int cores;   /* cores that all ranks share; 0: each has its own */
    bool other;  /* portions of OPEN and STEP are asked for, too */
    bool known;  /* the same portion always takes as long, and nobody counts how
                    often it is asked for: it may be asked for once */
} rlf_durations;

/* The kinds of a rank's time. */
typedef enum rlf_spent {
    RLF_SPENT_GENERATE,
    RLF_SPENT_READ,
    RLF_SPENT_TRAIN,
    RLF_SPENT_HOOK,
    RLF_SPENT_OTHER,
    RLF_SPENT_MESSAGES, /* edges, and samples that go to other replicas */
    RLF_SPENT_WEIGHTS,
    RLF_SPENT_BUBBLE, /* waiting in an update or call for other ranks of it */
    RLF_SPENTS
} rlf_spent;
extern const char *const rlf_spent_words[RLF_SPENTS];

/* Of one rank, from `from` to `to`. */
typedef struct rlf_span_spent {
    int rank;
    rlf_spent kind;
    const rlf_node *node; /* NULL: none */
    uint64_t step, command;
    double from, to;
    double bubble;  /* of that, seconds of waiting for other stages */
    double work;    /* seconds of a core, of which others may take some */
    uint32_t turns; /* turns of a generation, else 0 */
    uint32_t rows;  /* rows at work in these turns */
} rlf_span_spent;

typedef struct rlf_simulated rlf_simulated;
typedef struct rlf_simulate_options {
    const rlf_plan *plan;
    const rlf_sizes *sizes;
    const rlf_durations *durations;
    const rlf_workload *workload; /* NULL: all as long as can be */
    uint64_t seed;
    rlf_policy policy;
    /* Not 0: all steps have those blocks of `every` and `if` that a late step
     * of this number has, as far as numbers alone decide (rlf_answers.number).
     */
    uint64_t number;
    uint32_t steps; /* the number of steps, at least 1; with `spread` at most so
                       many */
    /* Not 0: no more steps when those behind the first `warm` tell how long one
     * takes to this part of it (rlf_simulated_spread). */
    double spread;
    uint32_t warm;
    /* Asked after each step behind those: true, and no more of them. NULL:
     * nobody is. */
    void *arg; /* the argument of `enough` */
    bool (*enough)(void *arg, const rlf_simulated *so_far);
    const uint32_t *seats; /* per node, of generations: samples that a replica
                              can have at work, 0: all; NULL: all */
    const rlf_page_room *pages; /* per node, of generations: what a replica has;
                                   NULL: there is no limit */
    const uint32_t *rooms; /* per node, of what reads or trains: tokens of a
                              micro-batch; NULL, or 0: as place or plan say */
    /* NULL: nobody looks. */
    void *self;
    void (*see)(void *self, const rlf_span_spent *span);
    void (*posted)(void *self, const rlf_rank_command *command,
                   const rlf_control *control);
} rlf_simulate_options;

/* Counts of what one step consumes, whenever it was made: of some steps
 * together, their mean. */
typedef struct rlf_step_counts {
    double samples, tokens; /* generated */
    double trained;         /* tokens that updates read, prompts among them */
    double messages, bytes; /* bytes INFINITY: nothing bounds them */
    double moved;           /* samples that went to another replica */
} rlf_step_counts;

/* Turns of a generation in which samples wait for pages. */
typedef struct rlf_page_waits {
    double turns;     /* turns of all ranks and steps */
    double rows;      /* samples at work in them, summed */
    uint32_t waiting; /* samples of a replica that waited at once, at most */
} rlf_page_waits;

/* Messages and weights of all steps together, as rlf_traffic_count counts them;
 * with samples ahead also what is made for steps that are not run. */
struct rlf_simulated {
    uint32_t steps;
    double *ends;                /* per step: seconds since the beginning */
    rlf_step_counts *counts;     /* per step */
    double (*spent)[RLF_SPENTS]; /* per rank */
    uint64_t samples, tokens;    /* generated */
    uint64_t commands, messages, weights;
    double bytes;      /* bytes of messages; INFINITY: nothing bounds them */
    uint64_t moved;    /* samples that went to another replica */
    uint32_t *waiting; /* per node: samples of a replica that waited for a seat
                          at once, at most */
    rlf_page_waits *paged; /* per node: those that waited for pages instead */
    rlf_digest digest;     /* the digest of all that every rank did, and when */
};

/* In `arena`. RLF_BUG if the run stands still. */
rlf_status rlf_simulate(const rlf_simulate_options *options, rlf_arena *arena,
                        rlf_err *err, rlf_simulated *out);

/* The standard error of the mean of the steps behind the first `warm`, as a
 * part of it. 0 if they are alike, and two or more; else INFINITY of fewer than
 * four.
 */
double rlf_simulated_spread(const rlf_simulated *simulated, uint32_t warm);
/* Of a step behind the first `warm`, of which there are some. */
rlf_step_counts rlf_simulated_counts(const rlf_simulated *simulated,
                                     uint32_t warm);

#endif

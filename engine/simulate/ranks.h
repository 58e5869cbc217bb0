/* Ranks that carry out a controller's commands on a virtual clock and compute
 * nothing: who waits for whom, and when everything is done.
 *
 * The controller is the one of a run (engine/order), and what a rank has of a
 * command is what it has in a run (part.h). A rank takes its commands in order.
 * Those who meet in one begin when all have come: the replica of a share, all
 * of an update, both ends of samples that move, all who have weights that move.
 * Who receives rows begins when all senders have come, who sends some at once. A
 * generation goes on turn by turn; before each the first rank of its replica
 * looks for a command, and all leave it together (engine/sched/rank_threads.c).
 * Turns in which nothing arrives and no sample ends are taken in one jump.
 * Samples begin in order while there are pages for them; when pages run out the
 * last ones give up theirs, and are computed again later
 * (nodes/model/generate.c).
 *
 * The caller's functions give the time of each piece of work, the lengths of
 * responses and the answers of ranks; here is no randomness, no clock and no
 * data. */
#ifndef RLF_SIMULATE_RANKS_H
#define RLF_SIMULATE_RANKS_H

#include "engine/order/part.h"

/* A task of a rank: its part in a command, which it is about to carry out. */
typedef struct rlf_rank_task {
    int rank;
    const rlf_rank_command *command;
    const rlf_rank_part *part;
    const rlf_rank_command *const *joint; /* RUN: those before it that are
                                     carried out together with it */
    int n_joint;
    uint32_t samples; /* MOVE: that go from here or come here, */
    uint64_t tokens;  /* tokens of these samples */
} rlf_rank_task;

/* A turn of a generation: every sample gets a token. */
typedef struct rlf_turn {
    const rlf_node *node;
    const int *ranks; /* the ranks of the replica */
    int n_ranks;
    uint32_t rows;    /* sequences that are fed their last token */
    uint32_t prompts; /* sequences that begin: their prompts are fed, */
    double prompt;    /* tokens of a prompt, on average */
    double context;   /* tokens before the one that is fed, on average */
} rlf_turn;

/* A sample as it will be. */
typedef struct rlf_length {
    uint32_t prompt, response; /* tokens; a response has at least one */
    uint32_t group; /* neighbouring samples of one group share a prompt */
} rlf_length;

/* Pages of keys and values that a replica has. */
typedef struct rlf_page_room {
    uint64_t pages;
    uint64_t longest; /* pages of the longest sequence: at least so many */
    uint32_t tokens;  /* tokens in a page; 0: there is no limit */
} rlf_page_room;

typedef enum rlf_seen_kind {
    RLF_SEEN_COME, /* the rank stands at the command, since `from` */
    RLF_SEEN_DONE, /* the rank has carried out a command, from `from` to `to` */
    RLF_SEEN_TURNS, /* turns of the generation that the command began, `turns`
                       of them, with `row` samples at work */
    RLF_SEEN_MADE,  /* sample `row` is complete on it */
    RLF_SEEN_GIVEN, /* MOVE: sample `row` leaves the rank's replica, */
    RLF_SEEN_TAKEN, /* a sample was taken to the replica of another */
} rlf_seen_kind;

typedef struct rlf_seen {
    rlf_seen_kind kind;
    int rank;
    const rlf_rank_command *command;
    double from, to;
    double work; /* DONE, TURNS: seconds of a core that the rank took */
    uint32_t turns, row;
    uint32_t waiting; /* TURNS: samples that had no seat, or no pages */
    bool paged;       /* TURNS: they had no pages */
} rlf_seen;

/* The surroundings of the ranks. Functions may be asked in any order. */
typedef struct rlf_ranks_options {
    void *self;
    /* The report on an OPEN, a RUN (of generations those without rows alone) or
     * an END; arrays last until the next step but `ahead` has begun. */
    rlf_rank_event (*answer)(void *self, const rlf_rank_command *command,
                             int rank);
    rlf_length (*length)(void *self, const rlf_rank_command *command,
                         uint32_t row);
    /* Samples that a replica can have at work; 0: all. */
    uint32_t (*seats)(void *self, const rlf_node *node);
    /* Pages of a replica. NULL: there is no limit. */
    rlf_page_room (*pages)(void *self, const rlf_node *node);
    bool lengths; /* lengths of samples are reported */
    /* Seconds, at least 0. */
    double (*work)(void *self, const rlf_rank_task *task);
    double (*turn)(void *self, const rlf_turn *turn);
    /* Seconds of a message from the controller, and to it; NULL: 0. */
    double (*mail)(void *self, int rank);
    double (*news)(void *self, int rank);
    double post; /* seconds of the controller for each command */
    /* Ranks share so many cores: while more than these are at work, all get on
     * in proportion slower. 0: each has its own. */
    int cores;
    /* The part of the work just asked for in which the rank is at work itself,
     * and does not wait for others of it; NULL: all. */
    double (*part)(void *self, int rank);
    /* Without the rule that a replica leaves its generation together: each
     * member looks for commands by itself, and is told only of what it has a
     * part in. Such ranks hang; a test shows that the rule is needed. */
    bool each_looks;
    /* NULL: nobody looks. */
    void (*see)(void *self, const rlf_seen *seen);
    void (*posted)(void *self, const rlf_rank_command *command,
                   const rlf_rank_part *parts);
} rlf_ranks_options;

typedef struct rlf_ranks rlf_ranks;

/* The control must outlive them; it is theirs to ask and to tell. */
rlf_ranks *rlf_ranks_new(rlf_control *control,
                         const rlf_ranks_options *options);
void rlf_ranks_free(rlf_ranks *ranks); /* NULL is fine */
/* Begin a step. Returns as rlf_control_begin. */
int rlf_ranks_begin(rlf_ranks *ranks);
/* Runs until the step, or what was begun with rlf_control_settle, has ended.
 * False: it never does, since nothing can happen any more. */
bool rlf_ranks_run(rlf_ranks *ranks);
/* Prints where ranks stand that have something to do: a line for each, its
 * command and how many more it was sent. For messages about ranks that stand
 * still. */
void rlf_ranks_print(const rlf_ranks *ranks, rlf_buf *out);
/* Seconds since the first step began. */
double rlf_ranks_now(const rlf_ranks *ranks);

#endif

/* The state of a simulated run, shared by simulate.c (life, what work takes,
 * accounts), sequences.c (how long rows are) and micro_batches.c
 * (micro-batches). */
#ifndef RLF_SIMULATE_SIMULATE_STATE_H
#define RLF_SIMULATE_SIMULATE_STATE_H

#include "engine/base/vec.h"
#include "engine/graph/class.h"
#include "engine/order/answer.h"
#include "engine/simulate/simulate.h"

/* The rows that an instance is made of: row i is list[(first + i) % n_list]. */
typedef struct sequences {
    bool known;             /* looked for */
    bool even;              /* all of the list are as long as the first */
    const rlf_length *list; /* NULL: it has none */
    uint32_t n_list, first, n;
    uint32_t sets; /* a model reads so many sets by turns, of which each has
                      these rows: n counts all of them. 0: one */
} sequences;

/* The time of a command that many ranks carry out together, found once. */
typedef struct passes {
    uint64_t n; /* the number of the command, + 1 */
    double seconds;
    double *busy; /* per rank: of that at work; the rest it waits for stages */
} passes;

/* The ranks that report the samples of a generation, found once for all of
 * them. */
typedef struct reporters {
    uint64_t n;  /* the number of the command, + 1 */
    int *shares; /* per rank: so many of its shares do */
} reporters;

/* The rows of one replica, as micro-batches that are all alike. */
typedef struct micros {
    int n;
    /* Rows of one; tokens of each row's prompt and response; rows of a reading
     * that share a prompt. */
    double rows, prompt, response, each;
} micros;

/* Seconds that updates which are carried out together last took. */
typedef struct updates {
    int n; /* 0: nothing yet */
    const rlf_node **node;
    micros **micros; /* per node and replica */
    double seconds;
    double *busy; /* per rank */
} updates;

/* The reading that a replica last did in a pipeline. */
typedef struct reading {
    uint64_t n; /* the number of the command, + 1; 0: nothing yet */
    const uint32_t *rows;
    micros micros;
    double seconds;
    double *busy; /* per stage */
} reading;

/* Tokens of some rows, which every message with them asks for at both of its
 * ends. All of a step's rows stay where they are while it lasts. */
enum { RLF_SIM_SUMS = 1 << 10 };
typedef struct row_sum {
    /* Lengths of the sequences, from `first` on; NULL: none. */
    const rlf_length *list;
    const uint32_t *rows;
    uint32_t first, n;
    uint64_t prompt, response;
} row_sum;

typedef struct simulation {
    const rlf_simulate_options *options;
    const rlf_plan *plan;
    const rlf_graph *graph;
    rlf_answers answers;
    rlf_control *control;
    rlf_ranks *ranks;
    rlf_arena *arena; /* the arena of what lasts for the whole simulation */
    rlf_arena **step_arenas; /* arenas of what is known of a step's instances */
    int n_steps;
    uint64_t step;
    RLF_VEC(sequences) sequences; /* per instance */
    passes passes;
    reporters reporters;
    updates *updates;   /* per node, of which it is the last */
    reading **readings; /* per node and replica; NULL: it has not read yet */
    row_sum *sums;      /* sums of this step, by a hash of their rows */
    double *bubble;     /* per rank: the part of the command that it works on in
                           which     it waits for other stages and replicas */
    rlf_simulated *out;
} simulation;

static inline const rlf_instance *
rlf_sim_instance(const simulation *s, int instance)
{
    return rlf_order_instance(rlf_control_order(s->control), instance);
}

/* ---- sequences.c ---- */

/* The step that an instance is of, or made for. */
uint64_t rlf_sim_step(const simulation *s, int instance);
/* A command that tells more of its instance was made. */
void rlf_sim_note(simulation *s, const rlf_rank_command *command);
/* Lengths of the rows of an instance. */
sequences rlf_sim_sequences(simulation *s, int instance);
/* Of what an instance reads: of an update the sets that it trains on first. */
sequences rlf_sim_read(simulation *s, int instance);
static inline rlf_length
rlf_sim_length(const sequences *q, uint32_t row)
{
    uint32_t at = q->first + (q->sets ? row / q->sets : row);
    if (!q->list)
        return (rlf_length){0};
    return q->list[at < q->n_list ? at : at % q->n_list];
}

/* ---- micro_batches.c ---- */

/* How many of a reading's rows share a prompt, on average: those that follow
 * one another in the order in which they are read. `rows` NULL: all n. */
double rlf_sim_each(const sequences *q, const uint32_t *rows, uint32_t n);

/* The updates of these commands of one instance each, carried out together. */
const passes *rlf_sim_update(simulation *s, const rlf_rank_task *task);
/* A replica reads rows in a pipeline. */
double rlf_sim_reading(simulation *s, const rlf_rank_task *task, double *busy);

#endif

/* Placement: what a program's `place` declarations, or a plan file, say.
 *
 * Data only, checked by the grammar: models are there, calls are made, ranks
 * are distinct, tp * pp * dp is their number. Whether a run has those ranks,
 * and what is decided where nothing is said, is engine/plan's matter.
 *
 * A row places one kind of call of a model or, without a call, all calls of
 * the model that have no row of their own. */
#ifndef RLF_GRAPH_PLACE_H
#define RLF_GRAPH_PLACE_H

#include "engine/graph/graph.h"

/* The strategies by which the planner places what no row does. */
typedef enum rlf_strategy {
    RLF_STRATEGY_NONE,       /* nothing said */
    RLF_STRATEGY_FLATTEN,    /* every call on all ranks, one after another */
    RLF_STRATEGY_INTERLEAVE, /* calls that do not need each other apart */
    RLF_STRATEGY_SEPARATE,   /* training apart from sampling and reading, which
                                have copies of the weights */
    RLF_STRATEGY_AUTO,       /* the search finds it for the devices at hand
                                (engine/api/searching/auto.c) */
    RLF_STRATEGIES
} rlf_strategy;

/* The ways in which a sample in the making goes to another replica. */
typedef enum rlf_carry {
    RLF_CARRY_CHEAPER, /* nothing said: as costs less */
    RLF_CARRY_PAGES,   /* pages of keys and values are carried along */
    RLF_CARRY_TOKENS,  /* tokens are carried, and computed again */
    RLF_CARRIES
} rlf_carry;

/* "pages"; NULL for CHEAPER. */
const char *rlf_carry_word(rlf_carry carry);
/* "flatten"; "" for NONE. */
const char *rlf_strategy_word(rlf_strategy strategy);

struct rlf_place_row {
    int model;                  /* resource */
    const rlf_node_class *call; /* NULL: the whole model */
    const int *ranks;           /* n_ranks, ascending, distinct */
    int n_ranks;
    int tp, pp, dp; /* their product is n_ranks */
    int zero;       /* stage of the optimizer's sharding over dp; -1: not said
                       (so it is with everything below) */
    int tokens;     /* tokens of a micro-batch at most */
    int migrate;    /* generation: with fewer samples left, replicas hand theirs
                       over to those that have the most; 0: never; not
                       said: as the run shows that it pays */
    int seats;      /* generation: samples that a replica then takes at most */
    rlf_carry carry;
    const char *schedule; /* the schedule of a pipeline: a rlf_place_schedule,
                             or "table"; or NULL */
    const char *table; /* schedule "table": its file, as it is to be opened, or
                          the table itself */
    int chunks;    /* schedule "interleaved": parts of the layers a rank has */
    int recompute; /* 1: a training pass keeps only each layer's input */
    int offload;   /* 1: the weights lie in host memory between calls */
    /* Of a whole model only; powers of two (nodes/model/README.md). */
    int shards, lanes;
    rlf_span span;
};

struct rlf_placement {
    rlf_strategy strategy;
    rlf_span span;       /* the place of the strategy */
    rlf_place_row *rows; /* rows in the order of the text; beside `auto` none,
                            until they are found */
    int n_rows;
    /* The rows as they are written, for a search to keep: without ranks
     * (n_ranks 0) it finds them, and a tp, pp or dp of -1 was not said. */
    rlf_place_row *pins;
    int n_pins;
};

/* Name i of schedule.def; NULL behind the last. */
const char *rlf_place_schedule(size_t i);
/* Is the text of a schedule a table itself, and no path? It begins with how
 * many places there are, and semicolons end its lines. */
bool rlf_place_is_table(const char *text);
/* A row about which nothing is said but where it is: one rank, number 0. */
rlf_place_row rlf_place_row_new(int model, const rlf_node_class *call);
/* Is it a call of a model that a row can place? */
bool rlf_place_can(const rlf_node *node);
/* Is it one of that model, and works with the weights itself? What reads
 * distributions that `logprobs` only names is asked for below. */
bool rlf_place_calls(const rlf_node *node, int model);
/* Does it take the model's weights to read distributions over the vocabulary,
 * those of the model that it trains apart? */
bool rlf_place_reads_words(const rlf_node *node, int model);
/* Does it take the weights of that model, on which it is not called, to where
 * its own are: to read such distributions, or as a term of `:=`? */
bool rlf_place_borrows(const rlf_node *node, int model);
/* The row that places calls of `call` on `model`: its own or the model's.
 * NULL: none. With `call` NULL the row of the whole model. */
const rlf_place_row *rlf_placement_find(const rlf_placement *placement,
                                        int model, const rlf_node_class *call);
/* The same of rows that a search has to keep: what a row of the call says
 * stands instead of all that the model's says. */
const rlf_place_row *rlf_placement_pin(const rlf_placement *placement,
                                       int model, const rlf_node_class *call);
/* "actor.update on 0..7 (tp: 4, pp: 2, dp: 1)", as it is written in a place
 * block. */
void rlf_place_row_print(const rlf_graph *graph, const rlf_place_row *row,
                         rlf_buf *out);
/* All of it as text, or as a JSON object; beside `auto`, what it has to keep
 * until there are rows. Nothing said: nothing, or null. */
void rlf_placement_print(const rlf_graph *graph, rlf_buf *out);
void rlf_placement_json(const rlf_graph *graph, rlf_buf *out);

#endif

/* The state of ranks on a virtual clock, shared by ranks.c (commands, who
 * meets, events) and generations.c (generations). */
#ifndef RLF_SIMULATE_RANKS_STATE_H
#define RLF_SIMULATE_RANKS_STATE_H

#include "engine/base/vec.h"
#include "engine/graph/class.h"
#include "engine/simulate/ranks.h"

/* The kinds of events. At the same time what ends comes first, then what was
 * reported is heard, then who is free looks what is next. */
typedef enum event_kind { END_WORK, END_TURNS, HEAR, LOOK } event_kind;

typedef struct generation generation;

typedef struct event {
    double at;
    event_kind kind;
    int rank;
    uint64_t n;       /* HEAR: the number of the command */
    uint64_t number;  /* counts events in the order in which they were made */
    uint64_t version; /* END_TURNS: that of the generation's jump, whose leader
                         is `rank` */
    rlf_rank_event said;
} event;

/* Samples that a MOVE takes away, found when the first of both sides begins. */
typedef struct migration migration;

/* A command, and how far the ranks are with it. */
typedef struct command_progress {
    const rlf_rank_command *command;
    const rlf_node *node; /* the node of the command's instance, or NULL */
    rlf_rank_part *parts; /* per rank */
    bool *came;           /* per rank */
    int *group;   /* per rank: the group of ranks that meet; -1: it waits for
                     nobody */
    int *missing; /* ranks that have not come: per group; of EDGE and MOVE per
                     rank */
    generation **opened;  /* per group */
    migration *migrations;
} command_progress;

typedef struct mail {
    command_progress *progress;
    double at; /* the time, seconds, at which it is there */
} mail;

typedef struct sample {
    uint32_t row;
    uint32_t made;    /* tokens of the response so far */
    uint32_t context; /* tokens of prompt and response so far */
    bool again; /* its pages are gone, and all that it has is computed again */
    rlf_length length;
} sample;

/* A replica that samples, or did. */
struct generation {
    command_progress *progress;
    int *ranks, n_ranks; /* ranks in the order of the shares; the first leads */
    size_t step;         /* the index of its step, step % n_steps */
    RLF_VEC(sample) active;
    RLF_VEC(sample) waiting; /* samples that wait, from `next` on */
    size_t next;
    RLF_VEC(command_progress *)
    said; /* commands that the leader named before each turn; NULL: go on */
    int come;  /* number of members that are at the next turn */
    bool open; /* there are samples to make */
    bool in_turns;
    double began, first, slope; /* turn i takes first + i slope */
    double start; /* the start, as `began`, in seconds of work that ranks have
                     got */
    uint32_t turns;     /* number of turns in this jump */
    uint32_t fed;       /* tokens that a turn of the jump feeds */
    uint32_t fresh;     /* samples that begin with the jump */
    rlf_page_room room; /* the pages of the replica */
    bool paged;         /* samples that wait do so for pages */
    uint64_t version;   /* number of the jump, of which no other has the same */
    uint32_t prompts;   /* prompts that the jump feeds */
    double keys;        /* keys that the tokens of its first turn look at */
    rlf_turns seen, decodes; /* turns since the last report */
    generation *older; /* the next of the list of all generations of a step */
};

typedef struct rank_state {
    RLF_VEC(mail) mail; /* messages, from `next` on */
    size_t next;
    double heard;          /* the time at which the last of the mail is there */
    command_progress *now; /* the command that it stands at, or works on */
    double began; /* time at which that work began; < 0: it waits for others */
    double part;  /* part, 0 to 1, of that work in which it needs a core */
    double work;  /* seconds of that work in which it needs a core */
    generation *of; /* the last generation that it was a member of */
    bool open;      /* after its last command it has samples of `of` to make */
    size_t read;    /* number of entries of `of->said` that it has read */
    bool at_turn;   /* it waits for the others of its replica before a turn */
    RLF_VEC(command_progress *) joint;
} rank_state;

struct rlf_ranks {
    rlf_control *control;
    rlf_ranks_options options;
    const rlf_plan *plan;
    int n;
    rank_state *list;
    /* Heaps. Where ranks share cores the ends of work are apart, by how much
     * each rank at work has got so far. */
    RLF_VEC(event) events;
    RLF_VEC(event) ends;
    double served;   /* seconds that each rank at work has got so far */
    double demand;   /* cores that ranks at work need */
    uint64_t number; /* the number of the last event that was made */
    double now;      /* the clock, seconds */
    double free;     /* the time at which the controller is free */
    rlf_arena **arenas;
    generation **generations; /* per arena, to be freed with it */
    int n_steps;
    uint64_t step;
    rlf_arena *arena;
};

/* ---- ranks.c ---- */

void rlf_ranks_schedule(rlf_ranks *r, event e);
/* The end of work: `at` is by what ranks at work have got, which is the time
 * itself where each has a core. */
void rlf_ranks_schedule_end(rlf_ranks *r, event e);
/* The seconds that a rank at work has got now, and will have at a time, if no
 * other begins or ends. */
double rlf_ranks_served(const rlf_ranks *r, double at);
/* Counts that so many ranks more, or less, are at work. */
void rlf_ranks_demand(rlf_ranks *r, double more);
void rlf_ranks_report(rlf_ranks *r, rlf_rank_event said);
void rlf_ranks_see(const rlf_ranks *r, rlf_seen seen);
/* The next command of a rank if it is there, else NULL. */
command_progress *rlf_ranks_next_mail(const rlf_ranks *r, int rank);
/* The rank stands at its next command. */
void rlf_ranks_take(rlf_ranks *r, int rank);

/* ---- generations.c ---- */

/* A rank has its share of a generation. */
void rlf_ranks_open(rlf_ranks *r, int rank, command_progress *l);
/* A member of an open generation is free: it takes a command, or waits for the
 * turn that comes next. */
void rlf_ranks_between(rlf_ranks *r, int rank);
void rlf_ranks_end_turns(rlf_ranks *r, generation *g);
/* Something is there for a rank at that time: turns end for it. */
void rlf_ranks_shorten(rlf_ranks *r, int rank, double at);
/* Counts what goes with the moves of a rank, both ways, into task->samples,
 * tokens. */
void rlf_ranks_give(rlf_ranks *r, command_progress *l, rlf_rank_task *task);
/* The rank has what came. */
void rlf_ranks_take_over(rlf_ranks *r, int rank, command_progress *l);
void rlf_ranks_free_generation(generation *g);

/* ---- pages.c ---- */

/* Pages of the samples at work, `turns` turns later: those of a prompt that
 * several share count once. */
uint64_t rlf_ranks_pages(const generation *g, uint32_t turns);
/* Pages that one more, behind the last at work, takes as it begins. */
uint64_t rlf_ranks_pages_more(const generation *g, const sample *s);
/* The last at work give up their pages and wait, until there are enough for the
 * next turn. */
void rlf_ranks_preempt(generation *g);
/* Returns the number of turns, of so many, for which there are pages; at least
 * 1. */
uint32_t rlf_ranks_paged_turns(const generation *g, uint32_t turns);

#endif

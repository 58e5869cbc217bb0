/* The problem of the search, as data: calls, and for each the ways to run it.
 *
 * A call is one run of a model a step (generate, logprob, value, update); a
 * choice for it says on which ranks it runs, how it is cut there, how long it
 * takes and what it keeps. A placement is one choice a call. Who makes a
 * problem of a program and a cluster knows graphs and costs; here are numbers
 * alone, so that whoever searches can be held against enumeration. */
#ifndef RLF_SEARCH_PROBLEM_H
#define RLF_SEARCH_PROBLEM_H

#include "engine/base/arena.h"

/* The most calls of a problem: sets of calls are bits of a word. */
enum { RLF_SEARCH_CALLS = 32 };
/* Weights are read at most that many steps after they were made. */
enum { RLF_SEARCH_AHEAD = 12 };

/* Parts of the samples of a generation, in the order in which they are
 * complete: as many as a run looks at (RLF_PIECES of engine/order). */
enum { RLF_CHOICE_PARTS = 8 };

/* Seconds of a generation whose samples wait for pages of keys and values:
 * there are seconds[k] where 1 / rlf_page_parts[k] of all that it has a use for
 * is there. */
enum { RLF_PAGE_PARTS = 14 };
extern const double rlf_page_parts[RLF_PAGE_PARTS];

/* Parts of the replicas of a reading: all, a half, a quarter ... */
enum { RLF_SCATTERS = 8 };
typedef struct rlf_choice_pages {
    double need; /* bytes on each rank with which no sample waits */
    double most; /* bytes that a run takes at most, if there are so many */
    double has;  /* bytes of rlf_choice.own that are there in any case */
    double seconds[RLF_PAGE_PARTS]; /* ascending, from rlf_choice.seconds */
} rlf_choice_pages;

/* Of a generation whose last samples a run may gather on fewer of its replicas,
 * so that the others read what is complete (engine/order/tail.h): from the
 * moment on at which a whole number of parts is complete. */
enum { RLF_GATHERS = 7 };
typedef struct rlf_choice_gathers {
    int n;
    struct {
        int on;          /* replicas that go on: a half, a quarter ... of all */
        int first, last; /* so many parts are complete before at least, and at
                            most; first > last: never */
        double seconds[RLF_CHOICE_PARTS]; /* seconds in which each part is made
                                             then */
    } list[RLF_GATHERS];
    bool always; /* the program says when; else it has to pay */
    double area; /* rank-seconds of the generation, at least */
} rlf_choice_gathers;

/* Messages between the stages of a call, of the stage that sends most: those
 * that are waited for, and all of their bytes. */
typedef struct rlf_choice_messages {
    double n, bytes;
    double spare; /* seconds by which the slowest stage takes longer than it */
} rlf_choice_messages;

/* Bytes of each rank of a stage of an update: weights and all else, and of that
 * those in which other copies of the model lie. */
typedef struct rlf_choice_stage {
    double all, lends;
} rlf_choice_stage;

/* A way to run a call. */
typedef struct rlf_choice {
    int first, count;        /* ranks first .. first + count - 1 */
    /* The cut of the call there; variant: the caller's number. */
    int tp, pp, dp, variant;
    double seconds; /* seconds of one run, > 0 */
    double busy;   /* cores that each rank needs on average in these; 0 where no
                      cores are shared */
    double anew;   /* of `seconds` of a reading: those that each piece of the
                      samples takes again, when it is read by itself */
    /* Seconds more of a reading if samples of a prompt go to several of its
     * replicas, which then all read it: to all replicas, to a half of them, a
     * quarter ... */
    double scattered[RLF_SCATTERS];
    rlf_choice_messages messages; /* n 0: there are none, or all its ranks are
                                     on one machine */
    double filled; /* of `seconds`: those in which a rank is at work, however
                      few its pipeline leaves idle; 0: not known */
    /* Bytes on each of its ranks. */
    double kept; /* bytes of the weights, always: once for all calls of the
                    model with the same ranks and the same cut */
    double own;  /* always, for this call alone: gradients, optimizer */
    double work; /* more while it runs */
    double host; /* bytes of the machine's host for each rank, as `kept` */
    double lends; /* bytes of `own` in which other copies of the model lie */
    /* Of an update in stages, per stage; NULL: all take as much. The bytes above
     * are those of the fullest stage. */
    const rlf_choice_stage *stages;
    const rlf_choice_pages *pages; /* pages of a generation, where memory that
                                      other calls leave matters; else NULL */
    /* Moments of a generation at which samples can be gathered; NULL: there is
     * none. */
    const rlf_choice_gathers *gathers;
    double model_sum; /* seconds of a sum that its model is set to, once its
                    terms are there (rlf_model_sum) */
    int copy; /* the number of the model's copy with these ranks and this cut,
                 made by rlf_problem_close */
    /* Of a generation: after which part of its seconds each part of its samples
     * is complete, ascending to 1. All 0: when it is over. */
    double complete[RLF_CHOICE_PARTS];
} rlf_choice;

/* A model's choices on the same ranks stand together: a span of them. */
typedef struct rlf_mesh_span {
    int first, count; /* the ranks */
    int from, to;     /* choices from .. to - 1 */
} rlf_mesh_span;

typedef enum rlf_stage_kind {
    RLF_STAGE_GENERATE,
    RLF_STAGE_READ,
    RLF_STAGE_UPDATE,
} rlf_stage_kind;

typedef struct rlf_problem_call {
    const char *name;
    int model; /* 0.. */
    rlf_stage_kind kind;
    bool idle; /* nothing runs where it is */
    int ahead; /* it reads weights that many steps older than those of now */
    const int *needs; /* calls before it whose results it reads */
    int n_needs;
    uint32_t follows;    /* generations, as bits, whose samples it reads as they
                            are complete */
    rlf_choice *choices; /* sorted by rlf_problem_close */
    int n_choices;
    int n_others; /* behind them, sorted likewise: ways that others beat on the
                     same ranks. They can be in a placement, but no search puts
                     one there */
    /* Made by rlf_problem_close. */
    rlf_mesh_span *meshes;
    int n_meshes;
    int source;  /* the update whose weights it reads, or the call where the sum
                    is made that its model is set to, or -1 */
    int age;     /* steps by which what it reads is older */
    double fast; /* seconds of its fastest choice */
    double area; /* rank-seconds of the one with the fewest */
    double busy; /* core-seconds of the one with the fewest */
} rlf_problem_call;

/* A model's weights become a sum of models' (`:=`): it is made where they are
 * first, and those of other models go there for it. */
typedef struct rlf_model_sum {
    int model;
    int after;      /* the last call before it in the program; -1: none is */
    int at;         /* the call in whose choice its ranks and cut are */
    uint32_t needs; /* calls, as bits, whose results it reads */
    uint32_t lent;  /* likewise: of each other model the call where its weights
                       are first */
    double share;   /* the part of all steps that have it */
} rlf_model_sum;

enum { RLF_SEARCH_SUMS = 16 };

/* The weights of a call's model go from where it has them to another choice: of
 * a call of the same model, or of one whose model becomes a sum with them. */
typedef struct rlf_problem_move {
    int source;
    const rlf_choice *from, *to;
    bool at_once; /* all layers are needed at once: for a sum, or to wait for a
                     later step */
} rlf_problem_move;

/* The part of a device's memory by which it may be counted too full before it
 * is looked at by stages. */
#define RLF_PROBLEM_NEAR 0.1

typedef struct rlf_problem {
    rlf_problem_call *calls; /* the calls, in the order of the program */
    int n_calls, n_models, devices;
    const rlf_model_sum *model_sums; /* likewise */
    int n_model_sums;
    const double *memory; /* bytes of each device */
    const double *host; /* per device: bytes of its machine's host, that all of
                           its devices share; NULL: not asked */
    const int *machine_of; /* per device, ascending; with `host` */
    /* Made by rlf_problem_close of these: per device the first one of its
     * machine, and the one behind its last. */
    const int *machine_from, *machine_to;
    bool staged; /* ...: some choices have bytes by stage */
    int cores; /* cores that all devices share; 0: each device has its own */
    /* Devices of a machine, a power of two, where all devices are alike, ranks
     * inside a machine are aligned powers of two, and a call has the same
     * choices on both halves of such a block (of all devices if they are two
     * machines): then mirror images are searched once. 0: not so. */
    int machine;
    /* Seconds in which weights go from one choice to another, during which the
     * ranks of both wait. NULL: none. */
    double (*move)(void *arg, const rlf_problem_move *move);
    /* Seconds that the choice `to`, on the same ranks, takes more with all
     * pages, because its parts are made of those of `from`: its stages may lie
     * further from each other, and in more chunks. NULL: none. */
    double (*longer)(void *arg, const rlf_problem_move *move);
    void *arg;
} rlf_problem;

/* Sorts choices, numbers copies, finds sources. RLF_USER, naming the call, if
 * it has no choice, or one outside of the devices, or takes no time, or needs a
 * call that does not come before it, or reads too old weights, or if there are
 * too many calls. */
rlf_status rlf_problem_close(rlf_problem *problem, rlf_arena *arena,
                             rlf_err *err);
/* Takes out of n choices for the same ranks those that another one beats or
 * equals in seconds (with whatever memory for pages), those of them that pieces
 * take again, busy, kept, own and work: what is searched then has all that is
 * best for each call alone, and not each cut that two calls could share.
 * Returns how many are left; their order is kept. */
int rlf_choices_front(rlf_choice *choices, int n);
/* Seconds of a choice whose ranks have so many bytes for its keys and values.
 * More bytes never take longer. */
double rlf_choice_paged(const rlf_choice *choice, double bytes);
/* Rank-seconds that a choice which takes so long keeps its ranks at least. */
static inline double
rlf_choice_area(const rlf_choice *choice, double seconds)
{
    return choice->gathers ? choice->gathers->area : seconds * choice->count;
}
/* Do the two have a rank in common? */
static inline bool
rlf_choices_meet(const rlf_choice *a, const rlf_choice *b)
{
    return a->first < b->first + b->count && b->first < a->first + a->count;
}

#endif

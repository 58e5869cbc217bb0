/* The layouts of one model, while they are measured: private to pareto.c and
 * words.c. */
#ifndef RLF_SEARCH_PARETO_STATE_H
#define RLF_SEARCH_PARETO_STATE_H

#include "engine/search/measure.h"

typedef struct options_of {
    rlf_pareto *pareto;
    rlf_arena *arena;
    rlf_call_measure measure;
    rlf_choice *all[RLF_SEARCH_CALLS]; /* room for those of a mesh */
    int n[RLF_SEARCH_CALLS];
    int seen, meshes;        /* of all models: how many of how many */
    bool may_stop;           /* there are choices for all calls */
    rlf_err *why;            /* per call: the last layout that could not be */
    struct trained *trained; /* updates that were measured for lanes */
} options_of;

/* Devices; with more only words that save memory are looked at. */
enum { RLF_PARETO_MANY = 128 };

static inline bool
rlf_pareto_calls(const options_of *o, int c)
{
    return o->pareto->calls[c].model == o->measure.model;
}

/* None of them, or one. */
static inline bool
rlf_pareto_is_one(int bits)
{
    return !(bits & (bits - 1));
}

/* Measures a layout, with words; its choices are added to those of the calls of
 * `only` (-1: of all). */
void rlf_pareto_look(options_of *o, const rlf_choice *at, int only);
/* Adds words of a place row to the layouts of a call that no other beats; what
 * others beat then is left out. */
void rlf_pareto_vary(options_of *o, int call);

#endif

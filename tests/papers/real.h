/* ReaL's 33 settings by rlflow's counts, with constants fitted to the times of
 * its heuristic plans alone. */
#ifndef RLF_TESTS_PAPERS_REAL_H
#define RLF_TESTS_PAPERS_REAL_H

#include "engine/timing/fit.h"
#include "tests/papers/real_table.h"

/* The cause that the fixed time of a decoding step and of a layer is put down
 * to. In the heuristic's times, all of tp 8, the two cannot be told apart. */
typedef enum real_blamed {
    REAL_BOTH,        /* operations and collectives take longer to start */
    REAL_OPERATIONS,  /* operations do, whatever tp is */
    REAL_COLLECTIVES, /* collectives do, which tp 1 has not */
    REAL_BLAMED
} real_blamed;

/* All families that the settings have, opened once. */
typedef struct real_families {
    /* Families by size and length of responses. */
    papers_family *of[PAPERS_SIZES][3];
    papers_speeds speeds;
    real_blamed blamed; /* the cause by which real_fit scales; real_open sets
                           REAL_BOTH */
} real_families;

void real_open(rlf_arena *arena, real_families *out);
papers_family *real_family(const real_families *all, papers_size size,
                           int response);
/* Fits speeds to the heuristic's times of the settings that `left` (of a size
 * of actor or critic; PAPERS_SIZES: none) leaves, and gives what they say of
 * every setting's. */
void real_fit(real_families *all, papers_size left, double *predicted);
/* Predicts every setting's heuristic plan by the present speeds. */
void real_predict(real_families *all, double *predicted);

/* Seconds of plans for a setting, by these speeds. */
typedef struct real_found {
    double published; /* seconds of the best by ReaL's search, of those that it
                         looks at */
    double same;      /* seconds of the best by rlflow's search, of the same */
    double all;       /* seconds of the best of all; 0: not asked for */
    double gap;       /* the part of that which is not proved */
} real_found;

real_found real_search(real_families *all, const real_setting *setting,
                       bool everything);

/* Spaces of the search: each lacks one thing more than the one before, and the
 * last is the heuristic. */
typedef enum real_space {
    REAL_EVERYTHING, /* all meshes; memory as rlflow counts it */
    REAL_OPTIONS,    /* meshes and cuts that ReaL looks at */
    REAL_MEMORY,     /* memory as its estimator counts it, too */
    REAL_ONE_MESH,   /* all calls on all devices, too */
    REAL_ONE_CUT,    /* all of them cut in the same way, too */
    REAL_SPACES
} real_space;

extern const char *const real_space_words[REAL_SPACES];

/* Seconds of the best plan of that space. `wrong`: its search sees the seconds
 * of every choice times exp(wrong x), x normal, by `seed`; what it then takes
 * for the best is told as it is. INFINITY: nothing fits. */
double real_search_in(real_families *all, const real_setting *setting,
                      real_space space, double wrong, uint64_t seed);

/* Gain over the heuristic, by devices. The figure has the settings of 8 devices
 * twice. */
typedef struct real_gain {
    double ours, published, weight;
} real_gain;

void real_gain_add(real_gain *gain, const real_setting *setting, double ours);

/* Operations by rlflow's counts, as parts of ReaL's: the least and the most of
 * all pairs of one size. */
typedef struct real_flops_check {
    double least, most;
} real_flops_check;

real_flops_check real_flops(real_families *all);

#endif

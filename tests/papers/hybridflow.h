/* The settings in which HybridFlow's figure 12 has models of one size share all
 * devices ("colocate"), or has the actor and the reference on half of them and
 * the critic and the reward model on the other ("split"): PPO on A100, 1024
 * prompts of 1024 tokens, responses of 1024, by the speeds that are fitted to
 * ReaL's times. */
#ifndef RLF_TESTS_PAPERS_HYBRIDFLOW_H
#define RLF_TESTS_PAPERS_HYBRIDFLOW_H

#include "tests/papers/real.h"

typedef struct hybridflow_placed {
    papers_placed colocate, split;
    papers_placed standalone; /* 4 : 2 : 1 : 1, actor, critic, reference,
                                 reward */
    /* actor, reference and reward on one half, the critic on the other */
    papers_placed critic_apart;
} hybridflow_placed;

/* `critic`: the family of critic and reward model, or `actor` again. `more`:
 * bytes that each device has besides. */
hybridflow_placed hybridflow_place(papers_family *actor, papers_family *critic,
                                   int devices, double more);
papers_family *hybridflow_open(papers_size size, const papers_speeds *speeds,
                               rlf_arena *arena);

/* Figure 15: seconds of a generation on 16 devices in groups of `tg`, with as
 * many waves as keys and values need beside weights that are trained on 1-8-2.
 */
double hybridflow_generate(papers_family *family, papers_size size, int tg,
                           int *waves);

/* Table 2: the part of an actor that each rank receives from training on (p, t,
 * d) to generation on `tg` ranks a replica, by rlf_realloc_make, and the part
 * that it then has; -1: ranks differ. */
double hybridflow_volume(int p, int t, int d, int tg, double *peak);

#endif

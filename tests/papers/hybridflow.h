/* Where HybridFlow's figure 12 has models of one size share all devices
 * ("colocate") or the actor and the reference on half of them, the critic and
 * the reward model on the other ("split"): PPO on A100, 1024 prompts of 1024
 * tokens, responses of 1024, by the speeds that are fitted to ReaL's times. */
#ifndef RLF_TESTS_PAPERS_HYBRIDFLOW_H
#define RLF_TESTS_PAPERS_HYBRIDFLOW_H

#include "tests/papers/real.h"

typedef struct hybridflow_placed {
    double colocate, split;
    double standalone; /* 4 : 2 : 1 : 1, actor, critic, reference, reward */
} hybridflow_placed;

hybridflow_placed hybridflow_place(papers_family *family, int devices);
papers_family *hybridflow_open(papers_size size, const papers_speeds *speeds,
                               rlf_arena *arena);

#endif

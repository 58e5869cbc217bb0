/* Beginnings that sequences of a pass have in common: the samples of a prompt,
 * the pairs of a preference, turns of one conversation. They are computed once,
 * with the first sequence that has them; what it costs then is counted here. */
#ifndef RLF_MODEL_PREFIX_H
#define RLF_MODEL_PREFIX_H

#include "nodes/model/pass.h"

/* A shorter beginning of prompts that go on otherwise, as a start token, is not
 * worth a detour. */
#define RLF_PREFIX_LEAST 16

/* Set what each of n sequences shares with the one before it in the list (the
 * first: nothing): the tokens that both begin with, as far as what is wanted of
 * it lies behind them. No bit of a forward pass depends on it. */
void rlf_sequences_share(rlf_sequence *seqs, uint32_t n, rlf_rows_kind rows);

/* The same of samples that are trained on, of so many `sets` by turns: those of
 * one row of them stay together, and those of one prompt share, as many rows of
 * them as have RLF_SHARED_TOKENS tokens together, the prompt once, or one that
 * alone has more. prompt[i]: the prompt of sample i; its samples follow one
 * another. So what gradients are added of together depends on the samples of
 * one prompt alone, and never on what is beside them in a pass. */
void rlf_sequences_share_prompts(rlf_sequence *seqs, uint32_t n, uint32_t sets,
                                 const uint32_t *prompt, rlf_rows_kind rows);

/* rlf_pass_fit, with no cut between two sequences of which one follows the
 * other, unless there is no other in a pass. `whole`: then RLF_USER, so that
 * what is added up of them never depends on T. */
rlf_status rlf_prefix_fit(const rlf_pass *pass, const rlf_sequence *seqs,
                          uint32_t n, bool whole, rlf_err *err, uint32_t *fit);

/* Sequences of one length that come prompt by prompt, `each` of a prompt,
 * `shared` tokens of it computed once in a pass; each: 1: nothing is shared. */
typedef struct rlf_prefix_load {
    uint64_t n, each;
    uint64_t length, shared;
} rlf_prefix_load;

/* Passes into which they are cut, and sequences that are computed whole: those
 * that begin a prompt, or a pass. */
typedef struct rlf_prefix_cut {
    uint64_t passes, whole;
} rlf_prefix_cut;

/* Cut them into passes of `tokens`, as rlf_prefix_fit does; *room: tokens left
 * in the pass before, then in the last. */
rlf_prefix_cut rlf_prefix_cut_of(const rlf_prefix_load *load, uint64_t tokens,
                                 uint64_t *room);

#endif

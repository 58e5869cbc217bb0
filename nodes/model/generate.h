/* Sampling responses: continuous batching over a paged cache.
 *
 * Prompts are added at any time; each step() is one pass of the transformer
 * that gives every active sequence one more token (or a piece of its prefill)
 * and reports the sequences that are complete. Samples of one prompt share the
 * pages that its tokens fill; one that is complete keeps them for those that
 * wait, while there is room. When pages run out the sequence added last gives
 * up its own, waits, and is computed again from its tokens: it never fails.
 *
 * With a history (history.h) a sequence that only lacks its newest token is
 * fed guesses at those behind it in the same step: each row is sampled as it
 * would be without, and the rows up to the first guess that was wrong are the
 * next tokens. So no token depends on a guess, only the number of steps; a
 * guess is made where it is expected to save more time than it takes. Where
 * steps are sent ahead, and through a pipeline, there are none.
 *
 * A token and its log-probability depend on its sequence, the weights and the
 * random key (seed, site, step, identity, position) alone: not on what else is
 * in the batch, page sizes, budgets, preemption, or threads; the recorded
 * log-probabilities have the bits of the training pass. */
#ifndef RLF_MODEL_GENERATE_H
#define RLF_MODEL_GENERATE_H

#include "engine/base/philox.h"
#include "engine/text/tokenizer.h"
#include "nodes/model/history.h"
#include "nodes/model/kv.h"
#include "nodes/model/pass.h"

/* A sequence whose draws are looked at; it is not guessed at then. */
typedef struct rlf_draw_watch {
    uint64_t identity;
    float *logits; /* [vocab] room for those of a row */
    void *arg;
    /* Token `position` of the response was drawn by `uniform` from logits (over
     * the temperature); NULL: they are not on the host, or not all on this
     * rank. Again for a position: the last call counts. */
    void (*see)(void *arg, uint32_t position, int32_t token, float logprob,
                double uniform, const float *logits);
} rlf_draw_watch;

typedef struct rlf_generation_options {
    uint32_t max_new;    /* tokens of a response, at least 1 */
    bool greedy;         /* the most likely token, logprob at T = 1 */
    float temperature;   /* 0: 1 */
    int32_t top_k;       /* 0: all */
    float top_p, min_p;  /* 0: all */
    rlf_random_key key;  /* `sample` is set to each identity */
    const uint32_t *eos; /* tokens that end a response, part of it */
    size_t n_eos;
    const char *const *stop; /* texts that end a response, part of it */
    size_t n_stop;
    /* The tokenizer that finds stops; NULL: there are none. */
    const rlf_tokenizer *tokenizer;
    uint32_t most_active; /* sequences in a batch; 0: as many as pass tokens */
    uint32_t longest;     /* tokens of a sequence at most; 0: the context */
    void *arrays;         /* device memory of a step's arrays; NULL: its own */
    size_t array_bytes;
    /* Recordings of steps that only decode; NULL: the generation has its own,
     * where the device records. */
    struct rlf_replays *replays;
    /* Earlier responses, for guesses; complete ones are added. All ranks of a
     * model have the same ones. NULL: no guesses. */
    rlf_history *history;
    const rlf_draw_watch *watch; /* NULL: none is looked at */
} rlf_generation_options;

/* A response, owned by the generation. */
typedef struct rlf_response {
    const uint32_t *ids;
    const float *logprob;
    uint32_t n;
    bool finished; /* ended by itself, not by max_new or the context */
} rlf_response;

typedef struct rlf_generation rlf_generation;

/* Through a pipeline of several stages a batch goes in as many parts, one
 * behind another, but for parts of fewer sequences than this. */
enum { RLF_WAVE_LEAST = 8 };

/* Device bytes of what a step sends and gives: `tokens` of a pass, so many
 * active sequences of so many pages. */
size_t rlf_generation_array_bytes(uint32_t tokens, uint32_t most_active,
                                  uint32_t pages);

/* `pass` (made for inference) gives the tokens of one step; `kv` must hold one
 * sequence as long as the context or the longest prompt + max_new. Both are
 * used by one generation at a time and outlive it. */
rlf_status rlf_generation_new(const rlf_model *model, rlf_pass *pass,
                              rlf_kv *kv, const rlf_generation_options *options,
                              rlf_err *err, rlf_generation **out);
void rlf_generation_free(rlf_generation *generation); /* NULL is fine */

/* n samples of one prompt with these identities; their rows are counted from
 * *first on. The prompt (at least one token, shorter than the context) must
 * live as long as the generation. */
rlf_status rlf_generation_add(rlf_generation *generation,
                              const uint32_t *prompt, uint32_t n_prompt,
                              const uint64_t *identity, uint32_t n,
                              rlf_err *err, uint32_t *first);
/* One quantum. RLF_AGAIN: there is more to do; RLF_OK: all that was added is
 * complete. `rows` (good until the next call) are those that were found to be
 * complete, ascending: by this step, or, where steps are sent ahead of the last
 * one's tokens, by the last. */
rlf_status rlf_generation_step(rlf_generation *generation, rlf_err *err,
                               const uint32_t **rows, uint32_t *n_rows);
rlf_response rlf_generation_response(const rlf_generation *generation,
                                     uint32_t row);

/* Counts of what happened, for metrics and tests. */
typedef struct rlf_generation_counts {
    uint64_t steps, fed, tokens, prefilled, shared, preempted;
    double keys;       /* keys that were looked at by all tokens fed */
    uint64_t replayed; /* chunks of the steps that were carried out from
                          recordings */
    uint64_t ahead;    /* ...: sent before the last one's tokens were read */
    uint64_t dropped;  /* tokens made for sequences that turned out complete */
    uint64_t guessed, right; /* guesses that were fed, and that were right */
} rlf_generation_counts;
rlf_generation_counts rlf_generation_count(const rlf_generation *generation);

#endif

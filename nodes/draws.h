/* The draws of one sample's tokens, told of when the sample is looked at
 * (engine/graph/sample_trace.h). */
#ifndef RLF_NODES_DRAWS_H
#define RLF_NODES_DRAWS_H

#include "engine/graph/sample_trace.h"
#include "engine/text/tokenizer.h"
#include "nodes/model/generate.h"

/* Tokens that are told of beside the one that was drawn. */
enum { RLF_LIKELY_TOKENS = 8 };

/* A token of the vocabulary, with its probability at the temperature. */
typedef struct rlf_likely_token {
    uint32_t id;
    double p;
    bool kept; /* the filters let it be drawn */
} rlf_likely_token;

/* One draw. Of a draw whose logits are not known only its uniform is. */
typedef struct rlf_drawn_token {
    bool known;
    double uniform;
    uint32_t rank; /* number of tokens that are likelier than the one drawn */
    uint32_t kept[3]; /* tokens that are left by top_k, then top_p, then min_p */
    double mass;      /* the probability of all that are left */
    double from, to;  /* the part of [0, 1), in the order of ids, that draws it */
    rlf_likely_token likely[RLF_LIKELY_TOKENS]; /* the likeliest first */
    uint32_t n_likely;
} rlf_drawn_token;

typedef struct rlf_ranked_token {
    float logit;
    uint32_t id;
} rlf_ranked_token;

typedef struct rlf_draws {
    rlf_draw_watch watch; /* to be given to the generation */
    rlf_generation_options options;
    uint32_t vocab;
    rlf_drawn_token *draws;  /* [max_new] */
    rlf_ranked_token *order; /* [vocab] room: the likeliest first */
    double *weights; /* [vocab] room, by id: exp(logit - the largest) */
} rlf_draws;

/* In `pool`; for a response with these options, of the sample of that identity.
 */
rlf_status rlf_draws_new(rlf_arena *pool, const rlf_generation_options *options,
                         uint32_t vocab, uint64_t identity, rlf_err *err,
                         rlf_draws **out);
/* How `token` was drawn from logits[v], by `uniform`, by the definitions of
 * kernels/kernels.h, in double precision. */
void rlf_draw_explain(rlf_draws *d, const float *logits, uint32_t token,
                      double uniform, rlf_drawn_token *out);
/* Facts "prompt" and "token" of row `row`, whose response is complete. */
void rlf_draws_tell(const rlf_draws *d, const rlf_call *call,
                    rlf_sample_trace *trace, uint32_t row);

#endif

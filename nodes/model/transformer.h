/* The transformer: forward and backward over what a pass holds.
 *
 *     x = embed(tokens)
 *     per layer: x += o(attention(rope(qkv(norm(x)))))
 *                x += down(swiglu(gate_up(norm(x))))
 *     hidden = norm(x) of the rows; heads on top
 *
 * Every step is one kernel of kernels/kernels.h, so a token's numbers depend
 * on its sequence and the weights only, and weight gradients add token by
 * token onto what is there: cutting samples into passes, threads and
 * recomputation change no bit, as long as samples go in order. Generation
 * (generate.h) calls the same functions with a paged cache: the sampler and the
 * trainer are one program. Where ranks hold the model in parts (parallel.h),
 * all of them make these calls with the same micro-batch, and all have the
 * residual, the heads' results and their derivatives. The order of calls:
 *
 *     rlf_pass_load (or the sampler's own filling of the pass)
 *     rlf_transformer_forward
 *     rlf_head_logprobs, rlf_head_scalars        as wanted
 *     rlf_head_loss, rlf_head_scalar_back     as live
 *     rlf_transformer_backward */
#ifndef RLF_MODEL_TRANSFORMER_H
#define RLF_MODEL_TRANSFORMER_H

#include "nodes/model/pass.h"

/* Fills pass->hidden for the rows. The model has the shape that the pass was
 * made for. */
rlf_status rlf_transformer_forward(const rlf_model *model, rlf_pass *pass,
                                   rlf_err *err);
/* From pass->d_hidden to the gradients of all weights below the heads, added.
 * After a forward of the same micro-batch in a pass that trains. */
rlf_status rlf_transformer_backward(rlf_model *model, rlf_pass *pass,
                                    rlf_err *err);

/* pass->logprob (and entropy) of the rows' targets. */
rlf_status rlf_head_logprobs(const rlf_model *model, rlf_pass *pass,
                             bool with_entropy, rlf_err *err);
/* words[n, vocab] = the log-probabilities of all tokens at rows first ..
 * first+n-1, a device array. Not of a model in parts. */
rlf_status rlf_head_words(const rlf_model *model, rlf_pass *pass, int64_t first,
                          int64_t n, rlf_err *err, float *words);
/* pass->scalar of the rows. */
rlf_status rlf_head_scalars(const rlf_model *model, rlf_pass *pass,
                            rlf_err *err);

/* Sets pass->d_hidden, adds to the lm head's gradient. `loss` is called per
 * tile and gives the derivatives; NULL: they lie in pass->d_logprob (and
 * d_entropy with `with_entropy`). pass->logprob is set as well. */
rlf_status rlf_head_loss(rlf_model *model, rlf_pass *pass,
                         rlf_head_tile_fn *loss, void *ctx, bool with_entropy,
                         rlf_err *err);
/* The same with a loss on whole distributions, of a model that is not in
 * parts. */
rlf_status rlf_head_words_loss(rlf_model *model, rlf_pass *pass,
                               rlf_head_words_fn *loss, void *ctx,
                               rlf_err *err);
/* From pass->d_scalar: sets pass->d_hidden, or adds to it if `add`; adds to the
 * scalar head's gradient. */
rlf_status rlf_head_scalar_back(rlf_model *model, rlf_pass *pass, bool add,
                                rlf_err *err);

#endif

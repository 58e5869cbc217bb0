/* The heads, computed from the rows' hidden states: log-probabilities of
 * tokens, a number, and the way back from a loss on them. Of a pipeline, on the
 * last stage. When each is called stands in transformer.h. */
#ifndef RLF_MODEL_HEADS_H
#define RLF_MODEL_HEADS_H

#include "nodes/model/pass.h"

/* The bias of the language head, of the tokens held here; NULL: it has none. */
const float *rlf_head_bias(const rlf_model *model);

/* pass->logprob (and entropy) of the rows' targets. */
rlf_status rlf_head_logprobs(const rlf_model *model, rlf_pass *pass,
                             bool with_entropy, rlf_err *err);
/* Log-probabilities of all tokens lie at the end of the memory that the pass's
 * head works in, and behind them `beside` bytes for what is made of them. How
 * many rows there is room for, with `each` bytes beside for each, the same on
 * all ranks of a model. */
int64_t rlf_head_words_rows(const rlf_pass *pass, size_t each);
/* The same of any pass whose head's tiles have `work_rows` rows. */
int64_t rlf_head_words_fit(const rlf_table *table, int64_t work_rows,
                           size_t each);
/* Returns those bytes, which calls that are told of them leave alone. */
void *rlf_head_beside(const rlf_pass *pass, size_t beside);
/* *words [n, vocab], on the device, of rows first .. first+n-1, until the
 * pass's head is used again; of a model in parts on each of its ranks. */
rlf_status rlf_head_words(const rlf_model *model, rlf_pass *pass, int64_t first,
                          int64_t n, size_t beside, rlf_err *err,
                          float **words);
/* pass->scalar of the rows. */
rlf_status rlf_head_scalars(const rlf_model *model, rlf_pass *pass,
                            rlf_err *err);

/* Sets pass->d_hidden, adds to the lm head's gradient. `loss` is called per
 * tile and gives the derivatives; NULL: they lie in pass->d_logprob (and
 * d_entropy with `with_entropy`). pass->logprob is set as well. */
rlf_status rlf_head_loss(rlf_model *model, rlf_pass *pass,
                         rlf_head_tile_fn *loss, void *ctx, bool with_entropy,
                         rlf_err *err);
/* The same with a loss on whole distributions, which every rank of a model in
 * parts computes; with `beside` bytes for it. */
rlf_status rlf_head_words_loss(rlf_model *model, rlf_pass *pass,
                               rlf_head_words_fn *loss, void *ctx,
                               size_t beside, rlf_err *err);
/* Goes back from pass->d_scalar: sets pass->d_hidden, or adds to it if `add`;
 * adds to the scalar head's gradient. */
rlf_status rlf_head_scalar_back(rlf_model *model, rlf_pass *pass, bool add,
                                rlf_err *err);

#endif

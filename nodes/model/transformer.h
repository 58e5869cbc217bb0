/* The transformer: forward and backward over what a pass holds.
 *
 * It computes the rows of the model's program (program.h), compiled once for a
 * pass (compile.h); heads are on top.
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
 *     rlf_head_logprobs, rlf_head_scalars     as wanted
 *     rlf_head_loss, rlf_head_scalar_back     as live
 *     rlf_transformer_backward
 *
 * In a pipeline (table.h) forward takes the residual from the stage before and
 * begins to hand it to the next, so several micro-batches may follow one
 * another; rlf_transformer_settle comes after the last. With several chunks
 * rlf_transformer_forward_part takes a round of micro-batches, at most as many
 * as there are stages, through one chunk and then through the next. What the
 * heads give is had on the last stage alone, where a call on them belongs.
 *
 * Training goes chunk by chunk, each micro-batch that is under way in passes of
 * its own (rlf_buffers_flight):
 *
 *     rlf_pass_load                           the same on every stage
 *     into rlf_pass_input [m, hidden]         unless the chunk begins
 *     rlf_transformer_forward_chunk
 *     out of rlf_pass_output [m, hidden]      unless it ends
 *     heads, rlf_head_loss, ...               if it ends, right before
 *     into pass->d_x [m, hidden]              unless it ends
 *     rlf_transformer_backward_chunk
 *     out of pass->d_x [m, hidden]            unless the chunk begins
 *
 * Backward may be split (rlf_pass_options.split). Then it makes only what the
 * stage before waits for, with the gradients that come with it or cost little,
 * those of vectors, and of the heads, whose tiles have the logits only there;
 * rlf_transformer_weights_chunk makes those of matrices at any time later,
 * while nothing else uses the pass.
 *
 * Each chunk takes its micro-batches back in order, all of one lane before
 * rlf_gradient_next, and so their weights. Stage and tensor-parallel index say
 * who sends to whom (model->stages). */
#ifndef RLF_MODEL_TRANSFORMER_H
#define RLF_MODEL_TRANSFORMER_H

#include "nodes/model/heads.h"
#include "nodes/model/pass.h"

/* Fills pass->hidden for the rows, on the last stage. The model has the shape
 * that the pass was made for; in a pipeline the pass is one that does not
 * train. */
rlf_status rlf_transformer_forward(const rlf_model *model, rlf_pass *pass,
                                   rlf_err *err);
/* One chunk of that: receive, forward_chunk, hand_on. */
rlf_status rlf_transformer_forward_part(const rlf_model *model, rlf_pass *pass,
                                        int chunk, rlf_err *err);
/* The residual from the stage before, unless the chunk begins; and, unless it
 * ends, what it gave to the next, which has it or will have it. */
rlf_status rlf_transformer_receive(const rlf_model *model, rlf_pass *pass,
                                   int chunk, rlf_err *err);
rlf_status rlf_transformer_hand_on(const rlf_model *model, rlf_pass *pass,
                                   int chunk, rlf_err *err);
/* Waits until the next stage has what was handed to it. */
rlf_status rlf_transformer_settle(rlf_pass *pass, rlf_err *err);
/* The layers of one chunk, with what comes before or after them. */
rlf_status rlf_transformer_forward_chunk(const rlf_model *model, rlf_pass *pass,
                                         int chunk, rlf_err *err);
/* Goes back from pass->d_hidden, or pass->d_x unless the chunk ends, to the
 * gradients of its weights, added, and pass->d_x. After a forward of the same
 * micro-batch in a pass that trains. */
rlf_status rlf_transformer_backward_chunk(rlf_model *model, rlf_pass *pass,
                                          int chunk, rlf_err *err);
/* Computes what that left in a pass that splits: the gradients of the matrices
 * of the chunk's layers, and of the embedding, added. */
rlf_status rlf_transformer_weights_chunk(rlf_model *model, rlf_pass *pass,
                                         int chunk, rlf_err *err);
#endif

/* Collectives of the ranks that hold one model in parts.
 *
 * Each rank computes its shards (table.h) and the sums over shards are finished
 * here: a binary tree over the ranks on top of each rank's own, so with tp
 * dividing V the bits are those of one rank. All ranks of the group make the
 * same calls in the same order with the same sizes. Alone, nothing is done.
 * Stages of a pipeline hand on the residual, and share what concerns all of the
 * model: the norm, an embedding on both ends, files. */
#ifndef RLF_MODEL_PARALLEL_H
#define RLF_MODEL_PARALLEL_H

#include "engine/comm/device.h"
#include "nodes/model/model.h"

/* x[n] becomes the sum over ranks: activations, or floats. */
rlf_status rlf_parallel_sum(const rlf_model *m, rlf_real *x, int64_t n,
                            rlf_err *err);
rlf_status rlf_parallel_sum_f32(const rlf_model *m, float *x, int64_t n,
                                rlf_err *err);
/* The same on the host, in f64. */
rlf_status rlf_parallel_sum_f64(const rlf_model *m, double *x, int64_t n,
                                rlf_err *err);
/* The same over the ranks that hold the same key/value heads: activations. */
rlf_status rlf_parallel_sum_copies(const rlf_model *m, rlf_real *x, int64_t n,
                                   rlf_err *err);
/* x[n] becomes the sum over replicas. */
rlf_status rlf_parallel_sum_replicas(const rlf_model *m, float *x, int64_t n,
                                     rlf_err *err);
/* Of x[n], which begins at float `first` of the block or stands for what does,
 * the part in the own slice becomes the sum over replicas; the rest is not to
 * be used. All of it if the block is not sliced. */
rlf_status rlf_parallel_sum_slices(const rlf_model *m, float *x, int64_t first,
                                   int64_t n, rlf_err *err);
/* The weights that each replica has stepped, to all. */
rlf_status rlf_parallel_gather_slices(const rlf_model *m, rlf_err *err);
/* The blocks' sums of squares of all, for each slice stage after stage, in
 * host memory; m->norm_sums has this rank's. */
rlf_status rlf_parallel_gather_blocks(const rlf_model *m, rlf_err *err,
                                      double *all);
/* Exchanges gradients where both ends of the pipeline have the embedding:
 * gradient.other becomes the other end's gradient of it, of this rank's slice.
 */
rlf_status rlf_parallel_swap_ends(const rlf_model *m, rlf_err *err);
/* Activations from one stage to another, received in the order in which they
 * are sent; rlf_device_wait() waits until the receiver has them. */
rlf_status rlf_parallel_start(const rlf_model *m, int stage, const rlf_real *x,
                              int64_t n, rlf_err *err,
                              rlf_device_transfer **sending);
rlf_status rlf_parallel_receive(const rlf_model *m, int stage, rlf_real *x,
                                int64_t n, rlf_err *err);
/* The same of floats in host memory; the sender waits for the receiver. */
rlf_status rlf_parallel_send_host(const rlf_model *m, int stage, const float *x,
                                  int64_t n, rlf_err *err);
rlf_status rlf_parallel_receive_host(const rlf_model *m, int stage, float *x,
                                     int64_t n, rlf_err *err);

/* Host memory: has every rank that holds a part the same number? */
rlf_status rlf_parallel_alike(const rlf_model *m, uint64_t number, rlf_err *err,
                              bool *alike);

/* Host memory: what the last stage has, to all stages. The last stage begins
 * it and goes on meanwhile, all stages end it; what was told first is heard
 * first. */
rlf_status rlf_parallel_tell(const rlf_model *m, void *data, size_t bytes,
                             rlf_err *err, rlf_batch **telling);
rlf_status rlf_parallel_hear(const rlf_model *m, void *data, size_t bytes,
                             rlf_err *err, rlf_batch **telling);

/* Host memory: of a slot of optimizer state `part` holds the own slice; on the
 * first replica it becomes whole. */
rlf_status rlf_parallel_collect_slot(const rlf_model *m, const rlf_slot *slot,
                                     float *part, rlf_err *err);
/* Returns how the vocabulary is held, for operations of the head. */
rlf_head_part rlf_parallel_head(const rlf_model *m);
/* words[n, vocabulary], in which every rank has the columns of its tokens,
 * become whole. */
rlf_status rlf_parallel_gather_words(const rlf_model *m, float *words,
                                     int64_t n, rlf_err *err);

/* Host memory: `part`, this rank's part of a slot, is put together with the
 * others' into `whole` on rank 0, as in the file. `whole` is not touched on
 * other ranks, where it may be NULL. */
rlf_status rlf_parallel_gather(const rlf_model *m, const rlf_slot *slot,
                               const float *part, rlf_err *err, float *whole);
/* This rank's part of a tensor as it is in the file. */
void rlf_parallel_cut(const rlf_slot *slot, const float *whole, float *part);

#endif

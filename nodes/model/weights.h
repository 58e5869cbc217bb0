/* Sources and targets of weights: first values, Hugging Face directories,
 * checkpoints.
 *
 * Files of any of f32, bf16 and f16 are read into f32; each tensor is saved in
 * the type it was read in, rounded to nearest, or all in f32 (save_f32). Those
 * of f64 are read, rounded, and saved in f32. config.json names the type that
 * is saved. A checkpoint has besides what that rounding loses (the f32 masters)
 * and the optimizer's moments, by tensor name, so that it can be resumed under
 * any layout. Of a model with adapters files and checkpoints have what is
 * trained alone. Of a model that nothing changes a checkpoint has nothing: the
 * files that it was read from are an input of the run.
 *
 * All ranks that hold a model in parts make these calls together; files are of
 * the whole model, and rank 0 of the first stage writes them. State that is
 * sliced is saved by all replicas together, the first of which writes. */
#ifndef RLF_MODEL_WEIGHTS_H
#define RLF_MODEL_WEIGHTS_H

#include "engine/graph/resource.h"
#include "nodes/model/model.h"
#include "nodes/model/origin.h"

/* All weights of a model. Of a seed they have the same bits on every machine:
 * matrices N(0, 1 / fan-in), those that write onto the residual also / sqrt(2
 * layers), embedding and head N(0, 0.02^2), norms 1, biases and the scalar head
 * 0; of adapters a uniform up to 1 / sqrt(fan-in), b 0. Keyed by (seed, tensor
 * name, element). Of files: a scalar head that is lacking in files becomes 0;
 * anything else that is lacking, has another shape or integers, or is there and
 * would not be used (other than a head that is not asked for) is RLF_USER. A
 * model that is read by layer keeps a copy of the origin. */
rlf_status rlf_weights_fill(rlf_model *model, const rlf_weights_origin *origin,
                            rlf_err *err);
/* Write config.json, generation_config.json and model.safetensors, of a model
 * with adapters adapter_config.json and adapter_model.safetensors, into `dir`,
 * which is made if need be. Each file is replaced atomically; other programs
 * load the result as it is. */
rlf_status rlf_weights_save(const rlf_model *model, const char *dir,
                            rlf_err *err);

/* Puts what rlf_weights_save writes as tensors into *out, in f32 with all bits.
 * Nothing where another rank writes, or `out` is NULL; an arena is there. */
rlf_status rlf_weights_gather(const rlf_model *model, rlf_gathered *out,
                              rlf_err *err);

/* Saves what rlf_weights_save does not keep, as one safetensors file: masters
 * of tensors that are not saved as f32, moments, counters. */
rlf_status rlf_weights_save_state(const rlf_model *model, const char *path,
                                  rlf_err *err);
/* Restores everything as it was when that checkpoint was written. */
rlf_status rlf_weights_restore(rlf_model *model, const char *dir,
                               const char *path, rlf_err *err);

/* Host memory that each of these calls takes for what is on its way between
 * files and the model. */
uint64_t rlf_weights_buffer_bytes(const rlf_model *model);

/* Draws n values of a tensor, as a file has them, that rlf_weights_fill sets by
 * a seed: from `first` on. */
void rlf_weights_draw(const rlf_model *model, const rlf_slot *slot,
                      uint64_t seed, int64_t first, int64_t n, float *out);

/* A normal number from a uniform one in (0, 1): the inverse of the
 * distribution function (Wichura 1988, algorithm AS 241), with the same bits
 * everywhere. First values are made of it; tests hold it against tables. */
double rlf_normal(double uniform);

#endif

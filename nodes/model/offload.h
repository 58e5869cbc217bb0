/* Models whose weights lie in host memory (offload: of a place row).
 *
 * A model that never changes is needed only while a call reads it. All of its
 * weights are in host memory then; on the device are the embedding and the
 * vectors, which are read row by row or added everywhere, the packed heads, and
 * the packed matrices of one layer. A forward pass brings each layer before it
 * computes it: per pass the bytes of all layers go to the device once, in queue
 * order. No bit of a result depends on it. */
#ifndef RLF_MODEL_OFFLOAD_H
#define RLF_MODEL_OFFLOAD_H

#include "nodes/model/suballocate.h"
#include "nodes/model/model.h"

struct rlf_offload {
    /* Bytes of the host's block, which rlf_model.weights is then. */
    size_t bytes;
    int layer; /* the layer that was brought last; -1: none */
};

/* The host's block, before weights are set. */
rlf_status rlf_offload_open(rlf_model *model, rlf_err *err);
void rlf_offload_close(rlf_model *model);
/* Called after the weights in host memory were changed: brings what stays on
 * the device. */
rlf_status rlf_offload_changed(rlf_model *model, rlf_err *err);
/* The matrices of a layer, packed; nothing to do for other models. */
rlf_status rlf_offload_bring(const rlf_model *model, int layer, rlf_err *err);

/* A vector, or an embedding of f32, where the device reads it. */
static inline const float *
rlf_model_near(const rlf_model *model, int64_t offset)
{
    const rlf_table *t = model->table;
    if (!model->vectors)
        return model->weights + offset;
    return offset < t->matrices ? model->embed + (offset - t->embed)
                                : model->vectors + (offset - t->matrices);
}

/* Returns the kind of copy by which floats go to weights from weights, or from
 * and to a buffer of the host (NULL). */
static inline rlf_copy
rlf_model_copy_kind(const rlf_model *to, const rlf_model *from)
{
    bool on_host[2] = {!to || to->offload, !from || from->offload};
    if (on_host[0])
        return on_host[1] ? RLF_COPY_ON_HOST : RLF_COPY_TO_HOST;
    return on_host[1] ? RLF_COPY_TO_DEVICE : RLF_COPY_ON_DEVICE;
}

#endif

/* See offload.h. The host's block has the form of the table, so that files are
 * read into it and written from it as for any model. */
#include "nodes/model/offload.h"

rlf_status
rlf_offload_open(rlf_model *m, rlf_err *err)
{
    rlf_device *device = m->queue->device;
    void *block;
    m->offload->layer = -1;
    m->offload->bytes = (size_t)m->table->count * sizeof(float);
    RLF_TRY(device->ops->host_alloc(device, m->offload->bytes, &block, err));
    m->weights = block;
    return RLF_OK;
}

void
rlf_offload_close(rlf_model *m)
{
    rlf_device *device = m->queue->device;
    if (m->offload)
        device->ops->host_free(device, m->weights, m->offload->bytes);
}

static rlf_status
send(rlf_model *m, float *to, int64_t from, int64_t n, rlf_err *err)
{
    return rlf_queue_copy(m->queue, to, m->weights + from,
                          (size_t)n * sizeof(float), RLF_COPY_TO_DEVICE, err);
}

rlf_status
rlf_offload_changed(rlf_model *m, rlf_err *err)
{
    const rlf_table *t = m->table;
    rlf_offload *o = m->offload;
    o->layer = -1;
    RLF_TRY(rlf_queue_sync(m->queue, err)); /* what came to the host is there */
    if (m->embed)
        RLF_TRY(send(m, m->embed, t->embed, t->vocab * t->config.hidden, err));
    /* rows of activations are packed with the heads (rlf_model_changed) */
    return send(m, m->vectors, t->matrices, t->count - t->matrices, err);
}

rlf_status
rlf_offload_bring(const rlf_model *m, int layer, rlf_err *err)
{
    rlf_offload *o = m->offload;
    if (!o || o->layer == layer)
        return RLF_OK;
    o->layer = -1;
    RLF_TRY(rlf_model_pack_layer(m, layer, err));
    o->layer = layer;
    return RLF_OK;
}

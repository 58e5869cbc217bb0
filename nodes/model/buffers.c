/* Sizes are functions of their own, so that plans print what is allocated. */
#include "nodes/model/buffers.h"

#include <stdlib.h>

#include "engine/dev/replay.h"
#include "nodes/model/generate.h"

static rlf_pass_options
pass_options(const rlf_model *model, rlf_use use)
{
    return (rlf_pass_options){.tokens = (int)model->caps.tokens[use],
                              .train = use == RLF_USE_UPDATE,
                              .recompute = use == RLF_USE_UPDATE &&
                                           model->caps.recompute};
}

static rlf_pass_options
flight_options(const rlf_model *model, int chunk, int i)
{
    rlf_pass_options options = pass_options(model, RLF_USE_UPDATE);
    options.chunk = chunk;
    options.lent = chunk || i;
    options.split = model->owed != NULL;
    return options;
}

/* The options of a pass for what a chunk recomputes in backward, and keeps
 * until the weights. */
static rlf_pass_options
owed_options(const rlf_model *model, int chunk)
{
    return (rlf_pass_options){.tokens = (int)model->caps.tokens[RLF_USE_UPDATE],
                              .train = true,
                              .chunk = chunk,
                              .lent = true,
                              .layers = true};
}

/* The first of the passes of a chunk, `each` [chunks] of one; of the chunk
 * behind the last: how many there are. */
static int
first_of(const int *each, int chunk)
{
    int n = 0;
    for (int k = 0; k < chunk; k++)
        n += each[k];
    return n;
}

static int
first_flight(const rlf_model *model, int chunk)
{
    return first_of(model->flights, chunk);
}

/* Chunks that keep for weights what they recompute: none or all. */
static int
owing_chunks(const rlf_model *model)
{
    return model->owed && model->caps.recompute ? model->table->cut.chunks : 0;
}

rlf_status
rlf_buffers_flight(rlf_model *model, int chunk, int i, rlf_err *err,
                   rlf_pass **out)
{
    rlf_model_buffers *buffers = &model->buffers;
    int chunks = model->table->cut.chunks;
    RLF_ASSERT(chunk < chunks && i < model->flights[chunk]);
    if (!buffers->flight)
        buffers->flight = rlf_calloc((size_t)first_flight(model, chunks),
                                     sizeof *buffers->flight);
    rlf_pass **pass = &buffers->flight[first_flight(model, chunk) + i];
    if (!*pass) {
        rlf_pass_options options = flight_options(model, chunk, i);
        RLF_TRY(rlf_pass_new(model, &options, err, pass));
        if (options.lent) {
            rlf_pass *first;
            RLF_TRY(rlf_buffers_flight(model, 0, 0, err, &first));
            rlf_pass_lend(*pass, first);
        }
    }
    *out = *pass;
    return RLF_OK;
}

rlf_status
rlf_buffers_owed(rlf_model *model, int chunk, int i, rlf_err *err,
                 rlf_pass **out)
{
    rlf_model_buffers *buffers = &model->buffers;
    int chunks = owing_chunks(model);
    RLF_ASSERT(chunk < chunks && i < model->owed[chunk]);
    if (!buffers->owed)
        buffers->owed = rlf_calloc((size_t)first_of(model->owed, chunks),
                                   sizeof *buffers->owed);
    rlf_pass **pass = &buffers->owed[first_of(model->owed, chunk) + i];
    if (!*pass) {
        rlf_pass_options options = owed_options(model, chunk);
        RLF_TRY(rlf_pass_new(model, &options, err, pass));
    }
    *out = *pass;
    return RLF_OK;
}

rlf_status
rlf_buffers_pass(rlf_model *model, rlf_use use, rlf_err *err, rlf_pass **out)
{
    rlf_pass **pass = &model->buffers.pass[use];
    if (use == RLF_USE_UPDATE)
        return rlf_buffers_flight(model, 0, 0, err, out);
    if (!*pass) {
        rlf_pass_options options = pass_options(model, use);
        RLF_TRY(rlf_pass_new(model, &options, err, pass));
    }
    *out = *pass;
    return RLF_OK;
}

rlf_status
rlf_buffers_reserve(rlf_model *model, rlf_use use, rlf_err *err)
{
    rlf_pass *pass;
    if (use != RLF_USE_UPDATE)
        return rlf_buffers_pass(model, use, err, &pass);
    for (int k = 0; k < model->table->cut.chunks; k++)
        for (int i = 0; i < model->flights[k]; i++)
            RLF_TRY(rlf_buffers_flight(model, k, i, err, &pass));
    for (int k = 0; k < owing_chunks(model); k++)
        for (int i = 0; i < model->owed[k]; i++)
            RLF_TRY(rlf_buffers_owed(model, k, i, err, &pass));
    return RLF_OK;
}

/* Short sequences waste less in small pages, long ones are read faster in
 * large ones; no choice changes a bit. */
static int
page_size(const rlf_model *model)
{
    return model->caps.longest <= 128 ? 16 : 64;
}

/* The pages of the longest sequence. */
static int64_t
pages_each(const rlf_model *model)
{
    int size = page_size(model);
    return ((int64_t)model->caps.longest + size - 1) / size;
}

static int64_t
most_pages(const rlf_model *model)
{
    return pages_each(model) * model->caps.rows[RLF_USE_GENERATE];
}

static int
page_count(const rlf_model *model)
{
    if (model->buffers.pages)
        return (int)model->buffers.pages;
    int64_t each = pages_each(model), want = most_pages(model);
    /* the same on all stages: as many as fit where most layers are */
    size_t bytes =
        rlf_kv_layer_bytes(model->table, model->kernels, page_size(model)) *
        (size_t)model->table->most_layers;
    int64_t most = (int64_t)(RLF_CAP_KV_BYTES / bytes);
    if (want > most)
        want = most;
    return (int)(want > each ? want : each);
}

rlf_pool
rlf_buffers_pool(rlf_model *model)
{
    RLF_ASSERT(!model->buffers.kv);
    model->buffers.pages = (uint64_t)page_count(model);
    return (rlf_pool){.bytes = rlf_kv_page_bytes(model->table, model->kernels,
                                                 page_size(model)),
                      .least = (uint64_t)pages_each(model),
                      .most = (uint64_t)most_pages(model),
                      .tokens = (uint32_t)page_size(model),
                      .units = &model->buffers.pages};
}

rlf_status
rlf_buffers_pages(rlf_model *model, rlf_err *err, rlf_kv **out)
{
    rlf_kv **kv = &model->buffers.kv;
    if (!*kv)
        RLF_TRY(
            rlf_kv_new(model, page_size(model), page_count(model), err, kv));
    *out = *kv;
    return RLF_OK;
}

rlf_status
rlf_buffers_arrays(rlf_model *model, rlf_err *err, void **out)
{
    rlf_model_buffers *buffers = &model->buffers;
    size_t bytes = rlf_buffers_arrays_bytes(model);
    if (!buffers->arrays) {
        RLF_TRY(rlf_device_alloc(model->queue->device, bytes, &buffers->arrays,
                                 err));
        buffers->arrays_bytes = bytes;
    }
    *out = buffers->arrays;
    return RLF_OK;
}

struct rlf_replays *
rlf_buffers_replays(rlf_model *model)
{
    rlf_model_buffers *buffers = &model->buffers;
    if (!buffers->replays && model->queue->device->caps.records)
        buffers->replays = rlf_replays_new(model->queue);
    return buffers->replays;
}

void
rlf_buffers_free(rlf_model *model)
{
    rlf_model_buffers *buffers = &model->buffers;
    rlf_replays_free(buffers->replays);
    int flights = first_flight(model, model->table->cut.chunks);
    for (int i = 0; buffers->flight && i < flights; i++)
        rlf_pass_free(buffers->flight[i]);
    free(buffers->flight);
    int owed = first_of(model->owed, owing_chunks(model));
    for (int i = 0; buffers->owed && i < owed; i++)
        rlf_pass_free(buffers->owed[i]);
    free(buffers->owed);
    for (int use = 0; use < RLF_N_USES; use++)
        rlf_pass_free(buffers->pass[use]);
    rlf_kv_free(buffers->kv);
    rlf_device_release(model->queue->device, buffers->arrays,
                       buffers->arrays_bytes);
    *buffers = (rlf_model_buffers){0};
}

size_t
rlf_buffers_pass_bytes(const rlf_model *model, rlf_use use)
{
    rlf_pass_options options = pass_options(model, use);
    size_t bytes = 0;
    if (use != RLF_USE_UPDATE)
        return rlf_pass_count_bytes(model->table, model->kernels, &options);
    for (int k = 0; k < model->table->cut.chunks; k++)
        for (int i = 0; i < model->flights[k] && i < 2; i++) {
            /* all behind the first are alike */
            size_t n = i ? (size_t)model->flights[k] - 1 : 1;
            options = flight_options(model, k, i);
            bytes += n * rlf_pass_count_bytes(model->table, model->kernels,
                                              &options);
        }
    for (int k = 0; k < owing_chunks(model); k++) {
        options = owed_options(model, k);
        bytes += (size_t)model->owed[k] *
                 rlf_pass_count_bytes(model->table, model->kernels, &options);
    }
    return bytes;
}

size_t
rlf_buffers_pass_host_bytes(const rlf_model *model, rlf_use use)
{
    /* four lists of integers, one of floats, offsets, and what sequences share:
     * rlf_pass_new */
    int n = use == RLF_USE_UPDATE
                ? first_flight(model, model->table->cut.chunks)
                : 1;
    return 8 * sizeof(int32_t) * ((size_t)model->caps.tokens[use] + 1) *
           (size_t)n;
}

size_t
rlf_buffers_pages_bytes(const rlf_model *model)
{
    return rlf_kv_page_bytes(model->table, model->kernels, page_size(model)) *
           (size_t)page_count(model);
}

size_t
rlf_buffers_arrays_bytes(const rlf_model *model)
{
    const rlf_caps *caps = &model->caps;
    uint32_t size = (uint32_t)page_size(model);
    return rlf_generation_array_bytes(caps->tokens[RLF_USE_GENERATE],
                                      caps->rows[RLF_USE_GENERATE],
                                      (caps->longest + size - 1) / size);
}

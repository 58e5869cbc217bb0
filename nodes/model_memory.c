/* Memory of a model on a rank, as lines of the table that `check`
 * prints, and what its generations share. */
#include "nodes/model.h"

#include "engine/base/vec.h"
#include "engine/layout/lanes.h"
#include "engine/text/tokenizer.h"
#include "nodes/model/weights.h"
#include "nodes/model/buffers.h"

/* One line of the table: what it is for, and the cap that lowers it. */
static void
add_row(const rlf_resource *resource, rlf_memory_row row, rlf_memory *out)
{
    row.owner = resource->name;
    if (row.device || row.host)
        RLF_PUSH_IN(out->arena, &out->rows, row);
}

/* The purpose of memory, and the call where that has weights of its own. */
static const char *
purpose(const rlf_local_copy *copy, const char *text, rlf_memory *out)
{
    return copy->call
               ? rlf_arena_printf(out->arena, "%s for %s%s", text, copy->call,
                                  copy->later ? ", later" : "")
               : text;
}

static void
weights_memory(const rlf_resource *resource, const rlf_local_copy *copy,
               rlf_memory *out)
{
    const rlf_model *m = copy->model;
    if (m->lender)
        return; /* told of there */
    const rlf_model_bytes b = m->bytes;
    const rlf_memory_row rows[] = {
        {.purpose = "weights", .device = b.weights},
        {.purpose = "weights in host memory",
         .host = b.host,
         .offloaded = true},
        {.purpose = "packed weights", .device = b.packed},
        {.purpose = "gradients", .device = b.gradients},
        {.purpose = "partial sums of gradients",
         .device = b.partial,
         .blocks = rlf_lanes_waiting(m->gradient.held)},
        {.purpose = "optimizer state", .device = b.optimizer},
        {.purpose = "tables", .device = b.tables},
    };
    for (size_t i = 0; i < RLF_COUNT(rows); i++) {
        rlf_memory_row row = rows[i];
        row.purpose = purpose(copy, row.purpose, out);
        add_row(resource, row, out);
    }
    /* also where it is nothing: all of them lie where gradients are */
    if (m->loan.asked)
        RLF_PUSH_IN(out->arena, &out->rows,
                    (rlf_memory_row){.owner = resource->name,
                                     .purpose = "weights of other calls",
                                     .device = b.loan});
}

static void
copy_memory(const rlf_resource *resource, const rlf_local_copy *copy,
            rlf_memory *out)
{
    static const char *const purposes[RLF_N_USES] = {
        [RLF_USE_UPDATE] = "activations of update",
        [RLF_USE_READ] = "activations of scoring",
        [RLF_USE_GENERATE] = "activations of generate"};
    static const char lengths[] =
        "max_prompt: of the data or of ask, max_new: or n: of generate, or the "
        "rows of the draw";
    const rlf_model *m = copy->model;
    weights_memory(resource, copy, out);
    for (rlf_use use = 0; use < RLF_N_USES; use++) {
        if (!copy->uses[use])
            continue;
        rlf_memory_row row = {
            .purpose = purposes[use],
            .lower = use == RLF_USE_GENERATE
                         ? lengths
                         : "tokens: of its place row, max_prompt: or max_new:",
            .device = rlf_buffers_pass_bytes(m, use),
            .host = rlf_buffers_pass_host_bytes(m, use)};
        add_row(resource, row, out);
    }
    if (!copy->uses[RLF_USE_GENERATE])
        return;
    add_row(resource,
            (rlf_memory_row){.purpose = "keys and values",
                             .lower = lengths,
                             .device = rlf_buffers_pages_bytes(m)},
            out);
    add_row(resource,
            (rlf_memory_row){.purpose = "lists of pages",
                             .device = rlf_buffers_arrays_bytes(m),
                             .host = rlf_buffers_arrays_bytes(m)},
            out);
    if (!m->caps.handover)
        return;
    uint64_t pages = rlf_buffers_pages_bytes(m);
    bool more = pages > RLF_CAP_HANDOVER_BYTES;
    add_row(resource,
            (rlf_memory_row){.purpose = "samples between ranks",
                             .host = more ? RLF_CAP_HANDOVER_BYTES : pages},
            out);
}

/* Models are filled and saved one after another: the largest counts. */
static void
buffer_memory(const rlf_model *m, rlf_memory *out)
{
    static const char owner[] = "files", purpose[] = "tensors on their way";
    rlf_memory_row row = {.owner = owner,
                          .purpose = purpose,
                          .host = rlf_weights_buffer_bytes(m)};
    for (size_t i = 0; i < out->rows.count; i++) {
        rlf_memory_row *is = &out->rows.data[i];
        if (is->owner == owner && is->purpose == purpose) {
            is->host = is->host > row.host ? is->host : row.host;
            return;
        }
    }
    RLF_PUSH_IN(out->arena, &out->rows, row);
}

void
rlf_model_memory(const rlf_graph *graph, const rlf_resource *resource,
                 void *object, rlf_memory *out)
{
    (void)graph;
    const rlf_model_object *m = object;
    for (int i = 0; i < m->n_copies; i++)
        if (m->copies[i].own) {
            copy_memory(resource, &m->copies[i], out);
            buffer_memory(m->copies[i].model, out);
        }
    if (!m->source && m->tokenizer)
        add_row(resource,
                (rlf_memory_row){.purpose = "tokenizer",
                                 .host = rlf_tokenizer_bytes(m->tokenizer)},
                out);
}

void
rlf_model_pools(int index, void *object, rlf_pools *out)
{
    const rlf_model_object *m = object;
    for (int i = 0; i < m->n_copies; i++) {
        if (!m->copies[i].own || !m->copies[i].uses[RLF_USE_GENERATE])
            continue;
        rlf_pool pool = rlf_buffers_pool(m->copies[i].model);
        pool.resource = index;
        RLF_PUSH_IN(out->arena, &out->list, pool);
    }
}

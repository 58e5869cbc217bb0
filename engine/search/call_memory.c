/* Memory of calls on a layout: see calls.h. */
#include "engine/search/calls.h"

#include <string.h>

static double
bytes_of(const rlf_memory_row *row, bool unified)
{
    return (double)row->device + (unified ? (double)row->host : 0);
}

/* Adds a line of a model's memory to the calls that it is there for; weights
 * and their packings, to all. */
static void
add_bytes(const rlf_memory_row *row, bool unified, rlf_call_bytes *out)
{
    static const struct {
        const char *purpose;
        rlf_stage_kind kind;
    } purposes[] = {
        {"gradients", RLF_STAGE_UPDATE},
        {"partial sums", RLF_STAGE_UPDATE},
        {"optimizer", RLF_STAGE_UPDATE},
        {"activations of update", RLF_STAGE_UPDATE},
        {"activations of scoring", RLF_STAGE_READ},
        {"activations of generate", RLF_STAGE_GENERATE},
        {"keys and values", RLF_STAGE_GENERATE},
        {"lists of pages", RLF_STAGE_GENERATE},
        {"samples between ranks", RLF_STAGE_GENERATE},
    };
    for (size_t i = 0; i < sizeof purposes / sizeof *purposes; i++) {
        const char *purpose = purposes[i].purpose;
        if (strncmp(row->purpose, purpose, strlen(purpose)) == 0) {
            out->own[purposes[i].kind] += bytes_of(row, unified);
            out->lends += i == 0 ? bytes_of(row, unified) : 0;
            return;
        }
    }
    out->kept += bytes_of(row, unified);
    out->host += row->offloaded && !unified ? (double)row->host : 0;
}

rlf_call_bytes
rlf_call_memory(const rlf_opened *o, int model, bool unified)
{
    const rlf_graph *graph = o->plan->graph;
    const rlf_resource *r = &graph->resources.data[model];
    rlf_arena *scratch = rlf_arena_new();
    rlf_memory memory = {.arena = scratch};
    rlf_call_bytes out = {0};
    r->class->memory(graph, r, o->resource[model], &memory);
    for (size_t i = 0; i < memory.rows.count; i++)
        add_bytes(&memory.rows.data[i], unified, &out);
    rlf_arena_free(scratch);
    out.trained = out.kept + out.own[RLF_STAGE_UPDATE];
    return out;
}

/* rlflow check: is the program right, what would it take, what runs where? */
#include "engine/cmd/inside.h"

#include "engine/api/room.h"
#include "engine/layout/lanes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void
put_row(const char *owner, const char *purpose, uint64_t device, uint64_t host)
{
    printf("%-16s %-25s", owner, purpose);
    rlf_cmd_put_scaled((double)device, 1024, "B");
    rlf_cmd_put_scaled((double)host, 1024, "B");
    putchar('\n');
}

static bool
same_memory(const rlf_memory *a, const rlf_memory *b)
{
    bool same = a->rows.count == b->rows.count;
    for (size_t i = 0; same && i < a->rows.count; i++) {
        const rlf_memory_row *x = &a->rows.data[i], *y = &b->rows.data[i];
        same = strcmp(x->owner, y->owner) == 0 &&
               strcmp(x->purpose, y->purpose) == 0 && x->device == y->device &&
               x->host == y->host;
    }
    return same;
}

/* "rank 0", "ranks 0, 2": those that have what rank `first` has. */
static void
put_ranks(const rlf_needs *of, int n, int first)
{
    int like = 0;
    for (int i = first; i < n; i++)
        like += same_memory(&of[first].memory, &of[i].memory);
    printf("%s %d", like > 1 ? "ranks" : "rank", first);
    for (int i = first + 1; i < n; i++)
        if (same_memory(&of[first].memory, &of[i].memory))
            printf(", %d", i);
}

/* Of n ranks; ranks that have the same are told of once, and after the first
 * only what is not as there. */
static void
put_memory(const rlf_needs *of, int n)
{
    for (int rank = 0; rank < n; rank++) {
        const rlf_memory *m = &of[rank].memory;
        uint64_t device = 0, host = 0;
        bool told = false;
        for (int i = 0; i < rank; i++)
            told |= same_memory(&of[i].memory, m);
        if (told)
            continue;
        printf("\nmemory of ");
        put_ranks(of, n, rank);
        if (rank)
            printf(", where it is not that of rank 0\n");
        else
            printf(
                ": device as it is allocated, host at most\n%-42s %-12s %s\n",
                "", "     device", "      host");
        bool aligned = m->rows.count == of[0].memory.rows.count;
        for (size_t i = 0; i < m->rows.count; i++) {
            const rlf_memory_row *r = &m->rows.data[i], *as = r;
            if (aligned)
                as = &of[0].memory.rows.data[i];
            if (!rank || !aligned || r->device != as->device ||
                r->host != as->host)
                put_row(r->owner, r->purpose, r->device, r->host);
            device += r->device;
            host += r->host;
        }
        put_row("all", "", device, host);
    }
}

/* Do calls on the model run it so? */
static bool
is_used(const rlf_session *s, size_t model, rlf_use use)
{
    for (size_t i = 0; i < s->graph->nodes.count; i++) {
        const rlf_node *node = &s->graph->nodes.data[i];
        if (node->receiver != (int)model)
            continue;
        if (use == RLF_USE_UPDATE     ? node->loss != NULL
            : use == RLF_USE_GENERATE ? node->class->work == RLF_WORK_GENERATE
                                      : node->class->live)
            return true;
    }
    return false;
}

/* What the buffers of each model are made for. */
static void
put_caps(const rlf_session *s, const rlf_opened *opened)
{
    static const char *const word[RLF_N_USES] = {[RLF_USE_UPDATE] = "update",
                                                 [RLF_USE_READ] = "scoring",
                                                 [RLF_USE_GENERATE] =
                                                     "generate"};
    printf("\ncaps: tokens of the longest sequence, and of a micro-batch; "
           "samples generated at once\n");
    for (size_t i = 0; i < s->graph->resources.count; i++) {
        const rlf_resource *r = &s->graph->resources.data[i];
        const rlf_caps *caps = rlf_resource_caps(r, opened->resource[i]);
        if (!caps)
            continue;
        printf("%-16s sequence %u", r->name, caps->longest);
        for (rlf_use use = 0; use < RLF_N_USES; use++)
            if (is_used(s, i, use))
                printf(", %s %u", word[use],
                       use == RLF_USE_GENERATE ? caps->rows[use]
                                               : caps->tokens[use]);
        putchar('\n');
    }
}

/* What lanes take of rank 0, beyond one lane for each replica. An addition
 * reads twice and writes, and what was added is cleared. */
static void
put_lanes(const rlf_session *s, const rlf_memory *memory)
{
    bool told = false;
    for (size_t i = 0; i < memory->rows.count; i++) {
        const rlf_memory_row *row = &memory->rows.data[i];
        if (!row->blocks)
            continue;
        int model = row->model;
        const rlf_layout *l = &s->plan->holds[model].list[0].mesh.layout;
        int lanes = s->plan->sums[model].lanes;
        rlf_range held = rlf_lanes_part(lanes, l->dp, rlf_layout_find(l, 0).dp);
        if (!told)
            printf(
                "\nlanes: what partial sums of gradients take on rank 0, and "
                "adding them in an update\n%-42s %-12s %s\n",
                "", "     memory", "read, written");
        told = true;
        printf("%-16s %3d lanes, %3d here      ", row->owner, lanes,
               (int)rlf_range_size(held));
        rlf_cmd_put_scaled((double)row->device, 1024, "B");
        rlf_cmd_put_scaled(4.0 * (double)(rlf_range_size(held) - 1) *
                               (double)row->device / row->blocks,
                           1000, "B");
        putchar('\n');
    }
}

static void
put_cost(const char *name, double runs, const rlf_cost *cost, bool alone)
{
    printf("%-30s", name);
    printf(" %9.0f", runs);
    rlf_cmd_put_scaled(cost->flops, 1000, "");
    rlf_cmd_put_scaled(cost->read, 1000, "B");
    rlf_cmd_put_scaled(cost->written, 1000, "B");
    if (!alone)
        rlf_cmd_put_scaled(rlf_cost_meets(cost).bytes, 1000, "B");
    putchar('\n');
}

/* The first rank's work, node by node. */
static void
put_nodes(rlf_session *s, bool alone)
{
    rlf_opened opened = rlf_run_opened(s->run);
    rlf_sizes sizes = rlf_opened_sizes(&opened, s->arena);
    for (size_t i = 0; i < s->graph->nodes.count; i++) {
        const rlf_node *node = &s->graph->nodes.data[i];
        rlf_cost cost = rlf_opened_cost(&opened, &sizes, (int)i);
        bool works = rlf_place_can(node) || node->words ||
                     node->class->work == RLF_WORK_WEIGHTS;
        if (works && cost.flops + cost.read + cost.written > 0)
            put_cost(rlf_cmd_node_name(s, node), sizes.runs[i], &cost, alone);
    }
}

/* Bytes of weights that each rank sends in a step, into sent[ranks]. */
static void
add_weights(rlf_session *s, const rlf_rehearsal *edges, double *sent)
{
    rlf_opened opened = rlf_run_opened(s->run);
    for (int i = 0; i < edges->n_weights; i++) {
        const rlf_weight_flow *flow = &edges->weights[i];
        rlf_realloc_job job;
        rlf_realloc_plan moves;
        if (rlf_cmd_weights(s, flow, opened.resource[flow->model], &job, &moves,
                            &s->err) < 0)
            continue; /* the run could not have been opened */
        for (int r = 0; r < s->plan->ranks; r++) {
            rlf_realloc_load load;
            rlf_realloc_measure(&job, &moves, r, &load);
            sent[r] += (double)flow->times * (double)load.sent;
        }
    }
}

/* What goes along the edges of a step, beside what nodes send. */
static void
put_sent(rlf_session *s)
{
    rlf_opened opened = rlf_run_opened(s->run);
    rlf_sizes sizes = rlf_opened_sizes(&opened, s->arena);
    rlf_rehearsal edges;
    rlf_rehearse(s->plan, &sizes, s->options.samples, s->arena, &edges);
    double *weights = RLF_NEW_ARRAY(s->arena, double, s->plan->ranks);
    add_weights(s, &edges, weights);
    printf("\nsent along the edges of a step at the caps, texts apart\n"
           "%-30s %12s %12s\n",
           "", "rows", "weights");
    for (int r = 0; r < s->plan->ranks; r++) {
        printf("rank %-25d", r);
        rlf_cmd_put_scaled(edges.sent[r], 1000, "B");
        rlf_cmd_put_scaled(weights[r], 1000, "B");
        putchar('\n');
    }
}

/* Work in a step in which every sequence is as long as it can be, and every
 * branch is taken: in full of the first rank, of the others the sums. */
static void
put_costs(rlf_session *s)
{
    bool alone = s->plan->ranks == 1;
    printf("\nwork of a step at the caps%s\n%-30s %9s %13s %12s %12s%s\n",
           alone ? "" : ", rank 0", "", "runs", "operations", "read", "written",
           alone ? "" : "         sent");
    put_nodes(s, alone);
    for (int rank = 0; rank < s->plan->ranks; rank++) {
        const rlf_needs *needs = rlf_run_needs(s->run, rank);
        put_cost(rank ? rlf_arena_printf(s->arena, "all nodes, rank %d", rank)
                      : "all nodes",
                 needs->runs, &needs->work, alone);
    }
    if (!alone)
        put_sent(s);
}

/* An update whose gradient at a token needs the values of other tokens takes a
 * second forward pass, which is worth knowing. */
static void
put_updates(const rlf_session *s)
{
    for (size_t i = 0; i < s->graph->nodes.count; i++) {
        const rlf_node *node = &s->graph->nodes.data[i];
        if (!node->loss || node->loss->reach == RLF_REACH_POINT)
            continue;
        rlf_place at = rlf_sources_place(&s->sources, node->span);
        printf("%s:%u: update %s: %s\n", at.path, at.line,
               s->graph->resources.data[node->receiver].name,
               node->loss->reach == RLF_REACH_SAMPLE
                   ? "its loss looks at whole samples: the head is computed "
                     "twice"
                   : "its loss looks across samples: a second forward pass");
    }
}

/* What would make it fit, of a device's memory or of the machine's. */
static void
help(rlf_session *s, const rlf_needs *of, int rank)
{
    int n = s->plan->ranks;
    double *limit = RLF_NEW_ARRAY(s->arena, double, n), bytes = 0;
    bool gpu = of[rank].limit.device > 0;
    const rlf_memory *m = &of[rank].memory;
    for (size_t i = 0; i < m->rows.count; i++)
        bytes +=
            (double)(m->rows.data[i].device + (gpu ? 0 : m->rows.data[i].host));
    for (int r = 0; r < n; r++)
        limit[r] = (double)(gpu ? of[r].limit.device : of[r].limit.host);
    rlf_room_help_here(s, rank, bytes, limit, &s->err);
}

/* Caps, work, memory; and whether that fits. */
static rlf_result
put_needs(rlf_session *s)
{
    rlf_opened opened = rlf_run_opened(s->run);
    int n = s->plan->ranks;
    const rlf_needs *of = rlf_run_needs(s->run, 0);
    put_caps(s, &opened);
    put_lanes(s, &of[0].memory);
    put_costs(s);
    put_memory(of, n);
    for (int i = 0; i < n; i++)
        if (rlf_memory_fits(&of[i].memory, &of[i].limit, n > 1 ? i : -1,
                            &s->err) < 0) {
            help(s, of, i);
            return rlf_session_result(s->err.status);
        }
    return RLF_RESULT_OK;
}

int
rlf_cmd_check(const rlf_command_line *line)
{
    int status;
    if (rlf_cmd_check_cluster(line, &status))
        return status;
    rlf_session *s = rlf_cmd_session(line, &status);
    if (!s)
        return status;
    s->options.dry = true;
    rlf_result result = rlf_session_ready(s);
    if (result == RLF_RESULT_OK && !s->leads) {
        result = rlf_session_step(s);
    } else if (result == RLF_RESULT_OK) {
        rlf_cmd_warn(s);
        printf("%s: %s is right: %zu nodes, %zu values", s->path,
               s->graph->name, s->graph->nodes.count, s->graph->values.count);
        if (s->one)
            printf(", one step unless --steps says more: it draws no rows");
        else if (s->wanted)
            printf(", %" PRIu64 " steps an epoch", s->wanted);
        putchar('\n');
        rlf_cmd_notes(s);
        put_updates(s);
        putchar('\n');
        rlf_cmd_put_promise(s, "# ");
        rlf_cmd_put_plan(s);
        result = put_needs(s);
    }
    return rlf_cmd_end(s, result);
}

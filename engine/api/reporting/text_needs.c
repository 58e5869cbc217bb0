/* Needs of a session's run, as text and row by row: caps, the work of a step,
 * memory, and whether that is there. */
#include "engine/api/reporting/texts.h"

#include "engine/api/searching/memory_advice.h"
#include "engine/layout/lanes.h"
#include "nodes/model_declare.h"

#include <string.h>

/* A number with three digits and the prefix of its size: "12.3 G". */
static void
put_scaled(double x, double base, const char *unit, rlf_buf *out)
{
    static const char prefix[] = " kMGTP";
    size_t i = 0;
    while (x >= 999.5 && i + 2 < sizeof prefix) {
        x /= base;
        i++;
    }
    rlf_buf_printf(out, " %7.*f %c%-3s",
                   x < 10    ? 2
                   : x < 100 ? 1
                             : 0,
                   x, prefix[i], unit);
}

static void
put_row(const char *owner, const char *purpose, uint64_t device, uint64_t host,
        rlf_buf *out)
{
    rlf_buf_printf(out, "%-16s %-25s", owner, purpose);
    put_scaled((double)device, 1024, "B", out);
    put_scaled((double)host, 1024, "B", out);
    rlf_buf_putc(out, '\n');
}

/* "rank 0", "ranks 0, 2": those that have what rank `first` has. */
static void
put_ranks(const rlf_needs *of, int n, int first, rlf_buf *out)
{
    int like = 0;
    for (int i = first; i < n; i++)
        like += rlf_memory_same(&of[first].memory, &of[i].memory);
    rlf_buf_printf(out, "%s %d", like > 1 ? "ranks" : "rank", first);
    for (int i = first + 1; i < n; i++)
        if (rlf_memory_same(&of[first].memory, &of[i].memory))
            rlf_buf_printf(out, ", %d", i);
}

/* Of n ranks; ranks that have the same are told of once, and after the first
 * only what is not as there. */
static void
put_memory(const rlf_needs *of, int n, rlf_buf *out)
{
    for (int rank = 0; rank < n; rank++) {
        const rlf_memory *m = &of[rank].memory;
        uint64_t device = 0, host = 0;
        bool told = false;
        for (int i = 0; i < rank; i++)
            told |= rlf_memory_same(&of[i].memory, m);
        if (told)
            continue;
        rlf_buf_printf(out, "\nmemory of ");
        put_ranks(of, n, rank, out);
        if (rank)
            rlf_buf_printf(out, ", where it is not that of rank 0\n");
        else
            rlf_buf_printf(
                out,
                ": device as it is allocated, host at most\n%-42s %-12s %s\n",
                "", "     device", "      host");
        bool aligned = m->rows.count == of[0].memory.rows.count;
        for (size_t i = 0; i < m->rows.count; i++) {
            const rlf_memory_row *r = &m->rows.data[i], *as = r;
            if (aligned)
                as = &of[0].memory.rows.data[i];
            if (!rank || !aligned || r->device != as->device ||
                r->host != as->host)
                put_row(r->owner, r->purpose, r->device, r->host, out);
            device += r->device;
            host += r->host;
        }
        put_row("all", "", device, host, out);
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

/* Writes the caps that the buffers of each model are made for. */
static void
put_caps(const rlf_session *s, const rlf_opened *opened, rlf_buf *out)
{
    static const char *const word[RLF_N_USES] = {[RLF_USE_UPDATE] = "update",
                                                 [RLF_USE_READ] = "scoring",
                                                 [RLF_USE_GENERATE] =
                                                     "generate"};
    rlf_buf_printf(
        out, "\ncaps: tokens of the longest sequence, and of a micro-batch; "
             "samples generated at once\n");
    for (size_t i = 0; i < s->graph->resources.count; i++) {
        const rlf_resource *r = &s->graph->resources.data[i];
        const rlf_caps *caps = rlf_resource_caps(r, opened->resource[i]);
        if (!caps)
            continue;
        rlf_buf_printf(out, "%-16s sequence %u", r->name, caps->longest);
        for (rlf_use use = 0; use < RLF_N_USES; use++)
            if (is_used(s, i, use))
                rlf_buf_printf(out, ", %s %u", word[use],
                               use == RLF_USE_GENERATE ? caps->rows[use]
                                                       : caps->tokens[use]);
        rlf_buf_putc(out, '\n');
    }
}

/* Writes what lanes take of rank 0, beyond one lane for each replica. An
 * addition reads twice and writes, and what was added is cleared. */
static void
put_lanes(const rlf_session *s, const rlf_memory *memory, rlf_buf *out)
{
    bool told = false;
    for (size_t i = 0; i < memory->rows.count; i++) {
        const rlf_memory_row *row = &memory->rows.data[i];
        if (!row->blocks)
            continue;
        int model = row->model;
        const rlf_layout *l = &s->plan->copies[model].list[0].mesh.layout;
        int lanes = s->plan->sums[model].lanes;
        rlf_range held = rlf_lanes_part(lanes, l->dp, rlf_layout_find(l, 0).dp);
        if (!told)
            rlf_buf_printf(
                out,
                "\nlanes: partial sums of gradients, which an update adds in "
                "an order that no number of\nranks changes; what they take "
                "on rank 0\n%-42s %-12s %s\n",
                "", "     memory", "read, written");
        told = true;
        rlf_buf_printf(out, "%-16s %3d lanes, %3d here      ", row->owner,
                       lanes, (int)rlf_range_size(held));
        put_scaled((double)row->device, 1024, "B", out);
        put_scaled(4.0 * (double)(rlf_range_size(held) - 1) *
                       (double)row->device / row->blocks,
                   1000, "B", out);
        rlf_buf_putc(out, '\n');
    }
}

static void
put_cost(const char *name, double runs, const rlf_cost *cost, bool alone,
         rlf_buf *out)
{
    rlf_buf_printf(out, "%-30s", name);
    rlf_buf_printf(out, " %9.0f", runs);
    put_scaled(cost->flops, 1000, "", out);
    put_scaled(cost->read, 1000, "B", out);
    put_scaled(cost->written, 1000, "B", out);
    if (!alone)
        put_scaled(rlf_cost_meets(cost).bytes, 1000, "B", out);
    rlf_buf_putc(out, '\n');
}

/* The first rank's work, node by node. */
static void
put_nodes(rlf_session *s, bool alone, rlf_buf *out)
{
    rlf_opened opened = rlf_run_opened(s->run);
    rlf_sizes sizes = rlf_opened_sizes(&opened, s->arena);
    for (size_t i = 0; i < s->graph->nodes.count; i++) {
        const rlf_node *node = &s->graph->nodes.data[i];
        rlf_cost cost = rlf_opened_cost(&opened, &sizes, (int)i);
        bool works = rlf_place_can(node) || node->words ||
                     node->class->work == RLF_WORK_WEIGHTS;
        if (works && cost.flops + cost.read + cost.written > 0)
            put_cost(rlf_text_node(s, node), sizes.runs[i], &cost, alone, out);
    }
}

/* Says what updates would save in which samples shared their prompt: a part
 * that is worth other bits. */
static void
put_unshared(rlf_session *s, rlf_buf *out)
{
    enum { WORTH = 10 }; /* percent */
    rlf_opened opened = rlf_run_opened(s->run);
    rlf_sizes sizes = rlf_opened_sizes(&opened, s->arena);
    for (size_t i = 0; i < s->graph->nodes.count; i++) {
        const rlf_node *node = &s->graph->nodes.data[i];
        if (!node->loss || node->loss->shared)
            continue;
        double is = rlf_opened_cost(&opened, &sizes, (int)i).flops;
        double less = rlf_opened_cost_shared(&opened, &sizes, (int)i).flops;
        int saved = is > 0 ? (int)(100 * (1 - less / is)) : 0;
        if (saved >= WORTH)
            rlf_buf_printf(out,
                           "%s (shared: true) would take %d %% fewer "
                           "operations, with other bits\n",
                           rlf_text_node(s, node), saved);
    }
}

/* Bytes of weights that each rank sends in a step, into sent[ranks]. */
static void
add_weights(rlf_session *s, const rlf_traffic *traffic, double *sent)
{
    rlf_opened opened = rlf_run_opened(s->run);
    for (int i = 0; i < traffic->n_weights; i++) {
        const rlf_weight_flow *flow = &traffic->weights[i];
        rlf_realloc_job job;
        rlf_realloc_plan moves;
        if (rlf_text_weights(s, flow, opened.resource[flow->model], &job,
                             &moves, &s->err) < 0)
            continue; /* the run could not have been opened */
        for (int r = 0; r < s->plan->ranks; r++) {
            rlf_realloc_load load;
            rlf_realloc_measure(&job, &moves, r, &load);
            sent[r] += (double)flow->times * (double)load.sent;
        }
    }
}

/* Writes what goes along the edges of a step, beside what nodes send. */
static void
put_sent(rlf_session *s, rlf_buf *out)
{
    rlf_opened opened = rlf_run_opened(s->run);
    rlf_sizes sizes = rlf_opened_sizes(&opened, s->arena);
    rlf_traffic traffic;
    rlf_traffic_count(s->plan, &sizes, s->options.samples, s->arena, &traffic);
    double *weights = RLF_NEW_ARRAY(s->arena, double, s->plan->ranks);
    add_weights(s, &traffic, weights);
    rlf_buf_printf(out,
                   "\nsent along the edges of a step at the caps, texts apart\n"
                   "%-30s %12s %12s\n",
                   "", "rows", "weights");
    for (int r = 0; r < s->plan->ranks; r++) {
        rlf_buf_printf(out, "rank %-25d", r);
        put_scaled(traffic.sent[r], 1000, "B", out);
        put_scaled(weights[r], 1000, "B", out);
        rlf_buf_putc(out, '\n');
    }
}

/* Work in a step in which every sequence is as long as it can be, and every
 * branch is taken: in full of the first rank, of the others the sums. */
static void
put_costs(rlf_session *s, rlf_buf *out)
{
    bool alone = s->plan->ranks == 1;
    rlf_buf_printf(
        out, "\nwork of a step at the caps%s\n%-30s %9s %13s %12s %12s%s\n",
        alone ? "" : ", rank 0", "", "runs", "operations", "read", "written",
        alone ? "" : "         sent");
    put_nodes(s, alone, out);
    for (int rank = 0; rank < s->plan->ranks; rank++) {
        const rlf_needs *needs = rlf_run_needs(s->run, rank);
        put_cost(rank ? rlf_arena_printf(s->arena, "all nodes, rank %d", rank)
                      : "all nodes",
                 needs->runs, &needs->work, alone, out);
    }
    put_unshared(s, out);
    if (!alone)
        put_sent(s, out);
}

/* Adds the hint that would make it fit, into a device's memory or the
 * machine's. */
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
    rlf_memory_advise_here(s, rank, bytes, limit, &s->err);
}

/* An update whose gradient at a token needs the values of other tokens takes a
 * second forward pass, and one with dropout computes other log-probabilities
 * than all else does, which is worth knowing. */
bool
rlf_text_updates(rlf_session *s, rlf_buf *out)
{
    if (!s->graph)
        return false;
    for (size_t i = 0; i < s->graph->nodes.count; i++) {
        const rlf_node *node = &s->graph->nodes.data[i];
        if (!node->loss)
            continue;
        rlf_place at = rlf_sources_place(&s->program.sources, node->span);
        const rlf_resource *model = &s->graph->resources.data[node->receiver];
        double dropout = rlf_declared_dropout(s->graph, model);
        if (dropout > 0)
            rlf_buf_line(
                out,
                "%s:%u: update %s: dropout of %g in it, and nowhere else: "
                "outside of updates the sampler's log-probabilities are the "
                "trainer's, in them they are not\n",
                at.path, at.line, model->name, dropout);
        if (node->loss->reach == RLF_REACH_POINT)
            continue;
        rlf_buf_line(
            out, "%s:%u: update %s: %s\n", at.path, at.line, model->name,
            node->loss->reach == RLF_REACH_SAMPLE
                ? "its loss looks at whole samples: the head is computed "
                  "twice"
                : "its loss looks across samples: a second forward pass");
    }
    return true;
}

bool
rlf_text_needs(rlf_session *s, rlf_buf *out)
{
    if (!rlf_text_is_dry(s))
        return false;
    rlf_opened opened = rlf_run_opened(s->run);
    const rlf_needs *of = rlf_run_needs(s->run, 0);
    put_caps(s, &opened, out);
    put_lanes(s, &of[0].memory, out);
    put_costs(s, out);
    put_memory(of, s->plan->ranks, out);
    return true;
}

const rlf_need *
rlf_session_need(rlf_session *s, int rank, size_t i)
{
    if (!s)
        return NULL;
    rlf_why_clear(s);
    if (!rlf_text_is_dry(s)) {
        rlf_why(s, s->ended ? "the run was finished"
                            : "there was no dry run (rlf_session_dry_run)");
        return NULL;
    }
    if (rank < 0 || rank >= s->plan->ranks) {
        rlf_why(s, "the plan has no rank %d: its first is 0, and it has %d",
                rank, s->plan->ranks);
        return NULL;
    }
    const rlf_memory *m = &rlf_run_needs(s->run, rank)->memory;
    if (i >= m->rows.count)
        return NULL;
    const rlf_memory_row *row = &m->rows.data[i];
    s->answer.need = (rlf_need){.owner = row->owner,
                                .purpose = row->purpose,
                                .device = row->device,
                                .host = row->host};
    return &s->answer.need;
}

/* Checks the needs of ranks on this machine. */
static rlf_status
check_here(rlf_session *s, rlf_err *err)
{
    int n = s->plan->ranks;
    const rlf_needs *of = rlf_run_needs(s->run, 0);
    for (int i = 0; i < n; i++)
        if (rlf_memory_fits(&of[i].memory, &of[i].limit, n > 1 ? i : -1, err) <
            0) {
            help(s, of, i);
            return err->status;
        }
    return RLF_OK;
}

rlf_result
rlf_session_fit(rlf_session *s)
{
    rlf_err why = RLF_ERR_NONE;
    rlf_status status = RLF_OK;
    if (!rlf_call_begins(s, __func__, NULL))
        return rlf_session_status(s);
    if (!s->plan)
        return rlf_call_refuse(s, "whether it fits is known once there is a "
                                  "plan (rlf_session_plan)");
    locale_t before = rlf_locale_enter(s->locale);
    if (rlf_text_is_dry(s))
        status = check_here(s, &s->err);
    else if (s->plan && s->planning.cluster)
        status = rlf_memory_plan_fits(s, &why, &s->err);
    rlf_locale_leave(before);
    s->planning.unsure =
        status == RLF_AGAIN ? rlf_arena_strdup(s->arena, why.sentence) : NULL;
    return rlf_session_result(status);
}

/* The trace of a run: what its spans are called, and a lane of the steps: each
 * step, and what is written after it. */
#include "engine/api/session.h"

#include "engine/base/clock.h"
#include "engine/graph/class.h"

#include <string.h>

/* What a node makes, by the names that the program gives; else its class. */
static const char *
made_by(const rlf_session *s, const rlf_node *node)
{
    enum { MOST = 3 };
    rlf_buf out = {0};
    int n = 0;
    for (int i = 0; i < node->n_outputs && n <= MOST; i++) {
        const char *label = s->graph->values.data[node->outputs[i]].label;
        if (!label)
            continue;
        if (n == MOST)
            rlf_buf_puts(&out, ", ...");
        else
            rlf_buf_printf(&out, "%s%s", n ? ", " : "", label);
        n++;
    }
    const char *name =
        n ? rlf_arena_strndup(s->arena, out.p, out.n) : node->class->name;
    rlf_buf_free(&out);
    return name;
}

/* "actor.generate", "judge", "kl, adv". */
static const char *
name_of(const rlf_session *s, const rlf_node *node)
{
    if (node->receiver < 0)
        return node->expr ? made_by(s, node) : node->class->name;
    const rlf_resource *r = &s->graph->resources.data[node->receiver];
    return node->class->work == RLF_WORK_HOST
               ? r->name
               : rlf_arena_printf(s->arena, "%s.%s", r->name,
                                  node->class->name);
}

/* "ppo.rlf:23"; NULL: it stands nowhere. */
static const char *
line_of(const rlf_session *s, const rlf_node *node)
{
    rlf_place place = rlf_sources_place(
        &s->program.sources, rlf_sources_own(&s->program.sources, node->span));
    if (!place.path || !place.line)
        return NULL;
    const char *file = strrchr(place.path, '/');
    return rlf_arena_printf(s->arena, "%s:%u", file ? file + 1 : place.path,
                            place.line);
}

void
rlf_tracing_nodes(rlf_session *s, rlf_run_options *options)
{
    if (!s->logging.trace)
        return;
    size_t n = s->graph->nodes.count;
    const char **names = RLF_NEW_ARRAY(s->arena, const char *, n);
    const char **lines = RLF_NEW_ARRAY(s->arena, const char *, n);
    for (size_t i = 0; i < n; i++) {
        names[i] = name_of(s, &s->graph->nodes.data[i]);
        lines[i] = line_of(s, &s->graph->nodes.data[i]);
    }
    options->node_names = names;
    options->node_lines = lines;
    if (s->leads)
        s->logging.steps = rlf_trace_add(s->logging.trace, 0, "steps");
}

uint64_t
rlf_tracing_now(const rlf_session *s)
{
    return s->logging.steps ? rlf_clock_now() : 0;
}

void
rlf_tracing_span(const rlf_session *s, const char *kind, const char *name,
                 uint64_t from)
{
    if (!s->logging.steps)
        return;
    rlf_trace_detailed(s->logging.steps, kind, name, from, rlf_clock_now(),
                       &(rlf_trace_details){.step = rlf_run_steps(s->run)});
}

/* See sample_trace.h. */
#include "engine/graph/sample_trace.h"

#include "engine/base/hash.h"
#include "engine/base/source.h"
#include "engine/graph/class.h"

#include <string.h>

/* ---- the sets that the sample is in ---- */

/* The set of which it is a part of a part. */
static int
whole_of(const rlf_graph *graph, int set)
{
    while (graph->sets.data[set].origin >= 0)
        set = graph->sets.data[set].origin;
    return set;
}

/* The set from which rounds choose the rows of `set`; -1: no rounds do. What
 * ends a round has a condition, and then a value for each output. */
static int
chosen_from(const rlf_graph *graph, int set)
{
    const rlf_node *maker = rlf_graph_maker(graph, set);
    if (!maker || maker->class->control_flow != RLF_CONTROL_FLOW_ROUNDS)
        return -1;
    const rlf_region *r = &graph->regions.data[maker->regions[0]];
    for (int i = 0; i < r->n_nodes; i++) {
        const rlf_node *end = &graph->nodes.data[r->nodes[i]];
        for (int k = 0; end->class->ends_round && k < maker->n_outputs; k++)
            if (graph->values.data[maker->outputs[k]].set == set)
                return graph->values.data[end->inputs[1 + k]].set;
    }
    return -1;
}

rlf_sample_trace *
rlf_sample_trace_new(rlf_arena *arena, const rlf_graph *graph, uint32_t step,
                     int set, uint64_t number)
{
    rlf_sample_trace *t = RLF_NEW(arena, rlf_sample_trace);
    *t = (rlf_sample_trace){
        .graph = graph, .step = step, .set = set, .number = number,
        .least = UINT64_MAX};
    pthread_mutex_init(&t->mutex, NULL);
    t->domain = RLF_NEW_ARRAY(arena, bool, graph->domains.list.count);
    t->sets = RLF_NEW_ARRAY(arena, bool, graph->sets.count);
    int from = chosen_from(graph, set);
    for (size_t i = 0; i < graph->sets.count; i++) {
        int whole = whole_of(graph, (int)i);
        t->sets[i] =
            whole == set || (from >= 0 && whole == whole_of(graph, from));
        if (t->sets[i])
            t->domain[graph->sets.data[i].samples] = true;
    }
    return t;
}

void
rlf_sample_trace_free(rlf_sample_trace *t)
{
    if (!t)
        return;
    rlf_buf_free(&t->facts);
    RLF_VEC_FREE(&t->hashes);
    pthread_mutex_destroy(&t->mutex);
}

bool
rlf_sample_trace_row(const rlf_sample_trace *t, const rlf_space *samples,
                     uint32_t *row)
{
    if (!samples || !t->domain[samples->domain])
        return false;
    for (uint32_t i = 0; i < samples->count; i++)
        if ((samples->identity ? samples->identity[i] : i) == t->number) {
            *row = i;
            return true;
        }
    return false;
}

/* The only row of `space` that goes back to row `to` of the domain `above`. */
static bool
only_row(const rlf_domains *domains, const rlf_space *space, int above,
         uint32_t to, uint32_t *row)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < space->count; i++)
        if (rlf_space_row(domains, space, i, above) == to) {
            *row = i;
            found++;
        }
    return found == 1;
}

bool
rlf_sample_trace_below(const rlf_sample_trace *t, const rlf_traced_row *at,
                       const rlf_space *space, uint32_t *row)
{
    const rlf_domains *domains = &t->graph->domains;
    int own = rlf_domain_rows(domains, space->domain);
    int samples = at->samples->domain;
    *row = 0;
    if (own == 0)
        return true;
    if (rlf_domain_reaches(domains, own, samples)) {
        *row = rlf_space_row(domains, at->samples, at->row, own);
        return true;
    }
    if (rlf_domain_reaches(domains, samples, own))
        return only_row(domains, space, samples, at->row, row);
    /* of another set of the same prompts */
    for (size_t i = domains->list.count; i-- > 1;)
        if (domains->list.data[i].kind == RLF_DOMAIN_ROWS &&
            rlf_domain_reaches(domains, (int)i, samples) &&
            rlf_domain_reaches(domains, (int)i, own))
            return only_row(
                domains, space, (int)i,
                rlf_space_row(domains, at->samples, at->row, (int)i), row);
    return false;
}

/* ---- facts ---- */

void
rlf_sample_trace_add(rlf_sample_trace *t, const rlf_buf *fact)
{
    uint64_t hash = rlf_hash(RLF_HASH_INIT, fact->p, fact->n);
    rlf_mutex_lock(&t->mutex);
    size_t i = 0;
    while (i < t->hashes.count && t->hashes.data[i] != hash)
        i++;
    if (i == t->hashes.count) {
        RLF_PUSH(&t->hashes, hash);
        rlf_buf_puts(&t->facts, t->facts.n ? ",\n" : "");
        rlf_buf_add(&t->facts, fact->p, fact->n);
        t->found = true;
    }
    rlf_mutex_unlock(&t->mutex);
}

void
rlf_sample_trace_begin(const rlf_graph *graph, const char *kind,
                       const rlf_node *node, uint64_t iteration, rlf_buf *fact)
{
    rlf_buf_printf(fact, "{\"kind\":\"%s\",\"node\":%d", kind, node->id);
    rlf_sample_trace_place(graph, node->span, fact);
    if (iteration)
        rlf_buf_printf(fact, ",\"iteration\":\"%016llx\"",
                       (unsigned long long)iteration);
}

/* The text of an expression: its span ends with its last argument, so that a
 * parenthesis may be missing. */
static void
put_source(const char *text, size_t n, rlf_buf *fact)
{
    rlf_buf whole = {0};
    int open = 0;
    rlf_buf_add(&whole, text, n);
    for (size_t i = 0; i < n; i++)
        open += (text[i] == '(') - (text[i] == ')');
    for (; open > 0; open--)
        rlf_buf_putc(&whole, ')');
    rlf_buf_json(fact, whole.p, whole.n);
    rlf_buf_free(&whole);
}

void
rlf_sample_trace_place(const rlf_graph *graph, rlf_span span, rlf_buf *fact)
{
    if (!span.source)
        return;
    const rlf_source *source = rlf_sources_get(graph->sources, span.source);
    rlf_place at = rlf_sources_place(graph->sources, span);
    rlf_buf_puts(fact, ",\"path\":");
    rlf_buf_json(fact, at.path, strlen(at.path));
    rlf_buf_printf(fact, ",\"line\":%u,\"column\":%u,\"source\":", at.line,
                   at.column);
    put_source(source->text + span.first, span.last - span.first, fact);
    const rlf_source_use *use = rlf_sources_used(graph->sources, span);
    if (!use)
        return;
    rlf_buf_puts(fact, ",\"within\":");
    rlf_buf_json(fact, use->name, strlen(use->name));
}

void
rlf_sample_trace_numbers(const rlf_graph *graph, const rlf_column *column,
                         uint32_t row, rlf_buf *fact)
{
    const rlf_space *s = column->space;
    const char *name = rlf_domains_get(&graph->domains, s->domain)->name;
    uint64_t first = s->offset ? s->offset[row] : row;
    uint64_t n = s->offset ? s->length[row] : 1;
    rlf_buf_puts(fact, ",\"on\":");
    rlf_buf_json(fact, name, strlen(name));
    rlf_buf_puts(fact, ",\"values\":[");
    for (uint64_t i = 0; i < n; i++) {
        rlf_buf_puts(fact, i ? "," : "");
        rlf_buf_number(fact, column->number[first + i]);
    }
    rlf_buf_putc(fact, ']');
}

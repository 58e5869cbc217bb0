/* Samples that were generated in a step: lines for samples.jsonl, and the sets
 * with what stands beside their tokens. */
#include "engine/base/vec.h"
#include "engine/graph/class.h"
#include "engine/sched/state.h"

/* The set that a value is, if a model samples it once a step at most: not in a
 * loop. What a collect kept is such a set, what it drew is not. */
static const rlf_set *
is_sampled(const rlf_graph *graph, int value)
{
    const rlf_value *v = &graph->values.data[value];
    if (v->kind != RLF_VALUE_SET || v->node < 0 ||
        !rlf_graph_once(graph, graph->nodes.data[v->node].region))
        return NULL;
    const rlf_set *set = &graph->sets.data[v->set];
    return set->kind == RLF_SET_SAMPLED && set->origin < 0 ? set : NULL;
}

/* The rows of a set in the last step, or NULL. */
static const rlf_rows *
sampled(const rlf_run *run, int value)
{
    if (!is_sampled(run->graph, value))
        return NULL;
    rlf_origin at = rlf_order_latest(rlf_control_order(run->control), value);
    if (at.instance < 0 || (size_t)at.instance >= run->ranks[0].slots.count)
        return NULL;
    const slot *s = &run->ranks[0].slots.data[at.instance];
    return s->opened ? s->call.out[at.port].rows : NULL;
}

const rlf_column *
rlf_run_column(const rlf_run *run, int value)
{
    rlf_origin at = rlf_order_latest(rlf_control_order(run->control), value);
    if (at.instance < 0 || (size_t)at.instance >= run->ranks[0].slots.count)
        return NULL;
    const slot *s = &run->ranks[0].slots.data[at.instance];
    return s->opened ? &s->call.out[at.port].column : NULL;
}

/* The numbers of a labelled value if it has one for each of these samples, or
 * of their tokens. */
static const double *
column_of(const rlf_run *run, const rlf_space *space, size_t v)
{
    const rlf_value *value = &run->graph->values.data[v];
    if (value->kind != RLF_VALUE_NUMBER || !value->label ||
        value->domain != space->domain)
        return NULL;
    const rlf_column *column = rlf_run_column(run, (int)v);
    return column && column->space == space ? column->number : NULL;
}

/* The columns, in an object of their own: a program may give any name. */
static void
put_columns(const rlf_run *run, const rlf_space *samples, uint32_t row,
            rlf_buf *out)
{
    const char *between = "";
    rlf_buf_puts(out, ",\"values\":{");
    for (size_t v = 0; v < run->graph->values.count; v++) {
        const double *column = column_of(run, samples, v);
        if (!column)
            continue;
        const char *label = run->graph->values.data[v].label;
        rlf_buf_puts(out, between);
        rlf_buf_json(out, label, strlen(label));
        rlf_buf_putc(out, ':');
        rlf_buf_number(out, column[row]);
        between = ",";
    }
    rlf_buf_putc(out, '}');
}

/* The fields of the data row that the prompt goes back to, in an object of
 * their own likewise; of prompts that go back to none there is none. */
static rlf_status
put_fields(const rlf_run *run, const rlf_rows *rows, uint32_t prompt,
           rlf_err *err, rlf_buf *out)
{
    int data = rows->set->data;
    if (data < 0 || !rows->data_row)
        return RLF_OK;
    rlf_arena *pool = rlf_arena_new();
    rlf_buf_puts(out, ",\"row\":{");
    rlf_status status = run->graph->resources.data[data].class->data->fields(
        run->ranks[0].env.resource[data], rows->data_row[prompt], pool, err,
        out);
    rlf_buf_putc(out, '}');
    rlf_arena_free(pool);
    return status;
}

/* The set's name; of those that are called the same in the program the second
 * ends in ".2". */
static void
put_name(const rlf_graph *graph, int value, rlf_buf *name)
{
    const rlf_set *set = &graph->sets.data[graph->values.data[value].set];
    int number = 1;
    for (int v = 0; v < value; v++) {
        const rlf_set *other = is_sampled(graph, v);
        number += other && strcmp(other->name, set->name) == 0;
    }
    rlf_buf_puts(name, set->name);
    if (number > 1)
        rlf_buf_printf(name, ".%d", number);
}

/* The first set of given responses that the program calls so, and not a part of
 * one; -1: there is none. */
static int
given_set(const rlf_graph *graph, const char *name)
{
    for (size_t i = 0; i < graph->sets.count; i++) {
        const rlf_set *set = &graph->sets.data[i];
        if (set->kind == RLF_SET_WRITTEN && set->origin < 0 &&
            (!name || strcmp(set->name, name) == 0))
            return (int)i;
    }
    return -1;
}

int
rlf_sampled_set(const rlf_graph *graph, const char *name)
{
    int found = -1;
    for (size_t v = 0; v < graph->values.count && found < 0; v++) {
        const rlf_value *value = &graph->values.data[v];
        rlf_buf own = {0};
        if (!is_sampled(graph, (int)v) ||
            (!name && graph->nodes.data[value->node].looking))
            continue;
        put_name(graph, (int)v, &own);
        if (!name || strcmp(own.p, name) == 0)
            found = value->set;
        rlf_buf_free(&own);
    }
    return found < 0 ? given_set(graph, name) : found;
}

static rlf_status
put_sample(const rlf_run *run, int value, const rlf_rows *rows, uint32_t row,
           rlf_err *err, rlf_buf *out)
{
    uint32_t p = rlf_space_row(&run->graph->domains, rows->samples, row,
                               rows->prompts->domain);
    rlf_str prompt = rows->prompt[p].text, text = rows->sample[row].text;
    rlf_buf name = {0};
    put_name(run->graph, value, &name);
    rlf_buf_printf(out, "{\"step\":%u,\"set\":",
                   run->graph->evaluation.rows ? 1 : run->step);
    rlf_buf_json(out, name.p, name.n);
    rlf_buf_free(&name);
    rlf_buf_printf(out, ",\"of\":%u,\"sample\":%llu,\"prompt\":",
                   rows->samples->count,
                   (unsigned long long)rows->samples->identity[row]);
    rlf_buf_json(out, prompt.p, prompt.n);
    rlf_buf_puts(out, ",\"response\":");
    rlf_buf_json(out, text.p, text.n);
    rlf_buf_printf(out, ",\"tokens\":%u,\"finished\":%d",
                   rows->sample[row].n_ids, rows->sample[row].finished);
    if (run->graph->nodes.data[run->graph->values.data[value].node].ahead)
        rlf_buf_printf(out, ",\"lag\":%u", rows->lag);
    put_columns(run, rows->samples, row, out);
    RLF_TRY(put_fields(run, rows, p, err, out));
    rlf_buf_puts(out, "}\n");
    return RLF_OK;
}

/* Lines on their way; a step's may be larger than all else that it makes. */
typedef struct writer {
    const rlf_run *run;
    uint32_t most;
    rlf_take_lines take;
    void *arg;
    rlf_buf lines;
} writer;

static rlf_status
pass_on(writer *w, rlf_err *err)
{
    rlf_status status =
        w->lines.n ? w->take(w->arg, w->lines.p, w->lines.n, err) : RLF_OK;
    rlf_buf_clear(&w->lines);
    return status;
}

static rlf_status
put_set(void *arg, int value, rlf_err *err)
{
    writer *w = arg;
    /* Bytes: of lines that are passed on, of a character in JSON, of what a
     * line has beside its texts. */
    enum { ENOUGH = 1 << 20, MOST_JSON = 6, BESIDE = 1 << 12 };
    const rlf_rows *rows = sampled(w->run, value);
    for (uint32_t n = 0; rows && n < rows->samples->count && n < w->most; n++) {
        uint32_t p = rlf_space_row(&w->run->graph->domains, rows->samples, n,
                                   rows->prompts->domain);
        size_t texts = rows->prompt[p].text.n + rows->sample[n].text.n;
        if (!rlf_buf_try(&w->lines, MOST_JSON * texts + BESIDE))
            return rlf_fail_memory(err, MOST_JSON * texts, "a sample's line");
        RLF_TRY(put_sample(w->run, value, rows, n, err, &w->lines));
        if (w->lines.n >= ENOUGH)
            RLF_TRY(pass_on(w, err));
    }
    return RLF_OK;
}

/* ---- all sets ---- */

/* Calls `visit` for each value that a step makes once, in the order of the
 * program; its first error ends it. */
static rlf_status
each_value(const rlf_run *run, int region,
           rlf_status (*visit)(void *arg, int value, rlf_err *err), void *arg,
           rlf_err *err)
{
    const rlf_graph *graph = run->graph;
    const rlf_region *r = &graph->regions.data[region];
    for (int i = 0; i < r->n_nodes; i++) {
        const rlf_node *node = &graph->nodes.data[r->nodes[i]];
        for (int k = 0; k < node->n_outputs; k++)
            RLF_TRY(visit(arg, node->outputs[k], err));
        for (int k = 0; k < node->n_regions; k++)
            if (rlf_graph_once(graph, node->regions[k]))
                RLF_TRY(each_value(run, node->regions[k], visit, arg, err));
    }
    return RLF_OK;
}

rlf_status
rlf_run_samples(const rlf_run *run, uint32_t most, rlf_take_lines take,
                void *arg, rlf_err *err)
{
    writer w = {.run = run, .most = most, .take = take, .arg = arg};
    rlf_status status = each_value(run, 0, put_set, &w, err);
    if (status >= 0)
        status = pass_on(&w, err);
    rlf_buf_free(&w.lines);
    return status;
}

/* ---- what stands beside tokens ---- */

typedef struct lister {
    const rlf_run *run;
    uint32_t most;
    rlf_arena *arena;
    rlf_recorded_sets *sets;
} lister;

/* The named numbers on a space of the set. */
static void
list_values(const lister *l, const rlf_space *space, rlf_recorded_values *out)
{
    const rlf_graph *graph = l->run->graph;
    for (size_t v = 0; v < graph->values.count; v++) {
        const double *number = column_of(l->run, space, v);
        if (number)
            RLF_PUSH_IN(
                l->arena, out,
                ((rlf_recorded_value){graph->values.data[v].label, number}));
    }
}

static rlf_status
list_set(void *arg, int value, rlf_err *err)
{
    const lister *l = arg;
    const rlf_rows *rows = sampled(l->run, value);
    (void)err;
    if (!rows || !rows->tokens || !rows->sample)
        return RLF_OK;
    uint32_t n = rows->samples->count;
    rlf_recorded_set set = {.rows = rows, .n = n < l->most ? n : l->most};
    rlf_buf name = {0};
    put_name(l->run->graph, value, &name);
    set.name = rlf_arena_strndup(l->arena, name.p, name.n);
    rlf_buf_free(&name);
    list_values(l, rows->samples, &set.numbers);
    list_values(l, rows->tokens, &set.values);
    if (set.n)
        RLF_PUSH_IN(l->arena, l->sets, set);
    return RLF_OK;
}

rlf_status
rlf_run_recorded(const rlf_run *run, uint32_t most, rlf_arena *arena,
                 rlf_err *err, rlf_recorded_sets *out)
{
    lister l = {.run = run, .most = most, .arena = arena, .sets = out};
    return each_value(run, 0, list_set, &l, err);
}

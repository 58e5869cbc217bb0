/* What was generated in a step, for samples.jsonl. */
#include "engine/graph/class.h"
#include "engine/sched/state.h"

/* The rows of a set of the last step that a model sampled, or NULL. What a
 * collect kept is such a set, what it drew is not. */
static const rlf_rows *
sampled(const rlf_run *run, int value)
{
    const rlf_value *v = &run->graph->values.data[value];
    if (v->kind != RLF_VALUE_SET ||
        run->graph->sets.data[v->set].kind != RLF_SET_SAMPLED ||
        run->graph->sets.data[v->set].origin >= 0)
        return NULL;
    struct rlf_origin at =
        rlf_order_latest(rlf_control_order(run->control), value);
    if (at.instance < 0 || (size_t)at.instance >= run->ranks[0].slots.count)
        return NULL;
    const slot *s = &run->ranks[0].slots.data[at.instance];
    return s->opened ? s->call.out[at.port].rows : NULL;
}

/* The numbers of a labelled value if it has one for each of these samples. */
static const double *
column_of(const rlf_run *run, const rlf_space *samples, size_t v)
{
    const rlf_value *value = &run->graph->values.data[v];
    if (value->kind != RLF_VALUE_NUMBER || !value->label ||
        value->domain != samples->domain)
        return NULL;
    struct rlf_origin at =
        rlf_order_latest(rlf_control_order(run->control), (int)v);
    if (at.instance < 0 || (size_t)at.instance >= run->ranks[0].slots.count)
        return NULL;
    const slot *s = &run->ranks[0].slots.data[at.instance];
    if (!s->opened || s->call.out[at.port].column.space != samples)
        return NULL;
    return s->call.out[at.port].column.number;
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
static void
put_fields(const rlf_run *run, const rlf_rows *rows, uint32_t prompt,
           rlf_buf *out)
{
    int data = rows->set->data;
    if (data < 0 || !rows->data_row)
        return;
    rlf_buf_puts(out, ",\"row\":{");
    run->classes->resource[RLF_RESOURCE_DATA]->fields(
        run->ranks[0].env.resource[data], rows->data_row[prompt], out);
    rlf_buf_putc(out, '}');
}

static void
put_sample(const rlf_run *run, const rlf_rows *rows, uint32_t row, bool ahead,
           rlf_buf *out)
{
    uint32_t p = rlf_space_row(&run->graph->domains, rows->samples, row,
                               rows->prompts->domain);
    rlf_str prompt = rows->prompt[p].text, text = rows->sample[row].text;
    rlf_buf_printf(out, "{\"step\":%u,\"set\":", run->step);
    rlf_buf_json(out, rows->set->name, strlen(rows->set->name));
    rlf_buf_printf(out, ",\"sample\":%llu,\"prompt\":",
                   (unsigned long long)rows->samples->identity[row]);
    rlf_buf_json(out, prompt.p, prompt.n);
    rlf_buf_puts(out, ",\"response\":");
    rlf_buf_json(out, text.p, text.n);
    rlf_buf_printf(out, ",\"tokens\":%u,\"finished\":%d",
                   rows->sample[row].n_ids, rows->sample[row].finished);
    if (ahead)
        rlf_buf_printf(out, ",\"lag\":%u", rows->lag);
    put_columns(run, rows->samples, row, out);
    put_fields(run, rows, p, out);
    rlf_buf_puts(out, "}\n");
}

void
rlf_run_samples(const rlf_run *run, uint32_t most, rlf_buf *out)
{
    const rlf_region *flow = &run->graph->regions.data[0];
    for (int i = 0; i < flow->n_nodes; i++) {
        const rlf_node *node = &run->graph->nodes.data[flow->nodes[i]];
        for (int k = 0; k < node->n_outputs; k++) {
            const rlf_rows *rows = sampled(run, node->outputs[k]);
            for (uint32_t r = 0; rows && r < rows->samples->count && r < most;
                 r++)
                put_sample(run, rows, r, node->ahead, out);
        }
    }
}

/* Warnings from the metrics of a step, each given once: numbers that are not
 * finite, updates without rows, one name for two metrics, a gradient or a
 * learning rate that is 0. They change nothing that is trained. */
#include "engine/api/session.h"

#include "engine/base/vec.h"
#include "engine/graph/class.h"
#include "engine/graph/step_arguments.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- numbers that are none, updates of nothing ---- */

/* Was this metric told of before? Now it is. */
static bool
is_told(rlf_session *s, const char *name)
{
    for (size_t i = 0; i < s->warned.nonfinite.count; i++)
        if (strcmp(s->warned.nonfinite.data[i], name) == 0)
            return true;
    RLF_PUSH_IN(s->arena, &s->warned.nonfinite,
                rlf_arena_strdup(s->arena, name));
    return false;
}

/* "file:line: " of the node that reports the metric. */
static void
put_place(rlf_session *s, const rlf_metric *m)
{
    rlf_span span = rlf_sources_own(&s->program.sources,
                                    s->graph->nodes.data[m->node].span);
    if (!span.source)
        return;
    rlf_place at = rlf_sources_place(&s->program.sources, span);
    rlf_buf_line(&s->warned.lines, "%s:%u: ", at.path, at.line);
}

/* Had the step only updates of nothing, which report this metric and no
 * loss (nodes/update.c, and nodes/for.c for those that never ran)? */
static bool
is_empty_update(const rlf_session *s, const rlf_metric *m)
{
    static const char empty[] = ".empty", loss[] = ".loss";
    const rlf_node_class *class = s->graph->nodes.data[m->node].class;
    const char *at = strstr(m->name, empty);
    if (!at || !m->count ||
        (class->work != RLF_WORK_TRAIN &&
         class->control_flow != RLF_CONTROL_FLOW_LOOP))
        return false;
    rlf_buf name = {0};
    double ignored;
    rlf_buf_printf(&name, "%.*s%s%s", (int)(at - m->name), m->name, loss,
                   at + sizeof empty - 1);
    bool learned = rlf_metrics_get(rlf_run_metrics(s->run), name.p, &ignored);
    rlf_buf_free(&name);
    return !learned;
}

/* Did another block report it in this step, too? The sides of an if, which
 * pieces of a for may take in turn, are one block. */
static bool
is_of_two_blocks(const rlf_session *s, const rlf_metric *m)
{
    const rlf_metrics *metrics = rlf_run_metrics(s->run);
    const rlf_node *nodes = s->graph->nodes.data;
    const rlf_region *regions = s->graph->regions.data;
    int mine = nodes[m->node].region;
    if (!m->again || !nodes[m->node].class->reports)
        return false;
    for (const rlf_metric *o = metrics->data; o < m; o++) {
        int region = nodes[o->node].region;
        bool sides = region != mine && regions[region].node >= 0 &&
                     regions[region].node == regions[mine].node;
        if (!sides && rlf_metric_reported(o) && !strcmp(o->name, m->name))
            return true;
    }
    return false;
}

/* A metric that is no number changes nothing that is trained, so the run goes
 * on, and so it does where there was nothing to train on; but somebody should
 * know. */
static void
check_metric(rlf_session *s, const rlf_metric *m)
{
    uint32_t step = rlf_run_steps(s->run);
    bool empty = is_empty_update(s, m), two = is_of_two_blocks(s, m);
    if ((isfinite(m->sum) && !empty && !two) || is_told(s, m->name))
        return;
    put_place(s, m);
    if (two && isfinite(m->sum))
        rlf_buf_line(&s->warned.lines,
                     "two blocks reported the metric %s in step %" PRIu32
                     ": the mean of both is written; it is not told of "
                     "again\n",
                     m->name, step);
    else if (empty)
        rlf_buf_line(&s->warned.lines,
                     "the update had nothing to minimize in step %" PRIu32
                     " and changed nothing: the metric %s is 1; it is not "
                     "told of again\n",
                     step, m->name);
    else
        rlf_buf_line(&s->warned.lines,
                     "the metric %s is %s in step %" PRIu32
                     ", null in metrics.jsonl; it is not told of again\n",
                     m->name,
                     !m->count       ? "made of nothing"
                     : isnan(m->sum) ? "not a number"
                                     : "infinite",
                     step);
}

/* ---- learning rates that are 0 ---- */

/* So many steps are looked at of a run that a break ends. */
enum { STEPS_OF_BREAK = 1000 };

static void
check_rate(rlf_session *s, const rlf_node *node)
{
    uint64_t last = s->steps.wanted ? s->steps.wanted : STEPS_OF_BREAK;
    const rlf_arg *lr = rlf_node_arg(node, "lr");
    uint64_t count = 0;
    if (lr->kind == RLF_ARG_VALUE)
        count = rlf_step_arguments_always(s->graph, node, "lr", 0, 1, last);
    if (!count)
        return;
    rlf_diag_warning(&s->program.diags, "update", lr->span,
                     "the learning rate is 0 in each of the steps 1 to %" PRIu64
                     "%s: '%s' learns nothing in them",
                     last, count < last ? " that come to the update" : "",
                     s->graph->resources.data[node->receiver].name);
}

void
rlf_warn_rates(rlf_session *s)
{
    bool *seen = RLF_NEW_ARRAY(s->arena, bool, s->graph->resources.count);
    for (size_t i = 0; i < s->graph->nodes.count; i++) {
        const rlf_node *node = &s->graph->nodes.data[i];
        if (node->class->work != RLF_WORK_TRAIN || seen[node->receiver])
            continue;
        seen[node->receiver] = true;
        check_rate(s, node);
    }
}

/* ---- rows that change nothing ---- */

/* The update that reads a model's distributions, or NULL. */
static const rlf_node *
reader_of(const rlf_session *s, int model)
{
    for (size_t i = 0; i < s->graph->nodes.count; i++) {
        const rlf_node *node = &s->graph->nodes.data[i];
        if (node->class->work == RLF_WORK_TRAIN && node->receiver != model &&
            rlf_place_reads_words(node, model))
            return node;
    }
    return NULL;
}

/* Does the row place a call, and none that runs where it says? */
static bool
is_idle(const rlf_session *s, const rlf_place_row *row)
{
    bool any = false;
    if (row->shards > 0 || row->lanes > 0)
        return false;
    for (size_t i = 0; i < s->graph->nodes.count; i++) {
        const rlf_node *node = &s->graph->nodes.data[i];
        if (node->receiver != row->model || !rlf_place_can(node) ||
            (row->call && node->class != row->call))
            continue;
        if (rlf_plan_runs(s->graph, node))
            return false;
        any = true;
    }
    return any;
}

static void
check_row(rlf_session *s, const rlf_place_row *row)
{
    const rlf_node *reader = reader_of(s, row->model);
    const rlf_resource *models = s->graph->resources.data;
    if (!reader || !is_idle(s, row))
        return;
    rlf_diag *diag = rlf_diag_warning(
        &s->program.diags, "place", row->span,
        "'%s%s%s' is computed where %s.update reads it: this row changes "
        "nothing",
        models[row->model].name, row->call ? "." : "",
        row->call ? row->call->name : "", models[reader->receiver].name);
    rlf_diag_hint(&s->program.diags, diag, "leave it out, and place %s.update",
                  models[reader->receiver].name);
}

void
rlf_warn_rows(rlf_session *s)
{
    const rlf_placement *p = s->graph->placement;
    for (int i = 0; p && i < p->n_rows; i++)
        check_row(s, &p->rows[i]);
    for (int i = 0; p && i < p->n_pins && !p->n_rows; i++)
        check_row(s, &p->pins[i]);
}

/* ---- conditions that are the same in each step ---- */

/* So many steps are looked at, however long the run is: a condition that holds
 * later is one. */
enum { STEPS_OF_CONDITION = 100000 };

/* Has the compiler told of it, to which its bounds were enough? */
static bool
is_warned_of(const rlf_session *s, rlf_span span)
{
    for (size_t i = 0; i < s->program.diags.list.count; i++)
        if (s->program.diags.list.data[i].at.source == span.source &&
            s->program.diags.list.data[i].at.first == span.first)
            return true;
    return false;
}

static void
check_condition(rlf_session *s, const rlf_node *node)
{
    const char *name = node->class->condition;
    const rlf_arg *arg = name ? rlf_node_arg(node, name) : NULL;
    if (!arg || arg->kind != RLF_ARG_VALUE || is_warned_of(s, arg->span))
        return;
    uint64_t never = rlf_step_arguments_always(s->graph, node, name, 0, 1,
                                               STEPS_OF_CONDITION),
             count = never;
    if (!never)
        count = rlf_step_arguments_always(s->graph, node, name, 1, 1,
                                          STEPS_OF_CONDITION);
    if (!count)
        return;
    rlf_diag_warning(&s->program.diags, "constant", arg->span,
                     "this condition holds in %s of the first %d steps%s",
                     never ? "none" : "each", STEPS_OF_CONDITION,
                     count < STEPS_OF_CONDITION ? " that come to it" : "");
}

/* Of values in all: a program that is larger, which some other made, is not
 * looked at so. */
#define MOST_LOOKS 5e8

void
rlf_warn_conditions(rlf_session *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->graph->nodes.count; i++)
        n += s->graph->nodes.data[i].class->condition != NULL;
    double looks =
        (double)STEPS_OF_CONDITION * (double)n * (double)s->graph->values.count;
    for (size_t i = 0; i < s->graph->nodes.count && looks <= MOST_LOOKS; i++)
        check_condition(s, &s->graph->nodes.data[i]);
}

/* ---- gradients that are 0 ---- */

/* Of a model's updates in this many steps. Groups whose samples all have the
 * same score give steps without a gradient also where all is right: where every
 * second step of the first ones is such a step, five in a row are one run of
 * thirty; and five steps are early enough to be of use. */
enum { STEPS_WITHOUT = 5 };

/* A gradient that is smaller than its loss by this is what rounding to float
 * leaves of terms that cancel each other. */
static const double rounding = 1e-6;

static rlf_seen_gradient *
gradient_of(rlf_session *s, const char *name)
{
    for (size_t i = 0; i < s->warned.gradients.count; i++)
        if (strcmp(s->warned.gradients.data[i].name, name) == 0)
            return &s->warned.gradients.data[i];
    rlf_seen_gradient new = {.name = rlf_arena_strdup(s->arena, name)};
    RLF_PUSH_IN(s->arena, &s->warned.gradients, new);
    return &s->warned.gradients.data[s->warned.gradients.count - 1];
}

/* The loss of the update whose gradient this is. */
static double
loss_of(const rlf_session *s, const char *gradient, size_t model)
{
    static const char word[] = ".gradient";
    rlf_buf name = {0};
    double loss = 0;
    rlf_buf_printf(&name, "%.*s.loss%s", (int)model, gradient,
                   gradient + model + sizeof word - 1);
    rlf_metrics_get(rlf_run_metrics(s->run), name.p, &loss);
    rlf_buf_free(&name);
    return loss;
}

static void
warn_of_gradient(rlf_session *s, const rlf_metric *m,
                 const rlf_seen_gradient *w)
{
    put_place(s, m);
    if (w->most == 0)
        rlf_buf_line(&s->warned.lines,
                     "the metric %s was 0 in each of the first %d steps that "
                     "reported it: nothing is learned",
                     m->name, STEPS_WITHOUT);
    else
        rlf_buf_line(&s->warned.lines,
                     "the metric %s was %.2g at most, less than a millionth "
                     "of the loss, in each of the first %d steps that "
                     "reported it: rounding leaves so much where terms "
                     "cancel and nothing is learned, or the loss has a large "
                     "part that does not depend on the model",
                     m->name, w->most, STEPS_WITHOUT);
    rlf_buf_puts(&s->warned.lines,
                 ". Likely reasons: the score is the same "
                 "for all samples (a hook that always gives one number, an "
                 "answer that is read from the wrong column or in another "
                 "form; samples.jsonl shows both); all samples of each group "
                 "are the same, or have the same score; a factor of the loss "
                 "is 0; what is minimized does not depend on the model, or "
                 "its terms cancel, as two responses from one column do\n");
}

/* One update of a model is one metric; a step that had nothing to update does
 * not report it. */
static void
check_gradient(rlf_session *s, const rlf_metric *m)
{
    const rlf_node_class *class = s->graph->nodes.data[m->node].class;
    const char *at = strstr(m->name, ".gradient");
    if (class->work != RLF_WORK_TRAIN || !at || !m->count)
        return;
    rlf_seen_gradient *w = gradient_of(s, m->name);
    double norm = m->sum / (double)m->count,
           loss = loss_of(s, m->name, (size_t)(at - m->name));
    if (w->learns || w->steps == STEPS_WITHOUT)
        return;
    w->learns = !(norm <= rounding * fabs(loss));
    w->most = norm > w->most ? norm : w->most;
    w->steps++;
    if (!w->learns && w->steps == STEPS_WITHOUT)
        warn_of_gradient(s, m, w);
}

void
rlf_warn_step(rlf_session *s)
{
    const rlf_metrics *metrics = rlf_run_metrics(s->run);
    for (size_t i = 0; i < metrics->count; i++) {
        const rlf_metric *m = &metrics->data[i];
        if (!rlf_metric_reported(m))
            continue;
        check_metric(s, m);
        check_gradient(s, m);
    }
}

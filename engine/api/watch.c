/* What is odd in the metrics of a step, told of once each: a warning of the
 * session, with the place in the program. Nothing that is trained depends on it. */
#include "engine/api/session.h"

#include "engine/base/vec.h"
#include "engine/graph/class.h"
#include "engine/sched/metrics.h"

#include <math.h>
#include <string.h>

/* Steps after which a gradient that was never anything but 0 is no accident of
 * the first samples. */
enum { PATIENCE = 5 };

/* Was this metric told of before? Now it is. */
static bool
is_told(rlf_session *s, const char *name)
{
    for (size_t i = 0; i < s->odd.count; i++)
        if (strcmp(s->odd.data[i], name) == 0)
            return true;
    RLF_PUSH_IN(s->arena, &s->odd, rlf_arena_strdup(s->arena, name));
    return false;
}

/* "file:line: " of the node that reports the metric. */
static void
put_place(rlf_session *s, const rlf_metric *m)
{
    rlf_span span =
        rlf_sources_own(&s->sources, s->graph->nodes.data[m->node].span);
    if (!span.source)
        return;
    rlf_place at = rlf_sources_place(&s->sources, span);
    rlf_buf_printf(&s->warnings, "%s:%u: ", at.path, at.line);
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
        (class->work != RLF_WORK_TRAIN && class->course != RLF_COURSE_LOOP))
        return false;
    rlf_buf name = {0};
    double ignored;
    rlf_buf_printf(&name, "%.*s%s%s", (int)(at - m->name), m->name, loss,
                   at + sizeof empty - 1);
    bool learned =
        rlf_metrics_get(rlf_run_metrics(s->run), name.p, &ignored);
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
look_at_metrics(rlf_session *s)
{
    const rlf_metrics *metrics = rlf_run_metrics(s->run);
    for (size_t i = 0; i < metrics->count; i++) {
        const rlf_metric *m = &metrics->data[i];
        bool empty = is_empty_update(s, m), two = is_of_two_blocks(s, m);
        if (!rlf_metric_reported(m) || (isfinite(m->sum) && !empty && !two) ||
            is_told(s, m->name))
            continue;
        put_place(s, m);
        if (two && isfinite(m->sum)) {
            rlf_buf_printf(&s->warnings,
                           "two blocks reported the metric %s in step %u: the "
                           "mean of both is written; it is not told of again\n",
                           m->name, rlf_run_steps(s->run));
            continue;
        }
        if (empty) {
            rlf_buf_printf(&s->warnings,
                           "the update had nothing to minimize in step %u and "
                           "changed nothing: the metric %s is 1; it is not "
                           "told of again\n",
                           rlf_run_steps(s->run), m->name);
            continue;
        }
        rlf_buf_printf(&s->warnings,
                       "the metric %s is %s in step %u, null in metrics.jsonl; "
                       "it is not told of again\n",
                       m->name,
                       !m->count       ? "made of nothing"
                       : isnan(m->sum) ? "not a number"
                                       : "infinite",
                       rlf_run_steps(s->run));
    }
}

/* Of an update that ran in all steps so far, and changed nothing. */
static void
look_at_gradients(rlf_session *s)
{
    static const char ending[] = ".gradient";
    const rlf_metrics *metrics = rlf_run_metrics(s->run);
    s->watched.steps++;
    for (size_t i = 0; i < metrics->count; i++) {
        const rlf_metric *m = &metrics->data[i];
        size_t n = strlen(m->name), k = 0;
        if (n < sizeof ending || !m->count ||
            strcmp(m->name + n - (sizeof ending - 1), ending) != 0 ||
            s->graph->nodes.data[m->node].class->work != RLF_WORK_TRAIN)
            continue;
        while (k < s->watched.count && strcmp(s->watched.data[k].name, m->name))
            k++;
        if (k == s->watched.count)
            RLF_PUSH_IN(s->arena, &s->watched,
                        ((rlf_watched){rlf_arena_strdup(s->arena, m->name), 0}));
        bool nothing = fpclassify(m->sum) == FP_ZERO;
        if (!nothing || ++s->watched.data[k].zeros != s->watched.steps ||
            s->watched.steps != PATIENCE)
            continue;
        put_place(s, m);
        rlf_buf_printf(&s->warnings,
                       "the metric %s was 0 in all of the %d steps so far: "
                       "nothing is learned, as where all responses to a prompt "
                       "have the same reward; it is not told of again\n",
                       m->name, PATIENCE);
    }
}

void
rlf_watch_step(rlf_session *s)
{
    look_at_metrics(s);
    look_at_gradients(s);
}

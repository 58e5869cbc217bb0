/* The program's evaluations alone, of any model.
 *
 * The program is compiled as that of its evaluations (grammar/evaluation.c) and
 * runs as any other, in steps which are pieces of its data. Random numbers are
 * keyed by rows of the data and not by steps, so the pieces are as large as
 * suits the device. Values of metrics are kept by prompt and sample; intervals
 * are made of them when somebody asks (engine/base/interval.h). */
#include "engine/api/session.h"

#include "engine/base/interval.h"
#include "engine/base/vec.h"
#include "engine/graph/class.h"
#include "engine/io/file.h"
#include "engine/io/hub.h"
#include "grammar/compile.h"
#include "nodes/model/adapter_files.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

/* Answers that are sampled at once. A step that is told to end ends with its
 * last one. */
enum { AT_ONCE_CPU = 32, AT_ONCE = 512 };

typedef struct metric {
    rlf_score score;
    RLF_VEC(double) values;
} metric;

struct rlf_evaluating {
    rlf_evaluate how;
    RLF_VEC(metric) metrics;
    rlf_difference difference;
};

void
rlf_evaluating_close(struct rlf_evaluating *e)
{
    if (!e)
        return;
    for (size_t i = 0; i < e->metrics.count; i++)
        RLF_VEC_FREE(&e->metrics.data[i].values);
    RLF_VEC_FREE(&e->metrics);
    free(e);
}

/* ---- the model's directory ---- */

static bool
is_model(rlf_session *s, const char *dir)
{
    return rlf_adapter_is(dir) ||
           rlf_file_exists(rlf_path_join(s->arena, dir, "config.json"));
}

/* Returns the last checkpoint of a run, else NULL. */
static const char *
last_checkpoint(rlf_session *s, const char *dir, rlf_err *err)
{
    const char *all = rlf_path_join(s->arena, dir, "checkpoints"), *last = NULL;
    const char **names;
    size_t n;
    if (!rlf_dir_exists(all) ||
        rlf_dir_list(all, s->arena, err, &names, &n) < 0)
        return NULL;
    for (size_t i = 0; i < n; i++)
        if (strncmp(names[i], "step-", 5) == 0 &&
            (!last || strcmp(names[i], last) > 0))
            last = names[i];
    return last ? rlf_path_join(s->arena, all, last) : NULL;
}

/* The path from the root, so that it is one in any directory. */
static rlf_status
make_whole(rlf_session *s, const char *path, rlf_err *err, const char **out)
{
    char here[4096];
    *out = path;
    if (*path == '/')
        return RLF_OK;
    if (!getcwd(here, sizeof here))
        return rlf_fail_errno(err, "cannot tell the present directory");
    *out = rlf_path_join(s->arena, here, path);
    return RLF_OK;
}

/* The models in a checkpoint. */
static rlf_status
list_models(rlf_session *s, const char *dir, rlf_err *err, rlf_evaluate *out)
{
    const char **names;
    size_t n, found = 0;
    RLF_TRY(rlf_dir_list(dir, s->arena, err, &names, &n));
    rlf_evaluated *list = RLF_NEW_ARRAY(s->arena, rlf_evaluated, n + 1);
    for (size_t i = 0; i < n; i++) {
        const char *path = rlf_path_join(s->arena, dir, names[i]);
        if (!is_model(s, path))
            continue;
        rlf_evaluated *one = &list[found++];
        *one = (rlf_evaluated){.name = names[i],
                               .adapter = rlf_adapter_is(path)};
        RLF_TRY(make_whole(s, path, err, &one->model));
    }
    if (!found) {
        rlf_fail(err, RLF_USER,
                 "%s is no model, no adapter, no checkpoint and no run", dir);
        rlf_hub_explain(dir, err);
        return RLF_USER;
    }
    if (found > 1) {
        out->several = list;
        out->n_several = found;
        return make_whole(s, dir, err, &out->model);
    }
    out->model = list->model;
    out->adapter = list->adapter;
    return RLF_OK;
}

static rlf_status
find_model(rlf_session *s, const char *dir, rlf_err *err, rlf_evaluate *out)
{
    dir = rlf_hub_path(dir, dir, s->arena);
    if (!rlf_dir_exists(dir)) {
        rlf_fail(err, RLF_USER, "%s is no directory", dir);
        rlf_err_hint(err, "nothing is downloaded%s",
                     rlf_hub_advice(dir, s->arena));
        return RLF_USER;
    }
    if (is_model(s, dir)) {
        out->adapter = rlf_adapter_is(dir);
        return make_whole(s, dir, err, &out->model);
    }
    const char *last = last_checkpoint(s, dir, err);
    RLF_TRY(err->status);
    return list_models(s, last ? last : dir, err, out);
}

rlf_result
rlf_session_evaluate(rlf_session *s, const char *model)
{
    RLF_IN_LOCALE(s);
    if (!rlf_call_begins(s, __func__, NULL))
        return rlf_session_status(s);
    rlf_program_forget(s);
    if (s->calls.evaluating)
        return rlf_call_refuse(s, "the session is an evaluation already");
    if (s->graph)
        return rlf_call_refuse(
            s, "an evaluation begins before the program is compiled");
    rlf_evaluate how = {0};
    if (model && find_model(s, model, &s->err, &how) < 0)
        return rlf_session_status(s);
    s->calls.evaluating = rlf_calloc(1, sizeof *s->calls.evaluating);
    s->calls.evaluating->how = how;
    return RLF_RESULT_OK;
}

void
rlf_evaluating_place(const rlf_session *s, rlf_err *err)
{
    const char *model =
        s->calls.evaluating ? s->calls.evaluating->how.model : NULL;
    if (model && strstr(err->sentence, model))
        err->span = (rlf_span){0};
}

const rlf_evaluate *
rlf_evaluating_options(rlf_session *s)
{
    if (!s->calls.evaluating)
        return NULL;
    rlf_evaluate *how = &s->calls.evaluating->how;
    how->samples = s->options.each;
    how->temperature = s->options.sampling.temperature;
    how->limit = s->options.limit;
    bool on_cpu = strcmp(rlf_session_backend(s)->name, "cpu") == 0;
    uint32_t most = on_cpu ? AT_ONCE_CPU : AT_ONCE;
    how->rows = how->samples > most ? 1
                : how->samples      ? most / how->samples
                                    : most;
    s->options.samples = UINT32_MAX;
    return how;
}

/* ---- values ---- */

/* Answers to each prompt of a set. */
static size_t
answers_of(const rlf_graph *graph, int set)
{
    const rlf_node *node = rlf_graph_maker(graph, set);
    const rlf_arg *n =
        node ? rlf_args_find(node->args, node->n_args, "n") : NULL;
    return n && n->kind == RLF_ARG_NUMBER && n->number > 1 ? (size_t)n->number
                                                           : 1;
}

uint64_t
rlf_evaluating_steps(rlf_session *s)
{
    struct rlf_evaluating *e = s->calls.evaluating;
    const rlf_graph *graph = s->graph;
    size_t most = 1;
    for (size_t i = 0; i < graph->evaluation.scores.count; i++) {
        const rlf_graph_score *of = &graph->evaluation.scores.data[i];
        const rlf_set *set = &graph->sets.data[of->set];
        metric m = {.score = {.metric = of->name,
                              .samples = answers_of(graph, of->set),
                              .mean = NAN,
                              .low = NAN,
                              .high = NAN}};
        const rlf_resource *r = &graph->resources.data[set->data];
        m.score.all =
            r->class->data->rows(rlf_run_opened(s->run).resource[set->data])
                ->count;
        if (e->how.limit && m.score.all > e->how.limit)
            m.score.all = e->how.limit;
        if (m.score.all > most)
            most = m.score.all;
        RLF_PUSH(&e->metrics, m);
    }
    return (most + e->how.rows - 1) / e->how.rows;
}

/* The values of the rows of this step, which come in their order. */
static rlf_status
take(const rlf_session *s, metric *m, const rlf_graph_score *of, rlf_err *err)
{
    const rlf_column *column = rlf_run_column(s->run, of->value);
    if (!column || !column->number || !column->space)
        return RLF_OK;
    const rlf_space *space = column->space;
    RLF_TRY_ROOM(&m->values, space->count, "the values of a metric");
    for (uint32_t i = 0; i < space->count; i++) {
        if (space->identity[i] != m->values.count)
            return rlf_fail(err, RLF_BUG,
                            "the answers of '%s' are not in their order",
                            of->name);
        RLF_PUSH(&m->values, column->number[i]);
    }
    m->score.prompts = m->values.count / m->score.samples;
    m->score.values = m->values.data;
    return RLF_OK;
}

rlf_status
rlf_evaluating_step(rlf_session *s, rlf_err *err)
{
    struct rlf_evaluating *e = s->calls.evaluating;
    for (size_t i = 0; i < e->metrics.count; i++)
        RLF_TRY(take(s, &e->metrics.data[i],
                     &s->graph->evaluation.scores.data[i], err));
    return RLF_OK;
}

/* ---- what they come to ---- */

static double
mean_of(const rlf_score *score, size_t prompt)
{
    double sum = 0;
    for (size_t k = 0; k < score->samples; k++)
        sum += score->values[prompt * score->samples + k];
    return sum / (double)score->samples;
}

static double
mean(const double *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return n ? sum / (double)n : NAN;
}

/* The mean of x[n], and how far it can be from what more prompts would give. */
static void
estimate(const double *x, size_t n, uint64_t seed, double *value, double *low,
         double *high)
{
    *value = mean(x, n);
    rlf_interval at =
        n ? rlf_interval_mean(x, n, seed) : (rlf_interval){NAN, NAN};
    *low = at.low;
    *high = at.high;
}

const rlf_score *
rlf_session_score(rlf_session *s, size_t i)
{
    struct rlf_evaluating *e = s ? s->calls.evaluating : NULL;
    if (!s)
        return NULL;
    rlf_why_clear(s);
    if (!e || !s->steps.wanted)
        rlf_why(s, e ? "the evaluation is not ready"
                     : "the session is no evaluation (rlf_session_evaluate)");
    if (!e || i >= e->metrics.count)
        return NULL;
    rlf_score *score = &e->metrics.data[i].score;
    size_t n = score->prompts, ones = 0;
    double *x = rlf_try_malloc((n + 1) * sizeof *x);
    if (!x) {
        rlf_why(s, "there is no memory for the values of a metric");
        return NULL;
    }
    score->binary = n > 0;
    for (size_t k = 0; k < n * score->samples; k++) {
        double value = score->values[k];
        ones += value == 1;
        score->binary = score->binary && (value == 0 || value == 1);
    }
    for (size_t k = 0; k < n; k++)
        x[k] = mean_of(score, k);
    score->binomial = score->binary && score->samples == 1;
    if (score->binomial) {
        rlf_interval at = rlf_interval_share(ones, n);
        score->mean = mean(x, n);
        score->low = at.low;
        score->high = at.high;
    } else {
        estimate(x, n, s->options.seed, &score->mean, &score->low,
                 &score->high);
    }
    free(x);
    return score;
}

double
rlf_score_pass(const rlf_score *score, size_t k)
{
    if (!score || !score->binary || !k || k > score->samples)
        return NAN;
    double sum = 0;
    for (size_t i = 0; i < score->prompts; i++) {
        size_t right = 0;
        for (size_t j = 0; j < score->samples; j++)
            right += score->values[i * score->samples + j] == 1;
        sum += rlf_pass_at(score->samples, right, k);
    }
    return sum / (double)score->prompts;
}

const rlf_difference *
rlf_session_difference(rlf_session *s, size_t i, const rlf_score *other)
{
    const rlf_score *mine = rlf_session_score(s, i);
    if (!mine)
        return NULL;
    if (!other) {
        rlf_why(s, "there is no other score than that of '%s'", mine->metric);
        return NULL;
    }
    if (strcmp(mine->metric, other->metric) != 0) {
        rlf_why(s, "the scores are of two metrics, '%s' and '%s'", mine->metric,
                other->metric);
        return NULL;
    }
    rlf_difference *d = &s->calls.evaluating->difference;
    d->prompts =
        mine->prompts < other->prompts ? mine->prompts : other->prompts;
    double *x = rlf_try_malloc((d->prompts + 1) * sizeof *x);
    if (!x) {
        rlf_why(s, "there is no memory for the differences of a metric");
        return NULL;
    }
    for (size_t k = 0; k < d->prompts; k++)
        x[k] = mean_of(mine, k) - mean_of(other, k);
    estimate(x, d->prompts, s->options.seed, &d->mean, &d->low, &d->high);
    free(x);
    return d;
}

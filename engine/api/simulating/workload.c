/* See workload.h. */
#include "engine/api/simulating/workload.h"

#include <math.h>
#include <string.h>

#include "engine/io/file.h"
#include "engine/order/answer.h"
#include "engine/timing/profile.h"
#include "nodes/data.h"
#include "nodes/model_declare.h"
#include "nodes/reads.h"
#include "nodes/responses.h"

enum { MOST_TEXT = 64 << 20 };

/* ---- what the user says ---- */

static rlf_status
read_said(const char *option, const char *text, rlf_arena *arena, rlf_err *err,
          rlf_length_distribution *out)
{
    rlf_err why = RLF_ERR_NONE;
    rlf_buf file = {0};
    rlf_status status;
    if (rlf_lengths_is_text(text)) {
        status = rlf_lengths_parse(text, &why, out);
        status = status == RLF_USER ? RLF_USAGE : status;
    } else {
        status = rlf_file_read(text, MOST_TEXT, &why, &file);
        if (status >= 0)
            status = rlf_lengths_parse_file(text, file.p ? file.p : "", arena,
                                            &why, out);
    }
    rlf_buf_free(&file);
    if (status >= 0)
        return status;
    rlf_fail(err, status, "%s: %s", option, why.sentence);
    rlf_err_hint(err, "%s",
                 *why.hint ? why.hint
                           : "fixed:512, lognormal:512,0.75, or a file of "
                             "lengths, one a line");
    return status;
}

/* ---- sets ---- */

static bool
has_responses(const rlf_graph *graph, size_t set)
{
    const rlf_set *s = &graph->sets.data[set];
    return s->tokens >= 0 && s->origin < 0;
}

/* The prompts of a set that somebody generates from, or that models read. */
static bool
are_prompts(const rlf_graph *graph, size_t set)
{
    bool used = false;
    for (size_t i = 0; i < graph->sets.count; i++)
        used |= has_responses(graph, i) &&
                rlf_workload_root(graph, (int)i) == (int)set;
    return used;
}

/* A response can be as long as the program says, and a prompt as it and the
 * models that read it leave. */
static rlf_sizes
sizes_of(const rlf_session *s)
{
    rlf_sizes_options options = {0};
    for (size_t i = 0; i < s->graph->resources.count; i++) {
        const rlf_resource *r = &s->graph->resources.data[i];
        if (r->class->model)
            options.longest =
                fmax(options.longest, rlf_declared_context(s->graph, r));
    }
    return rlf_sizes_make(s->graph, &options, s->arena);
}

/* The most tokens of any prompt, or response. */
static double
most_of(const rlf_session *s, const rlf_session_workload *w, bool responses)
{
    double most = 0;
    for (size_t i = 0; i < s->graph->sets.count; i++) {
        const rlf_set_size *size = &w->sizes.set[i];
        if (has_responses(s->graph, i))
            most = fmax(most, responses ? size->response : size->prompt);
    }
    return most;
}

/* Some may be longer than they can be, and are cut; of all that is a slip. */
static rlf_status
check(const rlf_session *s, const rlf_session_workload *w, bool responses,
      const char *text, rlf_err *err)
{
    const rlf_length_distribution *d = responses ? &w->responses : &w->prompts;
    double most = most_of(s, w, responses);
    if (most <= 0 || rlf_lengths_above(d, most) < 1)
        return RLF_OK;
    rlf_fail(err, RLF_USAGE,
             "%s %s: that is %.4g tokens on average, and no %s of the program "
             "can have more than %.0f",
             responses ? "--lengths" : "--prompts", text,
             rlf_lengths_mean(d, 0), responses ? "response" : "prompt", most);
    rlf_err_hint(err, responses ? "say less, or raise max_new:"
                                : "say less, or raise max_prompt: of the data");
    return RLF_USAGE;
}

/* ---- what the data has ---- */

/* The model that writes the prompts of a data set first: one that generates
 * from them before those that only read; -1: none. */
static int
writer_of(const rlf_graph *graph, int data)
{
    int reads = -1;
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        for (int k = 0; k < node->n_inputs; k++)
            for (size_t m = 0; m < graph->resources.count; m++) {
                if (!graph->resources.data[m].class->model ||
                    !rlf_reads(graph, node, (int)m, k))
                    continue;
                int set = graph->values.data[node->inputs[k]].set;
                if (rlf_reads_data(graph, set) != data)
                    continue;
                if (node->class->work == RLF_WORK_GENERATE)
                    return (int)m;
                reads = reads < 0 ? (int)m : reads;
            }
    }
    return reads;
}

static rlf_status
look_at_data(rlf_session *s, const rlf_outline *outline, int data, rlf_err *err,
             rlf_session_workload *w)
{
    const rlf_graph *graph = s->graph;
    const rlf_env *env = rlf_outline_env(outline);
    uint32_t *list = NULL, n;
    int model = writer_of(graph, data);
    if (model < 0)
        return RLF_OK;
    RLF_TRY(rlf_data_lengths(env, data, model, RLF_WORKLOAD_ROWS, s->arena, err,
                             &list, &n));
    if (!n)
        return RLF_OK;
    rlf_length_distribution *d = RLF_NEW(s->arena, rlf_length_distribution);
    *d = rlf_lengths_of_list(list, n, s->arena);
    w->data[data] = d;
    w->model[data] = model;
    w->seen[data] = n;
    return RLF_OK;
}

/* The node that makes the set of texts that a model reads; NULL: none. */
static const rlf_node *
respond_of(const rlf_graph *graph, size_t set)
{
    const rlf_set *s = &graph->sets.data[set];
    bool given = s->kind == RLF_SET_WRITTEN && s->origin < 0 && s->model >= 0;
    for (size_t i = 0; i < graph->nodes.count && given; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        const rlf_value *made =
            node->n_outputs ? &graph->values.data[node->outputs[0]] : NULL;
        if (node->class->texts_formal && made && made->kind == RLF_VALUE_SET &&
            made->set == (int)set)
            return node;
    }
    return NULL;
}

/* The field of a data set that such texts are; NULL: they are no such texts. */
static const rlf_node *
texts_of(const rlf_graph *graph, size_t set)
{
    const rlf_node *node = respond_of(graph, set);
    return node ? rlf_responses_field(graph, node) : NULL;
}

/* The data that a set of conversations is of; -1: it is another set. */
static int
turns_data(const rlf_graph *graph, size_t set)
{
    const rlf_set *s = &graph->sets.data[set];
    return s->turns && s->origin < 0 && s->model >= 0
               ? rlf_reads_data(graph, (int)set)
               : -1;
}

static bool
generates(const rlf_graph *graph)
{
    bool any = false;
    for (size_t i = 0; i < graph->nodes.count; i++)
        any |= graph->nodes.data[i].class->work == RLF_WORK_GENERATE;
    return any;
}

/* Responses that are given are as long as the data's texts. What the user says
 * is of what is generated, and of all where nothing is. */
static rlf_status
look_at_texts(rlf_session *s, const rlf_outline *outline, rlf_err *err,
              rlf_session_workload *w)
{
    const rlf_graph *graph = s->graph;
    size_t n_sets = graph->sets.count;
    const rlf_length_distribution **list =
        RLF_NEW_ARRAY(s->arena, const rlf_length_distribution *, n_sets);
    w->texts = RLF_NEW_ARRAY(s->arena, int, n_sets);
    w->written = RLF_NEW_ARRAY(s->arena, uint32_t, n_sets);
    if (w->workload.responses && !generates(graph))
        return RLF_OK;
    bool any = w->workload.generated != NULL;
    for (size_t i = 0; i < n_sets; i++) {
        const rlf_node *field = texts_of(graph, i);
        int data = field ? field->receiver : turns_data(graph, i);
        uint32_t *lengths = NULL, n;
        if (any && !list[i])
            list[i] = w->workload.generated[i];
        if (data < 0)
            continue;
        RLF_TRY(rlf_data_response_lengths(
            rlf_outline_env(outline), data,
            field ? rlf_node_arg(field, "name")->text : "prompt",
            graph->sets.data[i].model, RLF_WORKLOAD_ROWS, s->arena, err,
            &lengths, &n));
        if (!n)
            continue;
        rlf_length_distribution *d = RLF_NEW(s->arena, rlf_length_distribution);
        *d = rlf_lengths_of_list(lengths, n, s->arena);
        list[i] = d;
        w->texts[i] = data;
        w->written[i] = n;
    }
    for (size_t i = 0; i < n_sets; i++)
        if (list[i])
            w->workload.generated = list;
    return RLF_OK;
}

/* The lengths that each node generated in the run that the session is to be
 * like. */
static rlf_status
look_at_run(const rlf_session *s, rlf_err *err, rlf_session_workload *w)
{
    const rlf_graph *graph = s->graph;
    size_t n = graph->sets.count;
    const rlf_length_distribution **responses =
        RLF_NEW_ARRAY(s->arena, const rlf_length_distribution *, n);
    const rlf_length_distribution **prompts =
        RLF_NEW_ARRAY(s->arena, const rlf_length_distribution *, n);
    char words[256];
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        if (node->class->work != RLF_WORK_GENERATE)
            continue;
        int set = graph->values.data[node->outputs[0]].set;
        const rlf_profile_lengths *seen = rlf_profile_lengths_of(
            s->planning.like,
            rlf_profile_call(graph, node, words, sizeof words));
        if (!seen)
            continue;
        rlf_length_distribution *d =
            RLF_NEW_ARRAY(s->arena, rlf_length_distribution, 2);
        RLF_TRY(rlf_lengths_of_classes(seen->count, seen->tokens, err, d));
        d[1] = (rlf_length_distribution){.kind = RLF_LENGTHS_FIXED,
                                         .mean = fmax(1, round(seen->prompt))};
        responses[set] = d;
        prompts[set] = seen->prompt > 0 ? &d[1] : NULL;
    }
    w->workload.generated = responses;
    w->workload.answered = prompts;
    return RLF_OK;
}

rlf_status
rlf_session_workload_make(rlf_session *s, const rlf_outline *outline,
                          rlf_err *err, rlf_session_workload *out)
{
    const char *prompts = s->options.prompts, *responses = s->options.responses;
    size_t n = s->graph->resources.count;
    *out = (rlf_session_workload){
        .data = RLF_NEW_ARRAY(s->arena, const rlf_length_distribution *, n),
        .rows = RLF_NEW_ARRAY(s->arena, uint64_t, n),
        .seen = RLF_NEW_ARRAY(s->arena, uint32_t, n),
        .model = RLF_NEW_ARRAY(s->arena, int, n),
        .sizes = sizes_of(s)};
    out->workload.prompts = out->data;
    for (size_t i = 0; i < n; i++)
        if (s->graph->resources.data[i].class->data)
            out->rows[i] =
                ((const rlf_data *)rlf_outline_env(outline)->resource[i])
                    ->records.count;
    if (responses) {
        RLF_TRY(
            read_said("--lengths", responses, s->arena, err, &out->responses));
        RLF_TRY(check(s, out, true, responses, err));
        out->workload.responses = &out->responses;
    } else if (s->planning.like) {
        RLF_TRY(look_at_run(s, err, out));
    }
    RLF_TRY(look_at_texts(s, outline, err, out));
    if (prompts) {
        RLF_TRY(read_said("--prompts", prompts, s->arena, err, &out->prompts));
        RLF_TRY(check(s, out, false, prompts, err));
        out->workload.asked = &out->prompts;
        for (size_t i = 0; i < n; i++)
            out->data[i] = &out->prompts;
        return RLF_OK;
    }
    for (size_t i = 0; i < n; i++)
        if (s->graph->resources.data[i].class->data)
            RLF_TRY(look_at_data(s, outline, (int)i, err, out));
    return RLF_OK;
}

/* ---- what is said of it ---- */

static void
put_tokens(double most, rlf_buf *out)
{
    if (isfinite(most))
        rlf_buf_printf(out, "%.0f", most);
    else
        rlf_buf_puts(out, "any number of");
}

/* Writes how many are longer, and end there: "; 1.7 % are cut to 1024". */
static void
put_cut(const rlf_length_distribution *d, double most, rlf_buf *out)
{
    double share = rlf_lengths_above(d, most);
    if (share <= 0)
        return;
    if (d->kind == RLF_LENGTHS_LIST) {
        double all = d->list[d->n - 1].times;
        rlf_buf_printf(out, "; %.0f of %.0f are cut to %.0f", share * all, all,
                       most);
    } else if (share >= 1e-4) {
        rlf_buf_puts(out, "; ");
        rlf_buf_percent(out, share);
        rlf_buf_printf(out, " are cut to %.0f", most);
    }
}

/* "lognormal:300,0.7, at most 1024: mean 294.1 tokens, median 235, p99 1024";
 * of lengths that are not given so what comes behind the colon. */
static void
put_lengths(const rlf_length_distribution *d, double most, rlf_buf *out)
{
    if (!d) {
        rlf_buf_puts(out, "all of ");
        put_tokens(most, out);
        rlf_buf_puts(out, " tokens, as long as they can be");
        return;
    }
    if (d->kind == RLF_LENGTHS_FIXED || d->kind == RLF_LENGTHS_LOGNORMAL) {
        rlf_lengths_print(d, out);
        rlf_buf_puts(out, ", at most ");
        put_tokens(most, out);
        rlf_buf_puts(out, ": ");
    }
    rlf_buf_printf(out, "mean %.4g tokens, median %.0f, p99 %.0f",
                   rlf_lengths_mean(d, most),
                   fmin(rlf_lengths_quantile(d, 0.5), most),
                   fmin(rlf_lengths_quantile(d, 0.99), most));
    put_cut(d, most, out);
}

static void
put_prompts(const rlf_session *s, const rlf_session_workload *w, size_t set,
            rlf_buf *out)
{
    const rlf_graph *graph = s->graph;
    const rlf_set *is = &graph->sets.data[set];
    double most = INFINITY;
    size_t answers = set;
    for (size_t i = 0; i < graph->sets.count; i++)
        if (has_responses(graph, i) &&
            rlf_workload_root(graph, (int)i) == (int)set) {
            const rlf_workload_most of =
                rlf_workload_bound(&w->workload, graph, &w->sizes, (int)i);
            most = fmin(most, of.prompt);
            answers = i;
        }
    rlf_buf_printf(out, "prompts of '%s': ", is->name);
    put_lengths(rlf_workload_prompts(&w->workload, graph, (int)answers), most,
                out);
    if (is->kind == RLF_SET_DATA && w->seen[is->data])
        rlf_buf_printf(out, " (%u of %llu rows of '%s', as '%s' writes them)",
                       w->seen[is->data], (unsigned long long)w->rows[is->data],
                       graph->resources.data[is->data].name,
                       graph->resources.data[w->model[is->data]].name);
}

static void
put_responses(const rlf_session *s, const rlf_session_workload *w, size_t set,
              rlf_buf *out)
{
    const rlf_workload *of = &w->workload;
    rlf_buf_printf(out, "responses of '%s': ", s->graph->sets.data[set].name);
    put_lengths(rlf_workload_responses(of, s->graph, (int)set),
                rlf_workload_bound(of, s->graph, &w->sizes, (int)set).response,
                out);
    const rlf_set *is = &s->graph->sets.data[set];
    if (w->written[set])
        rlf_buf_printf(out, " (%u of %llu rows of '%s', as '%s' writes them)",
                       w->written[set],
                       (unsigned long long)w->rows[w->texts[set]],
                       s->graph->resources.data[w->texts[set]].name,
                       s->graph->resources.data[is->model].name);
    else if (of->generated && of->generated[set])
        rlf_buf_printf(out, " (as in %s)", s->options.like);
}

/* A line that is not among those before. */
static void
add_line(const char *prefix, const rlf_buf *line, rlf_buf *out)
{
    rlf_buf whole = {0};
    rlf_buf_printf(&whole, "%s%s\n", prefix, line->p);
    bool there = false;
    for (const char *p = out->p; p && *p && !there; p += strcspn(p, "\n") + 1)
        there = strncmp(p, whole.p, whole.n) == 0;
    if (!there)
        rlf_buf_puts(out, whole.p);
    rlf_buf_free(&whole);
}

void
rlf_session_workload_print(const rlf_session *s, const rlf_session_workload *w,
                           const char *prefix, rlf_buf *out)
{
    rlf_buf line = {0};
    for (int responses = 0; responses < 2; responses++)
        for (size_t i = 0; i < s->graph->sets.count; i++) {
            bool is = responses ? has_responses(s->graph, i)
                                : are_prompts(s->graph, i);
            if (!is)
                continue;
            rlf_buf_clear(&line);
            if (responses)
                put_responses(s, w, i, &line);
            else
                put_prompts(s, w, i, &line);
            add_line(prefix, &line, out);
        }
    rlf_buf_free(&line);
}

static double
rounds_of(const rlf_node *node)
{
    const rlf_arg *arg = rlf_args_find(node->args, node->n_args, "rounds");
    return arg && arg->kind == RLF_ARG_NUMBER ? arg->number : 1;
}

void
rlf_session_workload_blocks(const rlf_session *s, bool mean, const char *prefix,
                            rlf_buf *out)
{
    bool every = false, branches = false, shared = false, late = false;
    double rounds = 0;
    int branch;
    for (size_t i = 0; i < s->graph->nodes.count; i++) {
        const rlf_node *node = &s->graph->nodes.data[i];
        bool by_number = mean && rlf_answer_period(node) > 0;
        bool settles = mean && rlf_answer_late(s->graph, node, &branch);
        shared |= by_number;
        late |= settles;
        every |= node->class->period && !by_number;
        branches |= node->class->condition && node->n_regions && !settles;
        if (node->class->control_flow == RLF_CONTROL_FLOW_ROUNDS)
            rounds = fmax(rounds, rounds_of(node));
    }
    if (shared)
        rlf_buf_printf(out,
                       "%sa step is one on average over many: a block of "
                       "'every N steps' counts 1/N\n",
                       prefix);
    if (late)
        rlf_buf_printf(out,
                       "%san 'if' that compares the step with numbers goes as "
                       "in late steps\n",
                       prefix);
    if (every || branches)
        rlf_buf_printf(out, "%seach step has the blocks of all%s%s%s\n", prefix,
                       every ? " 'every'" : "", every && branches ? " and" : "",
                       branches ? " 'if'" : "");
    if (rounds > 1)
        rlf_buf_printf(out, "%seach step has all %.0f rounds of a collect\n",
                       prefix, rounds);
}

void
rlf_session_workload_epochs(const rlf_session *s, const rlf_session_workload *w,
                            double step, const char *prefix, rlf_buf *out)
{
    for (size_t i = 0; i < s->graph->nodes.count; i++) {
        const rlf_node *node = &s->graph->nodes.data[i];
        if (!node->class->draws || node->n_regions || w->sizes.runs[i] != 1)
            continue;
        const rlf_arg *count = rlf_node_arg(node, "count");
        if (count->kind != RLF_ARG_NUMBER || count->number < 1)
            continue;
        double rows = (double)w->rows[node->receiver];
        double steps = rows / count->number, seconds = steps * step;
        double unit = seconds < 60 ? 1 : seconds < 3600 ? 60 : 3600;
        rlf_buf_printf(out,
                       "%san epoch of '%s' is %.0f rows, %.4g steps and %.4g "
                       "%s\n",
                       prefix, s->graph->resources.data[node->receiver].name,
                       rows, steps, seconds / unit,
                       unit < 60     ? "seconds"
                       : unit < 3600 ? "minutes"
                                     : "hours");
    }
}

/* The respond that makes a set without a bound of its own; NULL: none does. */
static const rlf_node *
unbounded(const rlf_graph *graph, size_t set)
{
    const rlf_node *by = respond_of(graph, set);
    bool says = by && rlf_args_find(by->args, by->n_args, "max_response")
                              ->kind == RLF_ARG_NUMBER;
    return says ? NULL : by;
}

/* Responses of the data that are far shorter than what memory is kept for. */
static void
warn_room(const rlf_session *s, const rlf_session_workload *w, size_t set,
          rlf_buf *out)
{
    const rlf_set *is = &s->graph->sets.data[set];
    if (!w->written[set] || !unbounded(s->graph, set))
        return;
    const rlf_length_distribution *d = w->workload.generated[set];
    double most = w->sizes.set[set].response, seen = d->list[d->n - 1].length;
    if (!isfinite(most) || most < 2 * seen)
        return;
    rlf_buf_printf(out,
                   "warning: memory is kept for responses of '%s' of %.0f "
                   "tokens, and those of '%s' have at most %.0f: "
                   "max_response: of respond bounds them\n",
                   is->name, most, s->graph->resources.data[w->texts[set]].name,
                   seen);
}

void
rlf_session_workload_warn(const rlf_session *s, const rlf_session_workload *w,
                          rlf_buf *out)
{
    bool prompts = false, responses = false, texts = false;
    for (size_t i = 0; i < s->graph->sets.count; i++) {
        bool unknown =
            has_responses(s->graph, i) &&
            !rlf_workload_responses(&w->workload, s->graph, (int)i);
        responses |= unknown;
        texts |= unknown && unbounded(s->graph, i);
        prompts |= has_responses(s->graph, i) &&
                   !rlf_workload_prompts(&w->workload, s->graph, (int)i);
    }
    for (size_t i = 0; i < s->graph->sets.count; i++)
        warn_room(s, w, i, out);
    if (prompts)
        rlf_buf_puts(out,
                     "warning: how long prompts are is not known, and they are "
                     "taken to be as long as they can be: "
                     "--prompts lognormal:MEAN,SIGMA says it, or a tokenizer "
                     "beside the model's config.json; memory is kept for the "
                     "longest, which max_prompt: of the data bounds\n");
    if (responses)
        rlf_buf_printf(out,
                       "warning: responses are taken to be as long as they can "
                       "be: --lengths lognormal:MEAN,SIGMA says how long they "
                       "are, --like RUN that they are as in a run%s\n",
                       texts ? ", a tokenizer beside the model's config.json "
                               "how long those of the data are; memory is kept "
                               "for the longest, which max_response: of respond "
                               "bounds"
                             : "");
}

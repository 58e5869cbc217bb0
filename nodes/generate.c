/* `m.generate(p, ...)`: responses sampled by a model, n for each prompt of p.
 *
 * The node stays open: each turn is one token for every active sequence, and
 * samples are handed on as they are complete. How it is done stands in
 * nodes/model/generate.h; here a set is made of it. */
#include "nodes/model/generate.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/hash.h"
#include "engine/base/vec.h"
#include "engine/dev/replay.h"
#include "engine/graph/class.h"
#include "nodes/data.h"
#include "nodes/draws.h"
#include "nodes/hook.h"
#include "nodes/model/handover.h"
#include "nodes/model/buffers.h"
#include "nodes/sequences.h"

enum { MOST_NEW = 1 << 20, MOST_TURNS = 1024, MOST_AHEAD = 64 };

// clang-format off
static const rlf_formal formals[] = {
    {.name = "set", .kind = RLF_FORMAL_SET, .required = true,
     .doc = "its prompts are answered"},
    {.name = "n", .kind = RLF_FORMAL_INT, .labelled = true, .least = 1,
     .most = 1 << 16, .doc = "samples for each prompt; without it one, and "
     "then the sample is the prompt's row"},
    {.name = "max_new", .kind = RLF_FORMAL_INT, .labelled = true,
     .required = true, .least = 1, .most = MOST_NEW,
     .doc = "tokens of a response at most"},
    {.name = "temperature", .kind = RLF_FORMAL_NUMBER, .labelled = true,
     .fallback = 1, .least = 1e-3, .most = 1e3,
     .doc = "logits are divided by it; greedy: true takes the most likely "
     "token"},
    {.name = "top_p", .kind = RLF_FORMAL_NUMBER, .labelled = true,
     .fallback = 1, .least = 1e-9, .most = 1,
     .doc = "only the most likely tokens that together have this mass"},
    {.name = "top_k", .kind = RLF_FORMAL_INT, .labelled = true, .least = 0,
     .most = 1e9, .unsized = true, .doc = "only the k most likely tokens; 0: all"},
    {.name = "min_p", .kind = RLF_FORMAL_NUMBER, .labelled = true, .least = 0,
     .most = 1, .doc = "only tokens at least this times as likely as the "
     "most likely one"},
    {.name = "stop", .kind = RLF_FORMAL_TEXTS, .labelled = true, .least = 1,
     .doc = "texts that end a response and are part of it"},
    {.name = "greedy", .kind = RLF_FORMAL_FLAG, .labelled = true,
     .doc = "always the most likely token"},
    {.name = "tool", .kind = RLF_FORMAL_HOOK, .labelled = true,
     .unsupported = RLF_NO_TURNS, .doc = "a hook that answers"},
    {.name = "turns", .kind = RLF_FORMAL_INT, .labelled = true, .least = 1,
     .most = MOST_TURNS, .doc = "answers of the tool at most"},
    {.name = "ahead", .kind = RLF_FORMAL_INT, .labelled = true,
     .most = MOST_AHEAD,
     .doc = "steps by which the weights that sample are older"},
};
// clang-format on

/* The generation that is open; one at a time. */
typedef struct state {
    rlf_generation_options options;
    rlf_generation *generation; /* NULL: nothing is to be done */
    rlf_prompt *prompts;        /* of the set that is answered */
    RLF_VEC(uint32_t) row;      /* the set's row of each of the generation's */
    bool begun;                 /* its prompts are added */
    const char **stop;
    rlf_history *history; /* what it sampled in this step and those before */
    rlf_draws *draws; /* of the sample that is looked at, if it is made here */
} state;

static rlf_status
init(const rlf_env *env, const rlf_node *node, rlf_err *err, void **out)
{
    (void)env, (void)err;
    const rlf_arg *arg = rlf_node_arg(node, "stop");
    size_t n = arg->kind == RLF_ARG_LIST ? (size_t)arg->n_list : 1;
    state *s = rlf_calloc(1, sizeof *s);
    s->stop = rlf_calloc(n, sizeof *s->stop);
    s->history = rlf_history_new(RLF_HISTORY_TOKENS);
    *out = s;
    return RLF_OK;
}

static void
fini(void *object)
{
    state *s = object;
    if (!s)
        return;
    rlf_generation_free(s->generation);
    RLF_VEC_FREE(&s->row);
    rlf_history_free(s->history);
    free(s->stop);
    free(s);
}

/* A tool is a hook per turn, and somebody says how often it may answer. */
static void
check_tool(const rlf_graph *graph, const rlf_node *node, rlf_diags *diags)
{
    const rlf_arg *tool = rlf_node_arg(node, "tool");
    const rlf_arg *turns = rlf_node_arg(node, "turns");
    rlf_diag *diag;
    if (tool->given && !turns->given) {
        diag = rlf_diag_error(diags, "tool", tool->span,
                              "a generation with a tool needs 'turns:'");
        rlf_diag_hint(diags, diag,
                      "turns: 4 lets the tool answer four times "
                      "at most");
    }
    if (turns->given && !tool->given) {
        diag = rlf_diag_error(diags, "tool", turns->span,
                              "'turns:' counts the answers of a tool, and "
                              "there is none");
        rlf_diag_hint(diags, diag,
                      "add tool: and a hook per: turn, or leave "
                      "it out");
    }
    if (!tool->given)
        return;
    const rlf_resource *hook = &graph->resources.data[tool->resource];
    if (hook->calls == &rlf_node_hook_turn)
        return;
    diag = rlf_diag_error(diags, "tool", tool->span,
                          "a tool is a hook per: turn, and '%s' is per: %s",
                          hook->name, hook->calls->name);
    rlf_diag_note(diags, diag, hook->span, "it is declared here");
}

/* It is prompts that are answered, and there are some. */
static void
check_prompts(const rlf_graph *graph, const rlf_node *node, rlf_diags *diags)
{
    const rlf_arg *arg = rlf_node_arg(node, "set");
    const rlf_set *set =
        &graph->sets.data[graph->values.data[node->inputs[arg->input]].set];
    const char *name = set->name;
    rlf_diag *diag;
    if (set->tokens >= 0) {
        diag = rlf_diag_error(diags, "prompt", arg->span,
                              "'%s' has responses, and this would answer its "
                              "prompts once more, not go on with them",
                              name);
        rlf_diag_hint(diags, diag,
                      "name the set of the prompts; to go on from a response "
                      "use its text as a prompt: ask(%s.text)",
                      name);
        return;
    }
    if (set->kind != RLF_SET_DATA ||
        rlf_data_has_prompts(graph, &graph->resources.data[set->data]))
        return;
    const rlf_resource *data = &graph->resources.data[set->data];
    diag = rlf_diag_error(diags, "prompt", arg->span,
                          "the rows of '%s' have no prompts to answer", name);
    rlf_diag_note(diags, diag, data->span, "it is declared here");
    rlf_diag_hint(diags, diag,
                  "name the field that they are in: prompt: "
                  "\"FIELD\"");
}

/* A response that long would go beyond what the model was made for. */
static void
check_room(const rlf_graph *graph, const rlf_node *node, rlf_diags *diags)
{
    const rlf_arg *most = rlf_node_arg(node, "max_new");
    const rlf_resource *model = &graph->resources.data[node->receiver];
    int context = rlf_declared_context(graph, model);
    if (!context || most->kind != RLF_ARG_NUMBER || most->number < context)
        return;
    rlf_diag *diag = rlf_diag_warning(
        diags, "room", most->span,
        "'%s' was made for %d tokens, prompt and response together, and a "
        "response may have %.0f",
        model->name, context, most->number);
    rlf_diag_hint(diags, diag,
                  "give it a max_new: that leaves room for the "
                  "prompt");
}

/* So many tokens are all that there are. */
static void
check_top(const rlf_graph *graph, const rlf_node *node, rlf_diags *diags)
{
    const rlf_arg *k = rlf_node_arg(node, "top_k");
    const rlf_resource *model = &graph->resources.data[node->receiver];
    if (!k->given || k->kind != RLF_ARG_NUMBER || k->number == 0)
        return;
    int vocab = rlf_declared_vocab(graph, model);
    if (!vocab || k->number < vocab)
        return;
    rlf_diag *diag = rlf_diag_warning(
        diags, "idle", k->span,
        "top_k has no effect: the vocabulary of '%s' is %d tokens", model->name,
        vocab);
    rlf_diag_hint(diags, diag, "leave it out, or give a smaller one");
}

/* If only the most likely token is kept, all else that leaves out tokens does
 * nothing. A temperature does: samples have their log-probabilities at it. */
static void
check_one(const rlf_node *node, rlf_diags *diags)
{
    static const char *const leave[] = {"top_k", "min_p", "top_p"};
    enum { ONES = 2 }; /* of these, the first: 1 keeps one token */
    for (size_t i = 0; i < ONES; i++) {
        const rlf_arg *one = rlf_node_arg(node, leave[i]);
        if (!one->given || one->kind != RLF_ARG_NUMBER || one->number != 1)
            continue;
        for (size_t k = i + 1; k < i + RLF_COUNT(leave); k++) {
            const char *name = leave[k % RLF_COUNT(leave)];
            const rlf_arg *arg = rlf_node_arg(node, name);
            if (!arg->given)
                continue;
            rlf_diag *diag = rlf_diag_warning(
                diags, "idle", arg->span,
                "%s has no effect beside %s: 1, which keeps only the most "
                "likely token",
                name, leave[i]);
            rlf_diag_hint(diags, diag, "leave out one of the two");
        }
        return;
    }
}

/* Several samples of a prompt may not all be the most likely one: advantages
 * within a group would be 0 in every step. */
static void
check_samples(const rlf_node *node, rlf_diags *diags)
{
    static const struct {
        const char *name, *when;
    } alone[] = {{"greedy", "sampling is greedy"},
                 {"top_k", "only the most likely token is kept"},
                 {"min_p", "only the most likely token is kept"}};
    const rlf_arg *n = rlf_node_arg(node, "n");
    for (size_t i = 0; i < RLF_COUNT(alone); i++) {
        const rlf_arg *arg = rlf_node_arg(node, alone[i].name);
        if (n->number <= 1 || arg->kind != RLF_ARG_NUMBER || arg->number != 1)
            continue;
        rlf_diag *diag =
            rlf_diag_error(diags, "greedy", n->span,
                           "all %.0f samples of a prompt are the same when %s",
                           n->number, alone[i].when);
        rlf_diag_hint(diags, diag, "leave out one of the two");
    }
}

/* Texts that end nothing because another one, which is in them or the same, has
 * ended the response. */
static void
check_stops(const rlf_node *node, rlf_diags *diags)
{
    const rlf_arg *stop = rlf_node_arg(node, "stop");
    for (int i = 0; stop->kind == RLF_ARG_LIST && i < stop->n_list; i++) {
        const rlf_arg *mine = &stop->list[i];
        for (int k = 0; k < stop->n_list; k++) {
            const rlf_arg *other = &stop->list[k];
            bool same = strcmp(mine->text, other->text) == 0;
            if (i == k || (same && i < k) || !strstr(mine->text, other->text))
                continue;
            rlf_diag *diag = rlf_diag_warning(
                diags, "idle", mine->span,
                same ? "this text is given twice"
                     : "this text has no effect: another one is in it, and "
                       "ends the response no later");
            rlf_diag_note(diags, diag, other->span, "this one");
            break;
        }
    }
}

static void
infer(const rlf_graph *graph, const rlf_node *node, rlf_diags *diags)
{
    rlf_model_check_head(graph, node, false, diags);
    check_tool(graph, node, diags);
    check_prompts(graph, node, diags);
    check_room(graph, node, diags);
    check_top(graph, node, diags);
    check_stops(node, diags);
    static const char *const idle[] = {"temperature", "top_p", "top_k",
                                       "min_p"};
    const rlf_arg *greedy = rlf_node_arg(node, "greedy");
    check_samples(node, diags);
    if (greedy->kind != RLF_ARG_NUMBER || greedy->number == 0) {
        check_one(node, diags);
        return;
    }
    for (size_t i = 0; i < RLF_COUNT(idle); i++) {
        const rlf_arg *arg = rlf_node_arg(node, idle[i]);
        if (!arg->given)
            continue;
        rlf_diag *diag = rlf_diag_error(
            diags, "greedy", arg->span,
            "%s changes nothing when sampling is greedy", idle[i]);
        rlf_diag_hint(diags, diag, "leave out one of the two");
    }
}

/* A whole number argument; 0 if it was not given. */
static uint32_t
whole(const rlf_node *node, const char *name)
{
    const rlf_arg *arg = rlf_node_arg(node, name);
    return arg->kind == RLF_ARG_NUMBER ? (uint32_t)arg->number : 0;
}

/* A number argument; *out stays if it was not given. */
static rlf_status
read_number(const rlf_call *call, const char *name, rlf_err *err, float *out)
{
    double value;
    if (rlf_node_arg(call->node, name)->kind == RLF_ARG_ABSENT)
        return RLF_OK;
    RLF_TRY(rlf_call_number(call, name, err, &value));
    *out = (float)value;
    return RLF_OK;
}

/* The set that is made: a row for each sample, identified by its prompt and
 * its place among the prompt's samples. */
static rlf_status
make_rows(const rlf_call *call, const rlf_rows *from, rlf_prompt *prompts,
          uint32_t n, uint32_t max_new, float temperature, rlf_err *err,
          rlf_rows **out)
{
    const rlf_graph *graph = call->env->graph;
    rlf_arena *pool = call->env->pool;
    const rlf_value *value = &graph->values.data[call->node->outputs[0]];
    const rlf_set *set = &graph->sets.data[value->set];
    rlf_rows *rows = *out = RLF_NEW(pool, rlf_rows);
    rlf_space *samples = from->prompts;
    uint64_t room = (uint64_t)from->prompts->count * n;
    RLF_TRY(rlf_rows_room(pool, set->name, room, room * max_new, err));
    if (set->samples != from->prompts->domain) {
        uint32_t count = from->prompts->count * n;
        samples = rlf_space_rows(pool, graph, set->samples, count);
        uint64_t *identity = RLF_NEW_ARRAY(pool, uint64_t, count);
        for (uint32_t i = 0; i < count; i++)
            identity[i] = from->prompts->identity[i / n] * n + i % n;
        samples->identity = identity;
        const rlf_domain *d = rlf_domains_get(&graph->domains, set->samples);
        for (int k = 0; k < d->n_up; k++) {
            samples->up[k].to =
                rlf_space_above(&graph->domains, from->prompts, d->up[k]);
            uint32_t *index = RLF_NEW_ARRAY(pool, uint32_t, count);
            for (uint32_t i = 0; i < count; i++)
                index[i] = rlf_space_row(&graph->domains, from->prompts, i / n,
                                         d->up[k]);
            samples->up[k].index = index;
        }
    }
    *rows = (rlf_rows){.set = set,
                       .prompts = from->prompts,
                       .samples = samples,
                       .prompt = prompts,
                       .data_row = from->data_row,
                       .temperature = temperature,
                       .lag = call->node->ahead
                                  ? call->env->step - call->env->weights_step
                                  : 0};
    rows->sample = RLF_NEW_ARRAY(pool, rlf_sample, samples->count);
    rows->tokens =
        rlf_space_tokens(pool, graph, set->tokens, samples, max_new, NULL);
    rows->logprob = RLF_NEW_ARRAY(pool, double, rows->tokens->extent);
    return RLF_OK;
}

static rlf_status
read_options(const rlf_call *call, const rlf_model_object *model, state *s,
             rlf_err *err)
{
    const rlf_node *node = call->node;
    const rlf_arg *stop = rlf_node_arg(node, "stop");
    rlf_generation_options o = {.max_new = whole(node, "max_new"),
                                .greedy = whole(node, "greedy") != 0,
                                .temperature = 1,
                                .top_k = (int32_t)whole(node, "top_k"),
                                .top_p = 1,
                                .key = {.seed = call->env->seed,
                                        .purpose = RLF_PURPOSE_SAMPLE,
                                        .site = node->site,
                                        .step = rlf_env_step(call->env)},
                                .stop = s->stop,
                                .tokenizer = model->tokenizer,
                                .most_active =
                                    model->outline->caps.rows[RLF_USE_GENERATE],
                                .longest = model->outline->caps.longest};
    RLF_TRY(read_number(call, "temperature", err, &o.temperature));
    RLF_TRY(read_number(call, "top_p", err, &o.top_p));
    RLF_TRY(read_number(call, "min_p", err, &o.min_p));
    o.n_eos = rlf_model_ends(model, &o.eos);
    if (call->iteration) /* of a loop: another draw for each */
        o.key.seed ^= rlf_hash_mix(call->iteration);
    if (stop->kind == RLF_ARG_TEXT)
        s->stop[o.n_stop++] = stop->text;
    for (int i = 0; stop->kind == RLF_ARG_LIST && i < stop->n_list; i++)
        s->stop[o.n_stop++] = stop->list[i].text;
    if (o.greedy)
        o.temperature = 1;
    s->options = o;
    return RLF_OK;
}

/* Has the draws of the sample told of that is looked at, if it is one of these.
 */
static rlf_status
watch_draws(rlf_call *call, const rlf_model *model, rlf_err *err)
{
    state *s = call->state;
    const rlf_sample_trace *trace = rlf_sample_trace_of(call->env);
    uint32_t row;
    s->draws = NULL;
    s->options.watch = NULL;
    if (!trace ||
        !rlf_sample_trace_row(trace, call->out[0].rows->samples, &row))
        return RLF_OK;
    RLF_TRY(rlf_draws_new(call->env->pool, &s->options,
                          (uint32_t)model->table->config.vocab, trace->number,
                          err, &s->draws));
    s->options.watch = &s->draws->watch;
    return RLF_OK;
}

/* A generation with nothing to do yet. */
static rlf_status
new_generation(rlf_call *call, rlf_err *err)
{
    state *s = call->state;
    rlf_model *model = rlf_model_of(call, call->node->receiver);
    rlf_pass *pass;
    rlf_kv *kv;
    RLF_TRY(rlf_buffers_pass(model, RLF_USE_GENERATE, err, &pass));
    RLF_TRY(rlf_buffers_pages(model, err, &kv));
    RLF_TRY(rlf_buffers_arrays(model, err, &s->options.arrays));
    s->options.array_bytes = model->buffers.arrays_bytes;
    s->options.replays = rlf_buffers_replays(model);
    s->options.history = s->history;
    RLF_TRY(watch_draws(call, model, err));
    s->row.count = 0;
    return rlf_generation_new(model, pass, kv, &s->options, err,
                              &s->generation);
}

static void
end_generation(state *s)
{
    rlf_generation_free(s->generation);
    s->generation = NULL;
}

/* It is done: what became of its steps and guesses, to the log. */
static void
note_steps(const rlf_call *call, const rlf_generation_counts *c)
{
    const rlf_model *model = rlf_model_of(call, call->node->receiver);
    if (model->buffers.replays)
        rlf_replays_note(model->buffers.replays, call->env->log);
    if (c->guessed)
        rlf_log_debug(
            call->env->log, NODE,
            "generate '%s' tokens %llu passes %llu guesses %llu "
            "right %llu",
            call->out[0].rows->set->name, (unsigned long long)c->tokens,
            (unsigned long long)c->steps, (unsigned long long)c->guessed,
            (unsigned long long)c->right);
}

static rlf_status
open(rlf_call *call, rlf_err *err)
{
    state *s = call->state;
    rlf_model_object *object = rlf_model_at(call->env, call->node->receiver);
    rlf_rows *from = call->in[0].rows;
    if (object->outline->table->lm == RLF_NO_SLOT)
        return rlf_fail(err, RLF_USER,
                        "model '%s' has no language head to generate with",
                        object->name);
    RLF_TRY(
        rlf_rows_prompts(call->env, from, &object->reader, err, &s->prompts));
    RLF_TRY(read_options(call, object, s, err));
    uint32_t n = whole(call->node, "n");
    n = n ? n : 1;
    rlf_rows *rows;
    RLF_TRY(make_rows(call, from, s->prompts, n, s->options.max_new,
                      s->options.temperature, err, &rows));
    rows->reader = &object->reader;
    call->out[0].rows = rows;
    s->begun = false;
    end_generation(s); /* of a step that was given up */
    if (!rlf_model_of(call, call->node->receiver))
        return RLF_OK;
    return new_generation(call, err);
}

static int
by_row(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* As a metric, once a call. */
static void
report_lag(const rlf_call *call, bool first)
{
    const rlf_env *env = call->env;
    const rlf_rows *rows = call->out[0].rows;
    if (first && whole(call->node, "ahead") && env->report)
        env->report(env->sink,
                    rlf_arena_printf(env->pool, "%s.lag", rows->set->name),
                    rows->lag);
}

/* Add this rank's share of the samples: samples of one prompt at once, so that
 * they share its pages. */
static rlf_status
begin(rlf_call *call, rlf_err *err)
{
    state *s = call->state;
    const rlf_rows *rows = call->out[0].rows;
    uint32_t n = call->rows ? call->n_rows : rows->samples->count;
    uint32_t each = whole(call->node, "n");
    each = each ? each : 1;
    RLF_TRY_ROOM(&s->row, n, "samples in the making");
    for (uint32_t i = 0; i < n; i++)
        RLF_PUSH(&s->row, call->rows ? call->rows[i] : i);
    const uint32_t *row = s->row.data;
    report_lag(call, n && row[0] == 0);
    for (uint32_t i = 0, last, first; i < n; i = last) {
        const uint32_t prompt = row[i] / each;
        for (last = i + 1; last < n && row[last] / each == prompt; last++)
            if (row[last] != row[last - 1] + 1)
                break;
        RLF_TRY(rlf_generation_add(
            s->generation, s->prompts[prompt].ids, s->prompts[prompt].n_ids,
            rows->samples->identity + row[i], last - i, err, &first));
    }
    s->begun = true;
    return RLF_OK;
}

/* A complete response becomes a sample of the set. */
static rlf_status
take(rlf_call *call, rlf_response r, uint32_t row, rlf_err *err)
{
    rlf_rows *rows = call->out[0].rows;
    rlf_arena *pool = call->env->pool;
    rlf_str text;
    uint32_t *ids;
    RLF_TRY(rlf_arena_try(pool, r.n * sizeof *ids, "a response", err, &ids));
    memcpy(ids, r.ids, r.n * sizeof *ids);
    double *logprob = rows->logprob + rows->tokens->offset[row];
    for (uint32_t t = 0; t < r.n; t++)
        logprob[t] = (double)r.logprob[t];
    RLF_TRY(rlf_rows_text(pool, rows->reader->tokenizer, ids, r.n, err, &text));
    ((uint32_t *)rows->tokens->length)[row] = r.n;
    rows->sample[row] = (rlf_sample){
        .text = text, .ids = ids, .n_ids = r.n, .finished = r.finished};
    const state *s = call->state;
    if (s->draws && rows->samples->identity[row] == s->draws->watch.identity)
        rlf_draws_tell(s->draws, call, rlf_sample_trace_of(call->env), row);
    return RLF_OK;
}

static rlf_status
step(rlf_call *call, rlf_err *err)
{
    state *s = call->state;
    if (!s->begun)
        RLF_TRY(begin(call, err));
    const uint32_t *rows;
    const rlf_generation_counts before = rlf_generation_count(s->generation);
    rlf_status status =
        rlf_generation_step(s->generation, err, &rows, &call->n_rows);
    RLF_TRY(status);
    call->seats = rlf_generation_seats(s->generation);
    const rlf_generation_counts after = rlf_generation_count(s->generation);
    call->fed = (uint32_t)(after.fed - before.fed);
    call->keys = after.keys - before.keys;
    call->prefilled = (uint32_t)(after.prefilled - before.prefilled);
    uint32_t *told;
    RLF_TRY(rlf_arena_try(call->env->pool, call->n_rows * sizeof *told,
                          "the complete samples", err, &told));
    for (uint32_t i = 0; i < call->n_rows; i++) {
        told[i] = s->row.data[rows[i]];
        RLF_TRY(take(call, rlf_generation_response(s->generation, rows[i]),
                     told[i], err));
        RLF_TRY(rlf_memory_check(err));
    }
    call->rows = told;
    if (status == RLF_OK) {
        end_generation(s);
        note_steps(call, &after);
    }
    return status;
}

/* ---- to another replica ---- */

static rlf_status
give(rlf_call *call, const uint32_t *rows, uint32_t n, const rlf_price *price,
     rlf_buf *out, rlf_err *err)
{
    state *s = call->state;
    if (!s->generation)
        return RLF_OK;
    const rlf_handover_price as = {price->token, price->byte, price->most};
    rlf_arena *pool = call->env->pool;
    size_t all = s->row.count + 1;
    RLF_TRY(rlf_arena_room(pool, 2 * all * sizeof *rows + 64,
                           "samples for another rank", err));
    uint32_t *mine = RLF_NEW_ARRAY(pool, uint32_t, s->row.count + 1);
    uint32_t *label = RLF_NEW_ARRAY(pool, uint32_t, s->row.count + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->row.count; i++) {
        if (!bsearch(&s->row.data[i], rows, n, sizeof *rows, by_row))
            continue;
        mine[count] = i;
        label[count++] = s->row.data[i];
    }
    rlf_status status =
        rlf_generation_give(s->generation, mine, label, count, &as, out, err);
    if (status == RLF_OK)
        end_generation(s);
    return status;
}

static rlf_status
take_over(rlf_call *call, const char *bytes, size_t n, rlf_err *err)
{
    state *s = call->state;
    if (!n)
        return s->generation ? RLF_AGAIN : RLF_OK;
    if (!s->generation)
        RLF_TRY(new_generation(call, err));
    uint32_t first, count;
    const uint32_t *label;
    RLF_TRY(rlf_generation_take(s->generation, bytes, n, call->env->pool, err,
                                &first, &label, &count));
    RLF_ASSERT(first == s->row.count);
    RLF_TRY_ROOM(&s->row, count, "samples in the making");
    for (uint32_t i = 0; i < count; i++)
        RLF_PUSH(&s->row, label[i]);
    return RLF_AGAIN;
}

static const rlf_handover handover = {.give = give, .take = take_over};

/* One pass. */
static void
cost_turn(const rlf_model *model, const rlf_piece *piece, rlf_counts *counts)
{
    const rlf_turn_load turn = {.rows = piece->rows,
                                .prompts = piece->prompts,
                                .context = piece->context,
                                .prompt = piece->prompt,
                                .tokens = model->caps.tokens[RLF_USE_GENERATE],
                                .offload = model->offload,
                                .packed_rows = model->rows != NULL};
    rlf_cost_turn(model->table, &turn, counts);
}

static void
cost(const rlf_load *load, const rlf_node *node, rlf_cost *out)
{
    const rlf_model *model = rlf_load_model(load, node);
    const rlf_piece *piece = load->piece;
    const rlf_value *value = &load->graph->values.data[node->outputs[0]];
    const rlf_set_size *size = &load->sizes->set[value->set];
    uint32_t n = whole(node, "n");
    rlf_sampling_load sampling = {
        .groups = piece ? piece->rows
                        : rlf_load_rows(load, (uint64_t)size->prompts),
        .each = n ? n : 1,
        .prompt = piece ? piece->prompt : (uint32_t)size->prompt,
        .response = piece ? piece->response : (uint32_t)size->response,
        .tokens = model->caps.tokens[RLF_USE_GENERATE],
        .active = model->caps.rows[RLF_USE_GENERATE],
        .offload = model->offload,
        .packed_rows = model->rows != NULL};
    rlf_counts counts = {.kernels = model->kernels, .narrow = model->narrow};
    double turns = 0;
    if (piece && piece->kind == RLF_PIECE_TURN) {
        cost_turn(model, piece, &counts);
        turns = 1;
    } else if (rlf_load_has(load, RLF_PIECE_ROWS)) {
        turns = rlf_cost_generate(model->table, &sampling, &counts);
    }
    *out = counts.cost;
    /* before each the ranks of a replica agree to go on (engine/sched) */
    if (load->layout->tp * load->layout->pp > 1)
        out->meets[RLF_AXIS_TP | RLF_AXIS_PP].n += turns;
}

const rlf_node_class rlf_node_generate = {
    .name = "generate",
    .doc = "responses sampled by a model",
    .form = RLF_FORM_CALL,
    .partition = RLF_PARTITION_ROWS,
    .work = RLF_WORK_GENERATE,
    .receiver = RLF_RECEIVER_MODEL,
    .formals = formals,
    .n_formals = RLF_COUNT(formals),
    .gives = RLF_GIVES_SET,
    .level = RLF_LEVEL_SAMPLE,
    .granularity = RLF_GRAIN_SAMPLE,
    .infer = infer,
    .cost = cost,
    .init = init,
    .fini = fini,
    .open = open,
    .step = step,
    .handover = &handover,
};

/* See reads.h. */
#define _GNU_SOURCE /* memmem */
#include "nodes/reads.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "engine/graph/class.h"
#include "engine/graph/sizes.h"
#include "engine/text/detokenizer.h"
#include "nodes/chat.h"
#include "nodes/data.h"
#include "nodes/model_declare.h"
#include "nodes/rows.h"

/* ---- who reads what ---- */

static bool
is_read_in_loss(const rlf_node *node, int model, int k)
{
    bool read = false;
    for (int i = 0; i < node->loss->n_calls; i++)
        read |= node->receiver == model && node->loss->calls[i].set_input == k;
    return read;
}

static bool
is_read_by_words(const rlf_vocab_program *words, int model, int k)
{
    bool read = false;
    for (size_t i = 0; i < words->program->inputs.count; i++)
        read |= words->set_input == k && words->model[i] == model;
    return read;
}

bool
rlf_reads(const rlf_graph *graph, const rlf_node *node, int model, int k)
{
    const rlf_value *values = graph->values.data;
    if (values[node->inputs[k]].kind != RLF_VALUE_SET)
        return false;
    if (node->words)
        return is_read_by_words(node->words, model, k);
    if (node->class->work == RLF_WORK_TRAIN) {
        bool read = is_read_in_loss(node, model, k);
        for (int i = 0; i < node->loss->n_words; i++)
            read |= is_read_by_words(&node->loss->words[i], model, k);
        return read;
    }
    if (node->receiver >= 0)
        return node->receiver == model;
    const rlf_arg *to = rlf_args_find(node->args, node->n_args, "to");
    return node->class->texts_formal && to && to->input == k &&
           graph->sets.data[values[node->outputs[0]].set].model == model;
}

int
rlf_reads_data(const rlf_graph *graph, int set)
{
    const rlf_set *s = &graph->sets.data[set];
    while (s->origin >= 0 || s->from >= 0)
        s = &graph->sets.data[s->origin >= 0 ? s->origin : s->from];
    return s->kind == RLF_SET_DATA ? s->data : -1;
}

bool
rlf_reads_part(const rlf_graph *graph, int data, int part)
{
    const rlf_resource *r = &graph->resources.data[data];
    bool made = data == part || (r->source >= 0 && r->class->data &&
                                 rlf_reads_part(graph, r->source, part));
    for (int i = 0; i < r->n_args && !made; i++)
        made = r->args[i].kind == RLF_ARG_RESOURCE &&
               rlf_reads_part(graph, r->args[i].resource, part);
    return made;
}

bool
rlf_reads_rows(const rlf_graph *graph, int model, int data)
{
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        for (int k = 0; k < node->n_inputs; k++) {
            if (!rlf_reads(graph, node, model, k))
                continue;
            int set = graph->values.data[node->inputs[k]].set;
            int root = rlf_reads_data(graph, set);
            if (root >= 0 && rlf_reads_part(graph, root, data))
                return true;
        }
    }
    return false;
}

/* Data whose prompts the model reads, chats or, without `chats`, texts; NULL:
 * there is none. */
static const rlf_data *
read_as(const rlf_env *env, int model, bool chats)
{
    const rlf_graph *graph = env->graph;
    for (size_t i = 0; i < graph->resources.count; i++) {
        const rlf_data *data = env->resource[i];
        if (graph->resources.data[i].class->data && data && data->prompt &&
            chats == (data->prompt->kind == RLF_RECORD_CHAT) &&
            rlf_reads_rows(graph, model, (int)i))
            return data;
    }
    return NULL;
}

/* Does the model read prompts of data, or, with `chats`, such that are chats?
 */
static bool
reads_prompts(const rlf_env *env, int model, bool chats)
{
    return read_as(env, model, true) || (!chats && read_as(env, model, false));
}

bool
rlf_reads_chats(const rlf_env *env, int model)
{
    return reads_prompts(env, model, true);
}

/* ---- what is too long ---- */

/* Responses that a sampled set can have and its sampler wrote within its own
 * context are no longer for who writes the same prompts. */
static bool
holds(const rlf_env *env, const rlf_set *set, const rlf_reader *reader)
{
    if (set->kind != RLF_SET_SAMPLED || set->model < 0)
        return true;
    const rlf_reader *sampler = rlf_model_reader(env->resource[set->model]);
    return !rlf_rows_same_tokens(sampler->tokenizer, reader->tokenizer) ||
           (rlf_digest_equal(sampler->writes, reader->writes) &&
            sampler->context <= reader->context);
}

void
rlf_reads_warn_long(const rlf_env *env, const rlf_longest *longest,
                    rlf_buf *out)
{
    const rlf_graph *graph = env->graph;
    const rlf_value *values = graph->values.data;
    const rlf_reader *reader = rlf_model_reader(env->resource[longest->model]);
    const rlf_data *data = env->resource[longest->data];
    rlf_sizes sizes = rlf_sizes_make(graph, &(rlf_sizes_options){0}, env->pool);
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        for (int k = 0; k < node->n_inputs; k++) {
            if (!rlf_reads(graph, node, longest->model, k))
                continue;
            int from = values[node->inputs[k]].set;
            bool sampled = node->class->work == RLF_WORK_GENERATE;
            int set = sampled ? values[node->outputs[0]].set : from;
            const rlf_set *s = &graph->sets.data[set];
            int root = rlf_reads_data(graph, from);
            double most = sizes.set[set].response;
            if (root < 0 || !rlf_reads_part(graph, root, longest->data) ||
                !isfinite(most) || longest->tokens + most <= reader->context ||
                (!sampled && holds(env, s, reader)))
                continue;
            rlf_buf_printf(
                out,
                "warning: %s: the prompt at %s has %" PRIu32 " tokens for "
                "'%s', and a response of '%s' up to %.0f, together more than "
                "its context of %" PRIu32 ": %s (lower max_new: or "
                "max_prompt:, or take a model with a longer context)\n",
                data->name, rlf_data_place(data, longest->row, env->pool),
                longest->tokens, reader->model, s->name, most, reader->context,
                sampled ? "it is cut there, and its `finished` is 0"
                        : "one that is too long ends the run");
        }
    }
}

/* Do texts that are asked take the bound of the data's prompts? */
static bool
bounds_asked(const rlf_graph *graph, int data)
{
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        int set =
            node->n_outputs ? graph->values.data[node->outputs[0]].set : -1;
        if (set < 0 || graph->sets.data[set].kind != RLF_SET_ASKED ||
            graph->sets.data[set].data < 0 ||
            !rlf_reads_part(graph, graph->sets.data[set].data, data))
            continue;
        const rlf_arg *own =
            rlf_args_find(node->args, node->n_args, "max_prompt");
        if (!own || !own->given)
            return true;
    }
    return false;
}

void
rlf_reads_warn_bound(const rlf_env *env, int data, rlf_buf *out)
{
    const rlf_graph *graph = env->graph;
    const rlf_resource *r = &graph->resources.data[data];
    const rlf_data *d = env->resource[data];
    const rlf_reader *longest = NULL;
    if (!rlf_declared(r, "max_prompt") || bounds_asked(graph, data))
        return;
    for (size_t i = 0; i < graph->resources.count; i++) {
        if (!graph->resources.data[i].class->model)
            continue;
        const rlf_reader *reader = rlf_model_reader(env->resource[i]);
        bool reads = rlf_reads_rows(graph, (int)i, data);
        if (reads ? !reader->tokenizer || !reader->context ||
                        reader->context > d->max_prompt
                  : d->drops) /* rows that are too long for any model go */
            return;
        if (reads && (!longest || reader->context > longest->context))
            longest = reader;
    }
    if (longest)
        rlf_buf_printf(out,
                       "warning: %s: max_prompt: %" PRIu32
                       " bounds nothing: '%s', which reads the prompts, has a "
                       "context of %" PRIu32 " tokens\n",
                       d->name, d->max_prompt, longest->model,
                       longest->context);
}

/* ---- which end ---- */

void
rlf_reads_warn_after(const rlf_env *env, int model, rlf_buf *out)
{
    const rlf_reader *reader = rlf_model_reader(env->resource[model]);
    uint32_t id;
    if (!reader->tokenizer || !rlf_tokenizer_after(reader->tokenizer, &id) ||
        !rlf_rows_ended(reader, &id, 1))
        return;
    const rlf_data *data = read_as(env, model, false);
    rlf_str text = rlf_tokenizer_piece(reader->tokenizer, id);
    if (data)
        rlf_buf_printf(out,
                       "warning: %s: its tokenizer puts the end token %.*s "
                       "(%" PRIu32 ") behind each text, so the prompts of "
                       "'%s' end with it, and responses follow an end (%s)\n",
                       reader->model, (int)text.n, text.p, id, data->name,
                       rlf_reader_has_template(reader)
                           ? "chat: true makes chats of them, which get none"
                           : "a tokenizer.json whose post_processor has none "
                             "puts none");
}

static bool
ends_with(const rlf_reader *reader, int64_t end)
{
    const uint32_t id = (uint32_t)end;
    return end < 0 ? reader->eos < 0 : rlf_rows_ended(reader, &id, 1);
}

static void
put_end(const rlf_reader *reader, rlf_buf *out)
{
    if (reader->eos < 0) {
        rlf_buf_puts(out, "no end token");
        return;
    }
    rlf_str text =
        rlf_tokenizer_piece(reader->tokenizer, (uint32_t)reader->eos);
    rlf_buf_printf(out, "%.*s (%" PRId64 ")", (int)text.n, text.p, reader->eos);
}

void
rlf_reads_warn_ends(const rlf_env *env, int model, rlf_buf *out)
{
    const rlf_graph *graph = env->graph;
    const rlf_reader *reader = rlf_model_reader(env->resource[model]);
    const char *told = NULL;
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        for (int k = 0; k < node->n_inputs; k++) {
            if (!rlf_reads(graph, node, model, k))
                continue;
            const rlf_set *set =
                &graph->sets.data[graph->values.data[node->inputs[k]].set];
            if (set->kind != RLF_SET_WRITTEN || set->model < 0 ||
                set->model == model || (told && strcmp(told, set->name) == 0))
                continue;
            const rlf_reader *writer =
                rlf_model_reader(env->resource[set->model]);
            if (!rlf_rows_same_tokens(writer->tokenizer, reader->tokenizer) ||
                ends_with(reader, writer->eos))
                continue;
            told = set->name;
            rlf_buf_printf(out,
                           "warning: %s: responses of '%s' end as '%s' ends "
                           "them, which reads them first, with ",
                           reader->model, set->name, writer->model);
            put_end(writer, out);
            rlf_buf_printf(out, "; '%s' ends its own with ", reader->model);
            put_end(reader, out);
            rlf_buf_puts(out, " (a respond(...) for each model gives each its "
                              "own)\n");
        }
    }
}

static void
warn_stop(const rlf_reader *reader, const char *text, rlf_buf *out)
{
    uint32_t id = rlf_tokenizer_find(reader->tokenizer, text);
    bool special =
        id != RLF_NO_ID && rlf_tokenizer_special(reader->tokenizer, id);
    if (!special && rlf_tokenizer_gives(reader->tokenizer, text, strlen(text)))
        return;
    rlf_buf_printf(out, "warning: %s: stop: ", reader->model);
    rlf_buf_json(out, text, strlen(text));
    rlf_buf_puts(out, special ? " is a special token, which gives no text and "
                                "is not found (end tokens end a response by "
                                "themselves)\n"
                              : " has no effect: no tokens of its tokenizer "
                                "give this text\n");
}

void
rlf_reads_warn_stops(const rlf_env *env, int model, rlf_buf *out)
{
    const rlf_graph *graph = env->graph;
    const rlf_reader *reader = rlf_model_reader(env->resource[model]);
    for (size_t i = 0; reader->tokenizer && i < graph->nodes.count; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        if (node->receiver != model || node->class->work != RLF_WORK_GENERATE)
            continue;
        const rlf_arg *stop = rlf_node_arg(node, "stop");
        if (stop->kind == RLF_ARG_TEXT)
            warn_stop(reader, stop->text, out);
        for (int k = 0; stop->kind == RLF_ARG_LIST && k < stop->n_list; k++)
            warn_stop(reader, stop->list[k].text, out);
    }
}

/* ---- templates of other models ---- */

/* Does a message have this text, which is then none of the template's? */
static bool
is_said(const rlf_prompt *prompt, rlf_str text)
{
    bool said = false;
    for (uint32_t i = 0; i < prompt->n_messages; i++) {
        rlf_str content = prompt->messages[i].content;
        said |= text.n <= content.n &&
                memmem(content.p, content.n, text.p, text.n) != NULL;
    }
    return said;
}

/* Is it a token of its own, in one piece? */
static rlf_status
is_token(const rlf_reader *reader, rlf_str text, rlf_err *err, bool *out)
{
    rlf_ids ids = {0};
    rlf_status status =
        rlf_tokenizer_encode(reader->tokenizer, text.p, text.n, 0, err, &ids);
    *out = ids.count == 1;
    RLF_VEC_FREE(&ids);
    return status;
}

/* The next <|word|> in what is left of the text; n 0: there is none. */
static rlf_str
next_marker(rlf_str left)
{
    for (size_t i = 0; i + 4 < left.n; i++) {
        size_t n = 2;
        if (left.p[i] != '<' || left.p[i + 1] != '|')
            continue;
        while (i + n < left.n && (isalnum((unsigned char)left.p[i + n]) ||
                                  strchr("_-.", left.p[i + n])))
            n++;
        if (n > 2 && i + n + 1 < left.n && left.p[i + n] == '|' &&
            left.p[i + n + 1] == '>')
            return (rlf_str){left.p + i, n + 2};
    }
    return (rlf_str){left.p, 0};
}

rlf_status
rlf_reads_warn_markers(const rlf_env *env, const rlf_reader *reader,
                       const rlf_data *data, rlf_err *err, rlf_buf *out)
{
    rlf_prompt prompt = {0};
    if (data->records.count)
        RLF_TRY(rlf_data_prompt(data, 0, env->pool, err, &prompt));
    if (!prompt.n_messages)
        return RLF_OK;
    RLF_TRY(rlf_rows_encode(env, reader, &prompt, err));
    for (rlf_str left = prompt.text, m; (m = next_marker(left)).n;) {
        bool known = false;
        size_t used = (size_t)(m.p - left.p) + m.n;
        left = (rlf_str){left.p + used, left.n - used};
        if (is_said(&prompt, m))
            continue;
        RLF_TRY(is_token(reader, m, err, &known));
        if (known)
            continue;
        rlf_buf_printf(out,
                       "%s: the template of '%s' writes %.*s, which is no "
                       "token of its tokenizer and is read letter by letter: "
                       "it is of another model\n",
                       data->name, reader->model, (int)m.n, m.p);
        return RLF_OK;
    }
    return RLF_OK;
}

/* ---- what only chats need ---- */

/* Is there one with this template, the declared model or a copy of it, that
 * reads prompts of data, or, with `chats`, such that are chats? */
static bool
some_reads(const rlf_env *env, const rlf_reader *like, bool chats)
{
    const rlf_resource *resources = env->graph->resources.data;
    for (size_t i = 0; i < env->graph->resources.count; i++) {
        if (!resources[i].class->model)
            continue;
        const rlf_reader *reader = rlf_model_reader(env->resource[i]);
        if (reader->own == like->own && reader->template == like->template &&
            reads_prompts(env, (int)i, chats))
            return true;
    }
    return false;
}

void
rlf_reads_warn_chats(const rlf_env *env, int model, rlf_buf *out)
{
    const rlf_reader *reader = rlf_model_reader(env->resource[model]);
    const rlf_resource *declared = &env->graph->resources.data[model];
    static const char none[] = "no prompts that it reads are chats";
    const char *why = NULL;
    if (!reader->tokenizer)
        return;
    if (reader->template)
        why = "a template in Lua is told of no day";
    else if (!reader->own)
        why = "its tokenizer has no chat template";
    else if (!rlf_chat_asks_day(reader->own))
        why = "the chat template of its tokenizer does not ask for the day";
    else if (!some_reads(env, reader, true))
        why = none;
    if (why && rlf_declared(declared, "date"))
        rlf_buf_printf(out, "warning: %s: date: has no effect: %s\n",
                       reader->model, why);
    if (rlf_declared(declared, "tools") && reader->own)
        why = !rlf_chat_shows_tools(reader->own)
                  ? "the template does not read tools"
              : !some_reads(env, reader, true) ? none
                                               : NULL;
    if (rlf_declared(declared, "tools") && why)
        rlf_buf_printf(out, "warning: %s: tools: has no effect: %s\n",
                       reader->model, why);
    if (rlf_declared(declared, "template_name") &&
        !some_reads(env, reader, true))
        rlf_buf_printf(out, "warning: %s: template_name: has no effect: %s\n",
                       reader->model, none);
    /* of texts the data tells (drop.c) */
    if (rlf_declared(declared, "template") && !some_reads(env, reader, false))
        rlf_buf_printf(out, "warning: %s: template: has no effect: %s\n",
                       reader->model, none);
}

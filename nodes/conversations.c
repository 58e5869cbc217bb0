/* See conversations.h. */
#include "nodes/conversations.h"

#include "nodes/reads.h"
#include "nodes/turns.h"
#include "nodes/walk.h"

#include <stdatomic.h>

/* The set of conversations that it is, or is made of; -1: it is none. */
static int
find_turns(const rlf_graph *graph, int set)
{
    while (set >= 0) {
        const rlf_set *s = &graph->sets.data[set];
        if (s->turns && s->origin < 0)
            return set;
        set = s->origin >= 0 ? s->origin : s->from;
    }
    return -1;
}

static bool
reads_data(const rlf_graph *graph, int set, int index)
{
    int root = rlf_reads_data(graph, set);
    return root >= 0 && rlf_reads_part(graph, root, index);
}

void
rlf_conversations_list(const rlf_env *env, int index,
                       rlf_conversation_uses *out)
{
    const rlf_graph *graph = env->graph;
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        if (!node->class->gives_turns)
            continue;
        int set = graph->values.data[node->outputs[0]].set;
        int model = graph->sets.data[set].model;
        if (model < 0 || !reads_data(graph, set, index))
            continue;
        const rlf_arg *most = rlf_node_arg(node, "max_length");
        rlf_conversation_use use = {
            .converse = node,
            .set = &graph->sets.data[set],
            .reader = rlf_model_reader(env->resource[model]),
            .most = most->kind == RLF_ARG_NUMBER ? (uint32_t)most->number : 0};
        if (use.reader->tokenizer) /* of a plan: nobody knows */
            RLF_PUSH(out, use);
    }
}

static rlf_status
fits(const rlf_env *env, const rlf_data *data, uint32_t row,
     const rlf_conversation_use *use, rlf_err *err, bool *ends)
{
    rlf_prompt prompt = {0};
    rlf_conversation turns;
    RLF_TRY(rlf_data_prompt(data, row, env->pool, err, &prompt));
    RLF_TRY(rlf_turns_read(env, use->reader, &prompt, use->most, err, &turns));
    *ends &= turns.ends || turns.cut;
    if (!use->reader->context || turns.n_ids <= use->reader->context)
        return RLF_OK;
    rlf_fail(err, RLF_USER,
             "it has %u tokens, more than the context of %u that model '%s' "
             "was made for",
             turns.n_ids, use->reader->context, use->reader->model);
    rlf_err_hint(err, "max_length: of converse cuts them; on_error: drop "
                      "leaves such rows out");
    return RLF_USER;
}

rlf_status
rlf_conversations_fit(const rlf_env *env, const rlf_data *data, uint32_t row,
                      const rlf_conversation_uses *uses, rlf_err *err,
                      bool *ends)
{
    for (size_t i = 0; i < uses->count; i++) {
        rlf_err why = RLF_ERR_NONE;
        rlf_status status = fits(env, data, row, &uses->data[i], &why, ends);
        if (status >= 0)
            continue;
        rlf_fail(err, status, "conversation %s: %s",
                 rlf_data_place(data, row, env->pool), why.sentence);
        rlf_err_hint(err, "%s", why.hint);
        rlf_err_detail(err, "%s", why.detail);
        return status;
    }
    return RLF_OK;
}

/* ---- who reads them ---- */

static rlf_status
refuse(const rlf_node *node, rlf_status status, const char *hint, rlf_err *err)
{
    rlf_err_hint(err, "%s", hint);
    rlf_err_place(err, node->span, node->class->name);
    return status;
}

/* A call of the model that has input k, which is made of rows of the data. */
static rlf_status
check_read(const rlf_env *env, const rlf_node *node, int model, int k,
           const rlf_data *data, rlf_err *err)
{
    const rlf_graph *graph = env->graph;
    int set = graph->values.data[node->inputs[k]].set;
    int turns = find_turns(graph, set);
    const rlf_reader *reader = rlf_model_reader(env->resource[model]);
    if (turns < 0 && data->conversations)
        return refuse(node,
                      rlf_fail(err, RLF_USER,
                               "'%s' reads rows of '%s' as prompts, and they "
                               "are conversations",
                               reader->model, data->name),
                      "converse(batch) makes samples of them", err);
    if (turns < 0 || graph->sets.data[turns].model < 0 || !reader->tokenizer)
        return RLF_OK;
    const rlf_reader *writer =
        rlf_model_reader(env->resource[graph->sets.data[turns].model]);
    if (!writer->tokenizer || rlf_digest_equal(writer->writes, reader->writes))
        return RLF_OK;
    return refuse(node,
                  rlf_fail(err, RLF_USER,
                           "'%s' reads the conversations of '%s' first, and "
                           "'%s' writes them otherwise",
                           writer->model, graph->sets.data[turns].name,
                           reader->model),
                  "a converse(...) for each of them gives each its own", err);
}

rlf_status
rlf_conversations_check(const rlf_env *env, int index, const rlf_data *data,
                        rlf_err *err)
{
    const rlf_graph *graph = env->graph;
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        int made = node->class->gives_turns
                       ? graph->values.data[node->outputs[0]].set
                       : -1;
        bool here = made >= 0 && reads_data(graph, made, index);
        if (here && graph->sets.data[made].model < 0)
            return refuse(node,
                          rlf_fail(err, RLF_USER,
                                   "no model reads the conversations of '%s'",
                                   graph->sets.data[made].name),
                          "a model that reads them first writes their tokens",
                          err);
        if (here && !data->conversations)
            return refuse(node,
                          rlf_fail(err, RLF_USER,
                                   "the rows of '%s' are no conversations",
                                   data->name),
                          "conversation: \"field\" of the data says which "
                          "field they are",
                          err);
        for (int k = 0; k < node->n_inputs; k++)
            for (size_t m = 0; m < graph->resources.count; m++)
                if (graph->resources.data[m].class->model &&
                    rlf_reads(graph, node, (int)m, k) &&
                    reads_data(graph, graph->values.data[node->inputs[k]].set,
                               index))
                    RLF_TRY(check_read(env, node, (int)m, k, data, err));
    }
    return RLF_OK;
}

typedef struct checking {
    const rlf_data *data;
    rlf_conversation_uses uses;
    _Atomic uint32_t open; /* whose turns do not all end with an end token */
} checking;

static rlf_status
check_row(const rlf_env *env, void *arg, uint32_t row, rlf_err *err)
{
    checking *c = arg;
    bool ends = true;
    RLF_TRY(rlf_conversations_fit(env, c->data, row, &c->uses, err, &ends));
    atomic_fetch_add(&c->open, !ends);
    return RLF_OK;
}

rlf_status
rlf_conversations_check_rows(const rlf_env *env, int index, rlf_data *data,
                             rlf_err *err)
{
    checking c = {.data = data};
    rlf_status status = RLF_OK;
    rlf_conversations_list(env, index, &c.uses);
    if (c.uses.count)
        status = rlf_walk_rows(env, (uint32_t)data->records.count, check_row,
                               &c, err);
    const uint32_t open = atomic_load(&c.open);
    if (open && status >= 0)
        rlf_buf_printf(&data->warnings,
                       "warning: %s: in %u of %u conversations a turn of the "
                       "assistant ends without an end token of '%s': what is "
                       "learned from it does not stop there\n",
                       data->name, open, (uint32_t)data->records.count,
                       c.uses.data[0].reader->model);
    RLF_VEC_FREE(&c.uses);
    return status;
}

rlf_status
rlf_conversations_length(const rlf_env *env, const rlf_data *data, uint32_t row,
                         const rlf_reader *reader, rlf_err *err, uint32_t *all,
                         uint32_t *said)
{
    rlf_prompt prompt = {0};
    rlf_conversation turns;
    RLF_TRY(rlf_data_prompt(data, row, env->pool, err, &prompt));
    RLF_TRY(rlf_turns_read(env, reader, &prompt, 0, err, &turns));
    *all = turns.n_ids;
    *said = turns.n_said;
    return RLF_OK;
}

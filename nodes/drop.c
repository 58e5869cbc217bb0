/* Prompts that no step may meet are found before the first one: those longer
 * than `max_prompt`, which `on_error: drop` leaves out and which are an error
 * without it, and chats where a model has no template.
 *
 * A prompt's tokens are those of a model. With `drop` one that is too long for
 * any model of the program goes; else only models count that read the data. */
#include "engine/text/tokenizer.h"
#include "nodes/data.h"
#include "nodes/rows.h"

/* Readers that differ, of all models. */
static uint32_t
list_readers(const rlf_env *env, rlf_arena *arena, const rlf_reader ***out)
{
    uint32_t n = 0;
    const rlf_graph *graph = env->graph;
    *out = RLF_NEW_ARRAY(arena, const rlf_reader *, graph->resources.count);
    for (size_t i = 0; i < graph->resources.count; i++) {
        if (graph->resources.data[i].kind != RLF_RESOURCE_MODEL)
            continue;
        const rlf_reader *r = rlf_model_reader(env->resource[i]);
        bool there = false;
        for (uint32_t k = 0; k < n; k++)
            there =
                there ||
                ((*out)[k]->template == r->template &&
                 rlf_digest_equal(rlf_tokenizer_digest((*out)[k]->tokenizer),
                                  rlf_tokenizer_digest(r->tokenizer)));
        if (!there)
            (*out)[n++] = r;
    }
    return n;
}

/* The tokens of a row's prompt, if they are too many; else *n stays. */
static rlf_status
too_long(const rlf_env *env, const rlf_data *data, uint32_t row,
         const rlf_reader *reader, rlf_err *err, uint32_t *n)
{
    rlf_prompt prompt = {0};
    rlf_data_prompt(data, row, &prompt);
    /* A model without a template reads no chat: it says so if it has to. */
    if (prompt.n_messages && !reader->template)
        return RLF_OK;
    rlf_err why = RLF_ERR_NONE;
    rlf_status status = rlf_rows_encode(env, reader, &prompt, &why);
    if (status < 0) {
        rlf_fail(err, status, "prompt %s: %s",
                 rlf_data_place(data, row, env->pool), why.sentence);
        rlf_err_hint(err, "%s", why.hint);
        rlf_err_detail(err, "%s", why.detail);
        return status;
    }
    if (prompt.n_ids > data->max_prompt)
        *n = prompt.n_ids;
    return RLF_OK;
}

static rlf_status
choose(const rlf_env *env, const rlf_data *data, uint32_t *keep, uint32_t *n,
       rlf_err *err)
{
    enum { OFTEN = 1024 }; /* rows between two times of giving memory back */
    const rlf_reader **readers;
    uint32_t rows = (uint32_t)data->records.count;
    uint32_t n_readers = list_readers(env, data->arena, &readers);
    for (uint32_t i = 0; i < rows; i++) {
        uint32_t drop = 0;
        for (uint32_t k = 0; k < n_readers && !drop; k++)
            RLF_TRY(too_long(env, data, i, readers[k], err, &drop));
        if (!drop)
            keep[(*n)++] = i;
        if (i % OFTEN == 0)
            rlf_arena_reset(env->pool);
    }
    return RLF_OK;
}

/* Is the data `part`, or made of it? */
static bool
is_made_of(const rlf_graph *graph, int data, int part)
{
    const rlf_resource *r = &graph->resources.data[data];
    bool made =
        data == part || (r->source >= 0 && r->kind == RLF_RESOURCE_DATA &&
                         is_made_of(graph, r->source, part));
    for (int i = 0; i < r->n_args && !made; i++)
        made = r->args[i].kind == RLF_ARG_RESOURCE &&
               is_made_of(graph, r->args[i].resource, part);
    return made;
}

/* Does a call of the model read prompts of the data? Texts that are asked are
 * other prompts. */
static bool
reads(const rlf_graph *graph, int model, int data)
{
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        if (node->receiver != model || node->class->role != RLF_ROLE_METHOD)
            continue;
        for (int k = 0; k < node->n_inputs; k++) {
            const rlf_value *value = &graph->values.data[node->inputs[k]];
            if (value->kind != RLF_VALUE_SET)
                continue;
            int set = value->set;
            while (graph->sets.data[set].origin >= 0 ||
                   graph->sets.data[set].from >= 0)
                set = graph->sets.data[set].origin >= 0
                          ? graph->sets.data[set].origin
                          : graph->sets.data[set].from;
            const rlf_set *s = &graph->sets.data[set];
            if (s->kind == RLF_SET_DATA && s->data >= 0 &&
                is_made_of(graph, s->data, data))
                return true;
        }
    }
    return false;
}

/* All rows, by one model. Rows of so few bytes that they cannot be too long are
 * passed over: a token is a byte at least, and some begin a text. */
static rlf_status
check_rows(const rlf_env *env, const rlf_data *data, const rlf_reader *reader,
           rlf_err *err)
{
    enum { OFTEN = 1024, BEGIN = 16 };
    for (uint32_t i = 0; i < data->records.count; i++) {
        rlf_prompt prompt = {0};
        rlf_data_prompt(data, i, &prompt);
        if (prompt.n_messages && !reader->template)
            return rlf_rows_encode(env, reader, &prompt, err);
        bool may =
            prompt.n_messages || prompt.text.n + BEGIN > data->max_prompt;
        uint32_t over = 0;
        if (data->max_prompt && !data->drops && may)
            RLF_TRY(too_long(env, data, i, reader, err, &over));
        if (over) {
            rlf_fail(err, RLF_USER,
                     "prompt %s has %u tokens, more than max_prompt: %u",
                     rlf_data_place(data, i, env->pool), over,
                     data->max_prompt);
            rlf_err_hint(err,
                         "shorten it, or raise max_prompt of '%s', or leave "
                         "such rows out: on_error: drop",
                         data->name);
            return RLF_USER;
        }
        if (i % OFTEN == OFTEN - 1)
            rlf_arena_reset(env->pool);
    }
    return RLF_OK;
}

rlf_status
rlf_data_check(const rlf_env *env, int index, rlf_data *data, rlf_err *err)
{
    const rlf_graph *graph = env->graph;
    rlf_env own = *env;
    rlf_status status = RLF_OK;
    if (!data->prompt)
        return RLF_OK;
    own.pool = rlf_arena_new();
    for (size_t i = 0; i < graph->resources.count && status >= 0; i++)
        if (graph->resources.data[i].kind == RLF_RESOURCE_MODEL &&
            reads(graph, (int)i, index))
            status =
                check_rows(&own, data, rlf_model_reader(env->resource[i]), err);
    rlf_arena_free(own.pool);
    return status;
}

rlf_status
rlf_data_drop(const rlf_env *env, rlf_data *data, rlf_err *err)
{
    uint32_t rows = (uint32_t)data->records.count, n = 0;
    uint32_t *keep = RLF_NEW_ARRAY(data->arena, uint32_t, rows);
    rlf_env own = *env;
    own.pool = rlf_arena_new();
    rlf_status status = choose(&own, data, keep, &n, err);
    rlf_arena_free(own.pool);
    RLF_TRY(status);
    data->dropped = rows - n;
    if (n == rows)
        return RLF_OK;
    if (!n) {
        rlf_fail(err, RLF_USER,
                 "all %u prompts of '%s' are longer than max_prompt: %u", rows,
                 data->name, data->max_prompt);
        rlf_err_hint(err, "raise max_prompt");
        return RLF_USER;
    }
    RLF_TRY(rlf_data_keep(data, keep, n, err));
    return RLF_OK;
}

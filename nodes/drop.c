/* `on_error: drop`: rows whose prompts are longer than `max_prompt` are left
 * out before the first step, so that no draw ever meets one.
 *
 * A prompt's tokens are those of a model. One that is too long for any model of
 * the program goes. */
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

/* Is the prompt of a row too long for the reader? */
static rlf_status
too_long(const rlf_env *env, const rlf_data *data, uint32_t row,
         const rlf_reader *reader, rlf_err *err, bool *out)
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
    *out = prompt.n_ids > data->max_prompt;
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
        bool drop = false;
        for (uint32_t k = 0; k < n_readers && !drop; k++)
            RLF_TRY(too_long(env, data, i, readers[k], err, &drop));
        if (!drop)
            keep[(*n)++] = i;
        if (i % OFTEN == 0)
            rlf_arena_reset(env->pool);
    }
    return RLF_OK;
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
    rlf_data_keep(data, keep, n);
    return RLF_OK;
}

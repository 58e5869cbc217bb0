/* Finds how long the prompts and other texts of a data set are, for who plans
 * steps: a sample of its rows, written as a step writes them (rows.h). */
#include "nodes/conversations.h"
#include "nodes/data.h"
#include "nodes/rows.h"

/* The tokens of a row's text in that column as a response, or (NULL) of its
 * prompt. */
static rlf_status
tokens_of(const rlf_env *env, const rlf_data *data,
          const rlf_record_column *column, uint32_t row,
          const rlf_reader *reader, rlf_err *err, uint32_t *out)
{
    rlf_prompt prompt = {0};
    rlf_sample sample = {0};
    rlf_err why = RLF_ERR_NONE;
    rlf_status status;
    uint32_t at = row;
    if (rlf_data_origin(data, &at)->conversations) {
        uint32_t all = 0, said = 0;
        RLF_TRY(
            rlf_conversations_length(env, data, row, reader, err, &all, &said));
        *out = column ? said : all - said;
        return RLF_OK;
    }
    if (column) {
        rlf_record_value value;
        RLF_TRY(rlf_data_value(data, column, row, env->pool, err, &value));
        status = rlf_rows_response(env, reader, NULL, value.text, true, &why,
                                   &sample);
    } else {
        RLF_TRY(rlf_data_prompt(data, row, env->pool, err, &prompt));
        status = rlf_rows_encode(env, reader, &prompt, &why);
    }
    if (status < 0) {
        rlf_fail(err, status, "%s %s: %s", column ? "response" : "prompt",
                 rlf_data_place(data, row, env->pool), why.sentence);
        rlf_err_hint(err, "%s", why.hint);
        return status;
    }
    *out = column ? sample.n_ids : prompt.n_ids;
    return RLF_OK;
}

/* Rows first .. first + rows, n of them, to out[*at] on. */
static rlf_status
take(const rlf_env *env, const rlf_data *data, const rlf_record_column *column,
     const rlf_reader *reader, uint32_t first, uint32_t rows, uint32_t n,
     rlf_err *err, uint32_t *out, uint32_t *at)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t row = first + (uint32_t)((uint64_t)i * rows / n);
        RLF_TRY(tokens_of(env, data, column, row, reader, err, &out[(*at)++]));
        rlf_data_rest(env->pool);
    }
    return RLF_OK;
}

static rlf_status
lengths_of(const rlf_env *env, const rlf_data *data,
           const rlf_record_column *column, const rlf_reader *reader,
           uint32_t most, rlf_arena *arena, rlf_err *err, uint32_t **out,
           uint32_t *n)
{
    uint32_t rows = (uint32_t)data->records.count;
    rlf_env own = *env;
    *out = RLF_NEW_ARRAY(arena, uint32_t, most + data->n_members + 1);
    own.pool = rlf_arena_new();
    rlf_status status = RLF_OK;
    if (!data->share)
        status = take(&own, data, column, reader, 0, rows,
                      rows < most ? rows : most, err, *out, n);
    for (uint32_t m = 0; data->share && m < data->n_members && status >= 0; m++)
        status = take(&own, data, column, reader, data->first[m],
                      rlf_data_rows_of(data, m),
                      (uint32_t)(data->share[m] * most + 0.5), err, *out, n);
    rlf_arena_free(own.pool);
    return status;
}

rlf_status
rlf_data_lengths(const rlf_env *env, int index, int model, uint32_t most,
                 rlf_arena *arena, rlf_err *err, uint32_t **out, uint32_t *n)
{
    const rlf_data *data = env->resource[index];
    const rlf_reader *reader = rlf_model_reader(env->resource[model]);
    *n = 0;
    if (!data->prompt || !reader->tokenizer)
        return RLF_OK;
    return lengths_of(env, data, NULL, reader, most, arena, err, out, n);
}

rlf_status
rlf_data_response_lengths(const rlf_env *env, int index, const char *field,
                          int model, uint32_t most, rlf_arena *arena,
                          rlf_err *err, uint32_t **out, uint32_t *n)
{
    const rlf_data *data = env->resource[index];
    const rlf_reader *reader = rlf_model_reader(env->resource[model]);
    const rlf_record_column *column = rlf_records_column(&data->records, field);
    *n = 0;
    if (!column || !reader->tokenizer ||
        (column->kind != RLF_RECORD_TEXT && column != data->prompt))
        return RLF_OK;
    return lengths_of(env, data, column, reader, most, arena, err, out, n);
}

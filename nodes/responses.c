/* Texts of a data set that are given as responses, respond(batch.answer): those
 * that no step may meet are found before the first one, as prompts are
 * (drop.c).
 *
 * Looked at are texts of all rows that are drawn. Where a where() has chosen
 * the rows first, or chooses samples before a model reads them, only the step
 * knows which texts are read. */
#include "nodes/responses.h"

#include "engine/text/tokenizer.h"
#include "nodes/reads.h"
#include "nodes/rows.h"

/* ---- who reads them ---- */

/* The set that it is a part of, or whose prompts it answers; -1: none. */
static int
before(const rlf_graph *graph, int set)
{
    const rlf_set *s = &graph->sets.data[set];
    return s->origin >= 0 ? s->origin : s->from;
}

/* Has a where() or a collect chosen rows of what the set is made of, back to
 * `whole` (-1: to the first)? */
static bool
is_chosen(const rlf_graph *graph, int set, int whole)
{
    for (; set >= 0 && set != whole; set = before(graph, set)) {
        const rlf_node *node = rlf_graph_maker(graph, set);
        if (node && (strcmp(node->class->name, "where") == 0 ||
                     strcmp(node->class->name, "collect") == 0))
            return true;
    }
    return false;
}

static bool
is_part(const rlf_graph *graph, int set, int whole)
{
    while (set >= 0 && set != whole)
        set = graph->sets.data[set].origin;
    return set == whole;
}

/* Does a call of the model read responses of the set; *all: not only of those
 * samples that a where() has left? */
static bool
reads(const rlf_graph *graph, int model, int set, bool *all)
{
    bool any = false;
    *all = false;
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        if (node->class->receiver == RLF_RECEIVER_NONE)
            continue;
        for (int k = 0; k < node->n_inputs; k++) {
            if (!rlf_reads(graph, node, model, k))
                continue;
            int from = graph->values.data[node->inputs[k]].set;
            if (!is_part(graph, from, set))
                continue;
            any = true;
            *all |= !is_chosen(graph, from, set);
        }
    }
    return any;
}

/* The set whose rows the texts are of: its fields are the data's. -1: none, or
 * a where() has chosen them. */
static int
rows_of_texts(const rlf_graph *graph, const rlf_node *field)
{
    for (int k = 0; k < field->n_inputs; k++) {
        const rlf_value *value = &graph->values.data[field->inputs[k]];
        if (value->kind == RLF_VALUE_SET)
            return is_chosen(graph, value->set, -1) ? -1 : value->set;
    }
    return -1;
}

/* Do the texts answer the prompts of the rows that they stand in? */
static bool
answers_own(const rlf_graph *graph, const rlf_node *respond, int rows)
{
    const rlf_arg *to = rlf_node_arg(respond, "to");
    int set = graph->values.data[respond->inputs[to->input]].set;
    return graph->sets.data[set].prompts == graph->sets.data[rows].prompts &&
           rlf_reads_data(graph, set) >= 0;
}

const rlf_node *
rlf_responses_field(const rlf_graph *graph, const rlf_node *node)
{
    if (!node->class->texts_formal)
        return NULL;
    const rlf_arg *arg = rlf_node_arg(node, node->class->texts_formal);
    int from = graph->values.data[node->inputs[arg->input]].node;
    const rlf_node *field = from < 0 ? NULL : &graph->nodes.data[from];
    bool data = field && field->class->form == RLF_FORM_FIELD &&
                field->receiver >= 0 &&
                graph->resources.data[field->receiver].class->data;
    return data ? field : NULL;
}

/* Does the writer read the texts of this respond itself? */
static bool
is_used(const rlf_response_uses *uses, const rlf_response_use *use)
{
    bool used = false;
    for (size_t i = 0; i < uses->count; i++)
        used |= uses->data[i].respond == use->respond &&
                uses->data[i].reader == use->writer;
    return used;
}

static void
add_use(rlf_response_uses *uses, rlf_response_use use)
{
    for (size_t i = 0; i < uses->count; i++) {
        const rlf_response_use *u = &uses->data[i];
        if (u->respond == use.respond && u->all == use.all &&
            u->reader->context == use.reader->context &&
            u->reader->vocab == use.reader->vocab &&
            rlf_digest_equal(u->reader->writes, use.reader->writes))
            return;
    }
    RLF_PUSH(uses, use);
}

static void
list_readers(const rlf_env *env, const rlf_data *data, const rlf_node *node,
             rlf_response_uses *uses)
{
    const rlf_graph *graph = env->graph;
    const rlf_node *field = rlf_responses_field(graph, node);
    int rows = rows_of_texts(graph, field);
    int set = graph->values.data[node->outputs[0]].set;
    int writer = graph->sets.data[set].model;
    const char *name = rlf_node_arg(field, "name")->text;
    const rlf_record_column *column = rlf_records_column(&data->records, name);
    if (rows < 0 || writer < 0 || !column || column->kind != RLF_RECORD_TEXT)
        return;
    rlf_response_use use = {.respond = node,
                            .set = &graph->sets.data[set],
                            .column = column,
                            .writer = rlf_model_reader(env->resource[writer]),
                            .own_prompt = answers_own(graph, node, rows)};
    if (!use.writer->tokenizer) /* of a plan: nobody knows */
        return;
    for (size_t i = 0; i < graph->resources.count; i++) {
        if (!graph->resources.data[i].class->model)
            continue;
        use.reader = rlf_model_reader(env->resource[i]);
        if (use.reader->tokenizer && reads(graph, (int)i, set, &use.all))
            add_use(uses, use);
    }
    use.reader = use.writer;
    use.all = false;
    if (!is_used(uses, &use))
        add_use(uses, use);
}

void
rlf_responses_list(const rlf_env *env, int index, const rlf_data *data,
                   bool parts, rlf_response_uses *out)
{
    const rlf_graph *graph = env->graph;
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        const rlf_node *field = rlf_responses_field(graph, node);
        if (field && (field->receiver == index ||
                      (parts && rlf_reads_part(graph, field->receiver, index))))
            list_readers(env, data, node, out);
    }
}

/* ---- what a row's text may be ---- */

static const char too_long[] = "leave such rows out: on_error: drop, or take a "
                               "model with a longer context";

/* The row's prompt as the reader writes it; without tokens: it cannot, which is
 * told of the prompt. */
static rlf_status
write_prompt(const rlf_env *env, const rlf_data *data, uint32_t row,
             const rlf_reader *reader, rlf_err *err, rlf_prompt *out)
{
    RLF_TRY(rlf_data_prompt(data, row, env->pool, err, out));
    if (out->n_messages && !rlf_reader_has_template(reader))
        return RLF_OK;
    rlf_status status = rlf_rows_encode(env, reader, out, err);
    if (status != RLF_USER)
        return status;
    rlf_err_clear(err);
    out->n_ids = 0;
    return RLF_OK;
}

static rlf_status
check_context(const rlf_response_use *use, uint32_t n, uint32_t prompt,
              rlf_err *err)
{
    const rlf_reader *reader = use->reader;
    if (!use->all || !reader->context)
        return RLF_OK;
    if ((uint64_t)n + prompt <= reader->context)
        return RLF_OK;
    rlf_buf with = {0};
    if (use->own_prompt)
        rlf_buf_printf(&with, ", %u with its prompt", n + prompt);
    rlf_fail(err, RLF_USER,
             "it has %u tokens%s, more than the context of %u that model '%s' "
             "was made for",
             n, with.p ? with.p : ", and a prompt before them", reader->context,
             reader->model);
    rlf_buf_free(&with);
    rlf_err_hint(err, "%s", too_long);
    return RLF_USER;
}

static rlf_status
check_most(const rlf_response_use *use, uint64_t n, const char *least,
           rlf_err *err)
{
    const rlf_arg *most =
        rlf_args_find(use->respond->args, use->respond->n_args, "max_response");
    if (!most || most->kind != RLF_ARG_NUMBER || (double)n <= most->number)
        return RLF_OK;
    rlf_fail(err, RLF_USER,
             "it has %s%llu tokens, more than max_response: %.0f", least,
             (unsigned long long)n, most->number);
    rlf_err_hint(err, "raise max_response: of respond, or leave such rows "
                      "out: on_error: drop");
    return RLF_USER;
}

/* A text of megabytes that cannot fit is not made into tokens first. */
static rlf_status
check_large(const rlf_response_use *use, const rlf_reader *by, rlf_str text,
            rlf_err *err)
{
    static const char at_least[] = "at least ";
    const rlf_reader *reader = use->reader;
    uint64_t n;
    RLF_TRY(rlf_rows_least(by, text, err, &n));
    if (by == use->writer)
        RLF_TRY(check_most(use, n, at_least, err));
    if (!use->all || !reader->context || n < reader->context)
        return RLF_OK;
    rlf_fail(err, RLF_USER,
             "it has %s%llu tokens, more than the context of %u that model "
             "'%s' was made for",
             at_least, (unsigned long long)n, reader->context, reader->model);
    rlf_err_hint(err, "%s", too_long);
    return RLF_USER;
}

/* Checks a text; an error has no place of the row. */
static rlf_status
check_text(const rlf_env *env, const rlf_data *data, uint32_t row,
           const rlf_response_use *use, rlf_err *err)
{
    bool written =
        rlf_rows_same_tokens(use->writer->tokenizer, use->reader->tokenizer);
    const rlf_reader *by = written ? use->writer : use->reader;
    rlf_record_value value;
    rlf_sample sample;
    RLF_TRY(rlf_data_value(data, use->column, row, env->pool, err, &value));
    rlf_str text = value.text;
    RLF_TRY(check_large(use, by, text, err));
    rlf_prompt prompt = {.n_ids = 1}; /* the least that it has */
    if (use->own_prompt)
        RLF_TRY(write_prompt(env, data, row, by, err, &prompt));
    RLF_TRY(rlf_rows_response(env, by, use->own_prompt ? &prompt : NULL, text,
                              true, err, &sample));
    RLF_TRY(rlf_rows_known(use->reader, sample.ids, sample.n_ids, err));
    uint32_t n = sample.n_ids;
    if (!n) {
        rlf_fail(err, RLF_USER, "it has no token");
        rlf_err_hint(err,
                     "its text is empty and the tokenizer of '%s' has no end "
                     "token",
                     use->writer->model);
        return RLF_USER;
    }
    if (written)
        RLF_TRY(check_most(use, n, "", err));
    if (use->own_prompt && use->all && by != use->reader) {
        prompt = (rlf_prompt){0};
        RLF_TRY(write_prompt(env, data, row, use->reader, err, &prompt));
    }
    return check_context(use, n, prompt.n_ids, err);
}

rlf_status
rlf_responses_fit(const rlf_env *env, const rlf_data *data, uint32_t row,
                  const rlf_response_uses *uses, rlf_err *err)
{
    for (size_t i = 0; i < uses->count; i++) {
        const rlf_response_use *use = &uses->data[i];
        rlf_err why = RLF_ERR_NONE;
        rlf_status status = check_text(env, data, row, use, &why);
        if (status >= 0)
            continue;
        rlf_fail(err, status, "response %s of '%s': %s (field '%s')",
                 rlf_data_place(data, row, env->pool), use->set->name,
                 why.sentence, use->column->field);
        rlf_err_hint(err, "%s", why.hint);
        rlf_err_detail(err, "%s", why.detail);
        return status;
    }
    return RLF_OK;
}

/* Data sets as resources: reading, and what a run needs of them. What
 * declarations say stands in data_declare.h. */
#include "nodes/data.h"

#include "engine/base/option.h"
#include "engine/base/vec.h"
#include "engine/io/file.h"
#include "nodes/data_declare.h"
#include "nodes/model_declare.h"

#include <math.h>
#include <stdlib.h>

/* ---- opening ---- */

/* Chats that are prompts end where the model is to speak. */
static rlf_status
check_chats(const rlf_records *records, const rlf_record_column *c,
            rlf_arena *arena, rlf_err *err)
{
    if (c->answered == SIZE_MAX)
        return RLF_OK;
    rlf_fail(err, RLF_USER,
             "%s: \"%s\" ends with the answer of the assistant, which would be "
             "a part of the prompt",
             rlf_records_place(records, c->answered, arena), c->field);
    rlf_err_hint(err,
                 "messages: \"%s\" makes it the column 'answer', and a prompt "
                 "of what is before",
                 c->field);
    return RLF_USER;
}

/* The prompt is a text or a chat, of conversations a chat, everything else a
 * number or a text. */
static rlf_status
check_kinds(rlf_records *records, bool conversations, rlf_arena *arena,
            rlf_err *err)
{
    for (size_t i = 0; i < records->n_columns; i++) {
        const rlf_record_column *c = &records->columns[i];
        records->wrong = c->label;
        bool prompt = strcmp(c->label, "prompt") == 0;
        if (prompt && c->numbers) {
            rlf_fail(err, RLF_USER, "%s: \"%s\" is %s, but a prompt is a text",
                     records->path, c->field,
                     c->kind == RLF_RECORD_BOOL ? "true or false" : "a number");
            rlf_err_hint(err, "write it in quotes");
            return RLF_USER;
        }
        if (prompt && conversations && c->kind != RLF_RECORD_CHAT)
            return rlf_fail(err, RLF_USER,
                            "%s: \"%s\" is %s where a list of chat messages "
                            "is wanted",
                            records->path, c->field,
                            rlf_record_kind_word(c->kind));
        if (prompt && !conversations)
            RLF_TRY(check_chats(records, c, arena, err));
        if (!prompt && c->kind == RLF_RECORD_CHAT) {
            rlf_fail(err, RLF_USER,
                     "%s: \"%s\" is a list of chat messages, which only "
                     "`prompt` may be",
                     records->path, c->field);
            rlf_err_hint(err, "name one text of it, say %s: \"%s.0.content\"",
                         c->label, c->field);
            return RLF_USER;
        }
        records->wrong = NULL;
    }
    return RLF_OK;
}

/* Makes chats of prompts, as `chat: true` and `system:` ask. */
static rlf_status
make_chats(const rlf_resource *resource, rlf_data *data, rlf_err *err)
{
    const rlf_arg *system =
        rlf_args_find(resource->args, resource->n_args, "system");
    const rlf_arg *chat =
        rlf_args_find(resource->args, resource->n_args, "chat");
    bool given = system && system->kind == RLF_ARG_TEXT;
    rlf_record_column *c = (rlf_record_column *)data->prompt;
    if (chat && chat->given && chat->number == 0 && c &&
        c->kind == RLF_RECORD_CHAT) {
        rlf_fail(err, RLF_USER,
                 "%s: \"%s\" is a list of chat messages, and chat: false asks "
                 "for texts",
                 data->records.path, c->field);
        rlf_err_hint(err,
                     "leave chat: out, or name one text of it, say prompt: "
                     "\"%s.0.content\"",
                     c->field);
        return rlf_arg_blame(chat, RLF_USER, err);
    }
    if (!given && !(chat && chat->number != 0))
        return RLF_OK;
    if (!c)
        return rlf_arg_blame(
            given ? system : chat,
            rlf_fail(err, RLF_USER, "there is no prompt to make a chat of"),
            err);
    rlf_str *text = RLF_NEW(data->arena, rlf_str);
    *text = given ? rlf_str_of(system->text) : RLF_STR("");
    data->chat.made = true;
    data->chat.of_texts = c->kind != RLF_RECORD_CHAT;
    if (data->chat.of_texts)
        data->chats = given ? system : chat;
    c->kind = RLF_RECORD_CHAT;
    data->chat.system = given ? text : NULL;
    data->records.digest =
        rlf_digest_add(data->records.digest, text->p, text->n);
    return RLF_OK;
}

/* Tools are for chats. */
static rlf_status
take_tools(const rlf_resource *resource, rlf_data *data, rlf_err *err)
{
    const rlf_arg *tools =
        rlf_args_find(resource->args, resource->n_args, "tools");
    data->tools = tools && tools->kind == RLF_ARG_TEXT;
    if (!data->tools || (data->prompt && data->prompt->kind == RLF_RECORD_CHAT))
        return RLF_OK;
    rlf_fail(err, RLF_USER,
             "tools: is what the template of a chat is told of, and %s",
             data->prompt ? "the prompts are texts" : "there are no prompts");
    rlf_err_hint(err, "chat: true makes chats of texts");
    return rlf_arg_blame(tools, RLF_USER, err);
}

/* Finds how many bytes of texts a data set may keep in memory, and one text; 0:
 * the usual. */
static rlf_status
memory_of_texts(rlf_err *err, size_t *out)
{
    int64_t n;
    RLF_TRY(rlf_variable_number("RLFLOW_DATA_MEMORY", -1, err, &n));
    *out = (size_t)n + 1;
    return RLF_OK;
}

/* `env` NULL: while compiling. */
static rlf_status
read_rows(const rlf_env *env, const rlf_resource *resource, size_t in_memory,
          uint64_t at_most, rlf_data *data, rlf_err *err)
{
    rlf_records_spec spec;
    RLF_TRY(rlf_data_spec(resource, data->arena, err, &spec));
    spec.in_memory = in_memory;
    spec.spools = env ? env->spools : NULL;
    spec.name = resource->name;
    spec.enough = at_most;
    RLF_TRY(rlf_records_read(&spec, data->arena, err, &data->records));
    if (data->records.count >= UINT32_MAX)
        return rlf_fail(err, RLF_USER, "%s has more than 4 billion rows",
                        spec.path);
    const rlf_arg *whole =
        rlf_args_find(resource->args, resource->n_args, "conversation");
    data->conversations = whole && whole->kind == RLF_ARG_TEXT;
    RLF_TRY(check_kinds(&data->records, data->conversations, data->arena, err));
    data->prompt = rlf_records_column(&data->records, "prompt");
    data->max_prompt = (uint32_t)rlf_data_option(resource, "max_prompt");
    data->drops = rlf_data_drops(resource);
    RLF_TRY(make_chats(resource, data, err));
    return take_tools(resource, data, err);
}

/* An error is placed at the column that it is of, or at the file. */
static rlf_status
read_data(const rlf_env *env, const rlf_resource *resource, uint64_t at_most,
          rlf_data *data, rlf_err *err)
{
    size_t in_memory;
    RLF_TRY(memory_of_texts(err, &in_memory));
    rlf_status status = read_rows(env, resource, in_memory, at_most, data, err);
    const char *const parts[] = {data->records.wrong, "messages", "pair",
                                 "conversation"};
    const rlf_arg *at = NULL;
    for (size_t i = 0; i < RLF_COUNT(parts) && parts[0] && !at; i++)
        at = rlf_args_find(resource->args, resource->n_args, parts[i]);
    return rlf_arg_blame(at ? at : rlf_data_path(resource), status, err);
}

void
rlf_data_free(rlf_data *data)
{
    if (!data)
        return;
    for (size_t i = 0; i < data->cursors.count; i++)
        rlf_cursor_free(&data->cursors.data[i]);
    RLF_VEC_FREE(&data->cursors);
    for (size_t i = 0; i < data->marked.count; i++)
        RLF_VEC_FREE(&data->marked.data[i].later);
    RLF_VEC_FREE(&data->marked);
    free(data->drawing);
    rlf_data_free(data->rest);
    rlf_buf_free(&data->warnings);
    for (size_t m = 0; data->owns && m < data->n_members; m++)
        rlf_data_free(data->members[m]);
    rlf_arena_free(data->arena);
    free(data);
}

static void
close_data(void *object)
{
    rlf_data_free(object);
}

/* Is it made of others, and of which? */
static size_t
list_members(const rlf_resource *resource, int *out)
{
    size_t n = 0;
    if (resource->source >= 0)
        out[n++] = resource->source;
    for (int i = 0; i < resource->n_args; i++)
        if (resource->args[i].kind == RLF_ARG_RESOURCE)
            out[n++] = resource->args[i].resource;
    return n;
}

bool
rlf_data_has_prompts(const rlf_graph *graph, const rlf_resource *resource)
{
    int *members = RLF_NEW_ARRAY(graph->arena, int, resource->n_args + 1);
    size_t n = list_members(resource, members);
    const rlf_arg *prompt =
        rlf_args_find(resource->args, resource->n_args, "prompt");
    rlf_record_field parts[RLF_DATA_PARTS];
    bool all = n > 0 || (prompt && prompt->kind != RLF_ARG_ABSENT) ||
               rlf_data_parts(resource, parts) > 0;
    for (size_t m = 0; m < n; m++)
        all = all &&
              rlf_data_has_prompts(graph, &graph->resources.data[members[m]]);
    return all;
}

/* Weights over their sum. They are scaled by a power of 2 first, so that no sum
 * is infinite and only their ratios matter. */
static double *
shares(const rlf_arg *weights, rlf_arena *arena)
{
    double *share = RLF_NEW_ARRAY(arena, double, weights->n_list);
    double most = 0, sum = 0;
    int exponent;
    for (int m = 0; m < weights->n_list; m++)
        most = fmax(most, weights->list[m].number);
    frexp(most, &exponent);
    for (int m = 0; m < weights->n_list; m++)
        sum += share[m] = ldexp(weights->list[m].number, -exponent);
    for (int m = 0; m < weights->n_list; m++)
        share[m] /= sum;
    return share;
}

/* Without rows yet if it is made of others. */
static rlf_data *
new_data(const rlf_resource *resource, int *members)
{
    rlf_data *data = rlf_calloc(1, sizeof *data);
    data->arena = rlf_arena_new();
    data->name = resource->name;
    data->n_members = list_members(resource, members);
    data->members = RLF_NEW_ARRAY(data->arena, rlf_data *, data->n_members);
    const rlf_arg *weights =
        rlf_args_find(resource->args, resource->n_args, "weights");
    if (!weights)
        return data;
    data->share = shares(weights, data->arena);
    return data;
}

static rlf_status
open_data(const rlf_env *env, const rlf_resource *resource, rlf_err *err,
          void **out)
{
    /* the graph's own arena is not for ranks, which open at the same time */
    int *members = RLF_NEW_ARRAY(env->pool, int, resource->n_args + 1);
    rlf_data *data = new_data(resource, members);
    rlf_status status =
        data->n_members ? RLF_OK : read_data(env, resource, 0, data, err);
    if (status < 0) {
        rlf_err_place(err, resource->span, resource->name);
        rlf_data_free(data);
        return status;
    }
    *out = data;
    return RLF_OK;
}

static rlf_status
join(const rlf_resource *resource, rlf_data *data, rlf_err *err)
{
    if (resource->condition)
        return rlf_data_choose(data, resource->condition, err);
    if (resource->source < 0)
        return rlf_data_join(data, err);
    rlf_data_take_rest(data);
    return RLF_OK;
}

/* All rows, for columns on them; those of a choice are some of its member's.
 * Their identities, which are their numbers, are made where they are a set
 * (draw.c): of large data few programs make one. */
static void
make_space(int domain, rlf_data *data)
{
    uint32_t n = (uint32_t)data->records.count;
    data->space = RLF_NEW(data->arena, rlf_space);
    *data->space = (rlf_space){.domain = domain, .count = n, .extent = n};
    if (data->row)
        data->space->up[0] = (rlf_space_up){data->members[0]->space, data->row};
}

static rlf_status
settle(const rlf_env *env, const rlf_resource *resource, void *object,
       rlf_err *err)
{
    rlf_data *data = object;
    int *members = RLF_NEW_ARRAY(data->arena, int, resource->n_args + 1);
    list_members(resource, members);
    for (size_t m = 0; m < data->n_members; m++)
        data->members[m] = env->resource[members[m]];
    int index = (int)(resource - env->graph->resources.data);
    if (data->n_members)
        RLF_TRY(join(resource, data, err));
    else if (data->drops)
        RLF_TRY(rlf_data_drop(env, index, data, err));
    rlf_status status = rlf_data_check(env, index, data, err);
    uint32_t held = (uint32_t)rlf_data_option(resource, "held_out");
    if (status >= 0 && held)
        status = rlf_data_hold_out(data, held, false, err);
    if (status < 0) {
        rlf_err_place(err, resource->span, resource->name);
        return status;
    }
    make_space(resource->domain, data);
    return RLF_OK;
}

/* In JSON a number is not the text of it: an answer 18 is not "18". */
static void
note_numbers(const rlf_data *data, rlf_buf *out)
{
    const char *first = NULL;
    for (size_t i = 0; i < data->records.n_columns && !first; i++) {
        const rlf_record_column *c = &data->records.columns[i];
        if (c != data->prompt && c->numbers && c->kind != RLF_RECORD_BOOL)
            first = c->label;
    }
    if (first)
        rlf_buf_printf(out,
                       " (in Lua sample.%s is a number, which equals no text: "
                       "compare it with tonumber(sample.response))",
                       first);
}

/* Notes the columns of a csv file that were found to be of numbers: its cells
 * tell, and one of them can change it. */
static void
note_kinds(const rlf_resource *resource, const rlf_data *data, rlf_buf *out)
{
    size_t n = 0;
    for (size_t i = 0; i < data->records.n_columns; i++) {
        const rlf_record_column *c = &data->records.columns[i];
        if (c == data->prompt)
            continue;
        rlf_buf_printf(out, "%s%s %s of %s", n ? "" : resource->name,
                       n ? "," : ":", c->label,
                       c->kind == RLF_RECORD_BOOL ? "true and false"
                       : c->numbers               ? "numbers"
                                                  : "texts");
        n++;
    }
    if (n) {
        note_numbers(data, out);
        rlf_buf_puts(out, "\n");
    }
    for (size_t i = 0; i < data->records.n_columns; i++)
        if (data->records.columns[i].odd)
            rlf_buf_printf(out,
                           "%s: '%s' would be of numbers but for %s, which is "
                           "none, or is not written as it would be printed\n",
                           resource->name, data->records.columns[i].label,
                           data->records.columns[i].odd);
}

/* Has it any column of numbers, of true and false? */
static bool
has_numbers(const rlf_data *data)
{
    bool any = false;
    for (size_t i = 0; i < data->records.n_columns && !data->n_members; i++)
        any |= data->records.columns[i].numbers != NULL;
    return any;
}

/* Of the file, those dropped and held out too. */
static uint64_t
count_rows(const rlf_data *data)
{
    return data->records.count + data->records.dropped + data->dropped +
           data->equal + (data->rest ? data->rest->records.count : 0);
}

/* A file that ends before `first` says. */
static void
note_short(const rlf_resource *resource, const rlf_data *data, rlf_buf *out)
{
    uint64_t first = rlf_data_option(resource, "first"),
             rows = count_rows(data);
    if (rows >= first)
        return;
    rlf_buf_printf(out, "%s: first: %llu, and %s has %llu row%s",
                   resource->name, (unsigned long long)first,
                   data->records.path, (unsigned long long)rows,
                   rows == 1 ? "" : "s");
    if (rlf_data_option(resource, "skip"))
        rlf_buf_printf(out, " behind skip: %llu",
                       (unsigned long long)rlf_data_option(resource, "skip"));
    rlf_buf_puts(out, "\n");
}

static void
note_rest(const rlf_data *data, rlf_buf *out)
{
    if (!data->rest)
        return;
    rlf_buf_printf(out, "%s: %zu rows held out, %zu left", data->name,
                   data->rest->records.count, data->records.count);
    if (data->equal)
        rlf_buf_printf(out, " (and %llu in neither part: their %s held out)",
                       (unsigned long long)data->equal,
                       data->prompt ? "prompts are" : "contents are");
    rlf_buf_puts(out, "\n");
}

/* Texts that are not in memory: where they are. */
static void
note_large(const rlf_resource *resource, const rlf_data *data, rlf_buf *out)
{
    rlf_records_sizes size = rlf_records_size(&data->records);
    char files[RLF_BYTES_TEXT], spool[RLF_BYTES_TEXT];
    if (data->n_members)
        return;
    if (size.files)
        rlf_buf_printf(out,
                       "%s: %s of files are not kept in memory: their rows "
                       "are read again when they are drawn\n",
                       resource->name, rlf_bytes_text(size.files, files));
    if (size.spool)
        rlf_buf_printf(out,
                       "%s: %s of rows are kept uncompressed in a file "
                       "without a name in %s, which goes when the data is "
                       "closed\n",
                       resource->name, rlf_bytes_text(size.spool, spool),
                       size.directory);
}

static void
note(const rlf_resource *resource, void *object, rlf_buf *out)
{
    const rlf_data *data = object;
    note_large(resource, data, out);
    note_short(resource, data, out);
    if (data->records.pairs && !data->n_members &&
        rlf_declared(resource, "until"))
        rlf_buf_printf(out,
                       "warning: %s: until: has no effect on conversations: "
                       "their prompt is whole messages\n",
                       resource->name);
    if (data->records.csv || has_numbers(data))
        note_kinds(resource, data, out);
    if (data->records.dropped && !data->n_members) /* they tell themselves */
        rlf_buf_printf(
            out, "%s: %llu of %llu rows dropped, the first because %s\n",
            resource->name, (unsigned long long)data->records.dropped,
            (unsigned long long)count_rows(data), data->records.why);
    if (data->dropped)
        rlf_buf_printf(
            out, "%s: %llu of %llu rows dropped, the first because %s\n",
            resource->name, (unsigned long long)data->dropped,
            (unsigned long long)(count_rows(data) - data->records.dropped),
            data->why);
    else if (data->drops && data->max_prompt)
        rlf_buf_printf(out, "%s: no row has more than %u tokens\n",
                       resource->name, data->max_prompt);
    note_rest(data, out);
    rlf_buf_puts(out, data->warnings.p ? data->warnings.p : "");
}

/* ---- while compiling ---- */

static rlf_status peek(const rlf_graph *graph, const rlf_resource *resource,
                       uint64_t most, rlf_data *data, const int *members,
                       rlf_err *err);

rlf_status
rlf_data_peek(const rlf_graph *graph, const rlf_resource *resource,
              uint64_t most, rlf_err *err, rlf_data **out)
{
    int *members = RLF_NEW_ARRAY(graph->arena, int, resource->n_args + 1);
    rlf_data *data = new_data(resource, members);
    data->owns = true;
    rlf_status status = peek(graph, resource, most, data, members, err);
    if (status < 0) {
        rlf_data_free(data);
        data = NULL;
    }
    *out = data;
    return status;
}

/* Of a choice: look at more and more rows until enough of them are chosen. */
static rlf_status
peek_chosen(const rlf_graph *graph, const rlf_resource *resource, uint64_t most,
            rlf_data *data, int member, rlf_err *err)
{
    for (uint64_t ask = most;; ask *= 4) {
        rlf_data_free(data->members[0]);
        data->members[0] = NULL;
        RLF_TRY(rlf_data_peek(graph, &graph->resources.data[member], ask, err,
                              &data->members[0]));
        rlf_status status = join(resource, data, err);
        bool whole = !ask || data->members[0]->records.count < ask;
        if (whole || (status >= 0 && data->records.count >= most))
            return status;
        rlf_err_clear(err);
    }
}

static rlf_status
peek(const rlf_graph *graph, const rlf_resource *resource, uint64_t most,
     rlf_data *data, const int *members, rlf_err *err)
{
    uint64_t held = rlf_data_option(resource, "held_out");
    if (!data->n_members)
        RLF_TRY(read_data(NULL, resource, most ? most + held : 0, data, err));
    if (!data->n_members && held)
        return rlf_arg_blame(
            rlf_args_find(resource->args, resource->n_args, "held_out"),
            rlf_data_hold_out(data, (uint32_t)held, true, err), err);
    if (!data->n_members)
        return RLF_OK;
    if (resource->condition)
        return peek_chosen(graph, resource, most, data, members[0], err);
    for (size_t m = 0; m < data->n_members; m++)
        RLF_TRY(rlf_data_peek(graph, &graph->resources.data[members[m]], most,
                              err, &data->members[m]));
    return join(resource, data, err);
}

rlf_status
rlf_data_can_draw(const rlf_data *data, double count, bool weighted,
                  rlf_err *err)
{
    if (weighted && data->share) {
        rlf_fail(err, RLF_USER,
                 "'%s' is mixed by weights, so that its rows cannot be drawn "
                 "by another weight",
                 data->name);
        rlf_err_hint(err, "leave out the weights: of the mixture, or the "
                          "weight: of the draw");
        return RLF_USER;
    }
    if (count > (double)data->records.count) {
        rlf_fail(err, RLF_USER,
                 "a step draws %.0f rows from '%s', which has %zu", count,
                 data->name, data->records.count);
        rlf_err_hint(err, data->records.dropped
                              ? "rows that lack a value were dropped: draw "
                                "fewer, or mend them"
                          : data->dropped
                              ? "rows that no step could use were dropped: "
                                "mend them, or draw fewer"
                              : "a draw never has a row twice in a step: draw fewer, "
                                "or give the data more rows");
        return RLF_USER;
    }
    for (size_t m = 0; data->share && m < data->n_members; m++) {
        const rlf_data *member = data->members[m];
        if (count * data->share[m] <= (double)member->records.count + 1e-9)
            continue;
        rlf_fail(err, RLF_USER,
                 "a step draws %.0f rows from '%s', %.4g of them from '%s', "
                 "which has %zu",
                 count, data->name, count * data->share[m], member->name,
                 member->records.count);
        rlf_err_hint(err,
                     "a draw never has a row twice in a step: draw fewer, or "
                     "give '%s' a smaller weight",
                     member->name);
        return RLF_USER;
    }
    return RLF_OK;
}

static void
infer(const rlf_graph *graph, const rlf_resource *resource, rlf_diags *diags)
{
    int *members = RLF_NEW_ARRAY(graph->arena, int, resource->n_args + 1);
    size_t n = list_members(resource, members);
    if (!rlf_data_declared(resource, n, diags) || n < 2)
        return;
    /* All that the members share is known from a row of each. */
    rlf_err err = RLF_ERR_NONE;
    rlf_data *data = NULL;
    bool there = true;
    for (size_t m = 0; m < n && there; m++) {
        rlf_data *member = NULL;
        there = rlf_data_peek(graph, &graph->resources.data[members[m]], 1,
                              &err, &member) >= 0;
        rlf_data_free(member);
    }
    rlf_err_clear(&err);
    if (there && rlf_data_peek(graph, resource, 1, &err, &data) < 0) {
        rlf_diag *diag =
            rlf_diag_error(diags, "data", resource->span, "%s", err.sentence);
        rlf_diag_hint(diags, diag, "%s", err.hint);
    }
    rlf_data_free(data);
}

static rlf_status
field(const rlf_graph *graph, const rlf_resource *resource, const char *name,
      rlf_err *err, rlf_field *out, const char **nearest)
{
    rlf_data *data;
    *out = RLF_FIELD_NONE;
    *nearest = NULL;
    RLF_TRY(rlf_data_peek(graph, resource, 1, err, &data));
    const rlf_record_column *c = rlf_records_column(&data->records, name);
    if (c)
        *out = c->numbers ? RLF_FIELD_NUMBER : RLF_FIELD_TEXT;
    for (size_t m = 0; !c && !data->row && m < data->n_members; m++) {
        if (!rlf_records_column(&data->members[m]->records, name))
            continue;
        rlf_fail(err, RLF_USER,
                 "'%s' has the fields that all its members have, and '%s' is "
                 "none of them",
                 resource->name, name);
        *nearest = name;
        rlf_data_free(data);
        return RLF_USER;
    }
    size_t n = data->records.n_columns;
    const char **labels = RLF_NEW_ARRAY(data->arena, const char *, n);
    for (size_t i = 0; i < n; i++)
        labels[i] = data->records.columns[i].label;
    const char *near = rlf_str_nearest(name, labels, n);
    if (!c && near)
        *nearest = rlf_arena_strdup(graph->arena, near);
    rlf_data_free(data);
    return RLF_OK;
}

static rlf_status
put_fields(const void *object, uint32_t row, rlf_arena *pool, rlf_err *err,
           rlf_buf *out)
{
    const rlf_data *data = object;
    const char *between = "";
    const rlf_record_value *values;
    RLF_TRY(rlf_data_row(data, row, pool, err, &values));
    for (size_t i = 0; i < data->records.n_columns; i++) {
        const rlf_record_column *c = &data->records.columns[i];
        rlf_str text = values[i].text;
        if (c == data->prompt || c->kind == RLF_RECORD_CHAT)
            continue;
        size_t most = 6 * text.n + strlen(c->label) + 64;
        if (!rlf_buf_try(out, most))
            return rlf_fail_memory(err, most, "the fields of a row");
        rlf_buf_puts(out, between);
        rlf_buf_json(out, c->label, strlen(c->label));
        rlf_buf_putc(out, ':');
        if (!c->numbers)
            rlf_buf_json(out, text.p, text.n);
        else if (c->kind == RLF_RECORD_BOOL)
            rlf_buf_puts(out, c->numbers[row] != 0 ? "true" : "false");
        else
            rlf_buf_number(out, c->numbers[row]);
        between = ",";
    }
    return RLF_OK;
}

static void
memory(const rlf_graph *graph, const rlf_resource *resource, void *object,
       rlf_memory *out)
{
    (void)graph;
    const rlf_data *data = object;
    const rlf_records_sizes size = rlf_records_size(&data->records);
    rlf_memory_row row = {
        .owner = resource->name,
        .purpose = "rows and their order",
        .host = rlf_arena_used(data->arena) +
                (data->n_members ? 0 : size.memory + size.index) +
                (data->rest ? rlf_arena_used(data->rest->arena) : 0) +
                (sizeof(uint32_t) + sizeof(bool)) * data->records.count};
    RLF_PUSH_IN(out->arena, &out->rows, row);
}

static const rlf_space *
rows(const void *object)
{
    const rlf_data *data = object;
    return data->space;
}

static const rlf_digest *
digest(const void *object)
{
    const rlf_data *data = object;
    return &data->records.digest;
}

static const rlf_data_class of_data = {
    .infer = infer,
    .field = field,
    .rows = rows,
    .digest = digest,
    .fields = put_fields,
};

const rlf_resource_class rlf_resource_data = {
    .name = "data",
    .kind = RLF_RESOURCE_DATA,
    .doc = "rows of prompts and what belongs to them",
    .noun = "data set",
    .saved = "a data set",
    .data = &of_data,
    .constructors = rlf_data_constructors,
    .n_constructors = RLF_DATA_CONSTRUCTORS,
    .open = open_data,
    .settle = settle,
    .close = close_data,
    .note = note,
    .memory = memory,
    .save = rlf_cursors_save,
    .restore = rlf_cursors_restore,
    .mark = rlf_cursors_mark,
    .back = rlf_cursors_back,
};

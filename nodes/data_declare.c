/* Declarations of data sets: see data_declare.h. */
#include "nodes/data_declare.h"

#include "engine/base/vec.h"
#include "nodes/data.h"
#include "nodes/hook.h"

#include <math.h>

#define FILE_FORMALS(what)                                                     \
    {.name = "path", .kind = RLF_FORMAL_PATH, .required = true, .doc = what},  \
        {.name = "prompt",                                                     \
         .kind = RLF_FORMAL_TEXT,                                              \
         .labelled = true,                                                     \
         .field = true,                                                        \
         .doc = "field of the prompt, a text or chat messages; without it "    \
                "prompts are empty, and generate refuses them"},               \
        {.name = "messages",                                                   \
         .kind = RLF_FORMAL_TEXT,                                              \
         .labelled = true,                                                     \
         .doc = "field of conversations that end with an answer: the columns " \
                "prompt and answer"},                                          \
        {.name = "conversation",                                               \
         .kind = RLF_FORMAL_TEXT,                                              \
         .labelled = true,                                                     \
         .doc = "field of whole conversations, which converse(...) reads: "    \
                "the column prompt"},                                          \
        {.name = "pair",                                                       \
         .kind = RLF_FORMAL_TEXTS,                                             \
         .labelled = true,                                                     \
         .doc = "two fields of texts or conversations that begin alike: the "  \
                "columns prompt, chosen and rejected"},                        \
        {.name = "until",                                                      \
         .kind = RLF_FORMAL_TEXT,                                              \
         .labelled = true,                                                     \
         .doc = "what the prompts of a pair of texts end with"},               \
        {.name = "chat",                                                       \
         .kind = RLF_FORMAL_FLAG,                                              \
         .labelled = true,                                                     \
         .doc = "prompts that are texts are what the user says in a chat"},    \
        {.name = "system",                                                     \
         .kind = RLF_FORMAL_TEXT,                                              \
         .labelled = true,                                                     \
         .doc = "the same, behind this system message, which chats without "   \
                "one get, too"},                                               \
        {.name = "tools",                                                      \
         .kind = RLF_FORMAL_TEXT,                                              \
         .labelled = true,                                                     \
         .field = true,                                                        \
         .doc =                                                                \
             "field of the tools that a chat's template is told of, a list "   \
             "or a text of JSON: the column tools"},                           \
        {.name = "first",                                                      \
         .kind = RLF_FORMAL_INT,                                               \
         .labelled = true,                                                     \
         .least = 1,                                                           \
         .most = 4e9,                                                          \
         .doc = "only so many rows of the data, from where `skip` ends"},      \
        {.name = "skip",                                                       \
         .kind = RLF_FORMAL_INT,                                               \
         .labelled = true,                                                     \
         .most = 4e9,                                                          \
         .doc = "without the first so many rows of the data"},                 \
        {.name = "split",                                                      \
         .kind = RLF_FORMAL_TEXT,                                              \
         .labelled = true,                                                     \
         .doc = "of a folder whose files are of several splits: this one"},    \
        {.name = "held_out",                                                   \
         .kind = RLF_FORMAL_INT,                                               \
         .labelled = true,                                                     \
         .least = 1,                                                           \
         .most = 4e9,                                                          \
         .doc = "so many rows are another data set, NAME.held_out"},           \
        {.name = "max_prompt",                                                 \
         .kind = RLF_FORMAL_INT,                                               \
         .labelled = true,                                                     \
         .least = 1,                                                           \
         .most = 1e9,                                                          \
         .doc = "tokens of the longest prompt; a longer one is an error"},     \
    {                                                                          \
        .name = "on_error", .kind = RLF_FORMAL_WORD, .words = "drop",          \
        .labelled = true,                                                      \
        .doc = "drop: rows that lack a field, have null or another kind of "   \
               "value there, a key twice, or a prompt or response that no "    \
               "model can read are left out"                                   \
    }

static const rlf_formal jsonl_formals[] = {
    FILE_FORMALS(
        "a file with one JSON object a line, or a JSON list; several, as "
        "a pattern or a folder"),
};
static const rlf_formal csv_formals[] = {
    FILE_FORMALS("a comma-separated file whose first line names the fields; "
                 "several, as a pattern or a folder"),
};
static const rlf_formal parquet_formals[] = {
    FILE_FORMALS("a parquet file; several, as a pattern or a folder"),
};
static const rlf_formal files_formals[] = {
    FILE_FORMALS("a file of JSON, comma-separated values or parquet; several, "
                 "as a pattern or a folder"),
};
static const rlf_formal mix_formals[] = {
    {.name = "weights",
     .kind = RLF_FORMAL_NUMBERS,
     .labelled = true,
     .doc = "how often each is drawn from; without them as often as it has "
            "rows"},
};

const rlf_constructor rlf_data_constructors[RLF_DATA_CONSTRUCTORS] = {
    {.name = "jsonl",
     .formals = jsonl_formals,
     .n_formals = RLF_COUNT(jsonl_formals),
     .extra = true,
     .taken = RLF_HOOK_FIELDS,
     .doc = "rows of a jsonl file; each label makes a column of the field that "
            "it names"},
    {.name = "csv",
     .formals = csv_formals,
     .n_formals = RLF_COUNT(csv_formals),
     .extra = true,
     .taken = RLF_HOOK_FIELDS,
     .doc = "rows of a csv file; each label makes a column of the field that "
            "it names"},
    {.name = "parquet",
     .formals = parquet_formals,
     .n_formals = RLF_COUNT(parquet_formals),
     .extra = true,
     .taken = RLF_HOOK_FIELDS,
     .doc = "rows of a parquet file; each label makes a column of the field "
            "that it names"},
    {.name = "files",
     .formals = files_formals,
     .n_formals = RLF_COUNT(files_formals),
     .extra = true,
     .taken = RLF_HOOK_FIELDS,
     .doc = "rows of files in any of these formats; each label makes a column "
            "of the field that it names"},
    {.name = "mix",
     .formals = mix_formals,
     .n_formals = RLF_COUNT(mix_formals),
     .members = true,
     .doc = "rows of several data sets"},
    {.name = "where",
     .chooses = true,
     .doc = "the rows of a data set for which a condition holds"},
    {.name = "held_out",
     .rest = true,
     .doc = "the rows that a data set holds out"},
};

/* Arguments that are options, not columns. */
static bool
is_option(const char *label)
{
    for (size_t i = 0; i < RLF_COUNT(jsonl_formals); i++)
        if (strcmp(jsonl_formals[i].name, label) == 0)
            return strcmp(label, "prompt") != 0;
    return false;
}

uint64_t
rlf_data_option(const rlf_resource *resource, const char *name)
{
    const rlf_arg *arg = rlf_args_find(resource->args, resource->n_args, name);
    return arg && arg->kind == RLF_ARG_NUMBER ? (uint64_t)arg->number : 0;
}

bool
rlf_data_drops(const rlf_resource *resource)
{
    return rlf_args_find(resource->args, resource->n_args, "on_error") != NULL;
}

/* The argument that names the file. */
const rlf_arg *
rlf_data_path(const rlf_resource *resource)
{
    const rlf_arg *path =
        rlf_args_find(resource->args, resource->n_args, "path");
    return path ? path : rlf_args_plain(resource->args, resource->n_args, 0);
}

/* The files, and the format that the constructor or, of any, they say. */
static rlf_status
find_files(const rlf_resource *resource, rlf_arena *arena, rlf_err *err,
           rlf_shard_format *format, rlf_shard_files *out)
{
    const rlf_arg *path = rlf_data_path(resource),
                  *arg =
                      rlf_args_find(resource->args, resource->n_args, "split");
    const char *split = arg ? arg->text : NULL;
    if (!path || path->kind != RLF_ARG_TEXT)
        return rlf_fail(err, RLF_BUG, "data '%s' has no path", resource->name);
    if (strcmp(resource->constructor, "files") == 0)
        return rlf_shard_files_find(path->text, split, arena, err, format, out);
    *format = strcmp(resource->constructor, "csv") == 0 ? RLF_SHARD_CSV
              : strcmp(resource->constructor, "parquet") == 0
                  ? RLF_SHARD_PARQUET
                  : RLF_SHARD_JSON;
    return rlf_shard_files_list(path->text, *format, split, arena, err, out);
}

rlf_status
rlf_data_shards(const rlf_resource *resource, rlf_arena *arena, rlf_err *err,
                rlf_shard_files *out)
{
    rlf_shard_format format;
    return find_files(resource, arena, err, &format, out);
}

size_t
rlf_data_parts(const rlf_resource *resource, rlf_record_field *out)
{
    const rlf_arg *messages = rlf_args_find(resource->args, resource->n_args,
                                            "messages"),
                  *pair =
                      rlf_args_find(resource->args, resource->n_args, "pair"),
                  *whole = rlf_args_find(resource->args, resource->n_args,
                                         "conversation");
    size_t n = 0;
    if (messages && messages->kind == RLF_ARG_TEXT) {
        out[n++] =
            (rlf_record_field){"prompt", messages->text, RLF_RECORD_HEAD};
        out[n++] =
            (rlf_record_field){"answer", messages->text, RLF_RECORD_ANSWER};
    } else if (whole && whole->kind == RLF_ARG_TEXT) {
        out[n++] = (rlf_record_field){"prompt", whole->text, RLF_RECORD_WHOLE};
    } else if (pair && pair->kind == RLF_ARG_LIST && pair->n_list == 2) {
        const char *a = pair->list[0].text, *b = pair->list[1].text;
        out[n++] = (rlf_record_field){"prompt", a, RLF_RECORD_COMMON};
        out[n++] = (rlf_record_field){"chosen", a, RLF_RECORD_CHOSEN};
        out[n++] = (rlf_record_field){"rejected", b, RLF_RECORD_REJECTED};
    }
    return n;
}

/* The specification of the file by the declaration. */
rlf_status
rlf_data_spec(const rlf_resource *resource, rlf_arena *arena, rlf_err *err,
              rlf_records_spec *out)
{
    rlf_shard_files shards;
    const rlf_arg *until =
        rlf_args_find(resource->args, resource->n_args, "until");
    rlf_shard_format format;
    RLF_TRY(find_files(resource, arena, err, &format, &shards));
    const rlf_arg *tools =
        rlf_args_find(resource->args, resource->n_args, "tools");
    rlf_record_field *fields = RLF_NEW_ARRAY(
        arena, rlf_record_field, resource->n_args + RLF_DATA_PARTS + 1);
    size_t n = rlf_data_parts(resource, fields);
    if (tools && tools->kind == RLF_ARG_TEXT)
        fields[n++] =
            (rlf_record_field){"tools", tools->text, RLF_RECORD_TOOLS};
    for (int i = 0; i < resource->n_args; i++) {
        const rlf_arg *arg = &resource->args[i];
        if (arg->name && arg->kind == RLF_ARG_TEXT && !is_option(arg->name))
            fields[n++] =
                (rlf_record_field){.label = arg->name, .field = arg->text};
    }
    *out = (rlf_records_spec){.path = rlf_data_path(resource)->text,
                              .paths = shards.paths,
                              .n_paths = shards.count,
                              .columns = fields,
                              .n_columns = n,
                              .csv = format == RLF_SHARD_CSV,
                              .parquet = format == RLF_SHARD_PARQUET,
                              .until = until ? until->text : NULL,
                              .drop = rlf_data_drops(resource),
                              .skip = rlf_data_option(resource, "skip"),
                              .first = rlf_data_option(resource, "first")};
    return RLF_OK;
}

/* ---- checks ---- */

static void
infer_weights(const rlf_arg *weights, size_t n, rlf_diags *diags)
{
    if (weights->kind != RLF_ARG_LIST || (size_t)weights->n_list != n) {
        rlf_diag *diag =
            rlf_diag_error(diags, "argument", weights->span,
                           "'weights:' of 'mix' is a list of %zu numbers, one "
                           "for each data set",
                           n);
        rlf_diag_hint(diags, diag, "weights: [3, 1]");
        return;
    }
    for (int i = 0; i < weights->n_list; i++) {
        const rlf_arg *w = &weights->list[i];
        if (w->kind == RLF_ARG_NUMBER && w->number > 0 && isfinite(w->number))
            continue;
        rlf_diag_error(diags, "argument",
                       w->span.source ? w->span : weights->span,
                       "a weight of a mixture is a number above 0");
        return;
    }
}

/* A column that is called nearly as its field: hooks look for the one name and
 * find nothing. One that leaves out the plural is called so on purpose, and
 * names of one or two letters are near to all others. */
static void
check_columns(const rlf_resource *resource, rlf_diags *diags)
{
    for (int i = 0; i < resource->n_args; i++) {
        const rlf_arg *arg = &resource->args[i];
        if (!arg->name || arg->kind != RLF_ARG_TEXT || is_option(arg->name) ||
            strcmp(arg->name, "prompt") == 0)
            continue;
        size_t n = strlen(arg->name), m = strlen(arg->text);
        bool plural = (m == n + 1 && arg->text[n] == 's') ||
                      (n == m + 1 && arg->name[m] == 's');
        size_t shared = n < m ? n : m;
        if (shared < 3 || strcmp(arg->name, arg->text) == 0 ||
            (plural && memcmp(arg->name, arg->text, shared) == 0) ||
            rlf_str_distance(arg->name, arg->text, 1) != 1)
            continue;
        rlf_diag *diag = rlf_diag_warning(
            diags, "column", arg->span,
            "the column '%s' has almost, but not quite, the name of its field "
            "'%s'",
            arg->name, arg->text);
        rlf_diag_hint(diags, diag, "%s: \"%s\"", arg->text, arg->text);
    }
}

/* A message of the system makes chats of texts. */
static void
check_chat(const rlf_resource *resource, rlf_diags *diags)
{
    const rlf_arg *chat =
        rlf_args_find(resource->args, resource->n_args, "chat");
    const rlf_arg *system =
        rlf_args_find(resource->args, resource->n_args, "system");
    if (!chat || !chat->given || chat->kind != RLF_ARG_NUMBER ||
        chat->number != 0 || !system || system->kind != RLF_ARG_TEXT)
        return;
    rlf_diag *diag = rlf_diag_error(
        diags, "argument", chat->span,
        "'chat:' is false, and 'system:' makes chats of the prompts");
    rlf_diag_hint(diags, diag, "leave out one of the two");
    rlf_diag_note(diags, diag, system->span, "it is given here");
}

/* `messages:`, `pair:` and `conversation:` make columns of their own. */
static void
check_parts(const rlf_resource *resource, rlf_diags *diags)
{
    rlf_record_field parts[RLF_DATA_PARTS];
    const rlf_arg *pair =
        rlf_args_find(resource->args, resource->n_args, "pair");
    const rlf_arg *messages =
        rlf_args_find(resource->args, resource->n_args, "messages");
    const rlf_arg *until =
        rlf_args_find(resource->args, resource->n_args, "until");
    const rlf_arg *whole =
        rlf_args_find(resource->args, resource->n_args, "conversation");
    const rlf_arg *most =
        rlf_args_find(resource->args, resource->n_args, "max_prompt");
    const rlf_arg *by = messages ? messages : whole ? whole : pair;
    if (pair && (pair->kind != RLF_ARG_LIST || pair->n_list != 2)) {
        rlf_diag *diag = rlf_diag_error(diags, "argument", pair->span,
                                        "'pair:' names two fields");
        rlf_diag_hint(diags, diag, "pair: [\"chosen\", \"rejected\"]");
    }
    if (pair && messages)
        rlf_diag_error(diags, "argument", pair->span,
                       "'pair:' and 'messages:' both make the prompt");
    if (whole && (messages || pair))
        rlf_diag_error(diags, "argument", whole->span,
                       "'conversation:' and '%s:' both make the prompt",
                       messages ? "messages" : "pair");
    if (whole && most && most->given) {
        rlf_diag *diag =
            rlf_diag_error(diags, "argument", most->span,
                           "'max_prompt:' bounds prompts, and these rows are "
                           "whole conversations");
        rlf_diag_hint(diags, diag,
                      "converse(batch, max_length: ...) bounds "
                      "them");
    }
    if (until && (!pair || !*until->text))
        rlf_diag_error(diags, "argument", until->span,
                       "'until:' is what the prompts of 'pair:' end with");
    size_t n = rlf_data_parts(resource, parts);
    for (size_t i = 0; i < n; i++) {
        const rlf_arg *arg =
            rlf_args_find(resource->args, resource->n_args, parts[i].label);
        if (!arg || arg->kind == RLF_ARG_ABSENT)
            continue;
        rlf_diag *diag = rlf_diag_error(
            diags, "argument", arg->span,
            "the column '%s' is made by '%s:' already", arg->name, by->name);
        rlf_diag_hint(diags, diag, "leave out one of them");
    }
}

bool
rlf_data_declared(const rlf_resource *resource, size_t members,
                  rlf_diags *diags)
{
    const rlf_arg *weights =
        rlf_args_find(resource->args, resource->n_args, "weights");
    check_columns(resource, diags);
    check_chat(resource, diags);
    check_parts(resource, diags);
    size_t errors = diags->errors;
    if (weights)
        infer_weights(weights, members, diags);
    return diags->errors == errors;
}

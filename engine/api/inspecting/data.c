/* Data files looked at: their columns as a program would get them, how long the
 * texts are in tokens, and rows as a model reads them. Each column is read by
 * itself, by the reader of programs, so that what is said of it is what a
 * program would meet. */
#include "engine/api/session.h"
#include "engine/api/rundir/rundir.h"

#include "engine/base/vec.h"
#include "engine/dev/cores.h"
#include "engine/dev/team.h"
#include "engine/io/file.h"
#include "engine/io/hub.h"
#include "engine/io/json.h"
#include "engine/io/records.h"
#include "engine/io/shards.h"
#include "engine/text/tokenizer.h"
#include "nodes/chat.h"
#include "nodes/rows.h"
#include "nodes/turns.h"

#include <pthread.h>
#include <string.h>

enum {
    MOST_FIELDS = 256,
    DEPTH = 4,          /* of fields in fields */
    MEASURED = 1000,    /* texts of a column whose tokens are counted */
    SHOWN = 600,        /* bytes of a text that are shown */
    AT_A_TIME = 1 << 10 /* bytes of a name */
};

/* A column to look at. */
typedef struct looked_field {
    const char *name;
    rlf_record_part_kind part; /* WHOLE, or of a pair of chats */
} looked_field;

typedef struct looker {
    rlf_arena *arena;
    rlf_err *err;
    rlf_shard_files files;
    rlf_shard_format format;
    const char *path;
    struct {
        looked_field *data;
        size_t count, room;
    } fields;
    rlf_tokenizer *tokenizer; /* NULL: texts are measured in bytes */
    const char *by;           /* its path */
    rlf_chat_template *chat;
    bool tools; /* rows have a field of that name, which chats are told of */
    bool pair;  /* rows have chats that are called chosen and rejected */
    rlf_record_part_kind part; /* of the column that is looked at now */
    rlf_buf *out;
} looker;

/* Marks of what is learned, and of special tokens. */
#define LEARNED_FROM "\xe2\x9f\xa6"
#define LEARNED_TO "\xe2\x9f\xa7"
#define SPECIAL_FROM "\xc2\xab"
#define SPECIAL_TO "\xc2\xbb"

/* The code of a mark that a text has itself where it begins; 0: it has none.
 * Those of special tokens are no marks where there are no tokens. */
static unsigned
mark_at(rlf_str text, bool tokens, size_t *n)
{
    static const struct {
        const char *is;
        unsigned code;
        bool special;
    } marks[] = {{LEARNED_FROM, 0x27e6, false},
                 {LEARNED_TO, 0x27e7, false},
                 {SPECIAL_FROM, 0xab, true},
                 {SPECIAL_TO, 0xbb, true}};
    for (size_t i = 0; i < RLF_COUNT(marks); i++) {
        *n = strlen(marks[i].is);
        if ((tokens || !marks[i].special) && text.n >= *n &&
            memcmp(text.p, marks[i].is, *n) == 0)
            return marks[i].code;
    }
    *n = 1;
    return 0;
}

/* Characters that end lines or are none are seen, and so are marks that a text
 * has itself. */
static void
put_text(rlf_buf *out, rlf_str text, bool tokens)
{
    for (size_t i = 0, n; i < text.n; i += n) {
        unsigned char c = (unsigned char)text.p[i];
        unsigned mark = mark_at((rlf_str){text.p + i, text.n - i}, tokens, &n);
        if (mark)
            rlf_buf_printf(out, "\\u%04x", mark);
        else if (c == '\n')
            rlf_buf_puts(out, "\\n");
        else if (c == '\t')
            rlf_buf_puts(out, "\\t");
        else if (c < ' ' || c == 127)
            rlf_buf_printf(out, "\\x%02x", c);
        else
            rlf_buf_putc(out, (char)c);
    }
}

static void
put_visible(rlf_buf *out, rlf_str text)
{
    put_text(out, text, false);
}

/* The same of a name or a sentence, which may have a name in it. */
static const char *
visible(const looker *l, const char *text)
{
    rlf_buf out = {0};
    put_visible(&out, rlf_str_of(text));
    const char *kept = rlf_arena_strndup(l->arena, out.p ? out.p : "", out.n);
    rlf_buf_free(&out);
    return kept;
}

/* ---- which fields there are ---- */

static void
add_field(looker *l, const char *name)
{
    for (size_t i = 0; i < l->fields.count; i++)
        if (strcmp(l->fields.data[i].name, name) == 0)
            return;
    looked_field field = {.name = rlf_arena_strdup(l->arena, name)};
    if (l->fields.count < MOST_FIELDS)
        RLF_PUSH_IN(l->arena, &l->fields, field);
}

static void
see_fields(looker *l, const char *before, const json_t *object, int depth)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        char name[AT_A_TIME];
        const json_t *first = json_array_get(value, 0);
        if (snprintf(name, sizeof name, "%s%s%s", before, *before ? "." : "",
                     key) >= (int)sizeof name)
            continue;
        if (json_is_object(value) && json_object_size(value) && depth < DEPTH)
            see_fields(l, name, value, depth + 1);
        else if (first && !json_is_object(first) && !json_is_array(first) &&
                 strlen(name) + 3 < sizeof name)
            add_field(l, strcat(name, ".0"));
        else
            add_field(l, name);
    }
}

/* Fields of preferences, which `pair:` reads together where they are chats. */
static const char chosen[] = "chosen", rejected[] = "rejected";

/* A list of objects, or such a one as a text. */
static bool
are_tools(const json_t *value)
{
    const char *text = json_string_value(value);
    return json_is_object(json_array_get(value, 0)) ||
           (text && strncmp(text, "[{", 2) == 0);
}

static void
see(void *looker_, const struct json_t *row)
{
    looker *l = looker_;
    l->tools |= are_tools(json_object_get(row, "tools"));
    l->pair |=
        json_is_object(json_array_get(json_object_get(row, chosen), 0)) &&
        json_is_object(json_array_get(json_object_get(row, rejected), 0));
    see_fields(l, "", row, 0);
}

/* ---- reading ---- */

static rlf_records_spec
make_spec(const looker *l)
{
    return (rlf_records_spec){.path = l->path,
                              .paths = l->files.paths,
                              .n_paths = l->files.count,
                              .csv = l->format == RLF_SHARD_CSV,
                              .parquet = l->format == RLF_SHARD_PARQUET,
                              .drop = true};
}

/* The columns to read of a field, itself first: of a pair all of its parts, as
 * a program has them, and the tools of the row. Returns how many. */
static size_t
columns_of(const looker *l, const looked_field *field, rlf_record_field *out)
{
    const rlf_record_field parts[] = {
        {"prompt", chosen, RLF_RECORD_COMMON},
        {"chosen", chosen, RLF_RECORD_CHOSEN},
        {"rejected", rejected, RLF_RECORD_REJECTED}};
    size_t n = 1;
    bool tools = l->tools && strcmp(field->name, "tools") != 0;
    out[0] = (rlf_record_field){.label = "x", .field = field->name};
    for (size_t i = 0; field->part && i < RLF_COUNT(parts); i++)
        out[parts[i].part == field->part ? 0 : n++] = parts[i];
    if (strcmp(field->name, "tools") == 0 && l->tools)
        out[0] = (rlf_record_field){"tools", "tools", RLF_RECORD_TOOLS};
    if (tools)
        out[n++] = (rlf_record_field){"tools", "tools", RLF_RECORD_TOOLS};
    return n;
}

/* Fields that are a pair of chats in any row give the columns of `pair:`: what
 * both begin with, and the two that follow. */
static rlf_status
make_pair(looker *l)
{
    rlf_record_field columns[RLF_RECORD_PARTS];
    looked_field common = {"prompt of both", RLF_RECORD_COMMON};
    rlf_records_spec spec = make_spec(l);
    rlf_records rows;
    rlf_err why = RLF_ERR_NONE;
    rlf_arena *arena = rlf_arena_new();
    spec.columns = columns;
    spec.n_columns = columns_of(l, &common, columns);
    rlf_status status = rlf_records_read(&spec, arena, &why, &rows);
    bool none = status < 0 && rows.dropped;
    rlf_arena_free(arena);
    if (none || status < 0) {
        if (!none)
            *l->err = why;
        return none ? RLF_OK : status;
    }
    size_t first = l->fields.count;
    for (size_t i = l->fields.count; i-- > 0;) {
        looked_field *field = &l->fields.data[i];
        bool better = strcmp(field->name, chosen) == 0;
        if (!better && strcmp(field->name, rejected) != 0)
            continue;
        field->part = better ? RLF_RECORD_CHOSEN : RLF_RECORD_REJECTED;
        first = i;
    }
    RLF_PUSH_IN(l->arena, &l->fields, common);
    for (size_t i = l->fields.count - 1; i > first; i--)
        l->fields.data[i] = l->fields.data[i - 1];
    l->fields.data[first] = common;
    return RLF_OK;
}

/* ---- texts and tokens ---- */

/* Is it the answer of a pair, whose prompt is the column behind it? */
static bool
is_answer(const looker *l)
{
    return l->part == RLF_RECORD_CHOSEN || l->part == RLF_RECORD_REJECTED;
}

/* A chat with the tools of its row. */
static rlf_prompt
prompt_of(const looker *l, const rlf_records *rows,
          const rlf_record_value *values)
{
    const rlf_chat *chat = &values[is_answer(l)].chat;
    const rlf_record_column *last = &rows->columns[rows->n_columns - 1];
    rlf_prompt prompt = {.messages = chat->messages,
                         .n_messages = (uint32_t)chat->count};
    if (rows->n_columns > 1 && strcmp(last->label, "tools") == 0)
        prompt.tools = values[rows->n_columns - 1].text;
    return prompt;
}

/* The text that a model reads of a value, in `arena`: itself, or a chat by the
 * template, after which the assistant is to speak. */
static rlf_status
text_of(const looker *l, const rlf_records *rows, size_t row, rlf_arena *arena,
        rlf_err *err, rlf_str *out)
{
    const rlf_record_value *value;
    RLF_TRY(rlf_records_row(rows, row, arena, err, &value));
    if (rows->columns[0].kind == RLF_RECORD_TEXT) {
        *out = value->text;
        return RLF_OK;
    }
    const rlf_chat *chat = &value->chat;
    const rlf_prompt prompt = prompt_of(l, rows, value);
    if (l->chat)
        return rlf_chat_write(l->chat, &prompt, arena, err, out);
    rlf_buf text = {0};
    for (size_t i = 0; i < chat->count; i++)
        rlf_buf_printf(&text, "%s[%s] %s", i ? "\n" : "",
                       chat->messages[i].role.p, chat->messages[i].content.p);
    *out = (rlf_str){rlf_arena_strndup(arena, text.p, text.n), text.n};
    rlf_buf_free(&text);
    return RLF_OK;
}

static rlf_reader
reader_of(const looker *l)
{
    rlf_reader reader = {
        .model = l->by, .tokenizer = l->tokenizer, .own = l->chat, .eos = -1};
    reader.ends = rlf_tokenizer_eos(l->tokenizer, &reader.n_ends);
    if (reader.n_ends)
        reader.eos = reader.ends[0];
    return reader;
}

/* The answer of a pair behind its prompt, as respond() has it, all of it
 * learned. */
static rlf_status
answer_of(const looker *l, const rlf_records *rows, size_t row,
          rlf_arena *arena, rlf_err *err, rlf_conversation *out)
{
    const rlf_record_value *value;
    RLF_TRY(rlf_records_row(rows, row, arena, err, &value));
    const rlf_env env = {.pool = arena};
    const rlf_reader reader = reader_of(l);
    rlf_prompt prompt = prompt_of(l, rows, value);
    rlf_sample sample;
    if (l->chat)
        RLF_TRY(rlf_chat_write(l->chat, &prompt, arena, err, &prompt.text));
    RLF_TRY(rlf_rows_response(&env, &reader, l->chat ? &prompt : NULL,
                              value->text, true, err, &sample));
    rlf_token_run *run = RLF_NEW(arena, rlf_token_run);
    run->to = sample.n_ids;
    *out = (rlf_conversation){.ids = sample.ids,
                              .n_ids = sample.n_ids,
                              .runs = run,
                              .n_runs = sample.n_ids > 0};
    return RLF_OK;
}

/* A chat that the assistant ends, as converse() has it; *is false: it is
 * another value, or what the assistant says cannot be found in it. */
static rlf_status
turns_of(const looker *l, const rlf_records *rows, size_t row, rlf_arena *arena,
         rlf_err *err, rlf_conversation *out, bool *is)
{
    const rlf_record_value *value;
    rlf_err why = RLF_ERR_NONE;
    *is = false;
    if (rows->columns[0].kind != RLF_RECORD_CHAT || !l->chat || !l->tokenizer)
        return RLF_OK;
    RLF_TRY(rlf_records_row(rows, row, arena, err, &value));
    const rlf_chat *chat = &value->chat;
    if (!rlf_str_eq(chat->messages[chat->count - 1].role, RLF_STR("assistant")))
        return RLF_OK;
    const rlf_env env = {.pool = arena};
    const rlf_reader reader = reader_of(l);
    const rlf_prompt prompt = prompt_of(l, rows, value);
    rlf_status status = rlf_turns_read(&env, &reader, &prompt, 0, &why, out);
    *is = status >= 0;
    if (status < 0 && status != RLF_USER)
        *err = why;
    return status == RLF_USER ? RLF_OK : status;
}

/* `turns`: with runs, if they are known. */
static rlf_status
encode(const looker *l, const rlf_records *rows, size_t row, rlf_arena *arena,
       rlf_err *err, rlf_ids *ids, rlf_conversation *turns)
{
    rlf_str text;
    bool is_text = rows->columns[0].kind == RLF_RECORD_TEXT, is;
    ids->count = 0;
    *turns = (rlf_conversation){0};
    if (is_answer(l)) {
        is = true;
        RLF_TRY(answer_of(l, rows, row, arena, err, turns));
    } else {
        RLF_TRY(turns_of(l, rows, row, arena, err, turns, &is));
    }
    if (is) {
        RLF_TRY_ROOM(ids, turns->n_ids, "the tokens of a text");
        for (uint32_t i = 0; i < turns->n_ids; i++)
            RLF_PUSH(ids, turns->ids[i]);
        return RLF_OK;
    }
    *turns = (rlf_conversation){0};
    RLF_TRY(text_of(l, rows, row, arena, err, &text));
    return rlf_tokenizer_encode(
        l->tokenizer, text.p, text.n,
        is_text ? RLF_ENCODE_SPECIAL | RLF_ENCODE_ONCE : 0, err, ids);
}

/* Lengths of values spread evenly. */
typedef struct measuring {
    const looker *looker;
    const rlf_records *rows;
    size_t n, *length; /* SIZE_MAX: it cannot be written */
    rlf_claim claim;
    pthread_mutex_t lock; /* for what follows */
    rlf_status status;
    rlf_err err;
} measuring;

/* Value i of those. */
static rlf_status
measure(const measuring *m, size_t i, rlf_arena *pool, rlf_err *err)
{
    const looker *l = m->looker;
    size_t row = i * m->rows->count / m->n;
    rlf_ids ids = {0};
    rlf_conversation turns;
    rlf_str text = {0};
    rlf_status status = l->tokenizer
                            ? encode(l, m->rows, row, pool, err, &ids, &turns)
                            : text_of(l, m->rows, row, pool, err, &text);
    m->length[i] = status < 0 ? SIZE_MAX : l->tokenizer ? ids.count : text.n;
    RLF_VEC_FREE(&ids);
    return status;
}

static void
measure_some(void *arg, int thread, int n_threads)
{
    enum { GRAIN = 8 };
    measuring *m = arg;
    rlf_arena *pool = rlf_arena_new();
    int64_t first, last;
    (void)thread, (void)n_threads;
    while (rlf_claim_take(&m->claim, GRAIN, &first, &last))
        for (size_t i = (size_t)first; i < (size_t)last; i++) {
            rlf_err why = RLF_ERR_NONE;
            rlf_status status = measure(m, i, pool, &why);
            rlf_arena_reset(pool);
            if (status >= 0 || status == RLF_USER)
                continue;
            pthread_mutex_lock(&m->lock);
            m->status = status;
            m->err = why;
            pthread_mutex_unlock(&m->lock);
        }
    rlf_arena_free(pool);
}

/* All of them, on all cores. */
static rlf_status
measure_all(measuring *m, rlf_err *err)
{
    int cores = rlf_cores_count();
    rlf_team *team = NULL;
    rlf_err why = RLF_ERR_NONE; /* fewer threads do */
    if (cores > 1 && rlf_team_new(cores, cores, &team, &why) < 0)
        team = NULL;
    pthread_mutex_init(&m->lock, NULL);
    if (team)
        rlf_team_run(team, measure_some, m);
    else
        measure_some(m, 0, 1);
    pthread_mutex_destroy(&m->lock);
    rlf_team_free(team);
    if (m->status < 0)
        *err = m->err;
    return m->status;
}

/* Least, mean and most of them, and how many the template or the tokenizer
 * cannot write. */
static rlf_status
put_lengths(const looker *l, const rlf_records *rows, rlf_err *err)
{
    size_t lengths[MEASURED], first = SIZE_MAX;
    measuring m = {.looker = l,
                   .rows = rows,
                   .n = rows->count < MEASURED ? rows->count : MEASURED,
                   .length = lengths,
                   .err = RLF_ERR_NONE};
    size_t least = SIZE_MAX, most = 0, unread = 0;
    double sum = 0;
    m.claim = rlf_claim_of((int64_t)m.n);
    RLF_TRY(measure_all(&m, err));
    for (size_t i = 0; i < m.n; i++) {
        if (lengths[i] == SIZE_MAX) {
            first = unread++ ? first : i;
            continue;
        }
        least = lengths[i] < least ? lengths[i] : least;
        most = lengths[i] > most ? lengths[i] : most;
        sum += (double)lengths[i];
    }
    if (unread < m.n)
        rlf_buf_printf(l->out, ", %zu to %zu %s, mean %.1f", least, most,
                       l->tokenizer ? "tokens" : "bytes",
                       sum / (double)(m.n - unread));
    if (!unread)
        return RLF_OK;
    rlf_err why = RLF_ERR_NONE;
    measure(&m, first, l->arena, &why);
    rlf_buf_printf(l->out, ", %zu of %zu cannot be written: %s", unread, m.n,
                   visible(l, why.sentence));
    return RLF_OK;
}

/* Tokens as their text, special ones between « and », what an assistant says
 * between ⟦ and ⟧. */
static void
put_tokens(const looker *l, const rlf_ids *ids, const rlf_conversation *turns,
           rlf_buf *out)
{
    const rlf_token_run *run = turns->runs, *end = run + turns->n_runs;
    for (size_t i = 0, next; i < ids->count; i = next) {
        rlf_buf text = {0};
        bool special = rlf_tokenizer_special(l->tokenizer, ids->data[i]);
        size_t stop = run == end      ? ids->count
                      : i < run->from ? run->from
                                      : run->to;
        if (run != end && i == run->from)
            rlf_buf_puts(out, LEARNED_FROM);
        next = i + 1;
        while (!special && next < stop &&
               !rlf_tokenizer_special(l->tokenizer, ids->data[next]))
            next++;
        rlf_tokenizer_decode(l->tokenizer, ids->data + i, next - i,
                             i ? RLF_DECODE_CONTINUE : 0, &text);
        if (special)
            rlf_buf_puts(out, SPECIAL_FROM);
        put_text(out, (rlf_str){text.p ? text.p : "", text.n}, true);
        if (special)
            rlf_buf_puts(out, SPECIAL_TO);
        rlf_buf_free(&text);
        if (run != end && next == run->to) {
            rlf_buf_puts(out, LEARNED_TO);
            run++;
        }
    }
}

static rlf_status
put_value(const looker *l, const rlf_records *rows, size_t row, rlf_buf *out)
{
    const rlf_record_column *c = &rows->columns[0];
    rlf_err why = RLF_ERR_NONE;
    rlf_ids ids = {0};
    rlf_conversation turns;
    rlf_buf text = {0};
    rlf_str plain;
    rlf_status status = RLF_OK;
    if (c->kind == RLF_RECORD_BOOL)
        rlf_buf_puts(&text, c->numbers[row] != 0 ? "true" : "false");
    else if (c->numbers)
        rlf_buf_number(&text, c->numbers[row]);
    else if (l->tokenizer && (c->kind == RLF_RECORD_TEXT || l->chat)) {
        status = encode(l, rows, row, l->arena, &why, &ids, &turns);
        if (status >= 0)
            put_tokens(l, &ids, &turns, &text);
    } else {
        status = text_of(l, rows, row, l->arena, &why, &plain);
        if (status >= 0)
            put_visible(&text, plain);
    }
    if (status == RLF_USER) {
        rlf_buf_puts(&text, "cannot be written: ");
        put_visible(&text, rlf_str_of(why.sentence));
        status = RLF_OK;
    } else if (status < 0) {
        *l->err = why;
    }
    size_t n = rlf_str_cut((rlf_str){text.p ? text.p : "", text.n}, SHOWN);
    rlf_buf_add(out, text.p ? text.p : "", n);
    if (n < text.n)
        rlf_buf_printf(out, " ... (%zu bytes)", text.n);
    rlf_buf_putc(out, '\n');
    rlf_buf_free(&text);
    RLF_VEC_FREE(&ids);
    return status;
}

/* ---- the whole ---- */

/* A row's values so far, as text. */
typedef struct shown {
    const char *place;
    rlf_buf text;
} shown;

/* Column i of all: what it is, and its values in the first rows. */
static rlf_status
put_column(looker *l, size_t i, int width, shown *show, size_t n_shown)
{
    static const char *const kinds[] = {"numbers", "texts", "chats",
                                        "true and false"};
    const looked_field *field = &l->fields.data[i];
    const char *name = visible(l, field->name);
    rlf_record_field columns[RLF_RECORD_PARTS];
    rlf_records_spec spec = make_spec(l);
    rlf_records rows;
    rlf_err why = RLF_ERR_NONE;
    rlf_arena *arena = rlf_arena_new();
    spec.columns = columns;
    spec.n_columns = columns_of(l, field, columns);
    l->part = field->part;
    rlf_status status = rlf_records_read(&spec, arena, &why, &rows);
    rlf_buf_printf(l->out, "  %-*s  ", width, name);
    if (status < 0 && rows.dropped) {
        rlf_buf_printf(l->out, "no column: %s\n", visible(l, rows.why));
        status = RLF_OK;
    } else if (status < 0) {
        *l->err = why;
    } else {
        const rlf_record_column *c = &rows.columns[0];
        rlf_buf_puts(l->out, is_answer(l) ? "answers" : kinds[c->kind]);
        if (!c->numbers)
            status = put_lengths(l, &rows, l->err);
        if (rows.dropped)
            rlf_buf_printf(l->out, ", not in %llu row%s: %s",
                           (unsigned long long)rows.dropped,
                           rows.dropped == 1 ? "" : "s", visible(l, rows.why));
        rlf_buf_putc(l->out, '\n');
        for (size_t k = 0; k < n_shown && status >= 0; k++)
            for (size_t r = 0; r < rows.count && r <= k; r++) {
                if (strcmp(rlf_records_place(&rows, r, arena), show[k].place) !=
                    0)
                    continue;
                rlf_buf_printf(&show[k].text, "  %-*s  ", width, name);
                status = put_value(l, &rows, r, &show[k].text);
            }
    }
    rlf_arena_free(arena);
    return status;
}

static rlf_status
put_all(looker *l, size_t n_shown)
{
    rlf_err *err = l->err;
    rlf_records rows;
    rlf_records_spec spec = make_spec(l);
    spec.see = see;
    spec.see_arg = l;
    RLF_TRY(rlf_records_read(&spec, l->arena, err, &rows));
    if (n_shown > rows.count)
        n_shown = rows.count;
    if (l->pair)
        RLF_TRY(make_pair(l));
    shown *show = RLF_NEW_ARRAY(l->arena, shown, n_shown);
    int width = 0;
    for (size_t i = 0; i < l->fields.count; i++)
        if (width < (int)strlen(visible(l, l->fields.data[i].name)))
            width = (int)strlen(visible(l, l->fields.data[i].name));
    for (size_t k = 0; k < n_shown; k++)
        show[k].place = rlf_records_place(&rows, k, l->arena);
    rlf_buf_printf(l->out, "%s: %zu row%s", visible(l, l->path), rows.count,
                   rows.count == 1 ? "" : "s");
    if (l->files.count > 1)
        rlf_buf_printf(l->out, " in %zu files", l->files.count);
    if (rows.dropped)
        rlf_buf_printf(l->out, ", and %llu that cannot be read: %s",
                       (unsigned long long)rows.dropped, visible(l, rows.why));
    rlf_buf_putc(l->out, '\n');
    rlf_status status = RLF_OK;
    for (size_t i = 0; i < l->fields.count && status >= 0; i++)
        status = put_column(l, i, width, show, n_shown);
    for (size_t k = 0; k < n_shown; k++) {
        if (status >= 0)
            rlf_buf_printf(l->out, "\n%s\n%s", visible(l, show[k].place),
                           show[k].text.p ? show[k].text.p : "");
        rlf_buf_free(&show[k].text);
    }
    return status;
}

const char *
rlf_session_data(rlf_session *s, const char *path, const char *split,
                 const char *tokenizer, size_t rows)
{
    RLF_IN_LOCALE(s);
    rlf_buf out = {0};
    if (!rlf_call_begins(s, __func__, RLF_POINTERS({"path", path})))
        return NULL;
    looker l = {.arena = s->arena,
                .err = &s->err,
                .path = path,
                .by = tokenizer,
                .out = &out};
    const rlf_chat_options options = {.day = rlf_record_day(s),
                                      .named = s->options.template_name};
    rlf_status status =
        rlf_shard_files_find(path, split, l.arena, l.err, &l.format, &l.files);
    if (tokenizer)
        tokenizer = rlf_hub_path(tokenizer, tokenizer, s->arena);
    if (status >= 0 && tokenizer)
        status = rlf_tokenizer_open(tokenizer, &s->err, &l.tokenizer);
    if (status >= 0 && tokenizer)
        status = rlf_chat_open(l.tokenizer, tokenizer, &options, s->arena,
                               &s->err, &l.chat);
    if (status >= 0)
        status = put_all(&l, rows);
    rlf_tokenizer_close(l.tokenizer);
    const char *text =
        status < 0 ? NULL
                   : rlf_arena_strndup(s->arena, out.p ? out.p : "", out.n);
    rlf_buf_free(&out);
    return text;
}

/* samples.jsonl as an index: where each line is, whose it is, and its numbers.
 * The texts stay in the file, from which one is read when it is asked for. */
#include "engine/record/record.h"

#include "engine/base/hash.h"

#include <inttypes.h>
#include <math.h>

enum { SETS = 1 << 16, COLUMNS = 1 << 12 }; /* at most */

/* Numbers that stand beside the texts of a line; the first columns. */
static const char *const own[] = {"tokens", "finished", "lag"};

static void
forget(void *arg)
{
    rlf_sample_table *t = &((rlf_record *)arg)->samples;
    for (size_t i = 0; i < t->columns.count; i++)
        RLF_VEC_FREE(&t->columns.data[i].value);
    t->samples.count = t->columns.count = t->sets.count = 0;
    t->hashes.count = t->groups = 0;
    t->sampled = 0;
    if (t->slots.data)
        memset(t->slots.data, 0, t->slots.room * sizeof *t->slots.data);
    rlf_arena_reset(t->arena);
}

void
rlf_sample_table_free(rlf_sample_table *t)
{
    for (size_t i = 0; i < t->columns.count; i++)
        RLF_VEC_FREE(&t->columns.data[i].value);
    RLF_VEC_FREE(&t->samples);
    RLF_VEC_FREE(&t->columns);
    RLF_VEC_FREE(&t->sets);
    RLF_VEC_FREE(&t->slots);
    RLF_VEC_FREE(&t->hashes);
    rlf_buf_free(&t->scratch);
    rlf_arena_free(t->arena);
}

int
rlf_sample_find(const rlf_record *record, const char *name)
{
    const rlf_sample_table *t = &record->samples;
    for (size_t i = 0; i < t->columns.count; i++)
        if (strcmp(t->columns.data[i].name, name) == 0)
            return (int)i;
    return -1;
}

/* ---- names ---- */

static const char *
text_of(rlf_sample_table *t, rlf_str written)
{
    rlf_buf_clear(&t->scratch);
    rlf_scan_unescape(written, &t->scratch);
    return t->scratch.n ? t->scratch.p : "";
}

/* The number of a set; sets are few. */
static uint32_t
set_called(rlf_sample_table *t, rlf_str written)
{
    const char *name = text_of(t, written);
    size_t i = 0;
    while (i < t->sets.count && strcmp(t->sets.data[i], name) != 0)
        i++;
    if (i == t->sets.count && i < SETS)
        RLF_PUSH(&t->sets, rlf_arena_strdup(t->arena, name));
    return (uint32_t)(i < SETS ? i : 0);
}

/* A column begins with NaN for all samples before. */
static rlf_status
add_column(rlf_sample_table *t, const char *name, const char *key, rlf_err *err)
{
    rlf_sample_column new = {.name = rlf_arena_strdup(t->arena, name),
                             .key =
                                 key ? rlf_arena_strdup(t->arena, key) : NULL};
    RLF_TRY_ROOM(&new.value, t->samples.count + 1, "numbers of samples");
    for (size_t i = 0; i < t->samples.count; i++)
        RLF_PUSH(&new.value, NAN);
    RLF_PUSH(&t->columns, new);
    return RLF_OK;
}

/* The column of a key of `values`, which is looked for from *at on: lines have
 * them in one order. NULL: there are too many. */
static rlf_status
column_called(rlf_record *record, rlf_str key, size_t *at, rlf_err *err,
              rlf_sample_column **out)
{
    rlf_sample_table *t = &record->samples;
    size_t n = t->columns.count;
    *out = NULL;
    for (size_t i = 0; i < n; i++) {
        rlf_sample_column *c = &t->columns.data[(*at + i) % n];
        if (c->key && rlf_str_eq(key, rlf_str_of(c->key))) {
            *at = (*at + i + 1) % n;
            *out = c;
            return RLF_OK;
        }
    }
    if (n >= COLUMNS || memchr(key.p, 0, key.n))
        return RLF_OK;
    rlf_buf name = {0};
    rlf_scan_unescape(key, &name);
    if (!name.n || rlf_sample_find(record, name.p) >= 0) {
        rlf_buf other = {0};
        rlf_buf_printf(&other, "values.%s", name.n ? name.p : "");
        rlf_buf_free(&name);
        name = other;
    }
    const char *written = rlf_arena_strndup(t->arena, key.p, key.n);
    rlf_status status = add_column(t, name.p, written, err);
    rlf_buf_free(&name);
    RLF_TRY(status);
    *out = &t->columns.data[n];
    *at = 0;
    return RLF_OK;
}

/* ---- prompts ---- */

static rlf_status
grow_slots(rlf_sample_table *t, rlf_err *err)
{
    size_t n = t->slots.room ? 2 * t->slots.room : 1 << 10;
    RLF_TRY(rlf_try_grow(&t->slots.data, n * sizeof *t->slots.data,
                         "prompts of samples", err));
    t->slots.room = t->slots.count = n;
    memset(t->slots.data, 0, n * sizeof *t->slots.data);
    for (size_t i = 0; i < t->hashes.count; i++) {
        size_t at = t->hashes.data[i] & (n - 1);
        while (t->slots.data[at])
            at = (at + 1) & (n - 1);
        t->slots.data[at] = (uint32_t)(i + 1);
    }
    return RLF_OK;
}

/* The number of the prompt with its data row: of the texts' bytes. */
static rlf_status
number_prompt(rlf_sample_table *t, rlf_str prompt, rlf_str row, rlf_err *err,
              uint32_t *out)
{
    uint64_t hash = rlf_hash(RLF_HASH_INIT, prompt.p, prompt.n);
    hash = rlf_hash_mix(rlf_hash(hash ^ prompt.n, row.p, row.n));
    if (2 * (t->hashes.count + 1) > t->slots.room)
        RLF_TRY(grow_slots(t, err));
    size_t mask = t->slots.room - 1, at = hash & mask;
    while (t->slots.data[at] && t->hashes.data[t->slots.data[at] - 1] != hash)
        at = (at + 1) & mask;
    if (!t->slots.data[at]) {
        RLF_TRY_ROOM(&t->hashes, 1, "prompts of samples");
        RLF_PUSH(&t->hashes, hash);
        t->slots.data[at] = (uint32_t)t->hashes.count;
    }
    *out = t->slots.data[at] - 1;
    return RLF_OK;
}

/* ---- lines ---- */

typedef struct line_parts {
    double step, sample, of, own[RLF_COUNT(own)];
    rlf_str set, prompt, row, values;
    bool has_response;
} line_parts;

static bool
read_line(rlf_str line, line_parts *out, const char **why)
{
    rlf_json_scan scan = rlf_scan_object(line);
    rlf_str key;
    rlf_scanned v;
    *out = (line_parts){.step = -1, .sample = -1, .own = {NAN, NAN, NAN}};
    while (rlf_scan_member(&scan, &key, &v)) {
        bool number = v.kind == RLF_SCAN_NUMBER, text = v.kind == RLF_SCAN_TEXT,
             object = v.kind == RLF_SCAN_OBJECT;
        if (number && rlf_key_is(key, "step"))
            out->step = v.number;
        else if (number && rlf_key_is(key, "sample"))
            out->sample = v.number;
        else if (number && rlf_key_is(key, "of"))
            out->of = v.number;
        else if (text && rlf_key_is(key, "set"))
            out->set = v.text;
        else if (text && rlf_key_is(key, "prompt"))
            out->prompt = v.text;
        else if (text && rlf_key_is(key, "response"))
            out->has_response = true;
        else if (object && rlf_key_is(key, "row"))
            out->row = v.text;
        else if (object && rlf_key_is(key, "values"))
            out->values = v.text;
        for (size_t i = 0; number && i < RLF_COUNT(own); i++)
            if (rlf_key_is(key, own[i]))
                out->own[i] = v.number;
    }
    *why = scan.why ? scan.why : "it is no sample with a step and a response";
    return !scan.why && out->step >= 0 && out->step <= UINT32_MAX &&
           out->step == floor(out->step) && out->has_response;
}

static rlf_status
take_values(rlf_record *record, rlf_str values, rlf_err *err)
{
    rlf_sample_table *t = &record->samples;
    rlf_json_scan scan = rlf_scan_object(values);
    rlf_str key;
    rlf_scanned v;
    size_t at = RLF_COUNT(own) % t->columns.count;
    while (rlf_scan_member(&scan, &key, &v)) {
        rlf_sample_column *c;
        if (v.kind != RLF_SCAN_NUMBER)
            continue;
        RLF_TRY(column_called(record, key, &at, err, &c));
        if (c && c->value.count == t->samples.count)
            RLF_PUSH(&c->value, v.number);
        else if (c)
            c->value.data[t->samples.count] = v.number;
    }
    return RLF_OK;
}

/* Takes the numbers of the sample that is added next. */
static rlf_status
take_numbers(rlf_record *record, const line_parts *parts, rlf_err *err)
{
    rlf_sample_table *t = &record->samples;
    for (size_t i = t->columns.count; i < RLF_COUNT(own); i++)
        RLF_TRY(add_column(t, own[i], NULL, err));
    for (size_t i = 0; i < t->columns.count; i++)
        RLF_TRY_ROOM(&t->columns.data[i].value, 1, "numbers of samples");
    for (size_t i = 0; i < RLF_COUNT(own); i++)
        RLF_PUSH(&t->columns.data[i].value, parts->own[i]);
    if (parts->values.n)
        RLF_TRY(take_values(record, parts->values, err));
    for (size_t i = 0; i < t->columns.count; i++)
        if (t->columns.data[i].value.count == t->samples.count)
            RLF_PUSH(&t->columns.data[i].value, NAN);
    return RLF_OK;
}

static rlf_status
take(void *arg, const rlf_growing_line *line, rlf_err *err)
{
    rlf_record *record = arg;
    rlf_sample_table *t = &record->samples;
    line_parts parts;
    const char *why = "it has more than 64 MiB";
    if (line->too_long || !read_line(line->text, &parts, &why)) {
        rlf_record_leave_out(record,
                             "%s/samples.jsonl:%" PRIu64 " is left out: %s",
                             record->directory, line->number, why);
        return RLF_OK;
    }
    if (t->samples.count == UINT32_MAX)
        return RLF_OK;
    RLF_TRY_ROOM(&t->samples, 1, "an index of samples");
    rlf_sample_entry e = {.offset = line->offset,
                          .sample = parts.sample >= 0 && parts.sample < 0x1p63
                                        ? (uint64_t)parts.sample
                                        : t->samples.count,
                          .bytes = (uint32_t)line->text.n,
                          .step = (uint32_t)parts.step,
                          .set = set_called(t, parts.set),
                          .of = parts.of >= 1 && parts.of <= UINT32_MAX
                                    ? (uint32_t)parts.of
                                    : 0};
    RLF_TRY(number_prompt(t, parts.prompt, parts.row, err, &e.prompt));
    const rlf_sample_entry *before =
        t->samples.count ? &t->samples.data[t->samples.count - 1] : NULL;
    if (!before || before->step != e.step || before->set != e.set ||
        before->prompt != e.prompt)
        t->groups++;
    e.group = t->groups - 1;
    bool begins = !before || before->step != e.step || before->set != e.set;
    t->sampled += e.of ? (begins ? e.of : 0) : 1;
    RLF_TRY(take_numbers(record, &parts, err));
    RLF_PUSH(&t->samples, e);
    return RLF_OK;
}

rlf_status
rlf_record_read_samples(rlf_record *record, rlf_err *err)
{
    rlf_sample_table *t = &record->samples;
    const rlf_growing_reader reader = {record, forget, take};
    if (!t->arena)
        t->arena = rlf_arena_new();
    rlf_infile_close(record->texts); /* it may be another file */
    record->texts = NULL;
    return rlf_growing_read(&t->tail, record->samples_path, &reader, err);
}

rlf_status
rlf_record_line(rlf_record *record, uint64_t i, rlf_err *err)
{
    const rlf_sample_entry *e = &record->samples.samples.data[i];
    if (!record->texts)
        RLF_TRY(rlf_infile_open(record->samples_path, err, &record->texts));
    rlf_buf_clear(&record->line);
    if (!rlf_buf_try(&record->line, e->bytes + 1))
        return rlf_fail_memory(err, e->bytes, "a sample");
    RLF_TRY(rlf_infile_read(record->texts, e->offset, record->line.p, e->bytes,
                            err));
    record->line.n = e->bytes;
    record->line.p[e->bytes] = 0;
    return RLF_OK;
}

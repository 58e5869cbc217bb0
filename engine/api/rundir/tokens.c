/* The files in tokens/: of each step the samples that samples.jsonl has, token
 * by token, as a safetensors file; tokens.jsonl, a journal, lists them.
 *
 * A file is renamed into its place when it is whole, and is on the disk before
 * the checkpoint of its step is. A resume removes those behind the checkpoint,
 * as far as the run can have written them, and holds the others against the
 * list.
 *
 * Of a set SET there are SET/sample [n], the numbers of the samples,
 * SET/offset [n + 1], where the tokens of each begin, SET/id [t],
 * SET/logprob [t], SET/NAME [t] of each number that the step made of each
 * token, SET/text [bytes], what the tokens stand for, and
 * SET/text.offset [t + 1]. */
#include "engine/api/rundir/rundir.h"

#include "engine/base/vec.h"
#include "engine/graph/run.h"
#include "engine/io/checksum.h"
#include "engine/io/file.h"
#include "engine/io/json.h"
#include "engine/io/safetensors.h"
#include "engine/text/tokenizer.h"
#include "nodes/rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* ---- writing ---- */

/* Bytes on their way to the file. */
typedef struct pieces {
    rlf_tensor_writer *file;
    rlf_err *err;
    rlf_status status; /* of the first write that failed */
    size_t n;
    char piece[16 << 10];
} pieces;

static void
flush(pieces *out)
{
    if (out->n && out->status >= 0)
        out->status =
            rlf_tensor_writer_add(out->file, out->piece, out->n, out->err);
    out->n = 0;
}

static void
put(pieces *out, const void *p, size_t n)
{
    if (n > sizeof out->piece - out->n)
        flush(out);
    if (n > sizeof out->piece) {
        if (out->status >= 0)
            out->status = rlf_tensor_writer_add(out->file, p, n, out->err);
        return;
    }
    memcpy(out->piece + out->n, p, n);
    out->n += n;
}

static void
put_i64(pieces *out, uint64_t x)
{
    int64_t value = (int64_t)x;
    put(out, &value, sizeof value);
}

/* The tensors of a set, in the order of their kinds: wide elements first, so
 * that each begins at a multiple of its size. */
enum { SAMPLE, OFFSET, TEXT_OFFSET, ID, LOGPROB, VALUE, TEXT };

/* A tensor of a set: `i` is the value's number. */
typedef struct part {
    const rlf_recorded_set *set;
    int kind;
    size_t i;
} part;

typedef struct parts {
    part *data;
    rlf_tensor *tensors;
    size_t count, room;
} parts;

static rlf_str
text_of(const rlf_rows *rows, uint32_t id)
{
    return rlf_tokenizer_piece(rows->reader->tokenizer, id);
}

static uint64_t
count_tokens(const rlf_recorded_set *set)
{
    uint64_t n = 0;
    for (uint32_t row = 0; row < set->n; row++)
        n += set->rows->tokens->length[row];
    return n;
}

static uint64_t
count_bytes(const rlf_recorded_set *set)
{
    uint64_t bytes = 0;
    for (uint32_t row = 0; row < set->n; row++) {
        const uint32_t *ids = set->rows->sample[row].ids;
        for (uint32_t t = 0; t < set->rows->tokens->length[row]; t++)
            bytes += text_of(set->rows, ids[t]).n;
    }
    return bytes;
}

static bool
is_named(const parts *p, const char *name)
{
    for (size_t i = 0; i < p->count; i++)
        if (strcmp(p->tensors[i].name, name) == 0)
            return true;
    return false;
}

/* Adds a tensor. One whose name there is already, as that of a value that a
 * program calls `id`, ends in ".2". */
static void
add(parts *p, rlf_arena *arena, part is, const char *name, rlf_element element,
    uint64_t count)
{
    const char *set = is.set->name;
    char *full = rlf_arena_printf(arena, "%s/%s", set, name);
    for (int i = 2; is_named(p, full); i++)
        full = rlf_arena_printf(arena, "%s/%s.%d", set, name, i);
    p->tensors[p->count] = (rlf_tensor){
        .name = full, .element = element, .n_dims = 1, .shape = {count}};
    p->data[p->count++] = is;
}

static void
add_wide(parts *p, rlf_arena *arena, const rlf_recorded_set *set)
{
    bool text = set->rows->reader != NULL;
    uint64_t tokens = count_tokens(set);
    add(p, arena, (part){set, SAMPLE, 0}, "sample", RLF_ELEMENT_I64, set->n);
    add(p, arena, (part){set, OFFSET, 0}, "offset", RLF_ELEMENT_I64,
        set->n + 1ULL);
    if (text)
        add(p, arena, (part){set, TEXT_OFFSET, 0}, "text.offset",
            RLF_ELEMENT_I64, tokens + 1);
}

static void
add_narrow(parts *p, rlf_arena *arena, const rlf_recorded_set *set)
{
    uint64_t tokens = count_tokens(set);
    add(p, arena, (part){set, ID, 0}, "id", RLF_ELEMENT_I32, tokens);
    if (set->rows->logprob)
        add(p, arena, (part){set, LOGPROB, 0}, "logprob", RLF_ELEMENT_F32,
            tokens);
}

/* Tensors of all sets; those with fixed names come before those of values, of
 * which another set's text may be no reason to be called otherwise. */
static void
list_parts(const rlf_recorded_sets *sets, rlf_arena *arena, parts *p)
{
    size_t most = 0;
    for (size_t s = 0; s < sets->count; s++)
        most += TEXT + 1 + sets->data[s].values.count;
    p->data = RLF_NEW_ARRAY(arena, part, most);
    p->tensors = RLF_NEW_ARRAY(arena, rlf_tensor, most);
    for (size_t s = 0; s < sets->count; s++)
        add_wide(p, arena, &sets->data[s]);
    for (size_t s = 0; s < sets->count; s++)
        add_narrow(p, arena, &sets->data[s]);
    for (size_t s = 0; s < sets->count; s++)
        for (size_t i = 0; i < sets->data[s].values.count; i++) {
            const rlf_recorded_set *set = &sets->data[s];
            const char *name = set->values.data[i].name;
            bool taken = strcmp(name, "text") == 0;
            add(p, arena, (part){set, VALUE, i}, taken ? "text.2" : name,
                RLF_ELEMENT_F32, count_tokens(set));
        }
    for (size_t s = 0; s < sets->count; s++)
        if (sets->data[s].rows->reader)
            add(p, arena, (part){&sets->data[s], TEXT, 0}, "text",
                RLF_ELEMENT_U8, count_bytes(&sets->data[s]));
}

/* One of a row's tokens. */
static void
put_token(pieces *out, const part *p, uint32_t id, uint64_t at, uint64_t *bytes)
{
    const rlf_rows *rows = p->set->rows;
    rlf_str text;
    float x;
    switch (p->kind) {
    case ID:
        put(out, &id, sizeof id);
        break;
    case LOGPROB:
        x = (float)rows->logprob[at];
        put(out, &x, sizeof x);
        break;
    case VALUE:
        x = (float)p->set->values.data[p->i].number[at];
        put(out, &x, sizeof x);
        break;
    case TEXT_OFFSET:
        *bytes += text_of(rows, id).n;
        put_i64(out, *bytes);
        break;
    case TEXT:
        text = text_of(rows, id);
        put(out, text.p, text.n);
        break;
    default:
        break;
    }
}

static void
put_part(pieces *out, const part *p)
{
    const rlf_rows *rows = p->set->rows;
    uint64_t bytes = 0, tokens = 0;
    if (p->kind == OFFSET || p->kind == TEXT_OFFSET)
        put_i64(out, 0);
    for (uint32_t row = 0; row < p->set->n; row++) {
        uint32_t length = rows->tokens->length[row];
        const uint32_t *ids = rows->sample[row].ids;
        tokens += length;
        if (p->kind == SAMPLE)
            put_i64(out, rows->samples->identity[row]);
        else if (p->kind == OFFSET)
            put_i64(out, tokens);
        else
            for (uint32_t t = 0; t < length; t++)
                put_token(out, p, ids[t], rows->tokens->offset[row] + t,
                          &bytes);
    }
}

static rlf_status
write_parts(const char *path, uint32_t step, const parts *p, rlf_err *err,
            uint32_t *checksum, uint64_t *size)
{
    char number[16];
    snprintf(number, sizeof number, "%" PRIu32, step);
    const char *const metadata[] = {"step", number};
    pieces out = {.err = err, .status = RLF_OK};
    RLF_TRY(rlf_tensor_writer_open(path, p->tensors, p->count, metadata, 1, err,
                                   &out.file));
    rlf_tensor_writer_lazy(out.file);
    for (size_t i = 0; i < p->count && out.status >= 0; i++)
        put_part(&out, &p->data[i]);
    flush(&out);
    if (out.status < 0) {
        rlf_tensor_writer_drop(out.file);
        return out.status;
    }
    return rlf_tensor_writer_commit(out.file, err, checksum, size);
}

static const char *
folder_of(const rlf_session *s)
{
    return rlf_path_join(s->arena, s->options.directory, "tokens");
}

static rlf_status
write_step(rlf_session *s, const rlf_recorded_sets *sets, rlf_arena *arena,
           rlf_err *err)
{
    uint32_t step = rlf_run_steps(s->run), checksum;
    uint64_t size;
    parts p = {0};
    const char *folder = rlf_path_join(arena, s->options.directory, "tokens");
    const char *name =
        rlf_arena_printf(arena, "step-%08" PRIu32 ".safetensors", step);
    list_parts(sets, arena, &p);
    RLF_TRY(rlf_path_own(folder, err));
    RLF_TRY(rlf_dir_make_in(s->options.directory, folder, err));
    RLF_TRY(write_parts(rlf_path_join(arena, folder, name), step, &p, err,
                        &checksum, &size));
    RLF_PUSH_IN(s->arena, &s->directory.unsynced, step);
    const char *line = rlf_arena_printf(
        arena,
        "{\"step\":%" PRIu32 ",\"file\":\"tokens/%s\",\"size\":%" PRIu64
        ",\"crc32\":%" PRIu32 "}\n",
        step, name, size, checksum);
    return rlf_journal_add(s, RLF_JOURNAL_TOKENS, line, strlen(line), err);
}

rlf_status
rlf_tokens_check(const rlf_session *s, rlf_err *err)
{
    if (s->options.record && !s->options.directory && !s->options.leaves)
        return rlf_fail(err, RLF_USAGE,
                        "--record writes into the run's directory, and there "
                        "is none: --out names it");
    if (s->options.record && !s->options.samples)
        return rlf_fail(err, RLF_USAGE,
                        "--record is of the samples that are written, and "
                        "--samples 0 writes none");
    return RLF_OK;
}

rlf_status
rlf_tokens_step(rlf_session *s, rlf_err *err)
{
    if (!s->options.record)
        return RLF_OK;
    rlf_arena *arena = rlf_arena_new();
    rlf_recorded_sets sets = {0};
    rlf_status status =
        rlf_run_recorded(s->run, s->options.samples, arena, err, &sets);
    if (status >= 0 && sets.count)
        status = write_step(s, &sets, arena, err);
    rlf_arena_free(arena);
    return status;
}

rlf_status
rlf_tokens_sync(rlf_session *s, rlf_err *err)
{
    if (!s->directory.unsynced.count)
        return RLF_OK;
    const char *folder = folder_of(s);
    bool there;
    for (size_t i = 0; i < s->directory.unsynced.count; i++) {
        const char *path =
            rlf_arena_printf(s->arena, "%s/step-%08" PRIu32 ".safetensors",
                             folder, s->directory.unsynced.data[i]);
        RLF_TRY(rlf_file_find(path, err, &there));
        if (there) /* else somebody has removed it: a resume tells of it */
            RLF_TRY(rlf_file_sync(path, err));
    }
    RLF_TRY(rlf_dir_sync(folder, err));
    s->directory.unsynced.count = 0;
    return RLF_OK;
}

/* ---- resuming ---- */

/* The step of a name that a run gives, with what an interrupted writer left
 * (*is_part); 0: it is another. */
static uint32_t
step_of(const char *name, bool *is_part)
{
    unsigned long long step = 0;
    int n = 0, end = 0;
    *is_part = false;
    if (sscanf(name, "step-%8[0-9]%n", (char[9]){0}, &n) != 1 ||
        sscanf(name, "step-%llu%n", &step, &end) != 1 || step > UINT32_MAX ||
        end - (int)strlen("step-") < 8)
        return 0;
    *is_part = strcmp(name + end, ".safetensors.part") == 0;
    return *is_part || strcmp(name + end, ".safetensors") == 0 ? (uint32_t)step
                                                               : 0;
}

static rlf_status
put_aside(rlf_session *s, const char *path, const char *why, rlf_err *err)
{
    const char *to;
    RLF_TRY(rlf_journal_free_name(s, path, err, &to));
    RLF_TRY(rlf_path_rename(path, to, err));
    rlf_buf_line(&s->warned.lines, "%s %s: it is now %s\n", path, why, to);
    return RLF_OK;
}

/* Lines behind the checkpoint are written again, where the run wrote it.
 */
static rlf_status
cut(rlf_session *s, uint32_t step, uint32_t most, rlf_err *err)
{
    const char *folder = folder_of(s), **names;
    size_t n;
    RLF_TRY(rlf_dir_list(folder, s->arena, err, &names, &n));
    for (size_t i = 0; i < n; i++) {
        bool torn;
        uint32_t of = step_of(names[i], &torn);
        const char *path = rlf_path_join(s->arena, folder, names[i]);
        if (of && (torn || (of > step && of <= most)))
            RLF_TRY(rlf_dir_remove(path, err));
        else if (of > step)
            RLF_TRY(put_aside(s, path, "is of a step that the run did not do",
                              err));
    }
    return RLF_OK;
}

static rlf_status
checksum_of(const char *path, rlf_err *err, uint64_t *size, uint32_t *sum)
{
    enum { PIECE = 64 << 10 };
    char piece[PIECE];
    rlf_infile *file;
    rlf_status status = RLF_OK;
    RLF_TRY(rlf_infile_open(path, err, &file));
    *size = rlf_infile_size(file);
    *sum = 0;
    for (uint64_t at = 0; at < *size && status >= 0; at += PIECE) {
        size_t n = *size - at < PIECE ? (size_t)(*size - at) : PIECE;
        status = rlf_infile_read(file, at, piece, n, err);
        if (status >= 0)
            *sum = rlf_checksum(*sum, piece, n);
    }
    rlf_infile_close(file);
    return status;
}

/* A line of the list against its file. What is missing is told of once, at the
 * resume that finds it. */
static rlf_status
compare(void *arg, const char *line, size_t length, rlf_err *err)
{
    rlf_session *s = arg;
    json_t *root = NULL;
    rlf_err ignored = RLF_ERR_NONE;
    int64_t step = 0, size = -1, sum = -1;
    uint64_t is = 0;
    uint32_t crc = 0;
    bool there = false;
    bool read = rlf_json_parse("", 1, line, length, &ignored, &root) >= 0 &&
                rlf_json_as_int(json_object_get(root, "step"), &step) &&
                rlf_json_as_int(json_object_get(root, "size"), &size) &&
                rlf_json_as_int(json_object_get(root, "crc32"), &sum);
    json_decref(root);
    rlf_err_clear(&ignored);
    if (!read)
        return RLF_OK; /* the list's own checksum has told of it */
    const char *path = rlf_arena_printf(
        s->arena, "%s/step-%08" PRIi64 ".safetensors", folder_of(s), step);
    RLF_TRY(rlf_file_find(path, err, &there));
    if (!there) {
        rlf_buf_line(&s->warned.lines, "%s is gone\n", path);
        return RLF_OK;
    }
    RLF_TRY(rlf_file_own(path, false, err, &there));
    RLF_TRY(checksum_of(path, err, &is, &crc));
    if ((int64_t)is == size && (int64_t)crc == sum)
        return RLF_OK;
    return put_aside(s, path, "is damaged: it is not what was written", err);
}

rlf_status
rlf_tokens_open(rlf_session *s, uint32_t step, uint32_t most, rlf_err *err)
{
    bool there;
    const char *folder = folder_of(s);
    RLF_TRY(rlf_dir_own(folder, err, &there));
    if (!there)
        return RLF_OK;
    if (!step)
        return put_aside(s, folder, "is of steps that no checkpoint has", err);
    RLF_TRY(cut(s, step, most, err));
    return rlf_journal_each(s, RLF_JOURNAL_TOKENS, compare, s, err);
}

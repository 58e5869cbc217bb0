/* Tokens that a run has recorded: tokens/step-N.safetensors, with tensors of
 * each set. SET/sample has the numbers of the samples, SET/offset where the
 * tokens of each begin, SET/id the tokens, SET/text.offset and SET/text the
 * bytes that they stand for; every other tensor of SET that has one number a
 * token is a column. tokens.jsonl tells of each file its size and checksum:
 * a file that is not so is left out, and noted. */
#include "engine/report/page.h"

#include "engine/io/checksum.h"
#include "engine/io/json.h"
#include "engine/io/safetensors.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The tokens of one step and set, a block of the page. */
typedef struct token_block {
    const char *path; /* of the file */
    const char *set;
    uint64_t step;
    int64_t *samples; /* [n] */
    size_t n;
} token_block;

struct rlf_page_tokens {
    rlf_arena *arena;
    RLF_VEC(token_block) blocks;
    RLF_VEC(const char *) columns;
};

/* Parts of a set that are no columns. */
static const char *const parts[] = {"sample", "offset", "id", "text.offset",
                                    "text"};

static const rlf_tensor *
part(const rlf_safetensors *file, const char *set, const char *name)
{
    char full[512];
    int n = snprintf(full, sizeof full, "%s/%s", set, name);
    return n > 0 && (size_t)n < sizeof full ? rlf_safetensors_get(file, full)
                                            : NULL;
}

/* The part's name behind "SET/"; NULL: it is of another set. */
static const char *
name_in(const char *full, const char *set)
{
    size_t n = strlen(set);
    return strncmp(full, set, n) == 0 && full[n] == '/' ? full + n + 1 : NULL;
}

static bool
is_column(const rlf_tensor *t, const char *set, uint64_t tokens)
{
    const char *name = name_in(t->name, set);
    bool own = !name;
    for (size_t i = 0; name && i < RLF_COUNT(parts); i++)
        own |= strcmp(name, parts[i]) == 0;
    return !own && t->count == tokens && t->n_dims == 1;
}

/* Whole numbers of a tensor; NULL: it has none, or not so many. */
static int64_t *
read_whole(const rlf_tensor *t, uint64_t n, rlf_err *err)
{
    if (!t || t->count != n || t->element != RLF_ELEMENT_I64)
        return NULL;
    int64_t *out = rlf_try_malloc(n * sizeof *out + 1);
    if (out && rlf_tensor_read(t, err, out) < 0) {
        free(out);
        return NULL;
    }
    return out;
}

/* ---- what there is ---- */

static void
add_column(rlf_page_tokens *tokens, const char *name)
{
    for (size_t i = 0; i < tokens->columns.count; i++)
        if (strcmp(tokens->columns.data[i], name) == 0)
            return;
    RLF_PUSH_IN(tokens->arena, &tokens->columns,
                rlf_arena_strdup(tokens->arena, name));
}

static void
find_set(rlf_page_tokens *tokens, const rlf_safetensors *file, const char *path,
         uint64_t step, const char *set, rlf_err *err)
{
    const rlf_tensor *sample = part(file, set, "sample"),
                     *id = part(file, set, "id");
    int64_t *numbers = sample ? read_whole(sample, sample->count, err) : NULL;
    if (!numbers || !id) {
        free(numbers);
        return;
    }
    token_block b = {
        .path = path, .set = set, .step = step, .n = sample->count};
    b.samples = RLF_NEW_ARRAY(tokens->arena, int64_t, b.n);
    memcpy(b.samples, numbers, b.n * sizeof *numbers);
    free(numbers);
    RLF_PUSH_IN(tokens->arena, &tokens->blocks, b);
    for (size_t i = 0; i < rlf_safetensors_count(file); i++) {
        const rlf_tensor *t = rlf_safetensors_at(file, i);
        if (is_column(t, set, id->count))
            add_column(tokens, name_in(t->name, set));
    }
}

static void
find_file(rlf_page_tokens *tokens, rlf_record *r, const char *path,
          uint64_t step)
{
    static const char end[] = "/sample";
    rlf_err why = RLF_ERR_NONE;
    rlf_safetensors *file = NULL;
    if (rlf_safetensors_open(path, &why, &file) < 0) {
        rlf_record_leave_out(r, "%s is left out: %s", path, why.sentence);
        return;
    }
    for (size_t i = 0; i < rlf_safetensors_count(file); i++) {
        const char *name = rlf_safetensors_at(file, i)->name;
        size_t n = strlen(name), k = sizeof end - 1;
        if (n > k && strcmp(name + n - k, end) == 0)
            find_set(tokens, file, path, step,
                     rlf_arena_strndup(tokens->arena, name, n - k), &why);
    }
    rlf_safetensors_close(file);
}

/* ---- is it what was written ---- */

/* A line of tokens.jsonl. */
typedef struct token_line {
    uint64_t step, size;
    uint32_t crc32;
    bool found; /* the file */
} token_line;

typedef RLF_VEC(token_line) token_lines;

typedef struct list_reader {
    rlf_record *record;
    token_lines *lines;
} list_reader;

static void
forget_lines(void *arg)
{
    ((list_reader *)arg)->lines->count = 0;
}

static rlf_status
take_line(void *arg, const rlf_growing_line *line, rlf_err *err)
{
    list_reader *reader = arg;
    json_t *root = NULL;
    rlf_err ignored = RLF_ERR_NONE;
    int64_t step = 0, size = -1, sum = -1;
    (void)err;
    if (rlf_json_parse("", 1, line->text.p, line->text.n, &ignored, &root) >=
            0 &&
        rlf_json_as_int(json_object_get(root, "step"), &step) && step > 0 &&
        rlf_json_as_int(json_object_get(root, "size"), &size) && size >= 0 &&
        rlf_json_as_int(json_object_get(root, "crc32"), &sum))
        RLF_PUSH(reader->lines, (token_line){(uint64_t)step, (uint64_t)size,
                                             (uint32_t)sum, false});
    else
        rlf_record_leave_out(reader->record,
                             "%s/tokens.jsonl:%" PRIu64
                             " is left out: it tells of no file",
                             reader->record->directory, line->number);
    json_decref(root);
    return RLF_OK;
}

static void
read_list(rlf_record *r, rlf_arena *arena, token_lines *out)
{
    rlf_growing tail = {0};
    rlf_err why = RLF_ERR_NONE;
    list_reader reader = {r, out};
    const rlf_growing_reader lines = {&reader, forget_lines, take_line};
    const char *path = rlf_record_own(r, arena, "tokens.jsonl");
    if (path && rlf_growing_read(&tail, path, &lines, &why) < 0)
        rlf_record_leave_out(r, "%s", why.sentence);
}

static bool
has_checksum(const char *path, const token_line *line)
{
    enum { PIECE = 64 << 10 };
    char piece[PIECE];
    rlf_err ignored = RLF_ERR_NONE;
    rlf_infile *file = NULL;
    uint32_t sum = 0;
    bool good = rlf_infile_open(path, &ignored, &file) >= 0 &&
                rlf_infile_size(file) == line->size;
    for (uint64_t at = 0; good && at < line->size; at += PIECE) {
        size_t n = line->size - at < PIECE ? (size_t)(line->size - at) : PIECE;
        good = rlf_infile_read(file, at, piece, n, &ignored) >= 0;
        sum = good ? rlf_checksum(sum, piece, n) : 0;
    }
    rlf_infile_close(file);
    return good && sum == line->crc32;
}

/* Is the file of that step what the run has written? The last line of a step
 * counts. A run that goes on writes the file before the line. */
static bool
is_as_written(rlf_record *r, const char *path, uint64_t step,
              const token_lines *lines)
{
    const token_line *line = NULL;
    uint64_t last = 0;
    for (size_t i = 0; i < lines->count; i++) {
        last = lines->data[i].step > last ? lines->data[i].step : last;
        if (lines->data[i].step == step)
            line = &lines->data[i];
    }
    if (line) {
        if (has_checksum(path, line))
            return true;
        rlf_record_leave_out(r,
                             "%s is left out: it is damaged, its checksum is "
                             "not the one in tokens.jsonl",
                             path);
    } else if (step <= last || !r->facts.goes_on) {
        rlf_record_leave_out(
            r, "%s is left out: tokens.jsonl does not tell of it", path);
    }
    return false;
}

static void
note_missing(rlf_record *r, const token_lines *lines)
{
    size_t missing = 0;
    uint64_t first = 0;
    for (size_t i = 0; i < lines->count; i++)
        if (!lines->data[i].found && !missing++)
            first = lines->data[i].step;
    if (missing)
        rlf_record_leave_out(r,
                             "%zu of the files of which %s/tokens.jsonl tells "
                             "%s missing, the first of step %" PRIu64,
                             missing, r->directory, missing == 1 ? "is" : "are",
                             first);
}

static int
by_step(const void *a, const void *b)
{
    const token_block *x = a, *y = b;
    return (x->step > y->step) - (x->step < y->step);
}

rlf_page_tokens *
rlf_page_tokens_find(rlf_record *r)
{
    rlf_err why = RLF_ERR_NONE;
    rlf_page_tokens *tokens = rlf_calloc(1, sizeof *tokens);
    tokens->arena = rlf_arena_new();
    const char **names = NULL;
    size_t n = 0;
    token_lines lines = {0};
    read_list(r, tokens->arena, &lines);
    const char *dir = rlf_record_own(r, tokens->arena, "tokens");
    if (dir && rlf_dir_exists(dir) &&
        rlf_dir_list(dir, tokens->arena, &why, &names, &n) < 0) {
        rlf_record_leave_out(r, "%s", why.sentence);
        n = 0;
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t step;
        int used = 0;
        if (sscanf(names[i], "step-%" SCNu64 ".safetensors%n", &step, &used) !=
                1 ||
            !used || names[i][used])
            continue;
        for (size_t k = 0; k < lines.count; k++)
            lines.data[k].found |= lines.data[k].step == step;
        const char *path = rlf_record_own(
            r, tokens->arena,
            rlf_arena_printf(tokens->arena, "tokens/%s", names[i]));
        if (path && is_as_written(r, path, step, &lines))
            find_file(tokens, r, path, step);
    }
    note_missing(r, &lines);
    RLF_VEC_FREE(&lines);
    if (tokens->blocks.count)
        qsort(tokens->blocks.data, tokens->blocks.count,
              sizeof *tokens->blocks.data, by_step);
    return tokens;
}

void
rlf_page_tokens_free(rlf_page_tokens *tokens)
{
    rlf_arena_free(tokens->arena);
    free(tokens);
}

void
rlf_page_tokens_list(rlf_page *page, const rlf_page_tokens *tokens)
{
    rlf_page_puts(page, ",\"tokens\":{\"columns\":[");
    for (size_t i = 0; i < tokens->columns.count; i++) {
        rlf_page_puts(page, i ? "," : "");
        rlf_page_text(page, tokens->columns.data[i]);
    }
    rlf_page_puts(page, "],\"blocks\":[");
    for (size_t i = 0; i < tokens->blocks.count; i++) {
        const token_block *b = &tokens->blocks.data[i];
        rlf_page_printf(
            page, "%s{\"step\":%" PRIu64 ",\"set\":", i ? ",\n" : "", b->step);
        rlf_page_text(page, b->set);
        rlf_page_puts(page, ",\"samples\":[");
        for (size_t k = 0; k < b->n; k++)
            rlf_page_printf(page, "%s%" PRId64, k ? "," : "", b->samples[k]);
        rlf_page_puts(page, "]}");
    }
    rlf_page_puts(page, "]}");
}

/* ---- blocks ---- */

/* The tensors of one set, read. */
typedef struct token_set {
    int64_t *offset, *text_offset, *id;
    char *text;
    float **column; /* per column of the run; NULL: it has none */
    uint64_t tokens, bytes;
} token_set;

static void
free_set(token_set *s, size_t columns)
{
    free(s->offset);
    free(s->text_offset);
    free(s->id);
    free(s->text);
    for (size_t i = 0; s->column && i < columns; i++)
        free(s->column[i]);
    free(s->column);
}

static float *
read_numbers(const rlf_tensor *t, rlf_err *err)
{
    float *out = rlf_try_malloc(t->count * sizeof *out + 1);
    if (out && rlf_tensor_read_f32(t, 0, t->count, err, out) < 0) {
        free(out);
        return NULL;
    }
    return out;
}

/* Do the offsets begin at 0, never go back, and end at most at `end`? */
static bool
are_offsets(const int64_t *offset, uint64_t n, uint64_t end)
{
    bool good = offset && offset[0] >= 0;
    for (uint64_t i = 0; good && i < n; i++)
        good = offset[i] <= offset[i + 1];
    return good && (uint64_t)offset[n] <= end;
}

/* Whole numbers of 32 bits or of 64; NULL: it has others. */
static int64_t *
read_ids(const rlf_tensor *t, rlf_err *err)
{
    if (t->element != RLF_ELEMENT_I32)
        return read_whole(t, t->count, err);
    int64_t *out = rlf_try_malloc(t->count * sizeof *out + 1);
    int32_t *narrow = rlf_try_malloc(t->count * sizeof *narrow + 1);
    bool good = out && narrow && rlf_tensor_read(t, err, narrow) >= 0;
    for (uint64_t i = 0; good && i < t->count; i++)
        out[i] = narrow[i];
    free(narrow);
    if (good)
        return out;
    free(out);
    return NULL;
}

static bool
read_set(const rlf_page_tokens *tokens, const rlf_safetensors *file,
         const token_block *b, token_set *out, rlf_err *err)
{
    const rlf_tensor *id = part(file, b->set, "id"),
                     *text = part(file, b->set, "text");
    if (!id)
        return false;
    out->tokens = id->count;
    out->offset = read_whole(part(file, b->set, "offset"), b->n + 1, err);
    if (!are_offsets(out->offset, b->n, out->tokens))
        return false;
    if (text && text->element == RLF_ELEMENT_U8) {
        out->bytes = text->bytes;
        out->text = rlf_try_malloc(text->bytes + 1);
        out->text_offset =
            read_whole(part(file, b->set, "text.offset"), out->tokens + 1, err);
        if (!out->text || rlf_tensor_read(text, err, out->text) < 0 ||
            !are_offsets(out->text_offset, out->tokens, out->bytes)) {
            free(out->text);
            out->text = NULL;
        }
    }
    out->column = rlf_calloc(tokens->columns.count + 1, sizeof *out->column);
    for (size_t i = 0; i < tokens->columns.count; i++) {
        const rlf_tensor *t = part(file, b->set, tokens->columns.data[i]);
        if (t && is_column(t, b->set, out->tokens))
            out->column[i] = read_numbers(t, err);
    }
    out->id = read_ids(id, err);
    return out->id != NULL;
}

/* The text of a token; where it is a part of a character, its bytes as
 * {"x":"e282"}. */
static void
put_text(const token_set *s, uint64_t i, rlf_buf *out)
{
    const char *p = s->text + s->text_offset[i];
    size_t n = (size_t)(s->text_offset[i + 1] - s->text_offset[i]), k = 0;
    while (k < n) {
        size_t one = rlf_str_utf8(p + k, n - k);
        if (!one)
            break;
        k += one;
    }
    if (k == n) {
        rlf_buf_json(out, p, n);
        return;
    }
    rlf_buf_puts(out, "{\"x\":\"");
    for (size_t b = 0; b < n; b++)
        rlf_buf_printf(out, "%02x", (unsigned char)p[b]);
    rlf_buf_puts(out, "\"}");
}

static void
put_short(float x, rlf_buf *out)
{
    char text[32];
    if (!(x - x == 0)) {
        rlf_buf_puts(out, "null");
        return;
    }
    snprintf(text, sizeof text, "%.6g", (double)x);
    rlf_buf_puts(out, text);
}

/* A line: the texts, the numbers of the tokens, each column. */
static void
put_sample(const token_set *s, size_t columns, size_t sample, rlf_buf *out)
{
    uint64_t from = (uint64_t)s->offset[sample],
             to = (uint64_t)s->offset[sample + 1];
    rlf_buf_puts(out, "{\"text\":[");
    for (uint64_t i = from; s->text && i < to; i++) {
        rlf_buf_puts(out, i > from ? "," : "");
        put_text(s, i, out);
    }
    rlf_buf_puts(out, "],\"id\":[");
    for (uint64_t i = from; i < to; i++)
        rlf_buf_printf(out, "%s%" PRId64, i > from ? "," : "", s->id[i]);
    rlf_buf_puts(out, "],\"columns\":[");
    for (size_t c = 0; c < columns; c++) {
        rlf_buf_puts(out, c ? "," : "");
        rlf_buf_puts(out, s->column[c] ? "[" : "null");
        for (uint64_t i = from; s->column[c] && i < to; i++) {
            rlf_buf_puts(out, i > from ? "," : "");
            put_short(s->column[c][i], out);
        }
        rlf_buf_puts(out, s->column[c] ? "]" : "");
    }
    rlf_buf_puts(out, "]}\n");
}

void
rlf_page_tokens_put(rlf_page *page, const rlf_page_tokens *tokens, size_t run)
{
    enum { LEVEL = 6 };
    for (size_t i = 0; i < tokens->blocks.count; i++) {
        const token_block *b = &tokens->blocks.data[i];
        rlf_err ignored = RLF_ERR_NONE;
        rlf_safetensors *file = NULL;
        token_set set = {0};
        rlf_buf lines = {0};
        char id[48];
        bool good = rlf_safetensors_open(b->path, &ignored, &file) >= 0 &&
                    read_set(tokens, file, b, &set, &ignored);
        for (size_t k = 0; good && k < b->n; k++)
            put_sample(&set, tokens->columns.count, k, &lines);
        snprintf(id, sizeof id, "tokens-%zu-%zu", run, i);
        rlf_page_pack(page, id, lines.p ? lines.p : "", lines.n, LEVEL);
        rlf_buf_free(&lines);
        free_set(&set, tokens->columns.count);
        rlf_safetensors_close(file);
    }
}

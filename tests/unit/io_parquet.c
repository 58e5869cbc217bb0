/* Parquet files that pyarrow wrote (tests/oracle/parquet_cases.py), row by row
 * against what they hold; and what files that are damaged do. */
#include "tests/damage.h"

#include "engine/base/vec.h"
#include "engine/io/file.h"
#include "engine/io/parquet.h"
#include "engine/io/records.h"
#include "engine/io/stream.h"

#include <unistd.h>

static rlf_arena *arena;

static const char *
data(const char *name, const char *ending)
{
    return rlf_arena_printf(arena, "%s/tests/data/parquet/%s.%s",
                            getenv("RLFLOW_SOURCE"), name, ending);
}

static const char *const fields[] = {
    "id",    "small",  "count", "right",
    "score", "single", "half",  "prompt",
    "sort",  "price",  "day",   "at",
    "since", "deep.0", "map",   "messages.0.role",
    "extra", "i",      "l",     "up",
    "f",     "s",      "p",     "b"};

/* Rows that are as the lines say, up to the first that is not. */
static size_t
rows_of(const char *path, const char *lines_path, size_t *wanted)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_parquet *file = NULL;
    rlf_stream *stream = NULL;
    const char *why;
    json_t *row = NULL;
    rlf_str line;
    bool more = true, same = true;
    size_t n = 0;
    *wanted = 0;
    if (rlf_parquet_open(path, fields, RLF_COUNT(fields), &err, &file) < 0 ||
        rlf_stream_open(lines_path, &err, &stream) < 0)
        bail("%s", err.sentence);
    rlf_lines lines = {.stream = stream};
    while (rlf_lines_next(&lines, lines_path, 1 << 20, &err, &more, &line) >=
               0 &&
           more) {
        json_t *want = NULL;
        rlf_json_found found;
        if (rlf_json_parse_exact(lines_path, lines.line, line.p, line.n, &err,
                                 &want, &found) < 0)
            bail("%s", err.sentence);
        ++*wanted;
        if (same && rlf_parquet_next(file, &err, &row, &why) >= 0 && row &&
            !why && json_equal(row, want)) {
            n++;
        } else if (same) {
            char *is = row ? json_dumps(row, JSON_COMPACT) : NULL;
            note("%s row %zu: %s %s", path, n + 1, err.sentence, is ? is : "");
            note("wanted %.*s", (int)line.n, line.p);
            free(is);
            same = false;
        }
        json_decref(row);
        json_decref(want);
        row = NULL;
    }
    if (same && (rlf_parquet_next(file, &err, &row, &why) < 0 || row))
        n = 0; /* there are more */
    json_decref(row);
    rlf_buf_free(&lines.buf);
    rlf_stream_close(stream);
    rlf_parquet_close(file);
    return n;
}

static void
check_rows(void)
{
    static const char *const names[][2] = {
        {"all-none-1", "all"},    {"all-none-2", "all"},
        {"all-snappy-1", "all"},  {"all-snappy-2", "all"},
        {"all-gzip-1", "all"},    {"all-gzip-2", "all"},
        {"all-zstd-1", "all"},    {"all-zstd-2", "all"},
        {"encodings", "numbers"}, {"plain", "numbers"}};
    for (size_t i = 0; i < RLF_COUNT(names); i++) {
        size_t wanted, n = rows_of(data(names[i][0], "parquet"),
                                   data(names[i][1], "jsonl"), &wanted);
        ok(n == wanted && n > 50, "%s: %zu rows as they were written",
           names[i][0], wanted);
    }
}

/* Columns of texts are read without objects: the same texts, and the same rows
 * are left out. */
static void
check_texts(void)
{
    static const char *const names[] = {"all-none-1", "all-snappy-2",
                                        "all-zstd-1", "all-gzip-2",
                                        "encodings",  "plain"};
    size_t columns = 0, texts = 0, nulls = 0, wrong = 0;
    for (size_t i = 0; i < RLF_COUNT(names); i++)
        for (size_t f = 0; f < RLF_COUNT(fields); f++) {
            const char *path = data(names[i], "parquet"), *why;
            rlf_err err = RLF_ERR_NONE;
            rlf_parquet *file;
            json_t *row;
            rlf_record_field column = {.label = "x", .field = fields[f]};
            rlf_records_spec spec = {.path = path,
                                     .columns = &column,
                                     .n_columns = 1,
                                     .parquet = true,
                                     .in_memory = i % 2,
                                     .drop = true};
            rlf_records rows;
            if (rlf_parquet_open(path, &fields[f], 1, &err, &file) < 0)
                bail("%s", err.sentence);
            if (rlf_parquet_text_column(file, fields[f]) == SIZE_MAX ||
                rlf_records_read(&spec, arena, &err, &rows) < 0) {
                rlf_parquet_close(file);
                continue;
            }
            size_t n = 0, line = 0, left_out = 0;
            while (rlf_parquet_next(file, &err, &row, &why) >= 0 && row) {
                const json_t *value = json_object_get(row, fields[f]);
                line++;
                if (why || !json_is_string(value)) {
                    left_out++;
                } else {
                    const rlf_record_value *v;
                    if (n >= rows.count ||
                        rlf_records_row(&rows, n, arena, &err, &v) < 0)
                        bail("row %zu of %s", n, path);
                    wrong += rlf_records_line(&rows, n) != line ||
                             !rlf_str_eq(v[0].text,
                                         (rlf_str){json_string_value(value),
                                                   json_string_length(value)});
                    n++;
                }
                json_decref(row);
            }
            wrong += n != rows.count || left_out != rows.dropped;
            columns++;
            texts += n;
            nulls += left_out;
            rlf_parquet_close(file);
        }
    ok(columns >= 6 && texts > 300 && nulls > 10 && !wrong,
       "%zu columns of texts, %zu texts and %zu nulls: as in objects", columns,
       texts, nulls);
}

/* Columns that nobody wants are null, whatever is in them. */
static void
check_wanted(void)
{
    static const char *const one[] = {"extra.inner.split"};
    rlf_err err = RLF_ERR_NONE;
    rlf_parquet *file;
    json_t *row = NULL;
    const char *why;
    ok(rlf_parquet_open(data("all-zstd-2", "parquet"), one, 1, &err, &file) >= 0,
       "one column is opened");
    size_t n = 0, others = 0;
    while (rlf_parquet_next(file, &err, &row, &why) >= 0 && row) {
        const char *key;
        json_t *value;
        json_object_foreach(row, key, value) if (strcmp(key, "extra")) others +=
            !json_is_null(value);
        n++;
        json_decref(row);
    }
    ok(n == 60 && others == 0, "... and the others are null");
    rlf_parquet_close(file);
    ok(rlf_parquet_open(data("empty", "parquet"), fields, RLF_COUNT(fields),
                        &err, &file) >= 0 &&
           rlf_parquet_next(file, &err, &row, &why) >= 0 && !row,
       "a file without rows %s", err.sentence);
    rlf_parquet_close(file);
}

/* All rows of a file: the status, and that of a file that says nothing of
 * where it is wrong is a defect. */
static rlf_status
read_all(const char *path, rlf_err *err)
{
    rlf_parquet *file;
    json_t *row;
    const char *why;
    rlf_status status =
        rlf_parquet_open(path, fields, RLF_COUNT(fields), err, &file);
    if (status < 0)
        return status;
    do {
        row = NULL;
        status = rlf_parquet_next(file, err, &row, &why);
        json_decref(row);
    } while (status >= 0 && row);
    rlf_parquet_close(file);
    return status;
}

/* Groups of rows that are none, but numbers: found by flipping bits. */
static void
check_groups(void)
{
    static const struct {
        size_t at;
        uint8_t byte;
    } changes[] = {{6223, 0344}, {11669, 063}, {11884, 070}, {13696, 065}};
    rlf_err err = RLF_ERR_NONE;
    rlf_buf bytes = {0};
    char path[] = "/tmp/io_parquet.XXXXXX";
    int fd = mkstemp(path);
    if (fd < 0 ||
        rlf_file_read(data("all-none-1", "parquet"), 1 << 24, &err, &bytes) < 0)
        bail("no file");
    close(fd);
    for (size_t i = 0; i < RLF_COUNT(changes); i++)
        bytes.p[changes[i].at] = (char)changes[i].byte;
    if (rlf_file_write(path, bytes.p, bytes.n, &err) < 0)
        bail("%s", err.sentence);
    ok(read_all(path, &err) == RLF_USER, "groups that are no structs: %s",
       err.sentence);
    unlink(path);
    rlf_buf_free(&bytes);
}

/* A file whose first name of a column is another's. */
static void
check_twice(const char *from, const char *name, const char *to,
            const char *want)
{
    static const char *const x[] = {"i"};
    rlf_err err = RLF_ERR_NONE;
    rlf_parquet *file = NULL;
    rlf_buf whole = {0};
    char path[] = "/tmp/rlflow-twice.XXXXXX";
    int fd = mkstemp(path);
    if (fd < 0 ||
        rlf_file_read(data(from, "parquet"), 1 << 24, &err, &whole) < 0)
        bail("%s: no file", from);
    close(fd);
    size_t at = 0, n = strlen(name);
    while (at + n < whole.n && memcmp(whole.p + at, name, n) != 0)
        at++;
    memcpy(whole.p + at, to, strlen(to));
    if (rlf_file_write(path, whole.p, whole.n, &err) < 0)
        bail("%s", err.sentence);
    ok(rlf_parquet_open(path, x, 1, &err, &file) == RLF_USER &&
           strstr(err.sentence, want),
       "columns of one name: %s", err.sentence);
    rlf_parquet_close(file);
    unlink(path);
    rlf_buf_free(&whole);
}

static void
check_refused(void)
{
    static const char *const x[] = {"x"};
    rlf_err err = RLF_ERR_NONE;
    rlf_parquet *file;
    json_t *row;
    const char *why;
    ok(rlf_parquet_open(data("brotli", "parquet"), x, 1, &err, &file) >= 0 &&
           rlf_parquet_next(file, &err, &row, &why) == RLF_USER &&
           strstr(err.sentence, "column \"x\" is compressed by BROTLI"),
       "another codec: %s", err.sentence);
    rlf_parquet_close(file);
    check_twice("plain", "\x18\x01l", "\x18\x01i", "the column \"i\" twice");
    ok(rlf_parquet_is(data("plain", "parquet")) &&
           !rlf_parquet_is(data("all", "jsonl")),
       "what is one is told by its first bytes");
}

/* Half of the bytes changed are in the footer, which is small. Checksums find
 * all that is changed in pages. */
static size_t
in_footer(size_t k, size_t at, size_t n)
{
    return k % 2 ? n - 1 - at % (n < 4096 ? n : 4096) : at;
}

static void
check_damaged(const char *name, size_t tries)
{
    check_damage(data(name, "parquet"), name, tries, in_footer, read_all);
}

int
main(void)
{
    bool quick = getenv("RLFLOW_TEST_QUICK") != NULL;
    size_t tries = quick ? 60 : 400;
    arena = rlf_arena_new();
    check_rows();
    check_texts();
    check_groups();
    check_wanted();
    check_refused();
    check_damaged("all-none-1", tries);
    check_damaged("all-snappy-2", tries);
    check_damaged("all-zstd-2", tries);
    check_damaged("all-gzip-1", tries);
    check_damaged("encodings", tries);
    check_damaged("plain", tries);
    rlf_arena_free(arena);
    return done();
}

/* Arrow files that pyarrow and datasets wrote (tests/oracle/arrow_cases.py),
 * row by row against what they hold; what is not read; and what files that are
 * damaged do. */
#include "tests/damage.h"

#include "engine/io/arrow.h"
#include "engine/io/file.h"
#include "engine/io/records.h"
#include "engine/io/stream.h"

static rlf_arena *arena;
static const char *const all[] = {"*"};

static const char *
data(const char *name)
{
    return rlf_arena_printf(arena, "%s/tests/data/arrow/%s",
                            getenv("RLFLOW_SOURCE"), name);
}

/* Is each row as its line says? */
static void
check_rows(const char *name)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_arrow *file;
    rlf_stream *stream;
    const char *why, *lines_path = data("rows.jsonl");
    rlf_str line;
    bool more = true, same = true;
    size_t n = 0;
    json_t *row = NULL;
    if (rlf_arrow_open(data(name), all, 1, &err, &file) < 0 ||
        rlf_stream_open(lines_path, &err, &stream) < 0)
        bail("%s", err.sentence);
    rlf_lines lines = {.stream = stream};
    while (rlf_lines_next(&lines, lines_path, 1 << 20, &err, &more, &line) >=
               0 &&
           more && same) {
        json_t *want = NULL;
        rlf_json_found found;
        if (rlf_json_parse_exact(lines_path, lines.line, line.p, line.n, &err,
                                 &want, &found) < 0)
            bail("%s", err.sentence);
        same = rlf_arrow_next(file, &err, &row, &why) >= 0 && row && !why &&
               json_equal(row, want);
        n += same;
        json_decref(want);
        json_decref(row);
    }
    same = same && rlf_arrow_next(file, &err, &row, &why) >= 0 && !row;
    ok(same && n == 40, "%s has the rows that it is made of, %zu of 40", name,
       n);
    rlf_buf_free(&lines.buf);
    rlf_stream_close(stream);
    rlf_arrow_close(file);
}

static rlf_status
read_all(const char *path, const char *const *fields, rlf_err *err,
         char why_not[200])
{
    rlf_arrow *file;
    const char *why;
    json_t *row;
    rlf_status status = rlf_arrow_open(path, fields, 1, err, &file);
    if (status < 0)
        return status;
    while ((status = rlf_arrow_next(file, err, &row, &why)) >= 0 && row) {
        if (why)
            snprintf(why_not, 200, "%s", why);
        json_decref(row);
    }
    rlf_arrow_close(file);
    return status;
}

static void
check_refused(void)
{
    static const struct {
        const char *file, *field, *want;
    } rows[] = {
        {"odd.arrow", "day", "column \"day\" has dates, which are not read"},
        {"odd.arrow", "kind",
         "column \"kind\" has values by a dictionary, which are not read"},
        {"odd.arrow", "dot", "\"dot\" is no finite number"},
        {"odd.arrow", "q", ""},
        {"odd.arrow", "*", "\"dot\" is no finite number"},
        {"zstd.arrow", "q", "has compressed buffers, which are not read"},
        {"rows.jsonl", "q", "is damaged, or no file of Arrow"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlf_err err = RLF_ERR_NONE;
        char why[200] = "";
        rlf_status status =
            read_all(data(rows[i].file), &rows[i].field, &err, why);
        ok(strstr(status < 0 ? err.sentence : why, rows[i].want) != NULL,
           "%s of %s: %s", rows[i].field, rows[i].file, rows[i].want);
    }
    ok(rlf_arrow_is(data("stream.arrow")) && rlf_arrow_is(data("file.arrow")) &&
           !rlf_arrow_is(data("rows.jsonl")) && !rlf_arrow_is(data("none")),
       "files are known by how they begin");
}

/* Rows as data sets have them. */
static void
check_records(void)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_records rows;
    const rlf_record_value *value;
    const rlf_record_field columns[] = {{.label = "m", .field = "messages"},
                                        {.label = "c", .field = "st.b.c"}};
    const rlf_records_spec spec = {.path = data("stream.arrow"),
                                   .columns = columns,
                                   .n_columns = 2,
                                   .parquet = true};
    if (rlf_records_read(&spec, arena, &err, &rows) < 0 ||
        rlf_records_row(&rows, 1, arena, &err, &value) < 0)
        bail("%s", err.sentence);
    ok(rows.count == 40 && value[0].chat.count == 2 &&
           rows.columns[1].kind == RLF_RECORD_TEXT,
       "columns of chats and of a field in fields");
}

/* Bytes changed, half of them in the schema, and files cut. */
static size_t
in_front(size_t k, size_t at, size_t n)
{
    (void)n;
    return k % 2 ? at % 4096 : at;
}

static rlf_status
read_whole(const char *path, rlf_err *err)
{
    char why[200];
    return read_all(path, all, err, why);
}

static void
check_damaged(const char *name, size_t tries)
{
    check_damage(data(name), name, tries, in_front, read_whole);
}

int
main(void)
{
    arena = rlf_arena_new();
    check_rows("stream.arrow");
    check_rows("file.arrow");
    check_refused();
    check_records();
    check_damaged("stream.arrow", 400);
    check_damaged("file.arrow", 200);
    rlf_arena_free(arena);
    return done();
}

/* Data rows: every format, every kind of column, every complaint. */
#include "engine/io/file.h"
#include "engine/io/records.h"
#include "tests/put.h"

#include <zlib.h>

static rlf_arena *arena;

static bool
ends_in(const char *text, const char *end)
{
    size_t n = strlen(text), k = strlen(end);
    return n >= k && strcmp(text + n - k, end) == 0;
}

/* "text|number;..." of all rows. */
static const char *
show(const rlf_records *rows)
{
    rlf_buf out = {0};
    for (size_t r = 0; r < rows->count; r++) {
        const rlf_record_value *row;
        rlf_err err = RLF_ERR_NONE;
        if (rlf_records_row(rows, r, arena, &err, &row) < 0)
            bail("%s", err.sentence);
        for (size_t c = 0; c < rows->n_columns; c++) {
            const rlf_record_column *column = &rows->columns[c];
            if (column->kind == RLF_RECORD_NUMBER)
                rlf_buf_number(&out, column->numbers[r]);
            else if (column->kind == RLF_RECORD_BOOL)
                rlf_buf_puts(&out, column->numbers[r] != 0 ? "yes" : "no");
            else if (column->kind == RLF_RECORD_TEXT)
                rlf_buf_add(&out, row[c].text.p, row[c].text.n);
            else
                for (size_t i = 0; i < row[c].chat.count; i++)
                    rlf_buf_printf(&out, "<%s:%s>",
                                   row[c].chat.messages[i].role.p,
                                   row[c].chat.messages[i].content.p);
            rlf_buf_puts(&out, c + 1 < rows->n_columns ? "|" : ";");
        }
    }
    const char *text = rlf_arena_strndup(arena, out.p ? out.p : "", out.n);
    rlf_buf_free(&out);
    return text;
}

/* That the rows are the same where memory holds none of their texts. */
static void
compare(const rlf_records_spec *spec, rlf_status status, const rlf_err *err,
        const rlf_records *rows)
{
    rlf_records_spec again = *spec;
    rlf_records large;
    rlf_err why = RLF_ERR_NONE;
    again.in_memory = 1;
    rlf_status other = rlf_records_read(&again, arena, &why, &large);
    if (status < 0 && strstr(err->sentence, ".json:"))
        return; /* a list is read row by row: another place may be told */
    if (other != status || (status < 0 && strcmp(err->sentence, why.sentence)))
        bail("%s from its file: %s", spec->path, why.sentence);
    if (status < 0)
        return;
    rlf_records_sizes size = rlf_records_size(&large);
    if (size.memory || (!size.files && !size.spool))
        bail("%s: its rows are in memory", spec->path);
    if (!rlf_digest_equal(rows->digest, large.digest) ||
        strcmp(show(rows), show(&large)) != 0)
        bail("%s has other rows if it is large: %s", spec->path, show(&large));
    for (size_t i = 0; i < rows->count; i++)
        if (strcmp(rlf_records_place(rows, i, arena),
                   rlf_records_place(&large, i, arena)) != 0)
            bail("%s has its rows in other places if it is large", spec->path);
}

/* Read the columns p (of field `prompt`) and a (of field `answer`), as csv()
 * does if the file's name says so, else as jsonl() does. */
static rlf_status
read_two(const char *path, const char *prompt, const char *answer, rlf_err *err,
         rlf_records *rows)
{
    rlf_record_field columns[] = {{.label = "p", .field = prompt},
                                  {.label = "a", .field = answer}};
    rlf_records_spec spec = {.path = path,
                             .columns = columns,
                             .n_columns = 2,
                             .csv = ends_in(path, ".csv") ||
                                    ends_in(path, ".tsv")};
    rlf_err_clear(err);
    rlf_status status = rlf_records_read(&spec, arena, err, rows);
    compare(&spec, status, err, rows);
    return status;
}

static void
check_formats(void)
{
    static const char lines[] =
        "{\"q\": \"1 + 1\", \"n\": 2, \"m\": {\"x\": [5, \"six\"]}}\r\n\n"
        "  {\"q\": \"\\u00e9\", \"n\": 1, \"m\": {\"x\": [7, \"eight\"]}}";
    rlf_err err = RLF_ERR_NONE;
    rlf_records rows, again;
    const char *path = put(arena, "a.jsonl", lines);
    ok(read_two(path, "q", "n", &err, &rows) == RLF_OK, "jsonl");
    is_str(show(&rows), "1 + 1|2;\xc3\xa9|1;", "its rows");
    ok(rlf_records_line(&rows, 0) == 1 && rlf_records_line(&rows, 1) == 3,
       "their lines");
    is_str(rlf_records_place(&rows, 1, arena),
           rlf_arena_printf(arena, "%s:3", path), "a row's place");
    ok(rlf_records_column(&rows, "a") == &rows.columns[1] &&
           !rlf_records_column(&rows, "x"),
       "a column by its label");
    read_two(path, "m.x.1", "m.x.0", &err, &rows);
    is_str(show(&rows), "six|5;eight|7;", "dotted paths");

    path = put(arena, "b.json",
               "\n [{\"q\": \"x\", \"n\": 1},\n {\"q\": \"y\", \"n\": "
               "2.5, \"a.b\": 0}]\n");
    ok(read_two(path, "q", "n", &err, &rows) == RLF_OK, "a JSON list");
    is_str(show(&rows), "x|1;y|2.5;", "its rows");
    is_str(rlf_records_place(&rows, 1, arena),
           rlf_arena_printf(arena, "%s row 2", path), "a row's place");
    path =
        put(arena, "c.jsonl", "{\"a.b\": 1, \"a\": {\"b\": 2}, \"q\": \"\"}");
    read_two(path, "q", "a.b", &err, &rows);
    is_str(show(&rows), "|1;", "a name with a dot goes first");

    path = put(arena, "t.jsonl",
               "{\"q\": true, \"n\": 1}\n"
               "{\"q\": false, \"n\": 0}\n");
    read_two(path, "q", "n", &err, &rows);
    is_str(show(&rows), "yes|1;no|0;", "true is no number");
    path = put(arena, "d.csv",
               "\xef\xbb\xbfid,q,n\n1,\"a, \"\"b\"\"\nc\",4\r\n\n"
               "2,plain,-5.5\n");
    ok(read_two(path, "q", "n", &err, &rows) == RLF_OK, "csv");
    is_str(show(&rows), "a, \"b\"\nc|4;plain|-5.5;", "its rows");
    ok(rlf_records_line(&rows, 0) == 2 && rlf_records_line(&rows, 1) == 5,
       "their lines");
    path = put(arena, "r.csv", "q,n\r\n\"a\r\nb\nc\r\r\n\",\"x\"\r\nd,e\r\n");
    read_two(path, "q", "n", &err, &rows);
    is_str(show(&rows), "a\r\nb\nc\r\r\n|x;d|e;",
           "line ends in quotes are kept, others are not in the fields");
    path = put(arena, "e.csv", "q,n\nx,\"7\"\ny,8\n");
    read_two(path, "q", "n", &err, &rows);
    ok(rows.columns[1].kind == RLF_RECORD_TEXT, "a quoted number is a text");

    read_two(put(arena, "f.jsonl", lines), "q", "n", &err, &rows);
    gzFile gz = gzopen(in_root(arena, "f.jsonl.gz"), "wb");
    gzputs(gz, lines);
    gzclose(gz);
    read_two(in_root(arena, "f.jsonl.gz"), "q", "n", &err, &again);
    ok(err.status == RLF_OK && rlf_digest_equal(rows.digest, again.digest) &&
           strcmp(show(&rows), show(&again)) == 0,
       "gzip, with the same rows and hash");
    path = put(arena, "f.jsonl",
               "{\"q\": \"1 + 1\", \"n\": 2}\n"
               "{\"q\": \"\\u00e9\", \"n\": 2}");
    read_two(path, "q", "n", &err, &again);
    ok(!rlf_digest_equal(rows.digest, again.digest),
       "another value, another hash");
}

static void
check_chats(void)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_records rows;
    const char *path =
        put(arena, "chat.jsonl",
            "{\"q\": [{\"role\": \"system\", \"content\": \"be\"}, {\"role\": "
            "\"user\", \"content\": \"hi\", \"x\": 1}], \"n\": 1}\n"
            "{\"q\": [{\"role\": \"user\", \"content\": \"yo\"}], \"n\": 2}\n");
    ok(read_two(path, "q", "n", &err, &rows) == RLF_OK, "chat messages");
    is_str(show(&rows), "<system:be><user:hi>|1;<user:yo>|2;", "as they are");
    path = put(arena, "wide.jsonl",
               "{\"q\": 1e30, \"n\": 9007199254740992}\n"
               "{\"q\": 22451251.999999996, \"n\": -1,"
               " \"id\": 123456789012345678901}\n");
    read_two(path, "q", "n", &err, &rows);
    is_str(show(&rows), "1e+30|9007199254740992;22451251.999999996|-1;",
           "numbers keep their digits, whatever else is in the row");
    path = put(arena, "nul.jsonl", "{\"q\": \"a\\u0000b\", \"n\": 1}\n");
    read_two(path, "q", "n", &err, &rows);
    const rlf_record_value *row;
    rlf_records_row(&rows, 0, arena, &err, &row);
    ok(row[0].text.n == 3, "a text may hold a zero byte");
}

/* A cell keeps what is written in it: one that a number would not give back
 * makes its column one of texts. */
static void
check_cells(void)
{
    static const char *const as_written[] = {
        "007", "1.50", "1e3", "-0",   "12345678901234567890",
        "+1",  ".5",   "1.",  "0x10", " 1",
        "",    "nan",  "z",   "1-2",  "-",
        "1E5", "--1",  "00",  "0.10", "1,0",
    };
    rlf_err err = RLF_ERR_NONE;
    rlf_records rows;
    for (size_t i = 0; i < sizeof as_written / sizeof *as_written; i++) {
        /* tabs, as one of them has a comma */
        const char *file = rlf_arena_printf(
            arena, "q\tn\nx\t7\ny\t%s\nz\t1.25\n", as_written[i]);
        read_two(put(arena, "cells.tsv", file), "q", "n", &err, &rows);
        const char *want =
            rlf_arena_printf(arena, "x|7;y|%s;z|1.25;", as_written[i]);
        is_str(show(&rows), want, "a cell stays as it is written");
        ok(rows.columns[1].kind == RLF_RECORD_TEXT, "and is a text");
    }
    read_two(
        put(arena, "cells.csv", "q,n\nx,0\ny,-12\nz,0.25\nu,123456789012345\n"),
        "q", "n", &err, &rows);
    ok(rows.columns[1].kind == RLF_RECORD_NUMBER, "numbers, all exact");
    is_str(show(&rows), "x|0;y|-12;z|0.25;u|123456789012345;", "their values");
}

static void
check_some(void)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_records rows;
    rlf_record_field column = {.label = "n", .field = "n"};
    rlf_records_spec spec = {.path = put(arena, "n.jsonl",
                                         "{\"n\": 0}\n{\"n\": 1}\n"
                                         "{\"n\": 2}\n{\"n\": 3}\n"),
                             .columns = &column,
                             .n_columns = 1,
                             .skip = 1,
                             .first = 2};
    rlf_records_read(&spec, arena, &err, &rows);
    is_str(show(&rows), "1;2;", "skip, then first");
    spec = (rlf_records_spec){
        .path = spec.path, .columns = &column, .n_columns = 1, .skip = 9};
    ok(rlf_records_read(&spec, arena, &err, &rows) == RLF_USER &&
           strstr(err.sentence, "has no rows") && strstr(err.hint, "it has 4"),
       "nothing left");
    rlf_err_clear(&err);
    spec = (rlf_records_spec){.path = put(arena, "header.csv", "n,m\n"),
                              .columns = &column,
                              .n_columns = 1,
                              .csv = true};
    ok(rlf_records_read(&spec, arena, &err, &rows) == RLF_USER &&
           strstr(err.hint, "first line names the fields"),
       "a csv file with a header only: %s", err.hint);
    rlf_err_clear(&err);
    rlf_buf big = {0};
    for (int i = 0; i < 2000; i++)
        rlf_buf_printf(&big, "{\"n\": \"%0200d\"}\n", i);
    spec = (rlf_records_spec){.path = put(arena, "big.jsonl", big.p),
                              .columns = &column,
                              .n_columns = 1,
                              .most = 100000};
    ok(rlf_records_read(&spec, arena, &err, &rows) == RLF_USER &&
           strstr(err.sentence, "of memory"),
       "more than may be taken");
    rlf_buf_free(&big);
}

/* first: k and skip: k part the file's rows, whatever is dropped: together they
 * have all that no option leaves out, each once. */
static void
check_parted(void)
{
    static const struct {
        const char *name, *text;
    } files[] = {
        {"p.jsonl", "{\"n\": null}\n{\"n\": 1}\n\n{\"n\": 2, \"n\": 2}\n"
                    "{\"n\": 1e999}\n{\"n\": 4}\n[]\n{\"n\": 6}\n"},
        {"p.json", "[{\"n\": null}, {\"n\": 1}, {\"n\": 2, \"n\": 2}, {},"
                   " {\"n\": 4}, [], {\"n\": 6}]"},
        {"q.json", "[{\"n\": null}, {\"n\": 1}, {}, {}, {\"n\": 4}, [],"
                   " {\"n\": 6}]"},
        {"p.csv", "n\n0,1\n1\n2,2\n3,3\n4\n5,\n6\n"},
    };
    rlf_err err = RLF_ERR_NONE;
    rlf_record_field column = {.label = "n", .field = "n"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const char *path = put(arena, files[i].name, files[i].text);
        for (uint64_t k = 1; k < 7; k++) {
            rlf_records_spec head = {.path = path,
                                     .csv = ends_in(path, ".csv"),
                                     .columns = &column,
                                     .n_columns = 1,
                                     .drop = true,
                                     .first = k};
            rlf_records_spec tail = head;
            tail.first = 0, tail.skip = k;
            rlf_records one = {0}, two = {0};
            rlf_status a = rlf_records_read(&head, arena, &err, &one);
            rlf_err_clear(&err);
            rlf_status b = rlf_records_read(&tail, arena, &err, &two);
            rlf_err_clear(&err);
            const char *both =
                rlf_arena_printf(arena, "%s%s", a < 0 ? "" : show(&one),
                                 b < 0 ? "" : show(&two));
            is_str(both, "1;4;6;", files[i].name);
            is_int((long long)(one.count + one.dropped), (long long)k,
                   "first: counts what is dropped");
        }
    }
}

/* Rows that are left out, and where lists are cut. */
static void
check_dropped(void)
{
    static const char text[] =
        "{\"q\": null, \"n\": 1}\n{\"q\": \"a\", \"n\": 1}\n"
        "{\"q\": \"b\", \"n\": null}\n{\"q\": \"c\"}\n"
        "{\"q\": \"d\", \"n\": \"2\"}\n{\"q\": \"e\", \"n\": 3}\n";
    rlf_err err = RLF_ERR_NONE;
    rlf_records rows, again;
    rlf_record_field columns[] = {{.label = "p", .field = "q"},
                                  {.label = "a", .field = "n"}};
    rlf_records_spec spec = {.path = put(arena, "null.jsonl", text),
                             .columns = columns,
                             .n_columns = 2,
                             .drop = true};
    is_int(rlf_records_read(&spec, arena, &err, &rows), RLF_OK, "with drop");
    is_str(show(&rows), "a|1;e|3;", "rows that lack a value are left out");
    ok(rows.dropped == 4 && rlf_records_line(&rows, 1) == 6 &&
           strstr(rows.why, "null.jsonl:1: \"q\" is null"),
       "%llu, the first because %s", (unsigned long long)rows.dropped,
       rows.why);
    spec.path = put(arena, "whole.jsonl",
                    "{\"q\": \"a\", \"n\": 1}\n"
                    "{\"q\": \"e\", \"n\": 3}\n");
    rlf_records_read(&spec, arena, &err, &again);
    ok(rlf_digest_equal(again.digest, rows.digest),
       "the hash is of the rows that stay");
    static const struct {
        const char *name, *text, *why;
        unsigned long long dropped;
    } of_no_use[] = {
        {"k.jsonl",
         "{\"q\": \"a\", \"n\": 1}\n{\"q\": \"b\", \"n\": 1, \"q\": \"c\"}\n"
         "{\"q\": \"b\", \"n\": 1, \"x\": 1e999}\n[]\n"
         "{\"q\": \"e\", \"n\": 3}\n",
         "k.jsonl:2: the key \"q\" is given twice", 3},
        {"k.json",
         "[{\"q\": \"a\", \"n\": 1},\n{\"q\": \"],\\\"}\", \"n\": [1], \"n\": "
         "2},"
         " [[], {}], {\"q\": \"e\", \"n\": 3}\n]\n",
         "k.json row 2: the key \"n\" is given twice", 2},
        {"k.csv", "q,n\na,1\nb\ne,3\n",
         "k.csv:3: the record has 1 fields, the first line 2", 1},
    };
    for (size_t i = 0; i < sizeof of_no_use / sizeof *of_no_use; i++) {
        spec.path = put(arena, of_no_use[i].name, of_no_use[i].text);
        spec.csv = ends_in(spec.path, ".csv");
        rlf_status status = rlf_records_read(&spec, arena, &err, &rows);
        ok(status == RLF_OK && rows.dropped == of_no_use[i].dropped &&
               strstr(rows.why, of_no_use[i].why) &&
               strcmp(show(&rows), "a|1;e|3;") == 0,
           "dropped: %s", status < 0 ? err.sentence : rows.why);
        rlf_err_clear(&err);
    }
    static const char *const torn[][2] = {
        {"l.json", "[{\"n\": 1, \"n\": 2}, {\"q\": \"e\", \"n\": 3}"},
        {"m.json", "[{\"n\": 1, \"n\": 2}, {\"q\": \"e\", \"n\": 3}] 7"},
        {"n.json", "[{\"n\": 1, \"n\": 2}, {\"q\": \"e\", \"n\"}]"},
        {"o.json", "[{\"n\": 1, \"n\": 2}, {\"q\": \"e\", \"n\": 3},]"},
    };
    for (size_t i = 0; i < sizeof torn / sizeof *torn; i++) {
        spec.path = put(arena, torn[i][0], torn[i][1]);
        spec.csv = false;
        ok(rlf_records_read(&spec, arena, &err, &rows) == RLF_USER &&
               strstr(err.sentence, "not JSON"),
           "torn after it: %s", err.sentence);
        rlf_err_clear(&err);
    }
    spec.path = put(arena, "none.jsonl", "{\"q\": null, \"n\": 1}\n");
    ok(rlf_records_read(&spec, arena, &err, &rows) == RLF_USER &&
           strstr(err.sentence, "none.jsonl:1"),
       "all rows left out: %s", err.sentence);

    const char *path = put(arena, "cut.jsonl",
                           "{\"m\": [{\"role\": \"user\", \"content\": \"x\"},"
                           " {\"role\": \"assistant\", \"content\": \"y\"},"
                           " {\"role\": \"user\", \"content\": \"z\"}]}\n");
    static const char *const cuts[][2] = {
        {"m.0:-1", "<user:x><assistant:y>|z;"},
        {"m.-2:", "<assistant:y><user:z>|z;"},
        {"m.:1", "<user:x>|z;"},
    };
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        read_two(path, cuts[i][0], "m.-1.content", &err, &rows);
        is_str(show(&rows), cuts[i][1], cuts[i][0]);
    }
    ok(read_two(path, "m.0:-3", "m.-4", &err, &rows) == RLF_USER,
       "a place that is not there");
    path = put(arena, "t.tsv", "q\tn\nx, y\t1\n\"a\tb\"\t2\n");
    read_two(path, "q", "n", &err, &rows);
    is_str(show(&rows), "x, y|1;a\tb|2;", "tabs between");
    spec = (rlf_records_spec){.path = put(arena, "c.txt", "q,n\nx,1\n"),
                              .columns = columns,
                              .n_columns = 2,
                              .csv = true};
    rlf_records_read(&spec, arena, &err, &rows);
    is_str(show(&rows), "x|1;", "csv of another name");
    rlf_err_clear(&err);
    spec = (rlf_records_spec){
        .path = put(arena, "json.csv", "{\"q\": \"x\", \"n\": 1}\n"),
        .columns = columns,
        .n_columns = 2};
    rlf_records_read(&spec, arena, &err, &rows);
    is_str(show(&rows), "x|1;", "jsonl of another name");
    spec.path = put(arena, "no.csv", "q,n\nx,1\n");
    ok(rlf_records_read(&spec, arena, &err, &rows) == RLF_USER &&
           strstr(err.hint, "csv(...)"),
       "commas are not read as JSON, whatever the name: %s", err.hint);
    rlf_err_clear(&err);
    read_two(put(arena, "t.txt", "q\tn\nx\t1\n"), "q", "n", &err, &rows);
    ok(strstr(err.hint, ".tsv"), "a hint for tabs: %s", err.hint);
}

static void
check_bad(void)
{
    static const struct {
        const char *name, *text, *want;
    } bad[] = {
        {"1.jsonl", "{\"q\": \"x\", \"n\": 1}\n{\"q\": \"y\" \"n\": 2}\n",
         "1.jsonl:2:"},
        {"2.jsonl", "{\"q\": \"x\", \"n\": 1}\n\n[1]\n",
         "2.jsonl:3: the row is a list, not an object"},
        {"3.jsonl", "{\"q\": \"x\", \"n\": 1}\n{\"q\": \"x\"}\n",
         "3.jsonl:2: the row has no \"n\""},
        {"4.jsonl", "{\"q\": \"x\", \"n\": 1}\n{\"q\": \"x\", \"n\": \"1\"}\n",
         "4.jsonl:2: \"n\" is a text, in the first row a number"},
        {"5.jsonl", "{\"q\": \"x\", \"n\": null}\n",
         "5.jsonl:1: \"n\" is null"},
        {"6.jsonl", "{\"q\": \"x\", \"n\": {\"a\": 1}}\n",
         "6.jsonl:1: \"n\" is an object"},
        {"7.jsonl", "", "7.jsonl has no rows"},
        {"8.jsonl", "\n \n", "8.jsonl has no rows"},
        {"9.jsonl", "{\"q\": \"\xff\", \"n\": 1}\n", "9.jsonl:1:"},
        {"10.json", "[{\"q\": \"x\", \"n\": 1}, 5]",
         "10.json row 2: the row is a number"},
        {"11.json", "[{\"q\": \"x\", \"n\": 1},\n\n", "11.json:3:"},
        {"12.csv", "q,m\nx,1\n", "the first line has no field \"n\""},
        {"13.csv", "q,n\nx,1\ny\n", "13.csv:3: the record has 1 fields"},
        {"14.csv", "q,n\n\"x,1\n", "14.csv:2: a quote is not closed"},
        {"16.csv", "q,n\n\"x\"y,1\n", "16.csv:2: text after a closing quote"},
        {"17.csv", "q,n\n\xc3,1\n", "17.csv:2: \"q\" is not UTF-8"},
        {"18.parquet", "PAR1....PAR1", "is a parquet file"},
        {"19.jsonl", "{\"q\": [{\"role\": \"user\"}], \"n\": 1}\n",
         "19.jsonl:1: message 1 of \"q\" has no \"content\""},
        {"21.jsonl", "{\"q\": \"x\", \"n\": 9007199254740993}\n",
         "21.jsonl:1: \"n\" is an integer of more than 53 bits"},
        {"22.jsonl", "{\"q\": \"x\", \"n\": 123456789012345678901}\n",
         "22.jsonl:1: \"n\" is an integer of more than 53 bits"},
        {"23.jsonl", "{\"q\": \"x\", \"n\": 1, \"n\": 2}\n",
         "23.jsonl:1: the key \"n\" is given twice"},
        {"24.jsonl", "{\"q\": \"x\", \"n\": 1}\n{\"q\": \"x\", \"n\": true}\n",
         "24.jsonl:2: \"n\" is true or false, in the first row a number"},
        {"25.json", "[{\"q\": \"x\", \"n\": 1},\n{\"n\": 2, \"n\": 2}]",
         "25.json row 2: the key \"n\" is given twice"},
        {"26.json", "[{\"n\": 1, \"n\": 1}] {",
         "26.json row 1: the key \"n\" is given twice"},
        {"27.csv", "q,n,n\nx,1,2\n",
         "27.csv: the first line has the field \"n\" twice"},
        {"28.jsonl", "{\"q\": \"x\", \"n\": 1e999}\n",
         "28.jsonl:1: the number 1e999 is too large"},
        {"29.jsonl",
         "{\"q\": [{\"role\": \"user\", \"content\": \"x\", \"k\": "
         "18446744073709551615}], \"n\": 1}\n",
         "29.jsonl:1: a number of \"q\" may have been rounded"},
        {"20.jsonl", "{\"q\": \"\\ud800\", \"n\": 1}\n", "20.jsonl:1:"},
    };
    rlf_err err = RLF_ERR_NONE;
    rlf_records rows;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        rlf_status status = read_two(put(arena, bad[i].name, bad[i].text), "q",
                                     "n", &err, &rows);
        if (!ok(status == RLF_USER && strstr(err.sentence, bad[i].want), "%s",
                bad[i].want))
            note("got: %s", err.sentence);
    }
    read_two(put(arena, "name.jsonl", "{\"question\": \"x\", \"n\": 1}\n"),
             "questoin", "n", &err, &rows);
    is_str(err.hint, "did you mean \"question\"?", "a slip of the name");
    static const char *const hints[][3] = {
        {"train", "n",
         "the row has list, object, n; 'p:' is no option, so it makes a column "
         "of a field"},
        {"list", "n",
         "a list is no column, a part is: \"list.0\"; or write it as a text of "
         "JSON, which rlf.json_decode reads in Lua"},
        {"object", "n",
         "an object is no column, a part is: \"object.a\"; or write it as a "
         "text of JSON, which rlf.json_decode reads in Lua"},
        {"list[1]", "n", "a place in a list stands after a dot: \"list.1\""},
    };
    const char *row = put(arena, "row.jsonl",
                          "{\"list\": [\"x\", \"y\"], \"object\": {\"a\": 1}, "
                          "\"n\": 1}\n");
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++) {
        rlf_err_clear(&err);
        read_two(row, hints[i][0], hints[i][1], &err, &rows);
        is_str(err.hint, hints[i][2], hints[i][0]);
    }
    rlf_err_clear(&err);
    ok(read_two("/nowhere/x.jsonl", "q", "n", &err, &rows) == RLF_USER,
       "no such file");
}

/* A row of a file that was changed since it was opened. */
static void
check_changed(void)
{
    static const char text[] = "{\"q\": \"one\"}\n{\"q\": \"two\"}\n"
                               "{\"q\": \"six\"}\n";
    static const char *const names[] = {"w.jsonl", "w.json", "w.csv"};
    static const char *const texts[] = {
        text, "[{\"q\": \"one\"}, {\"q\": \"two\"}, {\"q\": \"six\"}]",
        "q\none\n\"two\"\nsix\n"};
    rlf_record_field column = {.label = "q", .field = "q"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        rlf_err err = RLF_ERR_NONE;
        rlf_records rows;
        const rlf_record_value *value;
        const char *path = put(arena, names[i], texts[i]);
        rlf_records_spec spec = {.path = path,
                                 .columns = &column,
                                 .n_columns = 1,
                                 .csv = ends_in(path, ".csv"),
                                 .in_memory = 1};
        if (rlf_records_read(&spec, arena, &err, &rows) < 0)
            bail("%s", err.sentence);
        FILE *file = fopen(path, "r+");
        fseek(file, strstr(texts[i], "two") - texts[i], SEEK_SET);
        fputs("ten", file);
        fclose(file);
        ok(rlf_records_row(&rows, 1, arena, &err, &value) == RLF_ENV &&
               strstr(err.sentence, "the file was changed meanwhile") &&
               strstr(err.sentence, ends_in(path, ".json") ? " row 2"
                                    : spec.csv             ? ":3:"
                                                           : ":2:"),
           "another row: %s", err.sentence);
        rlf_err_clear(&err);
        ok(rlf_records_row(&rows, 2, arena, &err, &value) == RLF_OK &&
               rlf_str_eq(value->text, RLF_STR("six")),
           "the others are as they were");
        if (truncate(path, 12) != 0)
            bail("cannot cut %s", path);
        ok(rlf_records_row(&rows, 2, arena, &err, &value) == RLF_ENV &&
               strstr(err.sentence, names[i]),
           "a file that is cut: %s", err.sentence);
        rlf_err_clear(&err);
    }
}

/* Bytes that this process has had in memory at most; 0: not known. */
static size_t
most_resident(void)
{
    char line[256];
    size_t kilobytes = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        sscanf(line, "VmHWM: %zu kB", &kilobytes);
    if (file)
        fclose(file);
    return kilobytes << 10;
}

enum { LARGE_ROWS = 8000, LARGE_TEXT = 1500 };

static void
write_large(FILE *file, int format)
{
    char text[LARGE_TEXT + 1];
    memset(text, 'x', LARGE_TEXT);
    text[LARGE_TEXT] = 0;
    fputs(format == 1 ? "[" : format == 2 ? "q,n\n" : "", file);
    for (int i = 0; i < LARGE_ROWS; i++)
        fprintf(file,
                format == 2 ? "%d%s,%d\n" : "{\"q\": \"%d%s\", \"n\": %d}%s", i,
                text, i,
                format == 0           ? "\n"
                : i + 1 == LARGE_ROWS ? "]"
                                      : ",\n");
}

/* Files of 12 MB, of which memory has less than a sixth. */
static void
check_large(void)
{
    static const char *const names[] = {"large.jsonl", "large.json",
                                        "large.csv"};
    rlf_record_field columns[] = {{.label = "q", .field = "q"},
                                  {.label = "n", .field = "n"}};
#if defined __SANITIZE_ADDRESS__
    skip("memory is the sanitizer's");
    return;
#endif
    for (int i = 0; i < 3; i++) {
        rlf_err err = RLF_ERR_NONE;
        rlf_records rows;
        rlf_arena *own = rlf_arena_new(), *pool = rlf_arena_new();
        const char *path = in_root(arena, names[i]);
        FILE *file = fopen(path, "w");
        write_large(file, i);
        fclose(file);
        rlf_records_spec spec = {.path = path,
                                 .columns = columns,
                                 .n_columns = 2,
                                 .csv = i == 2,
                                 .in_memory = 1 << 20};
        size_t before = most_resident(), wrong = 0;
        if (rlf_records_read(&spec, own, &err, &rows) < 0)
            bail("%s", err.sentence);
        for (uint32_t k = 0; k < LARGE_ROWS; k++) {
            size_t row = k * (size_t)7919 % LARGE_ROWS;
            const rlf_record_value *value;
            if (rlf_records_row(&rows, row, pool, &err, &value) < 0)
                bail("%s", err.sentence);
            wrong += (size_t)atoi(value[0].text.p) != row ||
                     rows.columns[1].numbers[row] != (double)row;
            rlf_arena_reset(pool);
        }
        size_t grown = most_resident() - before;
        ok(rows.count == LARGE_ROWS && !wrong, "%s: all rows, in any order",
           names[i]);
        double each = (double)rlf_records_size(&rows).index / LARGE_ROWS;
        ok(each < 12, "%s: where a row is takes %.1f bytes", names[i], each);
        ok(grown < 2 << 20, "%s: %zu kB of memory for 12 MB", names[i],
           grown >> 10);
        rlf_arena_free(own);
        rlf_arena_free(pool);
        remove(path);
    }
}

int
main(void)
{
    rlf_err err = RLF_ERR_NONE;
    make_root();
    arena = rlf_arena_new();
    check_formats();
    check_chats();
    check_cells();
    check_some();
    check_parted();
    check_dropped();
    check_bad();
    check_changed();
    check_large();
    const char *data = getenv("RLFLOW_TEST_DATA");
    const char *gsm = rlf_path_join(arena, data ? data : "/nowhere",
                                    "datasets/gsm8k/train.jsonl");
    if (rlf_file_exists(gsm)) {
        rlf_records rows;
        read_two(gsm, "question", "answer", &err, &rows);
        is_int((int64_t)rows.count, 7473, "GSM8K's training problems");
    } else {
        skip("%s is not there", gsm);
    }
    rlf_arena_free(arena);
    return done();
}

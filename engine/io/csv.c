/* Records of a csv file: see csv.h. */
#include "engine/io/csv.h"

/* Take the rest of `line` from *at into the field at the end of csv->bytes;
 * false if the line ends inside quotes, and then the field goes on. */
static rlf_status
take_quoted(rlf_csv *csv, rlf_str line, size_t *at, rlf_err *err, bool *closed)
{
    *closed = false;
    while (*at < line.n) {
        char c = line.p[(*at)++];
        if (c != '"') {
            rlf_buf_putc(&csv->bytes, c);
        } else if (*at < line.n && line.p[*at] == '"') {
            rlf_buf_putc(&csv->bytes, '"');
            ++*at;
        } else {
            *closed = true;
            if (*at < line.n && line.p[*at] != csv->separator)
                return rlf_fail(err, RLF_USER,
                                "%s:%u: text after a closing quote", csv->path,
                                csv->lines.line);
            return RLF_OK;
        }
    }
    rlf_buf_puts(&csv->bytes, csv->lines.cr ? "\r\n" : "\n");
    return RLF_OK;
}

/* One field from *at on; lines are read on while a quote is open. */
static rlf_status
take_field(rlf_csv *csv, size_t most, rlf_str *line, size_t *at, rlf_err *err)
{
    /* The text's place is kept as an offset while the buffer may move. */
    rlf_csv_field field = {.text.n = csv->bytes.n};
    if (*at < line->n && line->p[*at] == '"') {
        field.quoted = true;
        ++*at;
        for (bool closed = false;;) {
            RLF_TRY(take_quoted(csv, *line, at, err, &closed));
            if (closed)
                break;
            bool more = false;
            RLF_TRY(
                rlf_lines_next(&csv->lines, csv->path, most, err, &more, line));
            if (!more || csv->bytes.n > most)
                return rlf_fail(err, RLF_USER, "%s:%u: a quote is not closed",
                                csv->path, csv->line);
            *at = 0;
        }
    } else {
        while (*at < line->n && line->p[*at] != csv->separator)
            rlf_buf_putc(&csv->bytes, line->p[(*at)++]);
    }
    rlf_buf_putc(&csv->bytes, 0);
    RLF_PUSH(&csv->fields, field);
    return RLF_OK;
}

rlf_status
rlf_csv_next(rlf_csv *csv, size_t most, rlf_err *err, bool *more)
{
    rlf_str line = {0};
    do {
        RLF_TRY(rlf_lines_next(&csv->lines, csv->path, most, err, more, &line));
        if (!*more)
            return RLF_OK;
    } while (!line.n);
    csv->line = csv->lines.line;
    csv->start = csv->lines.start;
    rlf_buf_clear(&csv->bytes);
    csv->fields.count = 0;
    for (size_t at = 0;; at++) {
        RLF_TRY(take_field(csv, most, &line, &at, err));
        if (at >= line.n)
            break;
    }
    for (size_t i = 0; i < csv->fields.count; i++) {
        size_t begin = csv->fields.data[i].text.n;
        size_t end = i + 1 < csv->fields.count ? csv->fields.data[i + 1].text.n
                                               : csv->bytes.n;
        csv->fields.data[i].text =
            (rlf_str){csv->bytes.p + begin, end - begin - 1};
    }
    return RLF_OK;
}

void
rlf_csv_free(rlf_csv *csv)
{
    rlf_buf_free(&csv->lines.buf);
    rlf_buf_free(&csv->bytes);
    RLF_VEC_FREE(&csv->fields);
}

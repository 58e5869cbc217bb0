/* Pipeline tables as text (README): one reader, one printer. */
#include "engine/plan/pipe.h"

#include "engine/base/vec.h"
#include "engine/graph/place.h"

#include <limits.h>
#include <string.h>

/* More of anything than this is a slip, not a pipeline. */
#define MOST 65536

typedef RLF_VEC(rlf_pipe_op) ops;

typedef struct reader {
    const char *text, *name; /* of the file */
    int line;
    rlf_arena *arena;
    rlf_err *err;
    rlf_pipe *out;
    rlf_status status;
    RLF_VEC(rlf_pipe_model) models;
    ops *lists; /* one a place, once `places` was read */
    int places;
} reader;

static rlf_status
wrong(reader *r, const char *what, rlf_str word)
{
    return rlf_fail(r->err, RLF_USER, "%s:%d: %s \"%.*s\"", r->name, r->line,
                    what, (int)rlf_str_cut(word, 60), word.p);
}

/* Words */

static bool
is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* The next word of the line; empty at its end. */
static rlf_str
next_word(rlf_str *line)
{
    while (line->n && is_space(*line->p)) {
        line->p++;
        line->n--;
    }
    rlf_str word = {line->p, 0};
    while (line->n && !is_space(*line->p)) {
        word.n++;
        line->p++;
        line->n--;
    }
    return word;
}

static bool
is_word(rlf_str word, const char *text)
{
    return rlf_str_eq(word, rlf_str_of(text));
}

/* The number at the front of a word, taken off it. */
static bool
take_number(rlf_str *word, int *out)
{
    size_t digits = 0;
    for (*out = 0; digits < word->n && word->p[digits] >= '0' &&
                   word->p[digits] <= '9' && *out <= MOST;
         digits++)
        *out = *out * 10 + (word->p[digits] - '0');
    word->p += digits;
    word->n -= digits;
    return digits && *out <= MOST;
}

static bool
is_number(rlf_str word, int *out)
{
    return take_number(&word, out) && word.n == 0;
}

/* Lines */

static rlf_status
read_places(reader *r, rlf_str line)
{
    rlf_str word = next_word(&line);
    if (r->places)
        return wrong(r, "places are said twice, again", word);
    if (!is_number(word, &r->places) || !r->places)
        return wrong(r, "expected a number of places, not", word);
    r->lists = RLF_NEW_ARRAY(r->arena, ops, r->places);
    return RLF_OK;
}

static int
find_model(const reader *r, rlf_str name)
{
    for (size_t i = 0; i < r->models.count; i++)
        if (is_word(name, r->models.data[i].name))
            return (int)i;
    return -1;
}

static rlf_status
read_path(reader *r, rlf_str line, rlf_pipe_model *m)
{
    int *path = RLF_NEW_ARRAY(r->arena, int, line.n / 2 + 1);
    for (rlf_str word = next_word(&line); word.n; word = next_word(&line))
        if (!is_number(word, &path[m->stages++]))
            return wrong(r, "expected a place, not", word);
    m->path = path;
    return RLF_OK;
}

/* model NAME micros N [forward | split] path PLACE.. */
static rlf_status
read_model(reader *r, rlf_str line)
{
    rlf_pipe_model m = {0};
    rlf_str word = next_word(&line);
    rlf_err *err = r->err;
    if (!word.n || find_model(r, word) >= 0)
        return wrong(r, "expected a new name of a model, not", word);
    for (size_t i = 0; i < word.n; i++)
        if (word.p[i] == ':')
            return wrong(r, "names have no colon, but see", word);
    m.name = rlf_arena_strndup(r->arena, word.p, word.n);
    word = next_word(&line);
    if (!is_word(word, "micros"))
        return wrong(r, "expected micros, not", word);
    word = next_word(&line);
    if (!is_number(word, &m.micros) || !m.micros)
        return wrong(r, "expected a number of micro-batches, not", word);
    word = next_word(&line);
    if (is_word(word, "forward")) {
        m.forward_only = true;
        word = next_word(&line);
    } else if (is_word(word, "split")) {
        m.split = true;
        word = next_word(&line);
    }
    if (!is_word(word, "path"))
        return wrong(r, "expected path, not", word);
    RLF_TRY(read_path(r, line, &m));
    RLF_PUSH_IN(r->arena, &r->models, m);
    return RLF_OK;
}

/* The kinds of operations, as they are written. */
static const char letters[] = "FBW";

/* [NAME:]F3[/CHUNK] or B.. or W.., of the model that *op has, where it says
 * none. */
static bool
read_op(const reader *r, rlf_str word, rlf_pipe_op *op)
{
    rlf_str name = {word.p, 0};
    while (name.n < word.n && word.p[name.n] != ':')
        name.n++;
    *op = (rlf_pipe_op){.model = op->model};
    if (name.n < word.n) {
        op->model = find_model(r, name);
        word.p += name.n + 1;
        word.n -= name.n + 1;
    }
    const char *letter =
        word.n ? memchr(letters, *word.p, RLF_PIPE_KINDS) : NULL;
    if (op->model < 0 || !letter)
        return false;
    op->kind = (rlf_pipe_kind)(letter - letters);
    word.p++;
    word.n--;
    if (!take_number(&word, &op->micro))
        return false;
    if (word.n && *word.p == '/') {
        word.p++;
        word.n--;
        return is_number(word, &op->chunk);
    }
    return !word.n;
}

/* place N: OP OP .. */
static rlf_status
read_list(reader *r, rlf_str line)
{
    int place;
    rlf_pipe_op op = {.model = r->models.count == 1 ? 0 : -1};
    rlf_str word = next_word(&line), number = word;
    if (!take_number(&number, &place) || !is_word(number, ":") ||
        place >= r->places)
        return wrong(r, "expected a place and a colon, not", word);
    for (word = next_word(&line); word.n; word = next_word(&line)) {
        if (!read_op(r, word, &op))
            return wrong(
                r,
                "expected an operation (F0, B0, W0, NAME:F0 of several "
                "models, F0/1 on chunk 1), not",
                word);
        RLF_PUSH_IN(r->arena, &r->lists[place], op);
    }
    return RLF_OK;
}

static rlf_status
read_line(reader *r, rlf_str line)
{
    rlf_str word = next_word(&line);
    if (!word.n || *word.p == '#')
        return RLF_OK;
    if (is_word(word, "places"))
        return read_places(r, line);
    if (is_word(word, "model"))
        return read_model(r, line);
    if (is_word(word, "place"))
        return read_list(r, line);
    return wrong(r, "expected places, model or place, not", word);
}

static rlf_status
read_lines(reader *r, rlf_pipe *out)
{
    rlf_err *err = r->err;
    const char *ends = rlf_place_is_table(r->text) ? ";\n" : "\n";
    for (const char *text = r->text; *text; text += *text != '\0') {
        rlf_str line = {text, strcspn(text, ends)};
        r->line++;
        RLF_TRY(read_line(r, line));
        text += line.n;
    }
    if (!r->places || !r->models.count)
        return rlf_fail(err, RLF_USER, "%s has no line that says %s", r->name,
                        r->places ? "model" : "places");
    *out = (rlf_pipe){.models = r->models.data,
                      .n_models = (int)r->models.count,
                      .places = r->places};
    out->lists = RLF_NEW_ARRAY(r->arena, rlf_pipe_list, r->places);
    for (int i = 0; i < r->places; i++)
        out->lists[i] =
            (rlf_pipe_list){r->lists[i].data, (int)r->lists[i].count};
    return RLF_OK;
}

static void
read_all(void *p)
{
    reader *r = p;
    r->status = read_lines(r, r->out);
}

rlf_status
rlf_pipe_read(const char *text, const char *name, rlf_arena *arena,
              rlf_err *err, rlf_pipe *out)
{
    reader r = {
        .text = text, .name = name, .arena = arena, .err = err, .out = out};
    RLF_TRY(rlf_memory_guard(read_all, &r, "a pipeline's table", err));
    return r.status;
}

/* `ends`: what is behind each line; `brief`: names only where they change. */
static void
print(const rlf_pipe *pipe, const char *ends, bool brief, rlf_buf *out)
{
    rlf_buf_printf(out, "places %d%s", pipe->places, ends);
    for (int i = 0; i < pipe->n_models; i++) {
        const rlf_pipe_model *m = &pipe->models[i];
        rlf_buf_printf(out, "model %s micros %d%s path", m->name, m->micros,
                       m->forward_only ? " forward"
                       : m->split      ? " split"
                                       : "");
        for (int k = 0; k < m->stages; k++)
            rlf_buf_printf(out, " %d", m->path[k]);
        rlf_buf_puts(out, ends);
    }
    for (int place = 0; place < pipe->places; place++) {
        rlf_buf_printf(out, "place %d:", place);
        for (int i = 0, last = -1; i < pipe->lists[place].count; i++) {
            rlf_pipe_op op = pipe->lists[place].ops[i];
            rlf_buf_putc(out, ' ');
            if (pipe->n_models > 1 && (!brief || op.model != last))
                rlf_buf_printf(out, "%s:", pipe->models[op.model].name);
            rlf_buf_printf(out, "%c%d", letters[op.kind], op.micro);
            if (op.chunk)
                rlf_buf_printf(out, "/%d", op.chunk);
            last = op.model;
        }
        rlf_buf_puts(out, brief && place + 1 == pipe->places ? "" : ends);
    }
}

void
rlf_pipe_print(const rlf_pipe *pipe, rlf_buf *out)
{
    print(pipe, "\n", false, out);
}

void
rlf_pipe_print_row(const rlf_pipe *pipe, rlf_buf *out)
{
    print(pipe, "; ", true, out);
}

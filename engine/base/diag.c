/* Diagnostics: collecting, sorting, printing. See diag.h.
 *
 * A shown line is first cut into cells, one per character; carets and the
 * window of a long line are then counted in cells. */
#include "engine/base/diag.h"

#include "engine/base/vec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WINDOW = 100, /* characters of a source line that are shown at most */
    LEAST = 20,   /* and on the narrowest screen */
    NUMBER = 8,   /* columns of the line's number and what follows it */
    DOTS = 3,     /* of "...", where the line goes on */
    TAB = 8,
    CHAIN = 8 /* functions in one another of which messages tell */
};

/* Two diagnostics are the same if they have the same code and place; of those
 * without a place the text. */
static const char *
identity(rlf_diags *diags, const rlf_diag *d)
{
    diags->known.arena = diags->arena;
    return rlf_arena_printf(diags->arena, "%d %s %u %u %s", (int)d->severity,
                            d->code, d->at.source, d->at.first,
                            d->at.source ? "" : d->text);
}

/* A diagnostic that the caller may fill: in the list, or, if it is one too many
 * or known already, beside it. */
static rlf_diag *
add(rlf_diags *diags, rlf_severity severity, const char *code, rlf_span at,
    const char *fmt, va_list ap)
{
    rlf_diag diag = {.severity = severity,
                     .code = code,
                     .at = at,
                     .text = rlf_arena_vprintf(diags->arena, fmt, ap)};
    const char *key = identity(diags, &diag);
    bool keep = !rlf_map_get(&diags->known, key);
    if (keep && severity == RLF_SEVERITY_ERROR) {
        diags->errors++;
        keep = diags->kept < RLF_DIAG_MOST;
        diags->kept += keep;
    }
    if (!keep) {
        rlf_diag *aside = RLF_NEW(diags->arena, rlf_diag);
        *aside = diag;
        return aside;
    }
    rlf_map_put(&diags->known, key, diags);
    RLF_PUSH_IN(diags->arena, &diags->list, diag);
    return &diags->list.data[diags->list.count - 1];
}

rlf_diag *
rlf_diag_error(rlf_diags *diags, const char *code, rlf_span at, const char *fmt,
               ...)
{
    va_list ap;
    va_start(ap, fmt);
    rlf_diag *diag = add(diags, RLF_SEVERITY_ERROR, code, at, fmt, ap);
    va_end(ap);
    return diag;
}

rlf_diag *
rlf_diag_warning(rlf_diags *diags, const char *code, rlf_span at,
                 const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    rlf_diag *diag = add(diags, RLF_SEVERITY_WARNING, code, at, fmt, ap);
    va_end(ap);
    return diag;
}

void
rlf_diag_hint(rlf_diags *diags, rlf_diag *diag, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    diag->hint = rlf_arena_vprintf(diags->arena, fmt, ap);
    va_end(ap);
}

void
rlf_diag_note(rlf_diags *diags, rlf_diag *diag, rlf_span at, const char *fmt,
              ...)
{
    va_list ap;
    va_start(ap, fmt);
    rlf_note note = {at, rlf_arena_vprintf(diags->arena, fmt, ap)};
    va_end(ap);
    RLF_PUSH_IN(diags->arena, &diag->notes, note);
}

void
rlf_diag_move(rlf_diags *diags, size_t i, rlf_span at)
{
    rlf_diag *diag = &diags->list.data[i];
    rlf_map_put(&diags->known, identity(diags, diag), NULL);
    diag->at = at;
    diag->left = diag->right = (rlf_span){0};
    if (!rlf_map_put(&diags->known, identity(diags, diag), diags))
        return;
    bool error = diag->severity == RLF_SEVERITY_ERROR;
    diags->errors -= error;
    diags->kept -= error;
    diags->list.count--;
    memmove(diag, diag + 1, (diags->list.count - i) * sizeof *diag);
}

/* By source, then place; qsort is not stable, so the list's order (kept in
 * `order`) decides among equals. */
typedef struct sorted {
    const rlf_diag *diag;
    size_t order;
} sorted;

static int
compare(const void *left, const void *right)
{
    const sorted *a = left, *b = right;
    rlf_span x = a->diag->at, y = b->diag->at;
    if (x.source != y.source)
        return x.source < y.source ? -1 : 1;
    if (x.first != y.first)
        return x.first < y.first ? -1 : 1;
    return a->order < b->order ? -1 : 1;
}

static sorted *
sort(rlf_diags *diags)
{
    size_t n = diags->list.count;
    sorted *all = RLF_NEW_ARRAY(diags->arena, sorted, n);
    for (size_t i = 0; i < n; i++)
        all[i] = (sorted){&diags->list.data[i], i};
    if (n)
        qsort(all, n, sizeof *all, compare);
    return all;
}

static size_t
errors_left_out(const rlf_diags *diags)
{
    return diags->errors - diags->kept;
}

/* The mark under the byte `at` of a source: '^', '~' or ' '. */
static char
mark(size_t at, rlf_span caret, rlf_span left, rlf_span right)
{
    if (at == caret.first)
        return '^';
    if (at > caret.first && at < caret.last)
        return '~';
    if (left.source == caret.source && at >= left.first && at < left.last)
        return '~';
    if (right.source == caret.source && at >= right.first && at < right.last)
        return '~';
    return ' ';
}

/* Columns of the character at p, of `size` bytes; what is no UTF-8 is shown as
 * one. */
static size_t
width(const rlf_sources *sources, const char *p, size_t size)
{
    bool plain = !size || (unsigned char)*p < 0x80 || !sources->width;
    return plain ? 1 : sources->width(p, size);
}

/* Returns how many of a line's cells are shown, so that a screen holds them in
 * a row; they have so many columns more than cells. */
static size_t
window(const rlf_sources *sources, size_t cells, size_t more)
{
    size_t room = WINDOW, columns = sources->columns;
    size_t wide = NUMBER + cells + more;
    size_t beside = NUMBER + 2 * DOTS + more;
    if (columns && columns < wide)
        room = columns < beside + LEAST ? LEAST : columns - beside;
    room = room < WINDOW ? room : WINDOW;
    return cells < room ? cells : room;
}

/* Print the line that `caret` begins in, and the marks under it. */
static void
print_line(const rlf_sources *sources, rlf_span caret, rlf_span left,
           rlf_span right, rlf_buf *out)
{
    rlf_place place = rlf_sources_place(sources, caret);
    const char *p = place.text.p;
    size_t n = place.text.n;
    size_t begin = (size_t)(p - rlf_sources_get(sources, caret.source)->text);
    size_t cells = 0, more = 0, caret_cell = 0, size;
    for (size_t i = 0; i < n; i += size, cells++) {
        size = rlf_str_utf8(p + i, n - i);
        size_t columns = p[i] == '\t' ? TAB : width(sources, p + i, size);
        more += columns > 1 ? columns - 1 : 0;
        size = size ? size : 1;
        if (begin + i <= caret.first)
            caret_cell = cells;
    }
    size_t shown_cells = window(sources, cells, more),
           before = shown_cells * 3 / 5;
    size_t from = caret_cell > before ? caret_cell - before : 0;
    from = from > cells - shown_cells ? cells - shown_cells : from;
    size_t to = from + shown_cells;
    rlf_buf under = {0};
    rlf_buf_printf(out, "%5u | %s", place.line, from ? "..." : "");
    rlf_buf_puts(&under, from ? "   " : "");
    for (size_t i = 0, cell = 0; i < n; i += size, cell++) {
        size = rlf_str_utf8(p + i, n - i);
        bool shown = cell >= from && cell < to;
        if (shown && size && ((unsigned char)p[i] >= ' ' || p[i] == '\t'))
            rlf_buf_add(out, p + i, size);
        else if (shown)
            rlf_buf_putc(out, '?'); /* control characters, broken UTF-8 */
        char m = mark(begin + i, caret, left, right);
        size_t columns = width(sources, p + i, size);
        if (shown && (columns || m == '^'))
            rlf_buf_putc(&under, m == ' ' && p[i] == '\t' ? '\t' : m);
        for (size_t k = 1; shown && k < columns; k++)
            rlf_buf_putc(&under, m == ' ' ? ' ' : '~');
        size = size ? size : 1;
    }
    if (caret.first >= begin + n) /* at the line's end, or past it */
        rlf_buf_putc(&under, '^');
    while (under.n &&
           (under.p[under.n - 1] == ' ' || under.p[under.n - 1] == '\t'))
        under.p[--under.n] = 0;
    rlf_buf_printf(out, "%s\n      | %s\n", to < cells ? "..." : "",
                   under.n ? under.p : "");
    rlf_buf_free(&under);
}

static void
print_message(const rlf_sources *sources, rlf_span at, rlf_span left,
              rlf_span right, const char *kind, const char *text, rlf_buf *out)
{
    if (at.source) {
        rlf_place place = rlf_sources_place(sources, at);
        rlf_buf_line(out, "%s:%u:%u: ", place.path, place.line, place.column);
    }
    rlf_buf_line(out, "%s: %s\n", kind, text);
    if (at.source)
        print_line(sources, at, left, right, out);
}

static const char *
severity_word(rlf_severity severity)
{
    return severity == RLF_SEVERITY_ERROR ? "error" : "warning";
}

void
rlf_diags_print(rlf_diags *diags, rlf_buf *out)
{
    const rlf_span none = {0};
    const sorted *all = sort(diags);
    for (size_t i = 0; i < diags->list.count; i++) {
        const rlf_diag *d = all[i].diag;
        print_message(diags->sources, d->at, d->left, d->right,
                      severity_word(d->severity), d->text, out);
        for (size_t k = 0; k < d->notes.count; k++)
            print_message(diags->sources, d->notes.data[k].span, none, none,
                          "note", d->notes.data[k].text, out);
        if (d->hint)
            rlf_buf_line(out, "hint: %s\n", d->hint);
    }
    size_t more = errors_left_out(diags);
    if (more)
        rlf_buf_printf(out, "%zu more error%s\n", more, more == 1 ? "" : "s");
}

static void
json_place(const rlf_sources *sources, rlf_span at, rlf_buf *out)
{
    if (!at.source)
        return;
    rlf_place place = rlf_sources_place(sources, at);
    rlf_buf_puts(out, ", \"path\": ");
    rlf_buf_json(out, place.path, strlen(place.path));
    rlf_buf_printf(out,
                   ", \"line\": %u, \"column\": %u, \"first\": %u, "
                   "\"last\": %u",
                   place.line, place.column, at.first, at.last);
}

static void
json_text(const char *name, const char *text, rlf_buf *out)
{
    rlf_buf_printf(out, ", \"%s\": ", name);
    rlf_buf_json(out, text, strlen(text));
}

static void
json_notes(const rlf_sources *sources, const rlf_note *notes, size_t n,
           rlf_buf *out)
{
    for (size_t k = 0; k < n; k++) {
        rlf_buf_puts(out, k ? ", {" : ", \"notes\": [{");
        rlf_buf_puts(out, "\"severity\": \"note\"");
        json_place(sources, notes[k].span, out);
        json_text("text", notes[k].text, out);
        rlf_buf_puts(out, "}");
    }
    rlf_buf_puts(out, n ? "]" : "");
}

void
rlf_diags_print_json(rlf_diags *diags, rlf_buf *out)
{
    const sorted *all = sort(diags);
    for (size_t i = 0; i < diags->list.count; i++) {
        const rlf_diag *d = all[i].diag;
        rlf_buf_printf(out, "{\"severity\": \"%s\"",
                       severity_word(d->severity));
        json_text("code", d->code, out);
        json_place(diags->sources, d->at, out);
        json_text("text", d->text, out);
        if (d->hint)
            json_text("hint", d->hint, out);
        json_notes(diags->sources, d->notes.data, d->notes.count, out);
        rlf_buf_puts(out, "}\n");
    }
    size_t more = errors_left_out(diags);
    if (more)
        rlf_buf_printf(out,
                       "{\"severity\": \"error\", \"code\": \"more\", "
                       "\"text\": \"%zu more error%s\"}\n",
                       more, more == 1 ? "" : "s");
}

/* Print text with `indent` spaces before each of its lines. */
static void
print_indented(const char *text, int indent, rlf_buf *out)
{
    while (*text) {
        size_t n = strcspn(text, "\n");
        rlf_buf_printf(out, "%*s%.*s\n", indent, "", (int)n, text);
        text += n + (text[n] == '\n');
    }
}

/* The places that lead from one in a function's body to the program. */
typedef struct chain {
    rlf_span at;               /* in the program's own file */
    rlf_note notes[2 * CHAIN]; /* then into imported functions, and outwards */
    size_t n;
    rlf_buf text;
} chain;

static void
add_note(chain *c, rlf_span span, bool inwards, const rlf_source_use *use)
{
    char text[128];
    snprintf(text, sizeof text, "in %s'%.*s'%s", inwards ? "" : "this use of ",
             RLF_CUT(60, use->name), inwards ? ", here" : "");
    c->notes[c->n++] = (rlf_note){span, NULL};
    rlf_buf_add(&c->text, text, strlen(text) + 1);
}

/* The innermost place comes last. */
static void
add_inwards(const rlf_sources *sources, rlf_span span, int depth, chain *c)
{
    const rlf_source_use *use = rlf_sources_used(sources, span);
    if (!use || !use->imported || depth == CHAIN)
        return;
    add_inwards(sources, use->at, depth + 1, c);
    add_note(c, span, true, use);
}

static void
follow(const rlf_sources *sources, rlf_span span, chain *c)
{
    *c = (chain){.at = rlf_sources_own(sources, span)};
    add_inwards(sources, span, 0, c);
    const rlf_source_use *use;
    for (rlf_span at = c->at; c->n < RLF_COUNT(c->notes); at = use->at) {
        if (!(use = rlf_sources_used(sources, at)))
            break;
        if (!use->imported)
            add_note(c, use->at, false, use);
    }
    const char *text = c->text.p;
    for (size_t i = 0; i < c->n; i++, text += strlen(text) + 1)
        c->notes[i].text = text;
}

void
rlf_err_print(const rlf_err *err, const rlf_sources *sources, rlf_buf *out)
{
    const rlf_span none = {0};
    chain c = {0};
    if (sources)
        follow(sources, err->span, &c);
    print_message(sources, c.at, none, none, "error", err->sentence, out);
    for (size_t i = 0; i < c.n; i++)
        print_message(sources, c.notes[i].span, none, none, "note",
                      c.notes[i].text, out);
    rlf_buf_free(&c.text);
    if (err->node[0] && err->rank >= 0)
        rlf_buf_printf(out, "  in %s on rank %d\n", err->node, err->rank);
    else if (err->node[0])
        rlf_buf_printf(out, "  in %s\n", err->node);
    else if (err->rank >= 0)
        rlf_buf_printf(out, "  on rank %d\n", err->rank);
    print_indented(err->detail, 2, out);
    if (err->hint[0])
        rlf_buf_line(out, "hint: %s\n", err->hint);
    if (err->status == RLF_BUG && err->trail[0])
        rlf_buf_printf(out, "  passed on by %s\n", err->trail);
}

void
rlf_err_print_json(const rlf_err *err, const rlf_sources *sources, rlf_buf *out)
{
    rlf_buf_puts(out, "{\"severity\": \"error\"");
    json_text("code", "run", out);
    chain c = {0};
    if (sources)
        follow(sources, err->span, &c);
    json_place(sources, c.at, out);
    json_text("text", err->sentence, out);
    if (err->node[0])
        json_text("node", err->node, out);
    if (err->rank >= 0)
        rlf_buf_printf(out, ", \"rank\": %d", err->rank);
    if (err->detail[0])
        json_text("detail", err->detail, out);
    if (err->hint[0])
        json_text("hint", err->hint, out);
    json_notes(sources, c.notes, c.n, out);
    rlf_buf_puts(out, "}\n");
    rlf_buf_free(&c.text);
}

void
rlf_diag_print_log(const char *line, bool json)
{
    rlf_buf text = {0};
    if (json) {
        rlf_buf_puts(&text, "{\"severity\": \"log\", \"code\": \"run\", "
                            "\"text\": ");
        rlf_buf_json(&text, line, strlen(line));
        rlf_buf_puts(&text, "}");
    } else
        rlf_buf_puts(&text, line);
    fprintf(stderr, "%s\n", text.p);
    rlf_buf_free(&text);
}

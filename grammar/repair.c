/* Repairs of a half-written text, by its brackets and line ends alone. */
#include "grammar/repair.h"

#include "engine/base/vec.h"

#include <stdbool.h>
#include <string.h>

typedef struct opened {
    size_t at;
    char what;
} opened;

typedef struct repair {
    char *text;
    size_t n;
    RLF_VEC(opened) stack;
    char last; /* the last character of the line that is no space; 0 */
    size_t last_at;
    size_t line; /* where the line begins */
} repair;

static bool
is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_';
}

static void
blank(repair *r, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (r->text[i] != '\n' && r->text[i] != '\r')
            r->text[i] = ' ';
}

static size_t
line_end(const repair *r, size_t at)
{
    while (at < r->n && r->text[at] != '\n')
        at++;
    return at;
}

/* Brackets that are open in a statement which has ended are left out with the
 * rest of their lines. */
static void
drop_open(repair *r)
{
    size_t was = r->n; /* from there to its line's end all is left out */
    while (r->stack.count && r->stack.data[r->stack.count - 1].what != '{') {
        size_t at = r->stack.data[--r->stack.count].at, to = at;
        while (to < was && r->text[to] != '\n')
            to++;
        blank(r, at, to);
        was = at;
    }
}

/* Does a statement or a declaration begin at `at`, the first of a line? */
static bool
begins(const repair *r, size_t at)
{
    static const char *const words[] = {
#define KEYWORD(token, word_text, begins, ends, word) \
    begins == 'd' || begins == 's' ? word_text : NULL,
#include "grammar/keyword.def"
#undef KEYWORD
    };
    if (r->text[at] == '}')
        return true;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = words[i] ? strlen(words[i]) : 0;
        if (n && at + n < r->n && !memcmp(r->text + at, words[i], n) &&
            (r->text[at + n] == ' ' || r->text[at + n] == '\t'))
            return true;
    }
    return false;
}

static void
end_line(repair *r)
{
    bool two =
        r->last == '.' && r->last_at > 0 && r->text[r->last_at - 1] == '.';
    if (r->last == '.' && !two)
        r->text[r->last_at] = ' ';
    else if (r->last == '=')
        blank(r, r->line, r->last_at + 1);
    r->last = 0;
}

/* Past a string or a comment that begins at i, if one does. */
static size_t
skip(const repair *r, size_t i)
{
    if (r->text[i] == '#')
        return line_end(r, i);
    if (r->text[i] != '"')
        return i;
    for (i++; i < r->n && r->text[i] != '"' && r->text[i] != '\n'; i++)
        if (r->text[i] == '\\' && i + 1 < r->n && r->text[i + 1] != '\n')
            i++;
    return i < r->n && r->text[i] == '"' ? i + 1 : i;
}

static void
take(repair *r, size_t i)
{
    char c = r->text[i];
    static const char closes[] = ")]}", opens[] = "([{";
    const char *closing = c ? strchr(closes, c) : NULL;
    if (!r->last && begins(r, i))
        drop_open(r);
    if (c && strchr(opens, c))
        RLF_PUSH(&r->stack, (opened){i, c});
    if (closing && r->stack.count &&
        r->stack.data[r->stack.count - 1].what == opens[closing - closes])
        r->stack.count--;
    r->last = c;
    r->last_at = i;
}

const char *
rlf_repair(rlf_arena *arena, const char *text, size_t n, size_t *size)
{
    repair r = {.text = memcpy(rlf_malloc(n + 1), text, n), .n = n};
    r.text[n] = 0;
    for (size_t i = 0; i < n;) {
        size_t past = skip(&r, i);
        if (past > i) {
            if (r.text[i] == '"') {
                r.last = '"';
                r.last_at = i;
            }
            i = past;
        } else if (r.text[i] == '\n') {
            end_line(&r);
            r.line = ++i;
        } else {
            if (r.text[i] != ' ' && r.text[i] != '\t' && r.text[i] != '\r')
                take(&r, i);
            i++;
            while (r.last && is_word(r.last) && i < n && is_word(r.text[i]))
                r.last_at = i++;
        }
    }
    end_line(&r);
    drop_open(&r);
    char *out = rlf_arena_alloc(arena, n + 2 * r.stack.count + 2);
    memcpy(out, r.text, n);
    *size = n;
    out[(*size)++] = '\n';
    for (size_t i = r.stack.count; i-- > 0;)
        if (r.stack.data[i].what == '{') {
            out[(*size)++] = '}';
            out[(*size)++] = '\n';
        }
    out[*size] = 0;
    RLF_VEC_FREE(&r.stack);
    free(r.text);
    return out;
}

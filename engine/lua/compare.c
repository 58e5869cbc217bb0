/* Comparisons that the source of a function makes of a sample's fields, as it is
 * written: `sample.response == sample.answer`. Of two values of different kinds
 * Lua says without a word that they are not equal, so these can be told of
 * before anything runs. What is compared by other ways (a local variable, a
 * function) is not seen. */
#include "engine/lua/internal.h"

#include "engine/base/vec.h"

#include <ctype.h>
#include <string.h>

typedef enum token_kind {
    END,
    NAME,
    NUMBER,
    TEXT,
    SIGN, /* any other; of two characters where the second is = or a dot */
} token_kind;

typedef struct token {
    token_kind kind;
    rlf_str text;
    unsigned line;
} token;

typedef struct scanner {
    const char *at, *end;
    unsigned line;
} scanner;

/* ---- tokens ---- */

/* The length of what opens a long bracket at p, "[==[", or 0. */
static size_t
long_opening(const char *p, const char *end)
{
    size_t n = 1;
    if (p == end || *p != '[')
        return 0;
    while (p + n < end && p[n] == '=')
        n++;
    return p + n < end && p[n] == '[' ? n + 1 : 0;
}

/* Goes behind a long bracket whose opening has n characters. */
static void
skip_long(scanner *s, size_t n)
{
    s->at += n;
    for (; s->at < s->end; s->at++) {
        s->line += *s->at == '\n';
        if (*s->at != ']' || (size_t)(s->end - s->at) < n || s->at[n - 1] != ']')
            continue;
        size_t k = 1;
        while (k < n - 1 && s->at[k] == '=')
            k++;
        if (k == n - 1) {
            s->at += n;
            return;
        }
    }
}

static void
skip_blank(scanner *s)
{
    while (s->at < s->end) {
        if (isspace((unsigned char)*s->at)) {
            s->line += *s->at++ == '\n';
        } else if (s->end - s->at >= 2 && memcmp(s->at, "--", 2) == 0) {
            s->at += 2;
            size_t n = long_opening(s->at, s->end);
            if (n)
                skip_long(s, n);
            while (!n && s->at < s->end && *s->at != '\n')
                s->at++;
        } else {
            return;
        }
    }
}

static void
skip_quoted(scanner *s)
{
    char quote = *s->at++;
    while (s->at < s->end && *s->at != quote) {
        if (*s->at == '\\' && s->at + 1 < s->end)
            s->at++;
        s->line += *s->at++ == '\n';
    }
    s->at += s->at < s->end;
}

static bool
is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static token
next_token(scanner *s)
{
    skip_blank(s);
    const char *from = s->at;
    token t = {.line = s->line};
    if (s->at == s->end)
        return t;
    size_t opening = long_opening(s->at, s->end);
    if (isdigit((unsigned char)*s->at)) {
        t.kind = NUMBER;
        while (s->at < s->end && (is_word(*s->at) || *s->at == '.'))
            s->at++;
    } else if (is_word(*s->at)) {
        t.kind = NAME;
        while (s->at < s->end && is_word(*s->at))
            s->at++;
    } else if (*s->at == '"' || *s->at == '\'' || opening) {
        t.kind = TEXT;
        if (opening)
            skip_long(s, opening);
        else
            skip_quoted(s);
    } else {
        t.kind = SIGN;
        s->at++;
        if (s->at < s->end &&
            ((*s->at == '=' && strchr("=~<>", *from)) ||
             (*s->at == '.' && *from == '.')))
            s->at++;
    }
    t.text = (rlf_str){from, (size_t)(s->at - from)};
    return t;
}

static bool
is(const token *t, const char *text)
{
    return rlf_str_eq(t->text, rlf_str_of(text)) && t->kind != TEXT;
}

/* ---- operands ---- */

/* Does what stands before an operand leave it whole: no operator that binds
 * more than a comparison, and no name whose end it would be? */
static bool
may_begin(const token *before)
{
    static const char *const words[] = {"return", "and",    "or",   "if",
                                        "elseif", "while",  "until", "(",
                                        "=",      ",",      "{",    "[",
                                        "then",   "do",     "else"};
    for (size_t i = 0; i < RLF_COUNT(words); i++)
        if (is(before, words[i]))
            return true;
    return before->kind == END;
}

/* Does what stands behind an operand leave it whole? */
static bool
may_end(const token *after)
{
    static const char signs[] = ".:([{+-*/%^&|~<>\"'";
    return after->kind != TEXT &&
           (after->kind != SIGN || !strchr(signs, after->text.p[0]));
}

/* The operand that begins at token i of n: how many tokens it takes, 0: none
 * that is looked at. */
static size_t
operand_at(const token *t, size_t i, size_t n, rlf_lua_operand *out)
{
    *out = (rlf_lua_operand){.text = t[i].text};
    if (i + 2 < n && t[i].kind == NAME && is(&t[i + 1], ".") &&
        t[i + 2].kind == NAME) {
        out->object = t[i].text;
        out->field = t[i + 2].text;
        out->text.n = (size_t)(out->field.p + out->field.n - out->text.p);
        return 3;
    }
    bool flag = is(&t[i], "true") || is(&t[i], "false");
    out->kind = t[i].kind == TEXT     ? RLF_LUA_BYTES
                : t[i].kind == NUMBER ? RLF_LUA_NUMBER
                                      : RLF_LUA_BOOL;
    return flag || t[i].kind == TEXT || t[i].kind == NUMBER;
}

/* ---- comparisons ---- */

/* A token before, an operand, == or ~=, an operand, a token behind. */
enum { WINDOW = 9 };

/* Is there a comparison whose first operand begins at token 1 of the window? */
static bool
comparison_at(const token *t, rlf_lua_comparison *out)
{
    size_t n = operand_at(t, 1, WINDOW, &out->left);
    if (!n || !may_begin(&t[0]))
        return false;
    const token *sign = &t[1 + n];
    if (!is(sign, "==") && !is(sign, "~="))
        return false;
    size_t from = 2 + n, k = operand_at(t, from, WINDOW, &out->right);
    out->line = sign->line;
    return k && from + k < WINDOW && may_end(&t[from + k]);
}

void
rlf_lua_compared(const rlf_lua_program *program,
                 void (*visit)(void *arg, const rlf_lua_comparison *found),
                 void *arg)
{
    rlf_str source = rlf_lua_skip_head(program->source);
    if (!source.n)
        return;
    scanner s = {source.p, source.p + source.n,
                 program->line ? program->line : 1};
    token t[WINDOW] = {0};
    for (size_t i = 1; i < WINDOW; i++)
        t[i] = next_token(&s);
    while (t[1].kind != END) {
        rlf_lua_comparison found;
        if (comparison_at(t, &found))
            visit(arg, &found);
        memmove(t, t + 1, (WINDOW - 1) * sizeof *t);
        t[WINDOW - 1] = next_token(&s);
    }
}

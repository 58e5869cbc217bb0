/* From lines to statements: the filter between scanner and parser.
 *
 * A line's end ends the statement, except inside ( ) and [ ], after a token
 * that cannot end a statement, and before one that cannot begin one. The
 * filter also drops the rest of a broken statement, so that one slip gives one
 * error. */
#include "grammar/syntax.h"
#include "grammar/parser.h"
#include "grammar/token.h"

#include <string.h>

typedef struct keyword {
    const char *text;
    int token;
    char begins;
    bool ends, word;
} keyword;

static const keyword keywords[] = {
#define KEYWORD(token, text, begins, ends, word) \
    {text, token, begins, ends, word},
#include "grammar/keyword.def"
#undef KEYWORD
};

static const keyword *
keyword_of(int token)
{
    for (size_t i = 0; i < RLF_COUNT(keywords); i++) {
        if (keywords[i].token == token)
            return &keywords[i];
    }
    return NULL;
}

int
rlf_lex_word(const char *text, size_t n)
{
    for (size_t i = 0; i < RLF_COUNT(keywords); i++) {
        if (keywords[i].begins != 'c' && strlen(keywords[i].text) == n &&
            !memcmp(keywords[i].text, text, n))
            return keywords[i].token;
    }
    return NAME;
}

const char *
rlf_syntax_text(const rlf_syntax *syntax, rlf_span span)
{
    return rlf_arena_strndup(syntax->maker.arena,
                             syntax->maker.text + span.first,
                             span.last - span.first);
}

void
rlf_lex_comment(rlf_syntax *syntax, size_t first, size_t last)
{
    const char *text = syntax->maker.text;
    while (last > first && (text[last - 1] == '\r' || text[last - 1] == ' ' ||
                            text[last - 1] == '\t'))
        last--;
    rlf_ast_comment comment = {
        .span = {.source = syntax->source,
                 .first = (uint32_t)first,
                 .last = (uint32_t)last},
        .doc = last - first >= 2 && text[first + 1] == '#',
    };
    RLF_PUSH_IN(syntax->maker.arena, &syntax->program->comments, comment);
}

/* May a line end after this token? */
static bool
ends(int token)
{
    const keyword *k = keyword_of(token);
    return k ? k->ends
             : token == NAME || token == NUMBER || token == STRING ||
                   token == STRAY || token == ')' || token == ']' ||
                   token == '}';
}

/* May a statement or a declaration begin with it? */
static bool
begins(int token)
{
    const keyword *k = keyword_of(token);
    return k ? k->begins != 0 : token == NAME || token == STRAY;
}

static bool
begins_decl(int token)
{
    const keyword *k = keyword_of(token);
    return k && (k->begins == 'd' || k->begins == 'c');
}

/* ---- brackets ---- */

static bool
opens(int token)
{
    return token == '(' || token == '[' || token == '{';
}

static int
top(const rlf_syntax *syntax)
{
    return syntax->depth ? syntax->nest[syntax->depth - 1].token : 0;
}

/* A closing bracket also closes what was left open inside. One that matches
 * nothing is the parser's to complain about. */
static void
close_bracket(rlf_syntax *syntax, int token)
{
    int open = token == ')' ? '(' : token == ']' ? '[' : '{';
    for (int i = syntax->depth; i > 0; i--) {
        if (syntax->nest[i - 1].token == open) {
            syntax->depth = i - 1;
            return;
        }
        if (syntax->nest[i - 1].token == '{')
            return;
    }
}

/* Keep count of `token`; STRAY instead of it where nesting goes too deep. */
static int
count_bracket(rlf_syntax *syntax, int token, rlf_span span)
{
    if (opens(token)) {
        if (syntax->depth == RLF_LEX_NEST)
            return STRAY;
        syntax->nest[syntax->depth++] = (rlf_bracket){token, span};
    } else if (token == ')' || token == ']' || token == '}') {
        close_bracket(syntax, token);
    }
    return token;
}

static void
leave_line(rlf_syntax *syntax)
{
    while (syntax->depth && top(syntax) != '{')
        syntax->depth--;
}

const rlf_bracket *
rlf_lex_open_bracket(const rlf_syntax *syntax, int token)
{
    /* The parser stands before `token`, which is counted already. */
    int depth = syntax->depth - (opens(token) && syntax->depth ? 1 : 0);
    return depth ? &syntax->nest[depth - 1] : NULL;
}

/* Drop the declaration that was about to begin, unless it is one. */
static bool
drop_held(rlf_syntax *syntax)
{
    if (syntax->held && begins_decl(syntax->held))
        return false;
    if (syntax->held)
        count_bracket(syntax, syntax->held, syntax->held_span);
    syntax->held = 0;
    return true;
}

/* ---- bodies by indentation ---- */

static size_t
line_of(const rlf_syntax *syntax, size_t at)
{
    const char *text = syntax->maker.text;
    while (at && text[at - 1] != '\n')
        at--;
    return at;
}

static bool
is_one_of(const char *text, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t k = strlen(words[i]);
        if (!strncmp(text, words[i], k) &&
            !(text[k] == '_' || (text[k] >= '0' && text[k] <= '9') ||
              (text[k] >= 'a' && text[k] <= 'z')))
            return true;
    }
    return false;
}

/* The words that go on with a statement of Python's. */
static bool
goes_on(const char *text)
{
    static const char *const words[] = {"else", "elif", "except", "finally"};
    return is_one_of(text, words, RLF_COUNT(words));
}

/* Of `if c:` and its like, which the body follows indented: the blanks before
 * the line of byte `at`, and 1. 0: it is something else. */
static size_t
suite_of(const rlf_syntax *syntax, size_t at)
{
    static const char *const words[] = {"if", "for", "while", "try", "with",
                                        "def"};
    const char *text = syntax->maker.text;
    size_t begin = line_of(syntax, at), first = begin, last = begin;
    first += strspn(text + begin, " \t");
    last += strcspn(text + begin, "\n#");
    while (last > first && strchr(" \t\r", text[last - 1]))
        last--;
    size_t head = first + strspn(text + first, "} \t");
    bool begins = is_one_of(text + head, words, RLF_COUNT(words)) ||
                  goes_on(text + head);
    return begins && text[last - 1] == ':' ? first - begin + 1 : 0;
}

/* Is the token at `at`, which begins its line, of such a body, or of what goes
 * on with its statement? */
static bool
is_in_suite(const rlf_syntax *syntax, size_t at)
{
    size_t blanks = at - line_of(syntax, at) + 1;
    return blanks > syntax->suite ||
           (blanks == syntax->suite && goes_on(syntax->maker.text + at));
}

void
rlf_lex_recover(rlf_syntax *syntax, rlf_lex_skip how, int token)
{
    syntax->program->broken = true;
    if (syntax->skip != RLF_LEX_KEEP || token == END)
        return;
    /* A block that has just been opened belongs to what is dropped. */
    bool block = token == '{' && top(syntax) == '{';
    rlf_bracket brace = {0};
    if (block)
        brace = syntax->nest[--syntax->depth];
    leave_line(syntax);
    if (token == T && (how == RLF_LEX_SKIP_STMT || !drop_held(syntax)))
        return;
    if (token == '}' && how == RLF_LEX_SKIP_STMT)
        return;
    syntax->skip = how;
    syntax->suite =
        how == RLF_LEX_SKIP_STMT ? suite_of(syntax, syntax->scan.at) : 0;
    syntax->prev = T;
    syntax->skip_depth = syntax->depth;
    if (block)
        syntax->nest[syntax->depth++] = brace;
}

/* ---- tokens ---- */

/* The next token of the scanner; *line: a line ended before it, at `at`. */
static int
scan(rlf_syntax *syntax, rlf_span *span, bool *line, rlf_span *at)
{
    rlf_scan *scan = &syntax->scan;
    *line = false;
    for (;;) {
        int token = rlf_raw_lex(syntax->scanner);
        if (!token)
            scan->at = scan->next = syntax->size;
        *span = (rlf_span){syntax->source, (uint32_t)scan->at,
                           (uint32_t)scan->next, 0};
        if (token != RLF_TOKEN_LINE)
            return token;
        if (!*line)
            *at = *span;
        *line = true;
    }
}

/* After a dot and an arrow reserved words are names. */
static int
as_name(const rlf_syntax *syntax, int token)
{
    const keyword *k = keyword_of(token);
    bool after = syntax->prev == '.' || syntax->prev == ARROW;
    return k && k->word && after ? NAME : token;
}

/* The word of a declaration of cluster files, where one can begin; a name
 * anywhere else. In a block that is dropped after an error the name of what is
 * declared has to follow: only then it is no statement of a broken flow. */
static int
as_declaration(const rlf_syntax *syntax, int token, rlf_span span, bool line)
{
    const char *text = syntax->maker.text;
    size_t n = span.last - span.first, next = span.last;
    if (token != NAME || (!line && syntax->prev != T))
        return token;
    while (text[next] == ' ' || text[next] == '\t')
        next++;
    bool named = (text[next] >= 'a' && text[next] <= 'z') ||
                 (text[next] >= 'A' && text[next] <= 'Z') || text[next] == '_';
    bool may =
        syntax->skip == RLF_LEX_SKIP_DECL
            ? line && (named || syntax->depth == 0)
            : syntax->depth == 0 && (syntax->prev == T || ends(syntax->prev));
    for (size_t i = 0; may && i < RLF_COUNT(keywords); i++)
        if (keywords[i].begins == 'c' && strlen(keywords[i].text) == n &&
            !memcmp(keywords[i].text, text + span.first, n))
            return keywords[i].token;
    return token;
}

/* Is `token` dropped, being part of something broken? */
static bool
skipped(rlf_syntax *syntax, int token, rlf_span span, bool line)
{
    if (syntax->skip == RLF_LEX_KEEP || token == END)
        return false;
    if (syntax->skip == RLF_LEX_SKIP_DECL) {
        if (!(line && begins_decl(token))) {
            if (!opens(token) || syntax->depth < RLF_LEX_NEST)
                count_bracket(syntax, token, span);
            return true;
        }
        syntax->depth = 0;
        return false;
    }
    if (syntax->suite && line && !is_in_suite(syntax, span.first))
        syntax->suite = 0;
    bool outside = syntax->depth <= syntax->skip_depth && !syntax->suite;
    bool over = token == T || token == '}' || (line && begins(token));
    if (outside && over)
        return false;
    if (!opens(token) || syntax->depth < RLF_LEX_NEST)
        count_bracket(syntax, token, span);
    return true;
}

static int
emit(rlf_syntax *syntax, int token, rlf_span span, RLF_YYSTYPE *value)
{
    token = count_bracket(syntax, token, span);
    if (token == NAME || keyword_of(token))
        value->name = (rlf_ast_name){span, rlf_syntax_text(syntax, span)};
    syntax->prev = token;
    return token;
}

int
rlf_yylex(RLF_YYSTYPE *value, RLF_YYLTYPE *where, rlf_syntax *syntax)
{
    rlf_span span, at = {0};
    bool line, after_line = false;
    if (syntax->held) {
        int token = syntax->held;
        syntax->held = 0;
        *where = syntax->held_span;
        return emit(syntax, token, *where, value);
    }
    int token;
    do {
        token = scan(syntax, &span, &line, &at);
        after_line = line;
        if (token == ';')
            token = T;
        token = as_name(syntax, token);
        token = as_declaration(syntax, token, span, line);
    } while (skipped(syntax, token, span, line));

    bool resume = syntax->skip != RLF_LEX_KEEP;
    syntax->skip = RLF_LEX_KEEP;
    *where = span;
    if (token == T) {
        syntax->prev = T;
        return T;
    }
    bool inside = top(syntax) == '(' || top(syntax) == '[';
    bool ended = after_line && !inside && begins(token) &&
                 (resume || ends(syntax->prev));
    if (ended) {
        syntax->held = token;
        syntax->held_span = span;
        syntax->prev = T;
        *where = at;
        return T;
    }
    return emit(syntax, token, span, value);
}

/* Syntax errors in words.
 *
 * The parser's table says which tokens could stand here (with lookahead
 * correction, so the list is true). Lists of twenty tokens help nobody:
 * families of them are named (an expression, a statement), and frequent slips
 * get a hint. */
#include "grammar/report.h"

#include "grammar/other_syntax.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* ---- what was expected ---- */

void
rlf_report_expect(rlf_report *report, const char *token)
{
    if (report->n < (int)RLF_COUNT(report->expected))
        report->expected[report->n++] = token;
}

static bool
in(const char *const *set, const char *token)
{
    for (; *set; set++) {
        if (!strcmp(*set, token))
            return true;
    }
    return false;
}

bool
rlf_report_expects(const rlf_report *report, const char *token)
{
    for (int i = 0; i < report->n; i++) {
        if (!strcmp(report->expected[i], token))
            return true;
    }
    return false;
}

/* 'd', 'c', 's' or 0 as in keyword.def; -1: not a reserved word. */
static int
keyword_begins(const char *text)
{
#define KEYWORD(token, word, begins, ends, label) \
    if (!strcmp(text, word))                      \
        return begins;
#include "grammar/keyword.def"
#undef KEYWORD
    return -1;
}

/* A family is expected where all of `signs` are, and then stands for each of
 * `members` (and, if `words`, for every reserved word). */
typedef struct family {
    const char *name; /* NULL: do not mention it */
    const char *signs[3];
    const char *members[24];
    bool words;
} family;

// clang-format off
static const family families[] = {
    {"an expression", {"a number", "'['"},
     {"a name", "a number", "a string", "true", "false", "'('", "'['", "'-'",
      "not"}, true},
    {"a name", {"import", "update"}, {"a name"}, true},
    {"a declaration", {"import", "flow"}, {NULL}, true},
    {"a statement", {"minimize", "for"}, {"a name"}, true},
    {NULL, {"'*'", "'+'"},
     {"'+'", "'-'", "'*'", "'/'", "'%'", "'^'", "'<'", "'>'", "<=", ">=", "==",
      "!=", "'?'", "and", "or", "'.'", "'('", "'['", "over"}, false},
    {NULL, {"'.'", "'['"}, {"'.'", "'('", "'['", "'^'"}, false},
};
// clang-format on

static bool
family_expected(const family *f, const rlf_report *report)
{
    for (size_t i = 0; i < RLF_COUNT(f->signs) && f->signs[i]; i++) {
        if (!rlf_report_expects(report, f->signs[i]))
            return false;
    }
    return true;
}

/* Replace families by their names. A family that is not to be mentioned stays
 * away only if something else is left to say. */
static void
fold(rlf_report *report)
{
    for (size_t k = 0; k < RLF_COUNT(families); k++) {
        const family *f = &families[k];
        if (!family_expected(f, report))
            continue;
        rlf_report left = {.n = 0};
        if (f->name)
            rlf_report_expect(&left, f->name);
        for (int i = 0; i < report->n; i++) {
            const char *token = report->expected[i];
            if (in(f->members, token) ||
                (f->words && keyword_begins(token) >= 0))
                continue;
            rlf_report_expect(&left, token);
        }
        if (!left.n)
            continue;
        memcpy(report->expected, left.expected, sizeof left.expected);
        report->n = left.n;
    }
}

static void
drop(rlf_report *report, const char *token)
{
    int n = 0;
    for (int i = 0; i < report->n; i++) {
        if (strcmp(report->expected[i], token))
            report->expected[n++] = report->expected[i];
    }
    report->n = n;
}

/* "a name, ',' or ')'" */
static const char *
join(const rlf_syntax *syntax, const rlf_report *report)
{
    rlf_buf buf = {0};
    for (int i = 0; i < report->n; i++) {
        const char *token = report->expected[i];
        bool plain = token[0] == '\'' || strchr(token, ' ');
        rlf_buf_printf(&buf, "%s%s%s%s",
                       i == 0               ? ""
                       : i + 1 == report->n ? " or "
                                            : ", ",
                       plain ? "" : "'", token, plain ? "" : "'");
    }
    char *text =
        rlf_arena_strndup(syntax->maker.arena, buf.p ? buf.p : "", buf.n);
    rlf_buf_free(&buf);
    return text;
}

/* ---- the likely reason ---- */

typedef struct slip {
    const char *text;
    const char *hint;
} slip;

/* Words and signs of other languages, met where they cannot stand. */
static const slip slips[] = {
    {"&&", "write 'and'"},
    {"||", "write 'or'"},
    {"!", "write 'not', or '!=' to compare"},
    {"**", "a power is written '^'"},
    {"@", "values are multiplied by '*'; matrices are inside models alone"},
    {"//", "a comment starts with '#'; a division is one '/'"},
    {"<>", "write '!='"},
    {"~=", "write '!='"},
    {"=>", "write '>=' to compare"},
    {"<-", "write '=' to give a name, ':=' to change a state"},
    {"++", "names are given once; a state changes with ':='"},
    {"...", "a range is written with two points"},
    {"elif", "write 'else if'"},
    {"elseif", "write 'else if'"},
    {"then", "a body stands in braces: if c { ... }"},
    {"do", "a body stands in braces: for a in s.split(...) { ... }"},
    {"end", "a body ends with '}'"},
    {"let", "a name is given by 'name = value' alone"},
    {"local", "a name is given by 'name = value' alone"},
    {"var", "a name is given by 'name = value' alone"},
    {"const", "a name is given by 'name = value' alone"},
    {"function", "write 'def f(x) = ...'"},
    {"fn", "write 'def f(x) = ...'"},
    {"while",
     "there is no 'while': use 'for' over s.split(...) and 'break if'"},
    {"print", "write 'report name = value'"},
    {"from", "write 'import \"std/loss\"'"},
    {"maximize", "write 'minimize -(...)'"},
    {"is", "write '=='; there is no None: every value is there"},
    {"lambda", "a function is declared outside of the flow: def f(x) = ..."},
    {"assert", "'break if c' ends a run, 'report name = c' writes it down"},
    {"raise", "'break if c' ends a run, 'report name = c' writes it down"},
    {"del", "leave it out: a name holds for its block"},
    {"global", "leave it out: a state is known everywhere"},
    {"nonlocal", "leave it out: a state is known everywhere"},
    {"with", "leave it out: 'sg(x)' takes no derivative of x"},
    {"try", "leave it out: an error ends the run, and says where"},
    {"&", "write 'and'"},
    {"|", "write 'or'"},
};

static const char *
slip_hint(const char *text)
{
    for (size_t i = 0; i < RLF_COUNT(slips); i++) {
        if (!strcmp(slips[i].text, text))
            return slips[i].hint;
    }
    size_t n = strlen(text);
    if (n == 2 && text[1] == '=' && strchr("+-*/", text[0]))
        return "names are given once; a state changes with 's := s + 1'";
    return NULL;
}

#define BLANK "this is no plain blank, as copied texts have it: write one"

/* Signs that copied texts have in the place of plain ones, in UTF-8. */
static const struct {
    const char *bytes, *hint;
} copied[] = {
    {"\xc2\xa0", BLANK},
    {"\xe2\x80\x89", BLANK},
    {"\xe2\x80\x8b", BLANK},
    {"\xe2\x80\xaf", BLANK},
    {"\xe3\x80\x80", BLANK},
    {"\xef\xbb\xbf", BLANK},
    {"\xe2\x80\x93", "write a plain '-'"},
    {"\xe2\x80\x94", "write a plain '-'"},
    {"\xe2\x88\x92", "write a plain '-'"},
    {"\xc3\x97", "a product is written with '*'"},
    {"\xe2\x89\xa4", "write '<='"},
    {"\xe2\x89\xa5", "write '>='"},
    {"\xe2\x80\x98", "strings stand in double quotes: \"...\""},
    {"\xe2\x80\x99", "strings stand in double quotes: \"...\""},
};

/* Not a hint, but what is wrong. */
static const char too_deep[] =
    "brackets stand more than 200 deep in one another";

static const char *
stray_hint(const rlf_syntax *syntax, const char *text)
{
    if (text[0] == '"')
        return "the string is not closed before the end of the line";
    if (strchr("([{", text[0]))
        return too_deep;
    if (text[0] == '\'' || !strncmp(text, "\xe2\x80\x9c", 3) ||
        !strncmp(text, "\xe2\x80\x9d", 3))
        return "strings stand in double quotes: \"...\"";
    for (size_t i = 0; i < RLF_COUNT(copied); i++)
        if (!strncmp(text, copied[i].bytes, strlen(copied[i].bytes)))
            return copied[i].hint;
    if (isdigit((unsigned char)text[0])) {
        const char *unit = rlf_other_syntax_unit(syntax, text);
        return text[strlen(text) - 1] == '.'
                   ? "a number has digits on both sides of its point"
               : unit ? unit
                      : "units of numbers are ms s min h, K M, KB MB GB";
    }
    return slip_hint(text);
}

/* The place of the word that ends before `span`; `over_lines`: maybe on a line
 * before. Empty if there is no word. */
static rlf_span
place_before(const rlf_syntax *syntax, rlf_span span, bool over_lines)
{
    const char *text = syntax->maker.text;
    size_t last = span.first;
    while (last &&
           (text[last - 1] == ' ' || text[last - 1] == '\t' ||
            (over_lines && (text[last - 1] == '\n' || text[last - 1] == '\r'))))
        last--;
    size_t first = last;
    while (first &&
           (isalnum((unsigned char)text[first - 1]) || text[first - 1] == '_'))
        first--;
    return (rlf_span){span.source, (uint32_t)first, (uint32_t)last, 0};
}

static const char *
word_before(const rlf_syntax *syntax, rlf_span span)
{
    return rlf_syntax_text(syntax, place_before(syntax, span, false));
}

/* The reserved word that a name was meant to be, of those that begin as
 * `begins` says ('s' or 'd'), or, if it is 0, that are expected. */
static const char *
nearest_keyword(const rlf_report *report, const char *name, char begins)
{
    const char *words[64];
    size_t n = 0;
#define KEYWORD(token, word, begin, ends, label)                     \
    if (begins ? begins == begin : rlf_report_expects(report, word)) \
        words[n++] = word;
#include "grammar/keyword.def"
#undef KEYWORD
    return rlf_str_nearest(name, words, n);
}

/* Was a reserved word misspelled: this name, where one was expected, or the one
 * before it, with which a statement or a declaration began? */
static const char *
misspelled(const rlf_syntax *syntax, const rlf_report *report, const char *text)
{
    const char *before = word_before(syntax, report->span), *meant = NULL;
    const char *known = slip_hint(before);
    if (known)
        return known;
    bool name = !strcmp(report->token, "a name");
    bool began =
        rlf_report_expects(report, "':='") || rlf_report_expects(report, ":=");
    if (name)
        meant = nearest_keyword(report, text, 0);
    if (meant)
        return rlf_arena_printf(syntax->maker.arena, "did you mean '%s'?",
                                meant);
    if (began && keyword_begins(before) < 0)
        meant = nearest_keyword(report, before, 's');
    return meant ? rlf_arena_printf(syntax->maker.arena,
                                    "did you mean '%s' by '%s'?", meant, before)
                 : NULL;
}

static bool
comparison(const char *text)
{
    static const char *const signs[] = {"<", ">", "<=", ">=", "==", "!=", NULL};
    return in(signs, text);
}

/* Is the word followed by `=` or `:=`? */
static bool
given(const rlf_syntax *syntax, rlf_span span)
{
    const char *p = syntax->maker.text + span.last;
    while (*p == ' ' || *p == '\t')
        p++;
    return (p[0] == '=' && p[1] != '=') || (p[0] == ':' && p[1] == '=');
}

/* The text before `at`, on its line. */
static const char *
line_before(const rlf_syntax *syntax, uint32_t at)
{
    const char *text = syntax->maker.text;
    uint32_t first = at;
    while (first && text[first - 1] != '\n')
        first--;
    return rlf_arena_strndup(syntax->maker.arena, text + first, at - first);
}

/* Brackets that are open in a text of one line, strings apart. */
static bool
ends_in_call(const char *line)
{
    int depth = 0;
    bool quoted = false;
    for (; *line && *line != '#'; line++) {
        quoted = quoted != (*line == '"');
        if (!quoted)
            depth += *line == '(' ? 1 : *line == ')' ? -1 : 0;
    }
    return depth > 0;
}

/* An operator at the end of the line before, which this one goes on with: where
 * it stands, or an empty span. */
static rlf_span
sign_before(const rlf_syntax *syntax, rlf_span at)
{
    const char *text = syntax->maker.text;
    uint32_t last = at.first;
    while (last && text[last - 1] != '\n')
        last--;
    while (last && strchr(" \t\r\n", text[last - 1]))
        last--;
    bool sign =
        last && strchr("+-*/%^<>=?:", text[last - 1]) && at.first > last;
    const char *line = line_before(syntax, last);
    return sign && !strchr(line, '#') ? (rlf_span){at.source, last - 1, last, 0}
                                      : (rlf_span){0};
}

/* `=` where it cannot stand: an argument, a line that goes on, a comparison. */
static const char *
equal_hint(const rlf_syntax *syntax, rlf_span at)
{
    rlf_span sign = sign_before(syntax, at);
    const char *before = word_before(syntax, at);
    const char *line = line_before(syntax, at.first);
    while (*line == ' ' || *line == '\t')
        line++;
    size_t n = strlen(before);
    bool first = n && !strncmp(line, before, n) &&
                 strspn(line + n, " \t") == strlen(line + n);
    if (first && sign.source)
        return rlf_arena_printf(
            syntax->maker.arena,
            "line %u ends with '%c', so it goes on here: is its rest missing?",
            (unsigned)rlf_sources_place(syntax->sources, sign).line,
            syntax->maker.text[sign.first]);
    if (*before && ends_in_call(line))
        return rlf_other_syntax_argument(syntax, at, before);
    return "'==' compares, '=' only gives a name";
}

/* A hint at syntax of other languages, by where it stands. */
static const char *
habit_hint(const rlf_syntax *syntax, const rlf_report *report, const char *text,
           const char *before)
{
    const char *p = syntax->maker.text + report->span.first;
    bool name = !strcmp(report->token, "a name");
    bool after_number =
        *before && strspn(before, "0123456789_") == strlen(before);
    bool value = rlf_report_expects(report, "a number") &&
                 rlf_report_expects(report, "'['");
    bool body = rlf_report_expects(report, "'{'") && name && slip_hint(text);
    const char *line = line_before(syntax, report->span.first);
    const char *word = line + strspn(line, " 	");
    if (!strncmp(p, "--", 2) || !strncmp(word, "--", 2) ||
        !strncmp(p, "\"\"\"", 3))
        return "a comment starts with '#'";
    if (*p == ',' && after_number && isdigit((unsigned char)p[1]))
        return "the point of a decimal number is '.', as in 0.02";
    if (body)
        return slip_hint(text);
    if (after_number && rlf_report_expects(report, "'*'") &&
        (name || *p == '('))
        return "a product is written with '*'";
    if (*p == '{' && !strncmp(word, "every ", 6))
        return rlf_other_syntax_every(syntax, report->span);
    if (*p == ':' && !strncmp(word, "report ", 7))
        return "a metric is given by '=': report name = value";
    if (*p == '=' && !strncmp(word, "flow ", 5) &&
        rlf_report_expects(report, "':'"))
        return "a set of the flow is given by ':': batch: prompts[8]";
    if (!strcmp(before, "checkpoint") && !strcmp(text, "every"))
        return "write 'every 5 steps { checkpoint }'";
    if (!strcmp(before, "checkpoint") && *p == '(')
        return "checkpoint has no parentheses";
    if (!strcmp(before, "on") && name && rlf_report_expects(report, "a number"))
        return "ranks are numbers from 0 on: on 0, or on 0..3";
    if (!strcmp(before, "checkpoint") && !strcmp(text, "if"))
        return "write 'if c { checkpoint }'";
    if (!strcmp(text, "if") && (value || rlf_report_expects(report, "'?'")))
        return "a choice between values is written 'c ? a : b'";
    if (!strncmp(word, "update ", 7) &&
        rlf_report_expects(report, "minimize") &&
        !strcmp(report->token, "the end of the line"))
        return "write 'update m minimize LOSS', or 'update m { ... }' with a "
               "minimize in it";
    if (!strcmp(text, ",") && !strncmp(word, "update ", 7))
        return "what is said of an update stands behind its model: update m "
               "(shared: true) minimize LOSS";
    if (!strcmp(before, "import") && name)
        return "a file is named by a text: import \"std/loss\"";
    return NULL;
}

/* Does the line of byte `at` begin with the word? */
static bool
starts_line(const rlf_syntax *syntax, size_t at, const char *word)
{
    const char *text = syntax->maker.text;
    while (at && text[at - 1] != '\n')
        at--;
    at += strspn(text + at, " \t");
    return !strncmp(text + at, word, strlen(word));
}

/* A comma where `in` could stand. */
static const char *
comma_hint(const rlf_syntax *syntax, rlf_span at)
{
    if (starts_line(syntax, at.first, "param"))
        return "what a parameter is for stands behind its value without a "
               "comma: param n = 8 \"prompts of a step\"";
    return "sets walked side by side each have their 'in': for a in "
           "x.split(parts: 2), b in y.split(parts: 2)";
}

static const char *
hint_for(const rlf_syntax *syntax, const rlf_report *report, const char *text)
{
    const char *hint;
    int begins = keyword_begins(text);
    if (strcmp(report->token, "a stray character") != 0 || text[0] == '=')
        if ((hint = rlf_other_syntax_form(syntax, report, text)))
            return hint;
    if (!strcmp(report->token, "a stray character"))
        return stray_hint(syntax, text);
    const char *before = word_before(syntax, report->span);
    bool gives = !strcmp(text, "=") || !strcmp(text, ":=");
    if (gives && keyword_begins(before) == 'c')
        return rlf_arena_printf(syntax->maker.arena,
                                "what is declared has a name: %s NAME = ...",
                                before);
    if (gives && keyword_begins(before) >= 0)
        return rlf_arena_printf(syntax->maker.arena,
                                "'%s' is a reserved word, choose another name",
                                before);
    if (!strcmp(before, "break") && rlf_report_expects(report, "if"))
        return "write 'break if c'; 'break if true' leaves in any case";
    if (!strcmp(text, ",") && rlf_report_expects(report, "in"))
        return comma_hint(syntax, report->span);
    if (!strcmp(text, "=") && rlf_report_expects(report, "=="))
        return equal_hint(syntax, report->span);
    if ((hint = habit_hint(syntax, report, text, before)))
        return hint;
    if (!strcmp(report->token, "a name") && (hint = slip_hint(text)))
        return hint;
    if ((hint = misspelled(syntax, report, text)))
        return hint;
    if (rlf_report_expects(report, "'{'") && !strcmp(text, ":"))
        return starts_line(syntax, report->span.first, "for ")
                   ? "a body stands in braces, and ':' does not begin one: for "
                     "mini in s.split(parts: 4) { ... }"
                   : "a body stands in braces, and ':' does not begin one: if "
                     "c { ... } else { ... }";
    if (!strcmp(text, ",") && rlf_report_expects(report, ":="))
        return "a statement gives one name: x = ...";
    if (!strcmp(text, "for") && rlf_report_expects(report, "']'"))
        return "nothing is looped over: what is written of a set is computed "
               "for each of its samples";
    if (!strcmp(text, "in") && rlf_report_expects(report, "'{'"))
        return "compare with each: x == 1 or x == 2";
    if (comparison(text) && rlf_report_expects(report, "and"))
        return "comparisons do not chain: write 'a < b and b < c'";
    if (rlf_report_expects(report, "'{'") && strcmp(text, "{"))
        return "a body stands in braces: { ... }";
    if (!strcmp(text, ".") && rlf_report_expects(report, "a number"))
        return "a number has digits on both sides of its point";
    bool named = rlf_report_expects(report, "a name") &&
                 !rlf_report_expects(report, "a number");
    /* 'over' and 'in' at the beginning of a line go on with the one before */
    bool may_end = rlf_report_expects(report, "the end of the line");
    bool is_given = given(syntax, report->span);
    if (begins >= 0 &&
        (named ? is_given || !rlf_report_expects(report, "minimize")
               : is_given && may_end))
        return rlf_arena_printf(syntax->maker.arena,
                                "'%s' is a reserved word, choose another name",
                                text);
    if ((hint = slip_hint(text)) ||
        (hint = slip_hint(word_before(syntax, report->span))))
        return hint;
    bool top = rlf_report_expects(report, "flow") &&
               !rlf_report_expects(report, "update");
    if (top && (begins == 's' || !strcmp(report->token, "a name")))
        return "statements stand in the braces of a flow";
    if (begins == 'd' && rlf_report_expects(report, "minimize") &&
        !rlf_report_expects(report, "flow"))
        return *line_before(syntax, report->span.first)
                   ? "declarations stand outside of flows"
                   : "declarations stand outside of flows: is a '}' missing?";
    return rlf_other_syntax_alone(syntax, report);
}

/* ---- the message ---- */

/* Returns the name of the token that was met. */
static const char *
met(const rlf_syntax *syntax, const rlf_report *report, const char *text)
{
    rlf_arena *arena = syntax->maker.arena;
    if (!strcmp(report->token, "a name"))
        return rlf_arena_printf(arena, "name '%s'", text);
    if (!strcmp(report->token, "a number"))
        return rlf_arena_printf(arena, "number %s", text);
    if (!strcmp(report->token, "a string"))
        return "string";
    if (!strncmp(report->token, "the ", 4))
        return report->token + 4;
    for (const char *p = text; *p; p++) {
        if ((unsigned char)*p < 32 || (unsigned char)*p == 127)
            return "control character";
    }
    bool quoted = text[0] == '\'';
    return rlf_arena_printf(arena, quoted ? "text %.*s" : "'%.*s'",
                            RLF_CUT(40, text));
}

/* A bracket that is still open, if that is worth a word. */
static void
note_open(rlf_syntax *syntax, rlf_diag *diag, const rlf_report *report,
          const char *text)
{
    const rlf_bracket *open = rlf_lex_open_bracket(syntax, text[0]);
    /* One in a block has its '}' below, unless it begins its line. */
    bool indented = *line_before(syntax, report->span.first) != 0;
    if (!open || (indented && keyword_begins(text) == 'd'))
        return;
    rlf_place here = rlf_sources_place(syntax->sources, report->span);
    rlf_place there = rlf_sources_place(syntax->sources, open->span);
    bool ends = !strcmp(report->token, "the end of the file");
    bool far = open->token == '{' ? ends || keyword_begins(text) == 'd'
                                  : ends || here.line != there.line;
    if (far)
        rlf_diag_note(syntax->maker.diags, diag, open->span,
                      "this '%c' is not closed", open->token);
}

/* A line that ends with a reserved word goes on in the next; where that cannot
 * go on with it, the line's end is what is wrong. */
static bool
ends_early(const rlf_syntax *syntax, rlf_report *report)
{
    rlf_span word = place_before(syntax, report->span, true);
    const char *text = syntax->maker.text;
    bool same = true;
    for (size_t i = word.last; i < report->span.first; i++)
        same = same && text[i] != '\n';
    int begins = keyword_begins(rlf_syntax_text(syntax, word));
    bool name = word.first && text[word.first - 1] == '.';
    if (same || name || begins < 0 || begins == 'c')
        return false;
    report->token = "the end of the line";
    report->span = (rlf_span){word.source, word.last, word.last, 0};
    return true;
}

void
rlf_report_syntax(rlf_syntax *syntax, rlf_report *report)
{
    rlf_diags *diags = syntax->maker.diags;
    bool outer = rlf_report_expects(report, "flow") &&
                 !rlf_report_expects(report, "update");
    bool inside = *line_before(syntax, report->span.first) ||
                  syntax->maker.text[report->span.first] == '}';
    if (syntax->unbraced && outer && inside) /* its '}' closed the flow */
        return;
    bool early = ends_early(syntax, report);
    const char *text = early ? "\n" : rlf_syntax_text(syntax, report->span);
    const char *hint = hint_for(syntax, report, text);
    const char *what = met(syntax, report, text);
    bool line = rlf_report_expects(report, "the end of the line");
    bool outside = rlf_report_expects(report, "the end of the file");
    if (rlf_report_expects(report, "'{'") && !strcmp(text, ":"))
        syntax->unbraced =
            syntax->maker
                .text[report->span.last +
                      strspn(syntax->maker.text + report->span.last, " \t")] !=
            '{';
    fold(report);
    /* These are expected wherever a line's end is. */
    if (line) {
        if (rlf_report_expects(report, "a statement") ||
            rlf_report_expects(report, "a declaration"))
            drop(report, "the end of the line");
        drop(report, "the end of the file");
        drop(report, "'}'");
    }
    rlf_diag *diag;
    if (hint == too_deep) {
        rlf_diag_error(diags, "syntax", report->span, "%s at %s", too_deep,
                       what);
        return;
    }
    if (!strcmp(text, "}") && outside)
        diag = rlf_diag_error(diags, "syntax", report->span,
                              "this '}' closes nothing");
    else if (report->n && report->n <= 6)
        diag = rlf_diag_error(diags, "syntax", report->span,
                              "unexpected %s, expected %s", what,
                              join(syntax, report));
    else
        diag = rlf_diag_error(diags, "syntax", report->span, "unexpected %s",
                              what);
    if (hint)
        rlf_diag_hint(diags, diag, "%s", hint);
    note_open(syntax, diag, report, text);
}

void
rlf_report_steps(rlf_syntax *syntax, rlf_ast_name word)
{
    rlf_diag *diag =
        rlf_diag_error(syntax->maker.diags, "syntax", word.span,
                       "unexpected name '%s', expected 'steps'", word.text);
    rlf_diag_hint(syntax->maker.diags, diag, "%s",
                  rlf_other_syntax_every(syntax, word.span));
}

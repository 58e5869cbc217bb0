/* Syntax of other languages where ours differs: see other_syntax.h. The wrong
 * form is a text here, which the parser could not read: hints are cut out of
 * its line. */
#include "grammar/other_syntax.h"

#include "grammar/other_names.h"

#include <ctype.h>
#include <string.h>

/* ---- pieces of a line ---- */

/* Bytes first..last without the blanks around them; "..." where they are long.
 */
static const char *
cut(const rlf_syntax *syntax, size_t first, size_t last)
{
    enum { MOST = 60 };
    const char *text = syntax->maker.text;
    while (first < last && isspace((unsigned char)text[first]))
        first++;
    while (last > first && isspace((unsigned char)text[last - 1]))
        last--;
    if (last - first > MOST || memchr(text + first, '\n', last - first))
        return "...";
    return rlf_arena_strndup(syntax->maker.arena, text + first, last - first);
}

/* The beginning of the line of `at`, behind blanks. */
static size_t
line_start(const rlf_syntax *syntax, size_t at)
{
    const char *text = syntax->maker.text;
    while (at && text[at - 1] != '\n')
        at--;
    while (text[at] == ' ' || text[at] == '\t')
        at++;
    return at;
}

/* The end of the rest of the statement at `at`: of the line, at a ';', a
 * comment, or a bracket that closes what was open before. */
static size_t
rest_end(const rlf_syntax *syntax, size_t at)
{
    const char *text = syntax->maker.text;
    int depth = 0;
    bool quoted = false;
    for (; text[at] && text[at] != '\n'; at++) {
        quoted = quoted != (text[at] == '"');
        if (quoted)
            continue;
        if (strchr("([{", text[at]))
            depth++;
        else if (strchr(")]}", text[at]) && depth-- == 0)
            break;
        else if (text[at] == '#' || (text[at] == ';' && !depth))
            break;
    }
    return at;
}

static bool
starts_with(const rlf_syntax *syntax, size_t at, const char *word)
{
    size_t n = strlen(word);
    const char *p = syntax->maker.text + at;
    return !strncmp(p, word, n) && !isalnum((unsigned char)p[n]) && p[n] != '_';
}

/* The word at `at`, or an empty text. */
static const char *
word_at(const rlf_syntax *syntax, size_t at)
{
    const char *text = syntax->maker.text;
    size_t last = at;
    while (isalnum((unsigned char)text[last]) || text[last] == '_')
        last++;
    return cut(syntax, at, last);
}

static size_t
after_word(const rlf_syntax *syntax, size_t at)
{
    const char *text = syntax->maker.text;
    while (isalnum((unsigned char)text[at]) || text[at] == '_')
        at++;
    while (text[at] == ' ' || text[at] == '\t')
        at++;
    return at;
}

#define SAY(...) rlf_arena_printf(syntax->maker.arena, __VA_ARGS__)

/* ---- defs ---- */

/* The beginning of the statement that `at` stands in. */
static size_t
statement_start(const rlf_syntax *syntax, size_t at)
{
    const char *text = syntax->maker.text;
    while (at && !strchr("\n;{", text[at - 1]))
        at--;
    while (text[at] == ' ' || text[at] == '\t')
        at++;
    return at;
}

/* The start of the expression that stands alone as a statement and that the
 * error is in; false: it is none. */
static bool
is_alone(const rlf_syntax *syntax, const rlf_report *report, size_t *start)
{
    const char *text = syntax->maker.text;
    *start = statement_start(syntax, report->span.first);
    bool begins = *start == report->span.first &&
                  rlf_report_expects(report, "minimize") &&
                  !rlf_report_expects(report, "flow");
    char c = text[*start];
    if (begins)
        return isdigit((unsigned char)c) || (c && strchr("-([\"", c)) ||
               starts_with(syntax, *start, "not") ||
               starts_with(syntax, *start, "true") ||
               starts_with(syntax, *start, "false");
    /* A name, and then not what gives it. */
    return (rlf_report_expects(report, "':='") ||
            rlf_report_expects(report, ":=")) &&
           rlf_report_expects(report, "'='") &&
           after_word(syntax, *start) == report->span.first &&
           !isalnum((unsigned char)text[report->span.first]) &&
           text[report->span.first] != '_' && text[report->span.first] != '"';
}

/* The block that the error is in is that of a def: where the def begins. */
static bool
in_def(const rlf_syntax *syntax, const rlf_report *report, size_t *def)
{
    const rlf_bracket *open =
        rlf_lex_open_bracket(syntax, syntax->maker.text[report->span.first]);
    for (int i = syntax->depth; !open && i > 0; i--)
        open = &syntax->nest[i - 1];
    while (open && open->token != '{' && open > syntax->nest)
        open--;
    /* a '}' has closed it already */
    size_t at =
        open && open->token == '{' ? open->span.first : report->span.first;
    *def = line_start(syntax, at);
    return starts_with(syntax, *def, "def");
}

static const char *
head_of_def(const rlf_syntax *syntax, size_t def)
{
    const char *text = syntax->maker.text;
    size_t at = def;
    while (text[at] && text[at] != ')' && text[at] != '\n')
        at++;
    return cut(syntax, def, at + (text[at] == ')'));
}

static const char *
def_hint(const rlf_syntax *syntax, const rlf_report *report, const char *text)
{
    size_t at = report->span.first, def = line_start(syntax, at);
    const char *head = head_of_def(syntax, def);
    if (!starts_with(syntax, def, "def"))
        return NULL;
    if (rlf_report_expects(report, "'='") &&
        rlf_report_expects(report, "'{'") &&
        !rlf_report_expects(report, "')'")) {
        bool sign = !strcmp(text, ":") || !strcmp(text, "->") ||
                    !strcmp(text, "=>") || !strcmp(text, ":=");
        size_t rest = sign ? report->span.last : at;
        while (syntax->maker.text[rest] == ' ')
            rest++;
        if (starts_with(syntax, rest, "return"))
            rest = after_word(syntax, rest);
        const char *value = cut(syntax, rest, rest_end(syntax, rest));
        return SAY("write %s = %s", head, *value ? value : "...");
    }
    size_t name = after_word(syntax, def);
    if (rlf_report_expects(report, "'('"))
        return SAY("the arguments stand in parentheses: def %s(x) = ...",
                   word_at(syntax, name));
    bool formal = rlf_report_expects(report, "')'") &&
                  rlf_report_expects(report, "':'") &&
                  !strcmp(report->token, "a name");
    return formal
               ? SAY("an argument is its name, def %s(%s) = ...; a level may "
                     "follow, %s: token",
                     word_at(syntax, name), text, text)
               : NULL;
}

/* Statements of other libraries, by the word that they begin with. */
static const struct {
    const char *word, *hint;
} calls[] = {
    {"save", "write checkpoint, as in: every 5 steps { checkpoint }"},
    {"save_model", "write checkpoint, as in: every 5 steps { checkpoint }"},
    {"log", "write report name = value"},
    {"logger", "write report name = value"},
    {"logging", "write report name = value"},
    {"wandb", "write report name = value"},
    {"writer", "write report name = value"},
    {"optimizer", "an update steps its optimizer: update m { minimize LOSS }"},
    {"loss", "an update computes gradients: update m { minimize LOSS }"},
    {"train", "a step of the flow trains: update m { minimize LOSS }"},
    {"pass", "leave it out: a block may be empty"},
    {"continue", "write if c { ... } around the rest of the loop"},
    {"return", "what a flow has is reported: report name = value"},
};

/* `name : value`, as other languages give a type, or a label. */
static const char *
colon_hint(const rlf_syntax *syntax, size_t start, size_t colon)
{
    const char *text = syntax->maker.text;
    size_t end = rest_end(syntax, colon + 1), value = colon + 1;
    for (size_t i = colon + 1; i < end; i++)
        if (text[i] == '=' && text[i + 1] != '=' &&
            !strchr("<>!=", text[i - 1]))
            value = i + 1;
    return SAY("a name is given by '=', without a type: %s = %s",
               cut(syntax, start, colon), cut(syntax, value, end));
}

/* Is there a '=' in it that compares nothing? */
static bool
gives(const char *text)
{
    for (const char *p = strchr(text, '='); p; p = strchr(p + 1, '=')) {
        bool compares = p[1] == '=' || (p > text && strchr("<>=!", p[-1]));
        if (!compares)
            return true;
    }
    return false;
}

const char *
rlf_other_syntax_alone(const rlf_syntax *syntax, const rlf_report *report)
{
    size_t start, def;
    if (!is_alone(syntax, report, &start))
        return NULL;
    const char *value = cut(syntax, start, rest_end(syntax, start));
    if (syntax->maker.text[report->span.first] == ':')
        return colon_hint(syntax, start, report->span.first);
    if (syntax->maker.text[report->span.first] == '[' && strstr(value, ":="))
        return SAY("a state of rows changes for those of the step, without an "
                   "index: %s%s",
                   word_at(syntax, start), strstr(value, ":=") - 1);
    if (gives(value))
        return NULL;
    for (size_t i = 0; i < RLF_COUNT(calls); i++)
        if (starts_with(syntax, start, calls[i].word))
            return calls[i].hint;
    if (in_def(syntax, report, &def)) {
        size_t before = start;
        while (before && isspace((unsigned char)syntax->maker.text[before - 1]))
            before--;
        bool first = before && syntax->maker.text[before - 1] == '{';
        return first ? SAY("write 'return %s'; or, without braces, %s = %s",
                           value, head_of_def(syntax, def), value)
                     : SAY("write 'return %s'", value);
    }
    return SAY("a value alone does nothing: give it a name, y = %s, or report "
               "it, report y = %s",
               value, value);
}

/* ---- other declarations ---- */

static bool
is_type(const char *word)
{
    static const char *const types[] = {"int",  "float",  "bool",  "text",
                                        "path", "scalar", "number"};
    for (size_t i = 0; i < RLF_COUNT(types); i++)
        if (!strcmp(types[i], word))
            return true;
    return false;
}

static const char *
state_hint(const rlf_syntax *syntax, const rlf_report *report)
{
    size_t line = line_start(syntax, report->span.first);
    const char *name = word_at(syntax, after_word(syntax, line));
    const char *p = syntax->maker.text + report->span.first;
    if (!starts_with(syntax, line, "state") || !*name)
        return NULL;
    if (!strncmp(p, ":=", 2))
        return SAY("it begins with '=': state %s = %s", name,
                   cut(syntax, report->span.last,
                       rest_end(syntax, report->span.last)));
    size_t colon = after_word(syntax, after_word(syntax, line));
    bool row = syntax->maker.text[colon] == ':';
    size_t word = row ? colon + 1 : colon;
    while (syntax->maker.text[word] == ' ')
        word++;
    if (row && is_type(word_at(syntax, word)))
        return SAY("a state has no type: state %s = 0", name);
    if (row && rlf_report_expects(report, "a name"))
        return SAY("one number is state %s = 0; one per row of a data set "
                   "names that: state %s : NAME = 0",
                   name, name);
    if (rlf_report_expects(report, "'='"))
        return SAY("it has a value to begin with: %s = 0",
                   cut(syntax, line, report->span.first));
    return NULL;
}

/* The type of a parameter, by its default. */
static const char *
type_of(const char *value)
{
    size_t n = strspn(value, "-0123456789_");
    return *value == '"'                                       ? "text"
           : !strcmp(value, "true") || !strcmp(value, "false") ? "bool"
           : n && !value[n]                                    ? "int"
                                                               : "float";
}

static const char *
param_hint(const rlf_syntax *syntax, const rlf_report *report, const char *text)
{
    size_t line = line_start(syntax, report->span.first);
    if (!starts_with(syntax, line, "param") || strcmp(text, "=") != 0 ||
        !rlf_report_expects(report, "':'"))
        return NULL;
    const char *value =
        cut(syntax, report->span.last, rest_end(syntax, report->span.last));
    return SAY("a parameter has a type: %s : %s = %s",
               cut(syntax, line, report->span.first), type_of(value), value);
}

/* `n = 4` or `n: int = 4` outside of everything. */
static const char *
constant_hint(const rlf_syntax *syntax, const rlf_report *report)
{
    size_t at = report->span.first, sign = after_word(syntax, at);
    const char *text = syntax->maker.text, *type = NULL;
    if (!rlf_report_expects(report, "flow") ||
        rlf_report_expects(report, "update") ||
        strcmp(report->token, "a name") != 0)
        return NULL;
    if (text[sign] == ':' && text[sign + 1] != '=') {
        size_t word = sign + 1;
        while (text[word] == ' ')
            word++;
        type = word_at(syntax, word);
        sign = after_word(syntax, word);
    }
    if (text[sign] != '=' || text[sign + 1] == '=')
        return NULL;
    const char *value = cut(syntax, sign + 1, rest_end(syntax, sign + 1));
    bool digit = isdigit((unsigned char)value[*value == '-']);
    bool constant =
        (digit && strspn(value, "-0123456789._eKM") == strlen(value)) ||
        *value == '"' || !strcmp(value, "true") || !strcmp(value, "false");
    const char *name = word_at(syntax, at);
    if (constant && *value)
        return SAY(
            "a constant of the program is a parameter: param %s: %s = %s", name,
            type && is_type(type) ? type : type_of(value), value);
    return SAY("a declaration begins with its kind: data, model, hook, state, "
               "param or def %s",
               name);
}

/* `param n: int = 4 in (2, 64)`, an interval elsewhere. */
static const char *
interval_hint(const rlf_syntax *syntax, const rlf_report *report)
{
    size_t line = line_start(syntax, report->span.first);
    const rlf_bracket *open = rlf_lex_open_bracket(syntax, ',');
    if (!starts_with(syntax, line, "param") || !open || open->token != '(' ||
        syntax->maker.text[report->span.first] != ',')
        return NULL;
    size_t last = rest_end(syntax, report->span.last);
    return SAY("a range is written %s..%s, a list of values [a, b]",
               cut(syntax, open->span.last, report->span.first),
               cut(syntax, report->span.last, last));
}

/* `report` with a metric that is no name. */
static const char *
metric_hint(const rlf_syntax *syntax, const rlf_report *report)
{
    size_t start = statement_start(syntax, report->span.first);
    size_t after = after_word(syntax, start), at = report->span.first;
    const char *text = syntax->maker.text;
    if (!starts_with(syntax, start, "report"))
        return NULL;
    if (at == after && text[at] == '(')
        return SAY("report has no parentheses: report name = %s",
                   cut(syntax, at + 1, rest_end(syntax, at + 1)));
    if (at == after && text[at] == '"')
        return "the name of a metric has no quotes: report name = value";
    return strchr("/.-", text[at]) && rlf_report_expects(report, "'='") &&
                   after_word(syntax, after) == at
               ? SAY("a metric is one name: report %s_%s = ...",
                     word_at(syntax, after), word_at(syntax, at + 1))
               : NULL;
}

/* A statement, or a row of place, on the line of another. */
static const char *
same_line_hint(const rlf_syntax *syntax, const rlf_report *report)
{
    const char *text = syntax->maker.text;
    size_t at = report->span.first, after = after_word(syntax, at);
    bool word = isalpha((unsigned char)text[at]) || text[at] == '_';
    bool gives = text[after] == '=' || !strncmp(text + after, ":=", 2);
    bool row = rlf_report_expects(report, "..") && text[after] != '(';
    bool known = starts_with(syntax, at, "report") ||
                 starts_with(syntax, at, "update") ||
                 starts_with(syntax, at, "for") ||
                 starts_with(syntax, at, "minimize") ||
                 starts_with(syntax, at, "checkpoint");
    if (!word || !rlf_report_expects(report, "the end of the line") ||
        at == line_start(syntax, at) || !(gives || row || known))
        return NULL;
    return SAY("a ';' or a new line stands before '%s'", word_at(syntax, at));
}

/* `f(x) = ...` outside of everything. */
static const char *
function_hint(const rlf_syntax *syntax, const rlf_report *report)
{
    size_t at = report->span.first;
    const char *text = syntax->maker.text;
    size_t open = after_word(syntax, at);
    bool top = rlf_report_expects(report, "flow") &&
               !strcmp(report->token, "a name") && text[open] == '(';
    if (!top)
        return NULL;
    size_t close = rest_end(syntax, open + 1), equal = close + 1;
    while (text[close] && text[equal] == ' ')
        equal++;
    return text[close] == ')' && text[equal] == '=' && text[equal + 1] != '='
               ? SAY("a function is declared: def %s",
                     cut(syntax, at, rest_end(syntax, at)))
               : NULL;
}

/* ---- lists, units, counts ---- */

/* (0.9, 0.95), which other languages have as a value. */
static const char *
tuple_hint(const rlf_syntax *syntax, const rlf_report *report)
{
    const rlf_bracket *open = rlf_lex_open_bracket(syntax, ',');
    const char *text = syntax->maker.text;
    if (text[report->span.first] != ',' || !open || open->token != '(' ||
        rlf_report_expects(report, "','"))
        return NULL;
    size_t first = open->span.last, last = rest_end(syntax, first);
    size_t label = open->span.first;
    while (label && strchr(" \t:", text[label - 1]))
        label--;
    size_t begin = label;
    while (begin &&
           (isalnum((unsigned char)text[begin - 1]) || text[begin - 1] == '_'))
        begin--;
    const char *values[8] = {cut(syntax, first, report->span.first)};
    size_t n = 1;
    for (size_t i = report->span.last, k = i; i <= last && n < 8; i++)
        if (i == last || text[i] == ',') {
            values[n++] = cut(syntax, k, i);
            k = i + 1;
        }
    const char *parts = rlf_other_name_parts(cut(syntax, begin, label));
    if (parts)
        return SAY("write %s",
                   rlf_other_name_pairs(syntax->maker.arena, parts, values, n));
    return SAY("a list stands in brackets: [%s]", cut(syntax, first, last));
}

static const struct {
    const char *other, *ours;
} unit_names[] = {
    {"kB", "KB"},      {"kb", "KB"},       {"KiB", "KB"}, {"mb", "MB"},
    {"Mb", "MB"},      {"MiB", "MB"},      {"gb", "GB"},  {"Gb", "GB"},
    {"GiB", "GB"},     {"k", "K"},         {"m", "min"},  {"mins", "min"},
    {"minute", "min"}, {"minutes", "min"}, {"sec", "s"},  {"secs", "s"},
    {"second", "s"},   {"seconds", "s"},   {"hr", "h"},   {"hour", "h"},
    {"hours", "h"},    {"G", "000M"},      {"B", ""},
};

static const char *
unit_of(const char *text)
{
    static const char *const ours[] = {"K", "M",  "ms", "s", "min",
                                       "h", "KB", "MB", "GB"};
    for (size_t i = 0; i < RLF_COUNT(ours); i++)
        if (!strcmp(ours[i], text))
            return ours[i];
    for (size_t i = 0; i < RLF_COUNT(unit_names); i++)
        if (!strcmp(unit_names[i].other, text))
            return unit_names[i].ours;
    return NULL;
}

const char *
rlf_other_syntax_unit(const rlf_syntax *syntax, const char *text)
{
    size_t n = strspn(text, "0123456789._");
    const char *unit = unit_of(text + n);
    if (text[n] != 'x' && text[n + strcspn(text + n, "0123456789")])
        return SAY("a text stands in quotes: \"%s\"", text);
    return unit ? SAY("write %.*s%s: units of numbers are ms s min h, K M, KB "
                      "MB GB",
                      (int)n, text, unit)
                : NULL;
}

/* ---- arguments ---- */

/* The bracket of the call that byte `at` stands in, on its line; SIZE_MAX: none
 * is open there. */
static size_t
open_call(const rlf_syntax *syntax, size_t at)
{
    const char *text = syntax->maker.text;
    int depth = 0;
    while (at-- > 0 && text[at] != '\n') {
        if (strchr(")]", text[at]))
            depth++;
        else if (strchr("([", text[at]) && depth-- == 0)
            return text[at] == '(' ? at : SIZE_MAX;
    }
    return SIZE_MAX;
}

/* The end of the argument at `at`. */
static size_t
argument_end(const rlf_syntax *syntax, size_t at)
{
    size_t last = rest_end(syntax, at);
    const char *text = syntax->maker.text;
    int depth = 0;
    for (; at < last; at++) {
        depth += strchr("([{", text[at]) ? 1 : strchr(")]}", text[at]) ? -1 : 0;
        if (text[at] == ',' && !depth)
            break;
    }
    return at;
}

/* mean(x, dim=-1): over what it goes is said by a word here. */
static const char *
over_hint(const rlf_syntax *syntax, size_t at)
{
    static const char *const reductions[] = {"sum", "mean", "std",
                                             "var", "max",  "min"};
    size_t open = open_call(syntax, at), first = open;
    const char *text = syntax->maker.text;
    if (open == SIZE_MAX)
        return NULL;
    while (first &&
           (isalnum((unsigned char)text[first - 1]) || text[first - 1] == '_'))
        first--;
    const char *name = cut(syntax, first, open);
    const char *x = cut(syntax, open + 1, argument_end(syntax, open + 1));
    for (size_t i = 0; i < RLF_COUNT(reductions); i++)
        if (!strcmp(reductions[i], name))
            return SAY("write %s(%s over tokens), or over group, or over batch",
                       name, x);
    return NULL;
}

const char *
rlf_other_syntax_argument(const rlf_syntax *syntax, rlf_span at,
                          const char *name)
{
    static const char *const axes[] = {"dim",  "dims",    "axis",
                                       "axes", "keepdim", "keepdims"};
    const char *hint = NULL;
    for (size_t i = 0; i < RLF_COUNT(axes) && !hint; i++)
        if (!strcmp(axes[i], name))
            hint = over_hint(syntax, at.first);
    const char *value = cut(syntax, at.last, argument_end(syntax, at.last));
    value = !strcmp(value, "True")    ? "true"
            : !strcmp(value, "False") ? "false"
                                      : value;
    return hint ? hint
                : SAY("the name of an argument ends with ':', as in %s: %s; "
                      "'==' compares",
                      name, *value ? value : "...");
}

/* A unit with a blank before it. */
static const char *
apart_hint(const rlf_syntax *syntax, const rlf_report *report, const char *text)
{
    const char *source = syntax->maker.text;
    size_t last = report->span.first;
    while (last && source[last - 1] == ' ')
        last--;
    size_t first = last;
    while (first && (isalnum((unsigned char)source[first - 1]) ||
                     strchr("._", source[first - 1])))
        first--;
    const char *number = cut(syntax, first, last);
    const char *unit = unit_of(text);
    if (strcmp(report->token, "a name") != 0 || !unit || !*number ||
        strspn(number, "0123456789._") != strlen(number))
        return NULL;
    return SAY("a unit stands at its number: %s%s", number, unit);
}

const char *
rlf_other_syntax_every(const rlf_syntax *syntax, rlf_span at)
{
    size_t line = line_start(syntax, at.first);
    size_t count = statement_start(syntax, at.first);
    if (starts_with(syntax, line, "every"))
        count = line;
    const char *number = cut(syntax, after_word(syntax, count), at.first);
    const char *word = word_at(syntax, at.first);
    size_t digits = strspn(number, "0123456789_");
    const char *unit =
        number[digits] ? unit_of(number + digits) : unit_of(word);
    bool time = digits && unit && strchr("msh", unit[0]);
    if (time)
        return SAY("'every' counts steps: every %.*s steps { ... }; "
                   "checkpoints by time: rlflow run --save-every %.*s%s",
                   (int)digits, number, (int)digits, number, unit);
    bool plain =
        *number && strcmp(number, "...") != 0 && strcmp(number, "step") != 0;
    return SAY("write 'every %s steps { ... }'", plain ? number : "5");
}

/* m.update { ... }: the model stands behind the word. */
static const char *
update_hint(const rlf_syntax *syntax, const rlf_report *report)
{
    size_t dot = report->span.first;
    size_t start = statement_start(syntax, dot);
    const char *text = syntax->maker.text;
    if (text[dot] != '.' || after_word(syntax, start) != dot ||
        !starts_with(syntax, dot + 1, "update"))
        return NULL;
    return SAY("write update %s { minimize ... }", word_at(syntax, start));
}

/* ---- all of them ---- */

const char *
rlf_other_syntax_form(const rlf_syntax *syntax, const rlf_report *report,
                      const char *text)
{
    const char *hint;
    size_t line = line_start(syntax, report->span.first);
    if ((hint = update_hint(syntax, report)) ||
        (hint = def_hint(syntax, report, text)) ||
        (hint = state_hint(syntax, report)) ||
        (hint = param_hint(syntax, report, text)) ||
        (hint = function_hint(syntax, report)) ||
        (hint = constant_hint(syntax, report)) ||
        (hint = metric_hint(syntax, report)) ||
        (hint = interval_hint(syntax, report)) ||
        (hint = tuple_hint(syntax, report)) ||
        (hint = same_line_hint(syntax, report)) ||
        (hint = apart_hint(syntax, report, text)))
        return hint;
    if (!strcmp(text, "..") && starts_with(syntax, line, "for"))
        return "a loop walks the pieces of a set: for mini in s.split(parts: "
               "4) { ... }";
    return NULL;
}

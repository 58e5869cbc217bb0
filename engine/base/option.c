/* The command line: see option.h. */
#include "engine/base/option.h"

#include "engine/base/option_table.h"

#include "engine/base/log.h"
#include "engine/base/vec.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const rlf_command_row rlf_command_rows[RLF_COMMANDS] = {
#define COMMAND(name, word, arguments, least, most, words, takes, doc) \
    {word, arguments, least, most, RLF_WORDS_##words, takes, doc},
#include "engine/base/option.def"
#undef COMMAND
};

const rlf_option_row rlf_option_rows[RLF_OPTIONS] = {
#define ON(command) (UINT32_C(1) << RLF_COMMAND_##command)
#define OPTION(name, word, argument, environment, type, preset, least, most, \
               sets, on, doc)                                                \
    {word, argument, environment, RLF_OPTION_IS_##type, preset, least,       \
     most, on,       doc},
#include "engine/base/option.def"
#undef OPTION
};

const rlf_variable_row rlf_variable_rows[] = {
#define VARIABLE(name, commands, doc) {name, commands, doc},
#include "engine/base/option.def"
#undef VARIABLE
    {0},
};
#undef ON

_Static_assert(RLF_COMMANDS <= 32,
               "rlf_option_row.commands has a bit for each");

bool
rlf_command_takes(rlf_command command, rlf_option option)
{
    return rlf_option_rows[option].commands >> command & 1;
}

/* Options that commands take without their variables. */
static const struct {
    rlf_command command;
    rlf_option option;
} apart[] = {
#define APART(command, option) {RLF_COMMAND_##command, RLF_OPTION_##option},
#include "engine/base/option.def"
#undef APART
};

const char *
rlf_command_variable(rlf_command command, rlf_option option)
{
    for (size_t i = 0; i < RLF_COUNT(apart); i++)
        if (apart[i].command == command && apart[i].option == option)
            return "";
    return rlf_command_takes(command, option)
               ? rlf_option_rows[option].environment
               : "";
}

bool
rlf_command_reads(rlf_command command, const rlf_variable_row *variable)
{
    return variable->commands >> command & 1;
}

/* The option called `word`, without dashes, or RLF_OPTIONS. */
static rlf_option
option_named(const char *word)
{
    int i = 0;
    while (i < RLF_OPTIONS && strcmp(word, rlf_option_rows[i].word) != 0)
        i++;
    return (rlf_option)i;
}

rlf_command
rlf_command_named(const char *word)
{
    for (int i = 0; i < RLF_COMMANDS; i++)
        if (strcmp(word, rlf_command_rows[i].word) == 0)
            return (rlf_command)i;
    return RLF_COMMANDS;
}

static bool
is_program(const char *text)
{
    size_t n = strlen(text);
    return n > 4 && strcmp(text + n - 4, ".rlf") == 0;
}

const char *
rlf_command_near(const char *word)
{
    const char *words[RLF_COMMANDS];
    for (int i = 0; i < RLF_COMMANDS; i++)
        words[i] = rlf_command_rows[i].word;
    return rlf_str_nearest(word, words, RLF_COMMANDS);
}

static rlf_status
unknown_command(const char *word, rlf_err *err)
{
    rlf_fail(err, RLF_USAGE, "no command '%s'", word);
    const char *nearest = rlf_command_near(word);
    if (nearest)
        rlf_err_hint(err, "did you mean %s", nearest);
    else if (is_program(word))
        rlf_err_hint(err, "to run the program: rlflow run %s", word);
    else
        rlf_err_hint(err, "rlflow help lists the commands");
    return RLF_USAGE;
}

#define LENGTH "--steps N says how long a run is"
#define OF_PROGRAM \
    "a number of the program: in its text, or NAME=VALUE if it is a parameter"

/* Options of other programs. */
static const struct {
    const char *word, *hint;
} other_options[] = {
    {"epochs", LENGTH},
    {"num-epochs", LENGTH},
    {"num-train-epochs", LENGTH},
    {"max-steps", LENGTH},
    {"num-steps", LENGTH},
    {"total-steps", LENGTH},
    {"iterations", LENGTH},
    {"output", "--out DIR names the directory of the run"},
    {"output-dir", "--out DIR names the directory of the run"},
    {"out-dir", "--out DIR names the directory of the run"},
    {"save-dir", "--out DIR names the directory of the run"},
    {"save-path", "--out DIR names the directory of the run"},
    {"resume-from", "--resume goes on with the run in --out DIR"},
    {"resume-from-checkpoint", "--resume goes on with the run in --out DIR"},
    {"save-steps", "--save-every N saves every so many steps"},
    {"gpus", "--ranks N takes as many GPUs, with --device cuda"},
    {"num-gpus", "--ranks N takes as many GPUs, with --device cuda"},
    {"world-size", "--ranks N is the number of ranks"},
    {"bf16", "--dtype bf16 computes so, on GPUs"},
    {"batch-size", OF_PROGRAM},
    {"learning-rate", OF_PROGRAM},
    {"model", OF_PROGRAM},
};

/* Our name of an option of other programs, written with dashes or not; NULL:
 * who knows. */
static const char *
other_option(const char *name)
{
    for (size_t i = 0; i < RLF_COUNT(other_options); i++) {
        const char *a = other_options[i].word, *b = name;
        while (*a && (*a == *b || (*a == '-' && *b == '_')))
            a++, b++;
        if (!*a && !*b)
            return other_options[i].hint;
    }
    return NULL;
}

/* Is a word of n bytes the name of an option? */
static bool
is_option(const char *word, int n)
{
    for (int i = 0; i < RLF_OPTIONS; i++)
        if (strlen(rlf_option_rows[i].word) == (size_t)n &&
            strncmp(rlf_option_rows[i].word, word, (size_t)n) == 0)
            return true;
    return false;
}

/* `word` (n bytes), or the letter that stands for it, is no option of the
 * command: say so, and what is. */
static rlf_status
unknown_option(rlf_command command, const char *word, int n, const char *letter,
               rlf_err *err)
{
    bool settings = rlf_command_rows[command].words == RLF_WORDS_SETTINGS;
    const char *words[RLF_OPTIONS];
    size_t count = 0;
    char name[64];
    snprintf(name, sizeof name, "%.*s", n, word);
    for (int i = 0; i < RLF_OPTIONS; i++)
        if (rlf_command_takes(command, (rlf_option)i))
            words[count++] = rlf_option_rows[i].word;
    const char *nearest = rlf_str_nearest(name, words, count);
    if (letter) {
        rlf_fail(err, RLF_USAGE, "rlflow %s takes no %s",
                 rlf_command_rows[command].word, letter);
        rlf_err_hint(err, "rlflow help %s lists its options%s",
                     rlf_command_rows[command].word,
                     strcmp(letter, "-o") == 0
                         ? "; what it prints is written to a file with > FILE"
                         : "");
        return RLF_USAGE;
    }
    if (is_option(word, n)) {
        rlf_fail(err, RLF_USAGE, "rlflow %s takes no --%s",
                 rlf_command_rows[command].word, name);
        if (nearest)
            rlf_err_hint(err, "did you mean --%s", nearest);
        else
            rlf_err_hint(err, "rlflow help %s lists its options",
                         rlf_command_rows[command].word);
        return RLF_USAGE;
    }
    rlf_fail(err, RLF_USAGE, "no option --%.*s", n, word);
    const char *other = settings ? other_option(name) : NULL;
    if (other)
        rlf_err_hint(err, "%s; rlflow help %s lists the options", other,
                     rlf_command_rows[command].word);
    else if (nearest)
        rlf_err_hint(err, "did you mean --%s", nearest);
    else if (settings && !strchr(name, '-'))
        rlf_err_hint(err,
                     "a parameter of the program is given without dashes: "
                     "%s=VALUE; rlflow help %s lists the options",
                     name, rlf_command_rows[command].word);
    else
        rlf_err_hint(err, "rlflow help %s lists its options",
                     rlf_command_rows[command].word);
    return RLF_USAGE;
}

/* Is `text` one of the words in "a|b|c"? */
static bool
one_of(const char *words, const char *text)
{
    size_t n = strlen(text);
    for (const char *p = words; *p;) {
        size_t k = strcspn(p, "|");
        if (k == n && strncmp(p, text, n) == 0)
            return true;
        p += k + (p[k] == '|');
    }
    return false;
}

/* A whole number from `least` to `most`, given by `from`. */
static rlf_status
read_number(const char *text, const char *from, int64_t least, int64_t most,
            rlf_err *err, int64_t *out)
{
    char *end = NULL;
    errno = 0;
    *out = strtoll(text, &end, 10);
    bool digits = isdigit((unsigned char)*text) ||
                  (*text == '-' && isdigit((unsigned char)text[1]));
    if (digits && !*end && !errno && *out >= least && *out <= most)
        return RLF_OK;
    rlf_fail(err, RLF_USAGE, "%s is '%s', not a whole number from %lld", from,
             text, (long long)least);
    if (most != INT64_MAX || errno == ERANGE)
        rlf_err_hint(err, "it may be %lld at most", (long long)most);
    return RLF_USAGE;
}

rlf_status
rlf_variable_number(const char *name, int64_t preset, rlf_err *err,
                    int64_t *out)
{
    const char *text = getenv(name);
    *out = preset;
    return text && *text ? read_number(text, name, 0, INT64_MAX, err, out)
                         : RLF_OK;
}

rlf_status
rlf_option_read(rlf_option option, const char *text, const char *from,
                rlf_err *err, rlf_option_value *value)
{
    const rlf_option_row *row = &rlf_option_rows[option];
    value->text = text;
    if (row->type == RLF_OPTION_IS_INT)
        RLF_TRY(read_number(text, from, row->least, row->most, err,
                            &value->number));
    if (row->type == RLF_OPTION_IS_WORD && !one_of(row->argument, text))
        return rlf_fail(err, RLF_USAGE, "%s is '%s', not one of %s", from, text,
                        row->argument);
    if (row->type == RLF_OPTION_IS_FLAG && *text && !one_of("0|1", text)) {
        rlf_fail(err, RLF_USAGE, "%s is '%s', not 0 or 1", from, text);
        rlf_err_hint(err, "1 is what --%s says", row->word);
        return RLF_USAGE;
    }
    if (row->type == RLF_OPTION_IS_FLAG)
        value->number = strcmp(text, "0") != 0;
    if (row->type >= RLF_OPTION_IS_TEXT && !*text)
        return rlf_fail(err, RLF_USAGE, "%s is empty", from);
    return RLF_OK;
}

/* A switch that the environment turns off, which is as if it were not there. */
static bool
is_off(const rlf_option_row *row, const char *text)
{
    return row->type == RLF_OPTION_IS_FLAG && strcmp(text, "0") == 0;
}

/* Variables that preset no option and have a form, of those that the command
 * reads. */
static rlf_status
check_variables(rlf_command command, rlf_err *err)
{
    for (const rlf_variable_row *v = rlf_variable_rows; v->name; v++) {
        rlf_log log = {0};
        int64_t bytes;
        if (!rlf_command_reads(command, v))
            continue;
        if (strcmp(v->name, "RLFLOW_LOG") == 0)
            RLF_TRY(rlf_log_from_env(&log, err));
        else if (strcmp(v->name, "RLFLOW_DATA_MEMORY") == 0)
            RLF_TRY(rlf_variable_number(v->name, 0, err, &bytes));
    }
    return RLF_OK;
}

/* Presets and environment of all options that the command takes. */
static rlf_status
preset(rlf_command_line *line, rlf_err *err)
{
    RLF_TRY(check_variables(line->command, err));
    for (int i = 0; i < RLF_OPTIONS; i++) {
        const rlf_option_row *row = &rlf_option_rows[i];
        if (!rlf_command_takes(line->command, (rlf_option)i))
            continue;
        const char *variable =
            rlf_command_variable(line->command, (rlf_option)i);
        const char *text = *variable ? getenv(variable) : NULL;
        if (text && *text) {
            RLF_TRY(rlf_option_read((rlf_option)i, text, variable, err,
                                    &line->options[i]));
            line->options[i].given = !is_off(row, text);
            line->options[i].variable = variable;
        } else if (*row->preset)
            RLF_TRY(rlf_option_read((rlf_option)i, row->preset, row->word, err,
                                    &line->options[i]));
    }
    return RLF_OK;
}

/* The word of an option that has a letter too, or NULL. */
static const char *
short_option(const char *text)
{
    return strcmp(text, "-v") == 0   ? "verbose"
           : strcmp(text, "-q") == 0 ? "quiet"
           : strcmp(text, "-o") == 0 ? "table"
                                     : NULL;
}

rlf_option
rlf_option_called(const char *spelled)
{
    const char *word = short_option(spelled);
    if (!word && strncmp(spelled, "--", 2) == 0)
        word = spelled + 2;
    return word ? option_named(word) : RLF_OPTIONS;
}

/* Read the option argv[*at] and, if it takes one, its value. */
static rlf_status
read_option(rlf_command_line *line, int argc, char *const *argv, int *at,
            rlf_err *err)
{
    const char *spelled = argv[*at], *letter = short_option(spelled);
    const char *name = letter ? letter : argv[*at] + 2;
    int n = (int)strcspn(name, "=");
    if (strcmp(name, "help") == 0) {
        line->help = true;
        return RLF_OK;
    }
    if (line->command == RLF_COMMAND_LSP && strcmp(name, "stdio") == 0)
        return RLF_OK; /* clients append it, and it is what lsp does */
    int index = 0;
    while (index < RLF_OPTIONS &&
           !(rlf_command_takes(line->command, (rlf_option)index) &&
             strlen(rlf_option_rows[index].word) == (size_t)n &&
             strncmp(rlf_option_rows[index].word, name, (size_t)n) == 0))
        index++;
    if (index == RLF_OPTIONS)
        return unknown_option(line->command, name, n, letter ? spelled : NULL,
                              err);
    const rlf_option_row *row = &rlf_option_rows[index];
    const char *text = name[n] ? name + n + 1 : NULL;
    if (row->type == RLF_OPTION_IS_FLAG && text)
        return rlf_fail(err, RLF_USAGE, "--%s takes no value", row->word);
    if (row->type == RLF_OPTION_IS_FLAG)
        text = "";
    const char *next = !text && *at + 1 < argc ? argv[*at + 1] : NULL;
    bool dashed = next && (strncmp(next, "--", 2) == 0 || short_option(next) ||
                           strcmp(next, "-h") == 0);
    if (next && !dashed) {
        text = next;
        ++*at;
    }
    char from[64];
    snprintf(from, sizeof from, "%s%s", letter ? "" : "--",
             letter ? spelled : row->word);
    if (!text) {
        rlf_fail(err, RLF_USAGE, "%s needs a value%s%s%s", from,
                 dashed ? ", but " : "", dashed ? next : "",
                 dashed ? " follows" : "");
        rlf_err_hint(err, "say %s %s", from, row->argument);
        return RLF_USAGE;
    }
    line->options[index].given = true;
    line->options[index].letter = letter ? spelled : NULL;
    line->options[index].variable = NULL;
    return rlf_option_read((rlf_option)index, text, from, err,
                           &line->options[index]);
}

/* Bytes of the NAME of the language that the text begins with; 0: none. */
static size_t
name_length(const char *text)
{
    size_t n = 0;
    while (isalnum((unsigned char)text[n]) || text[n] == '_')
        n++;
    return isdigit((unsigned char)text[0]) ? 0 : n;
}

/* NAME=VALUE; anything else is a file. */
static bool
is_setting(const char *text)
{
    size_t n = name_length(text);
    return n && text[n] == '=';
}

/* NAME=VALUE that words from argv[i] on were meant to be: `lr = 1`, `lr =1`,
 * `lr= 1`, `lr 1`, `lr:1`, `lr: 1`; NULL: none. */
static const char *
meant_setting(int argc, char *const *argv, int i, rlf_arena *arena)
{
    const char *text = argv[i], *last = i + 1 < argc ? argv[i + 1] : NULL;
    size_t n = name_length(text);
    const char *before = i > 2 ? argv[i - 1] : "";
    if (is_setting(before) && before[strlen(before) - 1] == '=')
        return rlf_arena_printf(arena, "%s%s", before, text);
    if (n && text[n] == ':' && (text[n + 1] || last))
        return rlf_arena_printf(arena, "%.*s=%s", (int)n, text,
                                text[n + 1] ? text + n + 1 : last);
    if (!n || text[n] || !last || last[0] == '-' || is_program(last))
        return NULL;
    if (strcmp(last, "=") == 0)
        last = i + 2 < argc ? argv[i + 2] : "VALUE";
    else if (last[0] == '=')
        last++;
    return rlf_arena_printf(arena, "%s=%s", text, last);
}

/* Why argv[i] is a word too many: it follows an option without a value, or the
 * value of one, as its unit. "" if nobody knows. */
static const char *
surplus(const rlf_command_line *line, int i, rlf_arena *arena)
{
    int argc = line->argc;
    char *const *argv = line->argv;
    const char *before = i > 2 ? argv[i - 1] : "";
    for (int k = 0; k < RLF_OPTIONS && !strncmp(before, "--", 2); k++)
        if (rlf_option_rows[k].type == RLF_OPTION_IS_FLAG &&
            !strcmp(rlf_option_rows[k].word, before + 2)) {
            rlf_buf doc = {0};
            rlf_option_doc((rlf_option)k, line->command, &doc);
            const char *why =
                rlf_arena_printf(arena, "%s takes no value: %s", before, doc.p);
            rlf_buf_free(&doc);
            return why;
        }
    bool number = strspn(before, "0123456789.") == strlen(before) && *before;
    size_t letters = strspn(argv[i], "abcdefghijklmnopqrstuvwxyz"
                                     "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    bool unit = number && letters && letters <= 3 && !argv[i][letters];
    if (unit && i > 3 && !strncmp(argv[i - 2], "--", 2) && i < argc)
        return rlf_arena_printf(arena, "write %s %s%s, the unit at its number",
                                argv[i - 2], before, argv[i]);
    return "";
}

/* Words beside the program: parameters that are written otherwise. */
static rlf_status
check_words(const rlf_command_line *line, rlf_arena *arena, rlf_err *err)
{
    const rlf_command_row *row = &rlf_command_rows[line->command];
    if (line->n_files < 2 || row->most > 1 || row->words != RLF_WORDS_SETTINGS)
        return RLF_OK;
    for (int i = 2; i < line->argc; i++) {
        bool file = false;
        for (size_t k = 0; k < line->n_files; k++)
            file = file || line->files[k] == line->argv[i];
        if (!file || is_program(line->argv[i]))
            continue;
        const char *meant = meant_setting(line->argc, line->argv, i, arena);
        const char *why = surplus(line, i, arena);
        rlf_fail(err, RLF_USAGE, "'%s' is no program and no NAME=VALUE",
                 line->argv[i]);
        if (*why)
            rlf_err_hint(err, "%s", why);
        else if (meant)
            rlf_err_hint(err, "write %s, without blanks", meant);
        else
            rlf_err_hint(err, "%s takes %s; rlflow help %s",
                         rlf_command_rows[line->command].word,
                         rlf_command_rows[line->command].takes,
                         rlf_command_rows[line->command].word);
        return RLF_USAGE;
    }
    return RLF_OK;
}

/* The command gets as many words as it takes, and settings only if it takes
 * any. */
static rlf_status
count_words(const rlf_command_line *line, rlf_err *err)
{
    const rlf_command_row *row = &rlf_command_rows[line->command];
    if (line->n_files > row->most && !row->most)
        rlf_fail(err, RLF_USAGE, "%s takes %s, but '%s' is given", row->word,
                 row->takes, line->files[0]);
    else if (line->n_files > row->most || line->n_files < row->least)
        rlf_fail(err, RLF_USAGE, "%s takes %s, %zu were given", row->word,
                 row->takes, line->n_files);
    else if (line->n_settings && row->words == RLF_WORDS_ALONE) {
        const rlf_setting *first = &line->settings[0];
        rlf_fail(err, RLF_USAGE, "%s takes %s, and no NAME=VALUE: %s=%s",
                 row->word, row->takes, first->name, first->value);
        if (row->most)
            rlf_err_hint(err, "write ./%s=%s if that is a file", first->name,
                         first->value);
    } else
        return RLF_OK;
    rlf_err_hint(err, "rlflow help %s", row->word);
    return RLF_USAGE;
}

static rlf_status
read_word(rlf_command_line *line, const char *text, rlf_arena *arena,
          rlf_err *err)
{
    bool texts = rlf_command_rows[line->command].words == RLF_WORDS_TEXTS;
    if (texts || !is_setting(text)) {
        line->files[line->n_files++] = text;
        return RLF_OK;
    }
    size_t n = strcspn(text, "=");
    const char *name = rlf_arena_strndup(arena, text, n);
    for (size_t i = 0; i < line->n_settings; i++) {
        const rlf_setting *before = &line->settings[i];
        if (strcmp(before->name, name) != 0)
            continue;
        rlf_fail(err, RLF_USAGE, "parameter '%s' is given twice: %s=%s and %s",
                 name, name, before->value, text);
        rlf_err_hint(err, "leave one of them out");
        return RLF_USAGE;
    }
    line->settings[line->n_settings++] = (rlf_setting){name, text + n + 1};
    return RLF_OK;
}

/* ---- options together ---- */

static const struct {
    rlf_command command;
    rlf_option option;
    const char *others, *doc;
} needs[] = {
#define NEEDS(command, option, others, doc) \
    {RLF_COMMAND_##command, RLF_OPTION_##option, others, doc},
#include "engine/base/option.def"
#undef NEEDS
};

static const struct {
    rlf_command command;
    rlf_option option, other;
    const char *doc;
} excludes[] = {
#define EXCLUDES(command, option, other, doc) \
    {RLF_COMMAND_##command, RLF_OPTION_##option, RLF_OPTION_##other, doc},
#include "engine/base/option.def"
#undef EXCLUDES
};

static bool
is_said(const rlf_command_line *line, rlf_option option)
{
    const rlf_option_value *o = &line->options[option];
    return o->given && !o->variable;
}

/* Is one of these options given, which are words with | between? */
static bool
gives_one(const rlf_command_line *line, const char *words)
{
    for (int i = 0; i < RLF_OPTIONS; i++)
        if (line->options[i].given && one_of(words, rlf_option_rows[i].word))
            return true;
    return false;
}

/* "--a or --b" of "a|b". */
static void
put_options(const char *words, rlf_buf *out)
{
    for (const char *p = words; *p;) {
        size_t n = strcspn(p, "|");
        rlf_buf_printf(out, "%s--%.*s", p == words ? "" : " or ", (int)n, p);
        p += n + (p[n] == '|');
    }
}

/* No option is given that has no effect beside the others, or without. */
static rlf_status
check_together(const rlf_command_line *line, rlf_err *err)
{
    for (size_t i = 0; i < RLF_COUNT(excludes); i++) {
        if (excludes[i].command != line->command ||
            !is_said(line, excludes[i].option) ||
            !is_said(line, excludes[i].other))
            continue;
        rlf_fail(err, RLF_USAGE, "%s", excludes[i].doc);
        rlf_err_hint(err, "leave out one of the two");
        return RLF_USAGE;
    }
    for (size_t i = 0; i < RLF_COUNT(needs); i++) {
        if (needs[i].command != line->command ||
            !is_said(line, needs[i].option) || gives_one(line, needs[i].others))
            continue;
        rlf_buf others = {0};
        put_options(needs[i].others, &others);
        rlf_fail(err, RLF_USAGE, "%s", needs[i].doc);
        rlf_err_hint(err, "add %s, or leave out --%s", others.p,
                     rlf_option_rows[needs[i].option].word);
        rlf_buf_free(&others);
        return RLF_USAGE;
    }
    return RLF_OK;
}

/* ---- the command line ---- */

static rlf_status
no_command(rlf_err *err)
{
    rlf_buf text = {0};
    rlf_commands_help(&text);
    rlf_fail(err, RLF_USAGE, "no command is given");
    rlf_err_detail(err, "%s", text.p);
    rlf_buf_free(&text);
    return RLF_USAGE;
}

rlf_status
rlf_command_line_read(int argc, char *const *argv, rlf_arena *arena,
                      rlf_err *err, rlf_command_line *out)
{
    *out = (rlf_command_line){
        .argc = argc, .argv = argv, .command = RLF_COMMAND_HELP};
    if (argc < 2)
        return no_command(err);
    bool help = strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0;
    out->command = help ? RLF_COMMAND_HELP
                   : strcmp(argv[1], "--version") == 0
                       ? RLF_COMMAND_VERSION
                       : rlf_command_named(argv[1]);
    if (out->command == RLF_COMMANDS)
        return unknown_command(argv[1], err);
    out->files = RLF_NEW_ARRAY(arena, const char *, argc);
    out->settings = RLF_NEW_ARRAY(arena, rlf_setting, argc);
    RLF_TRY(preset(out, err));
    bool only_words = false;
    for (int i = 2; i < argc; i++) {
        const char *text = argv[i];
        if (only_words || text[0] != '-' || !text[1])
            RLF_TRY(read_word(out, text, arena, err));
        else if (strcmp(text, "--") == 0)
            only_words = true;
        else if (strcmp(text, "-h") == 0)
            out->help = true;
        else if (short_option(text) || text[1] == '-')
            RLF_TRY(read_option(out, argc, argv, &i, err));
        else {
            rlf_fail(err, RLF_USAGE, "no option %s", text);
            rlf_err_hint(err, "options begin with two dashes");
            return RLF_USAGE;
        }
    }
    if (out->help)
        return RLF_OK;
    RLF_TRY(check_words(out, arena, err));
    RLF_TRY(count_words(out, err));
    return check_together(out, err);
}

/* ---- the environment ---- */

static bool
is_read(const char *name)
{
    for (const rlf_variable_row *v = rlf_variable_rows; v->name; v++) {
        size_t n = strlen(v->name);
        if (v->name[n - 1] == '_' ? strncmp(name, v->name, n) == 0
                                  : strcmp(name, v->name) == 0)
            return true;
    }
    for (int i = 0; i < RLF_OPTIONS; i++)
        if (strcmp(name, rlf_option_rows[i].environment) == 0)
            return true;
    return false;
}

/* The option that the variable would preset, were it called as others are; or
 * NULL. */
static const char *
option_of(const char *name)
{
    for (int i = 0; i < RLF_OPTIONS; i++) {
        const char *a = rlf_option_rows[i].word, *b = name + strlen("RLFLOW_");
        while (*a && *b == (*a == '-' ? '_' : toupper((unsigned char)*a)))
            a++, b++;
        if (!*a && !*b)
            return rlf_option_rows[i].word;
    }
    return NULL;
}

void
rlf_command_environment(char *const *environment, rlf_buf *out)
{
    const size_t begin = strlen("RLFLOW_"); /* which all names have */
    const char *names[RLF_OPTIONS + 2] = {"LOG", "STDLIB"};
    for (int i = 0; i < RLF_OPTIONS; i++)
        names[i + 2] = *rlf_option_rows[i].environment
                           ? rlf_option_rows[i].environment + begin
                           : NULL;
    for (; *environment; environment++) {
        size_t n = strcspn(*environment, "=");
        char name[128]; /* a longer one is like none */
        if (strncmp(*environment, "RLFLOW_", begin) != 0 ||
            !(*environment)[n] || !(*environment)[n + 1])
            continue;
        snprintf(name, sizeof name, "%.*s", (int)n, *environment);
        if (is_read(name))
            continue;
        const char *option = option_of(name);
        const char *near =
            rlf_str_nearest(name + begin, names, RLF_OPTIONS + 2);
        rlf_buf_printf(out,
                       "warning: the environment variable %s is none that "
                       "rlflow reads, so it does nothing\n",
                       name);
        if (option)
            rlf_buf_printf(out, "hint: --%s is for the command line only\n",
                           option);
        else if (near)
            rlf_buf_printf(out, "hint: did you mean RLFLOW_%s\n", near);
    }
}

/* The command line in words: help texts, and what shells complete. All of it is
 * made of the rows of option.def. */
#include "engine/base/option_table.h"

#include <stdio.h>
#include <string.h>

enum { WIDE = 80, INDENT = 27, WORD = 10 }; /* columns */

/* The text from column `indent` on, broken between words, further lines
 * indented. */
static void
put_wrapped(rlf_buf *out, size_t indent, const char *text)
{
    size_t at = indent;
    while (*text) {
        size_t n = strcspn(text, " ");
        if (at > indent && at + 1 + n > WIDE) {
            rlf_buf_printf(out, "\n%*s", (int)indent, "");
            at = indent;
        } else if (at > indent) {
            rlf_buf_putc(out, ' ');
            at++;
        }
        rlf_buf_add(out, text, n);
        at += n;
        text += n + strspn(text + n, " ");
    }
    rlf_buf_putc(out, '\n');
}

static bool
is_listed(const char *list, size_t n, const char *word)
{
    size_t k = strlen(word);
    for (const char *at = list; at < list + n; at += strspn(at, " ")) {
        size_t m = strcspn(at, " :");
        if (m == k && memcmp(at, word, k) == 0)
            return true;
        at += m;
    }
    return false;
}

void
rlf_option_doc(rlf_option option, rlf_command command, rlf_buf *out)
{
    const char *text = rlf_option_rows[option].doc;
    while (*text) {
        size_t n = strcspn(text, "{");
        rlf_buf_add(out, text, n);
        text += n;
        if (!*text)
            break;
        size_t list = strcspn(text, ":"), all = strcspn(text, "}");
        if (is_listed(text + 1, list - 1, rlf_command_rows[command].word))
            rlf_buf_add(out, text + list + 1, all - list - 1);
        text += all + 1;
    }
}

static void
put_option(rlf_buf *out, rlf_option option, rlf_command command)
{
    const rlf_option_row *row = &rlf_option_rows[option];
    char head[96];
    rlf_buf doc = {0};
    int n = snprintf(head, sizeof head, "  --%s%s%s", row->word,
                     *row->argument ? " " : "", row->argument);
    rlf_buf_puts(out, head);
    if (n + 2 > INDENT) {
        rlf_buf_putc(out, '\n');
        n = 0;
    }
    rlf_buf_printf(out, "%*s", INDENT - n, "");
    rlf_option_doc(option, command, &doc);
    if (*row->preset)
        rlf_buf_printf(&doc, " (%s)", row->preset);
    const char *variable = rlf_command_variable(command, option);
    if (*variable)
        rlf_buf_printf(&doc, " [%s]", variable);
    put_wrapped(out, INDENT, doc.p);
    rlf_buf_free(&doc);
}

/* The variables that the command reads besides. */
static void
put_variables(rlf_buf *out, rlf_command command)
{
    bool any = false;
    for (const rlf_variable_row *v = rlf_variable_rows; v->name; v++) {
        if (!rlf_command_reads(command, v))
            continue;
        rlf_buf_printf(out, "%s  %-*s", any ? "" : "\nIn the environment:\n",
                       INDENT - 2, v->name);
        put_wrapped(out, INDENT, v->doc);
        any = true;
    }
}

void
rlf_command_help(rlf_command command, rlf_buf *out)
{
    const rlf_command_row *c = &rlf_command_rows[command];
    bool any = false;
    for (int i = 0; i < RLF_OPTIONS; i++)
        any = any || rlf_command_takes(command, (rlf_option)i);
    rlf_buf_printf(out, "usage: rlflow %s%s%s%s\n\n", c->word,
                   *c->arguments ? " " : "", c->arguments,
                   any ? " [OPTION ...]" : "");
    put_wrapped(out, 0, c->doc);
    rlf_buf_puts(out, any ? "\n" : "");
    for (int i = 0; i < RLF_OPTIONS; i++)
        if (rlf_command_takes(command, (rlf_option)i))
            put_option(out, (rlf_option)i, command);
    put_variables(out, command);
}

void
rlf_commands_help(rlf_buf *out)
{
    rlf_buf_puts(out, "usage: rlflow COMMAND [ARGUMENT ...] [OPTION ...]\n\n");
    for (int i = 0; i < RLF_COMMANDS; i++) {
        rlf_buf_printf(out, "  %-*s ", WORD, rlf_command_rows[i].word);
        put_wrapped(out, 2 + WORD + 1, rlf_command_rows[i].doc);
    }
    rlf_buf_puts(out, "\nrlflow help COMMAND shows its options.\n");
}

/* ---- completion ---- */

static bool
is_file(const rlf_option_row *row)
{
    return row->type == RLF_OPTION_IS_INPUT ||
           row->type == RLF_OPTION_IS_OUTPUT;
}

/* The words of "a|b|c", one space between. */
static void
put_choices(rlf_buf *out, const char *choices)
{
    for (; *choices; choices++)
        rlf_buf_putc(out, *choices == '|' ? ' ' : *choices);
}

/* A case of bash for each option that takes a value: choices, files or
 * directories. */
static void
put_bash_values(rlf_buf *out)
{
    for (int i = 0; i < RLF_OPTIONS; i++) {
        const rlf_option_row *row = &rlf_option_rows[i];
        if (!*row->argument)
            continue;
        rlf_buf_printf(out, "    --%s | --%s=) ", row->word, row->word);
        if (is_file(row)) {
            rlf_buf_puts(out, "COMPREPLY=($(compgen -f -- \"$word\")); ");
        } else if (strchr(row->argument, '|')) {
            rlf_buf_puts(out, "COMPREPLY=($(compgen -W '");
            put_choices(out, row->argument);
            rlf_buf_puts(out, "' -- \"$word\")); ");
        } else if (strcmp(row->argument, "DIR") == 0)
            rlf_buf_puts(out, "COMPREPLY=($(compgen -d -- \"$word\")); ");
        rlf_buf_puts(out, "return ;;\n");
    }
}

static void
put_command_words(rlf_buf *out)
{
    for (int i = 0; i < RLF_COMMANDS; i++)
        rlf_buf_printf(out, "%s%s", i ? " " : "", rlf_command_rows[i].word);
}

/* Commands with what they take; parameters of the program that is named. */
void
rlf_complete_bash(rlf_buf *out)
{
    rlf_buf_puts(out, "# bash completion of rlflow; it is printed by"
                      " `rlflow completion bash`\n"
                      "_rlflow() {\n"
                      "    local word=$2 last=$3 command=${COMP_WORDS[1]}"
                      " options= file= i\n"
                      "    COMPREPLY=()\n"
                      "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
                      "        COMPREPLY=($(compgen -W '");
    put_command_words(out);
    rlf_buf_puts(out, "' -- \"$word\"))\n"
                      "        return\n"
                      "    fi\n"
                      "    # NAME=VALUE and --name=value are three words here\n"
                      "    if [ \"$word\" = = ]; then\n"
                      "        word= last=${COMP_WORDS[COMP_CWORD - 1]}=\n"
                      "    elif [ \"$last\" = = ]; then\n"
                      "        last=${COMP_WORDS[COMP_CWORD - 2]}=\n"
                      "    fi\n"
                      "    case $last in\n"
                      "    help)\n"
                      "        COMPREPLY=($(compgen -W '");
    put_command_words(out);
    rlf_buf_puts(out, "' -- \"$word\")); return ;;\n"
                      "    completion)\n"
                      "        COMPREPLY=($(compgen -W 'bash zsh' --"
                      " \"$word\")); return ;;\n");
    put_bash_values(out);
    rlf_buf_puts(out, "    *=) compopt -o filenames 2>/dev/null\n"
                      "        COMPREPLY=($(compgen -f -- \"$word\")); return ;;"
                      "\n");
    rlf_buf_puts(out, "    esac\n"
                      "    case $command in\n");
    for (int c = 0; c < RLF_COMMANDS; c++) {
        rlf_buf_printf(out, "    %s) options='", rlf_command_rows[c].word);
        for (int i = 0; i < RLF_OPTIONS; i++)
            if (rlf_command_takes((rlf_command)c, (rlf_option)i))
                rlf_buf_printf(out, "--%s ", rlf_option_rows[i].word);
        rlf_buf_puts(out, "--help' ;;\n");
    }
    rlf_buf_puts(
        out,
        "    esac\n"
        "    if [[ $word == -* ]]; then\n"
        "        COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
        "        return\n"
        "    fi\n"
        "    for ((i = 2; i < COMP_CWORD; i++)); do\n"
        "        [[ ${COMP_WORDS[i]} == *.rlf ]] && file=${COMP_WORDS[i]}\n"
        "    done\n"
        "    if [ -n \"$file\" ]; then\n"
        "        compopt -o nospace 2>/dev/null\n"
        "        COMPREPLY=($(compgen -S = -W \"$(rlflow params \"$file\" "
        "2>/dev/null |\n"
        "            sed 's/ .*//')\" -- \"$word\"))\n"
        "        return\n"
        "    fi\n"
        "    compopt -o filenames 2>/dev/null\n"
        "    COMPREPLY=($(compgen -f -X '!*.rlf' -- \"$word\")"
        " $(compgen -d -- \"$word\"))\n"
        "}\n"
        "complete -F _rlflow rlflow\n");
}

/* A text in single quotes within which brackets and colons are plain. */
static void
put_zsh_text(rlf_buf *out, const char *text)
{
    for (; *text; text++) {
        if (strchr("[]:\\", *text))
            rlf_buf_putc(out, '\\');
        if (*text == '\'')
            rlf_buf_puts(out, "'\\'");
        rlf_buf_putc(out, *text);
    }
}

static void
put_zsh_option(rlf_buf *out, rlf_option option, rlf_command command)
{
    const rlf_option_row *row = &rlf_option_rows[option];
    rlf_buf doc = {0};
    rlf_buf_printf(out, " \\\n            '--%s%s[", row->word,
                   *row->argument ? "=" : "");
    rlf_option_doc(option, command, &doc);
    put_zsh_text(out, doc.p);
    rlf_buf_free(&doc);
    rlf_buf_putc(out, ']');
    if (is_file(row)) {
        rlf_buf_puts(out, ":file:_files");
    } else if (strchr(row->argument, '|')) {
        rlf_buf_printf(out, ":%s:(", row->word);
        put_choices(out, row->argument);
        rlf_buf_putc(out, ')');
    } else if (strcmp(row->argument, "DIR") == 0)
        rlf_buf_puts(out, ":directory:_files -/");
    else if (*row->argument)
        rlf_buf_printf(out, ":%s: ", row->argument);
    rlf_buf_putc(out, '\'');
}

void
rlf_complete_zsh(rlf_buf *out)
{
    rlf_buf_puts(out, "#compdef rlflow\n"
                      "# zsh completion of rlflow; it is printed by"
                      " `rlflow completion zsh`\n"
                      "_rlflow_words() {\n"
                      "    local file=${words[(r)*.rlf]}\n"
                      "    if [[ -n $file ]]; then\n"
                      "        compadd -S = -- ${(f)\"$(rlflow params $file "
                      "2>/dev/null | sed 's/ .*//')\"}\n"
                      "    else\n"
                      "        _files -g '*.rlf'\n"
                      "    fi\n"
                      "}\n"
                      "_rlflow() {\n"
                      "    if (( CURRENT == 2 )); then\n"
                      "        local -a commands=(");
    for (int i = 0; i < RLF_COMMANDS; i++) {
        rlf_buf_printf(out, "\n            '%s:", rlf_command_rows[i].word);
        put_zsh_text(out, rlf_command_rows[i].doc);
        rlf_buf_putc(out, '\'');
    }
    rlf_buf_puts(out, ")\n"
                      "        _describe command commands\n"
                      "        return\n"
                      "    fi\n"
                      "    local command=$words[2]\n"
                      "    shift words; (( CURRENT-- ))\n"
                      "    case $command in\n");
    for (int c = 0; c < RLF_COMMANDS; c++) {
        rlf_buf_printf(out, "    %s) _arguments", rlf_command_rows[c].word);
        for (int i = 0; i < RLF_OPTIONS; i++)
            if (rlf_command_takes((rlf_command)c, (rlf_option)i))
                put_zsh_option(out, (rlf_option)i, (rlf_command)c);
        rlf_buf_puts(out, " \\\n            '*:program:_rlflow_words' ;;\n");
    }
    rlf_buf_puts(out, "    esac\n"
                      "}\n"
                      "_rlflow \"$@\"\n");
}

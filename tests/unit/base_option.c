/* The command line. */
#include "engine/base/option.h"
#include "engine/base/option_table.h"

#include "tests/tap.h"

static rlf_arena *arena;
static rlf_err error;
static rlf_command_line line;

/* Read the words of `text` as a command line. */
static rlf_status
given(const char *text)
{
    char *argv[32] = {NULL};
    int argc = 0;
    char *copy = rlf_arena_printf(arena, "rlflow %s", text), *rest = NULL;
    for (char *p = strtok_r(copy, " ", &rest); p;
         p = strtok_r(NULL, " ", &rest))
        argv[argc++] = p;
    rlf_err_clear(&error);
    return rlf_command_line_read(argc, argv, arena, &error, &line);
}

static void
refused(const char *text, const char *sentence, const char *hint)
{
    rlf_status status = given(text);
    ok(status == RLF_USAGE, "refused: %s", text);
    is_str(error.sentence, sentence, sentence);
    is_str(error.hint, hint, "its hint");
}

static void
run(void)
{
    is_int(given("run a.rlf lr=1e-5 --steps 20 --out=runs/x --resume n=a=b "
                 "--seed=7"),
           RLF_OK, "a whole command");
    is_int(line.command, RLF_COMMAND_RUN, "run");
    ok(line.n_files == 1 && strcmp(line.files[0], "a.rlf") == 0, "the file");
    is_int((int64_t)line.n_settings, 2, "two settings");
    is_str(line.settings[0].name, "lr", "a name");
    is_str(line.settings[0].value, "1e-5", "its value");
    is_str(line.settings[1].value, "a=b", "may have a =");
    is_int(line.options[RLF_OPTION_STEPS].number, 20, "--name value");
    is_str(line.options[RLF_OPTION_OUT].text, "runs/x", "--name=value");
    is_int(line.options[RLF_OPTION_RESUME].number, 1, "a flag");
    is_int(line.options[RLF_OPTION_SAMPLES].number, 16, "a preset");
    ok(!line.options[RLF_OPTION_RANKS].given, "is not given");
    ok(!line.options[RLF_OPTION_THREADS].text, "no preset, no value");
    is_str(line.options[RLF_OPTION_DIAG].text, "text", "a word's preset");
}

/* Parameters that are written as elsewhere. */
static void
blanks(void)
{
    refused("run a.rlf lr = 1e-4", "'lr' is no program and no NAME=VALUE",
            "write lr=1e-4, without blanks");
    refused("run a.rlf lr =1e-4", "'lr' is no program and no NAME=VALUE",
            "write lr=1e-4, without blanks");
    refused("run a.rlf lr= 1e-4", "'1e-4' is no program and no NAME=VALUE",
            "write lr=1e-4, without blanks");
    refused("check lr 1e-4 a.rlf", "'lr' is no program and no NAME=VALUE",
            "write lr=1e-4, without blanks");
    refused("plan a.rlf lr:1e-4", "'lr:1e-4' is no program and no NAME=VALUE",
            "write lr=1e-4, without blanks");
    refused("run a.rlf --lr 1e-4", "no option --lr",
            "a parameter of the program is given without dashes: lr=VALUE; "
            "rlflow help run lists the options");
    refused("run a.rlf lr: 1e-4", "'lr:' is no program and no NAME=VALUE",
            "write lr=1e-4, without blanks");
    is_int(given("run name= a.rlf"), RLF_OK,
           "an empty value, then the program");
    is_int((int64_t)line.n_files, 1, "which is one file");
    is_int(given("fmt a b"), RLF_OK, "several files where they may be");
}

static void
words(void)
{
    is_int(given("run -- --odd=name.rlf"), RLF_OK, "after --");
    is_str(line.files[0], "--odd=name.rlf", "all are words");
    is_int(given("run dir/a=b.rlf"), RLF_OK, "a path with a =");
    is_int((int64_t)line.n_files, 1, "is a file");
    is_int(given("fmt -"), RLF_OK, "standard input");
    is_str(line.files[0], "-", "is a file");
    is_int(given("--help"), RLF_OK, "--help");
    is_int(line.command, RLF_COMMAND_HELP, "is help");
    is_int(given("--version"), RLF_OK, "--version");
    is_int(line.command, RLF_COMMAND_VERSION, "is version");
    is_int(given("run --out=--x a.rlf"), RLF_OK, "--name=--value");
    is_str(line.options[RLF_OPTION_OUT].text, "--x", "is a value");
    is_int(given("run --help"), RLF_OK, "--help after a command");
    ok(line.help && line.command == RLF_COMMAND_RUN, "is about that command");
}

static void
wrong(void)
{
    refused("rum a.rlf", "no command 'rum'", "did you mean run");
    refused("ppo.rlf", "no command 'ppo.rlf'",
            "to run the program: rlflow run ppo.rlf");
    refused("run a.rlf --stepps 3", "no option --stepps",
            "did you mean --steps");
    refused("run a.rlf --step 3", "rlflow run takes no --step",
            "did you mean --steps");
    refused("graph a.rlf -o x.svg", "rlflow graph takes no -o",
            "rlflow help graph lists its options; what it prints is written to "
            "a file with > FILE");
    is_int(given("lsp --stdio"), RLF_OK, "--stdio, which clients append");
    refused("fmt a.rlf --stdio", "no option --stdio",
            "rlflow help fmt lists its options");
    refused("run a.rlf --steps", "--steps needs a value", "say --steps N");
    refused("run --device --out z a.rlf",
            "--device needs a value, but --out follows",
            "say --device cpu|cuda|auto");
    refused("run a.rlf --steps --out=z",
            "--steps needs a value, but --out=z follows", "say --steps N");
    refused("run a.rlf --out -q", "--out needs a value, but -q follows",
            "say --out DIR");
    refused("run --diag -- a.rlf", "--diag needs a value, but -- follows",
            "say --diag text|json");
    refused("run --steps 0", "--steps is '0', not a whole number from 1", "");
    refused("run --steps 1e3", "--steps is '1e3', not a whole number from 1",
            "");
    refused("run --steps=99999999999999999999",
            "--steps is '99999999999999999999', not a whole number from 1",
            "it may be 9223372036854775807 at most");
    refused("run --threads 5000",
            "--threads is '5000', not a whole number from 1",
            "it may be 1024 at most");
    refused("run --resume=yes", "--resume takes no value", "");
    refused("run --diag=xml", "--diag is 'xml', not one of text|json", "");
    refused("run --diag=tex", "--diag is 'tex', not one of text|json", "");
    refused("run --out=", "--out is empty", "");
    refused("run a.rlf lr=1 seed=2 lr=2",
            "parameter 'lr' is given twice: lr=1 and lr=2",
            "leave one of them out");
    refused("run -n 3", "no option -n", "options begin with two dashes");
    refused("check a.rlf --grace 3", "rlflow check takes no --grace",
            "rlflow help check lists its options");
    refused("run --unheard-of", "no option --unheard-of",
            "rlflow help run lists its options");
    refused("run a.rlf --epochs 3", "no option --epochs",
            "--steps N says how long a run is; rlflow help run lists the "
            "options");
    refused("run a.rlf --output_dir x", "no option --output_dir",
            "--out DIR names the directory of the run; rlflow help run lists "
            "the options");
    refused("run a.rlf --batch-size 8", "no option --batch-size",
            "a number of the program: in its text, or NAME=VALUE if it is a "
            "parameter; rlflow help run lists the options");
    refused("run a.rlf --save-every 10 min",
            "'min' is no program and no NAME=VALUE",
            "write --save-every 10min, the unit at its number");
    refused("run a.rlf --resume dir", "'dir' is no program and no NAME=VALUE",
            "--resume takes no value: go on from the last checkpoint of the run's "
            "directory");
    refused("run a.rlf --steps 3 7", "'7' is no program and no NAME=VALUE",
            "run takes one program; rlflow help run");
}

/* A command gets as many words as it takes. */
static void
counts(void)
{
    refused("run", "run takes one program, 0 were given", "rlflow help run");
    refused("plan a.rlf b.rlf", "plan takes one program, 2 were given",
            "rlflow help plan");
    refused("version x y", "version takes no arguments, but 'x' is given",
            "rlflow help version");
    refused("--version x", "version takes no arguments, but 'x' is given",
            "rlflow help version");
    refused("version x=1",
            "version takes no arguments, and no NAME=VALUE: x=1",
            "rlflow help version");
    refused("", "no command is given", "");
    ok(strstr(error.detail, "\n  check "), "with a list of them");
    refused("help run extra", "help takes one command at most, 2 were given",
            "rlflow help help");
    refused("--help run extra", "help takes one command at most, 2 were given",
            "rlflow help help");
    refused("fmt f.rlf zz=3",
            "fmt takes at least one program, and no NAME=VALUE: zz=3",
            "write ./zz=3 if that is a file; rlflow help fmt");
    refused("fmt", "fmt takes at least one program, 0 were given",
            "rlflow help fmt");
    refused("completion bash x=3",
            "completion takes one shell, bash or zsh, and no NAME=VALUE: x=3",
            "write ./x=3 if that is a file; rlflow help completion");
    refused("completion", "completion takes one shell, bash or zsh, 0 were "
            "given", "rlflow help completion");
    refused("schedule --times 1 x.rlf",
            "schedule takes no program, but 'x.rlf' is given",
            "rlflow help schedule");
    refused("cluster a100x8 h100x8", "cluster takes one cluster, 2 were given",
            "rlflow help cluster");
    is_int(given("run a.rlf b.rlf --help"), RLF_OK, "who wants help gets it");
    is_int(given("--help fmt"), RLF_OK, "--help of a command");
    ok(line.command == RLF_COMMAND_HELP && line.n_files == 1,
       "is help of that command");
}

static void
told_of(const char *variable, const char *want)
{
    char *environment[] = {rlf_arena_strdup(arena, variable), NULL};
    rlf_buf text = {0};
    rlf_command_environment(environment, &text);
    is_str(text.p ? text.p : "", want, variable);
    rlf_buf_free(&text);
}

/* Variables that nobody reads. */
static void
unread(void)
{
    told_of("RLFLOW_SEEED=1",
            "warning: the environment variable RLFLOW_SEEED is none that "
            "rlflow reads, so it does nothing\n"
            "hint: did you mean RLFLOW_SEED\n");
    told_of("RLFLOW_STEPS=3",
            "warning: the environment variable RLFLOW_STEPS is none that "
            "rlflow reads, so it does nothing\n"
            "hint: --steps is for the command line only\n");
    told_of("RLFLOW_KEEP_BEST=kl",
            "warning: the environment variable RLFLOW_KEEP_BEST is none that "
            "rlflow reads, so it does nothing\n"
            "hint: --keep-best is for the command line only\n");
    told_of("RLFLOW_STDLIBS=x",
            "warning: the environment variable RLFLOW_STDLIBS is none that "
            "rlflow reads, so it does nothing\n"
            "hint: did you mean RLFLOW_STDLIB\n");
    told_of("RLFLOW_INSTALLATION=/opt",
            "warning: the environment variable RLFLOW_INSTALLATION is none "
            "that rlflow reads, so it does nothing\n");
    told_of("RLFLOW_ROOT=/opt",
            "warning: the environment variable RLFLOW_ROOT is none that "
            "rlflow reads, so it does nothing\n");
    told_of("RLFLOW_STEPS=", "");
    told_of("RLFLOWER=1", "");
    told_of("RLFLOW_SEED=1", "");
    told_of("RLFLOW_LOG=info", "");
    told_of("RLFLOW_STDLIB=/x", "");
    told_of("RLFLOW_TEST_QUICK=1", "");
}

static void
environment(void)
{
    setenv("RLFLOW_THREADS", "3", 1);
    is_int(given("run a.rlf"), RLF_OK, "from the environment");
    is_int(line.options[RLF_OPTION_THREADS].number, 3, "a value");
    is_int(given("run a.rlf --threads 2"), RLF_OK, "the command line");
    is_int(line.options[RLF_OPTION_THREADS].number, 2, "wins");
    setenv("RLFLOW_THREADS", "many", 1);
    refused("run a.rlf", "RLFLOW_THREADS is 'many', not a whole number from 1",
            "it may be 1024 at most");
    is_int(given("params a.rlf"), RLF_OK,
           "no matter to who takes no --threads");
    unsetenv("RLFLOW_THREADS");
}

/* The longest line. */
static size_t
width(const char *text)
{
    size_t most = 0;
    for (size_t n; *text; text += n + (text[n] != 0)) {
        n = strcspn(text, "\n");
        most = n > most ? n : most;
    }
    return most;
}

/* With one space where there are spaces or a line's end. */
static const char *
unwrapped(const char *text)
{
    char *out = rlf_arena_strdup(arena, text), *at = out;
    for (; *text; text++)
        if (!strchr(" \n", *text))
            *at++ = *text;
        else if (at > out && at[-1] != ' ')
            *at++ = ' ';
    *at = 0;
    return out;
}

/* Is `head` in the help, with the end of its name behind it? */
static bool
has_option(const char *help, const char *head)
{
    const char *at = strstr(help, head);
    while (at && strchr("-abcdefghijklmnopqrstuvwxyz", at[strlen(head)]))
        at = strstr(at + 1, head);
    return at != NULL;
}

/* Parts of a doc are for some of the commands that take the option. */
static void
parts(void)
{
    for (int i = 0; i < RLF_OPTIONS; i++) {
        const char *at = rlf_option_rows[i].doc;
        for (; (at = strchr(at, '{')) != NULL; at++) {
            char list[80], *rest;
            snprintf(list, sizeof list, "%.*s", (int)strcspn(at + 1, ":"),
                     at + 1);
            for (char *word = strtok_r(list, " ", &rest); word;
                 word = strtok_r(NULL, " ", &rest)) {
                rlf_command c = rlf_command_named(word);
                ok(c != RLF_COMMANDS && rlf_command_takes(c, (rlf_option)i),
                   "%s takes --%s, whose help it has a part of", word,
                   rlf_option_rows[i].word);
            }
        }
    }
    rlf_buf doc = {0};
    rlf_option_doc(RLF_OPTION_SEED, RLF_COMMAND_RUN, &doc);
    is_str(doc.p, "the seed of all randomness", "--seed of run");
    rlf_buf_clear(&doc);
    rlf_option_doc(RLF_OPTION_SEED, RLF_COMMAND_EVAL, &doc);
    is_str(doc.p, "the seed of all randomness, of intervals too",
           "--seed of eval");
    rlf_buf_free(&doc);
}

/* Every row can be read, and the help shows it under each of its commands. */
static void
tables(void)
{
    static const char *const names[] = {
#define OPTION(name, word, ...) word,
#include "engine/base/option.def"
#undef OPTION
    };
    bool seen[RLF_OPTIONS] = {false};
    rlf_buf all = {0};
    rlf_commands_help(&all);
    ok(width(all.p) <= 80, "the overview has at most 80 columns");
    for (int c = 0; c < RLF_COMMANDS; c++) {
        const char *word = rlf_command_rows[c].word;
        is_int(rlf_command_named(word), c, word);
        ok(strstr(all.p, word) != NULL, "the overview has %s", word);
        rlf_buf buf = {0};
        rlf_command_help((rlf_command)c, &buf);
        ok(strstr(buf.p, word) != NULL, "so has its help");
        ok(width(buf.p) <= 80, "which has at most 80 columns");
        const char *flat = unwrapped(buf.p);
        for (int i = 0; i < RLF_OPTIONS; i++) {
            char head[64];
            snprintf(head, sizeof head, "\n  --%s", names[i]);
            bool takes = given(rlf_arena_printf(arena, "%s --%s", word,
                                                names[i])) == RLF_OK ||
                         !strstr(error.sentence, "takes no --");
            bool shown = has_option(buf.p, head);
            rlf_buf doc = {0};
            rlf_option_doc((rlf_option)i, (rlf_command)c, &doc);
            if (shown && (!strstr(flat, doc.p) || strpbrk(doc.p, "{}")))
                ok(false, "the doc of --%s", names[i]);
            rlf_buf_free(&doc);
            if (shown != takes)
                ok(false, "%s takes --%s as its help says", word, names[i]);
            seen[i] = seen[i] || shown;
        }
        rlf_buf_free(&buf);
    }
    for (int i = 0; i < RLF_OPTIONS; i++)
        ok(seen[i], "--%s belongs to a command", names[i]);
    rlf_buf_free(&all);
}

/* The command with the words that it has to have, and these options. */
static const char *
with_options(rlf_command command, const rlf_option *options, size_t n)
{
    const char *text = rlf_command_rows[command].word;
    for (size_t i = 0; i < rlf_command_rows[command].least; i++)
        text = rlf_arena_printf(arena, "%s a.rlf", text);
    for (size_t i = 0; i < n; i++) {
        const rlf_option_row *row = &rlf_option_rows[options[i]];
        bool flag = row->type == RLF_OPTION_IS_FLAG;
        ok(rlf_command_takes(command, options[i]), "there is --%s", row->word);
        text = rlf_arena_printf(arena, "%s --%s%s", text, row->word,
                                flag ? "" : " 1");
    }
    return text;
}

/* An option that needs one of others is refused alone, and taken with each. */
static void
need(rlf_command command, rlf_option option, const char *others,
     const char *doc)
{
    char *rest = NULL, *list = rlf_arena_strdup(arena, others);
    const char *alone = with_options(command, &option, 1), *hint = "add ";
    for (char *p = strtok_r(list, "|", &rest); p;
         p = strtok_r(NULL, "|", &rest)) {
        rlf_option both[2] = {
            option, rlf_option_called(rlf_arena_printf(arena, "--%s", p))};
        is_int(given(with_options(command, both, 2)), RLF_OK, "taken together");
        hint = rlf_arena_printf(arena, "%s%s--%s", hint,
                                p == list ? "" : " or ", p);
    }
    refused(alone, doc,
            rlf_arena_printf(arena, "%s, or leave out --%s", hint,
                             rlf_option_rows[option].word));
}

/* Of two that exclude each other each is taken alone. */
static void
exclude(rlf_command command, rlf_option one, rlf_option other, const char *doc)
{
    const rlf_option both[2] = {one, other};
    is_int(given(with_options(command, &one, 1)), RLF_OK, "one of the two");
    is_int(given(with_options(command, &other, 1)), RLF_OK, "the other");
    refused(with_options(command, both, 2), doc, "leave out one of the two");
}

static void
together(void)
{
#define NEEDS(command, option, others, doc) \
    need(RLF_COMMAND_##command, RLF_OPTION_##option, others, doc);
#define EXCLUDES(command, option, other, doc)                               \
    exclude(RLF_COMMAND_##command, RLF_OPTION_##option, RLF_OPTION_##other, \
            doc);
#include "engine/base/option.def"
#undef NEEDS
#undef EXCLUDES
    setenv("RLFLOW_SEED", "3", 1);
    setenv("RLFLOW_SAMPLES", "3", 1);
    is_int(given("generate m --greedy"), RLF_OK, "a seed of the environment");
    is_int(given("plan a.rlf"), RLF_OK,
           "... and samples are for other commands");
    unsetenv("RLFLOW_SEED");
    unsetenv("RLFLOW_SAMPLES");
}

int
main(void)
{
    unsetenv("RLFLOW_THREADS"); /* whoever runs the tests may have set it */
    arena = rlf_arena_new();
    parts();
    run();
    blanks();
    words();
    wrong();
    counts();
    unread();
    environment();
    tables();
    together();
    rlf_arena_free(arena);
    return done();
}

/* Questions of an editor: of a program that is right, of one that is broken off
 * after any byte, and of one in which any byte is another. */
#include "engine/rlflow.h"
#include "tests/tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *directory;

static char *
read_example(const char *name, size_t *n)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/examples/%s", directory, name);
    FILE *file = fopen(path, "rb");
    char *text = malloc(1 << 16);
    if (!file || !text)
        bail("no example");
    *n = fread(text, 1, 1 << 16, file);
    fclose(file);
    return text;
}

static rlf_session *
look(const char *text, size_t n)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/examples/unsaved.rlf", directory);
    rlf_session *s = rlf_session_open_text(path, text, n);
    rlf_session_look(s);
    return s;
}

static rlf_session *
look_at(const char *text)
{
    return look(text, strlen(text));
}

/* The place of the nth `word` in a text. */
static void
place(const char *text, const char *word, int nth, uint32_t *line,
      uint32_t *column)
{
    const char *at = strstr(text, word);
    while (at && --nth > 0)
        at = strstr(at + 1, word);
    if (!at)
        bail("no such word");
    *line = *column = 1;
    for (const char *p = text; p < at; p++) {
        *column = *p == '\n' ? 1 : *column + 1;
        *line += *p == '\n';
    }
}

static const rlf_name_meaning *
meaning(rlf_session *s, const char *text, const char *word, int nth)
{
    uint32_t line, column;
    place(text, word, nth, &line, &column);
    return rlf_session_meaning(s, line, column);
}

#define HEAD                                                                 \
    "import \"std/loss\"\n"                                                  \
    "import \"std/advantage\" as adv\n"                                      \
    "param many : int = 8  \"responses to each\"\n"                          \
    "data rows = jsonl(\"data/arith.jsonl\", prompt: \"question\", answer: " \
    "\"answer\")\n"                                                          \
    "model actor = lm(\"models/arith\", optimizer: adamw(lr: 1e-5))\n"       \
    "hook judge = lua(\"rewards/arith.lua\")\n"                              \
    "## Twice as much.\n"                                                    \
    "def double(x, by = 2) = x * by\n"
#define FLOW                                                   \
    "flow f(batch: rows[4]) {\n"                               \
    "    roll  = actor.generate(batch, n: many, max_new: 3)\n" \
    "    score = judge(roll)\n"
#define TAIL                                                             \
    "    update actor {\n"                                               \
    "        logp = actor.logprob(roll)\n"                               \
    "        minimize mean(k1(logp, roll.logprob) + double(score) over " \
    "batch)\n"                                                           \
    "    }\n"                                                            \
    "    report reward = mean(score over batch)\n"                       \
    "}\n"

static const char right[] = HEAD FLOW TAIL;

static void
is_value(rlf_session *s, const char *text, const char *word, int nth,
         const char *value, const char *name)
{
    const rlf_name_meaning *m = meaning(s, text, word, nth);
    is_str(m ? m->value : NULL, value, name);
}

static void
test_meanings(void)
{
    rlf_session *s = look_at(right);
    is_int(rlf_session_status(s), RLF_RESULT_OK, "a program that is right");
    is_value(s, right, "score", 1,
             "one per sample of 'roll', at most 32 in a step",
             "a value where it is given");
    is_value(s, right, "score", 2,
             "one per sample of 'roll', at most 32 in a step",
             "and where it is used");
    is_value(s, right, "logp =", 1,
             "one per token of 'roll', at most 96 in a step",
             "a value per token");
    is_value(s, right, "roll  =", 1,
             "a set of generated samples of 'actor', at most 32 samples of 3 "
             "tokens in a step",
             "a set");
    const rlf_name_meaning *m = meaning(s, right, "double(score)", 1);
    ok(m && !strcmp(m->code, "def double(x, by = 2)") &&
           !strcmp(m->doc, "Twice as much.") && m->definition.line == 8 &&
           m->definition.column == 5 && m->definition.length == 6,
       "a def: how it is called, its text, its place");
    m = meaning(s, right, "k1(", 1);
    ok(m && strstr(m->code, "def k1(") &&
           strstr(m->definition.path, "/loss.rlf"),
       "a def of the library is in its file");
    m = meaning(s, right, "many,", 1);
    ok(m && strstr(m->code, "param many") &&
           !strcmp(m->doc, "responses to each"),
       "a parameter");
    m = meaning(s, right, "n: many", 1);
    ok(m && m->doc && !m->definition.path, "an argument of a call");
    m = meaning(s, right, "generate", 1);
    ok(m && m->arguments && strstr(m->arguments, "- max_new: whole number"),
       "a call of a model has arguments");
    m = meaning(s, right, "batch)\n    }", 1);
    ok(m && m->doc && !m->value, "a word behind over");
    m = meaning(s, right, "std/advantage", 1);
    ok(m && m->definition.line == 1 && m->definition.length == 0,
       "an import is a file");
    ok(!rlf_session_meaning(s, 1, 200) && *rlf_session_why(s),
       "a column that is not there");
    ok(!rlf_session_meaning(s, 4000, 1) && !rlf_session_meaning(s, 0, 0),
       "lines that are not there");
    rlf_session_close(s);
}

/* Is `name` proposed where the text breaks off? */
static bool
proposes(const char *text, const char *name)
{
    rlf_session *s = look_at(text);
    uint32_t line = 1, column = 1;
    for (const char *p = text; *p; p++) {
        column = *p == '\n' ? 1 : column + 1;
        line += *p == '\n';
    }
    const rlf_proposal *p;
    bool found = false;
    for (size_t i = 0; (p = rlf_session_proposal(s, line, column, i)); i++)
        found = found || !strcmp(p->name, name);
    rlf_session_close(s);
    return found;
}

static void
test_proposals(void)
{
    ok(proposes(HEAD FLOW "    x = roll.", "logprob") &&
           proposes(HEAD FLOW "    x = roll.", "answer") &&
           proposes(HEAD FLOW "    x = roll.", "where"),
       "fields and methods of a set, and of its rows");
    ok(proposes(HEAD FLOW "    x = actor.", "logprob") &&
           !proposes(HEAD FLOW "    x = actor.", "answer"),
       "calls of a model, and no field of rows");
    ok(proposes(HEAD FLOW "    x = adv.", "gae") &&
           !proposes(HEAD FLOW "    x = adv.", "k1"),
       "functions of an import with a name");
    ok(proposes(HEAD FLOW "    x = actor.generate(batch, ", "max_new") &&
           proposes(HEAD FLOW "    x = double(score, ", "by"),
       "arguments of calls and of defs");
    ok(proposes(HEAD FLOW "    x = mean(score over ", "group") &&
           !proposes(HEAD FLOW "    x = mean(score over ", "score"),
       "levels behind over");
    ok(proposes(HEAD FLOW "    x = sc", "score") &&
           proposes(HEAD FLOW "    x = ", "k1") &&
           proposes(HEAD FLOW "    x = ", "many") &&
           proposes(HEAD FLOW "    x = ", "exp") &&
           proposes(HEAD FLOW "    x = ", "step"),
       "values, functions, parameters, what is built in");
    ok(proposes(HEAD FLOW "    ", "update") &&
           !proposes(HEAD FLOW "    ", "flow"),
       "words of statements in a flow");
    ok(proposes(HEAD "fl", "flow") && !proposes(HEAD "fl", "update"),
       "words of declarations outside");
    ok(proposes(HEAD "model m = ", "lm") && proposes("import \"", "std/loss"),
       "constructors, and files of the library");
    ok(proposes(HEAD "param p : ", "float") &&
           !proposes(HEAD "param p : ", "k1"),
       "types of parameters");
    ok(proposes(HEAD "def g(x: ", "token") &&
           !proposes(HEAD "def g(x: ", "score"),
       "levels of arguments");
    ok(!proposes(HEAD FLOW "    # a comment with roll.", "logprob") &&
           !proposes(HEAD FLOW "    x = \"roll.", "logprob"),
       "nothing in comments and texts");
}

static void
test_symbols(void)
{
    rlf_session *s = look_at(right);
    const rlf_symbol *x;
    char all[1024] = "";
    for (size_t i = 0; (x = rlf_session_symbol(s, i)); i++)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s %s\n",
                 x->depth ? "- " : "", x->kind, x->name);
    is_str(all,
           "import std/loss\nimport std/advantage\nparam many\ndata rows\n"
           "model actor\nhook judge\ndef double\nflow f\n- value roll\n"
           "- value score\n- value logp\n",
           "what a file declares");
    rlf_session_close(s);
}

/* A file that others import, one of clusters, and an import that is not saved.
 */
static void
test_other_files(void)
{
    char path[4096];
    rlf_session *s = look_at("def f(x) = x\n");
    ok(!rlf_session_diagnostic(s, 0), "a file of functions needs no flow");
    rlf_session_close(s);
    s = look_at("def f(x) = y\n");
    ok(rlf_session_diagnostic(s, 0) != NULL, "and is looked at");
    rlf_session_close(s);
    s = look_at("device d = gpu(memory: 1GB)\n");
    ok(rlf_session_diagnostic(s, 0) &&
           strstr(rlf_session_diagnostic(s, 0)->text, "cluster") == NULL,
       "a file of clusters is no program");
    rlf_session_close(s);
    static const char text[] = "import \"unsaved_library\"\n"
                               "flow f() { report x = g(1) }\n";
    snprintf(path, sizeof path, "%s/examples/unsaved.rlf", directory);
    s = rlf_session_open_text(path, text, strlen(text));
    snprintf(path, sizeof path, "%s/examples/../examples/unsaved_library.rlf",
             directory);
    rlf_session_edit(s, path, "def g(x) = x + 1\n", 17);
    is_int(rlf_session_look(s), RLF_RESULT_OK,
           "an import is what an editor has of it");
    ok(rlf_session_edit(s, path, "", 0) == RLF_RESULT_USAGE,
       "which is told before");
    rlf_session_close(s);
}

/* ---- what is half written ---- */

static void
ask_all(rlf_session *s, const char *text, size_t n, size_t stride)
{
    uint32_t line = 1, column = 1;
    for (size_t i = 0; i <= n; i++) {
        if (i % stride == 0 || i == n) {
            rlf_session_meaning(s, line, column);
            rlf_session_proposal(s, line, column, 0);
        }
        column = i < n && text[i] == '\n' ? 1 : column + 1;
        line += i < n && text[i] == '\n';
    }
    for (size_t i = 0; rlf_session_symbol(s, i);)
        i++;
}

/* What stands above the place where a program is written keeps its meaning. */
static void
test_broken_off(void)
{
    size_t from = strlen(HEAD FLOW), n = strlen(right), known = 0, all = 0;
    for (size_t i = from; i < n; i++, all++) {
        rlf_session *s = look(right, i);
        const rlf_name_meaning *m = meaning(s, right, "score", 1);
        known += m && m->value && strstr(m->value, "one per sample of 'roll'");
        ask_all(s, right, i, 53);
        rlf_session_close(s);
    }
    is_int((int64_t)known, (int64_t)all,
           "broken off after any byte, a value above is known");
}

static const char *const examples[] = {"ppo.rlf", "dapo.rlf", "safe_rlhf.rlf",
                                       "curriculum.rlf", "judge.rlf"};

/* All questions have an answer or none, and nothing else happens. */
static void
test_changed(void)
{
    static const char odd[] = "(){}[].,:=\"#\n x0\x80";
    uint64_t seed = 1;
    size_t looked = 0;
    for (size_t k = 0; k < sizeof examples / sizeof *examples; k++) {
        size_t n;
        char *text = read_example(examples[k], &n);
        for (size_t i = 0; i < (quick() ? 40 : 400); i++, looked++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            size_t at = (size_t)(seed >> 33) % n;
            char before = text[at];
            text[at] = odd[(seed >> 20) % (sizeof odd - 1)];
            size_t length = i % 3 ? n : at + 1;
            rlf_session *s = look(text, length);
            ask_all(s, text, length, 97);
            rlf_session_close(s);
            text[at] = before;
        }
        free(text);
    }
    ok(looked > 0, "examples with a byte changed are looked at");
}

int
main(void)
{
    directory = getenv("RLFLOW_SOURCE");
    if (!directory)
        skip_all("RLFLOW_SOURCE is not set");
    test_meanings();
    test_proposals();
    test_symbols();
    test_other_files();
    test_broken_off();
    test_changed();
    return done();
}

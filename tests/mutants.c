/* Mutants: the example programs with one token changed, and what the compiler
 * says of them.
 *
 * A token is deleted, doubled, swapped with its neighbour or misspelled, a name
 * takes the place of another, a number becomes one out of range, of another
 * unit or no number. What is left of a program by such a slip is to be refused,
 * to be warned of, or to mean the same. What compiles is also opened, as
 * `rlflow check` does, with data and models. Those that remain are listed with
 * their reason; they are one in a hundred at most.
 *
 * With an argument, a number: so many mutants, and each that is accepted is
 * shown. */
#include "tests/tap.h"

#include "engine/api/session.h"
#include "engine/base/vec.h"
#include "grammar/compile.h"
#include "nodes/table.h"

#include <ctype.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MUTANTS = 1000, SEED = 11, MOST_TOKENS = 4096 };

/* ---- tokens ---- */

typedef enum token_kind { WORD, NUMBER, TEXT, SIGN } token_kind;

typedef enum verdict { REFUSED, LOUD, SAME, ACCEPTED, VERDICTS } verdict;

typedef struct token {
    token_kind kind;
    size_t first, last;
    bool free; /* a name as one likes: of a metric, of the flow */
} token;

typedef struct program {
    char name[64];
    char *text;
    size_t size;
    token tokens[MOST_TOKENS];
    size_t n_tokens;
    char *graph;            /* the graph as text */
    size_t count[VERDICTS]; /* mutants of the graph, by verdict */
} program;

static bool
is_word(int c)
{
    return isalnum(c) || c == '_';
}

/* The end of the token that begins at p. */
static const char *
token_end(const char *p, token_kind *kind)
{
    static const char *const signs[] = {
        ":=", "==", "!=", "<=", ">=", "->", ".."};
    const char *end = p + 1;
    *kind = SIGN;
    if (*p == '"') {
        *kind = TEXT;
        while (*end && *end != '"')
            end++;
        return *end ? end + 1 : end;
    }
    if (isdigit((unsigned char)*p)) {
        *kind = NUMBER;
        while (is_word((unsigned char)*end) ||
               (*end == '.' && isdigit((unsigned char)end[1])) ||
               ((*end == '-' || *end == '+') && end[-1] == 'e'))
            end++;
        return end;
    }
    if (is_word((unsigned char)*p)) {
        *kind = WORD;
        while (is_word((unsigned char)*end))
            end++;
        return end;
    }
    for (size_t i = 0; i < RLF_COUNT(signs); i++)
        if (!strncmp(p, signs[i], 2))
            return p + 2;
    return end;
}

static bool
is_text(const program *p, size_t i, const char *text)
{
    const token *t = &p->tokens[i];
    return i < p->n_tokens && t->last - t->first == strlen(text) &&
           !memcmp(p->text + t->first, text, t->last - t->first);
}

/* The name of the flow; after `report`, and after each comma of it: NAME =. */
static void
mark_free(program *p)
{
    bool reports = false;
    for (size_t i = 0; i < p->n_tokens; i++) {
        if (is_text(p, i, "report"))
            reports = true;
        else if (is_text(p, i, "}") || is_text(p, i, "{"))
            reports = false;
        bool name = p->tokens[i].kind == WORD && is_text(p, i + 1, "=");
        bool after =
            i && (is_text(p, i - 1, "report") || is_text(p, i - 1, ","));
        p->tokens[i].free =
            (reports && name && after) || (i && is_text(p, i - 1, "flow"));
    }
}

static void
find_tokens(program *p)
{
    const char *at = p->text;
    while (*at && p->n_tokens < MOST_TOKENS) {
        if (*at == '#') {
            at += strcspn(at, "\n");
        } else if (isspace((unsigned char)*at)) {
            at++;
        } else {
            token *t = &p->tokens[p->n_tokens++];
            const char *end = token_end(at, &t->kind);
            t->first = (size_t)(at - p->text);
            t->last = (size_t)(end - p->text);
            at = end;
        }
    }
    mark_free(p);
}

/* ---- changes ---- */

static uint64_t
pick(uint64_t *state, uint64_t n)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (*state >> 33) % n;
}

typedef enum change {
    DELETE,
    DOUBLE,
    SWAP,
    MISSPELL,
    EXCHANGE,
    SPOIL,
    CHANGES
} change;

static const char *const words[] = {"deleted",    "doubled",   "swapped",
                                    "misspelled", "exchanged", "spoiled"};

static void
put(rlf_buf *out, const program *p, size_t i)
{
    const token *t = &p->tokens[i];
    rlf_buf_add(out, p->text + t->first, t->last - t->first);
}

/* Two letters swapped, one left out, or one twice; false: it is too short, or
 * nothing changes. */
static bool
misspell(const program *p, size_t i, uint64_t *state, rlf_buf *out)
{
    const token *t = &p->tokens[i];
    size_t n = t->last - t->first, skip = t->kind == TEXT;
    const char *text = p->text + t->first;
    uint64_t how = pick(state, 3);
    if ((t->kind != WORD && t->kind != TEXT) || n < 3 + 2 * skip)
        return false;
    size_t at = skip + pick(state, n - 1 - 2 * skip);
    if (!isalpha((unsigned char)text[at]) ||
        (how == 0 && text[at] == text[at + 1]))
        return false;
    rlf_buf_add(out, text, at);
    if (how == 0) {
        rlf_buf_putc(out, text[at + 1]);
        rlf_buf_putc(out, text[at]);
        rlf_buf_add(out, text + at + 2, n - at - 2);
    } else {
        if (how == 1) {
            rlf_buf_putc(out, text[at]);
            rlf_buf_putc(out, text[at]);
        }
        rlf_buf_add(out, text + at + 1, n - at - 1);
    }
    return true;
}

/* The token `i` of `p` changed, the text between *first and *last replaced by
 * `out`. False: not so. */
static bool
mutate(const program *p, size_t i, change how, uint64_t *state, rlf_buf *out,
       size_t *first, size_t *last)
{
    static const char *const spoiled[] = {"-1",   "1e30",       "0.3", "16s",
                                          "64MB", "\"a text\"", "[1]"};
    const token *t = &p->tokens[i];
    size_t other = pick(state, p->n_tokens);
    *first = t->first;
    *last = t->last;
    switch (how) {
    case DELETE:
        return true;
    case DOUBLE:
        put(out, p, i);
        rlf_buf_putc(out, ' ');
        put(out, p, i);
        return true;
    case SWAP:
        if (i + 1 == p->n_tokens)
            return false;
        put(out, p, i + 1);
        rlf_buf_putc(out, ' ');
        put(out, p, i);
        *last = p->tokens[i + 1].last;
        return true;
    case MISSPELL:
        return misspell(p, i, state, out);
    case EXCHANGE:
        put(out, p, other);
        return t->kind == WORD && p->tokens[other].kind == WORD;
    default:
        rlf_buf_puts(out, spoiled[pick(state, RLF_COUNT(spoiled))]);
        return t->kind == NUMBER;
    }
}

/* ---- what is said of one ---- */

static const rlf_compile_setting settings[] = {
    {"model_dir", "models/arith"},
    {"instruct", "instruct"},
    {"reward_dir", "models/arith"},
    {"cost_dir", "models/arith"},
    {"questions", "questions.jsonl"},
    {"labels", "data/arith.jsonl"},
    {"longest", "24"}, /* what the model of arith was made for is 64 */
};

static void
put_file(const char *text, size_t n)
{
    FILE *f = fopen("mutant.rlf", "w");
    if (!f || fwrite(text, 1, n, f) != n || fclose(f))
        bail("cannot write a mutant");
}

/* Those of its parameters that must be given. */
static size_t
settings_of(const char *text, rlf_compile_setting *out)
{
    size_t n = 0;
    for (size_t i = 0; i < RLF_COUNT(settings); i++) {
        char head[40];
        snprintf(head, sizeof head, "param %s", settings[i].name);
        if (strstr(text, head))
            out[n++] = settings[i];
    }
    return n;
}

/* Returns the compiler's verdict on a program; *graph, to be freed, if it
 * accepts. */
static verdict
compile(const program *p, char **graph)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_sources sources = {.arena = arena};
    rlf_diags diags = {.arena = arena, .sources = &sources};
    rlf_err err = RLF_ERR_NONE;
    rlf_graph *made = NULL;
    rlf_compile_setting given[RLF_COUNT(settings)];
    const rlf_compile_options options = {
        .path = "mutant.rlf",
        .stdlib = getenv("RLFLOW_STDLIB"),
        .classes = &rlf_node_classes,
        .settings = given,
        .n_settings = settings_of(p->text, given),
    };
    verdict v = REFUSED;
    *graph = NULL;
    if (rlf_compile(&options, arena, &sources, &diags, &err, &made) >= 0) {
        rlf_buf text = {0};
        rlf_graph_dump_text(made, &text);
        *graph = text.p;
        v = diags.list.count                             ? LOUD
            : !p->graph || strcmp(*graph, p->graph) == 0 ? SAME
                                                         : ACCEPTED;
    }
    rlf_arena_free(arena);
    return v;
}

/* With data and models, as `rlflow check` has it. */
static bool
opens(const program *p)
{
    rlf_session *s = rlf_session_open("mutant.rlf");
    rlf_compile_setting given[RLF_COUNT(settings)];
    size_t n = settings_of(p->text, given);
    rlf_result result = RLF_RESULT_OK;
    for (size_t i = 0; i < n && result == RLF_RESULT_OK; i++)
        result = rlf_session_set(s, given[i].name, given[i].value);
    s->options.dry = true;
    if (result == RLF_RESULT_OK)
        result = rlf_session_ready(s);
    rlf_session_close(s);
    return result == RLF_RESULT_OK;
}

/* The mutant in a line: what stood there, and what does. */
static void
describe(const program *p, change how, size_t first, size_t last,
         const char *text, rlf_buf *out)
{
    size_t a = first, z = last;
    while (a && p->text[a - 1] != '\n')
        a--;
    while (p->text[z] && p->text[z] != '\n')
        z++;
    rlf_buf_printf(out, "%s: %s '%.*s' to '%s' in: %.*s", p->name, words[how],
                   (int)(last - first), p->text + first, text, (int)(z - a),
                   p->text + a);
    for (size_t i = 0; i < out->n; i++)
        if (out->p[i] == '\n')
            out->p[i] = ' ';
}

static verdict
judge(const program *p, size_t i, change how, size_t first, size_t last,
      const rlf_buf *changed)
{
    rlf_buf text = {0};
    char *graph;
    rlf_buf_add(&text, p->text, first);
    rlf_buf_add(&text, changed->p ? changed->p : "", changed->n);
    rlf_buf_puts(&text, p->text + last);
    put_file(text.p, text.n);
    verdict v = compile(p, &graph);
    free(graph);
    rlf_buf_free(&text);
    if (v == ACCEPTED && p->tokens[i].free &&
        (how == MISSPELL || how == EXCHANGE))
        v = SAME;
    if ((v == ACCEPTED || v == SAME) && !opens(p))
        v = REFUSED;
    return v;
}

/* Why a mutant may be accepted. */
static const char *
reason(const program *p, size_t i, change how)
{
    if (how == SPOIL)
        return "the number is in the bounds of what takes it, or of none";
    if (how == EXCHANGE || how == MISSPELL)
        return is_text(p, i + 1, ":")
                   ? "which columns a hook reads, it alone knows"
                   : "the other value has the same level";
    return "what remains is arithmetic on the same levels";
}

/* ---- all of them ---- */

/* Rows for programs whose model comes not with them: what the model of arith
 * can read. */
static void
put_rows(const char *path, const char *field)
{
    FILE *f = fopen(path, "w");
    for (int i = 0; f && i < 800; i++)
        fprintf(f, "{\"%s\": \"%d and a box\", \"answer\": \"%d\"}\n", field,
                i % 9, i % 9);
    if (!f || fclose(f))
        bail("cannot write %s", path);
}

/* A model with a chat template that says what it can read. */
static void
put_instruct(const char *source)
{
    static const char *const files[] = {"config.json", "generation_config.json",
                                        "model.safetensors", "tokenizer.json",
                                        "tokenizer_config.json"};
    char from[4096], to[64];
    bool good = mkdir("instruct", 0777) == 0;
    for (size_t i = 0; i < RLF_COUNT(files); i++) {
        snprintf(from, sizeof from, "%s/examples/models/arith/%s", source,
                 files[i]);
        snprintf(to, sizeof to, "instruct/%s", files[i]);
        good = good && symlink(from, to) == 0;
    }
    FILE *f = fopen("instruct/chat_template.jinja", "w");
    if (!good || !f || fputs("{{ messages[-1].content }}", f) < 0 || fclose(f))
        bail("cannot make a model with a template");
}

/* Removes a directory with all files in it. */
static void
remove_all(const char *directory)
{
    char path[4096];
    glob_t found;
    snprintf(path, sizeof path, "%s/*", directory);
    if (glob(path, 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++)
            unlink(found.gl_pathv[i]);
        globfree(&found);
    }
    rmdir(directory);
}

static bool
read_program(const char *path, program *p)
{
    FILE *f = fopen(path, "r");
    const char *name = strrchr(path, '/') + 1;
    snprintf(p->name, sizeof p->name, "%.*s", (int)strcspn(name, "."), name);
    if (!f)
        return false;
    rlf_buf text = {0};
    char piece[4096];
    size_t n;
    while ((n = fread(piece, 1, sizeof piece, f)) > 0)
        rlf_buf_add(&text, piece, n);
    fclose(f);
    p->text = text.p;
    p->size = text.n;
    find_tokens(p);
    put_file(p->text, p->size);
    return compile(p, &p->graph) == SAME && opens(p);
}

static void
run(program *programs, size_t n_programs, size_t n, bool shown)
{
    uint64_t state = SEED;
    for (size_t k = 0; k < n;) {
        program *p = &programs[k % n_programs];
        size_t i = pick(&state, p->n_tokens), first, last;
        change how = (change)pick(&state, CHANGES);
        rlf_buf changed = {0};
        bool is_one = mutate(p, i, how, &state, &changed, &first, &last) &&
                      !(changed.n == last - first &&
                        !memcmp(changed.p, p->text + first, changed.n));
        if (is_one) {
            verdict v = judge(p, i, how, first, last, &changed);
            rlf_buf line = {0};
            describe(p, how, first, last, changed.p ? changed.p : "", &line);
            if (v == ACCEPTED)
                note("accepted (%s): %s", reason(p, i, how), line.p);
            else if (shown && v != REFUSED)
                note("%s: %s", v == LOUD ? "warned of" : "the same", line.p);
            rlf_buf_free(&line);
            p->count[v]++;
            k++;
        }
        rlf_buf_free(&changed);
    }
}

/* Prints the counts of all programs, a line each, and returns how many mutants
 * are accepted. */
static size_t
tell(const program *programs, size_t n_programs, size_t n)
{
    size_t all[VERDICTS] = {0};
    note("%-14s %8s %9s %5s %9s", "", "refused", "warned of", "equal",
         "accepted");
    for (size_t i = 0; i < n_programs; i++) {
        const size_t *count = programs[i].count;
        note("%-14s %8zu %9zu %5zu %9zu", programs[i].name, count[REFUSED],
             count[LOUD], count[SAME], count[ACCEPTED]);
        for (int v = 0; v < VERDICTS; v++)
            all[v] += count[v];
    }
    note("of %zu mutants %zu are refused, %zu warned of, %zu mean the same, "
         "%zu are accepted",
         n, all[REFUSED], all[LOUD], all[SAME], all[ACCEPTED]);
    return all[ACCEPTED];
}

int
main(int argc, char **argv)
{
    static const char *const links[] = {"data/arith.jsonl",  "data/chats.jsonl",
                                        "data/graded.jsonl", "data/pairs.jsonl",
                                        "data/rated.jsonl",  "models",
                                        "rewards",           "templates"};
    char directory[] = "/tmp/rlflow-mutants-XXXXXX", from[4096], to[8192];
    const char *source = getenv("RLFLOW_SOURCE");
    size_t n = argc > 1 ? (size_t)atol(argv[1]) : MUTANTS;
    glob_t found;
    if (!source || !getenv("RLFLOW_STDLIB"))
        skip_all("RLFLOW_STDLIB and RLFLOW_SOURCE are not set");
    if (!mkdtemp(directory) || chdir(directory) || mkdir("data", 0777))
        bail("cannot make a directory in /tmp");
    for (size_t i = 0; i < RLF_COUNT(links); i++) {
        snprintf(to, sizeof to, "%s/examples/%s", source, links[i]);
        if (symlink(to, links[i]))
            bail("cannot link the examples' files");
    }
    put_rows("questions.jsonl", "prompt");
    put_rows("data/stories.jsonl", "opening");
    mkdir("data/gsm8k", 0777);
    put_rows("data/gsm8k/train.jsonl", "question");
    put_rows("data/gsm8k/test.jsonl", "question");
    put_instruct(source);
    snprintf(from, sizeof from, "%s/examples/*.rlf", source);
    if (glob(from, 0, NULL, &found))
        bail("no examples in %s", from);
    program *programs = calloc(found.gl_pathc, sizeof *programs);
    for (size_t i = 0; programs && i < found.gl_pathc; i++) {
        bool good = read_program(found.gl_pathv[i], &programs[i]);
        ok(good, "%s compiles without a warning, and opens", programs[i].name);
    }
    run(programs, found.gl_pathc, n, argc > 1);
    ok(tell(programs, found.gl_pathc, n) * 100 <= n,
       "one in a hundred is accepted at most");
    for (size_t i = 0; i < found.gl_pathc; i++) {
        free(programs[i].text);
        free(programs[i].graph);
    }
    free(programs);
    globfree(&found);
    for (size_t i = 0; i < RLF_COUNT(links); i++)
        unlink(links[i]);
    unlink("mutant.rlf");
    unlink("questions.jsonl");
    unlink("data/stories.jsonl");
    remove_all("data/gsm8k");
    remove_all("instruct");
    rmdir("data");
    if (chdir("/") || rmdir(directory))
        note("%s stays behind", directory);
    return done();
}

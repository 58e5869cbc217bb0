/* The printed form of diagnostics, to the letter. */
#include "engine/base/diag.h"

#include "tests/tap.h"

static rlf_sources sources;
static rlf_diags diags;

/* An empty collection over one source text. */
static void
begin(const char *text)
{
    if (sources.arena)
        rlf_arena_free(sources.arena);
    rlf_arena *arena = rlf_arena_new();
    sources = (rlf_sources){.arena = arena};
    diags = (rlf_diags){.arena = arena, .sources = &sources};
    rlf_sources_add(&sources, "ppo.rlf", text, strlen(text));
}

/* The span of the first `word` at or after byte `from`. */
static rlf_span
find(const char *word, size_t from)
{
    const char *text = sources.list.data[0].text;
    const char *p = strstr(text + from, word);
    if (!p)
        bail("no %s in the text", word);
    uint32_t first = (uint32_t)(p - text);
    return (rlf_span){1, first, first + (uint32_t)strlen(word), 0};
}

static void
prints(const char *want, const char *name)
{
    rlf_buf out = {0};
    rlf_diags_print(&diags, &out);
    is_str(out.p, want, name);
    rlf_buf_free(&out);
}

static void
level_error(void)
{
    char text[256];
    memset(text, '\n', 23);
    strcpy(text + 23, "    adv = score - judge(other)\nnext = 1\n");
    begin(text);
    rlf_diag *d = rlf_diag_error(&diags, "level", find("-", 0),
                                 "one per sample of '%s' and %s", "roll",
                                 "one per sample of 'other' do not meet");
    d->left = find("score", 0);
    d->right = find("judge(other)", 0);
    rlf_diag_hint(&diags, d,
                  "bring one up to the prompts they share: "
                  "mean(judge(other) over group)");
    prints("ppo.rlf:24:17: error: one per sample of 'roll' and one per sample "
           "of 'other' do not meet\n"
           "   24 |     adv = score - judge(other)\n"
           "      |           ~~~~~ ^ ~~~~~~~~~~~~\n"
           "hint: bring one up to the prompts they share: "
           "mean(judge(other) over group)\n",
           "caret, both sides, hint");
}

static void
sorted_with_notes(void)
{
    begin("a = 1\nb = c\na = 2\n");
    rlf_diag *d = rlf_diag_error(&diags, "name", find("a = 2", 0),
                                 "'a' has a value already");
    d->at.last = d->at.first + 1;
    rlf_diag_note(&diags, d, find("a", 0), "it was named here");
    rlf_diag_note(&diags, d, (rlf_span){0}, "names are set once");
    rlf_diag_warning(&diags, "unused", find("b", 0), "'b' is not used");
    rlf_diag_error(&diags, "name", find("c", 0), "no 'c' here");
    rlf_diag_error(&diags, "name", find("c", 0), "no 'c' here, again");
    rlf_diag_error(&diags, "param", (rlf_span){0}, "steps must be given");
    is_int((int64_t)diags.errors, 3, "the same code and place counts once");
    prints("error: steps must be given\n"
           "ppo.rlf:2:1: warning: 'b' is not used\n"
           "    2 | b = c\n"
           "      | ^\n"
           "ppo.rlf:2:5: error: no 'c' here\n"
           "    2 | b = c\n"
           "      |     ^\n"
           "ppo.rlf:3:1: error: 'a' has a value already\n"
           "    3 | a = 2\n"
           "      | ^\n"
           "ppo.rlf:1:1: note: it was named here\n"
           "    1 | a = 1\n"
           "      | ^\n"
           "note: names are set once\n",
           "in order of place, with notes");
}

static size_t
two_or_none(const char *p, size_t n)
{
    (void)p;
    return n == 3 ? 2 : 0;
}

static void
columns(void)
{
    begin("x = \"\xe6\x97\xa5\xe6\x9c\xac" "e\xcc\x81\" + word\n");
    sources.width = two_or_none;
    rlf_diag *wide = rlf_diag_error(&diags, "type", find("word", 0), "a word");
    wide->left = find("\"\xe6", 0);
    wide->left.last = find(" +", 0).first;
    prints("ppo.rlf:1:19: error: a word\n"
           "    1 | x = \"\xe6\x97\xa5\xe6\x9c\xac" "e\xcc\x81\" + word\n"
           "      |     ~~~~~~~   ^~~~\n",
           "wide characters take two columns, combining ones none");
    begin("\tx = \"na\xc3\xafve \xe2\x86\x92\" + word\n");
    rlf_diag *d = rlf_diag_error(&diags, "type", find("word", 0), "a word");
    d->left = find("\"na", 0);
    d->left.last = find(" +", 0).first;
    prints("ppo.rlf:1:21: error: a word\n"
           "    1 | \tx = \"na\xc3\xafve \xe2\x86\x92\" + word\n"
           "      | \t    ~~~~~~~~~   ^~~~\n",
           "tabs stay, a character of many bytes counts once");
    begin("x\x1b[1m\xff = y\n");
    rlf_diag_error(&diags, "type", find("y", 0), "control");
    prints("ppo.rlf:1:10: error: control\n"
           "    1 | x?[1m? = y\n"
           "      |          ^\n",
           "control characters and broken UTF-8 are not sent to the terminal");
    begin("a = (1");
    rlf_diag_error(&diags, "syntax", (rlf_span){1, 6, 6, 0}, "missing )");
    prints("ppo.rlf:1:7: error: missing )\n"
           "    1 | a = (1\n"
           "      |       ^\n",
           "the end of the file");
    begin("a = f(1,\n      2)\n");
    rlf_diag_error(&diags, "syntax", find("f(1,\n      2)", 0), "two lines");
    prints("ppo.rlf:1:5: error: two lines\n"
           "    1 | a = f(1,\n"
           "      |     ^~~~\n",
           "a span over two lines is shown on its first");
    begin("");
    rlf_diag_error(&diags, "syntax", (rlf_span){1, 0, 0, 0}, "nothing here");
    prints("ppo.rlf:1:1: error: nothing here\n"
           "    1 | \n"
           "      | ^\n",
           "an empty source");
}

/* A line of 300 characters shows 100 of them around the caret. */
static void
window(void)
{
    char text[301], want[400];
    memset(text, 'a', 300);
    text[300] = 0;
    text[150] = 'X';
    begin(text);
    rlf_diag_error(&diags, "long", find("X", 0), "here");
    snprintf(want, sizeof want,
             "ppo.rlf:1:151: error: here\n    1 | ...%.100s...\n"
             "      | %63s^\n",
             text + 90, "");
    prints(want, "the middle of a long line");
    text[150] = 'a';
    text[299] = 'X';
    begin(text);
    rlf_diag_error(&diags, "long", find("X", 0), "here");
    snprintf(want, sizeof want,
             "ppo.rlf:1:300: error: here\n    1 | ...%.100s\n"
             "      | %102s^\n",
             text + 200, "");
    prints(want, "the end of a long line");
}

/* On a screen of `columns` no line is wider, and the caret is under the X. */
static bool
fits(size_t columns)
{
    rlf_buf out = {0};
    sources.columns = columns;
    rlf_diags_print(&diags, &out);
    const char *line = strchr(out.p, '\n') + 1, *next = strchr(line, '\n') + 1;
    const char *x = strchr(line, 'X'), *caret = strchr(next, '^');
    size_t wide = 0;
    for (const char *p = line; *p != '\n'; p++)
        wide = *p == '\t' ? wide / 8 * 8 + 8 : wide + 1;
    bool good = wide <= columns && strcspn(next, "\n") <= columns && x < next &&
                caret && x - line == caret - next;
    if (!good)
        note("%zu columns, of which are taken %zu:\n%s", columns, wide, out.p);
    rlf_buf_free(&out);
    return good;
}

static void
narrow(void)
{
    bool good = true;
    for (size_t at = 0; at < 120; at += 7) {
        char text[128] = "\t\t";
        memset(text + 2, 'a', 120);
        text[2 + at] = 'X';
        begin(at % 2 ? text : text + 2);
        rlf_diag_error(&diags, "long", find("X", 0), "here");
        for (size_t columns = 50; columns < 150 && good; columns++)
            good = fits(columns);
    }
    ok(good, "lines are shown on screens of any width");
    begin("a = X");
    rlf_diag_error(&diags, "short", find("X", 0), "here");
    ok(fits(13), "a short line is shown whole");
}

static void
too_many(void)
{
    char text[64];
    memset(text, 'x', 30);
    strcpy(text + 30, "\n");
    begin(text);
    for (uint32_t i = 0; i < 30; i++) {
        rlf_diag *d = rlf_diag_error(&diags, "syntax",
                                     (rlf_span){1, i, i + 1, 0}, "error %u", i);
        rlf_diag_hint(&diags, d, "none");
    }
    rlf_buf out = {0};
    rlf_diags_print(&diags, &out);
    int shown = 0;
    for (const char *p = out.p; (p = strstr(p, "error: error ")); p++)
        shown++;
    is_int(shown, RLF_DIAG_MOST, "twenty errors are shown");
    is_int((int64_t)diags.errors, 30, "all are counted");
    ok(strstr(out.p, "\n10 more errors\n") != NULL, "and the rest is told");
    rlf_buf_free(&out);
}

static void
json(void)
{
    begin("a = \"b\"\n");
    rlf_diag *d = rlf_diag_error(&diags, "type", find("\"b\"", 0), "not \"b\"");
    rlf_diag_hint(&diags, d, "say c");
    rlf_diag_note(&diags, d, find("a", 0), "here");
    rlf_buf out = {0};
    rlf_diags_print_json(&diags, &out);
    is_str(out.p,
           "{\"severity\": \"error\", \"code\": \"type\", "
           "\"path\": \"ppo.rlf\", \"line\": 1, \"column\": 5, "
           "\"first\": 4, \"last\": 7, \"text\": \"not \\\"b\\\"\", "
           "\"hint\": \"say c\", \"notes\": ["
           "{\"severity\": \"note\", \"path\": \"ppo.rlf\", \"line\": 1, "
           "\"column\": 1, \"first\": 0, \"last\": 1, \"text\": \"here\"}]}\n",
           "as JSON");
    rlf_buf_clear(&out);
    begin("");
    rlf_diags_print_json(&diags, &out);
    is_int((int64_t)out.n, 0, "nothing, as JSON");
    rlf_buf_free(&out);
}

static void
run_time_error(void)
{
    begin("r = judge(roll)\n");
    rlf_err error = RLF_ERR_NONE;
    rlf_fail(&error, RLF_USER, "the reward of sample %d is nil", 7);
    rlf_err_detail(&error, "stack traceback:\n  arith.lua:3");
    rlf_err_hint(&error, "return a number");
    rlf_err_place(&error, find("judge", 0), "judge");
    error.rank = 2;
    rlf_buf out = {0};
    rlf_err_print(&error, &sources, &out);
    is_str(out.p,
           "ppo.rlf:1:5: error: the reward of sample 7 is nil\n"
           "    1 | r = judge(roll)\n"
           "      |     ^~~~~\n"
           "  in judge on rank 2\n"
           "  stack traceback:\n"
           "    arith.lua:3\n"
           "hint: return a number\n",
           "a run-time error with its place");
    rlf_buf_clear(&out);
    rlf_err plain = RLF_ERR_NONE;
    rlf_fail(&plain, RLF_ENV, "disk full");
    rlf_err_print(&plain, NULL, &out);
    is_str(out.p, "error: disk full\n", "and without one");
    rlf_buf_free(&out);
}

int
main(void)
{
    level_error();
    sorted_with_notes();
    columns();
    window();
    narrow();
    too_many();
    json();
    run_time_error();
    rlf_arena_free(sources.arena);
    return done();
}

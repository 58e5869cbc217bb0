/* A program that uses the library may have called setlocale, as those with
 * windows do: numbers have a point in what is set, read and told all the same,
 * and the program's own locale is as it was afterwards. */
#include "engine/rlflow.h"
#include "tests/tap.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char path[1100], model[1100], rows[1100],
    directory[] = "/tmp/rlflow-test-XXXXXX";

/* Is 0.5 written with a comma? */
static int
commas(void)
{
    char text[8];
    snprintf(text, sizeof text, "%.1f", 0.5);
    return strcmp(text, "0,5") == 0;
}

static int
make_locale(void)
{
    char line[300];
    snprintf(line, sizeof line,
             "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >%s/log 2>&1",
             directory, directory);
    return system(line) == 0 && setenv("LOCPATH", directory, 1) == 0 &&
           setlocale(LC_ALL, "de_DE.UTF-8") && commas();
}

static void
test_options(void)
{
    static const struct {
        const char *name, *value;
    } cases[] = {{"--temperature", "0.5"}, {"--top_p", "0.9"},
                 {"--min_p", "0.1"},       {"--memory", "1.5GB"},
                 {"--patience", "2.5"},    {"--save-every", "1.5min"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rlf_session *s = rlf_session_open(path);
        ok(rlf_session_set(s, cases[i].name, cases[i].value) == RLF_RESULT_OK,
           "%s %s is taken: %s", cases[i].name, cases[i].value,
           rlf_session_message(s));
        rlf_session_close(s);
    }
    rlf_session *s = rlf_session_open(path);
    rlf_session_set(s, "--temperature", "0,5");
    ok(strstr(rlf_session_message(s), "from 0.001 to"),
       "a message has points: %s", rlf_session_message(s));
    rlf_session_close(s);
}

/* What those functions tell has no number with a comma in it. */
static int
has_comma(const char *text)
{
    const char *p = text;
    for (; p && (p = strchr(p, ',')); p++)
        if (p > text && p[-1] >= '0' && p[-1] <= '9' && p[1] >= '0' &&
            p[1] <= '9' &&
            !(p[2] >= '0' && p[2] <= '9' && p[3] >= '0' && p[3] <= '9'))
            return 1; /* and no thousands */
    return 0;
}

static void
test_texts(void)
{
    rlf_session *s = rlf_session_open(path);
    const char *text = rlf_session_data(s, rows, NULL, NULL, 0);
    ok(text && strstr(text, "mean ") && !has_comma(text), "data has points");
    text = rlf_session_model(s, model, 0);
    ok(text && strstr(text, "0.8 MB") && !has_comma(text), "so has a model");
    const rlf_cluster_text *cluster = rlf_session_cluster_called(s, "a100x8");
    ok(cluster && strstr(cluster->text, "19.5e12"), "so has a cluster");
    static char file[1 << 14];
    snprintf(file, sizeof file, "%s", cluster ? cluster->text : "");
    rlf_session_close(s);

    s = rlf_session_open_text("locale.rlf", file, strlen(file));
    cluster = rlf_session_cluster(s, 0);
    ok(cluster && strcmp(cluster->text, file) == 0, "... which is read: %s",
       rlf_session_message(s));
    rlf_session_close(s);

    static const char program[] = "param rate : float = 0.25\n"
                                  "flow f() {\n    report x = rate * 1.5\n}\n";
    s = rlf_session_open_text("locale.rlf", program, sizeof program - 1);
    const rlf_parameter *p = rlf_session_parameter(s, 0);
    is_str(p ? p->value : NULL, "0.25", "a parameter has a point");
    text = rlf_session_format(s);
    is_str(text, program, "so has the program");
    ok(rlf_session_step(s) == RLF_RESULT_OK &&
           rlf_session_metric(s, "x") == 0.375,
       "it computes what it says: %s", rlf_session_message(s));
    rlf_session_close(s);
    ok(commas(), "this program has its own locale still");
}

int
main(void)
{
    const char *source = getenv("RLFLOW_SOURCE");
    char clean[100];
    if (!source)
        skip_all("RLFLOW_SOURCE is not set");
    if (!mkdtemp(directory))
        bail("no directory");
    snprintf(clean, sizeof clean, "rm -rf %s", directory);
    if (!make_locale()) {
        if (system(clean) != 0)
            bail("its directory stays");
        skip_all("no locale with a comma can be made here (localedef)");
    }
    snprintf(path, sizeof path, "%s/tests/e2e/tiny.rlf", source);
    snprintf(model, sizeof model, "%s/examples/models/arith", source);
    snprintf(rows, sizeof rows, "%s/examples/data/arith.jsonl", source);
    test_options();
    test_texts();
    ok(system(clean) == 0, "the directory is removed");
    return done();
}

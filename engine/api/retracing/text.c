/* The trace of a sample as text: what the model read, how each token was drawn,
 * what hooks did with the response, all arithmetic, and each update. */
#include "engine/api/retracing/retracing.h"


#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- members of facts ---- */

static const char *
text_of(const json_t *o, const char *name)
{
    const char *text = json_string_value(json_object_get(o, name));
    return text ? text : "";
}

static double
number_of(const json_t *o, const char *name)
{
    const json_t *x = json_object_get(o, name);
    return json_is_number(x) ? json_number_value(x) : NAN;
}

static bool
is(const json_t *fact, const char *kind)
{
    return strcmp(text_of(fact, "kind"), kind) == 0;
}

/* ---- pieces of lines ---- */

/* A text in a line: white space as a blank, and no more than so many bytes. */
static void
put_short(const char *text, size_t most, rlf_buf *out)
{
    rlf_buf line = {0};
    for (; *text; text++) {
        bool blank = strchr(" \t\n\r", *text) != NULL;
        if (!blank)
            rlf_buf_putc(&line, *text);
        else if (line.n && line.p[line.n - 1] != ' ')
            rlf_buf_putc(&line, ' ');
    }
    rlf_str all = {line.p ? line.p : "", line.n};
    size_t cut = rlf_str_cut(all, most);
    rlf_buf_shown(out, all.p, cut);
    if (cut < all.n)
        rlf_buf_puts(out, "...");
    rlf_buf_free(&line);
}

/* Blanks up to that column of the line that begins at byte `from`. */
static void
fill_to(rlf_buf *out, size_t from, size_t column)
{
    do
        rlf_buf_putc(out, ' ');
    while (out->n - from < column);
}

enum {
    NUMBER_COLUMN = 54, /* in which numbers begin */
    LINE = 100,
    TEXT_MOST = 49, /* bytes of an expression, of a line of Lua, of a value */
    SHORT_MOST = 32,
    SOURCE_MOST = 72,
    VALUE_MOST = 200,
};

/* The numbers of a list behind what begins the line at byte `from`. */
static void
put_numbers(const json_t *values, size_t from, rlf_buf *out)
{
    fill_to(out, from, NUMBER_COLUMN);
    for (size_t i = 0; i < json_array_size(values); i++) {
        const json_t *x = json_array_get(values, i);
        if (i && out->n - from > LINE) {
            rlf_buf_putc(out, '\n');
            from = out->n;
            fill_to(out, from, NUMBER_COLUMN);
        }
        if (json_is_number(x)) /* 0 + -0 is 0 */
            rlf_buf_printf(out, " %.6g", 0 + json_number_value(x));
        else
            rlf_buf_puts(out, " nan");
    }
    rlf_buf_putc(out, '\n');
}

static void
put_place(const json_t *fact, rlf_buf *out)
{
    const char *path = text_of(fact, "path"), *slash = strrchr(path, '/');
    if (*path)
        rlf_buf_line(out, "  %s:%.0f", slash ? slash + 1 : path,
                     number_of(fact, "line"));
}

/* A text between quotes, with escapes. */
static void
put_quoted(const json_t *o, const char *name, rlf_buf *out)
{
    const json_t *text = json_object_get(o, name);
    rlf_buf_json(out, text_of(o, name), json_string_length(text));
}

static void
put_token(const json_t *token, rlf_buf *out)
{
    put_quoted(token, "text", out);
}

/* ---- prompt and tokens ---- */

static void
put_prompt(const json_t *facts, const json_t *fact, rlf_buf *out)
{
    (void)facts;
    const json_t *tokens = json_object_get(fact, "tokens");
    rlf_buf_putc(out, '\n');
    rlf_buf_line(out, "prompt: %zu tokens of %s", json_array_size(tokens),
                 text_of(fact, "model"));
    put_place(fact, out);
    rlf_buf_puts(out, "\n ");
    size_t from = out->n;
    for (size_t i = 0; i < json_array_size(tokens); i++) {
        const json_t *t = json_array_get(tokens, i);
        if (out->n - from > LINE) {
            rlf_buf_puts(out, "\n ");
            from = out->n;
        }
        rlf_buf_putc(out, ' ');
        put_token(t, out);
        rlf_buf_printf(out, "=%.0f", number_of(t, "id"));
    }
    rlf_buf_printf(out, "\n\nresponse: at most %.0f tokens",
                   number_of(fact, "max_new"));
    if (json_is_true(json_object_get(fact, "greedy"))) {
        rlf_buf_puts(out, ", greedy");
    } else {
        rlf_buf_printf(out, ", temperature %g", number_of(fact, "temperature"));
        if (number_of(fact, "top_k") > 0)
            rlf_buf_printf(out, ", top_k %g", number_of(fact, "top_k"));
        if (number_of(fact, "top_p") < 1)
            rlf_buf_printf(out, ", top_p %g", number_of(fact, "top_p"));
        if (number_of(fact, "min_p") > 0)
            rlf_buf_printf(out, ", min_p %g", number_of(fact, "min_p"));
    }
    if (number_of(fact, "lag") > 0)
        rlf_buf_printf(out, ", by weights of %.0f steps before",
                       number_of(fact, "lag"));
    rlf_buf_puts(out, json_is_true(json_object_get(fact, "finished"))
                          ? "; it ended by itself\n"
                          : "; it was cut off\n");
}

/* A response that no model has sampled. */
static void
put_given(const json_t *facts, const json_t *fact, rlf_buf *out)
{
    (void)facts;
    const json_t *ids = json_object_get(fact, "ids");
    rlf_buf_puts(out, "\nresponse, as it was given:");
    put_place(fact, out);
    rlf_buf_puts(out, "\n  ");
    put_quoted(fact, "prompt", out);
    rlf_buf_puts(out, "\n  ");
    put_quoted(fact, "response", out);
    rlf_buf_puts(out, "\n  tokens");
    for (size_t i = 0; i < json_array_size(ids); i++)
        rlf_buf_printf(out, " %.0f", json_number_value(json_array_get(ids, i)));
    rlf_buf_putc(out, '\n');
}

static void
put_response(const json_t *trace, rlf_buf *out)
{
    const json_t *line = json_object_get(trace, "line");
    if (!json_is_object(line))
        return;
    rlf_buf_puts(out, "  ");
    put_quoted(line, "response", out);
    rlf_buf_putc(out, '\n');
}

/* The likeliest tokens beside a draw, those that the filters left out in
 * parentheses. */
static void
put_likely(const json_t *likely, rlf_buf *out)
{
    enum { SHOWN = 4 };
    for (size_t i = 0; i < json_array_size(likely) && i < SHOWN; i++) {
        const json_t *t = json_array_get(likely, i);
        bool left = json_is_true(json_object_get(t, "left"));
        rlf_buf_puts(out, left ? " " : " (");
        put_token(t, out);
        rlf_buf_printf(out, " %.3g%s", number_of(t, "p"), left ? "" : ")");
    }
}

static void
put_draw(const json_t *fact, rlf_buf *out)
{
    double uniform = number_of(fact, "uniform");
    size_t from = out->n;
    rlf_buf_printf(out, "  %4.0f  %7.0f ", number_of(fact, "token"),
                   number_of(fact, "id"));
    put_token(fact, out);
    fill_to(out, from, 30);
    rlf_buf_printf(out, "%-13.6g ", number_of(fact, "logprob"));
    if (isnan(uniform))
        rlf_buf_printf(out, "%-10s", "none");
    else
        rlf_buf_printf(out, "%-10.6f", uniform);
    if (!isnan(number_of(fact, "from")))
        rlf_buf_printf(out, "%.4f..%.4f  %4.0f  %5.0f of %-6.0f",
                       number_of(fact, "from"), number_of(fact, "to"),
                       number_of(fact, "rank"), number_of(fact, "left"),
                       number_of(fact, "vocabulary"));
    put_likely(json_object_get(fact, "likely"), out);
    rlf_buf_putc(out, '\n');
}

static void
put_draws(const json_t *facts, rlf_buf *out)
{
    bool first = true;
    size_t i;
    const json_t *fact;
    json_array_foreach(facts, i, fact)
    {
        if (!is(fact, "token"))
            continue;
        if (first)
            rlf_buf_puts(out,
                         "  token     id text           logprob       uniform   "
                         "drawn from      rank   left            likeliest\n");
        first = false;
        put_draw(fact, out);
    }
}

/* ---- hooks ---- */

/* Numbers, as those of each token. */
static void
put_list(const json_t *list, rlf_buf *out)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        rlf_buf_printf(out, "%s%.6g", i ? " " : "",
                       json_number_value(json_array_get(list, i)));
}

/* Names with their values: numbers, or texts as Lua would print them. */
static void
put_values(const json_t *values, rlf_buf *out)
{
    const char *name;
    const json_t *value;
    json_object_foreach((json_t *)(uintptr_t)values, name, value)
    {
        rlf_buf_line(out, "  %s = ", name);
        if (json_is_number(value))
            rlf_buf_printf(out, "%.6g", json_number_value(value));
        else if (json_is_string(value))
            put_short(json_string_value(value), VALUE_MOST, out);
        else if (json_is_array(value))
            put_list(value, out);
        else
            rlf_buf_puts(out, "none");
    }
}

static void
put_returns(const json_t *returns, rlf_buf *out)
{
    size_t i;
    const json_t *one;
    json_array_foreach(returns, i, one)
    {
        rlf_buf_puts(out, i ? ", " : "  returns ");
        put_short(json_string_value(one), VALUE_MOST, out);
    }
}

/* A line that ran, and what it changed. */
static void
put_ran(const json_t *line, rlf_buf *out)
{
    const json_t *arguments = json_object_get(line, "arguments"),
                 *values = json_object_get(line, "values"),
                 *returns = json_object_get(line, "returns");
    const char *path = text_of(line, "file"), *slash = strrchr(path, '/');
    size_t from = out->n;
    if (json_object_size(arguments)) {
        rlf_buf_puts(out, "      called with");
        put_values(arguments, out);
        rlf_buf_putc(out, '\n');
        from = out->n;
    }
    rlf_buf_line(out, "  %s:%-4.0f ", slash ? slash + 1 : path,
                 number_of(line, "line"));
    for (double k = 1; k < number_of(line, "depth"); k++)
        rlf_buf_puts(out, "  ");
    put_short(text_of(line, "source"), SOURCE_MOST, out);
    if (json_object_size(values) || json_array_size(returns))
        fill_to(out, from, NUMBER_COLUMN);
    put_values(values, out);
    put_returns(returns, out);
    rlf_buf_putc(out, '\n');
}

static void
put_hook(const json_t *facts, const json_t *fact, rlf_buf *out)
{
    (void)facts;
    size_t i;
    const json_t *line;
    rlf_buf_putc(out, '\n');
    rlf_buf_line(out, "hook %s", text_of(fact, "name"));
    if (number_of(fact, "samples") > 1)
        rlf_buf_printf(out, ", which gets %.0f samples: this is samples[%.0f]",
                       number_of(fact, "samples"),
                       number_of(fact, "index") + 1);
    put_place(fact, out);
    rlf_buf_putc(out, '\n');
    json_array_foreach(json_object_get(fact, "lines"), i, line)
        put_ran(line, out);
    if (number_of(fact, "lines_left_out") > 0)
        rlf_buf_printf(out, "  and %.0f lines more\n",
                       number_of(fact, "lines_left_out"));
    if (json_is_string(json_object_get(fact, "error")))
        rlf_buf_line(out, "  error: %s\n", text_of(fact, "error"));
    rlf_buf_puts(out, "  gives");
    put_values(json_object_get(fact, "results"), out);
    rlf_buf_putc(out, '\n');
}

/* ---- arithmetic ---- */

static void
put_terms(const json_t *terms, rlf_buf *out)
{
    size_t i;
    const json_t *term;
    json_array_foreach(terms, i, term)
    {
        size_t from = out->n;
        const char *source = text_of(term, "source");
        rlf_buf_puts(out, "  ");
        if (*text_of(term, "within"))
            rlf_buf_line(out, "%s: ", text_of(term, "within"));
        if (strncmp(source, "minimize ", 9) == 0)
            rlf_buf_puts(out, "with all that is minimized before");
        else
            put_short(source, TEXT_MOST, out);
        put_numbers(json_object_get(term, "values"), from, out);
    }
}

/* An expression that the program does not name is its last operation. */
static void
put_column(const json_t *fact, rlf_buf *out)
{
    size_t from = out->n;
    bool expression = strcmp(text_of(fact, "by"), "expr") == 0;
    if (expression && strcmp(text_of(fact, "name"), "it") == 0)
        return;
    rlf_buf_line(out, "  %s", text_of(fact, "name"));
    if (!expression)
        rlf_buf_line(out, ", by %s", text_of(fact, "by"));
    if (!expression && json_array_size(json_object_get(fact, "values")) > 1)
        rlf_buf_line(out, " at %s", text_of(fact, "on"));
    put_numbers(json_object_get(fact, "values"), from, out);
}

/* ---- updates ---- */

static void
put_live(const json_t *live, rlf_buf *out)
{
    size_t i;
    const json_t *one;
    json_array_foreach(live, i, one)
    {
        size_t from = out->n;
        rlf_buf_puts(out, "  ");
        put_short(text_of(one, *text_of(one, "source") ? "source" : "name"),
                  SHORT_MOST, out);
        rlf_buf_puts(out, ", as it is now");
        put_numbers(json_object_get(json_object_get(one, "given"), "values"),
                    from, out);
        from = out->n;
        rlf_buf_line(out, "  the loss's derivative by it");
        put_numbers(
            json_object_get(json_object_get(one, "derivative"), "values"), from,
            out);
    }
}

/* A loop carries an update out several times: which time this is, of those that
 * read the sample. */
static void
put_turn(const json_t *facts, const json_t *fact, rlf_buf *out)
{
    size_t i, all = 0, own = 0;
    const json_t *other;
    json_array_foreach(facts, i, other)
    {
        all += is(other, "update") &&
               number_of(other, "node") == number_of(fact, "node");
        own = other == fact ? all : own;
    }
    if (all > 1)
        rlf_buf_printf(out, ", time %zu of %zu", own, all);
}

static void
put_update(const json_t *facts, const json_t *fact, rlf_buf *out)
{
    double own = number_of(fact, "gradient"),
           all = number_of(fact, "gradient_of_all"),
           clip = number_of(fact, "clip");
    rlf_buf_putc(out, '\n');
    rlf_buf_line(out, "update of %s, on %.0f samples", text_of(fact, "model"),
                 number_of(fact, "samples"));
    put_turn(facts, fact, out);
    put_place(fact, out);
    rlf_buf_putc(out, '\n');
    put_terms(json_object_get(fact, "terms"), out);
    put_live(json_object_get(fact, "live"), out);
    rlf_buf_printf(out,
                   "  norm of the gradient: %.6g through this sample, %.6g of "
                   "all",
                   own, all);
    if (all > 0)
        rlf_buf_printf(out, " (%.3g of it)", own / all);
    if (clip > 0 && all > clip)
        rlf_buf_printf(out, ", clipped to %g", clip);
    rlf_buf_printf(out, "; lr %g\n", number_of(fact, "lr"));
}

/* ---- all of it ---- */

/* A line of samples.jsonl. */
static void
put_line(const char *what, const json_t *line, rlf_buf *out)
{
    char *text = json_dumps(line, JSON_COMPACT);
    rlf_buf_line(out, "%s: %s\n", what, text ? text : "none");
    free(text);
}

static void
put_head(const json_t *trace, rlf_buf *out)
{
    const json_t *recorded = json_object_get(trace, "recorded");
    const json_t *sample = json_object_get(recorded, "sample");
    const json_t *different = json_object_get(recorded, "different");
    rlf_buf_line(out, "step %.0f, sample %.0f of %s\n",
                 number_of(trace, "step"), number_of(trace, "sample"),
                 text_of(trace, "set"));
    rlf_buf_puts(out, json_is_true(sample)
                          ? "made again as the run recorded it, bit for bit"
                      : json_is_false(sample)
                          ? "NOT as the run recorded it"
                          : "the run did not record this sample");
    rlf_buf_printf(out, "; %.0f of %.0f metrics of the step are equal",
                   number_of(recorded, "equal"),
                   number_of(recorded, "metrics"));
    for (size_t i = 0; i < json_array_size(different); i++)
        rlf_buf_line(out, "%s%s", i ? ", " : ", not ",
                     json_string_value(json_array_get(different, i)));
    rlf_buf_putc(out, '\n');
    if (json_is_false(sample)) {
        put_line("recorded", json_object_get(recorded, "line"), out);
        put_line("now", json_object_get(trace, "line"), out);
    }
}

/* Is it of no loop, or of a turn whose update reads the sample? */
static bool
concerns(const json_t *facts, const char *iteration)
{
    size_t i;
    const json_t *fact;
    json_array_foreach(facts, i, fact)
        if (is(fact, "update") &&
            strcmp(text_of(fact, "iteration"), iteration) == 0)
            return true;
    return !*iteration;
}

/* The facts of one node stand below one head. */
static void
put_node(const json_t *facts, size_t *i, rlf_buf *all)
{
    double node = number_of(json_array_get(facts, *i), "node");
    const json_t *first = json_array_get(facts, *i);
    const char *iteration = text_of(first, "iteration");
    rlf_buf ignored = {0}, *out = concerns(facts, iteration) ? all : &ignored;
    rlf_buf_puts(out, "\n");
    put_short(text_of(first, "source"), TEXT_MOST + 24, out);
    put_place(first, out);
    rlf_buf_putc(out, '\n');
    for (; *i < json_array_size(facts); ++*i) {
        const json_t *fact = json_array_get(facts, *i);
        if (number_of(fact, "node") != node ||
            strcmp(text_of(fact, "iteration"), iteration) != 0)
            break;
        if (is(fact, "arithmetic"))
            put_terms(json_object_get(fact, "terms"), out);
        else if (is(fact, "values"))
            put_column(fact, out);
        else
            break;
    }
    rlf_buf_free(&ignored);
}

void
rlf_retraced_print(const json_t *trace, rlf_buf *out)
{
    static const struct {
        const char *kind;
        void (*put)(const json_t *facts, const json_t *fact, rlf_buf *out);
    } kinds[] = {{"prompt", put_prompt}, {"response", put_given},
                 {"hook", put_hook}, {"update", put_update}};
    const json_t *facts = json_object_get(trace, "facts");
    put_head(trace, out);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        for (size_t i = 0; i < json_array_size(facts);) {
            const json_t *fact = json_array_get(facts, i);
            if (is(fact, kinds[k].kind))
                kinds[k].put(facts, fact, out);
            /* arithmetic stands between hooks and updates */
            if (k == 2 && (is(fact, "arithmetic") || is(fact, "values")))
                put_node(facts, &i, out);
            else
                i++;
        }
        if (k == 0) {
            put_response(trace, out);
            put_draws(facts, out);
        }
    }
}

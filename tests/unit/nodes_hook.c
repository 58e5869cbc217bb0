/* Hooks: what Lua is given and what comes back, per sample, group, batch and
 * step; failures with the sample's name, and on_error. Also ask and respond. */
#include "engine/graph/sample_trace.h"
#include "engine/text/tokenizer.h"
#include "nodes/data.h"
#include "nodes/model.h"
#include "tests/unit/nodes.h"

#include <jansson.h>

static const char *const data_file = "nodes_hook.tmp.jsonl";
static const char *const lua_file = "nodes_hook.tmp.lua";

enum { PROMPTS = 3, EACH = 2, SAMPLES = PROMPTS * EACH };

typedef struct made {
    world *w;
    int data, batch, roll, tokens;
    int set, extra; /* values */
    rlf_tokenizer *tokenizer;
    rlf_reader *reader;
    rlf_rows *rows;
} made;

static const rlf_set *
set_of(const world *w, int value)
{
    return &w->graph->sets.data[w->graph->values.data[value].set];
}

/* Two samples of each of three data rows; sample i answers row i / 2 with the
 * digits of i, i + 1, ... */
static void
fill(made *m)
{
    world *w = m->w;
    const rlf_set *set = set_of(w, m->set);
    rlf_rows *rows = m->rows = RLF_NEW(w->pool, rlf_rows);
    rows->set = set;
    rows->prompts = rlf_space_rows(w->pool, w->graph, m->batch, PROMPTS);
    rows->samples = rlf_space_rows(w->pool, w->graph, m->roll, SAMPLES);
    rows->samples->up[0].to = rows->prompts;
    rows->prompt = RLF_NEW_ARRAY(w->pool, rlf_prompt, PROMPTS);
    rows->sample = RLF_NEW_ARRAY(w->pool, rlf_sample, SAMPLES);
    rows->data_row = RLF_NEW_ARRAY(w->pool, uint32_t, PROMPTS);
    rows->reader = m->reader;
    rows->temperature = 1;
    const rlf_data *data = w->resource[m->data];
    for (uint32_t i = 0; i < PROMPTS; i++) {
        rows->data_row[i] = PROMPTS - 1 - i;
        rlf_err err = RLF_ERR_NONE;
        if (rlf_data_prompt(data, rows->data_row[i], w->pool, &err,
                            &rows->prompt[i]) < 0)
            bail("%s", err.sentence);
        ((uint64_t *)rows->prompts->identity)[i] = 40 + i;
    }
    uint32_t lengths[SAMPLES];
    for (uint32_t i = 0; i < SAMPLES; i++) {
        ((uint32_t *)rows->samples->up[0].index)[i] = i / EACH;
        ((uint64_t *)rows->samples->identity)[i] = 80 + i;
        uint32_t n = lengths[i] = i % 3 + 1;
        uint32_t *ids = RLF_NEW_ARRAY(w->pool, uint32_t, n);
        char *text = RLF_NEW_ARRAY(w->pool, char, n + 1);
        for (uint32_t t = 0; t < n; t++) {
            text[t] = (char)('0' + i + t);
            ids[t] = 7 + i + t;
        }
        rows->sample[i] = (rlf_sample){
            .text = {text, n}, .ids = ids, .n_ids = n, .finished = i != 3};
    }
    rows->tokens = rlf_space_tokens(w->pool, w->graph, m->tokens, rows->samples,
                                    0, lengths);
}

static made
make(uint64_t seed)
{
    made m = {.w = world_new(seed)};
    world *w = m.w;
    write_file(data_file,
               "{\"q\": \"one =\", \"a\": \"0\", \"grade\": 5}\n"
               "{\"q\": \"two =\", \"a\": \"23\", \"grade\": 6}\n"
               "{\"q\": \"three =\", \"a\": \"12\", \"grade\": 7}\n");
    rlf_arg args[] = {text_arg(NULL, data_file), text_arg("prompt", "q"),
                      text_arg("answer", "a"), text_arg("grade", "grade")};
    m.data = add_resource(
        w,
        (rlf_resource){.class = rlf_node_classes.resource[RLF_RESOURCE_DATA],
                       .name = "prompts",
                       .constructor = "jsonl",
                       .source = -1},
        args, 4);
    const char *source = getenv("RLFLOW_SOURCE");
    char path[4096];
    snprintf(path, sizeof path, "%s/examples/models/arith",
             source ? source : ".");
    if (rlf_tokenizer_open(path, &w->err, &m.tokenizer) < 0)
        bail("%s", w->err.sentence);
    m.reader = RLF_NEW(w->arena, rlf_reader);
    *m.reader =
        (rlf_reader){.model = "actor", .tokenizer = m.tokenizer, .eos = 2};
    m.batch = add_domain(w, RLF_DOMAIN_ROWS, "batch", -1);
    m.roll = add_domain(w, RLF_DOMAIN_ROWS, "roll", m.batch);
    m.tokens = add_domain(w, RLF_DOMAIN_TOKENS, "tokens of roll", m.roll);
    rlf_set roll = sampled_set("roll", m.batch, m.roll, m.tokens);
    roll.data = m.data;
    m.set = add_set_value(w, roll);
    m.extra = add_column_value(w, RLF_VALUE_NUMBER, m.batch);
    fill(&m);
    return m;
}

static void
unmake(made *m)
{
    rlf_tokenizer_close(m->tokenizer);
    world_free(m->w);
}

typedef struct hook_parts {
    const rlf_give *gives;
    int n_gives;
    const rlf_arg *more; /* NULL, or one more argument */
} hook_parts;

/* The hook `lua(..., per:, ...) -> gives` with this source; its index. */
static int
add_hook(made *m, const char *source, const char *per, hook_parts parts)
{
    write_file(lua_file, source);
    rlf_arg args[3] = {text_arg(NULL, lua_file), text_arg("per", per)};
    if (parts.more)
        args[2] = *parts.more;
    return add_resource(
        m->w,
        (rlf_resource){.class = rlf_node_classes.resource[RLF_RESOURCE_HOOK],
                       .name = "judge",
                       .constructor = "lua",
                       .gives = parts.gives,
                       .n_gives = parts.n_gives},
        args, parts.more ? 3 : 2);
}

/* A call of the hook on the set, with the column `extra`. */
static rlf_call
hook_call(made *m, int hook, const char *per, int n_gives)
{
    world *w = m->w;
    const rlf_node_class *class = rlf_classes_find(
        &rlf_node_classes, RLF_FORM_HOOK, RLF_RECEIVER_HOOK, per);
    rlf_arg args[] = {value_arg("set", m->set, 0),
                      value_arg("bonus", m->extra, 1)};
    int inputs[] = {m->set, m->extra}, outputs[8];
    for (int i = 0; i <= n_gives; i++)
        outputs[i] = add_column_value(w, RLF_VALUE_NUMBER, m->roll);
    int node = add_node(w, class, hook,
                        (node_parts){ARGS_OF(args, 2), IN_OF(inputs, 2),
                                     OUT_OF(outputs, n_gives + 1), .site = 6});
    rlf_column bonus = rlf_column_new(w->pool, m->rows->prompts, false);
    for (uint32_t i = 0; i < PROMPTS; i++)
        bonus.number[i] = 100 * (i + 1);
    rlf_content in[] = {{.rows = m->rows}, {.column = bonus}};
    return make_call(w, node, in);
}

static void
test_sample(void)
{
    made m = make(1);
    static const rlf_give gives[] = {
        {"right", "sample"}, {"credit", "token"}, {"said", "text"}};
    int hook = add_hook(
        &m,
        "return function(s)\n"
        "  local credit = {}\n"
        "  for i, p in ipairs(s.pieces) do\n"
        "    credit[i] = tonumber(p) + s.tokens[i] / 1000\n"
        "  end\n"
        "  return { right = s.response == s.answer and 1 or 0,\n"
        "           credit = credit,\n"
        "           said = s.prompt .. s.response .. '|' .. s.grade .. '|' ..\n"
        "                  s.bonus .. '|' .. s.length .. tostring(s.finished)"
        " }\n"
        "end\n",
        "sample", (hook_parts){.gives = gives, .n_gives = 3});
    if (hook < 0)
        bail("%s", m.w->err.sentence);
    rlf_call call = hook_call(&m, hook, "sample", 3);
    is_int(run_call(m.w, &call), RLF_OK, "a hook per sample runs");
    /* Sample 3 is "345", answers "two =" (23); sample 2 "2..": 2 tokens... */
    const rlf_column *right = &call.out[0].column;
    bool equal = true;
    for (uint32_t i = 0; i < SAMPLES; i++)
        equal = equal && right->number[i] == (i == 1); /* "12" */
    ok(equal, "numbers: one for each sample");
    equal = true;
    for (uint32_t i = 0; i < SAMPLES; i++)
        for (uint32_t t = 0; t < m.rows->tokens->length[i]; t++)
            equal = equal &&
                    call.out[1].column.number[m.rows->tokens->offset[i] + t] ==
                        (i + t) + (7 + i + t) / 1000.0;
    ok(equal, "one for each token, from pieces and ids");
    is_str(call.out[2].column.text[3].p, "two =3|6|200|1false",
           "a text, from the data's fields and the call's column");
    equal = true;
    for (uint32_t i = 0; i < SAMPLES; i++)
        equal = equal && call.out[3].column.number[i] == 1;
    ok(equal, "ok is 1");
    unmake(&m);
}

/* In pieces of any order: the same bits, also of random numbers. */
static void
test_pieces(void)
{
    made m = make(1);
    const char *source = "return function(s) return math.random() end\n";
    int hook = add_hook(&m, source, "sample", (hook_parts){0});
    rlf_call whole = hook_call(&m, hook, "sample", 1);
    run_call(m.w, &whole);
    rlf_call call = hook_call(&m, hook, "sample", 1);
    call.node->class->open(&call, &m.w->err);
    static const uint32_t pieces[][2] = {{4, 5}, {0, 3}, {1, 2}};
    for (int i = 0; i < 3; i++) {
        call.rows = pieces[i];
        call.n_rows = 2;
        call.node->class->step(&call, &m.w->err);
    }
    const double *a = whole.out[0].column.number;
    is_bits(call.out[0].column.number, a, SAMPLES, sizeof *a,
            "pieces in another order change no bit");
    bool differ = true;
    for (int i = 1; i < SAMPLES; i++)
        differ = differ && a[i] != a[0];
    ok(differ, "each sample has random numbers of its own");
    m.w->env.step = 2;
    call = hook_call(&m, hook, "sample", 1);
    run_call(m.w, &call);
    ok(call.out[0].column.number[0] != a[0], "and other ones in each step");
    unmake(&m);
}

static void
test_group(void)
{
    made m = make(1);
    const char *source = "return function(group)\n"
                         "  local out = {}\n"
                         "  for i, s in ipairs(group) do\n"
                         "    out[i] = #group * 1000 + s.length\n"
                         "  end\n"
                         "  return out\n"
                         "end\n";
    int hook = add_hook(&m, source, "group", (hook_parts){0});
    rlf_call call = hook_call(&m, hook, "group", 1);
    is_int(run_call(m.w, &call), RLF_OK, "a hook per group runs");
    bool right = true;
    for (uint32_t i = 0; i < SAMPLES; i++)
        right =
            right && call.out[0].column.number[i] == EACH * 1000 + i % 3 + 1;
    ok(right, "it is given the samples of a prompt");
    unmake(&m);
    m = make(1);
    hook = add_hook(&m, source, "batch", (hook_parts){0});
    call = hook_call(&m, hook, "batch", 1);
    is_int(run_call(m.w, &call), RLF_OK, "a hook per batch runs");
    right = true;
    for (uint32_t i = 0; i < SAMPLES; i++)
        right =
            right && call.out[0].column.number[i] == SAMPLES * 1000 + i % 3 + 1;
    ok(right, "it is given all samples");
    unmake(&m);
}

static void
test_step(void)
{
    made m = make(1);
    world *w = m.w;
    int hook = add_hook(&m, "return function(s) return 10 * s.step + s.x end\n",
                        "step", (hook_parts){0});
    const rlf_node_class *class = rlf_classes_find(
        &rlf_node_classes, RLF_FORM_HOOK, RLF_RECEIVER_HOOK, "step");
    int outputs[] = {add_column_value(w, RLF_VALUE_NUMBER, 0),
                     add_column_value(w, RLF_VALUE_NUMBER, 0)};
    rlf_arg arg = number_arg("x", 0.5);
    int node =
        add_node(w, class, hook, (node_parts){ARGS(arg), OUT_OF(outputs, 2)});
    w->env.step = 3;
    rlf_call call = make_call(w, node, NULL);
    is_int(run_call(w, &call), RLF_OK, "a hook per step runs");
    ok(call.out[0].column.number[0] == 30.5, "and gives one number");
    unmake(&m);
}

static void
test_errors(void)
{
    const char *source = "return function(s)\n"
                         "  if s.response == '345' then error('no way') end\n"
                         "  return 1\n"
                         "end\n";
    made m = make(1);
    m.rows->sample[3].text = RLF_STR("345");
    int hook = add_hook(&m, source, "sample", (hook_parts){0});
    rlf_call call = hook_call(&m, hook, "sample", 1);
    is_int(run_call(m.w, &call), RLF_USER, "an error in Lua ends the run");
    ok(strstr(m.w->err.sentence, "nodes_hook.tmp.lua:2") &&
           strstr(m.w->err.sentence, "no way"),
       "with file and line: %s", m.w->err.sentence);
    ok(strstr(m.w->err.sentence, "(prompt 42,") != NULL,
       "and the prompt's number, from 1");
    unmake(&m);

    m = make(1);
    m.rows->sample[3].text = RLF_STR("345");
    rlf_arg forgive = number_arg("on_error", -2);
    hook = add_hook(&m, source, "sample", (hook_parts){.more = &forgive});
    call = hook_call(&m, hook, "sample", 1);
    is_int(run_call(m.w, &call), RLF_OK, "with on_error: it goes on");
    bool right = true;
    for (uint32_t i = 0; i < SAMPLES; i++)
        right = right && call.out[0].column.number[i] == (i == 3 ? -2 : 1) &&
                call.out[1].column.number[i] == (i != 3);
    ok(right, "the value stands in for the result, ok is 0");
    ok(m.w->n_reported == 1 &&
           strcmp(m.w->reported[0].name, "judge.errors") == 0 &&
           m.w->reported[0].sum == 1 && m.w->reported[0].n == SAMPLES,
       "and it is counted");
    unmake(&m);

    m = make(1);
    hook = add_hook(&m, "return functio(s) return 1 end\n", "sample",
                    (hook_parts){0});
    ok(hook < 0 && m.w->err.status == RLF_USER &&
           strstr(m.w->err.sentence, "nodes_hook.tmp.lua:1"),
       "a file that does not load: %s", m.w->err.sentence);
    unmake(&m);
}

/* ---- ask and respond ---- */

static void
test_respond(void)
{
    made m = make(1);
    world *w = m.w;
    /* A model resource of which only the reader is there. */
    rlf_model_object model = {.reader = *m.reader};
    int actor = 7;
    w->resource[actor] = &model;
    int rows = add_domain(w, RLF_DOMAIN_ROWS, "rows", -1);
    int tokens = add_domain(w, RLF_DOMAIN_TOKENS, "tokens of page", rows);
    int set = add_set_value(w, (rlf_set){.kind = RLF_SET_DATA,
                                         .name = "rows",
                                         .prompts = rows,
                                         .samples = rows,
                                         .tokens = -1,
                                         .origin = -1,
                                         .from = -1,
                                         .data = m.data,
                                         .model = -1});
    const rlf_node_class *class = rlf_classes_syntax(&rlf_node_classes, "draw");
    rlf_arg args[3] = {{.name = "count"}, {.name = "weight"}};
    rlf_call call = make_call(
        w, add_node(w, class, m.data, (node_parts){ARGS_OF(args, 2), OUT(set)}),
        NULL);
    run_call(w, &call);
    rlf_content in[2] = {[1] = call.out[0]};
    int text = add_column_value(w, RLF_VALUE_TEXT, rows);
    in[0].column = rlf_column_new(w->pool, call.out[0].rows->prompts, true);
    for (int i = 0; i < 3; i++)
        in[0].column.text[i] = rlf_str_of(i == 0 ? "16" : i == 1 ? "" : "4");
    int page = add_set_value(w, (rlf_set){.kind = RLF_SET_WRITTEN,
                                          .name = "page",
                                          .prompts = rows,
                                          .samples = rows,
                                          .tokens = tokens,
                                          .origin = -1,
                                          .from = -1,
                                          .data = m.data,
                                          .model = actor});
    args[0] = value_arg("text", text, 0);
    args[1] = value_arg("to", set, 1);
    int inputs[] = {text, set};
    class = rlf_classes_find(&rlf_node_classes, RLF_FORM_CALL,
                             RLF_RECEIVER_NONE, "respond");
    args[2] =
        (rlf_arg){.name = "max_response", .kind = RLF_ARG_NUMBER, .number = 2};
    call = make_call(
        w,
        add_node(w, class, -1,
                 (node_parts){ARGS_OF(args, 3), IN_OF(inputs, 2), OUT(page)}),
        in);
    is_int(run_call(w, &call), RLF_USER, "a response beyond max_response");
    ok(strstr(w->err.sentence, "nodes_hook.tmp.jsonl:1") &&
           strstr(w->err.sentence, "has 3 tokens, more than 2"),
       "... says which: %s", w->err.sentence);
    rlf_err_clear(&w->err);
    args[2].number = 3;
    call = make_call(
        w,
        add_node(w, class, -1,
                 (node_parts){ARGS_OF(args, 3), IN_OF(inputs, 2), OUT(page)}),
        in);
    is_int(run_call(w, &call), RLF_OK, "respond runs");
    const rlf_rows *out = call.out[0].rows;
    static const uint32_t want[] = {8, 13, 2};
    ok(out->sample[0].n_ids == 3 &&
           memcmp(out->sample[0].ids, want, sizeof want) == 0,
       "tokens of the text and the end token");
    ok(out->sample[1].n_ids == 1 && out->sample[1].ids[0] == 2,
       "an empty response is the end token");
    ok(out->tokens->length[0] == 3 && out->tokens->length[2] == 2 &&
           out->tokens->offset[2] == 4 && out->sample[2].finished,
       "packed, and finished");
    /* "one =": <bos> o n e space = */
    static const uint32_t prompt[] = {1, 31, 30, 21, 3, 4};
    ok(out->prompt[0].n_ids == 6 &&
           memcmp(out->prompt[0].ids, prompt, sizeof prompt) == 0,
       "the prompts are read with the beginning token");
    ok(out->samples == in[1].rows->prompts, "the sample is the row");

    class = rlf_classes_find(&rlf_node_classes, RLF_FORM_CALL,
                             RLF_RECEIVER_NONE, "ask");
    int asked = add_domain_under(w, RLF_DOMAIN_ROWS, "asked", -1, rows);
    int q = add_set_value(w, (rlf_set){.kind = RLF_SET_ASKED,
                                       .name = "q",
                                       .prompts = asked,
                                       .samples = asked,
                                       .tokens = -1,
                                       .origin = -1,
                                       .from = -1,
                                       .data = -1,
                                       .model = -1});
    call = make_call(
        w,
        add_node(w, class, -1,
                 (node_parts){ARGS_OF(args, 1), IN_OF(inputs, 1), OUT(q)}),
        in);
    is_int(run_call(w, &call), RLF_OK, "ask runs");
    out = call.out[0].rows;
    ok(out->prompts->count == 3 &&
           rlf_str_eq(out->prompt[2].text, RLF_STR("4")) &&
           rlf_space_row(&w->graph->domains, out->prompts, 2, rows) == 2,
       "a prompt for each row, below it");

    model.reader.context = 6;
    rlf_prompt *prompts;
    rlf_err_clear(&w->err);
    in[1].rows->prompt[0].ids = NULL;
    is_int(
        rlf_rows_prompts(&w->env, in[1].rows, &model.reader, &w->err, &prompts),
        RLF_USER, "a prompt that fills the context is refused");
    ok(strstr(w->err.sentence, "nodes_hook.tmp.jsonl:1") &&
           strstr(w->err.sentence, "6 tokens"),
       "with file and line: %s", w->err.sentence);
    unmake(&m);
}

/* ---- facts for who looks at one sample ---- */

/* Run the call while the sample of the row is looked at; NULL: nothing was
 * added. The caller ends it with json_decref. */
static json_t *
fact_of(made *m, rlf_call *call, uint32_t row)
{
    world *w = m->w;
    int set = w->graph->values.data[m->set].set;
    rlf_sample_trace *trace = rlf_sample_trace_new(
        w->arena, w->graph, w->env.step, set, 80 + (uint64_t)row);
    w->env.sample_trace = trace;
    run_call(w, call);
    w->env.sample_trace = NULL;
    json_error_t why;
    json_t *fact = NULL;
    if (trace->facts.n) {
        fact = json_loadb(trace->facts.p, trace->facts.n,
                          JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why);
        if (!fact) {
            note("%s", trace->facts.p);
            bail("the fact is no JSON: %s", why.text);
        }
    }
    rlf_sample_trace_free(trace);
    return fact;
}

/* The member a.b.0.c of the fact. */
static const json_t *
at(const json_t *fact, const char *path)
{
    char key[64];
    while (fact && *path) {
        size_t n = strcspn(path, ".");
        snprintf(key, sizeof key, "%.*s", (int)n, path);
        fact = json_is_array(fact)
                   ? json_array_get(fact, strtoul(key, NULL, 10))
                   : json_object_get(fact, key);
        path += n + (path[n] != 0);
    }
    return fact;
}

static void
has_text(const json_t *fact, const char *path, const char *want)
{
    const char *got = json_string_value(at(fact, path));
    if (!ok(got && strcmp(got, want) == 0, "%s is %s", path, want))
        note("got: %s", got ? got : "(none)");
}

static void
has_number(const json_t *fact, const char *path, double want)
{
    double got = json_number_value(at(fact, path));
    if (!ok(json_is_number(at(fact, path)) && got == want, "%s is %g", path,
            want))
        note("got: %g", got);
}

static void
test_trace_sample(void)
{
    static const rlf_give gives[] = {
        {"right", "sample"}, {"credit", "token"}, {"said", "text"}};
    const char *source = "local function score(s)\n"
                         "  local n = #s.tokens + math.random()\n"
                         "  local credit = {}\n"
                         "  for i in ipairs(s.tokens) do credit[i] = i end\n"
                         "  return n, credit, 'as \"said\"'\n"
                         "end\n"
                         "return score\n";
    made m = make(1);
    m.rows->sample[4].text = (rlf_str){"a\0\"\xff", 4};
    int hook = add_hook(&m, source, "sample",
                        (hook_parts){.gives = gives, .n_gives = 3});
    rlf_call plain = hook_call(&m, hook, "sample", 3);
    run_call(m.w, &plain);
    rlf_call call = hook_call(&m, hook, "sample", 3);
    json_t *fact = fact_of(&m, &call, 4);
    ok(fact != NULL, "a call for the sample that is looked at is a fact");
    has_text(fact, "kind", "hook");
    has_text(fact, "name", "judge");
    has_text(fact, "per", "sample");
    has_number(fact, "index", 0);
    has_text(fact, "file", lua_file);
    has_text(fact, "function", "score");
    has_number(fact, "function_line", 1);
    has_text(fact, "arguments.prompt", "one =");
    ok(json_string_length(at(fact, "arguments.response")) == 6 &&
           !memcmp(json_string_value(at(fact, "arguments.response")),
                   "a\0\"\xef\xbf\xbd", 6),
       "a response of any bytes is there");
    has_text(fact, "arguments.answer", "0");
    has_number(fact, "arguments.grade", 5);
    has_number(fact, "arguments.bonus", 300);
    has_number(fact, "arguments.tokens.1", 12);
    ok(json_is_true(at(fact, "arguments.finished")), "and so are all fields");
    has_number(fact, "lines.0.line", 2);
    has_text(fact, "lines.0.source", "local n = #s.tokens + math.random()");
    has_text(fact, "lines.5.returns.2", "\"as \\\"said\\\"\"");
    has_number(fact, "lines_left_out", 0);
    ok(json_integer_value(at(fact, "lines_run")) ==
           (json_int_t)json_array_size(at(fact, "lines")),
       "all lines are there");
    has_number(fact, "results.right", plain.out[0].column.number[4]);
    has_number(fact, "results.credit.1", 2);
    has_text(fact, "results.said", "as \"said\"");
    ok(json_is_null(at(fact, "error")), "there was no error");
    ok(json_is_true(at(fact, "same")),
       "the call that was traced gave the same");
    json_decref(fact);
    is_bits(call.out[0].column.number, plain.out[0].column.number, SAMPLES,
            sizeof(double), "looking changes no bit");
    call = hook_call(&m, hook, "sample", 3);
    fact = fact_of(&m, &call, SAMPLES);
    ok(!fact, "there is no fact of a sample that is not of the call");
    unmake(&m);
}

static void
test_trace_group(void)
{
    const char *source = "return function(group)\n"
                         "  local out = {}\n"
                         "  for i, s in ipairs(group) do out[i] = i end\n"
                         "  return out\n"
                         "end\n";
    made m = make(1);
    int hook = add_hook(&m, source, "group", (hook_parts){0});
    rlf_call call = hook_call(&m, hook, "group", 1);
    json_t *fact = fact_of(&m, &call, 3);
    has_text(fact, "per", "group");
    has_number(fact, "index", 1);
    has_number(fact, "samples", 2);
    has_text(fact, "arguments.0.response", "234");
    has_text(fact, "arguments.1.response", "3");
    has_number(fact, "results.judge", 2);
    ok(json_is_true(at(fact, "same")), "a group gives the same again");
    json_decref(fact);
    unmake(&m);
    m = make(1);
    hook = add_hook(&m, source, "batch", (hook_parts){0});
    call = hook_call(&m, hook, "batch", 1);
    fact = fact_of(&m, &call, 3);
    has_number(fact, "index", 3);
    has_number(fact, "samples", SAMPLES);
    has_number(fact, "results.judge", 4);
    json_decref(fact);
    unmake(&m);
    m = make(1);
    hook = add_hook(&m, "return function(s) return s.step end\n", "step",
                    (hook_parts){0});
    const rlf_node_class *class = rlf_classes_find(
        &rlf_node_classes, RLF_FORM_HOOK, RLF_RECEIVER_HOOK, "step");
    int outputs[] = {add_column_value(m.w, RLF_VALUE_NUMBER, 0),
                     add_column_value(m.w, RLF_VALUE_NUMBER, 0)};
    call = make_call(
        m.w, add_node(m.w, class, hook, (node_parts){OUT_OF(outputs, 2)}),
        NULL);
    fact = fact_of(&m, &call, 3);
    ok(!fact && call.out[0].column.number[0] == 1,
       "a call for no sample is no fact");
    unmake(&m);
}

static void
test_trace_errors(void)
{
    const char *source = "return function(s)\n"
                         "  local x = s.length\n"
                         "  error('no ' .. x)\n"
                         "end\n";
    made m = make(1);
    int hook = add_hook(&m, source, "sample", (hook_parts){0});
    rlf_call call = hook_call(&m, hook, "sample", 1);
    json_t *fact = fact_of(&m, &call, 0);
    has_text(fact, "error",
             "nodes_hook.tmp.lua:3: no 1 (prompt 41, sample 1, step 1)");
    ok(json_is_null(at(fact, "results")), "a call that fails has no results");
    has_text(fact, "lines.0.values.x", "1");
    has_number(fact, "lines.1.line", 3);
    ok(json_is_true(at(fact, "lines.1.error")), "its last line is the error's");
    ok(json_is_true(at(fact, "same")), "it fails again");
    ok(!at(fact, "on_error"), "nothing stands in");
    json_decref(fact);
    unmake(&m);

    m = make(1);
    rlf_arg forgive = number_arg("on_error", -2);
    hook = add_hook(&m, source, "sample", (hook_parts){.more = &forgive});
    call = hook_call(&m, hook, "sample", 1);
    fact = fact_of(&m, &call, 2);
    has_number(fact, "on_error", -2);
    has_text(fact, "error",
             "nodes_hook.tmp.lua:3: no 3 (prompt 42, sample 1, step 1)");
    json_decref(fact);
    unmake(&m);
}

static const char *
half(void *arg, const struct rlf_hook_sample *sample, double *value)
{
    int *calls = arg;
    ++*calls;
    *value = 0.5;
    return sample ? NULL : "no sample";
}

static void
test_trace_native(void)
{
    made m = make(1);
    int calls = 0;
    const rlf_host_hook hooks[] = {{"judge", half, &calls}, {0}};
    m.w->env.hooks = hooks;
    int hook = add_resource(
        m.w,
        (rlf_resource){.class = rlf_node_classes.resource[RLF_RESOURCE_HOOK],
                       .name = "judge",
                       .constructor = "host"},
        NULL, 0);
    if (hook < 0)
        bail("%s", m.w->err.sentence);
    rlf_call call = hook_call(&m, hook, "sample", 1);
    json_t *fact = fact_of(&m, &call, 1);
    ok(json_is_null(at(fact, "file")) && json_is_null(at(fact, "function")),
       "a function of the host program has no file");
    ok(json_is_array(at(fact, "lines")) && !json_array_size(at(fact, "lines")),
       "and no lines");
    has_number(fact, "results.judge", 0.5);
    has_text(fact, "arguments.response", "12");
    ok(json_is_null(at(fact, "same")), "nor is it called again");
    is_int(calls, SAMPLES, "it is called once for each sample");
    json_decref(fact);
    unmake(&m);
}

int
main(void)
{
    test_sample();
    test_pieces();
    test_group();
    test_step();
    test_errors();
    test_respond();
    test_trace_sample();
    test_trace_group();
    test_trace_errors();
    test_trace_native();
    unlink(data_file);
    unlink(lua_file);
    return done();
}

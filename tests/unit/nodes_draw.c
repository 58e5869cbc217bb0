/* Drawing rows: each epoch whole, no row twice in a step, the same after a
 * resume, identities by draw; what a data set refuses. */
#include "engine/base/philox.h"
#include "nodes/data.h"
#include "tests/unit/nodes.h"

#include <math.h>

static const char *const file = "nodes_draw.tmp.jsonl";

static void
write_rows(int n)
{
    FILE *f = fopen(file, "w");
    for (int i = 0; f && i < n; i++)
        fprintf(f, "{\"q\": \"question %d\", \"a\": \"%d\", \"grade\": %d}\n",
                i, i * i, i % 3);
    if (!f || fclose(f) != 0)
        bail("cannot write %s", file);
}

static int
open_rows(world *w)
{
    rlf_arg args[] = {text_arg(NULL, file), text_arg("prompt", "q"),
                      text_arg("answer", "a"), text_arg("grade", "grade")};
    return add_resource(
        w,
        (rlf_resource){.class = rlf_node_classes.resource[RLF_RESOURCE_DATA],
                       .name = "prompts",
                       .constructor = "jsonl",
                       .source = -1},
        args, 4);
}

/* Computes the expected draws in another way: one endless list of rows, epoch
 * after epoch; each step takes the first rows of it that it has not taken, and
 * takes them out of the list. */
static void
expect_draws(uint64_t seed, uint32_t site, uint32_t rows, uint32_t n, int steps,
             uint32_t *out)
{
    uint32_t room = rows * (uint32_t)(n * (uint32_t)steps / rows + 3);
    uint32_t *list = calloc(room, sizeof *list);
    bool *used = calloc(room, sizeof *used);
    for (uint32_t e = 0; e < room / rows; e++)
        rlf_draw_shuffle(&(rlf_random_key){.seed = seed,
                                           .purpose = RLF_PURPOSE_SHUFFLE,
                                           .site = site,
                                           .step = e},
                         rows, list + e * rows);
    for (int s = 0; s < steps; s++) {
        uint32_t got = 0;
        for (uint32_t i = 0; got < n; i++) {
            bool had = used[i];
            for (uint32_t k = 0; k < got; k++)
                had = had || out[(uint32_t)s * n + k] == list[i];
            if (had)
                continue;
            used[i] = true;
            out[(uint32_t)s * n + got++] = list[i];
        }
    }
    free(list);
    free(used);
}

static void
test_order(uint32_t rows, uint32_t n, int steps)
{
    world *w = world_new(7);
    write_rows((int)rows);
    int d = open_rows(w);
    uint32_t total = n * (uint32_t)steps;
    uint32_t *got = calloc(total, sizeof *got),
             *want = calloc(total, sizeof *want);
    bool numbered = true;
    for (int s = 0; s < steps; s++)
        numbered = rlf_data_draw(w->resource[d], 7, 5, (uint32_t)s + 1, n,
                                 got + n * (uint32_t)s) == n * (uint64_t)s &&
                   numbered;
    expect_draws(7, 5, rows, n, steps, want);
    ok(numbered, "%u of %u rows: draws are numbered", n, rows);
    is_bits(got, want, total, sizeof *got, "the rows are those expected");

    bool distinct = true;
    for (int s = 0; s < steps; s++)
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t k = 0; k < i; k++)
                distinct = distinct &&
                           got[(uint32_t)s * n + i] != got[(uint32_t)s * n + k];
    ok(distinct, "no row twice in a step");
    /* After `epochs` whole epochs' worth of draws nobody is far behind. */
    uint32_t *times = calloc(rows, sizeof *times), most = 0, least = total;
    for (uint32_t i = 0; i < total; i++)
        times[got[i]]++;
    for (uint32_t i = 0; i < rows; i++) {
        most = times[i] > most ? times[i] : most;
        least = times[i] < least ? times[i] : least;
    }
    ok(most - least <= 2, "rows come about equally often (%u to %u)", least,
       most);
    free(times);

    world *w2 = world_new(8);
    int d2 = open_rows(w2);
    rlf_data_draw(w2->resource[d2], 8, 5, 1, n, want);
    ok(rows < 8 || memcmp(got, want, n * sizeof *got) != 0,
       "another seed, another order");
    world_free(w2);
    w2 = world_new(7);
    d2 = open_rows(w2);
    rlf_data_draw(w2->resource[d2], 7, 6, 1, n, want);
    ok(rows < 8 || memcmp(got, want, n * sizeof *got) != 0,
       "another site, another order");
    world_free(w2);
    free(got);
    free(want);
    world_free(w);
}

/* A step that draws several times, as a collect does, gets the rows that one
 * draw would have given it: none twice. */
static void
test_rounds(uint32_t rows, uint32_t n, int steps)
{
    world *w = world_new(9);
    write_rows((int)rows);
    int d = open_rows(w);
    uint32_t total = n * (uint32_t)steps;
    uint32_t *got = calloc(total, sizeof *got),
             *want = calloc(total, sizeof *want);
    expect_draws(9, 2, rows, n, steps, want);
    for (int s = 0; s < steps; s++) {
        uint32_t at = 0, *step = got + n * (uint32_t)s;
        for (uint32_t i = 0; at < n; i++) {
            uint32_t most = n - at, take = 1 + (i + (uint32_t)s) % 3;
            take = take < most ? take : most;
            rlf_data_draw(w->resource[d], 9, 2, (uint32_t)s + 1, take,
                          step + at);
            at += take;
        }
    }
    is_bits(got, want, total, sizeof *got,
            "several draws a step give the rows of one");
    free(got);
    free(want);
    world_free(w);
}

/* Save after every step in turn, go on with a fresh object. */
static void
test_resume(void)
{
    enum { ROWS = 11, N = 7, STEPS = 9 };
    write_rows(ROWS);
    uint32_t want[N * STEPS], got[N * STEPS];
    expect_draws(3, 1, ROWS, N, STEPS, want);
    const rlf_resource_class *class =
        rlf_node_classes.resource[RLF_RESOURCE_DATA];
    bool same = true, put_off = false;
    for (int cut = 0; cut <= STEPS; cut++) {
        world *w = world_new(3);
        int d = open_rows(w);
        for (int s = 0; s < cut; s++)
            rlf_data_draw(w->resource[d], 3, 1, (uint32_t)s + 1, N,
                          got + N * s);
        put_off =
            put_off ||
            (cut &&
             ((rlf_data *)w->resource[d])->cursors.data[0].later.count > 0);
        if (class->save(&w->env, &w->graph->resources.data[d], w->resource[d],
                        ".", &w->err) < 0)
            bail("cannot save: %s", w->err.sentence);
        world *x = world_new(3);
        d = open_rows(x);
        if (class->restore(&x->env, &x->graph->resources.data[d],
                           x->resource[d], ".", &x->err) < 0)
            bail("cannot restore: %s", x->err.sentence);
        for (int s = cut; s < STEPS; s++) {
            uint64_t first = rlf_data_draw(x->resource[d], 3, 1,
                                           (uint32_t)s + 1, N, got + N * s);
            same = same && first == (uint64_t)(N * s);
        }
        same = same && memcmp(got, want, sizeof want) == 0;
        world_free(w);
        world_free(x);
    }
    ok(put_off, "some rows were put off at a cut");
    ok(same, "resumed after any step, the draws go on as if never stopped");

    /* which rows they are is an input of a run, held by its digest */
    world *w = world_new(3);
    int d = open_rows(w);
    rlf_digest those = *class->data->digest(w->resource[d]);
    rlf_data_draw(w->resource[d], 3, 1, 1, N, got);
    class->save(&w->env, &w->graph->resources.data[d], w->resource[d], ".",
                &w->err);
    world_free(w);
    w = world_new(3);
    d = open_rows(w);
    ok(rlf_digest_equal(those, *class->data->digest(w->resource[d])),
       "the same rows, the same digest");
    world_free(w);
    write_rows(ROWS + 1);
    w = world_new(3);
    d = open_rows(w);
    ok(!rlf_digest_equal(those, *class->data->digest(w->resource[d])),
       "other rows, another");
    world_free(w);
    write_rows(N - 1);
    w = world_new(3);
    d = open_rows(w);
    rlf_status status = class->restore(&w->env, &w->graph->resources.data[d],
                                       w->resource[d], ".", &w->err);
    is_int(status, RLF_USER, "a place after the last row is refused");
    ok(strstr(w->err.sentence, "is at row") &&
           strstr(w->err.sentence, "of 'prompts', which has"),
       "by name: %s", w->err.sentence);
    world_free(w);
    unlink("prompts.json");
}

static void
test_node(void)
{
    write_rows(10);
    world *w = world_new(1);
    int data = open_rows(w);
    int rows = add_domain(w, RLF_DOMAIN_ROWS, "batch", -1);
    int set = add_set_value(w, (rlf_set){.kind = RLF_SET_DATA,
                                         .name = "batch",
                                         .prompts = rows,
                                         .samples = rows,
                                         .tokens = -1,
                                         .origin = -1,
                                         .from = -1,
                                         .data = data,
                                         .model = -1});
    const rlf_node_class *class = rlf_classes_syntax(&rlf_node_classes, "draw");
    rlf_arg args[2] = {number_arg("count", 4), {.name = "weight"}};
    int draw = add_node(w, class, data,
                        (node_parts){ARGS_OF(args, 2), OUT(set), .site = 9});
    rlf_call call = make_call(w, draw, NULL);
    is_int(run_call(w, &call), RLF_OK, "a draw runs");
    call = make_call(w, draw, NULL);
    run_call(w, &call);
    const rlf_rows *batch = call.out[0].rows;
    is_int(batch->prompts->count, 4, "it has the rows asked for");
    ok(batch->samples == batch->prompts && !batch->tokens,
       "the sample is the prompt's row, without responses");
    bool identity = true, texts = true;
    for (uint32_t i = 0; i < 4; i++) {
        char text[32];
        snprintf(text, sizeof text, "question %u", batch->data_row[i]);
        identity = identity && batch->prompts->identity[i] == 4 + i;
        texts = texts && rlf_str_eq(batch->prompt[i].text, rlf_str_of(text));
    }
    ok(identity, "identities count the draws of the run");
    ok(texts, "the prompts are those of the rows");

    rlf_content in = {.rows = call.out[0].rows};
    rlf_arg name = text_arg("name", "answer");
    int out = add_column_value(w, RLF_VALUE_TEXT, rows);
    int field = add_node(w,
                         rlf_classes_find(&rlf_node_classes, RLF_FORM_FIELD,
                                          RLF_RECEIVER_DATA, "words"),
                         data, (node_parts){ARGS(name), IN(set), OUT(out)});
    call = make_call(w, field, &in);
    is_int(run_call(w, &call), RLF_OK, "a text field");
    bool right = true;
    for (uint32_t i = 0; i < 4; i++) {
        char text[32];
        snprintf(text, sizeof text, "%u",
                 batch->data_row[i] * batch->data_row[i]);
        right =
            right && rlf_str_eq(call.out[0].column.text[i], rlf_str_of(text));
    }
    ok(right, "has the texts of the rows drawn");
    name = text_arg("name", "grade");
    out = add_column_value(w, RLF_VALUE_NUMBER, rows);
    field = add_node(w,
                     rlf_classes_find(&rlf_node_classes, RLF_FORM_FIELD,
                                      RLF_RECEIVER_DATA, "number"),
                     data, (node_parts){ARGS(name), IN(set), OUT(out)});
    call = make_call(w, field, &in);
    is_int(run_call(w, &call), RLF_OK, "a number field");
    right = true;
    for (uint32_t i = 0; i < 4; i++)
        right = right && call.out[0].column.number[i] == batch->data_row[i] % 3;
    ok(right, "has the numbers of the rows drawn");

    args[0] = (rlf_arg){.name = "count"};
    draw = add_node(w, class, data,
                    (node_parts){ARGS_OF(args, 2), OUT(set), .site = 9});
    call = make_call(w, draw, NULL);
    run_call(w, &call);
    batch = call.out[0].rows;
    right = batch->prompts->count == 10;
    for (uint32_t i = 0; right && i < 10; i++)
        right = batch->data_row[i] == i && batch->prompts->identity[i] == i;
    ok(right, "without a count: all rows, in order, numbered");

    args[0] = number_arg("count", 11);
    draw = add_node(w, class, data,
                    (node_parts){ARGS_OF(args, 2), OUT(set), .site = 9});
    void *state;
    rlf_err_clear(&w->err);
    is_int(class->init(&w->env, &w->graph->nodes.data[draw], &w->err, &state),
           RLF_USER, "more rows than there are is refused");
    is_str(w->err.sentence, "a step draws 11 rows from 'prompts', which has 10",
           "and it says so");

    rlf_field kind;
    const char *nearest;
    const rlf_resource *resource = &w->graph->resources.data[data];
    const rlf_resource_class *rc = rlf_node_classes.resource[RLF_RESOURCE_DATA];
    rc->data->field(w->graph, resource, "grade", &w->err, &kind, &nearest);
    is_int(kind, RLF_FIELD_NUMBER, "while compiling: a number field");
    rc->data->field(w->graph, resource, "answer", &w->err, &kind, &nearest);
    is_int(kind, RLF_FIELD_TEXT, "a text field");
    rc->data->field(w->graph, resource, "anser", &w->err, &kind, &nearest);
    is_int(kind, RLF_FIELD_NONE, "no field");
    is_str(nearest, "answer", "the nearest one");
    world_free(w);
}

/* Only the ratios of weights matter, from the smallest numbers to the largest. */
static void
test_weights(void)
{
    enum { ROWS = 12, N = 5, STEPS = 40, TOTAL = N * STEPS };
    static const int scales[] = {0, 40, -1000, -1074, 1018};
    uint32_t got[TOTAL], want[TOTAL] = {0};
    uint64_t first;
    write_rows(ROWS);
    for (size_t k = 0; k < sizeof scales / sizeof *scales; k++) {
        world *w = world_new(5);
        int d = open_rows(w);
        double weight[ROWS];
        rlf_status status = RLF_OK;
        for (int i = 0; i < ROWS; i++)
            weight[i] = ldexp(i % 6, scales[k]);
        for (uint32_t s = 0; s < STEPS && status >= 0; s++)
            status = rlf_data_draw_weighted(w->resource[d], 5, 2, s + 1, N,
                                            weight, &w->err, got + N * s,
                                            &first);
        if (!k)
            memcpy(want, got, sizeof want);
        ok(status >= 0 && memcmp(got, want, sizeof want) == 0,
           "weights times 2^%d draw the same rows", scales[k]);
        world_free(w);
    }

    /* as far apart as numbers go: a row comes once those before it are out */
    double weight[ROWS] = {1e-320, 1e300, 1};
    bool right = true;
    world *w = world_new(5);
    int d = open_rows(w);
    for (uint32_t s = 0; s < STEPS && right; s++)
        right = rlf_data_draw_weighted(w->resource[d], 5, 2, s + 1, 3, weight,
                                       &w->err, got, &first) >= 0 &&
                got[0] == 1 && got[1] == 2 && got[2] == 0;
    ok(right, "1e-320 beside 1 and 1e300 is drawn after them");
    world_free(w);
    unlink(file);
}

static void
test_refused(void)
{
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"{\"q\": \"a\", \"a\": \"b\", \"grade\": 1}\n{\"q\": \n", ":2"},
        {"{\"q\": \"a\", \"a\": \"b\"}\n", "grade"},
        {"{\"q\": 3, \"a\": \"b\", \"grade\": 1}\n", "is a number"},
        {"{\"q\": \"x\", \"a\": [{\"role\": \"user\", \"content\": \"c\"}], "
         "\"grade\": 1}\n",
         "chat messages"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        world *w = world_new(1);
        write_file(file, bad[i].text);
        ok(open_rows(w) < 0 && w->err.status == RLF_USER &&
               strstr(w->err.sentence, bad[i].says),
           "refused: %s", w->err.sentence);
        world_free(w);
    }
    unlink(file);
    world *w = world_new(1);
    ok(open_rows(w) < 0 && w->err.status == RLF_USER &&
           strstr(w->err.sentence, file),
       "refused: %s", w->err.sentence);
    world_free(w);
}

int
main(void)
{
    test_order(10, 4, 20);
    test_order(10, 10, 3);
    test_order(10, 9, 30);
    test_order(1, 1, 3);
    test_order(100, 33, 20);
    test_rounds(10, 4, 20);
    test_rounds(10, 10, 3);
    test_rounds(10, 9, 30);
    test_rounds(100, 33, 20);
    test_resume();
    test_node();
    test_weights();
    test_refused();
    unlink(file);
    return done();
}

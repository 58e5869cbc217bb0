/* Data made of data, shares, draws by weight, states per row: which rows there
 * are, which are drawn and how often, and that all of it resumes. */
#include "nodes/data.h"
#include "nodes/state.h"
#include "tests/unit/nodes.h"

#include <math.h>

static const char *const files[] = {"nodes_data.a.tmp.jsonl",
                                    "nodes_data.b.tmp.jsonl"};

/* Row i of file f: question "f:i", grade i, parity as a text. */
static void
write_rows(int f, int n)
{
    FILE *out = fopen(files[f], "w");
    for (int i = 0; out && i < n; i++)
        fprintf(out, "{\"q\": \"%d:%d\", \"grade\": %d, \"parity\": \"%s\"}\n",
                f, i, i, i % 2 ? "odd" : "even");
    if (!out || fclose(out) != 0)
        bail("cannot write %s", files[f]);
}

static int
open_file(world *w, int f)
{
    rlf_arg args[] = {text_arg(NULL, files[f]), text_arg("prompt", "q"),
                      text_arg("grade", "grade"), text_arg("parity", "parity")};
    /* the second file has one column less */
    return add_resource(
        w,
        (rlf_resource){.class = rlf_node_classes.resource[RLF_RESOURCE_DATA],
                       .name = f ? "b" : "a",
                       .constructor = "jsonl",
                       .source = -1},
        args, f ? 3 : 4);
}

static int
open_mix(world *w, const int *members, int n, const double *weights)
{
    rlf_arg args[4], list[3];
    for (int i = 0; i < n; i++) {
        args[i] = (rlf_arg){
            .kind = RLF_ARG_RESOURCE, .resource = members[i], .given = true};
        list[i] = number_arg(NULL, weights ? weights[i] : 1);
    }
    args[n] = (rlf_arg){.kind = RLF_ARG_LIST,
                        .name = "weights",
                        .list = list,
                        .n_list = n,
                        .given = true};
    int m = add_resource(
        w,
        (rlf_resource){.class = rlf_node_classes.resource[RLF_RESOURCE_DATA],
                       .name = "m",
                       .constructor = "mix",
                       .source = -1},
        args, weights ? n + 1 : n);
    return m;
}

/* grade >= 3 and parity == "odd", or what else `least` and `text` say. */
static const rlf_expr *
make_condition(world *w, int domain, double least, const char *text)
{
    rlf_expr *e = rlf_expr_new(w->arena, &w->graph->domains);
    rlf_span at = {0};
    int grade = rlf_expr_add_input(
        e, (rlf_expr_input){.name = "grade", .domain = domain});
    int parity = rlf_expr_add_input(
        e, (rlf_expr_input){.name = "parity", .domain = domain, .text = true});
    int high =
        rlf_expr_pointwise(e, RLF_EXPR_LE, rlf_expr_constant(e, least, at),
                           rlf_expr_input_op(e, grade, at), -1, at);
    int odd = rlf_expr_pointwise(
        e, RLF_EXPR_TEXT_EQ, rlf_expr_input_op(e, parity, at),
        rlf_expr_words(e, rlf_str_of(text), at), -1, at);
    rlf_expr_add_output(e, "it",
                        rlf_expr_pointwise(e, RLF_EXPR_AND, high, odd, -1, at));
    return rlf_expr_prune(e, w->arena);
}

static int
open_chosen(world *w, int from, double least, const char *text)
{
    int above = w->graph->resources.data[from].domain;
    int domain = add_domain_under(w, RLF_DOMAIN_ROWS, "c", -1, above);
    return add_resource(
        w,
        (rlf_resource){.class = rlf_node_classes.resource[RLF_RESOURCE_DATA],
                       .name = "c",
                       .constructor = "where",
                       .source = from,
                       .domain = domain,
                       .condition = make_condition(w, above, least, text)},
        NULL, 0);
}

static rlf_str
prompt_of(const rlf_data *data, uint32_t row, rlf_arena *pool)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_prompt prompt = {0};
    if (rlf_data_prompt(data, row, pool, &err, &prompt) < 0)
        bail("%s", err.sentence);
    return prompt.text;
}

static void
test_chosen(void)
{
    write_rows(0, 12);
    world *w = world_new(1);
    int a = open_file(w, 0), c = open_chosen(w, a, 3, "odd");
    const rlf_data *data = w->resource[c];
    const rlf_record_column *grade =
        rlf_records_column(&data->records, "grade");
    const double want[] = {3, 5, 7, 9, 11};
    is_int((int64_t)data->records.count, 5, "where: as many rows as hold");
    is_bits(grade->numbers, want, 5, sizeof *want, "and those");
    ok(rlf_str_eq(prompt_of(data, 1, w->arena), RLF_STR("0:5")),
       "the prompts go with them");
    ok(strstr(rlf_data_place(data, 2, w->arena), ".jsonl:8") != NULL,
       "a row is named by its line in the file: %s",
       rlf_data_place(data, 2, w->arena));
    bool up = true;
    for (uint32_t i = 0; i < 5; i++)
        up = up && rlf_space_row(&w->graph->domains, data->space, i,
                                 w->graph->resources.data[a].domain) ==
                       (uint32_t)want[i];
    ok(up, "its rows are rows of the data above");
    ok(open_chosen(w, a, 12, "odd") < 0 && w->err.status == RLF_USER &&
           strstr(w->err.sentence, "no row of 'a'"),
       "nothing left: %s", w->err.sentence);
    w->graph->resources.count--; /* the refused one is not closed twice */
    rlf_data_free(w->resource[2]);

    rlf_data *peeked;
    is_int(rlf_data_peek(w->graph, &w->graph->resources.data[c], 2, &w->err,
                         &peeked),
           RLF_OK, "while compiling: a look at it");
    ok(peeked->records.count >= 2 && peeked->records.count <= 5,
       "finds what was asked for");
    rlf_data_free(peeked);
    rlf_data_peek(w->graph, &w->graph->resources.data[c], 9, &w->err, &peeked);
    is_int((int64_t)peeked->records.count, 5, "or all that there are");
    is_int(rlf_data_can_draw(peeked, 6, false, &w->err), RLF_USER,
           "a larger draw is refused");
    rlf_data_free(peeked);
    world_free(w);
}

/* Rows "0:i" for i < n, each `times` times, from row `from` on and around. */
static void
write_again(int n, int times, int from)
{
    FILE *out = fopen(files[0], "w");
    for (int i = 0; out && i < n * times; i++)
        fprintf(out, "{\"q\": \"0:%d\", \"grade\": %d, \"parity\": \"x\"}\n",
                (i + from) % n, i);
    if (!out || fclose(out) != 0)
        bail("cannot write %s", files[0]);
}

/* Returns which of the prompts "0:i" the rows have, as bits; *n: the number of
 * rows. */
static uint64_t
prompts_of(const rlf_data *data, size_t *n)
{
    uint64_t bits = 0;
    *n = data->records.count;
    rlf_arena *pool = rlf_arena_new();
    for (uint32_t i = 0; i < *n; i++)
        bits |= (uint64_t)1 << atoi(prompt_of(data, i, pool).p + 2);
    rlf_arena_free(pool);
    return bits;
}

static void
test_held_out(void)
{
    uint64_t held[3], left;
    size_t n, m;
    for (int from = 0; from < 3; from++) {
        write_again(40, 1, 7 * from);
        world *w = world_new(1);
        rlf_data *data = w->resource[open_file(w, 0)];
        is_int(rlf_data_hold_out(data, 10, false, &w->err), RLF_OK, "held out");
        held[from] = prompts_of(data->rest, &n);
        left = prompts_of(data, &m);
        ok(n == 10 && m == 30 && !(held[from] & left) && !data->equal,
           "so many rows, and all others are left: %zu and %zu", n, m);
        bool rising = true;
        for (size_t i = 1; i < m; i++)
            rising = rising && rlf_records_line(&data->records, i) >
                                   rlf_records_line(&data->records, i - 1);
        ok(rising, "in their order");
        world_free(w);
    }
    ok(held[0] == held[1] && held[0] == held[2],
       "the same, whatever the order of the rows");
    write_again(20, 3, 0);
    world *w = world_new(1);
    rlf_data *data = w->resource[open_file(w, 0)];
    is_int(rlf_data_hold_out(data, 10, false, &w->err), RLF_OK,
           "of rows that have prompts three times");
    uint64_t out = prompts_of(data->rest, &n);
    left = prompts_of(data, &m);
    ok(!(out & left), "no prompt is on both sides");
    ok(n == 10 && m == 48 && data->equal == 2,
       "rows that equal some of them are in neither: %zu and %zu", n, m);
    is_int(rlf_data_hold_out(data, 48, false, &w->err), RLF_USER,
           "all of them are too many");
    world_free(w);
}

static void
test_joined(void)
{
    write_rows(0, 4);
    write_rows(1, 3);
    world *w = world_new(1);
    int members[] = {open_file(w, 0), open_file(w, 1)};
    int m = open_mix(w, members, 2, NULL);
    const rlf_data *data = w->resource[m];
    const rlf_record_column *grade =
        rlf_records_column(&data->records, "grade");
    const double want[] = {0, 1, 2, 3, 0, 1, 2};
    is_int((int64_t)data->records.count, 7, "mix: all rows of its members");
    is_bits(grade->numbers, want, 7, sizeof *want, "one after the other");
    ok(rlf_str_eq(prompt_of(data, 4, w->arena), RLF_STR("1:0")),
       "with prompts");
    ok(!rlf_records_column(&data->records, "parity"),
       "a column that one of them lacks is not there");
    ok(strstr(rlf_data_place(data, 5, w->arena), "b.tmp.jsonl:2") != NULL,
       "a row is named by its own file: %s", rlf_data_place(data, 5, w->arena));
    /* Without weights it is one set of rows: an epoch has each once. */
    uint32_t got[7];
    bool seen[7] = {false};
    for (uint32_t s = 0; s < 7; s++)
        rlf_data_draw(w->resource[m], 1, 0, s + 1, 1, &got[s]);
    for (int i = 0; i < 7; i++)
        seen[got[i]] = true;
    bool all = true;
    for (int i = 0; i < 7; i++)
        all = all && seen[i];
    ok(all, "without weights every row comes once an epoch");
    world_free(w);
}

/* Draws by shares against what they promise. */
static void
test_shares(const double *weights, uint32_t n, int steps)
{
    enum { A = 30, B = 11 };
    write_rows(0, A);
    write_rows(1, B);
    world *w = world_new(5);
    int members[] = {open_file(w, 0), open_file(w, 1)};
    int m = open_mix(w, members, 2, weights);
    double share = weights[0] / (weights[0] + weights[1]);
    uint32_t *got = calloc(n, sizeof *got);
    uint64_t first_a = 0, drawn = 0, numbered = true;
    int times[A + B] = {0};
    double off = 0;
    bool distinct = true;
    for (int s = 1; s <= steps; s++) {
        numbered = numbered && rlf_data_draw(w->resource[m], 5, 3, (uint32_t)s,
                                             n, got) == drawn;
        bool seen[A + B] = {false};
        for (uint32_t i = 0; i < n; i++) {
            distinct = distinct && !seen[got[i]];
            seen[got[i]] = true;
            times[got[i]]++;
            first_a += got[i] < A;
            drawn++;
        }
        double behind = fabs((double)first_a - share * (double)drawn);
        off = behind > off ? behind : off;
    }
    ok(numbered, "shares %g:%g: draws are numbered", weights[0], weights[1]);
    ok(distinct, "no row twice in a step of %u", n);
    ok(off <= 1, "after every step each member has its share, off by %.3f",
       off);
    int least[2] = {1 << 30, 1 << 30}, most[2] = {0, 0};
    for (int i = 0; i < A + B; i++) {
        int k = i >= A;
        least[k] = times[i] < least[k] ? times[i] : least[k];
        most[k] = times[i] > most[k] ? times[i] : most[k];
    }
    ok(most[0] - least[0] <= 2 && most[1] - least[1] <= 2,
       "rows of a member come equally often: %d to %d, %d to %d", least[0],
       most[0], least[1], most[1]);
    free(got);
    world_free(w);
}

static void
test_resume(bool weighted)
{
    enum { A = 9, B = 4, N = 6, STEPS = 8 };
    const double weights[] = {2, 1};
    double weight[A + B];
    for (int i = 0; i < A + B; i++)
        weight[i] = i % 4 + 0.1;
    write_rows(0, A);
    write_rows(1, B);
    const rlf_resource_class *class =
        rlf_node_classes.resource[RLF_RESOURCE_DATA];
    uint32_t want[N * STEPS], got[N * STEPS];
    bool same = true;
    for (int cut = 0; cut <= STEPS; cut++) {
        world *w = NULL;
        int m = -1;
        for (int s = 0; s < STEPS; s++) {
            if (s == 0 || s == cut) {
                world *next = world_new(3);
                int members[] = {open_file(next, 0), open_file(next, 1)};
                m = open_mix(next, members, 2, weighted ? NULL : weights);
                const rlf_resource *r = &next->graph->resources.data[m];
                if (w && (class->save(&w->env, r, w->resource[m], ".",
                                      &w->err) < 0 ||
                          class->restore(&next->env, r, next->resource[m], ".",
                                         &next->err) < 0))
                    bail("%s %s", w->err.sentence, next->err.sentence);
                if (w)
                    world_free(w);
                w = next;
            }
            uint64_t first;
            if (weighted)
                rlf_data_draw_weighted(w->resource[m], 3, 7, (uint32_t)s + 1, N,
                                       weight, &w->err, got + N * s, &first);
            else
                first = rlf_data_draw(w->resource[m], 3, 7, (uint32_t)s + 1, N,
                                      got + N * s);
            same = same && first == (uint64_t)(N * s);
        }
        world_free(w);
        if (cut == 0)
            memcpy(want, got, sizeof want);
        same = same && memcmp(got, want, sizeof want) == 0;
    }
    ok(same, "%s: resumed after any step, the same rows",
       weighted ? "by weight" : "by shares");
    unlink("m.json");
}

/* ---- draws by weight ---- */

/* Two of five rows, in order: the exact probability of each pair, and whether a
 * step says something of the next one. Chi-squared with 11 and 9 degrees of
 * freedom: below 40 and 36 but once in 30,000 samples. */
static void
test_weights(void)
{
    enum { ROWS = 5, N = 2, STEPS = 40000 };
    const double weight[ROWS] = {1, 2, 0, 3.5, 0.5};
    write_rows(0, ROWS);
    world *w = world_new(11);
    int a = open_file(w, 0);
    double total = 0;
    static int pairs[ROWS][ROWS], next[ROWS][ROWS], single[ROWS];
    for (int i = 0; i < ROWS; i++)
        total += weight[i];
    uint32_t before = ROWS;
    bool numbered = true;
    for (uint32_t s = 0; s < STEPS; s++) {
        uint32_t got[N];
        uint64_t first;
        if (rlf_data_draw_weighted(w->resource[a], 11, 2, s + 1, N, weight,
                                   &w->err, got, &first) < 0)
            bail("%s", w->err.sentence);
        numbered = numbered && first == (uint64_t)N * s;
        pairs[got[0]][got[1]]++;
        single[got[0]]++;
        if (before < ROWS)
            next[before][got[0]]++;
        before = got[0];
    }
    double chi = 0, chain = 0;
    bool never = true;
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < ROWS; k++) {
            double p =
                i == k ? 0
                       : weight[i] / total * weight[k] / (total - weight[i]);
            never = never && (p > 0 || pairs[i][k] == 0);
            if (p > 0)
                chi += pow(pairs[i][k] - p * STEPS, 2) / (p * STEPS);
            double q = (double)single[i] * single[k] / STEPS;
            if (q > 0)
                chain += pow(next[i][k] - q, 2) / q;
        }
    ok(numbered, "draws by weight are numbered");
    ok(never, "no row twice, and none of weight 0");
    ok(chi < 40, "pairs come as often as they should: chi-squared %.1f", chi);
    ok(chain < 36, "steps know nothing of one another: chi-squared %.1f",
       chain);

    /* Several draws of a step share its rows. */
    uint32_t got[4];
    uint64_t first;
    rlf_data_draw_weighted(w->resource[a], 11, 2, STEPS + 1, 3, weight, &w->err,
                           got, &first);
    rlf_data_draw_weighted(w->resource[a], 11, 2, STEPS + 1, 1, weight, &w->err,
                           got + 3, &first);
    ok(got[3] != got[0] && got[3] != got[1] && got[3] != got[2],
       "a second draw of a step takes other rows");
    is_int(rlf_data_draw_weighted(w->resource[a], 11, 2, STEPS + 1, 1, weight,
                                  &w->err, got, &first),
           RLF_USER, "until none with a weight is left");
    ok(strstr(w->err.sentence, "0 of its 5 have a weight above 0") != NULL,
       "%s", w->err.sentence);

    const double bad[] = {-1, NAN, INFINITY};
    for (int i = 0; i < 3; i++) {
        double list[ROWS] = {1, 1, 1, 1, 1};
        list[3] = bad[i];
        rlf_err_clear(&w->err);
        ok(rlf_data_draw_weighted(w->resource[a], 11, 2, STEPS + 2, 1, list,
                                  &w->err, got, &first) == RLF_USER &&
               strstr(w->err.sentence, "a.tmp.jsonl:4"),
           "the row is named: %s", w->err.sentence);
    }
    world_free(w);
}

/* Against all rows, sorted by the same clocks: another way to the same rows. */
static void
test_heap(void)
{
    enum { ROWS = 200 };
    double weight[ROWS];
    write_rows(0, ROWS);
    for (int i = 0; i < ROWS; i++)
        weight[i] = i % 7 ? 1.0 / (1 + i % 13) : 0;
    world *w = world_new(2);
    int a = open_file(w, 0);
    uint32_t all[ROWS], some[ROWS];
    uint64_t first;
    bool same = true;
    uint32_t most = ROWS - (ROWS + 6) / 7;
    rlf_data_draw_weighted(w->resource[a], 2, 1, 1, most, weight, &w->err, all,
                           &first);
    for (uint32_t n = 1; n <= most; n += 1 + n / 3) {
        world *x = world_new(2);
        open_file(x, 0);
        rlf_data_draw_weighted(x->resource[0], 2, 1, 1, n, weight, &x->err,
                               some, &first);
        same = same && memcmp(some, all, n * sizeof *all) == 0;
        world_free(x);
    }
    ok(same, "a draw of n has the first n of a draw of all");
    world_free(w);
}

/* ---- states ---- */

static void
test_state(void)
{
    write_rows(0, 6);
    world *w = world_new(1);
    int a = open_file(w, 0);
    int rows = w->graph->resources.data[a].domain;
    rlf_arg half = number_arg(NULL, 0.5);
    const rlf_resource declared = {
        .class = rlf_node_classes.resource[RLF_RESOURCE_STATE],
        .name = "rate",
        .constructor = "rows",
        .source = a,
        .domain = rows};
    int r = add_resource(w, declared, &half, 1);
    rlf_state *state = w->resource[r];
    is_int(state->count, 6, "a state of rows has one for each");
    int batch = add_domain_under(w, RLF_DOMAIN_ROWS, "batch", -1, rows);
    rlf_space *space = rlf_space_rows(w->pool, w->graph, batch, 2);
    const uint32_t up[] = {4, 1};
    space->up[0] = (rlf_space_up){state->data->space, up};
    rlf_content in = {.column = rlf_column_new(w->pool, space, false)};
    in.column.number[0] = 0.25;
    in.column.number[1] = -1.0 / 3;
    int value = add_column_value(w, RLF_VALUE_NUMBER, batch);
    rlf_arg arg = value_arg("value", value, 0);
    int set = add_node(w, rlf_classes_syntax(&rlf_node_classes, "set_rows"), r,
                       (node_parts){ARGS(arg), IN(value)});
    int out = add_column_value(w, RLF_VALUE_NUMBER, rows);
    int get = add_node(w,
                       rlf_classes_find(&rlf_node_classes, RLF_FORM_FIELD,
                                        RLF_RECEIVER_STATE, "rows"),
                       r, (node_parts){OUT(out)});
    rlf_call before = make_call(w, get, NULL), call = make_call(w, set, &in);
    run_call(w, &before);
    is_int(run_call(w, &call), RLF_OK, "rows are set");
    rlf_call after = make_call(w, get, NULL);
    run_call(w, &after);
    const double was[] = {0.5, 0.5, 0.5, 0.5, 0.5, 0.5};
    const double want[] = {0.5, -1.0 / 3, 0.5, 0.5, 0.25, 0.5};
    is_bits(after.out[0].column.number, want, 6, sizeof *want,
            "those of the column, and no other");
    is_bits(before.out[0].column.number, was, 6, sizeof *was,
            "what was read before stays as it was");

    const rlf_resource_class *class =
        rlf_node_classes.resource[RLF_RESOURCE_STATE];
    world *x = world_new(1);
    open_file(x, 0);
    int s = add_resource(x, declared, &half, 1);
    if (class->save(&w->env, &w->graph->resources.data[r], state, ".",
                    &w->err) < 0)
        bail("%s", w->err.sentence);
    is_int(class->restore(&x->env, &x->graph->resources.data[s], x->resource[s],
                          ".", &x->err),
           RLF_OK, "saved and restored");
    is_bits(((rlf_state *)x->resource[s])->value, want, 6, sizeof *want,
            "with its bits");
    world_free(x);
    write_rows(0, 7);
    x = world_new(1);
    open_file(x, 0);
    s = add_resource(x, declared, &half, 1);
    ok(class->restore(&x->env, &x->graph->resources.data[s], x->resource[s],
                      ".", &x->err) == RLF_USER,
       "of other rows it is refused: %s", x->err.sentence);
    world_free(x);
    world_free(w);
    unlink("rate.safetensors");
}

int
main(void)
{
    test_chosen();
    test_held_out();
    test_joined();
    test_shares((const double[]){3, 1}, 8, 60);
    test_shares((const double[]){1, 1}, 7, 60);
    test_shares((const double[]){0.7, 0.3}, 13, 90);
    test_shares((const double[]){30, 11}, 41, 5);
    test_resume(false);
    test_resume(true);
    test_weights();
    test_heap();
    test_state();
    for (int f = 0; f < 2; f++)
        unlink(files[f]);
    return done();
}

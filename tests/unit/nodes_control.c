/* Control and scalars: if, every, break, checkpoint, report, step, states. */
#include "tests/unit/nodes.h"

static const rlf_node_class *
find(const char *name)
{
    const rlf_node_class *class = rlf_classes_syntax(&rlf_node_classes, name);
    if (!class)
        bail("the grammar has no class for %s", name);
    return class;
}

/* Run a node with one scalar input `value`, its only argument. */
static rlf_call
run_scalar(world *w, const rlf_node_class *class, int receiver, double value,
           int n_regions)
{
    int input = add_column_value(w, RLF_VALUE_NUMBER, 0);
    rlf_arg arg = value_arg(class->n_formals ? class->formals[0].name : "shown",
                            input, 0);
    int id = add_node(w, class, receiver, (node_parts){ARGS(arg), IN(input)});
    w->graph->nodes.data[id].n_regions = n_regions;
    rlf_space *scalar = rlf_space_rows(w->pool, w->graph, 0, 1);
    rlf_content in = {.column = rlf_column_new(w->pool, scalar, false)};
    in.column.number[0] = value;
    rlf_call call = make_call(w, id, &in);
    run_call(w, &call);
    return call;
}

static void
test_control(void)
{
    world *w = world_new(1);
    const rlf_node_class *class = find("if");
    is_int(run_scalar(w, class, -1, 1, 2).branch, 0, "if: the first block");
    is_int(run_scalar(w, class, -1, 0, 2).branch, 1, "else: the second");
    is_int(run_scalar(w, class, -1, 0, 1).branch, -1, "without else: none");
    run_scalar(w, class, -1, NAN, 1);
    is_str(w->err.sentence, "this is not a number", "nan is no condition");

    class = find("every");
    w->env.step = 20;
    is_int(run_scalar(w, class, -1, 5, 1).branch, 0, "every 5: in step 20");
    is_int(run_scalar(w, class, -1, 20, 1).branch, 0, "every 20: in step 20");
    is_int(run_scalar(w, class, -1, 3, 1).branch, -1, "every 3: not");
    is_int(run_scalar(w, class, -1, 40, 1).branch, -1, "every 40: not yet");
    run_scalar(w, class, -1, 0, 1);
    is_int(w->err.status, RLF_USER, "every 0 steps is refused");
    run_scalar(w, class, -1, 2.5, 1);
    is_int(w->err.status, RLF_USER, "every 2.5 steps too");

    class = find("break");
    is_int(run_scalar(w, class, -1, 1, 0).raised, RLF_RAISE_BREAK,
           "break if: leaves");
    is_int(run_scalar(w, class, -1, 0, 0).raised, 0, "or not");
    class = find("checkpoint");
    rlf_call call = make_call(w, add_node(w, class, -1, (node_parts){0}), NULL);
    run_call(w, &call);
    is_int(call.raised, RLF_RAISE_CHECKPOINT, "checkpoint: saves");
    run_scalar(w, find("report"), -1, 0.25, 0);
    ok(w->n_reported == 1 && w->reported[0].sum == 0.25 &&
           strcmp(w->reported[0].name, "shown") == 0,
       "report: name and value");

    class = rlf_classes_find(&rlf_node_classes, RLF_FORM_FIELD,
                             RLF_RECEIVER_NONE, "step");
    int out = add_column_value(w, RLF_VALUE_NUMBER, 0);
    call = make_call(w, add_node(w, class, -1, (node_parts){OUT(out)}), NULL);
    run_call(w, &call);
    ok(call.out[0].column.number[0] == 20, "step");
    world_free(w);
}

static double
get_state(world *w, int state)
{
    int out = add_column_value(w, RLF_VALUE_NUMBER, 0);
    rlf_call call =
        make_call(w,
                  add_node(w,
                           rlf_classes_find(&rlf_node_classes, RLF_FORM_FIELD,
                                            RLF_RECEIVER_STATE, "state"),
                           state, (node_parts){OUT(out)}),
                  NULL);
    run_call(w, &call);
    return call.out[0].column.number[0];
}

static void
test_state(void)
{
    static const double values[] = {0.1, -0.0, 1e-310, 1.0 / 3, 1e308, -1e300};
    static const double nothing[] = {NAN, INFINITY, -INFINITY};
    const rlf_resource_class *class =
        rlf_node_classes.resource[RLF_RESOURCE_STATE];
    rlf_arg start = number_arg(NULL, 1.5);
    const rlf_resource resource = {
        .class = rlf_node_classes.resource[RLF_RESOURCE_STATE],
        .name = "lambda",
        .constructor = "number",
        .source = -1};
    bool same = true;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        world *w = world_new(1), *x = world_new(1);
        int a = add_resource(w, resource, &start, 1);
        int b = add_resource(x, resource, &start, 1);
        same = same && get_state(w, a) == 1.5;
        run_scalar(w, find("set_state"), a, values[i], 0);
        double now = get_state(w, a);
        same = same && memcmp(&now, &values[i], sizeof now) == 0;
        if (class->save(&w->env, &w->graph->resources.data[a], w->resource[a],
                        ".", &w->err) < 0 ||
            class->restore(&x->env, &x->graph->resources.data[b],
                           x->resource[b], ".", &x->err) < 0)
            bail("%s %s", w->err.sentence, x->err.sentence);
        now = get_state(x, b);
        same = same && memcmp(&now, &values[i], sizeof now) == 0;
        world_free(w);
        world_free(x);
    }
    ok(same, "a state begins, is set, is saved and comes back with its bits");
    world *y = world_new(1);
    int c = add_resource(y, resource, &start, 1);
    for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++) {
        run_scalar(y, find("set_state"), c, nothing[i], 0);
        ok(*y->err.sentence && get_state(y, c) == 1.5,
           "it is not set to %g: %s", nothing[i], y->err.sentence);
    }
    world_free(y);
    write_file("lambda.json", "{\"value\": 1}");
    world *w = world_new(1);
    int a = add_resource(w, resource, &start, 1);
    is_int(class->restore(&w->env, &w->graph->resources.data[a], w->resource[a],
                          ".", &w->err),
           RLF_USER, "a torn file is refused");
    ok(strstr(w->err.sentence, "lambda.json") != NULL, "by name: %s",
       w->err.sentence);
    world_free(w);
    unlink("lambda.json");
}

int
main(void)
{
    test_control();
    test_state();
    return done();
}

/* The check of the table of classes refuses traits that do not go together. */
#include "nodes/table.h"
#include "tests/tap.h"

#include "engine/base/vec.h"

#include <string.h>

/* The table with a class in the place of the one that it is made of. */
static rlf_status
check(const rlf_node_class *of, const rlf_node_class *class, rlf_err *err)
{
    const rlf_node_class *list[64];
    rlf_classes table = rlf_node_classes;
    for (int i = 0; i < table.n_nodes; i++)
        list[i] = table.node[i] == of ? class : table.node[i];
    table.node = list;
    return rlf_classes_check(&table, err);
}

static const rlf_node_class *
find(rlf_form form, rlf_receiver receiver, const char *name)
{
    const rlf_node_class *class =
        form == RLF_FORM_SYNTAX
            ? rlf_classes_syntax(&rlf_node_classes, name)
            : rlf_classes_find(&rlf_node_classes, form, receiver, name);
    if (!class)
        bail("there is no class %s", name);
    return class;
}

/* `broken` is class `of` with other traits. */
static void
refused(const rlf_node_class *of, rlf_node_class broken, const char *fault)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_status status = check(of, &broken, &err);
    ok(status == RLF_BUG && strstr(err.sentence, of->name) &&
           strstr(err.sentence, fault),
       "%s", *err.sentence ? err.sentence : fault);
}

#define REFUSED(of, fault, ...)        \
    do {                               \
        rlf_node_class broken = *(of); \
        broken.__VA_ARGS__;            \
        refused(of, broken, fault);    \
    } while (0)

static void
test_traits(void)
{
    const rlf_node_class *generate =
        find(RLF_FORM_CALL, RLF_RECEIVER_MODEL, "generate");
    const rlf_node_class *logprob =
        find(RLF_FORM_CALL, RLF_RECEIVER_MODEL, "logprob");
    const rlf_node_class *where =
        find(RLF_FORM_CALL, RLF_RECEIVER_SET, "where");
    const rlf_node_class *sample =
        find(RLF_FORM_HOOK, RLF_RECEIVER_HOOK, "sample");
    const rlf_node_class *length =
        find(RLF_FORM_FIELD, RLF_RECEIVER_SET, "length");
    const rlf_node_class *state =
        find(RLF_FORM_FIELD, RLF_RECEIVER_STATE, "state");
    const rlf_node_class *update = find(RLF_FORM_SYNTAX, 0, "update");
    const rlf_node_class *assign = find(RLF_FORM_SYNTAX, 0, ":=");
    const rlf_node_class *draw = find(RLF_FORM_SYNTAX, 0, "draw");
    const rlf_node_class *branch = find(RLF_FORM_SYNTAX, 0, "if");
    const rlf_node_class *every = find(RLF_FORM_SYNTAX, 0, "every");
    const rlf_node_class *loop = find(RLF_FORM_SYNTAX, 0, "split");
    const rlf_node_class *keep = find(RLF_FORM_SYNTAX, 0, "keep");
    const rlf_node_class *report = find(RLF_FORM_SYNTAX, 0, "report");

    REFUSED(sample, "which is not its receiver", receiver = RLF_RECEIVER_SET);
    REFUSED(sample, "is not called by its name", form = RLF_FORM_CALL);
    REFUSED(where, "only syntax of its own", gives = RLF_GIVES_OTHER);
    REFUSED(where, "of what is no model", work = RLF_WORK_READ);
    REFUSED(generate, "cannot hand them over", handover = NULL);
    REFUSED(generate, "generates none", work = RLF_WORK_READ);
    REFUSED(generate, "gives no set", gives = RLF_GIVES_COLUMN);
    REFUSED(update, "no passes of micro-batches", trainable = NULL);
    REFUSED(update, "does not train", work = RLF_WORK_WEIGHTS);
    REFUSED(update, "trains without a loss", program = RLF_PROGRAM_NONE);
    REFUSED(logprob, "has a loss and does not train",
            program = RLF_PROGRAM_LOSS);
    REFUSED(assign, "reads no model", live = true);
    REFUSED(assign, "does not write its model", writes = false);
    REFUSED(assign, "not on all ranks together",
            partition = RLF_PARTITION_WHOLE);
    REFUSED(logprob, "changes no weights", partition = RLF_PARTITION_JOINT);
    REFUSED(where, "that does not last", writes = true);
    REFUSED(state, "which a field only reads", writes = true);
    REFUSED(where, "needs all of them at once", partition = RLF_PARTITION_ROWS);
    REFUSED(where, "it has no syntax", control_flow = RLF_CONTROL_FLOW_LOOP);
    REFUSED(branch, "on some ranks only", partition = RLF_PARTITION_NEAR;
            broken.granularity = RLF_GRAIN_SAMPLE);
    REFUSED(branch, "by some of the rows", granularity = RLF_GRAIN_SAMPLE);
    REFUSED(every, "no formal of it", period = "turns");
    REFUSED(loop, "period without choice", period = "epochs");
    REFUSED(branch, "no formal of it", condition = "c");
    REFUSED(keep, "decides nothing by it", condition = "condition");
    REFUSED(keep, "more than a condition",
            control_flow = RLF_CONTROL_FLOW_CHOICE);
    REFUSED(draw, "of what is no data", receiver = RLF_RECEIVER_STATE);
    REFUSED(report, "takes no labels", extra = false);
    REFUSED(where, "whose field it is not", view = true);
    REFUSED(length, "is no scalar", is_step_number = true);
}

/* Checks that a class without a member, a doc or a name of its own is
 * refused. */
static void
test_members(void)
{
    const rlf_node_class *where =
        find(RLF_FORM_CALL, RLF_RECEIVER_SET, "where");
    rlf_err err = RLF_ERR_NONE;
    ok(rlf_classes_check(&rlf_node_classes, &err) == RLF_OK,
       "the tables are complete %s", err.sentence);
    REFUSED(where, "NULL member", step = NULL);
    rlf_node_class broken = *where;
    broken.doc = "";
    ok(check(where, &broken, &err) == RLF_BUG &&
           strstr(err.sentence, "lacks name or doc"),
       "%s", err.sentence);
    rlf_node_class twin = *find(RLF_FORM_CALL, RLF_RECEIVER_NONE, "ask");
    rlf_err twice = RLF_ERR_NONE;
    ok(check(where, &twin, &twice) == RLF_BUG &&
           strstr(twice.sentence, "two node classes are named ask"),
       "%s", twice.sentence);
}

/* A resource class has the interface of its kind, whole, and no other. */
static void
refused_resource(rlf_resource_kind kind, rlf_resource_class broken,
                 const char *what)
{
    const rlf_resource_class *list[RLF_RESOURCE_KINDS];
    rlf_classes table = rlf_node_classes;
    memcpy(list, table.resource, sizeof list);
    list[kind] = &broken;
    table.resource = list;
    rlf_err err = RLF_ERR_NONE;
    ok(rlf_classes_check(&table, &err) == RLF_BUG &&
           strstr(err.sentence, "is incomplete"),
       "%s: %s", what, err.sentence);
}

static void
test_resources(void)
{
    const rlf_resource_class *const *all = rlf_node_classes.resource;
    rlf_resource_class broken = *all[RLF_RESOURCE_MODEL];
    rlf_model_class model = *broken.model;
    model.move = NULL;
    broken.model = &model;
    refused_resource(RLF_RESOURCE_MODEL, broken, "weights that do not move");
    broken = *all[RLF_RESOURCE_DATA];
    broken.data = NULL;
    refused_resource(RLF_RESOURCE_DATA, broken, "data without rows");
    broken = *all[RLF_RESOURCE_HOOK];
    broken.model = all[RLF_RESOURCE_MODEL]->model;
    refused_resource(RLF_RESOURCE_HOOK, broken, "a hook with weights");
    broken = *all[RLF_RESOURCE_STATE];
    broken.back = NULL;
    refused_resource(RLF_RESOURCE_STATE, broken, "a state without a way back");
}

int
main(void)
{
    test_members();
    test_resources();
    test_traits();
    return done();
}

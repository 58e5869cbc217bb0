#include "tests/unit/roles.h"

#include "engine/base/vec.h"
#include "nodes/model.h"

#include <stdio.h>
#include <string.h>

/* ---- digits ---- */

_Atomic uint64_t role_looked;

static rlf_status
open_digits(rlf_call *call, rlf_err *err)
{
    return rlf_column_try(call->env->pool, call->in[0].rows->samples, false,
                          "digits", err, &call->out[0].column);
}

static rlf_status
step_digits(rlf_call *call, rlf_err *err)
{
    (void)err;
    const rlf_rows *rows = call->in[0].rows;
    uint32_t n = call->rows ? call->n_rows : rows->samples->count;
    atomic_fetch_add(&role_looked, n);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t row = call->rows ? call->rows[i] : i;
        rlf_str text = rows->sample[row].text;
        double *count = &call->out[0].column.number[row];
        for (size_t k = 0; k < text.n; k++)
            *count += text.p[k] && strchr("0123456789", text.p[k]);
    }
    return RLF_OK;
}

/* A look at each character. */
static void
cost_digits(const rlf_load *load, const rlf_node *node, rlf_cost *out)
{
    int set = load->graph->values.data[node->inputs[0]].set;
    double rows =
        load->piece ? (double)load->piece->rows : load->sizes->set[set].samples;
    *out = (rlf_cost){.flops = rows, .calls = rows};
}

const rlf_node_class role_digits = {
    .name = "digits",
    .doc = "how many digits each sample's text has",
    .form = RLF_FORM_CALL,
    .receiver = RLF_RECEIVER_SET,
    .partition = RLF_PARTITION_ROWS,
    .work = RLF_WORK_HOST,
    .gives = RLF_GIVES_COLUMN,
    .level = RLF_LEVEL_SAMPLE,
    .needs_tokens = true,
    .granularity = RLF_GRAIN_SAMPLE,
    .infer = rlf_class_no_infer,
    .cost = cost_digits,
    .open = open_digits,
    .step = step_digits,
    RLF_CLASS_STATELESS,
};

/* ---- what gives its number back ---- */

static rlf_status
give(rlf_call *call, double value, rlf_err *err)
{
    const rlf_space *scalar =
        rlf_space_rows(call->env->pool, call->env->graph, 0, 1);
    RLF_TRY(rlf_column_try(call->env->pool, scalar, false, "a number", err,
                           &call->out[0].column));
    call->out[0].column.number[0] = value;
    return RLF_OK;
}

/* ---- shrink ---- */

static const rlf_formal shrink_formals[] = {
    {.name = "factor",
     .kind = RLF_FORMAL_NUMBER,
     .required = true,
     .most = 1,
     .doc = "what all weights are multiplied by"},
};

static rlf_status
step_shrink(rlf_call *call, rlf_err *err)
{
    double exact;
    rlf_model *model = rlf_model_of(call, call->node->receiver);
    const rlf_model *same = model;
    RLF_TRY(rlf_call_number(call, "factor", err, &exact));
    float factor = (float)exact;
    RLF_TRY(rlf_model_assign(model, &factor, &same, 1, err));
    return give(call, exact, err);
}

const rlf_node_class role_shrink = {
    .name = "shrink",
    .doc = "multiplies the weights of a model",
    .form = RLF_FORM_CALL,
    .receiver = RLF_RECEIVER_MODEL,
    .partition = RLF_PARTITION_JOINT,
    .work = RLF_WORK_WEIGHTS,
    .writes = true,
    .formals = shrink_formals,
    .n_formals = RLF_COUNT(shrink_formals),
    .gives = RLF_GIVES_COLUMN,
    .level = RLF_LEVEL_SCALAR,
    .granularity = RLF_GRAIN_BATCH,
    .open = rlf_class_no_open,
    .step = step_shrink,
    RLF_CLASS_PLAIN,
};

/* ---- last ---- */

static const rlf_formal last_formals[] = {
    {.name = "x",
     .kind = RLF_FORMAL_NUMBER,
     .required = true,
     .doc = "the number that is looked at"},
    {.name = "most",
     .kind = RLF_FORMAL_NUMBER,
     .required = true,
     .doc = "the run ends when it is so large"},
};

static rlf_status
step_last(rlf_call *call, rlf_err *err)
{
    double x, most;
    RLF_TRY(rlf_call_number(call, "x", err, &x));
    RLF_TRY(rlf_call_number(call, "most", err, &most));
    if (x >= most)
        call->raised |= RLF_RAISE_BREAK;
    return give(call, x, err);
}

const rlf_node_class role_last = {
    .name = "last",
    .doc = "ends the run when a number is large",
    .form = RLF_FORM_CALL,
    .control_flow = RLF_CONTROL_FLOW_LEAVE,
    .formals = last_formals,
    .n_formals = RLF_COUNT(last_formals),
    .gives = RLF_GIVES_COLUMN,
    .level = RLF_LEVEL_SCALAR,
    .granularity = RLF_GRAIN_BATCH,
    .open = rlf_class_no_open,
    .step = step_last,
    RLF_CLASS_PLAIN,
};

/* ---- echo ---- */

rlf_node_class
role_echo(const rlf_classes *classes)
{
    rlf_node_class echo =
        *rlf_classes_find(classes, RLF_FORM_CALL, RLF_RECEIVER_NONE, "respond");
    echo.name = "echo";
    return echo;
}

/* ---- hooks that are saved ---- */

_Atomic uint64_t role_restored;

static const char *
count_file(const rlf_resource *hook, const char *directory, char *path,
           size_t room)
{
    snprintf(path, room, "%s/%s.looked", directory, hook->name);
    return path;
}

static rlf_status
save_hook(const rlf_env *env, const rlf_resource *resource, void *object,
          const char *directory, rlf_err *err)
{
    char path[4096];
    (void)env, (void)object;
    FILE *to = fopen(count_file(resource, directory, path, sizeof path), "w");
    if (!to)
        return rlf_fail(err, RLF_ENV, "%s cannot be written", path);
    fprintf(to, "%llu", (unsigned long long)role_looked);
    return fclose(to) ? rlf_fail(err, RLF_ENV, "%s: no room", path) : RLF_OK;
}

static rlf_status
restore_hook(const rlf_env *env, const rlf_resource *resource, void *object,
             const char *directory, rlf_err *err)
{
    char path[4096];
    unsigned long long n;
    (void)env, (void)object;
    FILE *from = fopen(count_file(resource, directory, path, sizeof path), "r");
    bool read = from && fscanf(from, "%llu", &n) == 1;
    if (from)
        fclose(from);
    if (!read)
        return rlf_fail(err, RLF_ENV, "%s cannot be read", path);
    role_restored = n;
    return RLF_OK;
}

rlf_resource_class
role_hook(const rlf_classes *classes)
{
    rlf_resource_class hook = *classes->resource[RLF_RESOURCE_HOOK];
    hook.saved = "a hook that counts";
    hook.save = save_hook;
    hook.restore = restore_hook;
    return hook;
}

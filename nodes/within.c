/* The argument of a def, `in low..high`: the run ends where it is not. */
#include "engine/graph/class.h"

static const rlf_formal formals[] = {
    {.name = "value",
     .kind = RLF_FORMAL_NUMBER,
     .required = true,
     .doc = "the argument's own formal says what it takes"},
};

static rlf_status
step(rlf_call *call, rlf_err *err)
{
    double value;
    return rlf_call_number(call, formals[0].name, err, &value);
}

const rlf_node_class rlf_node_within = {
    .name = "within",
    .doc = "looks at the argument of a def, which has to be in its range",
    .form = RLF_FORM_SYNTAX,
    .formals = formals,
    .n_formals = 1,
    .gives = RLF_GIVES_NOTHING,
    .granularity = RLF_GRAIN_BATCH,
    .open = rlf_class_no_open,
    .step = step,
    RLF_CLASS_PLAIN,
};

/* Data made of data: `mix(a, b, ...)` and `d.where(c)`.
 *
 * The members of a mixture and the data before the dot are data sets, declared
 * or made on the spot; these have no name of their own. A condition is
 * arithmetic on the fields of one row: it becomes an expression program with an
 * input for each field, which the data's class runs over the rows. */
#include "grammar/passes.h"

#include "grammar/lower.h"

#include <string.h>

bool
rlf_data_kind(rlf_sema *s, int data, const rlf_ast_name *name, rlf_field *kind,
              const char **nearest)
{
    const rlf_resource *of = &s->graph->resources.data[data];
    rlf_err err = RLF_ERR_NONE;
    *kind = RLF_FIELD_NONE;
    *nearest = NULL;
    if (of->class->data->field(s->graph, of, name->text, &err, kind, nearest) >=
        0)
        return true;
    if (s->ungiven) { /* it may be the file of a path that was not given */
        rlf_err_clear(&err);
        return false;
    }
    rlf_diag *diag =
        rlf_diag_error(s->diags, "data", err.span.source ? err.span : of->span,
                       "%s", err.sentence);
    if (*nearest) /* else the rows cannot be read, for whatever field */
        rlf_diag_note(s->diags, diag, name->span, "it is read for this field");
    *nearest = NULL;
    if (err.hint[0])
        rlf_diag_hint(s->diags, diag, "%s", err.hint);
    return false;
}

/* ---- conditions ---- */

/* Is it the data of the condition in hand, or what that is a choice of? */
static bool
has_rows_of(const rlf_sema *s, int data)
{
    int k = s->choosing;
    while (k >= 0 && k != data && s->graph->resources.data[k].condition)
        k = s->graph->resources.data[k].source;
    return k == data;
}

rlf_entity
rlf_data_field(rlf_sema *s, int data, const rlf_ast_expr *e)
{
    rlf_entity none = rlf_entity_none(e->span);
    const rlf_resource *of = &s->graph->resources.data[data];
    if (!has_rows_of(s, data)) {
        rlf_diag_error(s->diags, "name", e->span,
                       "'%s' has other rows than '%s', whose rows are chosen "
                       "here",
                       of->name, s->graph->resources.data[s->choosing].name);
        return none;
    }
    rlf_field kind;
    const char *nearest;
    if (!rlf_data_kind(s, data, &e->name, &kind, &nearest))
        return none;
    if (kind == RLF_FIELD_NONE) {
        rlf_diag *diag =
            rlf_diag_error(s->diags, "name", e->name.span,
                           "'%s' has no field '%s'", of->name, e->name.text);
        if (nearest)
            rlf_diag_hint(s->diags, diag, "did you mean '%s'?", nearest);
        return none;
    }
    int term = rlf_term_add(s, (rlf_term){.kind = RLF_TERM_OUT,
                                          .arg = {-1, -1, -1},
                                          .domain = of->domain,
                                          .item = -1,
                                          .set = -1,
                                          .text = kind == RLF_FIELD_TEXT,
                                          .name = e->name.text,
                                          .span = e->span});
    return rlf_entity_term(s, term, e->span);
}

/* Does each row's value depend on that row alone? */
static bool
is_pointwise(const rlf_expr *expr)
{
    for (size_t i = 0; i < expr->ops.count; i++) {
        rlf_expr_code code = expr->ops.data[i].code;
        if (!rlf_expr_is_pointwise(code) && code != RLF_EXPR_INPUT &&
            code != RLF_EXPR_CONST && code != RLF_EXPR_DOWN &&
            code != RLF_EXPR_TEXT_EQ && code != RLF_EXPR_SELECT)
            return false;
    }
    return true;
}

/* The program of the condition; NULL after a message. */
static const rlf_expr *
condition(rlf_sema *s, const rlf_ast_expr *call, int data)
{
    const rlf_ast_args *args = call->args;
    if (!args || args->count != 1 || args->data[0].label.text ||
        args->data[0].over.text) {
        rlf_diag *diag =
            rlf_diag_error(s->diags, "argument", call->at,
                           "'%s' takes one condition", call->left->name.text);
        rlf_diag_hint(s->diags, diag, "%s.%s(%s.grade >= 3)",
                      s->graph->resources.data[data].name,
                      call->left->name.text,
                      s->graph->resources.data[data].name);
        return NULL;
    }
    int before = s->choosing;
    s->choosing = data;
    const rlf_ast_expr *e = args->data[0].value;
    int term = rlf_eval_plain(s, e);
    s->choosing = before;
    if (term < 0 || !rlf_finite_use(s, term, RLF_NONFINITE_NAN, e->span))
        return NULL;
    rlf_condition_look(s, e, term, "row");
    const rlf_expr *expr = rlf_lower_one(s, term);
    if (is_pointwise(expr))
        return expr;
    rlf_diag *diag = rlf_diag_error(s->diags, "type", e->span,
                                    "a row of data is chosen by what stands in "
                                    "it alone");
    rlf_diag_hint(s->diags, diag, "uniform and reductions take rows of a step");
    return NULL;
}

/* ---- parts ---- */

/* The part that the field is; NULL: it is none. */
static const char *
part_of(const rlf_sema *s, const rlf_ast_expr *e)
{
    const rlf_resource_class *class = s->classes->resource[RLF_RESOURCE_DATA];
    for (int i = 0; i < class->n_constructors; i++)
        if (class->constructors[i].rest &&
            strcmp(class->constructors[i].name, e->name.text) == 0)
            return class->constructors[i].name;
    return NULL;
}

bool
rlf_data_part(rlf_sema *s, rlf_entity *entity, const rlf_ast_expr *e)
{
    const rlf_resource_class *class = s->classes->resource[RLF_RESOURCE_DATA];
    const char *part = part_of(s, e);
    if (!part)
        return false;
    const rlf_resource *of = &s->graph->resources.data[entity->resource];
    for (size_t i = 0; i < s->graph->resources.count; i++) {
        const rlf_resource *r = &s->graph->resources.data[i];
        if (r->class != class || r->source != entity->resource ||
            strcmp(r->constructor, part) != 0)
            continue;
        entity->resource = (int)i;
        return true;
    }
    rlf_diag *diag = rlf_diag_error(s->diags, "name", e->name.span,
                                    "'%s' has no '%s'", of->name, part);
    rlf_diag_hint(s->diags, diag,
                  of->source >= 0 || of->n_args == 0 ||
                          of->args[0].kind == RLF_ARG_RESOURCE
                      ? "data that is read from files can have it: %s: N"
                      : "say so where it is declared: %s: N",
                  part);
    *entity = rlf_entity_none(e->span);
    return true;
}

/* Makes the data sets that the options of data set `index` keep out of it. */
static void
make_parts(rlf_sema *s, int index, rlf_span span)
{
    const rlf_resource_class *class = s->classes->resource[RLF_RESOURCE_DATA];
    for (int i = 0; i < class->n_constructors; i++) {
        const rlf_constructor *c = &class->constructors[i];
        const rlf_resource *of = &s->graph->resources.data[index];
        if (!c->rest || !rlf_args_find(of->args, of->n_args, c->name))
            continue;
        const char *name =
            rlf_arena_printf(s->arena, "%s.%s", of->name, c->name);
        rlf_resource part = {.class = class,
                             .name = name,
                             .constructor = c->name,
                             .source = index,
                             .directory = of->directory,
                             .span = span};
        part.domain = rlf_set_all_rows(s, name, -1, span);
        rlf_graph_add_resource(s->graph, part);
    }
}

/* ---- data sets in a declaration ---- */

/* `d.where(...).held_out`, `jsonl(...).held_out`: a part of what has no name.
 */
static bool
is_part_of_call(rlf_sema *s, const rlf_ast_expr *e)
{
    const char *part = e->kind == RLF_AST_FIELD ? part_of(s, e) : NULL;
    if (!part || e->left->kind != RLF_AST_CALL)
        return false;
    const rlf_ast_expr *call = e->left;
    rlf_diag *diag = rlf_diag_error(
        s->diags, "name", e->name.span,
        "'%s' stands after the name of a data set, and this has none", part);
    if (call->left->kind == RLF_AST_NAME)
        rlf_diag_hint(s->diags, diag,
                      "declare it: data d = %s(..., %s: N); then d.%s is such "
                      "data",
                      call->left->name.text, part, part);
    else
        rlf_diag_hint(s->diags, diag,
                      "data that is read from files has it: d.%s.%s(...)", part,
                      call->left->kind == RLF_AST_FIELD ? call->left->name.text
                                                        : "where");
    return true;
}

/* A data set that is named, or made on the spot as `name`; -1 after a message.
 */
static int
data_of(rlf_sema *s, const rlf_ast_expr *e, const char *name,
        const rlf_module *module)
{
    if (e->kind == RLF_AST_CALL)
        return rlf_data_make(s, e, name, e->span, module);
    if (is_part_of_call(s, e))
        return -1;
    rlf_entity entity = rlf_eval(s, e);
    if (entity.kind == RLF_ENTITY_DATA)
        return entity.resource;
    if (entity.kind != RLF_ENTITY_NONE)
        rlf_diag_error(s->diags, "type", e->span,
                       "a data set is wanted, and this is %s",
                       rlf_entity_word(s, &entity));
    return -1;
}

/* The arguments without a label, data sets all of them, before `args`. */
static bool
add_members(rlf_sema *s, const rlf_ast_expr *call, const rlf_module *module,
            rlf_resource *out)
{
    size_t room = call->args ? call->args->count : 0;
    rlf_arg *all = RLF_NEW_ARRAY(s->arena, rlf_arg, room + (size_t)out->n_args);
    int n = 0;
    bool good = true;
    for (size_t i = 0; i < room; i++) {
        const rlf_ast_arg *given = &call->args->data[i];
        if (given->label.text)
            continue;
        const char *name =
            rlf_arena_printf(s->arena, "%s.%d", out->name, n + 1);
        int data = data_of(s, given->value, name, module);
        good = good && data >= 0;
        all[n++] = (rlf_arg){.kind = RLF_ARG_RESOURCE,
                             .resource = data,
                             .given = true,
                             .span = given->span};
    }
    if (!n) {
        rlf_diag_error(s->diags, "argument", call->at,
                       "'%s' lacks the data sets that it is made of",
                       out->constructor);
        return false;
    }
    if (out->n_args)
        memcpy(all + n, out->args, sizeof *all * (size_t)out->n_args);
    out->args = all;
    out->n_args += n;
    return good;
}

/* The arguments with a label, by themselves. */
static const rlf_ast_expr *
labelled(rlf_sema *s, const rlf_ast_expr *call)
{
    rlf_ast_expr *copy = RLF_NEW(s->arena, rlf_ast_expr);
    *copy = *call;
    copy->args = RLF_NEW(s->arena, rlf_ast_args);
    for (size_t i = 0; call->args && i < call->args->count; i++)
        if (call->args->data[i].label.text)
            RLF_PUSH_IN(s->arena, copy->args, call->args->data[i]);
    return copy;
}

static bool
make(rlf_sema *s, const rlf_ast_expr *e, const rlf_module *module,
     rlf_resource *out)
{
    const rlf_constructor *c = rlf_constructor_of(s, RLF_RESOURCE_DATA, e);
    if (!c)
        return false;
    out->constructor = c->name;
    if (c->chooses) {
        const char *name = rlf_arena_printf(s->arena, "%s.1", out->name);
        out->source = data_of(s, e->left->left, name, module);
        if (out->source >= 0)
            out->condition = condition(s, e, out->source);
        return out->condition != NULL;
    }
    const rlf_ast_expr *call = c->members ? labelled(s, e) : e;
    if (!rlf_args_constructor(s, call, c, RLF_RESOURCE_DATA, &out->args,
                              &out->n_args))
        return false;
    return !c->members || add_members(s, e, module, out);
}

int
rlf_data_make(rlf_sema *s, const rlf_ast_expr *e, const char *name,
              rlf_span span, const rlf_module *module)
{
    if (e->kind == RLF_AST_FIELD) /* a part, which has a name already */
        return data_of(s, e, name, module);
    rlf_resource data = {.class = s->classes->resource[RLF_RESOURCE_DATA],
                         .name = name,
                         .source = -1,
                         .directory = module->directory,
                         .span = span};
    if (!make(s, e, module, &data))
        return -1;
    int above =
        data.source >= 0 ? s->graph->resources.data[data.source].domain : -1;
    data.domain = rlf_set_all_rows(s, name, above, span);
    int index = rlf_graph_add_resource(s->graph, data);
    size_t errors = s->diags->errors;
    data.class->data->infer(s->graph, &s->graph->resources.data[index],
                            s->diags);
    if (s->diags->errors > errors)
        return -1;
    make_parts(s, index, span);
    return index;
}

/* Comparisons in the source of a hook that never hold: of a field that is a
 * number with one that is a text, of true or false with 1. A reward that makes
 * one gives 0 to every sample, and nothing in the run says why. The kinds of
 * fields are those of the data that each call of the hook gets. */
#include "nodes/hook.h"

#include "engine/base/vec.h"
#include "nodes/data.h"

#include <string.h>

typedef struct looker {
    rlf_hook *hook;
    const rlf_node *node;
    const rlf_data *data; /* NULL: samples have no row */
} looker;

/* A kind that no field has: nobody knows what it is. */
#define UNKNOWN RLF_LUA_LIST

static const char *const kind_words[] = {
    [RLF_LUA_NUMBER] = "a number",
    [RLF_LUA_BYTES] = "a text",
    [RLF_LUA_BOOL] = "true or false",
};

/* What the data has under the name. */
static rlf_lua_kind
column_kind(const rlf_data *data, rlf_str name)
{
    for (size_t i = 0; data && i < data->records.n_columns; i++) {
        const rlf_record_column *c = &data->records.columns[i];
        if (c == data->prompt || !rlf_str_eq(name, rlf_str_of(c->label)))
            continue;
        return !c->numbers                    ? RLF_LUA_BYTES
               : c->kind == RLF_RECORD_BOOL ? RLF_LUA_BOOL
                                              : RLF_LUA_NUMBER;
    }
    return UNKNOWN;
}

static rlf_lua_kind
field_kind(const looker *l, rlf_str name)
{
    static const struct {
        const char *name;
        rlf_lua_kind kind;
    } own[] = {{"prompt", RLF_LUA_BYTES},
               {"response", RLF_LUA_BYTES},
               {"length", RLF_LUA_NUMBER},
               {"finished", RLF_LUA_BOOL}};
    for (size_t i = 0; i < RLF_COUNT(own); i++)
        if (rlf_str_eq(name, rlf_str_of(own[i].name)))
            return own[i].kind;
    for (int i = 0; i < l->node->n_args; i++) /* the call may give it */
        if (l->node->args[i].name &&
            rlf_str_eq(name, rlf_str_of(l->node->args[i].name)))
            return UNKNOWN;
    return column_kind(l->data, name);
}

static rlf_lua_kind
operand_kind(const looker *l, const rlf_lua_operand *o)
{
    return o->object.n ? field_kind(l, o->field) : o->kind;
}

/* Is it a field of what the function gets, and not of a table of its own? */
static bool
is_of_sample(const rlf_lua_operand *o)
{
    return rlf_str_eq(o->object, rlf_str_of("sample")) ||
           rlf_str_eq(o->object, rlf_str_of("s"));
}

/* The two sides are of one sample, or one of them is a constant. */
static bool
is_looked_at(const rlf_lua_comparison *c)
{
    const rlf_lua_operand *a = &c->left, *b = &c->right;
    if (a->object.n && b->object.n)
        return rlf_str_eq(a->object, b->object) && is_of_sample(a);
    return a->object.n ? is_of_sample(a) : b->object.n && is_of_sample(b);
}

static void
put_side(const rlf_lua_operand *o, rlf_lua_kind kind, rlf_buf *out)
{
    enum { MOST = 60 };
    rlf_buf_printf(out, "%.*s is %s",
                   (int)(o->text.n < MOST ? o->text.n : MOST), o->text.p,
                   kind_words[kind]);
}

static void
warn(void *arg, const rlf_lua_comparison *c)
{
    const looker *l = arg;
    rlf_lua_kind a = operand_kind(l, &c->left), b = operand_kind(l, &c->right);
    if (a == b || a == UNKNOWN || b == UNKNOWN || !is_looked_at(c))
        return;
    const rlf_lua_operand *text = a == RLF_LUA_BYTES ? &c->left : &c->right,
                          *other = text == &c->left ? &c->right : &c->left;
    size_t n;
    rlf_buf line = {0};
    rlf_buf_printf(&line, "warning: %s:%u: ",
                   rlf_lua_host_sources(l->hook->host, &n)->path, c->line);
    put_side(&c->left, a, &line);
    rlf_buf_puts(&line, " and ");
    put_side(&c->right, b, &line);
    rlf_buf_puts(&line, ", which are never equal: ");
    if (a == RLF_LUA_BOOL || b == RLF_LUA_BOOL) {
        const rlf_lua_operand *flag = a == RLF_LUA_BOOL ? &c->left : &c->right;
        rlf_buf_printf(&line, "'if %.*s then' is how it is asked for\n",
                       (int)flag->text.n, flag->text.p);
    } else if (text->object.n) {
        rlf_buf_printf(&line, "compare tonumber(%.*s) with %.*s\n",
                       (int)text->text.n, text->text.p, (int)other->text.n,
                       other->text.p);
    } else {
        rlf_buf_puts(&line, "leave the quotes out\n");
    }
    if (!l->hook->warnings.n || !strstr(l->hook->warnings.p, line.p))
        rlf_buf_puts(&l->hook->warnings, line.p);
    rlf_buf_free(&line);
}

rlf_status
rlf_hook_settle(const rlf_env *env, const rlf_resource *resource, void *object,
                rlf_err *err)
{
    rlf_hook *hook = object;
    const rlf_graph *graph = env->graph;
    int self = (int)(resource - graph->resources.data);
    (void)err;
    rlf_buf_clear(&hook->warnings);
    for (size_t i = 0; i < graph->nodes.count && hook->program; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        if (node->receiver != self || !node->n_inputs)
            continue;
        const rlf_value *set = &graph->values.data[node->inputs[0]];
        int data = set->kind == RLF_VALUE_SET
                       ? graph->sets.data[set->set].data
                       : -1;
        looker l = {hook, node, data >= 0 ? env->resource[data] : NULL};
        if (set->kind == RLF_VALUE_SET)
            rlf_lua_compared(hook->program, warn, &l);
    }
    return RLF_OK;
}

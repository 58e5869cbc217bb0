/* The variables that names mean. As in the reference this is known before a
 * template runs: a scope has the names that are set in it, wherever in it that
 * is, and gets those of others when it is entered. So a name that the template
 * sets later is not defined before, even if the caller gives one of that name;
 * what a loop's body sets ends with the iteration. */
#include "engine/jinja/inside.h"

#include <string.h>

typedef struct scope {
    struct scope *outer;
    jinja_function *function;
    uint32_t level;
    jinja_entries entries;
    struct {
        bool *data;
        size_t count, room;
    } stored; /* per entry: it is set in the scope, not only read */
} scope;

/* The place of a node in the template. */
typedef struct place {
    jinja_run *r;
    scope *in;
    bool soft; /* right in an `if`: unknown filters are errors when they run */
    bool loop; /* break and continue have a loop */
} place;

static void resolve_body(place at, const jinja_nodes *body);
static void resolve(place at, jinja_node *n);
static void visit(jinja_run *r, scope *s, const jinja_node *n);

static bool
same_name(const jinja_text *a, const jinja_text *b)
{
    return a->n == b->n && memcmp(a->p, b->p, a->n) == 0;
}

/* ---- names of a scope ---- */

static scope *
scope_new(jinja_run *r, scope *outer, jinja_function *function)
{
    scope *s = JINJA_NEW(r, scope);
    s->outer = outer;
    s->function = function;
    s->level = outer ? outer->level + 1 : 0;
    return s;
}

static jinja_function *
function_new(jinja_run *r, jinja_function *outer)
{
    jinja_function *f = JINJA_NEW(r, jinja_function);
    f->outer = outer;
    f->depth = outer ? outer->depth + 1 : 0;
    return f;
}

static jinja_ref
slot_of(jinja_run *r, scope *s, const jinja_text *name)
{
    jinja_function *f = s->function;
    jinja_ref ref = {f->depth, 0};
    for (; ref.slot < f->slots.count; ref.slot++)
        if (f->slots.data[ref.slot].level == s->level &&
            same_name(f->slots.data[ref.slot].name, name))
            return ref;
    JINJA_PUSH(r, &f->slots, (__typeof__(*f->slots.data)){name, s->level});
    return ref;
}

static jinja_entry *
own_entry(const scope *s, const jinja_text *name)
{
    for (size_t i = 0; i < s->entries.count; i++)
        if (same_name(s->entries.data[i].name, name))
            return &s->entries.data[i];
    return NULL;
}

static const jinja_entry *
find_entry(const scope *s, const jinja_text *name)
{
    const jinja_entry *e = NULL;
    for (; s && !e; s = s->outer)
        e = own_entry(s, name);
    return e;
}

static jinja_entry *
define(jinja_run *r, scope *s, const jinja_text *name, jinja_load load)
{
    jinja_entry *e = own_entry(s, name);
    if (!e) {
        jinja_entry made = {.name = name, .ref = slot_of(r, s, name)};
        JINJA_PUSH(r, &s->entries, made);
        JINJA_PUSH(r, &s->stored, false);
        e = &s->entries.data[s->entries.count - 1];
    }
    e->load = load;
    return e;
}

static void
set_stored(scope *s, const jinja_entry *e)
{
    s->stored.data[e - s->entries.data] = true;
}

static void
declare(jinja_run *r, scope *s, const jinja_text *name)
{
    set_stored(s, define(r, s, name, JINJA_LOAD_PARAMETER));
}

static void
store(jinja_run *r, scope *s, const jinja_text *name)
{
    jinja_entry *e = own_entry(s, name);
    if (!e) {
        const jinja_entry *outer = find_entry(s->outer, name);
        e = define(r, s, name, outer ? JINJA_LOAD_ALIAS : JINJA_LOAD_UNDEFINED);
        if (outer)
            e->from = outer->ref;
    }
    set_stored(s, e);
}

static void
load(jinja_run *r, scope *s, const jinja_text *name)
{
    if (!find_entry(s, name))
        define(r, s, name, JINJA_LOAD_RESOLVE);
}

static void
copy_entries(jinja_run *r, scope *to, const scope *from)
{
    to->entries.count = to->stored.count = 0;
    for (size_t i = 0; i < from->entries.count; i++) {
        JINJA_PUSH(r, &to->entries, from->entries.data[i]);
        JINJA_PUSH(r, &to->stored, from->stored.data[i]);
    }
}

/* Merges what one way through an `if` adds. */
static void
merge(jinja_run *r, scope *to, const scope *branch)
{
    for (size_t i = 0; i < branch->entries.count; i++) {
        const jinja_entry *e = &branch->entries.data[i];
        jinja_entry *mine = define(r, to, e->name, e->load);
        mine->from = e->from;
        if (branch->stored.data[i])
            set_stored(to, mine);
    }
}

/* The ways through an `if`: what only some of them set has its value from
 * outside before. */
static void
visit_if(jinja_run *r, scope *s, const jinja_node *n)
{
    scope before = *s, branch[3];
    const jinja_nodes *bodies[3] = {&n->body, &n->list, &n->more};
    visit(r, s, n->a);
    memset(&before.entries, 0, sizeof before.entries);
    memset(&before.stored, 0, sizeof before.stored);
    copy_entries(r, &before, s);
    for (int k = 0; k < 3; k++) {
        branch[k] = *s;
        memset(&branch[k].entries, 0, sizeof branch[k].entries);
        memset(&branch[k].stored, 0, sizeof branch[k].stored);
        copy_entries(r, &branch[k], &before);
        for (size_t i = 0; i < bodies[k]->count; i++)
            visit(r, &branch[k], bodies[k]->data[i]);
    }
    for (int k = 0; k < 3; k++)
        merge(r, s, &branch[k]);
    for (size_t i = 0; i < s->entries.count; i++) {
        jinja_entry *e = &s->entries.data[i];
        const jinja_entry *was = own_entry(&before, e->name);
        if (!s->stored.data[i] ||
            (was && before.stored.data[was - before.entries.data]))
            continue;
        const jinja_entry *outer = find_entry(s->outer, e->name);
        e->load = outer ? JINJA_LOAD_ALIAS : JINJA_LOAD_RESOLVE;
        if (outer)
            e->from = outer->ref;
    }
}

static void
visit_target(jinja_run *r, scope *s, const jinja_node *n, bool parameter)
{
    if (n->op == JINJA_NSREF)
        load(r, s, n->name);
    else if (n->op == JINJA_NAME && parameter)
        declare(r, s, n->name);
    else if (n->op == JINJA_NAME)
        store(r, s, n->name);
    for (size_t i = 0; i < n->list.count; i++)
        visit_target(r, s, n->list.data[i], parameter);
}

static void
visit_all(jinja_run *r, scope *s, const jinja_nodes *nodes)
{
    for (size_t i = 0; i < nodes->count; i++)
        visit(r, s, nodes->data[i]);
}

static void
visit_expression(jinja_run *r, scope *s, const jinja_node *n)
{
    const jinja_node *parts[] = {n->a, n->b, n->c, n->dyn_args, n->dyn_kwargs};
    if (n->op == JINJA_NAME)
        load(r, s, n->name);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i])
            visit(r, s, parts[i]);
    visit_all(r, s, &n->list);
    visit_all(r, s, &n->more);
}

/* Visits what a statement or an expression does to the scope that it stands in.
 */
static void
visit(jinja_run *r, scope *s, const jinja_node *n)
{
    jinja_enter(r);
    switch (n->op) {
    case JINJA_IF:
        visit_if(r, s, n);
        break;
    case JINJA_FOR:
        visit(r, s, n->b);
        break;
    case JINJA_SET:
        visit(r, s, n->b);
        visit_target(r, s, n->a, false);
        break;
    case JINJA_SET_BLOCK:
        visit_target(r, s, n->a, false);
        break;
    case JINJA_MACRO_OF:
        store(r, s, n->name);
        break;
    case JINJA_CALL_BLOCK:
    case JINJA_FILTER_BLOCK:
        visit(r, s, n->b);
        break;
    case JINJA_WITH:
        visit_all(r, s, &n->more);
        break;
    case JINJA_GENERATION:
    case JINJA_BREAK:
    case JINJA_CONTINUE:
        break;
    default:
        visit_expression(r, s, n);
    }
    jinja_leave(r);
}

/* ---- special names ---- */

/* Is `name` read in the nodes before it is set there? 1: yes, -1: it is set. */
static int reads(jinja_run *r, const jinja_node *n, const char *name,
                 bool target);

static int
any_reads(jinja_run *r, const jinja_nodes *nodes, const char *name, bool target)
{
    int is = 0;
    for (size_t i = 0; i < nodes->count && !is; i++)
        is = reads(r, nodes->data[i], name, target);
    return is;
}

static int
reads(jinja_run *r, const jinja_node *n, const char *name, bool target)
{
    int is = 0;
    if (!n)
        return 0;
    jinja_enter(r);
    bool binds =
        n->op == JINJA_FOR || n->op == JINJA_SET || n->op == JINJA_SET_BLOCK;
    bool parameters = n->op == JINJA_MACRO_OF || n->op == JINJA_CALL_BLOCK ||
                      n->op == JINJA_WITH;
    if (n->op == JINJA_NAME)
        is = !jinja_text_is(n->name, name) ? 0 : target ? -1 : 1;
    if (!is && n->op != JINJA_MACRO_OF)
        is = reads(r, n->a, name, target || binds);
    if (!is)
        is = reads(r, n->b, name, false);
    if (!is)
        is = reads(r, n->c, name, false);
    if (!is)
        is = any_reads(r, &n->list, name,
                       parameters || (target && n->op == JINJA_TUPLE_OF));
    if (!is)
        is = any_reads(r, &n->more, name, false);
    if (!is)
        is = any_reads(r, &n->body, name, false);
    if (!is)
        is = reads(r, n->dyn_args, name, false);
    if (!is)
        is = reads(r, n->dyn_kwargs, name, false);
    jinja_leave(r);
    return is;
}

static const jinja_text *
word(jinja_run *r, const char *p)
{
    return jinja_text_z(r, p).text;
}

/* ---- references ---- */

static void
resolve_all(place at, const jinja_nodes *nodes)
{
    for (size_t i = 0; i < nodes->count; i++)
        resolve(at, nodes->data[i]);
}

static void
resolve_name(place at, jinja_node *n)
{
    const jinja_entry *e = find_entry(at.in, n->name);
    if (!e)
        e = define(at.r, at.in, n->name, JINJA_LOAD_RESOLVE);
    n->ref = e->ref;
}

static void
resolve_target(place at, jinja_node *n)
{
    if (n->op == JINJA_NAME || n->op == JINJA_NSREF)
        resolve_name(at, n);
    for (size_t i = 0; i < n->list.count; i++)
        resolve_target(at, n->list.data[i]);
}

/* Unknown filters and tests are errors of the template where it is read; in an
 * `if` only where they are reached. */
static void
resolve_builtin(place at, jinja_node *n)
{
    bool filter = n->op == JINJA_FILTER;
    n->builtin = filter ? jinja_filter_find(n->name) : jinja_test_find(n->name);
    if (n->builtin || at.soft || (filter && jinja_filter_is_absent(n->name)))
        return;
    at.r->at = n->at;
    jinja_stop_text(at.r, filter ? "there is no filter " : "there is no test ",
                    (rlf_str){n->name->p, n->name->n});
}

static jinja_node *
clone_target(place at, const jinja_node *n)
{
    jinja_node *copy = JINJA_NEW(at.r, jinja_node);
    *copy = *n;
    copy->list = (jinja_nodes){0};
    for (size_t i = 0; i < n->list.count; i++) {
        jinja_node *part = clone_target(at, n->list.data[i]);
        JINJA_PUSH(at.r, &copy->list, part);
    }
    return copy;
}

static void
resolve_condition(place at, jinja_node *n)
{
    n->test_function = function_new(at.r, at.in->function);
    scope *s = scope_new(at.r, at.in, n->test_function);
    n->test_target = clone_target(at, n->a);
    visit_target(at.r, s, n->a, true);
    visit(at.r, s, n->c);
    place inside = {.r = at.r, .in = s};
    resolve_target(inside, n->test_target);
    resolve(inside, n->c);
    n->enter_test = s->entries;
}

static void
resolve_for(place at, jinja_node *n)
{
    jinja_run *r = at.r;
    n->extended = n->recursive || any_reads(r, &n->body, "loop", false) == 1;
    resolve(at, n->b);
    if (n->c)
        resolve_condition(at, n);
    jinja_function *function = at.in->function;
    if (n->recursive)
        function = n->function = function_new(r, function);
    scope *s = scope_new(r, at.in, function);
    if (n->extended)
        declare(r, s, word(r, "loop"));
    visit_target(r, s, n->a, true);
    visit_all(r, s, &n->body);
    if (n->extended)
        n->loop_ref = own_entry(s, word(r, "loop"))->ref;
    if (reads(r, n->a, "loop", true) ||
        any_reads(r, &n->body, "loop", false) < 0)
        jinja_stop(r, "the special variable `loop` cannot be set in a loop");
    place inside = {.r = r, .in = s, .loop = true};
    resolve_target(inside, n->a);
    resolve_body(inside, &n->body);
    n->enter = s->entries;
    if (!n->more.count)
        return;
    s = scope_new(r, at.in, function);
    visit_all(r, s, &n->more);
    place otherwise = {.r = r, .in = s, .loop = !n->recursive && at.loop};
    resolve_body(otherwise, &n->more);
    n->enter_else = s->entries;
}

/* Macros, and the bodies of call blocks and generation. */
static void
resolve_macro(place at, jinja_node *n)
{
    jinja_run *r = at.r;
    bool own_caller = false, own_kwargs = false, own_varargs = false;
    n->function = function_new(r, at.in->function);
    scope *s = scope_new(r, at.in, n->function);
    for (size_t i = 0; i < n->list.count; i++) {
        const jinja_text *name = n->list.data[i]->name;
        declare(r, s, name);
        own_caller |= jinja_text_is(name, "caller");
        own_kwargs |= jinja_text_is(name, "kwargs");
        own_varargs |= jinja_text_is(name, "varargs");
    }
    visit_all(r, s, &n->more);
    visit_all(r, s, &n->body);
    n->takes_caller =
        any_reads(r, &n->body, "caller", false) == 1 && !own_caller;
    n->takes_kwargs =
        any_reads(r, &n->body, "kwargs", false) == 1 && !own_kwargs;
    n->takes_varargs =
        any_reads(r, &n->body, "varargs", false) == 1 && !own_varargs;
    if (n->takes_caller)
        declare(r, s, word(r, "caller"));
    if (n->takes_kwargs)
        declare(r, s, word(r, "kwargs"));
    if (n->takes_varargs)
        declare(r, s, word(r, "varargs"));
    place inside = {.r = r, .in = s};
    for (size_t i = 0; i < n->list.count; i++)
        resolve_target(inside, n->list.data[i]);
    resolve_all(inside, &n->more);
    resolve_body(inside, &n->body);
    n->enter = s->entries;
    if (n->takes_caller)
        n->caller_ref = own_entry(s, word(r, "caller"))->ref;
    if (n->takes_kwargs)
        n->kwargs_ref = own_entry(s, word(r, "kwargs"))->ref;
    if (n->takes_varargs)
        n->varargs_ref = own_entry(s, word(r, "varargs"))->ref;
}

/* Filter blocks, blocks that are set, `with`: scopes of the same function. */
static void
resolve_block(place at, jinja_node *n)
{
    scope *s = scope_new(at.r, at.in, at.in->function);
    if (n->op == JINJA_WITH)
        for (size_t i = 0; i < n->list.count; i++)
            visit_target(at.r, s, n->list.data[i], true);
    visit_all(at.r, s, &n->body);
    if (n->op != JINJA_WITH && n->b)
        visit(at.r, s, n->b);
    place inside = {.r = at.r, .in = s, .loop = at.loop};
    if (n->op == JINJA_WITH) {
        resolve_all(at, &n->more);
        for (size_t i = 0; i < n->list.count; i++)
            resolve_target(inside, n->list.data[i]);
    } else if (n->b) {
        resolve(inside, n->b);
    }
    resolve_body(inside, &n->body);
    n->enter = s->entries;
}

static void
resolve_if(place at, jinja_node *n)
{
    at.soft = true;
    resolve(at, n->a);
    resolve_body(at, &n->body);
    resolve_all(at, &n->list);
    resolve_body(at, &n->more);
}

static void
resolve_expression(place at, jinja_node *n)
{
    jinja_node *parts[] = {n->a, n->b, n->c, n->dyn_args, n->dyn_kwargs};
    if (n->op == JINJA_NAME)
        resolve_name(at, n);
    if (n->op == JINJA_FILTER || n->op == JINJA_TEST)
        resolve_builtin(at, n);
    at.soft |= n->op == JINJA_COND;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i])
            resolve(at, parts[i]);
    resolve_all(at, &n->list);
    resolve_all(at, &n->more);
}

static void
resolve(place at, jinja_node *n)
{
    jinja_enter(at.r);
    at.r->at = n->at;
    switch (n->op) {
    case JINJA_IF:
        resolve_if(at, n);
        break;
    case JINJA_FOR:
        resolve_for(at, n);
        break;
    case JINJA_SET:
        resolve(at, n->b);
        resolve_target(at, n->a);
        break;
    case JINJA_MACRO_OF:
        resolve_target(at, n->a);
        resolve_macro(at, n);
        break;
    case JINJA_CALL_BLOCK:
        resolve(at, n->b);
        resolve_macro(at, n);
        break;
    case JINJA_GENERATION:
        resolve_macro(at, n);
        break;
    case JINJA_SET_BLOCK:
        resolve_target(at, n->a);
        resolve_block(at, n);
        break;
    case JINJA_FILTER_BLOCK:
    case JINJA_WITH:
        resolve_block(at, n);
        break;
    case JINJA_BREAK:
    case JINJA_CONTINUE:
        if (!at.loop)
            jinja_stop(at.r, "`%s` stands in no loop",
                       n->op == JINJA_BREAK ? "break" : "continue");
        break;
    default:
        resolve_expression(at, n);
    }
    jinja_leave(at.r);
}

static void
resolve_body(place at, const jinja_nodes *body)
{
    resolve_all(at, body);
}

void
jinja_resolve(jinja_run *r, rlf_jinja *jinja)
{
    jinja->function = function_new(r, NULL);
    scope *s = scope_new(r, NULL, jinja->function);
    visit_all(r, s, &jinja->body);
    place at = {.r = r, .in = s};
    resolve_body(at, &jinja->body);
    jinja->enter = s->entries;
}

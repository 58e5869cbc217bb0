/* The library's formulas against tests/oracle/formulas.json: the text of each
 * definition as it stands in stdlib/ is expanded here, by a reader of its own,
 * into an expression program; values and gradients must be the oracle's. */
#include "grammar/parse.h"
#include "kernels/expr.h"
#include "tests/tap.h"

#include <jansson.h>

enum { BATCH = 1, ROLL, TOKENS };

typedef struct env {
    const struct env *outer; /* names of the def's block, then its formals */
    const char *name;
    int op; /* -1: the set */
} env;

static rlf_arena *arena;
static rlf_sources sources;
static rlf_diags diags;
static rlf_domains domains;
static rlf_ast_program *files[8];
static int n_files;
static const rlf_ast_decl *covered[512]; /* definitions that a case expanded */
static size_t n_covered;
static rlf_space prompts, rows, tokens;
static json_t *oracle;
static const rlf_span nowhere;

/* ---- reading ---- */

static rlf_ast_program *
parse(uint32_t source)
{
    rlf_ast_program *p = rlf_parse(&sources, source, arena, &diags);
    if (diags.errors) {
        rlf_buf text = {0};
        rlf_diags_print(&diags, &text);
        bail("%s", text.p);
    }
    return p;
}

static void
read_library(void)
{
    static const char *const names[] = {"advantage", "loss", "reward"};
    const char *dir = getenv("RLFLOW_STDLIB");
    for (size_t i = 0; i < RLF_COUNT(names); i++) {
        const char *path = rlf_arena_printf(arena, "%s/%s.rlf",
                                            dir ? dir : "stdlib", names[i]);
        rlf_err err = RLF_ERR_NONE;
        uint32_t source = 0;
        if (rlf_sources_read(&sources, path, &err, &source) != RLF_OK)
            bail("%s", err.sentence);
        files[n_files++] = parse(source);
    }
}

static const rlf_ast_decl *
find_def(const char *name)
{
    for (int f = 0; f < n_files; f++)
        for (size_t i = 0; i < files[f]->decls.count; i++) {
            const rlf_ast_decl *d = files[f]->decls.data[i];
            if (d->kind == RLF_AST_DEF && strcmp(d->name.text, name) == 0)
                return d;
        }
    return NULL;
}

/* ---- expanding ---- */

static int expand(rlf_expr *e, const rlf_ast_expr *x, const env *names);

static int
point(rlf_expr *e, rlf_expr_code code, int a, int b, int c)
{
    return rlf_expr_pointwise(e, code, a, b, c, nowhere);
}

static const struct {
    const char *name;
    rlf_expr_code code;
} functions[] = {
    {"exp", RLF_EXPR_EXP},
    {"log", RLF_EXPR_LOG},
    {"sqrt", RLF_EXPR_SQRT},
    {"abs", RLF_EXPR_ABS},
    {"min", RLF_EXPR_MIN},
    {"max", RLF_EXPR_MAX},
    {"clamp", RLF_EXPR_CLAMP},
    {"sigmoid", RLF_EXPR_SIGMOID},
    {"sg", RLF_EXPR_SG},
    {"log_sigmoid", RLF_EXPR_LOG_SIGMOID},
    {"sum", RLF_EXPR_SUM},
    {"mean", RLF_EXPR_MEAN},
    {"std", RLF_EXPR_STD},
    {"var", RLF_EXPR_VAR},
    {"count", RLF_EXPR_COUNT},
    {"rank", RLF_EXPR_RANK},
    {"discount", RLF_EXPR_DISCOUNT},
    {"next", RLF_EXPR_NEXT},
};

static bool
is_covered(const rlf_ast_decl *def)
{
    for (size_t i = 0; i < n_covered; i++)
        if (covered[i] == def)
            return true;
    return false;
}

static int
expand_def(rlf_expr *e, const rlf_ast_decl *def, const rlf_ast_args *args,
           const env *names)
{
    env scope[24];
    const env *inner = NULL;
    if (!is_covered(def) && n_covered < RLF_COUNT(covered))
        covered[n_covered++] = def;
    size_t n = def->formals ? def->formals->count : 0, made = 0;
    for (size_t i = 0; i < n; i++) {
        const rlf_ast_formal *formal = &def->formals->data[i];
        const rlf_ast_expr *given = NULL;
        for (size_t k = 0; args && k < args->count; k++) {
            const rlf_ast_arg *a = &args->data[k];
            if (a->label.text ? strcmp(a->label.text, formal->name.text) == 0
                              : k == i)
                given = a->value;
        }
        if (!given && !formal->value)
            bail("%s: no argument %s", def->name.text, formal->name.text);
        bool set = formal->word.text && strcmp(formal->word.text, "set") == 0;
        int op = set     ? -1
                 : given ? expand(e, given, names)
                         : expand(e, formal->value, NULL);
        scope[made] = (env){inner, formal->name.text, op};
        inner = &scope[made++];
    }
    for (size_t i = 0; i < def->body->stmts.count; i++) {
        const rlf_ast_stmt *s = def->body->stmts.data[i];
        int op = expand(e, s->value, inner);
        if (s->kind != RLF_AST_LET)
            return op;
        scope[made] = (env){inner, s->name.text, op};
        inner = &scope[made++];
    }
    bail("%s has no value", def->name.text);
    return -1;
}

/* sum(x over tokens) and the like. A value per word is one per token here: the
 * programs over vocab of a run (rlf_vocab_program) have the same domains. */
static int
expand_over(rlf_expr *e, rlf_expr_code code, int x, const char *over)
{
    int domain = strcmp(over, "batch") == 0   ? 0
                 : strcmp(over, "group") == 0 ? BATCH
                                              : ROLL;
    rlf_expr_op op = {.code = code, .domain = domain, .arg = {x, -1, -1}};
    if (code == RLF_EXPR_RANK) {
        op.domain = e->ops.data[x].domain;
        op.over = domain;
    }
    return rlf_expr_add(e, op);
}

static int
expand_call(rlf_expr *e, const rlf_ast_expr *x, const env *names)
{
    if (x->left->kind == RLF_AST_FIELD) { /* roll.at_all(...) */
        if (strcmp(x->left->name.text, "at_all") != 0)
            bail("unknown method %s", x->left->name.text);
        return rlf_expr_down(e, expand(e, x->args->data[0].value, names),
                             TOKENS);
    }
    const char *name = x->left->name.text;
    const rlf_ast_decl *def = find_def(name);
    if (def)
        return expand_def(e, def, x->args, names);
    rlf_expr_code code = RLF_EXPR_CODES;
    for (size_t i = 0; i < RLF_COUNT(functions); i++)
        if (strcmp(functions[i].name, name) == 0)
            code = functions[i].code;
    if (code == RLF_EXPR_CODES)
        bail("unknown function %s", name);
    int a[3] = {-1, -1, -1};
    for (size_t i = 0; i < x->args->count; i++)
        a[i] = expand(e, x->args->data[i].value, names);
    if (x->args->data[0].over.text)
        return expand_over(e, code, a[0], x->args->data[0].over.text);
    if (code != RLF_EXPR_DISCOUNT && code != RLF_EXPR_NEXT)
        return point(e, code, a[0], a[1], a[2]);
    if (a[1] < 0)
        a[1] = rlf_expr_constant(e, 0, nowhere);
    rlf_expr_op op = {.code = code, .domain = TOKENS, .arg = {-1, -1, -1}};
    for (int k = 0; k < 2; k++)
        op.arg[k] = rlf_expr_down(e, a[k], TOKENS);
    return rlf_expr_add(e, op);
}

static int
expand_binary(rlf_expr *e, const rlf_ast_expr *x, const env *names)
{
    static const struct {
        rlf_expr_code code;
        bool turned;
    } codes[RLF_AST_OPS] = {
        [RLF_AST_OR] = {RLF_EXPR_OR, false},
        [RLF_AST_AND] = {RLF_EXPR_AND, false},
        [RLF_AST_LT] = {RLF_EXPR_LT, false},
        [RLF_AST_LE] = {RLF_EXPR_LE, false},
        [RLF_AST_GT] = {RLF_EXPR_LT, true},
        [RLF_AST_GE] = {RLF_EXPR_LE, true},
        [RLF_AST_EQ] = {RLF_EXPR_EQ, false},
        [RLF_AST_NE] = {RLF_EXPR_NE, false},
        [RLF_AST_ADD] = {RLF_EXPR_ADD, false},
        [RLF_AST_SUB] = {RLF_EXPR_SUB, false},
        [RLF_AST_MUL] = {RLF_EXPR_MUL, false},
        [RLF_AST_DIV] = {RLF_EXPR_DIV, false},
        [RLF_AST_MOD] = {RLF_EXPR_MOD, false},
        [RLF_AST_POW] = {RLF_EXPR_POW, false},
    };
    int a = expand(e, x->left, names), b = expand(e, x->right, names);
    bool turned = codes[x->op].turned;
    return point(e, codes[x->op].code, turned ? b : a, turned ? a : b, -1);
}

static int
expand_name(rlf_expr *e, const char *name, const env *names)
{
    for (; names; names = names->outer)
        if (strcmp(names->name, name) == 0)
            return names->op;
    for (size_t i = 0; i < e->inputs.count; i++)
        if (strcmp(e->inputs.data[i].name, name) == 0)
            return rlf_expr_input_op(e, (int)i, nowhere);
    if (strcmp(name, "roll") != 0)
        bail("unknown name %s", name);
    return -1;
}

static int
expand(rlf_expr *e, const rlf_ast_expr *x, const env *names)
{
    switch (x->kind) {
    case RLF_AST_NUMBER:
        return rlf_expr_constant(e, x->number, nowhere);
    case RLF_AST_NAME:
        return expand_name(e, x->name.text, names);
    case RLF_AST_CALL:
        return expand_call(e, x, names);
    case RLF_AST_UNARY:
        return point(e, x->op == RLF_AST_NOT ? RLF_EXPR_NOT : RLF_EXPR_NEG,
                     expand(e, x->left, names), -1, -1);
    case RLF_AST_BINARY:
        return expand_binary(e, x, names);
    case RLF_AST_CHOICE: {
        int a = expand(e, x->left, names), b = expand(e, x->right, names);
        return point(e, RLF_EXPR_SELECT, a, b, expand(e, x->other, names));
    }
    default:
        bail("an expression that no formula needs");
        return -1;
    }
}

/* The operation that the text `call` stands for. */
static int
expand_text(rlf_expr *e, const char *call)
{
    const char *text = rlf_arena_printf(arena, "def it() = %s\n", call);
    uint32_t source = rlf_sources_add(&sources, call, text, strlen(text));
    const rlf_ast_program *p = parse(source);
    return expand(e, p->decls.data[0]->body->stmts.data[0]->value, NULL);
}

/* ---- columns ---- */

static const rlf_space *
space_of(int domain)
{
    return domain == TOKENS ? &tokens : domain == ROLL ? &rows : NULL;
}

static size_t
extent_of(int domain)
{
    return domain == TOKENS ? tokens.extent : domain == ROLL ? rows.count : 1;
}

/* Numbers from JSON: one, a list, or a list of lists, one after another. */
static void
read_numbers(const json_t *from, double *to, size_t *n)
{
    if (json_is_number(from))
        to[(*n)++] = json_number_value(from);
    for (size_t i = 0; i < json_array_size(from); i++)
        read_numbers(json_array_get(from, i), to, n);
}

static double *
numbers_of(const json_t *from, int domain)
{
    double *x = RLF_NEW_ARRAY(arena, double, extent_of(domain));
    size_t n = 0;
    read_numbers(from, x, &n);
    if (n != extent_of(domain))
        bail("the oracle has %zu numbers where %zu belong", n,
             extent_of(domain));
    return x;
}

static void
make_world(void)
{
    rlf_domains_init(&domains, arena);
    rlf_domain d = {.kind = RLF_DOMAIN_ROWS, .name = "batch", .owner = -1};
    rlf_domains_add(&domains, d);
    d = (rlf_domain){.kind = RLF_DOMAIN_ROWS, .name = "roll", .owner = BATCH};
    rlf_domains_add(&domains, d);
    d = (rlf_domain){
        .kind = RLF_DOMAIN_TOKENS, .name = "tokens", .owner = ROLL};
    rlf_domains_add(&domains, d);
    const json_t *group = json_object_get(oracle, "group");
    const json_t *lengths = json_object_get(oracle, "lengths");
    uint32_t n = (uint32_t)json_array_size(group);
    uint32_t *of = RLF_NEW_ARRAY(arena, uint32_t, n);
    uint32_t *length = RLF_NEW_ARRAY(arena, uint32_t, n);
    uint64_t *offset = RLF_NEW_ARRAY(arena, uint64_t, n), at = 0;
    for (uint32_t i = 0; i < n; i++) {
        of[i] = (uint32_t)json_integer_value(json_array_get(group, i));
        length[i] = (uint32_t)json_integer_value(json_array_get(lengths, i));
        offset[i] = at;
        at += length[i];
    }
    prompts = (rlf_space){.domain = BATCH, .count = of[n - 1] + 1};
    rows = (rlf_space){.domain = ROLL, .count = n, .up = {{&prompts, of}}};
    tokens = (rlf_space){.domain = TOKENS,
                         .count = n,
                         .up = {{&rows, NULL}},
                         .offset = offset,
                         .length = length,
                         .extent = at};
}

/* A program with all the oracle's columns as inputs. */
static rlf_expr *
program(const char *live, rlf_column *in)
{
    static const struct {
        const char *key;
        int domain;
    } kinds[] = {{"tokens", TOKENS}, {"samples", ROLL}};
    rlf_expr *e = rlf_expr_new(arena, &domains);
    for (int k = 0; k < 2; k++) {
        const char *name;
        json_t *column;
        json_object_foreach(json_object_get(oracle, kinds[k].key), name, column)
        {
            rlf_expr_input input = {.name = name, .domain = kinds[k].domain};
            input.live = live && strcmp(live, name) == 0;
            int i = rlf_expr_add_input(e, input);
            in[i] = (rlf_column){.space = space_of(input.domain),
                                 .number = numbers_of(column, input.domain)};
        }
    }
    return e;
}

/* ---- the check ---- */

/* The largest difference, relative above 1. */
static double
difference(const double *got, const json_t *want, int domain)
{
    const double *w = numbers_of(want, domain);
    double worst = 0;
    for (size_t i = 0; i < extent_of(domain); i++) {
        double d = fabs(got[i] - w[i]) / fmax(1, fabs(w[i]));
        worst = d <= worst ? worst : isnan(d) ? (double)INFINITY : d;
    }
    return worst;
}

static void
run(const rlf_expr *e, const rlf_column *in, rlf_column *out)
{
    const rlf_expr_plan *plan;
    rlf_err err = RLF_ERR_NONE;
    for (size_t i = 0; i < e->outputs.count; i++) {
        int domain = e->ops.data[e->outputs.data[i].op].domain;
        out[i] = (rlf_column){
            .space = space_of(domain),
            .number = RLF_NEW_ARRAY(arena, double, extent_of(domain))};
    }
    rlf_expr_bind bind = {.inputs = in, .outputs = out};
    if (rlf_expr_plan_new(e, arena, &err, &plan) != RLF_OK ||
        rlf_expr_run(plan, NULL, &bind, &err) != RLF_OK)
        bail("%s", err.sentence);
}

/* Each definition has a case, by itself or by another that uses it. */
static void
check_all_covered(void)
{
    for (int f = 0; f < n_files; f++)
        for (size_t i = 0; i < files[f]->decls.count; i++) {
            const rlf_ast_decl *d = files[f]->decls.data[i];
            if (d->kind == RLF_AST_DEF && !is_covered(d))
                ok(false, "%s has a case in tests/oracle/formulas.py",
                   d->name.text);
        }
}

static void
check(const json_t *c)
{
    const char *call = json_string_value(json_object_get(c, "call"));
    const char *level = json_string_value(json_object_get(c, "level"));
    const char *live = json_string_value(json_object_get(c, "live"));
    int domain = strcmp(level, "token") == 0    ? TOKENS
                 : strcmp(level, "sample") == 0 ? ROLL
                                                : 0;
    rlf_column in[32], out[4];
    rlf_expr *e = program(live, in);
    int y = expand_text(e, call);
    rlf_expr_add_output(e, "value", rlf_expr_down(e, y, domain));
    if (!live) {
        run(e, in, out);
        near(difference(out[0].number, json_object_get(c, "value"), domain), 0,
             1e-12, call);
        return;
    }
    const char *loss = json_string_value(json_object_get(c, "loss"));
    rlf_expr_add_output(e, "loss", expand_text(e, loss));
    rlf_derivative *d = rlf_expr_derive(e, 1, arena);
    run(d->expr, in, out);
    near(difference(out[0].number, json_object_get(c, "value"), domain), 0,
         1e-12, call);
    near(difference(out[2].number, json_object_get(c, "gradient"),
                    d->expr->ops.data[d->expr->outputs.data[2].op].domain),
         0, 1e-12, rlf_arena_printf(arena, "gradient of %s", loss));
}

int
main(void)
{
    arena = rlf_arena_new();
    sources = (rlf_sources){.arena = arena};
    diags = (rlf_diags){.arena = arena, .sources = &sources};
    const char *root = getenv("RLFLOW_SOURCE");
    const char *path = rlf_arena_printf(arena, "%s/tests/oracle/formulas.json",
                                        root ? root : ".");
    json_error_t why;
    oracle = json_load_file(path, 0, &why);
    if (!oracle)
        bail("%s:%d: %s", path, why.line, why.text);
    make_world();
    read_library();
    json_t *cases = json_object_get(oracle, "cases");
    size_t i;
    json_t *c;
    json_array_foreach(cases, i, c) check(c);
    check_all_covered();
    json_decref(oracle);
    rlf_arena_free(arena);
    return done();
}

/* Constructors of the syntax tree: spans, numbers, strings, doc comments. */
#include "grammar/ast.h"

#include "grammar/literal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const ops[] = {
#define OP(name, text) text,
#include "grammar/op.def"
#undef OP
};

const char *
rlf_ast_op_text(rlf_ast_op op)
{
    return ops[op];
}

const char *
rlf_ast_decl_word(rlf_ast_decl_kind kind)
{
    static const char *const words[RLF_AST_DECLS] = {
        [RLF_AST_IMPORT] = "import",   [RLF_AST_PARAM] = "param",
        [RLF_AST_DATA] = "data",       [RLF_AST_MODEL] = "model",
        [RLF_AST_HOOK] = "hook",       [RLF_AST_STATE] = "state",
        [RLF_AST_DEF] = "def",         [RLF_AST_FLOW] = "flow",
        [RLF_AST_PLACE] = "place",     [RLF_AST_DEVICE] = "device",
        [RLF_AST_MACHINE] = "machine", [RLF_AST_CLUSTER] = "cluster",
    };
    return words[kind];
}

/* ---- expressions ---- */

static int
depth_of(const rlf_ast_expr *e)
{
    return e ? e->depth : 0;
}

static void
deepen(rlf_ast_expr *e, const rlf_ast_expr *part)
{
    if (depth_of(part) >= e->depth)
        e->depth = depth_of(part) + 1;
}

/* A node of these parts; refused if that nests too deeply. */
static rlf_ast_expr *
expr_new(rlf_ast_maker *m, rlf_ast_expr_kind kind, rlf_span span,
         rlf_ast_expr *left, rlf_ast_expr *right, rlf_ast_expr *other)
{
    rlf_ast_expr *e = RLF_NEW(m->arena, rlf_ast_expr);
    e->kind = kind;
    e->span = e->at = span;
    e->depth = 1;
    e->left = left;
    e->right = right;
    e->other = other;
    deepen(e, left);
    deepen(e, right);
    deepen(e, other);
    return e;
}

static rlf_ast_expr *
checked(rlf_ast_maker *m, rlf_ast_expr *e)
{
    if (e->depth <= RLF_AST_DEPTH)
        return e;
    rlf_diag *diag = rlf_diag_error(m->diags, "syntax", e->at,
                                    "this expression has more than %d levels",
                                    RLF_AST_DEPTH);
    rlf_diag_hint(m->diags, diag, "give parts of it names of their own");
    return expr_new(m, RLF_AST_BROKEN, e->span, NULL, NULL, NULL);
}

static void
deepen_args(rlf_ast_expr *e, rlf_ast_args *args)
{
    e->args = args;
    for (size_t i = 0; args && i < args->count; i++)
        deepen(e, args->data[i].value);
}

rlf_ast_expr *
rlf_ast_expr_name(rlf_ast_maker *m, rlf_ast_name name)
{
    rlf_ast_expr *e = expr_new(m, RLF_AST_NAME, name.span, NULL, NULL, NULL);
    e->name = name;
    return e;
}

rlf_ast_expr *
rlf_ast_expr_number(rlf_ast_maker *m, rlf_span span)
{
    rlf_ast_expr *e = expr_new(m, RLF_AST_NUMBER, span, NULL, NULL, NULL);
    size_t n = span.last - span.first;
    e->name.span = span;
    e->name.text = rlf_arena_strndup(m->arena, m->text + span.first, n);
    switch (rlf_literal_read(e->name.text, false, &e->number, &e->unit)) {
    case RLF_LITERAL_LARGE:
        rlf_diag_error(m->diags, "syntax", span, "this number is too large");
        break;
    case RLF_LITERAL_SMALL:
        rlf_diag_hint(m->diags,
                      rlf_diag_error(m->diags, "syntax", span,
                                     "this number is too small"),
                      "it would be 0: write 0 if that is meant");
        break;
    case RLF_LITERAL_ROUND:
        e->rounded = true;
        break;
    case RLF_LITERAL_FORM: /* the scanner has seen that it is one */
    case RLF_LITERAL_FINE:
        break;
    }
    return e;
}

rlf_ast_expr *
rlf_ast_expr_truth(rlf_ast_maker *m, rlf_span span, bool value)
{
    rlf_ast_expr *e = expr_new(m, RLF_AST_TRUTH, span, NULL, NULL, NULL);
    e->number = value;
    return e;
}

/* ---- strings ---- */

static void
add_utf8(rlf_buf *out, unsigned long c)
{
    char bytes[4];
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = n; i-- > 1; c >>= 6)
        bytes[i] = (char)(0x80 | (c & 0x3f));
    bytes[0] = (char)(lead[n] | c);
    rlf_buf_add(out, bytes, n);
}

/* `u{1F600}` at p: its end, or NULL. */
static const char *
unicode(const char *p, const char *end, rlf_buf *out)
{
    unsigned long c = 0;
    if (end - p < 4 || p[1] != '{')
        return NULL;
    int digits = 0;
    for (p += 2; p < end && *p != '}'; p++, digits++) {
        const char *hex = "0123456789abcdef0123456789ABCDEF";
        const char *digit = *p ? strchr(hex, *p) : NULL;
        if (!digit || digits == 6)
            return NULL;
        c = c * 16 + (unsigned long)((digit - hex) % 16);
    }
    if (p == end || !digits || !c || c > 0x10ffff ||
        (c >= 0xd800 && c < 0xe000))
        return NULL;
    add_utf8(out, c);
    return p + 1;
}

/* Carry out the escape after the backslash at p - 1; where it ends, or NULL.
 */
static const char *
escape(const char *p, const char *end, rlf_buf *out)
{
    static const char names[] = "ntr\"\\", bytes[] = "\n\t\r\"\\";
    const char *at = strchr(names, *p);
    if (*p == 'u')
        return unicode(p, end, out);
    if (!*p || !at)
        return NULL;
    rlf_buf_putc(out, bytes[at - names]);
    return p + 1;
}

static void
bad_escape(rlf_ast_maker *m, rlf_span span, const char *p)
{
    rlf_span at = {span.source, (uint32_t)(p - m->text) - 1,
                   (uint32_t)(p - m->text) + 1, 0};
    rlf_diag *diag =
        rlf_diag_error(m->diags, "syntax", at, "unknown escape in a string");
    rlf_diag_hint(m->diags, diag,
                  "there are \\n \\t \\r \\\" \\\\ and \\u{1F600}");
}

rlf_ast_expr *
rlf_ast_expr_string(rlf_ast_maker *m, rlf_span span)
{
    rlf_ast_expr *e = expr_new(m, RLF_AST_STRING, span, NULL, NULL, NULL);
    const char *p = m->text + span.first + 1;
    const char *end = m->text + span.last - 1;
    rlf_buf out = {0};
    while (p < end) {
        if (*p != '\\') {
            rlf_buf_putc(&out, *p++);
            continue;
        }
        const char *next = escape(p + 1, end, &out);
        if (!next) {
            bad_escape(m, span, p + 1);
            next = p + 2;
        }
        p = next;
    }
    e->string.p = rlf_arena_strndup(m->arena, out.p ? out.p : "", out.n);
    e->string.n = out.n;
    rlf_buf_free(&out);
    return e;
}

/* ---- composed expressions ---- */

rlf_ast_expr *
rlf_ast_expr_list(rlf_ast_maker *m, rlf_span span, rlf_ast_args *args)
{
    rlf_ast_expr *e = expr_new(m, RLF_AST_LIST, span, NULL, NULL, NULL);
    deepen_args(e, args);
    return checked(m, e);
}

rlf_ast_expr *
rlf_ast_expr_field(rlf_ast_maker *m, rlf_ast_expr *left, rlf_ast_name name)
{
    rlf_span span = rlf_span_join(left->span, name.span);
    rlf_ast_expr *e = expr_new(m, RLF_AST_FIELD, span, left, NULL, NULL);
    e->at = name.span;
    e->name = name;
    return checked(m, e);
}

rlf_ast_expr *
rlf_ast_expr_apply(rlf_ast_maker *m, rlf_ast_expr_kind kind, rlf_ast_expr *left,
                   rlf_ast_args *args, rlf_span last)
{
    rlf_span span = rlf_span_join(left->span, last);
    rlf_ast_expr *e = expr_new(m, kind, span, left, NULL, NULL);
    e->at = left->at;
    deepen_args(e, args);
    return checked(m, e);
}

rlf_ast_expr *
rlf_ast_expr_unary(rlf_ast_maker *m, rlf_ast_op op, rlf_span at,
                   rlf_ast_expr *left)
{
    rlf_span span = rlf_span_join(at, left->span);
    rlf_ast_expr *e = expr_new(m, RLF_AST_UNARY, span, left, NULL, NULL);
    e->at = at;
    e->op = op;
    return checked(m, e);
}

rlf_ast_expr *
rlf_ast_expr_binary(rlf_ast_maker *m, rlf_ast_op op, rlf_span at,
                    rlf_ast_expr *left, rlf_ast_expr *right)
{
    rlf_span span = rlf_span_join(left->span, right->span);
    rlf_ast_expr *e = expr_new(m, RLF_AST_BINARY, span, left, right, NULL);
    e->at = at;
    e->op = op;
    return checked(m, e);
}

rlf_ast_expr *
rlf_ast_expr_choice(rlf_ast_maker *m, rlf_span at, rlf_ast_expr *left,
                    rlf_ast_expr *right, rlf_ast_expr *other)
{
    rlf_span span = rlf_span_join(left->span, other->span);
    rlf_ast_expr *e = expr_new(m, RLF_AST_CHOICE, span, left, right, other);
    e->at = at;
    return checked(m, e);
}

rlf_ast_expr *
rlf_ast_expr_paren(rlf_ast_expr *e, rlf_span span)
{
    e->paren = true;
    e->span = span;
    return e;
}

/* ---- lists ---- */

rlf_ast_args *
rlf_ast_args_add(rlf_ast_maker *m, rlf_ast_args *list, rlf_ast_arg arg)
{
    if (!list)
        list = RLF_NEW(m->arena, rlf_ast_args);
    RLF_PUSH_IN(m->arena, list, arg);
    return list;
}

rlf_ast_binds *
rlf_ast_binds_add(rlf_ast_maker *m, rlf_ast_binds *list, rlf_ast_name name,
                  rlf_ast_expr *value)
{
    if (!list)
        list = RLF_NEW(m->arena, rlf_ast_binds);
    RLF_PUSH_IN(m->arena, list, (rlf_ast_bind){name, value});
    return list;
}

rlf_ast_formals *
rlf_ast_formals_add(rlf_ast_maker *m, rlf_ast_formals *list,
                    rlf_ast_formal formal)
{
    if (!list)
        list = RLF_NEW(m->arena, rlf_ast_formals);
    RLF_PUSH_IN(m->arena, list, formal);
    return list;
}

rlf_ast_ranks *
rlf_ast_ranks_add(rlf_ast_maker *m, rlf_ast_ranks *list, rlf_ast_rank rank)
{
    if (!list)
        list = RLF_NEW(m->arena, rlf_ast_ranks);
    RLF_PUSH_IN(m->arena, list, rank);
    return list;
}

rlf_ast_rows *
rlf_ast_rows_add(rlf_ast_maker *m, rlf_ast_rows *list, rlf_ast_row row)
{
    if (!list)
        list = RLF_NEW(m->arena, rlf_ast_rows);
    if (row.model.text)
        RLF_PUSH_IN(m->arena, list, row);
    return list;
}

rlf_ast_block *
rlf_ast_block_add(rlf_ast_maker *m, rlf_ast_block *block, rlf_ast_stmt *stmt)
{
    if (!block)
        block = RLF_NEW(m->arena, rlf_ast_block);
    if (stmt)
        RLF_PUSH_IN(m->arena, &block->stmts, stmt);
    return block;
}

rlf_ast_block *
rlf_ast_block_brief(rlf_ast_maker *m, rlf_ast_stmt *stmt)
{
    rlf_ast_block *block = rlf_ast_block_add(m, NULL, stmt);
    block->brief = true;
    block->span = stmt->span;
    return block;
}

rlf_ast_stmt *
rlf_ast_stmt_new(rlf_ast_maker *m, rlf_ast_stmt_kind kind, rlf_span span,
                 rlf_ast_expr *value)
{
    rlf_ast_stmt *stmt = RLF_NEW(m->arena, rlf_ast_stmt);
    stmt->kind = kind;
    stmt->span = span;
    stmt->value = value;
    return stmt;
}

rlf_ast_decl *
rlf_ast_decl_new(rlf_ast_maker *m, rlf_ast_decl_kind kind, rlf_span span,
                 rlf_ast_name name, rlf_ast_expr *value)
{
    rlf_ast_decl *decl = RLF_NEW(m->arena, rlf_ast_decl);
    decl->kind = kind;
    decl->span = span;
    decl->name = name;
    decl->value = value;
    return decl;
}

/* ---- doc comments ---- */

/* Is there nothing but one line's end between these offsets? */
static bool
adjacent(const char *text, uint32_t first, uint32_t last)
{
    int lines = 0;
    for (uint32_t i = first; i < last; i++) {
        if (!strchr(" \t\r\n", text[i]))
            return false;
        lines += text[i] == '\n';
    }
    return lines == 1;
}

/* Comment i's run of `##` lines, as one text; *next: the comment after it. */
static const char *
doc_run(rlf_ast_maker *m, const rlf_ast_program *program, size_t i,
        size_t *next)
{
    const rlf_ast_comment *c = program->comments.data;
    rlf_buf out = {0};
    size_t from = i;
    for (; i < program->comments.count && c[i].doc; i++) {
        if (i > from && !adjacent(m->text, c[i - 1].span.last, c[i].span.first))
            break;
        const char *p = m->text + c[i].span.first;
        const char *end = m->text + c[i].span.last;
        while (p < end && *p == '#')
            p++;
        if (p < end && *p == ' ')
            p++;
        if (i > from)
            rlf_buf_putc(&out, '\n');
        rlf_buf_add(&out, p, (size_t)(end - p));
    }
    *next = i;
    const char *text = rlf_arena_strndup(m->arena, out.p ? out.p : "", out.n);
    rlf_buf_free(&out);
    return text;
}

void
rlf_ast_attach_docs(rlf_ast_maker *m, rlf_ast_program *program)
{
    const rlf_ast_comment *c = program->comments.data;
    size_t i = 0, n = program->comments.count;
    uint32_t before = 0; /* where the declaration before ends */
    for (size_t k = 0; k <= program->decls.count; k++) {
        rlf_ast_decl *decl =
            k < program->decls.count ? program->decls.data[k] : NULL;
        uint32_t first = decl ? decl->span.first : UINT32_MAX;
        while (i < n && c[i].span.first < before)
            i++;
        while (i < n && c[i].span.first < first) {
            if (!c[i].doc) {
                i++;
                continue;
            }
            const char *text = doc_run(m, program, i, &i);
            if (!program->doc && !before)
                program->doc = text;
            else if (decl)
                decl->doc = text;
        }
        before = decl ? decl->span.last : before;
    }
}

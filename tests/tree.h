/* The syntax tree as nested lists: (kind part part ...), a statement a line.
 * Two texts mean the same if their trees are equal. */
#ifndef RLF_TESTS_TREE_H
#define RLF_TESTS_TREE_H

#include "grammar/ast.h"

#include <string.h>

static void put_expr(const rlf_ast_expr *expr, rlf_buf *out);

static void
indent(rlf_buf *out, int by)
{
    rlf_buf_printf(out, "\n%*s", 2 * by, "");
}

static void
dump_args(const rlf_ast_args *args, rlf_buf *out)
{
    for (size_t i = 0; args && i < args->count; i++) {
        const rlf_ast_arg *arg = &args->data[i];
        rlf_buf_putc(out, ' ');
        if (arg->label.text)
            rlf_buf_printf(out, "%s: ", arg->label.text);
        if (arg->over.text)
            rlf_buf_puts(out, "(over ");
        put_expr(arg->value, out);
        if (arg->over.text)
            rlf_buf_printf(out, " %s)", arg->over.text);
    }
}

static void
dump_parts(const char *head, const rlf_ast_expr *e, rlf_buf *out)
{
    const rlf_ast_expr *parts[] = {e->left, e->right, e->other};
    rlf_buf_printf(out, "(%s", head);
    for (size_t i = 0; i < RLF_COUNT(parts); i++) {
        if (!parts[i])
            continue;
        rlf_buf_putc(out, ' ');
        put_expr(parts[i], out);
    }
    if (e->kind == RLF_AST_FIELD)
        rlf_buf_printf(out, " %s", e->name.text);
    dump_args(e->args, out);
    rlf_buf_putc(out, ')');
}

static void
put_expr(const rlf_ast_expr *e, rlf_buf *out)
{
    switch (e->kind) {
    case RLF_AST_NAME:
        rlf_buf_puts(out, e->name.text);
        break;
    case RLF_AST_NUMBER:
        rlf_buf_number(out, e->number);
        if (e->unit != RLF_AST_PLAIN)
            rlf_buf_puts(out, e->unit == RLF_AST_TIME ? "s" : "B");
        break;
    case RLF_AST_TRUTH:
        rlf_buf_puts(out, e->number > 0 ? "true" : "false");
        break;
    case RLF_AST_STRING:
        rlf_buf_json(out, e->string.p, e->string.n);
        break;
    case RLF_AST_LIST:
        dump_parts("list", e, out);
        break;
    case RLF_AST_FIELD:
        dump_parts(".", e, out);
        break;
    case RLF_AST_CALL:
        dump_parts("call", e, out);
        break;
    case RLF_AST_INDEX:
        dump_parts("at", e, out);
        break;
    case RLF_AST_UNARY:
        dump_parts(e->op == RLF_AST_NEG ? "neg" : rlf_ast_op_text(e->op), e,
                   out);
        break;
    case RLF_AST_BINARY:
        dump_parts(rlf_ast_op_text(e->op), e, out);
        break;
    case RLF_AST_CHOICE:
        dump_parts("?", e, out);
        break;
    case RLF_AST_BROKEN:
        rlf_buf_puts(out, "(broken)");
        break;
    }
}

static void
dump_binds(const rlf_ast_binds *binds, rlf_buf *out)
{
    for (size_t i = 0; binds && i < binds->count; i++) {
        rlf_buf_printf(out, " (%s ", binds->data[i].name.text);
        put_expr(binds->data[i].value, out);
        rlf_buf_putc(out, ')');
    }
}

static void dump_stmt(const rlf_ast_stmt *stmt, int by, rlf_buf *out);

static void
dump_block(const char *head, const rlf_ast_block *block, int by, rlf_buf *out)
{
    if (!block)
        return;
    indent(out, by);
    rlf_buf_printf(out, "(%s", head);
    for (size_t i = 0; i < block->stmts.count; i++)
        dump_stmt(block->stmts.data[i], by + 1, out);
    rlf_buf_putc(out, ')');
}

static void
dump_stmt(const rlf_ast_stmt *stmt, int by, rlf_buf *out)
{
    static const char *const heads[] = {
        "let",   "set",     "update",     "minimize", "return",
        "keep",  "break",   "checkpoint", "report",   "for",
        "every", "collect", "if",
    };
    indent(out, by);
    rlf_buf_printf(out, "(%s", heads[stmt->kind]);
    if (stmt->name.text && stmt->kind != RLF_AST_EVERY)
        rlf_buf_printf(out, " %s", stmt->name.text);
    if (stmt->value) {
        rlf_buf_putc(out, ' ');
        put_expr(stmt->value, out);
    }
    dump_binds(stmt->binds, out);
    dump_args(stmt->args, out);
    dump_block("do", stmt->body, by + 1, out);
    dump_block("else", stmt->other, by + 1, out);
    rlf_buf_putc(out, ')');
}

static void
dump_formals(const rlf_ast_formals *formals, rlf_buf *out)
{
    for (size_t i = 0; formals && i < formals->count; i++) {
        const rlf_ast_formal *f = &formals->data[i];
        rlf_buf_printf(out, " (%s %s%s%s", f->name.text,
                       f->least.text ? f->least.text : "",
                       f->least.text ? ".." : "",
                       f->word.text ? f->word.text : "-");
        if (f->value) {
            rlf_buf_putc(out, ' ');
            put_expr(f->value, out);
        }
        if (f->low) {
            rlf_buf_puts(out, " (in ");
            put_expr(f->low, out);
            rlf_buf_putc(out, ' ');
            if (f->high)
                put_expr(f->high, out);
            else
                rlf_buf_putc(out, '-');
            rlf_buf_putc(out, ')');
        }
        rlf_buf_putc(out, ')');
    }
}

static void
dump_row(const rlf_ast_row *row, rlf_buf *out)
{
    indent(out, 1);
    rlf_buf_printf(out, "(%s%s%s%s", row->model.text, row->call.text ? "." : "",
                   row->call.text ? row->call.text : "",
                   row->ranks ? " on" : "");
    for (size_t i = 0; row->ranks && i < row->ranks->count; i++) {
        const rlf_ast_rank *rank = &row->ranks->data[i];
        rlf_buf_putc(out, ' ');
        put_expr(rank->first, out);
        if (rank->last) {
            rlf_buf_puts(out, "..");
            put_expr(rank->last, out);
        }
    }
    dump_args(row->args, out);
    rlf_buf_putc(out, ')');
}

static void
dump_decl(const rlf_ast_decl *decl, rlf_buf *out)
{
    rlf_buf_printf(out, "(%s", rlf_ast_decl_word(decl->kind));
    if (decl->name.text)
        rlf_buf_printf(out, " %s", decl->name.text);
    if (decl->word.text)
        rlf_buf_printf(out, " : %s", decl->word.text);
    if (decl->doc) {
        rlf_buf_puts(out, " ## ");
        rlf_buf_json(out, decl->doc, strlen(decl->doc));
    }
    const rlf_ast_expr *parts[] = {decl->value, decl->low, decl->high,
                                   decl->help};
    static const char *const labels[] = {"", "in: ", "to: ", "help: "};
    for (size_t i = 0; i < RLF_COUNT(parts); i++) {
        if (!parts[i])
            continue;
        rlf_buf_printf(out, " %s", labels[i]);
        put_expr(parts[i], out);
    }
    dump_formals(decl->formals, out);
    dump_binds(decl->binds, out);
    dump_block("do", decl->body, 1, out);
    for (size_t i = 0; decl->rows && i < decl->rows->count; i++)
        dump_row(&decl->rows->data[i], out);
    rlf_buf_puts(out, ")\n");
}

static void
put_tree(const rlf_ast_program *program, rlf_buf *out)
{
    if (program->doc) {
        rlf_buf_puts(out, "## ");
        rlf_buf_json(out, program->doc, strlen(program->doc));
        rlf_buf_putc(out, '\n');
    }
    for (size_t i = 0; i < program->decls.count; i++)
        dump_decl(program->decls.data[i], out);
}

#endif

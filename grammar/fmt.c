/* rlf_fmt(): a syntax tree as text in the canonical style.
 *
 * Four columns a level, one space around operators, lines of at most 100
 * columns, one blank line where there were some. Brackets that were written
 * stay. So does what was lined up by hand: the names, signs and help texts of
 * lines that stand one below another, and arguments below the first one.
 * Comments come from the source: one that stands behind a statement stays
 * behind it, any other gets a line of its own before it. */
#include "grammar/parse.h"

#include <string.h>

enum { WIDTH = 100, STEP = 4 };

typedef struct printer {
    rlf_buf *out;
    const char *text; /* the source */
    const rlf_ast_program *program;
    size_t comment; /* the next one to print */
    uint32_t at;    /* how far the source is printed */
    int indent;
    bool first; /* nothing stands before this line in its block */
} printer;

/* ---- what was lined up by hand ---- */

static uint32_t
line_start(const printer *p, uint32_t at)
{
    while (at && p->text[at - 1] != '\n')
        at--;
    return at;
}

/* The sort of words that belong in one column: a sign or a quote as it is,
 * names all the same. */
static char
sort_of(char c)
{
    return strchr("=:\"", c) ? c : 'a';
}

static size_t
indent_of(const printer *p, uint32_t line)
{
    return strspn(p->text + line, " ");
}

/* Does a word like that at `at` start in the same column of the line that
 * starts at `line`, which is indented as much; if `tight`, one space behind
 * another word? */
static bool
starts_word(const printer *p, uint32_t line, uint32_t at, bool tight)
{
    uint32_t mine = line_start(p, at), n = at - mine;
    if (indent_of(p, line) != indent_of(p, mine))
        return false;
    for (uint32_t i = 0; i <= n; i++)
        if (!p->text[line + i] || p->text[line + i] == '\n')
            return false;
    const char *there = p->text + line + n;
    return n > 1 && *there != ' ' && there[-1] == ' ' &&
           sort_of(*there) == sort_of(p->text[at]) &&
           (!tight || there[-2] != ' ');
}

static bool
is_blank(const printer *p, uint32_t line)
{
    char c = p->text[line + indent_of(p, line)];
    return !c || c == '\n';
}

/* Does something start in the same column of another line, with no blank line
 * between the two? */
static bool
lined_up(const printer *p, uint32_t at, bool tight)
{
    for (uint32_t up = line_start(p, at); up > 0;) {
        up = line_start(p, up - 1);
        if (is_blank(p, up))
            break;
        if (starts_word(p, up, at, tight))
            return true;
    }
    for (uint32_t i = at; p->text[i]; i++) {
        if (p->text[i] != '\n')
            continue;
        if (is_blank(p, i + 1))
            break;
        if (starts_word(p, i + 1, at, tight))
            return true;
    }
    return false;
}

/* Spaces from `at` to what comes next: one, or those of the source if that is
 * lined up with something that has one space before it. */
static void
put_gap(printer *p, uint32_t at)
{
    uint32_t next = at;
    while (p->text[next] == ' ')
        next++;
    int n = next > at + 1 && lined_up(p, next, true) ? (int)(next - at) : 1;
    rlf_buf_printf(p->out, "%*s", n, "");
}

static size_t
column(const printer *p)
{
    size_t n = 0;
    while (n < p->out->n && p->out->p[p->out->n - 1 - n] != '\n')
        n++;
    return n;
}

/* Spaces up to the help text at `at`: to its column of the source if it is
 * lined up there, also where what is before it has become shorter; else one. */
static void
put_gap_help(printer *p, uint32_t at)
{
    uint32_t line = line_start(p, at);
    size_t to = at - line - indent_of(p, line) + (size_t)p->indent;
    size_t from = column(p);
    bool far = at > line + 1 && p->text[at - 2] == ' ';
    int n = far && to > from && lined_up(p, at, false) ? (int)(to - from) : 1;
    rlf_buf_printf(p->out, "%*s", n, "");
}

/* Does what is at `at` start a line of the source, right below `first`? */
static bool
is_below(const printer *p, uint32_t first, uint32_t at)
{
    uint32_t line = at;
    while (line && p->text[line - 1] == ' ')
        line--;
    return line > first && p->text[line - 1] == '\n' &&
           at - line == first - line_start(p, first);
}

static bool
any_below(const printer *p, const rlf_ast_args *args)
{
    for (size_t i = 1; args && i < args->count; i++)
        if (is_below(p, args->data[0].span.first, args->data[i].span.first))
            return true;
    return false;
}

/* ---- expressions ---- */

static void
put_string(rlf_buf *out, rlf_str s)
{
    static const char bytes[] = "\n\t\r\"\\", names[] = "ntr\"\\";
    rlf_buf_putc(out, '"');
    for (size_t i = 0; i < s.n; i++) {
        const char *at = s.p[i] ? strchr(bytes, s.p[i]) : NULL;
        if (at)
            rlf_buf_putc(out, '\\');
        rlf_buf_putc(out, at ? names[at - bytes] : s.p[i]);
    }
    rlf_buf_putc(out, '"');
}

static void flat(rlf_buf *out, const rlf_ast_expr *e);

static void
flat_arg(rlf_buf *out, const rlf_ast_arg *arg)
{
    if (arg->label.text)
        rlf_buf_printf(out, "%s: ", arg->label.text);
    flat(out, arg->value);
    if (arg->over.text)
        rlf_buf_printf(out, " over %s", arg->over.text);
}

static void
flat_args(rlf_buf *out, const rlf_ast_args *args)
{
    for (size_t i = 0; args && i < args->count; i++) {
        if (i)
            rlf_buf_puts(out, ", ");
        flat_arg(out, &args->data[i]);
    }
}

static void
flat_inner(rlf_buf *out, const rlf_ast_expr *e)
{
    switch (e->kind) {
    case RLF_AST_NAME:
    case RLF_AST_NUMBER:
        rlf_buf_puts(out, e->name.text);
        break;
    case RLF_AST_TRUTH:
        rlf_buf_puts(out, e->number > 0 ? "true" : "false");
        break;
    case RLF_AST_STRING:
        put_string(out, e->string);
        break;
    case RLF_AST_LIST:
    case RLF_AST_CALL:
    case RLF_AST_INDEX:
        if (e->left)
            flat(out, e->left);
        rlf_buf_putc(out, e->kind == RLF_AST_CALL ? '(' : '[');
        flat_args(out, e->args);
        rlf_buf_putc(out, e->kind == RLF_AST_CALL ? ')' : ']');
        break;
    case RLF_AST_FIELD:
        flat(out, e->left);
        rlf_buf_printf(out, ".%s", e->name.text);
        break;
    case RLF_AST_UNARY:
        rlf_buf_puts(out, e->op == RLF_AST_NEG ? "-" : "not ");
        flat(out, e->left);
        break;
    case RLF_AST_BINARY:
        flat(out, e->left);
        rlf_buf_printf(out, e->op == RLF_AST_POW ? "%s" : " %s ",
                       rlf_ast_op_text(e->op));
        flat(out, e->right);
        break;
    case RLF_AST_CHOICE:
        flat(out, e->left);
        rlf_buf_puts(out, " ? ");
        flat(out, e->right);
        rlf_buf_puts(out, " : ");
        flat(out, e->other);
        break;
    case RLF_AST_BROKEN:
        break;
    }
}

/* On one line. */
static void
flat(rlf_buf *out, const rlf_ast_expr *e)
{
    if (e->paren)
        rlf_buf_putc(out, '(');
    flat_inner(out, e);
    if (e->paren)
        rlf_buf_putc(out, ')');
}

/* ---- expressions that are too wide for a line ---- */

static void
new_line(printer *p, int indent)
{
    while (p->out->n && p->out->p[p->out->n - 1] == ' ')
        p->out->p[--p->out->n] = 0;
    rlf_buf_printf(p->out, "\n%*s", indent, "");
}

/* Does it fit behind what is there, with `tail` bytes after it? */
static bool
fits(const printer *p, const rlf_ast_expr *e, size_t tail)
{
    rlf_buf line = {0};
    flat(&line, e);
    bool good = column(p) + line.n + tail <= WIDTH;
    rlf_buf_free(&line);
    return good;
}

static void put(printer *p, const rlf_ast_expr *e, int indent, size_t tail);

static void
put_args(printer *p, const rlf_ast_args *args, int indent, size_t tail)
{
    if (any_below(p, args))
        indent = (int)column(p);
    for (size_t i = 0; args && i < args->count; i++) {
        const rlf_ast_arg *arg = &args->data[i];
        bool below = is_below(p, args->data[0].span.first, arg->span.first);
        rlf_buf line = {0};
        flat_arg(&line, arg);
        size_t after = i + 1 < args->count ? 1 : tail + 1;
        if (i)
            rlf_buf_puts(p->out, ", ");
        if (i && (below || column(p) + line.n + after > WIDTH))
            new_line(p, indent);
        rlf_buf_free(&line);
        if (arg->label.text)
            rlf_buf_printf(p->out, "%s: ", arg->label.text);
        size_t over = arg->over.text ? 6 + strlen(arg->over.text) : 0;
        put(p, arg->value, indent, after + over);
        if (arg->over.text)
            rlf_buf_printf(p->out, " over %s", arg->over.text);
    }
}

static void
put_broken(printer *p, const rlf_ast_expr *e, int indent, size_t tail)
{
    switch (e->kind) {
    case RLF_AST_BINARY:
        put(p, e->left, indent, 0);
        new_line(p, indent);
        rlf_buf_printf(p->out, "%s ", rlf_ast_op_text(e->op));
        put(p, e->right, indent + STEP, tail);
        break;
    case RLF_AST_CHOICE:
        put(p, e->left, indent, 0);
        new_line(p, indent);
        rlf_buf_puts(p->out, "? ");
        put(p, e->right, indent + STEP, 0);
        new_line(p, indent);
        rlf_buf_puts(p->out, ": ");
        put(p, e->other, indent + STEP, tail);
        break;
    case RLF_AST_LIST:
    case RLF_AST_CALL:
    case RLF_AST_INDEX:
        if (e->left)
            put(p, e->left, indent, 1);
        rlf_buf_putc(p->out, e->kind == RLF_AST_CALL ? '(' : '[');
        put_args(p, e->args, indent + STEP, tail);
        rlf_buf_putc(p->out, e->kind == RLF_AST_CALL ? ')' : ']');
        break;
    case RLF_AST_UNARY:
        rlf_buf_puts(p->out, e->op == RLF_AST_NEG ? "-" : "not ");
        put(p, e->left, indent, tail);
        break;
    default:
        flat_inner(p->out, e);
        break;
    }
}

/* On as many lines as it needs; further lines start at `indent`. */
static void
put(printer *p, const rlf_ast_expr *e, int indent, size_t tail)
{
    if (fits(p, e, tail) && !any_below(p, e->args)) {
        flat(p->out, e);
        return;
    }
    if (e->paren)
        rlf_buf_putc(p->out, '(');
    put_broken(p, e, indent, tail + e->paren);
    if (e->paren)
        rlf_buf_putc(p->out, ')');
}

static void
put_expr(printer *p, const rlf_ast_expr *e)
{
    put(p, e, p->indent + STEP, 2);
}

/* ---- lines and comments ---- */

/* Is there an empty line in the source between these offsets? */
static bool
blank_between(const printer *p, uint32_t first, uint32_t last)
{
    int lines = 0;
    for (uint32_t i = first; i < last; i++) {
        if (p->text[i] == '\n' && ++lines == 2)
            return true;
        if (!strchr(" \t\r\n;", p->text[i]))
            lines = 0;
    }
    return false;
}

/* Start the line of what stands at `span` in the source. */
static void
start_line(printer *p, rlf_span span)
{
    if (p->out->n && !p->first && blank_between(p, p->at, span.first))
        rlf_buf_putc(p->out, '\n');
    p->first = false;
    rlf_buf_printf(p->out, "%*s", p->indent, "");
    p->at = span.first;
}

static void
put_comment(printer *p, rlf_span span)
{
    rlf_buf_add(p->out, p->text + span.first, span.last - span.first);
    p->at = span.last;
    p->comment++;
}

static const rlf_ast_comment *
next_comment(const printer *p)
{
    return p->comment < p->program->comments.count
               ? &p->program->comments.data[p->comment]
               : NULL;
}

/* Comments that start before `last`, each on its line. */
static void
flush(printer *p, uint32_t last)
{
    const rlf_ast_comment *c;
    while ((c = next_comment(p)) && c->span.first < last) {
        start_line(p, c->span);
        put_comment(p, c->span);
        rlf_buf_putc(p->out, '\n');
    }
}

/* End the line of what ends at `last`, with the comment behind it. */
static void
end_line(printer *p, uint32_t last)
{
    if (p->at < last)
        p->at = last;
    const rlf_ast_comment *c = next_comment(p);
    bool behind = c && c->span.first >= last;
    for (uint32_t i = last; behind && i < c->span.first; i++)
        behind = p->text[i] == ' ' || p->text[i] == '\t' || p->text[i] == ';';
    if (behind) {
        uint32_t gap = c->span.first - last;
        rlf_buf_printf(p->out, "%*s", gap > 2 ? (int)gap : 2, "");
        put_comment(p, c->span);
    }
    rlf_buf_putc(p->out, '\n');
}

/* ---- statements ---- */

static void
put_binds(printer *p, const rlf_ast_binds *binds, const char *sign, size_t tail)
{
    int indent = p->indent + STEP, first = (int)column(p);
    for (size_t i = 0; binds && i < binds->count; i++) {
        const rlf_ast_bind *bind = &binds->data[i];
        bool below =
            is_below(p, binds->data[0].name.span.first, bind->name.span.first);
        rlf_buf line = {0};
        flat(&line, bind->value);
        size_t after = i + 1 < binds->count ? 1 : tail;
        size_t n = line.n + strlen(bind->name.text) + strlen(sign) + after;
        rlf_buf_free(&line);
        if (i)
            rlf_buf_puts(p->out, ", ");
        if (below)
            indent = first;
        if (i && (below || column(p) + n > WIDTH))
            new_line(p, indent);
        rlf_buf_printf(p->out, "%s%s", bind->name.text, sign);
        put(p, bind->value, p->indent + STEP, after);
    }
}

static void put_stmt(printer *p, const rlf_ast_stmt *stmt);

/* From `{` to `}`, which ends no line yet. */
static void
put_block(printer *p, const rlf_ast_block *block)
{
    rlf_buf_putc(p->out, '{');
    end_line(p, block->span.first + 1);
    p->indent += STEP;
    p->first = true;
    for (size_t i = 0; i < block->stmts.count; i++) {
        const rlf_ast_stmt *stmt = block->stmts.data[i];
        flush(p, stmt->body ? stmt->body->span.first : stmt->span.last);
        start_line(p, stmt->span);
        put_stmt(p, stmt);
        end_line(p, stmt->span.last);
    }
    flush(p, block->span.last);
    p->indent -= STEP;
    p->first = false;
    rlf_buf_printf(p->out, "%*s}", p->indent, "");
    p->at = block->span.last;
}

static void
put_if(printer *p, const rlf_ast_stmt *stmt)
{
    rlf_buf_puts(p->out, "if ");
    put_expr(p, stmt->value);
    rlf_buf_putc(p->out, ' ');
    put_block(p, stmt->body);
    if (!stmt->other)
        return;
    rlf_buf_puts(p->out, " else ");
    if (stmt->other->brief)
        put_if(p, stmt->other->stmts.data[0]);
    else
        put_block(p, stmt->other);
}

/* `word value`, `word name`... and the block behind it. */
static void
put_headed(printer *p, const char *word, const rlf_ast_stmt *stmt)
{
    rlf_buf_puts(p->out, word);
    if (stmt->kind == RLF_AST_UPDATE || stmt->kind == RLF_AST_COLLECT)
        rlf_buf_printf(p->out, " %s", stmt->name.text);
    if (stmt->value) {
        rlf_buf_putc(p->out, ' ');
        put_expr(p, stmt->value);
    }
    if (stmt->kind == RLF_AST_EVERY)
        rlf_buf_puts(p->out, " steps");
    if (stmt->args) {
        rlf_buf_puts(p->out, " (");
        put_args(p, stmt->args, p->indent + STEP, 3);
        rlf_buf_putc(p->out, ')');
    }
    if (stmt->binds) {
        bool loop = stmt->kind == RLF_AST_FOR;
        rlf_buf_putc(p->out, ' ');
        put_binds(p, stmt->binds, loop ? " in " : " = ", loop ? 2 : 0);
    }
    if (!stmt->body)
        return;
    rlf_buf_putc(p->out, ' ');
    if (stmt->body->brief)
        put_stmt(p, stmt->body->stmts.data[0]);
    else
        put_block(p, stmt->body);
}

static void
put_stmt(printer *p, const rlf_ast_stmt *stmt)
{
    static const char *const words[] = {
        "",      "",         "update",     "minimize", "return",
        "keep",  "break if", "checkpoint", "report",   "for",
        "every", "collect",  "if",
    };
    if (stmt->kind == RLF_AST_IF) {
        put_if(p, stmt);
    } else if (stmt->kind == RLF_AST_LET || stmt->kind == RLF_AST_SET) {
        rlf_buf_puts(p->out, stmt->name.text);
        put_gap(p, stmt->name.span.last);
        rlf_buf_puts(p->out, stmt->kind == RLF_AST_LET ? "= " : ":= ");
        put_expr(p, stmt->value);
    } else {
        put_headed(p, words[stmt->kind], stmt);
    }
}

/* ---- declarations ---- */

static void
put_formals(printer *p, const rlf_ast_formals *formals)
{
    for (size_t i = 0; formals && i < formals->count; i++) {
        const rlf_ast_formal *f = &formals->data[i];
        rlf_buf_puts(p->out, i ? ", " : "");
        size_t n = strlen(f->name.text) +
                   (f->word.text ? strlen(f->word.text) + 2 : 0) +
                   (f->least.text ? strlen(f->least.text) + 2 : 0);
        if (i && column(p) + n > WIDTH - 10)
            new_line(p, p->indent + STEP);
        rlf_buf_puts(p->out, f->name.text);
        if (f->word.text)
            rlf_buf_printf(p->out, ": %s%s%s",
                           f->least.text ? f->least.text : "",
                           f->least.text ? ".." : "", f->word.text);
        if (f->value) {
            rlf_buf_puts(p->out, " = ");
            put_expr(p, f->value);
        }
        if (f->low) {
            rlf_buf_puts(p->out, " in ");
            put_expr(p, f->low);
            rlf_buf_puts(p->out, "..");
            if (f->high)
                put_expr(p, f->high);
        }
    }
}

static void
put_value(printer *p, const rlf_ast_decl *decl)
{
    if (decl->value) {
        put_gap(p, decl->word.text && decl->kind != RLF_AST_HOOK
                       ? decl->word.span.last
                       : decl->name.span.last);
        rlf_buf_puts(p->out, "= ");
        put_expr(p, decl->value);
    }
    if (decl->low) {
        rlf_buf_puts(p->out, " in ");
        put_expr(p, decl->low);
    }
    if (decl->high) {
        rlf_buf_puts(p->out, "..");
        put_expr(p, decl->high);
    }
    if (decl->help) {
        put_gap_help(p, decl->help->span.first);
        put_expr(p, decl->help);
    }
}

static void
put_row(printer *p, const rlf_ast_row *row)
{
    rlf_buf_puts(p->out, row->model.text);
    if (row->call.text)
        rlf_buf_printf(p->out, ".%s", row->call.text);
    for (size_t i = 0; row->ranks && i < row->ranks->count; i++) {
        const rlf_ast_rank *rank = &row->ranks->data[i];
        rlf_buf_puts(p->out, i ? ", " : " on ");
        flat(p->out, rank->first);
        if (rank->last) {
            rlf_buf_puts(p->out, "..");
            flat(p->out, rank->last);
        }
    }
    if (row->args) {
        rlf_buf_puts(p->out, " (");
        put_args(p, row->args, p->indent + STEP, 1);
        rlf_buf_putc(p->out, ')');
    }
}

static void
put_rows(printer *p, const rlf_ast_decl *decl)
{
    rlf_buf_puts(p->out, "{\n");
    p->indent += STEP;
    p->first = true;
    for (size_t i = 0; i < decl->rows->count; i++) {
        const rlf_ast_row *row = &decl->rows->data[i];
        flush(p, row->span.last);
        start_line(p, row->span);
        put_row(p, row);
        end_line(p, row->span.last);
    }
    flush(p, decl->span.last);
    p->indent -= STEP;
    p->first = false;
    rlf_buf_putc(p->out, '}');
}

static void
put_gives(printer *p, const rlf_ast_decl *decl)
{
    if (decl->word.text)
        rlf_buf_printf(p->out, " -> %s", decl->word.text);
    if (decl->formals) {
        rlf_buf_puts(p->out, " -> (");
        put_formals(p, decl->formals);
        rlf_buf_putc(p->out, ')');
    }
}

static void
put_body(printer *p, const rlf_ast_decl *decl)
{
    rlf_buf_puts(p->out, "(");
    put_formals(p, decl->formals);
    put_binds(p, decl->binds, ": ", 3);
    rlf_buf_puts(p->out, ")");
    if (decl->body->brief) {
        const rlf_ast_expr *e = decl->body->stmts.data[0]->value;
        rlf_buf_puts(p->out, " =");
        if (fits(p, e, 1))
            rlf_buf_putc(p->out, ' ');
        else
            new_line(p, p->indent + STEP);
        put(p, e, p->indent + 2 * STEP, 0);
    } else {
        rlf_buf_putc(p->out, ' ');
        put_block(p, decl->body);
    }
}

static void
put_decl(printer *p, const rlf_ast_decl *decl)
{
    const char *word = rlf_ast_decl_word(decl->kind);
    rlf_buf_puts(p->out, word);
    uint32_t behind = decl->span.first + (uint32_t)strlen(word);
    if (decl->kind == RLF_AST_IMPORT || decl->kind == RLF_AST_PLACE)
        rlf_buf_putc(p->out, ' ');
    else
        put_gap(p, behind);
    if (decl->kind == RLF_AST_IMPORT) {
        put_expr(p, decl->value);
        if (decl->name.text)
            rlf_buf_printf(p->out, " as %s", decl->name.text);
        return;
    }
    if (decl->name.text)
        rlf_buf_puts(p->out, decl->name.text);
    if (decl->kind == RLF_AST_PARAM || decl->kind == RLF_AST_STATE) {
        if (decl->word.text) {
            put_gap(p, decl->name.span.last);
            rlf_buf_printf(p->out, ": %s", decl->word.text);
        }
        put_value(p, decl);
    } else if (decl->kind == RLF_AST_DEF || decl->kind == RLF_AST_FLOW) {
        put_body(p, decl);
    } else if (decl->kind == RLF_AST_PLACE) {
        if (decl->rows && decl->name.text)
            rlf_buf_putc(p->out, ' ');
        if (decl->rows)
            put_rows(p, decl);
    } else {
        put_value(p, decl);
        put_gives(p, decl);
    }
}

/* Returns the end of a declaration's head: comments in it go before it. */
static uint32_t
head_end(const rlf_ast_decl *decl)
{
    if (decl->rows)
        return decl->span.first;
    return decl->body && !decl->body->brief ? decl->body->span.first
                                            : decl->span.last;
}

/* Once. What it lines up by the columns of the source may be in others now. */
static void
format(const char *source, const rlf_ast_program *program, rlf_buf *out)
{
    printer p = {.out = out, .text = source, .program = program};
    for (size_t i = 0; i < program->decls.count; i++) {
        const rlf_ast_decl *decl = program->decls.data[i];
        flush(&p, head_end(decl));
        start_line(&p, decl->span);
        put_decl(&p, decl);
        end_line(&p, decl->span.last);
    }
    flush(&p, UINT32_MAX);
}

/* Format what is in `text` once more. False: it stays as it is. */
static bool
format_again(const char *path, rlf_buf *text)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_sources sources = {.arena = arena};
    rlf_diags diags = {.arena = arena, .sources = &sources};
    uint32_t source = rlf_sources_add(&sources, path, text->p, text->n);
    const rlf_ast_program *program = rlf_parse(&sources, source, arena, &diags);
    if (program->broken) {
        rlf_arena_free(arena);
        return false;
    }
    rlf_buf next = {0};
    format(rlf_sources_get(&sources, source)->text, program, &next);
    bool other = next.n != text->n || memcmp(next.p, text->p, text->n) != 0;
    rlf_buf_free(text);
    *text = next;
    rlf_arena_free(arena);
    return other;
}

bool
rlf_fmt(const rlf_sources *sources, const rlf_ast_program *program,
        rlf_buf *out)
{
    enum { MOST = 16 }; /* rounds: each takes padding away, two are usual */
    if (program->broken)
        return false;
    const rlf_source *source = rlf_sources_get(sources, program->source);
    rlf_buf text = {0};
    format(source->text, program, &text);
    for (int i = 0; i < MOST && text.n && format_again(source->path, &text);
         i++)
        ;
    rlf_buf_add(out, text.p ? text.p : "", text.n);
    rlf_buf_free(&text);
    return true;
}

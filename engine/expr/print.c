/* Expression programs as text, and their identity. */
#include "engine/expr/expr.h"

#include "engine/base/fmath.h"

#include <math.h>
#include <string.h>

static void
print_op(const rlf_expr *expr, size_t i, rlf_buf *out)
{
    const rlf_expr_op *op = &expr->ops.data[i];
    rlf_buf_printf(out, "%%%zu = %s", i, rlf_expr_text(op->code));
    for (int k = 0; k < rlf_expr_arity(op->code); k++)
        rlf_buf_printf(out, " %%%d", op->arg[k]);
    if (op->code == RLF_EXPR_INPUT)
        rlf_buf_printf(out, " %d %s", op->index,
                       expr->inputs.data[op->index].name);
    if (op->code == RLF_EXPR_CONST && op->text) {
        rlf_buf_printf(out, " \"%.*s\"", (int)op->words.n, op->words.p);
    } else if (op->code == RLF_EXPR_CONST) {
        rlf_buf_putc(out, ' ');
        if (isfinite(op->constant))
            rlf_buf_number(out, op->constant);
        else
            rlf_buf_printf(out, "%g", op->constant);
    }
    if (op->code == RLF_EXPR_UNIFORM)
        rlf_buf_printf(out, " site %u", op->site);
    if (op->code == RLF_EXPR_RANK || op->code == RLF_EXPR_ROTATE ||
        op->code == RLF_EXPR_UNROTATE)
        rlf_buf_printf(out, " over %s",
                       rlf_domains_get(expr->domains, op->over)->name);
    rlf_buf_printf(out, " : %s%s\n",
                   rlf_domains_get(expr->domains, op->domain)->name,
                   op->text ? " text" : "");
}

void
rlf_expr_print(const rlf_expr *expr, rlf_buf *out)
{
    for (size_t i = 0; i < expr->ops.count; i++)
        print_op(expr, i, out);
    for (size_t i = 0; i < expr->outputs.count; i++)
        rlf_buf_printf(out, "output %zu %s = %%%d\n", i,
                       expr->outputs.data[i].name, expr->outputs.data[i].op);
}

static rlf_digest
word(rlf_digest digest, uint64_t value)
{
    /* bytes in a fixed order, whatever the machine's */
    unsigned char bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(value >> (8 * i));
    return rlf_digest_add(digest, bytes, sizeof bytes);
}

rlf_digest
rlf_expr_digest(const rlf_expr *expr, rlf_digest digest)
{
    for (size_t i = 0; i < expr->domains->list.count; i++) {
        const rlf_domain *d = &expr->domains->list.data[i];
        digest = word(digest, (uint64_t)d->kind);
        digest = word(digest, (uint64_t)(int64_t)d->owner);
        digest = word(digest, (uint64_t)d->n_up);
        for (int k = 0; k < d->n_up; k++)
            digest = word(digest, (uint64_t)d->up[k]);
    }
    for (size_t i = 0; i < expr->inputs.count; i++) {
        const rlf_expr_input *in = &expr->inputs.data[i];
        digest = word(digest, (uint64_t)in->domain);
        digest = word(digest, (uint64_t)in->text << 1 | (uint64_t)in->live);
    }
    for (size_t i = 0; i < expr->ops.count; i++) {
        const rlf_expr_op *op = &expr->ops.data[i];
        const char *name = rlf_expr_text(op->code);
        digest = rlf_digest_add(digest, name, strlen(name));
        digest = word(digest, (uint64_t)op->domain);
        for (int k = 0; k < rlf_expr_arity(op->code); k++)
            digest = word(digest, (uint64_t)op->arg[k]);
        digest = word(digest, (uint64_t)op->over);
        digest = word(digest, (uint64_t)op->index << 32 | op->site);
        digest = word(digest, rlf_f64_bits(op->constant));
        if (op->code == RLF_EXPR_CONST && op->text)
            digest = rlf_digest_add(digest, op->words.p, op->words.n);
    }
    for (size_t i = 0; i < expr->outputs.count; i++)
        digest = word(digest, (uint64_t)expr->outputs.data[i].op);
    return digest;
}

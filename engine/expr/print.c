/* Expression programs as text, and their identity. */
#include "engine/expr/expr.h"

#include "engine/base/fmath.h"
#include "engine/base/hash.h"

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

static uint64_t
word(uint64_t hash, uint64_t value)
{
    /* bytes in a fixed order, whatever the machine's */
    unsigned char bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(value >> (8 * i));
    return rlf_hash(hash, bytes, sizeof bytes);
}

uint64_t
rlf_expr_hash(const rlf_expr *expr, uint64_t hash)
{
    for (size_t i = 0; i < expr->domains->list.count; i++) {
        const rlf_domain *d = &expr->domains->list.data[i];
        hash = word(hash, (uint64_t)d->kind);
        hash = word(hash, (uint64_t)(int64_t)d->owner);
        hash = word(hash, (uint64_t)d->n_up);
        for (int k = 0; k < d->n_up; k++)
            hash = word(hash, (uint64_t)d->up[k]);
    }
    for (size_t i = 0; i < expr->inputs.count; i++) {
        const rlf_expr_input *in = &expr->inputs.data[i];
        hash = word(hash, (uint64_t)in->domain);
        hash = word(hash, (uint64_t)in->text << 1 | (uint64_t)in->live);
    }
    for (size_t i = 0; i < expr->ops.count; i++) {
        const rlf_expr_op *op = &expr->ops.data[i];
        const char *name = rlf_expr_text(op->code);
        hash = word(rlf_hash(hash, name, strlen(name)), (uint64_t)op->domain);
        for (int k = 0; k < rlf_expr_arity(op->code); k++)
            hash = word(hash, (uint64_t)op->arg[k]);
        hash = word(hash, (uint64_t)op->over);
        hash = word(hash, (uint64_t)op->index << 32 | op->site);
        hash = word(hash, rlf_f64_bits(op->constant));
        if (op->code == RLF_EXPR_CONST && op->text)
            hash = rlf_hash(word(hash, op->words.n), op->words.p, op->words.n);
    }
    for (size_t i = 0; i < expr->outputs.count; i++)
        hash = word(hash, (uint64_t)expr->outputs.data[i].op);
    return hash;
}

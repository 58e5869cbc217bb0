/* Formals that were meant: by a label that is none, by an argument without one.
 *
 * Guesses for messages alone; what fits a formal stands in args.c. */
#include "grammar/passes.h"

#include "grammar/other_names.h"

#include <string.h>

static int
find(const rlf_formal *formals, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(formals[i].name, name))
            return i;
    return -1;
}

int
rlf_formal_meant(rlf_sema *s, const rlf_formal *formals, int n,
                 const char *label)
{
    const char **names = RLF_NEW_ARRAY(s->arena, const char *, n + 1);
    for (int i = 0; i < n; i++)
        names[i] = formals[i].name;
    const char *meant = rlf_other_name(label, names, (size_t)n);
    return meant ? find(formals, n, meant) : -1;
}

int
rlf_formal_known(rlf_sema *s, const rlf_formal *formals, int n,
                 const char *label)
{
    const char **names = RLF_NEW_ARRAY(s->arena, const char *, n + 1);
    for (int i = 0; i < n; i++)
        names[i] = formals[i].name;
    int same = find(formals, n, label);
    const char *meant = rlf_other_name_exactly(label, names, (size_t)n);
    return same >= 0 ? same : meant ? find(formals, n, meant) : -1;
}

bool
rlf_formal_could_take(rlf_sema *s, const rlf_formal *f, const rlf_ast_expr *e)
{
    rlf_entity_kind kind = rlf_form_kind(s, e);
    bool resource = kind != RLF_ENTITY_NONE && kind != RLF_ENTITY_NUMBER;
    switch (f->kind) {
    case RLF_FORMAL_NUMBER:
    case RLF_FORMAL_INT:
        return e->kind != RLF_AST_STRING && e->kind != RLF_AST_LIST &&
               e->kind != RLF_AST_TRUTH && !resource;
    case RLF_FORMAL_SET:
        return kind == RLF_ENTITY_SET || kind == RLF_ENTITY_DATA;
    case RLF_FORMAL_MODEL:
        return kind == RLF_ENTITY_MODEL;
    case RLF_FORMAL_HOOK:
        return kind == RLF_ENTITY_HOOK;
    case RLF_FORMAL_FLAG:
        return e->kind == RLF_AST_TRUTH;
    case RLF_FORMAL_TEXT:
    case RLF_FORMAL_PATH:
        return e->kind == RLF_AST_STRING;
    case RLF_FORMAL_TEXTS:
    case RLF_FORMAL_NUMBERS:
        return e->kind == RLF_AST_LIST;
    default:
        return false;
    }
}

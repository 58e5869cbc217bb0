/* Arguments while they are matched: args.c finds which one belongs to which
 * formal, arg.c reads the value of one. */
#ifndef RLF_GRAMMAR_MATCHER_H
#define RLF_GRAMMAR_MATCHER_H

#include "grammar/passes.h"

/* The target of matched arguments: a node's item, or a resource. */
typedef struct rlf_matcher {
    rlf_sema *s;
    const char *what; /* the name of what is called */
    const rlf_formal *formals;
    int n;
    rlf_item *item; /* NULL: a resource, all is known now */
    rlf_resource_kind kind;
    const char *within; /* the constructor around nested ones */
    const char *taken;  /* further arguments that cannot be, "a|b"; or NULL */
    bool texts;         /* further arguments name fields: they are texts */
    bool lazy;     /* an optimizer's: arguments that change are not known now */
    bool *spoiled; /* one a formal: it was meant by an argument that is wrong */
    rlf_arg *out;  /* one a formal; then the extra ones */
    int n_out;
} rlf_matcher;

/* One argument into the place of its formal. False after a message. */
bool rlf_arg_put(const rlf_matcher *m, const rlf_formal *f,
                 const rlf_ast_expr *e, rlf_arg *arg);

/* An argument beyond the formals: a field of a hook's sample, a column. */
bool rlf_arg_put_extra(const rlf_matcher *m, const rlf_ast_arg *given,
                       rlf_arg *arg);

#endif

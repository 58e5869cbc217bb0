/* The syntax tree of one .rlf file.
 *
 * It has what was written, and no more: names are not resolved, nothing is
 * typed. The parser's actions call the constructors below; everything lives in
 * the compile arena and is read-only once rlf_parse() has returned. Every node
 * has a span {source, first, last}; `at` is where a caret goes. Constructors do
 * not fail: a wrong number or string is reported and gets a harmless value. */
#ifndef RLF_GRAMMAR_AST_H
#define RLF_GRAMMAR_AST_H

#include "engine/base/diag.h"
#include "engine/base/vec.h"

/* Operands nested more deeply than this are refused, so that recursive passes
 * cannot run out of stack. */
enum { RLF_AST_DEPTH = 400 };

typedef struct rlf_ast_expr rlf_ast_expr;
typedef struct rlf_ast_stmt rlf_ast_stmt;
typedef struct rlf_ast_decl rlf_ast_decl;

/* A word as it was written; text NULL: not there. */
typedef struct rlf_ast_name {
    rlf_span span;
    const char *text;
} rlf_ast_name;

/* ---- expressions ---- */

typedef enum rlf_ast_op {
#define OP(name, text) RLF_AST_##name,
#include "grammar/op.def"
#undef OP
    RLF_AST_OPS
} rlf_ast_op;

const char *rlf_ast_op_text(rlf_ast_op op);

/* The kind of a number's unit. The value is already in seconds or bytes. */
typedef enum rlf_ast_unit {
    RLF_AST_PLAIN, /* no unit, K or M */
    RLF_AST_TIME,  /* ms s min h */
    RLF_AST_BYTES  /* KB MB GB (powers of 1024) */
} rlf_ast_unit;

/* `value`, `value over over`, or `label: value`. */
typedef struct rlf_ast_arg {
    rlf_span span;
    rlf_ast_name label; /* text NULL: none */
    rlf_ast_expr *value;
    rlf_ast_name over; /* text NULL: none */
} rlf_ast_arg;

typedef RLF_VEC(rlf_ast_arg) rlf_ast_args;

typedef enum rlf_ast_expr_kind {
    RLF_AST_NAME,   /* name */
    RLF_AST_NUMBER, /* number, unit, name.text (as written) */
    RLF_AST_TRUTH,  /* number: 1 or 0 */
    RLF_AST_STRING, /* string */
    RLF_AST_LIST,   /* args */
    RLF_AST_FIELD,  /* left . name */
    RLF_AST_CALL,   /* left ( args ) */
    RLF_AST_INDEX,  /* left [ args ] */
    RLF_AST_UNARY,  /* op left */
    RLF_AST_BINARY, /* left op right */
    RLF_AST_CHOICE, /* left ? right : other */
    RLF_AST_BROKEN  /* refused, and reported */
} rlf_ast_expr_kind;

struct rlf_ast_expr {
    rlf_ast_expr_kind kind;
    rlf_ast_op op;
    rlf_ast_unit unit;
    int depth;     /* levels of nodes below and with this one */
    bool paren;    /* written in parentheses */
    rlf_span span; /* all of it, its parentheses too */
    rlf_span at;   /* the place of its operator, of the name after a dot, or of
                      its start */
    rlf_ast_expr *left, *right, *other;
    rlf_ast_name name;
    double number;
    bool rounded; /* NUMBER: its digits say more than that */
    rlf_str string; /* the text with escapes carried out; a 0 byte follows */
    rlf_ast_args *args;
};

/* ---- statements ---- */

/* `name = value` of a report, `name in value` of a loop, `name: value` of a
 * flow's head. */
typedef struct rlf_ast_bind {
    rlf_ast_name name;
    rlf_ast_expr *value;
} rlf_ast_bind;

typedef RLF_VEC(rlf_ast_bind) rlf_ast_binds;

/* `brief`: written without braces (`update m minimize e`, `def f(x) = e`,
 * `else if`); then it holds exactly one statement. */
typedef struct rlf_ast_block {
    rlf_span span;
    bool brief;
    RLF_VEC(rlf_ast_stmt *) stmts;
} rlf_ast_block;

typedef enum rlf_ast_stmt_kind {
    RLF_AST_LET,        /* name = value */
    RLF_AST_SET,        /* name := value */
    RLF_AST_UPDATE,     /* update name body */
    RLF_AST_MINIMIZE,   /* minimize value */
    RLF_AST_RETURN,     /* return value */
    RLF_AST_KEEP,       /* keep value */
    RLF_AST_BREAK,      /* break if value */
    RLF_AST_CHECKPOINT, /* checkpoint */
    RLF_AST_REPORT,     /* report binds */
    RLF_AST_FOR,        /* for binds body */
    RLF_AST_EVERY,      /* every value steps body */
    RLF_AST_COLLECT,    /* collect name ( args ) body */
    RLF_AST_IF          /* if value body else other */
} rlf_ast_stmt_kind;

struct rlf_ast_stmt {
    rlf_ast_stmt_kind kind;
    rlf_span span;
    rlf_ast_name name;
    rlf_ast_expr *value;
    rlf_ast_binds *binds;
    rlf_ast_args *args; /* NULL: no parentheses */
    rlf_ast_block *body;
    rlf_ast_block *other; /* NULL: no else */
};

/* ---- declarations ---- */

/* A formal of a def, or one named result of a hook. */
typedef struct rlf_ast_formal {
    rlf_span span;
    rlf_ast_name name;
    rlf_ast_name least;  /* the coarsest level of `least..word`; or none */
    rlf_ast_name word;   /* the finest level, or model, set, text; or none */
    rlf_ast_expr *value; /* default, or NULL */
    rlf_ast_expr *low, *high; /* `in low..high`, `in low..`; NULL: any */
} rlf_ast_formal;

typedef RLF_VEC(rlf_ast_formal) rlf_ast_formals;

typedef struct rlf_ast_rank {
    rlf_span span;
    rlf_ast_expr *first;
    rlf_ast_expr *last; /* NULL: one rank */
} rlf_ast_rank;

typedef RLF_VEC(rlf_ast_rank) rlf_ast_ranks;

/* `model.call on ranks (args)` of a place block, or without ranks. */
typedef struct rlf_ast_row {
    rlf_span span;
    rlf_ast_name model;
    rlf_ast_name call;    /* text NULL: the whole model */
    rlf_ast_ranks *ranks; /* NULL: not said; then there are args */
    rlf_ast_args *args;   /* NULL: none */
} rlf_ast_row;

typedef RLF_VEC(rlf_ast_row) rlf_ast_rows;

typedef enum rlf_ast_decl_kind {
    RLF_AST_IMPORT, /* import value (a string) as name */
    RLF_AST_PARAM,  /* param name : word = value in low .. high help */
    RLF_AST_DATA,   /* data name = value */
    RLF_AST_MODEL,  /* model name = value */
    RLF_AST_HOOK,   /* hook name = value -> word | formals */
    RLF_AST_STATE,  /* state name : word = value */
    RLF_AST_DEF,    /* def name ( formals ) body */
    RLF_AST_FLOW,   /* flow name ( binds ) body */
    RLF_AST_PLACE,  /* place name { rows }, or one of the two */
    /* of cluster files: */
    RLF_AST_DEVICE,  /* device name = value */
    RLF_AST_MACHINE, /* machine name = value */
    RLF_AST_CLUSTER, /* cluster name = value */
    RLF_AST_DECLS
} rlf_ast_decl_kind;

/* The word that it begins with. */
const char *rlf_ast_decl_word(rlf_ast_decl_kind kind);

struct rlf_ast_decl {
    rlf_ast_decl_kind kind;
    rlf_span span;
    rlf_ast_name name;
    rlf_ast_name word;
    rlf_ast_expr *value, *low, *high; /* high NULL: low is a list */
    rlf_ast_expr *help;               /* a string, or NULL */
    rlf_ast_formals *formals;
    rlf_ast_binds *binds;
    rlf_ast_block *body;
    rlf_ast_rows *rows;
    const char *doc; /* the `##` lines before it, or NULL */
};

/* A comment with its `#`s; the formatter puts it back. */
typedef struct rlf_ast_comment {
    rlf_span span;
    bool doc; /* the comment starts with ## */
} rlf_ast_comment;

typedef struct rlf_ast_program {
    uint32_t source;
    const char *doc; /* the `##` lines at the top, or NULL */
    RLF_VEC(rlf_ast_decl *) decls;
    RLF_VEC(rlf_ast_comment) comments;
    bool broken; /* an error was reported while parsing */
} rlf_ast_program;

/* ---- constructors, for the parser ---- */

typedef struct rlf_ast_maker {
    rlf_arena *arena;
    rlf_diags *diags;
    const char *text; /* the source's bytes */
} rlf_ast_maker;

rlf_ast_expr *rlf_ast_expr_name(rlf_ast_maker *m, rlf_ast_name name);
rlf_ast_expr *rlf_ast_expr_number(rlf_ast_maker *m, rlf_span span);
rlf_ast_expr *rlf_ast_expr_truth(rlf_ast_maker *m, rlf_span span, bool value);
rlf_ast_expr *rlf_ast_expr_string(rlf_ast_maker *m, rlf_span span);
rlf_ast_expr *rlf_ast_expr_list(rlf_ast_maker *m, rlf_span span,
                                rlf_ast_args *args);
rlf_ast_expr *rlf_ast_expr_field(rlf_ast_maker *m, rlf_ast_expr *left,
                                 rlf_ast_name name);
/* `kind` is RLF_AST_CALL or RLF_AST_INDEX; `last` closes the brackets. */
rlf_ast_expr *rlf_ast_expr_apply(rlf_ast_maker *m, rlf_ast_expr_kind kind,
                                 rlf_ast_expr *left, rlf_ast_args *args,
                                 rlf_span last);
rlf_ast_expr *rlf_ast_expr_unary(rlf_ast_maker *m, rlf_ast_op op, rlf_span at,
                                 rlf_ast_expr *left);
rlf_ast_expr *rlf_ast_expr_binary(rlf_ast_maker *m, rlf_ast_op op, rlf_span at,
                                  rlf_ast_expr *left, rlf_ast_expr *right);
rlf_ast_expr *rlf_ast_expr_choice(rlf_ast_maker *m, rlf_span at,
                                  rlf_ast_expr *left, rlf_ast_expr *right,
                                  rlf_ast_expr *other);
rlf_ast_expr *rlf_ast_expr_paren(rlf_ast_expr *e, rlf_span span);

/* Lists: `list` NULL starts a new one. */
rlf_ast_args *rlf_ast_args_add(rlf_ast_maker *m, rlf_ast_args *list,
                               rlf_ast_arg arg);
rlf_ast_binds *rlf_ast_binds_add(rlf_ast_maker *m, rlf_ast_binds *list,
                                 rlf_ast_name name, rlf_ast_expr *value);
rlf_ast_formals *rlf_ast_formals_add(rlf_ast_maker *m, rlf_ast_formals *list,
                                     rlf_ast_formal formal);
rlf_ast_ranks *rlf_ast_ranks_add(rlf_ast_maker *m, rlf_ast_ranks *list,
                                 rlf_ast_rank rank);
rlf_ast_rows *rlf_ast_rows_add(rlf_ast_maker *m, rlf_ast_rows *list,
                               rlf_ast_row row);
/* `stmt` NULL adds nothing. */
rlf_ast_block *rlf_ast_block_add(rlf_ast_maker *m, rlf_ast_block *block,
                                 rlf_ast_stmt *stmt);
rlf_ast_block *rlf_ast_block_brief(rlf_ast_maker *m, rlf_ast_stmt *stmt);

/* The returned node has kind and span; the caller fills what its kind has. */
rlf_ast_stmt *rlf_ast_stmt_new(rlf_ast_maker *m, rlf_ast_stmt_kind kind,
                               rlf_span span, rlf_ast_expr *value);
rlf_ast_decl *rlf_ast_decl_new(rlf_ast_maker *m, rlf_ast_decl_kind kind,
                               rlf_span span, rlf_ast_name name,
                               rlf_ast_expr *value);

/* Give each declaration, and the file, the `##` lines that belong to it. */
void rlf_ast_attach_docs(rlf_ast_maker *m, rlf_ast_program *program);

#endif

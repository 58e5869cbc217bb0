/* What the files of rlf_look share: what a walk noted, and a place in a tree.
 * Private to grammar. */
#ifndef RLF_GRAMMAR_LOOK_INSIDE_H
#define RLF_GRAMMAR_LOOK_INSIDE_H

#include "engine/graph/sizes.h"
#include "grammar/look.h"
#include "grammar/passes.h"

/* The value that an expression had, where the walk met it first. */
typedef struct rlf_look_note {
    const rlf_ast_expr *e;
    size_t order;
    rlf_entity entity;
} rlf_look_note;

/* A name that was given. */
typedef struct rlf_look_given {
    rlf_span span;
    rlf_entity entity;
} rlf_look_given;

/* A path in quotes, and what is opened there. */
typedef struct rlf_look_path {
    rlf_span span;
    const char *path;
} rlf_look_path;

struct rlf_look {
    rlf_arena *arena;
    rlf_sema *sema;
    uint32_t source; /* the program as it is, without repairs */
    struct {
        rlf_look_note *data;
        size_t count, room;
    } notes;
    struct {
        rlf_look_given *data;
        size_t count, room;
    } given;
    struct {
        rlf_look_path *data;
        size_t count, room;
    } paths;
    bool sorted;            /* the notes are, by `e` */
    bool walked;            /* the walk over the flow was made */
    const rlf_graph *graph; /* complete; NULL: the program has errors */
    const rlf_sizes *sizes; /* of it, once asked for */
};

/* NULL: the walk has not met it. */
const rlf_entity *rlf_look_entity(rlf_look *look, const rlf_ast_expr *e);
const rlf_entity *rlf_look_entity_given(const rlf_look *look, rlf_span name);

/* ---- look_find.c: a place in a tree ---- */

typedef enum rlf_look_role {
    RLF_LOOK_NOTHING,
    RLF_LOOK_USE,    /* a name in an expression, or of what a statement changes:
                        `expr` or NULL */
    RLF_LOOK_FIELD,  /* the name behind the dot of `expr` */
    RLF_LOOK_LABEL,  /* of an argument of `call` (NULL: of a statement) */
    RLF_LOOK_BIND,   /* a name that is given here */
    RLF_LOOK_DECL,   /* the name of `decl` */
    RLF_LOOK_FORMAL, /* of `decl` */
    RLF_LOOK_OVER,   /* a word behind `over` */
    RLF_LOOK_IMPORT  /* the path of the import `decl` */
} rlf_look_role;

typedef struct rlf_look_cursor {
    uint32_t at;
    rlf_look_role role;
    const rlf_ast_decl *decl; /* the declaration around, or NULL */
    const rlf_ast_expr *expr;
    const rlf_ast_expr *call; /* the call around of which it is a label, or
                                 whose function it names; or NULL */
    const rlf_ast_stmt *stmt; /* the statement around, or NULL */
    const rlf_ast_name *name;
} rlf_look_cursor;

void rlf_look_find(const rlf_ast_program *program, uint32_t at,
                   rlf_look_cursor *out);

/* A name that a place in a def or flow sees of it. */
typedef struct rlf_look_local {
    const rlf_ast_name *name;
    const rlf_ast_formal *formal; /* of a def; or NULL */
    const rlf_ast_stmt *stmt;     /* that gives it; NULL: a formal, a draw */
    rlf_span span;                /* all that says it */
} rlf_look_local;

typedef void rlf_look_local_function(void *arg, const rlf_look_local *local);
/* All of them, the innermost last. */
void rlf_look_locals(const rlf_ast_decl *decl, uint32_t at,
                     rlf_look_local_function *function, void *arg);

/* What a name means in the program at a place. */
typedef struct rlf_look_named {
    bool local; /* `here` says what */
    rlf_look_local here;
    const rlf_ast_decl *decl;        /* else; or NULL */
    const rlf_module *module;        /* that declares it */
    const rlf_module_import *import; /* whose own name it is; or NULL */
} rlf_look_named;

bool rlf_look_name(const rlf_look *look, const rlf_ast_decl *around,
                   uint32_t at, const char *name, rlf_look_named *out);

/* ---- look_words.c: in words ---- */

/* What a value is; NULL: nothing is known. */
const char *rlf_look_value(rlf_look *look, const rlf_entity *entity);
/* The text of a span, in one line, cut where it is long. */
const char *rlf_look_text(const rlf_look *look, rlf_span span);
/* "def clip(ratio, adv, low = 0.2)"; of others the line that declares it. */
const char *rlf_look_declaration(const rlf_look *look,
                                 const rlf_ast_decl *decl);
/* "x.generate(set, max_new: whole number, n: whole number = 1)" */
const char *rlf_look_signature(rlf_look *look, const char *before,
                               const char *name, const rlf_formal *formals,
                               int n);
/* A line for each: "- n: whole number = 1: responses of each prompt" */
const char *rlf_look_formals(rlf_look *look, const rlf_formal *formals, int n);
const char *rlf_look_formal(rlf_look *look, const rlf_formal *formal);
/* The receiver that a value is, for calls and fields; NONE: it is none. */
rlf_receiver rlf_look_receiver(const rlf_entity *entity);
/* The constructor called so of a declaration; NULL: there is none. */
const rlf_constructor *rlf_look_constructor(const rlf_look *look,
                                            const rlf_ast_decl *decl,
                                            const char *name);

#endif

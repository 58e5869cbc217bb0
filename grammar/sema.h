/* The checker: from syntax trees to what lower.c makes a graph of.
 *
 * One walk over the flow, with `def`s expanded where they are used, gives
 *
 *   terms   numbers and texts, each on a domain: arithmetic is kept as terms
 *           (a graph of operations) until lower.c cuts it into programs
 *   sets    rlf_set of the graph, with who makes each
 *   items   the nodes to be, in the order of the program, by regions
 *
 * Private to grammar. Everything lives in the compile arena. An entity that was
 * refused is RLF_ENTITY_NONE; whatever meets it stays silent, so that one slip
 * gives one message. */
#ifndef RLF_GRAMMAR_SEMA_H
#define RLF_GRAMMAR_SEMA_H

#include "engine/base/map.h"
#include "engine/base/vec.h"
#include "grammar/ast.h"
#include "grammar/compile.h"

/* ---- files ---- */

typedef struct rlf_module rlf_module;

typedef struct rlf_module_import {
    rlf_module *module;
    const char *alias; /* NULL: its names are used as they are */
    rlf_span span;
    bool used; /* one of its names was */
} rlf_module_import;

struct rlf_module {
    rlf_ast_program *program;
    const char *path;      /* the path as messages show it */
    const char *directory; /* "" or ends with '/' */
    rlf_map names;         /* name -> rlf_ast_decl */
    rlf_map used;          /* those of them that were used -> rlf_ast_decl */
    struct {
        rlf_module_import *data;
        size_t count, room;
    } imports;
    bool loading; /* its imports are being read: a cycle comes back here */
};

/* ---- entities ---- */

typedef enum rlf_entity_kind {
    RLF_ENTITY_NONE,   /* refused, and reported */
    RLF_ENTITY_NUMBER, /* term: numbers on a domain; constants too */
    RLF_ENTITY_WORDS,  /* term: texts on a domain */
    RLF_ENTITY_TEXT,   /* text: known now */
    RLF_ENTITY_LIST,   /* list: known now */
    RLF_ENTITY_SET,    /* set */
    RLF_ENTITY_MODEL,  /* resource */
    RLF_ENTITY_DATA,   /* resource */
    RLF_ENTITY_HOOK,   /* resource */
    RLF_ENTITY_RECORD, /* results of a hook: record */
} rlf_entity_kind;

typedef struct rlf_entity {
    rlf_entity_kind kind;
    int term, set, resource;
    const char *text;
    bool resolved; /* a text that is a path already as it is to be opened */
    const char *written; /* the text of a resolved path as the program has it;
                            else NULL */
    struct rlf_entity *list;
    size_t n_list;
    const struct rlf_hook_outputs *record;
    rlf_span span;
} rlf_entity;

/* The outputs of a hook call: its results, then whether it went well. */
typedef struct rlf_hook_outputs {
    const char *hook;
    const struct rlf_give *gives; /* n_gives; one without a name: the value */
    int n_gives;
    rlf_entity *values; /* n_gives + 1; the last is `.ok` */
} rlf_hook_outputs;

/* ---- terms ---- */

/* The way in which a number is not finite in every step, as far as is known
 * now. */
typedef enum rlf_nonfinite_kind {
    RLF_NONFINITE_NONE,
    RLF_NONFINITE_INFINITE, /* infinite, or not a number: never finite */
    RLF_NONFINITE_NAN       /* not a number */
} rlf_nonfinite_kind;

typedef enum rlf_term_kind {
    RLF_TERM_CONST, /* value or words */
    RLF_TERM_OP,    /* code, arg */
    RLF_TERM_OUT,   /* output `port` of item `item` */
    RLF_TERM_LIVE,  /* live call number `port` of update `update` */
} rlf_term_kind;

typedef struct rlf_term {
    rlf_term_kind kind;
    rlf_expr_code code;
    int arg[3];
    int domain, over;
    double value;      /* CONST of a number, */
    const char *words; /* and of a text */
    int item, port;
    int region; /* the region in which it was written */
    int update; /* number of the update it was written in, or -1 */
    int set;    /* the set it came through, for messages; -1: none, several */
    bool text;
    bool truth;        /* true, false, or what a condition gives */
    bool written;      /* a CONST that is written as true or false */
    rlf_unit unit;     /* CONST of a number */
    rlf_nonfinite_kind nonfinite; /* and where that */
    int fault;         /* arose: the number of the message */
    bool live;         /* the loss of its update is derived through it */
    bool touches;      /* it depends on live calls, derived or not */
    const char *name;  /* NULL: none */
    bool named;        /* the program names it */
    const char *label; /* the name that samples.jsonl gives it; NULL: it has the
                          one that it is made by */
    int uses;          /* uses by other terms and by items */
    int depth;         /* operations above one another in it */
    int value_index;   /* lower.c: the graph's value, -1 */
    int holds;         /* vocab.c: holds_words; 0: not asked yet, else 1, -1 */
    /* One per token: the term of a sample or prompt that a sum in it repeats
     * at each token without saying so, plus 1 (0: there is none), and where
     * it was written. */
    int repeats;
    rlf_span repeated;
    rlf_span span;
} rlf_term;

/* ---- items ---- */

typedef struct rlf_item_input {
    bool is_set;
    int id; /* set or term */
} rlf_item_input;

typedef struct rlf_item_output {
    bool is_set;
    int id; /* set or term */
    const char *name;
} rlf_item_output;

/* A live call of an update: its column is term `term`. */
typedef struct rlf_update_call {
    const rlf_node_class *class;
    int set, term;
    rlf_arg *args; /* n_args, as matched */
    int n_args;
} rlf_update_call;

/* An output of the update: what is reported, whether it is, or what must be in
 * a range. */
typedef struct rlf_update_report {
    const char *name; /* NULL: it is no metric, */
    const rlf_formal
        *within;      /* but what this takes; or a condition of others */
    int term;         /* the term that was reported */
    int out;          /* the term that the update's output is */
    int when;         /* the number of its condition; -1: always */
    rlf_span span;
} rlf_update_report;

typedef struct rlf_update_statement {
    int model; /* resource */
    rlf_span span;
    struct {
        rlf_update_call *data;
        size_t count, room;
    } calls;
    int loss;   /* term, -1: nothing minimized yet */
    int taken;  /* term: is something minimized? -1: always, or nothing yet */
    bool tried; /* it has a minimize, maybe one that was refused */
    const rlf_arg *shared; /* its argument; NULL: it has none, or it is false */
    struct {
        rlf_update_report *data;
        size_t count, room;
    } reports;
} rlf_update_statement;

typedef struct rlf_item {
    const rlf_node_class *class;
    int region, place; /* the region, and its number in there */
    int receiver;      /* resource, or -1 */
    rlf_arg *args;
    int n_args;
    struct {
        rlf_item_input *data;
        size_t count, room;
    } inputs;
    struct {
        rlf_item_output *data;
        size_t count, room;
    } outputs;
    struct {
        int *data;
        size_t count, room;
    } reads, writes, regions;
    int update; /* class update: its number, else -1 */
    int keep;   /* class collect: its keep, whose inputs are the condition and
                   then, for each output, what it is made of; else -1 */
    bool shared; /* it is made where a value is first asked for, maybe by a
                    metric, and then used by all: nothing is random in it */
    bool looking;
    bool ahead; /* lower.c: it is made so many steps ahead */
    bool joined; /* pair.c: another item gives what it gave */
    int node;   /* lower.c: the graph's node */
    rlf_span span;
} rlf_item;

typedef struct rlf_sema_part {
    int parent; /* item whose body it is; -1: the flow */
    struct {
        int *data;
        size_t count, room;
    } items;
    struct {
        int *data;
        size_t count, room;
    } sets; /* the pieces of a for */
    struct {
        int *data;
        size_t count, room;
    } terms;   /* how many rows a round of a collect draws */
    int index; /* lower.c: the graph's region */
} rlf_sema_part;

/* The maker of a set. */
typedef struct rlf_maker {
    int item, port;  /* or item -1: the pieces of a region */
    int value_index; /* lower.c */
} rlf_maker;

/* ---- names in force ---- */

typedef struct rlf_scope rlf_scope;
struct rlf_scope {
    rlf_scope *parent; /* NULL: then the module's names follow */
    rlf_map entities;  /* name -> rlf_named */
    rlf_module *module;
    bool def; /* the formals of a def: hides what is outside */
};

typedef struct rlf_named {
    rlf_entity entity;
    rlf_span span;
    bool round; /* a collect made it in each round: it is nothing now */
    bool used;
    struct rlf_named *inside; /* its meaning in the collect around; or NULL */
} rlf_named;

/* A name that the flow gives. */
typedef struct rlf_given_name {
    const char *name;
    const rlf_named *named;
    const char *what; /* "given", "drawn" */
} rlf_given_name;

/* The resource or value that a declaration turned out to be. */
typedef struct rlf_known {
    const rlf_ast_decl *decl;
    rlf_module *module;
    rlf_entity entity;
    bool busy; /* it is being worked out: a cycle comes back here */
} rlf_known;

/* Part of the language that cannot run yet, at its place. */
typedef struct rlf_refusal {
    rlf_span span;
    const char *text;
    bool lowers; /* the rest of the program can be lowered, and checked there */
} rlf_refusal;

/* A metric that is reported, where. */
typedef struct rlf_metric_name {
    const char *name;
    int term; /* -1: it was refused */
    int part, update, condition;
    rlf_span span;
    int before; /* the last one of this name before it, plus 1; 0: none */
} rlf_metric_name;

/* A loop around: pieces `piece` of the set `whole`. */
typedef struct rlf_loop {
    int whole, piece;
    int part; /* the part that is its body */
    struct rlf_loop *outer;
} rlf_loop;

/* A choice, c ? a : b, on one side of which the walk is, or the left of `and`
 * or `or`, on whose right it is. */
typedef struct rlf_sema_choice {
    int condition; /* term */
    bool holds;    /* what is read counts where the condition holds, or not */
    const struct rlf_sema_choice *outer;
} rlf_sema_choice;

/* A call in a loop over the pieces of a set that reads all of the set. */
typedef struct rlf_reread {
    int model, whole, piece, part;
    const char *method;
    bool live; /* it is in an update of the model */
    rlf_span span;
} rlf_reread;

/* So that no pass runs out of stack, or of time. */
enum {
    RLF_DEF_DEPTH = 64,     /* defs inside one another */
    RLF_IMPORT_DEPTH = 64,  /* files that import one another */
    RLF_EVAL_DEPTH = 3000,  /* expressions, through defs too */
    RLF_TERM_DEPTH = 3000,  /* operations on operations */
    RLF_TERM_MOST = 1 << 18 /* operations of a program */
};

typedef struct rlf_sema {
    rlf_arena *arena;
    rlf_sources *sources;
    rlf_diags *diags;
    const rlf_compile_options *options;
    const rlf_classes *classes;
    rlf_graph *graph;
    struct {
        rlf_module **data;
        size_t count, room;
    } modules; /* [0]: the program */
    struct {
        rlf_term *data;
        size_t count, room;
    } terms;
    struct {
        rlf_item *data;
        size_t count, room;
    } items;
    struct {
        rlf_sema_part *data;
        size_t count, room;
    } parts; /* regions to be; [0]: the flow */
    struct {
        rlf_maker *data;
        size_t count, room;
    } makers; /* nodes that make sets, by set */
    struct {
        rlf_update_statement *data;
        size_t count, room;
    } updates;
    /* Parameters and resources, in the order in which they were needed. */
    struct {
        rlf_known *data;
        size_t count, room;
    } known;
    rlf_map needed; /* declarations that an evaluation needs, by their places */
    rlf_map known_at; /* declaration -> its number in `known`, plus 1 */
    struct {
        int *data; /* by resource: its number in `known`, plus 1; or 0 */
        size_t count, room;
    } known_of;
    rlf_map
        made; /* what is read once in a region: -> its term or set, plus 1 */
    struct {
        rlf_given_name *data;
        size_t count, room;
    } given;
    rlf_map ended; /* name -> rlf_named, of blocks that have ended */
    rlf_map changing; /* def -> 2 if what it computes of its own changes, else
                         1 */
    /* The position of the walk. */
    rlf_scope *scope;
    int part;      /* region; -1: outside of the flow */
    int update;    /* number of the update around; -1 */
    int choosing;  /* data whose rows a condition chooses; -1 */
    size_t ungiven; /* parameters without a value: so many errors have been told
                       of, beside which others can be */
    int method_set; /* set whose method takes the arguments in hand; -1 */
    int condition;  /* in an update the term of the ifs around; -1: none */
    rlf_loop *loop;
    const rlf_sema_choice *choice; /* the innermost around; NULL: none */
    /* Programs that are right but cannot run yet: said when nothing is wrong.
     */
    struct {
        rlf_refusal *data;
        size_t count, room;
    } refusals;
    /* Metrics, to find what is written twice. */
    struct {
        rlf_metric_name *data;
        size_t count, room;
    } metrics;
    rlf_map metric_at; /* name -> the last one, plus 1 */
    struct {
        rlf_reread *data;
        size_t count, room;
    } rereads;
    bool collecting; /* the walk is in the block of a collect */
    int idle;        /* sides of choices and branches of ifs around that are
                        never taken */
    int maybe;       /* branches of ifs around of which the run decides */
    /* Constants that are not finite: what is to be said of each if it is used.
     */
    struct {
        rlf_diag *data;
        size_t count, room;
    } faults;
    int nesting;     /* expressions inside one another */
    int importing;   /* files that import one another, being read */
    uint32_t use;    /* the def that is expanded, for spans; 0: none */
    int expanding;   /* defs inside one another, their arguments too */
    /* Functions whose bodies the walk is in. */
    const rlf_ast_decl *defs[RLF_DEF_DEPTH];
    int n_defs;
    rlf_span operand[2]; /* places of the operands of the operation in hand, as
                            written; or nowhere */
} rlf_sema;

#endif

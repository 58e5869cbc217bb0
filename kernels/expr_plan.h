/* The plan of an expression program: what expr_plan.c makes of a program and a
 * backend (cpu/expr.c) runs. Internal to kernels; users see expr.h.
 *
 * A stage belongs to one rows domain. Its `cross` operations run first, each
 * over whole columns; then every row (or, in a stage without tokens, every
 * block of rows) goes through the runs in order:
 *
 *   ROWS    steps on values of the row
 *   BLOCKS  steps on its tokens, block by block: pointwise, reductions
 *   SCANS   steps on all its tokens at once
 *
 * Values are in registers: of a row; of a block of tokens; of all the row's
 * tokens, if a scan or a later run needs them; or a column itself (ALIAS). */
#ifndef RLF_KERNELS_EXPR_PLAN_H
#define RLF_KERNELS_EXPR_PLAN_H

#include "kernels/expr.h"

enum {
    RLF_EXPR_BLOCK = 256, /* tokens at a time */
    RLF_EXPR_ROWS = 64,   /* rows at a time in a stage without tokens */
};

/* A column: an input of the program or a temporary. */
typedef struct rlf_expr_store {
    enum { RLF_STORE_INPUT, RLF_STORE_OUTPUT, RLF_STORE_TEMP } kind;
    int index;
    int domain;
    bool text;
} rlf_expr_store;

typedef enum rlf_expr_place {
    RLF_PLACE_ROW,    /* one value a row */
    RLF_PLACE_BLOCK,  /* a block of tokens */
    RLF_PLACE_TOKENS, /* all tokens of the row */
    RLF_PLACE_ALIAS,  /* the row's tokens in a column */
} rlf_expr_place;

typedef struct rlf_expr_register {
    rlf_expr_place place;
    bool text;
    int tokens;            /* the tokens domain, or -1: of the row */
    int phase;             /* the phase in which it is made */
    int slot;              /* among the registers of its place: storage */
    rlf_expr_store column; /* ALIAS */
    int hop;               /* ALIAS: from the stage's rows to the column's */
} rlf_expr_register;

typedef enum rlf_expr_step_kind {
    RLF_STEP_LOAD,      /* a row's value from column `store`, by `hop` */
    RLF_STEP_CONST,     /* the constant of `op` */
    RLF_STEP_BROADCAST, /* a row's value to each token */
    RLF_STEP_POINT,     /* pointwise `code` */
    RLF_STEP_TEXT_EQ,
    RLF_STEP_TEXT_SELECT,
    RLF_STEP_LENGTH, /* it gives the number of tokens of `tokens` that the row
                        has */
    RLF_STEP_UNIFORM,
    RLF_STEP_AT_LAST,
    RLF_STEP_REDUCE, /* tokens to the row: SUM, LEAST, MOST */
    RLF_STEP_SCAN,   /* DISCOUNT .. PREV, RANK, ROTATE within the row */
    RLF_STEP_STORE,  /* register arg[0] to column `store` */
} rlf_expr_step_kind;

typedef struct rlf_expr_step {
    rlf_expr_step_kind kind;
    int op; /* the number of the operation in plan->expr */
    int y;
    int arg[3];
    int tokens; /* the tokens domain it works on, or -1 */
    rlf_expr_store store;
    int hop;
} rlf_expr_step;

typedef struct rlf_expr_steps {
    rlf_expr_step *data;
    size_t count, room;
} rlf_expr_steps;

typedef struct rlf_expr_pass {
    enum { RLF_PASS_ROWS, RLF_PASS_BLOCKS, RLF_PASS_SCANS } kind;
    int tokens; /* BLOCKS */
    rlf_expr_steps steps;
} rlf_expr_pass;

/* A whole-column operation: what a stage of `op`'s domain starts with. */
typedef struct rlf_expr_cross {
    int op;
    rlf_expr_store from;
    int temp;
    int hop; /* the hop from the argument's rows to the result's (`over`'s) rows
              */
} rlf_expr_cross;

typedef struct rlf_expr_stage {
    int rows; /* domain */
    bool live;
    int depth;
    bool has_tokens;
    struct {
        rlf_expr_cross *data;
        size_t count, room;
    } cross;
    struct {
        rlf_expr_pass *data;
        size_t count, room;
    } passes;
    struct {
        rlf_expr_register *data;
        size_t count, room;
    } registers;
    int n_slots[RLF_PLACE_ALIAS]; /* storage by place */
} rlf_expr_stage;

/* The way from the rows of one domain to those of one above it. */
typedef struct rlf_expr_hop {
    int from, to;
} rlf_expr_hop;

/* The program with composite reductions written out (expr_lower.c), pruned. */
rlf_expr *rlf_expr_lower(const rlf_expr *expr, rlf_arena *arena);

struct rlf_expr_plan {
    const rlf_expr *expr; /* lowered; same inputs and outputs */
    rlf_arena *arena;
    struct {
        rlf_expr_stage *data;
        size_t count, room;
    } stages;
    struct {
        rlf_expr_store *data; /* domain of each */
        size_t count, room;
    } temps;
    struct {
        rlf_expr_hop *data;
        size_t count, room;
    } hops;
};

#endif

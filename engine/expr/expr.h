/* Expression programs: fused arithmetic over ragged columns.
 *
 * The grammar lowers every run of pointwise operations, scans and reductions
 * that touch into one program: a flat table of operations in order, each on one
 * domain. derive.c adds the derivative (reverse mode); kernels run programs
 * row by row, all operations of a stage at once, never one pass an operator.
 * A program is read-only once made. */
#ifndef RLF_EXPR_EXPR_H
#define RLF_EXPR_EXPR_H

#include "engine/base/digest.h"
#include "engine/base/str.h"
#include "engine/expr/domain.h"

typedef enum rlf_expr_code {
#define EXPR(name, arity, derivative, text, doc) RLF_EXPR_##name,
#include "engine/expr/op.def"
#undef EXPR
    RLF_EXPR_CODES
} rlf_expr_code;

typedef struct rlf_expr_op {
    rlf_expr_code code;
    int domain;      /* the domain in which the result lives */
    int arg[3];      /* operations before this one; -1 unused */
    int over;        /* RANK, ROTATE: the domain whose indices are the groups */
    int index;       /* INPUT: which */
    uint32_t site;   /* UNIFORM: call site of the program */
    double constant; /* CONST of a number, */
    rlf_str words;   /* and of a text */
    bool text;       /* the result is a text (INPUT, CONST, DOWN, SELECT...) */
    rlf_span span;
} rlf_expr_op;

typedef struct rlf_expr_input {
    const char *name; /* the name in dumps and messages */
    int domain;
    bool text;
    bool live; /* the loss is derived with respect to it */
} rlf_expr_input;

typedef struct rlf_expr_output {
    const char *name;
    int op;
} rlf_expr_output;

typedef struct rlf_expr {
    rlf_arena *arena;
    const rlf_domains *domains;
    struct {
        rlf_expr_op *data;
        size_t count, room;
    } ops;
    struct {
        rlf_expr_input *data;
        size_t count, room;
    } inputs;
    struct {
        rlf_expr_output *data;
        size_t count, room;
    } outputs;
    uint32_t *slots; /* finds operations that are there already */
    size_t n_slots;
} rlf_expr;

const char *rlf_expr_text(rlf_expr_code code);
/* True for comparisons, `and`, `or`, `not`: 1 where something holds, else 0. */
bool rlf_expr_is_condition(rlf_expr_code code);
int rlf_expr_arity(rlf_expr_code code);
/* True for the operations of pointwise.def, on numbers index by index. */
bool rlf_expr_is_pointwise(rlf_expr_code code);
/* Returns the value of the operation; arguments beyond its arity are not looked
 * at. */
double rlf_expr_apply(rlf_expr_code code, double a, double b, double c);

/* The hint of an error where a NaN would decide something. */
#define RLF_EXPR_NAN_HINT                                              \
    "0 / 0, log of what is below 0, or the mean of no sample at all: " \
    "write what is meant there, as in n > 0 ? x : 0"
/* The hint where it is what operation `code` gives of values that are finite;
 * NULL: none of its own. */
const char *rlf_expr_nan_hint(rlf_expr_code code);
/* The hint of an error about `value`, which is not finite, and which operation
 * `code` of a program made of values that are: of arg[0], arg[1], ... (NULL:
 * not known, or more than one value an argument). It shows them. Not of a
 * derivative, whose operations nobody has written. */
enum { RLF_EXPR_HINT = 400 };
void rlf_expr_nonfinite_hint(rlf_expr_code code, double value,
                             const double *arg, char hint[RLF_EXPR_HINT]);
/* Add to such a hint of what is infinite that operation `code` made of it what
 * is not a number: of these arguments, or NULL as above. */
void rlf_expr_nan_of(rlf_expr_code code, const double *arg,
                     char hint[RLF_EXPR_HINT]);
/* The NaN that stands for a number that was not measured, such as the mean of
 * an empty set in a metric; operations on it may give another NaN. */
double rlf_expr_nothing(void);
bool rlf_expr_is_nothing(double x);

rlf_expr *rlf_expr_new(rlf_arena *arena, const rlf_domains *domains);
/* The same program, operation by operation; more can be added to it. */
rlf_expr *rlf_expr_copy(const rlf_expr *expr, rlf_arena *arena);
/* Each returns the index of the operation, input or output added. Adding an
 * operation that is there already (same code, domain, arguments...) returns
 * the earlier one, UNIFORM excepted; constants are folded. */
int rlf_expr_add(rlf_expr *expr, rlf_expr_op op);
int rlf_expr_add_input(rlf_expr *expr, rlf_expr_input input);
int rlf_expr_add_output(rlf_expr *expr, const char *name, int op);
/* `op` brought down to `domain` (op itself if it is there). */
int rlf_expr_down(rlf_expr *expr, int op, int domain);
/* Shorthands: the INPUT operation of an input, a CONST, a pointwise operation
 * whose arguments are brought down to where they meet. */
int rlf_expr_input_op(rlf_expr *expr, int input, rlf_span span);
int rlf_expr_constant(rlf_expr *expr, double value, rlf_span span);
/* The bytes of `words` are kept by reference. */
int rlf_expr_words(rlf_expr *expr, rlf_str words, rlf_span span);
int rlf_expr_pointwise(rlf_expr *expr, rlf_expr_code code, int a, int b, int c,
                       rlf_span span);

/* Verify the law of the table: argument order and domains, DOWN along reaching
 * domains, reductions from below, scans on TOKENS. RLF_BUG if it is broken. */
rlf_status rlf_expr_check(const rlf_expr *expr, rlf_err *err);
/* One line an operation. */
void rlf_expr_print(const rlf_expr *expr, rlf_buf *out);
/* Continue `digest` with everything that decides the result (no spans). */
rlf_digest rlf_expr_digest(const rlf_expr *expr, rlf_digest digest);
/* A copy without operations that no output needs. */
rlf_expr *rlf_expr_prune(const rlf_expr *expr, rlf_arena *arena);

/* The distance to which an output looks at live inputs around its own index. */
typedef enum rlf_reach {
    RLF_REACH_POINT,  /* only at the same token (and row), or nowhere */
    RLF_REACH_SAMPLE, /* within the same row and its tokens */
    RLF_REACH_BATCH,  /* across rows: needs all live values first */
} rlf_reach;
rlf_reach rlf_expr_reach(const rlf_expr *expr, int output);
/* True if operation `op` looks at other rows than its own: it reduces over
 * rows, brings a value down from other rows, or compares rows. */
bool rlf_expr_crosses(const rlf_expr *expr, int op);

typedef struct rlf_derivative {
    /* The program with one more output a live input, named "d NAME": the
     * derivative of output `loss` (a scalar) with respect to that input, on
     * the input's domain. Outputs of the given program keep their numbers. */
    rlf_expr *expr;
    int *output_of_input; /* per input: its gradient's output, -1 not live */
    /* Per input: its gradient may be the 0 of a side that was not taken, which
     * stays 0 however far it is carried on. */
    bool *guarded;
    rlf_reach reach; /* the farthest of all gradient outputs */
} rlf_derivative;

/* Reverse-mode derivative of scalar output `loss`. Comparisons, COUNT, RANK,
 * FLOOR, UNIFORM and SG are constants. A loss that no live input reaches is
 * not an error here: all gradients are constant 0. */
rlf_derivative *rlf_expr_derive(const rlf_expr *expr, int loss,
                                rlf_arena *arena);
/* Says whether output `output` depends on a live input in a way that a
 * derivative follows; for tests of derivatives. */
bool rlf_expr_is_live(const rlf_expr *expr, int output);
/* Per operation: does its value depend on a live input, in whatever way? */
bool *rlf_expr_depends(const rlf_expr *expr, rlf_arena *arena);

#endif

/* A program while it runs: what the files of its runner share. Private to
 * kernels/cpu/expr*.c. */
#ifndef RLF_KERNELS_CPU_EXPR_FRAME_H
#define RLF_KERNELS_CPU_EXPR_FRAME_H

#include "kernels/cpu/expr_loops.h"
#include "kernels/expr_plan.h"

#include <math.h>
#include <string.h>

enum { DEEPEST = 32 }; /* maps from a row to one above it */

/* A row's way up: through each map in turn. */
typedef struct hop {
    bool to_scalar; /* every row's is 0 */
    int n;
    const uint32_t *index[DEEPEST];
} hop;

/* The rows of a rows domain that a run is about. */
typedef struct rows {
    bool none;                  /* not part of this run */
    uint32_t n; /* the length of the list, or all rows of the space */
    const uint32_t *list;       /* NULL: all */
    const rlf_expr_part *parts; /* parts with token ranges, or NULL */
} rows;

struct rlf_expr_frame {
    const rlf_expr_plan *plan;
    const rlf_expr *expr;
    const rlf_domains *domains;
    const rlf_expr_bind *bind;
    rlf_queue *queue;
    rlf_arena *arena;
    rlf_expr_loop *const *loops;
    const rlf_space **space; /* spaces, by domain */
    void **temp;
    int *undecided; /* the last choice of texts by a NaN, or -1 */
    hop *hops;
    rows *rows; /* rows, by domain */
    uint64_t seed;
    bool scalars; /* outputs on the scalar domain are wanted */
    /* The state of the stage that runs. */
    const rlf_expr_stage *stage;
    char **base;    /* per register: its place in memory, */
    size_t *stride; /* by register: bytes from one token to the next */
    size_t room;    /* the room of base and stride */
    char *scratch;
    size_t scratch_size;
    const uint32_t *row; /* the rows that ROWS steps work on */
    uint32_t n_rows;
    uint32_t first, count; /* tokens of row[0] that BLOCKS steps work on */
    bool starts, ends;     /* this is the row's first block, its last */
};

typedef rlf_expr_frame frame;

static inline size_t
element(bool text)
{
    return text ? sizeof(rlf_str) : sizeof(double);
}

/* The data of a column, or NULL for an output that is not wanted. */
static inline char *
column_data(const frame *f, const rlf_expr_store *store)
{
    if (store->kind == RLF_STORE_TEMP)
        return f->temp[store->index];
    const rlf_column *c = store->kind == RLF_STORE_INPUT
                              ? &f->bind->inputs[store->index]
                              : &f->bind->outputs[store->index];
    return c->text ? (char *)c->text : (char *)c->number;
}

static inline uint32_t
follow(const hop *h, uint32_t row)
{
    for (int i = 0; i < h->n; i++)
        row = h->index[i][row];
    return h->to_scalar ? 0 : row;
}

static inline uint32_t
row_count(const frame *f, int domain)
{
    return domain == 0 ? 1 : f->space[domain]->count;
}

static inline uint32_t
length_of(const frame *f, int tokens, uint32_t row)
{
    return f->space[tokens]->length[row];
}

static inline uint64_t
identity_of(const frame *f, int domain, uint32_t row)
{
    const rlf_space *s = domain ? f->space[domain] : NULL;
    return !s ? 0 : s->identity ? s->identity[row] : row;
}

static inline const char *
name_of(const frame *f, int domain)
{
    return rlf_domains_get(f->domains, domain)->name;
}

static inline uint32_t
row_at(const rows *r, uint32_t i)
{
    return r->parts ? r->parts[i].row : r->list ? r->list[i] : i;
}

/* One more value of a reduction, and what it starts from. */
static inline double
fold(rlf_expr_code code, double a, double b)
{
    if (code == RLF_EXPR_SUM)
        return a + b;
    bool first = code == RLF_EXPR_LEAST ? a <= b : a >= b;
    return first || a != a ? a : b;
}

static inline double
fold_start(rlf_expr_code code)
{
    return code == RLF_EXPR_SUM     ? 0
           : code == RLF_EXPR_LEAST ? (double)INFINITY
                                    : -(double)INFINITY;
}

/* expr_step.c: carry out one step on the rows or tokens that the frame says. */
void rlf_expr_step_run(const frame *f, const rlf_expr_step *s);

/* RANK, ROTATE, UNROTATE of one group: its m elements are at places at[] of x
 * and y (at NULL: 0, 1, ...). */
void rlf_expr_regroup(rlf_expr_code code, char *y, const char *x,
                      const uint64_t *at, uint64_t m, bool text);

/* expr_cross.c: a whole-column operation. */
void rlf_expr_cross_run(const frame *f, const rlf_expr_cross *c);

#endif

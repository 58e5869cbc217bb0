/* Spaces and columns: domains with their sizes, at run time.
 *
 * A space is one instance of a domain: this step's rows and how they map to
 * the spaces above. A column is one value for each index of a space. Whoever
 * makes a space owns it (usually the step pool); it does not change once
 * columns refer to it, except that rows of a generation in flight get their
 * `length` when they are complete. */
#ifndef RLF_EXPR_SPACE_H
#define RLF_EXPR_SPACE_H

#include "engine/base/str.h"
#include "engine/expr/domain.h"

typedef struct rlf_space rlf_space;

typedef struct rlf_space_up {
    const rlf_space *to;   /* the space of the direct up-domain */
    const uint32_t *index; /* ROWS: row here -> row there. TOKENS under TOKENS
                              or ROWS: NULL, it follows from the rows */
} rlf_space_up;

struct rlf_space {
    int domain; /* index in the graph's rlf_domains */
    /* SCALAR: 1. ROWS: rows. TOKENS: rows of its rows space. */
    uint32_t count;
    /* Same order as rlf_domain.up. For TOKENS the owner's entry (its rows)
     * has index NULL: row i here is row i there. */
    rlf_space_up up[RLF_DOMAIN_UPS];
    /* TOKENS: token t of row i is at offset[i] + t of a column, t < length[i].
     * Gaps between rows are allowed (room for max_new); never read them. */
    const uint64_t *offset;
    const uint32_t *length;
    uint64_t extent; /* values that a column on this space has room for */
    /* ROWS: identity of each row for random keys and messages: number of its
     * draw from the data and its index in the group; never its position in
     * memory. NULL: its number. */
    const uint64_t *identity;
};

/* One value for each index of a space: numbers (f64) or texts. */
typedef struct rlf_column {
    const rlf_space *space;
    double *number; /* NULL for a text column */
    rlf_str *text;  /* NULL for a number column */
} rlf_column;

/* The row of the space of domain `to` that row `row` of `space` goes back to,
 * following the direct edges; `to` must reach the space's domain. Rows of
 * TOKENS spaces are those of their owners; of the scalar domain there is one,
 * 0. */
uint32_t rlf_space_row(const rlf_domains *domains, const rlf_space *space,
                       uint32_t row, int to);
/* The space of domain `to` above `space` (or `space` itself); not for the
 * scalar domain, which spaces do not name. */
const rlf_space *rlf_space_above(const rlf_domains *domains,
                                 const rlf_space *space, int to);

#endif

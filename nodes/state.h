/* States: the object behind `state s = 1.0` and `state s : d = 0.5`. */
#ifndef RLF_NODES_STATE_H
#define RLF_NODES_STATE_H

#include "nodes/data.h"

typedef struct rlf_state {
    double *value;        /* one, or one per row of the data */
    uint32_t count;       /* the number of numbers */
    double *marked;       /* the numbers when the step began; NULL: not known */
    const rlf_data *data; /* NULL: one number */
    rlf_digest rows;      /* the digest of the rows that the numbers are of
                             (rlf_data_digest) */
} rlf_state;

/* Fails, RLF_USER: the new value of a state is not finite. `where`: of a row,
 * or NULL. */
rlf_status rlf_state_fail(const rlf_call *call, double value, const char *where,
                          rlf_err *err);

#endif

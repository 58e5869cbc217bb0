/* States: the object behind `state s = 1.0` and `state s : d = 0.5`. */
#ifndef RLF_NODES_STATE_H
#define RLF_NODES_STATE_H

#include "nodes/data.h"

typedef struct rlf_state {
    double *value;        /* one, or one per row of the data */
    uint32_t count;       /* of them */
    const rlf_data *data; /* NULL: one number */
} rlf_state;

#endif

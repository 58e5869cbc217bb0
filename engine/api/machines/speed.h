/* How fast this machine is, measured in about two seconds. */
#ifndef RLF_API_MACHINES_SPEED_H
#define RLF_API_MACHINES_SPEED_H

#include "engine/base/status.h"

typedef struct rlf_machine_speed {
    int threads;    /* by which products and reading were done */
    double product; /* operations a second of matrix products, f32 */
    double bf16;    /* ... of bf16 */
    double read;    /* bytes a second, of a block that no cache holds */
    double touch;   /* bytes a second of memory that is touched for the first
                       time, by one thread */
    double sync;    /* seconds until a small file is on the disk; NaN: none can
                       be written there */
    int why;        /* ... errno of that; else 0 */
} rlf_machine_speed;

/* Measures, with a file in `directory` that is removed again. After an error
 * (there is no memory, no thread) `sync` and `why` are right, and all else that
 * could not be measured is NaN. */
rlf_status rlf_machine_measure(const char *directory, rlf_machine_speed *out,
                               rlf_err *err);

#endif

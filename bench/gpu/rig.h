/* The parts that the programs of this folder which measure operations share: a
 * GPU with its limits, memory full of numbers, the time of a call, a row of the
 * table of results.
 *
 * Without a GPU `tiny` looks at the program, and measures nothing: on the
 * GPU's own kernels emulated, or the CPU's where there is no C++ compiler. */
#ifndef RLF_BENCH_GPU_RIG_H
#define RLF_BENCH_GPU_RIG_H

#include "bench/gpu/limits.h"

enum { RIG_BLOCKS = 64 };

typedef struct rig {
    rlf_device *device;
    rlf_queue *queue;
    const rlf_kernels *kernels;
    limits limits;
    bool small; /* tiny */
    int times;  /* calls of a round */
    void *blocks[RIG_BLOCKS];
    size_t bytes[RIG_BLOCKS];
    int n_blocks;
} rig;

/* `tiny` among the arguments: see above. */
void rig_open(rig *r, int argc, char **argv);
void rig_close(rig *r);
/* Is the shape to be measured? Those that are named are, or all but tiny. */
bool rig_named(int argc, char **argv, const char *shape);

/* Memory of the GPU until rig_clear: as it comes, or with numbers. */
void *rig_take(rig *r, size_t bytes);
void *rig_reals(rig *r, int64_t n);   /* activations in [-1, 1) */
float *rig_floats(rig *r, int64_t n); /* in [-1, 1) */
float *rig_zeros(rig *r, int64_t n);
int32_t *rig_ints(rig *r, int64_t n, int64_t most); /* in [0, most) */
void *rig_send(rig *r, const void *host, size_t bytes);
void rig_clear(rig *r);

/* Seconds of a call: the best round of several, each of calls one after the
 * other with different arguments, so that what is read does not lie in caches
 * if there are enough of them. On a GPU they are recorded and carried out at
 * once, which leaves out what it costs to launch them; a call that cannot be
 * recorded is timed as it is. */
typedef rlf_status rig_call(rlf_queue *queue, const void *args, rlf_err *err);
double rig_time(rig *r, rig_call *call, const void *args, size_t size, int n);

/* The head of the table of these rows. */
void rig_table(void);
/* A row: seconds, and those that are due by `by`; ratio and what is wanted of
 * it (0: nothing). */
void rig_row(const char *what, double seconds, double due, const char *by,
             double wanted);
/* The larger of bytes and flops of the limits, in seconds; which in *by. */
double rig_due(const rig *r, double bytes, double flops, const char **by);

#endif

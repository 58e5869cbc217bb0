/* Backends: what a rank can compute on. One is a kind of device and the table
 * of operations for its queues.
 *
 * The caller that runs a program is given a list of them and chooses one by
 * name; nobody else knows how many there are. A new backend is a file and a row
 * in such a list. Its name and the type of activations are part of a run's
 * numerics. */
#ifndef RLF_KERNELS_BACKEND_H
#define RLF_KERNELS_BACKEND_H

#include "engine/base/str.h"
#include "kernels/kernels.h"

typedef struct rlf_backend_options {
    int index;           /* the number among devices of its kind */
    int n_threads;       /* threads of the rank's team on the host, as in
                            rlf_cpu_options */
    int n_run_threads;   /* threads of the teams of all ranks here, as in
                            rlf_cpu_options */
    size_t memory_limit; /* bytes of device memory in all; 0: none */
} rlf_backend_options;

typedef struct rlf_backend {
    const char *name, *doc;
    /* Devices of this kind that the process may use, at least 1; RLF_ENV says
     * why there is none. */
    rlf_status (*count)(int *out, rlf_err *err);
    /* Counts the memory of a device; all 0: it is that of the host, and counted
     * there. */
    rlf_status (*memory)(int index, rlf_device_memory *out, rlf_err *err);
    /* Opens a device for the calling thread. */
    rlf_status (*open)(const rlf_backend_options *options, rlf_device **out,
                       rlf_err *err);
    /* The types that activations can have, ended by RLF_CAST_TYPES; the first
     * is the one to take if nothing is said. */
    rlf_cast_type reals[RLF_CAST_TYPES + 1];
    /* `isa`: a variant by name, NULL: the best. NULL if there is none. */
    const rlf_kernels *(*kernels)(const char *isa, rlf_cast_type real);
    /* Tries what the queue's device has for this type, before its operations:
     * `algorithms` becomes the set of those that may be left out and gave right
     * results, `notes` gets a line for each thing that it lacks and others of
     * its kind have. Waits for the queue. RLF_ENV: the device failed. */
    rlf_status (*prepare)(rlf_queue *queue, rlf_cast_type real,
                          uint32_t *algorithms, rlf_buf *notes, rlf_err *err);
    /* Of those that may be left out all queues of the device use these, a part
     * of what prepare() found. Writes what decides the bits of products in this
     * type then, in words: the kind of device, the algorithm, the library and
     * its version. Nothing where the type alone decides. */
    void (*choose)(rlf_queue *queue, rlf_cast_type real, uint32_t algorithms,
                   rlf_buf *out);
} rlf_backend;

/* The back ends of this build, ended by NULL; the first is the one to take if
 * nothing is said. */
extern const rlf_backend *const rlf_backends[];
extern const rlf_backend rlf_backend_cpu, rlf_backend_cuda;

/* The one of that name in a list, or NULL. */
const rlf_backend *rlf_backend_find(const rlf_backend *const *list,
                                    const char *name);

/* The type of that name (NULL: the first), if activations can be of it there;
 * RLF_USAGE else. */
rlf_status rlf_backend_real(const rlf_backend *backend, const char *name,
                            rlf_cast_type *out, rlf_err *err);

/* The kernels of that type for an instruction set (NULL: the best of this
 * machine); RLF_USER if this machine or build has none. */
rlf_status rlf_backend_kernels(const rlf_backend *backend, const char *isa,
                               rlf_cast_type real, rlf_err *err,
                               const rlf_kernels **out);

/* "f32", "bf16", "f16": as in a run's numerics. */
const char *rlf_cast_name(rlf_cast_type type);
size_t rlf_cast_bytes(rlf_cast_type type); /* of a number */

#endif

/* The clusters that --cluster names: a preset, this machine, or a cluster file.
 *
 *     a100x8        a machine of eight A100; a100x8:16 sixteen of them
 *     this          this machine with one rank; this:4 with four
 *     hf.rlf        the cluster of a file; hf.rlf:NAME one of several */
#ifndef RLF_API_MACHINES_CLUSTER_H
#define RLF_API_MACHINES_CLUSTER_H

#include "engine/base/diag.h"
#include "engine/layout/cluster.h"

/* RLF_USAGE if there is none of that name, or not so many; RLF_USER if a file
 * is wrong: what is in `diags`, all else in `err`. Warnings stay in `diags`.
 * All lives in `arena`. */
rlf_status rlf_cluster_open(const char *name, rlf_arena *arena,
                            rlf_sources *sources, rlf_diags *diags,
                            rlf_err *err, rlf_cluster **out);

#endif

/* Cluster files: devices, machines and clusters, declared in the syntax of the
 * language and checked like a program (engine/layout/cluster.h is what they
 * become).
 *
 *     device  a100 = gpu(bf16: 312e12, ...)
 *     machine box  = node(a100, count: 8, ...)
 *     cluster hf   = net(box, count: 16, ...)
 *
 * Names of the file come before those of presets. */
#ifndef RLF_GRAMMAR_CLUSTER_H
#define RLF_GRAMMAR_CLUSTER_H

#include "engine/layout/cluster.h"
#include "engine/graph/class.h"
#include "grammar/ast.h"

/* Is it a device, a machine or a cluster? */
bool rlf_cluster_declares(const rlf_ast_decl *decl);
/* Is it a cluster file, right or wrong: has it one of these, and no flow? */
bool rlf_cluster_is_file(const rlf_ast_program *program);

typedef struct rlf_clusters {
    rlf_cluster **list; /* clusters, in the order of the file */
    int n;              /* the number of clusters, at least 1 */
} rlf_clusters;

/* The clusters of a file. RLF_USER if something is wrong: then it is in
 * `diags`, or in `err` if the file declares no cluster. */
rlf_status rlf_clusters_make(const rlf_ast_program *program, rlf_arena *arena,
                             rlf_sources *sources, rlf_diags *diags,
                             rlf_err *err, rlf_clusters *out);

/* The arguments of gpu(), cpu(), node() and net(), for the test of the manual;
 * NULL for any other name. */
const rlf_formal *rlf_cluster_formals(const char *name, int *n);

#endif

/* DIRECTORY/checkpoints.json: of each checkpoint that a run saved the digest of
 * its manifest, which is one of all that it has. It stands outside of the
 * checkpoints, so that one that was put together by hand, or comes from another
 * run, is told from what the run saved, however well it agrees with itself. */
#ifndef RLF_SCHED_REGISTRY_H
#define RLF_SCHED_REGISTRY_H

#include "engine/base/arena.h"
#include "engine/base/digest.h"
#include "engine/base/status.h"
#include "engine/sched/retention.h"

typedef struct rlf_registry {
    const char *path;
    struct rlf_registry_entry {
        uint32_t step;
        const char *digest;
    } *entries;
    size_t count;
    bool there; /* it is there, and can be read */
} rlf_registry;

/* Reads entries into `arena`. A file that is missing or damaged has none: it
 * says less, and ends no run. */
void rlf_registry_read(const char *directory, rlf_arena *arena,
                       rlf_registry *out);
/* Compares what was saved of the step: RLF_OK that digest, RLF_AGAIN nobody
 * knows, RLF_USER another one. */
rlf_status rlf_registry_check(const rlf_registry *registry, uint32_t step,
                              rlf_digest digest);
/* Note the checkpoint of a step before it takes its name; entries of steps that
 * are not in `all` go. */
rlf_status rlf_registry_note(const char *directory, const rlf_checkpoints *all,
                             uint32_t step, rlf_digest digest,
                             rlf_arena *arena, rlf_err *err);

#endif

/* The manifest of a checkpoint: which files it has and how they can be told
 * from damaged ones; how far the run's journals had come; what decides which
 * checkpoints stay. See checkpoint.c for what lies beside it. */
#ifndef RLF_SCHED_MANIFEST_H
#define RLF_SCHED_MANIFEST_H

#include "engine/base/arena.h"
#include "engine/base/digest.h"
#include "engine/sched/run.h"

/* Write `dir`/manifest.json about all files below `dir`, and sync its
 * directories. *digest is of all that it says, so of the whole checkpoint. */
rlf_status rlf_manifest_write(const char *dir,
                              const rlf_checkpoint_metadata *metadata,
                              bool ended, rlf_arena *arena, rlf_err *err,
                              rlf_digest *digest);
/* Verify every file of the checkpoint. RLF_USER: it is damaged, and the error
 * says where. Texts of *metadata live in `arena`. */
rlf_status rlf_manifest_check(const char *dir, rlf_arena *arena, rlf_err *err,
                              rlf_digest *digest,
                              rlf_checkpoint_metadata *metadata, bool *ended);
/* Checks as the one above, but the file `name` alone. */
rlf_status rlf_manifest_check_one(const char *dir, const char *name,
                                  rlf_arena *arena, rlf_err *err,
                                  rlf_digest *digest);
/* Remove the checkpoint: the files that it lists, and last itself. *left: there
 * was something else in `dir`, which stays. One that is damaged lists nothing
 * that is known: then all goes. One that cannot be opened, a link maybe, stays
 * with all (left), and so does what lies behind a link in `dir`. Where there is
 * no manifest it was gone already. */
rlf_status rlf_manifest_remove(const char *dir, rlf_arena *arena, rlf_err *err,
                               bool *left);
/* Is there one, whole or not? Without it `dir` is no checkpoint. */
bool rlf_manifest_exists(const char *dir, rlf_arena *arena);

#endif

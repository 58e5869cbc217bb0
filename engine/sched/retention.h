/* The checkpoints of a run: which there are, which stay and which go.
 *
 * They are directories CHECKPOINTS/step-NNNNNNNN. One goes by being renamed to
 * "removing" first, so that no kill leaves half of one under its name; one that
 * is damaged is set aside as damaged-NNNNNNNN and never removed here. */
#ifndef RLF_SCHED_RETENTION_H
#define RLF_SCHED_RETENTION_H

#include "engine/base/arena.h"
#include "engine/base/status.h"
#include "engine/base/str.h"

/* The place in the run's directory where one is written until it is whole. */
#define RLF_CHECKPOINT_WRITING "checkpoints/writing"

typedef struct rlf_checkpoints {
    const char *directory;
    uint32_t *steps; /* ascending */
    size_t count;
} rlf_checkpoints;

/* Lists the checkpoints of the run in `directory`; a run that has none yet is
 * fine. */
rlf_status rlf_checkpoints_list(const char *directory, rlf_arena *arena,
                                rlf_err *err, rlf_checkpoints *out);
char *rlf_checkpoints_path(const rlf_checkpoints *all, uint32_t step,
                           rlf_arena *arena);
/* Remove what is neither among the newest `keep`, counted up to step `last`,
 * nor of step `best` (0: none); what has no manifest does not count and goes.
 * And what a kill in the middle of saving or removing left. Files in there that
 * no manifest lists are kept, of which `said` gets a line. */
rlf_status rlf_checkpoints_prune(const char *directory, uint32_t last,
                                 uint32_t keep, uint32_t best, rlf_arena *arena,
                                 rlf_err *err, rlf_buf *said);
/* Rename what has the name of the checkpoint of that step to "AS-STEP", or to
 * the first such name that is free; *to is where it is then. */
rlf_status rlf_checkpoints_set_aside(const rlf_checkpoints *all, const char *as,
                                     uint32_t step, rlf_arena *arena,
                                     rlf_err *err, const char **to);

#endif

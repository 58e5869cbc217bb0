/* The problem that the options of `rlflow schedule` describe. */
#ifndef RLF_CMD_SCHEDULE_H
#define RLF_CMD_SCHEDULE_H

#include "engine/base/option.h"
#include "engine/fuse/fuse.h"

/* As many places as the model with most stages has. A model of fewer has copies
 * NAME.1, NAME.2, .. on places of their own; every second model goes through
 * its places from the last to the first. *cap: what a place may hold, 0 if it
 * is not given. RLF_USAGE with what is wrong. All in `arena`; fuse->cap stays
 * NULL. */
rlf_status rlf_schedule_read(const rlf_command_line *line, rlf_arena *arena,
                             rlf_err *err, rlf_fuse *fuse, double *cap);

#endif

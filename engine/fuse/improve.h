/* The search of rlf_fuse_search. Internal to engine/fuse. */
#ifndef RLF_FUSE_IMPROVE_H
#define RLF_FUSE_IMPROVE_H

#include "engine/fuse/rows.h"

/* The shortest table below the caps that so many moves find, in `arena`; NULL:
 * no table is below them, since a place cannot hold what one micro-batch leaves
 * there. *moves: how many it took. */
rlf_row_number *rlf_improve(const rlf_fuse *fuse,
                            const rlf_fuse_options *options, rlf_arena *arena,
                            int64_t *moves, bool *stopped);

#endif

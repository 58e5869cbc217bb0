#ifndef RLF_NODES_MODEL_SLIPS_H
#define RLF_NODES_MODEL_SLIPS_H

#include <jansson.h>

#include "engine/base/arena.h"

/* `"rope_thata" (did you mean "rope_theta"?), ...`, in the arena, for a
 * config.json; NULL: it has none. */
const char *rlf_config_slips(const json_t *root, rlf_arena *arena);

#endif

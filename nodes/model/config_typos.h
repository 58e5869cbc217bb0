#ifndef RLF_NODES_MODEL_CONFIG_TYPOS_H
#define RLF_NODES_MODEL_CONFIG_TYPOS_H

#include "engine/base/arena.h"
#include "nodes/model/config_keys.h"

/* `"rope_thata" (did you mean "rope_theta"?), ...`, in the arena, for a
 * config.json of a family that has `names` of its own and reads further keys,
 * "a|b" or NULL; NULL: it has none. */
const char *rlf_config_typos(const json_t *root, const rlf_key_name *names,
                             const char *read, rlf_arena *arena);

#endif

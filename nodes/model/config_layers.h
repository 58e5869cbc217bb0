/* Layers that differ: those that rotate nothing, and those that see a window of
 * keys. Read from config.json where a family has them; a key that asks for what
 * the family has not is refused by its name. */
#ifndef RLF_MODEL_CONFIG_LAYERS_H
#define RLF_MODEL_CONFIG_LAYERS_H

#include "nodes/model/config.h"
#include "nodes/model/config_keys.h"

/* Sets `still`, `window` and `windowed` of a config whose layers are counted;
 * in `arena`. RLF_USER names the key. */
rlf_status rlf_config_layers(const rlf_config_keys *keys,
                             const struct rlf_family *family, rlf_arena *arena,
                             rlf_model_config *c);

#endif

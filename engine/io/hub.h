/* Models in the local cache of the Hugging Face hub, by their names there.
 *
 * The cache is HF_HUB_CACHE, else HF_HOME/hub, else that of ~/.cache, as the
 * hub's own library has it; a model's files are the snapshot that refs/main
 * names. Nothing is downloaded, and nothing is written. */
#ifndef RLF_IO_HUB_H
#define RLF_IO_HUB_H

#include "engine/base/arena.h"

/* What a user means by `name`, which leads to `path`: that, where anything
 * stands there; else the snapshot of the model of this name, if the cache has
 * one; else `path`. It lives in `arena`, or is `path` itself. */
const char *rlf_hub_path(const char *path, const char *name, rlf_arena *arena);

/* How to get a model for which nothing stands at `path`, in `arena`; "" if its
 * last two parts are no name of a model. For a message's hint, behind "nothing
 * is downloaded". */
const char *rlf_hub_advice(const char *path, rlf_arena *arena);

#endif

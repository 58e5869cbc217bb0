/* Models in the local cache of the Hugging Face hub, by their names there.
 *
 * The cache is HF_HUB_CACHE, else HF_HOME/hub, else that of ~/.cache, as the
 * hub's own library has it; a model's files are the snapshot that refs/main
 * names. Nothing is downloaded, and nothing is written. */
#ifndef RLF_IO_HUB_H
#define RLF_IO_HUB_H

#include "engine/base/arena.h"
#include "engine/base/status.h"

/* Returns the path that a user means by `name`, which leads to `path`: that,
 * where anything stands there; else the snapshot of the model of this name, if
 * the cache has one; else `path`. Names are also written as the address of
 * their page, as the cache calls their directories ("models--OWNER--MODEL"),
 * and with a slash behind; the directory itself is its snapshot. The result
 * lives in `arena`, or is `path` itself. */
const char *rlf_hub_path(const char *path, const char *name, rlf_arena *arena);

/* Returns, in `arena`, how to get a model for which nothing stands at `path`,
 * or a directory of the cache without its snapshot, and what is wrong there; ""
 * if its last two parts are no name of a model. For a message's hint, behind
 * "nothing is downloaded". */
const char *rlf_hub_advice(const char *path, rlf_arena *arena);
/* Add to an error what a snapshot of the cache lacks that `path` is, or is a
 * file of: a file that a link has lost, what was not downloaded. */
void rlf_hub_explain(const char *path, rlf_err *err);

#endif

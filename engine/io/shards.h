/* The files that a path of data names: one, those that a pattern matches, or
 * those of a folder.
 *
 * Something that stands at the path is meant as it is called, whatever
 * characters its name has. Else `*`, `?` and `[...]` stand for parts of names,
 * in folders' names too, but never for a '/' or a leading '.'.
 *
 * Of a folder those files are read whose names end as the format's do (also
 * before .gz and .zst), and begin neither with '.' nor with '_': those in
 * itself, else those in its folder `data`, else those in the one that is called
 * as the split. With parquet go the files of Arrow (.arrow) that save_to_disk
 * of the library `datasets` writes. A file is of the split that its name says
 * without its ending and the number behind it: `train.jsonl`,
 * `train-00000-of-00002.parquet`. */
#ifndef RLF_IO_SHARDS_H
#define RLF_IO_SHARDS_H

#include "engine/base/arena.h"
#include "engine/base/status.h"

#include <stddef.h>

typedef enum rlf_shard_format {
    RLF_SHARD_JSON,
    RLF_SHARD_CSV,
    RLF_SHARD_PARQUET
} rlf_shard_format;

typedef struct rlf_shard_files {
    const char **paths; /* paths, in byte order */
    const char **names; /* the name of each, behind the folders that all have */
    size_t count;       /* the number of files, at least 1 */
} rlf_shard_files;

/* `split`: of a folder, NULL: it has no several. In `arena`. RLF_USER for a
 * pattern that nothing matches, a folder without such files or with several
 * splits; that a single file is there is not looked for. */
rlf_status rlf_shard_files_list(const char *path, rlf_shard_format format,
                                const char *split, rlf_arena *arena,
                                rlf_err *err, rlf_shard_files *out);
/* The same of any path, of the format that its name or what it holds says: a
 * file, a pattern, a folder. A name that says nothing is of JSON. */
rlf_status rlf_shard_files_find(const char *path, const char *split,
                                rlf_arena *arena, rlf_err *err,
                                rlf_shard_format *format, rlf_shard_files *out);

#endif

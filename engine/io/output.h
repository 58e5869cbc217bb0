/* Files that the user names for a command to write to: pictures, tables,
 * profiles, programs in the standard form.
 *
 * A regular file is replaced atomically, as in file.h, by way of a hidden file
 * in its directory (.NAME.rlflow.part), and keeps its permissions; a symbolic
 * link stays, and what it leads to is replaced. What is no regular file (a
 * device, a named pipe) is written through and never replaced. All failures are
 * RLF_ENV. Files that a run keeps in its directory are file.h's. */
#ifndef RLF_IO_OUTPUT_H
#define RLF_IO_OUTPUT_H

#include "engine/base/arena.h"
#include "engine/base/status.h"

/* Could the file be written? Changes nothing, so that it can be asked before
 * long work; a full disk, or a named pipe that nobody reads, shows only when it
 * is written. `path` NULL: no file is wanted. */
rlf_status rlf_output_check(const char *path, rlf_err *err);
/* The one absolute path of what is at `path`, or would be once it is written:
 * without links, "." and "..". */
const char *rlf_output_path(const char *path, rlf_arena *arena);
/* Make n bytes what the file holds, or send them to what stands there. */
rlf_status rlf_output_write(const char *path, const void *p, size_t n,
                            rlf_err *err);
/* The same piece by piece, for what is large. Every file ends with close or
 * drop, both of which free it; a failed close has dropped it. What is written
 * through stays written. */
typedef struct rlf_output_file rlf_output_file;
rlf_status rlf_output_open(const char *path, rlf_err *err,
                           rlf_output_file **out);
rlf_status rlf_output_add(rlf_output_file *file, const void *p, size_t n,
                          rlf_err *err);
rlf_status rlf_output_close(rlf_output_file *file, rlf_err *err);
void rlf_output_drop(rlf_output_file *file); /* NULL is fine */

#endif

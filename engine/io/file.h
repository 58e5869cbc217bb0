/* Files and directories, so that a crash or a full disk loses nothing.
 *
 * A file is replaced atomically: written beside (PATH.part), fsynced, renamed,
 * its directory fsynced. Whoever reads PATH sees the old file or the new one,
 * whole. An interrupted writer leaves at most one PATH.part, which the next
 * writer of PATH removes. Messages name the path. What cannot be read because
 * the user named it wrongly (no such file, no permission) is RLF_USER; what the
 * machine refuses, and all that cannot be written, is RLF_ENV. Not thread-safe
 * for one path; else free of shared state. */
#ifndef RLF_IO_FILE_H
#define RLF_IO_FILE_H

#include "engine/base/arena.h"
#include "engine/base/status.h"
#include "engine/base/str.h"

/* Append the whole file to `out`; RLF_USER if it is larger than `most`. */
rlf_status rlf_file_read(const char *path, size_t most, rlf_err *err,
                         rlf_buf *out);
/* Replace the file by n bytes, atomically. */
rlf_status rlf_file_write(const char *path, const void *p, size_t n,
                          rlf_err *err);
/* Replace `to` by a copy of `from`, atomically. */
rlf_status rlf_file_copy(const char *from, const char *to, rlf_err *err);
/* Append n bytes, made if missing: all of them, or none (cut back). With
 * `sync` they are on the disk when it returns. *at (unless NULL): where in the
 * file they begin, behind what others have appended before them. RLF_ENV if a
 * symbolic link stands there, or what is no file. */
rlf_status rlf_file_append(const char *path, const void *p, size_t n, bool sync,
                           uint64_t *at, rlf_err *err);
/* fsync a file: what was appended is on the disk. */
rlf_status rlf_file_sync(const char *path, rlf_err *err);
/* Cut the file to its first n bytes; RLF_USER if it has fewer. */
rlf_status rlf_file_truncate(const char *path, size_t n, rlf_err *err);
/* The hint where a path that the user named leads nowhere. */
extern const char rlf_file_absent[];
/* Are there two files of the same bytes, at least one? */
bool rlf_file_same(const char *a, const char *b);
/* Something stands there that is no directory. It may be no file that can be
 * read, such as a link to nothing: reading it then says so, where taking it for
 * absent would say nothing. */
bool rlf_file_exists(const char *path);
/* Is there anything? RLF_ENV if that cannot be known. */
rlf_status rlf_file_find(const char *path, rlf_err *err, bool *out);
/* Likewise, a directory, or what cannot be looked at. */
bool rlf_dir_exists(const char *path);

/* A program keeps a file, or a directory, of its own at `path`: *there is false
 * if it is not there yet. RLF_ENV, naming what stands there, if it is something
 * else (a link to nothing, a directory, a named pipe), or may not be read, and
 * if `written` be written. */
rlf_status rlf_file_own(const char *path, bool written, rlf_err *err,
                        bool *there);
rlf_status rlf_dir_own(const char *path, rlf_err *err, bool *there);
/* Writes all n bytes; false: errno says why not. */
bool rlf_fd_write(int fd, const void *bytes, size_t n);
/* Nothing that is kept at `path` is elsewhere: RLF_ENV if a symbolic link
 * stands there, which another directory may lead to as well. */
rlf_status rlf_path_own(const char *path, rlf_err *err);

/* A file being replaced piece by piece. Every writer ends with commit or
 * drop, both of which free it; a failed commit has dropped it. */
typedef struct rlf_writer rlf_writer;
rlf_status rlf_writer_open(const char *path, rlf_err *err, rlf_writer **out);
/* The same where the directory is not the program's: the file beside it has a
 * name that nobody else gives, DIR/.NAME.rlflow.part. */
rlf_status rlf_writer_open_hidden(const char *path, rlf_err *err,
                                  rlf_writer **out);
rlf_status rlf_writer_add(rlf_writer *writer, const void *p, size_t n,
                          rlf_err *err);
/* The permissions that the file will have. */
rlf_status rlf_writer_mode(rlf_writer *writer, unsigned mode, rlf_err *err);
/* Checksum (checksum.h) and size of what was added so far. */
uint32_t rlf_writer_checksum(const rlf_writer *writer);
uint64_t rlf_writer_size(const rlf_writer *writer);
/* The commit does not wait for the disk: until rlf_file_sync, and rlf_dir_sync
 * of its directory, the file survives the end of the process, and not that of
 * the machine. */
void rlf_writer_lazy(rlf_writer *writer);
rlf_status rlf_writer_commit(rlf_writer *writer, rlf_err *err);
void rlf_writer_drop(rlf_writer *writer); /* NULL is fine */

/* A file that is read in pieces, from any place. What it takes of memory is the
 * reader's piece: so are large files read, of which a mapping would be resident
 * as far as it was read. Safe for several threads at once. */
typedef struct rlf_infile rlf_infile;
rlf_status rlf_infile_open(const char *path, rlf_err *err, rlf_infile **out);
uint64_t rlf_infile_size(const rlf_infile *input); /* when it was opened */
/* n bytes from `at` on, all inside the file; RLF_ENV if it is shorter now. */
rlf_status rlf_infile_read(const rlf_infile *input, uint64_t at, void *p,
                           size_t n, rlf_err *err);
void rlf_infile_close(rlf_infile *input); /* NULL is fine */

/* Make the directory and its parents; one that is there is fine. */
rlf_status rlf_dir_make(const char *path, rlf_err *err);
/* The same of what stands in `base`, which is there: if somebody has moved it
 * away it is not made again. */
rlf_status rlf_dir_make_in(const char *base, const char *path, rlf_err *err);
/* Remove a file or a tree; nothing there is fine. Links are not followed. */
rlf_status rlf_dir_remove(const char *path, rlf_err *err);
/* Remove of a tree the directories that hold nothing but such; *left: the
 * directory is still there. One that is not there is fine. */
rlf_status rlf_dir_remove_empty(const char *path, rlf_err *err, bool *left);
/* No directory in the tree below `path` is a symbolic link, nor with `files`
 * anything else: RLF_ENV names the first one. What cannot be listed is left
 * out. */
rlf_status rlf_dir_check_links(const char *path, bool files, rlf_err *err);
/* fsync the directory: the names in it are on the disk. */
rlf_status rlf_dir_sync(const char *path, rlf_err *err);
/* The names in a directory in byte order, without . and .. */
rlf_status rlf_dir_list(const char *path, rlf_arena *arena, rlf_err *err,
                        const char ***names, size_t *count);

/* Rename a file or directory (replacing a file, or an empty directory), and
 * fsync the directory that holds `to`. */
rlf_status rlf_path_rename(const char *from, const char *to, rlf_err *err);
/* "dir/name", or `name` if it is absolute. */
char *rlf_path_join(rlf_arena *arena, const char *dir, const char *name);
/* The directory that holds `path`: "." if it has no slash. */
char *rlf_path_parent(rlf_arena *arena, const char *path);

#endif

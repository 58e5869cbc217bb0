/* A directory that one process writes to at a time: a lock file in it, held by
 * flock, that says who holds it. It is let go when the process ends, however it
 * ends; the file goes when the holder closes the lock.
 *
 * On file systems without flock the file itself is the lock: it is then made by
 * whoever comes first, and one that a killed process left has to be removed by
 * hand unless that was on this machine.
 *
 * The directory itself is locked as well, where the file system can do that: so
 * who removes the file lets nobody in, and its holder makes it again. */
#ifndef RLF_IO_LOCK_H
#define RLF_IO_LOCK_H

#include "engine/base/arena.h"
#include "engine/base/status.h"

typedef struct rlf_lock rlf_lock;

/* Lock the directory, which is there. RLF_USER, naming process and host, if
 * another one holds it; RLF_ENV if no lock file can be made. */
rlf_status rlf_lock_take(const char *directory, rlf_err *err, rlf_lock **out);
/* Is the directory still the one that was locked, with this lock in it? A file
 * that somebody removed from a directory that is locked itself is made again.
 * RLF_ENV, saying what is not, where another process may write there. */
rlf_status rlf_lock_check(rlf_lock *lock, rlf_err *err);
/* Says whether the file was made again since this was asked for the last time.
 */
bool rlf_lock_remade(rlf_lock *lock);
/* The file could not be written, so others are not told who holds the lock,
 * since this was asked for the last time; *err says why. */
bool rlf_lock_unsaid(rlf_lock *lock, rlf_err *err);
/* Removes the lock file, if it is still this lock's, as the process ends. */
void rlf_lock_leave(const rlf_lock *lock); /* NULL is fine */
/* Removes the lock file, if it is still this lock's. */
void rlf_lock_release(rlf_lock *lock); /* NULL is fine */

#endif

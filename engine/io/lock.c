/* A lock of a directory: see lock.h. */
#include "engine/io/lock.h"

#include "engine/base/clock.h"
#include "engine/io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct rlf_lock {
    int file;
    int whole;   /* the directory, which is locked itself; -1: it cannot be */
    bool remade; /* the file, since it was asked */
    int unsaid;  /* errno: the file does not say who holds it; 0: it does */
    struct stat found;     /* the directory, when it was locked */
    const char *directory; /* its name, behind the path */
    char path[];           /* of the lock file */
};

enum { SAID = 256 }; /* bytes of what a holder says */

/* "process N on HOST". It helps people; the lock holds without it. */
static void
say(rlf_lock *lock)
{
    char text[SAID] = {0}, host[128] = {0};
    gethostname(host, sizeof host - 1);
    int n = snprintf(text, sizeof text, "process %ld on %s\n", (long)getpid(),
                     host);
    errno = ENOSPC; /* of a part alone */
    bool said = ftruncate(lock->file, 0) == 0 &&
                pwrite(lock->file, text, (size_t)n, 0) == (ssize_t)n;
    lock->unsaid = said ? 0 : errno;
}

/* Reads what the holder said of itself; false: nobody knows. */
static bool
hear(int file, char text[SAID])
{
    ssize_t n = pread(file, text, SAID - 1, 0);
    text[n > 0 ? n : 0] = 0;
    text[strcspn(text, "\n")] = 0;
    bool said = *text;
    if (!said)
        snprintf(text, SAID, "another process");
    return said;
}

static rlf_status
held(const rlf_lock *lock, const char *holder, bool left, rlf_err *err)
{
    rlf_fail(err, RLF_USER, "%s is in use by %s", lock->directory, holder);
    if (left)
        rlf_err_hint(err,
                     "this file system has no locks: if that process is gone, "
                     "remove %s",
                     lock->path);
    else
        rlf_err_hint(err, "wait until it ends, or give another directory with "
                          "--out");
    return RLF_USER;
}

static bool
is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Does the name still lead to the open file? Its last holder may have removed
 * it between the two. If not, errno is 0, or why nobody can tell. */
static bool
is_at(int file, const char *path)
{
    struct stat open_one, named;
    errno = 0;
    if (fstat(file, &open_one) == 0 && stat(path, &named) == 0)
        return is_same(&open_one, &named);
    if (errno == ENOENT || errno == ENOTDIR)
        errno = 0;
    return false;
}

static bool
is_gone(const char *holder)
{
    long process;
    char host[128], here[128] = {0};
    gethostname(here, sizeof here - 1);
    return sscanf(holder, "process %ld on %127s", &process, host) == 2 &&
           strcmp(host, here) == 0 && kill((pid_t)process, 0) != 0 &&
           errno == ESRCH;
}

/* Takes the lock without flock. `made`: this process made the file. */
static rlf_status
take_by_name(rlf_lock *lock, bool made, bool last, rlf_err *err, bool *again)
{
    char holder[SAID];
    *again = false;
    if (made)
        return RLF_OK;
    bool said = hear(lock->file, holder);
    if (said ? !is_gone(holder) : last)
        return held(lock, holder, true, err);
    if (said)
        unlink(lock->path);
    *again = true;
    return RLF_OK;
}

/* Is what stands there empty, or what a holder said? Else it is somebody's file
 * of that name. */
static bool
is_lock(int file)
{
    static const char begins[] = "process ";
    char text[sizeof begins - 1];
    struct stat found;
    if (fstat(file, &found) != 0 || !S_ISREG(found.st_mode))
        return false;
    ssize_t n = pread(file, text, sizeof text, 0);
    return n == 0 ||
           (n == sizeof text && memcmp(text, begins, sizeof text) == 0);
}

/* Open the file, made if need be; *again: it went meanwhile. */
static rlf_status
open_file(rlf_lock *lock, rlf_err *err, bool *made, bool *again)
{
    const int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    lock->file = open(lock->path, flags | O_CREAT | O_EXCL, 0666);
    *made = lock->file >= 0;
    if (!*made && errno == EEXIST)
        lock->file = open(lock->path, flags);
    *again =
        lock->file < 0 && errno == ENOENT && rlf_dir_exists(lock->directory);
    if (*again)
        return RLF_OK;
    if (lock->file < 0 && errno != ELOOP) {
        rlf_fail_errno(err, "cannot open %s", lock->path);
        rlf_err_hint(err, "give a directory that can be written to with --out");
        return RLF_ENV;
    }
    if (lock->file >= 0 && (*made || is_lock(lock->file)))
        return RLF_OK;
    rlf_fail(err, RLF_ENV, "%s is not a lock that a run left", lock->path);
    rlf_err_hint(err, "move it away, or give another directory with --out");
    return RLF_ENV;
}

static bool
lacks_locks(int number)
{
    return number == ENOLCK || number == ENOSYS || number == EOPNOTSUPP ||
           number == EINVAL;
}

static int
lock_now(int file)
{
    int locked;
    do
        locked = flock(file, LOCK_EX | LOCK_NB);
    while (locked != 0 && errno == EINTR);
    return locked;
}

/* The directory itself: who removes the file in it does not let others in. Some
 * file systems lock files alone; there the file has to do. */
static rlf_status
take_whole(rlf_lock *lock, bool last, rlf_err *err, bool *again)
{
    char holder[SAID] = "another process";
    lock->whole = open(lock->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock->whole < 0 || lock_now(lock->whole) == 0)
        return RLF_OK;
    bool is_held = errno == EWOULDBLOCK;
    close(lock->whole);
    lock->whole = -1;
    if (!is_held)
        return RLF_OK;
    int file =
        open(lock->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    *again = file < 0 || !hear(file, holder) || is_gone(holder);
    if (file >= 0)
        close(file);
    return *again && !last ? RLF_OK : held(lock, holder, false, err);
}

/* Open and lock it; *again: it went meanwhile, or who holds it has not said yet
 * who that is, which the `last` try forgives. */
static rlf_status
take(rlf_lock *lock, bool last, rlf_err *err, bool *again)
{
    bool made;
    lock->file = -1;
    *again = false;
    RLF_TRY(take_whole(lock, last, err, again));
    if (*again)
        return RLF_OK;
    RLF_TRY(open_file(lock, err, &made, again));
    if (*again)
        return RLF_OK;
    int locked = lock_now(lock->file);
    if (locked != 0 && errno == EWOULDBLOCK) {
        char holder[SAID];
        *again = !hear(lock->file, holder) || is_gone(holder);
        if (*again && !last)
            return RLF_OK;
        return held(lock, holder, false, err);
    }
    if (locked != 0 && lacks_locks(errno))
        return take_by_name(lock, made, last, err, again);
    if (locked != 0)
        return rlf_fail_errno(err, "cannot lock %s", lock->path);
    *again = !is_at(lock->file, lock->path) ||
             (lock->whole >= 0 && !is_at(lock->whole, lock->directory));
    return RLF_OK;
}

static void
close_both(const rlf_lock *lock)
{
    if (lock->file >= 0)
        close(lock->file);
    if (lock->whole >= 0)
        close(lock->whole);
}

enum { TRIES = 200, BETWEEN_TRIES_NS = 10000000 };

rlf_status
rlf_lock_take(const char *directory, rlf_err *err, rlf_lock **out)
{
    size_t n = strlen(directory), all = n + sizeof "/lock";
    rlf_lock *lock = rlf_malloc(sizeof *lock + all + n + 1);
    snprintf(lock->path, all, "%s/lock", directory);
    lock->directory = memcpy(lock->path + all, directory, n + 1);
    rlf_status status = RLF_OK;
    bool again = true;
    for (int i = 0; i < TRIES && again && status >= 0; i++) {
        if (i > 0)
            rlf_clock_sleep(BETWEEN_TRIES_NS);
        status = take(lock, i == TRIES - 1, err, &again);
        if (again || status < 0)
            close_both(lock);
    }
    if (status >= 0 && again)
        status = rlf_fail(err, RLF_ENV, "cannot lock %s: it comes and goes",
                          lock->path);
    if (status >= 0 && stat(directory, &lock->found) != 0) {
        status = rlf_fail_errno(err, "cannot look at %s", directory);
        close_both(lock);
    }
    if (status < 0) {
        free(lock);
        return status;
    }
    say(lock);
    lock->remade = false;
    *out = lock;
    return RLF_OK;
}

/* The lock's file has no name any more: it was not moved, but removed. */
static bool
lock_removed(const rlf_lock *lock)
{
    struct stat open_one;
    return fstat(lock->file, &open_one) == 0 && !open_one.st_nlink;
}

/* Of a tree that is removed the directory stays where somebody writes to it in
 * the same moment: with that, and nothing from before. */
static bool
is_bare(const char *directory)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_err ignored = RLF_ERR_NONE;
    const char **names;
    size_t n = 0;
    bool bare = rlf_dir_list(directory, arena, &ignored, &names, &n) >= 0;
    for (size_t i = 0; i < n; i++)
        bare = bare && strcmp(names[i], "run.json") != 0 &&
               strcmp(names[i], "lock") != 0;
    rlf_arena_free(arena);
    return bare;
}

static const char lost[] =
    "all that was saved there is lost, unless there is a copy to put back; "
    "without one begin anew";

/* The file was removed or moved, but the directory is still this lock's. */
static bool
remake(rlf_lock *lock)
{
    if (lock->whole < 0)
        return false;
    int file = open(lock->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0)
        return false;
    if (lock_now(file) != 0) {
        close(file);
        return false;
    }
    close(lock->file);
    lock->file = file;
    say(lock);
    lock->remade = true;
    return true;
}

bool
rlf_lock_unsaid(rlf_lock *lock, rlf_err *err)
{
    if (!lock->unsaid)
        return false;
    errno = lock->unsaid;
    lock->unsaid = 0;
    rlf_fail_errno(err, "cannot write %s", lock->path);
    return true;
}

bool
rlf_lock_remade(rlf_lock *lock)
{
    bool remade = lock->remade;
    lock->remade = false;
    return remade;
}

rlf_status
rlf_lock_check(rlf_lock *lock, rlf_err *err)
{
    struct stat now;
    const char *directory = lock->directory;
    bool there = stat(directory, &now) == 0;
    if (!there && errno != ENOENT && errno != ENOTDIR)
        return rlf_fail_errno(err, "cannot look at %s", directory);
    if (!there || !is_same(&now, &lock->found)) {
        bool removed = lock_removed(lock);
        rlf_fail(err, RLF_ENV, "%s was %s while it was written to%s", directory,
                 removed ? "removed" : "moved",
                 there ? ", and another directory is there now" : "");
        rlf_err_hint(err, "%s",
                     removed ? lost : "move it back to where it was, and go on "
                                      "with --resume");
        return RLF_ENV;
    }
    if (lock_removed(lock) && is_bare(directory)) {
        rlf_fail(err, RLF_ENV, "what %s held was removed while it was written "
                 "to", directory);
        rlf_err_hint(err, "%s", lost);
        return RLF_ENV;
    }
    if (is_at(lock->file, lock->path))
        return RLF_OK;
    int why = errno;
    if (!why && remake(lock))
        return RLF_OK;
    errno = why;
    if (why)
        return rlf_fail_errno(err, "cannot look at %s", lock->path);
    rlf_fail(err, RLF_ENV,
             "%s was removed or replaced, so another process may write to %s "
             "too",
             lock->path, directory);
    rlf_err_hint(err, "leave the lock where it is until what writes to its "
                      "directory has ended");
    return RLF_ENV;
}

void
rlf_lock_leave(const rlf_lock *lock)
{
    if (lock && is_at(lock->file, lock->path))
        unlink(lock->path); /* before it is let go, so that it is ours */
}

void
rlf_lock_release(rlf_lock *lock)
{
    if (!lock)
        return;
    rlf_lock_leave(lock);
    close_both(lock);
    free(lock);
}

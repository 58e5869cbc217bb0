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
    char path[]; /* of the lock file */
};

enum { SAID = 256 }; /* bytes of what a holder says */

/* "process N on HOST". */
static void
say(int file)
{
    char text[SAID] = {0}, host[128] = {0};
    gethostname(host, sizeof host - 1);
    int n = snprintf(text, sizeof text, "process %ld on %s\n", (long)getpid(),
                     host);
    /* who it is helps people; the lock holds without it */
    bool said = ftruncate(file, 0) == 0 &&
                pwrite(file, text, (size_t)n, 0) == (ssize_t)n;
    (void)said;
}

/* What the holder said, or that nobody knows: false. */
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
held(const char *path, const char *holder, bool left, rlf_err *err)
{
    rlf_fail(err, RLF_USER, "%.*s is in use by %s",
             (int)(strrchr(path, '/') - path), path, holder);
    if (left)
        rlf_err_hint(err,
                     "this file system has no locks: if that process is gone, "
                     "remove %s",
                     path);
    else
        rlf_err_hint(err, "wait until it ends, or give another directory with "
                          "--out");
    return RLF_USER;
}

/* Does the name still lead to the open file? Its last holder may have removed
 * it between the two. */
static bool
is_at(int file, const char *path)
{
    struct stat open_one, named;
    return fstat(file, &open_one) == 0 && stat(path, &named) == 0 &&
           open_one.st_dev == named.st_dev && open_one.st_ino == named.st_ino;
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

/* Without flock. `made`: this process made the file. */
static rlf_status
take_by_name(rlf_lock *lock, bool made, bool last, rlf_err *err, bool *again)
{
    char holder[SAID];
    *again = false;
    if (made)
        return RLF_OK;
    bool said = hear(lock->file, holder);
    if (said ? !is_gone(holder) : last)
        return held(lock->path, holder, true, err);
    if (said)
        unlink(lock->path);
    *again = true;
    return RLF_OK;
}

static bool
lacks_locks(int number)
{
    return number == ENOLCK || number == ENOSYS || number == EOPNOTSUPP ||
           number == EINVAL;
}

/* Open the file, made if need be, and lock it; *again: it went meanwhile, or
 * who holds it has not said yet who that is, which the `last` try forgives. */
static rlf_status
take(rlf_lock *lock, const char *directory, bool last, rlf_err *err,
     bool *again)
{
    const int flags = O_RDWR | O_CLOEXEC;
    *again = false;
    lock->file = open(lock->path, flags | O_CREAT | O_EXCL, 0666);
    bool made = lock->file >= 0;
    if (!made && errno == EEXIST)
        lock->file = open(lock->path, flags);
    *again = lock->file < 0 && errno == ENOENT && rlf_dir_exists(directory);
    if (*again) /* it went between the two */
        return RLF_OK;
    if (lock->file < 0) {
        rlf_fail_errno(err, "cannot open %s", lock->path);
        rlf_err_hint(err, "give a directory that can be written to with --out");
        return RLF_ENV;
    }
    int locked;
    do
        locked = flock(lock->file, LOCK_EX | LOCK_NB);
    while (locked != 0 && errno == EINTR);
    if (locked != 0 && errno == EWOULDBLOCK) {
        char holder[SAID];
        *again = !hear(lock->file, holder) || is_gone(holder);
        if (*again && !last)
            return RLF_OK;
        return held(lock->path, holder, false, err);
    }
    if (locked != 0 && lacks_locks(errno))
        return take_by_name(lock, made, last, err, again);
    if (locked != 0)
        return rlf_fail_errno(err, "cannot lock %s", lock->path);
    *again = !is_at(lock->file, lock->path);
    return RLF_OK;
}

enum { TRIES = 200, BETWEEN_TRIES_NS = 10000000 };

rlf_status
rlf_lock_take(const char *directory, rlf_err *err, rlf_lock **out)
{
    size_t n = strlen(directory);
    rlf_lock *lock = rlf_malloc(sizeof *lock + n + sizeof "/lock");
    snprintf(lock->path, n + sizeof "/lock", "%s/lock", directory);
    rlf_status status = RLF_OK;
    bool again = true;
    for (int i = 0; i < TRIES && again && status >= 0; i++) {
        if (i > 0)
            rlf_clock_sleep(BETWEEN_TRIES_NS);
        status = take(lock, directory, i == TRIES - 1, err, &again);
        if ((again || status < 0) && lock->file >= 0)
            close(lock->file);
    }
    if (status >= 0 && again)
        status = rlf_fail(err, RLF_ENV, "cannot lock %s: it comes and goes",
                          lock->path);
    if (status < 0) {
        free(lock);
        return status;
    }
    say(lock->file);
    *out = lock;
    return RLF_OK;
}

void
rlf_lock_release(rlf_lock *lock)
{
    if (!lock)
        return;
    unlink(lock->path); /* before it is let go, so that it is ours */
    close(lock->file);
    free(lock);
}

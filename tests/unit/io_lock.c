/* Locks of directories, with flock and on a file system that has none. */
#include "engine/base/clock.h"
#include "engine/io/file.h"
#include "engine/io/lock.h"
#include "tests/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

int __real_flock(int file, int what);
int __wrap_flock(int file, int what);

static int fails;       /* errno of flock, or 0 */
static bool files_only; /* directories cannot be locked */

int
__wrap_flock(int file, int what)
{
    struct stat it;
    if (files_only && fstat(file, &it) == 0 && S_ISDIR(it.st_mode)) {
        errno = EBADF;
        return -1;
    }
    if (!fails)
        return __real_flock(file, what);
    errno = fails;
    return -1;
}

static void
put_holder(const char *path, long process, const char *host)
{
    FILE *file = fopen(path, "w");
    fprintf(file, "process %ld on %s\n", process, host);
    fclose(file);
}

static void
check_held(const char *dir, const char *how)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_lock *lock = NULL, *other = NULL;
    char me[64];
    ok(rlf_lock_take(dir, &err, &lock) == RLF_OK, "%s: taken", how);
    ok(rlf_lock_take(dir, &err, &other) == RLF_USER, "%s: by one only", how);
    snprintf(me, sizeof me, "in use by process %ld on ", (long)getpid());
    ok(strstr(err.sentence, me), "%s: it says who: %s", how, err.sentence);
    rlf_err_clear(&err);
    rlf_lock_release(lock);
    ok(rlf_lock_take(dir, &err, &other) == RLF_OK, "%s: and let go", how);
    rlf_lock_release(other);
}

/* Checks that a second process names the holder of a lock, even if the holder
 * writes its name a moment after it has the lock. */
static void
check_late(const char *dir, const char *path)
{
    int ends[2];
    char byte = 0, it[64];
    if (pipe(ends) != 0)
        bail("no pipe");
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        int file = open(path, O_RDWR | O_CREAT, 0666);
        bool held = __real_flock(file, LOCK_EX) == 0 &&
                    write(ends[1], &byte, 1) == 1;
        rlf_clock_sleep(50000000);
        put_holder(path, (long)getpid(), "here");
        pause();
        _exit(!held);
    }
    rlf_err err = RLF_ERR_NONE;
    rlf_lock *lock = NULL;
    snprintf(it, sizeof it, "in use by process %ld on here", (long)child);
    ok(read(ends[0], &byte, 1) == 1 &&
           rlf_lock_take(dir, &err, &lock) == RLF_USER &&
           strstr(err.sentence, it),
       "one that says late who it is: %s", err.sentence);
    rlf_err_clear(&err);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(ends[0]);
    close(ends[1]);
    unlink(path);
}

/* The file of a lock that is held is removed. */
static void
check_removed(const char *dir, const char *path)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_lock *lock = NULL, *other = NULL;
    char record[64];
    snprintf(record, sizeof record, "%s/run.json", dir);
    put_holder(record, 1, "of a run that has begun");
    ok(rlf_lock_take(dir, &err, &lock) == RLF_OK, "taken");
    unlink(path);
    ok(rlf_lock_take(dir, &err, &other) == RLF_USER &&
           strstr(err.sentence, "in use by another process"),
       "a lock whose file is removed holds: %s", err.sentence);
    rlf_err_clear(&err);
    ok(!rlf_lock_remade(lock) && rlf_lock_check(lock, &err) == RLF_OK &&
           access(path, F_OK) == 0 && rlf_lock_remade(lock) &&
           !rlf_lock_remade(lock),
       "... and is made again, which is told of once");
    rlf_lock_release(lock);
    ok(access(path, F_OK) != 0, "... and goes");

    files_only = true;
    check_held(dir, "directories cannot be locked");
    ok(rlf_lock_take(dir, &err, &lock) == RLF_OK, "... taken");
    unlink(path);
    ok(rlf_lock_check(lock, &err) == RLF_ENV &&
           strstr(err.sentence, "was removed"),
       "... a file that is removed is told of: %s", err.sentence);
    rlf_err_clear(&err);
    rlf_lock_release(lock);
    files_only = false;
}

/* The holder cannot say who it is: no file may grow. */
static void
check_unsaid(const char *dir)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_lock *lock = NULL, *other = NULL;
    struct rlimit all, none;
    getrlimit(RLIMIT_FSIZE, &all);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = all.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &none);
    ok(rlf_lock_take(dir, &err, &lock) == RLF_OK, "taken without a word");
    ok(rlf_lock_unsaid(lock, &err) && strstr(err.sentence, "cannot write ") &&
           strstr(err.sentence, "/lock: File too large"),
       "... which is told of: %s", err.sentence);
    rlf_err_clear(&err);
    ok(!rlf_lock_unsaid(lock, &err), "... once");
    setrlimit(RLIMIT_FSIZE, &all);
    ok(rlf_lock_take(dir, &err, &other) == RLF_USER &&
           strstr(err.sentence, "in use by another process"),
       "... and it holds: %s", err.sentence);
    rlf_err_clear(&err);
    rlf_lock_release(lock);
    ok(rlf_lock_take(dir, &err, &lock) == RLF_OK &&
           !rlf_lock_unsaid(lock, &err),
       "one that is written is not told of");
    rlf_lock_release(lock);
}

int
main(void)
{
    char dir[] = "/tmp/rlflow-lock-XXXXXX", path[64], host[128] = {0};
    rlf_err err = RLF_ERR_NONE;
    rlf_lock *lock = NULL;
    if (!mkdtemp(dir))
        bail("no directory for the test");
    snprintf(path, sizeof path, "%s/lock", dir);
    gethostname(host, sizeof host - 1);
    check_held(dir, "flock");
    ok(access(path, F_OK) != 0, "the file goes with the lock");
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    waitpid(child, NULL, 0);
    put_holder(path, (long)child, host);
    ok(rlf_lock_take(dir, &err, &lock) == RLF_OK, "one that was left is free");
    rlf_lock_release(lock);
    check_late(dir, path);
    check_removed(dir, path);
    check_unsaid(dir);

    static const int numbers[] = {ENOLCK, ENOSYS, EOPNOTSUPP};
    for (size_t i = 0; i < 3; i++) {
        fails = numbers[i];
        check_held(dir, strerror(numbers[i]));
    }
    put_holder(path, (long)child, host);
    ok(rlf_lock_take(dir, &err, &lock) == RLF_OK,
       "without flock: one that a dead process of this machine left is free");
    rlf_lock_release(lock);
    put_holder(path, 1, "elsewhere");
    ok(rlf_lock_take(dir, &err, &lock) == RLF_USER &&
           strstr(err.sentence, "in use by process 1 on elsewhere") &&
           strstr(err.hint, "remove "),
       "one of another machine is not, and the hint says what to do");
    rlf_err_clear(&err);
    fails = EIO;
    unlink(path);
    ok(rlf_lock_take(dir, &err, &lock) == RLF_ENV, "another error is one");
    rlf_err_clear(&err);
    fails = 0;
    rlf_dir_remove(dir, &err);
    ok(rlf_lock_take(dir, &err, &lock) < 0, "no directory, no lock");
    return done();
}

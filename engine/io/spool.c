/* Files without a name for what memory does not hold: see spool.h. */
#include "engine/io/spool.h"

#include "engine/base/memory.h"
#include "engine/base/str.h"
#include "engine/io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 1 << 20 }; /* bytes that are written at once */

typedef struct shared shared;
struct shared {
    char *name;
    int fd;
    uint32_t users;
    bool ended, failed; /* of who writes */
    shared *next;
};

struct rlf_spools {
    char *directory;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    shared *first;
};

struct rlf_spool {
    rlf_spools *spools;
    bool owns; /* them */
    shared *file;
    bool writes;
    uint64_t size;
    rlf_buf piece; /* not yet written */
};

static char *
copy_of(const char *text)
{
    size_t n = strlen(text) + 1;
    return memcpy(rlf_malloc(n), text, n);
}

rlf_spools *
rlf_spools_new(const char *directory)
{
    const char *temporary = getenv("TMPDIR");
    rlf_spools *s = rlf_calloc(1, sizeof *s);
    if (!directory)
        directory = temporary && *temporary ? temporary : "/var/tmp";
    s->directory = copy_of(directory);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->changed, NULL);
    return s;
}

void
rlf_spools_free(rlf_spools *s)
{
    if (!s)
        return;
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
    free(s->directory);
    free(s);
}

/* A new file in the directory, whose name is gone at once. */
static rlf_status
make_file(const char *directory, rlf_err *err, int *fd)
{
    rlf_buf path = {0};
    rlf_buf_printf(&path, "%s/rows.XXXXXX", directory);
    *fd = mkstemp(path.p);
    rlf_status status = RLF_OK;
    if (*fd < 0) {
        status = rlf_fail_errno(
            err, "cannot make a file for rows of data in %s", directory);
    } else if (fcntl(*fd, F_SETFD, FD_CLOEXEC) != 0 || unlink(path.p) != 0) {
        status = rlf_fail_errno(err, "cannot remove %s", path.p);
        close(*fd);
    }
    rlf_buf_free(&path);
    return status;
}

/* Under the lock. */
static rlf_status
find_file(rlf_spools *s, const char *name, rlf_err *err, shared **out,
          bool *writes)
{
    shared *file = s->first;
    while (file && strcmp(file->name, name) != 0)
        file = file->next;
    *writes = !file;
    if (!file) {
        int fd;
        RLF_TRY(make_file(s->directory, err, &fd));
        file = rlf_calloc(1, sizeof *file);
        file->name = copy_of(name);
        file->fd = fd;
        file->next = s->first;
        s->first = file;
    }
    file->users++;
    *out = file;
    return RLF_OK;
}

rlf_status
rlf_spool_open(rlf_spools *spools, const char *name, rlf_err *err,
               rlf_spool **out)
{
    rlf_spool *spool = rlf_calloc(1, sizeof *spool);
    *out = NULL;
    spool->owns = !spools;
    spool->spools = spools ? spools : rlf_spools_new(NULL);
    pthread_mutex_lock(&spool->spools->lock);
    rlf_status status =
        find_file(spool->spools, name, err, &spool->file, &spool->writes);
    pthread_mutex_unlock(&spool->spools->lock);
    if (status < 0)
        rlf_spool_close(spool);
    else
        *out = spool;
    return status;
}

static rlf_status
flush(rlf_spool *spool, rlf_err *err)
{
    bool good = rlf_fd_write(spool->file->fd, spool->piece.p, spool->piece.n);
    rlf_buf_clear(&spool->piece);
    if (good)
        return RLF_OK;
    rlf_fail_errno(err, "cannot write rows of data in %s",
                   spool->spools->directory);
    return err->status;
}

rlf_status
rlf_spool_add(rlf_spool *spool, const void *p, size_t n, rlf_err *err,
              uint64_t *at)
{
    *at = spool->size;
    spool->size += n;
    if (!spool->writes || !n)
        return RLF_OK;
    if (spool->piece.n && spool->piece.n + n > PIECE)
        RLF_TRY(flush(spool, err));
    if (!rlf_buf_try(&spool->piece, n > PIECE ? n : PIECE))
        return rlf_fail_memory(err, n, "the rows of data");
    rlf_buf_add(&spool->piece, p, n);
    return RLF_OK;
}

/* Wakes all that wait. */
static void
tell(rlf_spool *spool, bool failed)
{
    rlf_spools *s = spool->spools;
    pthread_mutex_lock(&s->lock);
    spool->file->ended = true;
    spool->file->failed = failed;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    spool->writes = false;
}

rlf_status
rlf_spool_end(rlf_spool *spool, rlf_err *err)
{
    rlf_spools *s = spool->spools;
    if (spool->writes) {
        rlf_status status = spool->piece.n ? flush(spool, err) : RLF_OK;
        rlf_buf_free(&spool->piece);
        tell(spool, status < 0);
        return status;
    }
    pthread_mutex_lock(&s->lock);
    while (!spool->file->ended)
        pthread_cond_wait(&s->changed, &s->lock);
    bool failed = spool->file->failed;
    pthread_mutex_unlock(&s->lock);
    return failed ? rlf_fail(err, RLF_ENV,
                             "another rank could not write the rows of data "
                             "in %s",
                             s->directory)
                  : RLF_OK;
}

rlf_status
rlf_spool_read(const rlf_spool *spool, uint64_t at, void *p, size_t n,
               rlf_err *err)
{
    for (char *to = p; n;) {
        ssize_t k = pread(spool->file->fd, to, n, (off_t)at);
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return rlf_fail_errno(err, "cannot read rows of data in %s",
                                  spool->spools->directory);
        if (k == 0)
            return rlf_fail(err, RLF_ENV,
                            "rows of data that were written in %s are not "
                            "there any more",
                            spool->spools->directory);
        to += k;
        at += (uint64_t)k;
        n -= (size_t)k;
    }
    return RLF_OK;
}

const char *
rlf_spool_directory(const rlf_spool *spool)
{
    return spool->spools->directory;
}

/* Under the lock. */
static void
leave(rlf_spools *s, shared *file)
{
    shared **at = &s->first;
    if (--file->users)
        return;
    while (*at != file)
        at = &(*at)->next;
    *at = file->next;
    close(file->fd);
    free(file->name);
    free(file);
}

void
rlf_spool_close(rlf_spool *spool)
{
    if (!spool)
        return;
    if (spool->file && spool->writes)
        tell(spool, true); /* left in the middle */
    pthread_mutex_lock(&spool->spools->lock);
    if (spool->file)
        leave(spool->spools, spool->file);
    pthread_mutex_unlock(&spool->spools->lock);
    if (spool->owns)
        rlf_spools_free(spool->spools);
    rlf_buf_free(&spool->piece);
    free(spool);
}

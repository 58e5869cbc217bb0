/* The flight record: see flight.h. */
#include "engine/sched/flight.h"

#include "engine/base/arena.h"
#include "engine/io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SIZE = 512, MARK = SIZE - 8 }; /* bytes; where the mark stands */
static const char magic[] = "rlflow flight record\n";
static const char mark[] = "lost";

struct rlf_flight {
    int fd;
    atomic_int failed; /* errno of the first note that could not be written */
    bool told;
    char *path;
};

static char *
path_of(const char *directory, int rank)
{
    size_t n = strlen(directory) + 32;
    char *path = rlf_malloc(n);
    snprintf(path, n, "%s/flight-%d", directory, rank);
    return path;
}

rlf_status
rlf_flight_open(const char *directory, int rank, rlf_err *err, rlf_flight **out)
{
    char *path = path_of(directory, rank);
    int fd =
        open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0) {
        rlf_fail_errno(err, "cannot make %s", path);
        free(path);
        return RLF_ENV;
    }
    /* all of it now: what is written later has its place on the disk */
    static const char empty[SIZE];
    ssize_t n = pwrite(fd, empty, SIZE, 0);
    if (n != SIZE) {
        if (n >= 0)
            errno = ENOSPC;
        rlf_fail_errno(err, "cannot write %s", path);
        close(fd);
        unlink(path);
        free(path);
        return RLF_ENV;
    }
    rlf_flight *flight = rlf_calloc(1, sizeof *flight);
    flight->fd = fd;
    flight->path = path;
    rlf_flight_note(flight, 0, 0, "opening what the program names", "", 0);
    *out = flight;
    return RLF_OK;
}

void
rlf_flight_note(rlf_flight *flight, uint32_t step, uint64_t command,
                const char *node, const char *place, uint32_t rows)
{
    if (!flight)
        return;
    char text[MARK];
    int n = snprintf(text, sizeof text, "%sstep %u\ncommand %llu\n%s%s%s%s",
                     magic, step, (unsigned long long)command, node,
                     *place ? " (" : "", place, *place ? ")" : "");
    if (n > 0 && n < MARK && rows)
        snprintf(text + n, sizeof text - (size_t)n, ", %u row%s", rows,
                 rows == 1 ? "" : "s");
    /* a record that is behind says less of a run that is killed, that is all */
    int none = 0;
    errno = ENOSPC; /* of a part alone */
    if (pwrite(flight->fd, text, strlen(text) + 1, 0) !=
        (ssize_t)strlen(text) + 1)
        atomic_compare_exchange_strong(&flight->failed, &none, errno);
}

bool
rlf_flight_failed(rlf_flight *flight, rlf_err *err)
{
    int failed = flight ? atomic_load(&flight->failed) : 0;
    if (!failed || flight->told)
        return false;
    flight->told = true;
    errno = failed;
    rlf_fail_errno(err, "cannot write %s", flight->path);
    return true;
}

void
rlf_flight_lost(const char *directory, int rank, bool opening)
{
    char *path = path_of(directory, rank);
    rlf_err ignored = RLF_ERR_NONE;
    rlf_flight *made;
    if (opening && access(path, F_OK) != 0 &&
        rlf_flight_open(directory, rank, &ignored, &made) == RLF_OK) {
        close(made->fd);
        free(made->path);
        free(made);
    }
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    free(path);
    if (fd < 0)
        return;
    /* a record that cannot be marked is one of several, that is all */
    ssize_t n = pwrite(fd, mark, sizeof mark, MARK);
    (void)n;
    close(fd);
}

void
rlf_flight_close(rlf_flight *flight)
{
    if (!flight)
        return;
    char last[sizeof mark] = "";
    bool lost = pread(flight->fd, last, sizeof last, MARK) == sizeof last &&
                memcmp(last, mark, sizeof mark) == 0;
    close(flight->fd);
    if (!lost)
        unlink(flight->path);
    free(flight->path);
    free(flight);
}

/* As much of the file as a record has; false: it cannot be read. */
static bool
read_start(const char *path, char text[SIZE + 1])
{
    rlf_infile *file;
    rlf_err ignored = RLF_ERR_NONE;
    memset(text, 0, SIZE + 1);
    if (rlf_infile_open(path, &ignored, &file) < 0)
        return false;
    uint64_t n = rlf_infile_size(file);
    n = n < SIZE ? n : SIZE;
    bool read = rlf_infile_read(file, 0, text, n, &ignored) >= 0;
    rlf_infile_close(file);
    return read;
}

bool
rlf_flight_is(const char *path)
{
    char text[SIZE + 1];
    return read_start(path, text) && /* empty until the first note */
           (!*text || strncmp(text, magic, sizeof magic - 1) == 0);
}

bool
rlf_flight_read(const char *path, rlf_flight_report *out)
{
    char text[SIZE + 1];
    const char *name = strrchr(path, '/');
    name = name ? name + 1 : path;
    if (!read_start(path, text))
        return false;
    unsigned step = 0;
    unsigned long long command = 0;
    char what[200] = "";
    if (strncmp(text, magic, sizeof magic - 1) != 0 ||
        sscanf(name, "flight-%d", &out->rank) != 1 ||
        sscanf(text + sizeof magic - 1, "step %u\ncommand %llu\n%199[^\n]",
               &step, &command, what) != 3)
        return false;
    out->lost = strcmp(text + MARK, mark) == 0;
    out->step = step;
    snprintf(out->text, sizeof out->text, "step %u, %s", step, what);
    return true;
}

/* A file damaged in many ways beside a reader of it. */
#ifndef RLF_TESTS_DAMAGE_H
#define RLF_TESTS_DAMAGE_H

#include "engine/io/file.h"
#include "tests/tap.h"

#include <string.h>
#include <unistd.h>

/* Reads the file of that name, all of it. */
typedef rlf_status damage_reader(const char *path, rlf_err *err);
/* Returns the byte that try k changes in the place of byte `at`, in a file of n
 * bytes. */
typedef size_t damage_place(size_t k, size_t at, size_t n);

/* One check: copies of `from` in which up to three bytes are changed, and each
 * tenth is cut, are read, or refused by RLF_USER with the file's name; never a
 * crash, a hang or memory without end. */
static void
check_damage(const char *from, const char *name, size_t tries,
             damage_place *place, damage_reader *reader)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_buf whole = {0};
    char path[] = "/tmp/rlflow-damage.XXXXXX";
    int fd = mkstemp(path);
    uint64_t state = 7;
    size_t strange = 0, read = 0;
    if (fd < 0 || rlf_file_read(from, 1 << 24, &err, &whole) < 0)
        bail("%s: no file", name);
    close(fd);
    for (size_t k = 0; k < tries; k++) {
        rlf_buf hurt = {0};
        rlf_buf_add(&hurt, whole.p, whole.n);
        for (size_t i = 0; i < 1 + k % 3; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            size_t at = (size_t)(state >> 20) % whole.n;
            hurt.p[place(k, at, whole.n)] = (char)(state >> 56);
        }
        if (k % 10 == 9)
            hurt.n = (size_t)(state >> 24) % whole.n;
        if (rlf_file_write(path, hurt.p, hurt.n, &err) < 0)
            bail("%s", err.sentence);
        rlf_err_clear(&err);
        rlf_status status = reader(path, &err);
        read += status >= 0;
        if (status < 0 && (status != RLF_USER || !strstr(err.sentence, path)))
            strange++, note("%s", err.sentence);
        rlf_err_clear(&err);
        rlf_buf_free(&hurt);
    }
    unlink(path);
    rlf_buf_free(&whole);
    ok(strange == 0, "%s, damaged %zu times: %zu are read, the others refused",
       name, tries, read);
}

#endif

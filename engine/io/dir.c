/* Directories and paths: see file.h. */
#include "engine/io/file.h"

#include "engine/base/vec.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool
rlf_dir_exists(const char *path)
{
    struct stat st;
    if (stat(path, &st) == 0)
        return S_ISDIR(st.st_mode);
    if (errno == ENOENT || errno == ENOTDIR)
        return false;
    /* it could not be found out: once more, since to take a file for a
     * directory would be said to be the user's mistake */
    return stat(path, &st) == 0 ? S_ISDIR(st.st_mode)
                                : errno != ENOENT && errno != ENOTDIR;
}

char *
rlf_path_join(rlf_arena *arena, const char *dir, const char *name)
{
    if (name[0] == '/' || !dir[0])
        return rlf_arena_strdup(arena, name);
    const char *slash = dir[strlen(dir) - 1] == '/' ? "" : "/";
    return rlf_arena_printf(arena, "%s%s%s", dir, slash, name);
}

/* Bytes of `path` that name its directory; 0 if it has none. */
static size_t
parent_length(const char *path)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    while (n && path[n - 1] != '/')
        n--;
    while (n > 1 && path[n - 1] == '/')
        n--;
    return n;
}

char *
rlf_path_parent(rlf_arena *arena, const char *path)
{
    size_t n = parent_length(path);
    return n ? rlf_arena_strndup(arena, path, n) : rlf_arena_strdup(arena, ".");
}

/* Make what is missing of it behind the first `there` bytes; false: errno says
 * why not, and the path is cut behind the directory that could not be made. */
static bool
make_parts(rlf_buf *path, size_t there)
{
    for (size_t i = there + 1; i <= path->n; i++) {
        if (i < path->n && path->p[i] != '/')
            continue;
        char saved = path->p[i];
        path->p[i] = 0;
        if (mkdir(path->p, 0777) != 0 && errno != EEXIST)
            return false;
        path->p[i] = saved;
    }
    return true;
}

static rlf_status
make(const char *path, size_t there, rlf_err *err)
{
    enum { TRIES = 10 }; /* of others that remove what they made of it */
    rlf_buf buf = {0};
    bool made = false;
    errno = ENOENT;
    for (int i = 0; i < TRIES && !made && errno == ENOENT; i++) {
        rlf_buf_clear(&buf);
        rlf_buf_puts(&buf, path);
        made = make_parts(&buf, there);
    }
    rlf_status status = RLF_OK;
    if (!made)
        status = rlf_fail_errno(err, "cannot make directory %s", buf.p);
    rlf_buf_free(&buf);
    if (status == RLF_OK && !rlf_dir_exists(path)) {
        RLF_TRY(rlf_path_own(path, err));
        status =
            rlf_fail(err, RLF_USER, "%s is there, but is no directory", path);
    }
    return status;
}

rlf_status
rlf_dir_make(const char *path, rlf_err *err)
{
    return make(path, 0, err);
}

rlf_status
rlf_dir_make_in(const char *base, const char *path, rlf_err *err)
{
    size_t n = strlen(base);
    bool within = strncmp(base, path, n) == 0 && path[n] == '/';
    return make(path, within ? n : 0, err);
}

/* Remove what stands under `name` in the open directory `at`. */
static bool
remove_at(int at, const char *name)
{
    if (unlinkat(at, name, 0) == 0 || errno == ENOENT)
        return true;
    if (errno != EISDIR && errno != EPERM)
        return false;
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return false;
    DIR *dir = fdopendir(fd);
    if (!dir) {
        close(fd);
        return false;
    }
    bool good = true;
    for (struct dirent *entry; good && (entry = readdir(dir));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            good = remove_at(fd, entry->d_name);
    int number = errno;
    closedir(dir);
    errno = number;
    return good && unlinkat(at, name, AT_REMOVEDIR) == 0;
}

rlf_status
rlf_dir_remove(const char *path, rlf_err *err)
{
    if (!remove_at(AT_FDCWD, path))
        return rlf_fail_errno(err, "cannot remove %s", path);
    return RLF_OK;
}

rlf_status
rlf_dir_remove_empty(const char *path, rlf_err *err, bool *left)
{
    rlf_arena *arena = rlf_arena_new();
    const char **names;
    size_t n = 0;
    rlf_status status = RLF_OK;
    *left = rlf_dir_exists(path);
    if (*left)
        status = rlf_dir_list(path, arena, err, &names, &n);
    for (size_t i = 0; i < n && status >= 0; i++) {
        const char *inner = rlf_path_join(arena, path, names[i]);
        struct stat st;
        bool ignored;
        if (lstat(inner, &st) == 0 && S_ISDIR(st.st_mode))
            status = rlf_dir_remove_empty(inner, err, &ignored);
    }
    if (*left && status >= 0 && rmdir(path) == 0)
        *left = false;
    else if (*left && status >= 0 && errno != ENOTEMPTY && errno != EEXIST)
        status = rlf_fail_errno(err, "cannot remove %s", path);
    rlf_arena_free(arena);
    return status;
}

rlf_status
rlf_dir_check_links(const char *path, bool files, rlf_err *err)
{
    rlf_arena *arena = rlf_arena_new();
    const char **names;
    size_t n = 0;
    rlf_err ignored = RLF_ERR_NONE;
    rlf_status status = RLF_OK;
    if (rlf_dir_list(path, arena, &ignored, &names, &n) < 0)
        n = 0; /* nothing can be done in it, either */
    for (size_t i = 0; i < n && status >= 0; i++) {
        const char *inner = rlf_path_join(arena, path, names[i]);
        struct stat st;
        if (lstat(inner, &st) != 0)
            continue;
        if (S_ISDIR(st.st_mode))
            status = rlf_dir_check_links(inner, files, err);
        else if (files || (stat(inner, &st) == 0 && S_ISDIR(st.st_mode)))
            status = rlf_path_own(inner, err);
    }
    rlf_err_clear(&ignored);
    rlf_arena_free(arena);
    return status;
}

rlf_status
rlf_dir_sync(const char *path, rlf_err *err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return rlf_fail_errno(err, "cannot open directory %s", path);
    /* EINVAL: a file system whose directories cannot be synced. */
    bool good = fsync(fd) == 0 || errno == EINVAL;
    if (!good)
        rlf_fail_errno(err, "cannot sync directory %s", path);
    close(fd);
    return good ? RLF_OK : RLF_ENV;
}

static int
compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

rlf_status
rlf_dir_list(const char *path, rlf_arena *arena, rlf_err *err,
             const char ***names, size_t *count)
{
    RLF_VEC(const char *) list = {0};
    DIR *dir = opendir(path);
    if (!dir)
        return rlf_fail_path(err, "cannot read directory %s", path);
    errno = 0;
    for (struct dirent *entry; (entry = readdir(dir)); errno = 0)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            RLF_PUSH_IN(arena, &list, rlf_arena_strdup(arena, entry->d_name));
    rlf_status status = RLF_OK;
    if (errno)
        status = rlf_fail_errno(err, "cannot read directory %s", path);
    closedir(dir);
    if (list.count)
        qsort(list.data, list.count, sizeof *list.data, compare_names);
    *names = list.data;
    *count = list.count;
    return status;
}

rlf_status
rlf_path_rename(const char *from, const char *to, rlf_err *err)
{
    if (rename(from, to) != 0)
        return rlf_fail_errno(err, "cannot rename %s to %s", from, to);
    rlf_buf parent = {0};
    size_t n = parent_length(to);
    rlf_buf_add(&parent, n ? to : ".", n ? n : 1);
    rlf_status status = rlf_dir_sync(parent.p, err);
    rlf_buf_free(&parent);
    return status;
}

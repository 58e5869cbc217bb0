/* Files and directories: what is written is whole, what is old survives. */
#include "engine/io/checksum.h"
#include "engine/io/file.h"
#include "tests/put.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static rlf_arena *arena;

static const char *
in(const char *name)
{
    return in_root(arena, name);
}

static bool
holds(const char *path, const char *want)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_buf buf = {0};
    bool same = rlf_file_read(path, 1 << 20, &err, &buf) == RLF_OK &&
                strcmp(buf.p, want) == 0;
    rlf_buf_free(&buf);
    return same;
}

static void
check_write(void)
{
    rlf_err err = RLF_ERR_NONE;
    const char *path = in("a.txt");
    rlf_buf buf = {0};
    ok(rlf_file_write(path, "one", 3, &err) == RLF_OK && holds(path, "one"),
       "a new file");
    ok(rlf_file_write(path, "two!", 4, &err) == RLF_OK && holds(path, "two!"),
       "a file replaced");
    rlf_writer *writer = NULL;
    rlf_writer_open(path, &err, &writer);
    rlf_writer_add(writer, "three", 5, &err);
    ok(holds(path, "two!"), "the old file stands while the new is written");
    is_int(rlf_writer_checksum(writer), rlf_checksum(0, "three", 5),
           "the writer's checksum");
    rlf_writer_drop(writer);
    ok(holds(path, "two!") && !rlf_file_exists(in("a.txt.part")),
       "a dropped writer leaves nothing");
    ok(rlf_file_read(path, 3, &err, &buf) == RLF_USER &&
           strstr(err.sentence, "a.txt is larger than 3 bytes"),
       "a file that is too large");
    rlf_err_clear(&err);
    ok(rlf_file_read(in("none"), 10, &err, &buf) == RLF_USER &&
           strstr(err.sentence, "No such file"),
       "a file that is not there");
    rlf_err_clear(&err);
    ok(rlf_file_read(root, 10, &err, &buf) == RLF_USER &&
           strstr(err.sentence, "is a directory, not a file"),
       "a directory is no file");
    rlf_err_clear(&err);
    ok(rlf_file_copy(path, in("b.txt"), &err) == RLF_OK &&
           holds(in("b.txt"), "two!"),
       "a copy");
    rlf_buf_free(&buf);
}

static void
check_append(void)
{
    rlf_err err = RLF_ERR_NONE;
    const char *path = in("log");
    uint64_t first = 7, second = 7;
    rlf_file_append(path, "a\n", 2, false, &first, &err);
    rlf_file_append(path, "b\n", 2, true, &second, &err);
    ok(holds(path, "a\nb\n"), "appended twice");
    ok(first == 0 && second == 2, "... and told where");
    ok(rlf_file_truncate(path, 2, &err) == RLF_OK && holds(path, "a\n"),
       "cut back");
    ok(rlf_file_truncate(path, 9, &err) == RLF_USER,
       "cannot be cut to more than it has");
}

/* Pieces of a file, more of them than are read at once. */
static void
check_input(void)
{
    enum { N = 200001 };
    rlf_err err = RLF_ERR_NONE;
    const char *path = in("pieces"), *copy = in("copy"), *other = in("other");
    static char text[N], got[N];
    for (int i = 0; i < N; i++)
        text[i] = (char)(i * 7 / 3);
    rlf_file_write(path, text, N, &err);
    rlf_infile *input = NULL;
    if (rlf_infile_open(path, &err, &input) < 0)
        bail("%s", err.sentence);
    is_int((int64_t)rlf_infile_size(input), N, "its size");
    ok(rlf_infile_read(input, 0, got, N, &err) == RLF_OK &&
           memcmp(got, text, N) == 0,
       "read as a whole");
    ok(rlf_infile_read(input, N - 5, got, 5, &err) == RLF_OK &&
           memcmp(got, text + N - 5, 5) == 0,
       "its last bytes");
    rlf_file_copy(path, copy, &err);
    text[N - 1] ^= 1;
    rlf_file_write(other, text, N, &err);
    ok(rlf_file_same(path, copy) && !rlf_file_same(path, other) &&
           !rlf_file_same(path, in("none")),
       "a copy is the same, another last byte is not");
    if (truncate(path, N - 1) != 0)
        bail("cannot cut %s", path);
    ok(rlf_infile_read(input, N - 5, got, 5, &err) == RLF_ENV &&
           strstr(err.sentence, "became shorter"),
       "one that was cut meanwhile is an error");
    rlf_infile_close(input);
    rlf_err_clear(&err);
    ok(rlf_infile_open(in(""), &err, &input) == RLF_USER,
       "a directory is no file");
}

/* Checks that a writer appends to a file itself: a link and a pipe are
 * refused. */
static void
check_link(void)
{
    rlf_err err = RLF_ERR_NONE;
    char to[256], link[256];
    snprintf(to, sizeof to, "%s", in("target"));
    snprintf(link, sizeof link, "%s", in("link"));
    rlf_file_write(to, "a", 1, &err);
    ok(symlink(to, link) == 0 &&
           rlf_file_append(link, "b", 1, false, NULL, &err) == RLF_ENV &&
           strstr(err.sentence, "link is a symbolic link") && holds(to, "a"),
       "nothing is appended behind a link: %s", err.sentence);
    rlf_err_clear(&err);
    unlink(link);
    ok(mkfifo(link, 0666) == 0 &&
           rlf_file_append(link, "b", 1, false, NULL, &err) == RLF_ENV,
       "... nor to a pipe");
    unlink(link);
    unlink(to);
}

/* A limit on the size of files; a disk that is full goes the same way. */
static void
check_full(void)
{
    rlf_err err = RLF_ERR_NONE;
    const char *path = in("full");
    static char big[5000];
    memset(big, 'x', sizeof big - 1);
    rlf_file_write(path, "old", 3, &err);
    struct rlimit old, small;
    getrlimit(RLIMIT_FSIZE, &old);
    small = (struct rlimit){1000, old.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    rlf_status written = rlf_file_write(path, big, sizeof big, &err);
    rlf_err second = RLF_ERR_NONE;
    rlf_status added =
        rlf_file_append(path, big, sizeof big, false, NULL, &second);
    setrlimit(RLIMIT_FSIZE, &old);
    ok(written == RLF_ENV && strstr(err.sentence, path) &&
           strstr(err.hint, "more than 1000 bytes") &&
           strstr(err.hint, "ulimit -f"),
       "a limit on the size of files is told");
    ok(added == RLF_ENV && holds(path, "old"),
       "and the old file is as it was, also after half an append");
    ok(!rlf_file_exists(in("full.part")), "no part is left");
}

static void
check_writers(void)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_writer *one = NULL, *two = NULL;
    const char *path = in("shared.txt"), *part = in("shared.txt.part");
    rlf_file_write(part, "left", 4, &err); /* by one that was killed */
    ok(rlf_writer_open(path, &err, &one) == RLF_OK &&
           rlf_writer_add(one, "one", 3, &err) == RLF_OK,
       "a part that was left is written over");
    ok(rlf_writer_open(path, &err, &two) == RLF_ENV &&
           strstr(err.sentence, "another process is writing it"),
       "... and one that is being written is not");
    ok(rlf_writer_commit(one, &err) == RLF_OK && holds(path, "one") &&
           !rlf_file_exists(part),
       "the first writer has its file");
    ok(rlf_writer_open(path, &err, &two) == RLF_OK, "then the path is free");
    rlf_writer_drop(two);
    ok(!rlf_file_exists(part) && holds(path, "one"), "... also if dropped");
}

static void
check_dirs(void)
{
    rlf_err err = RLF_ERR_NONE;
    const char **names = NULL;
    size_t n = 0;
    ok(rlf_dir_make(in("d/e/f"), &err) == RLF_OK && rlf_dir_exists(in("d/e/f")),
       "a directory with its parents");
    ok(rlf_dir_make(in("d/e/f"), &err) == RLF_OK, "once more is fine");
    ok(rlf_dir_make(in("a.txt/x"), &err) < 0, "none inside a file");
    rlf_err_clear(&err);
    ok(rlf_dir_make_in(in("d/e"), in("d/e/f/g"), &err) == RLF_OK &&
           rlf_dir_exists(in("d/e/f/g")),
       "directories in one that is there");
    ok(rlf_dir_make_in(in("away"), in("away/g/h"), &err) < 0 &&
           !rlf_dir_exists(in("away")),
       "one that was moved away is not made again: %s", err.sentence);
    rlf_err_clear(&err);
    rlf_file_write(in("d/e/z"), "", 0, &err);
    rlf_file_write(in("d/e/b"), "", 0, &err);
    rlf_dir_list(in("d/e"), arena, &err, &names, &n);
    ok(n == 3 && strcmp(names[0], "b") == 0 && strcmp(names[1], "f") == 0 &&
           strcmp(names[2], "z") == 0,
       "names in order");
    ok(symlink(in("a.txt"), in("d/link")) == 0 &&
           symlink(root, in("d/loop")) == 0 &&
           rlf_dir_remove(in("d"), &err) == RLF_OK && !rlf_dir_exists(in("d")),
       "a tree is removed");
    ok(rlf_file_exists(in("a.txt")), "what its links point to is not");
    ok(rlf_dir_remove(in("d"), &err) == RLF_OK, "nothing there is fine");
    is_str(rlf_path_parent(arena, "a/b/"), "a", "parent of a/b/");
    is_str(rlf_path_parent(arena, "a"), ".", "parent of a");
    is_str(rlf_path_parent(arena, "/a"), "/", "parent of /a");
    is_str(rlf_path_join(arena, "a/", "b"), "a/b", "join");
    is_str(rlf_path_join(arena, "a", "/b"), "/b", "join with an absolute one");
    rlf_file_write(in("x"), "x", 1, &err);
    ok(rlf_path_rename(in("x"), in("y"), &err) == RLF_OK && holds(in("y"), "x"),
       "renamed");
}

/* One byte of a large file: the whole digest sees it wherever it is, the
 * other one where it looks. */
static void
check_large(void)
{
    rlf_err err = RLF_ERR_NONE;
    const size_t n = ((size_t)64 << 20) + 12345;
    char *bytes = calloc(1, n);
    rlf_digest before, after;
    uint64_t size;
    rlf_file_write(in("large"), bytes, n, &err);
    rlf_digest_file(in("large"), true, &err, &before, &size);
    bytes[n - 1] = 1;
    rlf_file_write(in("large"), bytes, n, &err);
    ok(rlf_digest_file(in("large"), true, &err, &after, &size) == RLF_OK &&
           size == n && !rlf_digest_equal(before, after) &&
           rlf_digest_equal(after, rlf_digest_of(bytes, n)),
       "the whole digest of a large file sees every byte");
    rlf_digest_file(in("large"), false, &err, &before, &size);
    bytes[0] = 1;
    rlf_file_write(in("large"), bytes, n, &err);
    rlf_digest_file(in("large"), false, &err, &after, &size);
    ok(!rlf_digest_equal(before, after), "in places it sees the first one");
    free(bytes);
}

int
main(void)
{
    rlf_err err = RLF_ERR_NONE;
    uint64_t size = 0;
    make_root();
    arena = rlf_arena_new();
    check_write();
    check_append();
    check_input();
    check_link();
    check_full();
    check_writers();
    check_dirs();
    rlf_file_write(in("sum"), "123456789", 9, &err);
    is_int(rlf_checksum(0, "123456789", 9), 0xcbf43926,
           "the checksum's published check value");
    rlf_digest digest;
    ok(rlf_digest_file(in("sum"), false, &err, &digest, &size) == RLF_OK &&
           size == 9 && rlf_digest_equal(digest, rlf_digest_of("123456789", 9)),
       "the digest of a small file is that of its bytes");
    check_large();
    rlf_file_write(in("empty"), "", 0, &err);
    ok(rlf_digest_file(in("empty"), true, &err, &digest, &size) == RLF_OK &&
           !size && rlf_digest_equal(digest, rlf_digest_of("", 0)),
       "an empty file");
    rlf_arena_free(arena);
    return done();
}

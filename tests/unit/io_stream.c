/* Streams: plain, gzip and zstd give the same bytes; torn ones are told. */
#include "engine/io/file.h"
#include "engine/io/stream.h"
#include "tests/put.h"

#include <zlib.h>
#include <zstd.h>

static rlf_arena *arena;

enum { SIZE = 300000 };
static char data[SIZE];

/* Read all of it in pieces of `step`. */
static rlf_status
read_all(const char *path, size_t step, rlf_buf *out, rlf_err *err)
{
    static char chunk[100000];
    rlf_stream *stream = NULL;
    rlf_buf_clear(out);
    RLF_TRY(rlf_stream_open(path, err, &stream));
    rlf_status status;
    size_t got;
    do {
        status = rlf_stream_read(stream, chunk, step, err, &got);
        if (status == RLF_OK)
            rlf_buf_add(out, chunk, got);
    } while (status == RLF_OK && got);
    rlf_stream_close(stream);
    return status;
}

static void
check_same(const char *path, const char *name)
{
    static const size_t steps[] = {1, 1000, 100000};
    rlf_err err = RLF_ERR_NONE;
    rlf_buf got = {0};
    for (size_t i = 0; i < 3; i++) {
        rlf_status status = read_all(path, steps[i], &got, &err);
        ok(status == RLF_OK && got.n == SIZE && memcmp(got.p, data, SIZE) == 0,
           "%s, by %zu", name, steps[i]);
    }
    rlf_buf_free(&got);
}

/* Every cut of the compressed bytes is an error, none gives wrong data. */
static void
check_torn(const char *path, const char *name, const char *p, size_t n)
{
    rlf_buf got = {0};
    size_t missed = 0, wrong = 0;
    for (size_t cut = n > 2000 ? n - 2000 : 5; cut < n; cut += 41) {
        rlf_err err = RLF_ERR_NONE;
        rlf_file_write(path, p, cut, &err);
        missed += read_all(path, 5000, &got, &err) != RLF_USER;
        wrong += got.n > SIZE || (got.n && memcmp(got.p, data, got.n) != 0);
        missed += !strstr(err.sentence, path);
    }
    ok(!missed && !wrong, "%s, torn anywhere", name);
    rlf_err err = RLF_ERR_NONE;
    char *bad = rlf_arena_alloc(arena, n);
    memcpy(bad, p, n);
    memset(bad + n / 2, 0x5a, 200);
    rlf_file_write(path, bad, n, &err);
    ok(read_all(path, 5000, &got, &err) == RLF_USER, "%s, damaged", name);
    rlf_buf_free(&got);
}

/* Checks that the bytes after gzip's first member, at p, are read or refused,
 * and never dropped. */
static void
check_members(const char *path, const char *p, size_t n)
{
    static const char hello[] = /* "hello", by gzip -n */
        "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xcb\x48\xcd\xc9\xc9\x07"
        "\x00\x86\xa6\x10\x36\x05\x00\x00";
    enum { HELLO = sizeof hello, AT_CRC = 17 };
    static const struct {
        const char *name;
        size_t zeros;       /* between */
        size_t member;      /* bytes of hello that follow */
        size_t flipped;     /* one of them, whose bits are turned */
        const char *refuse; /* NULL: read */
    } cases[] = {
        {"zeros after a member", 70000, 0, 0, NULL},
        {"a second member", 0, HELLO, HELLO, NULL},
        {"a second member without its first byte", 0, HELLO, 0, "is damaged"},
        {"a second member whose method is none", 0, HELLO, 2, "is damaged"},
        {"a second member with another sum", 0, HELLO, AT_CRC, "is damaged"},
        {"one byte of a second member", 0, 1, HELLO, "ends in the middle"},
        {"a member after zeros", 70000, HELLO, HELLO, "is damaged"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rlf_buf file = {0}, got = {0};
        rlf_err err = RLF_ERR_NONE;
        rlf_buf_add(&file, p, n);
        for (size_t k = 0; k < cases[i].zeros; k++)
            rlf_buf_putc(&file, 0);
        for (size_t k = 0; k < cases[i].member; k++)
            rlf_buf_putc(&file,
                         (char)(hello[k] ^ (k == cases[i].flipped ? 64 : 0)));
        rlf_file_write(path, file.p, file.n, &err);
        rlf_status status = read_all(path, 5000, &got, &err);
        if (!cases[i].refuse)
            ok(status == RLF_OK && got.n == SIZE + (cases[i].member ? 5 : 0),
               "gzip, %s", cases[i].name);
        else
            ok(status == RLF_USER && strstr(err.sentence, path) &&
                   strstr(err.sentence, cases[i].refuse),
               "gzip, %s: %s", cases[i].name, err.sentence);
        rlf_err_clear(&err);
        rlf_buf_free(&file);
        rlf_buf_free(&got);
    }
}

static void
check_lines(const char *path)
{
    static const char text[] = "\xef\xbb\xbfone\r\n\ntwo\n three";
    rlf_err err = RLF_ERR_NONE;
    rlf_file_write(path, text, sizeof text - 1, &err);
    rlf_lines lines = {0};
    rlf_stream_open(path, &err, &lines.stream);
    rlf_buf all = {0};
    rlf_str line;
    for (bool more = true; more;) {
        rlf_lines_next(&lines, path, 100, &err, &more, &line);
        if (more)
            rlf_buf_printf(&all, "%u[%.*s]", lines.line, (int)line.n, line.p);
    }
    is_str(all.p, "1[one]2[]3[two]4[ three]", "lines");
    rlf_stream_close(lines.stream);
    rlf_buf_free(&lines.buf);
    rlf_buf_free(&all);
    lines = (rlf_lines){0};
    rlf_file_write(path, data, SIZE, &err);
    rlf_stream_open(path, &err, &lines.stream);
    bool more;
    ok(rlf_lines_next(&lines, path, 1000, &err, &more, &line) == RLF_USER &&
           strstr(err.sentence, ":1: the line is longer than 1000 bytes"),
       "a line that is too long");
    rlf_stream_close(lines.stream);
    rlf_buf_free(&lines.buf);
}

int
main(void)
{
    rlf_err err = RLF_ERR_NONE;
    make_root();
    arena = rlf_arena_new();
    const char *path = in_root(arena, "data");
    uint32_t x = 1;
    for (size_t i = 0; i < SIZE; i++) { /* half compressible, no line ends */
        x = x * 1664525 + 1013904223;
        data[i] = (char)('a' + (x >> 28));
    }
    rlf_file_write(path, data, SIZE, &err);
    check_same(path, "plain");

    for (size_t part = 0; part < 2; part++) { /* two members */
        gzFile gz = gzopen(path, part ? "ab" : "wb");
        gzwrite(gz, data + part * SIZE / 2, SIZE / 2);
        gzclose(gz);
    }
    check_same(path, "gzip");
    rlf_buf bytes = {0};
    rlf_file_read(path, 1 << 20, &err, &bytes);
    check_torn(path, "gzip", bytes.p, bytes.n);
    check_members(path, bytes.p, bytes.n);

    size_t room = ZSTD_compressBound(SIZE);
    char *zst = rlf_arena_alloc(arena, 2 * room); /* two frames */
    size_t n = ZSTD_compress(zst, room, data, SIZE / 2, 3);
    size_t m = ZSTD_compress(zst + n, room, data + SIZE / 2, SIZE / 2, 3);
    rlf_file_write(path, zst, n + m, &err);
    check_same(path, "zstd");
    check_torn(path, "zstd", zst, n + m);

    check_lines(path);
    rlf_stream *stream = NULL;
    ok(rlf_stream_open(root, &err, &stream) == RLF_USER, "a directory");
    rlf_buf_free(&bytes);
    rlf_arena_free(arena);
    return done();
}

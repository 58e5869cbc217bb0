/* Loading a safetensors directory that the page cache has, beside copying its
 * bytes, in turns in one run.
 *
 *     bench/load DIRECTORY [megabytes [rounds]]
 *
 * With a size above 0 it first writes such a directory there, two files of bf16
 * tensors of 2048 rows and columns. Each round reads all tensors into memory
 * that was touched before, a tensor after another: by the reader, as they are
 * (and, where they are of bf16, as f32); by read() of the same ranges; by
 * memcpy from a mapping of the files made for the round. Times are the thread's
 * own, the least of rounds; opening and the header are in them. */
#include "bench/measure.h"
#include "engine/base/half.h"
#include "engine/io/file.h"
#include "engine/io/safetensors.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SIDE = 2048, FILES = 2 };

static void *
room(size_t bytes)
{
    char *p = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    if (!p)
        exit(1);
    memset(p, 1, bytes);
    return p;
}

/* Tensors t0, t1, ... of which file f has every FILESth, and the index. */
static void
write_all(const char *dir, int n)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_arena *arena = rlf_arena_new();
    float *values = room(sizeof(float) * SIDE * SIDE);
    for (size_t i = 0; i < (size_t)SIDE * SIDE; i++)
        values[i] = (float)(i % 251) * 0.01F - 1;
    check(rlf_dir_make(dir, &err), &err);
    rlf_buf index = {0};
    for (int f = 0; f < FILES; f++) {
        rlf_tensor *list = RLF_NEW_ARRAY(arena, rlf_tensor, n);
        const char *file =
            rlf_arena_printf(arena, "model-%d.safetensors", f + 1);
        size_t k = 0;
        for (int i = f; i < n; i += FILES, k++) {
            list[k] = (rlf_tensor){.name = rlf_arena_printf(arena, "t%d", i),
                                   .element = RLF_ELEMENT_BF16,
                                   .n_dims = 2,
                                   .shape = {SIDE, SIDE}};
            rlf_buf_printf(&index, "%s\"t%d\": \"%s\"", index.n ? ", " : "", i,
                           file);
        }
        rlf_tensor_writer *writer;
        check(rlf_tensor_writer_open(rlf_path_join(arena, dir, file), list, k,
                                     NULL, 0, &err, &writer),
              &err);
        for (; k; k--)
            check(rlf_tensor_writer_add_f32(writer, values, (size_t)SIDE * SIDE,
                                            &err),
                  &err);
        check(rlf_tensor_writer_commit(writer, &err, NULL, NULL), &err);
    }
    const char *text =
        rlf_arena_printf(arena, "{\"weight_map\": {%s}}", index.p);
    check(rlf_file_write(
              rlf_path_join(arena, dir, "model.safetensors.index.json"), text,
              strlen(text), &err),
          &err);
    rlf_buf_free(&index);
    rlf_arena_free(arena);
    free(values);
}

/* All tensors one behind another; as f32 each over the one before. */
static double
by_reader(const char *dir, char *to, bool f32)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_safetensors *file;
    double begun = now();
    check(rlf_safetensors_open(dir, &err, &file), &err);
    for (size_t i = 0; i < rlf_safetensors_count(file); i++) {
        const rlf_tensor *x = rlf_safetensors_at(file, i);
        if (f32) {
            check(rlf_tensor_read_f32(x, 0, x->count, &err, (float *)to), &err);
        } else {
            check(rlf_tensor_read(x, &err, to), &err);
            to += x->bytes;
        }
    }
    rlf_safetensors_close(file);
    return now() - begun;
}

/* The bytes of the tensors of all files, without the reader. */
static double
by_hand(const rlf_safetensors *file, char *to, bool map)
{
    const char *path = NULL;
    char *mapped = NULL;
    size_t size = 0;
    int fd = -1;
    double begun = now();
    for (size_t i = 0; i < rlf_safetensors_count(file); i++) {
        const rlf_tensor *x = rlf_safetensors_at(file, i);
        if (path != x->file) {
            struct stat st;
            if (mapped)
                munmap(mapped, size);
            if (fd >= 0)
                close(fd);
            path = x->file;
            fd = open(path, O_RDONLY);
            if (fd < 0 || fstat(fd, &st) < 0)
                exit(1);
            size = (size_t)st.st_size;
            mapped =
                map ? mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0) : NULL;
            if (map && mapped == MAP_FAILED)
                exit(1);
            if (!map && lseek(fd, (off_t)x->at, SEEK_SET) < 0)
                exit(1);
        }
        if (map)
            memcpy(to, mapped + x->at, x->bytes);
        for (size_t n = 0; !map && n < x->bytes;) {
            ssize_t k = read(fd, to + n, x->bytes - n);
            if (k <= 0)
                exit(1);
            n += (size_t)k;
        }
        to += x->bytes;
    }
    if (mapped)
        munmap(mapped, size);
    close(fd);
    return now() - begun;
}

int
main(int argc, char **argv)
{
    clock_used = CLOCK_THREAD_CPUTIME_ID;
    enum { AS_IT_IS, F32, READ, MAP, WAYS };
    static const char *const names[WAYS] = {
        "reader, as they are", "reader, as f32", "read()", "mmap and memcpy"};
    if (argc < 2) {
        fprintf(stderr, "usage: load DIRECTORY [megabytes [rounds]]\n");
        return 2;
    }
    int rounds = argc > 3 ? atoi(argv[3]) : 5;
    int megabytes = argc > 2 ? atoi(argv[2]) : 0;
    if (megabytes > 0)
        write_all(argv[1], megabytes / (SIDE * SIDE * 2 / 1000000));
    rlf_err err = RLF_ERR_NONE;
    rlf_safetensors *file;
    check(rlf_safetensors_open(argv[1], &err, &file), &err);
    size_t bytes = 0, largest = 0;
    for (size_t i = 0; i < rlf_safetensors_count(file); i++) {
        const rlf_tensor *x = rlf_safetensors_at(file, i);
        bytes += x->bytes;
        largest = x->count * 4 > largest ? x->count * 4 : largest;
    }
    char *to = room(bytes > largest ? bytes : largest);
    double best[WAYS] = {1e30, 1e30, 1e30, 1e30};
    for (int i = 0; i < rounds; i++) {
        const double t[WAYS] = {
            by_reader(argv[1], to, false), by_reader(argv[1], to, true),
            by_hand(file, to, false), by_hand(file, to, true)};
        for (int k = 0; k < WAYS; k++)
            best[k] = t[k] < best[k] ? t[k] : best[k];
    }
    double limit = best[READ] < best[MAP] ? best[READ] : best[MAP];
    printf("%.0f MB in %zu tensors\n", (double)bytes / 1e6,
           rlf_safetensors_count(file));
    for (int k = 0; k < WAYS; k++)
        printf("%-20s %6.1f ms  %5.2f GB/s  %.2f of the faster copy\n",
               names[k], best[k] * 1e3, (double)bytes / best[k] / 1e9,
               limit / best[k]);
    rlf_safetensors_close(file);
    free(to);
    return 0;
}

/* Safetensors: what is written comes back, what is torn is told, and no file
 * whatever makes the reader fall over. */
#include "engine/base/half.h"
#include "engine/base/str.h"
#include "engine/base/vec.h"
#include "engine/io/checksum.h"
#include "engine/io/file.h"
#include "engine/io/safetensors.h"
#include "tests/put.h"

static rlf_arena *arena;

static const char *
in(const char *name)
{
    return in_root(arena, name);
}

/* A file of an explicit header and n bytes 0, 1, 2 ... of data. */
static const char *
put_header(const char *header, size_t n)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_buf buf = {0};
    uint64_t length = strlen(header);
    rlf_buf_add(&buf, &length, 8);
    rlf_buf_puts(&buf, header);
    for (size_t i = 0; i < n; i++)
        rlf_buf_putc(&buf, (char)i);
    const char *path = in("x.safetensors");
    rlf_file_write(path, buf.p, buf.n, &err);
    rlf_buf_free(&buf);
    return path;
}

static const rlf_tensor tensors[] = {
    {.name = "a", .element = RLF_ELEMENT_F32, .n_dims = 2, .shape = {2, 3}},
    {.name = "b.weight",
     .element = RLF_ELEMENT_BF16,
     .n_dims = 1,
     .shape = {5}},
    {.name = "empty", .element = RLF_ELEMENT_F32, .n_dims = 2, .shape = {0, 7}},
    {.name = "scalar", .element = RLF_ELEMENT_I64},
    {.name = "h", .element = RLF_ELEMENT_F16, .n_dims = 1, .shape = {5000}},
};

static float values[5000];

static rlf_status
write_all(const char *path, rlf_err *err, uint32_t *sum, uint64_t *size)
{
    static const char *const metadata[] = {"made by", "a \"test\""};
    rlf_tensor_writer *writer = NULL;
    int64_t number = -7;
    RLF_TRY(rlf_tensor_writer_open(path, tensors, RLF_COUNT(tensors), metadata,
                                   1, err, &writer));
    RLF_TRY(rlf_tensor_writer_add_f32(writer, values, 4, err));
    RLF_TRY(rlf_tensor_writer_add_f32(writer, values + 4, 2, err));
    RLF_TRY(rlf_tensor_writer_add_f32(writer, values, 5, err));
    RLF_TRY(rlf_tensor_writer_add(writer, &number, 8, err));
    RLF_TRY(rlf_tensor_writer_add_f32(writer, values, 5000, err));
    return rlf_tensor_writer_commit(writer, err, sum, size);
}

static void
check_round_trip(void)
{
    rlf_err err = RLF_ERR_NONE;
    uint32_t sum = 0, again = 0;
    uint64_t size = 0, size_again = 0;
    const char *path = in("m.safetensors");
    ok(write_all(path, &err, &sum, &size) == RLF_OK, "written");
    rlf_infile *whole = NULL;
    if (rlf_infile_open(path, &err, &whole) < 0)
        bail("%s", err.sentence);
    size_again = rlf_infile_size(whole);
    char *bytes = malloc(size_again);
    if (rlf_infile_read(whole, 0, bytes, size_again, &err) < 0)
        bail("%s", err.sentence);
    again = rlf_checksum(0, bytes, size_again);
    free(bytes);
    rlf_infile_close(whole);
    ok(sum == again && size == size_again, "with the checksum it says");
    write_all(in("n.safetensors"), &err, &again, NULL);
    is_int(again, sum, "the same calls give the same bytes");
    rlf_safetensors *file = NULL;
    if (rlf_safetensors_open(path, &err, &file) < 0)
        bail("%s", err.sentence);
    is_int((int64_t)rlf_safetensors_count(file), 5, "five tensors");
    is_str(rlf_safetensors_metadata(file, "format"), "pt", "format");
    is_str(rlf_safetensors_metadata(file, "made by"), "a \"test\"", "metadata");
    const rlf_tensor *a = rlf_safetensors_get(file, "a");
    const rlf_tensor *b = rlf_safetensors_get(file, "b.weight");
    const rlf_tensor *h = rlf_safetensors_get(file, "h");
    is_str(rlf_tensor_shape_text(a, arena), "[2, 3]", "a shape");
    ok(a->at % 8 == 0, "the data begins at 8 bytes");
    is_str(rlf_tensor_shape_text(rlf_safetensors_get(file, "scalar"), arena),
           "[]", "no dimensions");
    ok(!rlf_safetensors_get(file, "none"), "a name that is not there");
    static float got[5000], want[5000];
    rlf_tensor_read_f32(a, 0, 6, &err, got);
    is_bits_f32(got, values, 6, "f32 comes back");
    rlf_tensor_read_f32(b, 1, 4, &err, got);
    for (int i = 0; i < 4; i++)
        want[i] = rlf_bf16_to_f32(rlf_f32_to_bf16(values[i + 1]));
    is_bits_f32(got, want, 4, "bf16 comes back rounded, from the second on");
    rlf_tensor_read_f32(h, 0, 5000, &err, got);
    for (int i = 0; i < 5000; i++)
        want[i] = rlf_f16_to_f32(rlf_f32_to_f16(values[i]));
    is_bits_f32(got, want, 5000, "f16 comes back rounded");
    rlf_tensor_read_f32(rlf_safetensors_get(file, "scalar"), 0, 1, &err, got);
    ok(got[0] == -7.0f, "an integer");
    rlf_safetensors_close(file);
}

static void
check_writer(void)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_tensor_writer *writer = NULL;
    const char *path = in("old.safetensors");
    rlf_file_write(path, "old", 3, &err);
    rlf_tensor_writer_open(path, tensors, 1, NULL, 0, &err, &writer);
    ok(rlf_tensor_writer_add_f32(writer, values, 7, &err) == RLF_BUG,
       "more than was declared");
    rlf_err_clear(&err);
    rlf_tensor_writer_add_f32(writer, values, 5, &err);
    rlf_buf buf = {0};
    ok(rlf_tensor_writer_commit(writer, &err, NULL, NULL) == RLF_BUG &&
           strstr(err.sentence, "4 bytes of data were not written"),
       "less than was declared");
    rlf_err_clear(&err);
    rlf_file_read(path, 100, &err, &buf);
    is_str(buf.p, "old", "and the old file stands");
    rlf_buf_free(&buf);
}

static void
check_bad(void)
{
    static const struct {
        const char *header;
        size_t bytes;
        const char *want;
    } bad[] = {
        {"{\"t\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 7,
         "tensor t ends at byte 8 of the data, the file has only 7"},
        {"{\"t\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 9,
         "1 bytes after the last tensor belong to none"},
        {"{\"t\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,8]}}", 8,
         "tensor t has 8 bytes, its shape and type need 12"},
        {"{\"t\":{\"dtype\":\"F99\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8,
         "element type \"F99\""},
        {"{\"t\":{\"dtype\":\"F32\",\"shape\":[-2],\"data_offsets\":[0,8]}}", 8,
         "impossible shape"},
        {"{\"t\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296,2],"
         "\"data_offsets\":[0,8]}}",
         8, "impossible shape"},
        {"{\"t\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,0]}}", 8,
         "no valid data_offsets"},
        {"{\"t\":{\"dtype\":\"F32\",\"shape\":[2]}}", 8,
         "no valid data_offsets"},
        {"{\"t\":{\"dtype\":\"F32\",\"shape\":1,\"data_offsets\":[0,8]}}", 8,
         "no shape"},
        {"{\"t\":5}", 8, "element type \"(none)\""},
        {"{\"t\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
         "\"u\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[4,12]}}",
         12, "tensor u begins at byte 4 of the data, inside"},
        {"{\"t\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
         "\"u\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[12,16]}}",
         16, "tensor u begins at byte 12 of the data, after a gap"},
        {"{\"t\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
         "\"t\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[8,12]}}",
         12, "the header is no JSON object: duplicate"},
        {"[]", 0, "the header is no JSON object"},
        {"{\"t\":", 0, "the header is no JSON object"},
    };
    rlf_safetensors *file = NULL;
    for (size_t i = 0; i < RLF_COUNT(bad); i++) {
        rlf_err err = RLF_ERR_NONE;
        const char *path = put_header(bad[i].header, bad[i].bytes);
        rlf_status status = rlf_safetensors_open(path, &err, &file);
        if (!ok(status == RLF_USER && strstr(err.sentence, bad[i].want) &&
                    strstr(err.sentence, path),
                "%s", bad[i].want))
            note("got: %s", err.sentence);
    }
    rlf_err err = RLF_ERR_NONE;
    ok(rlf_safetensors_open(root, &err, &file) == RLF_USER &&
           strstr(err.sentence, "holds neither model.safetensors"),
       "a directory without a model");
    rlf_err_clear(&err);
    /* Odd but valid: data that is not aligned, a tensor of nothing. */
    const char *path = put_header(
        "{\"u\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[1,5]},"
        "\"z\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[1,1]},"
        "\"t\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}",
        5);
    float x;
    ok(rlf_safetensors_open(path, &err, &file) == RLF_OK &&
           rlf_tensor_read_f32(rlf_safetensors_at(file, 2), 0, 1, &err, &x) ==
               RLF_OK &&
           rlf_f32_bits(x) == 0x04030201,
       "data that is not aligned");
    rlf_safetensors_close(file);
}

static void
check_parts(void)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_safetensors *file = NULL;
    rlf_tensor one = tensors[0], two = tensors[0];
    two.name = "c";
    const rlf_tensor *parts[] = {&one, &two};
    const char *dir = in("parts");
    rlf_dir_make(dir, &err);
    for (int i = 0; i < 2; i++) {
        rlf_tensor_writer *writer = NULL;
        const char *path = rlf_arena_printf(
            arena, "%s/model-0000%d-of-00002.safetensors", dir, i + 1);
        rlf_tensor_writer_open(path, parts[i], 1, NULL, 0, &err, &writer);
        rlf_tensor_writer_add_f32(writer, values + 6 * i, 6, &err);
        rlf_tensor_writer_commit(writer, &err, NULL, NULL);
    }
    const char *index =
        rlf_path_join(arena, dir, "model.safetensors.index.json");
    static const char good[] =
        "{\"weight_map\":{\"a\":\"model-00001-of-00002.safetensors\",\"c\":"
        "\"model-00002-of-00002.safetensors\"}}";
    static const char wrong[] =
        "{\"weight_map\":{\"a\":\"model-00001-of-00002.safetensors\",\"d\":"
        "\"model-00002-of-00002.safetensors\"}}";
    rlf_file_write(index, good, strlen(good), &err);
    float got[6];
    ok(rlf_safetensors_open(dir, &err, &file) == RLF_OK &&
           rlf_safetensors_count(file) == 2,
       "a model in two files");
    rlf_tensor_read_f32(rlf_safetensors_get(file, "c"), 0, 6, &err, got);
    is_bits_f32(got, values + 6, 6, "the second one's tensor");
    rlf_safetensors_close(file);
    rlf_file_write(index, wrong, strlen(wrong), &err);
    ok(rlf_safetensors_open(dir, &err, &file) == RLF_USER &&
           strstr(err.sentence, "tensor d is not in model-00002"),
       "an index that is wrong");
    rlf_err_clear(&err);
    rlf_dir_remove(
        rlf_path_join(arena, dir, "model-00002-of-00002.safetensors"), &err);
    ok(rlf_safetensors_open(dir, &err, &file) == RLF_USER &&
           strstr(err.sentence, "model-00002-of-00002.safetensors"),
       "a file that is missing");
}

/* Without an fsync, which would take most of the time. */
static void
put_fast(const char *path, const char *p, size_t n)
{
    remove(path); /* to cut an old file short may wait for the disk */
    FILE *file = fopen(path, "w");
    if (!file || fwrite(p, 1, n, file) != n || fclose(file) != 0)
        bail("cannot write %s", path);
}

/* Cut the file everywhere, flip its bytes: an error, or a file that can be
 * read to its last byte. */
static void
check_damage(void)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_buf whole = {0};
    rlf_file_read(in("m.safetensors"), 1 << 20, &err, &whole);
    size_t accepted = 0, head = 700;
    static float all[5000];
    const char *path = in("damaged.safetensors");
    for (size_t cut = 0; cut < whole.n; cut += cut < head ? 1 : 97) {
        rlf_safetensors *file = NULL;
        rlf_err_clear(&err);
        put_fast(path, whole.p, cut);
        accepted += rlf_safetensors_open(path, &err, &file) == RLF_OK;
    }
    is_int((int64_t)accepted, 0, "no part of a file is taken for a file");
    size_t read = 0, refused = 0;
    uint32_t random = 5;
    for (int round = 0; round < 1500; round++) {
        rlf_safetensors *file = NULL;
        random = random * 1664525 + 1013904223;
        size_t at = (random >> 8) % head;
        char saved = whole.p[at];
        char other = "0 9{}[],\"-"[(random >> 24) % 10];
        whole.p[at] = round % 2 ? (char)(random >> 24) : other;
        rlf_err_clear(&err);
        put_fast(path, whole.p, whole.n);
        if (rlf_safetensors_open(path, &err, &file) == RLF_OK) {
            for (size_t i = 0; i < rlf_safetensors_count(file); i++) {
                const rlf_tensor *t = rlf_safetensors_at(file, i);
                if (t->count <= 5000)
                    rlf_tensor_read_f32(t, 0, t->count, &err, all);
            }
            rlf_safetensors_close(file);
            read++;
        } else {
            refused += err.status == RLF_USER && err.sentence[0];
        }
        whole.p[at] = saved;
    }
    note("%zu read, %zu refused", read, refused);
    ok(read + refused == 1500 && read && refused,
       "a flipped byte is refused or read");
    rlf_buf_free(&whole);
}

/* Models that others wrote: every tensor, and their bf16 copy agrees. */
static void
check_models(const char *data)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_safetensors *full = NULL, *half = NULL;
    const char *a = rlf_path_join(arena, data, "models/stories260K-hf");
    const char *b = rlf_path_join(arena, data, "models/stories260K-hf-bf16");
    if (!rlf_dir_exists(a) || !rlf_dir_exists(b)) {
        skip("no models in %s", data);
        return;
    }
    if (rlf_safetensors_open(a, &err, &full) < 0 ||
        rlf_safetensors_open(b, &err, &half) < 0)
        bail("%s", err.sentence);
    size_t wrong = rlf_safetensors_count(full) != rlf_safetensors_count(half);
    for (size_t i = 0; i < rlf_safetensors_count(full); i++) {
        const rlf_tensor *x = rlf_safetensors_at(full, i);
        const rlf_tensor *y = rlf_safetensors_get(half, x->name);
        if (!y || y->element != RLF_ELEMENT_BF16 || y->count != x->count) {
            wrong++;
            continue;
        }
        float *p = RLF_NEW_ARRAY(arena, float, x->count);
        float *q = RLF_NEW_ARRAY(arena, float, x->count);
        rlf_tensor_read_f32(x, 0, x->count, &err, p);
        rlf_tensor_read_f32(y, 0, y->count, &err, q);
        for (size_t k = 0; k < x->count; k++)
            wrong += rlf_f32_to_bf16(p[k]) != rlf_f32_to_bf16(q[k]);
    }
    ok(!wrong, "a model in f32 and its bf16 copy agree in every value");
    rlf_safetensors_close(full);
    rlf_safetensors_close(half);
}

int
main(void)
{
    make_root();
    arena = rlf_arena_new();
    for (int i = 0; i < 5000; i++)
        values[i] = ldexpf((float)sin(i), i % 40 - 20);
    check_round_trip();
    check_writer();
    check_bad();
    check_parts();
    check_damage();
    const char *data = getenv("RLFLOW_TEST_DATA");
    check_models(data ? data : "/nowhere");
    rlf_arena_free(arena);
    return done();
}

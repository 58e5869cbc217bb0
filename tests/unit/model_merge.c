/* Adapters merged into their models: weights against merge_and_unload of peft
 * in double precision (tests/oracle/peft_lora.py --merge), rounded once to the
 * type of the model's files; all other tensors, byte by byte; a model in
 * several files. */
#include "engine/io/file.h"
#include "nodes/model/merge.h"
#include "tests/put.h"
#include "tests/unit/model.h"

#include <float.h>
#include <math.h>

/* Spacing of the values of a type around x, or of its least normal one. */
static double
spacing(rlf_element element, double x)
{
    int digits = element == RLF_ELEMENT_F32    ? 24
                 : element == RLF_ELEMENT_BF16 ? 8
                                               : 11;
    double least = element == RLF_ELEMENT_F16 ? 0x1p-14 : FLT_MIN;
    return ldexp(1, ilogb(fmax(fabs(x), least)) + 1 - digits);
}

/* Is `got` the value of its type that is nearest to `want`? With 1 % of room
 * for what double precision itself rounds, and f32 on the way to 16 bits. */
static bool
is_rounded(test_machine *t, const rlf_tensor *got, const rlf_tensor *want)
{
    size_t n = (size_t)want->count;
    float *x = rlf_malloc(n * sizeof *x);
    double *y = rlf_malloc(n * sizeof *y);
    bool good = got->count == want->count && want->element == RLF_ELEMENT_F64;
    MUST(t, rlf_tensor_read_f32(got, 0, n, &t->err, x));
    MUST(t, rlf_tensor_read(want, &t->err, y));
    for (size_t i = 0; good && i < n; i++)
        good = fabs((double)x[i] - y[i]) <= 0.505 * spacing(got->element, y[i]);
    free(x);
    free(y);
    return good;
}

static bool
is_same(test_machine *t, const rlf_tensor *got, const rlf_tensor *want)
{
    char *x = rlf_malloc(got->bytes), *y = rlf_malloc(want->bytes);
    bool good = got->element == want->element && got->bytes == want->bytes;
    MUST(t, rlf_tensor_read(got, &t->err, x));
    MUST(t, rlf_tensor_read(want, &t->err, y));
    good = good && !memcmp(x, y, got->bytes);
    free(x);
    free(y);
    return good;
}

static rlf_merged
merge(test_machine *t, const char *base, const char *adapter, const char *name,
      rlf_arena *arena)
{
    rlf_merged out;
    const char *dir = in_root(arena, name);
    MUST(t, rlf_dir_make(dir, &t->err));
    MUST(t, rlf_merge_write(base, adapter, dir, arena, &t->err, &out));
    return out;
}

static void
test_adapter(test_machine *t, const char *name, rlf_arena *arena)
{
    const char *base = source_path(
        arena, rlf_arena_printf(arena, "tests/data/models/%s", name));
    const char *adapter = source_path(
        arena, rlf_arena_printf(arena, "tests/data/adapters/%s", name));
    rlf_safetensors *before, *want, *got;
    rlf_merged merged = merge(t, base, adapter, name, arena);
    MUST(t, rlf_safetensors_open(
                rlf_arena_printf(arena, "%s/merged.safetensors", adapter),
                &t->err, &want));
    MUST(t, rlf_safetensors_open(base, &t->err, &before));
    MUST(t, rlf_safetensors_open(in_root(arena, name), &t->err, &got));
    bool rounded = true, same = true;
    int changed = 0;
    for (size_t i = 0; i < rlf_safetensors_count(got); i++) {
        const rlf_tensor *x = rlf_safetensors_at(got, i);
        const rlf_tensor *y = rlf_safetensors_get(want, x->name);
        const rlf_tensor *old = rlf_safetensors_get(before, x->name);
        changed += y && strcmp(x->name, "score.weight") != 0;
        rounded &= !y || is_rounded(t, x, y);
        same &= y || (old && is_same(t, x, old));
    }
    ok(rounded && changed == merged.adapted &&
           (size_t)changed +
                   (rlf_safetensors_get(want, "score.weight") != NULL) ==
               rlf_safetensors_count(want),
       "%s: %d tensors are as peft merges them", name, changed);
    ok(same && (size_t)merged.tensors == rlf_safetensors_count(got),
       "... and the others as they were");
    rlf_safetensors_close(before);
    rlf_safetensors_close(want);
    rlf_safetensors_close(got);
}

/* Of a file the tensors first..last-1 as one of their own, which the index
 * names. */
static void
put_part(test_machine *t, const rlf_safetensors *file, size_t first,
         size_t last, const char *path, rlf_buf *index, rlf_arena *arena)
{
    rlf_tensor *list = RLF_NEW_ARRAY(arena, rlf_tensor, last - first);
    rlf_tensor_writer *writer;
    for (size_t i = first; i < last; i++) {
        list[i - first] = *rlf_safetensors_at(file, i);
        rlf_buf_printf(index, "%s\"%s\": \"%s\"", i ? ", " : "",
                       list[i - first].name, strrchr(path, '/') + 1);
    }
    MUST(t, rlf_tensor_writer_open(path, list, last - first, NULL, 0, &t->err,
                                   &writer));
    for (size_t i = first; i < last; i++) {
        const rlf_tensor *x = rlf_safetensors_at(file, i);
        char *bytes = rlf_malloc(x->bytes);
        MUST(t, rlf_tensor_read(x, &t->err, bytes));
        MUST(t, rlf_tensor_writer_add(writer, bytes, x->bytes, &t->err));
        free(bytes);
    }
    MUST(t, rlf_tensor_writer_commit(writer, &t->err, NULL, NULL));
}

/* The model that scores, in three files; its head comes from the adapter. */
static void
test_parts(test_machine *t, rlf_arena *arena)
{
    const char *base = source_path(arena, "tests/data/models/critic");
    const char *adapter = source_path(arena, "tests/data/adapters/critic");
    rlf_buf index = {0};
    rlf_safetensors *file, *whole, *parts;
    MUST(t, rlf_dir_make(in_root(arena, "base"), &t->err));
    MUST(t, rlf_file_copy(rlf_path_join(arena, base, "config.json"),
                          in_root(arena, "base/config.json"), &t->err));
    MUST(t, rlf_safetensors_open(base, &t->err, &file));
    size_t n = rlf_safetensors_count(file);
    rlf_buf_puts(&index, "{\"weight_map\": {");
    put_part(t, file, 0, 3, in_root(arena, "base/a.safetensors"), &index,
             arena);
    put_part(t, file, 3, n - 2, in_root(arena, "base/b.safetensors"), &index,
             arena);
    put_part(t, file, n - 2, n, in_root(arena, "base/c.safetensors"), &index,
             arena);
    rlf_buf_puts(&index, "}}");
    put(arena, "base/model.safetensors.index.json", index.p);
    rlf_buf_free(&index);
    rlf_safetensors_close(file);
    merge(t, in_root(arena, "base"), adapter, "parts", arena);
    ok(rlf_file_exists(
           in_root(arena, "parts/model-00001-of-00003.safetensors")),
       "a model in three files becomes one in three");
    MUST(t, rlf_safetensors_open(in_root(arena, "critic"), &t->err, &whole));
    MUST(t, rlf_safetensors_open(in_root(arena, "parts"), &t->err, &parts));
    bool same = rlf_safetensors_count(whole) == rlf_safetensors_count(parts);
    for (size_t i = 0; i < rlf_safetensors_count(whole); i++) {
        const rlf_tensor *x = rlf_safetensors_at(whole, i);
        const rlf_tensor *y = rlf_safetensors_get(parts, x->name);
        same &= y && is_same(t, x, y);
    }
    ok(same, "... of the tensors that it has in one");
    rlf_safetensors_close(whole);
    rlf_safetensors_close(parts);
}

int
main(void)
{
    static const char *const names[] = {"llama",  "qwen3", "gpt2",
                                        "cohere", "phi3",  "gpt_neox",
                                        "gemma2", "critic"};
    test_machine t = {.err = RLF_ERR_NONE};
    rlf_arena *arena = rlf_arena_new();
    make_root();
    for (size_t i = 0; i < RLF_COUNT(names); i++)
        test_adapter(&t, names[i], arena);
    test_parts(&t, arena);
    rlf_arena_free(arena);
    return done();
}

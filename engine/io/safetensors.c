/* Reading safetensors: see safetensors.h. Start at load_file. */
#include "engine/io/safetensors.h"

#include "engine/base/half.h"
#include "engine/base/map.h"
#include "engine/base/vec.h"
#include "engine/io/file.h"
#include "engine/io/hub.h"
#include "engine/io/json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER_MOST = 100000000 }; /* bytes, as the format's own readers */

struct rlf_safetensors {
    rlf_arena *arena;
    RLF_VEC(rlf_infile *) inputs;
    RLF_VEC(rlf_tensor *) tensors;
    rlf_map names;
    rlf_map metadata;
};

static const struct {
    const char *text;
    size_t size;
} elements[RLF_ELEMENT_COUNT] = {
#define ELEMENT(name, text, size, doc) {text, size},
#include "engine/io/element.def"
#undef ELEMENT
};

const char *
rlf_element_text(rlf_element element)
{
    return elements[element].text;
}

size_t
rlf_element_size(rlf_element element)
{
    return elements[element].size;
}

const char *
rlf_tensor_shape_text(const rlf_tensor *tensor, rlf_arena *arena)
{
    const char *text = "";
    for (uint32_t i = 0; i < tensor->n_dims; i++)
        text = rlf_arena_printf(arena, "%s%s%llu", text, i ? ", " : "",
                                (unsigned long long)tensor->shape[i]);
    return rlf_arena_printf(arena, "[%s]", text);
}

static rlf_status
fail_torn(rlf_err *err)
{
    rlf_err_hint(err, "the file is torn or was written wrongly: copy, download "
                      "or save it again");
    return RLF_USER;
}

/* Shape and element type of one header entry; count and bytes follow. */
static rlf_status
read_shape(const json_t *entry, rlf_tensor *tensor, rlf_err *err)
{
    const char *dtype = json_string_value(json_object_get(entry, "dtype"));
    int e = 0;
    while (dtype && e < RLF_ELEMENT_COUNT &&
           strcmp(dtype, elements[e].text) != 0)
        e++;
    if (!dtype || e == RLF_ELEMENT_COUNT)
        return rlf_fail(err, RLF_USER,
                        "%s: tensor %s has element type \"%.*s\", which is "
                        "not known",
                        tensor->file, tensor->name,
                        RLF_CUT(20, dtype ? dtype : "(none)"));
    tensor->element = (rlf_element)e;
    const json_t *shape = json_object_get(entry, "shape");
    if (!json_is_array(shape) || json_array_size(shape) > RLF_TENSOR_DIMS)
        return rlf_fail(err, RLF_USER,
                        "%s: tensor %s has no shape of at most %d numbers",
                        tensor->file, tensor->name, RLF_TENSOR_DIMS);
    tensor->n_dims = (uint32_t)json_array_size(shape);
    tensor->count = 1;
    for (uint32_t i = 0; i < tensor->n_dims; i++) {
        int64_t n;
        if (!rlf_json_as_int(json_array_get(shape, i), &n) || n < 0 ||
            __builtin_mul_overflow(tensor->count, (uint64_t)n, &tensor->count))
            return rlf_fail(err, RLF_USER,
                            "%s: tensor %s has an impossible shape",
                            tensor->file, tensor->name);
        tensor->shape[i] = (uint64_t)n;
    }
    if (__builtin_mul_overflow(tensor->count, elements[e].size, &tensor->bytes))
        return rlf_fail(err, RLF_USER, "%s: tensor %s has an impossible shape",
                        tensor->file, tensor->name);
    return RLF_OK;
}

/* The data area of a file: n bytes from `begin` on. */
typedef struct area {
    const rlf_infile *input;
    uint64_t begin, n;
} area;

/* One header entry. */
static rlf_status
read_entry(const json_t *entry, const area *data, rlf_tensor *tensor,
           rlf_err *err)
{
    RLF_TRY(read_shape(entry, tensor, err));
    const json_t *range = json_object_get(entry, "data_offsets");
    int64_t from, to;
    if (json_array_size(range) != 2 ||
        !rlf_json_as_int(json_array_get(range, 0), &from) ||
        !rlf_json_as_int(json_array_get(range, 1), &to) || from < 0 ||
        to < from)
        return rlf_fail(err, RLF_USER,
                        "%s: tensor %s has no valid data_offsets", tensor->file,
                        tensor->name);
    if ((uint64_t)(to - from) != tensor->bytes) {
        rlf_fail(err, RLF_USER,
                 "%s: tensor %s has %lld bytes, its shape and type need %llu",
                 tensor->file, tensor->name, (long long)(to - from),
                 (unsigned long long)tensor->bytes);
        return fail_torn(err);
    }
    if ((uint64_t)to > data->n) {
        rlf_fail(err, RLF_USER,
                 "%s: tensor %s ends at byte %lld of the data, the file has "
                 "only %llu",
                 tensor->file, tensor->name, (long long)to,
                 (unsigned long long)data->n);
        return fail_torn(err);
    }
    tensor->input = data->input;
    tensor->at = data->begin + (uint64_t)from;
    return RLF_OK;
}

static int
compare_places(const void *a, const void *b)
{
    const rlf_tensor *x = *(rlf_tensor *const *)a, *y = *(rlf_tensor *const *)b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    if (x->bytes != y->bytes) /* an empty one before what it touches */
        return x->bytes < y->bytes ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* The tensors from `first` on cover the data without gaps. */
static rlf_status
check_cover(const rlf_safetensors *file, size_t first, const char *path,
            const area *data, rlf_err *err)
{
    uint64_t at = 0;
    for (size_t i = first; i < file->tensors.count; i++) {
        const rlf_tensor *tensor = file->tensors.data[i];
        uint64_t from = tensor->at - data->begin;
        if (from != at) {
            rlf_fail(err, RLF_USER,
                     "%s: tensor %s begins at byte %llu of the data, %s", path,
                     tensor->name, (unsigned long long)from,
                     from < at ? "inside the tensor before it"
                               : "after a gap that belongs to none");
            return fail_torn(err);
        }
        at = from + tensor->bytes;
    }
    if (at != data->n) {
        rlf_fail(err, RLF_USER,
                 "%s: %llu bytes after the last tensor belong to none", path,
                 (unsigned long long)(data->n - at));
        return fail_torn(err);
    }
    return RLF_OK;
}

/* The parsed header of one file becomes tensors. */
static rlf_status
read_header(rlf_safetensors *file, const char *path, json_t *header,
            const area *data, rlf_err *err)
{
    size_t first = file->tensors.count;
    const char *name, *key;
    json_t *entry, *text;
    json_object_foreach(header, name, entry)
    {
        if (strcmp(name, "__metadata__") == 0) {
            json_object_foreach(entry, key,
                                text) if (json_is_string(text) && !first)
                rlf_map_put(
                    &file->metadata, key,
                    rlf_arena_strdup(file->arena, json_string_value(text)));
            continue;
        }
        rlf_tensor *tensor = RLF_NEW(file->arena, rlf_tensor);
        tensor->name = rlf_arena_strdup(file->arena, name);
        tensor->file = path;
        RLF_TRY(read_entry(entry, data, tensor, err));
        if (rlf_map_put(&file->names, name, tensor))
            return rlf_fail(err, RLF_USER,
                            "%s: tensor %s stands in two of the model's files",
                            path, name);
        RLF_PUSH_IN(file->arena, &file->tensors, tensor);
    }
    size_t count = file->tensors.count - first;
    if (count)
        qsort(file->tensors.data + first, count, sizeof *file->tensors.data,
              compare_places);
    return check_cover(file, first, path, data, err);
}

/* The header: the JSON between the first 8 bytes and the data. */
static rlf_status
load_header(const rlf_infile *input, const char *path, uint64_t length,
            rlf_err *err, json_t **out)
{
    json_error_t where;
    size_t flags = JSON_DECODE_INT_AS_REAL | JSON_REJECT_DUPLICATES;
    bool missing = false;
    char *text = rlf_try_malloc((size_t)length + 1);
    if (!text)
        return rlf_fail_memory(err, (size_t)length, "the header of %s", path);
    rlf_status status = rlf_infile_read(input, 8, text, (size_t)length, err);
    if (status >= 0)
        *out = rlf_json_decode(text, (size_t)length, flags, &where, &missing);
    free(text);
    if (status < 0 || json_is_object(*out))
        return status;
    if (missing)
        return rlf_fail_memory(err, (size_t)length, "the header of %s", path);
    rlf_fail(err, RLF_USER, "%s: the header is no JSON object: %s", path,
             *out ? "a list" : where.text);
    json_decref(*out);
    return fail_torn(err);
}

/* A header that is to be read. */
typedef struct heading {
    rlf_safetensors *file;
    const char *path;
    json_t *json;
    area data;
    rlf_err *err;
    rlf_status status;
} heading;

static void
read_heading(void *p)
{
    heading *h = p;
    h->status = read_header(h->file, h->path, h->json, &h->data, h->err);
}

static rlf_status
load_file(rlf_safetensors *file, const char *path, rlf_err *err)
{
    rlf_infile *input = NULL;
    RLF_TRY(rlf_infile_open(path, err, &input));
    RLF_PUSH_IN(file->arena, &file->inputs, input);
    uint64_t length = 0, size = rlf_infile_size(input);
    unsigned char first[8] = {0};
    if (size >= sizeof first)
        RLF_TRY(rlf_infile_read(input, 0, first, sizeof first, err));
    for (size_t i = 0; i < sizeof first; i++)
        length |= (uint64_t)first[i] << 8 * i;
    if (size < 8 || length > HEADER_MOST || length > size - 8) {
        rlf_fail(err, RLF_USER,
                 "%s is no whole safetensors file (%" PRIu64 " bytes)", path,
                 size);
        return fail_torn(err);
    }
    json_t *header = NULL;
    RLF_TRY(load_header(input, path, length, err, &header));
    heading h = {.file = file,
                 .path = rlf_arena_strdup(file->arena, path),
                 .json = header,
                 .data = {input, 8 + length, size - 8 - length},
                 .err = err};
    rlf_status status =
        rlf_memory_guard(read_heading, &h, "the tensors of a model", err);
    json_decref(header);
    RLF_TRY(status);
    return h.status;
}

/* Every file that the index names, and every tensor in the named file. */
static rlf_status
load_parts(rlf_safetensors *file, const char *dir, const char *index_path,
           json_t *index, rlf_err *err)
{
    json_t *map = NULL, *where;
    const char *name;
    rlf_map seen = {.arena = file->arena};
    RLF_TRY(
        rlf_json_get_object(index, index_path, "weight_map", true, err, &map));
    json_object_foreach(map, name, where)
    {
        const char *part = json_string_value(where);
        if (!part || strchr(part, '/'))
            return rlf_fail(err, RLF_USER,
                            "%s: the file of tensor %s is no plain file name",
                            index_path, name);
        if (rlf_map_put(&seen, part, file))
            continue;
        RLF_TRY(load_file(file, rlf_path_join(file->arena, dir, part), err));
    }
    json_object_foreach(map, name, where) if (
        !rlf_map_get(&file->names,
                     name)) return rlf_fail(err, RLF_USER,
                                            "%s: tensor %s is not in %s, where "
                                            "the index says "
                                            "it is",
                                            index_path, name,
                                            json_string_value(where));
    return RLF_OK;
}

static rlf_status
load_dir(rlf_safetensors *file, const char *dir, rlf_err *err)
{
    const char *whole = rlf_path_join(file->arena, dir, "model.safetensors");
    const char *parts =
        rlf_path_join(file->arena, dir, "model.safetensors.index.json");
    bool there;
    RLF_TRY(rlf_file_find(whole, err, &there));
    if (there)
        return load_file(file, whole, err);
    RLF_TRY(rlf_file_find(parts, err, &there));
    if (!there) {
        rlf_fail(err, RLF_USER,
                 "%s holds neither model.safetensors nor "
                 "model.safetensors.index.json",
                 dir);
        const char *old = rlf_path_join(file->arena, dir, "pytorch_model.bin");
        if (rlf_file_exists(old))
            rlf_err_hint(err, "pytorch_model.bin is not read: save the model "
                              "as safetensors first");
        return RLF_USER;
    }
    json_t *index = NULL;
    RLF_TRY(rlf_json_load(parts, err, &index));
    rlf_status status = load_parts(file, dir, parts, index, err);
    json_decref(index);
    return status;
}

rlf_status
rlf_safetensors_open(const char *path, rlf_err *err, rlf_safetensors **out)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_safetensors *file = RLF_NEW(arena, rlf_safetensors);
    file->arena = file->names.arena = file->metadata.arena = arena;
    rlf_status status = rlf_dir_exists(path) ? load_dir(file, path, err)
                                             : load_file(file, path, err);
    if (status < 0) {
        rlf_hub_explain(path, err);
        rlf_err_pass(err, __func__);
        rlf_safetensors_close(file);
        return status;
    }
    *out = file;
    return RLF_OK;
}

void
rlf_safetensors_close(rlf_safetensors *file)
{
    if (!file)
        return;
    for (size_t i = 0; i < file->inputs.count; i++)
        rlf_infile_close(file->inputs.data[i]);
    rlf_arena_free(file->arena);
}

size_t
rlf_safetensors_count(const rlf_safetensors *file)
{
    return file->tensors.count;
}

const rlf_tensor *
rlf_safetensors_at(const rlf_safetensors *file, size_t i)
{
    return file->tensors.data[i];
}

const rlf_tensor *
rlf_safetensors_get(const rlf_safetensors *file, const char *name)
{
    return rlf_map_get(&file->names, name);
}

const char *
rlf_safetensors_metadata(const rlf_safetensors *file, const char *key)
{
    return rlf_map_get(&file->metadata, key);
}

/* Element types that convert one by one: the C type and the expression. */
#define EACH(type, expression)                  \
    for (size_t i = 0; i < n; i++) {            \
        type x;                                 \
        memcpy(&x, p + i * sizeof x, sizeof x); \
        out[i] = (expression);                  \
    }                                           \
    break

/* n elements as f32. */
static void
convert(rlf_element element, const unsigned char *p, size_t n, float *out)
{
    switch (element) {
    case RLF_ELEMENT_F64:
        EACH(double, (float)x);
    case RLF_ELEMENT_F16:
        EACH(uint16_t, rlf_f16_to_f32(x));
    case RLF_ELEMENT_BF16:
        EACH(uint16_t, rlf_bf16_to_f32(x));
    case RLF_ELEMENT_I64:
        EACH(int64_t, (float)x);
    case RLF_ELEMENT_I32:
        EACH(int32_t, (float)x);
    case RLF_ELEMENT_I16:
        EACH(int16_t, (float)x);
    case RLF_ELEMENT_I8:
        EACH(int8_t, (float)x);
    case RLF_ELEMENT_U64:
        EACH(uint64_t, (float)x);
    case RLF_ELEMENT_U32:
        EACH(uint32_t, (float)x);
    case RLF_ELEMENT_U16:
        EACH(uint16_t, (float)x);
    case RLF_ELEMENT_U8:
        EACH(uint8_t, (float)x);
    case RLF_ELEMENT_BOOL:
        EACH(uint8_t, (float)(x != 0));
    case RLF_ELEMENT_F32:
    case RLF_ELEMENT_F8_E4M3:
    case RLF_ELEMENT_F8_E5M2:
    case RLF_ELEMENT_COUNT:
        break; /* as it is, or refused */
    }
}

rlf_status
rlf_tensor_read(const rlf_tensor *tensor, rlf_err *err, void *out)
{
    return rlf_infile_read(tensor->input, tensor->at, out,
                           (size_t)tensor->bytes, err);
}

rlf_status
rlf_tensor_read_f32(const rlf_tensor *tensor, uint64_t first, uint64_t n,
                    rlf_err *err, float *out)
{
    unsigned char piece[1 << 16];
    rlf_element element = tensor->element;
    size_t size = rlf_element_size(element), most = sizeof piece / size;
    uint64_t at = tensor->at + first * size;
    RLF_ASSERT(first <= tensor->count && n <= tensor->count - first);
    if (element == RLF_ELEMENT_F8_E4M3 || element == RLF_ELEMENT_F8_E5M2) {
        rlf_fail(err, RLF_USER, "%s: tensor %s has 8-bit floats", tensor->file,
                 tensor->name);
        rlf_err_hint(err, "convert the model to F32, BF16 or F16");
        return RLF_USER;
    }
    if (element == RLF_ELEMENT_F32)
        return rlf_infile_read(tensor->input, at, out, (size_t)n * size, err);
    while (n) {
        size_t k = n < most ? (size_t)n : most;
        RLF_TRY(rlf_infile_read(tensor->input, at, piece, k * size, err));
        convert(element, piece, k, out);
        at += k * size;
        out += k;
        n -= k;
    }
    return RLF_OK;
}

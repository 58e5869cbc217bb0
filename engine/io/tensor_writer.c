/* Writing safetensors: see safetensors.h. The header is written first, so all
 * tensors are declared before any data. */
#include "engine/io/safetensors.h"

#include "engine/base/half.h"
#include "engine/base/str.h"
#include "engine/base/vec.h"
#include "engine/io/file.h"

#include <string.h>

struct rlf_tensor_writer {
    rlf_arena *arena;
    rlf_writer *file;
    const char *path;
    uint64_t begin;     /* bytes before the data */
    uint64_t *ends;     /* of each tensor, from the data's begin */
    rlf_element *kinds; /* of each tensor */
    size_t count;
};

/* The JSON header, padded by spaces so that the data begins at 8 bytes. */
static void
make_header(rlf_tensor_writer *writer, const rlf_tensor *tensors,
            const char *const *metadata, size_t n_metadata, rlf_buf *out)
{
    uint64_t at = 0;
    rlf_buf_puts(out, "{\"__metadata__\":{\"format\":\"pt\"");
    for (size_t i = 0; i < n_metadata; i++) {
        const char *key = metadata[2 * i], *value = metadata[2 * i + 1];
        rlf_buf_putc(out, ',');
        rlf_buf_json(out, key, strlen(key));
        rlf_buf_putc(out, ':');
        rlf_buf_json(out, value, strlen(value));
    }
    rlf_buf_putc(out, '}');
    for (size_t i = 0; i < writer->count; i++) {
        const rlf_tensor *tensor = &tensors[i];
        uint64_t bytes = rlf_element_size(tensor->element);
        rlf_buf_putc(out, ',');
        rlf_buf_json(out, tensor->name, strlen(tensor->name));
        rlf_buf_printf(out, ":{\"dtype\":\"%s\",\"shape\":[",
                       rlf_element_text(tensor->element));
        for (uint32_t d = 0; d < tensor->n_dims; d++) {
            rlf_buf_printf(out, "%s%llu", d ? "," : "",
                           (unsigned long long)tensor->shape[d]);
            bytes *= tensor->shape[d];
        }
        rlf_buf_printf(out, "],\"data_offsets\":[%llu,%llu]}",
                       (unsigned long long)at,
                       (unsigned long long)(at + bytes));
        at += bytes;
        writer->ends[i] = at;
        writer->kinds[i] = tensor->element;
    }
    rlf_buf_putc(out, '}');
    while (out->n % 8)
        rlf_buf_putc(out, ' ');
}

rlf_status
rlf_tensor_writer_open(const char *path, const rlf_tensor *tensors, size_t n,
                       const char *const *metadata, size_t n_metadata,
                       rlf_err *err, rlf_tensor_writer **out)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_tensor_writer *writer = RLF_NEW(arena, rlf_tensor_writer);
    rlf_buf header = {0};
    rlf_status status;
    *writer = (rlf_tensor_writer){
        .arena = arena,
        .path = rlf_arena_strdup(arena, path),
        .ends = RLF_NEW_ARRAY(arena, uint64_t, n),
        .kinds = RLF_NEW_ARRAY(arena, rlf_element, n),
        .count = n,
    };
    make_header(writer, tensors, metadata, n_metadata, &header);
    unsigned char length[8];
    for (size_t i = 0; i < 8; i++)
        length[i] = (unsigned char)((uint64_t)header.n >> 8 * i);
    writer->begin = 8 + header.n;
    RLF_TRY_GOTO(rlf_writer_open(path, err, &writer->file), fail);
    RLF_TRY_GOTO(rlf_writer_add(writer->file, length, 8, err), fail);
    RLF_TRY_GOTO(rlf_writer_add(writer->file, header.p, header.n, err), fail);
    rlf_buf_free(&header);
    *out = writer;
    return RLF_OK;
fail:
    rlf_buf_free(&header);
    rlf_tensor_writer_drop(writer);
    return status;
}

void
rlf_tensor_writer_lazy(rlf_tensor_writer *writer)
{
    rlf_writer_lazy(writer->file);
}

/* Bytes of data still to come. */
static uint64_t
bytes_left(const rlf_tensor_writer *writer)
{
    uint64_t all = writer->count ? writer->ends[writer->count - 1] : 0;
    return all - (rlf_writer_size(writer->file) - writer->begin);
}

rlf_status
rlf_tensor_writer_add(rlf_tensor_writer *writer, const void *p, size_t n,
                      rlf_err *err)
{
    if (n > bytes_left(writer))
        return rlf_fail(err, RLF_BUG, "%s: more data than was declared",
                        writer->path);
    return rlf_writer_add(writer->file, p, n, err);
}

static rlf_status
add_halves(rlf_tensor_writer *writer, const float *p, size_t n,
           uint16_t (*convert)(float), rlf_err *err)
{
    uint16_t chunk[4096];
    for (size_t at = 0; at < n;) {
        size_t k = n - at < RLF_COUNT(chunk) ? n - at : RLF_COUNT(chunk);
        for (size_t i = 0; i < k; i++)
            chunk[i] = convert(p[at + i]);
        RLF_TRY(rlf_tensor_writer_add(writer, chunk, 2 * k, err));
        at += k;
    }
    return RLF_OK;
}

rlf_status
rlf_tensor_writer_add_f32(rlf_tensor_writer *writer, const float *p, size_t n,
                          rlf_err *err)
{
    if (!n)
        return RLF_OK;
    uint64_t at = rlf_writer_size(writer->file) - writer->begin;
    size_t i = 0; /* the tensor that comes next */
    while (i < writer->count && writer->ends[i] <= at)
        i++;
    if (i == writer->count ||
        n > (writer->ends[i] - at) / rlf_element_size(writer->kinds[i]))
        return rlf_fail(err, RLF_BUG, "%s: more data than was declared",
                        writer->path);
    switch (writer->kinds[i]) {
    case RLF_ELEMENT_F32:
        return rlf_tensor_writer_add(writer, p, n * sizeof *p, err);
    case RLF_ELEMENT_BF16:
        return add_halves(writer, p, n, rlf_f32_to_bf16, err);
    case RLF_ELEMENT_F16:
        return add_halves(writer, p, n, rlf_f32_to_f16, err);
    default:
        return rlf_fail(err, RLF_BUG, "%s: no conversion from f32 to %s",
                        writer->path, rlf_element_text(writer->kinds[i]));
    }
}

rlf_status
rlf_tensor_writer_commit(rlf_tensor_writer *writer, rlf_err *err,
                         uint32_t *checksum, uint64_t *size)
{
    if (bytes_left(writer)) {
        rlf_fail(err, RLF_BUG, "%s: %llu bytes of data were not written",
                 writer->path, (unsigned long long)bytes_left(writer));
        rlf_tensor_writer_drop(writer);
        return RLF_BUG;
    }
    if (checksum)
        *checksum = rlf_writer_checksum(writer->file);
    if (size)
        *size = rlf_writer_size(writer->file);
    rlf_status status = rlf_writer_commit(writer->file, err);
    rlf_arena_free(writer->arena);
    return status;
}

void
rlf_tensor_writer_drop(rlf_tensor_writer *writer)
{
    if (!writer)
        return;
    rlf_writer_drop(writer->file);
    rlf_arena_free(writer->arena);
}

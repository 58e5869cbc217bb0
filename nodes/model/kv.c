/* Free pages are a stack: the page dropped last is taken first. */
#include "nodes/model/kv.h"

#include <stdlib.h>

static int64_t
page_numbers(const rlf_table *t, int page_size)
{
    return rlf_kv_page_floats(page_size, t->kv_heads, t->config.head_dim);
}

size_t
rlf_kv_layer_bytes(const rlf_table *t, const rlf_kernels *k, int page_size)
{
    return (size_t)page_numbers(t, page_size) * rlf_real_bytes(k);
}

size_t
rlf_kv_page_bytes(const rlf_table *t, const rlf_kernels *k, int page_size)
{
    return rlf_kv_layer_bytes(t, k, page_size) * (size_t)t->n_layers;
}

static rlf_status
open_pages(rlf_kv *kv, rlf_err *err)
{
    size_t n = (size_t)kv->n_pages;
    static const char list[] = "the list of pages";
    RLF_TRY(
        rlf_try_array(n, sizeof *kv->references, list, err, &kv->references));
    RLF_TRY(
        rlf_try_array(n, sizeof *kv->free_pages, list, err, &kv->free_pages));
    for (int i = 0; i < kv->n_pages; i++)
        kv->free_pages[i] = kv->n_pages - 1 - i;
    void *block = NULL;
    RLF_TRY(rlf_device_alloc(kv->queue->device, kv->block_bytes, &block, err));
    kv->block = block;
    return RLF_OK;
}

rlf_status
rlf_kv_new(const rlf_model *model, int page_size, int n_pages, rlf_err *err,
           rlf_kv **out)
{
    RLF_ASSERT(page_size > 0 && page_size % 16 == 0 && n_pages > 0);
    rlf_kv *kv = rlf_calloc(1, sizeof *kv);
    const rlf_table *t = model->table;
    *kv = (rlf_kv){.table = t,
                   .queue = model->queue,
                   .page_size = page_size,
                   .n_pages = n_pages,
                   .n_free = n_pages,
                   .layer_stride = page_numbers(t, page_size),
                   .page_stride = page_numbers(t, page_size) * t->n_layers,
                   .kernels = model->kernels,
                   .block_bytes =
                       rlf_kv_page_bytes(t, model->kernels, page_size) *
                       (size_t)n_pages};
    rlf_status status = open_pages(kv, err);
    if (status < 0) {
        rlf_kv_free(kv);
        return status;
    }
    *out = kv;
    return RLF_OK;
}

void
rlf_kv_free(rlf_kv *kv)
{
    if (!kv)
        return;
    rlf_device_release(kv->queue->device, kv->block, kv->block_bytes);
    free(kv->references);
    free(kv->free_pages);
    free(kv);
}

int32_t
rlf_kv_take(rlf_kv *kv)
{
    if (!kv->n_free)
        return RLF_NO_PAGE;
    int32_t page = kv->free_pages[--kv->n_free];
    kv->references[page] = 1;
    return page;
}

void
rlf_kv_hold(rlf_kv *kv, int32_t page)
{
    RLF_ASSERT(kv->references[page] > 0);
    kv->references[page]++;
}

void
rlf_kv_drop(rlf_kv *kv, int32_t page)
{
    RLF_ASSERT(kv->references[page] > 0);
    if (--kv->references[page] == 0)
        kv->free_pages[kv->n_free++] = page;
}

static rlf_real *
page_at(const rlf_kv *kv, int32_t page)
{
    return rlf_real_at(kv->kernels, kv->block, page * kv->page_stride);
}

static size_t
page_bytes(const rlf_kv *kv)
{
    return rlf_kv_page_bytes(kv->table, kv->kernels, kv->page_size);
}

rlf_status
rlf_kv_copy(rlf_kv *kv, int32_t from, int32_t to, rlf_err *err)
{
    return rlf_queue_copy(kv->queue, page_at(kv, to), page_at(kv, from),
                          page_bytes(kv), RLF_COPY_ON_DEVICE, err);
}

rlf_status
rlf_kv_read(const rlf_kv *kv, int32_t page, void *to, rlf_err *err)
{
    RLF_TRY(rlf_queue_copy(kv->queue, to, page_at(kv, page), page_bytes(kv),
                           RLF_COPY_TO_HOST, err));
    return rlf_queue_sync(kv->queue, err);
}

rlf_status
rlf_kv_write(rlf_kv *kv, const void *from, int32_t page, rlf_err *err)
{
    return rlf_queue_copy(kv->queue, page_at(kv, page), from, page_bytes(kv),
                          RLF_COPY_TO_DEVICE, err);
}

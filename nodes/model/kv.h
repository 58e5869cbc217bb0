/* The pool of key/value pages that generation works in.
 *
 * A page holds `page_size` positions of one sequence, all layers held here;
 * position p of a sequence lies in its page p / page_size. Pages are counted,
 * so samples of one prompt share the pages that are full with it. The pool is
 * one block of a size known beforehand; when it has no free page, take says so
 * and the caller waits or gives up a sequence. Contents are never cleared:
 * kernels do not use what was not written. */
#ifndef RLF_MODEL_KV_H
#define RLF_MODEL_KV_H

#include "nodes/model/model.h"

#define RLF_NO_PAGE (-1)

typedef struct rlf_kv {
    const rlf_table *table;
    rlf_queue *queue;
    int page_size; /* positions, a multiple of 16 */
    int n_pages, n_free;
    int64_t layer_stride; /* numbers of one layer of a page */
    int64_t page_stride;  /* numbers of a page */
    const rlf_kernels *kernels;
    rlf_real *block;
    size_t block_bytes;
    uint32_t *references; /* [n_pages] */
    int32_t *free_pages;  /* the first n_free */
} rlf_kv;

/* Device bytes of one layer of a page, and of one page: all layers that are
 * held here. */
size_t rlf_kv_layer_bytes(const rlf_table *table, const rlf_kernels *kernels,
                          int page_size);
size_t rlf_kv_page_bytes(const rlf_table *table, const rlf_kernels *kernels,
                         int page_size);
rlf_status rlf_kv_new(const rlf_model *model, int page_size, int n_pages,
                      rlf_err *err, rlf_kv **out);
void rlf_kv_free(rlf_kv *kv); /* NULL is fine */

/* A free page with one reference, or RLF_NO_PAGE. */
int32_t rlf_kv_take(rlf_kv *kv);
/* One more, one fewer reference; without any a page is free. */
void rlf_kv_hold(rlf_kv *kv, int32_t page);
void rlf_kv_drop(rlf_kv *kv, int32_t page);
/* All layers of page `from` into page `to`. */
rlf_status rlf_kv_copy(rlf_kv *kv, int32_t from, int32_t to, rlf_err *err);
/* All layers of a page to host memory, rlf_kv_page_bytes() of it, and back;
 * done when it returns. */
rlf_status rlf_kv_read(const rlf_kv *kv, int32_t page, void *to, rlf_err *err);
rlf_status rlf_kv_write(rlf_kv *kv, const void *from, int32_t page,
                        rlf_err *err);

#endif

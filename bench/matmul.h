/* oneDNN's matmul with weights in the layout that it chooses, and means of
 * ratios, for benchmarks of products. */
#ifndef RLF_BENCH_MATMUL_H
#define RLF_BENCH_MATMUL_H

#include <dnnl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
must(dnnl_status_t status)
{
    if (status != dnnl_success) {
        fprintf(stderr, "oneDNN failed: %d\n", (int)status);
        exit(1);
    }
}

/* c[m, n] = x[m, k] w[k, n], all of one type, c and x dense by rows. */
typedef struct matmul {
    dnnl_stream_t stream;
    dnnl_primitive_t primitive;
    dnnl_memory_t x, w, c;
} matmul;

static matmul
matmul_open(dnnl_engine_t engine, dnnl_stream_t stream, dnnl_data_type_t type,
            int m, int n, int k, void *x, void *c)
{
    matmul a = {.stream = stream};
    dnnl_memory_desc_t at_x, at_w, any, at_c;
    dnnl_dims_t dx = {m, k}, dw = {k, n}, dc = {m, n};
    must(dnnl_memory_desc_init_by_tag(&at_x, 2, dx, type, dnnl_ab));
    must(dnnl_memory_desc_init_by_tag(&any, 2, dw, type, dnnl_format_tag_any));
    must(dnnl_memory_desc_init_by_tag(&at_c, 2, dc, type, dnnl_ab));
    dnnl_matmul_desc_t desc;
    dnnl_primitive_desc_t pd;
    must(dnnl_matmul_desc_init(&desc, &at_x, &any, NULL, &at_c));
    must(dnnl_primitive_desc_create(&pd, &desc, NULL, engine, NULL));
    at_w = *dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 0);
    must(dnnl_primitive_create(&a.primitive, pd));
    must(dnnl_memory_create(&a.x, &at_x, engine, x));
    must(dnnl_memory_create(&a.w, &at_w, engine, DNNL_MEMORY_ALLOCATE));
    must(dnnl_memory_create(&a.c, &at_c, engine, c));
    void *p; /* any numbers will do */
    must(dnnl_memory_get_data_handle(a.w, &p));
    memset(p, 0, dnnl_memory_desc_get_size(&at_w));
    dnnl_primitive_desc_destroy(pd);
    return a;
}

static void
matmul_run(const matmul *a)
{
    dnnl_exec_arg_t args[] = {
        {DNNL_ARG_SRC, a->x}, {DNNL_ARG_WEIGHTS, a->w}, {DNNL_ARG_DST, a->c}};
    dnnl_primitive_execute(a->primitive, a->stream, 3, args);
    dnnl_stream_wait(a->stream);
}

static void
matmul_close(const matmul *a)
{
    dnnl_primitive_destroy(a->primitive);
    dnnl_memory_destroy(a->x);
    dnnl_memory_destroy(a->w);
    dnnl_memory_destroy(a->c);
}

/* Of ratios: the geometric mean and the least. */
typedef struct mean {
    double log_sum, least;
    int n;
} mean;

static void
add(mean *m, double ratio)
{
    m->log_sum += log(ratio);
    m->least = m->n++ && m->least < ratio ? m->least : ratio;
}

#endif

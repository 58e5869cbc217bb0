/* cuBLASLt counts columns first: what is [rows][cols] here is [cols][rows]
 * there, so c^T = b a^T is asked for, with b as its first operand. */
#include "kernels/cuda/lt.h"

#include "config.h"

#ifndef RLF_HAVE_CUBLASLT

rlf_status
rlf_lt_multiply(rlf_queue *queue, const rlf_lt_product *product, rlf_err *err)
{
    (void)queue, (void)product, (void)err;
    return RLF_AGAIN;
}

size_t
rlf_lt_version(rlf_queue *queue)
{
    (void)queue;
    return 0;
}

const char *
rlf_lt_missing(rlf_queue *queue)
{
    (void)queue;
    return "this rlflow was built without it";
}

#else

#include <cublasLt.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/hash.h"
#include "engine/base/library.h"
#include "engine/dev/cuda.h"

/* Functions of the library that are used. */
#define FUNCTIONS(X)                 \
    X(Create)                        \
    X(GetVersion)                    \
    X(Destroy)                       \
    X(GetStatusString)               \
    X(MatmulDescInit_internal)       \
    X(MatmulDescSetAttribute)        \
    X(MatrixLayoutInit_internal)     \
    X(MatmulPreferenceInit_internal) \
    X(MatmulPreferenceSetAttribute)  \
    X(MatmulAlgoGetHeuristic)        \
    X(Matmul)

/* The key of a product, as far as the choice of an algorithm goes. */
typedef struct key {
    int64_t m, n, k, lda, ldb, ldc;
    uint32_t flags, aligned;
} key;

/* An algorithm that was chosen. */
typedef struct choice {
    key key;
    bool known, usable;
    cublasLtMatmulAlgo_t algorithm;
    size_t workspace;
} choice;

enum { CHOICES = 512, OFFERS = 16 };

typedef struct library {
    void *handle;  /* of dlopen; NULL: it is not there, */
    char why[512]; /* and why not */
    cublasLtHandle_t lt;
#define X(name) __typeof__(&cublasLt##name) name;
    FUNCTIONS(X)
#undef X
    choice choices[CHOICES]; /* by hash; a newer one takes the place */
} library;

static void
close_library(void *kept)
{
    library *l = kept;
    if (l->lt)
        l->Destroy(l->lt);
    if (l->handle)
        dlclose(l->handle);
    free(l);
}

/* l->handle stays NULL if something is missing. */
static void
find_library(library *l)
{
    char name[64];
    snprintf(name, sizeof name, "libcublasLt.so.%d", CUBLAS_VER_MAJOR);
    void *handle = rlf_library_open(name, RLF_CUDA_DIR, l->why, sizeof l->why);
    if (!handle)
        return;
    bool whole = true;
#define X(f)                                        \
    *(void **)&l->f = dlsym(handle, "cublasLt" #f); \
    whole = whole && l->f;
    FUNCTIONS(X)
#undef X
    cublasStatus_t status =
        whole ? l->Create(&l->lt) : CUBLAS_STATUS_NOT_SUPPORTED;
    if (status == CUBLAS_STATUS_SUCCESS) {
        l->handle = handle;
        return;
    }
    snprintf(l->why, sizeof l->why, "%s: %s", name,
             whole ? l->GetStatusString(status)
                   : "it lacks functions of its version");
    dlclose(handle);
}

static library *
library_of(rlf_queue *queue)
{
    void **kept = rlf_cuda_keep(queue, close_library);
    if (!*kept) {
        library *l = *kept = rlf_calloc(1, sizeof *l);
        find_library(l);
    }
    return *kept;
}

static rlf_status
fail(const library *l, cublasStatus_t status, rlf_err *err)
{
    return rlf_fail(err, RLF_ENV, "cuBLASLt: %s", l->GetStatusString(status));
}

/* Refuse what the library refuses. Needs `l` and `err`. */
#define TRY(call)                             \
    do {                                      \
        cublasStatus_t status_ = (call);      \
        if (status_ != CUBLAS_STATUS_SUCCESS) \
            return fail(l, status_, err);     \
    } while (0)

typedef struct problem {
    cublasLtMatmulDescOpaque_t what;
    cublasLtMatrixLayoutOpaque_t a, b, c; /* of the library's operands */
} problem;

static rlf_status
lay_out(const library *l, cublasLtMatrixLayoutOpaque_t *layout,
        cudaDataType type, int64_t rows, int64_t cols, int64_t ld, rlf_err *err)
{
    TRY(l->MatrixLayoutInit_internal(layout, sizeof *layout, type,
                                     (uint64_t)cols, (uint64_t)rows, ld));
    return RLF_OK;
}

static rlf_status
describe(const library *l, const rlf_lt_product *p, problem *out, rlf_err *err)
{
    /* ours: b is [n][k], and is to be read as n x k there */
    cublasOperation_t first = p->b_turned ? CUBLAS_OP_N : CUBLAS_OP_T;
    cublasOperation_t second = p->a_turned ? CUBLAS_OP_T : CUBLAS_OP_N;
    TRY(l->MatmulDescInit_internal(&out->what, sizeof out->what,
                                   CUBLAS_COMPUTE_32F, CUDA_R_32F));
    TRY(l->MatmulDescSetAttribute(&out->what, CUBLASLT_MATMUL_DESC_TRANSA,
                                  &first, sizeof first));
    TRY(l->MatmulDescSetAttribute(&out->what, CUBLASLT_MATMUL_DESC_TRANSB,
                                  &second, sizeof second));
    RLF_TRY(lay_out(l, &out->a, CUDA_R_16BF, p->b_turned ? p->k : p->n,
                    p->b_turned ? p->n : p->k, p->ldb, err));
    RLF_TRY(lay_out(l, &out->b, CUDA_R_16BF, p->a_turned ? p->k : p->m,
                    p->a_turned ? p->m : p->k, p->lda, err));
    return lay_out(l, &out->c, p->c_f32 ? CUDA_R_32F : CUDA_R_16BF, p->m, p->n,
                   p->ldc, err);
}

/* The largest power of two up to 16 that divides all addresses. */
static uint32_t
alignment(const rlf_lt_product *p)
{
    uintptr_t all = (uintptr_t)p->a | (uintptr_t)p->b | (uintptr_t)p->c | 16;
    return (uint32_t)(all & -all);
}

static key
key_of(const rlf_lt_product *p)
{
    return (key){.m = p->m,
                 .n = p->n,
                 .k = p->k,
                 .lda = p->lda,
                 .ldb = p->ldb,
                 .ldc = p->ldc,
                 .flags = (uint32_t)p->a_turned | (uint32_t)p->b_turned << 1 |
                          (uint32_t)p->c_f32 << 2 | (uint32_t)p->add << 3 |
                          (uint32_t)p->offer << 4,
                 .aligned = alignment(p)};
}

static rlf_status
prefer(const library *l, cublasLtMatmulPreferenceOpaque_t *to, uint32_t aligned,
       rlf_err *err)
{
    static const cublasLtMatmulPreferenceAttributes_t operands[] = {
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES};
    size_t room = rlf_cuda_scratch_bytes();
    /* parts of k are added in f32, never in what c is made of */
    uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    TRY(l->MatmulPreferenceInit_internal(to, sizeof *to));
    TRY(l->MatmulPreferenceSetAttribute(
        to, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &room, sizeof room));
    TRY(l->MatmulPreferenceSetAttribute(
        to, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &reductions,
        sizeof reductions));
    for (size_t i = 0; i < sizeof operands / sizeof *operands; i++)
        TRY(l->MatmulPreferenceSetAttribute(to, operands[i], &aligned,
                                            sizeof aligned));
    return RLF_OK;
}

/* Chooses of what the library offers, asked for once. */
static rlf_status
choose(library *l, const rlf_lt_product *p, problem *about, const choice **out,
       rlf_err *err)
{
    key wanted = key_of(p);
    choice *c = &l->choices[rlf_hash_mix(rlf_hash(RLF_HASH_INIT, &wanted,
                                                  sizeof wanted)) %
                            CHOICES];
    *out = c;
    if (c->known && memcmp(&c->key, &wanted, sizeof wanted) == 0)
        return RLF_OK;
    cublasLtMatmulPreferenceOpaque_t preference;
    cublasLtMatmulHeuristicResult_t found[OFFERS];
    int n = 0, offer = p->offer;
    RLF_TRY(prefer(l, &preference, wanted.aligned, err));
    cublasStatus_t status = l->MatmulAlgoGetHeuristic(
        l->lt, &about->what, &about->a, &about->b, &about->c, &about->c,
        &preference, offer + 1, found, &n);
    *c = (choice){.key = wanted, .known = true};
    if (status == CUBLAS_STATUS_SUCCESS && n > offer &&
        found[offer].state == CUBLAS_STATUS_SUCCESS) {
        c->usable = true;
        c->algorithm = found[offer].algo;
        c->workspace = found[offer].workspaceSize;
    }
    return RLF_OK;
}

rlf_status
rlf_lt_multiply(rlf_queue *queue, const rlf_lt_product *p, rlf_err *err)
{
    library *l = library_of(queue);
    problem about;
    const choice *c;
    if (!l->handle || p->offer < 0 || p->offer >= OFFERS)
        return RLF_AGAIN;
    RLF_TRY(describe(l, p, &about, err));
    RLF_TRY(choose(l, p, &about, &c, err));
    if (!c->usable)
        return RLF_AGAIN;
    void *scratch = NULL;
    if (c->workspace)
        RLF_TRY(rlf_cuda_scratch(queue, c->workspace, &scratch, err));
    float one = 1, start = p->add ? 1 : 0;
    TRY(l->Matmul(l->lt, &about.what, &one, p->b, &about.a, p->a, &about.b,
                  &start, p->c, &about.c, p->c, &about.c, &c->algorithm,
                  scratch, c->workspace, rlf_cuda_stream(queue)));
    return RLF_OK;
}

size_t
rlf_lt_version(rlf_queue *queue)
{
    library *l = library_of(queue);
    return l->handle ? l->GetVersion() : 0;
}

const char *
rlf_lt_missing(rlf_queue *queue)
{
    const library *l = library_of(queue);
    return l->handle ? NULL : l->why;
}

#endif

/* libnccl as the table of nccl.h. It is looked for when a run first needs it:
 * a program built with it runs where it is not. The first that was found stays
 * for the life of the process. */
#include "config.h"
#include "engine/comm/device.h"
#include "engine/comm/nccl.h"

#include <string.h>

#ifndef RLF_HAVE_NCCL

static const rlf_nccl *
find_library(const char **why)
{
    *why = "this rlflow was built without NCCL";
    return NULL;
}

#else

#include "engine/base/library.h"
#include "engine/dev/cuda.h"

#include <dlfcn.h>
#include <nccl.h>
#include <pthread.h>
#include <stdio.h>

/* The oldest whose calls need not wait. */
#define OLDEST 21800

_Static_assert((int)ncclSuccess == RLF_NCCL_OK &&
                   (int)ncclInProgress == RLF_NCCL_BUSY &&
                   sizeof(ncclUniqueId) == RLF_NCCL_ID,
               "as nccl.h of this folder says");

/* The functions that are used, with their types as in NCCL's header. */
#define EACH_FUNCTION(X)      \
    X(ncclGetVersion)         \
    X(ncclGetUniqueId)        \
    X(ncclCommInitRankConfig) \
    X(ncclGroupStart)         \
    X(ncclGroupEnd)           \
    X(ncclSend)               \
    X(ncclRecv)               \
    X(ncclCommGetAsyncError)  \
    X(ncclCommFinalize)       \
    X(ncclCommDestroy)        \
    X(ncclCommAbort)          \
    X(ncclGetErrorString)

static struct {
#define X(name) __typeof__(name) *name;
    EACH_FUNCTION(X)
#undef X
} lib;

static int
nccl_id(void *id)
{
    return (int)lib.ncclGetUniqueId(id);
}

static int
nccl_open(void **comm, int n, const void *id, int rank)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclUniqueId name;
    memcpy(&name, id, sizeof name);
    config.blocking = 0;
    return (int)lib.ncclCommInitRankConfig((ncclComm_t *)comm, n, name, rank,
                                           &config);
}

static int
nccl_begin(void)
{
    return (int)lib.ncclGroupStart();
}

static int
nccl_end(void)
{
    return (int)lib.ncclGroupEnd();
}

static int
nccl_send(void *comm, const void *data, size_t bytes, int peer,
          rlf_queue *queue)
{
    return (int)lib.ncclSend(data, bytes, ncclUint8, peer, comm,
                             rlf_cuda_stream(queue));
}

static int
nccl_receive(void *comm, void *data, size_t bytes, int peer, rlf_queue *queue)
{
    return (int)lib.ncclRecv(data, bytes, ncclUint8, peer, comm,
                             rlf_cuda_stream(queue));
}

static int
nccl_state(void *comm)
{
    ncclResult_t state = ncclSuccess;
    ncclResult_t result = lib.ncclCommGetAsyncError(comm, &state);
    return (int)(result == ncclSuccess ? state : result);
}

static int
nccl_finish(void *comm)
{
    return (int)lib.ncclCommFinalize(comm);
}

static int
nccl_close(void *comm)
{
    return (int)lib.ncclCommDestroy(comm);
}

static int
nccl_abort(void *comm)
{
    return (int)lib.ncclCommAbort(comm);
}

static const char *
nccl_text(int result)
{
    return lib.ncclGetErrorString((ncclResult_t)result);
}

static const rlf_nccl library = {.id = nccl_id,
                                 .open = nccl_open,
                                 .begin = nccl_begin,
                                 .end = nccl_end,
                                 .send = nccl_send,
                                 .receive = nccl_receive,
                                 .state = nccl_state,
                                 .finish = nccl_finish,
                                 .close = nccl_close,
                                 .abort = nccl_abort,
                                 .text = nccl_text};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char reason[512]; /* why it cannot be used; "": it can */

static bool
take_functions(void *handle)
{
    bool all = true;
#define X(name)                                 \
    *(void **)&lib.name = dlsym(handle, #name); \
    all &= lib.name != NULL;
    EACH_FUNCTION(X)
#undef X
    return all;
}

static void
look(void)
{
    int version = 0;
    char why[sizeof reason - 32];
    void *handle =
        rlf_library_open("libnccl.so.2", RLF_NCCL_DIR, why, sizeof why);
    if (!handle)
        snprintf(reason, sizeof reason, "libnccl is not found (%s)", why);
    else if (!take_functions(handle) || lib.ncclGetVersion(&version) != 0 ||
             version < OLDEST)
        snprintf(reason, sizeof reason,
                 "libnccl is version %d; %d is the oldest that will do",
                 version, OLDEST);
}

static const rlf_nccl *
find_library(const char **why)
{
    pthread_once(&once, look);
    *why = *reason ? reason : NULL;
    return *reason ? NULL : &library;
}

#endif

#if defined RLF_HAVE_NCCL && defined RLF_HAVE_CUDA
rlf_fold_fn rlf_cuda_fold; /* fold.cu */
#endif

rlf_attach_options
rlf_attach_best(const rlf_device *device, const char **why)
{
    rlf_attach_options out = {0};
    *why = NULL;
    if (strcmp(device->ops->name, "cuda") != 0)
        return out;
    out.nccl = find_library(why);
#if defined RLF_HAVE_NCCL && defined RLF_HAVE_CUDA
    out.fold = rlf_cuda_fold;
    out.taken = rlf_cuda_taken;
#endif
    return out;
}

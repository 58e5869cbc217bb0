/* The fibers of emulate.h. A fiber is entered once by swapcontext; from then on
 * it and the scheduler jump, which asks the kernel of the machine for nothing.
 */
#include "kernels/cuda/mma.h"

#include <memory>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>
#include <vector>

enum { STACK = 64 << 10, SHARED = 228 << 10, BEYOND = 512 };

enum state { READY, AT_WARP, AT_BLOCK, DONE };

struct fiber {
    ucontext_t context;
    jmp_buf here;
    bool entered;
    state at;
    dim3 thread;
    unsigned calls;    /* shuffles so far */
    uint64_t given[2]; /* to the last two of them, in turn */
    const void *shown; /* to the warp, until all have seen it */
    alignas(64) char stack[STACK];
};

static std::vector<std::unique_ptr<fiber>> fibers;
static ucontext_t entry;
static jmp_buf scheduler;
static unsigned current, n_fibers;
static const std::function<void()> *kernel_now;
alignas(128) static char shared_memory[SHARED + BEYOND];

dim3 threadIdx, blockIdx, blockDim, gridDim;

char *
emulate_shared(void)
{
    return shared_memory;
}

static void
pause_as(state at)
{
    fibers[current]->at = at;
    if (!_setjmp(fibers[current]->here))
        _longjmp(scheduler, 1);
}

void
__syncthreads(void)
{
    pause_as(AT_BLOCK);
}

void
__syncwarp(unsigned)
{
    pause_as(AT_WARP);
}

int
emulate_lane(void)
{
    return (int)(current % WARP);
}

uint64_t
emulate_shuffle(uint64_t bits, int lane)
{
    fiber *me = fibers[current].get();
    unsigned turn = me->calls++ % 2;
    me->given[turn] = bits;
    pause_as(AT_WARP);
    return fibers[current / WARP * WARP + (unsigned)lane]->given[turn];
}

/* ---- tensor cores ------------------------------------------------------ */

/* What a lane of the warp shows. */
static const void *
shown(int lane)
{
    return fibers[current / WARP * WARP + (unsigned)lane]->shown;
}

static void
show(const void *mine)
{
    fibers[current]->shown = mine;
    pause_as(AT_WARP);
}

static float
half_of(uint32_t pair, int high)
{
    return bits_float(high ? pair & 0xffff0000u : pair << 16);
}

typedef struct operands {
    const uint32_t *a, *b;
} operands;

/* Rows g and g + 8 of a, columns 2 t and 2 t + 1 of b. */
static void
gather_operands(double (&a)[2][16], double (&b)[2][16], int g, int t)
{
    for (int k = 0; k < 16; k++) {
        int place = k % 8 / 2, upper = k / 8;
        const operands *row = (const operands *)shown(g * 4 + place);
        for (int h = 0; h < 2; h++) {
            const operands *column =
                (const operands *)shown((2 * t + h) * 4 + place);
            a[h][k] = (double)half_of(row->a[2 * upper + h], k % 2);
            b[h][k] = (double)half_of(column->b[upper], k % 2);
        }
    }
}

void
emulate_mma(float *c, const uint32_t *a, const uint32_t *b)
{
    operands mine = {a, b};
    double rows[2][16], columns[2][16];
    show(&mine);
    gather_operands(rows, columns, emulate_lane() / 4, emulate_lane() % 4);
    for (int i = 0; i < 4; i++) {
        double sum = (double)c[i];
        for (int k = 0; k < 16; k++)
            sum += rows[i / 2][k] * columns[i % 2][k];
        c[i] = (float)sum;
    }
    pause_as(AT_WARP);
}

void
emulate_ldmatrix(uint32_t *r, const void *row, bool transposed)
{
    int g = emulate_lane() / 4, t = emulate_lane() % 4;
    show(row);
    for (int i = 0; i < 4; i++) {
        uint16_t pair[2];
        for (int h = 0; h < 2; h++) {
            int at = transposed ? 2 * t + h : g;
            int column = transposed ? g : 2 * t + h;
            pair[h] = ((const uint16_t *)shown(8 * i + at))[column];
        }
        memcpy(&r[i], pair, sizeof pair);
    }
    pause_as(AT_WARP);
}

/* A fiber serves one thread after the other. */
static void
fiber_main(void)
{
    for (;;) {
        (*kernel_now)();
        pause_as(DONE);
    }
}

static void
make_fibers(unsigned n)
{
    while (fibers.size() < n) {
        fibers.push_back(std::make_unique<fiber>());
        fiber *f = fibers.back().get();
        getcontext(&f->context);
        f->context.uc_stack.ss_sp = f->stack;
        f->context.uc_stack.ss_size = STACK;
        makecontext(&f->context, fiber_main, 0);
    }
}

static void
start(unsigned i)
{
    fiber *f = fibers[i].get();
    f->at = READY;
    f->calls = 0;
    f->thread = dim3(i % blockDim.x, i / blockDim.x % blockDim.y,
                     i / blockDim.x / blockDim.y);
}

static void
resume(unsigned i)
{
    current = i;
    threadIdx = fibers[i]->thread;
    if (_setjmp(scheduler))
        return;
    if (fibers[i]->entered)
        _longjmp(fibers[i]->here, 1);
    fibers[i]->entered = true;
    swapcontext(&entry, &fibers[i]->context);
}

static unsigned
count(unsigned first, unsigned last, state at)
{
    unsigned n = 0;
    for (unsigned i = first; i < last; i++)
        n += fibers[i]->at == at;
    return n;
}

static void
release(unsigned first, unsigned last, state at)
{
    for (unsigned i = first; i < last; i++)
        if (fibers[i]->at == at)
            fibers[i]->at = READY;
}

/* Until all threads of the warp are at a barrier of the block, or done. */
static void
run_warp(unsigned first, unsigned last)
{
    for (;;) {
        for (unsigned i = first; i < last; i++)
            if (fibers[i]->at == READY)
                resume(i);
        unsigned met = count(first, last, AT_WARP);
        if (met == 0)
            return;
        if (met != last - first) {
            fprintf(stderr, "a warp is not together at a shuffle\n");
            abort();
        }
        release(first, last, AT_WARP);
    }
}

static void
run_block(void)
{
    for (unsigned i = 0; i < n_fibers; i++)
        start(i);
    while (count(0, n_fibers, DONE) != n_fibers) {
        for (unsigned i = 0; i < n_fibers; i += WARP)
            run_warp(i, i + WARP < n_fibers ? i + WARP : n_fibers);
        if (count(0, n_fibers, AT_BLOCK) + count(0, n_fibers, DONE) !=
            n_fibers) {
            fprintf(stderr, "a block is not together at its barrier\n");
            abort();
        }
        release(0, n_fibers, AT_BLOCK);
    }
}

/* What lies behind a block's shared memory is as it was. */
static void
check_beyond(const char *end)
{
    for (int i = 0; i < BEYOND; i++)
        if (end[i] != (char)0xff) {
            fprintf(stderr, "a block wrote beyond its shared memory\n");
            abort();
        }
}

void
emulate(dim3 grid, dim3 block, size_t shared,
        const std::function<void()> &kernel)
{
    if (shared > SHARED) {
        fprintf(stderr, "%zu bytes of shared memory\n", shared);
        abort();
    }
    gridDim = grid;
    blockDim = block;
    n_fibers = block.x * block.y * block.z;
    make_fibers(n_fibers);
    kernel_now = &kernel;
    for (unsigned z = 0; z < grid.z; z++)
        for (unsigned y = 0; y < grid.y; y++)
            for (unsigned x = 0; x < grid.x; x++) {
                blockIdx = dim3(x, y, z);
                memset(shared_memory, 0xff, shared + BEYOND);
                run_block();
                check_beyond(shared_memory + shared);
            }
}

/* ---- what engine/dev/cuda.h gives to kernels --------------------------- */

static int32_t fault;

int32_t *
rlf_emulated_fault(rlf_queue *)
{
    return &fault;
}

/* The kernel has run, so its fault is known at once. */
rlf_status
rlf_emulated_launched(const char *operation, rlf_err *err)
{
    if (!fault)
        return RLF_OK;
    fault = 0;
    return rlf_fail(err, RLF_BUG, "%s met an index out of range", operation);
}

rlf_status
rlf_emulated_scratch(rlf_queue *, size_t bytes, void **out, rlf_err *)
{
    static std::vector<double> scratch;
    scratch.resize(bytes / sizeof(double) + 1);
    *out = scratch.data();
    return RLF_OK;
}

size_t
rlf_emulated_scratch_bytes(void)
{
    return (size_t)64 << 20;
}

int32_t *
rlf_emulated_counters(rlf_queue *)
{
    static int32_t counters[RLF_CUDA_COUNTERS];
    return counters;
}

/* So few that tests meet both sides of what depends on it. */
int
rlf_emulated_multiprocessors(rlf_queue *)
{
    return 8;
}

rlf_status
rlf_emulated_allow_shared(const void *, size_t bytes, rlf_err *err)
{
    return bytes <= SHARED
               ? RLF_OK
               : rlf_fail(err, RLF_BUG, "%zu bytes of shared memory", bytes);
}

rlf_status
rlf_emulated_stage(rlf_queue *, const void *host, size_t, const void **out,
                   rlf_err *)
{
    *out = host;
    return RLF_OK;
}

/* The fibers of emulate.h. A fiber is entered once by swapcontext; from then on
 * it and the scheduler jump, which asks the kernel of the machine for nothing.
 * Who waits for its warp goes straight on to the next of it. */
#include "kernels/cuda/mma.h"

#include <deque>
#include <memory>
#include <numeric>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string>
#include <ucontext.h>
#include <unordered_map>
#include <vector>

/* SHARED: what a block can have; ALWAYS: what it has without being allowed.
 * BEFORE: as if a kernel had variables in shared memory too. STAGED: bytes of
 * arrays that stay for operations to come. */
enum {
    STACK = 64 << 10,
    SHARED = 227 << 10,
    ALWAYS = 48 << 10,
    BEFORE = 128,
    BEYOND = 512,
    MOST = 1024,
    STAGED = 4 << 20
};

enum state : uint8_t { READY, AT_WARP, AT_BLOCK, DONE };

/* Of a function that comes back with other registers than it went with. */
#ifdef __clang__
#define JUMPS __attribute__((noinline))
#else
#define JUMPS __attribute__((noipa))
#endif

#ifdef __x86_64__
typedef void *place[5]; /* without what the C library does beside */
#define HERE(p) __builtin_setjmp(p)
#define GO(p) __builtin_longjmp(p, 1)
#else
typedef jmp_buf place;
#define HERE(p) _setjmp(p)
#define GO(p) _longjmp(p, 1)
#endif

/* Copies that go on beside a thread, oldest first, in groups. */
struct copy {
    void *to;
    const void *from;
    unsigned bytes, group;
    bool valid;
};

struct started {
    emulate_product *run;
    float *c;
    const char *a, *b;
    int k;
    unsigned group;
};

template <typename T> struct beside {
    std::vector<T> waiting;
    unsigned groups; /* committed */
};

struct fiber {
    ucontext_t context;
    beside<copy> copies;
    beside<started> products;
    void *known; /* to ThreadSanitizer */
    alignas(64) char stack[STACK];
};

/* Of the threads of a block, side by side. */
struct threads {
    state at[MOST];
    bool entered[MOST];
    unsigned calls[MOST]; /* shuffles so far */
    unsigned barriers[MOST], warp_barriers[MOST];
    uint64_t given[MOST][2]; /* to the last two of them, in turn */
    dim3 index[MOST];
    const void *shown[MOST]; /* to the last of the warp */
    place here[MOST];
    unsigned met[MOST / WARP]; /* of a warp, at its next call */
};

static thread_local std::vector<std::unique_ptr<fiber>> fibers;
static constinit thread_local struct threads threads = {};
static thread_local ucontext_t entry;
static thread_local place scheduler;
static thread_local unsigned current, n_fibers;
static thread_local const std::function<void()> *kernel_now;
alignas(
    1024) static thread_local char memory_of_block[BEFORE + SHARED + BEYOND];
static thread_local char *const shared_memory = memory_of_block + BEFORE;

constinit thread_local dim3 threadIdx, blockIdx, blockDim, gridDim;

[[noreturn]] static void
wrong(const char *what)
{
    fprintf(stderr, "%s\n", what);
    abort();
}

/* ---- ThreadSanitizer --------------------------------------------------- */

/* Barriers in turn have one of two places: who is late at the first does not
 * learn of what others did before the second. */
static thread_local char launch_sync, block_sync[2], warp_sync[MOST / WARP][2];

#ifdef RLF_EMULATED_RACES

extern "C" {
void *__tsan_get_current_fiber(void);
void *__tsan_create_fiber(unsigned flags);
void __tsan_switch_to_fiber(void *fiber, unsigned flags);
void __tsan_acquire(void *at);
void __tsan_release(void *at);
void __tsan_read16(void *at);
void __tsan_write16(void *at);
void __tsan_write4(void *at);
}

static thread_local void *scheduler_known;

static void
will_run(void *known)
{
    enum { WITHOUT_SYNC = 1 };
    __tsan_switch_to_fiber(known, WITHOUT_SYNC);
}

static void
will_write(void *p, unsigned bytes)
{
    (bytes == 16 ? __tsan_write16 : __tsan_write4)(p);
}

void
emulate_will_read16(const void *p)
{
    __tsan_read16((void *)p);
}

static void *
make_known(void)
{
    scheduler_known = __tsan_get_current_fiber();
    return __tsan_create_fiber(0);
}

#define RELEASE(place) __tsan_release(&(place))
#define ACQUIRE(place) __tsan_acquire(&(place))

#else

static void *const scheduler_known = NULL;

static inline void
will_run(void *)
{
}

static inline void
will_write(void *, unsigned)
{
}

void
emulate_will_read16(const void *)
{
}

static inline void *
make_known(void)
{
    return NULL;
}

#define RELEASE(place) ((void)(place))
#define ACQUIRE(place) ((void)(place))

#endif

/* ---- threads of a block ------------------------------------------------ */

char *
emulate_shared(void)
{
    return shared_memory;
}

static unsigned
warp_end(unsigned i)
{
    unsigned end = i / WARP * WARP + WARP;
    return end < n_fibers ? end : n_fibers;
}

static unsigned
count(unsigned first, unsigned last, state at)
{
    unsigned n = 0;
    for (unsigned i = first; i < last; i++)
        n += threads.at[i] == at;
    return n;
}

static void
release(unsigned first, unsigned last, state at)
{
    for (unsigned i = first; i < last; i++)
        if (threads.at[i] == at)
            threads.at[i] = READY;
}

/* To the next of the warp that can go on, or to the scheduler. */
JUMPS static void
go_on(void)
{
    unsigned first = current / WARP * WARP, last = warp_end(current);
    for (unsigned i = current;;) {
        i = i + 1 < last ? i + 1 : first;
        if (i == current)
            break;
        if (threads.at[i] != READY || !threads.entered[i])
            continue;
        current = i;
        threadIdx = threads.index[i];
        will_run(fibers[i]->known);
        GO(threads.here[i]);
    }
    will_run(scheduler_known);
    GO(scheduler);
}

JUMPS static void
pause_as(state at)
{
    unsigned warp = current / WARP, first = warp * WARP;
    unsigned last = warp_end(current);
    threads.at[current] = at;
    if (at == AT_WARP && ++threads.met[warp] == last - first) {
        threads.met[warp] = 0; /* the last to come: all go on, itself first */
        release(first, last, AT_WARP);
        return;
    }
    if (!HERE(threads.here[current]))
        go_on();
}

void
__syncthreads(void)
{
    char *place = &block_sync[threads.barriers[current]++ % 2];
    RELEASE(*place);
    pause_as(AT_BLOCK);
    ACQUIRE(*place);
}

void
__syncwarp(unsigned)
{
    unsigned turn = threads.warp_barriers[current]++ % 2;
    char *place = &warp_sync[current / WARP][turn];
    RELEASE(*place);
    pause_as(AT_WARP);
    ACQUIRE(*place);
}

int
emulate_lane(void)
{
    return (int)(current % WARP);
}

uint64_t
emulate_shuffle(uint64_t bits, int lane)
{
    unsigned me = current, turn = threads.calls[me]++ % 2;
    threads.given[me][turn] = bits;
    pause_as(AT_WARP);
    return threads.given[me / WARP * WARP + (unsigned)lane][turn];
}

/* ---- tensor cores ------------------------------------------------------ */

/* The last of a warp to come to a product or a load makes it for all, whose
 * arguments it finds here. */
static bool
last_to_come(const void *mine)
{
    unsigned warp = current / WARP;
    threads.shown[current] = mine;
    return threads.met[warp] + 1 == warp_end(current) - warp * WARP;
}

template <typename T>
static const T *
shown(int lane)
{
    return (const T *)threads.shown[current / WARP * WARP + (unsigned)lane];
}

static double
half_of(uint32_t pair, int high)
{
    return (double)bits_float(high ? pair & 0xffff0000u : pair << 16);
}

typedef double quad __attribute__((vector_size(32)));

typedef struct product {
    float *c;
    const uint32_t *a, *b;
} product;

/* Says where element i of a lane lies, in the words of the PTX ISA ("Matrix
 * Fragments for mma.m16n8k16 with floating point type"). */
static int
a_row(int lane, int i)
{
    return lane / 4 + ((0 <= i && i < 2) || (4 <= i && i < 6) ? 0 : 8);
}

static int
a_column(int lane, int i)
{
    return lane % 4 * 2 + (i & 1) + (i < 4 ? 0 : 8);
}

static int
b_row(int lane, int i)
{
    return lane % 4 * 2 + (i & 1) + (i < 2 ? 0 : 8);
}

static int
b_column(int lane)
{
    return lane / 4;
}

static int
c_row(int lane, int i)
{
    return lane / 4 + (i < 2 ? 0 : 8);
}

static int
c_column(int lane, int i)
{
    return lane % 4 * 2 + (i & 1);
}

#define UNROLL _Pragma("GCC unroll 16")

/* c[16, 8] += a[16, 16] b[16, 8], each element in order of k; some rows at once,
 * for their sums wait for each other along k. */
static void
multiply(void)
{
    enum { AT_ONCE = 4 };
    double a[16][16];
    float *c[16][8];
    union {
        quad part[2];
        double at[8];
    } b[16], sum[AT_ONCE];
    for (int lane = 0; lane < WARP; lane++) {
        const product *p = shown<product>(lane);
        UNROLL
        for (int i = 0; i < 8; i++)
            a[a_row(lane, i)][a_column(lane, i)] = half_of(p->a[i / 2], i % 2);
        UNROLL
        for (int i = 0; i < 4; i++) {
            b[b_row(lane, i)].at[b_column(lane)] = half_of(p->b[i / 2], i % 2);
            c[c_row(lane, i)][c_column(lane, i)] = &p->c[i];
        }
    }
    for (int row = 0; row < 16; row += AT_ONCE) {
        UNROLL
        for (int r = 0; r < AT_ONCE; r++)
            UNROLL
            for (int i = 0; i < 8; i++)
                sum[r].at[i] = (double)*c[row + r][i];
        UNROLL
        for (int k = 0; k < 16; k++)
            UNROLL
            for (int r = 0; r < AT_ONCE; r++) {
                sum[r].part[0] += a[row + r][k] * b[k].part[0];
                sum[r].part[1] += a[row + r][k] * b[k].part[1];
            }
        UNROLL
        for (int r = 0; r < AT_ONCE; r++)
            UNROLL
            for (int i = 0; i < 8; i++)
                *c[row + r][i] = (float)sum[r].at[i];
    }
}

void
emulate_mma(float *c, const uint32_t *a, const uint32_t *b)
{
    product mine = {c, a, b};
    if (last_to_come(&mine))
        multiply();
    pause_as(AT_WARP);
}

typedef struct load {
    uint32_t *r;
    const uint16_t *row;
    bool transposed;
} load;

/* "Thread i holds of row i / 4 the elements i % 4 * 2 and the next": of four
 * matrices, whose rows are given by eight threads each. */
static void
load_all(void)
{
    for (int lane = 0; lane < WARP; lane++) {
        const load *l = shown<load>(lane);
        int g = lane / 4, t = lane % 4;
        UNROLL
        for (int i = 0; i < 4; i++) {
            uint16_t pair[2];
            UNROLL
            for (int h = 0; h < 2; h++) {
                int at = l->transposed ? 2 * t + h : g;
                int column = l->transposed ? g : 2 * t + h;
                pair[h] = shown<load>(8 * i + at)->row[column];
            }
            memcpy(&l->r[i], pair, sizeof pair);
        }
    }
}

void
emulate_ldmatrix(uint32_t *r, const void *row, bool transposed)
{
    load mine = {r, (const uint16_t *)row, transposed};
    if ((uintptr_t)row % 16)
        wrong("a row of ldmatrix is not aligned");
    emulate_will_read16(row);
    if (last_to_come(&mine))
        load_all();
    pause_as(AT_WARP);
}

/* ---- what goes on beside ----------------------------------------------- */

/* The oldest are done until n groups at most wait. */
template <typename T>
static void
wait_for(beside<T> *b, unsigned n, void (*run)(const T &))
{
    size_t done = 0;
    for (; done < b->waiting.size(); done++) {
        const T &x = b->waiting[done];
        if (x.group + n >= b->groups)
            break;
        run(x);
    }
    b->waiting.erase(b->waiting.begin(), b->waiting.begin() + (long)done);
}

static void
run_copy(const copy &c)
{
    if (c.valid)
        memcpy(c.to, c.from, c.bytes);
    else
        memset(c.to, 0, c.bytes);
}

void
emulate_copy(void *shared, const void *global, unsigned bytes, bool valid)
{
    beside<copy> *b = &fibers[current]->copies;
    if ((uintptr_t)shared % bytes || (uintptr_t)global % bytes)
        wrong("a copy to shared memory is not aligned");
    will_write(shared, bytes);
    b->waiting.push_back({shared, global, bytes, b->groups, valid});
}

void
emulate_copy_commit(void)
{
    fibers[current]->copies.groups++;
}

void
emulate_copy_wait(unsigned n)
{
    wait_for(&fibers[current]->copies, n, run_copy);
}

static void
run_product(const started &p)
{
    p.run(p.c, p.a, p.b, p.k);
}

void
emulate_start(emulate_product *run, float *c, const char *a, const char *b,
              int k)
{
    beside<started> *s = &fibers[current]->products;
    if ((uintptr_t)a % 1024 || (uintptr_t)b % 1024)
        wrong("a tile of a warp group is not aligned");
    s->waiting.push_back({run, c, a, b, k, s->groups});
}

void
emulate_start_commit(void)
{
    fibers[current]->products.groups++;
}

void
emulate_start_wait(unsigned n)
{
    wait_for(&fibers[current]->products, n, run_product);
}

/* ---- blocks ------------------------------------------------------------ */

/* A fiber serves one thread after the other. */
static void
fiber_main(void)
{
    for (;;) {
        ACQUIRE(launch_sync);
        (*kernel_now)();
        const fiber *f = fibers[current].get();
        if (!f->copies.waiting.empty() || !f->products.waiting.empty())
            wrong("a thread ends before what it started");
        RELEASE(launch_sync);
        pause_as(DONE);
    }
}

/* Their stacks begin at different lines of the cache. */
JUMPS static void
prepare(ucontext_t *context, char *stack, size_t bytes)
{
    getcontext(context);
    context->uc_stack.ss_sp = stack;
    context->uc_stack.ss_size = bytes;
    makecontext(context, fiber_main, 0);
}

static void
make_fibers(unsigned n)
{
    for (size_t i = fibers.size(); i < n; i++) {
        fibers.push_back(std::make_unique<fiber>());
        fibers[i]->known = make_known();
        prepare(&fibers[i]->context, fibers[i]->stack, STACK - i % WARP * 192);
        threads.entered[i] = false;
    }
}

static void
start(unsigned i)
{
    threads.at[i] = READY;
    threads.calls[i] = 0;
    threads.barriers[i] = threads.warp_barriers[i] = 0;
    threads.index[i] = dim3(i % blockDim.x, i / blockDim.x % blockDim.y,
                            i / blockDim.x / blockDim.y);
}

JUMPS static void
enter(unsigned i)
{
    current = i;
    threadIdx = threads.index[i];
    will_run(fibers[i]->known);
    if (threads.entered[i])
        GO(threads.here[i]);
    threads.entered[i] = true;
    swapcontext(&entry, &fibers[i]->context);
}

JUMPS static void
resume(unsigned i)
{
    if (!HERE(scheduler))
        enter(i);
}

/* Until all threads of the warp are at a barrier of the block, or done. */
static void
run_warp(unsigned first, unsigned last)
{
    for (;;) {
        for (unsigned i = first; i < last; i++)
            if (threads.at[i] == READY)
                resume(i);
        if (count(first, last, READY))
            continue; /* they met while this one looked on */
        if (count(first, last, AT_WARP) == 0)
            return;
        wrong("a warp is not together at a shuffle");
    }
}

/* The i-th of n in an order that is neither theirs nor the reverse: steps of
 * about 0.62 n, which has no divisor in common with n. */
static uint64_t
shuffled(uint64_t i, uint64_t n)
{
    uint64_t step = n * 5 / 8 + 1;
    while (std::gcd(step, n) != 1)
        step++;
    return (i + 1) * step % n;
}

static void
run_block(void)
{
    unsigned warps = (n_fibers + WARP - 1) / WARP;
    for (unsigned i = 0; i < n_fibers; i++)
        start(i);
    memset(threads.met, 0, sizeof threads.met);
    RELEASE(launch_sync);
    for (unsigned turn = 0; count(0, n_fibers, DONE) != n_fibers; turn++) {
        for (unsigned i = 0; i < warps; i++) {
            unsigned first = (unsigned)shuffled(i + turn, warps) * WARP;
            run_warp(first, warp_end(first));
        }
        if (count(0, n_fibers, AT_BLOCK) + count(0, n_fibers, DONE) != n_fibers)
            wrong("a block is not together at its barrier");
        release(0, n_fibers, AT_BLOCK);
    }
    ACQUIRE(launch_sync);
}

/* Memory behind a block's shared memory is as it was. */
static void
check_beyond(const char *end)
{
    for (int i = 0; i < BEYOND; i++)
        if (end[i] != (char)0xff)
            wrong("a block wrote beyond its shared memory");
}

static void
run_grid(dim3 grid, dim3 block, size_t shared,
         const std::function<void()> &kernel)
{
    gridDim = grid;
    blockDim = block;
    n_fibers = block.x * block.y * block.z;
    make_fibers(n_fibers);
    kernel_now = &kernel;
    uint64_t n = (uint64_t)grid.x * grid.y * grid.z;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t at = shuffled(i, n);
        blockIdx =
            dim3((unsigned)(at % grid.x), (unsigned)(at / grid.x % grid.y),
                 (unsigned)(at / grid.x / grid.y));
        memset(shared_memory, 0xff, shared + BEYOND);
        run_block();
        check_beyond(shared_memory + shared);
    }
}

static thread_local int32_t fault;

/* ---- work that is put down -------------------------------------------- */

struct rlf_emulated_steps {
    int users;
    std::vector<std::function<void()>> list;
    bool recorded, runs;
    std::deque<std::vector<double>> staged; /* arrays from the host */
    size_t staged_bytes;
};

/* A function of C with a copy of its arguments. */
struct call {
    void (*run)(void *args), (*end)(void *args);
    std::vector<char> args;
    ~call()
    {
        end(args.data());
    }
};

/* The steps that launches are appended to; NULL: they are carried out at once.
 */
static thread_local rlf_emulated_steps *into;
static thread_local size_t allowed; /* shared memory, for the next launches */

/* Ends the program at what a GPU would not launch: no blocks or threads, too
 * many of them, more shared memory than every kernel has that was not asked for
 * just before. */
static void
check_launch(dim3 grid, dim3 block, size_t shared)
{
    uint64_t n_threads = (uint64_t)block.x * block.y * block.z;
    if (!grid.x || !grid.y || !grid.z || grid.x > INT32_MAX ||
        grid.y > UINT16_MAX || grid.z > UINT16_MAX)
        wrong("a launch of no blocks, or of too many");
    if (!n_threads || n_threads > MOST)
        wrong("a launch of no threads, or of too many");
    if (shared > ALWAYS && shared > allowed)
        wrong("a launch with shared memory that was not asked for");
}

void
emulate(rlf_queue *, dim3 grid, dim3 block, size_t shared,
        const std::function<void()> &kernel)
{
    check_launch(grid, block, shared);
    if (into)
        into->list.push_back([=] { run_grid(grid, block, shared, kernel); });
    else
        run_grid(grid, block, shared, kernel);
}

rlf_emulated_steps *
rlf_emulated_steps_new(bool recorded)
{
    return new rlf_emulated_steps{1, {}, recorded, false, {}, 0};
}

void
rlf_emulated_steps_free(rlf_emulated_steps *steps)
{
    if (steps && --steps->users == 0)
        delete steps;
}

size_t
rlf_emulated_steps_count(const rlf_emulated_steps *steps)
{
    return steps->list.size();
}

rlf_emulated_steps *
rlf_emulated_into(rlf_emulated_steps *steps)
{
    rlf_emulated_steps *was = into;
    into = steps;
    return was;
}

void
rlf_emulated_copy(rlf_emulated_steps *steps, void *to, const void *from,
                  size_t bytes, bool as_now)
{
    if (!as_now) {
        steps->list.push_back([=] { memcpy(to, from, bytes); });
        return;
    }
    std::string kept((const char *)from, bytes);
    steps->list.push_back([=] { memcpy(to, kept.data(), bytes); });
}

void
rlf_emulated_set(rlf_emulated_steps *steps, void *to, int byte, size_t bytes)
{
    steps->list.push_back([=] { memset(to, byte, bytes); });
}

void
rlf_emulated_call(rlf_emulated_steps *steps, void (*call)(void *, uint64_t),
                  void *ctx, uint64_t n)
{
    steps->list.push_back([=] { call(ctx, n); });
}

void
rlf_emulated_carry_out(rlf_emulated_steps *steps, size_t n)
{
    std::vector<std::function<void()>> first(
        std::make_move_iterator(steps->list.begin()),
        std::make_move_iterator(steps->list.begin() + (ptrdiff_t)n));
    steps->list.erase(steps->list.begin(), steps->list.begin() + (ptrdiff_t)n);
    for (const auto &step : first)
        step();
}

void
rlf_emulated_run_later(rlf_emulated_steps *steps, void (*run)(void *args),
                       void (*end)(void *args), const void *args, size_t bytes)
{
    const char *from = (const char *)args;
    std::shared_ptr<call> made(new call{run, end, {from, from + bytes}});
    steps->list.push_back([=] { made->run(made->args.data()); });
    steps->runs = true;
}

bool
rlf_emulated_runs(const rlf_emulated_steps *steps)
{
    return steps->runs;
}

void
rlf_emulated_replay(rlf_emulated_steps *steps, rlf_emulated_steps *recorded)
{
    recorded->users++; /* it stays until that is done */
    std::shared_ptr<rlf_emulated_steps> made(recorded, rlf_emulated_steps_free);
    steps->list.push_back([=] {
        for (const auto &step : made->list)
            step();
    });
}

/* ---- what engine/dev/cuda.h gives to kernels --------------------------- */

int32_t *
rlf_emulated_fault(rlf_queue *)
{
    return &fault;
}

/* Known at once where the kernel has run; else by those who carry it out. */
rlf_status
rlf_emulated_launched(const char *operation, rlf_err *err)
{
    if (into || !fault)
        return RLF_OK;
    fault = 0;
    return rlf_fail(err, RLF_BUG, "%s met an index out of range", operation);
}

/* Of queues, for what is put down. */
struct kept_with_queue {
    std::vector<std::vector<double>> scratch;
    std::vector<int32_t> counters;
};
static thread_local std::unordered_map<rlf_queue *, kept_with_queue> kept;

/* A larger block takes the place of a smaller one, which stays for what was
 * put down with it. */
rlf_status
rlf_emulated_scratch(rlf_queue *queue, size_t bytes, void **out, rlf_err *)
{
    auto &scratch = kept[queue].scratch;
    size_t n = bytes / sizeof(double) + 1;
    if (scratch.empty() || scratch.back().size() < n)
        scratch.emplace_back(n);
    *out = scratch.back().data();
    return RLF_OK;
}

size_t
rlf_emulated_scratch_bytes(void)
{
    return (size_t)64 << 20;
}

int32_t *
rlf_emulated_counters(rlf_queue *queue)
{
    auto &counters = kept[queue].counters;
    counters.resize(RLF_CUDA_COUNTERS);
    return counters.data();
}

/* So few that tests meet both sides of what depends on it. */
int
rlf_emulated_multiprocessors(rlf_queue *)
{
    return 8;
}

/* RLFLOW_EMULATED_SHARED says how many kilobytes of it a block has. */
size_t
rlf_emulated_shared_bytes(rlf_queue *)
{
    const char *set = getenv("RLFLOW_EMULATED_SHARED");
    return set ? (size_t)atoi(set) << 10 : (size_t)SHARED;
}

rlf_status
rlf_emulated_allow_shared(rlf_queue *, const void *, size_t bytes, rlf_err *err)
{
    if (bytes > rlf_emulated_shared_bytes(NULL))
        return rlf_fail(err, RLF_BUG, "%zu bytes of shared memory", bytes);
    allowed = bytes;
    return RLF_OK;
}

static rlf_status
no_array(rlf_err *err)
{
    return into && into->recorded
               ? rlf_fail(err, RLF_BUG,
                          "a queue that records cannot have arrays from the "
                          "host")
               : RLF_OK;
}

rlf_status
rlf_emulated_stage(rlf_queue *, const void *host, size_t bytes,
                   const void **out, rlf_err *err)
{
    RLF_TRY(no_array(err));
    *out = host;
    if (!into)
        return RLF_OK;
    size_t n = bytes / sizeof(double) + 1;
    auto &staged = into->staged;
    while (into->list.empty() && into->staged_bytes > STAGED) {
        into->staged_bytes -= staged.front().size() * sizeof(double);
        staged.pop_front();
    }
    staged.emplace_back(n);
    into->staged_bytes += n * sizeof(double);
    memcpy(staged.back().data(), host, bytes);
    *out = staged.back().data();
    return RLF_OK;
}

rlf_status
rlf_emulated_fetch(rlf_queue *, void *to, const void *host, size_t bytes,
                   rlf_err *err)
{
    RLF_TRY(no_array(err));
    if (into)
        rlf_emulated_copy(into, to, host, bytes, true);
    else
        memcpy(to, host, bytes);
    return RLF_OK;
}

static thread_local const char *memory_base;
static thread_local size_t memory_bytes;

void
rlf_emulated_memory(const void *base, size_t bytes)
{
    memory_base = (const char *)base;
    memory_bytes = bytes;
}

/* Without memory of its own the device has the host's. */
bool
rlf_emulated_on_host(const void *p)
{
    return memory_bytes &&
           (size_t)((const char *)p - memory_base) >= memory_bytes;
}

/* Makes the n-th call of a kind fail in the program that it is preloaded into
 * (LD_PRELOAD): an allocation, or a system call on files. tests/faults.tap
 * builds on it; what has to hold is written there.
 *
 * FAULTS_KIND   "memory": malloc and its like, but for those of MPI's and the
 *               compiler's own libraries; "io": system calls on files
 * FAULTS_AT     which call fails, from 1 on; 0: none
 * FAULTS_FROM   if set, all after it fail as well
 * FAULTS_STOP   if set, it does not fail: the program stops before it (SIGSTOP)
 * FAULTS_LEAST  only allocations of so many bytes or more count
 * FAULTS_FILE   only system calls on a file whose path ends so count
 * FAULTS_COUNT  a file that gets the number of calls, when the program returns
 *               from main
 * FAULTS_SITES  a file that gets the number of each call that is the first from
 *               its place in the program, that is, with its callers
 *
 * System calls are met by a seccomp filter, so that those that the C library
 * makes by itself are too, on every thread. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

static atomic_long calls;
static long at;
static size_t least;
static const char *only; /* FAULTS_FILE */
static bool from_then_on, stops, memory, io;
static bool running; /* main has begun: before it libraries set themselves up */

/* The real system call, from an address that the filter below knows. */
long faults_call(long n, long a, long b, long c, long d, long e, long f);
extern const char faults_call_end[];

/* ---- places ---- */

/* A set of hashes of the return addresses on the stack; a file of numbers. */
enum { MOST_PLACES = 1 << 16, DEEPEST = 24 };
static _Atomic uint64_t places[MOST_PLACES];
static int sites = -1;
static _Thread_local bool walking;

static void
note_place(long n)
{
    void *at[DEEPEST];
    char text[32];
    if (sites < 0 || walking)
        return;
    walking = true;
    int depth = backtrace(at, DEEPEST);
    uint64_t hash = 1;
    for (int i = 2; i < depth; i++)
        hash = (hash ^ (uint64_t)(uintptr_t)at[i]) * 0x9e3779b97f4a7c15u,
        hash ^= hash >> 29;
    size_t slot = hash % MOST_PLACES;
    for (;; slot = (slot + 1) % MOST_PLACES) {
        uint64_t none = 0;
        if (atomic_compare_exchange_strong(&places[slot], &none, hash)) {
            int length = snprintf(text, sizeof text, "%ld\n", n);
            if (faults_call(SYS_write, sites, (long)text, length, 0, 0, 0) < 0)
                abort();
            break;
        }
        if (none == hash)
            break;
    }
    walking = false;
}

/* Is this call to fail? */
static bool
fails(void)
{
    if (!running || walking)
        return false;
    long n = atomic_fetch_add(&calls, 1) + 1;
    note_place(n);
    if (stops && n == at)
        kill(getpid(), SIGSTOP);
    return at && !stops && (n == at || (from_then_on && n > at));
}

/* ---- memory ---- */

static void *(*real_malloc)(size_t);
static void *(*real_calloc)(size_t, size_t);
static void *(*real_realloc)(void *, size_t);
static void (*real_free)(void *);
static int (*real_memalign)(void **, size_t, size_t);
static void *(*real_aligned)(size_t, size_t);

/* dlsym allocates before it has found what to allocate with. */
static _Alignas(16) char early[1 << 16];
static size_t early_used;
static bool finding;

static bool
is_early(const void *p)
{
    return (const char *)p >= early && (const char *)p < early + sizeof early;
}

static void *
early_alloc(size_t n)
{
    size_t old = early_used;
    early_used += (n + 15) / 16 * 16;
    if (early_used > sizeof early)
        abort();
    return early + old;
}

static void
find_real(void)
{
    finding = true;
    real_calloc = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "calloc");
    real_realloc = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
    real_free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
    real_memalign =
        (int (*)(void **, size_t, size_t))dlsym(RTLD_NEXT, "posix_memalign");
    real_aligned = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "aligned_alloc");
    real_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
    finding = false;
}

/* Code whose allocations are not looked at. */
static struct range {
    uintptr_t first, last;
} others[64];
static int n_others;

static int
note_library(struct dl_phdr_info *info, size_t size, void *unused)
{
    static const char *const names[] = {"libmpi",   "libopen-", "libpmix",
                                        "libhwloc", "libevent", "libasan",
                                        "libubsan", "ld-linux", "libstdc++"};
    (void)size, (void)unused;
    bool other = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        other |= strstr(info->dlpi_name, names[i]) != NULL;
    for (int i = 0; other && i < info->dlpi_phnum && n_others < 64; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD) {
            uintptr_t first = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            others[n_others++] =
                (struct range){first, first + info->dlpi_phdr[i].p_memsz};
        }
    return 0;
}

static bool
no_memory(void *caller, size_t n)
{
    if (!memory || n < least)
        return false;
    for (int i = 0; i < n_others; i++)
        if ((uintptr_t)caller >= others[i].first &&
            (uintptr_t)caller < others[i].last)
            return false;
    if (!fails())
        return false;
    errno = ENOMEM;
    return true;
}

void *
malloc(size_t n)
{
    if (!real_malloc && !finding)
        find_real();
    if (finding)
        return early_alloc(n);
    return no_memory(__builtin_return_address(0), n) ? NULL : real_malloc(n);
}

void *
calloc(size_t n, size_t size)
{
    if (!real_malloc && !finding)
        find_real();
    if (finding)
        return early_alloc(n * size); /* it is zero */
    return no_memory(__builtin_return_address(0), n * size)
               ? NULL
               : real_calloc(n, size);
}

void *
realloc(void *p, size_t n)
{
    if (!real_malloc && !finding)
        find_real();
    if (finding)
        return early_alloc(n);
    if (is_early(p)) {
        void *q = real_malloc(n);
        return q ? memcpy(q, p, n) : NULL;
    }
    return no_memory(__builtin_return_address(0), n) ? NULL
                                                     : real_realloc(p, n);
}

void
free(void *p)
{
    if (p && !is_early(p))
        real_free(p);
}

int
posix_memalign(void **out, size_t align, size_t n)
{
    if (!real_malloc)
        find_real();
    return no_memory(__builtin_return_address(0), n)
               ? ENOMEM
               : real_memalign(out, align, n);
}

void *
aligned_alloc(size_t align, size_t n)
{
    if (!real_malloc)
        find_real();
    return no_memory(__builtin_return_address(0), n) ? NULL
                                                     : real_aligned(align, n);
}

/* ---- files ---- */

#if defined __x86_64__
#define ARCH AUDIT_ARCH_X86_64
#define RESULT(u) ((u)->uc_mcontext.gregs[REG_RAX])
#define ARG(u, i)                                                             \
    ((u)->uc_mcontext.gregs[(const int[]){REG_RDI, REG_RSI, REG_RDX, REG_R10, \
                                          REG_R8, REG_R9}[i]])
#elif defined __aarch64__
#define ARCH AUDIT_ARCH_AARCH64
#define RESULT(u) ((u)->uc_mcontext.regs[0])
#define ARG(u, i) ((u)->uc_mcontext.regs[i])
#endif

#if defined __x86_64__
__asm__(".text\n.globl faults_call\n.hidden faults_call\n"
        ".globl faults_call_end\n.hidden faults_call_end\n"
        ".type faults_call,@function\nfaults_call:\n"
        "mov %rdi,%rax\nmov %rsi,%rdi\nmov %rdx,%rsi\nmov %rcx,%rdx\n"
        "mov %r8,%r10\nmov %r9,%r8\nmov 8(%rsp),%r9\nsyscall\n"
        "faults_call_end:\nret\n");
#elif defined __aarch64__
__asm__(".text\n.globl faults_call\n.hidden faults_call\n"
        ".globl faults_call_end\n.hidden faults_call_end\n"
        ".type faults_call,%function\nfaults_call:\n"
        "mov x8,x0\nmov x0,x1\nmov x1,x2\nmov x2,x3\nmov x3,x4\n"
        "mov x4,x5\nmov x5,x6\nsvc 0\n"
        "faults_call_end:\nret\n");
#endif

/* Calls that may fail: with a file among their arguments, -1: with none. */
static const struct {
    int number, file;
} met[] = {
    {SYS_openat, -1},     {SYS_read, 0},       {SYS_pread64, 0},
    {SYS_readv, 0},       {SYS_write, 0},      {SYS_pwrite64, 0},
    {SYS_writev, 0},      {SYS_fsync, 0},      {SYS_fdatasync, 0},
    {SYS_close, 0},       {SYS_ftruncate, 0},  {SYS_fstat, 0},
    {SYS_newfstatat, -1}, {SYS_getdents64, 0}, {SYS_lseek, 0},
    {SYS_mmap, 4},        {SYS_flock, 0},      {SYS_fallocate, 0},
    {SYS_renameat2, -1},  {SYS_mkdirat, -1},   {SYS_unlinkat, -1},
#ifdef SYS_renameat
    {SYS_renameat, -1},
#endif
#ifdef SYS_open
    {SYS_open, -1},       {SYS_stat, -1},      {SYS_lstat, -1},
    {SYS_rename, -1},     {SYS_mkdir, -1},     {SYS_unlink, -1},
    {SYS_rmdir, -1},
#endif
};

static bool
ends_so(const char *path, size_t n)
{
    size_t k = strlen(only);
    return n >= k && memcmp(path + n - k, only, k) == 0;
}

/* Is this call on the file that is looked for? A path is the first argument
 * that is one, or the open file's. */
static bool
is_on_it(ucontext_t *u, long number, int file)
{
    char name[64], path[4096];
    int at = file;
    if (file < 0) {
        bool first = false; /* the others begin with a directory */
#ifdef SYS_open
        first = number == SYS_open || number == SYS_stat ||
                number == SYS_lstat || number == SYS_rename ||
                number == SYS_mkdir || number == SYS_unlink ||
                number == SYS_rmdir;
#endif
        const char *given = (const char *)ARG(u, first ? 0 : 1);
        if (*given)
            return ends_so(given, strlen(given));
        at = 0;
    }
    snprintf(name, sizeof name, "/proc/self/fd/%d", (int)ARG(u, at));
    long n = faults_call(SYS_readlinkat, AT_FDCWD, (long)name, (long)path,
                         sizeof path, 0, 0);
    return n > 0 && ends_so(path, (size_t)n);
}

static void
on_call(int number, siginfo_t *info, void *context)
{
    ucontext_t *u = context;
    (void)number;
    int file = -1;
    for (size_t i = 0; i < sizeof met / sizeof *met; i++)
        if (met[i].number == info->si_syscall)
            file = met[i].file;
    /* what is said of errors is read by the test */
    bool counts = file < 0 || ((int)ARG(u, file) != STDERR_FILENO &&
                               (int)ARG(u, file) >= 0);
    int saved = errno;
    if (counts && only)
        counts = is_on_it(u, info->si_syscall, file);
    bool fail = counts && fails();
    errno = saved;
    long result = -EIO;
    if (fail &&
        (info->si_syscall == SYS_write || info->si_syscall == SYS_pwrite64))
        result = -ENOSPC;
    if (!fail || info->si_syscall == SYS_close) {
        long real = faults_call(
            info->si_syscall, (long)ARG(u, 0), (long)ARG(u, 1), (long)ARG(u, 2),
            (long)ARG(u, 3), (long)ARG(u, 4), (long)ARG(u, 5));
        if (!fail)
            result = real;
    }
    RESULT(u) = result;
}

/* Whoever keeps signals from its threads keeps this one, too, which would end
 * the program. */
int
pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
    int (*real)(int, const sigset_t *, sigset_t *) =
        (int (*)(int, const sigset_t *, sigset_t *))dlsym(RTLD_NEXT,
                                                          "pthread_sigmask");
    sigset_t but;
    if (set) {
        but = *set;
        sigdelset(&but, SIGSYS);
    }
    return real(how, set ? &but : NULL, old);
}

static void
filter_calls(void)
{
    enum { METS = sizeof met / sizeof *met, MOST = METS + 24 };
    struct sock_filter code[MOST];
    int n = 0;
    uint64_t end = (uint64_t)(uintptr_t)faults_call_end;
#define PUT(...) code[n++] = (struct sock_filter)__VA_ARGS__
#define LOAD(field) PUT(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (field)))
    LOAD(offsetof(struct seccomp_data, instruction_pointer));
    PUT(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)end, 0, 3));
    LOAD(offsetof(struct seccomp_data, instruction_pointer) + 4);
    PUT(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(end >> 32), 0, 1));
    PUT(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    /* a mapping of no file is memory */
    LOAD(offsetof(struct seccomp_data, nr));
    PUT(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 3));
    LOAD(offsetof(struct seccomp_data, args[4]));
    PUT(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, UINT32_MAX, 0, 1));
    PUT(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    LOAD(offsetof(struct seccomp_data, nr));
    for (int i = 0; i < METS; i++)
        PUT(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)met[i].number,
                     (uint8_t)(METS - i), 0));
    PUT(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    PUT(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP));
    struct sock_fprog program = {.len = (unsigned short)n, .filter = code};
    struct sigaction action = {.sa_sigaction = on_call,
                               .sa_flags = SA_SIGINFO | SA_NODEFER};
    if (sigaction(SIGSYS, &action, NULL) != 0 ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        perror("faults: no filter of system calls");
        _exit(77);
    }
}

/* ---- begin and end ---- */

static void __attribute__((constructor)) begin(void)
{
    const char *kind = getenv("FAULTS_KIND"), *n = getenv("FAULTS_AT");
    if (!kind)
        return;
    at = n ? atol(n) : 0;
    from_then_on = getenv("FAULTS_FROM") != NULL;
    stops = getenv("FAULTS_STOP") != NULL;
    least = getenv("FAULTS_LEAST") ? (size_t)atol(getenv("FAULTS_LEAST")) : 0;
    only = getenv("FAULTS_FILE");
    io = strcmp(kind, "io") == 0;
    if (getenv("FAULTS_SITES"))
        sites = open(getenv("FAULTS_SITES"),
                     O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    void *first[1];
    if (sites >= 0)
        backtrace(first, 1); /* this loads and allocates what it needs */
    if (io) {
        filter_calls();
    } else {
        dl_iterate_phdr(note_library, NULL);
        memory = true;
    }
}

static int (*real_main)(int, char **, char **);

static int
run_main(int argc, char **argv, char **environment)
{
    running = true;
    return real_main(argc, argv, environment);
}

/* The start code of a program calls this. */
int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv,
                      void (*init)(void), void (*fini)(void),
                      void (*rtld_fini)(void), void *stack_end);
int
__libc_start_main(int (*main)(int, char **, char **), int argc, char **argv,
                  void (*init)(void), void (*fini)(void),
                  void (*rtld_fini)(void), void *stack_end)
{
    __typeof__(&__libc_start_main) real =
        (__typeof__(real))dlsym(RTLD_NEXT, "__libc_start_main");
    real_main = main;
    return real(run_main, argc, argv, init, fini, rtld_fini, stack_end);
}

static void __attribute__((destructor)) end(void)
{
    const char *path = getenv("FAULTS_COUNT");
    long n = atomic_load(&calls);
    char text[32];
    at = 0;
    if (!path || !(memory || io))
        return;
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    int length = snprintf(text, sizeof text, "%ld\n", n);
    if (file >= 0 && write(file, text, (size_t)length) == length)
        close(file);
}

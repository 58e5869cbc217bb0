/* This machine in a text: what it has, how fast that is, and what would help.
 */
#include "engine/api/machines/speed.h"
#include "engine/api/session.h"

#include "engine/base/vec.h"
#include "engine/dev/cores.h"
#include "engine/dev/memory.h"
#include "engine/io/file.h"
#include "kernels/backend.h"

#include "config.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <unistd.h>

/* The text, and what would help, which stands at its end. */
typedef struct doctor {
    rlf_buf *out;
    rlf_buf help;
    rlf_machine_speed speed;
} doctor;

static void row(const doctor *d, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void helps(doctor *d, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void
row(const doctor *d, const char *name, const char *fmt, ...)
{
    va_list ap;
    rlf_buf line = {0};
    va_start(ap, fmt);
    rlf_buf_vprintf(&line, fmt, ap);
    va_end(ap);
    rlf_buf_line(d->out, "%-14s %s\n", name, line.p ? line.p : "");
    rlf_buf_free(&line);
}

static void
helps(doctor *d, const char *fmt, ...)
{
    va_list ap;
    rlf_buf line = {0};
    va_start(ap, fmt);
    rlf_buf_vprintf(&line, fmt, ap);
    va_end(ap);
    rlf_buf_line(&d->help, "  - %s\n", line.p);
    rlf_buf_free(&line);
}

/* ---- the processor ---- */

/* The value of the first line of a file that begins with a word, without blanks
 * around; false: there is none. */
static bool
find_line(const char *path, const char *word, char *out, size_t room)
{
    char line[512];
    FILE *f = fopen(path, "re");
    bool found = false;
    while (f && !found && fgets(line, sizeof line, f)) {
        if (strncmp(line, word, strlen(word)) != 0)
            continue;
        const char *value = line + strlen(word);
        value += strspn(value, " \t:");
        snprintf(out, room, "%.*s", (int)strcspn(value, "\n"), value);
        found = true;
    }
    if (f)
        fclose(f);
    return found;
}

/* Instruction sets from the best on, as in the names of kernels. */
static const char *const isas[] = {"v4_bf16", "v4", "v3"};

static void
put_processor(doctor *d)
{
    char model[256] = "unknown";
    double load[1] = {0};
    int cores = rlf_cores_count();
    long all = sysconf(_SC_NPROCESSORS_ONLN);
    find_line("/proc/cpuinfo", "model name", model, sizeof model);
    row(d, "processor", "%s", model);
    row(d, "cores", "%d of %ld may be used", cores, all);
    if (getloadavg(load, 1) == 1)
        row(d, "load", "%.1f", load[0]);
    if (load[0] > 0.75 * (double)all)
        helps(d,
              "other programs are at work (load %.1f on %ld cores), which "
              "slows down runs, and what was measured here",
              load[0], all);
    const rlf_kernels *f32 = rlf_kernels_cpu(), *half = rlf_kernels_cpu_bf16(0);
    row(d, "instructions", "f32 %s, bf16 %s", f32->isa, half->isa);
#ifdef __x86_64__
    if (!rlf_kernels_machine_has("v3"))
        helps(d, "the processor has no AVX2 and FMA, with which products are "
                 "several times as fast: a virtual machine may have to be "
                 "given its host's processor");
#endif
    for (size_t i = 0; i < RLF_COUNT(isas); i++) {
        if (!rlf_kernels_machine_has(isas[i]))
            continue;
        bool built = i == 0 ? rlf_kernels_cpu_bf16(isas[i]) != NULL
                            : rlf_kernels_cpu_isa(isas[i]) != NULL;
        if (!built)
            helps(d,
                  "the processor has %s, and this build no kernels for it: "
                  "build with a newer compiler",
                  isas[i]);
        break;
    }
}

/* ---- memory and disk ---- */

static void
put_memory(doctor *d)
{
    char all[RLF_BYTES_TEXT], free_[RLF_BYTES_TEXT], word[256];
    struct sysinfo info;
    uint64_t limit = rlf_host_memory_limit(), available = 0;
    if (find_line("/proc/meminfo", "MemAvailable", word, sizeof word))
        available = strtoull(word, NULL, 10) * 1024;
    row(d, "memory", "%s for this process, %s of the machine's is free",
        rlf_gb_text((double)limit, 3, all),
        rlf_gb_text((double)available, 3, free_));
    if (available && available < limit / 4)
        helps(d, "most of the memory is taken by other programs");
    if (sysinfo(&info) == 0 && info.totalswap &&
        info.freeswap < info.totalswap / 2)
        helps(d, "swap is in use: what is swapped out is slow");
    FILE *f = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "re");
    if (f && fgets(word, sizeof word, f)) {
        char *from = strchr(word, '['), *to = strchr(word, ']');
        if (from && to && to > from) {
            *to = 0;
            row(d, "huge pages", "%s", from + 1);
            if (strcmp(from + 1, "never") == 0)
                helps(d,
                      "huge pages are off, so memory comes in pages of 4 KB: "
                      "echo madvise "
                      ">/sys/kernel/mm/transparent_hugepage/enabled");
        }
    }
    if (f)
        fclose(f);
}

static void
put_disk(doctor *d, const char *directory)
{
    struct statvfs fs;
    char text[RLF_BYTES_TEXT];
    if (statvfs(directory, &fs) == 0) {
        uint64_t bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
        row(d, "disk", "%s free in %s", rlf_gb_text((double)bytes, 3, text),
            directory);
        if (bytes < 1u << 30)
            helps(d, "less than 1 GB is free in %s, where runs save",
                  directory);
    }
    if (statvfs("/dev/shm", &fs) == 0)
        row(d, "shared memory", "%s free",
            rlf_gb_text((double)fs.f_bavail * (double)fs.f_frsize, 3, text));
}

/* ---- limits ---- */

static void
put_limits(doctor *d)
{
    struct rlimit files = {0}, space = {0}, stack = {0};
    char text[RLF_BYTES_TEXT];
    getrlimit(RLIMIT_NOFILE, &files);
    getrlimit(RLIMIT_AS, &space);
    getrlimit(RLIMIT_STACK, &stack);
    row(d, "limits", "%" PRIu64 " open files, address space %s",
        (uint64_t)files.rlim_cur,
        space.rlim_cur == RLIM_INFINITY
            ? "unlimited"
            : rlf_gb_text((double)space.rlim_cur, 3, text));
    if (files.rlim_cur < 256)
        helps(d, "%" PRIu64 " open files are few: ulimit -n 1024",
              (uint64_t)files.rlim_cur);
    if (space.rlim_cur != RLIM_INFINITY)
        helps(d, "the address space is limited, which counts memory that is "
                 "never touched: ulimit -v unlimited");
}

/* ---- GPUs and launchers ---- */

static void
put_gpus(doctor *d)
{
    const rlf_backend *cuda = rlf_backend_find(rlf_backends, "cuda");
    rlf_err err = RLF_ERR_NONE;
    rlf_device_memory memory = {0};
    int n = 0;
    if (!cuda) {
        row(d, "GPUs", "this rlflow was built without CUDA");
        if (access("/dev/nvidia0", F_OK) == 0)
            helps(d, "there is a GPU of NVIDIA: install the CUDA Toolkit, and "
                     "build again");
        return;
    }
    if (cuda->count(&n, &err) < 0) {
        bool driver = access("/dev/nvidiactl", F_OK) == 0 ||
                      access("/dev/dxg", F_OK) == 0;
        bool built = strncmp(err.sentence, "no GPU", 6) == 0;
        row(d, "GPUs", "%s",
            built && !driver ? "none: no driver of NVIDIA is loaded here"
                             : err.sentence);
        return;
    }
    for (int i = 0; i < n; i++) {
        char text[RLF_BYTES_TEXT];
        bool known = cuda->memory(i, &memory, &err) >= 0;
        row(d, i ? "" : "GPUs", "%d: %s free", i,
            known ? rlf_gb_text((double)memory.left, 3, text) : "unknown");
    }
}

/* A program of that name in the path, without links; false: there is none. */
static bool
find_program(const char *program, char out[PATH_MAX])
{
    const char *path = getenv("PATH");
    while (path && *path) {
        char file[4200];
        size_t n = strcspn(path, ":");
        snprintf(file, sizeof file, "%.*s/%s", (int)(n < 4000 ? n : 4000), path,
                 program);
        if (access(file, X_OK) == 0 && realpath(file, out))
            return true;
        path += n + (path[n] == ':');
    }
    return false;
}

/* The kind of MPI whose launcher that file is: RLF_MPI_KIND, or "" where its
 * name does not tell. */
static const char *
launcher_kind(const char *file)
{
    static const struct {
        const char *word, *kind;
    } words[] = {{"openmpi", "openmpi"},
                 {"orterun", "openmpi"},
                 {"prterun", "openmpi"},
                 {"mpich", "mpich"},
                 {"hydra", "mpich"}};
    const char *name = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
    for (size_t i = 0; i < RLF_COUNT(words); i++)
        if (strstr(name, words[i].word))
            return words[i].kind;
    return "";
}

/* The help where `mpiexec` starts processes of another MPI. */
static void
put_other_launcher(doctor *d, const char *kind)
{
    char own[64], file[PATH_MAX];
    snprintf(own, sizeof own, "mpiexec.%s", RLF_MPI_KIND);
    if (find_program(own, file))
        helps(d, "mpiexec is of %s, and this build of %s: start it by %s", kind,
              RLF_MPI_KIND, own);
    else
        helps(d,
              "mpiexec is of %s, and this build of %s: install the launcher "
              "of that",
              kind, RLF_MPI_KIND);
}

static void
put_launchers(doctor *d)
{
    char file[PATH_MAX];
    bool built = strcmp(RLF_MPI_KIND, "no") != 0,
         srun = find_program("srun", file),
         mpiexec = find_program("mpiexec", file);
    const char *kind = mpiexec ? launcher_kind(file) : "";
    row(d, "processes", "built with %s; %s", built ? RLF_MPI_KIND : "no MPI",
        mpiexec && srun ? "mpiexec and srun are there"
        : mpiexec       ? "mpiexec is there"
        : srun          ? "srun is there"
                        : "no launcher is there");
    if (!built && (mpiexec || srun))
        helps(d, "a launcher is there, and this build has no MPI: ./bootstrap "
                 "install builds with it");
    else if (built && !mpiexec && !srun)
        helps(d, "this build has MPI, and no launcher is there: install %s",
              strcmp(RLF_MPI_KIND, "openmpi") == 0 ? "openmpi-bin"
                                                   : RLF_MPI_KIND);
    else if (built && *kind && strcmp(kind, RLF_MPI_KIND) != 0)
        put_other_launcher(d, kind);
}

/* ---- all of it ---- */

static void
put_library(doctor *d, rlf_session *s)
{
    const char *stdlib = rlf_session_stdlib(s);
    row(d, "stdlib", "%s", stdlib);
    if (!rlf_dir_exists(stdlib))
        helps(d,
              "the standard library is not in %s: install rlflow as a whole, "
              "or set RLFLOW_STDLIB",
              stdlib);
}

/* `why`: of what could not be measured. */
static void
put_speed(doctor *d, const rlf_err *why)
{
    const rlf_machine_speed *s = &d->speed;
    if (isnan(s->bf16))
        row(d, "products", "not measured: %s", why->sentence);
    else
        row(d, "products", "%.*f GFLOP/s in f32, %.*f in bf16, by %d thread%s",
            s->product < 1e10, s->product / 1e9, s->bf16 < 1e10, s->bf16 / 1e9,
            s->threads, s->threads == 1 ? "" : "s");
    if (isnan(s->read)) {
        row(d, "reading", "not measured: %s", why->sentence);
        helps(d, "not even a small measurement could be made: %s",
              *why->hint ? why->hint : why->sentence);
    } else {
        row(d, "reading", "%.1f GB/s of memory", s->read / 1e9);
        row(d, "first touch", "%.1f GB/s by one thread", s->touch / 1e9);
    }
}

static void
put_saving(doctor *d, const char *directory)
{
    const rlf_machine_speed *s = &d->speed;
    if (isnan(s->sync)) {
        row(d, "saving", "nothing can be written in %s: %s", directory,
            strerror(s->why));
        helps(d, "a run needs a directory that it can write to: --out DIR");
        return;
    }
    row(d, "saving", "%.2g ms until a small file is on the disk",
        1e3 * s->sync);
    if (s->sync > 0.05)
        helps(d,
              "the disk takes %.2g s to confirm a file: keep runs on a "
              "faster one (--out), or save less often (--save-every)",
              s->sync);
}

const char *
rlf_session_machine(rlf_session *s, const char *directory)
{
    if (!rlf_call_begins(s, __func__, NULL))
        return NULL;
    directory = directory ? directory : ".";
    doctor d = {.out = &s->answer.text};
    rlf_err why = RLF_ERR_NONE;
    locale_t before = rlf_locale_enter(s->locale);
    rlf_buf_clear(d.out);
    rlf_machine_measure(directory, &d.speed, &why);
    put_library(&d, s);
    put_processor(&d);
    put_memory(&d);
    put_disk(&d, directory);
    put_limits(&d);
    put_gpus(&d);
    put_launchers(&d);
    put_speed(&d, &why);
    put_saving(&d, directory);
    if (d.speed.bf16 > 1.2 * d.speed.product)
        helps(&d, "--dtype bf16 computes products %.1f times as fast here",
              d.speed.bf16 / d.speed.product);
    if (d.help.n)
        rlf_buf_printf(d.out, "\nwhat would help\n%s", d.help.p);
    else
        rlf_buf_puts(d.out, "\nnothing is in the way\n");
    rlf_buf_free(&d.help);
    rlf_locale_leave(before);
    return d.out->p;
}

/* A step of GRPO or PPO, taken apart: all parts add up to the step, and each
 * stands beside its own limit.
 *
 *     bench/parts [grpo|ppo|all] [02m|15m|110m|all] [NAME=VALUE ...]
 *                 [--threads N] [--steps N] [--seconds S]
 *
 * A run of the library with the defaults of `rlflow run`, on a backend whose
 * operations note when they are called, how long they take and what they have
 * to do (flops and bytes at least, as in kernels/op.def). The run's trace says
 * which call of the program each belongs to. Shown is the shortest of the steps
 * behind the first. With one thread times are of the processor, which other
 * programs disturb little; what is no operation is one part then.
 *
 * "Due" is what an operation's flops take at the best product of this machine,
 * or its bytes at the speed that blocks as large are read with here, whichever
 * is more (bench/peaks.h); an operation that computes exponentials or reads
 * what it has just written can be as far from it as it is. NAME=VALUE are
 * parameters of bench/parts_grpo.rlf and parts_ppo.rlf: size (prompts), n,
 * max_new. */
#include "bench/peaks.h"
#include "engine/api/session.h"
#include "engine/base/clock.h"
#include "engine/base/vec.h"
#include "kernels/backend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PROMPT = 64, MOST_STEPS = 64 };

/* ---- what an operation has to do ---- */

typedef struct work {
    double flops, bytes;
} work;

#define WORK(op, n_flops, n_bytes)                   \
    static work work_##op(const rlf_##op##_args *a)  \
    {                                                \
        return (work){(double)(n_flops), (n_bytes)}; \
    }
#define NUMBERS(n) (4.0 * (double)(n))
#define GROUPS(a) ((a)->groups ? (a)->groups : 1)
#define WEIGHTS(a, n) ((a)->bf16 ? 2.0 * (double)(n) : NUMBERS(n))

/* Pairs of query and key, and keys, of packed sequences or over a cache. */
static double
pairs_of(const int32_t *offsets, const int32_t *starts, int64_t n, double *keys)
{
    double pairs = 0;
    *keys = 0;
    for (int64_t i = 0; i < n; i++) {
        double length = offsets[i + 1] - offsets[i];
        double from = starts ? starts[i] : 0;
        pairs += length * from + length * (length + 1) / 2;
        *keys += length + from;
    }
    return pairs;
}

// clang-format off
WORK(product_pack, 0, 2 * NUMBERS(a->rows * a->cols))
WORK(product, 2 * a->m * a->n * a->k,
     NUMBERS(a->m * a->k + a->m * a->n) + WEIGHTS(a, a->n * a->k))
WORK(product_glu, 4 * a->m * a->d * a->k + 8 * a->m * a->d,
     NUMBERS(a->m * a->k + (a->keep ? 3 : 1) * a->m * a->d) +
         WEIGHTS(a, 2 * a->d * a->k))
WORK(product_grad, 2 * a->m * a->n * a->k,
     NUMBERS(a->m * a->n + a->m * a->k + 2 * a->n * a->k))
WORK(bias_grad, a->m * a->n, NUMBERS(a->m * a->n))
WORK(embed, 0, NUMBERS(2 * a->m * a->d))
WORK(embed_grad, a->m * a->d, NUMBERS(3 * a->m * a->d))
WORK(rows_gather, 0, NUMBERS(2 * a->m * a->d))
WORK(rows_scatter, a->m * a->d, NUMBERS(2 * a->m * a->d))
WORK(rmsnorm, 4 * a->m * GROUPS(a) * a->d, NUMBERS(2 * a->m * GROUPS(a) * a->d))
WORK(norm_sums, 3 * a->m * a->d, NUMBERS(2 * a->m * a->d))
WORK(rmsnorm_grad, 11 * a->m * GROUPS(a) * a->d,
     NUMBERS(4 * a->m * GROUPS(a) * a->d))
WORK(layernorm, 8 * a->m * GROUPS(a) * a->d,
     NUMBERS(2 * a->m * GROUPS(a) * a->d))
WORK(layernorm_grad, 18 * a->m * GROUPS(a) * a->d,
     NUMBERS(4 * a->m * GROUPS(a) * a->d))
WORK(rope_table, 2 * a->n * a->half, NUMBERS(2 * a->n * a->half))
WORK(rope, 3 * a->m * a->heads * a->d, NUMBERS(2 * a->m * a->heads * a->d))
WORK(glu, 8 * a->m * a->d, NUMBERS((a->up ? 3 : 2) * a->m * a->d))
WORK(glu_grad, 14 * a->m * a->d, NUMBERS((a->up ? 5 : 3) * a->m * a->d))
WORK(add, a->m * a->d, NUMBERS((a->b ? 3 : 2) * a->m * a->d))
WORK(clip, 2 * a->m * a->d, NUMBERS((a->by ? 3 : 2) * a->m * a->d))
WORK(dropout, a->m * a->d, NUMBERS((a->add ? 3 : 2) * a->m * a->d))
WORK(axpby, 2 * a->n, NUMBERS(3 * a->n))
WORK(fill, 0, NUMBERS(a->n))
WORK(cast, 0, 6.0 * (double)a->n)
WORK(kv_write, 3 * a->m * (a->heads + a->kv_heads) * a->d,
     NUMBERS(2 * a->m * a->heads * a->d + 4 * a->m * a->kv_heads * a->d))
WORK(head_logprob, 2 * a->m * a->v * a->d, WEIGHTS(a, a->v * a->d))
WORK(head_loss, (a->dw ? 6 : 4) * a->forward.m * a->forward.v * a->forward.d,
     2 * WEIGHTS(&a->forward, a->forward.v * a->forward.d) +
         (a->dw ? NUMBERS(2 * a->forward.v * a->forward.d) : 0))
WORK(sample, 2 * a->m * a->v * a->d, WEIGHTS(a, a->v * a->d))
WORK(adamw, 16 * a->n, NUMBERS(7 * a->n))
WORK(sumsq, 2 * a->n, NUMBERS(a->n))
WORK(expr_dense, 0, NUMBERS(2 * a->m * (a->v > 1 ? a->v : 1)))
// clang-format on

static work
work_attention(const rlf_attention_args *a)
{
    double keys, pairs = pairs_of(a->offsets, NULL, a->n_seqs, &keys);
    return (work){4 * pairs * (double)(a->heads * a->d),
                  NUMBERS(2 * (a->heads + a->kv_heads) * a->d) * keys};
}

static work
work_attention_paged(const rlf_attention_paged_args *a)
{
    double keys, pairs = pairs_of(a->offsets, a->starts, a->n_seqs, &keys);
    return (work){4 * pairs * (double)(a->heads * a->d),
                  NUMBERS(2 * a->kv_heads * a->d) * keys};
}

static work
work_attention_grad(const rlf_attention_grad_args *a)
{
    double keys, pairs = pairs_of(a->offsets, NULL, a->n_seqs, &keys);
    return (work){10 * pairs * (double)(a->heads * a->d),
                  NUMBERS(4 * (a->heads + a->kv_heads) * a->d) * keys};
}

/* ---- a backend that notes its calls ---- */

typedef struct call {
    rlf_op op;
    uint64_t from;
    double seconds; /* without the operations inside, of a loss's arithmetic */
    work work;
} call;

static RLF_VEC(call) calls;
static const rlf_kernels *real;
static double inside;

/* One thread is timed by its own clock, a step then by that of the process. */
static bool by_processor;

static uint64_t
clock_of_call(void)
{
    return by_processor ? rlf_clock_busy() : rlf_clock_now();
}

static uint64_t
clock_of_step(void)
{
    return by_processor ? rlf_clock_process() : rlf_clock_now();
}

#define OP(op, doc, flops, bytes)                                           \
    static rlf_status noted_##op(rlf_queue *queue,                          \
                                 const rlf_##op##_args *args, rlf_err *err) \
    {                                                                       \
        double before = inside;                                             \
        call c = {RLF_OP_##op, rlf_clock_now(), 0, work_##op(args)};        \
        uint64_t begun = clock_of_call();                                   \
        inside = 0;                                                         \
        rlf_status status = real->op(queue, args, err);                     \
        double whole = 1e-9 * (double)(clock_of_call() - begun);            \
        c.seconds = whole - inside;                                         \
        inside = before + whole;                                            \
        RLF_PUSH(&calls, c);                                                \
        return status;                                                      \
    }
#include "kernels/op.def"
#undef OP

static const char *const op_names[] = {
#define OP(op, doc, flops, bytes) #op,
#include "kernels/op.def"
#undef OP
};

static const rlf_kernels *
noted_kernels(const char *isa, rlf_cast_type type)
{
    static rlf_kernels noted;
    real = rlf_backend_cpu.kernels(isa, type);
    if (!real)
        return NULL;
    noted = *real;
#define OP(op, doc, flops, bytes) noted.op = noted_##op;
#include "kernels/op.def"
#undef OP
    return &noted;
}

static rlf_backend noting;
const rlf_backend *const rlf_backends[] = {&noting, NULL};

/* ---- inputs ---- */

static char root[] = "/tmp/rlflow-parts-XXXXXX";

static void
must(bool good, const char *what, rlf_session *s)
{
    if (good)
        return;
    fprintf(stderr, "bench/parts: %s%s%s\n", what, s ? ":\n" : "",
            s ? rlf_session_message(s) : "");
    exit(1);
}

static FILE *
make(const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "%s/%s", root, name);
    FILE *f = fopen(path, "w");
    must(f != NULL, "no room for files", NULL);
    return f;
}

/* A word a byte, and `vocab` in all; nothing ends a text. */
static void
write_words(int vocab)
{
    char path[64];
    snprintf(path, sizeof path, "%s/words", root);
    mkdir(path, 0700);
    FILE *f = make("words/tokenizer.json");
    fputs("{\"version\": \"1.0\", \"added_tokens\": [{\"id\": 0, \"content\": "
          "\"<pad>\", \"special\": true, \"single_word\": false, \"lstrip\": "
          "false, \"rstrip\": false, \"normalized\": false}],\n"
          "\"normalizer\": null, \"pre_tokenizer\": {\"type\": \"ByteLevel\", "
          "\"add_prefix_space\": false, \"trim_offsets\": true, \"use_regex\": "
          "false}, \"post_processor\": null, \"decoder\": {\"type\": "
          "\"ByteLevel\", \"add_prefix_space\": true, \"trim_offsets\": true, "
          "\"use_regex\": true},\n\"model\": {\"type\": \"BPE\", \"merges\": "
          "[], \"vocab\": {\"<pad>\": 0",
          f);
    int other = 256;
    for (int byte = 0; byte < 256; byte++) {
        bool shown = (byte > 32 && byte < 127) || (byte > 160 && byte != 173);
        fprintf(f, ", \"\\u%04x\": %d", shown ? byte : other++, byte + 1);
    }
    for (int i = 257; i < vocab; i++)
        fprintf(f, ", \"x%06d\": %d", i, i);
    fputs("}}}\n", f);
    must(fclose(f) == 0, "no room for files", NULL);
}

static void
write_prompts(void)
{
    FILE *f = make("prompts.jsonl");
    uint32_t state = 1;
    for (int i = 0; i < 4096; i++) {
        fputs("{\"prompt\": \"", f);
        for (int k = 0; k < PROMPT; k++) {
            state = state * 1664525 + 1013904223;
            fputc("abcdefghijklmnopqrstuvwxyz      "[state >> 27], f);
        }
        fputs("\"}\n", f);
    }
    must(fclose(f) == 0, "no room for files", NULL);
}

/* ---- a run ---- */

typedef struct shape {
    const char *name;
    int vocab;
    const char *settings[12]; /* names and values */
} shape;

static const shape shapes[] = {
    {"02m",
     300,
     {"layers", "2", "hidden", "96", "heads", "4", "kv_heads", "2", "ffn",
      "256"}},
    {"15m",
     32000,
     {"layers", "6", "hidden", "288", "heads", "6", "kv_heads", "6", "ffn",
      "768"}},
    {"110m",
     32000,
     {"layers", "12", "hidden", "768", "heads", "12", "kv_heads", "12", "ffn",
      "2048"}},
};

typedef struct options {
    const char *threads;
    int steps;
    double seconds;
    char **settings;
    int n_settings;
} options;

/* The step that is shown, what the trace says of it, and the run's start. */
typedef struct window {
    uint64_t from, to, mark;
    double seconds; /* of the step, in the time that is shown */
    double open[3], first[3], step[3]; /* see now_all() */
} window;

/* Seconds so far: wall, user, system. */
static void
now_all(double out[3])
{
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    out[0] = 1e-9 * (double)rlf_clock_now();
    out[1] = (double)use.ru_utime.tv_sec + 1e-6 * (double)use.ru_utime.tv_usec;
    out[2] = (double)use.ru_stime.tv_sec + 1e-6 * (double)use.ru_stime.tv_usec;
}

/* The time that has gone by since `from`. */
static void
since(const double from[3], double out[3])
{
    double to[3];
    now_all(to);
    for (int i = 0; i < 3; i++)
        out[i] = to[i] - from[i];
}

static rlf_session *
open_run(const char *kind, const shape *of, const options *o)
{
    char path[512], file[64];
    snprintf(path, sizeof path, "%s/bench/parts_%s.rlf", RLF_SOURCE_DIR, kind);
    rlf_session *s = rlf_session_open(path);
    must(s != NULL, "no memory", NULL);
    for (int i = 0; of->settings[i]; i += 2)
        rlf_session_set(s, of->settings[i], of->settings[i + 1]);
    for (int i = 0; i < o->n_settings; i++) {
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(o->settings[i], "="),
                 o->settings[i]);
        rlf_session_set(s, name, strchr(o->settings[i], '=') + 1);
    }
    snprintf(file, sizeof file, "%s/prompts.jsonl", root);
    rlf_session_set(s, "problems", file);
    snprintf(file, sizeof file, "%s/words", root);
    rlf_session_set(s, "words", file);
    snprintf(file, sizeof file, "%s/trace.json", root);
    rlf_session_set(s, "--trace", file);
    rlf_session_set(s, "--threads", o->threads);
    return s;
}

/* Takes the steps; the shortest behind the first. A span of a lane of its own
 * says where the trace's clock begins. */
static window
take_steps(rlf_session *s, int steps)
{
    window best = {0};
    rlf_trace_lane *lane = NULL;
    double at[3], took[3];
    now_all(at);
    must(rlf_session_ready(s) == RLF_RESULT_OK, "a run", s);
    since(at, best.open);
    for (int i = 0; i <= steps; i++) {
        now_all(at);
        uint64_t from = rlf_clock_now(), begun = clock_of_step();
        must(rlf_session_step(s) == RLF_RESULT_OK, "a step", s);
        uint64_t to = rlf_clock_now();
        double seconds = 1e-9 * (double)(clock_of_step() - begun);
        since(at, took);
        if (i == 0)
            memcpy(best.first, took, sizeof took);
        if (!lane) {
            lane = rlf_trace_add(s->logging.trace, 0, "mark");
            best.mark = to;
            rlf_trace_span(lane, "mark", "mark", to, to + 1000, 0);
        }
        if (i > 0 && (!best.to || seconds < best.seconds)) {
            best.seconds = seconds;
            best.from = from;
            best.to = to;
            memcpy(best.step, took, sizeof took);
        }
    }
    rlf_session_close(s);
    return best;
}

/* ---- parts ---- */

typedef enum phase { GENERATE, READ, TRAIN, ELSEWHERE, N_PHASES } phase;

static const char *const phase_names[] = {"generate", "read", "train",
                                          "elsewhere"};

typedef struct span {
    double from, to;
    phase phase;
} span;

typedef RLF_VEC(span) spans;

static phase
phase_of(const char *kind, const char *name)
{
    static const char *const reads[] = {"logprob", "value", "score"};
    if (!strcmp(kind, "forward") || !strcmp(kind, "backward") ||
        !strcmp(kind, "weights"))
        return TRAIN;
    if (strcmp(kind, "run") != 0 && strcmp(kind, "open") != 0)
        return ELSEWHERE;
    const char *model = strrchr(name, '.'); /* "actor.generate" */
    name = model ? model + 1 : name;
    if (!strcmp(name, "generate"))
        return GENERATE;
    if (!strcmp(name, "update"))
        return TRAIN;
    for (size_t i = 0; i < RLF_COUNT(reads); i++)
        if (!strcmp(name, reads[i]))
            return READ;
    return ELSEWHERE;
}

static int
by_start(const void *a, const void *b)
{
    double x = ((const span *)a)->from, y = ((const span *)b)->from;
    return (x > y) - (x < y);
}

/* The phases' spans in the window, in nanoseconds of the clock, in order and
 * without those inside of others. */
static spans
read_spans(const window *w)
{
    char path[64], line[1024], name[64], kind[64];
    double from, length, mark = 0;
    spans all = {0}, out = {0};
    snprintf(path, sizeof path, "%s/trace.json", root);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f)) {
        if (sscanf(line,
                   "{\"name\": \"%63[^\"]\", \"cat\": \"%63[^\"]\", "
                   "\"ph\": \"X\", \"pid\": %*d, \"tid\": %*d, \"ts\": %lf, "
                   "\"dur\": %lf",
                   name, kind, &from, &length) != 4)
            continue;
        if (!strcmp(kind, "mark"))
            mark = from;
        span s = {from, from + length, phase_of(kind, name)};
        if (s.phase != ELSEWHERE)
            RLF_PUSH(&all, s);
    }
    must(f && mark > 0, "no trace", NULL);
    fclose(f);
    qsort(all.data, all.count, sizeof *all.data, by_start);
    for (size_t i = 0; i < all.count; i++) {
        span s = all.data[i];
        s.from = (double)w->mark + 1e3 * (s.from - mark);
        s.to = (double)w->mark + 1e3 * (s.to - mark);
        if (s.from < (double)w->from || s.to > (double)w->to)
            continue;
        if (out.count && s.to <= out.data[out.count - 1].to)
            continue;
        RLF_PUSH(&out, s);
    }
    RLF_VEC_FREE(&all);
    return out;
}

typedef struct part {
    double seconds, due;
    int calls;
} part;

/* [N_PHASES][RLF_N_OPS + 1]: the last is what is no operation. */
static void
add_up(const window *w, const spans *list, const bench_peaks *peaks,
       part parts[N_PHASES][RLF_N_OPS + 1])
{
    size_t at = 0;
    double rest = w->seconds;
    memset(parts, 0, sizeof(part) * N_PHASES * (RLF_N_OPS + 1));
    for (size_t i = 0; i < list->count && !by_processor; i++) {
        const span *s = &list->data[i];
        parts[s->phase][RLF_N_OPS].seconds += 1e-9 * (s->to - s->from);
        rest -= 1e-9 * (s->to - s->from);
    }
    parts[ELSEWHERE][RLF_N_OPS].seconds = rest;
    /* calls come in order but for those inside of others */
    for (size_t i = 0; i < calls.count; i++) {
        const call *c = &calls.data[i];
        if (c->from < w->from || c->from >= w->to)
            continue;
        double from = (double)c->from;
        while (at > 0 && list->data[at].from > from)
            at--;
        while (at + 1 < list->count && list->data[at].to < from)
            at++;
        bool within = list->count && list->data[at].from <= from + 2e3 &&
                      from <= list->data[at].to;
        phase p = within ? list->data[at].phase : ELSEWHERE;
        part *to = &parts[p][c->op];
        to->seconds += c->seconds;
        to->due += bench_peaks_due(peaks, c->work.flops, c->work.bytes);
        to->calls++;
        parts[by_processor ? ELSEWHERE : p][RLF_N_OPS].seconds -= c->seconds;
    }
}

static void
put_part(const char *where, const char *what, const part *p, double step)
{
    printf("| %s | %s | %.2f ms | %.2f %% | ", where, what, 1e3 * p->seconds,
           100 * p->seconds / step);
    if (p->due > 0)
        printf("%.2f ms | %.2f | %d |\n", 1e3 * p->due, p->due / p->seconds,
               p->calls);
    else
        printf("- | - | %s%.0d |\n", p->calls ? "" : "-", p->calls);
}

/* Operations of less than 0.3 % of the step are one part. */
static void
put_parts(part parts[N_PHASES][RLF_N_OPS + 1], double step)
{
    part all = {0};
    printf("| call | part | time | of the step | due | due / time | calls |\n"
           "|---|---|---|---|---|---|---|\n");
    for (int p = 0; p < N_PHASES; p++) {
        part few = {0}, whole = {0};
        for (int op = 0; op <= RLF_N_OPS; op++) {
            part *x = &parts[p][op];
            whole.seconds += x->seconds;
            whole.due += x->due;
            whole.calls += x->calls;
            if (op < RLF_N_OPS && x->seconds < 0.003 * step) {
                few.seconds += x->seconds;
                few.due += x->due;
                few.calls += x->calls;
            } else if (op < RLF_N_OPS)
                put_part(phase_names[p], op_names[op], x, step);
        }
        if (few.calls)
            put_part(phase_names[p], "smaller operations", &few, step);
        if (!by_processor || p == ELSEWHERE)
            put_part(phase_names[p], "no operation", &parts[p][RLF_N_OPS],
                     step);
        put_part(phase_names[p], "*together*", &whole, step);
        all.seconds += whole.seconds;
        all.due += whole.due;
        all.calls += whole.calls;
    }
    put_part("*step*", "", &all, step);
}

static void
show(const char *kind, const shape *of, const options *o)
{
    static part parts[N_PHASES][RLF_N_OPS + 1];
    bench_peaks peaks;
    rlf_err err = RLF_ERR_NONE;
    rlf_device *device;
    rlf_queue *queue = NULL;
    int threads = atoi(o->threads);
    by_processor = threads == 1;
    const rlf_backend_options cpu = {.n_threads = threads};
    must(rlf_backend_cpu.open(&cpu, &device, &err) >= 0 &&
             rlf_queue_new(device, &queue, &err) >= 0,
         "no device", NULL);
    bench_peaks_measure(device, queue, threads, o->seconds, &peaks);
    rlf_queue_free(queue);
    rlf_device_free(device);
    write_words(of->vocab);
    calls.count = 0;
    window w = take_steps(open_run(kind, of, o), o->steps);
    spans list = read_spans(&w);
    add_up(&w, &list, &peaks, parts);
    RLF_VEC_FREE(&list);
    double load = 0;
    getloadavg(&load, 1);
    printf(
        "\n%s, %s, %d threads, load %.1f: %.0f GFLOP/s (oneDNN's %.0f), read",
        kind, of->name, threads, load, peaks.flops * 1e-9,
        peaks.library * 1e-9);
    for (int i = 0; i < BENCH_BLOCKS; i++)
        printf("%s %.1f GB/s of %.1f MB", i ? "," : "", peaks.read[i] * 1e-9,
               peaks.bytes[i] * 1e-6);
    puts("\n");
    put_parts(parts, w.seconds);
    printf(
        "\nopening %.2f s (user %.2f, system %.2f), the first step longer by "
        "%.2f s (%.2f, %.2f)\n",
        w.open[0], w.open[1], w.open[2], w.first[0] - w.step[0],
        w.first[1] - w.step[1], w.first[2] - w.step[2]);
    fflush(stdout);
}

int
main(int argc, char **argv)
{
    static const char *const kinds[] = {"grpo", "ppo"};
    char cores[16];
    snprintf(cores, sizeof cores, "%ld", sysconf(_SC_NPROCESSORS_ONLN));
    options o = {.threads = cores, .steps = 3, .seconds = 1};
    const char *kind = "all", *name = "all";
    int words = 0;
    o.settings = argv; /* those that are none are overwritten */
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--threads") && i + 1 < argc)
            o.threads = argv[++i];
        else if (!strcmp(argv[i], "--steps") && i + 1 < argc)
            o.steps = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--seconds") && i + 1 < argc)
            o.seconds = atof(argv[++i]);
        else if (strchr(argv[i], '='))
            o.settings[o.n_settings++] = argv[i];
        else if (words++ == 0)
            kind = argv[i];
        else
            name = argv[i];
    }
    must(atoi(o.threads) > 0 && o.steps > 0,
         "bench/parts [grpo|ppo|all] [02m|15m|110m|all] [NAME=VALUE ...] "
         "[--threads N] [--steps N] [--seconds S]",
         NULL);
    noting = rlf_backend_cpu;
    noting.kernels = noted_kernels;
    setenv("RLFLOW_STDLIB", RLF_SOURCE_DIR "/stdlib", 0);
    must(mkdtemp(root) != NULL, "no directory", NULL);
    write_prompts();
    int shown = 0;
    for (size_t k = 0; k < RLF_COUNT(kinds); k++)
        for (size_t i = 0; i < RLF_COUNT(shapes); i++)
            if ((!strcmp(kind, "all") || !strcmp(kind, kinds[k])) &&
                (!strcmp(name, "all") || !strcmp(name, shapes[i].name))) {
                show(kinds[k], &shapes[i], &o);
                shown++;
            }
    char command[64];
    snprintf(command, sizeof command, "rm -r '%s'", root);
    must(system(command) == 0, "files could not be removed", NULL);
    must(shown > 0, "no such program or shape", NULL);
    return 0;
}

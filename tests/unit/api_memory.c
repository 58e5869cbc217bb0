/* These checks hold runs to the memory that `rlflow check` prints: device
 * blocks are exactly as printed, and all of them are allocated before the first
 * step; the resident size is at most what is printed and 64 MB, also while
 * files of that size are written and read. */
#define _GNU_SOURCE /* mkstemp */
#include <sys/wait.h>
#include <unistd.h>

#include "engine/api/session.h"
#include "engine/base/vec.h"
#include "engine/io/file.h"
#include "tests/tap.h"
#include "tests/unit/resident.h"

/* The largest resident size of a process of its own that runs a step and saves,
 * or goes on from there and does so. */
static uint64_t
peak_of(const char *path, const char *dir, const char *ranks, bool resume)
{
    int ends[2];
    uint64_t peak = 0;
    fflush(stdout);
    if (pipe(ends) != 0)
        bail("no pipe");
    pid_t child = fork();
    if (child == 0) {
        rlf_session *s = rlf_session_open(path);
        rlf_session_set(s, "--steps", resume ? "2" : "1");
        rlf_session_set(s, "--ranks", ranks);
        rlf_session_set(s, "--out", dir);
        rlf_session_set(s, "--samples", "99");
        rlf_session_set(s, "--resume", resume ? "1" : "0");
        while (rlf_session_step(s) == RLF_RESULT_OK)
            continue;
        if (rlf_session_failed(s))
            fprintf(stderr, "%s", rlf_session_message(s));
        else
            peak = resident_peak();
        _exit(write(ends[1], &peak, sizeof peak) == sizeof peak ? 0 : 1);
    }
    if (child < 0 || read(ends[0], &peak, sizeof peak) != sizeof peak)
        bail("the run does not say what it took");
    close(ends[0]);
    close(ends[1]);
    waitpid(child, NULL, 0);
    return peak;
}

/* Returns the bytes that a check of a program prints, summed over its ranks. */
static uint64_t
print_of(const char *path, const char *ranks)
{
    rlf_session *s = rlf_session_open(path);
    uint64_t all = 0;
    rlf_session_set(s, "--ranks", ranks);
    s->options.dry = true;
    if (rlf_session_ready(s) != RLF_RESULT_OK)
        bail("%s", rlf_session_message(s));
    for (int i = 0; i < atoi(ranks); i++)
        all += rlf_memory_total(&rlf_run_needs(s->run, i)->memory);
    rlf_session_close(s);
    return all;
}

/* Files that are a third of what a run takes go from and to the disk, with no
 * more of it resident than is printed. What is planned for here is
 * taken, so that the print has little slack. */
static void
check_files(const char *source, const char *program, const char *ranks)
{
    char dir[] = "/tmp/rlflow-memory-XXXXXX", path[4096], out[64];
    rlf_err ignored = RLF_ERR_NONE;
    if (!mkdtemp(dir))
        bail("no directory");
    snprintf(path, sizeof path, "%s/tests/e2e/%s", source, program);
    snprintf(out, sizeof out, "%s/run", dir);
    uint64_t print = print_of(path, ranks);
    for (int resume = 0; resume < 2; resume++) {
        uint64_t peak = peak_of(path, out, ranks, resume);
        if (!ok(peak > print / 2 && peak <= print + ((uint64_t)16 << 20),
                "%s on %s, %s: below the print and 16 MB", program, ranks,
                resume ? "restored" : "saved"))
            note("peak %llu, printed %llu", (unsigned long long)peak,
                 (unsigned long long)print);
    }
    rlf_dir_remove(dir, &ignored);
}

/* Samples are written with the fields of their data rows, which may be long. */
static void
check_samples(const char *source)
{
    enum { ROWS = 8, LONG = 1 << 20 };
    char dir[] = "/tmp/rlflow-memory-XXXXXX", path[64], out[64];
    rlf_err ignored = RLF_ERR_NONE;
    rlf_buf rows = {0}, program = {0};
    if (!mkdtemp(dir))
        bail("no directory");
    for (int i = 0; i < ROWS; i++)
        rlf_buf_printf(&rows, "{\"question\":\"%d\",\"doc\":\"%0*d\"}\n", i,
                       LONG, i);
    snprintf(path, sizeof path, "%s/rows.jsonl", dir);
    bool written =
        rlf_file_append(path, rows.p, rows.n, false, NULL, &ignored) >= 0;
    rlf_buf_printf(
        &program,
        "data rows = jsonl(\"rows.jsonl\", prompt: \"question\", doc: "
        "\"doc\", max_prompt: 10)\n"
        "model m = lm(llama(layers: 1, hidden: 16, heads: 2, kv_heads: 1, ffn: "
        "16, context: 16), tokenizer: \"%s/examples/models/arith\")\n"
        "flow f(batch: rows[%d]) {\n"
        "    roll = m.generate(batch, n: 8, max_new: 2)\n"
        "    report n = mean(roll.length over batch)\n"
        "}\n",
        source, ROWS);
    snprintf(path, sizeof path, "%s/docs.rlf", dir);
    snprintf(out, sizeof out, "%s/run", dir);
    if (!written ||
        rlf_file_append(path, program.p, program.n, false, NULL, &ignored) < 0)
        bail("cannot write %s", path);
    rlf_buf_free(&rows);
    rlf_buf_free(&program);
    uint64_t print = print_of(path, "1");
    uint64_t peak = peak_of(path, out, "1", false);
    if (!ok(peak <= print + ((uint64_t)32 << 20),
            "samples of %d MB are written: below the print and 32 MB",
            8 * ROWS))
        note("peak %llu, printed %llu", (unsigned long long)peak,
             (unsigned long long)print);
    rlf_dir_remove(dir, &ignored);
}

/* A journal that has to be mended is read and written in pieces. */
static void
check_journal(const char *source)
{
    enum { LINES = 640, LONG = 100000 };
    char dir[] = "/tmp/rlflow-memory-XXXXXX", path[4096], out[64];
    rlf_err ignored = RLF_ERR_NONE;
    rlf_buf lines = {0};
    if (!mkdtemp(dir))
        bail("no directory");
    snprintf(path, sizeof path, "%s/tests/e2e/tiny.rlf", source);
    snprintf(out, sizeof out, "%s/run", dir);
    uint64_t first = peak_of(path, out, "1", false);
    for (int i = 0; i < LINES; i++)
        rlf_buf_printf(&lines, "{\"step\":1,\"response\":\"%0*d\"}\n", LONG, i);
    char journal[96];
    snprintf(journal, sizeof journal, "%s/samples.jsonl", out);
    if (rlf_file_write(journal, lines.p, lines.n, &ignored) < 0)
        bail("cannot write %s", journal);
    rlf_buf_free(&lines);
    uint64_t peak = peak_of(path, out, "1", true);
    /* lines of 100 kB on several threads: 8 to 19 MB, as the allocator keeps
     * what was freed */
    if (!ok(peak <= first + ((uint64_t)32 << 20),
            "a journal of %d MB is mended in 32 MB", LINES * LONG / 1000000))
        note("peak %llu, before %llu", (unsigned long long)peak,
             (unsigned long long)first);
    rlf_dir_remove(dir, &ignored);
}

/* The same for the first of four ranks: a program, its placement, and one line
 * that is printed. */
static const struct many {
    const char *program, *place, *owner, *purpose;
} many[] = {
    /* models lie in several layouts, bare ones too */
    {"tiny.rlf",
     "place {\n"
     "actor on 0 (lanes: 2)\n"
     "actor.update on 0..3 (tp: 2)\n"
     "actor.generate on 0..3 (tp: 1)\n"
     "ref on 0..1 (pp: 2)\n"
     "critic.update on 0, 2\n"
     "critic.value on 1..3\n"
     "average on 0..1 (pp: 2)\n"
     "}\n",
     "actor", "weights of other calls"},
    /* micro-batches in flight: all, and of several chunks */
    {"pipe.rlf",
     "place {\n"
     "actor.update on 0..3 (pp: 2, tokens: 36, schedule: \"interleaved\")\n"
     "critic.update on 0..3 (pp: 4, tokens: 36, schedule: \"gpipe\")\n"
     "}\n",
     "critic", "activations of update"},
    /* weight gradients after backward, from what that computed again */
    {"pipe.rlf",
     "place {\n"
     "actor.update on 0..3 (pp: 4, tokens: 36, schedule: \"zb-h1\", recompute: "
     "true)\n"
     "critic.update on 0..3 (pp: 2, tokens: 36, schedule: \"zb-h2\")\n"
     "}\n",
     "actor", "activations of update"},
    /* two chunks, with the embedding and the heads at one stage */
    {"pipe.rlf",
     "place {\n"
     "actor.update on 0..3 (pp: 2, tokens: 36, schedule: \"zb-v\")\n"
     "critic.update on 0..3 (pp: 2, tokens: 36, schedule: \"zb-v\", "
     "recompute: true)\n"
     "}\n",
     "critic", "activations of update"},
};

/* A session on four ranks with this placement. */
static rlf_session *
open_many(const char *source, const char *program, const char *place)
{
    char plan[] = "/tmp/rlflow-memory-XXXXXX", path[4096];
    int file = mkstemp(plan);
    if (file < 0 || write(file, place, strlen(place)) < 0)
        bail("cannot write %s", plan);
    close(file);
    snprintf(path, sizeof path, "%s/tests/e2e/%s", source, program);
    rlf_session *s = rlf_session_open(path);
    rlf_session_set(s, "--steps", "3");
    rlf_session_set(s, "--ranks", "4");
    rlf_session_set(s, "--plan", plan);
    if (rlf_session_ready(s) != RLF_RESULT_OK)
        bail("%s", rlf_session_message(s));
    unlink(plan);
    return s;
}

/* Device bytes of an owner's rows; NULL: of all. */
static int64_t
printed(const rlf_memory *memory, const char *owner, const char *purpose)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < memory->rows.count; i++) {
        const rlf_memory_row *row = &memory->rows.data[i];
        if ((!owner || !strcmp(row->owner, owner)) &&
            (!purpose || !strcmp(row->purpose, purpose)))
            sum += row->device;
    }
    return (int64_t)sum;
}

static void
check_many(const char *source, const struct many *m)
{
    rlf_session *s = open_many(source, m->program, m->place);
    rlf_memory memory = {.arena = s->arena};
    rlf_run_memory(s->run, &memory);
    int64_t device = printed(&memory, NULL, NULL);
    ok(printed(&memory, m->owner, m->purpose) > 0, "%s: %s have a line",
       m->program, m->purpose);
    is_int((int64_t)rlf_run_device_bytes(s->run), device,
           "rank 0 of 4 holds what is printed");
    rlf_result result;
    while ((result = rlf_session_step(s)) == RLF_RESULT_OK)
        continue;
    is_int(result, RLF_RESULT_END, "three steps on 4 ranks");
    is_int((int64_t)rlf_run_device_bytes(s->run), device,
           "and after the last one too");
    rlf_session_close(s);
}

/* Returns the device bytes of a rank for a model that is trained on tp `train`
 * and sampled on tp `generate`, without activations and keys and values;
 * *weights: the bytes of its f32 weights. */
static int64_t
weight_bytes(const char *source, int train, int generate, int64_t *weights)
{
    static const char *const other[] = {"activations of generate",
                                        "keys and values", "lists of pages"};
    char place[256];
    snprintf(place, sizeof place,
             "place {\nactor on 0 (shards: 4, lanes: 4)\n"
             "actor.update on 0..3 (tp: %d)\n"
             "actor.generate on 0..3 (tp: %d)\n}\n",
             train, generate);
    rlf_session *s = open_many(source, "share.rlf", place);
    rlf_memory memory = {.arena = s->arena};
    rlf_run_memory(s->run, &memory);
    int64_t bytes = (int64_t)rlf_run_device_bytes(s->run);
    for (size_t i = 0; i < RLF_COUNT(other); i++)
        bytes -= printed(&memory, "actor", other[i]);
    *weights = printed(&memory, "actor", "weights");
    rlf_session_close(s);
    return bytes;
}

/* Checks that generation in another layout takes no more memory beyond training
 * than (d_g - 1) / (t p) of the model, which is what is sent to it (HybridFlow,
 * Table 2: nothing is there twice). It may take less, since gradients lie there
 * at other times. */
static void
check_shared(const char *source)
{
    static const int pairs[][2] = {{2, 1}, {4, 2}, {4, 1}};
    int64_t model, ignored;
    weight_bytes(source, 1, 1, &model);
    for (size_t i = 0; i < RLF_COUNT(pairs); i++) {
        int t = pairs[i][0], g = pairs[i][1];
        int64_t beyond = weight_bytes(source, t, g, &ignored) -
                         weight_bytes(source, t, t, &ignored);
        ok(beyond >= 0 && beyond <= (t / g - 1) * model / t,
           "trained with tp %d, sampled with tp %d: %lld bytes more of %lld", t,
           g, (long long)beyond, (long long)model);
    }
}

int
main(void)
{
    const char *source = getenv("RLFLOW_SOURCE");
    if (!source)
        skip_all("RLFLOW_SOURCE is not set");
    if (getenv("RLFLOW_TEST_QUICK")) {
        skip("resident size means nothing under a sanitizer");
    } else {
        check_files(source, "wide.rlf", "1");
        check_files(source, "wide.rlf", "2");
        /* and texts of hooks: where they are made, packed and received */
        check_files(source, "texts.rlf", "1");
        check_files(source, "texts.rlf", "2");
        /* and those made ahead, which a checkpoint has */
        check_files(source, "made.rlf", "1");
        check_files(source, "made.rlf", "2");
        check_samples(source);
        check_journal(source);
    }
    char path[4096];
    snprintf(path, sizeof path, "%s/tests/e2e/tiny.rlf", source);
    rlf_session *s = rlf_session_open(path);
    rlf_session_set(s, "--steps", "6");
    if (rlf_session_ready(s) != RLF_RESULT_OK)
        bail("%s", rlf_session_message(s));
    rlf_memory memory = {.arena = s->arena};
    rlf_run_memory(s->run, &memory);
    uint64_t device = 0, host = 0;
    for (size_t i = 0; i < memory.rows.count; i++) {
        device += memory.rows.data[i].device;
        host += memory.rows.data[i].host;
    }
    is_int((int64_t)rlf_run_device_bytes(s->run), (int64_t)device,
           "before the first step the device holds what is printed");
    rlf_result result;
    while ((result = rlf_session_step(s)) == RLF_RESULT_OK)
        continue;
    is_int(result, RLF_RESULT_END, "six steps");
    is_int((int64_t)rlf_run_device_bytes(s->run), (int64_t)device,
           "and after the last one too");
    uint64_t peak = resident_peak();
    if (getenv("RLFLOW_TEST_QUICK"))
        skip("resident size means nothing under a sanitizer");
    else if (!ok(peak <= device + host + ((uint64_t)64 << 20),
                 "the resident size stays below the print and 64 MB"))
        note("peak %llu, printed %llu", (unsigned long long)peak,
             (unsigned long long)(device + host));
    rlf_session_close(s);
    for (size_t i = 0; i < RLF_COUNT(many); i++)
        check_many(source, &many[i]);
    check_shared(source);
    return done();
}

/* A run that reaches its caps (full batch, long responses, a hook that fills
 * its memory) takes what `rlflow check` prints: its blocks to the byte, its
 * resident size at most the print and 64 MB, and at least 80 % of it. Long
 * responses are greedy: samples of a model that knows nothing soon meet an end.
 * And what check says of work is what the kernels are asked to do. */
#include "engine/api/session.h"
#include "engine/base/vec.h"
#include "nodes/table.h"
#include "tests/put.h"
#include "tests/unit/arith_tokens.h"
#include "tests/unit/counting.h"
#include "tests/unit/resident.h"

#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROMPT \
    "8 minus 6 minus 4 plus 2 minus 8 plus 7 minus 3 plus %d minus %d ="

/* As many tokens, of which prompts of other numbers share few: readings compute
 * long beginnings that prompts share once. */
#define APART \
    "%d minus %d plus 8 minus 6 minus 4 plus 2 minus 8 plus 7 minus 3 ="
#define LINE(prompt) "{\"question\": \"" prompt "\", \"answer\": \"1\"}\n"

/* Rows whose prompts have equally many tokens. */
static void
put_data(rlf_arena *arena, int rows, bool apart)
{
    rlf_buf text = {0};
    for (int i = 0; i < rows; i++)
        rlf_buf_printf(&text, apart ? LINE(APART) : LINE(PROMPT), i / 8 % 8,
                       i % 8);
    put(arena, "rows.jsonl", text.p);
    rlf_buf_free(&text);
}

/* Returns the number of tokens of each prompt. */
static int
prompt_length(rlf_arena *arena)
{
    return arith_tokens(rlf_arena_printf(arena, PROMPT, 1, 2));
}

/* RESPONSES: the arguments of generate that say how many and how long. */
static const char *
program(rlf_arena *arena, const char *name, const char *model, int max_prompt,
        int batch, const char *responses)
{
    const char *source = getenv("RLFLOW_SOURCE");
    return put(arena, name,
               rlf_arena_printf(
                   arena,
                   "data prompts = jsonl(\"rows.jsonl\", prompt: \"question\", "
                   "answer: \"answer\", max_prompt: %d)\n"
                   "model actor = lm(llama(%s), tokenizer: "
                   "\"%s/examples/models/arith\", optimizer: adamw(lr: 1e-4))\n"
                   "model critic = copy(actor, head: scalar, "
                   "optimizer: adamw(lr: 1e-4))\n"
                   "model ref = copy(actor)\n"
                   "hook judge = lua(\"full.lua\", memory: 16MB)\n"
                   "flow full(batch: prompts[%d]) {\n"
                   "    roll = actor.generate(batch, %s)\n"
                   "    score = judge(roll)\n"
                   "    kl = roll.logprob - ref.logprob(roll)\n"
                   "    v = critic.value(roll)\n"
                   "    a = roll.at_last(score) - 0.1 * kl - v\n"
                   "    for mini in roll.split(parts: 2) {\n"
                   "        update actor minimize mean(-a * "
                   "exp(actor.logprob(mini) - mini.logprob) over batch)\n"
                   "        update critic minimize "
                   "mean((critic.value(mini) - v - a) ^ 2 over batch)\n"
                   "    }\n"
                   "    ref := 0.5 * ref + 0.5 * actor\n"
                   "    report score = mean(score over batch)\n"
                   "}\n",
                   max_prompt, model, source, batch, responses));
}

/* ---- memory ---- */

static void
sum_rows(const rlf_memory *memory, uint64_t *device, uint64_t *host,
         uint64_t *step)
{
    for (size_t i = 0; i < memory->rows.count; i++) {
        const rlf_memory_row *row = &memory->rows.data[i];
        *device += row->device;
        *host += row->host;
        if (strcmp(row->owner, "step") == 0)
            *step = row->host;
    }
}

static void
test_memory(rlf_arena *arena)
{
    bool quick = getenv("RLFLOW_TEST_QUICK");
    const char *path = program(
        arena, "full.rlf",
        quick ? "layers: 1, hidden: 32, heads: 4, ffn: 48, context: 160"
              : "layers: 2, hidden: 128, heads: 4, ffn: 352, context: 160",
        prompt_length(arena), 160, "max_new: 80, greedy: true");
    rlf_session *s = rlf_session_open(path);
    rlf_session_set(s, "--steps", "2");
    if (rlf_session_ready(s) != RLF_RESULT_OK)
        bail("%s", rlf_session_message(s));
    rlf_memory memory = {.arena = s->arena};
    rlf_run_memory(s->run, &memory);
    uint64_t device = 0, host = 0, step = 0, pool = 0;
    sum_rows(&memory, &device, &host, &step);
    is_int((int64_t)rlf_run_device_bytes(s->run), (int64_t)device,
           "before the first step the device holds what is printed");
    rlf_result result;
    while ((result = rlf_session_step(s)) == RLF_RESULT_OK)
        if (rlf_run_pool_bytes(s->run) > pool)
            pool = rlf_run_pool_bytes(s->run);
    if (!is_int(result, RLF_RESULT_END, "all steps"))
        note("%s", rlf_session_message(s));
    is_int((int64_t)rlf_run_device_bytes(s->run), (int64_t)device,
           "and never held more");
    ok(pool <= step && pool >= step * 7 / 10,
       "sets and columns took %.2f MB, printed were %.2f",
       (double)pool / (1 << 20), (double)step / (1 << 20));
    uint64_t print = device + host, peak = resident_peak();
    if (quick) {
        skip("resident size means nothing under a sanitizer");
    } else {
        ok(peak <= print + ((uint64_t)64 << 20),
           "resident were at most %.0f MB, printed %.0f",
           (double)peak / (1 << 20), (double)print / (1 << 20));
        ok(peak >= print * 8 / 10, "and at least 80 %% of the print");
    }
    rlf_session_close(s);
}

/* ---- work ---- */

static void
test_work(rlf_arena *arena)
{
    const char *path =
        program(arena, "work.rlf",
                "layers: 2, hidden: 32, heads: 4, kv_heads: 2, ffn: 48, "
                "context: 96",
                prompt_length(arena), 12, "n: 3, max_new: 1");
    rlf_session *s = rlf_session_open(path);
    if (rlf_session_check(s) != RLF_RESULT_OK)
        bail("%s", rlf_session_message(s));
    const rlf_plan_options plan_options = {.ranks = 1};
    rlf_kernels kernels = counting_kernels(rlf_kernels_cpu());
    const rlf_run_options options = {
        .threads = 1, .kernels = &kernels, .log = &s->logging.log};
    rlf_plan *plan;
    rlf_run *run;
    rlf_err err = RLF_ERR_NONE;
    if (rlf_plan_make(s->graph, &plan_options, s->arena, &err, &plan) < 0 ||
        rlf_run_open(plan, &options, &err, &run) < 0)
        bail("%s", err.sentence);
    rlf_opened opened = rlf_run_opened(run);
    rlf_sizes sizes = rlf_opened_sizes(&opened, s->arena);
    rlf_cost said = {0};
    for (size_t i = 0; i < s->graph->nodes.count; i++) {
        rlf_cost cost = rlf_opened_cost(&opened, &sizes, (int)i);
        if (s->graph->nodes.data[i].class->program == RLF_PROGRAM_EXPR)
            continue; /* on the host */
        said.flops += cost.flops;
        said.read += cost.read + cost.written;
        if (s->graph->nodes.data[i].class->work != RLF_WORK_HOST)
            said.calls += cost.calls;
    }
    counting = (counted){0};
    if (rlf_run_step(run, &err) < 0)
        bail("%s", err.sentence);
    ok(counting.flops > 0 && said.flops == counting.flops,
       "%.0f operations of a step were said, %.0f are counted", said.flops,
       counting.flops);
    ok(said.read == counting.bytes, "%.0f bytes were said, %.0f are counted",
       said.read, counting.bytes);
    is_int((int64_t)said.calls, (int64_t)counting.calls,
           "as many operations are started as were said");
    rlf_run_close(run);
    rlf_session_close(s);
}

int
main(void)
{
    if (!getenv("RLFLOW_SOURCE"))
        skip_all("RLFLOW_SOURCE is not set");
    make_root();
    rlf_arena *arena = rlf_arena_new();
    put_data(arena, 256, false);
    put(arena, "full.lua",
        "return function(sample)\n"
        "  local t = {}\n"
        "  local n = sample.prompt:find('7 minus 7 =', 1, true) and 14 or 0\n"
        "  for i = 1, n do t[i] = string.rep('x', 1000000 + i) end\n"
        "  return sample.length\n"
        "end\n");
    test_memory(arena);
    put_data(arena, 256, true);
    test_work(arena);
    rlf_arena_free(arena);
    return done();
}

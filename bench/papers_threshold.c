/* RLHFuse's threshold: with how many samples of a generation left they are
 * gathered on few replicas, while the others begin to read what is complete.
 *
 *     bench/papers threshold [STEPS]
 *
 * PPO on 256 H100: an actor and a reference of 13B, a critic and a reward model
 * of 13B or of 34B, all of tp 8 and dp 32 on all devices; 512 samples with
 * prompts of 256 tokens and lognormal responses of 250 on average, up to 1,024
 * or 2,048. Each number is the simulation's (engine/simulate), with the
 * controller of a run: seconds from the beginning of a step to the end of the
 * last reading. The paper's best is 20 % left.
 */
#include "bench/papers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/api/machines/planned_device.h"
#include "engine/api/simulating/trial.h"
#include "engine/api/simulating/workload.h"
#include "nodes/table.h"
#include "tests/papers/settings.h"

enum { BATCH = 512, PROMPT = 256, SEATS = 32, WARM = 1, STEPS = 6, SHARES = 7 };

static const char responses[] = "lognormal:250,1";
static const int shares[SHARES] = {0, 5, 10, 15, 20, 25, 30};

/* The row of the run's own threshold stands behind those of the shares. */
enum { OWN = SHARES };

static const char places[] =
    "place {\n"
    "    actor on 0..255 (tp: 8, dp: 32, zero: 1)\n"
    "    actor.generate on 0..255 (tp: 8, dp: 32%s)\n"
    "    critic on 0..255 (tp: 8, dp: 32, zero: 1, recompute: true)\n"
    "    ref on 0..255 (tp: 8, dp: 32)\n"
    "    judge on 0..255 (tp: 8, dp: 32)\n"
    "}\n";

/* What a step took, in seconds. */
typedef struct spent {
    double step;
    double sampled; /* seconds to the end of the generation */
    double read;    /* seconds to the end of the last reading */
    double reading; /* seconds that a rank reads, on average */
    double moved;   /* samples that went to another replica */
} spent;

static int
must(rlf_status status, const rlf_err *err)
{
    if (status >= 0)
        return 0;
    fprintf(stderr, "%s\n", err->sentence);
    exit(1);
}

/* Means over the steps that are counted. */
static void
measure(const rlf_trial *t, spent *out)
{
    const rlf_simulated *is = &t->out;
    uint32_t n = is->steps - WARM;
    *out = (spent){.step = t->account.step,
                   .moved = rlf_simulated_counts(is, WARM).moved};
    for (uint32_t k = WARM; k < is->steps; k++) {
        double from = is->ends[k - 1], to = is->ends[k];
        double sampled = from, read = from;
        for (size_t i = 0; i < t->timeline.spans.count; i++) {
            const rlf_span_spent *s = &t->timeline.spans.data[i];
            bool reads = s->kind == RLF_SPENT_READ;
            if ((!reads && s->kind != RLF_SPENT_GENERATE) || s->from < from ||
                s->to > to)
                continue;
            if (reads)
                out->reading += (s->to - s->from) / t->timeline.ranks / n;
            else
                sampled = fmax(sampled, s->to);
            read = fmax(read, s->to);
        }
        out->sampled += (sampled - from) / n;
        out->read += (read - from) / n;
    }
}

static void
simulate(const char *path, uint32_t steps, spent *out)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_session *s = rlf_session_open(path);
    rlf_session_workload workload;
    rlf_outline *outline = NULL;
    rlf_trial trial = {0};
    rlf_err err = RLF_ERR_NONE;
    rlf_session_set(s, "--cluster", "h100x8:32");
    rlf_session_set(s, "--lengths", responses);
    if (rlf_session_plan(s) != RLF_RESULT_OK) {
        fprintf(stderr, "%s\n", rlf_session_message(s));
        exit(1);
    }
    const rlf_speeds speeds = rlf_planned_speeds(s);
    must(rlf_outline_open(s->graph, rlf_planned_kernels(s, arena), &err,
                          &outline),
         &err);
    must(rlf_session_workload_make(s, outline, &err, &workload), &err);
    must(rlf_trial_open(s, outline, s->plan, arena, &err, &trial), &err);
    must(rlf_trial_fits(&trial, &err), &err);
    const rlf_trial_options options = {.speeds = &speeds,
                                       .workload = &workload.workload,
                                       .seed = 1,
                                       .warm = WARM,
                                       .steps = steps};
    must(rlf_trial_run(&trial, &options, &err), &err);
    measure(&trial, out);
    rlf_trial_close(&trial);
    rlf_outline_close(outline);
    rlf_arena_free(arena);
    rlf_session_close(s);
}

/* The program with so many samples left, -1: with what the run finds. */
static void
write_program(const char *path, const papers_program *actor,
              const papers_program *critic, papers_lengths lengths, int left,
              bool seats)
{
    rlf_buf text = {0}, words = {0};
    if (left >= 0)
        rlf_buf_printf(&words, ", migrate: %d", left);
    if (left > 0 && seats)
        rlf_buf_printf(&words, ", seats: %d", SEATS);
    papers_write_text(&text, lengths, actor->directory, critic->directory);
    rlf_buf_printf(&text, places, words.n ? words.p : "");
    FILE *file = fopen(path, "w");
    if (!file || fputs(text.p, file) < 0 || fclose(file) != 0) {
        fprintf(stderr, "cannot write %s\n", path);
        exit(1);
    }
    rlf_buf_free(&text);
    rlf_buf_free(&words);
}

static void
show(papers_size critic, int most, bool seats, uint32_t steps)
{
    const papers_lengths lengths = {BATCH, PROMPT, most};
    papers_program actor, other;
    char path[128];
    spent first = {0};
    papers_write(PAPERS_13B, lengths, &actor);
    papers_write(critic, lengths, &other);
    snprintf(path, sizeof path, "%s/threshold.rlf", actor.directory);
    for (int k = 0; k < SHARES + !seats; k++) {
        char share[16] = "its own";
        int left = k == OWN ? -1 : (BATCH * shares[k] + 99) / 100;
        if (k != OWN)
            snprintf(share, sizeof share, "%d %%", shares[k]);
        write_program(path, &actor, &other, lengths, left, seats);
        spent is;
        simulate(path, steps, &is);
        if (!k)
            first = is;
        printf("| %s | %d | %s | %s | %.0f | %.2f | %.2f | %.3f | %.2f | "
               "%.2f |\n",
               papers_models[critic].name, most, seats ? "32" : "free", share,
               is.moved, is.sampled, is.read, first.read / is.read, is.reading,
               is.step);
        fflush(stdout);
    }
    unlink(path);
    papers_remove(&actor);
    papers_remove(&other);
}

int
papers_threshold(int argc, char **argv)
{
    static const papers_size critics[] = {PAPERS_13B, PAPERS_34B};
    static const int mosts[] = {1024, 2048};
    int steps = argc ? atoi(argv[0]) : STEPS;
    if (steps < 1 || steps > 1000) {
        fprintf(stderr, "steps are 1 to 1000\n");
        return 2;
    }
    printf("13B actor and reference on 256 H100, %d samples, %s, seconds of a "
           "step; gain: generation and readings with none gathered, by those "
           "of this row; the paper: 1.2 to 1.6 at 20 %% left\n\n"
           "| critic | most | seats | left | moved | generation | and readings "
           "| gain | a rank reads | step |\n"
           "|---|---|---|---|---|---|---|---|---|---|\n",
           BATCH, responses);
    for (int c = 0; c < 2; c++)
        for (int m = 0; m < 2; m++)
            for (int seats = 0; seats < 2; seats++)
                show(critics[c], mosts[m], seats, (uint32_t)steps);
    printf("\nComplete samples are read without gathering too, so with none "
           "gathered the readings end soon after the generation. Where all "
           "samples have a seat, gathering only makes turns longer: they read "
           "the keys and values of more and of the longest samples.\n");
    return 0;
}

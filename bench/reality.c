/* This sets simulations beside runs: PPO and GRPO of small models under plans
 * for 1, 2 and 4 ranks of this machine, by a profile that `rlflow
 * profile` has measured before.
 *
 *     bench/reality RLFLOW [STEPS [ppo | grpo]]
 *
 * The simulation knows the profile and its lengths, nothing of the runs. A step
 * is by the clock, the median of STEPS (15) behind three; what a rank is busy
 * is processor time of its thread. All plans are run in three rounds, of which
 * the middle one of each plan counts. Other programs of the machine are to stay
 * off its cores meanwhile (chrt -r 10, as root).
 *
 * Beside the plans below are those that `rlflow plan --search` finds for 2 and
 * for 4 ranks by the same profile; how they compare with flatten and separate
 * is printed in the end.
 *
 * Before each round two threads on two cores answer each other: where a host
 * moves virtual cores, that takes twice as long at some times as at others, and
 * so do plans that meet often. A profile holds for the time it was measured
 * at. */
#define _GNU_SOURCE
#include "engine/api/machines/planned_device.h"
#include "engine/api/machines/profile.h"
#include "engine/api/simulating/trial.h"
#include "engine/api/simulating/workload.h"
#include "engine/base/clock.h"
#include "engine/base/vec.h"
#include "engine/dev/futex.h"
#include "engine/timing/fit.h"
#include "nodes/table.h"
#include "tests/fit_errors.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    WARM = 3,
    ROUNDS = 3, /* rounds of all plans: a machine is not as fast at all times */
    MOST_STEPS = 200,
    MOST_RANKS = 4,
    MOST_ROWS = 64,
    PLACED = 2048, /* bytes of a command, or of the rows that are found */
};

typedef struct plan {
    const char *name;
    int ranks;
    const char *rows; /* rows of a place block of PPO (lines of the critic are
                         left out for GRPO, which has none), or a strategy */
} plan;

static const plan plans[] = {
    {"one rank", 1, ""},
    {"one rank, small micro-batches", 1,
     "actor on 0\nactor.update on 0 (tokens: 300)\n"},
    {"flatten", 2, ""},
    {"separate", 2, "separate"},
    {"tensor parallel", 2,
     "actor on 0..1 (tp: 2)\ncritic on 0..1 (tp: 2)\nref on 0..1 (tp: 2)\n"},
    {"stages", 2,
     "actor on 0..1 (pp: 2)\ncritic on 0..1 (pp: 2)\nref on 0..1 (pp: 2)\n"},
    {"tp for the update alone", 2,
     "actor on 0..1\nactor.update on 0..1 (tp: 2)\n"},
    {"reading apart", 2, "actor on 0..1\nref on 1\ncritic on 1\n"},
    {"reading on one", 2, "actor on 0\nref on 1\ncritic on 1\n"},
    {"flatten", 4, ""},
    {"separate", 4, "separate"},
    {"tensor parallel", 4,
     "actor on 0..3 (tp: 4)\ncritic on 0..3 (tp: 4)\nref on 0..3 (tp: 4)\n"},
    {"stages", 4,
     "actor on 0..3 (pp: 4)\ncritic on 0..3 (pp: 4)\nref on 0..3 (pp: 4)\n"},
    {"pairs", 4,
     "actor on 0..3 (tp: 2)\ncritic on 0..3 (pp: 2)\nref on 0..3\n"},
    {"halves", 4, "actor on 0..1\nref on 2..3\ncritic on 2..3\n"},
};

static const char found[] = "found by the search";

/* A plan of a program, as it was said and as it was. */
typedef struct row {
    const char *program;
    const plan *plan;
    double said, seen, spread; /* spread: of the rounds */
    double rounds[ROUNDS], rounds_busy[MOST_RANKS][ROUNDS];
    double said_busy[MOST_RANKS], seen_busy[MOST_RANKS];
} row;

static char root[] = "/tmp/rlflow-reality-XXXXXX";

static void
must(bool good, const char *what, rlf_session *s)
{
    if (good)
        return;
    fprintf(stderr, "bench/reality: %s%s%s\n", what, s ? ":\n" : "",
            s ? rlf_session_message(s) : "");
    exit(1);
}

static int
by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* ---- two cores that answer each other ---- */

#define ANSWERS 200000

static rlf_futex asked, answered;

/* Stays on the n-th core of those that this program may use. */
static void
stay_on(int n)
{
    cpu_set_t all, one;
    CPU_ZERO(&one);
    must(sched_getaffinity(0, sizeof all, &all) == 0, "no cores", NULL);
    int seen = 0;
    for (size_t i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &all) && seen++ == n)
            CPU_SET(i, &one);
    if (CPU_COUNT(&one))
        pthread_setaffinity_np(pthread_self(), sizeof one, &one);
}

static void *
answer(void *unused)
{
    stay_on(1);
    for (uint32_t i = 0; i < ANSWERS; i++) {
        rlf_futex_wait(&asked, i, true, RLF_FOREVER);
        rlf_futex_ring(&answered);
    }
    return unused;
}

static void *
ask(void *seconds)
{
    stay_on(0);
    uint64_t begin = rlf_clock_now();
    for (uint32_t i = 0; i < ANSWERS; i++) {
        rlf_futex_ring(&asked);
        rlf_futex_wait(&answered, i, true, RLF_FOREVER);
    }
    *(double *)seconds = 1e-9 * (double)(rlf_clock_now() - begin) / ANSWERS;
    return NULL;
}

/* Seconds of a question and its answer. */
static double
round_trip(void)
{
    pthread_t threads[2];
    double seconds = 0;
    asked = answered = (rlf_futex){0};
    must(pthread_create(&threads[0], NULL, answer, NULL) == 0 &&
             pthread_create(&threads[1], NULL, ask, &seconds) == 0,
         "no threads", NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return seconds;
}

/* ---- plans, as said and as seen ---- */

/* A session with the plan, as a file. */
static rlf_session *
open_plan(const char *program, const plan *p, bool critic)
{
    char path[64], ranks[16];
    snprintf(path, sizeof path, "%s/plan.rlf", root);
    FILE *file = fopen(path, "w");
    must(file != NULL, "no room for a plan", NULL);
    if (*p->rows && !strchr(p->rows, '\n'))
        fprintf(file, "place %s\n", p->rows);
    else
        fputs("place {\n", file);
    for (const char *line = p->rows; strchr(line, '\n');
         line = strchr(line, '\n') + 1)
        if (critic || strncmp(line, "critic", 6) != 0)
            fprintf(file, "    %.*s\n", (int)strcspn(line, "\n"), line);
    if (!*p->rows || strchr(p->rows, '\n'))
        fputs("}\n", file);
    fclose(file);
    rlf_session *s = rlf_session_open(program);
    snprintf(ranks, sizeof ranks, "%d", p->ranks);
    rlf_session_set(s, "--ranks", ranks);
    if (*p->rows)
        rlf_session_set(s, "--plan", path);
    return s;
}

/* Returns the plan that the search finds for so many ranks. */
static const plan *
search(const char *rlflow, const char *program, const char *profile, int ranks)
{
    char command[PLACED], line[256], rows[PLACED] = "";
    size_t n = 0;
    bool inside = false;
    snprintf(command, sizeof command,
             "'%s' plan '%s' --cluster this:%d --search --like '%s' "
             "2>'%s/search.log'",
             rlflow, program, ranks, profile, root);
    FILE *pipe = popen(command, "r");
    must(pipe != NULL, "no search", NULL);
    while (fgets(line, sizeof line, pipe)) {
        const char *word = line + strspn(line, " ");
        inside = inside && *word != '}';
        if (inside) {
            must(n + strlen(word) < sizeof rows, "a plan is too long", NULL);
            n += (size_t)snprintf(&rows[n], sizeof rows - n, "%s", word);
        }
        inside = inside || !strncmp(line, "place {", 7);
    }
    must(pclose(pipe) == 0 && n, "rlflow plan --search has failed", NULL);
    plan *out = rlf_calloc(1, sizeof *out);
    *out = (plan){found, ranks, strdup(rows)};
    must(out->rows != NULL, "no memory", NULL);
    return out;
}

static void
simulate(rlf_session *s, const char *profile, row *r)
{
    char cluster[16];
    rlf_arena *arena = rlf_arena_new();
    rlf_outline *outline;
    rlf_trial trial;
    snprintf(cluster, sizeof cluster, "this:%d", r->plan->ranks);
    rlf_session_set(s, "--cluster", cluster);
    rlf_session_set(s, "--like", profile);
    must(rlf_session_plan(s) == RLF_RESULT_OK, r->plan->name, s);
    const rlf_speeds speeds = rlf_planned_speeds(s);
    rlf_session_workload workload;
    const rlf_trial_options options = {.speeds = &speeds,
                                       .workload = &workload.workload,
                                       .seed = 1,
                                       .warm = 2,
                                       .steps = 10};
    must(rlf_outline_open(s->graph, rlf_planned_kernels(s, arena), &s->err,
                          &outline) >= 0 &&
             rlf_session_workload_make(s, outline, &s->err, &workload) >= 0 &&
             rlf_trial_open(s, outline, s->plan, arena, &s->err, &trial) >= 0 &&
             rlf_trial_run(&trial, &options, &s->err) >= 0,
         r->plan->name, s);
    r->said = trial.account.step;
    for (int i = 0; i < r->plan->ranks; i++)
        r->said_busy[i] = trial.account.work[i];
    rlf_trial_close(&trial);
    rlf_arena_free(arena);
    rlf_outline_close(outline);
    rlf_session_close(s);
}

static void
run(rlf_session *s, int steps, int round, row *r)
{
    double took[MOST_STEPS], busy[MOST_RANKS][MOST_STEPS];
    s->collector = rlf_collector_new();
    for (int i = -WARM; i < steps; i++) {
        must(rlf_session_step(s) == RLF_RESULT_OK, r->plan->name, s);
        for (int k = 0; k < r->plan->ranks && i >= 0; k++)
            busy[k][i] = rlf_collector_busy(s->collector, k);
        rlf_collector_end(s->collector, 1, false);
        if (i >= 0)
            took[i] = s->steps.seconds;
    }
    qsort(took, (size_t)steps, sizeof *took, by_size);
    r->rounds[round] = took[steps / 2];
    for (int k = 0; k < r->plan->ranks; k++) {
        qsort(busy[k], (size_t)steps, sizeof *busy[k], by_size);
        r->rounds_busy[k][round] = busy[k][steps / 2];
    }
    rlf_session_close(s);
}

static void
close_row(row *r)
{
    qsort(r->rounds, ROUNDS, sizeof *r->rounds, by_size);
    r->seen = r->rounds[ROUNDS / 2];
    r->spread = (r->rounds[ROUNDS - 1] - r->rounds[0]) / r->seen;
    for (int k = 0; k < r->plan->ranks; k++) {
        qsort(r->rounds_busy[k], ROUNDS, sizeof *r->rounds_busy[k], by_size);
        r->seen_busy[k] = r->rounds_busy[k][ROUNDS / 2];
    }
}

static double
busy_error(const row *r, double *said, double *seen)
{
    double error = 0;
    *said = *seen = 0;
    for (int k = 0; k < r->plan->ranks; k++) {
        *said += r->said_busy[k] / r->plan->ranks;
        *seen += r->seen_busy[k] / r->plan->ranks;
        error += fabs(r->said_busy[k] - r->seen_busy[k]);
    }
    return error / r->plan->ranks / *seen;
}

static void
put_row(const row *r)
{
    double said, seen, error = busy_error(r, &said, &seen);
    printf("%-5s %d  %-30s %9.2f %9.2f %+7.1f %% %6.1f %% %9.2f %9.2f %7.1f "
           "%%\n",
           r->program, r->plan->ranks, r->plan->name, 1e3 * r->said,
           1e3 * r->seen, 100 * (r->said / r->seen - 1), 100 * r->spread,
           1e3 * said, 1e3 * seen, 100 * error);
    fflush(stdout);
}

/* Of pairs that differ by more than 5 %: those in the order that was said less
 * the others, as a part of all (Kendall). */
static double
order(const row *rows, int n, int ranks, int *pairs)
{
    int right = 0;
    *pairs = 0;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++) {
            const row *a = &rows[i], *b = &rows[k];
            if (strcmp(a->program, b->program) != 0 ||
                (ranks && (a->plan->ranks != ranks || b->plan->ranks != ranks)))
                continue;
            if (fabs(log(a->seen / b->seen)) <= log(1.05))
                continue;
            ++*pairs;
            right += (a->seen < b->seen) == (a->said < b->said) ? 1 : -1;
        }
    return *pairs ? (double)right / *pairs : 1;
}

static void
put_errors(const row *rows, int n)
{
    printf("\nranks  plans  error of the step: mean, worst   of busy: mean, "
           "worst   rank correlation   order of pairs 5 %% apart\n");
    for (int ranks = 0; ranks <= MOST_RANKS; ranks += ranks < 2 ? 1 : 2) {
        double said[MOST_ROWS], seen[MOST_ROWS], busy = 0, worst = 0, a, b;
        int m = 0, pairs;
        for (int i = 0; i < n; i++) {
            if (ranks && rows[i].plan->ranks != ranks)
                continue;
            double error = busy_error(&rows[i], &a, &b);
            busy += error;
            worst = fmax(worst, error);
            said[m] = rows[i].said;
            seen[m++] = rows[i].seen;
        }
        if (!m)
            continue;
        fit_errors e = fit_errors_of(said, seen, m);
        double right = order(rows, n, ranks, &pairs);
        printf("%-5s %6d %20.1f %% %6.1f %% %15.1f %% %6.1f %% %14.2f %14.2f "
               "of %d\n",
               ranks == 0   ? "all"
               : ranks == 1 ? "1"
               : ranks == 2 ? "2"
                            : "4",
               m, 100 * e.mean, 100 * e.worst, 100 * busy / m, 100 * worst,
               e.rank, right, pairs);
    }
}

/* The plan that was found, beside flatten and separate on as many ranks. */
static void
put_found(const row *rows, int n)
{
    printf("\nfound by the search, how much shorter than another plan: as "
           "said, as seen\n");
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n && rows[i].plan->name == found; k++) {
            const row *a = &rows[i], *b = &rows[k];
            if (a->program == b->program && a->plan->ranks == b->plan->ranks &&
                (!strcmp(b->plan->name, "flatten") ||
                 !strcmp(b->plan->name, "separate")))
                printf("%-5s %d  %-10s %+7.1f %% %+7.1f %%\n", a->program,
                       a->plan->ranks, b->plan->name,
                       100 * (1 - a->said / b->said),
                       100 * (1 - a->seen / b->seen));
        }
}

int
main(int argc, char **argv)
{
    static const char *const programs[] = {"ppo", "grpo"};
    row rows[MOST_ROWS] = {{0}};
    int n = 0, steps = argc > 2 ? atoi(argv[2]) : 15;
    const plan *all[MOST_ROWS];
    must(argc > 1 && steps > 0 && steps <= MOST_STEPS,
         "bench/reality RLFLOW [STEPS, at most 200, [ppo | grpo]]", NULL);
    setenv("RLFLOW_STDLIB", RLF_SOURCE_DIR "/stdlib", 0);
    must(mkdtemp(root) != NULL, "no directory", NULL);
    printf("program, ranks, plan: milliseconds of a step as said and as seen, "
           "error, range of the rounds;\nof a rank at work as said and as "
           "seen, mean error by rank\n\n");
    for (size_t i = 0; i < RLF_COUNT(programs); i++) {
        char program[512], profile[64], command[PLACED];
        if (argc > 3 && strcmp(argv[3], programs[i]) != 0)
            continue;
        snprintf(program, sizeof program, "%s/bench/reality_%s.rlf",
                 RLF_SOURCE_DIR, programs[i]);
        snprintf(profile, sizeof profile, "%s/%s.json", root, programs[i]);
        snprintf(
            command, sizeof command,
            "'%s' profile '%s' --ranks 4 --time-limit 20 -o '%s' 2>'%s.log'",
            argv[1], program, profile, profile);
        must(system(command) == 0, "rlflow profile has failed", NULL);
        bool critic = strcmp(programs[i], "ppo") == 0;
        double trips[ROUNDS + 1] = {[ROUNDS] = round_trip()};
        int first = n;
        size_t n_plans = RLF_COUNT(plans);
        for (size_t k = 0; k < n_plans; k++)
            all[k] = &plans[k];
        for (int ranks = 2; ranks <= MOST_RANKS; ranks *= 2)
            all[n_plans++] = search(argv[1], program, profile, ranks);
        for (size_t k = 0; k < n_plans; k++, n++) {
            rows[n] = (row){.program = programs[i], .plan = all[k]};
            simulate(open_plan(program, all[k], critic), profile, &rows[n]);
        }
        for (int round = 0; round < ROUNDS; round++) {
            trips[round] = round_trip();
            for (int k = first; k < n; k++) {
                run(open_plan(program, rows[k].plan, critic), steps, round,
                    &rows[k]);
                sleep(1); /* others of the machine may go on */
            }
        }
        for (int k = first; k < n; k++) {
            close_row(&rows[k]);
            put_row(&rows[k]);
        }
        printf("%-5s two cores answer each other in %.0f ns after the profile,",
               programs[i], 1e9 * trips[ROUNDS]);
        for (int round = 0; round < ROUNDS; round++)
            printf(" %.0f", 1e9 * trips[round]);
        printf(" before the rounds\n");
    }
    put_errors(rows, n);
    put_found(rows, n);
    printf("\nprofiles: %s\n", root);
    return 0;
}

/* rlflow plan --search: a table of placements, those of others and the one that
 * was found, in comments; then that plan as a place block. */
#include "engine/api/search.h"
#include "engine/cmd/cmd.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <unistd.h>

enum { MOVES = 400000 }; /* where --moves says nothing */

static volatile sig_atomic_t interrupted;

static void
interrupt(int signal)
{
    (void)signal;
    interrupted = 1;
}

/* On a terminal: the best so far, and how far it is proved. */
static bool
show(void *arg, double period, double bound)
{
    const bool *terminal = arg;
    if (*terminal && isfinite(period)) {
        fprintf(stderr, "\rbest step so far %.3g s", period);
        if (bound > 0)
            fprintf(stderr, ", at most %.1f %% above the best there is",
                    100 * (period / bound - 1));
        fprintf(stderr, "\033[K");
    }
    return interrupted;
}

static void
put_row(const char *name, const rlf_placing *at, double best)
{
    if (isfinite(at->period))
        printf("# %-12s %12.4g %9.2f\n", name, at->period, at->period / best);
    else
        printf("# %-12s %12s\n", name,
               isfinite(at->over) ? "no room" : "no layout");
}

static void
put_table(const rlf_session_found *f)
{
    double best = f->found.best.period;
    printf("# a step by the estimate, at the caps: seconds, and how many times "
           "that of the best\n");
    if (f->is_known)
        put_row("program", &f->program, best);
    for (int b = 0; b < RLF_BASELINES; b++)
        put_row(rlf_baseline_word((rlf_baseline)b), &f->baseline[b], best);
    put_row("search", &f->found.best, best);
    if (f->found.optimal)
        printf("# no placement of those searched is shorter\n");
    else
        printf("# none of those searched is shorter by more than %.1f %%\n",
               100 * (1 - f->found.bound / best));
    if (f->found.stopped)
        printf("# stopped: seed and moves do not give this again\n");
    printf("# %" PRId64 " placements looked at; the fullest device has %.2f "
           "GB\n",
           f->found.looks, f->memory / 1e9);
}

/* What each call takes by itself, and the weights that reach it. */
static void
put_calls(const rlf_session_found *f, rlf_arena *arena)
{
    const rlf_problem *p = &f->fronts.problem;
    rlf_estimator *e = rlf_estimator_new(p, arena);
    printf("# %-24s %-14s %3s %3s %3s %12s %12s\n", "call", "ranks", "tp", "pp",
           "dp", "seconds", "weights");
    for (int i = 0; i < p->n_calls; i++) {
        const rlf_choice *c = &p->calls[i].choices[f->found.best.choice[i]];
        char ranks[32];
        snprintf(ranks, sizeof ranks, "%d..%d", c->first,
                 c->first + c->count - 1);
        printf("# %-24s %-14s %3d %3d %3d %12.4g %12.4g\n", p->calls[i].name,
               ranks, c->tp, c->pp, c->dp, c->seconds,
               rlf_estimate_move(e, f->found.best.choice, i));
    }
}

rlf_result
rlf_cmd_search(rlf_session *s, const rlf_command_line *line)
{
    if (!s->cluster) {
        rlf_fail(&s->err, RLF_USAGE, "--search needs --cluster");
        rlf_err_hint(&s->err, "--cluster a100x8:2, or this:4");
        return rlf_session_result(RLF_USAGE);
    }
    bool terminal = isatty(STDERR_FILENO);
    const rlf_option_value *asked = &line->options[RLF_OPTION_MOVES];
    int64_t moves = asked->given ? asked->number : MOVES;
    int64_t seed = line->options[RLF_OPTION_SEED].number;
    const rlf_search_options options = {.seed = (uint64_t)seed,
                                        .moves = moves,
                                        .branches = moves,
                                        .stop = show,
                                        .arg = &terminal};
    struct sigaction was, act = {.sa_handler = interrupt};
    sigaction(SIGINT, &act, &was);
    rlf_session_found found;
    rlf_result result = rlf_session_search(s, &options, &found);
    sigaction(SIGINT, &was, NULL);
    if (terminal)
        fprintf(stderr, "\r\033[K");
    if (result != RLF_RESULT_OK)
        return result;
    put_table(&found);
    if (line->options[RLF_OPTION_VERBOSE].given)
        put_calls(&found, s->arena);
    s->plan = found.plan;
    rlf_cmd_put_plan(s);
    return RLF_RESULT_OK;
}

/* rlflow inside another program that does not train: what a program would need,
 * how long its steps would take on a cluster, where it would run best there;
 * and what a pipeline of several models would take.
 *
 *     cc plan.c $(pkg-config --cflags --libs rlflow) -o plan
 *     ./plan ppo.rlf a100x8:2 [NAME VALUE ...]
 *     ./plan - 33B:8:32,13B:4:16 5,4 1.95,2       and the table of it
 *     ./plan + ppo.rlf 60      what its pieces take here, measured for 60 s */
#include <rlflow.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int
fail(const char *message)
{
    fputs(message, stderr);
    return EXIT_FAILURE;
}

/* A session for argv[1], with the names and values behind argv[2]. */
static rlf_session *
open_session(int argc, char **argv, const char *cluster)
{
    rlf_session *s = rlf_session_open(argv[1]);
    if (cluster)
        rlf_session_set(s, "--cluster", cluster);
    for (int i = 3; i + 1 < argc; i += 2)
        rlf_session_set(s, argv[i], argv[i + 1]);
    return s;
}

/* Memory of the first rank, on this machine. */
static int
show_needs(int argc, char **argv)
{
    rlf_session *s = open_session(argc, argv, NULL);
    const rlf_need *need;
    uint64_t bytes = 0;
    if (rlf_session_dry_run(s) == RLF_RESULT_OK) {
        for (size_t i = 0; (need = rlf_session_need(s, 0, i)); i++)
            bytes += need->device;
        printf("rank 0 needs %llu bytes, which %s\n", (unsigned long long)bytes,
               rlf_session_fit(s) == RLF_RESULT_OK ? "are there"
                                                   : "are not there");
    }
    int failed = rlf_session_failed(s) ? fail(rlf_session_message(s)) : 0;
    rlf_session_close(s);
    return failed;
}

/* Not longer than this, whatever --time-limit says. */
static int
end_soon(void *arg, const rlf_progress *progress)
{
    int *looks = arg;
    return progress->phase == RLF_PHASE_SEARCH && ++*looks > 1000;
}

static int
show_cluster(int argc, char **argv)
{
    rlf_session *s = open_session(argc, argv, argv[2]);
    const rlf_simulation *m = rlf_session_simulate(s);
    const rlf_candidate *c;
    int looks = 0;
    if (m)
        printf("a step takes %.3g s on %s, with %.3g tokens a second\n",
               m->step, argv[2], m->tokens);
    if ((c = rlf_session_search(s, end_soon, &looks)))
        printf("it can take %.3g s; looked at:\n", c->step);
    for (size_t i = 0; (c = rlf_session_candidate(s, i)); i++)
        printf("  %-12s %8.3g s, %.3g bytes\n", c->name, c->step, c->memory);
    if (!rlf_session_failed(s))
        fputs(rlf_session_text(s, RLF_TEXT_PLAN), stdout);
    int failed = rlf_session_failed(s) ? fail(rlf_session_message(s)) : 0;
    rlf_session_close(s);
    return failed;
}

static int
show_schedule(char **argv)
{
    rlf_schedule *s = rlf_schedule_open();
    rlf_schedule_set(s, "--models", argv[2]);
    rlf_schedule_set(s, "--times", argv[3]);
    rlf_schedule_set(s, "--memory", argv[4]);
    const rlf_schedule_point *p = rlf_schedule_search(s, NULL, NULL);
    if (p)
        printf("%g, of at least %g; it keeps %g\n%s", p->makespan, p->bound,
               p->peak, rlf_schedule_table(s));
    int failed = p ? 0 : fail(rlf_schedule_message(s));
    rlf_schedule_close(s);
    return failed;
}

/* Prints how the models are cut, and what came of it. */
static int
show_cut(void *arg, const rlf_progress *progress)
{
    fprintf(arg, progress->done > 0 ? "%s\n" : "%s: ", progress->text);
    return 0;
}

static int
show_profile(char **argv)
{
    rlf_session *s = rlf_session_open(argv[2]);
    rlf_session_set(s, "--ranks", "1");
    rlf_session_set(s, "--time-limit", argv[3]);
    if (rlf_session_profile(s, show_cut, stderr) == RLF_RESULT_OK)
        fputs(rlf_session_text(s, RLF_TEXT_PROFILE), stdout);
    int failed = rlf_session_failed(s) ? fail(rlf_session_message(s)) : 0;
    rlf_session_close(s);
    return failed;
}

int
main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "-") == 0)
        return show_schedule(argv);
    if (argc == 4 && strcmp(argv[1], "+") == 0)
        return show_profile(argv);
    if (argc < 3)
        return fail("plan FILE.rlf CLUSTER [NAME VALUE ...]\n");
    int failed = show_needs(argc, argv);
    return failed ? failed : show_cluster(argc, argv);
}

/* rlflow inside another program: train for a few steps, watch a metric, stop
 * when it is good enough.
 *
 *     cc embed.c -lrlflow -o embed && ./embed ppo.rlf 10
 */
#include <rlflow.h>

#include <stdio.h>
#include <stdlib.h>

int
main(int argc, char **argv)
{
    rlf_session *s = rlf_session_open(argc > 1 ? argv[1] : "ppo.rlf");
    rlf_session_set(s, "--steps", argc > 2 ? argv[2] : "10");
    for (int i = 3; i + 1 < argc; i += 2)
        rlf_session_set(s, argv[i], argv[i + 1]);

    while (rlf_session_step(s) == RLF_RESULT_OK) {
        double reward = rlf_session_metric(s, "reward");
        printf("step %llu: reward %.3f\n",
               (unsigned long long)rlf_session_steps(s), reward);
        if (reward > 0.95)
            break;
    }
    int failed = rlf_session_failed(s);
    if (failed)
        fputs(rlf_session_message(s), stderr);
    rlf_session_close(s);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* A rank that fails in the middle of any collective, and what the others then
 * see: run by all ranks of a world. */
#ifndef RLF_TEST_COMM_FAULTS_H
#define RLF_TEST_COMM_FAULTS_H

#include "tests/comm_cases.h"
#include "tests/message_fault.h"

/* That of a library beside; where there is one it is defined before this. */
#ifndef FAIL_BESIDE
#define FAIL_BESIDE(at) ((void)0)
#endif

/* Every collective, with enough in it to be in the middle of something. */
static rlf_status
any_collective(rlf_group *g, int which, float *a, float *b, rlf_err *err)
{
    enum { N = 100000 };
    size_t n = (size_t)rlf_group_size(g), counts[WORLD_MOST], bytes = N * 4;
    for (size_t i = 0; i < n; i++)
        counts[i] = N / n;
    int next = (rlf_group_index(g) + 1) % (int)n;
    int before = (rlf_group_index(g) + (int)n - 1) % (int)n;
    rlf_part to = {next, a, bytes}, from = {before, b, bytes};
    switch (which) {
    case 0:
        return rlf_group_exchange(g, 1, &to, 1, &from, 1, err);
    case 1:
        return rlf_group_barrier(g, err);
    case 2:
        return rlf_group_bcast(g, 0, a, bytes, err);
    case 3:
        return rlf_group_all_gatherv(g, a, counts, b, err);
    case 4:
        return rlf_group_all_reduce(g, a, b, N, RLF_COMM_F32, RLF_COMM_SUM,
                                    err);
    default:
        return rlf_group_reduce_scatter(g, a, b, counts, RLF_COMM_F32,
                                        RLF_COMM_SUM, err);
    }
}
#define N_COLLECTIVES 6

/* Repeats the collective until it fails: the victim by itself at its message
 * number `at`, the others because of it. */
static void
fail_in(member *s, int which, int victim, int at)
{
    enum { N = 100000 };
    float *a = rlf_calloc(N, sizeof *a), *b = rlf_calloc(N, sizeof *b);
    rlf_err err = RLF_ERR_NONE;
    rlf_status status = RLF_OK;
    char said[64];
    snprintf(said, sizeof said, "rank %d fails in", victim);
    if (s->rank == victim) {
        fail_message(s->comm, at);
        FAIL_BESIDE(at);
    }
    for (int i = 0; i < 50 && status == RLF_OK; i++)
        status = any_collective(rlf_group_world(s->comm), which, a, b, &err);
    /* the buffers are this rank's own again */
    memset(a, 1, N * sizeof *a);
    memset(b, 1, N * sizeof *b);
    expect(s, status == (s->rank == victim ? RLF_ENV : RLF_PEER),
           "collective %d: status %d", which, status);
    expect(s,
           strncmp(err.sentence, said, strlen(said)) == 0 ||
               strncmp(err.sentence, "NCCL fails in", 13) == 0,
           "collective %d: '%s'", which, err.sentence);
    expect(s, err.rank == victim, "collective %d: rank %d", which, err.rank);
    if (s->rank == victim) {
        fail_message(NULL, 0);
        FAIL_BESIDE(0);
    }
    free(a);
    free(b);
}

/* The same, of a failure: what a world of ranks runs. */
typedef struct failure {
    int which, victim, at;
} failure;

TAP_FUNCTION void
run_failure(member *s, void *arg)
{
    const failure *f = arg;
    fail_in(s, f->which, f->victim, f->at);
}

#endif

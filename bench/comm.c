/* The communication layer against the machine's limits: an empty command
 * through the mailboxes, all-reduce of 64 MB against the bandwidth of copying,
 * all-reduce of 8 bytes.
 *
 *     bench/comm [RANKS ...]            thread ranks (default 1 2 4 8)
 *     mpiexec -n N bench/comm [RANKS]   N processes of RANKS ranks (default 1)
 */
#include "config.h"

#include "engine/base/clock.h"
#include "engine/base/vec.h"
#include "engine/comm/mail.h"
#include "engine/dev/cores.h"

#include <pthread.h>
#include <stdio.h>

#define LARGE ((size_t)64 << 20)
#define MOST 64

/* A rank on a thread of its own. */
typedef struct rank_thread {
    rlf_comm *comm;
    int rank, size;
    float *data;
    pthread_t thread;
} rank_thread;

static void
must(rlf_status status, const rlf_err *err)
{
    if (status < 0) {
        fprintf(stderr, "bench/comm: %s\n", err->sentence);
        exit(1);
    }
}

/* -- copying ------------------------------------------------------------ */

typedef struct copier {
    char *from, *to;
    int rounds;
    pthread_t thread;
} copier;

static void *
copy_main(void *arg)
{
    copier *c = arg;
    for (int i = 0; i < c->rounds; i++)
        memcpy(c->to, c->from, LARGE);
    return NULL;
}

/* Bytes read and written a second by n threads that copy, the best of some. */
static double
copy_bandwidth(int n)
{
    copier copiers[MOST];
    double best = 0;
    for (int i = 0; i < n; i++) {
        copiers[i] = (copier){rlf_malloc(LARGE), rlf_malloc(LARGE), 4, 0};
        memset(copiers[i].from, 1, LARGE);
        memset(copiers[i].to, 1, LARGE);
    }
    for (int round = 0; round < 5; round++) {
        uint64_t begin = rlf_clock_now();
        for (int i = 0; i < n; i++)
            pthread_create(&copiers[i].thread, NULL, copy_main, &copiers[i]);
        for (int i = 0; i < n; i++)
            pthread_join(copiers[i].thread, NULL);
        double rate =
            2.0 * 4 * (double)n * (double)LARGE / rlf_clock_since(begin);
        best = rate > best ? rate : best;
    }
    for (int i = 0; i < n; i++) {
        free(copiers[i].from);
        free(copiers[i].to);
    }
    return best;
}

/* -- what is measured, by every rank ------------------------------------- */

#define COMMANDS 3000
#define SMALLS 5000
#define LARGES 6

/* The rank's side of the dispatch: an answer to each command. */
static void
serve(rank_thread *s)
{
    char room[512];
    rlf_mail mail;
    rlf_err err = RLF_ERR_NONE;
    for (int i = 0; i < COMMANDS; i++) {
        must(rlf_mail_wait(s->comm, -1, room, &mail, &err), &err);
        must(rlf_mail_post(s->comm, RLF_CONTROLLER, room, mail.bytes, &err),
             &err);
    }
}

/* Seconds a command that all ranks answer. */
static double
dispatch(rlf_comm *controller, int size)
{
    char command[64] = "run", room[512];
    rlf_mail mail;
    rlf_err err = RLF_ERR_NONE;
    uint64_t begin = rlf_clock_now();
    for (int i = 0; i < COMMANDS; i++) {
        for (int r = 0; r < size; r++)
            must(rlf_mail_post(controller, r, command, sizeof command, &err),
                 &err);
        for (int r = 0; r < size; r++)
            must(rlf_mail_wait(controller, -1, room, &mail, &err), &err);
    }
    return rlf_clock_since(begin) / COMMANDS;
}

/* Seconds an all-reduce of n floats, the best of some rounds. */
static double
all_reduce(rank_thread *s, size_t n, int rounds, int calls)
{
    rlf_group *all = rlf_group_world(s->comm);
    rlf_err err = RLF_ERR_NONE;
    double best = 0;
    for (int round = 0; round < rounds; round++) {
        must(rlf_group_barrier(all, &err), &err);
        uint64_t begin = rlf_clock_now();
        for (int i = 0; i < calls; i++)
            must(rlf_group_all_reduce(all, s->data, s->data, n, RLF_COMM_F32,
                                      RLF_COMM_SUM, &err),
                 &err);
        double each = rlf_clock_since(begin) / calls;
        best = round == 0 || each < best ? each : best;
    }
    return best;
}

static void *
rank_main(void *arg)
{
    rank_thread *s = arg;
    serve(s);
    s->data = rlf_calloc(LARGE / sizeof *s->data, sizeof *s->data);
    memset(s->data, 0, LARGE);
    double small = all_reduce(s, 2, 5, SMALLS);
    double large = all_reduce(s, LARGE / sizeof *s->data, LARGES, 1);
    if (s->rank == 0 && s->size > 1) {
        printf("  all-reduce of 8 bytes  %8.2f us\n", 1e6 * small);
        printf("  all-reduce of 64 MB    %8.2f ms\n", 1e3 * large);
    }
    if (s->rank == 0 && s->size > 1 && !rlf_comm_launcher()) {
        int n = s->size, cores = rlf_cores_count();
        double rate = copy_bandwidth(n < cores ? n : cores);
        double bound = (3.0 * n + 1) * (double)LARGE / rate;
        printf("  of (3 n + 1) x bytes   %8.2f at %.1f GB/s\n", large / bound,
               1e-9 * rate);
    }
    rlf_err err = RLF_ERR_NONE;
    must(rlf_group_barrier(rlf_group_world(s->comm), &err), &err);
    free(s->data);
    return NULL;
}

static void
measure(int n_ranks)
{
    rlf_comm_options options = {
        .n_ranks = n_ranks, .limit = 120, .mail_slots = MOST};
    options.backend = rlf_comm_backend_launched();
    rlf_err err = RLF_ERR_NONE;
    rlf_comm_world *world;
    must(rlf_comm_world_new(&options, &world, &err), &err);
    rlf_comm *controller = rlf_comm_controller(world);
    int size = rlf_comm_world_size(world);
    const rlf_comm_caps *caps = rlf_comm_world_caps(world);
    rank_thread threads[MOST];
    if (controller)
        printf("%s: %d processes of %d ranks, %s\n", caps->name,
               caps->n_processes, n_ranks,
               caps->spins ? "spinning" : "sleeping");
    for (int i = 0; i < n_ranks; i++) {
        rlf_comm *end = rlf_comm_of(world, i);
        threads[i] = (rank_thread){
            .comm = end, .rank = rlf_comm_rank(end), .size = size};
        pthread_create(&threads[i].thread, NULL, rank_main, &threads[i]);
    }
    if (controller)
        printf("  an empty command       %8.2f us\n",
               1e6 * dispatch(controller, size));
    fflush(stdout);
    for (int i = 0; i < n_ranks; i++)
        pthread_join(threads[i].thread, NULL);
    rlf_comm_world_free(world);
}

int
main(int argc, char **argv)
{
    static const int usual[] = {1, 2, 4, 8};
    if (rlf_comm_launcher())
        measure(argc > 1 ? atoi(argv[1]) : 1);
    else if (argc > 1)
        for (int i = 1; i < argc; i++)
            measure(atoi(argv[i]));
    else
        for (size_t i = 0; i < RLF_COUNT(usual); i++)
            measure(usual[i]);
    return 0;
}

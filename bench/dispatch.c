/* This measures the cost of a node besides its work: a step of nodes that do
 * nothing, through the controller, against a call of their class.
 *
 *     bench/dispatch [RANKS ...]            thread ranks (default 1 2 4 8)
 *     mpiexec -n N bench/dispatch [RANKS]   N processes of RANKS ranks (1)
 *
 * Three programs: a chain of nodes, which are posted one behind another; as
 * many `if`s, each of which has to be answered before the next is posted; and
 * one node alone, a step that ends when every rank has said so, which between
 * processes is a round trip and compared with that of bare TCP. */
#include "config.h"

#include "engine/base/clock.h"
#include "engine/dev/cores.h"
#include "engine/sched/framing.h"
#include "engine/sched/run.h"
#include "nodes/table.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { NODES = 1000, STEPS = 30 };

static const struct {
    double one, many; /* microseconds that are wanted of an empty command */
    double above_raw; /* microseconds of a step between processes, above the
                         trip over bare TCP */
} wanted = {1, 60, 5};

static rlf_status
nothing(rlf_call *call, rlf_err *err)
{
    (void)err;
    call->branch = -1;
    return RLF_OK;
}

static const rlf_node_class empty = {.name = "empty",
                                     .program = RLF_PROGRAM_EXPR,
                                     .granularity = RLF_GRAIN_BATCH,
                                     .infer = rlf_class_no_infer,
                                     .cost = rlf_class_no_cost,
                                     .init = rlf_class_no_init,
                                     .fini = rlf_class_no_fini,
                                     .open = rlf_class_no_open,
                                     .step = nothing};
static rlf_node_class choice; /* the same in the role of an if */

static rlf_graph *
make(const rlf_node_class *class, int nodes, rlf_arena *arena,
     rlf_sources *sources)
{
    sources->arena = arena;
    rlf_graph *graph = rlf_graph_new(arena, sources);
    for (int i = 0, before = -1; i < nodes; i++) {
        rlf_value made = {.set = -1, .node = -1, .name = "x"};
        int out = rlf_graph_add_value(graph, made);
        rlf_node node = {.class = class,
                         .grain = RLF_GRAIN_BATCH,
                         .rows = -1,
                         .receiver = -1,
                         .n_inputs = before >= 0,
                         .n_outputs = 1};
        node.inputs = RLF_NEW_ARRAY(arena, int, 1);
        node.outputs = RLF_NEW_ARRAY(arena, int, 1);
        node.inputs[0] = before;
        node.outputs[0] = before = out;
        rlf_graph_add_node(graph, node);
    }
    return graph;
}

static void
must(rlf_status status, const rlf_err *err)
{
    if (status < 0) {
        fprintf(stderr, "bench/dispatch: %s\n", err->sentence);
        exit(1);
    }
}

/* Makes a world of that many ranks in each process; NULL for one rank in all.
 */
static rlf_comm_world *
make_world(int ranks)
{
    rlf_comm_options options = {.n_ranks = ranks,
                                .mail_slots = RLF_FRAME_SLOTS,
                                .mail_bytes = RLF_FRAME_BYTES};
    rlf_comm_world *world;
    rlf_err err = RLF_ERR_NONE;
    if (ranks == 1 && !rlf_comm_launcher())
        return NULL;
    options.backend = rlf_comm_backend_launched();
    must(rlf_comm_world_new(&options, &world, &err), &err);
    return world;
}

/* Microseconds of the fastest step, by process 0. */
static double
measure(const rlf_node_class *class, int nodes, rlf_comm_world *world)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_sources sources = {0};
    rlf_err err = RLF_ERR_NONE;
    int ranks = world ? rlf_comm_world_size(world) : 1;
    rlf_plan *plan;
    rlf_run *run;
    must(rlf_plan_make(make(class, nodes, arena, &sources),
                       &(rlf_plan_options){.ranks = ranks}, arena, &err, &plan),
         &err);
    rlf_run_options options = {
        .threads = world ? rlf_comm_world_local(world) : 1, .world = world};
    must(rlf_run_open(plan, &options, &err, &run), &err);
    bool leads = !world || rlf_comm_world_process(world) == 0;
    double best = 1e9;
    for (int i = 0; leads && i < STEPS * (nodes > 1 ? 1 : 100); i++) {
        uint64_t from = rlf_clock_now();
        must(rlf_run_step(run, &err), &err);
        double took = rlf_clock_since(from) * 1e6;
        best = took < best ? took : best;
    }
    if (!leads)
        must(rlf_run_follow(run, &err), &err);
    rlf_run_close(run);
    rlf_arena_free(arena);
    return best;
}

/* ---- a round trip over bare TCP, between processes 0 and 1 ---- */

enum { TRIPS = 3000, MESSAGE = 64 };

/* Process 0 listens and tells the others where; an end of the connection, or
 * -1. */
static int
connect_to(rlf_comm_world *world, rlf_err *err)
{
    int process = rlf_comm_world_process(world), one = 1;
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM, 0), end = -1;
    if (process == 0 &&
        (bind(fd, (struct sockaddr *)&at, size) != 0 || listen(fd, 1) != 0 ||
         getsockname(fd, (struct sockaddr *)&at, &size) != 0))
        perror("bench/dispatch");
    must(rlf_group_bcast(rlf_group_world(rlf_comm_of(world, 0)), 0,
                         &at.sin_port, sizeof at.sin_port, err),
         err);
    if (process == 0) {
        end = accept(fd, NULL, NULL);
        close(fd);
    } else if (process == 1 && connect(fd, (struct sockaddr *)&at, size) == 0) {
        end = fd;
    } else {
        close(fd);
    }
    if (end >= 0)
        setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return end;
}

static bool
pass_message(int fd, bool send_it, char *message)
{
    return (send_it ? send(fd, message, MESSAGE, MSG_NOSIGNAL)
                    : recv(fd, message, MESSAGE, MSG_WAITALL)) == MESSAGE;
}

/* Microseconds, the fastest; for process 0. */
static double
raw_trip(rlf_comm_world *world)
{
    rlf_err err = RLF_ERR_NONE;
    char message[MESSAGE] = "";
    bool first = rlf_comm_world_process(world) == 0;
    double best = 1e9;
    int fd = connect_to(world, &err);
    for (int i = 0; i < TRIPS && fd >= 0; i++) {
        uint64_t from = rlf_clock_now();
        if (!pass_message(fd, first, message) ||
            !pass_message(fd, !first, message))
            break;
        double took = rlf_clock_since(from) * 1e6;
        best = took < best ? took : best;
    }
    if (fd >= 0)
        close(fd);
    return best;
}

/* ---- all ---- */

static double
measure_calls(void)
{
    const rlf_node_class *volatile class = &empty;
    rlf_err err = RLF_ERR_NONE;
    rlf_call call = {0};
    uint64_t from = rlf_clock_now();
    for (int i = 0; i < NODES * STEPS; i++)
        must(class->step(&call, &err), &err);
    return rlf_clock_since(from) * 1e6 / NODES / STEPS;
}

static void
report(int in_process)
{
    rlf_comm_world *world = make_world(in_process);
    int ranks = world ? rlf_comm_world_size(world) : 1;
    bool leads = !world || rlf_comm_world_process(world) == 0;
    double want = ranks > 1 ? wanted.many : wanted.one, raw = 0;
    if (rlf_comm_launcher() && in_process == 1 && ranks > 1)
        raw = raw_trip(world);
    double node = measure(&empty, NODES, world) / NODES;
    double answer = measure(&choice, NODES, world) / NODES;
    double step = measure(&empty, 1, world);
    if (leads)
        printf("%5d %8.2f %9.2fx %11.2f %9.2fx %9.2f", ranks, node, node / want,
               answer, answer / want, step);
    if (leads && raw > 0)
        printf("; TCP there and back %.2f: %.2fx of that and %g us", raw,
               step / (raw + wanted.above_raw), wanted.above_raw);
    if (leads)
        putchar('\n');
    fflush(stdout);
    if (world)
        rlf_comm_world_free(world);
}

int
main(int argc, char **argv)
{
    static const int usual[] = {1, 2, 4, 8};
    choice = empty;
    choice.control_flow = RLF_CONTROL_FLOW_CHOICE;
    if (!rlf_comm_launcher_process())
        printf("cores: %d; a call of the class alone: %.4f us\n"
               "ranks   a node  of wanted   an answer  of wanted    a step\n",
               rlf_cores_count(), measure_calls());
    if (rlf_comm_launcher())
        report(argc > 1 ? atoi(argv[1]) : 1);
    for (int i = 0; !rlf_comm_launcher() && i < (argc > 1 ? argc - 1 : 4); i++)
        report(argc > 1 ? atoi(argv[i + 1]) : usual[i]);
    return 0;
}

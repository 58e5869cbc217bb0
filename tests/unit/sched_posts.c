/* Posts without end: a step of more nodes than any mailbox holds messages,
 * whose ranks all report, on more ranks than there are cores. Each node runs
 * once on each rank, and no mailbox overflows, the controller's included.
 * And posts that end too soon: a controller that has lost something says so at
 * once, and what. The clock is read for a node only if its time is asked for.
 */
#include "engine/graph/class.h"
#include "engine/sched/framing.h"
#include "engine/sched/run.h"
#include "tests/tap.h"

#include <stdatomic.h>

enum { NODES = 3000, RANKS = 8, STEPS = 2 };

static atomic_int ran;

static rlf_status
count(rlf_call *call, rlf_err *err)
{
    (void)err;
    call->branch = -1;
    atomic_fetch_add(&ran, 1);
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
                                     .step = count};

/* Thread ranks; NULL for one. */
static rlf_status
make_world(int ranks, rlf_err *err, rlf_comm_world **out)
{
    const rlf_comm_options options = {.n_ranks = ranks,
                                      .mail_slots = RLF_FRAME_SLOTS,
                                      .mail_bytes = RLF_FRAME_BYTES};
    *out = NULL;
    return ranks > 1 ? rlf_comm_world_new(&options, out, err) : RLF_OK;
}

/* The order is not told that this instance is done. */
static int lost = -1;

void __real_rlf_order_done(rlf_order *order, int instance, uint32_t count,
                           int branch, bool leave);
void __wrap_rlf_order_done(rlf_order *order, int instance, uint32_t count,
                           int branch, bool leave);

void
__wrap_rlf_order_done(rlf_order *order, int instance, uint32_t count,
                      int branch, bool leave)
{
    if (instance != lost)
        __real_rlf_order_done(order, instance, count, branch, leave);
}

/* Calls of the two functions that read the clock. */
static atomic_int readings;

uint64_t __real_rlf_clock_now(void);
uint64_t __wrap_rlf_clock_now(void);
double __real_rlf_clock_since(uint64_t from);
double __wrap_rlf_clock_since(uint64_t from);

uint64_t
__wrap_rlf_clock_now(void)
{
    atomic_fetch_add(&readings, 1);
    return __real_rlf_clock_now();
}

double
__wrap_rlf_clock_since(uint64_t from)
{
    atomic_fetch_add(&readings, 1);
    return __real_rlf_clock_since(from);
}

/* Nodes whose seconds the last run knows. */
static int known;

/* Steps of many nodes; what the last one returns. */
static rlf_status
steps(const rlf_node_class *class, int ranks, bool call_seconds, rlf_err *err)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_sources sources = {.arena = arena};
    rlf_graph *graph = rlf_graph_new(arena, &sources);
    for (int i = 0; i < NODES; i++)
        rlf_graph_add_node(graph, (rlf_node){.class = class,
                                             .grain = RLF_GRAIN_BATCH,
                                             .rows = -1,
                                             .receiver = -1});
    rlf_plan *plan;
    rlf_run *run = NULL;
    rlf_run_options options = {.threads = ranks, .call_seconds = call_seconds};
    rlf_status status = rlf_plan_make(
        graph, &(rlf_plan_options){.ranks = ranks}, arena, err, &plan);
    if (status >= 0)
        status = make_world(ranks, err, &options.world);
    if (status >= 0)
        status = rlf_run_open(plan, &options, err, &run);
    atomic_store(&ran, 0);
    atomic_store(&readings, 0);
    for (int i = 0; i < STEPS && status >= 0; i++)
        status = rlf_run_step(run, err);
    known = 0;
    for (int i = 0; i < NODES && status >= 0; i++)
        known += rlf_run_call_seconds(run, i) > 0;
    rlf_run_close(run);
    if (options.world)
        rlf_comm_world_free(options.world);
    rlf_arena_free(arena);
    return status;
}

static void
test(const rlf_node_class *class, int ranks)
{
    rlf_err err = RLF_ERR_NONE;
    if (steps(class, ranks, false, &err) < 0)
        note("%s", err.sentence);
    is_int(atomic_load(&ran), NODES * STEPS * ranks,
           "every node ran once on every rank");
}

static void
test_lost(const rlf_node_class *class, int ranks)
{
    rlf_err err = RLF_ERR_NONE;
    lost = NODES / 2;
    rlf_status status = steps(class, ranks, false, &err);
    lost = -1;
    ok(status == RLF_BUG && strstr(err.sentence, "nothing can run") &&
           strstr(err.sentence, class->name),
       "%d ranks: a step that nothing can end fails at once: %s", ranks,
       err.sentence);
}

/* Of one rank, which waits for nobody and so reads the clock for nothing else.
 */
static void
test_clock(const rlf_node_class *class)
{
    rlf_err err = RLF_ERR_NONE;
    steps(class, 1, false, &err);
    int unasked = atomic_load(&readings);
    is_int(known, 0, "nobody asks: no node's seconds are known");
    ok(unasked < NODES, "and the clock is not read for each: %d", unasked);
    steps(class, 1, true, &err);
    is_int(known, NODES, "who asks gets the seconds of each node");
    is_int(atomic_load(&readings) - unasked, 2 * NODES * STEPS,
           "for two readings of the clock a node");
}

int
main(void)
{
    plan(10);
    rlf_node_class choice = empty;
    choice.control_flow = RLF_CONTROL_FLOW_CHOICE;
    test(&empty, 1);
    test(&empty, RANKS);
    test(&choice, 1);
    test(&choice, RANKS);
    test_lost(&choice, 1);
    test_lost(&choice, RANKS);
    test_clock(&empty);
    return done();
}

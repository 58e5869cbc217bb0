/* These checks measure the memory and the time of the controller while a
 * generation's rows are reported one by one to three readers: both grow with
 * the rows, not with their square. Rows that all ranks need go in rounds. The
 * controller is the real one, and ranks answer at once.
 *
 * With arguments, ROWS [RANKS], it prints the time and the memory of one step,
 * for bench/RESULTS.md. */
#include "engine/base/clock.h"
#include "engine/order/control.h"
#include "engine/plan/weight_copies.h"
#include "tests/unit/order_graph.h"

#include <malloc.h>
#include <stdlib.h>

enum { EACH = 4, PIECE = 8, PARTS = 8, SEATS = 64 };

typedef struct step {
    rlf_arena *arena;
    rlf_graph *graph;
    rlf_plan plan;
    uint32_t n, *owner;
    uint32_t *done;      /* per node: rows that were computed */
    uint64_t generation; /* its command */
    const rlf_rank_command *command;
    uint32_t *made; /* per replica: of its share reported */
    double seconds;
    size_t bytes;         /* held at the end */
    /* Messages and rounds of the edge to the node on every rank. */
    int messages, rounds;
} step;

static step
make(uint32_t n, int ranks)
{
    static rlf_sources sources;
    step s = {.arena = rlf_arena_new(), .n = n};
    sources.arena = s.arena;
    s.graph = rlf_graph_new(s.arena, &sources);
    int rows = add_node(s.graph, &draw, (node_parts){BATCH});
    int roll = add_node(s.graph, &generate, (node_parts){.rows = 1, IN(rows)});
    int score = add_node(s.graph, &judge, (node_parts){.rows = 1, IN(roll)});
    add_node(s.graph, &arith, (node_parts){.rows = 1, IN(roll, score)});
    add_node(
        s.graph, &arith,
        (node_parts){.grain = RLF_GRAIN_GROUP, .rows = 1, IN(roll, score)});
    add_node(s.graph, &arith,
             (node_parts){BATCH, IN(score)}); /* on every rank */
    int *all = RLF_NEW_ARRAY(s.arena, int, ranks);
    for (int r = 0; r < ranks; r++)
        all[r] = r;
    s.plan = (rlf_plan){.graph = s.graph, .ranks = ranks};
    size_t nodes = s.graph->nodes.count;
    s.plan.place = RLF_NEW_ARRAY(s.arena, rlf_node_place, nodes);
    for (size_t i = 0; i < nodes; i++)
        s.plan.place[i] = (rlf_node_place){
            .layout =
                {.ranks = all, .n_ranks = ranks, .tp = 1, .pp = 1, .dp = ranks},
            .migrate = -1,
            .partition = s.graph->nodes.data[i].rows < 0 ? RLF_PARTITION_WHOLE
                                                         : RLF_PARTITION_ROWS};
    rlf_weight_copies_make(&s.plan, s.arena);
    s.owner = RLF_NEW_ARRAY(s.arena, uint32_t, n);
    for (uint32_t i = 0; i < n; i++)
        s.owner[i] = i / EACH;
    s.done = RLF_NEW_ARRAY(s.arena, uint32_t, nodes);
    s.made = RLF_NEW_ARRAY(s.arena, uint32_t, ranks);
    return s;
}

static void
take_run(step *s, rlf_control *c, const rlf_rank_command *command)
{
    const rlf_node *node =
        rlf_order_instance(rlf_control_order(c), command->instance)->node;
    if (node->class->work == RLF_WORK_GENERATE && command->n_shares) {
        s->command = command;
        return;
    }
    for (int i = 0; i < command->n_shares; i++) {
        const rlf_share *share = &command->shares[i];
        s->done[node->id] += share->n_rows;
        if (share->reports)
            rlf_control_tell(c, &(rlf_rank_event){.kind = RLF_EVENT_DONE,
                                                  .rank = share->rank,
                                                  .n = command->n});
    }
}

static void
take_edge(step *s, rlf_control *c, const rlf_rank_command *command)
{
    const rlf_order *order = rlf_control_order(c);
    if (command->reader < 0 ||
        rlf_order_instance(order, command->reader)->node->rows >= 0)
        return;
    s->messages += command->n_moves;
    s->rounds = command->round + 1;
}

/* Another sample is complete, the next of the replica that is behind. */
static void
report_row(step *s, rlf_control *c)
{
    static const uint32_t length = 100;
    int next = -1;
    for (int i = 0; i < s->command->n_shares; i++)
        if (s->made[i] < s->command->shares[i].n_rows &&
            (next < 0 || s->made[i] < s->made[next]))
            next = i;
    const rlf_share *share = &s->command->shares[next];
    rlf_control_tell(c, &(rlf_rank_event){.kind = RLF_EVENT_ROWS,
                                          .rank = share->rank,
                                          .n = s->command->n,
                                          .rows = &share->rows[s->made[next]++],
                                          .lengths = &length,
                                          .seats = SEATS,
                                          .turns = {1, 1, 1, 1, 1},
                                          .n_rows = 1});
}

static size_t
held(void)
{
    struct mallinfo2 now = mallinfo2();
    return now.uordblks + now.hblkhd;
}

static void
play(step *s)
{
    uint64_t from = rlf_clock_now();
    size_t before = held();
    rlf_control *c =
        rlf_control_new(&s->plan, (rlf_policy){.piece = PIECE, .parts = PARTS});
    rlf_control_begin(c);
    while (!rlf_control_ended(c)) {
        const rlf_rank_command *command = rlf_control_next(c);
        if (!command) {
            report_row(s, c);
            continue;
        }
        if (command->kind == RLF_DO_OPEN)
            rlf_control_tell(c, &(rlf_rank_event){.kind = RLF_EVENT_OPENED,
                                                  .n = command->n,
                                                  .n_rows = s->n,
                                                  .owner = s->owner});
        else if (command->kind == RLF_DO_RUN)
            take_run(s, c, command);
        else if (command->kind == RLF_DO_EDGE)
            take_edge(s, c, command);
        for (int r = 0; command->kind == RLF_DO_END && r < s->plan.ranks; r++)
            rlf_control_tell(c, &(rlf_rank_event){.kind = RLF_EVENT_ENDED,
                                                  .rank = r,
                                                  .n = command->n});
    }
    s->bytes = held() - before;
    s->seconds = rlf_clock_since(from);
    rlf_control_free(c);
}

/* Every reader has computed every row. */
static bool
is_complete(const step *s)
{
    for (size_t i = 2; i < s->graph->nodes.count; i++)
        if (s->graph->nodes.data[i].rows >= 0 && s->done[i] != s->n)
            return false;
    return true;
}

int
main(int argc, char **argv)
{
    enum { FEW = 4096, MANY = 4 * FEW, EACH_ROW = 1024 };
    if (argc > 1) {
        step s = make((uint32_t)atoi(argv[1]), argc > 2 ? atoi(argv[2]) : 1);
        play(&s);
        printf("%u rows, %d ranks: %.3f s, %.1f MB\n", s.n, s.plan.ranks,
               s.seconds, (double)s.bytes / 1e6);
        rlf_arena_free(s.arena);
        return 0;
    }
    plan(6);
    for (int ranks = 1; ranks <= 4; ranks += 3) {
        step few = make(FEW, ranks), many = make(MANY, ranks);
        play(&few);
        play(&many);
        ok(is_complete(&few) && is_complete(&many),
           "rows reported one by one to three readers, %d ranks", ranks);
        ok(many.bytes <= 6 * few.bytes && many.bytes < EACH_ROW * MANY,
           "four times the rows take four times the memory: %zu KB, %zu KB",
           few.bytes / 1024, many.bytes / 1024);
        rlf_arena_free(few.arena);
        rlf_arena_free(many.arena);
    }
    step all = make(512, 64);
    play(&all);
    ok(is_complete(&all) && all.messages <= 64 * 6 && all.messages >= 63,
       "what 64 ranks need of each other goes in %d messages, not 4032",
       all.messages);
    is_int(all.rounds, 6, "... and six rounds");
    rlf_arena_free(all.arena);
    return done();
}

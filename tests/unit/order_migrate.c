/* Samples that are gathered, and what reads the complete ones meanwhile: the
 * real controller, told by hand what four ranks report. A generation of eight
 * samples, one replica a rank, and a call that reads them on replicas of two
 * ranks or of one. */
#include "engine/order/control.h"
#include "engine/plan/weight_copies.h"
#include "tests/unit/order_graph.h"

enum { SAMPLES = 8, RANKS = 4, NODES = 3, LENGTH = 10 };

typedef struct world {
    rlf_arena *arena;
    rlf_sources sources;
    rlf_graph *graph;
    rlf_plan plan;
    rlf_control *control;
    uint64_t generation;      /* its command */
    int made[SAMPLES];        /* per row: by the rank that it is with */
    const rlf_rank_command
        *reads[4];            /* RUNs of the call, since the step began */
    int n_reads, n_heard; /* readings that were begun, and those of which DONE
                             was told */
    uint32_t moved;           /* rows that went to another replica, and */
    int to;                   /* the last of these */
} world;

static void
make_graph(world *w)
{
    w->sources.arena = w->arena;
    w->graph = rlf_graph_new(w->arena, &w->sources);
    int rows = add_node(w->graph, &draw, (node_parts){BATCH});
    int roll = add_node(w->graph, &generate, (node_parts){.rows = 1, IN(rows)});
    add_node(w->graph, &logprob, (node_parts){.rows = 1, IN(roll)});
}

/* The call reads with `tp` ranks a replica. */
static world
make(int migrate, int seats, int tp)
{
    world w = {.arena = rlf_arena_new()};
    make_graph(&w);
    w.plan = (rlf_plan){.graph = w.graph, .ranks = RANKS};
    w.plan.place = RLF_NEW_ARRAY(w.arena, rlf_node_place, NODES);
    for (int i = 0; i < NODES; i++) {
        w.plan.place[i] = (rlf_node_place){
            .layout = ranks_of(w.arena, 0, RANKS, i == 2 ? tp : 1),
            .partition = i ? RLF_PARTITION_ROWS : RLF_PARTITION_WHOLE,
            .migrate = migrate,
            .seats = seats};
    }
    rlf_weight_copies_make(&w.plan, w.arena);
    return w;
}

static void
open_rows(const world *w, const rlf_rank_command *command)
{
    rlf_control_tell(w->control, &(rlf_rank_event){.kind = RLF_EVENT_OPENED,
                                                   .n = command->n,
                                                   .n_rows = SAMPLES});
}

static void
tell_all(const world *w, const rlf_rank_command *command, double seconds)
{
    for (int i = 0; i < command->n_shares; i++)
        if (command->shares[i].reports)
            rlf_control_tell(
                w->control,
                &(rlf_rank_event){.kind = RLF_EVENT_DONE,
                                  .rank = command->shares[i].rank,
                                  .n = command->n,
                                  .branch = -1,
                                  .seconds =
                                      command->shares[i].rows ? seconds : 0});
}

/* Take commands until the controller waits. Reads are not reported. */
static void
go_on(world *w)
{
    const rlf_rank_command *command;
    const rlf_order *order = rlf_control_order(w->control);
    while ((command = rlf_control_next(w->control))) {
        const rlf_node_class *class =
            command->instance >= 0
                ? rlf_order_instance(order, command->instance)->node->class
                : NULL;
        for (int i = 0; command->kind == RLF_DO_MOVE && i < command->n_moves;
             i++) {
            const rlf_move *m = &command->moves[i];
            w->moved += m->n_rows;
            w->to = m->to;
            for (uint32_t k = 0; k < m->n_rows; k++)
                w->made[m->rows[k]] = m->to;
        }
        if (command->kind == RLF_DO_OPEN)
            open_rows(w, command);
        if (command->kind == RLF_DO_END)
            for (int r = 0; r < RANKS; r++)
                rlf_control_tell(w->control,
                                 &(rlf_rank_event){.kind = RLF_EVENT_ENDED,
                                                   .rank = r,
                                                   .n = command->n});
        if (command->kind != RLF_DO_RUN)
            continue;
        if (class == &logprob) {
            w->reads[w->n_reads++] = command;
        } else if (class == &draw) {
            tell_all(w, command, 0);
        } else {
            w->generation = command->n;
            for (int i = 0; i < command->n_shares; i++)
                for (uint32_t k = 0; k < command->shares[i].n_rows; k++)
                    w->made[command->shares[i].rows[k]] =
                        command->shares[i].rank;
        }
    }
}

static void
begin(world *w)
{
    if (!w->control)
        w->control =
            rlf_control_new(&w->plan, (rlf_policy){.piece = 2, .parts = 4});
    rlf_control_begin(w->control);
    w->n_reads = w->n_heard = 0;
    w->moved = 0;
    go_on(w);
}

/* So many more samples of a rank are complete. */
static void
complete(world *w, int rank, uint32_t n)
{
    uint32_t rows[SAMPLES], lengths[SAMPLES], done = 0;
    for (uint32_t i = 0; i < SAMPLES && done < n; i++) {
        if (w->made[i] != rank)
            continue;
        w->made[i] = -1;
        rows[done] = i;
        lengths[done++] = LENGTH;
    }
    rlf_control_tell(w->control, &(rlf_rank_event){.kind = RLF_EVENT_ROWS,
                                                   .rank = rank,
                                                   .n = w->generation,
                                                   .rows = rows,
                                                   .n_rows = done,
                                                   .lengths = lengths,
                                                   .seats = SAMPLES});
}

/* All reads that were posted are done; who does them took a second. */
static void
hear_reads(world *w)
{
    while (w->n_heard < w->n_reads)
        tell_all(w, w->reads[w->n_heard++], 1);
    go_on(w);
}

static void
end(world *w)
{
    rlf_control_free(w->control);
    rlf_arena_free(w->arena);
}

static int
first_of(const rlf_rank_command *command)
{
    return command->shares[0].rank;
}

static uint32_t
rows_of(const rlf_rank_command *command)
{
    uint32_t n = 0;
    for (int i = 0; i < command->n_shares; i++)
        n += command->shares[i].reports ? command->shares[i].n_rows : 0;
    return n;
}

/* Ranks 0 and 1 end at the same time. Six samples would need two replicas of
 * four seats: samples of rank 3 would go to 1 as well, and on from there. */
static void
test_equal_ends(void)
{
    world w = make(7, 4, 2);
    begin(&w);
    complete(&w, 0, 2);
    complete(&w, 1, 2);
    go_on(&w);
    ok(w.moved == 2 && w.to == 2 && w.made[6] == 2 && w.made[7] == 2,
       "of replicas that end together all are heard before samples go");
    end(&w);
}

/* Ranks 0 and 1 are free and read; those of rank 2 wait until they are done. */
static void
test_held(void)
{
    world w = make(7, 4, 2);
    begin(&w);
    complete(&w, 0, 2);
    complete(&w, 1, 2);
    go_on(&w);
    ok(w.n_reads == 1 && first_of(w.reads[0]) == 0 && rows_of(w.reads[0]) == 4,
       "ranks that are free read what is complete");
    complete(&w, 2, 2);
    go_on(&w);
    ok(w.n_reads == 1, "more is not sent to them while they are at work");
    hear_reads(&w);
    ok(w.n_reads == 2 && first_of(w.reads[1]) == 0 && rows_of(w.reads[1]) == 2,
       "but when they are done");
    complete(&w, 2, 2);
    go_on(&w);
    hear_reads(&w);
    hear_reads(&w);
    ok(rlf_control_ended(w.control), "and all is read");
    end(&w);
}

/* One of four replicas is free: it gets half of a piece, which is twice its
 * part, since the others will be free before it could read all. Then two are,
 * which get four rows: twice their part. The other half of the piece is with
 * the first, which is at work, and is read by the next that is free. */
static void
test_part(void)
{
    world w = make(0, 0, 1);
    begin(&w);
    complete(&w, 0, 2);
    go_on(&w);
    ok(w.n_reads == 1 && first_of(w.reads[0]) == 0 && rows_of(w.reads[0]) == 1,
       "one replica of four that is free gets no more than half a piece");
    complete(&w, 1, 2);
    complete(&w, 3, 2);
    go_on(&w);
    uint32_t others = 0;
    for (int i = 1; i < w.n_reads; i++)
        for (int k = 0; k < w.reads[i]->n_shares; k++)
            others += w.reads[i]->shares[k].rank % 2 == 1
                          ? w.reads[i]->shares[k].n_rows
                          : SAMPLES;
    is_int(others, 4, "others that are free get what lies with nobody at work");
    int posted = w.n_reads;
    hear_reads(&w);
    ok(w.n_reads == posted + 1 && rows_of(w.reads[posted]) == 1,
       "... and the rest when its rank has read");
    end(&w);
}

/* Two replicas are to go on. Those with the most samples are 0 and 2, of which
 * each would keep one of the replicas of the call from reading. */
static void
test_readers(void)
{
    world w = make(7, 3, 2);
    begin(&w);
    for (int r = 0; r < RANKS; r++)
        complete(&w, r, 2);
    go_on(&w);
    hear_reads(&w);
    ok(rlf_control_ended(w.control), "a step, in which it is seen who reads");
    begin(&w);
    complete(&w, 1, 1);
    complete(&w, 3, 1);
    go_on(&w);
    bool there = true;
    for (int i = 0; i < SAMPLES; i++)
        there = there && w.made[i] < 2;
    ok(there && w.moved == 3,
       "samples are gathered on replicas that share the ranks of a reader");
    end(&w);
}

/* The call reads on ranks 0 and 1, which have most samples: these go to the
 * others, which have nothing to read. */
static void
test_apart(void)
{
    world w = make(6, 3, 1);
    w.plan.place[2].layout = ranks_of(w.arena, 0, 2, 1);
    begin(&w);
    for (int r = 0; r < RANKS; r++)
        complete(&w, r, 2);
    go_on(&w);
    hear_reads(&w);
    ok(rlf_control_ended(w.control), "a step, in which it is seen who reads");
    begin(&w);
    complete(&w, 2, 1);
    complete(&w, 3, 1);
    complete(&w, 0, 1);
    go_on(&w);
    int apart = 0;
    for (int i = 0; i < SAMPLES; i++)
        apart += w.made[i] >= 2;
    ok(apart == 5 && w.moved == 3,
       "samples are gathered on replicas that have nothing to read");
    end(&w);
}

int
main(void)
{
    plan(12);
    test_equal_ends();
    test_held();
    test_part();
    test_readers();
    test_apart();
    return done();
}

/* These checks hold the controller to the rows of a call that it posts, and to
 * those that wait for ranks at work: the real controller, told by hand what
 * four ranks report. A generation makes nine samples, and two calls read
 * them. */
#include "engine/order/control.h"
#include "engine/plan/weight_copies.h"
#include "tests/unit/order_graph.h"

enum { SAMPLES = 9, RANKS = 4, MOST = 256 };
/* Nodes. */
enum { DRAW, GENERATE, REFERENCE, CRITIC, REPORT, ARITH, UPDATE, OTHER, NODES };

/* The ranks of a node: `n` from the first on, `tp` of them a replica. */
typedef struct ranks {
    int first, n, tp;
} ranks;

typedef struct world {
    rlf_arena *arena;
    rlf_sources sources;
    rlf_graph *graph;
    rlf_plan plan;
    rlf_control *control;
    uint64_t generation;       /* its command */
    int maker[SAMPLES];        /* per row: who makes it; -1: it is there */
    const rlf_rank_command *all[MOST]; /* commands since the step began */
    int n;
    bool told[MOST];
} world;

static void
place(world *w, int id, ranks at, rlf_partition partition)
{
    w->plan.place[id] =
        (rlf_node_place){.layout = ranks_of(w->arena, at.first, at.n, at.tp),
                         .partition = partition};
}

/* Take commands until the controller waits. */
static void
go_on(world *w)
{
    const rlf_rank_command *command;
    while ((command = rlf_control_next(w->control))) {
        if (w->n == MOST)
            bail("more commands than there is room for");
        w->all[w->n++] = command;
        if (command->kind == RLF_DO_OPEN)
            rlf_control_tell(w->control,
                             &(rlf_rank_event){.kind = RLF_EVENT_OPENED,
                                               .n = command->n,
                                               .n_rows = SAMPLES});
    }
}

static bool
is_run(const world *w, const rlf_rank_command *command, int node)
{
    return command->kind == RLF_DO_RUN &&
           rlf_order_instance(rlf_control_order(w->control), command->instance)
                   ->node->id == node;
}

static void
report(world *w, const rlf_rank_command *command, int rank)
{
    rlf_control_tell(w->control, &(rlf_rank_event){.kind = RLF_EVENT_DONE,
                                                   .rank = rank,
                                                   .n = command->n,
                                                   .branch = -1});
}

/* All ranks report a node's commands as done. */
static void
finish(world *w, int node)
{
    for (int i = 0; i < w->n; i++) {
        const rlf_rank_command *command = w->all[i];
        if (w->told[i] || !is_run(w, command, node))
            continue;
        w->told[i] = true;
        for (int k = 0; k < command->n_shares; k++)
            if (command->shares[k].reports)
                report(w, command, command->shares[k].rank);
    }
    go_on(w);
}

/* The samples that the generation's command gave out. */
static void
note_makers(world *w, int node)
{
    for (int i = 0; i < w->n; i++) {
        const rlf_rank_command *command = w->all[i];
        if (!is_run(w, command, node))
            continue;
        w->generation = command->n;
        for (int k = 0; k < command->n_shares; k++)
            for (uint32_t j = 0; j < command->shares[k].n_rows; j++)
                w->maker[command->shares[k].rows[j]] = command->shares[k].rank;
    }
}

/* A draw, and a generation of its prompts. */
static void
begin_graph(world *w)
{
    *w = (world){.arena = rlf_arena_new()};
    w->sources.arena = w->arena;
    w->graph = rlf_graph_new(w->arena, &w->sources);
    add_node(w->graph, &draw, (node_parts){BATCH});
    add_node(w->graph, &generate, (node_parts){.rows = 1, IN(0)});
}

/* `trained`: the ranks of an update that reads what the critic says; of none:
 * there is none. `other`: those of one that reads what is made there of what
 * the reference says. */
static void
begin_training(world *w, ranks sample, ranks reference, ranks critic,
               ranks trained, ranks other)
{
    begin_graph(w);
    add_node(w->graph, &logprob, (node_parts){.rows = 1, IN(1)});
    add_node(w->graph, &logprob, (node_parts){.rows = 1, IN(1)});
    add_node(w->graph, &reporting, (node_parts){BATCH, IN(3)});
    if (trained.n) {
        add_node(w->graph, &arith, (node_parts){.rows = 1, IN(2)});
        add_node(w->graph, &update, (node_parts){BATCH, IN(3)});
        add_node(w->graph, &update, (node_parts){BATCH, IN(5)});
    }
    w->plan = (rlf_plan){.graph = w->graph, .ranks = RANKS};
    w->plan.place = RLF_NEW_ARRAY(w->arena, rlf_node_place, NODES);
    place(w, DRAW, (ranks){0, RANKS, 1}, RLF_PARTITION_WHOLE);
    place(w, GENERATE, sample, RLF_PARTITION_ROWS);
    place(w, REFERENCE, reference, RLF_PARTITION_ROWS);
    place(w, CRITIC, critic, RLF_PARTITION_ROWS);
    place(w, REPORT, (ranks){0, RANKS, 1}, RLF_PARTITION_WHOLE);
    place(w, ARITH, other, RLF_PARTITION_ROWS);
    place(w, UPDATE, trained, RLF_PARTITION_WHOLE);
    place(w, OTHER, other, RLF_PARTITION_WHOLE);
    rlf_weight_copies_make(&w->plan, w->arena);
    w->control = rlf_control_new(&w->plan, (rlf_policy){.piece = 2});
    rlf_control_begin(w->control);
    go_on(w);
    finish(w, DRAW);
    note_makers(w, GENERATE);
}

static void
begin(world *w, ranks sample, ranks reference, ranks critic)
{
    const ranks none = {.tp = 1};
    begin_training(w, sample, reference, critic, none, none);
}

/* So many more samples of a rank are complete. */
static void
complete(world *w, int rank, uint32_t n)
{
    uint32_t rows[SAMPLES], done = 0;
    for (uint32_t i = 0; i < SAMPLES && done < n; i++)
        if (w->maker[i] == rank) {
            w->maker[i] = -1;
            rows[done++] = i;
        }
    if (!done)
        return;
    rlf_control_tell(w->control, &(rlf_rank_event){.kind = RLF_EVENT_ROWS,
                                                   .rank = rank,
                                                   .n = w->generation,
                                                   .rows = rows,
                                                   .n_rows = done});
    go_on(w);
}

/* RUNs of a node; rows that a command of them has. */
static int
count_runs(const world *w, int node)
{
    int n = 0;
    for (int i = 0; i < w->n; i++)
        n += is_run(w, w->all[i], node);
    return n;
}

/* The number of the last RUN of a node; -1: there is none. */
static int
last_run(const world *w, int node)
{
    int last = -1;
    for (int i = 0; i < w->n; i++)
        last = is_run(w, w->all[i], node) ? i : last;
    return last;
}

static uint32_t
count_rows(const world *w, int node)
{
    uint32_t n = 0;
    for (int i = 0; i < w->n; i++)
        for (int k = 0; is_run(w, w->all[i], node) && k < w->all[i]->n_shares;
             k++)
            n += w->all[i]->shares[k].reports ? w->all[i]->shares[k].n_rows : 0;
    return n;
}

/* Rows that went from one rank to another. */
static uint32_t
count_sent(const world *w, int from, int to)
{
    uint32_t n = 0;
    for (int i = 0; i < w->n; i++)
        for (int k = 0;
             w->all[i]->kind == RLF_DO_EDGE && k < w->all[i]->n_moves; k++) {
            const rlf_move *m = &w->all[i]->moves[k];
            n += m->from == from && m->to == to ? m->n_rows : 0;
        }
    return n;
}

/* Rows sent before a node is posted first. */
static uint32_t
count_sent_before(const world *w, int node, int from, int to)
{
    world part = *w;
    for (part.n = 0; part.n < w->n && !is_run(w, w->all[part.n], node);)
        part.n++;
    return count_sent(&part, from, to);
}

/* All that is left, until the step is over. */
static void
end(world *w, const char *name)
{
    for (int r = 0; r < RANKS; r++)
        complete(w, r, SAMPLES);
    for (int i = 0; i < 2 * SAMPLES; i++) {
        finish(w, REFERENCE);
        finish(w, CRITIC);
    }
    finish(w, ARITH);
    finish(w, UPDATE);
    finish(w, OTHER);
    finish(w, REPORT);
    const rlf_rank_command *last = w->all[w->n - 1];
    ok(last->kind == RLF_DO_END && count_rows(w, REFERENCE) == SAMPLES &&
           count_rows(w, CRITIC) == SAMPLES,
       "%s: everything is read once, and the step ends", name);
    rlf_control_free(w->control);
    rlf_arena_free(w->arena);
}

/* Rank 3 is free for the reference. The critic is read on rank 0 when that
 * samples no more, which sends its samples to rank 3 before. */
static void
test_sender_at_work(void)
{
    world w;
    begin(&w, (ranks){0, 3, 1}, (ranks){3, 1, 1}, (ranks){0, 1, 1});
    complete(&w, 1, 2);
    ok(count_rows(&w, REFERENCE) == 2 && !count_rows(&w, CRITIC),
       "what is complete is read by one who is free, not by one who samples");
    uint32_t sent = count_sent(&w, 0, 3);
    complete(&w, 0, SAMPLES);
    is_int(count_rows(&w, CRITIC), 2, "... but when it samples no more");
    ok(count_sent(&w, 0, 3) == sent + 3 && count_rows(&w, REFERENCE) == 2,
       "before it goes to work it sends what others will read");
    finish(&w, REFERENCE);
    is_int(count_rows(&w, REFERENCE), 5,
           "what has come from a rank that is at work is read");
    complete(&w, 2, 2);
    finish(&w, REFERENCE);
    ok(count_rows(&w, REFERENCE) == 7 && count_sent(&w, 2, 3) == 2 &&
           count_sent(&w, 0, 3) == sent + 3,
       "what a rank has that samples is sent, and nothing twice");
    end(&w, "a sender at work");
}

/* Rank 0 makes samples and reads the reference, rank 1 makes samples and the
 * critic reads there. */
static void
test_sends_to_sampler(void)
{
    world w;
    begin(&w, (ranks){0, 2, 1}, (ranks){0, 1, 1}, (ranks){1, 1, 1});
    complete(&w, 0, SAMPLES);
    uint32_t made = count_rows(&w, REFERENCE);
    ok(made > 0 && !count_rows(&w, CRITIC),
       "a rank that samples no more reads what it has made");
    is_int(count_sent(&w, 0, 1), made,
           "one that still samples is sent that before, to read it later");
    complete(&w, 1, SAMPLES);
    is_int(count_rows(&w, CRITIC), SAMPLES, "... which waits for nobody then");
    ok(count_sent_before(&w, CRITIC, 1, 0) >= SAMPLES - made,
       "what it has made itself is sent before it goes to work");
    end(&w, "two that sample and read");
}

/* Rank 0, which reads for the critic, and rank 1 have a sample. */
static void
test_two_senders(void)
{
    world w;
    begin(&w, (ranks){0, 3, 1}, (ranks){3, 1, 1}, (ranks){0, 1, 1});
    complete(&w, 0, SAMPLES);
    finish(&w, CRITIC);
    uint32_t sent = count_sent(&w, 0, 3);
    complete(&w, 1, 2);
    ok(count_sent(&w, 1, 0) == 2 && count_rows(&w, REFERENCE) == 3,
       "rows are sent to one who is free, and wait for another who is not");
    finish(&w, REFERENCE);
    ok(count_sent(&w, 1, 3) == 2 && count_sent(&w, 0, 3) == sent,
       "of two that have a row the one that is not at work sends it");
    end(&w, "two senders");
}

/* Two ranks read for both calls, each one row of the reference. The first that
 * is done goes on with the critic, whose other row the second has as well, but
 * for that it would have to wait. */
static void
test_other_reader(void)
{
    world w;
    begin(&w, (ranks){2, 2, 1}, (ranks){0, 2, 1}, (ranks){0, 2, 1});
    complete(&w, 2, 2);
    ok(count_rows(&w, REFERENCE) == 2 && !count_rows(&w, CRITIC) &&
           count_sent(&w, 2, 0) == 1 && count_sent(&w, 2, 1) == 1,
       "two replicas read a row each");
    int first = last_run(&w, REFERENCE);
    report(&w, w.all[first], 0);
    go_on(&w);
    ok(count_rows(&w, CRITIC) == 2 && count_sent(&w, 2, 0) == 2 &&
           !count_sent(&w, 1, 0),
       "a replica that is at work does not send to another one of its call");
    report(&w, w.all[first], 1);
    w.told[first] = true;
    go_on(&w);
    end(&w, "two readers");
}

/* Ranks 2 and 3 read what 0 and 1 have made, and train with it: what the other
 * of them has they get from it, so that 0 and 1 can do something else. */
static void
test_own_senders(void)
{
    enum { TRAINED = CRITIC };
    world w;
    begin_graph(&w);
    add_node(w.graph, &logprob, (node_parts){.rows = 1, IN(1)});
    add_node(w.graph, &update, (node_parts){BATCH, IN(1, 2)});
    w.plan = (rlf_plan){.graph = w.graph, .ranks = RANKS};
    w.plan.place = RLF_NEW_ARRAY(w.arena, rlf_node_place, NODES);
    place(&w, DRAW, (ranks){0, RANKS, 1}, RLF_PARTITION_WHOLE);
    place(&w, GENERATE, (ranks){0, 2, 1}, RLF_PARTITION_ROWS);
    place(&w, REFERENCE, (ranks){2, 2, 1}, RLF_PARTITION_ROWS);
    place(&w, TRAINED, (ranks){2, 2, 1}, RLF_PARTITION_WHOLE);
    rlf_weight_copies_make(&w.plan, w.arena);
    w.control = rlf_control_new(&w.plan, (rlf_policy){.piece = SAMPLES + 1});
    rlf_control_begin(w.control);
    go_on(&w);
    finish(&w, DRAW);
    note_makers(&w, GENERATE);
    complete(&w, 0, SAMPLES);
    complete(&w, 1, SAMPLES);
    finish(&w, REFERENCE);
    uint32_t made = 0;
    for (int from = 0; from < 2; from++)
        made += count_sent(&w, from, 2) + count_sent(&w, from, 3);
    ok(count_rows(&w, REFERENCE) == SAMPLES && made == SAMPLES,
       "what is read is sent once by those who made it");
    ok(count_runs(&w, TRAINED) == 1 &&
           count_sent(&w, 2, 3) + count_sent(&w, 3, 2) == 2 * SAMPLES,
       "... and goes on between those who train with it");
    finish(&w, TRAINED);
    is_int(w.all[w.n - 1]->kind, RLF_DO_END, "... to the end");
    rlf_control_free(w.control);
    rlf_arena_free(w.arena);
}

/* The reference is on ranks 0 and 1 together, the critic on 1: both are read
 * when neither samples, and while the critic is, 0 waits for more. */
static void
test_partner_at_work(void)
{
    world w;
    begin(&w, (ranks){0, 3, 1}, (ranks){0, 2, 2}, (ranks){1, 1, 1});
    complete(&w, 0, SAMPLES);
    ok(!count_rows(&w, REFERENCE) && !count_rows(&w, CRITIC),
       "a replica of which one rank samples reads nothing");
    complete(&w, 1, SAMPLES);
    ok(count_rows(&w, REFERENCE) == 3 && !count_rows(&w, CRITIC),
       "when neither does it reads, one call after another");
    finish(&w, REFERENCE);
    ok(count_rows(&w, REFERENCE) == 3 && count_rows(&w, CRITIC) == 3,
       "a rank waits while its partner is at work");
    for (int i = 0; i < 2; i++)
        finish(&w, CRITIC);
    is_int(count_rows(&w, REFERENCE), 6, "then both read");
    end(&w, "a partner at work");
}

/* Pieces that wait are one when no more come; what only a report needs waits
 * for them. */
static void
test_joined(void)
{
    world w;
    begin(&w, (ranks){0, 2, 1}, (ranks){3, 1, 1}, (ranks){2, 1, 1});
    complete(&w, 0, 2);
    complete(&w, 1, 2);
    complete(&w, 0, 2);
    ok(count_runs(&w, REFERENCE) == 1 && count_runs(&w, CRITIC) == 1,
       "pieces wait for the first");
    finish(&w, CRITIC);
    finish(&w, CRITIC);
    complete(&w, 0, SAMPLES);
    complete(&w, 1, SAMPLES);
    finish(&w, CRITIC);
    finish(&w, CRITIC);
    ok(count_rows(&w, CRITIC) == SAMPLES && count_runs(&w, REFERENCE) == 2 &&
           count_rows(&w, REFERENCE) == SAMPLES,
       "all that waited is read at once when no more comes");
    ok(last_run(&w, REPORT) > last_run(&w, REFERENCE),
       "... and the report follows");
    end(&w, "joined");
}

/* Rank 3 reads for the reference and trains then. Rank 2 trains with what the
 * reference says, which rank 3 has to send before. */
static void
test_training(void)
{
    world w;
    begin_training(&w, (ranks){0, 2, 1}, (ranks){3, 1, 1}, (ranks){2, 1, 1},
                   (ranks){3, 1, 1}, (ranks){2, 1, 1});
    complete(&w, 0, SAMPLES);
    complete(&w, 1, SAMPLES);
    for (int i = 0; i < SAMPLES; i++)
        finish(&w, CRITIC);
    finish(&w, REFERENCE);
    int trained = last_run(&w, UPDATE), made = last_run(&w, ARITH);
    ok(trained > last_run(&w, REFERENCE),
       "all rows are read before the update that follows");
    ok(count_rows(&w, ARITH) == SAMPLES && made < trained,
       "... and what others make of them goes there before it");
    ok(last_run(&w, OTHER) > made, "... so that they train beside it");
    end(&w, "training");
}

/* Rank 3 reads what rank 0 samples, and could train before; rank 2 trains with
 * what is made in diamonds, one behind the other. Each of them doubles the ways
 * from that update to the draw: whether it needs the reading is asked of each
 * node once. */
static void
test_many_ways(void)
{
    enum { READ = 2, FIRST, DIAMONDS = 40, TRAINED = FIRST + 3 * DIAMONDS };
    world w;
    int top = 0;
    begin_graph(&w);
    add_node(w.graph, &logprob, (node_parts){.rows = 1, IN(1)});
    for (int i = 0; i < DIAMONDS; i++) {
        int left = add_node(w.graph, &arith, (node_parts){BATCH, IN(top)});
        int right = add_node(w.graph, &arith, (node_parts){BATCH, IN(top)});
        top = add_node(w.graph, &arith, (node_parts){BATCH, IN(left, right)});
    }
    add_node(w.graph, &update, (node_parts){BATCH, IN(DRAW)});
    add_node(w.graph, &update, (node_parts){BATCH, IN(top)});
    w.plan = (rlf_plan){.graph = w.graph, .ranks = RANKS};
    w.plan.place = RLF_NEW_ARRAY(w.arena, rlf_node_place, TRAINED + 2);
    place(&w, DRAW, (ranks){0, RANKS, 1}, RLF_PARTITION_WHOLE);
    place(&w, GENERATE, (ranks){0, 1, 1}, RLF_PARTITION_ROWS);
    place(&w, READ, (ranks){3, 1, 1}, RLF_PARTITION_ROWS);
    for (int i = FIRST; i < TRAINED; i++)
        place(&w, i, (ranks){2, 1, 1}, RLF_PARTITION_WHOLE);
    place(&w, TRAINED, (ranks){3, 1, 1}, RLF_PARTITION_WHOLE);
    place(&w, TRAINED + 1, (ranks){2, 1, 1}, RLF_PARTITION_WHOLE);
    rlf_weight_copies_make(&w.plan, w.arena);
    w.control = rlf_control_new(&w.plan, (rlf_policy){.piece = 2});
    rlf_control_begin(w.control);
    go_on(&w);
    for (int i = DRAW; i < TRAINED; i += i ? 1 : FIRST)
        finish(&w, i);
    note_makers(&w, GENERATE);
    ok(!count_rows(&w, READ) && count_runs(&w, TRAINED) == 1,
       "an update does not wait for a reading that no other update needs");
    finish(&w, TRAINED);
    finish(&w, TRAINED + 1);
    complete(&w, 0, SAMPLES);
    finish(&w, READ);
    is_int(w.all[w.n - 1]->kind, RLF_DO_END, "... to the end");
    rlf_control_free(w.control);
    rlf_arena_free(w.arena);
}

/* Two models generate, one on ranks 0 and 1, one on 2 and 3; `trained`: where
 * the first is trained then, the second on 0 and 1. */
static void
begin_two(world *w, ranks trained)
{
    enum { SECOND = REFERENCE };
    begin_graph(w);
    add_node(w->graph, &generate, (node_parts){.rows = 1, IN(0)});
    add_node(w->graph, &update, (node_parts){BATCH, IN(1)});
    add_node(w->graph, &update, (node_parts){BATCH, IN(2)});
    w->plan = (rlf_plan){.graph = w->graph, .ranks = RANKS};
    w->plan.place = RLF_NEW_ARRAY(w->arena, rlf_node_place, NODES);
    place(w, DRAW, (ranks){0, RANKS, 1}, RLF_PARTITION_WHOLE);
    place(w, GENERATE, (ranks){0, 2, 1}, RLF_PARTITION_ROWS);
    place(w, SECOND, (ranks){2, 2, 1}, RLF_PARTITION_ROWS);
    place(w, 3, trained, RLF_PARTITION_WHOLE);
    place(w, 4, (ranks){0, 2, 1}, RLF_PARTITION_WHOLE);
    rlf_weight_copies_make(&w->plan, w->arena);
    w->control = rlf_control_new(&w->plan, (rlf_policy){.piece = 2});
    rlf_control_begin(w->control);
    go_on(w);
    finish(w, DRAW);
    note_makers(w, GENERATE);
    complete(w, 0, SAMPLES);
    complete(w, 1, SAMPLES);
    note_makers(w, SECOND);
}

static void
end_two(world *w, const char *name)
{
    complete(w, 2, SAMPLES);
    complete(w, 3, SAMPLES);
    ok(count_runs(w, 3) == 1 && count_runs(w, 4) == 1,
       "... and both train when it is over: %s", name);
    finish(w, 3);
    finish(w, 4);
    is_int(w->all[w->n - 1]->kind, RLF_DO_END, "... to the end");
    rlf_control_free(w->control);
    rlf_arena_free(w->arena);
}

/* On the ranks of the second generation the first model would be trained before
 * it, and keep the second model's samples waiting. */
static void
test_two_generations(void)
{
    world w;
    begin_two(&w, (ranks){2, 2, 1});
    ok(count_runs(&w, 2) == 1 && !count_runs(&w, 3),
       "an update waits for a generation on its ranks that comes before it");
    end_two(&w, "the same ranks");
    begin_two(&w, (ranks){1, 2, 1});
    ok(count_runs(&w, 2) == 1 && !count_runs(&w, 3), "... on one of them");
    end_two(&w, "one rank");
    begin_two(&w, (ranks){0, 2, 1});
    ok(count_runs(&w, 2) == 1 && count_runs(&w, 3) == 1,
       "elsewhere it is trained beside it");
    end_two(&w, "other ranks");
}

int
main(void)
{
    plan(44);
    test_sender_at_work();
    test_sends_to_sampler();
    test_two_senders();
    test_other_reader();
    test_own_senders();
    test_partner_at_work();
    test_joined();
    test_training();
    test_many_ways();
    test_two_generations();
    return done();
}

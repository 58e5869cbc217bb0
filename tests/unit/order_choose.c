/* In which order ready commands are posted: the real controller, ranks that
 * carry out their commands in order, and a clock on which every call of a model
 * takes a second and nothing else takes time. Those who meet in a command begin
 * when all have come. So a step takes as long as its calls allow only if nobody
 * is kept waiting by what others do first. */
#include "engine/order/part.h"
#include "engine/plan/weight_copies.h"
#include "tests/unit/order_graph.h"

enum { RANKS = 4, MOST_NODES = 16, MOST_POSTS = 128 };

typedef struct step {
    rlf_arena *arena;
    rlf_sources sources;
    rlf_graph *graph;
    rlf_plan plan;
    double at[RANKS];      /* per rank: when it is free */
    int turn[MOST_NODES];  /* per node: its RUN is the command of that number */
    int sends[MOST_NODES]; /* per node: the last EDGE for it */
} step;

/* A node on ranks first .. first + n - 1, made of what up to three others make.
 */
typedef struct row {
    const rlf_node_class *class;
    int first, n;
    int in[3]; /* nodes, + 1; 0: none */
    int model; /* + 1; an update writes it, a call reads it */
} row;

static void
add_row(step *s, const row *r)
{
    int inputs[3], n = 0;
    for (int i = 0; i < 3; i++)
        if (r->in[i])
            inputs[n++] = r->in[i] - 1; /* output i is of node i */
    add_node(s->graph, r->class,
             (node_parts){BATCH, .inputs = inputs, .n_inputs = n,
                          .model = r->model});
}

static step
make(const row *rows, int n)
{
    step s = {.arena = rlf_arena_new()};
    s.sources.arena = s.arena;
    s.graph = rlf_graph_new(s.arena, &s.sources);
    for (int i = 0; i < 4; i++)
        rlf_graph_add_resource(s.graph, (rlf_resource){.class = &a_model});
    s.plan = (rlf_plan){.graph = s.graph, .ranks = RANKS};
    s.plan.place = RLF_NEW_ARRAY(s.arena, rlf_node_place, n);
    for (int i = 0; i < n; i++) {
        add_row(&s, &rows[i]);
        bool joint = rows[i].class == &update || rows[i].class == &logprob;
        s.plan.place[i] = (rlf_node_place){
            .layout = ranks_of(s.arena, rows[i].first, rows[i].n, 1),
            .partition = joint ? RLF_PARTITION_JOINT : RLF_PARTITION_WHOLE};
    }
    rlf_weight_copies_make(&s.plan, s.arena);
    return s;
}

/* ---- the clock ---- */

static void
meet(step *s, const bool *come, double seconds)
{
    double from = 0;
    for (int r = 0; r < RANKS; r++)
        from = come[r] && s->at[r] > from ? s->at[r] : from;
    for (int r = 0; r < RANKS; r++)
        s->at[r] = come[r] ? from + seconds : s->at[r];
}

/* Ends of a message meet each other; all of a command begin at once, so
 * messages of a command in which ranks form a chain wait no longer than in
 * pairs. */
static void
take_edge(step *s, const rlf_rank_command *command)
{
    double from[RANKS];
    memcpy(from, s->at, sizeof from);
    for (int i = 0; i < command->n_moves; i++) {
        const rlf_move *m = &command->moves[i];
        double late = from[m->from] > from[m->to] ? from[m->from] : from[m->to];
        s->at[m->from] = late > s->at[m->from] ? late : s->at[m->from];
        s->at[m->to] = late > s->at[m->to] ? late : s->at[m->to];
    }
}

static void
take(step *s, const rlf_control *c, const rlf_rank_command *command)
{
    if (command->kind == RLF_DO_EDGE) {
        take_edge(s, command);
        if (command->reader >= 0)
            s->sends[command->reader] = (int)command->n;
    }
    if (command->kind != RLF_DO_RUN)
        return;
    bool come[RANKS] = {false};
    const rlf_node *node =
        rlf_order_instance(rlf_control_order(c), command->instance)->node;
    bool works = node->class == &update || node->class == &logprob;
    for (int i = 0; i < command->n_shares; i++)
        come[command->shares[i].rank] = true;
    if (works)
        meet(s, come, 1);
    s->turn[node->id] = (int)command->n;
}

static void
report(step *s, rlf_control *c, const rlf_rank_command *command)
{
    (void)s;
    rlf_rank_event done = {.kind = command->kind == RLF_DO_END ? RLF_EVENT_ENDED
                                                               : RLF_EVENT_DONE,
                           .n = command->n,
                           .branch = -1};
    for (int r = 0; command->kind == RLF_DO_END && r < RANKS; r++) {
        done.rank = r;
        rlf_control_tell(c, &done);
    }
    for (int i = 0; i < command->n_shares; i++) {
        done.rank = command->shares[i].rank;
        if (command->shares[i].reports)
            rlf_control_tell(c, &done);
    }
}

/* Seconds of a step. Reports are heard when nothing more can be posted, those
 * of the earliest command first. */
static double
play(step *s)
{
    const rlf_rank_command *commands[MOST_POSTS];
    int n = 0, heard = 0;
    double end = 0;
    rlf_control *c = rlf_control_new(&s->plan, (rlf_policy){0});
    rlf_control_begin(c);
    while (!rlf_control_ended(c)) {
        const rlf_rank_command *command = rlf_control_next(c);
        if (!command) {
            if (heard == n)
                bail("the controller waits, and nobody has anything to do");
            report(s, c, commands[heard++]);
            continue;
        }
        if (n == MOST_POSTS)
            bail("more commands than there is room for");
        take(s, c, command);
        commands[n++] = command;
    }
    for (int r = 0; r < RANKS; r++)
        end = s->at[r] > end ? s->at[r] : end;
    rlf_control_free(c);
    return end;
}

/* ---- steps ---- */

/* PPO with two models on ranks of their own, in two minibatches; each reads
 * something that the other's ranks have made. Lists count nodes from 1. */
static void
test_updates(void)
{
    const row rows[] = {
        {&draw, 0, RANKS, {0}, 0},       /* 1 */
        {&logprob, 0, 2, {1}, 3},        /* 2: the reference */
        {&logprob, 2, 2, {1}, 2},        /* 3: values */
        {&arith, 0, RANKS, {2, 3}, 0},   /* 4: advantages */
        {&arith, 0, 2, {2}, 0},          /* 5: had by 0..1 alone */
        {&update, 0, 2, {4}, 1},         /* 6: the actor */
        {&arith, 0, RANKS, {6}, 0},      /* 7: what its loss is */
        {&reporting, 0, RANKS, {7}, 0},  /* 8 */
        {&update, 2, 2, {5, 4}, 2},      /* 9: the critic */
        {&update, 0, 2, {3, 4}, 1},      /* 10 */
        {&reporting, 0, RANKS, {10}, 0}, /* 11 */
        {&update, 2, 2, {5, 4}, 2},      /* 12 */
        {&reporting, 0, RANKS, {12}, 0}, /* 13 */
    };
    step s = make(rows, (int)RLF_COUNT(rows));
    near(play(&s), 3, 0, "updates of two models on ranks of their own: 3 s");
    ok(s.sends[8] && s.sends[8] < s.turn[5],
       "what an update reads is sent before those who have it are at work");
    ok(s.turn[7] > s.turn[11] && s.turn[10] > s.turn[11],
       "reports come behind the last update");
    rlf_arena_free(s.arena);
}

/* The other way round: what ranks 2..3 wait for is not kept back by what 0..1
 * do next, though that stands first in the program. */
static void
test_join(void)
{
    const row rows[] = {
        {&draw, 0, RANKS, {0}, 0},  /* 1 */
        {&logprob, 0, 2, {1}, 1},   /* 2 */
        {&logprob, 0, 2, {2}, 1},   /* 3: more on the same ranks */
        {&arith, 0, RANKS, {2}, 0}, /* 4: everyone needs it */
        {&logprob, 2, 2, {4}, 2},   /* 5 */
        {&logprob, 2, 2, {5}, 2},   /* 6 */
    };
    step s = make(rows, (int)RLF_COUNT(rows));
    near(play(&s), 3, 0, "what others wait for is sent before the next call");
    rlf_arena_free(s.arena);
}

/* Checks that ranks which have come to a join go on from there, however much
 * they had to do before it: the result that 2..3 read then is sent before 0..1
 * are at work, though these had less to do. */
static void
test_after_join(void)
{
    const row rows[] = {
        {&draw, 0, RANKS, {0}, 0},     /* 1 */
        {&logprob, 0, 2, {1}, 3},      /* 2 */
        {&logprob, 2, 2, {1}, 2},      /* 3 */
        {&logprob, 2, 2, {3}, 2},      /* 4 */
        {&arith, 0, RANKS, {2, 4}, 0}, /* 5 */
        {&arith, 0, 2, {2}, 0},        /* 6: had by 0..1 alone */
        {&update, 0, 2, {5}, 1},       /* 7 */
        {&update, 2, 2, {6, 5}, 2},    /* 8 */
    };
    step s = make(rows, (int)RLF_COUNT(rows));
    near(play(&s), 3, 0, "behind a join all go on from the same moment");
    rlf_arena_free(s.arena);
}

/* Ranks that wait for something do what they have before that. */
static void
test_first(void)
{
    const row rows[] = {
        {&draw, 0, RANKS, {0}, 0},   /* 1 */
        {&logprob, 0, 2, {1}, 1},    /* 2 */
        {&arith, 0, RANKS, {2}, 0},  /* 3: 2..3 wait for 0..1 */
        {&logprob, 2, 2, {1}, 2},    /* 4 */
        {&logprob, 2, 2, {3, 4}, 2}, /* 5 */
    };
    step s = make(rows, (int)RLF_COUNT(rows));
    near(play(&s), 2, 0, "what can begin is done before what has to wait");
    rlf_arena_free(s.arena);
}

/* Checks a step in which the controller has to wait for a number on other ranks
 * before it knows whether there is more to do. */
static void
test_answer(void)
{
    const row rows[] = {
        {&draw, 0, RANKS, {0}, 0},      /* 1 */
        {&update, 0, 2, {1}, 1},        /* 2 */
        {&reporting, 0, RANKS, {2}, 0}, /* 3 */
        {&update, 2, 2, {1}, 2},        /* 4 */
        {&when, 0, RANKS, {2}, 0},      /* 5 */
        {&update, 2, 2, {4}, 2},        /* 6 */
        {&reporting, 0, RANKS, {6}, 0}, /* 7 */
    };
    step s = make(rows, (int)RLF_COUNT(rows));
    near(play(&s), 2, 0, "and before an answer is waited for");
    ok(s.turn[2] && s.turn[6], "reports are made");
    rlf_arena_free(s.arena);
}

int
main(void)
{
    plan(8);
    test_updates();
    test_join();
    test_after_join();
    test_first();
    test_answer();
    return done();
}

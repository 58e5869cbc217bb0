/* Rows of calls go to replicas by length: the real controller, ranks that
 * answer at once, and lengths as responses have them (log-normal, sigma 0.75).
 */
#include "engine/base/philox.h"
#include "engine/order/control.h"
#include "engine/plan/weight_copies.h"
#include "tests/unit/order_graph.h"

#include <math.h>

enum { SAMPLES = 96, MOST_RANKS = 8, TRIALS = 40, MOST_LENGTH = 1 << 12 };
enum { PROMPT = 200 };

/* The graph, the plan and the counts of one step. */
typedef struct trial {
    rlf_arena *arena;
    rlf_graph *graph;
    rlf_plan plan;
    const uint32_t *length;
    bool known; /* lengths are reported */
    int group;  /* samples of a prompt, of PROMPT tokens; 0: nothing is known of
                   prompts */
    int made[SAMPLES];            /* the rank that made each sample */
    int done[SAMPLES];            /* times that a logprob of it was taken, */
    int read[SAMPLES];            /* and by which rank */
    uint64_t tokens[MOST_RANKS];  /* tokens of logprobs, by rank */
    uint64_t sampled[MOST_RANKS]; /* tokens of samples, by rank */
    uint64_t moved;               /* tokens of samples, before logprobs */
} trial;

static void
begin_graph(trial *t)
{
    static rlf_sources sources;
    sources.arena = t->arena;
    t->graph = rlf_graph_new(t->arena, &sources);
}

/* draw -> generate -> logprob, or draw -> logprob. */
static void
make_graph(trial *t, bool sampled)
{
    begin_graph(t);
    int rows = add_node(t->graph, &draw, (node_parts){BATCH});
    if (sampled)
        rows = add_node(t->graph, &generate, (node_parts){.rows = 1, IN(rows)});
    add_node(t->graph, &logprob, (node_parts){.rows = 1, IN(rows)});
}

static void
make_plan(trial *t, int ranks)
{
    int *all = RLF_NEW_ARRAY(t->arena, int, ranks);
    for (int r = 0; r < ranks; r++)
        all[r] = r;
    t->plan = (rlf_plan){.graph = t->graph, .ranks = ranks};
    size_t n = t->graph->nodes.count;
    t->plan.place = RLF_NEW_ARRAY(t->arena, rlf_node_place, n);
    for (size_t i = 0; i < n; i++)
        t->plan.place[i] = (rlf_node_place){
            .layout =
                {.ranks = all, .n_ranks = ranks, .tp = 1, .pp = 1, .dp = ranks},
            .partition = i ? RLF_PARTITION_ROWS : RLF_PARTITION_WHOLE};
    rlf_weight_copies_make(&t->plan, t->arena);
}

static void
take_run(trial *t, rlf_control *c, const rlf_rank_command *command)
{
    const rlf_order *order = rlf_control_order(c);
    const rlf_node *node = rlf_order_instance(order, command->instance)->node;
    for (int i = 0; i < command->n_shares; i++) {
        const rlf_share *s = &command->shares[i];
        uint32_t length[SAMPLES];
        for (uint32_t k = 0; s->rows && k < s->n_rows; k++) {
            uint32_t row = s->rows[k];
            length[k] = t->length[row];
            if (node->class == &words) {
                t->made[row] = s->rank;
            } else if (node->class->work == RLF_WORK_GENERATE) {
                t->made[row] = s->rank;
                t->sampled[s->rank] += length[k];
            } else {
                t->done[row]++;
                t->read[row] = s->rank;
                t->tokens[s->rank] += length[k];
            }
        }
        if (s->reports)
            rlf_control_tell(
                c,
                &(rlf_rank_event){.kind = node->class->work == RLF_WORK_GENERATE
                                              ? RLF_EVENT_ROWS
                                              : RLF_EVENT_DONE,
                                  .rank = s->rank,
                                  .n = command->n,
                                  .rows = s->rows,
                                  .n_rows = s->n_rows,
                                  .lengths = t->known ? length : NULL});
    }
}

static void
tell_prompts(const trial *t, rlf_rank_event *event)
{
    uint32_t *owner = RLF_NEW_ARRAY(t->arena, uint32_t, SAMPLES);
    uint32_t *prompt = RLF_NEW_ARRAY(t->arena, uint32_t, SAMPLES);
    for (int i = 0; i < SAMPLES; i++) {
        owner[i] = (uint32_t)(i / t->group);
        prompt[i] = PROMPT;
    }
    event->owner = owner;
    event->lengths = prompt;
}

static void
play(trial *t)
{
    rlf_control *c = rlf_control_new(&t->plan, (rlf_policy){0});
    rlf_control_begin(c);
    while (!rlf_control_ended(c)) {
        const rlf_rank_command *command = rlf_control_next(c);
        if (!command)
            bail("the controller waits, and all is done that it has told");
        rlf_rank_event event = {.n = command->n, .branch = -1};
        if (command->kind == RLF_DO_RUN) {
            take_run(t, c, command);
        } else if (command->kind == RLF_DO_OPEN) {
            const rlf_order *order = rlf_control_order(c);
            bool sampled = rlf_order_instance(order, command->instance)
                               ->node->class->work == RLF_WORK_GENERATE;
            event.kind = RLF_EVENT_OPENED;
            event.n_rows = SAMPLES;
            event.lengths = t->known && !sampled ? t->length : NULL;
            if (t->group)
                tell_prompts(t, &event);
            rlf_control_tell(c, &event);
        } else if (command->kind == RLF_DO_EDGE) {
            for (int i = 0; i < command->n_moves; i++)
                for (uint32_t k = 0; k < command->moves[i].n_rows; k++)
                    t->moved += t->length[command->moves[i].rows[k]];
        } else {
            event.kind = RLF_EVENT_ENDED;
            for (int r = 0; r < t->plan.ranks; r++) {
                event.rank = r;
                rlf_control_tell(c, &event);
            }
        }
    }
    rlf_control_free(c);
}

static uint32_t *
log_normal(rlf_arena *arena, uint64_t seed)
{
    rlf_random_key key = {.seed = seed, .purpose = RLF_PURPOSE_SHUFFLE};
    uint32_t *length = RLF_NEW_ARRAY(arena, uint32_t, SAMPLES);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        double u =
            ((double)rlf_draw_below(&key, 2 * i, 1 << 20) + 0.5) / 0x1p20;
        double v = ((double)rlf_draw_below(&key, 2 * i + 1, 1 << 20)) / 0x1p20;
        double normal = sqrt(-2 * log(u)) * cos(2 * acos(-1) * v);
        double x = 100 * exp(0.75 * normal);
        length[i] = x < MOST_LENGTH ? (uint32_t)x + 1 : MOST_LENGTH;
    }
    return length;
}

/* The replica with the most over the mean. */
static double
imbalance(const uint64_t *tokens, int ranks)
{
    uint64_t all = 0, most = 0;
    for (int r = 0; r < ranks; r++) {
        all += tokens[r];
        most = tokens[r] > most ? tokens[r] : most;
    }
    return (double)most * ranks / (double)all;
}

/* Over all trials. */
typedef struct seen {
    double worst, mean; /* imbalance of logprobs */
    double sampled;     /* imbalance of samples, the mean */
    double moved;       /* part of the tokens that were more than a replica's
                           even part, and went: the most */
    bool once;          /* every row was computed once */
} seen;

static seen
run(bool sampled, bool known)
{
    seen s = {.once = true};
    for (int i = 0; i < TRIALS; i++) {
        trial t = {.arena = rlf_arena_new(), .known = known};
        int ranks = 2 + i % (MOST_RANKS - 1);
        t.length = log_normal(t.arena, (uint64_t)i);
        make_graph(&t, sampled);
        make_plan(&t, ranks);
        play(&t);
        double by = imbalance(t.tokens, ranks), over = 0, all = 0;
        s.worst = fmax(s.worst, by);
        s.mean += by / TRIALS;
        for (int r = 0; r < ranks; r++)
            all += (double)t.tokens[r];
        for (int r = 0; r < ranks && sampled; r++)
            over += fmax(0, (double)t.sampled[r] - all / ranks);
        if (sampled) {
            s.sampled += imbalance(t.sampled, ranks) / TRIALS;
            s.moved = fmax(s.moved, ((double)t.moved - over) / all);
        }
        for (int k = 0; k < SAMPLES; k++)
            s.once &= t.done[k] == 1;
        rlf_arena_free(t.arena);
    }
    return s;
}

/* ---- values per word ---- */

/* Values per word that nobody stores are made of what is everywhere, by the
 * first half of the ranks, and then something is computed of some of them
 * there. Returns the imbalance of that. */
static double
words_imbalance(int ranks)
{
    enum { VALUES = 3 * SAMPLES };
    trial t = {.arena = rlf_arena_new()};
    begin_graph(&t);
    int rows = add_node(t.graph, &draw, (node_parts){BATCH}), value = 0;
    for (int i = 0; i < VALUES; i++)
        value = add_node(t.graph, &logprobs, (node_parts){.rows = 1, IN(rows)});
    add_node(t.graph, &words, (node_parts){.rows = 1, IN(value - VALUES + 1)});
    make_plan(&t, ranks);
    for (int i = 1; i <= VALUES + 1; i++) {
        rlf_layout *l = &t.plan.place[i].layout;
        l->n_ranks = l->dp = ranks / 2;
        if (i <= VALUES)
            t.plan.place[i].partition = RLF_PARTITION_NEAR;
    }
    t.length = RLF_NEW_ARRAY(t.arena, uint32_t, SAMPLES);
    play(&t);
    uint64_t count[MOST_RANKS] = {0};
    for (int k = 0; k < SAMPLES; k++)
        count[t.made[k]]++;
    double by = imbalance(count, ranks / 2);
    rlf_arena_free(t.arena);
    return by;
}

/* ---- samples of a prompt ---- */

/* Samples that rank 0 has made alone, so many of each prompt, are read by all
 * ranks. Returns the number of ranks that read samples of a prompt, on average;
 * *by: how even it is. */
static double
readers_of_prompt(int group, int ranks, double *by)
{
    trial t = {.arena = rlf_arena_new(), .known = true, .group = group};
    double readers = 0;
    uint32_t *length = RLF_NEW_ARRAY(t.arena, uint32_t, SAMPLES);
    for (int i = 0; i < SAMPLES; i++)
        length[i] = PROMPT + 50;
    t.length = length;
    make_graph(&t, true);
    make_plan(&t, ranks);
    t.plan.place[1].layout.n_ranks = t.plan.place[1].layout.dp = 1;
    play(&t);
    for (int k = 0; k < SAMPLES; k += group) {
        unsigned by_rank = 0;
        for (int i = k; i < k + group; i++)
            by_rank |= 1u << t.read[i];
        readers += __builtin_popcount(by_rank) * (double)group / SAMPLES;
    }
    *by = imbalance(t.tokens, ranks);
    rlf_arena_free(t.arena);
    return readers;
}

static void
check_prompts(void)
{
    double by;
    near(readers_of_prompt(8, 4, &by), 1, 0,
         "who reads a sample reads the others of its prompt");
    near(by, 1, 1e-9, "... where all have as many");
    ok(readers_of_prompt(48, 4, &by) > 1 && by < 1.07,
       "... and not where some had none: %.3g", by);
}

/* ---- waiting samples ---- */

/* A generation on `ranks` replicas, of which the last makes a sample in so many
 * ticks, the others one a tick. Returns the ticks that it takes; 0: a sample
 * was not made once. */
static int
ticks(int ranks, int slow, uint32_t seats, int migrate)
{
    trial t = {.arena = rlf_arena_new()};
    make_graph(&t, true);
    make_plan(&t, ranks);
    t.plan.place[1].migrate = migrate;
    t.length = RLF_NEW_ARRAY(t.arena, uint32_t, SAMPLES);
    for (int k = 0; k < SAMPLES; k++)
        t.made[k] = -1;
    rlf_control *c = rlf_control_new(&t.plan, (rlf_policy){0});
    rlf_control_begin(c);
    int tick = 0, made = 0;
    uint64_t n = 0; /* the generation's command */
    while (made < SAMPLES && tick < SAMPLES * slow) {
        const rlf_rank_command *command = rlf_control_next(c);
        rlf_do kind = command ? command->kind : RLF_DO_END;
        if (kind == RLF_DO_OPEN) {
            rlf_control_tell(c, &(rlf_rank_event){.kind = RLF_EVENT_OPENED,
                                                  .n = command->n,
                                                  .n_rows = SAMPLES});
        } else if (kind == RLF_DO_RUN && command->shares[0].rows) {
            n = command->n;
            for (int i = 0; i < command->n_shares; i++)
                for (uint32_t k = 0; k < command->shares[i].n_rows; k++)
                    t.made[command->shares[i].rows[k]] =
                        command->shares[i].rank;
        } else if (kind == RLF_DO_RUN) {
            take_run(&t, c, command);
        } else if (kind == RLF_DO_MOVE) {
            for (int i = 0; i < command->n_moves; i++)
                for (uint32_t k = 0; k < command->moves[i].n_rows; k++)
                    t.made[command->moves[i].rows[k]] = command->moves[i].to;
        } else {
            tick++;
            for (int r = 0; r < ranks; r++) {
                uint32_t row = 0;
                while (row < SAMPLES && t.made[row] != r)
                    row++;
                if (row == SAMPLES || (r == ranks - 1 && tick % slow))
                    continue;
                t.made[row] = -1;
                made++;
                rlf_control_tell(c, &(rlf_rank_event){.kind = RLF_EVENT_ROWS,
                                                      .rank = r,
                                                      .n = n,
                                                      .rows = &row,
                                                      .n_rows = 1,
                                                      .seats = seats});
            }
        }
    }
    rlf_control_free(c);
    rlf_arena_free(t.arena);
    return made == SAMPLES ? tick : 0;
}

int
main(void)
{
    plan(13);
    seen count = run(true, false), length = run(true, true);
    ok(count.once && length.once, "every row is computed once");
    ok(count.mean > 1.15,
       "where no lengths are known rows stay where they were sampled: the "
       "largest part is %.2f of the mean",
       count.mean);
    ok(length.worst < 1.1 && length.mean < 1.07,
       "with their lengths it is %.2f, %.2f at most", length.mean,
       length.worst);
    ok(length.sampled > 1.15 && length.moved < 0.02,
       "and no more tokens go to another rank than were too many there");
    seen given = run(false, true), blind = run(false, false);
    ok(given.worst < 1.02 && given.once,
       "what is on all ranks is assigned by length from the first: %.3f at "
       "most",
       given.worst);
    ok(blind.mean > 1.15 && blind.once, "and else by count: %.2f", blind.mean);
    int alone = ticks(4, 8, 4, 0), fed = ticks(4, 8, 4, 1);
    ok(alone == SAMPLES / 4 * 8 && fed && fed < alone / 3,
       "a slow replica's waiting samples are made by others: %d ticks, not %d",
       fed, alone);
    is_int(ticks(4, 8, SAMPLES, 1), alone, "those that have a seat stay");
    is_int(ticks(4, 8, 0, 1), alone, "nothing goes while seats are not known");
    ok(words_imbalance(4) == 1 && words_imbalance(8) == 1,
       "values per word that some ranks made together lie nowhere: rows are "
       "assigned evenly, as if they were not read");
    check_prompts();
    return done();
}

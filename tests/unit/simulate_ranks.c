/* The protocol of many ranks, as a model: the real controller, and ranks on a
 * virtual clock on which everything takes a random time.
 *
 * These laws must hold in every schedule: a rank that computes rows has what
 * they are made of; what the ranks are told of a command fits together, message
 * by message; rows are computed once; an edge never sends what is there
 * already; a call reads the weights of all updates before it, and they stay as
 * they are while it reads; a sample is made by one replica, though samples go
 * from one to another while they are made; and nothing hangs, with overlapping
 * meshes and open generations. Samples that are made ahead come of the weights
 * that their step began with, and where they lie apart updates go on beside
 * them, also those of later steps; when a run settles between two steps,
 * nothing is open. And the rule of the open replica is needed: without it, it
 * does hang.
 *
 * All that holds for rows that are assigned as in a run, and in half of the
 * schedules for rows that are assigned by dice. */
#include "tests/tap.h"
#include "tests/unit/simulate_world.h"

/* Of all trials. */
typedef struct seen {
    long went, stayed; /* rows of moves: that went, that were complete */
    long idle;         /* parts of ranks that are told and do nothing */
    long joint;        /* updates that were carried out with their partner */
    long beside;       /* updates while something was made ahead */
    long open;         /* steps that ended before that did */
    long hung, shown;  /* schedules; and those of which ranks say who waits */
} seen;

/* ---- any assignment ---- */

static chance *dice; /* NULL: rows are assigned as in a run */

int *__real_rlf_control_assign(rlf_control *control, int instance,
                               const uint32_t *rows, uint32_t n);
int *__wrap_rlf_control_assign(rlf_control *control, int instance,
                             const uint32_t *rows, uint32_t n);

/* To any replica of the layout, but those of a group that is computed together
 * to one. */
int *
__wrap_rlf_control_assign(rlf_control *control, int instance,
                        const uint32_t *rows, uint32_t n)
{
    const rlf_node *node =
        rlf_order_instance(rlf_control_order(control), instance)->node;
    int dp = rlf_control_plan(control)->place[node->id].layout.dp;
    int *to = __real_rlf_control_assign(control, instance, rows, n);
    for (uint32_t k = 0; dice && k < n; k++) {
        bool with_last = node->grain == RLF_GRAIN_GROUP && k > 0 &&
                         rows[k] / EACH == rows[k - 1] / EACH;
        to[k] = with_last ? to[k - 1] : (int)roll_die(dice, (uint32_t)dp);
    }
    return to;
}

/* ---- trials ---- */

/* A step begins: what there was is forgotten, but not what is made ahead. */
static void
begin(world *w, uint64_t step)
{
    int lanes = (int)w->p->graph->ahead + 1;
    int fresh = rlf_ranks_begin(w->all);
    w->step = step;
    w->before[step] = w->before[step - 1] + w->n_updates;
    w->n_updates = 0;
    w->joint = NULL;
    for (int i = 0; i < fresh; i++) {
        uint64_t s = step + w->p->graph->ahead - (uint64_t)i;
        for (int k = (int)(s % (uint64_t)lanes); k < MOST_INSTANCES;
             k += lanes) {
            memset(w->computed[k], 0, sizeof w->computed[k]);
            for (int r = 0; r < MOST_RANKS; r++)
                memset(w->ranks[r].have[k], 0, sizeof w->ranks[r].have[k]);
        }
    }
}

/* Between two steps: what is made ahead comes to its end. */
static bool
settle(world *w)
{
    rlf_control_settle(w->control);
    bool ended = rlf_ranks_run(w->all);
    if (makes_ahead(w))
        w->wrong = "something is open in a run that has settled";
    return ended && !w->wrong;
}

/* True if all steps ended; else one hung or went wrong. */
static bool
trial(const program *p, uint64_t seed, bool rule, seen *out)
{
    chance c = {.key = {.seed = seed, .purpose = RLF_PURPOSE_SHUFFLE}};
    rlf_arena *arena = rlf_arena_new();
    world *w = RLF_NEW(arena, world);
    rlf_plan plan = any_plan(&c, p, arena);
    *w = (world){.p = p,
                 .plan = &plan,
                 .chance = &c,
                 .control = rlf_control_new(
                     &plan, (rlf_policy){.piece = roll_die(&c, 3)})};
    for (uint32_t i = 0; i < SAMPLES; i++) {
        w->owner[i] = i / EACH;
        w->iota[i] = i;
        w->length[i] = roll_die(&c, 9);
    }
    memset(w->carried, 0xff, sizeof w->carried); /* -1 */
    w->seats = roll_die(&c, 4);
    chance thrown = {.key = {.seed = seed, .purpose = RLF_PURPOSE_INIT}};
    dice = roll_die(&c, 2) ? &thrown : NULL;
    w->all = rlf_ranks_new(w->control,
                           &(rlf_ranks_options){.self = w,
                                                .answer = answer,
                                                .length = any_length,
                                                .seats = seats,
                                                .lengths = roll_die(&c, 4),
                                                .work = any_work,
                                                .turn = any_turn,
                                                .mail = any_mail,
                                                .news = any_mail,
                                                .post = roll_die(&c, 2),
                                                .see = see,
                                                .posted = posted,
                                                .each_looks = !rule});
    bool ended = true;
    for (uint64_t s = 1; ended && s <= (p->graph->ahead ? STEPS : 1); s++) {
        begin(w, s);
        ended = rlf_ranks_run(w->all) && !w->wrong;
        w->open += makes_ahead(w);
        if (ended && roll_die(&c, 4) == 0)
            ended = settle(w);
    }
    if (w->wrong && rule)
        note("seed %llu: %s", (unsigned long long)seed, w->wrong);
    if (!ended && !w->wrong) {
        rlf_buf ranks = {0};
        rlf_ranks_print(w->all, &ranks);
        if (rule)
            note("seed %llu: %s", (unsigned long long)seed, ranks.p);
        out->shown += ranks.p && strstr(ranks.p, " waits for others in ") &&
                      strstr(ranks.p, " { n ");
        out->hung++;
        rlf_buf_free(&ranks);
    }
    out->went += w->n_went;
    out->stayed += w->n_stayed;
    out->joint += w->n_joint;
    out->idle += w->idle_parts;
    out->beside += w->beside;
    out->open += w->open;
    rlf_ranks_free(w->all);
    rlf_control_free(w->control);
    ended &= !w->wrong;
    rlf_arena_free(arena);
    return ended;
}

int
main(void)
{
    plan(6 + 2 * MOST_AHEAD);
    /* 100,000 have been seen; they take half a minute of a processor */
    const char *more = getenv("RLFLOW_TEST_SCHEDULES");
    int n = more ? atoi(more) : getenv("RLFLOW_TEST_QUICK") ? 500 : 5000;
    int ruleless = quick() ? 200 : 1000;
    int hung = 0, without = 0;
    seen all = {0}, others = {0};
    program p = make(0, true);
    for (int i = 0; i < n; i++) {
        bool ended = trial(&p, (uint64_t)i, true, &all);
        if (!ended && hung++ < 5)
            note("seed %d did not end", i);
    }
    ok(hung == 0, "%d random schedules: complete, nothing twice, no hang", n);
    ok(all.went > n / 10 && all.stayed > n / 10,
       "samples went from replica to replica (%ld; %ld were complete before)",
       all.went, all.stayed);
    ok(all.idle > n, "%ld times a rank was told of what others do", all.idle);
    ok(all.joint > n / 10, "%ld updates were carried out with their partner",
       all.joint);
    for (int i = 0; i < ruleless; i++)
        without += !trial(&p, (uint64_t)i, false, &others);
    ok(without > 0, "without the rule of the open replica %d of %d hang",
       without, ruleless);
    ok(others.hung > 0 && others.shown == others.hung,
       "... and of each it is said who waits in which command");
    rlf_arena_free(p.arena);
    for (uint32_t ahead = 1; ahead <= MOST_AHEAD; ahead++) {
        program both[] = {make(ahead, true), make(ahead, false)};
        hung = 0;
        all.beside = all.open = 0;
        for (int i = 0; i < n / 5; i++) {
            bool ended = trial(&both[i % 2], (uint64_t)i, true, &all);
            if (!ended && hung++ < 5)
                note("seed %d did not end", i);
        }
        ok(hung == 0 && all.beside > n / 5,
           "%u ahead, %d random schedules of %d steps: the same, and %ld "
           "updates ran beside what is made ahead",
           ahead, n / 5, STEPS, all.beside);
        ok(ahead > 1 ? all.open > n / 200 : !all.open,
           "%ld steps ended while something was made ahead", all.open);
        rlf_arena_free(both[0].arena);
        rlf_arena_free(both[1].arena);
    }
    return done();
}

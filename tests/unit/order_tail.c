/* These checks compare what a run learns of its generations, the line through
 * its turns and the threshold that is found by it, with a simulation of
 * generation turn by turn, with lengths drawn and assigned at random. */
#include "engine/order/tail.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/philox.h"
#include "tests/tap.h"

enum { REPLICAS = 8, SAMPLES = 128, TRIALS = 8, PROMPT = 50 };

typedef struct chance {
    rlf_random_key key;
    uint32_t at;
} chance;

static double
normal(chance *c)
{
    double u = rlf_draw_uniform(&c->key, c->at++);
    double v = rlf_draw_uniform(&c->key, c->at++);
    return sqrt(-2 * log(1 - u)) * cos(2 * acos(-1) * v);
}

/* Seconds of a turn, and of what follows a sample if a replica does it, which
 * has so many ranks; samples that this begins with, 0: one. */
typedef struct costs {
    double fixed, each, follows;
    int ranks;
    uint32_t piece;
    double key; /* seconds of a turn for each key that it reads */
} costs;

static int
ranks_of(const costs *of)
{
    return of->ranks ? of->ranks : 1;
}

static uint32_t
piece_of(const costs *of)
{
    return of->piece ? of->piece : 1;
}

static uint32_t
draw_length(chance *c, double sigma)
{
    double x = 100 * exp(sigma * normal(c));
    return x < 1 ? 1 : x > 2000 ? 2000 : (uint32_t)x;
}

/* Tells the tail what a generation of samples of these lengths reports, each
 * replica by itself. */
static void
make_samples(rlf_tail *tail, const uint32_t *lengths, const costs *of)
{
    rlf_tail_begin(tail);
    for (int d = 0; d < REPLICAS; d++) {
        rlf_rank_event event = {.seats = SAMPLES};
        for (uint32_t turn = 0;; turn++) {
            double left = 0;
            for (int i = d; i < SAMPLES; i += REPLICAS)
                left += lengths[i] > turn;
            if (left == 0)
                break;
            double keys = left * (PROMPT + turn);
            double t = of->fixed + of->each * left + of->key * keys;
            rlf_tail_turn_add(&event.decodes, left, keys, t);
        }
        uint32_t mine[SAMPLES];
        for (int i = d; i < SAMPLES; i += REPLICAS)
            mine[event.n_rows++] = lengths[i];
        event.lengths = mine;
        rlf_tail_rows(tail, &event);
    }
}

/* ... and what follows it, which all do. */
static void
show(rlf_tail *tail, const uint32_t *lengths, const costs *of)
{
    make_samples(tail, lengths, of);
    rlf_tail_follow(tail, of->follows * SAMPLES, ranks_of(of),
                    REPLICAS * ranks_of(of), 0);
}

static int
by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Seconds until all is done, with replicas that each have a clock of their own,
 * and samples that are where they are. */
static double
play(const uint32_t *lengths, const costs *of, uint32_t threshold,
     uint32_t seats)
{
    int at[SAMPLES];
    uint32_t made[SAMPLES] = {0}, left = SAMPLES;
    double clock[REPLICAS] = {0}, finished[SAMPLES], free_at[REPLICAS];
    bool gathered = false;
    for (int i = 0; i < SAMPLES; i++)
        at[i] = i % REPLICAS;
    while (left) {
        int next = -1, load[REPLICAS] = {0};
        for (int i = 0; i < SAMPLES; i++)
            load[at[i]] += made[i] < lengths[i];
        for (int d = 0; d < REPLICAS; d++)
            if (load[d] && (next < 0 || clock[d] < clock[next]))
                next = d;
        if (!gathered && left < threshold) { /* to the ones with the most */
            uint32_t need = (left + seats - 1) / seats;
            bool stay[REPLICAS] = {0};
            for (uint32_t k = 0; k < need && k < REPLICAS; k++) {
                int best = -1;
                for (int d = 0; d < REPLICAS; d++)
                    if (!stay[d] && (best < 0 || load[d] > load[best]))
                        best = d;
                stay[best] = true;
            }
            for (int i = 0; i < SAMPLES; i++) {
                if (made[i] >= lengths[i] || stay[at[i]])
                    continue;
                int best = -1;
                for (int d = 0; d < REPLICAS; d++)
                    if (stay[d] && (best < 0 || load[d] < load[best]))
                        best = d;
                at[i] = best;
                load[best]++;
            }
            gathered = true;
            continue;
        }
        double keys = 0;
        for (int i = 0; i < SAMPLES; i++)
            if (at[i] == next && made[i] < lengths[i])
                keys += PROMPT + made[i];
        clock[next] += of->fixed + of->each * load[next] + of->key * keys;
        for (int i = 0; i < SAMPLES; i++) {
            if (at[i] != next || made[i] >= lengths[i])
                continue;
            if (++made[i] == lengths[i]) {
                finished[i] = clock[next];
                left--;
            }
        }
    }
    /* what follows, in the order in which samples are complete, on whoever is
     * free first */
    memcpy(free_at, clock, sizeof clock);
    double end = 0, begins[SAMPLES];
    memcpy(begins, finished, sizeof begins);
    qsort(begins, SAMPLES, sizeof *begins, by_size);
    for (uint32_t n = 0; n < SAMPLES; n++) { /* with the last of its piece */
        uint32_t last = n / piece_of(of) * piece_of(of) + piece_of(of) - 1;
        begins[n] = begins[last < SAMPLES ? last : SAMPLES - 1];
    }
    for (int n = 0; n < SAMPLES; n++) {
        int first = -1, who = 0;
        for (int i = 0; i < SAMPLES; i++)
            if (finished[i] >= 0 &&
                (first < 0 || finished[i] < finished[first]))
                first = i;
        for (int d = 0; d < REPLICAS; d++)
            if (free_at[d] < free_at[who])
                who = d;
        double from = fmax(free_at[who], begins[n]);
        end = fmax(end, free_at[who] = from + of->follows);
        finished[first] = -1;
    }
    return end;
}

static rlf_tail_gather
find(const rlf_tail *tail, const costs *of)
{
    return rlf_tail_find(tail, &(rlf_tail_begun){.n = SAMPLES,
                                                 .replicas = REPLICAS,
                                                 .ranks = ranks_of(of),
                                                 .room = SAMPLES,
                                                 .prompt = PROMPT,
                                                 .piece = piece_of(of)});
}

/* Seen are some generations, played is the next. Sums over trials. */
static void
test_threshold(const char *name, double sigma, const costs *of, bool pays)
{
    double never = 0, chosen = 0, fixed[SAMPLES] = {0}, best = INFINITY;
    uint32_t threshold = 0, apart = 4; /* thresholds that are played */
    int trials = quick() ? 2 : TRIALS;
    if (quick())
        apart = 16;
    for (int trial = 0; trial < trials; trial++) {
        chance c = {.key = {.seed = 77 + (uint64_t)trial}};
        rlf_tail tail = {0};
        uint32_t lengths[SAMPLES];
        for (int step = 0; step < 4; step++) {
            for (int i = 0; i < SAMPLES; i++)
                lengths[i] = draw_length(&c, sigma);
            if (step < 3)
                show(&tail, lengths, of);
        }
        const rlf_tail_gather is = find(&tail, of);
        threshold = is.threshold;
        never += play(lengths, of, 0, SAMPLES);
        chosen += play(lengths, of, threshold, is.seats);
        for (uint32_t r = 0; r < SAMPLES; r += apart)
            fixed[r] += play(lengths, of, r, is.seats ? is.seats : SAMPLES);
    }
    for (uint32_t r = 0; r < SAMPLES; r += apart)
        best = fmin(best, fixed[r]);
    note("%s: threshold %u of %d; never %.4g, chosen %.4g, best %.4g", name,
         threshold, SAMPLES, never, chosen, best);
    ok((threshold > 0) == pays, "%s: it %s", name,
       pays ? "pays" : "does not pay");
    ok(chosen <= (pays ? 1.05 : 1.125) * best && chosen <= 1.01 * never,
       "... %s of the best threshold, and no worse than none",
       pays ? "within 5 %" : "within an eighth");
}

static void
test_line(void)
{
    const costs of = {.fixed = 3e-3, .each = 1e-4, .key = 1e-6};
    rlf_tail tail = {0};
    uint32_t lengths[SAMPLES];
    rlf_tail_turn turn;
    double token;
    ok(!rlf_tail_decodes(&tail, &turn) && !rlf_tail_token(&tail, &token) &&
           !rlf_tail_saturation(&tail, 1) && !find(&tail, &of).threshold,
       "nothing was seen, nothing is known");
    for (int i = 0; i < SAMPLES; i++)
        lengths[i] = 1 + (uint32_t)i;
    for (int step = 0; step < 3; step++)
        show(&tail, lengths, &of);
    ok(rlf_tail_decodes(&tail, &turn), "turns make a plane");
    near(turn.fixed, 3e-3, 1e-9, "what a turn takes");
    near(turn.sample, 1e-4, 1e-9, "what a sample takes");
    near(turn.key, 1e-6, 1e-11, "what a key takes");
    near(rlf_tail_saturation(&tail, 200), 10, 0.5,
         "samples of 200 keys that double a turn");
    rlf_rank_event prompts = {.turns = {0}};
    rlf_tail_turn_add(&prompts.turns, 4000, 4000 * 500, 0.1);
    rlf_tail_rows(&tail, &prompts);
    ok(rlf_tail_decodes(&tail, &turn) && fabs(turn.sample - 1e-4) < 1e-9,
       "a turn that feeds prompts does not count there");
    ok(rlf_tail_token(&tail, &token) && token > 2e-5 && token < 2.5e-5,
       "but for what a token takes");
}

/* Checks that nodes which need the ranks of all replicas do not run while one
 * of these still samples. */
static void
test_together(void)
{
    const costs of = {.fixed = 3e-3, .each = 2e-5, .follows = 400e-3};
    uint32_t threshold[2];
    for (int all = 0; all < 2; all++) {
        chance c = {.key = {.seed = 77}};
        rlf_tail tail = {0};
        uint32_t lengths[SAMPLES];
        for (int i = 0; i < SAMPLES; i++)
            lengths[i] = draw_length(&c, 1);
        show(&tail, lengths, &of);
        if (all)
            rlf_tail_follow(&tail, 0, REPLICAS, REPLICAS, 0);
        rlf_tail_begin(&tail); /* before anything follows the next */
        threshold[all] = find(&tail, &of).threshold;
    }
    ok(threshold[0] > 0 && threshold[1] == 0,
       "samples are not gathered where no rank is free of them then");
}

/* Ranks that never sample do what follows, and others with them or none: the
 * less is left for those that gathering makes free. */
static void
test_beside(void)
{
    const costs of = {.fixed = 3e-3, .each = 2e-5, .follows = 400e-3};
    const int within[] = {REPLICAS, REPLICAS, 0};
    const int beside[] = {0, 4 * REPLICAS, REPLICAS};
    uint32_t threshold[3];
    for (int k = 0; k < 3; k++) {
        chance c = {.key = {.seed = 77}};
        rlf_tail tail = {0};
        uint32_t lengths[SAMPLES];
        for (int i = 0; i < SAMPLES; i++)
            lengths[i] = draw_length(&c, 1);
        make_samples(&tail, lengths, &of);
        rlf_tail_follow(&tail, of.follows * SAMPLES, 1, within[k], beside[k]);
        threshold[k] = find(&tail, &of).threshold;
    }
    ok(threshold[0] > 0 && threshold[1] == 0 && threshold[2] == 0,
       "nor where ranks that never sample do most of what follows, or all");
}

int
main(void)
{
    test_line();
    test_threshold("long tails, much follows", 0.75,
                   &(costs){.fixed = 3e-3, .each = 2e-5, .follows = 100e-3},
                   true);
    test_threshold("longer tails, more follows", 1.0,
                   &(costs){.fixed = 3e-3, .each = 2e-5, .follows = 250e-3},
                   true);
    test_threshold("turns that are soon full", 0.75,
                   &(costs){.fixed = 3e-3, .each = 2e-4, .follows = 200e-3},
                   true);
    test_threshold(
        "contexts are long", 0.75,
        &(costs){.fixed = 3e-3, .each = 2e-5, .follows = 50e-3, .key = 4e-6},
        false);
    test_threshold(
        "a fourth follows, of four ranks each", 0.75,
        &(costs){.fixed = 3e-3, .each = 2e-4, .follows = 25e-3, .ranks = 4},
        false);
    test_threshold("what follows comes in halves", 0.75,
                   &(costs){.fixed = 3e-3,
                            .each = 2e-4,
                            .follows = 100e-3,
                            .piece = SAMPLES / 2},
                   false);
    test_together();
    test_beside();
    test_threshold("nothing follows", 0.75,
                   &(costs){.fixed = 3e-3, .each = 1e-4, .follows = 0}, false);
    test_threshold("all of a length", 0,
                   &(costs){.fixed = 3e-3, .each = 1e-4, .follows = 20e-3},
                   false);
    test_threshold("turns cost by the token", 0.75,
                   &(costs){.fixed = 1e-7, .each = 1e-3, .follows = 20e-3},
                   false);
    return done();
}

/* What a run learns of its generations: the line through its turns, and the
 * threshold that is made of what it saw, against a simulation that plays
 * generation turn by turn with lengths drawn and dealt at random. */
#include "engine/order/pace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/philox.h"
#include "tests/tap.h"

enum { REPLICAS = 8, SAMPLES = 128, TRIALS = 8 };

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

/* What a generation of these lengths reports: each replica by itself. */
static void
show(rlf_pace *pace, const uint32_t *lengths, const costs *of)
{
    rlf_pace_begin(pace);
    for (int d = 0; d < REPLICAS; d++) {
        rlf_report report = {.seats = SAMPLES};
        for (uint32_t turn = 0;; turn++) {
            double left = 0;
            for (int i = d; i < SAMPLES; i += REPLICAS)
                left += lengths[i] > turn;
            if (left == 0)
                break;
            double t = of->fixed + of->each * left;
            report.turns.n++;
            report.turns.x += left;
            report.turns.xx += left * left;
            report.turns.t += t;
            report.turns.xt += left * t;
        }
        uint32_t mine[SAMPLES];
        for (int i = d; i < SAMPLES; i += REPLICAS)
            mine[report.n_rows++] = lengths[i];
        report.lengths = mine;
        rlf_pace_rows(pace, &report);
    }
    rlf_pace_follow(pace, of->follows * SAMPLES, ranks_of(of));
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
        clock[next] += of->fixed + of->each * load[next];
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

/* Seen are some generations, played is the next. Sums over trials. */
static void
test_threshold(const char *name, double sigma, const costs *of, bool pays)
{
    double never = 0, chosen = 0, fixed[SAMPLES] = {0}, best = INFINITY;
    uint32_t threshold = 0;
    for (int trial = 0; trial < TRIALS; trial++) {
        chance c = {.key = {.seed = 77 + (uint64_t)trial}};
        rlf_pace pace = {0};
        uint32_t lengths[SAMPLES];
        for (int step = 0; step < 4; step++) {
            for (int i = 0; i < SAMPLES; i++)
                lengths[i] = draw_length(&c, sigma);
            if (step < 3)
                show(&pace, lengths, of);
        }
        uint32_t seats = rlf_pace_saturation(&pace);
        seats = seats && seats < SAMPLES ? seats : SAMPLES;
        threshold = rlf_pace_threshold(
            &pace, &(rlf_pace_begun){SAMPLES, REPLICAS, ranks_of(of), seats,
                                     piece_of(of)});
        never += play(lengths, of, 0, seats);
        chosen += play(lengths, of, threshold, seats);
        for (uint32_t r = 0; r < SAMPLES; r += 4)
            fixed[r] += play(lengths, of, r, seats);
    }
    for (uint32_t r = 0; r < SAMPLES; r += 4)
        best = fmin(best, fixed[r]);
    note("%s: threshold %u of %d; never %.4g, chosen %.4g, best %.4g", name,
         threshold, SAMPLES, never, chosen, best);
    ok((threshold > 0) == pays, "%s: it %s", name,
       pays ? "pays" : "does not pay");
    ok(chosen <= 1.05 * best && chosen <= 1.01 * never,
       "... within 5 %% of the best threshold, and no worse than none");
}

static void
test_line(void)
{
    const costs of = {.fixed = 3e-3, .each = 1e-4};
    rlf_pace pace = {0};
    uint32_t lengths[SAMPLES];
    double fixed, each;
    ok(!rlf_pace_turn(&pace, &fixed, &each) && !rlf_pace_saturation(&pace) &&
           !rlf_pace_threshold(&pace,
                               &(rlf_pace_begun){SAMPLES, REPLICAS, 1, 8, 1}),
       "nothing was seen, nothing is known");
    for (int i = 0; i < SAMPLES; i++)
        lengths[i] = 1 + (uint32_t)i;
    for (int step = 0; step < 3; step++)
        show(&pace, lengths, &of);
    ok(rlf_pace_turn(&pace, &fixed, &each), "turns make a line");
    near(fixed, 3e-3, 1e-9, "what a turn takes");
    near(each, 1e-4, 1e-9, "what a token takes");
    near(rlf_pace_saturation(&pace), 30, 1, "samples that double a turn");
}

/* What needs the ranks of all replicas is done by none while one samples. */
static void
test_together(void)
{
    const costs of = {.fixed = 3e-3, .each = 2e-5, .follows = 250e-3};
    const rlf_pace_begun begun = {SAMPLES, REPLICAS, 1, SAMPLES, 1};
    uint32_t threshold[2];
    for (int all = 0; all < 2; all++) {
        chance c = {.key = {.seed = 77}};
        rlf_pace pace = {0};
        uint32_t lengths[SAMPLES];
        for (int i = 0; i < SAMPLES; i++)
            lengths[i] = draw_length(&c, 1);
        show(&pace, lengths, &of);
        if (all)
            rlf_pace_follow(&pace, 0, REPLICAS);
        threshold[all] = rlf_pace_threshold(&pace, &begun);
    }
    ok(threshold[0] > 0 && threshold[1] == 0,
       "samples are not gathered where no rank is free of them then");
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
                   &(costs){.fixed = 3e-3, .each = 2e-4, .follows = 100e-3},
                   true);
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

/* Expected lengths of rows, turns and micro-batches, against steps that are
 * drawn row by row and counted plainly. */
#include "engine/base/splitmix.h"
#include "engine/base/vec.h"
#include "engine/graph/graph.h"
#include "engine/timing/sampling.h"
#include "engine/timing/workload.h"
#include "tests/tap.h"
#include "tests/unit/length_texts.h"

#include <stdlib.h>

enum { TRIALS = 60 };

/* Row i of a trial; other streams are others' rows. */
static double
drawn(const rlf_length_distribution *d, uint32_t trial, uint32_t stream,
      uint64_t i, double most)
{
    const rlf_random_key key = {
        .seed = 11, .site = stream, .step = trial, .sample = i};
    return rlf_lengths_draw(d, &key, (uint32_t)most);
}

/* ---- lists ---- */

static void
check_list(void)
{
    rlf_arena *arena = rlf_arena_new();
    uint32_t list[] = {30, 10, 20, 20, 1000};
    rlf_length_distribution d =
        rlf_lengths_of_list(list, RLF_COUNT(list), arena);
    near(rlf_lengths_mean(&d, 0), 216, 1e-12, "a list: mean");
    near(rlf_lengths_mean(&d, 25), 20, 1e-12, "... of what is cut");
    near(rlf_lengths_above(&d, 20), 0.4, 1e-12, "... above one of it");
    near(rlf_lengths_above(&d, 19.5), 0.8, 1e-12, "... above none of it");
    near(rlf_lengths_quantile(&d, 0.1), 10, 0, "... the least");
    near(rlf_lengths_quantile(&d, 0.5), 20, 0, "... the median");
    near(rlf_lengths_quantile(&d, 0.99), 1000, 0, "... the most");
    ok(!rlf_lengths_alike(&d, 0) && !rlf_lengths_alike(&d, 20) &&
           rlf_lengths_alike(&d, 10),
       "... is all alike where it is cut at the least");
    uint32_t seen[1001] = {0}, same[] = {7, 7, 7};
    for (uint32_t i = 0; i < 5000; i++)
        seen[(int)drawn(&d, 0, 0, i, 0)]++;
    ok(seen[10] > 900 && seen[10] < 1100 && seen[20] > 1850 &&
           seen[20] < 2150 && seen[1000] > 900 && seen[1000] < 1100,
       "... is drawn as often as it says (%u, %u, %u)", seen[10], seen[20],
       seen[1000]);
    d = rlf_lengths_of_list(same, 3, arena);
    ok(rlf_lengths_alike(&d, 0), "a list of one length is all alike");
    rlf_arena_free(arena);
}

static void
check_longest(void)
{
    static const char *const texts[] = {"fixed:40", "lognormal:300,0.7",
                                        "lognormal:300,1.2"};
    static const int counts[] = {1, 2, 16, 500};
    for (size_t t = 0; t < RLF_COUNT(texts); t++)
        for (size_t k = 0; k < RLF_COUNT(counts); k++) {
            rlf_length_distribution d = read_text(texts[t]);
            double sum = 0;
            int trials = 2000;
            for (int i = 0; i < trials; i++) {
                double most = 0;
                for (int j = 0; j < counts[k]; j++)
                    most = fmax(most,
                                drawn(&d, (uint32_t)i, 1, (uint64_t)j, 1024));
                sum += most;
            }
            double want = sum / trials;
            double got = rlf_lengths_longest(&d, counts[k], 1024);
            ok(fabs(got / want - 1) < 0.05,
               "%s: the longest of %d is %.4g long, drawn %.4g", texts[t],
               counts[k], got, want);
        }
}

/* ---- turns ---- */

typedef struct turns {
    double n;    /* until all replicas are done */
    double rows; /* summed over turns, of a replica */
    /* Tokens that each row has made in each turn, summed likewise. */
    double made;
    double fresh; /* prompts of rows that begin later: of those that begin in
                     the same turn each once */
} turns;

/* One replica, a turn at a time. */
static turns
play(const rlf_sampling *s, uint32_t trial, uint32_t replica)
{
    turns t = {0};
    int all = (int)s->rows, seats = (int)s->seats, next = 0, n = 0;
    double *left = calloc((size_t)seats, sizeof *left);
    double *made = calloc((size_t)seats, sizeof *made);
    for (;;) {
        for (int group = -1; n < seats && next < all; next++, n++) {
            left[n] =
                drawn(s->lengths, trial, replica, (uint64_t)next, s->most);
            made[n] = 0;
            int of = next / (int)fmax(1, s->group);
            t.fresh += t.n > 0 && of != group;
            group = of;
        }
        if (!n)
            break;
        t.n++;
        t.rows += n;
        for (int i = 0; i < n; i++)
            t.made += made[i];
        for (int i = 0; i < n;) {
            made[i]++;
            if (--left[i] > 0) {
                i++;
                continue;
            }
            n--;
            left[i] = left[n];
            made[i] = made[n];
        }
    }
    free(left);
    free(made);
    return t;
}

static void
check_sampling(const char *text, double rows, double seats, double replicas,
               double group)
{
    rlf_length_distribution d = read_text(text);
    const rlf_sampling s = {.lengths = &d,
                            .most = 1024,
                            .rows = rows,
                            .seats = seats,
                            .replicas = replicas,
                            .group = group};
    turns want = {0}, last = {0}, got = {0};
    for (uint32_t i = 0; i < TRIALS; i++) {
        turns most = {0};
        for (uint32_t r = 0; r < replicas; r++) {
            turns one = play(&s, i, r + 2);
            if (one.n > most.n)
                most = one;
            want.rows += one.rows / replicas / TRIALS;
            want.made += one.made / replicas / TRIALS;
            want.fresh += one.fresh / replicas / TRIALS;
        }
        want.n += most.n / TRIALS;
        last.rows += most.rows / TRIALS;
        last.made += most.made / TRIALS;
    }
    rlf_sampling_part parts[RLF_SAMPLING_PARTS];
    int n = rlf_sampling_parts(&s, parts);
    bool falls = true;
    for (int i = 0; i < n; i++) {
        got.n += parts[i].turns;
        got.rows += parts[i].turns * parts[i].rows;
        got.made += parts[i].turns * parts[i].rows * parts[i].made;
        got.fresh += parts[i].turns * parts[i].fresh;
        falls &= i == 0 || parts[i].rows <= parts[i - 1].rows * (1 + 1e-9);
    }
    ok(fabs(got.n / want.n - 1) < 0.06,
       "%s, %g rows on %g seats of %g: %.4g turns, played %.4g", text, rows,
       seats, replicas, got.n, want.n);
    ok(got.rows > 0.96 * want.rows && got.rows < 1.04 * last.rows,
       "... with %.4g rows of all turns together, played %.4g, of the one that "
       "is last %.4g",
       got.rows, want.rows, last.rows);
    ok(got.made > 0.9 * want.made && got.made < 1.1 * last.made,
       "... and %.4g tokens before them, played %.4g, %.4g", got.made,
       want.made, last.made);
    near(got.fresh, want.fresh, group > 1 ? 0.06 * want.fresh : 1e-6 * rows,
         "... with so many prompts of those that begin later");
    ok(falls, "... and ever fewer are at work");
}

/* Two samples of 60 tokens and a prompt of 4, with 5 pages of 16: in turn 30
 * both need a third one. The second one waits with 29 tokens until the first
 * has its 60, for it would need 3; then it is fed the 33 that it has, and goes
 * on. With 6 pages it waits from turn 46 on, and with 8 never. Samples of one
 * page each: as many at once as there are pages, 3 of 10 in 4 waves. */
static void
check_pages(void)
{
    static const struct {
        double rows, length, pages, turns, fresh, peak;
    } by_hand[] = {
        {2, 60, 5, 29 + 31 + 31, 33. / 4, 4},
        {2, 60, 6, 45 + 15 + 15, 49. / 4, 6},
        {2, 60, 8, 60, 0, 8},
        {2, 60, INFINITY, 60, 0, 8},
        {10, 12, 3, 4 * 12, 7, 3},
        {10, 12, 5, 2 * 12, 5, 5},
        {10, 12, 9, 2 * 12, 1, 9},
        {10, 12, 10, 12, 0, 10},
    };
    for (size_t k = 0; k < RLF_COUNT(by_hand); k++) {
        double rows = by_hand[k].rows, pages = by_hand[k].pages;
        double n = 0, made = 0, fresh = 0;
        const rlf_sampling s = {.most = by_hand[k].length,
                                .rows = rows,
                                .seats = 256,
                                .replicas = 4};
        const rlf_sampling_pages room = {
            .pages = pages, .tokens = 16, .prompt = 4};
        rlf_sampling_paged out;
        rlf_sampling_play(&s, &room, &out);
        for (int i = 0; i < out.n; i++) {
            n += out.part[i].turns;
            made += out.part[i].turns * out.part[i].rows;
            fresh += out.part[i].turns * out.part[i].fresh;
        }
        near(n, by_hand[k].turns, 1e-9, "turns where pages are few");
        near(made, rows * by_hand[k].length, 1e-9, "... make all tokens");
        near(fresh, by_hand[k].fresh, 1e-9, "... with so many prompts again");
        near(out.peak, by_hand[k].peak, 0, "... in no more pages than that");
    }
}

/* ---- micro-batches ---- */

static void
check_micros(const char *prompts, const char *responses, double room)
{
    rlf_set sets[2] = {{.kind = RLF_SET_DATA,
                        .origin = -1,
                        .from = -1,
                        .data = 0,
                        .tokens = -1},
                       {.kind = RLF_SET_SAMPLED,
                        .origin = -1,
                        .from = 0,
                        .data = -1,
                        .tokens = 1}};
    rlf_graph graph = {.sets = {.data = sets, .count = 2}};
    rlf_set_size sizes[2] = {
        {.prompts = 64, .samples = 64, .prompt = 512, .sequence = 512},
        {.prompts = 64,
         .samples = 512,
         .prompt = 512,
         .response = 1024,
         .sequence = 1536}};
    const rlf_sizes of = {.set = sizes};
    rlf_length_distribution p = read_text(prompts), r = read_text(responses);
    const rlf_length_distribution *data[1] = {&p};
    const rlf_workload w = {.responses = &r, .prompts = data};
    rlf_arena *arena = rlf_arena_new();
    const rlf_expected_set *e = rlf_workload_expect(&w, &graph, &of, arena);
    near(e[1].prompt, rlf_lengths_mean(&p, 512), 1e-9, "prompts on average");
    near(e[1].response, rlf_lengths_mean(&r, 1024), 1e-9, "and responses");
    near(e[0].prompt, e[1].prompt, 0, "a set has the prompts that it answers");
    static const int rows[] = {1, 5, 64, 700};
    for (size_t k = 0; k < RLF_COUNT(rows); k++) {
        double want = 0;
        int trials = 2000 / rows[k] + 20;
        for (int t = 0; t < trials; t++) {
            double filled = room;
            for (int i = 0; i < rows[k]; i++) {
                double tokens =
                    drawn(&p, (uint32_t)t, 1, (uint64_t)i / 8, 512) +
                    drawn(&r, (uint32_t)t, 2, (uint64_t)i, 1024);
                want += filled + tokens > room;
                filled = filled + tokens > room ? tokens : filled + tokens;
            }
        }
        want /= trials;
        double got = rlf_expected_micros(&e[1], rows[k], room, 1);
        ok(fabs(got / want - 1) < 0.08,
           "%s and %s: %d rows are %.4g micro-batches, cut %.4g", prompts,
           responses, rows[k], got, want);
    }
    rlf_arena_free(arena);
}

/* Checks that lengths which a workload does not tell are as long as they can
 * be. */
static void
check_caps(void)
{
    rlf_set set = {
        .kind = RLF_SET_ASKED, .origin = -1, .from = -1, .tokens = 1};
    rlf_graph graph = {.sets = {.data = &set, .count = 1}};
    rlf_set_size size = {.prompts = 8,
                         .samples = 8,
                         .prompt = 100,
                         .response = 50,
                         .sequence = 150};
    const rlf_sizes of = {.set = &size};
    rlf_arena *arena = rlf_arena_new();
    const rlf_expected_set *e = rlf_workload_expect(NULL, &graph, &of, arena);
    ok(!e->rows && !e->responses && e->prompt >= 100 && e->response >= 50,
       "without a workload all is at the caps");
    near(rlf_expected_micros(e, 8, 450, 1), 3, 0, "three rows fit into 450");
    near(rlf_expected_micros(e, 8, 10, 1), 8, 0,
         "one that does not fit is alone");
    size.prompts = 2;
    e = rlf_workload_expect(NULL, &graph, &of, arena);
    near(rlf_expected_micros(e, 8, 450, 1), 3, 0, "... each with a prompt");
    near(rlf_expected_micros(e, 8, 300, 4), 2, 0,
         "four rows that share a prompt fit into 300");
    near(rlf_expected_micros(e, 8, 600, 4), 1, 0, "and eight into 600");
    near(rlf_expected_micros(e, 8, 200, 4), 4, 0,
         "two do where all four do not");
    near(
        rlf_expected_micros(e, 8, 250, 4), 4, 0,
        "three do, and the fourth is alone: the next prompt fits into no rest");
    size.prompts = 8;
    rlf_length_distribution d = read_text("fixed:20");
    const rlf_workload w = {.asked = &d};
    e = rlf_workload_expect(&w, &graph, &of, arena);
    ok(!e->rows && e->prompt <= 20 && e->response >= 50,
       "prompts that are asked are others than those of data");
    /* both together are bounded, by a context of 150 */
    size = (rlf_set_size){.prompts = 8,
                          .samples = 8,
                          .prompt = 100,
                          .response = 150,
                          .sequence = 150};
    const rlf_length_distribution thirty = read_text("fixed:30");
    const rlf_workload answers = {.responses = &thirty};
    rlf_workload_most most = rlf_workload_bound(NULL, &graph, &of, 0);
    ok(most.prompt >= 100 && most.response <= 50,
       "a response is what a prompt as long as it can be leaves");
    most = rlf_workload_bound(&w, &graph, &of, 0);
    ok(most.prompt >= 100 && most.response >= 130 && most.response <= 130,
       "... or what one that is known leaves");
    size.prompt = 150;
    most = rlf_workload_bound(&answers, &graph, &of, 0);
    ok(most.prompt >= 120 && most.prompt <= 120 && most.response >= 150,
       "a prompt without a bound is what a known response leaves");
    rlf_arena_free(arena);
}

/* Rows that share prompts: parts with whole numbers have as many prompts, and
 * of a part taken at random as many share one as in samples that are drawn. */
static void
check_sharing(void)
{
    enum { PROMPTS = 40000, EACH = 8 };
    bool good = true;
    for (double each = 1; each < 9; each += 0.3) {
        rlf_sharing s = rlf_sharing_of(each);
        double prompts = 0;
        for (int k = 0; k < 2; k++)
            prompts += s.part[k] / s.each[k];
        good &= fabs(prompts - 1 / each) < 1e-9 &&
                fabs(s.part[0] + s.part[1] - 1) < 1e-9;
    }
    ok(good, "rows that share prompts on average are two parts of them");
    rlf_splitmix random = rlf_splitmix_begin(5, 0);
    for (int of = 2; of <= 8; of *= 2) {
        int rows = 0, prompts = 0;
        for (int p = 0; p < PROMPTS; p++) {
            int n = 0;
            for (int k = 0; k < EACH; k++)
                n += rlf_splitmix_below(&random, of) == 0;
            rows += n;
            prompts += n > 0;
        }
        near(rlf_sharing_in(EACH, 1. / of), (double)rows / prompts, 0.03,
             "rows of a part that share a prompt");
    }
    near(rlf_sharing_in(EACH, 1), EACH, 0, "all rows share it with all");
    near(rlf_sharing_in(1, 0.5), 1, 0, "and one with none");
}

int
main(void)
{
    check_list();
    check_sharing();
    check_longest();
    check_sampling("lognormal:300,0.7", 64, 256, 4, 1);
    check_sampling("lognormal:300,1.2", 8, 256, 16, 1);
    check_sampling("lognormal:300,0.3", 300, 256, 2, 1);
    check_sampling("lognormal:300,0.7", 512, 256, 1, 1);
    check_sampling("lognormal:100,1", 1024, 64, 4, 1);
    check_sampling("lognormal:100,0.1", 512, 256, 1, 8);
    check_sampling("lognormal:100,1", 1024, 64, 4, 8);
    check_sampling("lognormal:300,0.3", 300, 256, 2, 4);
    check_sampling("lognormal:100,0.5", 512, 256, 1, 8);
    check_micros("fixed:100", "lognormal:300,0.7", 2048);
    check_micros("lognormal:150,0.5", "lognormal:300,0.7", 4096);
    check_micros("lognormal:50,1", "fixed:64", 2048);
    check_pages();
    check_caps();
    return done();
}

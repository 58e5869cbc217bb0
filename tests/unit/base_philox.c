/* Philox4x32-10 against the vectors that its authors publish (Random123,
 * kat_vectors), and the draws made of it. */
#include "engine/base/philox.h"

#include "tests/tap.h"

static void
check_vector(const uint32_t counter[4], const uint32_t key[2],
             const uint32_t want[4], const char *name)
{
    uint32_t got[4];
    rlf_philox(counter, key, got);
    is_bits(got, want, 4, sizeof *got, name);
}

static void
known_answers(void)
{
    const uint32_t zero[4] = {0, 0, 0, 0};
    const uint32_t ones[4] = {~0u, ~0u, ~0u, ~0u};
    const uint32_t pi[4] = {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344};
    const uint32_t pi_key[2] = {0xa4093822, 0x299f31d0};
    check_vector(
        zero, zero,
        (const uint32_t[]){0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
        "counter and key all zeros");
    check_vector(
        ones, ones,
        (const uint32_t[]){0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
        "counter and key all ones");
    check_vector(
        pi, pi_key,
        (const uint32_t[]){0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1},
        "digits of pi");
}

/* Every field of the key and the position changes the draw. */
static void
every_field_counts(void)
{
    const rlf_random_key base = {.seed = 1,
                                 .purpose = RLF_PURPOSE_SAMPLE,
                                 .site = 2,
                                 .step = 3,
                                 .sample = 4};
    rlf_random_key k[6] = {base, base, base, base, base, base};
    k[0].seed++;
    k[1].purpose++;
    k[2].site++;
    k[3].step++;
    k[4].sample++;
    k[5].sample += UINT64_C(1) << 40;
    uint64_t of_base = rlf_draw(&base, 5);
    for (int i = 0; i < 6; i++)
        ok(rlf_draw(&k[i], 5) != of_base, "key field %d counts", i);
    ok(rlf_draw(&base, 6) != of_base, "the position counts");
    ok(rlf_draw(&base, 5 + (UINT64_C(1) << 40)) != of_base,
       "its high half too");
    is_int((int64_t)rlf_draw(&base, 5), (int64_t)of_base,
           "same key, same bits");
}

static void
uniform(void)
{
    enum { N = 200000 };
    const rlf_random_key key = {.seed = 7, .purpose = RLF_PURPOSE_UNIFORM};
    double sum = 0, squares = 0, low = 1, high = 0;
    for (uint64_t i = 0; i < N; i++) {
        double x = rlf_draw_uniform(&key, i);
        sum += x;
        squares += x * x;
        low = x < low ? x : low;
        high = x > high ? x : high;
    }
    /* five standard deviations */
    near(sum / N, 0.5, 5 * sqrt(1.0 / 12 / N), "mean");
    near(squares / N, 1.0 / 3, 5 * sqrt(4.0 / 45 / N), "mean of squares");
    ok(low >= 0 && high < 1 && low < 1e-3 && high > 1 - 1e-3, "in [0, 1)");
}

static void
below(void)
{
    enum { N = 60000 };
    const rlf_random_key key = {.seed = 8, .purpose = RLF_PURPOSE_LUA};
    int counts[6] = {0}, outside = 0;
    for (uint64_t i = 0; i < N; i++) {
        uint64_t x = rlf_draw_below(&key, i, 6);
        if (x < 6)
            counts[x]++;
        else
            outside++;
    }
    double chi2 = 0;
    for (int i = 0; i < 6; i++)
        chi2 += pow(counts[i] - N / 6.0, 2) / (N / 6.0);
    is_int(outside, 0, "a die shows 0 to 5");
    ok(chi2 < 25, "and is fair (chi square %.1f with 5 degrees)", chi2);
    is_int((int64_t)rlf_draw_below(&key, 0, 1), 0, "below 1 there is only 0");
}

static void
shuffle(void)
{
    enum { N = 1000 };
    const rlf_random_key key = {.seed = 9, .purpose = RLF_PURPOSE_SHUFFLE};
    uint32_t order[N], again[N];
    unsigned char seen[N] = {0};
    rlf_draw_shuffle(&key, N, order);
    rlf_draw_shuffle(&key, N, again);
    int fixed = 0, twice = 0;
    for (uint32_t i = 0; i < N; i++) {
        fixed += order[i] == i;
        twice += order[i] >= N || seen[order[i]]++;
    }
    is_int(twice, 0, "a shuffle is a permutation");
    ok(fixed < 12, "few stay in place (%d of 1000)", fixed);
    is_bits(order, again, N, sizeof *order, "the same for the same key");
    /* all 6 orders of 3, about equally often */
    int counts[27] = {0};
    for (uint32_t step = 0; step < 6000; step++) {
        rlf_random_key k = key;
        k.step = step;
        rlf_draw_shuffle(&k, 3, order);
        counts[order[0] * 9 + order[1] * 3 + order[2]]++;
    }
    int least = 6000;
    const int places[6] = {5, 7, 11, 15, 19, 21};
    for (int i = 0; i < 6; i++)
        least = counts[places[i]] < least ? counts[places[i]] : least;
    ok(least > 850, "each order of 3 comes (%d of 1000 at least)", least);
}

int
main(void)
{
    known_answers();
    every_field_counts();
    uniform();
    below();
    shuffle();
    return done();
}

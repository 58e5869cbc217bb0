/* Distributions of lengths, against closed forms; what is drawn from them,
 * against the distribution; texts that are wrong. */
#include "engine/base/vec.h"
#include "engine/timing/lengths.h"
#include "tests/tap.h"
#include "tests/unit/length_texts.h"

static rlf_arena *arena;

static rlf_length_distribution
read_lines(const char *text)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_length_distribution d;
    if (rlf_lengths_parse_file("seen", text, arena, &err, &d) < 0)
        bail("%s", err.sentence);
    return d;
}

static void
check_fixed(void)
{
    rlf_length_distribution d = read_text("fixed:512");
    rlf_random_key key = {.seed = 3, .sample = 9};
    near(rlf_lengths_quantile(&d, 0.01), 512, 0, "fixed: low");
    near(rlf_lengths_quantile(&d, 0.99), 512, 0, "fixed: high");
    near(rlf_lengths_above(&d, 511), 1, 0, "fixed: all are above less");
    near(rlf_lengths_above(&d, 512), 0, 0, "fixed: none is above it");
    near(rlf_lengths_mean(&d, 0), 512, 0, "fixed: mean");
    near(rlf_lengths_mean(&d, 100), 100, 0, "fixed: mean of what is cut");
    is_int(rlf_lengths_draw(&d, &key, 0), 512, "fixed: drawn");
    is_int(rlf_lengths_draw(&d, &key, 100), 100, "fixed: drawn and cut");
}

/* Shares of the normal distribution from tables of it. */
static void
check_lognormal(void)
{
    static const struct {
        double share, z;
    } table[] = {{0.5, 0},
                 {0.8413447460685429, 1},
                 {0.9772498680518208, 2},
                 {0.15865525393145705, -1},
                 {0.975, 1.959963984540054},
                 {0.999, 3.090232306167813},
                 {1e-9, -5.997807015007686}};
    rlf_length_distribution d = read_text("lognormal:512,0.75");
    double median = 512 * exp(-0.75 * 0.75 / 2);
    for (size_t i = 0; i < RLF_COUNT(table); i++) {
        double want = median * exp(0.75 * table[i].z);
        double got = rlf_lengths_quantile(&d, table[i].share);
        near(got / want, 1, 1e-12, "lognormal: a quantile");
        near(rlf_lengths_above(&d, want), 1 - table[i].share, 1e-14,
             "lognormal: the share above it");
    }
    near(rlf_lengths_quantile(&d, 0.999) / rlf_lengths_quantile(&d, 0.5), 10.15,
         0.005, "p99.9 is 10.15 times the median with sigma 0.75");
    near(rlf_lengths_mean(&d, 0), 512, 0, "lognormal: mean");
    /* the integral of the share above, by the rule of midpoints */
    double sum = 0;
    for (int i = 0; i < 200000; i++)
        sum += rlf_lengths_above(&d, (i + 0.5) * 0.005) * 0.005;
    near(rlf_lengths_mean(&d, 1000), sum, 1e-3,
         "lognormal: mean of what is "
         "cut at 1000");
    rlf_length_distribution flat = read_text("lognormal:512,0");
    near(rlf_lengths_quantile(&flat, 0.9), 512, 0,
         "without spread it is fixed");
}

/* Draws against the distribution: Kolmogorov and Smirnov's distance, which with
 * n draws exceeds 1.95 / sqrt(n) once in 1,000 seeds. */
static void
check_draws(void)
{
    enum { N = 40000, LONGEST = 8000 };
    static double at[LONGEST + 1];
    rlf_length_distribution d = read_text("lognormal:512,0.75");
    rlf_random_key key = {.seed = 17, .site = 2, .step = 5};
    double sum = 0, cut = 0;
    for (uint32_t i = 0; i < N; i++) {
        key.sample = i;
        uint32_t n = rlf_lengths_draw(&d, &key, 0);
        sum += n;
        cut += rlf_lengths_draw(&d, &key, 1000);
        at[n < LONGEST ? n : LONGEST]++;
    }
    double worst = 0, below = 0;
    for (int n = 0; n < LONGEST; n++) {
        below += at[n] / N;
        double off = fabs(below - (1 - rlf_lengths_above(&d, n + 0.5)));
        worst = off > worst ? off : worst;
    }
    ok(worst < 1.95 / sqrt(N), "draws follow the distribution (off by %.4f)",
       worst);
    /* the standard deviation is 512 sqrt(exp(0.75^2) - 1) = 445 */
    near(sum / N, 512, 4 * 445 / sqrt(N), "their mean");
    near(cut / N, rlf_lengths_mean(&d, 1000), 4 * 280 / sqrt(N),
         "their mean, cut");
    rlf_random_key one = {.seed = 17, .site = 2, .step = 5, .sample = 77},
                   other = one;
    uint32_t first = rlf_lengths_draw(&d, &one, 0);
    other.purpose = RLF_PURPOSE_SAMPLE;
    is_int(rlf_lengths_draw(&d, &other, 0), first,
           "a length is a function of seed, call, step and sample");
    other.step = 6;
    bool differs = rlf_lengths_draw(&d, &other, 0) != first;
    other = one;
    other.seed = 18;
    ok(differs && rlf_lengths_draw(&d, &other, 0) != first,
       "another step or seed gives another");
}

/* Of 8000 that are drawn, how many are each of three lengths; `out`[3]: none of
 * them. */
static void
draw_three(const rlf_length_distribution *d, uint32_t a, uint32_t b, uint32_t c,
           int out[4])
{
    rlf_random_key key = {.seed = 1};
    memset(out, 0, 4 * sizeof *out);
    for (uint32_t i = 0; i < 8000; i++) {
        key.sample = i;
        uint32_t n = rlf_lengths_draw(d, &key, 0);
        out[n == a ? 0 : n == b ? 1 : n == c ? 2 : 3]++;
    }
}

/* A file's lengths are drawn as they are, as often as it says. */
static void
check_file(void)
{
    int count[4];
    rlf_length_distribution d = read_lines("# seen\n1 3\n2\n\n5 4 # often\n");
    near(rlf_lengths_above(&d, 0.5), 1, 0, "a file: all are above 0.5");
    near(rlf_lengths_above(&d, 1), 5 / 8.0, 1e-15, "3 of 8 are 1");
    near(rlf_lengths_above(&d, 4.5), 0.5, 1e-15, "half is above 4");
    near(rlf_lengths_mean(&d, 0), 25 / 8.0, 1e-15, "the mean");
    near(rlf_lengths_mean(&d, 4), 21 / 8.0, 1e-15, "the mean, cut at 4");
    near(rlf_lengths_mean(&d, 0.5), 0.5, 1e-15, "the mean, cut below all");
    near(rlf_lengths_quantile(&d, 0.3), 1, 0, "30 %");
    near(rlf_lengths_quantile(&d, 0.45), 2, 0, "45 %");
    near(rlf_lengths_quantile(&d, 0.999), 5, 0, "all but all");
    draw_three(&d, 1, 2, 5, count);
    ok(count[3] == 0 && abs(count[0] - 3000) < 180 &&
           abs(count[1] - 1000) < 120 && abs(count[2] - 4000) < 180,
       "drawn: %d, %d, %d of 8000", count[0], count[1], count[2]);
    d = read_lines("512\n");
    near(rlf_lengths_mean(&d, 0), 512, 0, "a long one: mean");
    near(rlf_lengths_quantile(&d, 0.99), 512, 0, "... p99");
    ok(rlf_lengths_alike(&d, 0), "... all are alike");
    d = read_lines("200 1\n100 1.5\n300 0\n100 0.5\n");
    near(rlf_lengths_mean(&d, 0), 400 / 3.0, 1e-12, "two long ones: mean");
    near(rlf_lengths_quantile(&d, 1 - 0x1p-53), 200, 0, "... the most");
    near(rlf_lengths_longest(&d, 1e6, 0), 200, 0, "... the longest of many");
    draw_three(&d, 100, 200, 300, count);
    ok(count[2] == 0 && count[3] == 0 && abs(count[0] - 5333) < 170,
       "... drawn as they are: %d and %d of 8000", count[0], count[1]);
}

/* The distribution of one class that has this mean; 0: not known. */
static rlf_length_distribution
one_class(uint32_t length, double mean)
{
    double count[RLF_TAIL_LENGTHS] = {0}, tokens[RLF_TAIL_LENGTHS] = {0};
    rlf_err err = RLF_ERR_NONE;
    rlf_length_distribution d;
    int class = rlf_tail_class(length);
    count[class] = 4;
    tokens[class] = 4 * mean;
    if (rlf_lengths_of_classes(count, tokens, &err, &d) < 0)
        bail("%s", err.sentence);
    return d;
}

/* The class of 1000 is 939 .. 1022. */
static void
check_classes(void)
{
    bool good = true;
    for (uint32_t n = 1; n < 100000; n += 1 + n / 500) {
        int k = rlf_tail_class(n);
        good = good && rlf_tail_least(k) <= n && n < rlf_tail_least(k + 1);
    }
    ok(good, "a length lies in the bounds of its class");
    rlf_length_distribution d = one_class(1000, 0);
    near(rlf_lengths_quantile(&d, 1e-6), 939, 0, "the first of a class");
    near(rlf_lengths_quantile(&d, 1 - 1e-6), 1022, 0, "the last of a class");
    near(rlf_lengths_mean(&d, 0), 980.5, 1e-9, "its middle");
    near(rlf_lengths_above(&d, 980), 0.5, 1e-9, "half is above the middle");
    /* cut: 84 lengths, of which the first and the last are half as likely */
    near(rlf_lengths_mean(&d, 950), (0.5 * 939 + 945 * 11 + 950 * 71.5) / 83.0,
         1e-9, "the mean, cut in the class");
    d = one_class(512, 511);
    near(rlf_lengths_mean(&d, 0), 511, 0, "the mean may be a class's first");
    ok(rlf_lengths_alike(&d, 0), "... then all are alike");
    d = one_class(1000, 1000.25);
    near(rlf_lengths_mean(&d, 0), 1000.25, 1e-9, "a class has its mean");
    near(rlf_lengths_quantile(&d, 1e-9), 979, 0, "... its lengths lie around");
    near(rlf_lengths_quantile(&d, 1 - 0x1p-53), 1022, 0, "... within it");
    double sum = 0, above = 0, mean = 0;
    rlf_random_key key = {.seed = 1};
    enum { N = 40000 };
    for (uint32_t i = 0; i < N; i++) {
        key.sample = i;
        sum += rlf_lengths_draw(&d, &key, 0);
        mean += rlf_lengths_quantile(&d, (i + 0.5) / N) / N;
    }
    for (int i = 0; i < 1100; i++)
        above += rlf_lengths_above(&d, i);
    /* evenly over 43 lengths: a standard deviation of 12.4 */
    near(sum / N, 1000.25, 4 * 12.5 / sqrt(N), "... what is drawn has it");
    near(above, 1000.25, 1e-6, "... so has the sum of the shares above");
    near(mean, 1000.25, 0.01, "... and the mean of the quantiles");
}

static void
check_wrong(void)
{
    static const char *const texts[] = {"fixed:",
                                        "fixed:0",
                                        "fixed:-3",
                                        "fixed:2.5",
                                        "fixed:512x",
                                        "fixed:1e9",
                                        "fixed:0x10",
                                        "fixed:nan",
                                        "lognormal:512",
                                        "lognormal:512,",
                                        "lognormal:,1",
                                        "lognormal:0,1",
                                        "lognormal:5,-1",
                                        "lognormal:5,99",
                                        "lognormal:5,1,2",
                                        "lognormal:inf,1",
                                        "lognormal:5, 0.5",
                                        "normal:3,1",
                                        ""};
    static const char *const files[] = {"5 99999999999999999999\n",
                                        "",
                                        "# none\n",
                                        "512 0\n",
                                        "0\n",
                                        "x\n",
                                        "5 x\n",
                                        "5 1 1\n",
                                        "5 -1\n",
                                        "2.5\n",
                                        "1e300\n",
                                        "5 1e999\n"};
    for (size_t i = 0; i < RLF_COUNT(texts); i++) {
        rlf_err err = RLF_ERR_NONE;
        rlf_length_distribution d;
        ok(rlf_lengths_parse(texts[i], &err, &d) == RLF_USER &&
               err.sentence[0] && strstr(err.sentence, texts[i]),
           "refused: '%s': %s", texts[i], err.sentence);
    }
    for (size_t i = 0; i < RLF_COUNT(files); i++) {
        rlf_err err = RLF_ERR_NONE;
        rlf_length_distribution d;
        ok(rlf_lengths_parse_file("f", files[i], arena, &err, &d) == RLF_USER &&
               err.sentence[0] == 'f',
           "a file is refused: %s", err.sentence);
    }
    rlf_err err = RLF_ERR_NONE;
    rlf_length_distribution d;
    rlf_lengths_parse_file("f", "5\n6\n7 x\n", arena, &err, &d);
    ok(!strncmp(err.sentence, "f:3: ", 5), "the line is named");
    ok(rlf_lengths_is_text("fixed:x") && rlf_lengths_is_text("lognormal:") &&
           !rlf_lengths_is_text("runs/seen.txt"),
       "texts of distributions, and paths");
}

static void
check_print(void)
{
    static const char *const texts[] = {"fixed:512", "lognormal:512,0.75"};
    for (size_t i = 0; i < RLF_COUNT(texts); i++) {
        rlf_buf out = {0};
        rlf_length_distribution d = read_text(texts[i]);
        rlf_lengths_print(&d, &out);
        is_str(out.p, texts[i], "printed as it is read");
        rlf_buf_free(&out);
    }
    rlf_buf out = {0};
    rlf_length_distribution d = read_lines("1 3\n2\n5 4\n");
    rlf_lengths_print(&d, &out);
    is_str(out.p, "lengths with the mean 3.125, median 5, p99 5", "a file");
    rlf_buf_free(&out);
}

int
main(void)
{
    arena = rlf_arena_new();
    check_fixed();
    check_lognormal();
    check_draws();
    check_file();
    check_classes();
    check_wrong();
    check_print();
    rlf_arena_free(arena);
    return done();
}

/* Fits: constants that are known are found again; of random problems the
 * conditions hold that a least sum of squares without negative factors has
 * (Karush, Kuhn and Tucker); errors against numbers worked out by hand; lines
 * of profiles with noise, and of too few measurements. */
#include "engine/timing/fit.h"
#include "engine/timing/profile.h"
#include "tests/tap.h"
#include "tests/fit_errors.h"

enum { ROWS = 24, MOST = 8 };

static uint64_t state = 5;

/* Uniform in [0, 1). */
static double
draw(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 40) * 0x1p-24;
}

static void
check_known(void)
{
    const double want[4] = {1.5, 0, 2e-3, 40};
    double terms[ROWS * 4], seconds[ROWS], got[4];
    rlf_err err = RLF_ERR_NONE;
    for (int i = 0; i < ROWS; i++) {
        seconds[i] = 0;
        for (int k = 0; k < 4; k++) {
            double size[] = {1e-3, 1, 1e3, 1e-6};
            terms[4 * i + k] = size[k] * (0.1 + draw());
            seconds[i] += want[k] * terms[4 * i + k];
        }
    }
    is_int(rlf_fit_factors(terms, ROWS, 4, seconds, &err, got), RLF_OK,
           "a fit");
    for (int k = 0; k < 4; k++)
        ok(fabs(got[k] - want[k]) <= 1e-9 * (want[k] + 1e-3),
           "factor %d is %g: %.12g", k, want[k], got[k]);
}

/* The gradient of half the sum of squared relative errors by factor k. */
static double
gradient(const double *terms, int columns, const double *seconds,
         const double *factor, int k, double *scale)
{
    double sum = 0;
    *scale = 0;
    for (int i = 0; i < ROWS; i++) {
        double rest = -seconds[i];
        for (int j = 0; j < columns; j++)
            rest += factor[j] * terms[columns * i + j];
        double part = terms[columns * i + k] / seconds[i];
        sum += rest / seconds[i] * part;
        *scale += part * part;
    }
    *scale = sqrt(*scale * ROWS);
    return sum;
}

static void
check_conditions(void)
{
    int bad = 0, zeros = 0, positive = 0;
    for (int problem = 0; problem < 400; problem++) {
        int columns = 1 + problem % MOST;
        double terms[ROWS * MOST], seconds[ROWS], factor[MOST];
        rlf_err err = RLF_ERR_NONE;
        for (int i = 0; i < ROWS; i++) {
            seconds[i] = 0.1 + draw();
            for (int k = 0; k < columns; k++)
                terms[columns * i + k] =
                    draw() < 0.2 ? 0 : draw() - (problem % 3 == 0 ? 0.5 : 0);
            if (problem % 5 == 0 && columns > 1) /* two that are alike */
                terms[columns * i + 1] = 3 * terms[columns * i];
        }
        if (rlf_fit_factors(terms, ROWS, columns, seconds, &err, factor) < 0)
            bail("%s", err.sentence);
        for (int k = 0; k < columns; k++) {
            double scale,
                g = gradient(terms, columns, seconds, factor, k, &scale);
            bad += factor[k] < 0 || g < -1e-8 * scale ||
                   (factor[k] > 0 && g > 1e-8 * scale);
            zeros += factor[k] <= 0;
            positive += factor[k] > 0;
        }
    }
    is_int(bad, 0, "no other factors without a sign are nearer");
    ok(zeros > 100 && positive > 100, "%d factors are 0, %d are not", zeros,
       positive);
}

static void
check_lines(void)
{
    double x[] = {1, 4, 16, 64}, seconds[4], falling[] = {4, 3, 2, 1};
    rlf_err err = RLF_ERR_NONE;
    rlf_line line = {.kind = RLF_LINE_COPY};
    for (int i = 0; i < 4; i++)
        seconds[i] = 2e-3 + 5e-5 * x[i];
    rlf_fit_line(x, seconds, 4, &err, &line);
    near(line.fixed, 2e-3, 1e-12, "what a line has fixed");
    near(line.each, 5e-5, 1e-14, "... and for each");
    near(line.spread, 0, 1e-10, "... exactly");
    ok(line.least >= 1 && line.least <= 1 && line.most >= 64 &&
           line.most <= 64 && line.kind == RLF_LINE_COPY,
       "... and from where to where");
    rlf_fit_line(x, falling, 4, &err, &line);
    near(line.each, 0, 0, "what gets shorter has no slope");
    /* least relative squares of a constant: sum(1/y) / sum(1/y^2) */
    near(line.fixed,
         (1 / 4. + 1 / 3. + 1 / 2. + 1) / (1 / 16. + 1 / 9. + 1 / 4. + 1),
         1e-12, "... but a mean");
    rlf_fit_line(x, seconds, 1, &err, &line);
    near(rlf_line_at(&line, 1), seconds[0], 1e-12, "a single measurement");
}

static void
check_errors(void)
{
    const double seen[] = {1, 2, 4, 8}, same[] = {3, 3, 3, 3},
                 predicted[] = {1.1, 2, 3, 8}, turned[] = {8, 4, 2, 1},
                 ties[] = {1, 2, 2, 8};
    fit_errors e = fit_errors_of(predicted, seen, 4);
    near(e.mean, (0.1 + 0.25) / 4, 1e-12, "the mean error");
    near(e.worst, 0.25, 1e-12, "the worst");
    near(e.rank, 1, 1e-12, "the order is right");
    near(fit_errors_of(turned, seen, 4).rank, -1, 1e-12, "turned round");
    near(fit_errors_of(same, seen, 4).rank, 0, 0, "all alike");
    /* places 0, 1.5, 1.5, 3 and 0 .. 3: 4.5 / sqrt(4.5 * 5) */
    near(fit_errors_of(ties, seen, 4).rank, 4.5 / sqrt(22.5), 1e-12, "ties");
}

static void
check_wrong(void)
{
    double terms[] = {1, 2}, none[] = {0}, seconds[] = {1}, factor[40];
    double endless[] = {INFINITY, 1};
    rlf_err err = RLF_ERR_NONE;
    is_int(rlf_fit_factors(terms, 0, 2, seconds, &err, factor), RLF_USER,
           "no rows");
    rlf_err_clear(&err);
    is_int(rlf_fit_factors(terms, 1, 33, seconds, &err, factor), RLF_USER,
           "too many columns");
    rlf_err_clear(&err);
    is_int(rlf_fit_factors(terms, 1, 2, none, &err, factor), RLF_USER,
           "no time");
    rlf_err_clear(&err);
    is_int(rlf_fit_factors(endless, 1, 2, seconds, &err, factor), RLF_USER,
           "a term without end");
    rlf_err_clear(&err);
    is_int(rlf_fit_factors(none, 1, 1, seconds, &err, factor), RLF_OK,
           "a column of zeros");
    near(factor[0], 0, 0, "... has no factor");
}

/* ---- lines of profiles ---- */

enum { SAMPLES = 120 };

static bool
is_sound(const rlf_profile_line *l)
{
    return isfinite(l->fixed) && isfinite(l->each) && isfinite(l->more) &&
           isfinite(l->spread) && l->fixed >= 0 && l->each >= 0 && l->more >= 0;
}

/* fixed + each x + more y, each times something from 1 - noise to 1 + noise. */
static void
sample_line(double fixed, double each, double more, double noise,
            rlf_profile_sample *out)
{
    for (int i = 0; i < SAMPLES; i++) {
        double x = 1 + floor(200 * draw()), y = more > 0 ? 4000 * draw() : 0;
        double seconds = fixed + each * x + more * y;
        out[i] = (rlf_profile_sample){x, y,
                                      seconds * (1 + noise * (2 * draw() - 1))};
    }
}

static void
check_noise(void)
{
    rlf_profile_sample s[SAMPLES];
    rlf_profile_line l, worse;
    sample_line(3e-4, 2e-5, 1e-7, 0, s);
    rlf_profile_fit(s, SAMPLES, &l);
    near(l.fixed, 3e-4, 1e-12, "a line without noise: what is fixed");
    near(l.each, 2e-5, 1e-13, "... for each x");
    near(l.more, 1e-7, 1e-15, "... and for each y");
    is_int((int)l.n, SAMPLES, "... of all measurements");
    sample_line(3e-4, 2e-5, 1e-7, 0.1, s);
    rlf_profile_fit(s, SAMPLES, &l);
    near(l.fixed, 3e-4, 0.1 * 3e-4, "with a tenth of noise: what is fixed");
    near(l.each, 2e-5, 0.05 * 2e-5, "... for each x");
    near(l.more, 1e-7, 0.3 * 1e-7, "... and for each y, of which it says less");
    near(l.spread, 0.05, 0.01, "... off by half a tenth on average");
    double seen = 0, said = 0, least = INFINITY, most = 0;
    for (int i = 0; i < SAMPLES; i++) {
        seen += s[i].seconds;
        said += rlf_profile_line_at(&l, s[i].x, s[i].y);
        least = fmin(least, s[i].x);
        most = fmax(most, s[i].x);
    }
    near(said, seen, 1e-12 * seen, "... and the sum is right");
    ok(l.least >= least && l.least <= least && l.most >= most && l.most <= most,
       "... from the least to the most x");
    for (int i = 0; i < SAMPLES; i += 12) /* the machine was elsewhere */
        s[i].seconds *= 40;
    rlf_profile_fit(s, SAMPLES, &worse);
    near(rlf_profile_line_at(&worse, 100, 2000),
         rlf_profile_line_at(&l, 100, 2000),
         0.05 * rlf_profile_line_at(&l, 100, 2000),
         "measurements that are a multiple of the line are put aside");
    sample_line(0, 2e-5, 0, 0.1, s);
    rlf_profile_fit(s, SAMPLES, &l);
    ok(is_sound(&l) && l.fixed < 1e-4 && l.more <= 0,
       "what has no fixed part and no y gets none below 0");
    for (int i = 0; i < SAMPLES; i++)
        s[i].seconds = 1e-2 - 2e-5 * s[i].x;
    rlf_profile_fit(s, SAMPLES, &l);
    ok(is_sound(&l) && l.each <= 0 && l.fixed > 5e-3,
       "what gets shorter has no slope");
}

/* Whatever is measured, a line has no negative part, and no number that is
 * none. */
static void
check_degenerate(void)
{
    const rlf_profile_sample one[] = {{8, 0, 4e-3}};
    const rlf_profile_sample equal[] = {{8, 0, 4e-3}, {8, 0, 6e-3}};
    const rlf_profile_sample zero[] = {{0, 0, 4e-3}, {0, 0, 6e-3}};
    const rlf_profile_sample nothing[] = {{0, 0, 0}, {4, 0, 0}, {8, 2, 0}};
    const rlf_profile_sample close[] = {{100, 5, 1e-3}, {101, 900, 2e-3}};
    rlf_profile_sample band[5];
    rlf_profile_line l;
    rlf_profile_fit(one, 1, &l);
    near(rlf_profile_line_at(&l, 8, 0), 4e-3, 1e-15, "one measurement");
    near(rlf_profile_line_at(&l, 16, 0), 8e-3, 1e-15, "... in proportion");
    near(l.spread, 0, 1e-12, "... which it says itself");
    rlf_profile_fit(equal, 2, &l);
    near(rlf_profile_line_at(&l, 8, 0), 5e-3, 1e-15, "equal x have the mean");
    ok(l.fixed <= 0 && l.least >= 8 && l.most <= 8, "... in proportion");
    rlf_profile_fit(zero, 2, &l);
    near(rlf_profile_line_at(&l, 0, 0), 5e-3, 1e-15,
         "of counts of 0 a constant");
    near(l.each, 0, 0, "... without a slope");
    rlf_profile_fit(nothing, 3, &l);
    ok(is_sound(&l) && rlf_profile_line_at(&l, 4, 0) < 1e-8,
       "what took no time takes none");
    rlf_profile_fit(close, 2, &l);
    ok(is_sound(&l) && l.fixed <= 0 && l.more <= 0,
       "x that hardly differ are taken as equal");
    for (int i = 0; i < 5; i++)
        band[i] =
            (rlf_profile_sample){6500 + 90 * i, 0, i % 2 ? 8.4e-3 : 8.7e-3};
    rlf_profile_fit(band, 5, &l);
    ok(l.fixed <= 0 && l.each > 0,
       "x within some percent of each other do not make a constant");
}

/* Seconds of 2 a + 0.5 b: with b no less than 1, a is what is left for it, and
 * where the bounds are below the answer they change nothing. */
static void
test_above(void)
{
    static const double terms[] = {1, 1, 2, 1, 1, 3, 4, 2};
    static const double low[] = {0.1, 0.1}, high[] = {0.1, 1};
    double seconds[4], free_of[2], kept[2], bound[2];
    rlf_err err = RLF_ERR_NONE;
    for (int i = 0; i < 4; i++)
        seconds[i] = 2 * terms[2 * i] + 0.5 * terms[2 * i + 1];
    rlf_fit_factors(terms, 4, 2, seconds, &err, free_of);
    rlf_fit_above(terms, 4, 2, low, seconds, &err, kept);
    rlf_fit_above(terms, 4, 2, high, seconds, &err, bound);
    ok(fabs(kept[0] - 2) < 1e-9 && fabs(kept[1] - 0.5) < 1e-9 &&
           fabs(free_of[0] - 2) < 1e-9,
       "bounds below the answer change nothing: %g and %g", kept[0], kept[1]);
    ok(fabs(bound[1] - 1) < 1e-12 && bound[0] > 0.1 && bound[0] < 2,
       "a factor stays at its bound and the other gives way: %g and %g",
       bound[0], bound[1]);
}

int
main(void)
{
    check_known();
    check_conditions();
    check_lines();
    check_errors();
    check_wrong();
    check_noise();
    check_degenerate();
    test_above();
    return done();
}

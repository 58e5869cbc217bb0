/* Distributions of lengths: see lengths.h. */
#include "engine/timing/lengths.h"

#include "engine/base/vec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the normal distribution ---- */

/* The share below x. */
static double
normal_below(double x)
{
    return 0.5 * erfc(-x * M_SQRT1_2);
}

/* Finds where the share below is q: a rational approximation of three digits
 * (Hastings 1955), then Newton's steps. */
static double
normal_quantile(double q)
{
    double tail = q < 0.5 ? q : 1 - q;
    double t = sqrt(-2 * log(tail));
    double x = t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                       (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
    for (int i = 0; i < 3; i++) {
        double density = exp(-0.5 * x * x) / sqrt(2 * M_PI);
        x += (normal_below(-x) - tail) / density;
    }
    return q < 0.5 ? -x : x;
}

/* The mean of the logarithms. */
static double
log_mean(const rlf_length_distribution *d)
{
    return log(d->mean) - d->sigma * d->sigma / 2;
}

/* ---- classes ---- */

/* The whole numbers first .. last of a class; last < first: there is none. */
static void
bounds_of(int class, double *first, double *last)
{
    *first = ceil(rlf_tail_least(class));
    *last = ceil(rlf_tail_least(class + 1)) - 1;
}

static double
share_of(const rlf_length_distribution *d, int class)
{
    return d->up_to[class] - (class ? d->up_to[class - 1] : 0);
}

/* The lengths of a class: the `n` whole numbers from `first` with the
 * probability 1 - part, and as many from first + 1 with the probability part.
 * Their mean is the class's, whether or not that is whole. */
typedef struct spread {
    double first, n, part;
} spread;

static spread
spread_of(const rlf_length_distribution *d, int class)
{
    double first, last;
    bounds_of(class, &first, &last);
    double mean = fmin(fmax(d->mean_in[class], first), last);
    double under = floor(mean), over = ceil(mean);
    double each_way = fmin(under - first, last - over);
    return (spread){under - each_way, 2 * each_way + 1, mean - under};
}

static double
class_quantile(const rlf_length_distribution *d, double q)
{
    int class = 0;
    while (class < RLF_TAIL_LENGTHS - 1 && d->up_to[class] <= q)
        class ++;
    double share = share_of(d, class);
    double inside = (q - (d->up_to[class] - share)) / share;
    spread s = spread_of(d, class);
    double last = s.first + s.n - (s.part > 0 ? 0 : 1);
    return fmin(s.first + floor(fmax(inside, 0) * s.n + s.part), last);
}

static double
class_above(const rlf_length_distribution *d, double x)
{
    double above = 0;
    for (int k = 0; k < RLF_TAIL_LENGTHS; k++) {
        double share = share_of(d, k);
        if (share <= 0)
            continue;
        spread s = spread_of(d, k);
        double below = floor(x) - s.first + 1 - s.part;
        above += share * (1 - fmin(fmax(below, 0), s.n) / s.n);
    }
    return above;
}

/* The mean of the lesser of the length and `most` over first .. last. */
static double
cut_mean(double first, double last, double most)
{
    double under = fmin(last, floor(most));
    double sum = under >= first ? (under - first + 1) * (first + under) / 2 : 0;
    double over = last - fmax(under, first - 1);
    return (sum + over * most) / (last - first + 1);
}

static double
class_mean(const rlf_length_distribution *d, double most)
{
    double mean = 0;
    for (int k = 0; k < RLF_TAIL_LENGTHS; k++) {
        double share = share_of(d, k);
        if (share <= 0)
            continue;
        spread s = spread_of(d, k);
        double last = s.first + s.n - 1;
        mean += share * ((1 - s.part) * cut_mean(s.first, last, most) +
                         s.part * cut_mean(s.first + 1, last + 1, most));
    }
    return mean;
}

rlf_status
rlf_lengths_of_classes(const double count[RLF_TAIL_LENGTHS],
                       const double tokens[RLF_TAIL_LENGTHS], rlf_err *err,
                       rlf_length_distribution *out)
{
    double all = 0, sum = 0;
    for (int k = 0; k < RLF_TAIL_LENGTHS; k++)
        all += count[k];
    if (!(all > 0))
        return rlf_fail(err, RLF_USER, "no length has been seen");
    *out = (rlf_length_distribution){.kind = RLF_LENGTHS_HISTOGRAM};
    for (int k = 0; k < RLF_TAIL_LENGTHS; k++) {
        double first, last;
        bounds_of(k, &first, &last);
        sum += count[k];
        out->up_to[k] = sum / all;
        out->mean_in[k] =
            tokens[k] > 0 ? tokens[k] / count[k] : (first + last) / 2;
    }
    return RLF_OK;
}

/* ---- lists ---- */

static int
by_length(const void *a, const void *b)
{
    const rlf_length_seen *x = a, *y = b;
    return (x->length > y->length) - (x->length < y->length);
}

/* Of n lengths, each seen so many times, in any order, which it changes. */
static rlf_length_distribution
make_list(rlf_length_seen *seen, size_t n, rlf_arena *arena)
{
    size_t kinds = 0;
    double times = 0, tokens = 0;
    qsort(seen, n, sizeof *seen, by_length);
    for (size_t i = 0; i < n; i++) {
        times += seen[i].times;
        tokens += seen[i].times * seen[i].length;
        kinds += i == 0 || seen[i].length != seen[kinds - 1].length;
        seen[kinds - 1] = (rlf_length_seen){seen[i].length, times, tokens};
    }
    rlf_length_seen *list = RLF_NEW_ARRAY(arena, rlf_length_seen, kinds);
    memcpy(list, seen, kinds * sizeof *list);
    return (rlf_length_distribution){
        .kind = RLF_LENGTHS_LIST, .list = list, .n = kinds};
}

rlf_length_distribution
rlf_lengths_of_list(const uint32_t *list, size_t n, rlf_arena *arena)
{
    RLF_ASSERT(n > 0);
    rlf_length_seen *seen = rlf_calloc(n, sizeof *seen);
    for (size_t i = 0; i < n; i++)
        seen[i] = (rlf_length_seen){.length = list[i], .times = 1};
    rlf_length_distribution d = make_list(seen, n, arena);
    free(seen);
    return d;
}

/* Returns how many of the list's lengths are not above x. */
static size_t
list_below(const rlf_length_distribution *d, double x)
{
    size_t least = 0, most = d->n;
    while (least < most) {
        size_t middle = least + (most - least) / 2;
        if (d->list[middle].length <= x)
            least = middle + 1;
        else
            most = middle;
    }
    return least;
}

static double
list_quantile(const rlf_length_distribution *d, double q)
{
    double times = q * d->list[d->n - 1].times;
    size_t least = 0, most = d->n - 1;
    while (least < most) {
        size_t middle = least + (most - least) / 2;
        if (d->list[middle].times <= times)
            least = middle + 1;
        else
            most = middle;
    }
    return d->list[least].length;
}

static double
list_above(const rlf_length_distribution *d, double x)
{
    size_t below = list_below(d, x);
    return below ? 1 - d->list[below - 1].times / d->list[d->n - 1].times : 1;
}

static double
list_mean(const rlf_length_distribution *d, double most)
{
    const rlf_length_seen *all = &d->list[d->n - 1];
    size_t below = list_below(d, most);
    double times = below ? d->list[below - 1].times : 0;
    double tokens = below ? d->list[below - 1].tokens : 0;
    if (below < d->n)
        tokens += (all->times - times) * most;
    return tokens / all->times;
}

/* ---- text ---- */

static const char fixed[] = "fixed:", lognormal[] = "lognormal:";

static bool
begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

bool
rlf_lengths_is_text(const char *text)
{
    return begins(text, fixed) || begins(text, lognormal);
}

/* A plain number at *p, which moves behind it; NAN: there is none. */
static double
read_number(const char **p)
{
    char *end;
    bool hexadecimal = **p == '0' && ((*p)[1] == 'x' || (*p)[1] == 'X');
    if (strspn(*p, "0123456789.") == 0 || hexadecimal)
        return NAN;
    double x = strtod(*p, &end);
    *p = end;
    return x;
}

static bool
is_length(double x)
{
    return x >= 1 && x <= RLF_LENGTHS_MOST;
}

rlf_status
rlf_lengths_parse(const char *text, rlf_err *err, rlf_length_distribution *out)
{
    bool log = begins(text, lognormal);
    const char *p = text + (log ? strlen(lognormal) : strlen(fixed));
    if (!log && !begins(text, fixed))
        return rlf_fail(err, RLF_USER, "'%s' is no distribution of lengths",
                        text);
    *out = (rlf_length_distribution){.kind = log ? RLF_LENGTHS_LOGNORMAL
                                                 : RLF_LENGTHS_FIXED};
    out->mean = read_number(&p);
    bool whole = log || out->mean == floor(out->mean);
    if (!is_length(out->mean) || !whole) {
        rlf_fail(err, RLF_USER,
                 "'%s': a length is a number of tokens from 1 to %d", text,
                 (int)RLF_LENGTHS_MOST);
        rlf_err_hint(err, log ? "as in lognormal:512,0.75" : "as in fixed:512");
        return RLF_USER;
    }
    if (log && *p == ',') {
        p++;
        out->sigma = read_number(&p);
    } else if (log) {
        out->sigma = NAN;
    }
    if (!(out->sigma >= 0 && out->sigma <= 4)) {
        rlf_fail(err, RLF_USER,
                 "'%s': the mean is followed by a comma and the standard "
                 "deviation of the logarithms, from 0 to 4",
                 text);
        rlf_err_hint(err, "as in lognormal:512,0.75");
        return RLF_USER;
    }
    if (*p)
        return rlf_fail(err, RLF_USER, "'%s': '%s' is too much", text, p);
    return RLF_OK;
}

/* A length is seen so often at most; more is a slip of the keys. */
#define MOST_TIMES 1e15

/* A line of a file: a length, and how often it was seen. */
static bool
read_line(const char *p, double *length, double *times)
{
    p += strspn(p, " \t\r");
    *times = 1;
    *length = read_number(&p);
    p += strspn(p, " \t\r");
    if (*p && *p != '\n' && *p != '#')
        *times = read_number(&p);
    p += strspn(p, " \t\r");
    bool ends = !*p || *p == '\n' || *p == '#';
    return ends && is_length(*length) && *length == floor(*length) &&
           *times >= 0 && *times <= MOST_TIMES;
}

rlf_status
rlf_lengths_parse_file(const char *path, const char *text, rlf_arena *arena,
                       rlf_err *err, rlf_length_distribution *out)
{
    RLF_VEC(rlf_length_seen) seen = {0};
    int line = 1;
    for (const char *p = text; *p; line++) {
        double length, times;
        const char *word = p + strspn(p, " \t\r");
        if (*word && *word != '\n' && *word != '#') {
            if (!read_line(word, &length, &times)) {
                rlf_fail(err, RLF_USER,
                         "%s:%d: a line has a length from 1 to %d, and maybe "
                         "how often it was seen, up to %g times",
                         path, line, (int)RLF_LENGTHS_MOST, MOST_TIMES);
                RLF_VEC_FREE(&seen);
                return RLF_USER;
            }
            rlf_length_seen one = {(uint32_t)length, times, 0};
            if (times > 0)
                RLF_PUSH(&seen, one);
        }
        p += strcspn(p, "\n");
        p += *p == '\n';
    }
    if (!seen.count)
        return rlf_fail(err, RLF_USER, "%s has no lengths", path);
    *out = make_list(seen.data, seen.count, arena);
    RLF_VEC_FREE(&seen);
    return RLF_OK;
}

void
rlf_lengths_print(const rlf_length_distribution *d, rlf_buf *out)
{
    if (d->kind == RLF_LENGTHS_HISTOGRAM || d->kind == RLF_LENGTHS_LIST) {
        rlf_buf_printf(out, "lengths with the mean %.4g, median %.0f, p99 %.0f",
                       rlf_lengths_mean(d, 0), rlf_lengths_quantile(d, 0.5),
                       rlf_lengths_quantile(d, 0.99));
        return;
    }
    rlf_buf_puts(out, d->kind == RLF_LENGTHS_FIXED ? fixed : lognormal);
    rlf_buf_number(out, d->mean);
    if (d->kind == RLF_LENGTHS_LOGNORMAL) {
        rlf_buf_putc(out, ',');
        rlf_buf_number(out, d->sigma);
    }
}

/* ---- asking ---- */

double
rlf_lengths_quantile(const rlf_length_distribution *d, double q)
{
    RLF_ASSERT(q > 0 && q < 1);
    if (d->kind == RLF_LENGTHS_HISTOGRAM)
        return class_quantile(d, q);
    if (d->kind == RLF_LENGTHS_LIST)
        return list_quantile(d, q);
    if (d->kind == RLF_LENGTHS_FIXED || d->sigma <= 0)
        return d->mean;
    return exp(log_mean(d) + d->sigma * normal_quantile(q));
}

double
rlf_lengths_above(const rlf_length_distribution *d, double x)
{
    if (d->kind == RLF_LENGTHS_HISTOGRAM)
        return class_above(d, x);
    if (d->kind == RLF_LENGTHS_LIST)
        return list_above(d, x);
    if (d->kind == RLF_LENGTHS_FIXED || d->sigma <= 0)
        return x < d->mean;
    return x > 0 ? normal_below((log_mean(d) - log(x)) / d->sigma) : 1;
}

double
rlf_lengths_mean(const rlf_length_distribution *d, double most)
{
    if (!(most > 0))
        most = INFINITY;
    if (d->kind == RLF_LENGTHS_HISTOGRAM)
        return class_mean(d, fmin(most, 2.0 * RLF_LENGTHS_MOST));
    if (d->kind == RLF_LENGTHS_LIST)
        return list_mean(d, most);
    if (d->kind == RLF_LENGTHS_FIXED || d->sigma <= 0)
        return fmin(d->mean, most);
    if (!isfinite(most))
        return d->mean;
    double at = (log(most) - log_mean(d)) / d->sigma;
    return d->mean * normal_below(at - d->sigma) + most * normal_below(-at);
}

bool
rlf_lengths_alike(const rlf_length_distribution *d, double most)
{
    double least = rlf_lengths_quantile(d, 0x1p-53);
    return rlf_lengths_above(d, least) <= 0 || (most > 0 && least >= most);
}

/* The largest of n numbers that are uniform in 0..1 is below u^(1/n) with the
 * probability u: the mean over u. */
double
rlf_lengths_longest(const rlf_length_distribution *d, double n, double most)
{
    enum { PARTS = 64 };
    double sum = 0;
    if (!(most > 0))
        most = INFINITY;
    for (int i = 0; i < PARTS; i++) {
        double q = pow((i + 0.5) / PARTS, 1 / n);
        sum += fmin(rlf_lengths_quantile(d, fmin(q, 1 - 0x1p-53)), most);
    }
    return sum / PARTS;
}

uint32_t
rlf_lengths_draw(const rlf_length_distribution *d, const rlf_random_key *key,
                 uint32_t most)
{
    rlf_random_key mine = *key;
    mine.purpose = RLF_PURPOSE_LENGTH;
    double u = (double)(rlf_draw(&mine, 0) >> 11) + 0.5; /* never 0 or 1 */
    double x = rlf_lengths_quantile(d, u * 0x1p-53);
    x = floor(x + 0.5);
    uint32_t limit = most && most < RLF_LENGTHS_MOST ? most : RLF_LENGTHS_MOST;
    return (uint32_t)fmin(fmax(x, 1), limit);
}

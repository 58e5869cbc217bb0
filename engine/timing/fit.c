/* Least squares without negative factors: see fit.h. */
#include "engine/timing/fit.h"

#include "engine/base/vec.h"

#include <math.h>

/* A part of a column that is not explained by others counts as nothing if it is
 * below this. */
static const double tiny = 1e-12;

/* Rows over their seconds, columns over their lengths. */
typedef struct fit {
    int n, columns;
    double *column[RLF_FIT_COLUMNS]; /* [n], of length 1 or 0 */
    double length[RLF_FIT_COLUMNS];
    double *q[RLF_FIT_COLUMNS]; /* room for an orthogonal basis */
    double *goal;               /* [n]: what is to be explained */
    double *rest;               /* [n]: what of it is not */
    bool in[RLF_FIT_COLUMNS];   /* may be positive */
    double x[RLF_FIT_COLUMNS];
} fit;

static double
product(const double *a, const double *b, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static void
take_off(double *a, const double *b, double times, int n)
{
    for (int i = 0; i < n; i++)
        a[i] -= times * b[i];
}

/* Least squares over the columns that are in, by Gram and Schmidt's basis, made
 * orthogonal twice. */
static void
solve(fit *f, double *out)
{
    double r[RLF_FIT_COLUMNS][RLF_FIT_COLUMNS] = {0}, b[RLF_FIT_COLUMNS];
    int at[RLF_FIT_COLUMNS], n = 0;
    for (int k = 0; k < f->columns; k++) {
        out[k] = 0;
        if (!f->in[k])
            continue;
        double *q = f->q[n];
        memcpy(q, f->column[k], (size_t)f->n * sizeof *q);
        for (int pass = 0; pass < 2; pass++)
            for (int i = 0; i < n; i++) {
                double part = product(f->q[i], q, f->n);
                r[i][n] += part;
                take_off(q, f->q[i], part, f->n);
            }
        double length = sqrt(product(q, q, f->n));
        if (length < tiny) {
            for (int i = 0; i < n; i++)
                r[i][n] = 0;
            continue;
        }
        for (int i = 0; i < f->n; i++)
            q[i] /= length;
        r[n][n] = length;
        b[n] = 0;
        for (int i = 0; i < f->n; i++)
            b[n] += q[i] * f->goal[i];
        at[n++] = k;
    }
    for (int i = n - 1; i >= 0; i--) {
        double x = b[i];
        for (int k = i + 1; k < n; k++)
            x -= r[i][k] * out[at[k]];
        out[at[i]] = x / r[i][i];
    }
}

/* The column that explains most of the rest; -1: none does. */
static int
next_column(fit *f)
{
    int best = -1;
    double most = 1e-10 * sqrt((double)f->n);
    memcpy(f->rest, f->goal, (size_t)f->n * sizeof *f->rest);
    for (int k = 0; k < f->columns; k++)
        take_off(f->rest, f->column[k], f->x[k], f->n);
    for (int k = 0; k < f->columns; k++) {
        double gain = product(f->column[k], f->rest, f->n);
        if (!f->in[k] && gain > most) {
            most = gain;
            best = k;
        }
    }
    return best;
}

/* From x towards s until the first that would be negative is 0, which goes out;
 * false: none is. */
static bool
step_back(fit *f, const double *s)
{
    double way = 1;
    for (int k = 0; k < f->columns; k++)
        if (f->in[k] && s[k] <= 0 && f->x[k] / (f->x[k] - s[k]) < way)
            way = f->x[k] > 0 ? f->x[k] / (f->x[k] - s[k]) : 0;
    bool back = false;
    for (int k = 0; k < f->columns; k++) {
        if (!f->in[k])
            continue;
        bool low = s[k] <= 0;
        f->x[k] += way * (s[k] - f->x[k]);
        if (low && f->x[k] <= tiny) {
            f->in[k] = false;
            f->x[k] = 0;
            back = true;
        }
    }
    return back;
}

static void
search(fit *f)
{
    double s[RLF_FIT_COLUMNS];
    int k;
    for (int i = 0; i < 10 * f->columns && (k = next_column(f)) >= 0; i++) {
        f->in[k] = true;
        do
            solve(f, s);
        while (step_back(f, s));
    }
}

static rlf_status
check(const double *terms, int n, int columns, const double *seconds,
      rlf_err *err)
{
    if (n < 1 || columns < 1 || columns > RLF_FIT_COLUMNS)
        return rlf_fail(err, RLF_USER,
                        "%d measurements and %d constants: there is nothing to "
                        "fit",
                        n, columns);
    for (int i = 0; i < n; i++) {
        bool good = seconds[i] > 0 && isfinite(seconds[i]);
        for (int k = 0; k < columns; k++)
            good = good && isfinite(terms[i * columns + k]);
        if (!good)
            return rlf_fail(err, RLF_USER,
                            "measurement %d of %d is no positive time, or what "
                            "it should consist of is not finite",
                            i + 1, n);
    }
    return RLF_OK;
}

rlf_status
rlf_fit_factors(const double *terms, int n, int columns, const double *seconds,
                rlf_err *err, double *factor)
{
    return rlf_fit_above(terms, n, columns, NULL, seconds, err, factor);
}

rlf_status
rlf_fit_above(const double *terms, int n, int columns, const double *least,
              const double *seconds, rlf_err *err, double *factor)
{
    RLF_TRY(check(terms, n, columns, seconds, err));
    fit f = {.n = n, .columns = columns};
    size_t rows = (size_t)n;
    double *room = rlf_calloc(rows * (2 * (size_t)columns + 2), sizeof *room);
    f.rest = room + 2 * (size_t)columns * rows;
    f.goal = f.rest + rows;
    for (int i = 0; i < n; i++)
        f.goal[i] = 1;
    for (int k = 0; k < columns; k++) {
        f.column[k] = room + (size_t)k * rows;
        f.q[k] = room + ((size_t)columns + (size_t)k) * rows;
        for (int i = 0; i < n; i++)
            f.column[k][i] = terms[i * columns + k] / seconds[i];
        if (least)
            take_off(f.goal, f.column[k], least[k], n);
        f.length[k] = sqrt(product(f.column[k], f.column[k], n));
        for (int i = 0; i < n && f.length[k] > 0; i++)
            f.column[k][i] /= f.length[k];
    }
    search(&f);
    for (int k = 0; k < columns; k++)
        factor[k] = (f.length[k] > 0 ? f.x[k] / f.length[k] : 0) +
                    (least ? least[k] : 0);
    free(room);
    return RLF_OK;
}

rlf_status
rlf_fit_line(const double *x, const double *seconds, int n, rlf_err *err,
             rlf_line *out)
{
    double *terms = rlf_calloc(2 * (size_t)(n > 0 ? n : 1), sizeof *terms);
    double factor[2], error = 0;
    for (int i = 0; i < n; i++) {
        terms[2 * i] = 1;
        terms[2 * i + 1] = x[i];
    }
    rlf_status status = rlf_fit_factors(terms, n, 2, seconds, err, factor);
    free(terms);
    if (status < 0)
        return status;
    out->fixed = factor[0];
    out->each = factor[1];
    out->least = out->most = x[0];
    for (int i = 0; i < n; i++) {
        out->least = fmin(out->least, x[i]);
        out->most = fmax(out->most, x[i]);
        error += fabs(rlf_line_at(out, x[i]) - seconds[i]) / seconds[i];
    }
    out->spread = error / n;
    return RLF_OK;
}

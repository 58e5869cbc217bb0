/* Learning from generations: see pace.h. */
#include "engine/order/pace.h"

#include <math.h>

enum { A_OCTAVE = 8, SWEEP = 20, LEAST_TURNS = 8 };

/* A threshold must save this part of the time, since all of it is a guess, and
 * going over takes some that is not in it. */
static const double worth = 0.05;

void
rlf_pace_begin(rlf_pace *p)
{
    p->turns.n /= 2;
    p->turns.x /= 2;
    p->turns.xx /= 2;
    p->turns.t /= 2;
    p->turns.xt /= 2;
    p->samples /= 2;
    p->follows /= 2;
    p->together = 0;
    for (int i = 0; i < RLF_PACE_LENGTHS; i++)
        p->length[i] /= 2;
}

int
rlf_pace_class(uint32_t length)
{
    int k = (int)(A_OCTAVE * log2((double)length + 1));
    return k < RLF_PACE_LENGTHS ? k : RLF_PACE_LENGTHS - 1;
}

double
rlf_pace_least(int class)
{
    return exp2((double)class / A_OCTAVE) - 1;
}

/* The middle of a class. */
static double
length_of(int class)
{
    return exp2((class + 0.5) / A_OCTAVE) - 1;
}

void
rlf_pace_rows(rlf_pace *p, const rlf_report *report)
{
    const rlf_turns *seen = &report->turns;
    p->turns.n += seen->n;
    p->turns.x += seen->x;
    p->turns.xx += seen->xx;
    p->turns.t += seen->t;
    p->turns.xt += seen->xt;
    for (uint32_t i = 0; i < report->n_rows && report->lengths; i++)
        p->length[rlf_pace_class(report->lengths[i])]++;
    p->samples += report->n_rows;
    if (report->seats)
        p->seats = report->seats;
}

void
rlf_pace_follow(rlf_pace *p, double seconds, int ranks)
{
    p->follows += seconds * ranks;
    p->together = ranks > p->together ? ranks : p->together;
}

bool
rlf_pace_turn(const rlf_pace *p, double *fixed, double *each)
{
    const rlf_turns *s = &p->turns;
    double spread = s->n * s->xx - s->x * s->x;
    if (s->n < LEAST_TURNS || s->t <= 0 || spread <= 0)
        return false;
    double slope = (s->n * s->xt - s->x * s->t) / spread;
    double most = s->t / s->x; /* all of it is for tokens */
    *each = slope < 0 ? 0 : slope < most ? slope : most;
    *fixed = (s->t - *each * s->x) / s->n;
    return true;
}

uint32_t
rlf_pace_saturation(const rlf_pace *p)
{
    double fixed, each;
    if (!rlf_pace_turn(p, &fixed, &each))
        return 0;
    if (each * UINT16_MAX <= fixed)
        return UINT16_MAX;
    uint32_t n = (uint32_t)(fixed / each);
    return n ? n : 1;
}

/* ---- the sweep ---- */

/* A generation with what follows, played. */
typedef struct play {
    double n, replicas, seats, piece;
    double fixed, each; /* of a turn */
    double follows;     /* of a sample, if a replica does it alone */
    double together;    /* replicas that do it together, at least 1 */
    double *left;       /* samples longer than each class */
} play;

/* Replicas with any of `left` samples dealt at random. */
static double
spread_over(const play *p, double left)
{
    return p->replicas * (1 - pow(1 - 1 / p->replicas, left));
}

/* Of the samples that are complete those that are in whole pieces. */
static double
in_pieces(const play *p, double left)
{
    return p->piece > 0 ? floor((p->n - left) / p->piece) * p->piece : 0;
}

/* Seconds until all is done. */
static double
total(const play *p, double threshold)
{
    double time = 0, done = 0, before = 0;
    for (int k = 0; k < RLF_PACE_LENGTHS; k++) {
        double left = p->left[k], here = length_of(k);
        if (left < 0.5)
            break;
        double at_work = fmax(1, fmin(spread_over(p, left), left));
        if (left < threshold)
            at_work = fmin(at_work, ceil(left / p->seats));
        double turn = p->fixed + p->each * left / at_work;
        double passed = (here - before) * turn;
        time += passed;
        done += fmax(p->replicas - at_work * p->together, 0) * passed;
        done = fmin(done, p->follows * in_pieces(p, left));
        before = here;
    }
    return time + (p->follows * p->n - done) / p->replicas;
}

uint32_t
rlf_pace_threshold(const rlf_pace *p, const rlf_pace_begun *b)
{
    double left[RLF_PACE_LENGTHS], all = 0;
    uint32_t n = b->n;
    play of = {.n = n,
               .replicas = b->replicas,
               .seats = b->seats,
               .piece = b->piece,
               .together = fmax(1, (double)p->together / b->ranks),
               .left = left};
    if (b->replicas < 2 || !n || !b->seats || p->samples <= 0 ||
        !rlf_pace_turn(p, &of.fixed, &of.each))
        return 0;
    of.follows = p->follows / p->samples / b->ranks;
    for (int k = 0; k < RLF_PACE_LENGTHS; k++)
        all += p->length[k];
    double longer = all;
    for (int k = 0; k < RLF_PACE_LENGTHS; k++) {
        left[k] = all > 0 ? n * longer / all : 0;
        longer -= p->length[k];
    }
    double never = total(&of, 0), best = never * (1 - worth);
    uint32_t threshold = 0;
    for (int i = 1; i <= SWEEP; i++) {
        uint32_t at = 1 + (uint32_t)((uint64_t)n * (uint64_t)i / SWEEP);
        double time = total(&of, at);
        if (time < best) {
            best = time;
            threshold = at;
        }
    }
    return threshold;
}

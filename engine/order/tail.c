/* Learning from generations: see tail.h. */
#include "engine/order/tail.h"

#include <math.h>
#include <string.h>

enum { A_OCTAVE = 8, SWEEP = 20, LEAST_TURNS = 8, TERMS = 3 };

/* A threshold must save this part of the time, since all of it is a guess, and
 * going over takes some that is not in it. */
static const double worth = 0.125;

/* Terms whose angle has a sine with a lesser square are taken to be one. */
static const double alike = 1e-9;

void
rlf_tail_turn_add(rlf_turns *to, double x, double y, double t)
{
    *to = (rlf_turns){.n = to->n + 1,
                      .x = to->x + x,
                      .y = to->y + y,
                      .xx = to->xx + x * x,
                      .xy = to->xy + x * y,
                      .yy = to->yy + y * y,
                      .t = to->t + t,
                      .xt = to->xt + x * t,
                      .yt = to->yt + y * t};
}

/* a of one and b of the other. */
static rlf_turns
sum_turns(double a, const rlf_turns *s, double b, const rlf_turns *t)
{
    return (rlf_turns){.n = a * s->n + b * t->n,
                       .x = a * s->x + b * t->x,
                       .y = a * s->y + b * t->y,
                       .xx = a * s->xx + b * t->xx,
                       .xy = a * s->xy + b * t->xy,
                       .yy = a * s->yy + b * t->yy,
                       .t = a * s->t + b * t->t,
                       .xt = a * s->xt + b * t->xt,
                       .yt = a * s->yt + b * t->yt};
}

void
rlf_tail_begin(rlf_tail *p)
{
    p->turns = sum_turns(0.5, &p->turns, 0, &p->turns);
    p->decodes = sum_turns(0.5, &p->decodes, 0, &p->decodes);
    p->samples /= 2;
    p->follows /= 2;
    p->within /= 2;
    p->beside /= 2;
    p->together = p->met ? p->met : p->together;
    p->met = 0;
    for (int i = 0; i < RLF_TAIL_LENGTHS; i++)
        p->length[i] /= 2;
}

int
rlf_tail_class(uint32_t length)
{
    int k = (int)(A_OCTAVE * log2((double)length + 1));
    return k < RLF_TAIL_LENGTHS ? k : RLF_TAIL_LENGTHS - 1;
}

double
rlf_tail_least(int class)
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
rlf_tail_rows(rlf_tail *p, const rlf_rank_event *event)
{
    p->turns = sum_turns(1, &p->turns, 1, &event->turns);
    p->decodes = sum_turns(1, &p->decodes, 1, &event->decodes);
    for (uint32_t i = 0; i < event->n_rows && event->lengths; i++)
        p->length[rlf_tail_class(event->lengths[i])]++;
    p->samples += event->n_rows;
    if (event->seats)
        p->seats = event->seats;
}

void
rlf_tail_follow(rlf_tail *p, double seconds, int ranks, int within, int beside)
{
    p->follows += seconds * ranks;
    p->within += seconds * ranks * within;
    p->beside += seconds * ranks * beside;
    p->met = ranks > p->met ? ranks : p->met;
}

/* ---- what a turn takes ---- */

bool
rlf_tail_token(const rlf_tail *p, double *seconds)
{
    const rlf_turns s = sum_turns(1, &p->turns, 1, &p->decodes);
    double spread = s.n * s.xx - s.x * s.x;
    if (s.n < LEAST_TURNS || s.t <= 0 || spread <= 0)
        return false;
    double slope = (s.n * s.xt - s.x * s.t) / spread;
    double most = s.t / s.x; /* all of it is for tokens */
    *seconds = slope < 0 ? 0 : slope < most ? slope : most;
    return true;
}

/* Least squares with the terms of `mask` alone: the factors, and by how much
 * the sum of squares is less than without any. False: the terms cannot be told
 * apart by what was seen, or a factor is negative. */
static bool
solve(const double gram[TERMS][TERMS], const double to[TERMS], unsigned mask,
      double factor[TERMS], double *less)
{
    /* Cholesky, of columns of length one */
    double l[TERMS][TERMS] = {0}, y[TERMS] = {0}, long_[TERMS];
    int at[TERMS], n = 0;
    for (int k = 0; k < TERMS; k++)
        if (mask >> k & 1)
            at[n++] = k;
    for (int i = 0; i < n; i++) {
        long_[i] = sqrt(gram[at[i]][at[i]]);
        if (!(long_[i] > 0))
            return false;
        for (int j = 0; j <= i; j++) {
            double sum = gram[at[i]][at[j]] / (long_[i] * long_[j]);
            for (int k = 0; k < j; k++)
                sum -= l[i][k] * l[j][k];
            if (j < i)
                l[i][j] = sum / l[j][j];
            else if (sum < alike)
                return false;
            else
                l[i][i] = sqrt(sum);
        }
        y[i] = to[at[i]] / long_[i];
        for (int k = 0; k < i; k++)
            y[i] -= l[i][k] * y[k];
        y[i] /= l[i][i];
    }
    *less = 0;
    memset(factor, 0, sizeof(double[TERMS]));
    for (int i = n - 1; i >= 0; i--) {
        double sum = y[i];
        *less += y[i] * y[i];
        for (int k = i + 1; k < n; k++)
            sum -= l[k][i] * factor[at[k]] * long_[k];
        factor[at[i]] = sum / l[i][i] / long_[i];
        if (factor[at[i]] < 0)
            return false;
    }
    return true;
}

bool
rlf_tail_decodes(const rlf_tail *p, rlf_tail_turn *out)
{
    const rlf_turns *s = &p->decodes;
    const double gram[TERMS][TERMS] = {
        {s->n, s->x, s->y}, {s->x, s->xx, s->xy}, {s->y, s->xy, s->yy}};
    const double to[TERMS] = {s->t, s->xt, s->yt};
    double best = 0, less, factor[TERMS];
    if (s->n < LEAST_TURNS || s->t <= 0 || s->n * s->xx - s->x * s->x <= 0)
        return false;
    for (unsigned mask = 1; mask < 1 << TERMS; mask++)
        if (solve(gram, to, mask, factor, &less) && less > best) {
            best = less;
            *out = (rlf_tail_turn){factor[0], factor[1], factor[2]};
        }
    return best > 0;
}

uint32_t
rlf_tail_saturation(const rlf_tail *p, double keys)
{
    rlf_tail_turn turn;
    if (!rlf_tail_decodes(p, &turn))
        return 0;
    double each = turn.sample + turn.key * keys;
    if (each * UINT16_MAX <= turn.fixed)
        return UINT16_MAX;
    uint32_t n = (uint32_t)(turn.fixed / each);
    return n ? n : 1;
}

/* ---- the sweep ---- */

/* A generation with what follows, played. */
typedef struct play {
    double n, replicas, piece, prompt;
    rlf_tail_turn turn;
    double follows;  /* of a sample, if a replica does it alone */
    double together; /* replicas that do it together, at least 1 */
    double part;     /* of a replica's ranks, those that do it */
    double beside;   /* so many replicas more do it, and never sample */
    double left[RLF_TAIL_LENGTHS]; /* samples longer than each class, and, not
                                      gathered, replicas that have any, and
                                      that do together what follows and have
                                      none */
    double at_work[RLF_TAIL_LENGTHS], open[RLF_TAIL_LENGTHS];
} play;

/* The lengths that were seen, of so many samples assigned at random. */
static void
spread(const rlf_tail *p, play *of)
{
    double all = 0;
    for (int k = 0; k < RLF_TAIL_LENGTHS; k++)
        all += p->length[k];
    double longer = all;
    for (int k = 0; k < RLF_TAIL_LENGTHS; k++) {
        double left = all > 0 ? of->n * longer / all : 0;
        double some = of->replicas * (1 - pow(1 - 1 / of->replicas, left));
        double apart = fmax(of->replicas / of->together, 1);
        of->open[k] = of->together * apart * pow(1 - 1 / apart, left);
        of->left[k] = left;
        of->at_work[k] = fmax(1, fmin(some, left));
        longer -= p->length[k];
    }
}

/* Seconds of the work behind the samples that are in whole pieces of those
 * complete. */
static double
ready_after(const play *p, double left)
{
    double pieces = p->piece > 0 ? floor((p->n - left) / p->piece) : 0;
    return pieces * p->piece * p->follows;
}

/* Seconds until all is done. */
static double
total(const play *p, double threshold, double seats)
{
    double time = 0, before = 0, done = 0; /* of what follows, by a replica */
    for (int k = 0; k < RLF_TAIL_LENGTHS && p->left[k] >= 0.5; k++) {
        double left = p->left[k], here = length_of(k), at_work = p->at_work[k];
        double open = p->open[k], need = ceil(left / seats);
        if (left < threshold && need < at_work) {
            at_work = need;
            open = p->replicas - ceil(need / p->together) * p->together;
        }
        double each = p->turn.sample + p->turn.key * (p->prompt + here);
        double turn = p->turn.fixed + each * left / at_work;
        double passed = (here - before) * turn;
        time += passed;
        double readers = p->beside + (open >= p->together ? open * p->part : 0);
        done = fmin(done + readers * passed, ready_after(p, left));
        before = here;
    }
    double rest = p->follows * p->n - done;
    return rest > 0 ? time + rest / (p->replicas * p->part + p->beside) : time;
}

rlf_tail_gather
rlf_tail_find(const rlf_tail *p, const rlf_tail_begun *b)
{
    rlf_tail_gather out = {0};
    play of = {.n = b->n,
               .replicas = b->replicas,
               .piece = b->piece,
               .prompt = b->prompt,
               .together =
                   fmax(1, (double)(p->met ? p->met : p->together) / b->ranks)};
    if (b->replicas < 2 || !b->n || !b->room || p->samples <= 0 ||
        !rlf_tail_decodes(p, &of.turn))
        return out;
    of.follows = p->follows / p->samples / b->ranks;
    if (p->follows > 0) {
        of.part = p->within / p->follows / (b->replicas * b->ranks);
        of.beside = p->beside / p->follows / b->ranks;
    }
    spread(p, &of);
    double best = total(&of, 0, 1) * (1 - worth);
    for (uint32_t i = 1; i <= SWEEP; i++) {
        uint32_t at = 1 + (uint32_t)((uint64_t)b->n * i / SWEEP);
        for (uint32_t on = (uint32_t)b->replicas / 2; on; on /= 2) {
            uint32_t seats = at / on + (at % on > 0);
            double time = total(&of, at, seats);
            if (seats <= b->room && time < best) {
                best = time;
                out = (rlf_tail_gather){at, seats};
            }
        }
    }
    return out;
}

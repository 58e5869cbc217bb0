/* Readings behind a generation: see reading.h. */
#include "engine/search/reading.h"

#include "engine/search/placed.h"

enum { PARTS = RLF_CHOICE_PARTS };

/* Seconds of n parts of the samples, in one piece. */
static double
piece_seconds(const rlf_reading *r, double n)
{
    return r->anew + (r->seconds - r->anew) * n / PARTS;
}

/* Returns the moment at which all is read of a generation whose last `left`
 * parts are complete when it is over. They are one piece, which begins when the
 * piece before is done, of `last` seconds until `now`: who sampled has the
 * samples, sends them to all, and so waits for those who read. They are dealt
 * by tokens, of which those of the piece before count until it is reported, so
 * who sampled gets more. Of a placement that is not known it is left out that
 * they wait: who has more to do before may have no piece then, and wait
 * less. */
static double
read_rest(const rlf_reading *r, double over, double now, double last, int left)
{
    double rest = piece_seconds(r, left);
    if (now <= over || r->late >= 1)
        return rlf_larger(now, over) + rest;
    if (r->known)
        return now + r->late * last + rest;
    return over + r->part * (now - over) + rest;
}

/* Parts that are complete at the same moment are one piece. Of a generation
 * whose choice is not known only the last samples are sure to be late. */
double
rlf_reading_end(const rlf_reading *r, double begin, double over,
                const double *complete)
{
    double now = rlf_larger(begin, r->free), last = 0;
    if (now >= over)
        return now + piece_seconds(r, PARTS);
    for (int i = 0, n; i < PARTS; i += n) {
        double at = complete ? complete[i] : i == PARTS - 1;
        now = rlf_larger(now, begin + at * (over - begin));
        if (r->part <= 0)
            now = rlf_larger(now, r->gathered);
        if (now >= over || at >= 1)
            return read_rest(r, over, now, last, PARTS - i);
        for (n = 1; complete && i + n < PARTS && complete[i + n] <= at; n++)
            ;
        last =
            piece_seconds(r, n / (now < r->gathered ? r->part : r->late));
        now += last;
    }
    return now;
}

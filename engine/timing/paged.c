/* Turns of a generation whose samples wait for pages: see sampling.h. */
#include "engine/timing/sampling.h"

#include <math.h>
#include <stdlib.h>

#include "engine/base/memory.h"

enum {
    BINS = RLF_SAMPLING_PARTS - 1, /* of what is made, as it comes */
    PLAYED = 128,                  /* samples, at most */
};

typedef struct sample {
    int group;
    double has, length; /* tokens of the response */
    bool again;         /* all that it has is to be computed again */
} sample;

/* Sums over turns that are put together. */
typedef struct bin {
    double turns, rows, made, fresh, bursts, complete;
} bin;

typedef struct player {
    const rlf_sampling_pages *room;
    double prompt, pages, seats, scale;
    sample *list;                                  /* all, in order */
    int n, *active, n_active, *waiting, n_waiting; /* waiting: the next last */
    bin bins[BINS];
    double made, all; /* tokens: so far, of the whole */
    double peak;
    int complete; /* samples */
} player;

static double
pages_for(const player *p, double tokens)
{
    return ceil(tokens / p->room->tokens);
}

/* Full pages of a prompt, which the samples of a group share. */
static double
shared(const player *p)
{
    return floor(fmax(0, p->prompt - 1) / p->room->tokens);
}

/* Is the i-th at work of the same group as the one before it? */
static bool
follows(const player *p, int i)
{
    return i > 0 &&
           p->list[p->active[i]].group == p->list[p->active[i - 1]].group;
}

/* Of those at work, so many turns later. */
static double
taken(const player *p, double turns)
{
    double sum = 0, both = shared(p);
    for (int i = 0; i < p->n_active; i++) {
        const sample *s = &p->list[p->active[i]];
        sum += pages_for(p, p->prompt + s->has + turns);
        sum -= follows(p, i) ? both : 0;
    }
    return sum;
}

/* Samples that wait begin while there are pages. Returns prompts that are
 * computed. */
static double
let_in(player *p)
{
    double sum = taken(p, 0), fed = 0, both = shared(p);
    bool burst = false;
    while (p->n_waiting && p->n_active < fmax(1, p->seats)) {
        int k = p->waiting[p->n_waiting - 1];
        sample *s = &p->list[k];
        bool same = p->n_active &&
                    p->list[p->active[p->n_active - 1]].group == s->group;
        sum += pages_for(p, p->prompt + s->has + 1) - (same ? both : 0);
        if (p->n_active && sum > p->pages)
            break;
        if (s->again)
            fed +=
                (p->prompt + s->has - (same ? p->prompt - 1 : 0)) / p->prompt;
        else if (!same || !burst)
            fed++;
        burst = true;
        s->again = false;
        p->active[p->n_active++] = k;
        p->n_waiting--;
    }
    return fed;
}

static void
preempt(player *p)
{
    while (p->n_active > 1 && taken(p, 0) > p->pages) {
        int k = p->active[--p->n_active];
        p->list[k].again = true;
        p->waiting[p->n_waiting++] = k;
    }
}

/* Until the first is complete, or pages run out. */
static double
turns_now(const player *p)
{
    double most = INFINITY, least = 1;
    for (int i = 0; i < p->n_active; i++) {
        const sample *s = &p->list[p->active[i]];
        most = fmin(most, s->length - s->has);
    }
    if (p->n_active == 1 || taken(p, most - 1) <= p->pages)
        return most;
    while (least < most) {
        double middle = least + floor((most - least + 1) / 2);
        if (taken(p, middle - 1) <= p->pages)
            least = middle;
        else
            most = middle - 1;
    }
    return least;
}

static void
run(player *p, double turns, double fed)
{
    int at = (int)(BINS * p->made / p->all);
    bin *b = &p->bins[at < BINS ? at : BINS - 1];
    int left = 0;
    p->peak = fmax(p->peak, taken(p, turns - 1));
    b->turns += turns;
    b->rows += turns * p->n_active;
    b->fresh += fed;
    b->bursts += fed > 0;
    p->made += turns * p->n_active;
    for (int i = 0; i < p->n_active; i++) {
        sample *s = &p->list[p->active[i]];
        b->made += turns * (s->has + turns / 2);
        s->has += turns;
        if (s->has < s->length)
            p->active[left++] = p->active[i];
    }
    p->complete += p->n_active - left;
    b->complete = (double)p->complete / p->n;
    p->n_active = left;
}

/* *last: samples at work when the last one began. */
static void
play(player *p, double *first, int *last)
{
    while (p->n_active || p->n_waiting) {
        preempt(p);
        double fed = let_in(p);
        if (p->made <= 0)
            *first = p->n_active;
        if (fed > 0)
            *last = p->n_active;
        run(p, fed > 0 ? 1 : turns_now(p), p->made > 0 ? fed : 0);
    }
}

static void
begin(player *p, const rlf_sampling *s)
{
    for (int i = 0; i < p->n; i++) {
        double length = floor(rlf_sampling_typical(s, (uint32_t)i) + 0.5);
        p->list[i] = (sample){.group = (int)(i / fmax(1, s->group)),
                              .length = fmax(1, length)};
        p->all += p->list[i].length;
        p->waiting[p->n - 1 - i] = i;
    }
    p->n_waiting = p->n;
}

static void
tell(const player *p, double more, rlf_sampling_paged *out)
{
    for (int k = 0; k < BINS; k++) {
        const bin *b = &p->bins[k];
        if (b->turns <= 0)
            continue;
        out->part[out->n++] = (rlf_sampling_part){
            .turns = b->turns,
            .rows = fmax(1, p->scale * b->rows / b->turns),
            .made = b->made / b->rows,
            .fresh = p->scale * b->fresh / b->turns,
            .burst = b->bursts > 0 ? p->scale * b->fresh / b->bursts : 0,
            .complete = b->complete};
    }
    if (more > 0)
        out->part[out->n++] = (rlf_sampling_part){
            .turns = more, .rows = 1, .made = p->all / p->n, .complete = 1};
}

void
rlf_sampling_play(const rlf_sampling *s, const rlf_sampling_pages *pages,
                  rlf_sampling_paged *out)
{
    int n = (int)fmax(1, fmin(ceil(s->rows), PLAYED)), last = 1;
    double scale = fmax(1, s->rows / n), more = 0;
    player p = {.room = pages,
                .prompt = fmax(1, floor(pages->prompt + 0.5)),
                .pages = pages->pages / scale,
                .seats = s->seats / scale,
                .scale = scale,
                .n = n,
                .list = rlf_calloc((size_t)n, sizeof *p.list),
                .active = rlf_calloc((size_t)n, sizeof *p.active),
                .waiting = rlf_calloc((size_t)n, sizeof *p.waiting)};
    *out = (rlf_sampling_paged){0};
    begin(&p, s);
    play(&p, &out->first, &last);
    if (s->lengths)
        more = rlf_lengths_longest(s->lengths, last * scale * s->replicas,
                                   s->most) -
               rlf_lengths_longest(s->lengths, last, s->most);
    tell(&p, more, out);
    out->first *= scale;
    out->peak = p.peak * scale;
    free(p.list);
    free(p.active);
    free(p.waiting);
}

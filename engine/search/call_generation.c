/* Seconds of a generation: turns, in waves or as samples become complete. */
#include "engine/search/call_work.h"

#include <math.h>

/* The first turn: of a group one sample reads the prompt, the others its last
 * token. All stages get their first part before any its second. */
static void
begin(const rlf_call_work *w, double rows, double times)
{
    double pp = w->layout->pp, each = ceil(rows / pp);
    double groups = ceil(each * w->size->prompts / fmax(1, w->size->samples));
    rlf_piece first = {.kind = RLF_PIECE_TURN,
                       .prompts = (uint64_t)groups,
                       .rows = (uint64_t)(each - groups),
                       .prompt = rlf_call_whole(w->expected->prompt),
                       .context = w->expected->prompt};
    rlf_call_work filling = *w;
    filling.part = pp / (2 * pp - 1);
    times *= 2 * pp - 1;
    rlf_call_add(&filling, &first, groups * w->expected->prompt, times, times);
}

/* From the seconds after which a part of the samples is complete to those of
 * the next such moment, at which `to` is. What is left at last is complete when
 * all is over: many may be as long as can be. */
static void
note_complete(const rlf_call_work *w, double *seconds, double *part, double to)
{
    for (int k = 0; w->times && k < RLF_CHOICE_PARTS; k++) {
        double at = (k + 1.0) / RLF_CHOICE_PARTS, passed = w->sum->total;
        if (at <= *part || at > to)
            continue;
        if (to < 1)
            passed =
                *seconds + (passed - *seconds) * (at - *part) / (to - *part);
        w->times->complete[k] = passed;
    }
    *seconds = w->sum->total;
    *part = to;
}

/* Waves of turns, where all responses are alike. */
static void
generate_waves(const rlf_call_work *w, rlf_call_cut cut, double rows)
{
    double pp = w->layout->pp, waves = ceil(rows / fmax(1, cut.seats));
    double each = ceil(rows / waves / pp);
    rlf_piece turn = {.kind = RLF_PIECE_TURN,
                      .rows = (uint64_t)each,
                      .context =
                          w->expected->prompt + w->expected->response / 2};
    double turns = waves * (w->expected->response - 1) * pp;
    begin(w, rows / waves, waves);
    rlf_call_add(w, &turn, each, turns, turns);
    for (int k = 0; w->times && k < RLF_CHOICE_PARTS; k++)
        w->times->complete[k] =
            w->sum->total / waves * ceil(waves * (k + 1) / RLF_CHOICE_PARTS);
}

/* Adds samples that begin later, which read their prompts beside the turns of
 * others. */
static void
begin_more(const rlf_call_work *w, const rlf_sampling_part *part,
           double context)
{
    double at_once = part->burst > 0 ? part->burst : part->fresh;
    double pp = w->layout->pp, many = fmax(1, at_once / pp);
    double times = part->turns * part->fresh / many, rows = part->rows / pp;
    rlf_piece turn = {.kind = RLF_PIECE_TURN,
                      .prompts = (uint64_t)many,
                      .prompt = rlf_call_whole(w->expected->prompt),
                      .context = context};
    double fed = (double)turn.prompts * turn.prompt;
    times *= many / (double)turn.prompts;
    turn.rows = (uint64_t)fmax(0, rows - (double)turn.prompts);
    rlf_call_add(w, &turn, fed + (double)turn.rows, times, times);
    turn.rows += turn.prompts;
    turn.prompts = 0;
    rlf_call_add(w, &turn, (double)turn.rows, -times, -times);
}

/* Replicas on which samples may be gathered, and from when on each of them has
 * a seat for all that are left of so many. */
static void
begin_gathers(const rlf_call_work *w, double samples, double seats)
{
    rlf_call_times *t = w->times;
    int on = w->layout->dp / 2;
    for (; on > 0 && t->n_gathers < RLF_GATHERS; on /= 2) {
        double most = fmin(seats * on / samples, 1);
        int least = (int)ceil(RLF_CHOICE_PARTS * (1 - most));
        t->gather[t->n_gathers].on = on;
        t->gather[t->n_gathers++].least = least > 1 ? least : 1;
    }
}

/* Seconds in which samples are made, from a part of them that is complete to
 * another, as above. */
static void
add_to_parts(double *parts, double from, double to, double seconds)
{
    for (int k = 0; k < RLF_CHOICE_PARTS; k++) {
        double end = (k + 1.0) / RLF_CHOICE_PARTS;
        double begin = fmax((double)k / RLF_CHOICE_PARTS, from);
        bool last = to >= 1 && (end > from || k == RLF_CHOICE_PARTS - 1);
        if (last || (end > from && begin < to))
            parts[k] += last ? seconds
                             : seconds * (fmin(end, to) - begin) / (to - from);
        if (last)
            return;
    }
}

/* The same turns, where fewer replicas have all samples that are at work. */
static void
note_gathered(const rlf_call_work *w, const rlf_sampling_part *p,
              rlf_piece turn, double turns, double part)
{
    for (int i = 0; w->times && i < w->times->n_gathers; i++) {
        double many = (double)w->layout->dp / w->times->gather[i].on;
        double rows = fmax(1, many * p->rows / w->layout->pp), ignored = 0;
        rlf_seconds seconds = {0};
        rlf_call_work one = *w;
        one.sum = &seconds;
        one.busy = &ignored;
        one.times = NULL;
        rlf_call_add_rows(&one, turn, rows, 1, turns, turns);
        add_to_parts(w->times->gather[i].seconds, part, p->complete,
                     seconds.total);
    }
}

/* The first turn of `first` samples, and these. */
static void
generate_parts(const rlf_call_work *w, double first,
               const rlf_sampling_part *parts, int n)
{
    double pp = w->layout->pp;
    begin(w, first, 1);
    double seconds = w->sum->total, part = 0;
    for (int i = 0; i < n; i++) {
        const rlf_sampling_part *p = &parts[i];
        const rlf_piece turn = {.kind = RLF_PIECE_TURN,
                                .context = w->expected->prompt + p->made};
        double turns = (i ? p->turns : fmax(0, p->turns - 1)) * pp;
        rlf_call_add_rows(w, turn, fmax(1, p->rows / pp), 1, turns, turns);
        if (p->fresh > 0)
            begin_more(w, p, turn.context);
        note_gathered(w, p, turn, turns, part);
        note_complete(w, &seconds, &part, p->complete);
    }
}

static void
generate(const rlf_call_work *w, rlf_call_cut cut, double rows)
{
    rlf_sampling_part parts[RLF_SAMPLING_PARTS];
    if (w->times && w->expected->responses)
        begin_gathers(w, rows * w->layout->dp, fmax(1, cut.seats));
    if (cut.paged) {
        generate_parts(w, cut.paged->first, cut.paged->part, cut.paged->n);
        return;
    }
    if (!w->expected->responses) {
        generate_waves(w, cut, rows);
        return;
    }
    const rlf_sampling sampling = {.lengths = w->expected->responses,
                                   .most = w->expected->most,
                                   .rows = rows,
                                   .seats = fmax(1, cut.seats),
                                   .replicas = w->layout->dp,
                                   .group = w->size->samples /
                                            fmax(1, w->size->prompts)};
    int n = rlf_sampling_parts(&sampling, parts);
    generate_parts(w, fmin(rows, sampling.seats), parts, n);
}

/* As if all stages were like the slowest. */
void
rlf_call_generate(const rlf_call_replica *r, rlf_call_cut cut, double rows,
                  rlf_seconds *sum, rlf_call_times *times)
{
    rlf_choice_messages most = {0};
    double took = 0; /* by the stage that sends so many */
    for (int k = 0; k < r->n_kinds; k++) {
        rlf_seconds seconds = {0};
        rlf_call_times own = {0};
        rlf_call_work one = r->kind[k];
        one.sum = &seconds;
        one.times = times ? &own : NULL;
        generate(&one, cut, rows);
        if (own.messages.bytes > most.bytes) {
            most = own.messages;
            took = seconds.total;
        }
        if (seconds.total <= sum->total)
            continue;
        *sum = seconds;
        if (times)
            *times = own;
    }
    most.spare = sum->total - took;
    if (times)
        times->messages = most;
}

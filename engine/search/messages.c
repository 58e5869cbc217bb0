/* See messages.h. */
#include "engine/search/messages.h"

/* The place of a stage: chunks go round, or down and up again. */
static int
place_of(const rlf_layout *layout, int stage)
{
    int chunk = stage / layout->pp, at = stage % layout->pp;
    return layout->vee && chunk % 2 ? layout->pp - 1 - at : at;
}

void
rlf_messages_make(const rlf_speeds *speeds, const rlf_layout *layout, int rank,
                  double bytes, rlf_messages *out)
{
    int chunks = layout->chunks > 1 ? layout->chunks : 1;
    int n = layout->pp * chunks - 1;
    rlf_coordinates at = rlf_layout_find(layout, rank), next = at;
    out->n = layout->pp > 1 && n <= RLF_MESSAGES ? n : 0;
    out->sum = out->most = 0;
    for (int s = 0; s < out->n; s++) {
        rlf_seconds takes;
        at.pp = place_of(layout, s);
        next.pp = place_of(layout, s + 1);
        rlf_seconds_stage(
            speeds, layout, layout->ranks[rlf_layout_place(layout, at)],
            layout->ranks[rlf_layout_place(layout, next)], bytes, &takes);
        out->send[s] = takes.total;
        out->sum += takes.total;
        if (takes.total >= out->most)
            out->terms = takes;
        out->most = out->terms.total;
    }
}

void
rlf_messages_add(const rlf_messages *messages, double seconds, rlf_seconds *to)
{
    if (messages->most > 0)
        rlf_seconds_add(to, &messages->terms, seconds / messages->most);
}

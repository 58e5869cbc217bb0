/* Lines of a plan's pieces: see measured.h. */
#include "engine/timing/measured.h"

int
rlf_measured_threads(const rlf_speeds *speeds, int rank)
{
    const rlf_machine_kind *m =
        rlf_cluster_part_of(speeds->cluster, rank)->machine;
    return m->device->gpu ? 1 : m->cores / m->count;
}

int
rlf_measured_cores(const rlf_speeds *speeds)
{
    const rlf_machine_kind *m = speeds->cluster->parts[0].machine;
    bool shared = speeds->profiles && speeds->profiles[0] && !m->device->gpu &&
                  speeds->cluster->machines == 1;
    return shared ? m->cores : 0;
}

/* Of what was measured up to there a line is believed. */
#define BEYOND 1.1

rlf_profile_key
rlf_measured_key(const rlf_plan *plan, const rlf_node *node,
                 rlf_measured_kind kind, int rank, int threads, char *words,
                 size_t room)
{
    rlf_profile_key key = {
        .kind = kind, .call = "", .tp = 1, .pp = 1, .threads = threads};
    if (!node)
        return key;
    const rlf_node_place *place = &plan->place[node->id];
    const rlf_layout *l = &place->layout;
    int stage = rlf_layout_find(l, rank).pp;
    key.call = rlf_profile_call(plan->graph, node, words, room);
    key.tp = l->tp;
    key.pp = l->pp;
    key.stage = stage < 0 ? 0 : stage;
    key.dp = kind == RLF_MEASURED_FINISH ? l->dp : 0;
    if (rlf_profile_is_pass(kind)) {
        key.chunks = l->chunks > 1 ? l->chunks : 1;
        key.vee = key.chunks > 1 && l->vee;
        key.split = kind == RLF_MEASURED_BACKWARD && place->owed;
    }
    return key;
}

/* By the line of the piece's own kind, and of a backward pass by one that is
 * split or whole as said. */
static bool
by_line(const rlf_speeds *speeds, const rlf_plan *plan,
        const rlf_measured_piece *piece, bool split, rlf_measured_said *out)
{
    const rlf_profile *p = speeds->profiles[piece->rank];
    char words[256];
    rlf_profile_key key = rlf_measured_key(
        plan, piece->node, piece->kind, piece->rank,
        rlf_measured_threads(speeds, piece->rank), words, sizeof words);
    rlf_profile_line made;
    key.split = split;
    const rlf_profile_line *line =
        rlf_profile_find(p, &key, &made, &out->exact);
    if (!line)
        return false;
    double parts = piece->parts > 1 ? piece->parts : 1;
    double x = piece->x * parts;
    out->seconds = rlf_profile_line_at(line, x, piece->y * parts) / parts;
    out->beyond = x * BEYOND < line->least || x > line->most * BEYOND;
    return true;
}

/* The half of a backward pass that was measured whole. */
static bool
by_half(const rlf_speeds *speeds, const rlf_plan *plan,
        const rlf_measured_piece *piece, rlf_measured_said *out)
{
    rlf_measured_piece whole = *piece;
    whole.kind = RLF_MEASURED_BACKWARD;
    if (!by_line(speeds, plan, &whole, false, out))
        return false;
    out->seconds /= 2;
    out->exact = false;
    return true;
}

/* A part of a backward pass that the schedule splits. */
static bool
by_part(const rlf_speeds *speeds, const rlf_plan *plan,
        const rlf_measured_piece *piece, rlf_measured_said *out)
{
    bool split = piece->kind == RLF_MEASURED_BACKWARD;
    return by_line(speeds, plan, piece, split, out) ||
           by_half(speeds, plan, piece, out);
}

/* A whole backward pass: measured so, or in two parts. */
static bool
by_whole(const rlf_speeds *speeds, const rlf_plan *plan,
         const rlf_measured_piece *piece, rlf_measured_said *out)
{
    rlf_measured_piece rest = *piece;
    rlf_measured_said also;
    if (by_line(speeds, plan, piece, false, out))
        return true;
    rest.kind = RLF_MEASURED_WEIGHTS;
    if (!by_line(speeds, plan, piece, true, out) ||
        !by_line(speeds, plan, &rest, false, &also))
        return false;
    out->seconds += also.seconds;
    out->exact = false;
    out->beyond |= also.beyond;
    return true;
}

static bool
by_backward(const rlf_speeds *speeds, const rlf_plan *plan,
            const rlf_measured_piece *piece, rlf_measured_said *out)
{
    const rlf_node_place *place = &plan->place[piece->node->id];
    rlf_measured_piece again = *piece;
    rlf_measured_said also;
    if (!(place->owed ? by_part(speeds, plan, piece, out)
                      : by_whole(speeds, plan, piece, out)))
        return false;
    again.kind = RLF_MEASURED_FORWARD;
    if (place->recompute && by_line(speeds, plan, &again, false, &also)) {
        out->seconds += also.seconds;
        out->exact = false;
    }
    return true;
}

bool
rlf_measured_seconds(const rlf_speeds *speeds, const rlf_plan *plan,
                     const rlf_measured_piece *piece, rlf_measured_said *out)
{
    *out = (rlf_measured_said){0};
    if (!speeds->profiles || !speeds->profiles[piece->rank])
        return false;
    if (piece->kind == RLF_MEASURED_WEIGHTS)
        return by_part(speeds, plan, piece, out);
    if (piece->kind == RLF_MEASURED_BACKWARD)
        return by_backward(speeds, plan, piece, out);
    if (!by_line(speeds, plan, piece, false, out))
        return false;
    const rlf_layout *l =
        piece->node ? &plan->place[piece->node->id].layout : NULL;
    if (piece->chunk && l && l->chunks > 1)
        out->seconds /= l->chunks;
    return true;
}

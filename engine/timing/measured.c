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

/* By the line of the piece's own kind. */
static bool
by_line(const rlf_speeds *speeds, const rlf_plan *plan,
        const rlf_measured_piece *piece, rlf_measured_said *out)
{
    const rlf_profile *p = speeds->profiles[piece->rank];
    const rlf_node *node = piece->node;
    rlf_profile_key key = {.kind = piece->kind,
                           .call = "",
                           .tp = 1,
                           .pp = 1,
                           .threads =
                               rlf_measured_threads(speeds, piece->rank)};
    rlf_profile_line made;
    char words[256];
    if (node) {
        const rlf_layout *l = &plan->place[node->id].layout;
        int stage = rlf_layout_find(l, piece->rank).pp;
        key.call = rlf_profile_call(plan->graph, node, words, sizeof words);
        key.tp = l->tp;
        key.pp = l->pp;
        key.stage = stage < 0 ? 0 : stage;
        key.dp = piece->kind == RLF_MEASURED_FINISH ? l->dp : 0;
    }
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
    if (!by_line(speeds, plan, &whole, out))
        return false;
    out->seconds /= 2;
    out->exact = false;
    return true;
}

bool
rlf_measured_seconds(const rlf_speeds *speeds, const rlf_plan *plan,
                     const rlf_measured_piece *piece, rlf_measured_said *out)
{
    const rlf_node_place *place =
        piece->node ? &plan->place[piece->node->id] : NULL;
    rlf_measured_piece other = *piece;
    rlf_measured_said also;
    *out = (rlf_measured_said){0};
    if (!speeds->profiles || !speeds->profiles[piece->rank])
        return false;
    if (piece->kind == RLF_MEASURED_WEIGHTS)
        return by_line(speeds, plan, piece, out) ||
               by_half(speeds, plan, piece, out);
    if (!by_line(speeds, plan, piece, out))
        return false;
    if (piece->chunk && place && place->layout.chunks > 1)
        out->seconds /= place->layout.chunks;
    if (piece->kind != RLF_MEASURED_BACKWARD)
        return true;
    other.kind = RLF_MEASURED_WEIGHTS;
    if (place->owed && !by_line(speeds, plan, &other, &also))
        by_half(speeds, plan, piece, out);
    other.kind = RLF_MEASURED_FORWARD;
    if (place->recompute && by_line(speeds, plan, &other, &also)) {
        out->seconds += also.seconds;
        out->exact = false;
    }
    return true;
}

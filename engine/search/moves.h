/* Seconds in which a model's weights go from one layout to another, for whoever
 * asks for them of many pairs of layouts.
 *
 * They are those of the plan's transfers (../plan/realloc.h) by the rules of a
 * simulation (../timing/transfers.h), but not each tensor of each layer is
 * routed. Layers that the same stages have on both sides are a stretch: a few
 * of them are routed, and the others take as long as the last of these. Of
 * machines that are alike one is looked at, and of a chain of them a few. Each
 * stretch like one that was looked at, of whatever pair of layouts, takes what
 * that did. tests/unit/search_moves.c compares both. */
#ifndef RLF_SEARCH_MOVES_H
#define RLF_SEARCH_MOVES_H

#include "engine/plan/realloc.h"
#include "engine/timing/seconds.h"

typedef struct rlf_moves rlf_moves;

/* Makes the moves of a cluster; `links`: those by which a plan chooses
 * topologies, NULL: those of the cluster. All that is remembered is in `arena`;
 * `speeds` must live as long. */
rlf_moves *rlf_moves_new(const rlf_speeds *speeds, const rlf_links *links,
                         rlf_arena *arena);
/* The links, which live as long. */
const rlf_links *rlf_moves_links(const rlf_moves *moves);
/* The number of a model with these shapes, whose matrices go `element` bytes a
 * number where they go by layer: models that are alike have one. */
int rlf_moves_model(rlf_moves *moves, const rlf_shapes *shapes, int element);

/* Layouts of a move: ranks that follow one another, `from` without an order.
 * Cut into fewer parts on the same ranks, `to` is regrouped
 * (rlf_weight_copies_regroup). */
typedef struct rlf_moves_ask {
    int model;     /* the number of the model, from rlf_moves_model */
    bool by_layer; /* weights go layer by layer; else all is sent at once, in
                      f32 */
    rlf_layout from, to;
} rlf_moves_ask;

double rlf_moves_seconds(rlf_moves *moves, const rlf_moves_ask *ask);

#endif

/* Graphs as pictures: a program's flow for a page of a paper or a report.
 *
 * fold.c chooses what is shown: fields of sets and numbers known before the
 * step have no box, the body of a loop or a branch is a frame with boxes of its
 * own, what only metrics want is one box. layers.c says where boxes are, svg.c
 * writes them. */
#ifndef RLF_DRAW_DRAW_H
#define RLF_DRAW_DRAW_H

#include "engine/graph/graph.h"

/* Appends the picture of a graph as an SVG document. The same graph gives the
 * same bytes. */
void rlf_draw_svg(const rlf_graph *graph, rlf_buf *out);

#endif

/* The line of a printed plan that says which program, and how many ranks, it is
 * a plan of:
 *
 *     # plan DIGEST, program DIGEST, shape DIGEST, ranks N, file NAME
 *
 * The shape is what of the program a plan depends on (rlf_graph_shape).
 * A plan that somebody writes need not have it. */
#ifndef RLF_GRAMMAR_ORIGIN_H
#define RLF_GRAMMAR_ORIGIN_H

#include "engine/base/digest.h"
#include "engine/base/source.h"

typedef struct rlf_plan_origin {
    char program[RLF_DIGEST_TEXT], shape[RLF_DIGEST_TEXT];
    int ranks;
    char file[128]; /* the program's name, cut to what fits */
    rlf_span span;  /* the place of the line */
} rlf_plan_origin;

/* The first such line of source number `source`; false: there is none. */
bool rlf_plan_origin_find(const rlf_sources *sources, uint32_t source,
                          rlf_plan_origin *out);

#endif

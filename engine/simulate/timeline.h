/* The timeline of each rank of a simulated run: collected span by span, then a
 * picture in text, in SVG, or events for a viewer of traces. */
#ifndef RLF_SIMULATE_TIMELINE_H
#define RLF_SIMULATE_TIMELINE_H

#include "engine/base/trace.h"
#include "engine/base/vec.h"
#include "engine/simulate/simulate.h"

typedef struct rlf_timeline {
    int ranks;
    RLF_VEC(rlf_span_spent) spans; /* spans, in the order in which they end */
    /* Further texts about it, where they are there: */
    const char *title;
    const char *const *names; /* per node; NULL: those of their classes */
    const double *ends;       /* the ends of steps 1, 2, ... */
    uint32_t steps;
} rlf_timeline;

/* As rlf_simulate_options.see, with a rlf_timeline as `self`. */
void rlf_timeline_see(void *timeline, const rlf_span_spent *span);
void rlf_timeline_free(rlf_timeline *timeline);

/* A line for each rank, `columns` wide, of what it does most in each part of
 * the time: a letter of rlf_timeline_letters, or a dot where it is idle. */
extern const char rlf_timeline_letters[RLF_SPENTS + 1];
void rlf_timeline_text(const rlf_timeline *timeline, double from, double to,
                       int columns, rlf_buf *out);
/* A whole SVG document: a bar for each rank, or for all that do the same to the
 * width of a pixel (timeline_groups.h), with what is told of a span where the
 * pointer is (of what waits for others the lower part is pale), where steps
 * end, a scale of seconds from `from` on, and what colours mean. */
void rlf_timeline_svg(const rlf_timeline *timeline, double from, double to,
                      rlf_buf *out);
/* Spans of all ranks, in lanes of the trace, and steps, in one of rank 0; a
 * simulated second is one there. The trace's start is time 0. */
void rlf_timeline_trace(const rlf_timeline *timeline, uint64_t start,
                        rlf_trace *trace);

#endif

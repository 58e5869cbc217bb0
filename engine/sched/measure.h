/* Measuring what a rank does: the clock, and handing a piece of work to who
 * wants to see it (engine/graph/measure.h). */
#ifndef RLF_SCHED_MEASURE_H
#define RLF_SCHED_MEASURE_H

#include "engine/graph/measure.h"
#include "engine/graph/run.h"

/* The clock of what is measured: of a device that works by itself, once that
 * has done what was started. 0 where nothing is measured. */
uint64_t rlf_measure_clock(const rlf_env *env);
/* See a piece that began at that clock; its seconds. */
double rlf_measure_see(const rlf_env *env, rlf_measured piece, uint64_t from);

#endif

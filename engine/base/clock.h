/* The monotonic clock, for measuring and for deadlines, and the processor time
 * of a thread or of the process; never for results. */
#ifndef RLF_BASE_CLOCK_H
#define RLF_BASE_CLOCK_H

#include <stdint.h>

/* Nanoseconds since some fixed moment of this machine. */
uint64_t rlf_clock_now(void);
/* Seconds from `from` to now. */
double rlf_clock_since(uint64_t from);
/* Nanoseconds of processor time that the calling thread has taken. */
uint64_t rlf_clock_busy(void);
/* The same of all threads of this process together. */
uint64_t rlf_clock_process(void);
/* Sleep at least that long, also if a signal comes between. */
void rlf_clock_sleep(uint64_t ns);

#endif

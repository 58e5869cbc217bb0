/* What the cores at hand can do: the limits that benchmarks of the CPU set
 * their times beside. */
#ifndef RLF_BENCH_PEAKS_H
#define RLF_BENCH_PEAKS_H

#include "kernels/kernels.h"

/* Blocks that are read: the last is beyond every cache. */
#define BENCH_BLOCKS 4

typedef struct bench_peaks {
    double flops;               /* a second: the best product in f32 */
    double library;             /* oneDNN's best, 0 without it */
    double bytes[BENCH_BLOCKS]; /* bytes of the blocks */
    double read[BENCH_BLOCKS];  /* bytes a second */
} bench_peaks;

/* With the device's threads, each measurement for so many seconds; `threads` is
 * their number. One thread is timed by its own clock. The best of products is
 * that of the library or of our own, the best of reading that of two
 * loops and a product of one row. */
void bench_peaks_measure(rlf_device *device, rlf_queue *queue, int threads,
                         double seconds, bench_peaks *out);

/* Seconds that take at least so many flops and bytes that are touched together:
 * bytes come from the smallest of the blocks that holds them. */
double bench_peaks_due(const bench_peaks *peaks, double flops, double bytes);

#endif

/* A heap in an array: what is before all others stands first.
 *
 * RLF_HEAP(type, before) defines its two functions for one type of elements,
 * ordered by bool before(const type *a, const type *b):
 *
 *   heap_rise(heap, n, x)  adds x to n elements; the array has room for it
 *   heap_sink(heap, n, x)  has x in the place of the first of n elements. So of
 *                          n elements the first is taken away by
 *                          heap_sink(heap, n - 1, heap[n - 1]) */
#ifndef RLF_BASE_HEAP_H
#define RLF_BASE_HEAP_H

#include <stddef.h>

#define RLF_HEAP(type, before)                                          \
    __attribute__((unused)) static void heap_rise(type *heap, size_t n, \
                                                  type x)               \
    {                                                                   \
        size_t up;                                                      \
        for (; n && before(&x, &heap[up = (n - 1) / 2]); n = up)        \
            heap[n] = heap[up];                                         \
        heap[n] = x;                                                    \
    }                                                                   \
    __attribute__((unused)) static void heap_sink(type *heap, size_t n, \
                                                  type x)               \
    {                                                                   \
        size_t i = 0;                                                   \
        for (size_t down; (down = 2 * i + 1) < n; i = down) {           \
            if (down + 1 < n && before(&heap[down + 1], &heap[down]))   \
                down++;                                                 \
            if (!before(&heap[down], &x))                               \
                break;                                                  \
            heap[i] = heap[down];                                       \
        }                                                               \
        heap[i] = x;                                                    \
    }

#endif

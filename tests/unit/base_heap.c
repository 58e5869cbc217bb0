/* Heaps give their elements in order, whatever came and went before. */
#include "engine/base/heap.h"

#include "tests/tap.h"

#include <stdlib.h>

static bool
before(const int *a, const int *b)
{
    return *a < *b;
}

RLF_HEAP(int, before)

static int
compare(const void *a, const void *b)
{
    const int *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

int
main(void)
{
    enum { MOST = 70 };
    bool right = true, grows = true;
    for (int n = 1; n <= MOST; n++) {
        int heap[MOST], list[MOST];
        for (int i = 0; i < n; i++) {
            list[i] = i * 37 % 41; /* some of them alike */
            heap_rise(heap, (size_t)i, list[i]);
        }
        list[0] = heap[0] + 9; /* the first changes, and all are in order */
        heap_sink(heap, (size_t)n, list[0]);
        qsort(list, (size_t)n, sizeof *list, compare);
        grows &= heap[0] == list[0];
        for (size_t k = (size_t)n; k; k--) {
            right &= heap[0] == list[(size_t)n - k];
            heap_sink(heap, k - 1, heap[k - 1]);
        }
    }
    ok(grows, "another first element");
    ok(right, "all elements in order");
    return done();
}

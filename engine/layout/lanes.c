/* Lanes: see lanes.h. */
#include "engine/layout/lanes.h"

#include "engine/base/arena.h"
#include "engine/base/heap.h"

#include <stdlib.h>

typedef struct sample {
    int64_t length, index;
} sample;

/* A lane in the heap: the lightest is on top. */
typedef struct load {
    int64_t tokens, samples;
    int lane;
} load;

static int
longest_first(const void *a, const void *b)
{
    const sample *x = a, *y = b;
    if (x->length != y->length)
        return x->length > y->length ? -1 : 1;
    return x->index < y->index ? -1 : 1;
}

static bool
lighter(const load *a, const load *b)
{
    if (a->tokens != b->tokens)
        return a->tokens < b->tokens;
    if (a->samples != b->samples)
        return a->samples < b->samples;
    return a->lane < b->lane;
}

RLF_HEAP(load, lighter)

rlf_status
rlf_lanes_deal(const int64_t *lengths, int64_t n, int lanes, rlf_err *err,
               int *lane)
{
    size_t bytes = sizeof(sample) * (size_t)(n + 1);
    sample *order = rlf_try_malloc(bytes);
    if (!order)
        return rlf_fail_memory(err, bytes, "the order of samples by length");
    load *heap = rlf_calloc((size_t)lanes, sizeof *heap);
    for (int64_t i = 0; i < n; i++)
        order[i] = (sample){lengths[i], i};
    qsort(order, (size_t)n, sizeof *order, longest_first);
    for (int i = 0; i < lanes; i++)
        heap[i].lane = i; /* ascending: a heap already */
    for (int64_t i = 0; i < n; i++) {
        lane[order[i].index] = heap[0].lane;
        heap[0].tokens += order[i].length;
        heap[0].samples++;
        heap_sink(heap, (size_t)lanes, heap[0]);
    }
    free(heap);
    free(order);
    return RLF_OK;
}

rlf_status
rlf_lanes_check(int lanes, int dp, rlf_err *err)
{
    bool power = lanes > 0 && (lanes & (lanes - 1)) == 0;
    if (dp > RLF_MOST_LANES) {
        rlf_fail(err, RLF_USER,
                 "dp is %d, and the samples of a minibatch go to at most %d "
                 "lanes, of which every data-parallel rank takes one",
                 dp, RLF_MOST_LANES);
        rlf_err_hint(err, "split the model over the other ranks: tp: or pp: "
                          "in its place row");
        return RLF_USER;
    }
    if (!power || lanes > RLF_MOST_LANES)
        return rlf_fail(err, RLF_USER,
                        "lanes is %d; it must be a power of two up to %d",
                        lanes, RLF_MOST_LANES);
    if (dp <= lanes)
        return RLF_OK;
    rlf_status status = rlf_fail(err, RLF_USER,
                                 "dp %d is more than the %d lanes of the "
                                 "model, so some ranks would have no samples",
                                 dp, lanes);
    int enough = lanes;
    while (enough < dp)
        enough *= 2;
    rlf_err_hint(err, "write dp: %d or less, or lanes: %d", lanes, enough);
    return status;
}

int
rlf_lanes_waiting(int n)
{
    int levels = 0;
    while (n >> (levels + 1))
        levels++;
    return levels;
}

/* The largest power of two below n; 1 for n = 1. */
static int
power_below(int n)
{
    int power = 1;
    while (2 * power < n)
        power *= 2;
    return power;
}

rlf_range
rlf_lanes_part(int lanes, int dp, int d)
{
    int first = 0;
    while (dp > 1) {
        int left = power_below(dp);
        lanes /= 2;
        if (d >= left)
            first += lanes;
        dp = d < left ? left : dp - left;
        d = d < left ? d : d - left;
    }
    return (rlf_range){first, first + lanes};
}

int
rlf_lanes_replicas(int dp)
{
    enum { ALL = 1 << 30 }; /* lanes: each part is far more than one */
    int power = power_below(dp + 1);
    /* the last member has the largest part */
    while (rlf_range_size(rlf_lanes_part(ALL, dp, dp - 1)) > ALL / power)
        dp--;
    return dp;
}

int64_t
rlf_lanes_rows(const int *lane, int64_t n, rlf_range lanes, int64_t *rows)
{
    int64_t count = 0;
    for (int64_t l = lanes.first; l < lanes.last; l++)
        for (int64_t i = 0; i < n; i++)
            if (lane[i] == l)
                rows[count++] = i;
    return count;
}

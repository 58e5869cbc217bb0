/* Pages of a cache for tests of paged attention. */
#ifndef RLF_TESTS_UNIT_KERNELS_PAGES_H
#define RLF_TESTS_UNIT_KERNELS_PAGES_H

#include "tests/unit/kernels_case.h"

typedef struct page_table {
    int32_t *pages; /* ld a sequence, in shuffled order */
    int32_t *slots; /* per token: where it is */
    int64_t ld;
} page_table;

/* Sequence s has lengths[s] tokens, from token offsets[s] on; pages have
 * `page`. */
TAP_FUNCTION page_table
shuffled_pages(env *e, int64_t n_seqs, int64_t ld, int64_t page,
               const int32_t *offsets, const int32_t *lengths)
{
    page_table t = {.pages = take(e, n_seqs * ld, sizeof *t.pages),
                    .slots = take(e, offsets[n_seqs], sizeof *t.slots),
                    .ld = ld};
    for (int64_t i = 0; i < n_seqs * ld; i++)
        t.pages[i] = (int32_t)i;
    for (int64_t i = n_seqs * ld - 1; i > 0; i--) {
        int64_t j = (int64_t)(uniform(e) * (double)(i + 1));
        int32_t held = t.pages[i];
        t.pages[i] = t.pages[j];
        t.pages[j] = held;
    }
    for (int64_t s = 0; s < n_seqs; s++)
        for (int64_t k = 0; k < lengths[s]; k++)
            t.slots[offsets[s] + k] =
                (int32_t)(t.pages[s * ld + k / page] * page + k % page);
    return t;
}

#endif

/* Numbers by numbers: see numbers.h. Open addressing. */
#include "grammar/numbers.h"

static size_t
slot(const rlf_numbers *n, int key)
{
    size_t mask = n->room - 1;
    size_t i = ((uint32_t)key * UINT32_C(2654435769)) & mask;
    while (n->pairs[i].key && n->pairs[i].key != key + 1)
        i = (i + 1) & mask;
    return i;
}

int
rlf_numbers_get(const rlf_numbers *n, int key, int none)
{
    if (!n->room)
        return none;
    size_t i = slot(n, key);
    return n->pairs[i].key ? n->pairs[i].value : none;
}

void
rlf_numbers_put(rlf_numbers *n, int key, int value)
{
    if (2 * n->count >= n->room) {
        rlf_numbers grown = {.arena = n->arena,
                             .room = n->room ? 2 * n->room : 16,
                             .count = n->count};
        grown.pairs =
            RLF_NEW_ARRAY(n->arena, struct rlf_number_pair, grown.room);
        for (size_t i = 0; i < n->room; i++)
            if (n->pairs[i].key)
                grown.pairs[slot(&grown, n->pairs[i].key - 1)] = n->pairs[i];
        *n = grown;
    }
    size_t i = slot(n, key);
    n->count += !n->pairs[i].key;
    n->pairs[i] = (struct rlf_number_pair){key + 1, value};
}

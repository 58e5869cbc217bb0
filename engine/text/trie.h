/* A trie of byte strings as a double array (Aoe 1989): from a node one byte
 * leads to the next one by an addition and a comparison. Built once, then
 * read-only. */
#ifndef RLF_TEXT_TRIE_H
#define RLF_TEXT_TRIE_H

#include "engine/base/arena.h"
#include "engine/base/status.h"
#include "engine/base/str.h"

#include <stdint.h>

typedef struct rlf_trie_node {
    uint32_t base;  /* the next by byte b is base + b, ... */
    uint32_t above; /* ... if this says so: the node before it */
    uint32_t value; /* UINT32_MAX: no string ends here */
} rlf_trie_node;

typedef struct rlf_trie {
    rlf_trie_node *nodes; /* the first is the root */
    uint32_t n_nodes;
} rlf_trie;

/* The values are the indices of `strings`; of equal ones the last counts. Those
 * that are empty or have p NULL are left out. */
rlf_status rlf_trie_build(rlf_trie *trie, rlf_arena *arena,
                          const rlf_str *strings, uint32_t n, rlf_err *err);

/* The node that byte `b` leads to, or 0 for none. */
static inline uint32_t
rlf_trie_next(const rlf_trie *trie, uint32_t node, unsigned char b)
{
    uint32_t next = trie->nodes[node].base + b;
    return trie->nodes[next].above == node ? next : 0;
}

#endif

/* Shards. Tensor parallel numerics: what several ranks may share is cut into
 * shards, and sums over it are sums over shards added in a binary tree: ((0 +
 * 1) + (2 + 3)) + ..., an odd last one going up unchanged. A place that holds
 * some neighbours adds those; zero-filled, it is the only place and has one. */
#ifndef RLF_KERNELS_SHARDS_H
#define RLF_KERNELS_SHARDS_H

#include <stdint.h>

#define RLF_MOST_SHARDS 64

typedef struct rlf_shards {
    int of;           /* the number of shards in all; 0: 1 */
    int first, count; /* held here; count 0: all */
} rlf_shards;

/* The beginning of shard s of n things. */
static inline int64_t
rlf_shard_first(int64_t n, int of, int s)
{
    return n * s / of;
}

static inline rlf_shards
rlf_shards_of(rlf_shards s)
{
    s.of = s.of ? s.of : 1;
    s.count = s.count ? s.count : s.of;
    return s;
}

/* Returns how many of n things are held here. */
static inline int64_t
rlf_shards_held(rlf_shards s, int64_t n)
{
    s = rlf_shards_of(s);
    return rlf_shard_first(n, s.of, s.first + s.count) -
           rlf_shard_first(n, s.of, s.first);
}

/* The beginning of shard s of n things that lie in `pieces`, which divide `of`
 * or are as many or more, or 0. A piece of several shards is the first one's.
 */
static inline int64_t
rlf_piece_first(int64_t n, int pieces, int of, int s)
{
    int each = pieces ? of / pieces : 0;
    return each > 1 ? n * ((s + each - 1) / each) / pieces
                    : rlf_shard_first(n, of, s);
}

/* Returns how many of n things in so many pieces are held here. */
static inline int64_t
rlf_pieces_held(rlf_shards s, int64_t n, int pieces)
{
    s = rlf_shards_of(s);
    return rlf_piece_first(n, pieces, s.of, s.first + s.count) -
           rlf_piece_first(n, pieces, s.of, s.first);
}

#endif

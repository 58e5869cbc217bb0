/* A trie as a double array: see trie.h. */
#include "engine/text/trie.h"

#include "engine/base/vec.h"

enum { TRIES = 64, BYTES = 256 };

/* Strings sorted, of which the node `node` has list[from..to), all equal in
 * their first `depth` bytes. */
typedef struct part {
    uint32_t node, from, to;
    size_t depth;
} part;

typedef struct builder {
    const rlf_str *strings;
    uint32_t *list;
    size_t count;
    RLF_VEC(rlf_trie_node) nodes;
    RLF_VEC(part) parts;
    size_t free; /* all nodes before it are taken, */
    size_t top;  /* and none from here on */
} builder;

static const char what[] = "the vocabulary of a tokenizer";

/* `above` of a free node: no node at all. */
static const uint32_t nobody = UINT32_MAX;

static int
compare(const void *a, const void *b, const rlf_str *strings)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    const rlf_str *s = &strings[x], *t = &strings[y];
    int order = memcmp(s->p, t->p, s->n < t->n ? s->n : t->n);
    if (order)
        return order;
    return s->n != t->n ? (s->n < t->n ? -1 : 1) : x < y ? -1 : x > y;
}

/* Merge sort: the standard library's qsort has no argument for the strings. */
static void
sort(const builder *b, uint32_t *list, uint32_t *spare, size_t n)
{
    if (n < 2)
        return;
    size_t half = n / 2, i = 0, k = half;
    sort(b, list, spare, half);
    sort(b, list + half, spare, n - half);
    for (size_t at = 0; at < n; at++)
        spare[at] =
            k == n || (i < half && compare(&list[i], &list[k], b->strings) <= 0)
                ? list[i++]
                : list[k++];
    memcpy(list, spare, n * sizeof *list);
}

static rlf_status
widen(builder *b, size_t n, rlf_err *err)
{
    if (n <= b->nodes.count)
        return RLF_OK;
    RLF_TRY_ROOM(&b->nodes, n - b->nodes.count, what);
    while (b->nodes.count < n)
        RLF_PUSH(&b->nodes, (rlf_trie_node){0, nobody, UINT32_MAX});
    return RLF_OK;
}

/* A base for these bytes such that all their nodes are free. */
static rlf_status
find_base(builder *b, const unsigned char *bytes, size_t n, rlf_err *err,
          uint32_t *out)
{
    size_t tries = 0;
    while (b->free < b->nodes.count && b->nodes.data[b->free].above != nobody)
        b->free++;
    for (size_t at = b->free;; at++) {
        if (tries++ >= TRIES && at < b->top)
            at = b->top;
        RLF_TRY(widen(b, at + BYTES + 1, err));
        if (at < (size_t)bytes[0] + 1 || b->nodes.data[at].above != nobody)
            continue;
        size_t base = at - bytes[0], i = 1;
        while (i < n && b->nodes.data[base + bytes[i]].above == nobody)
            i++;
        if (i < n)
            continue;
        *out = (uint32_t)base;
        return base < UINT32_MAX / 2
                   ? RLF_OK
                   : rlf_fail(err, RLF_USER, "a vocabulary is too large");
    }
}

/* The nodes below one. */
static rlf_status
add_below(builder *b, part p, rlf_err *err)
{
    unsigned char bytes[BYTES];
    size_t n = 0;
    while (p.from < p.to && b->strings[b->list[p.from]].n == p.depth)
        b->nodes.data[p.node].value = b->list[p.from++];
    for (uint32_t i = p.from; i < p.to; i++) {
        unsigned char c = (unsigned char)b->strings[b->list[i]].p[p.depth];
        if (!n || bytes[n - 1] != c)
            bytes[n++] = c;
    }
    if (!n)
        return RLF_OK;
    uint32_t base = 0, from = p.from;
    RLF_TRY(find_base(b, bytes, n, err, &base));
    RLF_TRY_ROOM(&b->parts, n, what);
    b->nodes.data[p.node].base = base;
    for (size_t i = 0; i < n; i++) {
        uint32_t to = from;
        while (to < p.to &&
               (unsigned char)b->strings[b->list[to]].p[p.depth] == bytes[i])
            to++;
        b->nodes.data[base + bytes[i]].above = p.node;
        if (b->top <= base + bytes[i])
            b->top = (size_t)base + bytes[i] + 1;
        RLF_PUSH(&b->parts, (part){base + bytes[i], from, to, p.depth + 1});
        from = to;
    }
    return RLF_OK;
}

static rlf_status
build(builder *b, uint32_t n, uint32_t *spare, rlf_err *err)
{
    for (uint32_t i = 0; i < n; i++)
        if (b->strings[i].p && b->strings[i].n)
            b->list[b->count++] = i;
    sort(b, b->list, spare, b->count);
    RLF_TRY(widen(b, BYTES + 1, err));
    b->nodes.data[0].above = 0; /* taken, and below nobody */
    b->free = b->top = 1;
    RLF_PUSH(&b->parts, (part){0, 0, (uint32_t)b->count, 0});
    while (b->parts.count)
        RLF_TRY(add_below(b, b->parts.data[--b->parts.count], err));
    /* every byte leads to a node that is there */
    return widen(b, b->nodes.count + BYTES, err);
}

rlf_status
rlf_trie_build(rlf_trie *trie, rlf_arena *arena, const rlf_str *strings,
               uint32_t n, rlf_err *err)
{
    builder b = {.strings = strings};
    uint32_t *spare = rlf_try_malloc(n * sizeof *spare);
    b.list = rlf_try_malloc(n * sizeof *b.list);
    rlf_status status = RLF_OK;
    if (!spare || !b.list) {
        status = rlf_fail_memory(err, n * sizeof *spare, "%s", what);
        goto end;
    }
    RLF_TRY_GOTO(build(&b, n, spare, err), end);
    trie->n_nodes = (uint32_t)b.nodes.count;
    RLF_TRY_GOTO(rlf_arena_try(arena, b.nodes.count * sizeof *trie->nodes, what,
                               err, &trie->nodes),
                 end);
    memcpy(trie->nodes, b.nodes.data, b.nodes.count * sizeof *trie->nodes);
end:
    free(spare);
    free(b.list);
    RLF_VEC_FREE(&b.nodes);
    RLF_VEC_FREE(&b.parts);
    return status;
}

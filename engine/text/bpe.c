/* Byte pair encoding: see bpe.h. */
#include "engine/text/bpe.h"

#include "engine/base/hash.h"
#include "engine/base/heap.h"
#include "engine/text/utf8.h"

struct rlf_bpe_symbol {
    uint32_t id;             /* RLF_NO_ID: merged into its left neighbour */
    uint32_t previous, next; /* RLF_NO_ID: none */
};

struct rlf_bpe_candidate {
    uint32_t rank, at; /* the merge of symbol `at` with its right neighbour */
    uint32_t id;       /* gives this token */
};

static rlf_merge *
find_merge(const rlf_bpe *bpe, uint32_t left, uint32_t right)
{
    uint64_t key = (uint64_t)left << 32 | right;
    size_t i = rlf_hash_mix(key) & (bpe->n_merge_slots - 1);
    while (bpe->merges[i].left != RLF_NO_ID &&
           (bpe->merges[i].left != left || bpe->merges[i].right != right))
        i = (i + 1) & (bpe->n_merge_slots - 1);
    return &bpe->merges[i];
}

rlf_status
rlf_bpe_init(rlf_bpe *bpe, rlf_arena *arena, const rlf_vocabulary *vocabulary,
             size_t n_merges, rlf_err *err)
{
    *bpe = (rlf_bpe){.vocabulary = vocabulary,
                     .n_merge_slots = rlf_vocabulary_slots(n_merges),
                     .unk = RLF_NO_ID};
    RLF_TRY(rlf_arena_try(arena, bpe->n_merge_slots * sizeof *bpe->merges,
                          "the merges of a tokenizer", err, &bpe->merges));
    memset(bpe->merges, 0xff, bpe->n_merge_slots * sizeof *bpe->merges);
    memset(bpe->byte_ids, 0xff, sizeof bpe->byte_ids);
    return RLF_OK;
}

void
rlf_bpe_add_merge(rlf_bpe *bpe, rlf_merge merge)
{
    *find_merge(bpe, merge.left, merge.right) = merge;
}

/* --- parts of a word --- */

/* Of a space, in the tokens of sentencepiece's models: U+2581. */
static const char sign[] = "\xe2\x96\x81";
enum { SIGN = sizeof sign - 1 };

/* No merge goes across a sign that stands behind a byte if none makes a token
 * that has both. What stands for other text, as <0xHH> and the unknown token
 * do, must not be joined to a sign at all. */
void
rlf_bpe_find_cuts(rlf_bpe *bpe)
{
    const rlf_str *tokens = bpe->vocabulary->tokens;
    memset(bpe->joined, 0, sizeof bpe->joined);
    for (size_t i = 0; i < bpe->n_merge_slots; i++) {
        if (bpe->merges[i].left == RLF_NO_ID)
            continue;
        rlf_str token = tokens[bpe->merges[i].id];
        for (size_t k = 1; k + SIGN <= token.n; k++)
            if (memcmp(token.p + k, sign, SIGN) == 0)
                bpe->joined[(unsigned char)token.p[k - 1]] = true;
    }
    rlf_str unk = bpe->unk == RLF_NO_ID ? RLF_STR(">") : tokens[bpe->unk];
    bpe->cuts = !bpe->byte_level && !bpe->ignore_merges && !bpe->prefix.n &&
                !bpe->suffix.n && !bpe->joined['>'] && unk.n &&
                !bpe->joined[(unsigned char)unk.p[unk.n - 1]] &&
                rlf_vocabulary_find(bpe->vocabulary, sign, SIGN) != RLF_NO_ID;
}

size_t
rlf_bpe_cut(const rlf_bpe *bpe, const char *p, size_t n)
{
    for (size_t i = 1; bpe->cuts && i < n; i++) {
        const char *at = memchr(p + i, sign[0], n - i);
        if (!at)
            break;
        i = (size_t)(at - p);
        if (i + SIGN <= n && memcmp(at, sign, SIGN) == 0 &&
            !bpe->joined[(unsigned char)p[i - 1]])
            return i;
    }
    return n;
}

void
rlf_bpe_work_free(rlf_bpe_work *work)
{
    RLF_VEC_FREE(&work->symbols);
    RLF_VEC_FREE(&work->heap);
    rlf_buf_free(&work->spelled);
}

/* --- characters to symbols --- */

static void
add_symbol(rlf_bpe_work *work, uint32_t id)
{
    uint32_t at = (uint32_t)work->symbols.count;
    struct rlf_bpe_symbol symbol = {id, at ? at - 1 : RLF_NO_ID, at + 1};
    RLF_PUSH(&work->symbols, symbol);
}

static bool
add_fallback(const rlf_bpe *bpe, rlf_bpe_work *work, const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (bpe->byte_ids[(unsigned char)p[i]] == RLF_NO_ID)
            return false;
    for (size_t i = 0; i < n; i++)
        add_symbol(work, bpe->byte_ids[(unsigned char)p[i]]);
    return true;
}

static rlf_status
fail_unknown(const rlf_bpe *bpe, const char *p, rlf_err *err)
{
    if (bpe->byte_level)
        rlf_fail(err, RLF_USER,
                 "the byte 0x%02x is not in the tokenizer's vocabulary, which "
                 "has no unknown token",
                 (unsigned char)*p);
    else
        rlf_fail(err, RLF_USER,
                 "the character U+%04X is not in the tokenizer's vocabulary, "
                 "which has no unknown token",
                 rlf_utf8_code(p));
    if (bpe->built)
        rlf_err_hint(err,
                     "transformers leaves it out of the text, since its class "
                     "%s builds a model without one: leave such rows out",
                     bpe->built);
    else
        rlf_err_hint(err,
                     "leave such rows out, or give the tokenizer an unk_token");
    return RLF_USER;
}

/* The symbol p[i..i+k) of a word of n bytes, with what is written around it. */
static rlf_str
spell(const rlf_bpe *bpe, rlf_bpe_work *work, const char *p, size_t n, size_t i,
      size_t k)
{
    bool inside = i > 0 && bpe->prefix.n, last = i + k == n && bpe->suffix.n;
    if (!inside && !last)
        return (rlf_str){p + i, k};
    rlf_buf_clear(&work->spelled);
    if (inside)
        rlf_buf_add(&work->spelled, bpe->prefix.p, bpe->prefix.n);
    rlf_buf_add(&work->spelled, p + i, k);
    if (last)
        rlf_buf_add(&work->spelled, bpe->suffix.p, bpe->suffix.n);
    return (rlf_str){work->spelled.p, work->spelled.n};
}

static uint32_t
find_symbol(const rlf_bpe *bpe, rlf_str symbol)
{
    if (bpe->byte_level && symbol.n == 1)
        return bpe->byte_ids[(unsigned char)symbol.p[0]];
    return rlf_vocabulary_find(bpe->vocabulary, symbol.p, symbol.n);
}

/* An unknown token waits for the next symbol of the vocabulary: bytes that come
 * between stand before it, as the reference has them. */
static rlf_status
add_symbols(const rlf_bpe *bpe, rlf_bpe_work *work, const char *p, size_t n,
            rlf_err *err)
{
    bool waits = false;
    for (size_t i = 0, k; i < n; i += k) {
        k = bpe->byte_level ? 1 : (size_t)rlf_utf8_unit(p + i, n - i);
        rlf_str symbol = spell(bpe, work, p, n, i, k);
        uint32_t id = find_symbol(bpe, symbol);
        if (id != RLF_NO_ID) {
            if (waits)
                add_symbol(work, bpe->unk);
            add_symbol(work, id);
            waits = false;
        } else if (bpe->byte_fallback &&
                   add_fallback(bpe, work, symbol.p, symbol.n)) {
            continue;
        } else if (bpe->unk == RLF_NO_ID) {
            return fail_unknown(bpe, p + i, err);
        } else {
            if (waits && !bpe->fuse_unk)
                add_symbol(work, bpe->unk);
            waits = true;
        }
    }
    if (waits)
        add_symbol(work, bpe->unk);
    if (work->symbols.count)
        work->symbols.data[work->symbols.count - 1].next = RLF_NO_ID;
    return RLF_OK;
}

/* --- merging --- */

static const char too_long[] = "the symbols of a text";

static bool
before(const struct rlf_bpe_candidate *a, const struct rlf_bpe_candidate *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->at < b->at;
}

RLF_HEAP(struct rlf_bpe_candidate, before)

/* Offer the merge of symbol `at` with its right neighbour, if there is one. */
static void
offer(const rlf_bpe *bpe, rlf_bpe_work *work, uint32_t at)
{
    const struct rlf_bpe_symbol *symbol = &work->symbols.data[at];
    if (symbol->next == RLF_NO_ID)
        return;
    const rlf_merge *merge =
        find_merge(bpe, symbol->id, work->symbols.data[symbol->next].id);
    if (merge->left == RLF_NO_ID)
        return;
    struct rlf_bpe_candidate new = {merge->rank, at, merge->id};
    RLF_PUSH(&work->heap, new);
    heap_rise(work->heap.data, work->heap.count - 1, new);
}

static struct rlf_bpe_candidate
take(rlf_bpe_work *work)
{
    struct rlf_bpe_candidate *heap = work->heap.data, top = heap[0];
    size_t n = --work->heap.count;
    heap_sink(heap, n, heap[n]);
    return top;
}

static rlf_status
merge_all(const rlf_bpe *bpe, rlf_bpe_work *work, rlf_err *err)
{
    struct rlf_bpe_symbol *symbols = work->symbols.data;
    work->heap.count = 0;
    RLF_TRY_ROOM(&work->heap, work->symbols.count, too_long);
    for (uint32_t i = 0; i < work->symbols.count; i++)
        offer(bpe, work, i);
    while (work->heap.count) {
        struct rlf_bpe_candidate top = take(work);
        struct rlf_bpe_symbol *left = &symbols[top.at];
        if (left->id == RLF_NO_ID || left->next == RLF_NO_ID)
            continue;
        struct rlf_bpe_symbol *right = &symbols[left->next];
        /* An offer is stale once its symbols changed. As the reference does,
         * it still counts if the new pair gives the same token. */
        const rlf_merge *merge = find_merge(bpe, left->id, right->id);
        if (merge->left == RLF_NO_ID || merge->id != top.id)
            continue;
        left->id = top.id;
        left->next = right->next;
        right->id = RLF_NO_ID;
        if (left->next != RLF_NO_ID)
            symbols[left->next].previous = top.at;
        RLF_TRY_ROOM(&work->heap, 2, too_long);
        if (left->previous != RLF_NO_ID)
            offer(bpe, work, left->previous);
        offer(bpe, work, top.at);
    }
    return RLF_OK;
}

rlf_status
rlf_bpe_encode(const rlf_bpe *bpe, rlf_bpe_work *work, const char *p, size_t n,
               rlf_err *err, rlf_ids *out)
{
    if (bpe->ignore_merges) {
        uint32_t id = rlf_vocabulary_find(bpe->vocabulary, p, n);
        if (id != RLF_NO_ID) {
            RLF_TRY_ROOM(out, 1, too_long);
            RLF_PUSH(out, id);
            return RLF_OK;
        }
    }
    if (n >= RLF_NO_ID / (1 + bpe->prefix.n + bpe->suffix.n))
        return rlf_fail(err, RLF_USER,
                        "a text of %zu bytes is too long to tokenize", n);
    work->symbols.count = 0;
    RLF_TRY_ROOM(&work->symbols, n * (1 + bpe->prefix.n) + bpe->suffix.n,
                 too_long);
    RLF_TRY(add_symbols(bpe, work, p, n, err));
    RLF_TRY(merge_all(bpe, work, err));
    RLF_TRY_ROOM(out, work->symbols.count, too_long);
    for (uint32_t i = 0; i < work->symbols.count; i++)
        if (work->symbols.data[i].id != RLF_NO_ID)
            RLF_PUSH(out, work->symbols.data[i].id);
    return RLF_OK;
}

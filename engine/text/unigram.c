/* Unigram models: see unigram.h. */
#include "engine/text/unigram.h"

#include "engine/text/utf8.h"

/* The best path to a byte: the tokens of the largest score that write all
 * before it. */
struct rlf_unigram_path {
    double score;
    uint32_t id;   /* its last token */
    uint32_t from; /* where that begins; NOWHERE: there is no path yet */
};

static const uint32_t NOWHERE = UINT32_MAX;
static const char too_long[] = "the tokens of a text";

void
rlf_unigram_work_free(rlf_unigram_work *work)
{
    RLF_VEC_FREE(&work->paths);
    RLF_VEC_FREE(&work->ids);
}

static bool
improve(struct rlf_unigram_path *path, double score, uint32_t from)
{
    if (path->from != NOWHERE && !(score > path->score))
        return false;
    path->score = score;
    path->from = from;
    return true;
}

static rlf_status
fail_unknown(const rlf_unigram *u, const char *p, rlf_err *err)
{
    rlf_fail(err, RLF_USER,
             u->bytes ? "the byte 0x%02x is not in the tokenizer's vocabulary, "
                        "which has no unknown token"
                      : "the character U+%04X is not in the tokenizer's "
                        "vocabulary, which has no unknown token",
             u->bytes ? (unsigned char)*p : rlf_utf8_code(p));
    rlf_err_hint(err, "leave such rows out, or give the tokenizer an unk_id");
    return RLF_USER;
}

/* All paths, from left to right. */
static rlf_status
find_paths(const rlf_unigram *u, struct rlf_unigram_path *paths, const char *p,
           size_t n, rlf_err *err)
{
    const rlf_trie_node *nodes = u->trie.nodes;
    for (size_t i = 0, k; i < n; i += k) {
        double score = paths[i].score;
        bool alone = false; /* the character is a token */
        k = u->bytes ? 1 : (size_t)rlf_utf8_unit(p + i, n - i);
        uint32_t node = 0;
        for (size_t to = i; to < n;) {
            node = rlf_trie_next(&u->trie, node, (unsigned char)p[to++]);
            if (!node)
                break;
            uint32_t id = nodes[node].value;
            if (id == UINT32_MAX)
                continue;
            if (improve(&paths[to], u->scores[id] + score, (uint32_t)i))
                paths[to].id = id;
            alone |= to - i == k;
        }
        if (alone || !improve(&paths[i + k], u->unknown + score, (uint32_t)i))
            continue;
        if (u->unk == RLF_NO_ID)
            return fail_unknown(u, p + i, err);
        paths[i + k].id = u->unk;
    }
    return RLF_OK;
}

/* The ids, last first, of a stretch of unknown characters. */
static rlf_status
add_unknown(const rlf_unigram *u, const char *p, size_t n, rlf_ids *ids,
            rlf_err *err)
{
    uint32_t id = rlf_vocabulary_find(u->vocabulary, p, n);
    bool all = id == RLF_NO_ID && u->byte_fallback;
    for (size_t i = 0; i < n && all; i++)
        all = u->byte_ids[(unsigned char)p[i]] != RLF_NO_ID;
    if (!all) {
        RLF_TRY_ROOM(ids, 1, too_long);
        RLF_PUSH(ids, id == RLF_NO_ID ? u->unk : id);
        return RLF_OK;
    }
    RLF_TRY_ROOM(ids, n, too_long);
    for (size_t i = n; i > 0; i--)
        RLF_PUSH(ids, u->byte_ids[(unsigned char)p[i - 1]]);
    return RLF_OK;
}

rlf_status
rlf_unigram_encode(const rlf_unigram *u, rlf_unigram_work *work, const char *p,
                   size_t n, rlf_err *err, rlf_ids *out)
{
    rlf_ids *ids = &work->ids;
    if (n >= NOWHERE)
        return rlf_fail(err, RLF_USER,
                        "a text of %zu bytes is too long to tokenize", n);
    work->paths.count = ids->count = 0;
    RLF_TRY_ROOM(&work->paths, n + 1, too_long);
    struct rlf_unigram_path *paths = work->paths.data;
    for (size_t i = 0; i <= n; i++)
        paths[i] = (struct rlf_unigram_path){0, 0, NOWHERE};
    RLF_TRY(find_paths(u, paths, p, n, err));
    size_t end = 0; /* of the stretch of unknown characters; 0: none */
    for (size_t at = n; at > 0; at = paths[at].from) {
        bool unknown = u->unk != RLF_NO_ID && paths[at].id == u->unk;
        if (unknown && !end)
            end = at;
        if (!unknown && end) {
            RLF_TRY(add_unknown(u, p + at, end - at, ids, err));
            end = 0;
        }
        if (unknown)
            continue;
        RLF_TRY_ROOM(ids, 1, too_long);
        RLF_PUSH(ids, paths[at].id);
    }
    if (end)
        RLF_TRY(add_unknown(u, p, end, ids, err));
    RLF_TRY_ROOM(out, ids->count, too_long);
    for (size_t i = ids->count; i > 0; i--)
        RLF_PUSH(out, ids->data[i - 1]);
    return RLF_OK;
}

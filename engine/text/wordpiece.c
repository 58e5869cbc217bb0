/* WordPiece models: see wordpiece.h. */
#include "engine/text/wordpiece.h"

#include "engine/text/utf8.h"

static const char too_long[] = "the tokens of a text";

static bool
is_too_long(const rlf_wordpiece *w, const char *p, size_t n)
{
    size_t count = 0;
    if (w->bytes)
        return n > w->most;
    for (size_t i = 0; i < n; i++)
        count += ((unsigned char)p[i] & 0xc0) != 0x80;
    return count > w->most;
}

/* The longest token that p[from..n) begins with, and where it ends. */
static uint32_t
longest_at(const rlf_wordpiece *w, rlf_buf *spelled, const char *p, size_t n,
           size_t from, size_t *to)
{
    size_t before = from ? w->prefix.n : 0;
    rlf_buf_clear(spelled);
    rlf_buf_add(spelled, before ? w->prefix.p : "", before);
    rlf_buf_add(spelled, p + from, n - from);
    for (size_t end = n; end > from;) {
        size_t length = before + end - from;
        uint32_t id =
            length > w->longest
                ? RLF_NO_ID
                : rlf_vocabulary_find(w->vocabulary, spelled->p, length);
        if (id != RLF_NO_ID) {
            *to = end;
            return id;
        }
        end -= w->bytes ? 1 : rlf_utf8_before(p, end);
    }
    return RLF_NO_ID;
}

rlf_status
rlf_wordpiece_encode(const rlf_wordpiece *w, rlf_buf *spelled, const char *p,
                     size_t n, rlf_err *err, rlf_ids *out)
{
    size_t first = out->count, at = 0;
    uint32_t all =
        w->whole ? rlf_vocabulary_find(w->vocabulary, p, n) : RLF_NO_ID;
    bool known = !w->whole && !is_too_long(w, p, n);
    if (all != RLF_NO_ID) {
        RLF_TRY_ROOM(out, 1, too_long);
        RLF_PUSH(out, all);
        return RLF_OK;
    }
    if (known && !rlf_buf_try(spelled, n + w->prefix.n))
        return rlf_fail_memory(err, n, "%s", too_long);
    while (known && at < n) {
        uint32_t id = longest_at(w, spelled, p, n, at, &at);
        known = id != RLF_NO_ID;
        if (!known)
            break;
        RLF_TRY_ROOM(out, 1, too_long);
        RLF_PUSH(out, id);
    }
    if (known)
        return RLF_OK;
    out->count = first;
    if (w->unk == RLF_NO_ID) {
        rlf_str word = {p, n};
        rlf_fail(err, RLF_USER,
                 "the word \"%.*s\" cannot be written by the tokenizer's "
                 "vocabulary, which has no unknown token",
                 w->bytes ? 0 : (int)rlf_str_cut(word, 60), p);
        rlf_err_hint(err, "leave such rows out, or give the tokenizer an "
                          "unk_token");
        return RLF_USER;
    }
    RLF_TRY_ROOM(out, 1, too_long);
    RLF_PUSH(out, w->unk);
    return RLF_OK;
}

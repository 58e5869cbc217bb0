/* Ids to text, one at a time: see detokenizer.h. Decoding a whole list is the
 * same, so both agree by construction. */
#define _GNU_SOURCE /* memmem */
#include "engine/text/detokenizer.h"

#include <string.h>

#include "engine/text/inside.h"
#include "engine/text/utf8.h"

void
rlf_detokenizer_begin(rlf_detokenizer *state, const rlf_tokenizer *tokenizer,
                      unsigned flags)
{
    *state = (rlf_detokenizer){.tokenizer = tokenizer, .flags = flags};
    if (flags & RLF_DECODE_CONTINUE)
        state->begun = true;
    else
        state->strip = tokenizer->decoder.strip_most;
}

/* Bytes of the text, in order; what is not UTF-8 becomes U+FFFD. */
static void
put_bytes(rlf_detokenizer *state, const char *p, size_t n, rlf_buf *out)
{
    char strip = state->tokenizer->decoder.strip;
    for (; state->strip && n; state->strip--, p++, n--)
        if (*p != strip) {
            state->strip = 0;
            break;
        }
    /* Complete what is held, byte by byte. */
    while (state->n_held && n) {
        state->held[state->n_held++] = *p++;
        n--;
        int k = rlf_utf8_unit(state->held, state->n_held);
        if (k == 0)
            continue;
        if (k > 0) {
            rlf_buf_add(out, state->held, (size_t)k);
        } else { /* the last byte does not belong to it: read it again */
            rlf_buf_puts(out, RLF_UTF8_BAD);
            p--;
            n++;
        }
        state->n_held = 0;
    }
    size_t i = 0;
    while (i < n) {
        int k = rlf_utf8_unit(p + i, n - i);
        if (k == 0)
            break;
        if (k > 0)
            rlf_buf_add(out, p + i, (size_t)k);
        else
            rlf_buf_puts(out, RLF_UTF8_BAD);
        i += (size_t)(k > 0 ? k : -k);
    }
    for (; i < n; i++)
        state->held[state->n_held++] = p[i];
}

/* Metaspace: in the first token the signs for a space give nothing. */
static void
put_first(rlf_detokenizer *state, rlf_str text, rlf_buf *out)
{
    rlf_str space = rlf_str_of(state->tokenizer->decoder.space);
    for (size_t i = 0; i < text.n;)
        if (text.n - i >= space.n && memcmp(text.p + i, space.p, space.n) == 0)
            i += space.n;
        else
            put_bytes(state, text.p + i++, 1, out);
}

void
rlf_detokenizer_feed(rlf_detokenizer *state, uint32_t id, rlf_buf *out)
{
    const rlf_tokenizer *t = state->tokenizer;
    if (id >= t->vocab || !t->texts[id].p)
        return;
    if ((state->flags & RLF_DECODE_SKIP_SPECIAL) &&
        rlf_tokenizer_special(t, id))
        return;
    if (t->decoder.join && state->begun)
        put_bytes(state, " ", 1, out);
    if (!state->begun && t->decoder.space && t->decoder.drop_first)
        put_first(state, t->texts[id], out);
    else
        put_bytes(state, t->pieces[id].p, t->pieces[id].n, out);
    state->begun = true;
}

void
rlf_detokenizer_end(rlf_detokenizer *state, rlf_buf *out)
{
    if (state->n_held)
        rlf_buf_puts(out, RLF_UTF8_BAD);
    state->n_held = 0;
}

/* ---- which texts there can be ---- */

/* Longer texts are not looked at. */
enum { MOST_GIVEN = 256 };

/* Do ids of which the last ends with text[0..from) go on to text[0..n)? Then
 * ends[] gets where else one of them can end. */
static bool
goes_on(const rlf_str *piece, const char *text, size_t n, size_t from,
        bool *ends)
{
    size_t left = n - from, m = piece->n < left ? piece->n : left;
    if (!m || memcmp(piece->p, text + from, m) != 0)
        return false;
    ends[from + m] = true;
    return m == left;
}

/* The same of an id within which the text begins. */
static bool
begins(const rlf_str *piece, const char *text, size_t n, bool *ends)
{
    for (size_t k = 1; k <= piece->n && k < n; k++)
        if (memcmp(piece->p + piece->n - k, text, k) == 0)
            ends[k] = true;
    return piece->n >= n && memmem(piece->p, piece->n, text, n);
}

/* Whole characters stand in what ids give as they stand in the bytes of their
 * pieces, one after another: what is not UTF-8 gives U+FFFD, which is looked
 * for in vain there. */
bool
rlf_tokenizer_gives(const rlf_tokenizer *tokenizer, const char *text, size_t n)
{
    bool ends[MOST_GIVEN + 1] = {true};
    if (!n || n > MOST_GIVEN || tokenizer->decoder.join ||
        memmem(text, n, RLF_UTF8_BAD, strlen(RLF_UTF8_BAD)))
        return true;
    for (size_t from = 0; from < n; from++)
        for (uint32_t id = 0; ends[from] && id < tokenizer->vocab; id++) {
            const rlf_str *piece = &tokenizer->pieces[id];
            if (!tokenizer->texts[id].p || rlf_tokenizer_special(tokenizer, id))
                continue;
            if (from == 0 && begins(piece, text, n, ends))
                return true;
            if (from > 0 && goes_on(piece, text, n, from, ends))
                return true;
        }
    return false;
}

void
rlf_tokenizer_decode(const rlf_tokenizer *tokenizer, const uint32_t *ids,
                     size_t n, unsigned flags, rlf_buf *out)
{
    rlf_detokenizer state;
    rlf_detokenizer_begin(&state, tokenizer, flags);
    for (size_t i = 0; i < n; i++)
        rlf_detokenizer_feed(&state, ids[i], out);
    rlf_detokenizer_end(&state, out);
    rlf_buf_add(out, "", 0); /* no ids give an empty text, not NULL */
}

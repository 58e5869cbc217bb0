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
    *state = (rlf_detokenizer){
        .tokenizer = tokenizer, .flags = flags, .waits = RLF_NO_ID};
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

/* The text of a token as decoders see it. */
static rlf_str
seen_text(const rlf_tokenizer *t, uint32_t id)
{
    const rlf_added *added = t->added_by_id[id];
    return added && added->decoded.p ? added->decoded : t->texts[id];
}

/* The rest of the token that waits, now that it is known whether it is the
 * last. */
static void
put_rest(rlf_detokenizer *state, bool last, rlf_buf *out)
{
    const rlf_tokenizer *t = state->tokenizer;
    rlf_buf piece = {0};
    unsigned where = (state->waits_first ? RLF_PIECE_FIRST : 0) |
                     (last ? RLF_PIECE_LAST : 0);
    if (state->waits == RLF_NO_ID)
        return;
    rlf_decoder_piece(&t->decoder, seen_text(t, state->waits), where, &piece);
    if (piece.n > state->n_written)
        put_bytes(state, piece.p + state->n_written, piece.n - state->n_written,
                  out);
    state->waits = RLF_NO_ID;
    rlf_buf_free(&piece);
}

/* Puts the text of a token that is the first, or may be the last: so far as
 * that is the same in both cases. */
static void
put_piece(rlf_detokenizer *state, uint32_t id, rlf_buf *out)
{
    const rlf_decoder *decoder = &state->tokenizer->decoder;
    rlf_str text = seen_text(state->tokenizer, id);
    unsigned where = state->begun ? 0 : RLF_PIECE_FIRST;
    rlf_buf piece = {0}, last = {0};
    rlf_decoder_piece(decoder, text, where, &piece);
    size_t n = piece.n;
    if (decoder->with_last) {
        rlf_decoder_piece(decoder, text, where | RLF_PIECE_LAST, &last);
        for (n = 0; n < piece.n && n < last.n && piece.p[n] == last.p[n];)
            n++;
        if (n < piece.n || n < last.n) {
            state->waits = id;
            state->waits_first = !state->begun;
            state->n_written = (uint32_t)n;
        }
    }
    if (n)
        put_bytes(state, piece.p, n, out);
    rlf_buf_free(&piece);
    rlf_buf_free(&last);
}

static void
feed(rlf_detokenizer *state, uint32_t id, rlf_buf *out)
{
    const rlf_tokenizer *t = state->tokenizer;
    if (id >= t->vocab || !t->texts[id].p)
        return;
    if ((state->flags & RLF_DECODE_SKIP_SPECIAL) &&
        rlf_tokenizer_special(t, id))
        return;
    if (t->decoder.join && state->begun)
        put_bytes(state, " ", 1, out);
    put_rest(state, false, out);
    if ((!state->begun && t->decoder.with_first) || t->decoder.with_last)
        put_piece(state, id, out);
    else
        put_bytes(state, t->pieces[id].p, t->pieces[id].n, out);
    state->begun = true;
}

static void
end(rlf_detokenizer *state, rlf_buf *out)
{
    put_rest(state, true, out);
    if (state->n_held)
        rlf_buf_puts(out, RLF_UTF8_BAD);
    state->n_held = 0;
}

void
rlf_detokenizer_feed(rlf_detokenizer *state, uint32_t id, rlf_buf *out)
{
    rlf_buf text = {0};
    feed(state, id, state->tokenizer->cleans ? &text : out);
    rlf_clean_feed(state->cleaned, text.p, text.n, out);
    rlf_buf_free(&text);
}

void
rlf_detokenizer_end(rlf_detokenizer *state, rlf_buf *out)
{
    rlf_buf text = {0};
    end(state, state->tokenizer->cleans ? &text : out);
    rlf_clean_feed(state->cleaned, text.p, text.n, out);
    rlf_clean_end(state->cleaned, out);
    rlf_buf_free(&text);
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
    if (!n || n > MOST_GIVEN || tokenizer->decoder.join || tokenizer->cleans ||
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

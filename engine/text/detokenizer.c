/* Ids to text, one at a time: see detokenizer.h. Decoding a whole list is the
 * same, so both agree by construction. */
#include "engine/text/detokenizer.h"

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

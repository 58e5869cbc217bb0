/* See prefix.h. */
#include "nodes/model/prefix.h"

#include "engine/graph/caps.h"

/* ---- which tokens ---- */

static uint32_t
token_at(const rlf_sequence *s, uint64_t i)
{
    return i < s->n_prompt ? s->prompt[i] : s->response[i - s->n_prompt];
}

/* Tokens before the first one of which something is wanted: it has rows of its
 * own, so that no two sequences want the same row. */
static uint64_t
before_wanted(const rlf_sequence *s, rlf_rows_kind rows)
{
    uint64_t end = (uint64_t)s->n_prompt + s->n_response;
    if (rows == RLF_ROWS_TOKENS && !s->runs)
        end = s->n_prompt;
    else if (rows == RLF_ROWS_TOKENS && s->n_runs)
        end = (uint64_t)s->n_prompt + s->runs[0].from;
    return end ? end - 1 : 0;
}

void
rlf_sequences_share(rlf_sequence *seqs, uint32_t n, rlf_rows_kind rows)
{
    for (uint32_t i = 0; i < n; i++) {
        rlf_sequence *s = &seqs[i];
        uint64_t most = before_wanted(s, rows), k = 0;
        s->shared = 0;
        s->follows = false;
        if (i == 0)
            continue;
        const rlf_sequence *of = s - 1;
        uint64_t length = (uint64_t)of->n_prompt + of->n_response;
        most = most < length ? most : length;
        if (s->prompt == of->prompt && s->n_prompt == of->n_prompt)
            k = most < s->n_prompt ? most : s->n_prompt;
        while (k < most && token_at(s, k) == token_at(of, k))
            k++;
        bool all = k == most || k + 1 >= s->n_prompt; /* the same prompt */
        s->shared = all || k >= RLF_PREFIX_LEAST ? (uint32_t)k : 0;
        s->follows = s->shared > 0;
    }
}

/* Tokens of sequences of their own, if the first shares its beginning, too. */
static uint64_t
tokens_of_own(const rlf_sequence *seqs, uint32_t n)
{
    uint64_t tokens = 0;
    for (uint32_t i = 0; i < n; i++)
        tokens +=
            (uint64_t)seqs[i].n_prompt + seqs[i].n_response - seqs[i].shared;
    return tokens;
}

void
rlf_sequences_share_prompts(rlf_sequence *seqs, uint32_t n, uint32_t sets,
                            const uint32_t *prompt, rlf_rows_kind rows)
{
    uint64_t used = 0;
    rlf_sequences_share(seqs, n, rows);
    for (uint32_t i = 0; i < n; i += sets) {
        rlf_sequence *s = &seqs[i];
        uint64_t tokens = tokens_of_own(s, sets);
        bool same = i && prompt[i] == prompt[i - 1];
        if (!same || used + tokens > RLF_SHARED_TOKENS) {
            tokens += s->shared;
            s->shared = 0;
        }
        s->follows = s->shared > 0;
        used = s->shared ? used + tokens : tokens;
        for (uint32_t k = 1; k < sets; k++)
            s[k].follows = true;
    }
}

/* RLF_USER: those of the first do not fit. */
static rlf_status
refuse(const rlf_pass *pass, const rlf_sequence *seqs, uint32_t n, rlf_err *err)
{
    uint64_t tokens = 0;
    uint32_t together = 0;
    do {
        const rlf_sequence *s = &seqs[together];
        tokens += (uint64_t)s->n_prompt + s->n_response;
        tokens -= together ? s->shared : 0;
    } while (++together < n && seqs[together].follows);
    return rlf_fail(err, RLF_USER,
                    "the %u samples of a prompt that share it have %llu "
                    "tokens, which do not fit into a micro-batch of %d",
                    together, (unsigned long long)tokens, pass->options.tokens);
}

rlf_status
rlf_prefix_fit(const rlf_pass *pass, const rlf_sequence *seqs, uint32_t n,
               bool whole, rlf_err *err, uint32_t *fit)
{
    uint32_t most;
    RLF_TRY(rlf_pass_fit(pass, seqs, n, err, fit));
    most = *fit;
    while (*fit > 0 && *fit < n && seqs[*fit].follows)
        --*fit;
    if (*fit > 0 || !most)
        return RLF_OK;
    *fit = most;
    return whole ? refuse(pass, seqs, n, err) : RLF_OK;
}

/* ---- what it costs ---- */

/* Tokens of so many samples of a prompt, at least one. */
static uint64_t
tokens_of(const rlf_prefix_load *l, uint64_t samples)
{
    return l->length + (samples - 1) * (l->length - l->shared);
}

/* So many samples of one prompt, which goes into a pass by itself, or into what
 * the one before has left. */
static void
add_prompt(const rlf_prefix_load *l, uint64_t samples, uint64_t tokens,
           uint64_t *room, rlf_prefix_cut *out)
{
    uint64_t more = l->length - l->shared, all = tokens_of(l, samples);
    uint64_t most = more ? 1 + (tokens - l->length) / more : samples;
    if (all <= *room) {
        *room -= all;
        out->whole++;
        return;
    }
    uint64_t passes = (samples + most - 1) / most;
    *room = tokens - tokens_of(l, samples - (passes - 1) * most);
    out->passes += passes;
    out->whole += passes;
}

rlf_prefix_cut
rlf_prefix_cut_of(const rlf_prefix_load *l, uint64_t tokens, uint64_t *room)
{
    rlf_prefix_cut out = {0};
    if (!l->length || !l->n)
        return out;
    tokens = tokens > l->length ? tokens : l->length;
    uint64_t all = tokens_of(l, l->each), full = l->n / l->each;
    uint64_t rest = l->n % l->each, fit = *room / all;
    fit = fit < full ? fit : full;
    *room -= fit * all;
    out.whole = fit;
    full -= fit;
    if (full && all <= tokens) { /* as many prompts a pass as fit whole */
        uint64_t each = tokens / all;
        uint64_t passes = (full + each - 1) / each;
        *room = tokens - (full - (passes - 1) * each) * all;
        out.passes += passes;
        out.whole += full;
    } else if (full) { /* each begins a pass */
        rlf_prefix_cut one = {0};
        *room = 0;
        add_prompt(l, l->each, tokens, room, &one);
        out.passes += full * one.passes;
        out.whole += full * one.whole;
    }
    if (rest)
        add_prompt(l, rest, tokens, room, &out);
    return out;
}

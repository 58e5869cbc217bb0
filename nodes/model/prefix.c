/* See prefix.h. */
#include "nodes/model/prefix.h"

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
        if (i == 0)
            continue;
        const rlf_sequence *of = s - 1;
        uint64_t length = (uint64_t)of->n_prompt + of->n_response;
        most = most < length ? most : length;
        if (s->prompt == of->prompt && s->n_prompt == of->n_prompt)
            k = most < s->n_prompt ? most : s->n_prompt;
        while (k < most && token_at(s, k) == token_at(of, k))
            k++;
        s->shared = k == most || k >= RLF_PREFIX_LEAST ? (uint32_t)k : 0;
    }
}

rlf_status
rlf_prefix_fit(const rlf_pass *pass, const rlf_sequence *seqs, uint32_t n,
               rlf_err *err, uint32_t *fit)
{
    uint64_t tokens = 0;
    uint32_t most, together = 0;
    RLF_TRY(rlf_pass_fit(pass, seqs, n, err, fit));
    most = *fit;
    while (*fit > 0 && *fit < n && seqs[*fit].shared)
        --*fit;
    if (*fit > 0 || !most)
        return RLF_OK;
    do {
        const rlf_sequence *s = &seqs[together];
        tokens += (uint64_t)s->n_prompt + s->n_response;
        tokens -= together ? s->shared : 0;
    } while (++together < n && seqs[together].shared);
    return rlf_fail(err, RLF_USER,
                    "the %u samples of a prompt that share it have %llu "
                    "tokens, which do not fit into a micro-batch of %d",
                    together, (unsigned long long)tokens,
                    pass->options.tokens);
}

/* ---- what it costs ---- */

/* A walk over the sequences: how many are done, and the passes so far. */
typedef struct walk {
    uint64_t done;
    rlf_prefix_cut cut;
} walk;

/* As many sequences as have room in a pass, of which the next is computed
 * whole if nothing is in it. */
static void
fill(const rlf_prefix_load *l, uint64_t *room, walk *w)
{
    uint64_t more = l->length - l->shared, rest = l->each - 1;
    uint64_t place = w->done % l->each, left = l->n - w->done, fit;
    if (*room < l->length || !left)
        return;
    /* what is left of the first prompt */
    *room -= l->length;
    fit = more ? *room / more : left;
    fit = fit < rest - place ? fit : rest - place;
    fit = fit < left - 1 ? fit : left - 1;
    *room -= fit * more;
    w->done += 1 + fit;
    w->cut.whole++;
    if (w->done == l->n || place + 1 + fit < l->each)
        return;
    /* whole prompts, and a part of one */
    uint64_t all = l->length + rest * more;
    uint64_t prompts = *room / all, most = (l->n - w->done) / l->each;
    prompts = prompts < most ? prompts : most;
    *room -= prompts * all;
    w->done += prompts * l->each;
    w->cut.whole += prompts;
    if (*room < l->length || w->done == l->n)
        return;
    *room -= l->length;
    left = l->n - w->done - 1;
    fit = more ? *room / more : left;
    fit = fit < rest ? fit : rest;
    fit = fit < left ? fit : left;
    *room -= fit * more;
    w->done += 1 + fit;
    w->cut.whole++;
}

/* Passes begin again and again at the same place of a prompt: skips as many
 * rounds from there to there as are whole. */
static void
skip_rounds(const rlf_prefix_load *l, const walk *since, walk *w)
{
    uint64_t round = w->done - since->done;
    uint64_t passes = w->cut.passes - since->cut.passes;
    uint64_t whole = w->cut.whole - since->cut.whole;
    uint64_t times = (l->n - w->done) / round;
    times -= times > 0; /* the last pass may have less */
    w->done += times * round;
    w->cut.passes += times * passes;
    w->cut.whole += times * whole;
}

rlf_prefix_cut
rlf_prefix_cut_of(const rlf_prefix_load *l, uint64_t tokens, uint64_t *room)
{
    walk w = {0}, seen;
    if (!l->length || !l->n)
        return w.cut;
    fill(l, room, &w); /* what the pass before has room for */
    seen = w;
    for (uint64_t next = 1; w.done < l->n;) {
        uint64_t before = w.done;
        *room = tokens > l->length ? tokens : l->length;
        fill(l, room, &w);
        w.cut.passes++;
        RLF_ASSERT(w.done > before);
        if (w.done < l->n && w.done % l->each == seen.done % l->each) {
            skip_rounds(l, &seen, &w);
            seen = w;
        } else if (w.cut.passes >= next) {
            seen = w;
            next = 2 * w.cut.passes;
        }
    }
    return w.cut;
}

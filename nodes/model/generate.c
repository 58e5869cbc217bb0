/* A step: admit, plan (who feeds which tokens, with pages for them), run,
 * sample, end. `active` and `waiting` are in the order in which sequences were
 * added: when room is short, the earlier one goes first. */
#define _GNU_SOURCE /* memmem */
#include "nodes/model/generate.h"

#include <stdlib.h>
#include <string.h>

#include "nodes/model/generation.h"
#include "nodes/model/parallel.h"
#include "nodes/model/transformer.h"

rlf_status
rlf_generation_new(const rlf_model *model, rlf_pass *pass, rlf_kv *kv,
                   const rlf_generation_options *options, rlf_err *err,
                   rlf_generation **out)
{
    uint32_t tokens = (uint32_t)pass->options.tokens;
    uint64_t positions = (uint64_t)kv->n_pages * (uint64_t)kv->page_size;
    uint64_t longest = (uint64_t)model->positions;
    if (options->longest && options->longest < longest)
        longest = options->longest;
    RLF_ASSERT(options->max_new > 0 &&
               (!options->n_stop || options->tokenizer));
    rlf_generation *g = rlf_calloc(1, sizeof *g);
    *g = (rlf_generation){
        .model = model,
        .pass = pass,
        .kv = kv,
        .options = *options,
        .version = model->version,
        .most_active = options->most_active && options->most_active < tokens
                           ? options->most_active
                           : tokens,
        .longest = (uint32_t)(positions < longest ? positions : longest)};
    g->ld_pages = pages_for(g, g->longest);
    g->most_rows = rlf_generation_rows(tokens, g->most_active);
    const rlf_cut *cut = &model->table->cut;
    g->n_waves = cut->chunks == 1 ? (uint32_t)cut->stages : 1;
    g->waves = rlf_calloc(g->n_waves, sizeof *g->waves);
    rlf_status status = rlf_sampler_open(g, err);
    if (status < 0) {
        rlf_generation_free(g);
        return status;
    }
    g->guesses =
        options->history && cut->stages == 1 && !g->ahead && !g->replays;
    *out = g;
    return RLF_OK;
}

void
rlf_generation_free(rlf_generation *g)
{
    if (!g)
        return;
    for (size_t i = 0; i < g->sequences.count; i++) {
        sequence *s = &g->sequences.data[i];
        drop_pages(g, s);
        free(s->ids);
        free(s->logprob);
        free(s->pages);
        rlf_buf_free(&s->text);
    }
    rlf_sampler_close(g);
    free(g->waves);
    RLF_VEC_FREE(&g->groups);
    RLF_VEC_FREE(&g->sequences);
    RLF_VEC_FREE(&g->active);
    RLF_VEC_FREE(&g->waiting);
    RLF_VEC_FREE(&g->keepers);
    RLF_VEC_FREE(&g->complete);
    free(g);
}

rlf_status
rlf_generation_add(rlf_generation *g, const uint32_t *prompt, uint32_t n_prompt,
                   const uint64_t *identity, uint32_t n, rlf_err *err,
                   uint32_t *first)
{
    if (n_prompt == 0)
        return rlf_fail(err, RLF_USER, "a prompt has no token to begin with");
    if (n_prompt >= g->longest)
        return rlf_fail(err, RLF_USER,
                        "a prompt of %u tokens leaves no room for a response "
                        "in %u positions",
                        n_prompt, g->longest);
    for (uint32_t i = 0; i < n_prompt; i++)
        if (prompt[i] >= (uint32_t)g->model->table->config.vocab)
            return rlf_fail(err, RLF_USER,
                            "a prompt has token %u, but the model knows only "
                            "%d",
                            prompt[i], g->model->table->config.vocab);
    RLF_TRY(make_room(g, n, err));
    uint32_t which = (uint32_t)g->groups.count;
    add_group(g, prompt, n_prompt, n);
    *first = (uint32_t)g->sequences.count;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t index = add_sequence(g, which, identity[i]);
        RLF_PUSH(&g->waiting, index);
    }
    return RLF_OK;
}

/* ---- admission ---- */

/* A sample of the same prompt with all of it but the last token in pages;
 * *filling: there is one that is about to. */
static const sequence *
find_donor(const rlf_generation *g, const sequence *s, bool *filling)
{
    const group *p = &g->groups.data[s->group];
    *filling = false;
    if (p->keeper != NOBODY)
        return &g->sequences.data[p->keeper];
    if (!p->n_active || p->n_prompt < 2)
        return NULL;
    for (size_t i = g->active.count; i-- > 0;) {
        const sequence *d = &g->sequences.data[g->active.data[i]];
        if (d->group != s->group)
            continue;
        if (d->cached >= p->n_prompt - 1)
            return d;
        *filling = true;
    }
    return NULL;
}

/* The prompt's pages of another sample: full ones shared, the last copied. */
static rlf_status
share_prompt(rlf_generation *g, sequence *s, const sequence *donor,
             rlf_err *err)
{
    uint32_t known = g->groups.data[s->group].n_prompt - 1;
    uint32_t full = known / (uint32_t)g->kv->page_size;
    RLF_TRY(make_sequence_room(s, s->n, full + 1, err));
    for (uint32_t i = 0; i < full; i++) {
        rlf_kv_hold(g->kv, donor->pages[i]);
        push_page(s, donor->pages[i]);
    }
    if (known % (uint32_t)g->kv->page_size) {
        int32_t page = rlf_kv_take(g->kv);
        RLF_ASSERT(page != RLF_NO_PAGE);
        push_page(s, page);
        RLF_TRY(rlf_kv_copy(g->kv, donor->pages[full], page, err));
    }
    s->cached = known;
    g->counts.shared += known;
    return RLF_OK;
}

/* Keepers for whom nobody waits give up their pages. */
static void
drop_needless(rlf_generation *g)
{
    size_t kept = 0;
    for (size_t i = 0; i < g->keepers.count; i++) {
        uint32_t index = g->keepers.data[i];
        sequence *s = &g->sequences.data[index];
        group *p = &g->groups.data[s->group];
        if (p->n_waiting) {
            g->keepers.data[kept++] = index;
            continue;
        }
        p->keeper = NOBODY;
        drop_pages(g, s);
    }
    g->keepers.count = kept;
}

/* Let waiting sequences in, in order, while there are pages for all of their
 * tokens so far and the next. Who can soon share a prompt that is being
 * computed waits for that. */
static rlf_status
admit(rlf_generation *g, rlf_err *err)
{
    size_t kept = 0, i = 0;
    while (i < g->waiting.count && g->active.count < g->most_active) {
        uint32_t index = g->waiting.data[i];
        sequence *s = &g->sequences.data[index];
        bool filling;
        const sequence *donor = find_donor(g, s, &filling);
        if (!donor && filling) {
            g->waiting.data[kept++] = index;
            i++;
            continue;
        }
        uint32_t need = pages_for(g, length_of(g, s) + 1);
        if (donor)
            need -= (g->groups.data[s->group].n_prompt - 1) /
                    (uint32_t)g->kv->page_size;
        if (need > (uint32_t)g->kv->n_free) {
            if (drop_keepers(g))
                continue;
            if (g->active.count)
                break;
        }
        if (donor)
            RLF_TRY(share_prompt(g, s, donor, err));
        enter(g, index);
        g->groups.data[s->group].n_waiting--;
        i++;
    }
    while (i < g->waiting.count)
        g->waiting.data[kept++] = g->waiting.data[i++];
    g->waiting.count = kept;
    drop_needless(g);
    return RLF_OK;
}

/* ---- the plan of a step ---- */

/* The last active sequence gives up its pages and waits. */
static void
preempt_last(rlf_generation *g)
{
    uint32_t index = g->active.data[--g->active.count];
    sequence *s = &g->sequences.data[index];
    drop_pages(g, s);
    s->feed = 0;
    s->n_guesses = 0;
    quit(g, s);
    g->groups.data[s->group].n_waiting++;
    g->counts.preempted++;
    insert_sorted(&g->waiting, index);
}

/* Pages for `positions` of the i-th active sequence, at the cost of keepers and
 * then of later ones if need be; false: it had to give up itself. */
static bool
reserve(rlf_generation *g, size_t i, uint32_t positions)
{
    sequence *s = &g->sequences.data[g->active.data[i]];
    while (s->n_pages < pages_for(g, positions)) {
        int32_t page = rlf_kv_take(g->kv);
        if (page != RLF_NO_PAGE) {
            push_page(s, page);
            continue;
        }
        if (drop_keepers(g))
            continue;
        RLF_ASSERT(g->active.count > 1); /* one sequence always fits */
        preempt_last(g);
        if (i == g->active.count)
            return false;
    }
    return true;
}

/* Tokens that it lacks in its pages. None of a sequence that the token that is
 * being made will complete; where an end of text does, only the host will see:
 * it goes on, and one token too many is dropped. */
static uint32_t
lacks(const rlf_generation *g, const sequence *s)
{
    bool ends = s->flying && (s->n + s->flying >= g->options.max_new ||
                              reach_of(g, s) >= g->longest);
    return ends ? 0 : reach_of(g, s) - s->cached;
}

/* Might a step be short of pages? */
static bool
is_short(const rlf_generation *g)
{
    uint64_t need = 0;
    for (size_t i = 0; i < g->active.count; i++) {
        const sequence *s = &g->sequences.data[g->active.data[i]];
        uint32_t pages = pages_for(g, s->cached + lacks(g, s));
        need += pages > s->n_pages ? pages - s->n_pages : 0;
    }
    return need > (uint64_t)g->kv->n_free;
}

/* Nearly all tokens are shorter. */
enum { A_TOKEN = 256 };

/* Room for what a step adds to those that are active: the pages of all tokens
 * there are, and a token more, with the guesses that there may be. */
static rlf_status
make_step_room(rlf_generation *g, rlf_err *err)
{
    uint32_t guesses = g->guesses ? MOST_GUESSES : 0;
    for (size_t i = 0; i < g->active.count; i++) {
        sequence *s = &g->sequences.data[g->active.data[i]];
        RLF_TRY(make_sequence_room(s, s->n + s->flying + 1 + guesses,
                                   pages_for(g, reach_of(g, s) + guesses),
                                   err));
        if (g->options.n_stop &&
            !rlf_buf_try(&s->text, A_TOKEN * (1 + guesses)))
            return rlf_fail_memory(err, s->text.n, "the text of a sample");
    }
    RLF_TRY_ROOM(&g->waves[g->at].now.fly, g->active.count,
                 "a step of samples");
    return RLF_OK;
}

/* Decide what everyone in the wave feeds: those that decode first, so that
 * prefill never holds them up, then prefills with the tokens left over. */
static void
plan_step(rlf_generation *g)
{
    uint32_t left = (uint32_t)g->pass->options.tokens;
    for (size_t i = 0; i < g->active.count; i++) {
        sequence *s = &g->sequences.data[g->active.data[i]];
        s->feed = 0;
        if (s->wave == g->at && lacks(g, s) == 1 &&
            reserve(g, i, s->cached + 1)) {
            s->feed = 1;
            left--;
        }
    }
    for (size_t i = 0; i < g->active.count; i++) {
        sequence *s = &g->sequences.data[g->active.data[i]];
        uint32_t want = lacks(g, s);
        if (s->wave != g->at || s->feed || !left || !want)
            continue;
        if (want > left)
            want = left;
        if (!reserve(g, i, s->cached + want))
            break;
        s->feed = want;
        left -= want;
        g->counts.prefilled += want;
    }
    if (g->guesses && left)
        rlf_generation_guess(g, left);
}

/* ---- after a step ---- */

static void
append(sequence *s, uint32_t id, float logprob)
{
    RLF_ASSERT(s->n < s->room);
    s->ids[s->n] = id;
    s->logprob[s->n++] = logprob;
}

/* Does the text now hold a stop text that ends in what the last id gave? */
static bool
meets_stop(rlf_generation *g, sequence *s, uint32_t id)
{
    if (!g->options.n_stop)
        return false;
    size_t before = s->text.n;
    rlf_detokenizer_feed(&s->detokenizer, id, &s->text);
    for (size_t i = 0; i < g->options.n_stop; i++) {
        const char *stop = g->options.stop[i];
        size_t n = strlen(stop);
        size_t from = before + 1 > n ? before + 1 - n : 0;
        if (n && s->text.n >= from + n &&
            memmem(s->text.p + from, s->text.n - from, stop, n))
            return true;
    }
    return false;
}

static bool
is_end(const rlf_generation *g, uint32_t id)
{
    for (size_t i = 0; i < g->options.n_eos; i++)
        if (g->options.eos[i] == id)
            return true;
    return false;
}

static int
by_row(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* A complete sequence is told to the history, and gives up its pages, unless
 * others wait for its prompt (a response of one token is over before they can
 * be let in). One that had to give them up while it flew has none. */
static rlf_status
leave(rlf_generation *g, uint32_t index, rlf_err *err)
{
    sequence *s = &g->sequences.data[index];
    group *p = &g->groups.data[s->group];
    RLF_PUSH(&g->complete, s->row);
    if (g->guesses)
        RLF_TRY(
            rlf_history_add(g->options.history, p->name, s->ids, s->n, err));
    if (!s->active) {
        take_out(&g->waiting, index);
        p->n_waiting--;
        return RLF_OK;
    }
    quit(g, s);
    if (p->n_waiting && p->keeper == NOBODY && p->n_prompt > 1) {
        p->keeper = index;
        RLF_PUSH(&g->keepers, index);
        while (s->n_pages > pages_for(g, p->n_prompt))
            rlf_kv_drop(g->kv, s->pages[--s->n_pages]);
    } else {
        drop_pages(g, s);
    }
    return RLF_OK;
}

static void
take_token(rlf_generation *g, sequence *s, uint32_t id, float logprob)
{
    append(s, id, logprob);
    g->counts.tokens++;
    bool stopped = meets_stop(g, s, id);
    s->finished = is_end(g, id) || stopped;
    s->done = s->finished || s->n == g->options.max_new ||
              length_of(g, s) == g->longest;
}

/* The token of a sequence, and those behind it up to the first guess that was
 * wrong: what is behind that was made from another text, as are the keys and
 * values of its pages. */
static void
take_tokens(rlf_generation *g, sequence *s, const int32_t *ids,
            const float *logprob)
{
    uint32_t n = s->n_guesses, right = 0;
    take_token(g, s, (uint32_t)ids[0], logprob[0]);
    while (right < n && s->guess[right] == (uint32_t)ids[right]) {
        right++;
        if (s->done)
            break;
        take_token(g, s, (uint32_t)ids[right], logprob[right]);
    }
    if (n)
        rlf_generation_judge(g, s, right);
    s->cached -= n - right;
    s->n_guesses = 0;
}

/* Take in the tokens of a flight; complete sequences leave the batch, and what
 * was made for them meanwhile is dropped. */
static rlf_status
land(rlf_generation *g, flight *f, rlf_err *err)
{
    size_t n = f->fly.count, kept = 0;
    if (!n)
        return RLF_OK;
    RLF_TRY(rlf_sampler_await(g, f, err));
    const float *logprob = (const float *)(f->host_tokens + f->n_tokens);
    for (size_t i = 0, row = 0; i < n; i++) {
        sequence *s = &g->sequences.data[f->fly.data[i]];
        size_t at = row;
        row += 1 + s->n_guesses;
        s->flying--;
        if (s->done) {
            g->counts.dropped++;
            continue;
        }
        take_tokens(g, s, f->host_tokens + at, logprob + at);
        if (s->done)
            RLF_TRY(leave(g, f->fly.data[i], err));
    }
    f->fly.count = 0;
    for (size_t i = 0; i < g->active.count; i++) {
        uint32_t index = g->active.data[i];
        if (g->sequences.data[index].active)
            g->active.data[kept++] = index;
    }
    g->active.count = kept;
    return RLF_OK;
}

/* Forgets the samples that were told of. */
static void
begin_list(rlf_generation *g)
{
    if (g->told)
        g->complete.count = 0;
    g->told = false;
}

rlf_status
rlf_generation_settle(rlf_generation *g, rlf_err *err)
{
    begin_list(g);
    for (uint32_t i = 1; i <= g->n_waves; i++) /* the oldest first */
        RLF_TRY(land(g, &g->waves[(g->at + i) % g->n_waves].now, err));
    return RLF_OK;
}

/* The next wave that has something to do. */
static void
turn(rlf_generation *g)
{
    for (uint32_t i = 1; i <= g->n_waves; i++) {
        uint32_t next = (g->at + i) % g->n_waves;
        if (!g->waves[next].n_active && !g->waves[next].now.fly.count)
            continue;
        g->at = next;
        return;
    }
}

/* Of the wave whose turn it is: the tokens of its last step land, then the next
 * one is sent; in a pipeline they fly until the next turn. */
static rlf_status
step_after(rlf_generation *g, rlf_err *err)
{
    wave *w = &g->waves[g->at];
    bool sent;
    RLF_TRY(land(g, &w->now, err));
    RLF_TRY(admit(g, err));
    RLF_TRY(make_step_room(g, err));
    plan_step(g);
    RLF_TRY(rlf_sampler_step(g, err, &sent));
    return g->n_waves == 1 ? land(g, &w->now, err) : RLF_OK;
}

/* The other way round: the next step is sent first, and takes the tokens of the
 * last one where they are. Unless pages might be short: nobody has to give up
 * any for a sequence that may be complete, nor while a token of it flies. All
 * that is done with pages goes through the queue, so a step that still writes
 * to those of a complete sequence is done when others get them. */
static rlf_status
step_ahead(rlf_generation *g, rlf_err *err)
{
    wave *w = g->waves;
    bool sent;
    RLF_TRY(admit(g, err));
    if (is_short(g))
        RLF_TRY(land(g, &w->now, err));
    RLF_TRY(make_step_room(g, err));
    plan_step(g);
    RLF_TRY(rlf_sampler_step(g, err, &sent));
    g->counts.ahead += w->before.fly.count != 0;
    RLF_TRY(land(g, sent ? &w->before : &w->now, err));
    return g->active.count || g->waiting.count ? RLF_OK : land(g, &w->now, err);
}

rlf_status
rlf_generation_step(rlf_generation *g, rlf_err *err, const uint32_t **rows,
                    uint32_t *n_rows)
{
    *rows = NULL;
    *n_rows = 0;
    begin_list(g);
    if (g->model->version != g->version)
        return rlf_fail(err, RLF_BUG,
                        "the weights changed while responses were sampled");
    turn(g);
    RLF_TRY(g->ahead ? step_ahead(g, err) : step_after(g, err));
    if (g->complete.count > 1)
        qsort(g->complete.data, g->complete.count, sizeof(uint32_t), by_row);
    *rows = g->complete.data;
    *n_rows = (uint32_t)g->complete.count;
    g->told = true;
    bool more = g->active.count || g->waiting.count;
    return more ? RLF_AGAIN : rlf_transformer_settle(g->pass, err);
}

rlf_response
rlf_generation_response(const rlf_generation *g, uint32_t row)
{
    const sequence *s = &g->sequences.data[row];
    return (rlf_response){s->ids, s->logprob, s->n, s->finished};
}

rlf_generation_counts
rlf_generation_count(const rlf_generation *g)
{
    return g->counts;
}

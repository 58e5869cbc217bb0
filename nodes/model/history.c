/* Two halves, of which one grows while the other one is as it was when the one
 * before was forgotten. Each is a list of tokens, in which every response has
 * begins before it, with a hash table of runs of RUN tokens: the place behind
 * the latest, from which a chain goes to those before. */
#include "nodes/model/history.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/hash.h"
#include "engine/base/memory.h"

enum {
    RUN = RLF_HISTORY_RUN,
    MOST_PLACES = 32, /* of a chain that are looked at */
    MOST_ALIKE = 64,  /* tokens beyond which two runs are as good */
    KEPT = 4096,      /* guesses that count */
};

static const uint32_t begin = UINT32_MAX; /* no token */

typedef struct half {
    uint32_t *ids, *prompt; /* of each token: of what it is a response to */
    uint32_t *before; /* ...: the place before in its chain, plus 1; 0: none */
    uint32_t *latest; /* per hash: a place, plus 1; NULL: it is empty */
    uint32_t n, room;
} half;

struct rlf_history {
    uint32_t most, mask; /* of a half: tokens, and hashes less one */
    half halves[2];      /* the first one grows */
    double tried, right;
};

rlf_history *
rlf_history_new(uint32_t tokens)
{
    rlf_history *h = rlf_calloc(1, sizeof *h);
    h->most = tokens;
    h->mask = 1;
    while (h->mask < tokens)
        h->mask = 2 * h->mask + 1;
    return h;
}

static void
free_half(half *f)
{
    free(f->ids);
    free(f->prompt);
    free(f->before);
    free(f->latest);
    *f = (half){0};
}

void
rlf_history_free(rlf_history *h)
{
    if (!h)
        return;
    free_half(&h->halves[0]);
    free_half(&h->halves[1]);
    free(h);
}

uint32_t
rlf_history_prompt(const uint32_t *ids, uint32_t n)
{
    return (uint32_t)rlf_hash_mix(
        rlf_hash(RLF_HASH_INIT, ids, n * sizeof *ids));
}

static uint32_t
hash_of(const rlf_history *h, uint32_t prompt, const uint32_t run[RUN])
{
    uint64_t hash = rlf_hash(RLF_HASH_INIT, &prompt, sizeof prompt);
    return (uint32_t)rlf_hash_mix(rlf_hash(hash, run, RUN * sizeof *run)) &
           h->mask;
}

/* ---- adding ---- */

static rlf_status
make_room(rlf_history *h, uint32_t n, rlf_err *err)
{
    static const char what[] = "earlier responses";
    half *f = h->halves;
    if (f->n + n > h->most) {
        half oldest = h->halves[1];
        h->halves[1] = *f;
        *f = (half){0};
        free_half(&oldest);
    }
    if (!f->latest)
        RLF_TRY(rlf_try_array((size_t)h->mask + 1, sizeof *f->latest, what, err,
                              &f->latest));
    uint32_t room = f->room ? f->room : 256;
    while (room < f->n + n)
        room *= 2;
    if (room == f->room)
        return RLF_OK;
    RLF_TRY(rlf_try_grow(&f->ids, room * sizeof *f->ids, what, err));
    RLF_TRY(rlf_try_grow(&f->prompt, room * sizeof *f->prompt, what, err));
    RLF_TRY(rlf_try_grow(&f->before, room * sizeof *f->before, what, err));
    f->room = room;
    return RLF_OK;
}

rlf_status
rlf_history_add(rlf_history *h, uint32_t prompt, const uint32_t *ids,
                uint32_t n, rlf_err *err)
{
    if (n > h->most - RUN)
        return RLF_OK;
    RLF_TRY(make_room(h, RUN + n, err));
    half *f = h->halves;
    for (uint32_t i = 0; i < RUN + n; i++) {
        uint32_t at = f->n++;
        f->ids[at] = i < RUN ? begin : ids[i - RUN];
        f->prompt[at] = prompt;
        f->before[at] = 0;
        if (i < RUN)
            continue;
        uint32_t *latest = &f->latest[hash_of(h, prompt, f->ids + at - RUN)];
        f->before[at] = *latest;
        *latest = at + 1;
    }
    return RLF_OK;
}

/* ---- guessing ---- */

/* A response so far, with its begins. */
static uint32_t
token_before(const uint32_t *ids, uint32_t n, uint32_t back)
{
    return back <= n ? ids[n - back] : begin;
}

/* Returns how many tokens before a place are those at the end of the response;
 * 0: it is not of this prompt. */
static uint32_t
alike(const half *f, uint32_t at, uint32_t prompt, const uint32_t *ids,
      uint32_t n)
{
    uint32_t same = 0, most = n + RUN < MOST_ALIKE ? n + RUN : MOST_ALIKE;
    if (f->prompt[at] != prompt)
        return 0;
    while (same < most && same < at &&
           f->ids[at - 1 - same] == token_before(ids, n, same + 1))
        same++;
    return same;
}

/* The best place of a half, if it is better than one with *best alike. */
static bool
look(const half *f, uint32_t hash, uint32_t prompt, const uint32_t *ids,
     uint32_t n, uint32_t *best, uint32_t *place)
{
    bool found = false;
    uint32_t at = f->latest ? f->latest[hash] : 0;
    for (int i = 0; at && i < MOST_PLACES; i++, at = f->before[at - 1]) {
        uint32_t same = alike(f, at - 1, prompt, ids, n);
        if (same <= *best)
            continue;
        *best = same;
        *place = at - 1;
        found = true;
    }
    return found;
}

uint32_t
rlf_history_guess(const rlf_history *h, uint32_t prompt, const uint32_t *ids,
                  uint32_t n, uint32_t most, uint32_t *out)
{
    uint32_t run[RUN], best = RUN - 1, at = 0, count = 0;
    for (uint32_t i = 0; i < RUN; i++)
        run[i] = token_before(ids, n, RUN - i);
    uint32_t hash = hash_of(h, prompt, run);
    const half *from = NULL;
    for (int i = 0; i < 2; i++)
        if (look(&h->halves[i], hash, prompt, ids, n, &best, &at))
            from = &h->halves[i];
    while (from && count < most && at < from->n && from->ids[at] != begin)
        out[count++] = from->ids[at++];
    return count;
}

/* ---- the share of right ones ---- */

void
rlf_history_count(rlf_history *h, uint32_t tried, uint32_t right)
{
    h->tried += tried;
    h->right += right;
    if (h->tried < KEPT)
        return;
    h->tried /= 2;
    h->right /= 2;
}

double
rlf_history_share(const rlf_history *h)
{
    enum { BEFORE = 8, RIGHT = 6 }; /* as if there had been so many */
    return (h->right + RIGHT) / (h->tried + BEFORE);
}

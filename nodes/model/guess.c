/* Guesses at what sequences go on with, from earlier responses to the same
 * prompt (history.h; after Leviathan, Kalman and Matias 2023, with a table in
 * place of a smaller model): how many a step feeds, and what became of them.
 *
 * A step of n rows takes as long as ROWS + n of something: ROWS for what a step
 * costs however few rows there are, which is mostly the weights that come from
 * memory. So a token takes (ROWS + n) / n, and a row more 1. The j-th guess of
 * a sequence is right with share^j if each is with `share`, and pays if share^j
 * is more than n / (ROWS + n). With many rows hardly any guess is that sure, so
 * a full batch has none.
 *
 * Nothing here reads a clock: all ranks of a model make the same guesses. */
#include <math.h>

#include "nodes/model/generation.h"

enum {
    ROWS = 8,   /* measured: bench/history */
    AGAIN = 16, /* tokens after which one guess is tried where none pays */
    KEPT = 16,  /* guesses of a sequence that count */
    BEFORE = 4, /* guesses of others that count as its own */
};

/* How often a guess at this sequence is expected to be right. */
static double
share_of(const rlf_generation *g, const sequence *s)
{
    double others = rlf_history_share(g->options.history);
    return ((double)s->right + BEFORE * others) / ((double)s->tried + BEFORE);
}

void
rlf_generation_judge(rlf_generation *g, sequence *s, uint32_t right)
{
    /* those behind one that was wrong were not tried */
    uint32_t tried = right + (right < s->n_guesses);
    g->counts.guessed += s->n_guesses;
    g->counts.right += right;
    rlf_history_count(g->options.history, tried, right);
    s->tried += (float)tried;
    s->right += (float)right;
    if (s->tried >= KEPT) {
        s->tried /= 2;
        s->right /= 2;
    }
}

/* Guesses of a sequence that pay in a step of so many rows. */
static uint32_t
worth(const rlf_generation *g, const sequence *s, uint32_t rows)
{
    double least = (double)rows / (ROWS + (double)rows);
    double share = share_of(g, s), sure = share;
    uint32_t n = 0;
    while (n < MOST_GUESSES && sure > least) {
        sure *= share;
        n++;
    }
    bool again = rows <= ROWS && s->n % AGAIN == AGAIN - 1;
    return n ? n : again;
}

/* Pages for that many guesses, if nobody has to give up any for them and all
 * others of the batch may have one more; as many as there is room for. */
static uint32_t
reserve(rlf_generation *g, sequence *s, uint32_t n)
{
    uint32_t size = (uint32_t)g->kv->page_size;
    while (s->n_pages < pages_for(g, s->cached + 1 + n) &&
           (size_t)g->kv->n_free > g->active.count)
        push_page(s, rlf_kv_take(g->kv));
    uint32_t room = s->n_pages * size - s->cached - 1;
    return n < room ? n : room;
}

static bool
decodes(const rlf_generation *g, const sequence *s)
{
    return s->wave == g->at && s->feed == 1 && s->cached + 1 == length_of(g, s);
}

void
rlf_generation_guess(rlf_generation *g, uint32_t left)
{
    uint32_t rows = 0;
    for (size_t i = 0; i < g->active.count; i++)
        rows += g->sequences.data[g->active.data[i]].feed != 0;
    uint32_t room = g->most_rows > rows ? g->most_rows - rows : 0;
    if (left > room)
        left = room;
    for (size_t i = 0; i < g->active.count && left; i++) {
        sequence *s = &g->sequences.data[g->active.data[i]];
        if (!decodes(g, s))
            continue;
        uint32_t most = worth(g, s, rows);
        uint32_t more = g->options.max_new - s->n - 1;
        uint32_t fits = g->longest - length_of(g, s) - 1;
        most = most < more ? most : more;
        most = most < fits ? most : fits;
        most = most < left ? most : left;
        if (!most)
            continue;
        uint32_t n =
            rlf_history_guess(g->options.history, g->groups.data[s->group].name,
                              s->ids, s->n, most, s->guess);
        s->n_guesses = reserve(g, s, n);
        s->feed += s->n_guesses;
        left -= s->n_guesses;
    }
}

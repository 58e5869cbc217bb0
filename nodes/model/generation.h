/* The state of a generation, shared by generate.c, sampler.c and handover.c
 * only.
 */
#ifndef RLF_MODEL_GENERATION_H
#define RLF_MODEL_GENERATION_H

#include <string.h>

#include "engine/base/vec.h"
#include "engine/dev/replay.h"
#include "engine/text/detokenizer.h"
#include "nodes/model/generate.h"

enum {
    MOST_GUESSES = 15, /* of a sequence in a step */
    FEW_ROWS = 8,      /* that a step may sample at least, guesses among them */
};

/* One response in the making. Its tokens are the prompt's, then ids. */
typedef struct sequence {
    uint32_t group;
    uint32_t row;
    uint64_t identity;
    uint32_t *ids;
    float *logprob;
    uint32_t n, room;
    int32_t *pages;
    uint32_t n_pages, pages_room;
    uint32_t cached; /* positions whose keys and values are in pages */
    uint32_t feed;   /* tokens that this step feeds, guesses among them */
    uint32_t guess[MOST_GUESSES], n_guesses; /* that this step feeds */
    float tried, right; /* guesses, and those that were right; late ones more */
    /* The wave that it goes with while it is active or under way. */
    uint32_t wave;
    uint32_t flying; /* tokens of it that are being made */
    uint32_t place;  /* the place of its last token among those of the step */
    bool active;     /* it is active; else it waits, or is done */
    bool done, finished;
    rlf_detokenizer detokenizer;
    rlf_buf text;
} sequence;

#define NOBODY UINT32_MAX

/* A prompt, and how many of its samples are active and wait. The keeper is a
 * complete sample that keeps its pages for those that wait, or NOBODY. */
typedef struct group {
    const uint32_t *prompt;
    uint32_t n_prompt, n_active, n_waiting, keeper;
    uint32_t name; /* of the prompt in the history */
} group;

typedef RLF_VEC(uint32_t) indices;

/* The tokens that a step makes, until the host takes them in. */
typedef struct flight {
    indices fly;          /* the sequences that they are of, by row */
    int32_t *host_tokens; /* pinned; log-probabilities lie behind: */
    uint32_t n_tokens;    /* tokens so far, rows that are nobody's among them */
    struct rlf_batch
        *telling; /* the batch by which the last stage tells the others */
    /* The event after which they are on the host; NULL: they are. */
    rlf_event *there;
} flight;

/* Sequences that are fed together. In a pipeline several waves are under way,
 * one behind another: while the last stage makes the tokens of one the first
 * feeds another. Else there is one. */
typedef struct wave {
    uint32_t n_active;
    flight now;    /* what is under way of its last step */
    flight before; /* what is under way of the step before that, where steps run
                      ahead */
} wave;

struct rlf_generation {
    const rlf_model *model;
    rlf_pass *pass;
    rlf_kv *kv;
    rlf_generation_options options;
    uint64_t version; /* the version of the weights, one for all tokens */
    uint32_t most_active;
    uint32_t most_rows; /* that a step samples */
    uint32_t longest;   /* tokens of a sequence */
    RLF_VEC(group) groups;
    RLF_VEC(sequence) sequences;
    indices active, waiting; /* ascending */
    indices keepers;         /* sequences that keep the pages of their groups */
    indices complete;        /* rows that became so since the last step */
    bool told;               /* the last step gave them out */
    wave *waves;
    uint32_t n_waves, at; /* the one whose turn it is */
    rlf_generation_counts counts;

    /* Memory of what a step sends and what comes back (sampler.c). */
    uint32_t ld_pages;           /* pages of a sequence, at most */
    char *host_inputs;           /* filled, then copied to: */
    char *inputs, *outputs;      /* arrays on the device */
    int32_t *next_pages;         /* the page each sequence goes on in */
    int32_t *bounds;             /* bounds of positions, in recorded steps */
    struct rlf_replays *replays; /* recordings of these; NULL: there are none */
    bool own_replays;
    uint32_t place; /* the place of the addresses that they are made of */
    bool ahead; /* a step is sent before the tokens of the last one are read */
    bool guesses; /* there may be some */
    /* Of the step at hand: the row of the sequence that is looked at (-1: there
     * is none), its position, and the number that draws it. */
    int64_t watched_row;
    uint32_t watched_position;
    double watched_uniform;
    void *block;  /* the block of inputs and outputs, if it is our own */
    size_t block_bytes;
};

/* The bytes of a token and its log-probability. */
enum { TOLD_BYTES = sizeof(int32_t) + sizeof(float) };

/* The arrays of a generation whose sizes are known. */
rlf_status rlf_sampler_open(rlf_generation *g, rlf_err *err);
void rlf_sampler_close(rlf_generation *g);
/* Run the transformer over what was planned and sample. Keys and values are in
 * their pages then; the tokens fly until they land. *sent: something was. */
rlf_status rlf_sampler_step(rlf_generation *g, rlf_err *err, bool *sent);
/* The tokens of a flight are in host_tokens. */
rlf_status rlf_sampler_await(rlf_generation *g, flight *f, rlf_err *err);

static inline uint32_t
pages_for(const rlf_generation *g, uint32_t positions)
{
    uint32_t size = (uint32_t)g->kv->page_size;
    return (positions + size - 1) / size;
}

static inline uint32_t
length_of(const rlf_generation *g, const sequence *s)
{
    return g->groups.data[s->group].n_prompt + s->n;
}

/* The rows of a step at most, of a pass of so many tokens. */
static inline uint32_t
rlf_generation_rows(uint32_t tokens, uint32_t most_active)
{
    uint32_t n = most_active && most_active < tokens ? most_active : tokens;
    uint32_t few = tokens < FEW_ROWS ? tokens : FEW_ROWS;
    return n < few ? few : n;
}

/* Guesses at the next tokens of those that decode in the step that is planned,
 * where they pay: `left` at most (guess.c). */
void rlf_generation_guess(rlf_generation *g, uint32_t left);
/* So many of a sequence's guesses were right. */
void rlf_generation_judge(rlf_generation *g, sequence *s, uint32_t right);

/* Returns the tokens of the sequence with those that are being made. */
static inline uint32_t
reach_of(const rlf_generation *g, const sequence *s)
{
    return length_of(g, s) + s->flying;
}

/* Room for a prompt more, n responses to it, and lists of all. */
static inline rlf_status
make_room(rlf_generation *g, size_t n, rlf_err *err)
{
    static const char what[] = "samples in the making";
    size_t all = g->sequences.count + n;
    RLF_TRY_ROOM(&g->groups, 1, "prompts that are sampled");
    RLF_TRY_ROOM(&g->sequences, n, what);
    RLF_TRY_ROOM(&g->active, all - g->active.count, what);
    RLF_TRY_ROOM(&g->waiting, all - g->waiting.count, what);
    RLF_TRY_ROOM(&g->keepers, all - g->keepers.count, what);
    RLF_TRY_ROOM(&g->complete, all - g->complete.count, what);
    return RLF_OK;
}

/* Room for so many tokens and pages of one. */
static inline rlf_status
make_sequence_room(sequence *s, uint32_t tokens, uint32_t pages, rlf_err *err)
{
    static const char what[] = "a sample in the making";
    uint32_t room = s->room ? s->room : 16;
    while (room < tokens)
        room *= 2;
    if (room > s->room) {
        RLF_TRY(rlf_try_grow(&s->ids, room * sizeof *s->ids, what, err));
        RLF_TRY(
            rlf_try_grow(&s->logprob, room * sizeof *s->logprob, what, err));
        s->room = room;
    }
    room = s->pages_room ? s->pages_room : 8;
    while (room < pages)
        room *= 2;
    if (room > s->pages_room) {
        RLF_TRY(rlf_try_grow(&s->pages, room * sizeof *s->pages, what, err));
        s->pages_room = room;
    }
    return RLF_OK;
}

/* One more prompt, for which there is room, with so many samples that wait. */
static inline void
add_group(rlf_generation *g, const uint32_t *prompt, uint32_t n_prompt,
          uint32_t n_waiting)
{
    group p = {.prompt = prompt,
               .n_prompt = n_prompt,
               .n_waiting = n_waiting,
               .keeper = NOBODY};
    if (g->guesses)
        p.name = rlf_history_prompt(prompt, n_prompt);
    RLF_PUSH(&g->groups, p);
}

/* One more response to make, with nothing done, for which there is room; the
 * caller lists it as active or waiting. */
static inline uint32_t
add_sequence(rlf_generation *g, uint32_t of, uint64_t identity)
{
    sequence s = {
        .group = of, .row = (uint32_t)g->sequences.count, .identity = identity};
    if (g->options.n_stop)
        rlf_detokenizer_begin(&s.detokenizer, g->options.tokenizer,
                              RLF_DECODE_SKIP_SPECIAL | RLF_DECODE_CONTINUE);
    RLF_PUSH(&g->sequences, s);
    return s.row;
}

/* Keep the list ascending. */
static inline void
insert_sorted(indices *list, uint32_t index)
{
    RLF_PUSH(list, index);
    size_t i = list->count - 1;
    for (; i > 0 && list->data[i - 1] > index; i--)
        list->data[i] = list->data[i - 1];
    list->data[i] = index;
}

/* True: it was in the list. */
static inline bool
take_out(indices *list, uint32_t index)
{
    size_t i = 0;
    while (i < list->count && list->data[i] != index)
        i++;
    if (i == list->count)
        return false;
    list->count--;
    memmove(list->data + i, list->data + i + 1,
            (list->count - i) * sizeof *list->data);
    return true;
}

/* Into the batch: with the first wave that is short of sequences, else with the
 * smallest; a sequence that flies stays with its own. The caller has taken it
 * off those that wait. */
static inline void
enter(rlf_generation *g, uint32_t index)
{
    sequence *s = &g->sequences.data[index];
    uint32_t to = 0;
    while (to < g->n_waves && g->waves[to].n_active >= RLF_WAVE_LEAST)
        to++;
    if (to == g->n_waves) {
        to = 0;
        for (uint32_t i = 1; i < g->n_waves; i++)
            if (g->waves[i].n_active < g->waves[to].n_active)
                to = i;
    }
    if (!s->flying)
        s->wave = to;
    s->active = true;
    g->waves[s->wave].n_active++;
    g->groups.data[s->group].n_active++;
    insert_sorted(&g->active, index);
}

/* Out of it; the caller takes it off the list. */
static inline void
quit(rlf_generation *g, sequence *s)
{
    s->active = false;
    g->waves[s->wave].n_active--;
    g->groups.data[s->group].n_active--;
}

/* All tokens land; what they complete the next step tells. */
rlf_status rlf_generation_settle(rlf_generation *g, rlf_err *err);

static inline void
drop_pages(rlf_generation *g, sequence *s)
{
    for (uint32_t i = 0; i < s->n_pages; i++)
        rlf_kv_drop(g->kv, s->pages[i]);
    s->n_pages = 0;
    s->cached = 0;
}

/* There is room for it. */
static inline void
push_page(sequence *s, int32_t page)
{
    RLF_ASSERT(s->n_pages < s->pages_room);
    s->pages[s->n_pages++] = page;
}

/* True: there was a keeper; none keeps its pages any more. */
static inline bool
drop_keepers(rlf_generation *g)
{
    bool any = g->keepers.count;
    for (size_t i = 0; i < g->keepers.count; i++) {
        sequence *s = &g->sequences.data[g->keepers.data[i]];
        g->groups.data[s->group].keeper = NOBODY;
        drop_pages(g, s);
    }
    g->keepers.count = 0;
    return any;
}

#endif

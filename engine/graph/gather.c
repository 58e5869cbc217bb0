/* Rows of several rounds put together: see run.h.
 *
 * Each domain of the result is made once, from the top: first the prompts, then
 * what belongs to them. A space's rows are known by the place that each row of
 * a round has among those kept, so that maps between spaces follow. Nothing
 * here decides what is kept. */
#include "engine/base/vec.h"
#include "engine/graph/class.h"
#include "engine/graph/run.h"

enum { LEFT_OUT = UINT32_MAX };

/* A domain of the result. */
typedef struct made {
    rlf_space *space;
    uint32_t **rows; /* per round: the rows that are kept, ascending */
    uint32_t *n_rows;
    uint32_t **place; /* per round and row: its row here, or LEFT_OUT */
} made;

struct rlf_round_gather {
    rlf_arena *pool;
    const rlf_graph *graph;
    uint32_t n_rounds;
    const rlf_space *const *prompts;
    bool **keeps; /* per round and prompt */
    made **made;  /* per domain of the graph, or NULL */
};

rlf_round_gather *
rlf_round_gather_new(rlf_arena *pool, const rlf_graph *graph, uint32_t n_rounds,
                     const rlf_space *const *prompts, uint32_t *const *kept,
                     const uint32_t *n_kept)
{
    rlf_round_gather *g = RLF_NEW(pool, rlf_round_gather);
    *g = (rlf_round_gather){
        .pool = pool, .graph = graph, .n_rounds = n_rounds, .prompts = prompts};
    g->made = RLF_NEW_ARRAY(pool, made *, graph->domains.list.count);
    g->keeps = RLF_NEW_ARRAY(pool, bool *, n_rounds);
    for (uint32_t r = 0; r < n_rounds; r++) {
        g->keeps[r] = RLF_NEW_ARRAY(pool, bool, prompts[r]->count);
        for (uint32_t i = 0; i < n_kept[r]; i++)
            g->keeps[r][kept[r][i]] = true;
    }
    return g;
}

/* ---- spaces ---- */

/* Lists the rows of each round's space that stay, and their places in the
 * result. */
static made *
list_rows(rlf_round_gather *g, const rlf_space *const *from)
{
    const rlf_domains *domains = &g->graph->domains;
    made *m = RLF_NEW(g->pool, made);
    m->rows = RLF_NEW_ARRAY(g->pool, uint32_t *, g->n_rounds);
    m->n_rows = RLF_NEW_ARRAY(g->pool, uint32_t, g->n_rounds);
    m->place = RLF_NEW_ARRAY(g->pool, uint32_t *, g->n_rounds);
    uint32_t count = 0;
    for (uint32_t r = 0; r < g->n_rounds; r++) {
        uint32_t n = from[r]->count;
        m->rows[r] = RLF_NEW_ARRAY(g->pool, uint32_t, n);
        m->place[r] = RLF_NEW_ARRAY(g->pool, uint32_t, n);
        for (uint32_t i = 0; i < n; i++) {
            uint32_t prompt =
                rlf_space_row(domains, from[r], i, g->prompts[r]->domain);
            bool stays = g->keeps[r][prompt];
            m->place[r][i] = stays ? count++ : LEFT_OUT;
            if (stays)
                m->rows[r][m->n_rows[r]++] = i;
        }
    }
    return m;
}

static made *make(rlf_round_gather *g, int to, const rlf_space *const *from);

/* The rounds' spaces above, by their k-th way up. */
static const rlf_space **
above(rlf_round_gather *g, const rlf_space *const *from, int k)
{
    const rlf_space **up =
        RLF_NEW_ARRAY(g->pool, const rlf_space *, g->n_rounds);
    for (uint32_t r = 0; r < g->n_rounds; r++)
        up[r] = from[r]->up[k].to;
    return up;
}

/* Rows of the result go up to those of the result, or, where the domain is the
 * same for all rounds, to the very rows that they went to. */
static void
map_up(rlf_round_gather *g, made *m, const rlf_space *const *from, int k)
{
    const rlf_domain *d = rlf_domains_get(&g->graph->domains, m->space->domain);
    const rlf_space **up = above(g, from, k);
    bool same = up[0]->domain == d->up[k];
    const made *to = same ? NULL : make(g, d->up[k], up);
    m->space->up[k].to = same ? up[0] : to->space;
    uint32_t *index = (uint32_t *)m->space->up[k].index, n = 0;
    for (uint32_t r = 0; r < g->n_rounds; r++)
        for (uint32_t i = 0; i < m->n_rows[r]; i++) {
            const uint32_t *way = from[r]->up[k].index;
            uint32_t row = m->rows[r][i];
            row = way ? way[row] : row;
            index[n++] = same ? row : to->place[r][row];
        }
}

static void
make_rows(rlf_round_gather *g, made *m, int to, const rlf_space *const *from)
{
    const rlf_domain *d = rlf_domains_get(&g->graph->domains, to);
    uint32_t count = 0;
    for (uint32_t r = 0; r < g->n_rounds; r++)
        count += m->n_rows[r];
    m->space = rlf_space_rows(g->pool, g->graph, to, count);
    uint64_t *identity = (uint64_t *)m->space->identity;
    for (uint32_t r = 0; r < g->n_rounds; r++)
        for (uint32_t i = 0; i < m->n_rows[r]; i++)
            *identity++ = from[r]->identity[m->rows[r][i]];
    for (int k = 0; k < d->n_up; k++)
        map_up(g, m, from, k);
}

/* Tokens stand row by row without gaps. */
static void
make_tokens(rlf_round_gather *g, made *m, int to, const rlf_space *const *from)
{
    const rlf_domain *d = rlf_domains_get(&g->graph->domains, to);
    const made *rows = NULL;
    const rlf_space *up[RLF_DOMAIN_UPS] = {0};
    for (int k = 0; k < d->n_up; k++) {
        const rlf_space **whole = above(g, from, k);
        bool same = whole[0]->domain == d->up[k];
        made *here = same ? NULL : make(g, d->up[k], whole);
        up[k] = same ? whole[0] : here->space;
        if (d->up[k] == d->owner)
            rows = here;
    }
    RLF_ASSERT(rows);
    uint32_t *lengths = RLF_NEW_ARRAY(g->pool, uint32_t, rows->space->count);
    uint32_t n = 0;
    for (uint32_t r = 0; r < g->n_rounds; r++)
        for (uint32_t i = 0; i < m->n_rows[r]; i++)
            lengths[n++] = from[r]->length[m->rows[r][i]];
    m->space = rlf_space_tokens(g->pool, g->graph, to, rows->space, 0, lengths);
    for (int k = 0; k < d->n_up; k++)
        m->space->up[k].to = up[k];
}

/* Domain `to` of the result, as the rounds' spaces `from` are made. */
static made *
make(rlf_round_gather *g, int to, const rlf_space *const *from)
{
    if (g->made[to])
        return g->made[to];
    made *m = list_rows(g, from);
    if (rlf_domains_get(&g->graph->domains, to)->kind == RLF_DOMAIN_TOKENS)
        make_tokens(g, m, to, from);
    else
        make_rows(g, m, to, from);
    return g->made[to] = m;
}

/* ---- columns ---- */

/* Copy what the kept rows have, `size` bytes a value. */
static void
copy(const rlf_round_gather *g, const made *m, const rlf_space *const *from,
     const void *const *data, size_t size, void *out)
{
    char *to = out;
    for (uint32_t r = 0; r < g->n_rounds; r++) {
        const char *source = data[r];
        for (uint32_t i = 0; i < m->n_rows[r]; i++) {
            uint32_t row = m->rows[r][i];
            size_t at = from[r]->offset ? from[r]->offset[row] : row;
            size_t n = from[r]->offset ? from[r]->length[row] : 1;
            if (n)
                memcpy(to, source + at * size, n * size);
            to += n * size;
        }
    }
}

rlf_status
rlf_round_gather_column(rlf_round_gather *g, int to, const rlf_column *rounds,
                        rlf_err *err, rlf_column *out)
{
    uint64_t rows = 0, values = 0;
    for (uint32_t r = 0; r < g->n_rounds; r++) {
        rows += rounds[r].space->count;
        values += rounds[r].space->extent;
    }
    /* texts are of two words */
    RLF_TRY(rlf_rows_room(g->pool, "what a collect keeps", 2 * rows, 2 * values,
                          err));
    const rlf_space **from =
        RLF_NEW_ARRAY(g->pool, const rlf_space *, g->n_rounds);
    const void **data = RLF_NEW_ARRAY(g->pool, const void *, g->n_rounds);
    bool text = rounds[0].text != NULL;
    for (uint32_t r = 0; r < g->n_rounds; r++) {
        from[r] = rounds[r].space;
        data[r] = text ? (const void *)rounds[r].text : rounds[r].number;
    }
    const made *m = make(g, to, from);
    *out = rlf_column_new(g->pool, m->space, text);
    copy(g, m, from, data, text ? sizeof *out->text : sizeof *out->number,
         text ? (void *)out->text : out->number);
    return RLF_OK;
}

/* ---- sets ---- */

typedef enum which { PROMPTS, SAMPLES, TOKENS } which;

static const rlf_space **
spaces_of(rlf_round_gather *g, rlf_rows *const *rounds, which of)
{
    const rlf_space **list =
        RLF_NEW_ARRAY(g->pool, const rlf_space *, g->n_rounds);
    for (uint32_t r = 0; r < g->n_rounds; r++)
        list[r] = of == PROMPTS   ? rounds[r]->prompts
                  : of == SAMPLES ? rounds[r]->samples
                                  : rounds[r]->tokens;
    return list;
}

static void
put_prompts(rlf_round_gather *g, rlf_rows *out, rlf_rows *const *rounds)
{
    const rlf_space **from = spaces_of(g, rounds, PROMPTS);
    const made *m = make(g, out->set->prompts, from);
    const void **data = RLF_NEW_ARRAY(g->pool, const void *, g->n_rounds);
    out->prompts = m->space;
    out->prompt = RLF_NEW_ARRAY(g->pool, rlf_prompt, m->space->count);
    for (uint32_t r = 0; r < g->n_rounds; r++)
        data[r] = rounds[r]->prompt;
    copy(g, m, from, data, sizeof *out->prompt, out->prompt);
    if (!rounds[0]->data_row)
        return;
    out->data_row = RLF_NEW_ARRAY(g->pool, uint32_t, m->space->count);
    for (uint32_t r = 0; r < g->n_rounds; r++)
        data[r] = rounds[r]->data_row;
    copy(g, m, from, data, sizeof *out->data_row, out->data_row);
}

static void
put_samples(rlf_round_gather *g, rlf_rows *out, rlf_rows *const *rounds)
{
    const rlf_space **from = spaces_of(g, rounds, SAMPLES);
    const made *m = make(g, out->set->samples, from);
    const void **data = RLF_NEW_ARRAY(g->pool, const void *, g->n_rounds);
    out->samples = m->space;
    if (!rounds[0]->sample)
        return;
    out->sample = RLF_NEW_ARRAY(g->pool, rlf_sample, m->space->count);
    for (uint32_t r = 0; r < g->n_rounds; r++)
        data[r] = rounds[r]->sample;
    copy(g, m, from, data, sizeof *out->sample, out->sample);
}

static void
put_tokens(rlf_round_gather *g, rlf_rows *out, rlf_rows *const *rounds)
{
    if (!rounds[0]->tokens)
        return;
    const rlf_space **from = spaces_of(g, rounds, TOKENS);
    const made *m = make(g, out->set->tokens, from);
    const void **data = RLF_NEW_ARRAY(g->pool, const void *, g->n_rounds);
    out->tokens = m->space;
    if (!rounds[0]->logprob)
        return;
    out->logprob = RLF_NEW_ARRAY(g->pool, double, m->space->extent);
    for (uint32_t r = 0; r < g->n_rounds; r++)
        data[r] = rounds[r]->logprob;
    copy(g, m, from, data, sizeof *out->logprob, out->logprob);
}

rlf_status
rlf_round_gather_rows(rlf_round_gather *g, const rlf_set *to,
                      rlf_rows *const *rounds, rlf_err *err, rlf_rows **out)
{
    rlf_rows *rows = RLF_NEW(g->pool, rlf_rows);
    rows->set = to;
    rows->temperature = rounds[0]->temperature;
    rows->lag = rounds[0]->lag;
    rows->reader = rounds[0]->reader;
    for (uint32_t r = 0; r < g->n_rounds; r++) {
        if (rounds[r]->temperature >= rows->temperature &&
            rounds[r]->temperature <= rows->temperature)
            continue;
        rlf_fail(err, RLF_USER,
                 "'%s' was sampled at temperature %g in one round and %g in "
                 "another",
                 to->name, (double)rows->temperature,
                 (double)rounds[r]->temperature);
        rlf_err_hint(err, "a set has one temperature: give it one that does "
                          "not depend on the round");
        return RLF_USER;
    }
    uint64_t n = 0, tokens = 0;
    for (uint32_t r = 0; r < g->n_rounds; r++) {
        n += (uint64_t)rounds[r]->prompts->count + rounds[r]->samples->count;
        tokens += rounds[r]->tokens ? rounds[r]->tokens->extent : 0;
    }
    RLF_TRY(rlf_rows_room(g->pool, to->name, 2 * n, tokens, err));
    put_prompts(g, rows, rounds);
    put_samples(g, rows, rounds);
    put_tokens(g, rows, rounds);
    *out = rows;
    return RLF_OK;
}

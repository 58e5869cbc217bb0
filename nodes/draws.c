/* See draws.h. */
#include "nodes/draws.h"

#include "nodes/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void see(void *arg, uint32_t position, int32_t token, float logprob,
                double uniform, const float *logits);

rlf_status
rlf_draws_new(rlf_arena *pool, const rlf_generation_options *options,
              uint32_t vocab, uint64_t identity, rlf_err *err, rlf_draws **out)
{
    static const char what[] = "the draws of a sample that is looked at";
    rlf_draws *d = RLF_NEW(pool, rlf_draws);
    *d = (rlf_draws){.options = *options, .vocab = vocab};
    RLF_TRY(rlf_arena_try(pool, options->max_new * sizeof *d->draws, what, err,
                          &d->draws));
    RLF_TRY(rlf_arena_try(pool, vocab * sizeof *d->order, what, err,
                          &d->order));
    RLF_TRY(rlf_arena_try(pool, vocab * sizeof *d->weights, what, err,
                          &d->weights));
    RLF_TRY(rlf_arena_try(pool, vocab * sizeof *d->watch.logits, what, err,
                          &d->watch.logits));
    memset(d->draws, 0, options->max_new * sizeof *d->draws);
    d->watch.identity = identity;
    d->watch.arg = d;
    d->watch.see = see;
    *out = d;
    return RLF_OK;
}

/* ---- one draw ---- */

/* Of equal logits the smaller id comes first. */
static int
compare(const void *a, const void *b)
{
    const rlf_ranked_token *x = a, *y = b;
    if (x->logit != y->logit)
        return x->logit < y->logit ? 1 : -1;
    return (x->id > y->id) - (x->id < y->id);
}

/* The number of tokens that are left by top_p, of the n likeliest: the first
 * that together have that part of their mass. */
static uint32_t
nucleus(const rlf_draws *d, uint32_t n)
{
    double mass = 0, sum = 0;
    if (d->options.top_p <= 0 || d->options.top_p >= 1)
        return n;
    for (uint32_t i = 0; i < n; i++)
        mass += d->weights[d->order[i].id];
    for (uint32_t i = 0; i < n; i++)
        if ((sum += d->weights[d->order[i].id]) >=
            (double)d->options.top_p * mass)
            return i + 1;
    return n;
}

/* Those of the n likeliest that are likely enough beside the likeliest. */
static uint32_t
likely_enough(const rlf_draws *d, uint32_t n)
{
    uint32_t i = 0;
    while (i < n && d->weights[d->order[i].id] >= (double)d->options.min_p)
        i++;
    return i;
}

static void
apply_filters(const rlf_draws *d, rlf_drawn_token *out)
{
    uint32_t k = (uint32_t)d->options.top_k;
    out->kept[0] = k && k < d->vocab ? k : d->vocab;
    out->kept[1] = nucleus(d, out->kept[0]);
    out->kept[2] = likely_enough(d, out->kept[1]);
    if (d->options.greedy)
        out->kept[0] = out->kept[1] = out->kept[2] = 1;
}

/* The part of [0, 1) that draws the token: words that are left, by their ids. */
static void
find_interval(const rlf_draws *d, uint32_t token, double all, rlf_drawn_token *out)
{
    double before = 0, kept = 0, own = 0;
    for (uint32_t i = 0; i < out->kept[2]; i++) {
        uint32_t id = d->order[i].id;
        kept += d->weights[id];
        before += id < token ? d->weights[id] : 0;
        own += id == token ? d->weights[id] : 0;
    }
    out->mass = kept / all;
    out->from = before / kept;
    out->to = (before + own) / kept;
}

void
rlf_draw_explain(rlf_draws *d, const float *logits, uint32_t token,
                 double uniform, rlf_drawn_token *out)
{
    double all = 0;
    *out = (rlf_drawn_token){.known = true, .uniform = uniform};
    for (uint32_t i = 0; i < d->vocab; i++)
        d->order[i] = (rlf_ranked_token){logits[i], i};
    qsort(d->order, d->vocab, sizeof *d->order, compare);
    for (uint32_t i = 0; i < d->vocab; i++) {
        d->weights[i] = exp((double)logits[i] - (double)d->order[0].logit);
        all += d->weights[i];
    }
    apply_filters(d, out);
    find_interval(d, token, all, out);
    while (out->rank < d->vocab && d->order[out->rank].id != token)
        out->rank++;
    for (uint32_t i = 0; i < d->vocab && i < RLF_LIKELY_TOKENS; i++)
        out->likely[out->n_likely++] =
            (rlf_likely_token){d->order[i].id, d->weights[d->order[i].id] / all,
                               i < out->kept[2]};
}

static void
see(void *arg, uint32_t position, int32_t token, float logprob, double uniform,
    const float *logits)
{
    rlf_draws *d = arg;
    (void)logprob;
    if (position >= d->options.max_new)
        return;
    if (logits && token >= 0 && (uint32_t)token < d->vocab)
        rlf_draw_explain(d, logits, (uint32_t)token, uniform,
                         &d->draws[position]);
    else
        d->draws[position] = (rlf_drawn_token){.uniform = uniform};
}

/* ---- facts ---- */

static void
put_member(rlf_buf *fact, const char *name, double value)
{
    rlf_buf_printf(fact, ",\"%s\":", name);
    rlf_buf_number(fact, value);
}

static void
put_token(const rlf_tokenizer *tokenizer, uint32_t id, rlf_buf *fact)
{
    rlf_str piece = rlf_tokenizer_piece(tokenizer, id);
    rlf_buf_printf(fact, "\"id\":%u,\"text\":", id);
    rlf_buf_json(fact, piece.p, piece.n);
}

/* The tokens of a text as a list. */
static void
put_tokens(const rlf_tokenizer *tokenizer, const uint32_t *ids, uint32_t n,
           rlf_buf *fact)
{
    rlf_buf_puts(fact, ",\"tokens\":[");
    for (uint32_t i = 0; i < n; i++) {
        rlf_buf_puts(fact, i ? ",{" : "{");
        put_token(tokenizer, ids[i], fact);
        rlf_buf_putc(fact, '}');
    }
    rlf_buf_putc(fact, ']');
}

static void
put_draw(const rlf_draws *d, const rlf_drawn_token *draw,
         const rlf_tokenizer *tokenizer, rlf_buf *fact)
{
    if (!d->options.greedy)
        put_member(fact, "uniform", draw->uniform);
    if (!draw->known)
        return;
    rlf_buf_printf(fact,
                   ",\"rank\":%u,\"vocabulary\":%u,\"left_by_top_k\":%u,"
                   "\"left_by_top_p\":%u,\"left\":%u",
                   draw->rank + 1, d->vocab, draw->kept[0], draw->kept[1],
                   draw->kept[2]);
    put_member(fact, "mass_left", draw->mass);
    put_member(fact, "from", draw->from);
    put_member(fact, "to", draw->to);
    rlf_buf_puts(fact, ",\"likely\":[");
    for (uint32_t i = 0; i < draw->n_likely; i++) {
        const rlf_likely_token *t = &draw->likely[i];
        rlf_buf_puts(fact, i ? ",{" : "{");
        put_token(tokenizer, t->id, fact);
        put_member(fact, "p", t->p);
        rlf_buf_printf(fact, ",\"left\":%s}", t->kept ? "true" : "false");
    }
    rlf_buf_putc(fact, ']');
}

static void
tell_prompt(const rlf_draws *d, const rlf_call *call, rlf_sample_trace *trace,
            uint32_t row)
{
    const rlf_graph *graph = call->env->graph;
    const rlf_rows *rows = call->out[0].rows;
    const rlf_generation_options *o = &d->options;
    const char *model = graph->resources.data[call->node->receiver].name;
    const rlf_prompt *prompt =
        &rows->prompt[rlf_space_row(&graph->domains, rows->samples, row,
                                    rows->prompts->domain)];
    rlf_buf fact = {0};
    rlf_sample_trace_begin(graph, "prompt", call->node, call->iteration, &fact);
    rlf_buf_puts(&fact, ",\"model\":");
    rlf_buf_json(&fact, model, strlen(model));
    rlf_buf_puts(&fact, ",\"prompt\":");
    rlf_buf_json(&fact, prompt->text.p, prompt->text.n);
    put_tokens(rows->reader->tokenizer, prompt->ids, prompt->n_ids, &fact);
    put_member(&fact, "temperature", (double)o->temperature);
    rlf_buf_printf(&fact, ",\"top_k\":%d,\"greedy\":%s,\"max_new\":%u",
                   o->top_k, o->greedy ? "true" : "false", o->max_new);
    put_member(&fact, "top_p", (double)o->top_p);
    put_member(&fact, "min_p", (double)o->min_p);
    rlf_buf_printf(&fact, ",\"finished\":%s,\"lag\":%u}",
                   rows->sample[row].finished ? "true" : "false", rows->lag);
    rlf_sample_trace_add(trace, &fact);
    rlf_buf_free(&fact);
}

void
rlf_draws_tell(const rlf_draws *d, const rlf_call *call,
               rlf_sample_trace *trace, uint32_t row)
{
    const rlf_rows *rows = call->out[0].rows;
    const rlf_sample *sample = &rows->sample[row];
    const double *logprob = rows->logprob + rows->tokens->offset[row];
    tell_prompt(d, call, trace, row);
    for (uint32_t t = 0; t < sample->n_ids; t++) {
        rlf_buf fact = {0};
        rlf_buf_printf(&fact, "{\"kind\":\"token\",\"node\":%d,\"token\":%u,",
                       call->node->id, t);
        put_token(rows->reader->tokenizer, sample->ids[t], &fact);
        put_member(&fact, "logprob", logprob[t]);
        put_draw(d, &d->draws[t], rows->reader->tokenizer, &fact);
        rlf_buf_putc(&fact, '}');
        rlf_sample_trace_add(trace, &fact);
        rlf_buf_free(&fact);
    }
}

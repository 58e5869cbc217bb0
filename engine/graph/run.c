/* Making spaces, columns and parts of sets in a pool: see run.h. */
#include "engine/graph/run.h"

#include "engine/base/vec.h"
#include "engine/graph/class.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

rlf_column
rlf_column_new(rlf_arena *pool, const rlf_space *space, bool text)
{
    rlf_column column = {.space = space};
    if (text)
        column.text = RLF_NEW_ARRAY(pool, rlf_str, space->extent);
    else
        column.number = RLF_NEW_ARRAY(pool, double, space->extent);
    return column;
}

rlf_status
rlf_column_try(rlf_arena *pool, const rlf_space *space, bool text,
               const char *what, rlf_err *err, rlf_column *out)
{
    size_t each = text ? sizeof(rlf_str) : sizeof(double);
    RLF_TRY(rlf_arena_room(pool, space->extent * each + 64, what, err));
    *out = rlf_column_new(pool, space, text);
    return RLF_OK;
}

rlf_status
rlf_rows_room(rlf_arena *pool, const char *name, uint64_t rows, uint64_t tokens,
              rlf_err *err)
{
    /* of each row: what stands in spaces, lists of rows, prompt and sample */
    size_t each = sizeof(rlf_prompt) + sizeof(rlf_sample) +
                  2 * (sizeof(uint64_t) + RLF_DOMAIN_UPS * sizeof(uint32_t)) +
                  8 * sizeof(uint64_t);
    char what[100];
    snprintf(what, sizeof what, "the rows of '%.*s'", RLF_CUT(60, name));
    return rlf_arena_room(pool, each * rows + tokens * sizeof(double) + 4096,
                          what, err);
}

rlf_space *
rlf_space_rows(rlf_arena *pool, const rlf_graph *graph, int domain,
               uint32_t count)
{
    const rlf_domain *d = rlf_domains_get(&graph->domains, domain);
    rlf_space *space = RLF_NEW(pool, rlf_space);
    space->domain = domain;
    space->count = count;
    space->extent = count;
    space->identity = RLF_NEW_ARRAY(pool, uint64_t, count);
    for (int i = 0; i < d->n_up; i++)
        space->up[i].index = RLF_NEW_ARRAY(pool, uint32_t, count);
    return space;
}

rlf_space *
rlf_space_tokens(rlf_arena *pool, const rlf_graph *graph, int domain,
                 rlf_space *rows, uint32_t cap, const uint32_t *lengths)
{
    const rlf_domain *d = rlf_domains_get(&graph->domains, domain);
    uint64_t *offset = RLF_NEW_ARRAY(pool, uint64_t, rows->count);
    uint32_t *length = RLF_NEW_ARRAY(pool, uint32_t, rows->count);
    uint64_t at = 0;
    for (uint32_t i = 0; i < rows->count; i++) {
        offset[i] = at;
        length[i] = lengths ? lengths[i] : 0;
        at += lengths ? lengths[i] : cap;
    }
    rlf_space *space = RLF_NEW(pool, rlf_space);
    *space = (rlf_space){.domain = domain,
                         .count = rows->count,
                         .offset = offset,
                         .length = length,
                         .extent = at,
                         .identity = rows->identity};
    for (int i = 0; i < d->n_up; i++)
        if (d->up[i] == d->owner)
            space->up[i].to = rows;
    return space;
}

/* The space of the part's domain `domain` for the rows `keep` of `whole`. */
static rlf_space *
part_of(rlf_arena *pool, const rlf_graph *graph, int domain,
        const rlf_space *whole, const uint32_t *keep, uint32_t n)
{
    rlf_space *space = rlf_space_rows(pool, graph, domain, n);
    const rlf_domain *d = rlf_domains_get(&graph->domains, domain);
    for (int i = 0; i < d->n_up; i++)
        if (d->up[i] == whole->domain) {
            space->up[i].to = whole;
            if (n)
                memcpy((uint32_t *)space->up[i].index, keep, 4 * (size_t)n);
        }
    for (uint32_t i = 0; i < n; i++)
        ((uint64_t *)space->identity)[i] = whole->identity[keep[i]];
    return space;
}

/* Fill the map of a part's samples to its prompts: the sample's prompt in the
 * whole set, found again among the prompts kept. */
static void
map_to_prompts(rlf_arena *pool, const rlf_graph *graph, rlf_space *samples,
               const rlf_space *prompts, const rlf_rows *whole,
               const uint32_t *kept_prompts, const uint32_t *kept_samples)
{
    const rlf_domain *d = rlf_domains_get(&graph->domains, samples->domain);
    for (int k = 0; k < d->n_up; k++) {
        if (d->up[k] != prompts->domain)
            continue;
        samples->up[k].to = prompts;
        uint32_t *place = NULL;
        if (kept_prompts) {
            place = RLF_NEW_ARRAY(pool, uint32_t, whole->prompts->count);
            for (uint32_t i = 0; i < prompts->count; i++)
                place[kept_prompts[i]] = i;
        }
        uint32_t *index = (uint32_t *)samples->up[k].index;
        for (uint32_t i = 0; i < samples->count; i++) {
            uint32_t p = rlf_space_row(&graph->domains, whole->samples,
                                       kept_samples[i], whole->prompts->domain);
            index[i] = place ? place[p] : p;
        }
    }
}

static rlf_space *
part_tokens(rlf_arena *pool, const rlf_graph *graph, const rlf_set *set,
            const rlf_rows *rows, rlf_space *samples, const uint32_t *keep)
{
    uint32_t *lengths = RLF_NEW_ARRAY(pool, uint32_t, samples->count);
    for (uint32_t i = 0; i < samples->count; i++)
        lengths[i] = rows->tokens->length[keep[i]];
    rlf_space *tokens =
        rlf_space_tokens(pool, graph, set->tokens, samples, 0, lengths);
    const rlf_domain *d = rlf_domains_get(&graph->domains, set->tokens);
    for (int k = 0; k < d->n_up; k++)
        if (d->up[k] == rows->tokens->domain)
            tokens->up[k].to = rows->tokens;
    return tokens;
}

/* Copies of the sample arrays, and of what was recorded per token. */
static void
part_samples(rlf_arena *pool, rlf_rows *part, const rlf_rows *rows,
             const uint32_t *keep)
{
    uint32_t n = part->samples->count;
    if (rows->sample) {
        part->sample = RLF_NEW_ARRAY(pool, rlf_sample, n);
        for (uint32_t i = 0; i < n; i++)
            part->sample[i] = rows->sample[keep[i]];
    }
    if (!rows->logprob)
        return;
    part->logprob = RLF_NEW_ARRAY(pool, double, part->tokens->extent);
    for (uint32_t i = 0; i < n; i++)
        memcpy(part->logprob + part->tokens->offset[i],
               rows->logprob + rows->tokens->offset[keep[i]],
               part->tokens->length[i] * sizeof(double));
}

rlf_rows *
rlf_rows_part(rlf_arena *pool, const rlf_graph *graph, const rlf_set *set,
              const rlf_rows *rows, const uint32_t *prompts, uint32_t n_prompts,
              const uint32_t *samples, uint32_t n_samples)
{
    rlf_rows *part = RLF_NEW(pool, rlf_rows);
    part->set = set;
    part->temperature = rows->temperature;
    part->lag = rows->lag;
    part->reader = rows->reader;
    bool same = rows->prompts == rows->samples;
    part->prompts = rows->prompts;
    part->prompt = rows->prompt;
    part->data_row = rows->data_row;
    if (prompts) {
        part->prompts = part_of(pool, graph, set->prompts, rows->prompts,
                                prompts, n_prompts);
        part->prompt = RLF_NEW_ARRAY(pool, rlf_prompt, n_prompts);
        for (uint32_t i = 0; i < n_prompts; i++)
            part->prompt[i] = rows->prompt[prompts[i]];
        if (rows->data_row) {
            part->data_row = RLF_NEW_ARRAY(pool, uint32_t, n_prompts);
            for (uint32_t i = 0; i < n_prompts; i++)
                part->data_row[i] = rows->data_row[prompts[i]];
        }
    }
    if (prompts && same && set->samples == set->prompts) {
        part->samples = part->prompts;
    } else {
        part->samples = part_of(pool, graph, set->samples, rows->samples,
                                samples, n_samples);
        map_to_prompts(pool, graph, part->samples, part->prompts, rows, prompts,
                       samples);
    }
    if (rows->tokens)
        part->tokens =
            part_tokens(pool, graph, set, rows, part->samples, samples);
    part_samples(pool, part, rows, samples);
    return part;
}

/* The samples that `whole` has for the prompts of `to`; `keep` says which. */
static rlf_space *
samples_of_prompts(rlf_arena *pool, const rlf_graph *graph, int domain,
                   const rlf_rows *whole, const rlf_rows *to, uint32_t *keep)
{
    const rlf_domains *domains = &graph->domains;
    int prompts = whole->prompts->domain;
    uint32_t n = 0;
    /* per prompt of `whole`: 0, or 1 + its place among those of `to` */
    uint32_t *place = RLF_NEW_ARRAY(pool, uint32_t, whole->prompts->count);
    for (uint32_t i = 0; i < to->prompts->count; i++)
        place[rlf_space_row(domains, to->prompts, i, prompts)] = i + 1;
    for (uint32_t i = 0; i < whole->samples->count; i++)
        if (place[rlf_space_row(domains, whole->samples, i, prompts)])
            keep[n++] = i;
    rlf_space *space = part_of(pool, graph, domain, whole->samples, keep, n);
    const rlf_domain *d = rlf_domains_get(domains, domain);
    for (int k = 0; k < d->n_up; k++) {
        if (d->up[k] != to->prompts->domain)
            continue;
        space->up[k].to = to->prompts;
        uint32_t *index = (uint32_t *)space->up[k].index;
        for (uint32_t i = 0; i < n; i++)
            index[i] = place[rlf_space_row(domains, whole->samples, keep[i],
                                           prompts)] -
                       1;
    }
    return space;
}

rlf_rows *
rlf_rows_belonging(rlf_arena *pool, const rlf_graph *graph, const rlf_set *set,
                   const rlf_rows *whole, const rlf_rows *to)
{
    const rlf_domains *domains = &graph->domains;
    uint32_t n = to->prompts->count;
    rlf_rows *part = RLF_NEW(pool, rlf_rows);
    *part = (rlf_rows){.set = set,
                       .prompts = to->prompts,
                       .temperature = whole->temperature,
                       .lag = whole->lag,
                       .reader = whole->reader};
    part->prompt = RLF_NEW_ARRAY(pool, rlf_prompt, n);
    if (whole->data_row)
        part->data_row = RLF_NEW_ARRAY(pool, uint32_t, n);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t from =
            rlf_space_row(domains, to->prompts, i, whole->prompts->domain);
        part->prompt[i] = whole->prompt[from];
        if (whole->data_row)
            part->data_row[i] = whole->data_row[from];
    }
    bool by_sample = set->samples == to->samples->domain;
    uint32_t *keep;
    if (by_sample || set->samples == set->prompts) {
        part->samples = by_sample ? to->samples : to->prompts;
        keep = RLF_NEW_ARRAY(pool, uint32_t, part->samples->count);
        for (uint32_t i = 0; i < part->samples->count; i++)
            keep[i] = rlf_space_row(domains, part->samples, i,
                                    whole->samples->domain);
    } else {
        keep = RLF_NEW_ARRAY(pool, uint32_t, whole->samples->count);
        part->samples =
            samples_of_prompts(pool, graph, set->samples, whole, to, keep);
    }
    if (whole->tokens)
        part->tokens =
            part_tokens(pool, graph, set, whole, part->samples, keep);
    part_samples(pool, part, whole, keep);
    return part;
}

const rlf_mesh *
rlf_call_mesh(const rlf_call *call)
{
    static const rlf_mesh one = {.layout = {.tp = 1, .pp = 1, .dp = 1}};
    return call->env->mesh ? &call->env->mesh[call->node->id] : &one;
}

/* The formal's number; -1: there is none. */
static int
formal_of(const rlf_node_class *class, const char *name)
{
    for (int i = 0; i < class->n_formals; i++)
        if (strcmp(class->formals[i].name, name) == 0)
            return i;
    return -1;
}

rlf_status
rlf_call_number(const rlf_call *call, const char *name, rlf_err *err,
                double *out)
{
    const rlf_arg *arg = rlf_node_arg(call->node, name);
    *out = arg->number;
    if (arg->kind != RLF_ARG_VALUE)
        return RLF_OK;
    *out = call->in[arg->input].column.number[0];
    int formal = formal_of(call->node->class, name);
    char why[RLF_FORMAL_WHY];
    if (isnan(*out)) {
        rlf_fail(err, RLF_USER, "this is not a number");
        rlf_err_hint(err, "it may be 0 / 0, or log of what is below 0: clamp "
                          "what is divided by, or the argument of log");
        rlf_call_place_nonfinite(call, err);
        rlf_err_place(err, arg->span, call->node->class->name);
        return RLF_USER;
    }
    if (formal < 0 ||
        rlf_formal_takes(rlf_node_formal(call->node, formal), *out, why))
        return RLF_OK;
    return rlf_node_refuse(call->node, formal, why, err);
}

uint64_t
rlf_column_nonfinite(const rlf_column *column, const uint32_t *rows, uint32_t n)
{
    const rlf_space *s = column->space;
    for (uint32_t i = 0; i < (rows ? n : s->count); i++) {
        uint32_t row = rows ? rows[i] : i;
        uint64_t from = s->offset ? s->offset[row] : row;
        uint32_t values = s->offset ? s->length[row] : 1;
        for (uint32_t t = 0; t < values; t++)
            if (!isfinite(column->number[from + t]))
                return from + t;
    }
    return UINT64_MAX;
}

void
rlf_nonfinite_blame(const rlf_nonfinite_place *nonfinite, const char *class,
                    rlf_err *err)
{
    char hint[RLF_EXPR_HINT];
    rlf_err_place(err, nonfinite->span, class);
    if (!err || nonfinite->code == RLF_EXPR_INPUT)
        return;
    rlf_expr_nonfinite_hint(nonfinite->code, nonfinite->value,
                            nonfinite->known ? nonfinite->arg : NULL, hint);
    if (nonfinite->nan.made)
        rlf_expr_nan_of(nonfinite->nan.code,
                        nonfinite->nan.known ? nonfinite->nan.arg : NULL, hint);
    err->hint[0] = 0;
    rlf_err_hint(err, "%s", hint);
}

bool
rlf_call_place_nonfinite(const rlf_call *call, rlf_err *err)
{
    const rlf_node *node = call->node;
    for (int i = 0; i < node->n_inputs && call->env->nonfinite; i++) {
        int value = node->inputs[i];
        const rlf_column *c = &call->in[i].column;
        bool number =
            call->env->graph->values.data[value].kind == RLF_VALUE_NUMBER;
        const rlf_nonfinite_place *nonfinite = &call->env->nonfinite[value];
        if (!number || !c->number || !nonfinite->span.source ||
            rlf_column_nonfinite(c, NULL, 0) == UINT64_MAX)
            continue;
        rlf_nonfinite_blame(nonfinite, node->class->name, err);
        return true;
    }
    return false;
}

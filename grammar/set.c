/* Sets: each made by one construct, on domains of its own or of others. */
#include "grammar/passes.h"

static int
add_rows(rlf_sema *s, const char *name, int owner, const int *up, int n_up,
         rlf_span span)
{
    rlf_domain d = {
        .kind = RLF_DOMAIN_ROWS, .name = name, .owner = owner, .span = span};
    for (int i = 0; i < n_up; i++) {
        bool there = false;
        for (int k = 0; k < d.n_up; k++)
            there = there || d.up[k] == up[i];
        if (!there)
            d.up[d.n_up++] = up[i];
    }
    return rlf_domains_add(&s->graph->domains, d);
}

/* Some of the rows of another set, maybe none. */
static int
add_some_rows(rlf_sema *s, const char *name, int owner, const int *up, int n_up,
              rlf_span span)
{
    int rows = add_rows(s, name, owner, up, n_up, span);
    s->graph->domains.list.data[rows].maybe_empty = true;
    return rows;
}

static int
add_tokens(rlf_sema *s, const char *name, int rows, int whole, rlf_span span)
{
    rlf_domain d = {.kind = RLF_DOMAIN_TOKENS,
                    .name = rlf_arena_printf(s->arena, "tokens of %s", name),
                    .owner = rows,
                    .up = {rows, whole},
                    .n_up = whole >= 0 ? 2 : 1,
                    .span = span};
    return rlf_domains_add(&s->graph->domains, d);
}

int
rlf_set_add(rlf_sema *s, rlf_set set)
{
    int index = rlf_graph_add_set(s->graph, set);
    RLF_PUSH_IN(s->arena, &s->makers,
                (rlf_maker){.item = -1, .value_index = -1});
    RLF_ASSERT(s->makers.count == (size_t)index + 1);
    return index;
}

/* A set of no data, no model and no other set. */
static rlf_set
set_of(rlf_set_kind kind, const char *name, int prompts, int samples,
       int tokens, rlf_span span)
{
    return (rlf_set){.kind = kind,
                     .name = name,
                     .prompts = prompts,
                     .samples = samples,
                     .tokens = tokens,
                     .origin = -1,
                     .from = -1,
                     .data = -1,
                     .model = -1,
                     .span = span};
}

int
rlf_set_all_rows(rlf_sema *s, const char *name, int above, rlf_span span)
{
    return add_rows(s, name, -1, &above, above >= 0 ? 1 : 0, span);
}

int
rlf_set_draw(rlf_sema *s, const char *name, int data, bool all, rlf_span span)
{
    int rows = s->graph->resources.data[data].domain;
    if (!all)
        rows = add_rows(s, name, -1, &rows, 1, span);
    rlf_set set = set_of(RLF_SET_DATA, name, rows, rows, -1, span);
    set.data = data;
    return rlf_set_add(s, set);
}

int
rlf_set_generated(rlf_sema *s, const char *name, int from, bool several,
                  int model, rlf_span span)
{
    int prompts = s->graph->sets.data[from].prompts;
    int samples =
        several ? add_rows(s, name, prompts, &prompts, 1, span) : prompts;
    int tokens = add_tokens(s, name, samples, -1, span);
    rlf_set set = set_of(RLF_SET_SAMPLED, name, prompts, samples, tokens, span);
    set.from = from;
    set.data = s->graph->sets.data[from].data;
    set.model = model;
    return rlf_set_add(s, set);
}

int
rlf_set_asked(rlf_sema *s, const char *name, int domain, int origin,
              rlf_span span)
{
    int data = origin >= 0 ? s->graph->sets.data[origin].data : -1;
    rlf_set set = set_of(RLF_SET_ASKED, name, domain, domain, -1, span);
    set.data = data;
    return rlf_set_add(s, set);
}

int
rlf_set_written(rlf_sema *s, const char *name, int domain, int to,
                rlf_span span)
{
    const rlf_set *answered = &s->graph->sets.data[to];
    int owner = rlf_domains_get(&s->graph->domains, domain)->owner;
    bool keeps = domain == answered->prompts || owner == answered->prompts;
    int prompts = keeps ? answered->prompts : domain;
    int data = answered->data;
    int tokens = add_tokens(s, name, domain, -1, span);
    rlf_set set = set_of(RLF_SET_WRITTEN, name, prompts, domain, tokens, span);
    set.from = to;
    set.data = data;
    return rlf_set_add(s, set);
}

int
rlf_set_conversations(rlf_sema *s, const char *name, int of, rlf_span span)
{
    int made =
        rlf_set_written(s, name, s->graph->sets.data[of].prompts, of, span);
    s->graph->sets.data[made].turns = true;
    return made;
}

int
rlf_set_part(rlf_sema *s, const char *name, int whole, bool by_prompt,
             rlf_span span)
{
    rlf_set set = s->graph->sets.data[whole];
    int samples = set.samples, tokens = set.tokens;
    bool one = set.prompts == set.samples;
    if (by_prompt || one)
        set.prompts = add_some_rows(s, name, -1, &set.prompts, 1, span);
    if (one) {
        set.samples = set.prompts;
    } else {
        int up[2] = {set.prompts, samples};
        set.samples = add_some_rows(s, name, set.prompts, up, 2, span);
    }
    if (tokens >= 0)
        set.tokens = add_tokens(s, name, set.samples, tokens, span);
    set.name = name;
    set.origin = whole;
    set.span = span;
    return rlf_set_add(s, set);
}

bool
rlf_set_some_of(const rlf_sema *s, int domain, int whole)
{
    while (domain > 0 && domain != whole) {
        const rlf_domain *d = rlf_domains_get(&s->graph->domains, domain);
        domain = -1;
        for (int k = 0; k < d->n_up; k++)
            if (d->up[k] != d->owner)
                domain = d->up[k];
    }
    return domain == whole;
}

int
rlf_set_belonging(rlf_sema *s, int x, int to, rlf_span span, bool *made)
{
    rlf_set set = s->graph->sets.data[x];
    const rlf_set t = s->graph->sets.data[to];
    *made = false;
    for (int k = to; k >= 0; k = s->graph->sets.data[k].origin)
        if (k == x)
            return to;
    if (!rlf_set_some_of(s, t.prompts, set.prompts))
        return -1;
    bool one = set.prompts == set.samples;
    int samples = one ? t.prompts : t.samples, whole = set.samples;
    bool own = !rlf_set_some_of(s, samples, whole);
    if (samples == whole || (own && t.prompts == set.prompts))
        return x;
    set.name = rlf_arena_printf(s->arena, "%s[%s]", set.name, t.name);
    int up[2] = {t.prompts, whole};
    if (own)
        samples = add_some_rows(s, set.name, t.prompts, up, 2, span);
    set.prompts = t.prompts;
    set.samples = samples;
    if (set.tokens >= 0)
        set.tokens = add_tokens(s, set.name, samples, set.tokens, span);
    set.origin = x;
    set.span = span;
    *made = true;
    return rlf_set_add(s, set);
}

int
rlf_set_of_domain(const rlf_sema *s, int domain)
{
    int found = -1;
    for (size_t i = 0; i < s->graph->sets.count; i++) {
        const rlf_set *set = &s->graph->sets.data[i];
        if (set->prompts != domain && set->samples != domain &&
            set->tokens != domain)
            continue;
        /* One that has the domain as its samples, with responses, says more
         * than one that has it as prompts. */
        if (found < 0)
            found = (int)i;
    }
    return found;
}

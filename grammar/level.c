/* Levels: on which domain a value lives, where two are combined, and what
 * reductions give (rlf(5), LEVELS).
 *
 * A value is broadcast downwards in the graph of domains; only a reduction
 * moves it upwards. */
#include "grammar/passes.h"

#include "grammar/other_names.h"

#include <string.h>

rlf_level
rlf_level_of(const rlf_sema *s, int domain)
{
    const rlf_domain *d = rlf_domains_get(&s->graph->domains, domain);
    switch (d->kind) {
    case RLF_DOMAIN_SCALAR:
        return RLF_LEVEL_SCALAR;
    case RLF_DOMAIN_TOKENS:
        return RLF_LEVEL_TOKEN;
    case RLF_DOMAIN_VOCAB:
        return RLF_LEVEL_VOCAB;
    case RLF_DOMAIN_ROWS:
        break;
    }
    return d->owner >= 0 ? RLF_LEVEL_SAMPLE : RLF_LEVEL_PROMPT;
}

bool
rlf_level_may_be_empty(const rlf_sema *s, int domain)
{
    const rlf_domain *d = rlf_domains_get(&s->graph->domains, domain);
    bool maybe = d->maybe_empty;
    for (int k = 0; k < d->n_up && !maybe; k++)
        maybe = rlf_level_may_be_empty(s, d->up[k]);
    return maybe;
}

int
rlf_level_vocab(rlf_sema *s, int tokens)
{
    rlf_domains *domains = &s->graph->domains;
    for (size_t i = 1; i < domains->list.count; i++) {
        const rlf_domain *d = &domains->list.data[i];
        if (d->kind == RLF_DOMAIN_VOCAB && d->owner == tokens)
            return (int)i;
    }
    /* Of a part: below those of the whole. */
    const rlf_domain of = *rlf_domains_get(domains, tokens);
    rlf_domain d = {.kind = RLF_DOMAIN_VOCAB,
                    .name = rlf_arena_printf(s->arena, "words at %s", of.name),
                    .owner = tokens,
                    .up = {tokens},
                    .n_up = 1,
                    .span = of.span};
    for (int i = 0; i < of.n_up; i++) {
        if (rlf_domains_get(domains, of.up[i])->kind == RLF_DOMAIN_TOKENS)
            d.up[d.n_up++] = rlf_level_vocab(s, of.up[i]);
    }
    return rlf_domains_add(domains, d);
}

bool
rlf_level_here(rlf_sema *s, const rlf_entity *entity, rlf_span span)
{
    if (entity->kind != RLF_ENTITY_NUMBER)
        return true;
    const rlf_term *t = &s->terms.data[entity->term];
    if (rlf_level_of(s, t->domain) != RLF_LEVEL_VOCAB ||
        (t->region == s->part && t->update == s->update))
        return true;
    rlf_diag *diag = rlf_diag_error(
        s->diags, "level", span,
        "'%s' is %s, which is never stored: it lives in the block that names "
        "it",
        t->name, rlf_level_name(s, t->domain, t->set));
    rlf_diag_note(s->diags, diag, t->span, "it was named there");
    rlf_diag_hint(s->diags, diag,
                  "call logprobs here, or name what it reduces to: sum(... "
                  "over vocab)");
    return false;
}

/* The set whose rows a domain is: the one that values came through, if it has
 * them, else the first that has. */
static int
owner_set(const rlf_sema *s, int domain, int set)
{
    const rlf_domain *d = rlf_domains_get(&s->graph->domains, domain);
    if (d->kind == RLF_DOMAIN_VOCAB)
        domain = d->owner;
    if (set >= 0) {
        const rlf_set *mine = &s->graph->sets.data[set];
        if (mine->prompts == domain || mine->samples == domain ||
            mine->tokens == domain)
            return set;
    }
    return rlf_set_of_domain(s, domain);
}

const char *
rlf_level_name(const rlf_sema *s, int domain, int set)
{
    if (domain == 0)
        return "a scalar";
    const rlf_domain *d = rlf_domains_get(&s->graph->domains, domain);
    set = owner_set(s, domain, set);
    const rlf_set *owner = set >= 0 ? &s->graph->sets.data[set] : NULL;
    const char *level =
        d->kind == RLF_DOMAIN_TOKENS  ? "token"
        : d->kind == RLF_DOMAIN_VOCAB ? "word at a token"
        : owner && owner->samples == domain && owner->tokens >= 0 ? "sample"
                                                                  : "prompt";
    return rlf_arena_printf(s->arena, "one per %s of '%s'", level,
                            owner ? owner->name : d->name);
}

/* All rows of a data set? */
static bool
is_data(const rlf_sema *s, int domain)
{
    for (size_t i = 0; i < s->graph->resources.count; i++) {
        const rlf_resource *r = &s->graph->resources.data[i];
        if (r->class->data && r->domain == domain)
            return true;
    }
    return false;
}

/* A domain of rows that both go back to, or -1: what they share. To all rows of
 * a data set only groups can be brought up, not what was drawn from it. */
static int
shared(const rlf_sema *s, int a, int b)
{
    const rlf_domains *domains = &s->graph->domains;
    int best = -1;
    for (int d = 1; d < (int)domains->list.count; d++) {
        int x = rlf_domain_rows(domains, a), y = rlf_domain_rows(domains, b);
        if (is_data(s, d) && rlf_domains_get(domains, x)->owner != d &&
            rlf_domains_get(domains, y)->owner != d)
            continue;
        if (rlf_domain_reaches(domains, d, a) &&
            rlf_domain_reaches(domains, d, b))
            best = d;
    }
    return best;
}

/* The place where operand number k, which is `term`, was written. */
static rlf_span
written(const rlf_sema *s, int k, int term)
{
    return s->operand[k].source ? s->operand[k] : s->terms.data[term].span;
}

/* A text of the prompts that both go back to, as a program says it. */
static const char *
one_of_prompt(const rlf_sema *s, int rows)
{
    int set = rlf_set_of_domain(s, rows);
    return rlf_arena_printf(s->arena, "%s.prompt",
                            set >= 0 ? s->graph->sets.data[set].name : "s");
}

/* Do they meet once each is reduced over its tokens? */
static bool
meet_as_samples(const rlf_sema *s, int a, int b)
{
    const rlf_domains *domains = &s->graph->domains;
    int x = s->terms.data[a].domain, y = s->terms.data[b].domain;
    int rows_x = rlf_domain_rows(domains, x);
    int rows_y = rlf_domain_rows(domains, y);
    return (x != rows_x || y != rows_y) &&
           rlf_domain_meet(domains, rows_x, rows_y) >= 0;
}

static void
hint_meet(rlf_sema *s, rlf_diag *diag, int a, int b)
{
    const rlf_domains *domains = &s->graph->domains;
    for (int k = 0; k < 2; k++) {
        if (rlf_level_of(s, s->terms.data[k ? b : a].domain) != RLF_LEVEL_VOCAB)
            continue;
        rlf_diag_hint(s->diags, diag, "reduce it first: sum(... over vocab)");
        return;
    }
    if (meet_as_samples(s, a, b)) {
        bool first =
            rlf_level_of(s, s->terms.data[a].domain) == RLF_LEVEL_TOKEN;
        bool both = first &&
                    rlf_level_of(s, s->terms.data[b].domain) == RLF_LEVEL_TOKEN;
        rlf_diag_hint(
            s->diags, diag, "reduce %s first: sum(%s over tokens)",
            both ? "each" : "it",
            both ? "..." : rlf_form_text(s, written(s, !first, first ? a : b)));
        return;
    }
    if (s->terms.data[a].live && s->terms.data[b].live) {
        rlf_diag_hint(s->diags, diag,
                      "a loss of two sets is the sum of what each gives: "
                      "mean(... over batch) + mean(... over batch)");
        return;
    }
    int common = shared(s, s->terms.data[a].domain, s->terms.data[b].domain);
    if (common < 0) {
        rlf_diag_hint(s->diags, diag,
                      "they share no prompts: reduce one to a scalar, "
                      "mean(... over batch)");
        return;
    }
    /* The one that can be brought up by `over group`. */
    int up = -1;
    for (int k = 0; k < 2; k++) {
        int rows = rlf_domain_rows(domains, s->terms.data[k ? b : a].domain);
        if (rlf_domains_get(domains, rows)->owner >= 0)
            up = k;
    }
    const char *text = rlf_form_text(s, written(s, up > 0, up > 0 ? b : a));
    if (s->terms.data[a].text || s->terms.data[b].text)
        rlf_diag_hint(s->diags, diag,
                      "texts meet where each prompt has one: generate without "
                      "n:, or compare with a text of the prompt, as %s",
                      one_of_prompt(s, common));
    else if (up >= 0)
        rlf_diag_hint(s->diags, diag,
                      "reduce one to the prompts they share: mean(%s over "
                      "group)",
                      text);
    else
        rlf_diag_hint(s->diags, diag, "reduce one to the rows they share, '%s'",
                      rlf_domains_get(domains, common)->name);
}

int
rlf_level_meet(rlf_sema *s, int a, int b, rlf_span at)
{
    const rlf_term *x = &s->terms.data[a], *y = &s->terms.data[b];
    int domain = rlf_domain_meet(&s->graph->domains, x->domain, y->domain);
    if (domain >= 0)
        return domain;
    rlf_diag *diag =
        rlf_diag_error(s->diags, "level", at, "%s and %s cannot be combined",
                       rlf_level_name(s, x->domain, x->set),
                       rlf_level_name(s, y->domain, y->set));
    diag->left = written(s, 0, a);
    diag->right = written(s, 1, b);
    if (x->set >= 0 && y->set >= 0 && x->set != y->set &&
        !strcmp(rlf_level_name(s, x->domain, x->set),
                rlf_level_name(s, y->domain, y->set)))
        rlf_diag_hint(s->diags, diag,
                      "each time that it is written it makes a set of its own: "
                      "where one set is meant, give it a name, x = ..., and "
                      "use x twice");
    else
        hint_meet(s, diag, a, b);
    return -1;
}

bool
rlf_level_own(rlf_sema *s, int x, const char *what, rlf_span at)
{
    const rlf_term *t = &s->terms.data[x];
    if (!t->repeats || rlf_level_of(s, t->domain) != RLF_LEVEL_TOKEN)
        return true;
    const rlf_term *whole = &s->terms.data[t->repeats - 1];
    rlf_span written = t->repeated;
    bool inside = written.source == at.source && written.first >= at.first &&
                  written.last <= at.last;
    rlf_diag *diag =
        rlf_diag_error(s->diags, "level", inside ? written : at,
                       "%s, and in this sum each token gets all of what is %s",
                       what, rlf_level_name(s, whole->domain, whole->set));
    const char *text = rlf_form_text(s, written);
    int set = owner_set(s, t->domain, t->set);
    const char *name = set >= 0 ? s->graph->sets.data[set].name : "s";
    if (!inside)
        rlf_diag_note(s->diags, diag, written, "it is added here");
    rlf_diag_hint(s->diags, diag,
                  "%s.at_last(%s) adds it once, on the last token; "
                  "%s.at_all(%s) really on each",
                  name, text, name, text);
    return false;
}

/* ---- reductions ---- */

static const struct {
    const char *name;
    rlf_expr_code code;
} reductions[] = {
    {"sum", RLF_EXPR_SUM},       {"mean", RLF_EXPR_MEAN},
    {"std", RLF_EXPR_STD},       {"var", RLF_EXPR_VAR},
    {"min", RLF_EXPR_LEAST},     {"max", RLF_EXPR_MOST},
    {"count", RLF_EXPR_COUNT},   {"rank", RLF_EXPR_RANK},
    {"rotate", RLF_EXPR_ROTATE},
};

static void
refuse(rlf_sema *s, rlf_span at, int x, const char *what, const char *hint)
{
    const rlf_term *t = &s->terms.data[x];
    rlf_diag *diag = rlf_diag_error(s->diags, "level", at, "%s, and this is %s",
                                    what, rlf_level_name(s, t->domain, t->set));
    diag->right = written(s, 0, x);
    if (hint)
        rlf_diag_hint(s->diags, diag, "%s", hint);
}

bool
rlf_level_over_is(rlf_sema *s, const rlf_ast_name *over)
{
    if (rlf_word_is_of("tokens|group|batch|vocab", over->text))
        return true;
    rlf_diag *diag = rlf_diag_error(s->diags, "level", over->span,
                                    "there is no 'over %s'", over->text);
    rlf_diag_hint(s->diags, diag, "it is over tokens, group, batch or vocab");
    return false;
}

const char *
rlf_level_axes(const rlf_sema *s, int x)
{
    const rlf_domains *domains = &s->graph->domains;
    const rlf_term *t = &s->terms.data[x];
    rlf_domain_kind kind = rlf_domains_get(domains, t->domain)->kind;
    if (kind == RLF_DOMAIN_VOCAB)
        return "vocab";
    if (!t->domain)
        return "";
    int rows = rlf_domain_rows(domains, t->domain);
    int set = owner_set(s, rows, t->set);
    bool tokens = kind == RLF_DOMAIN_TOKENS,
         group = rlf_domains_get(domains, rows)->owner >= 0 &&
                 !(set >= 0 && s->graph->sets.data[set].single);
    return tokens && group ? "tokens|group|batch"
           : tokens        ? "tokens|batch"
           : group         ? "group|batch"
                           : "batch";
}

/* The domain that `over` leads up to; -1 after a message. */
static int
upwards(rlf_sema *s, int x, const rlf_ast_name *over)
{
    const rlf_domains *domains = &s->graph->domains;
    const rlf_term *t = &s->terms.data[x];
    const rlf_domain *d = rlf_domains_get(domains, t->domain);
    int rows = rlf_domain_rows(domains, t->domain);
    if (!rlf_level_over_is(s, over))
        return -1;
    if (!strcmp(over->text, "vocab")) {
        if (d->kind == RLF_DOMAIN_VOCAB)
            return d->owner;
        refuse(s, over->span, x, "'over vocab' takes one per word at a token",
               NULL);
    } else if (d->kind == RLF_DOMAIN_VOCAB &&
               (!strcmp(over->text, "tokens") || !strcmp(over->text, "group") ||
                !strcmp(over->text, "batch"))) {
        refuse(s, over->span, x,
               rlf_arena_printf(s->arena,
                                "'over %s' takes one per token at "
                                "the finest",
                                over->text),
               "reduce it first: sum(... over vocab)");
    } else if (!strcmp(over->text, "tokens")) {
        if (d->kind == RLF_DOMAIN_TOKENS)
            return d->owner;
        refuse(s, over->span, x, "'over tokens' takes one per token", NULL);
    } else if (!strcmp(over->text, "group")) {
        int owner = rlf_domains_get(domains, rows)->owner;
        int set = owner_set(s, rows, t->set);
        bool one = set >= 0 && s->graph->sets.data[set].single;
        if (owner >= 0 && !one)
            return owner;
        refuse(
            s, over->span, x, "'over group' takes several samples a prompt",
            !t->domain ? "it is one number for all: take what each sample has "
                         "of it, before it is reduced"
            : one ? "with n: 1 a group has nothing to compare: give generate "
                    "an n: of 2 or more"
            : set >= 0 && s->graph->sets.data[set].tokens < 0
                ? "a prompt without responses has no samples: take values "
                  "of the set that generate gave, as in judge(roll)"
                : "with one sample a prompt there are no groups: give "
                  "generate an n: of 2 or more");
    } else if (!strcmp(over->text, "batch")) {
        if (t->domain != 0)
            return 0;
        refuse(s, over->span, x,
               "'over batch' takes one per prompt, sample or "
               "token",
               "it is one number already");
    }
    return -1;
}

/* In an update inside a loop over pieces, what runs over all of the set that
 * is split would not be the piece's. */
static bool
runs_over_all(rlf_sema *s, int x, int to, rlf_span at)
{
    const rlf_domains *domains = &s->graph->domains;
    const rlf_term *t = &s->terms.data[x];
    if (s->update < 0 || t->domain == 0)
        return false;
    int rows = rlf_domain_rows(domains, t->domain);
    for (const rlf_loop *loop = s->loop; loop; loop = loop->outer) {
        const rlf_set *whole = &s->graph->sets.data[loop->whole];
        const rlf_set *piece = &s->graph->sets.data[loop->piece];
        bool all = rows == whole->samples || rows == whole->prompts;
        rlf_domain_kind kind = rlf_domains_get(domains, to)->kind;
        bool tokens = kind == RLF_DOMAIN_TOKENS ||
                      (kind == RLF_DOMAIN_ROWS && to == rows);
        if (!all || tokens)
            continue;
        rlf_diag *diag = rlf_diag_error(
            s->diags, "level", at, "this runs over all of '%s', not over '%s'",
            whole->name, piece->name);
        diag->right = written(s, 0, x);
        rlf_diag_hint(s->diags, diag,
                      "say %s[%s], or give it a name before the loop",
                      rlf_form_text(s, written(s, 0, x)), piece->name);
        return true;
    }
    return false;
}

int
rlf_level_reduce(rlf_sema *s, const char *function, int x,
                 const rlf_ast_name *over, rlf_span at)
{
    rlf_expr_code code = RLF_EXPR_CODES;
    for (size_t i = 0; i < RLF_COUNT(reductions); i++) {
        if (!strcmp(reductions[i].name, function))
            code = reductions[i].code;
    }
    if (code == RLF_EXPR_CODES) {
        rlf_diag *diag = rlf_diag_error(s->diags, "argument", at,
                                        "'%s' is not a reduction", function);
        const char *instead = rlf_other_name_instead(function);
        bool mean = !strcmp(function, "avg") || !strcmp(function, "average");
        if (mean)
            rlf_diag_hint(s->diags, diag, "did you mean 'mean'?");
        else if (instead)
            rlf_diag_hint(s->diags, diag, "%s", instead);
        else
            rlf_diag_hint(s->diags, diag,
                          "reductions are sum mean std var min max count, rank "
                          "and rotate");
        return -1;
    }
    if (x < 0)
        return -1;
    bool text = s->terms.data[x].text;
    bool keeps = code == RLF_EXPR_RANK || code == RLF_EXPR_ROTATE;
    if (text && code != RLF_EXPR_ROTATE && code != RLF_EXPR_COUNT) {
        rlf_diag_error(s->diags, "type", at, "'%s' takes numbers, not texts",
                       function);
        return -1;
    }
    bool condition =
        s->terms.data[x].kind == RLF_TERM_OP && s->terms.data[x].truth;
    if (code == RLF_EXPR_COUNT && condition) {
        rlf_diag *diag =
            rlf_diag_error(s->diags, "argument", at,
                           "'count' counts all values, also where the "
                           "condition does not hold");
        diag->right = written(s, 0, x);
        rlf_diag_hint(s->diags, diag,
                      "where it holds it is 1: sum(... over %s)", over->text);
        return -1;
    }
    int to = upwards(s, x, over);
    if (to < 0 || runs_over_all(s, x, to, at))
        return -1;
    const rlf_term *t = &s->terms.data[x];
    return rlf_term_op(s, (rlf_term){.code = code,
                                     .arg = {x, -1, -1},
                                     .domain = keeps ? t->domain : to,
                                     .over = keeps ? to : 0,
                                     .text = keeps && text,
                                     .span = rlf_span_join(at, over->span)});
}

/* Rows of `place`, checked and made data: see place_row.h.
 *
 * Errors of a row alone are found here: names, ranks, how they are divided,
 * which argument means something for which call. Whether a run has the ranks is
 * the plan's matter. */
#include "grammar/place_row.h"

#include "engine/graph/caps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = 65536, MOST_TOKENS = 1 << 30, MOST_SCHEDULES = 32 };

/* ---- arguments ---- */

/* The subject of an argument, which decides the rows that may have it. */
typedef enum about {
    ABOUT_CALL,   /* any row */
    ABOUT_TRAIN,  /* an update's pipeline and optimizer */
    ABOUT_MICRO,  /* what runs in micro-batches: all but generation */
    ABOUT_SAMPLE, /* a generation */
    ABOUT_READ,   /* a whole model that never trains */
    ABOUT_MODEL,  /* a whole model */
} about;

enum {
    TP,
    PP,
    DP,
    ZERO,
    TOKENS,
    MIGRATE,
    SEATS,
    CARRY,
    SCHEDULE,
    CHUNKS,
    RECOMPUTE,
    OFFLOAD,
    SHARDS,
    LANES,
    ARGS
};

// clang-format off
static const rlf_formal formals[ARGS] = {
    [TP] = {.name = "tp", .kind = RLF_FORMAL_INT, .labelled = true,
            .least = 1, .most = MOST_RANKS, .doc = "tensor parallel ranks"},
    [PP] = {.name = "pp", .kind = RLF_FORMAL_INT, .labelled = true,
            .least = 1, .most = MOST_RANKS, .doc = "stages of the pipeline"},
    [DP] = {.name = "dp", .kind = RLF_FORMAL_INT, .labelled = true,
            .least = 1, .most = MOST_RANKS, .doc = "data parallel replicas"},
    [ZERO] = {.name = "zero", .kind = RLF_FORMAL_INT, .labelled = true,
              .least = 0, .most = 1,
              .doc = "1: each replica holds its part of the optimizer"},
    [TOKENS] = {.name = "tokens", .kind = RLF_FORMAL_INT, .labelled = true,
                .least = 1, .most = MOST_TOKENS,
                .doc = "of a micro-batch at most"},
    [MIGRATE] = {.name = "migrate", .kind = RLF_FORMAL_INT, .labelled = true,
                 .least = 0, .most = MOST_TOKENS,
                 .doc = "samples left, with fewer of which replicas hand over "
                        "theirs; 0: never"},
    [SEATS] = {.name = "seats", .kind = RLF_FORMAL_INT, .labelled = true,
               .least = 1, .most = RLF_CAP_ACTIVE,
               .doc = "samples that a replica takes over at most"},
    [CARRY] = {.name = "carry", .kind = RLF_FORMAL_TEXT, .labelled = true,
               .doc = "how samples are handed over"},
    [SCHEDULE] = {.name = "schedule", .kind = RLF_FORMAL_TEXT,
                  .labelled = true, .doc = "of the pipeline"},
    [CHUNKS] = {.name = "chunks", .kind = RLF_FORMAL_INT, .labelled = true,
                .least = 2, .most = 1024,
                .doc = "parts of the layers that a rank has"},
    [RECOMPUTE] = {.name = "recompute", .kind = RLF_FORMAL_FLAG,
                   .labelled = true,
                   .doc = "keep each layer's input, compute the rest again"},
    [OFFLOAD] = {.name = "offload", .kind = RLF_FORMAL_FLAG, .labelled = true,
                 .doc = "keep the weights in host memory between calls"},
    [SHARDS] = {.name = "shards", .kind = RLF_FORMAL_INT, .labelled = true,
                .least = 1, .most = MOST_RANKS,
                .doc = "partial sums of what tensor parallelism may split"},
    [LANES] = {.name = "lanes", .kind = RLF_FORMAL_INT, .labelled = true,
               .least = 1, .most = MOST_RANKS,
               .doc = "partial sums of gradients over samples"},
};
static const about abouts[ARGS] = {
    [ZERO] = ABOUT_TRAIN,     [TOKENS] = ABOUT_MICRO,
    [MIGRATE] = ABOUT_SAMPLE, [SEATS] = ABOUT_SAMPLE, [CARRY] = ABOUT_SAMPLE,
    [SCHEDULE] = ABOUT_TRAIN, [CHUNKS] = ABOUT_TRAIN,
    [RECOMPUTE] = ABOUT_TRAIN, [OFFLOAD] = ABOUT_READ,
    [SHARDS] = ABOUT_MODEL,   [LANES] = ABOUT_MODEL,
};
// clang-format on

const rlf_formal *
rlf_place_formals(int *n)
{
    *n = ARGS;
    return formals;
}

/* A row on its way. */
typedef struct maker {
    rlf_sema *s;
    const rlf_module *module; /* paths are relative to its file */
    const rlf_ast_row *ast;
    const char *what; /* "actor.update" */
    bool fixes;       /* beside `auto`: what it does not say is searched for */
    rlf_place_row row;
} maker;

static const char *
model_name(const maker *m)
{
    return m->s->graph->resources.data[m->row.model].name;
}

/* Does the argument mean something in this row? */
static bool
belongs(const maker *m, about kind, const rlf_arg *arg)
{
    const rlf_node_class *call = m->row.call;
    rlf_diags *diags = m->s->diags;
    bool trained = m->s->graph->resources.data[m->row.model].trained;
    bool update = call ? call->work == RLF_WORK_TRAIN : trained;
    const char *model = model_name(m);
    rlf_diag *diag;
    if (kind == ABOUT_TRAIN && !update && !call) {
        rlf_diag_error(
            diags, "place", arg->span,
            "'%s:' is an argument of updates, and '%s' is never updated",
            arg->name, model);
        return false;
    }
    if (kind == ABOUT_TRAIN && !update) {
        diag = rlf_diag_error(
            diags, "place", arg->span,
            "'%s:' is an argument of updates, and this row places "
            "'%s'",
            arg->name, m->what);
        if (trained)
            rlf_diag_hint(diags, diag, "write it in the row of %s.update",
                          model);
        return false;
    }
    if (kind == ABOUT_MICRO && call && call->work == RLF_WORK_GENERATE) {
        rlf_diag_error(diags, "place", arg->span,
                       "'%s' works token by token and has no micro-batches",
                       m->what);
        return false;
    }
    if (kind == ABOUT_SAMPLE && !(call && call->work == RLF_WORK_GENERATE)) {
        diag = rlf_diag_error(
            diags, "place", arg->span,
            "'%s:' is an argument of generate, and this row places "
            "'%s'",
            arg->name, m->what);
        rlf_diag_hint(diags, diag, "write it in the row of %s.generate", model);
        return false;
    }
    if (kind == ABOUT_READ && trained && arg->number != 0) {
        diag = rlf_diag_error(diags, "place", arg->span,
                              "'%s' is trained, and its weights stay where "
                              "they are",
                              model);
        rlf_diag_hint(diags, diag,
                      "models that are never updated can be "
                      "offloaded");
        return false;
    }
    if ((kind == ABOUT_MODEL || kind == ABOUT_READ) && call) {
        diag = rlf_diag_error(
            diags, "place", arg->span,
            "'%s:' is an argument of whole models, not of one call", arg->name);
        rlf_diag_hint(diags, diag, "give '%s' a row of its own", model);
        return false;
    }
    return true;
}

static bool
power_of_two(const maker *m, const rlf_arg *arg)
{
    int n = (int)arg->number, below = 1;
    if ((n & (n - 1)) == 0)
        return true;
    while (2 * below < n)
        below *= 2;
    rlf_diag *diag =
        rlf_diag_error(m->s->diags, "place", arg->span,
                       "'%s:' is a power of two, and %d is none", arg->name, n);
    if (strcmp(arg->name, "shards") == 0)
        rlf_diag_hint(m->s->diags, diag,
                      "without it shards are as many as the largest tp of all "
                      "rows");
    else
        rlf_diag_hint(m->s->diags, diag, "write %d or %d", below, 2 * below);
    return false;
}

/* One of the known ones, a table, or the file of one. */
static bool
schedule(maker *m, const rlf_arg *arg)
{
    const char *known[MOST_SCHEDULES], *word;
    size_t n = 0;
    while ((word = rlf_place_schedule(n))) {
        RLF_ASSERT(n < MOST_SCHEDULES);
        known[n++] = word;
        if (!strcmp(word, arg->text)) {
            m->row.schedule = word;
            return true;
        }
    }
    bool table = rlf_place_is_table(arg->text);
    if (table || strpbrk(arg->text, "./")) {
        m->row.schedule = "table";
        m->row.table =
            table ? arg->text : rlf_sema_path(m->s, m->module, arg->text);
        return true;
    }
    rlf_diag *diag = rlf_diag_error(m->s->diags, "place", arg->span,
                                    "there is no schedule \"%s\"", arg->text);
    const char *nearest = rlf_str_nearest(arg->text, known, n);
    if (nearest) {
        rlf_diag_hint(m->s->diags, diag, "did you mean \"%s\"?", nearest);
        return false;
    }
    rlf_buf list = {0};
    for (size_t i = 0; i < n; i++)
        rlf_buf_printf(&list, "\"%s\", ", known[i]);
    rlf_diag_hint(m->s->diags, diag, "it is %sa table, or the file of one",
                  list.p);
    rlf_buf_free(&list);
    return false;
}

static bool
carry(maker *m, const rlf_arg *arg)
{
    for (int i = RLF_CARRY_CHEAPER + 1; i < RLF_CARRIES; i++) {
        if (!strcmp(rlf_carry_word((rlf_carry)i), arg->text)) {
            m->row.carry = (rlf_carry)i;
            return true;
        }
    }
    rlf_diag *diag =
        rlf_diag_error(m->s->diags, "place", arg->span,
                       "samples cannot be handed over as \"%s\"", arg->text);
    rlf_diag_hint(m->s->diags, diag,
                  "it is \"pages\" or \"tokens\"; leave it out to take the one "
                  "that costs less");
    return false;
}

static bool
put_arg(maker *m, int which, const rlf_arg *arg)
{
    rlf_place_row *row = &m->row;
    int *const to[ARGS] = {
        [TP] = &row->tp,           [PP] = &row->pp,
        [DP] = &row->dp,           [ZERO] = &row->zero,
        [TOKENS] = &row->tokens,   [CHUNKS] = &row->chunks,
        [MIGRATE] = &row->migrate, [SEATS] = &row->seats,
        [OFFLOAD] = &row->offload, [RECOMPUTE] = &row->recompute,
        [SHARDS] = &row->shards,   [LANES] = &row->lanes,
    };
    if (!belongs(m, abouts[which], arg))
        return false;
    if (which == SCHEDULE)
        return schedule(m, arg);
    if (which == CARRY)
        return carry(m, arg);
    if ((which == SHARDS || which == LANES) && !power_of_two(m, arg))
        return false;
    *to[which] = formals[which].kind == RLF_FORMAL_FLAG ? arg->number != 0
                                                        : (int)arg->number;
    return true;
}

/* `given`: the arguments by number; NULL where there is none. */
static bool
read_args(maker *m, const rlf_arg *given[ARGS])
{
    const rlf_constructor c = {
        .name = m->what, .formals = formals, .n_formals = ARGS};
    const rlf_ast_expr call = {.kind = RLF_AST_CALL,
                               .span = m->ast->span,
                               .at = m->ast->span,
                               .args = m->ast->args};
    rlf_arg *args;
    int n;
    bool good =
        rlf_args_constructor(m->s, &call, &c, RLF_RESOURCE_MODEL, &args, &n);
    for (int i = 0; i < ARGS; i++) {
        given[i] = rlf_args_find(args, n, formals[i].name);
        if (good && given[i])
            good = put_arg(m, i, given[i]);
    }
    if (good && given[CHUNKS] &&
        (!m->row.schedule || strcmp(m->row.schedule, "interleaved") != 0)) {
        rlf_diag *diag =
            rlf_diag_error(m->s->diags, "place", given[CHUNKS]->span,
                           "'chunks:' is of the interleaved "
                           "schedule");
        rlf_diag_hint(m->s->diags, diag,
                      "add schedule: \"interleaved\", or leave it out");
        good = false;
    }
    return good;
}

/* ---- ranks ---- */

/* A rank's number; -1 after a message. */
static int
rank_number(const maker *m, const rlf_ast_expr *e)
{
    double x = e->number;
    bool good = e->kind == RLF_AST_NUMBER && e->unit == RLF_AST_PLAIN &&
                x == floor(x) && x >= 0 && x < MOST_RANKS;
    if (good)
        return (int)x;
    if (e->kind == RLF_AST_NUMBER)
        rlf_diag_error(m->s->diags, "place", e->span,
                       "a rank is a whole number from 0 to %d", MOST_RANKS - 1);
    return -1;
}

static int
by_number(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* A row without ranks says what a search has to keep. */
static bool
is_searched(maker *m)
{
    m->row.ranks = NULL;
    m->row.n_ranks = 0;
    if (m->fixes)
        return true;
    rlf_diag *diag =
        rlf_diag_error(m->s->diags, "place", m->ast->span,
                       "this row does not say on which ranks '%s' is", m->what);
    rlf_diag_hint(m->s->diags, diag,
                  "write '%s on 0..3', or 'place auto', which finds ranks",
                  m->what);
    return false;
}

static bool
read_ranks(maker *m)
{
    RLF_VEC(int) ranks = {0};
    bool *seen = RLF_NEW_ARRAY(m->s->arena, bool, MOST_RANKS);
    if (!m->ast->ranks)
        return is_searched(m);
    for (size_t i = 0; i < m->ast->ranks->count; i++) {
        const rlf_ast_rank *r = &m->ast->ranks->data[i];
        int first = rank_number(m, r->first);
        int last = r->last ? rank_number(m, r->last) : first;
        if (first < 0 || last < 0)
            return false;
        if (last < first) {
            rlf_diag *diag = rlf_diag_error(m->s->diags, "place", r->span,
                                            "a range of ranks goes up");
            rlf_diag_hint(m->s->diags, diag, "write %d..%d", last, first);
            return false;
        }
        for (int rank = first; rank <= last; rank++) {
            if (seen[rank]) {
                rlf_diag_error(m->s->diags, "place", r->span,
                               "rank %d is named twice", rank);
                return false;
            }
            seen[rank] = true;
            RLF_PUSH_IN(m->s->arena, &ranks, rank);
        }
    }
    qsort(ranks.data, ranks.count, sizeof *ranks.data, by_number);
    m->row.ranks = ranks.data;
    m->row.n_ranks = (int)ranks.count;
    return true;
}

/* "1, 2, 4 or 8": what divides n; `powers`: of that the powers of two. */
static const char *
divisors(const maker *m, int n, bool powers)
{
    rlf_buf out = {0};
    int most = powers ? n & -n : n;
    for (int d = 1; d <= most; d++) {
        if (n % d == 0 && !(powers && d & (d - 1)))
            rlf_buf_printf(&out, "%s%d",
                           d == 1      ? ""
                           : d == most ? " or "
                                       : ", ",
                           d);
    }
    const char *text = rlf_arena_strdup(m->s->arena, out.p);
    rlf_buf_free(&out);
    return text;
}

/* tp * pp * dp is the number of ranks; dp follows if it was not said. Of what
 * is searched for nothing follows, and dp too divides the ranks. */
static bool
divide(maker *m, const rlf_arg *given[ARGS])
{
    rlf_diags *diags = m->s->diags;
    int left = m->row.n_ranks;
    const char *ranks = left == 1 ? "rank" : "ranks";
    const int parts[] = {[TP] = m->row.tp, [PP] = m->row.pp, [DP] = m->row.dp};
    bool all = given[TP] && given[PP] && given[DP];
    bool open = m->fixes && !all;
    rlf_diag *diag;
    if (!left)
        return true;
    for (int i = TP; i <= (open ? DP : PP); i++) {
        int part = parts[i];
        if (part < 0 || left % part == 0) {
            left /= part < 0 ? 1 : part;
            continue;
        }
        diag = rlf_diag_error(
            diags, "place", given[i]->span,
            "%s: %d does not divide the %d %s%s", formals[i].name, part, left,
            left == 1 ? "rank" : "ranks",
            i == TP || !given[TP]
                ? rlf_arena_printf(m->s->arena, " of '%s'", m->what)
                : rlf_arena_printf(m->s->arena, " that tp: %d leaves of '%s'",
                                   m->row.tp, m->what));
        if (left == 1)
            rlf_diag_hint(diags, diag, "write 1, or name more ranks");
        else
            rlf_diag_hint(diags, diag, "write %s%s", divisors(m, left, i == TP),
                          i == TP && left & (left - 1)
                              ? ": tp is a power of two, as shards are"
                              : "");
        return false;
    }
    if (!given[DP] && !open)
        m->row.dp = left;
    if (m->row.dp == left || open)
        return true;
    diag = rlf_diag_error(diags, "place", given[DP]->span,
                          "tp %d x pp %d x dp %d is not the %d %s of '%s'",
                          m->row.tp, m->row.pp, m->row.dp, m->row.n_ranks,
                          ranks, m->what);
    rlf_diag_hint(diags, diag, "write dp: %d, or leave it out", left);
    return false;
}

/* Checks that a row which hands samples over has replicas to hand them to. */
static bool
check_migrate(const maker *m, const rlf_arg *given[ARGS])
{
    for (int i = MIGRATE; i <= CARRY; i++) {
        bool open = m->row.dp < 0 && m->row.n_ranks != 1;
        if (!given[i] || m->row.dp > 1 || open)
            continue;
        rlf_diag_error(m->s->diags, "place", given[i]->span,
                       "'%s' has one replica here, which cannot hand samples "
                       "over ('%s:')",
                       m->what, formals[i].name);
        return false;
    }
    return true;
}

/* Warns of arguments that have no effect in their row; they are taken. */
static void
warn_idle(const maker *m, const rlf_arg *given[ARGS])
{
    const rlf_place_row *row = &m->row;
    const char *why[ARGS] = {0};
    rlf_diags *diags = m->s->diags;
    if (row->zero > 0 && row->dp == 1)
        why[ZERO] = "has one replica here, which has all of the optimizer's "
                    "state";
    if (row->migrate == 0)
        why[SEATS] = why[CARRY] = "hands no samples over (migrate: 0)";
    if (row->lanes > 1 && !m->s->graph->resources.data[row->model].trained)
        why[LANES] = "is never updated, and lanes are sums of gradients";
    for (int i = 0; i < ARGS; i++) {
        if (!why[i] || !given[i])
            continue;
        rlf_diag *diag = rlf_diag_warning(diags, "place", given[i]->span,
                                          "'%s:' changes nothing: '%s' %s",
                                          formals[i].name, m->what, why[i]);
        rlf_diag_hint(diags, diag, "leave it out");
    }
}

/* ---- models and calls ---- */

static const char *
nearest_model(const rlf_sema *s, const char *name)
{
    const rlf_graph *graph = s->graph;
    const char **names =
        RLF_NEW_ARRAY(s->arena, const char *, graph->resources.count);
    size_t n = 0;
    for (size_t i = 0; i < graph->resources.count; i++) {
        if (graph->resources.data[i].class->model)
            names[n++] = graph->resources.data[i].name;
    }
    return rlf_str_nearest(name, names, n);
}

static bool
find_model(maker *m)
{
    rlf_sema *s = m->s;
    const rlf_ast_name *name = &m->ast->model;
    rlf_found_name found;
    rlf_entity entity = {.kind = RLF_ENTITY_NONE};
    bool known = rlf_name_find(s, name, &found) && found.decl;
    if (known && found.decl->kind == RLF_AST_MODEL)
        entity = rlf_sema_declared(s, found.decl, found.module);
    if (entity.kind == RLF_ENTITY_MODEL) {
        m->row.model = entity.resource;
        return true;
    }
    rlf_diag *diag =
        rlf_diag_error(s->diags, "place", name->span,
                       known ? "'%s' is not a model, and only models are placed"
                             : "there is no model '%s'",
                       name->text);
    const char *nearest = nearest_model(s, name->text);
    if (nearest)
        rlf_diag_hint(s->diags, diag, "did you mean '%s'?", nearest);
    return false;
}

/* The classes that the program calls on the model, in its order. */
static size_t
calls_of(const rlf_sema *s, int model, const rlf_node_class **out, size_t room)
{
    size_t n = 0;
    for (size_t i = 0; i < s->items.count; i++) {
        const rlf_item *item = &s->items.data[i];
        const rlf_node node = {.class = item->class,
                               .receiver = item->receiver};
        if (item->receiver != model || !rlf_place_can(&node))
            continue;
        size_t k = 0;
        while (k < n && out[k] != item->class)
            k++;
        if (k == n && n < room)
            out[n++] = item->class;
    }
    return n;
}

/* Is a call of that name live in an update of the model? */
static bool
is_live(const rlf_sema *s, int model, const char *name)
{
    for (size_t i = 0; i < s->updates.count; i++) {
        const rlf_update_statement *u = &s->updates.data[i];
        for (size_t k = 0; u->model == model && k < u->calls.count; k++) {
            if (!strcmp(u->calls.data[k].class->name, name))
                return true;
        }
    }
    return false;
}

static bool
find_call(maker *m)
{
    rlf_sema *s = m->s;
    const rlf_ast_name *call = &m->ast->call;
    const rlf_node_class *made[16];
    const char *names[16];
    size_t n = calls_of(s, m->row.model, made, RLF_COUNT(made));
    rlf_buf list = {0};
    for (size_t i = 0; i < n; i++) {
        names[i] = made[i]->name;
        rlf_buf_printf(&list, "%s%s",
                       i == 0       ? ""
                       : i + 1 == n ? " and "
                                    : ", ",
                       names[i]);
        if (!strcmp(names[i], call->text))
            m->row.call = made[i];
    }
    if (!m->row.call) {
        rlf_diag *diag = rlf_diag_error(s->diags, "place", call->span,
                                        "the program never calls %s.%s",
                                        model_name(m), call->text);
        const char *nearest = rlf_str_nearest(call->text, names, n);
        if (is_live(s, m->row.model, call->text))
            rlf_diag_hint(s->diags, diag,
                          "it is called in an update only, whose part it is: "
                          "place %s.update",
                          model_name(m));
        else if (nearest)
            rlf_diag_hint(s->diags, diag, "did you mean '%s'?", nearest);
        else if (n)
            rlf_diag_hint(s->diags, diag, "of '%s' it calls %s", model_name(m),
                          list.p);
        else
            rlf_diag_hint(s->diags, diag,
                          "it calls nothing of '%s': place the whole model",
                          model_name(m));
    }
    rlf_buf_free(&list);
    return m->row.call != NULL;
}

/* ---- rows ---- */

static bool
is_first(const maker *m, const rlf_place_rows *before)
{
    for (size_t i = 0; i < before->count; i++) {
        const rlf_place_row *other = &before->data[i];
        if (other->model != m->row.model || other->call != m->row.call)
            continue;
        rlf_diag *diag = rlf_diag_error(m->s->diags, "place", m->ast->span,
                                        "'%s' is placed twice", m->what);
        rlf_diag_note(m->s->diags, diag, other->span, "first here");
        return false;
    }
    return true;
}

void
rlf_place_read_row(rlf_sema *s, const rlf_module *module,
                   const rlf_ast_row *ast, bool fixes, rlf_place_rows *list,
                   rlf_place_rows *pins)
{
    maker m = {.s = s,
               .module = module,
               .ast = ast,
               .fixes = fixes,
               .row = rlf_place_row_new(-1, NULL)};
    const rlf_arg *given[ARGS] = {0};
    if (!find_model(&m) || (ast->call.text && !find_call(&m)))
        return;
    m.what = ast->call.text ? rlf_arena_printf(s->arena, "%s.%s",
                                               ast->model.text, ast->call.text)
                            : ast->model.text;
    m.row.span = ast->span;
    if (fixes)
        m.row.tp = m.row.pp = m.row.dp = -1;
    if (!is_first(&m, list) || !read_ranks(&m) || !read_args(&m, given))
        return;
    rlf_place_row pin = m.row;
    pin.tp = given[TP] ? pin.tp : -1;
    pin.pp = given[PP] ? pin.pp : -1;
    pin.dp = given[DP] ? pin.dp : -1;
    if (!divide(&m, given) || !check_migrate(&m, given))
        return;
    warn_idle(&m, given);
    RLF_PUSH_IN(s->arena, list, m.row);
    RLF_PUSH_IN(s->arena, pins, pin);
}

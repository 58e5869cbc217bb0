/* rlf_compile(): the passes in their order; each stops at errors of those
 * before it that would only be repeated. */
#include "grammar/compile.h"

#include "grammar/passes.h"

/* Beside errors warnings say little: they may come of those. */
static rlf_status
failed(const rlf_sema *s, rlf_err *err)
{
    (void)err;
    rlf_diags *diags = s->diags;
    if (!diags->errors)
        return RLF_OK;
    size_t n = 0;
    for (size_t i = 0; i < diags->list.count; i++)
        if (diags->list.data[i].severity == RLF_SEVERITY_ERROR)
            diags->list.data[n++] = diags->list.data[i];
    diags->list.count = n;
    return RLF_USER;
}

void
rlf_sema_start(rlf_sema *s, const rlf_compile_options *options,
               rlf_arena *arena, rlf_sources *sources, rlf_diags *diags)
{
    *s = (rlf_sema){.arena = arena,
                    .sources = sources,
                    .diags = diags,
                    .options = options,
                    .classes = options->classes,
                    .graph = rlf_graph_new(arena, sources),
                    .part = -1,
                    .update = -1,
                    .choosing = -1,
                    .method_set = -1,
                    .condition = -1};
    s->ended.arena = s->changing.arena = s->known_at.arena = s->made.arena =
        s->metric_at.arena = s->needed.arena = arena;
    s->graph->stdlib = options->stdlib;
}

void
rlf_sema_refuse(rlf_sema *s, rlf_span span, const char *text, bool lowers)
{
    RLF_PUSH_IN(s->arena, &s->refusals,
                (rlf_refusal){.span = span, .text = text, .lowers = lowers});
}

/* Say what cannot run yet, unless something is wrong: of what cannot even be
 * lowered (`lowers` false), or of the rest. */
static void
refuse(rlf_sema *s, bool lowers)
{
    if (s->diags->errors)
        return;
    for (size_t i = 0; i < s->refusals.count; i++) {
        const rlf_refusal *r = &s->refusals.data[i];
        if (r->lowers != lowers)
            continue;
        rlf_diag *diag =
            rlf_diag_error(s->diags, "unsupported", r->span, "%s", r->text);
        rlf_diag_hint(s->diags, diag,
                      "the program is right, but this version of rlflow cannot "
                      "run this part of it");
    }
}

/* The flow's meaning, its placement, the graph. */
static rlf_status
compile_flow(rlf_sema *s, rlf_err *err)
{
    rlf_sema_flow(s);
    if (s->options->look)
        rlf_look_walked(s->options->look);
    if (!s->diags->errors && !s->options->evaluate)
        RLF_TRY(rlf_sema_place(s, err));
    refuse(s, false);
    if (!s->diags->errors)
        rlf_sema_lower(s);
    refuse(s, true);
    if (s->options->evaluate) {
        if (!s->diags->errors)
            rlf_sema_scores(s);
        return RLF_OK;
    }
    if (!s->diags->errors)
        rlf_sema_unused(s);
    rlf_sema_unused_defs(s);
    return RLF_OK;
}

/* The state that a compilation leaves to those who ask more of it. */
struct rlf_compiled {
    rlf_sema sema;
    rlf_compile_options options;
};

/* A file that others import, for an editor: all but a flow. */
static rlf_status
compile_library(rlf_sema *s, rlf_err *err, rlf_graph **out)
{
    rlf_sema_params(s);
    rlf_sema_unused_defs(s);
    rlf_look_walked(s->options->look);
    *out = s->graph;
    return failed(s, err);
}

rlf_status
rlf_compile(const rlf_compile_options *options, rlf_arena *arena,
            rlf_sources *sources, rlf_diags *diags, rlf_err *err,
            rlf_graph **out)
{
    struct rlf_compiled *c = RLF_NEW(arena, struct rlf_compiled);
    rlf_sema *s = &c->sema;
    c->options = *options;
    rlf_sema_start(s, &c->options, arena, sources, diags);
    if (options->look)
        rlf_look_begin(options->look, s);
    RLF_TRY(rlf_sema_load(s, err));
    RLF_TRY(failed(s, err));
    if (options->look && rlf_look_is_library(s->modules.data[0]))
        return compile_library(s, err, out);
    if (options->evaluate) {
        s->graph->evaluation.rows = options->evaluate->rows;
        s->graph->evaluation.limit = options->evaluate->limit;
        rlf_sema_evaluation(s);
        RLF_TRY(failed(s, err));
    }
    rlf_sema_params(s);
    if (!options->params_only && !options->evaluate &&
        diags->errors == s->ungiven)
        rlf_sema_resources(s);
    if (!options->params_only && diags->errors == s->ungiven)
        RLF_TRY(compile_flow(s, err));
    RLF_TRY(failed(s, err));
    if (!options->params_only)
        RLF_TRY(rlf_graph_verify(s->graph, err));
    if (options->kept)
        *options->kept = c;
    *out = s->graph;
    return RLF_OK;
}

rlf_status
rlf_compile_place(struct rlf_compiled *c, const char *path, const char *text,
                  rlf_err *err)
{
    return rlf_sema_place_text(&c->sema, path, text, err);
}

/* `place`: strategies, the rows of a program together, and plan files, made
 * data (engine/graph/place.h); a row alone is read in place_row.c. A plan file
 * (--plan) holds nothing but `place` and stands for the program's own. */
#include "grammar/origin.h"
#include "grammar/parse.h"
#include "grammar/place_row.h"

#include <string.h>

static void
set_strategy(rlf_sema *s, const rlf_ast_decl *decl, rlf_placement *placement)
{
    const char *words[RLF_STRATEGIES];
    size_t n = 0;
    rlf_diag *diag;
    if (placement->strategy != RLF_STRATEGY_NONE) {
        diag = rlf_diag_error(s->diags, "place", decl->span,
                              "there is a strategy already");
        rlf_diag_note(s->diags, diag, placement->span, "here");
        return;
    }
    for (int i = 1; i < RLF_STRATEGIES; i++) {
        words[n++] = rlf_strategy_word((rlf_strategy)i);
        if (!strcmp(words[n - 1], decl->name.text))
            placement->strategy = (rlf_strategy)i;
    }
    placement->span = decl->span;
    if (placement->strategy != RLF_STRATEGY_NONE)
        return;
    diag = rlf_diag_error(s->diags, "place", decl->name.span,
                          "there is no strategy '%s'", decl->name.text);
    const char *nearest = rlf_str_nearest(decl->name.text, words, n);
    if (nearest)
        rlf_diag_hint(s->diags, diag, "did you mean '%s'?", nearest);
    else
        rlf_diag_hint(s->diags, diag,
                      "it is flatten, interleave, separate or auto; rows stand "
                      "in braces");
}

static rlf_placement *
read_place(rlf_sema *s, const rlf_module *module)
{
    rlf_placement *placement = RLF_NEW(s->arena, rlf_placement);
    rlf_place_rows list = {0}, pins = {0};
    size_t n = module->program->decls.count;
    bool said = false;
    for (size_t i = 0; i < n; i++) {
        const rlf_ast_decl *decl = module->program->decls.data[i];
        if (decl->kind != RLF_AST_PLACE)
            continue;
        said = true;
        if (decl->name.text)
            set_strategy(s, decl, placement);
    }
    bool fixes = placement->strategy == RLF_STRATEGY_AUTO;
    for (size_t i = 0; i < n; i++) {
        const rlf_ast_decl *decl = module->program->decls.data[i];
        for (size_t k = 0; decl->rows && k < decl->rows->count; k++)
            rlf_place_read_row(s, module, &decl->rows->data[k], fixes, &list,
                               &pins);
    }
    placement->rows = list.data;
    placement->n_rows = fixes ? 0 : (int)list.count;
    placement->pins = pins.data;
    placement->n_pins = (int)pins.count;
    if (said)
        s->graph->placement = placement;
    return placement;
}

/* A plan, which was added last, as a module without names. */
static rlf_status
load_plan(rlf_sema *s, const char *path, uint32_t source, rlf_module *out,
          rlf_err *err)
{
    rlf_sources_beside(s->sources);
    const char *slash = strrchr(path, '/');
    *out = (rlf_module){
        .program = rlf_parse(s->sources, source, s->arena, s->diags),
        .path = path,
        .directory = rlf_arena_strndup(s->arena, path,
                                       slash ? (size_t)(slash - path) + 1 : 0)};
    bool placed = false;
    for (size_t i = 0; i < out->program->decls.count; i++) {
        const rlf_ast_decl *decl = out->program->decls.data[i];
        placed = placed || decl->kind == RLF_AST_PLACE;
        if (decl->kind == RLF_AST_PLACE)
            continue;
        rlf_diag *diag =
            rlf_diag_error(s->diags, "place", decl->span,
                           "a plan file holds 'place' and nothing else");
        rlf_diag_hint(s->diags, diag,
                      "'rlflow check' prints a plan, 'rlflow plan' writes one");
        break;
    }
    if (!placed && !s->diags->errors) {
        rlf_fail(err, RLF_USER, "%s: there is no 'place' in this plan", path);
        rlf_err_hint(err, "'rlflow check' prints one that can be changed");
        return RLF_USER;
    }
    return RLF_OK;
}

/* Rows that do not suit the program are mostly those of another one. */
static void
note_origin(rlf_sema *s, uint32_t source)
{
    rlf_plan_origin origin;
    for (size_t i = 0; i < s->diags->list.count; i++) {
        rlf_diag *diag = &s->diags->list.data[i];
        if (diag->severity != RLF_SEVERITY_ERROR || diag->at.source != source)
            continue;
        if (rlf_plan_origin_find(s->sources, source, &origin))
            rlf_diag_note(s->diags, diag, origin.span,
                          "this is a plan of '%s'; the program is '%s'",
                          origin.file, s->modules.data[0]->path);
        return;
    }
}

rlf_status
rlf_sema_place(rlf_sema *s, rlf_err *err)
{
    rlf_module plan, *program = s->modules.data[0];
    const rlf_module *module = program;
    const char *path = s->options->plan;
    uint32_t source = 0;
    if (path) {
        RLF_TRY(rlf_sources_read(s->sources, path, err, &source));
        RLF_TRY(load_plan(s, path, source, &plan, err));
        module = &plan;
    }
    s->part = s->update = -1;
    rlf_scope_push(s, NULL, program);
    if (!s->diags->errors) {
        read_place(s, module);
        if (source)
            note_origin(s, source);
    }
    return RLF_OK;
}

rlf_status
rlf_sema_place_text(rlf_sema *s, const char *path, const char *text,
                    rlf_err *err)
{
    rlf_module plan;
    uint32_t source = rlf_sources_add(s->sources, path, text, strlen(text));
    RLF_TRY(load_plan(s, path, source, &plan, err));
    s->part = s->update = -1;
    rlf_scope_push(s, NULL, s->modules.data[0]);
    const rlf_placement *was = s->graph->placement;
    rlf_placement *placement = s->diags->errors ? NULL : read_place(s, &plan);
    if (placement && was) {
        placement->strategy = was->strategy;
        placement->span = was->span;
        placement->pins = was->pins;
        placement->n_pins = was->n_pins;
    }
    return s->diags->errors ? RLF_USER : RLF_OK;
}

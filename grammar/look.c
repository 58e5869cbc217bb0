/* What names mean, noted while a program is compiled; of one with errors as
 * much as a walk can find that goes on after them. */
#include "grammar/look_inside.h"

#include "grammar/cluster.h"
#include "grammar/parse.h"
#include "grammar/repair.h"

#include <stdlib.h>

/* A def that is used often is walked often: no more than this is kept. */
enum { NOTES_MOST = 1 << 20 };

void
rlf_look_note_value(rlf_look *look, const rlf_ast_expr *e,
                    const rlf_entity *entity)
{
    if (look->notes.count < NOTES_MOST)
        RLF_PUSH_IN(look->arena, &look->notes,
                    (rlf_look_note){e, look->notes.count, *entity});
}

void
rlf_look_note_name(rlf_look *look, rlf_span span, const rlf_entity *entity)
{
    if (look->given.count < NOTES_MOST)
        RLF_PUSH_IN(look->arena, &look->given, (rlf_look_given){span, *entity});
}

void
rlf_look_note_path(rlf_look *look, rlf_span span, const char *path)
{
    if (look->paths.count < NOTES_MOST)
        RLF_PUSH_IN(look->arena, &look->paths, (rlf_look_path){span, path});
}

void
rlf_look_begin(rlf_look *look, rlf_sema *s)
{
    look->sema = s;
    look->notes.count = look->given.count = look->paths.count = 0;
    look->sorted = look->walked = false;
}

void
rlf_look_walked(rlf_look *look)
{
    look->walked = true;
}

bool
rlf_look_is_library(const rlf_module *module)
{
    for (size_t i = 0; i < module->program->decls.count; i++) {
        rlf_ast_decl_kind kind = module->program->decls.data[i]->kind;
        if (kind != RLF_AST_DEF && kind != RLF_AST_PARAM &&
            kind != RLF_AST_IMPORT)
            return false;
    }
    return !module->program->broken;
}

/* ---- asking ---- */

static int
by_expression(const void *a_, const void *b_)
{
    const rlf_look_note *a = a_, *b = b_;
    if (a->e != b->e)
        return (uintptr_t)a->e < (uintptr_t)b->e ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

const rlf_entity *
rlf_look_entity(rlf_look *look, const rlf_ast_expr *e)
{
    size_t low = 0, high = look->notes.count;
    if (!look->sorted && high)
        qsort(look->notes.data, high, sizeof *look->notes.data, by_expression);
    look->sorted = true;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if ((uintptr_t)look->notes.data[middle].e < (uintptr_t)e)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < look->notes.count && look->notes.data[low].e == e; low++)
        if (look->notes.data[low].entity.kind != RLF_ENTITY_NONE)
            return &look->notes.data[low].entity;
    return NULL;
}

const rlf_entity *
rlf_look_entity_given(const rlf_look *look, rlf_span name)
{
    for (size_t i = 0; i < look->given.count; i++) {
        const rlf_look_given *g = &look->given.data[i];
        if (g->span.source == name.source && g->span.first == name.first &&
            g->entity.kind != RLF_ENTITY_NONE)
            return &g->entity;
    }
    return NULL;
}

/* ---- compiling ---- */

/* All passes up to the flow, of a text that is broken: what they have to say
 * was said, or comes of that. */
static void
walk_on(rlf_look *look, const rlf_compile_options *options,
        rlf_sources *sources, const char *text, size_t n)
{
    rlf_arena *arena = look->arena;
    rlf_sema *s = RLF_NEW(arena, rlf_sema);
    rlf_compile_options *again = RLF_NEW(arena, rlf_compile_options);
    rlf_diags *unheard = RLF_NEW(arena, rlf_diags);
    rlf_err err = RLF_ERR_NONE;
    *unheard = (rlf_diags){.arena = arena, .sources = sources};
    *again = *options;
    again->text = rlf_repair(arena, text, n, &again->size);
    rlf_sema_start(s, again, arena, sources, unheard);
    rlf_look_begin(look, s);
    if (rlf_sema_load(s, &err) < 0)
        return;
    rlf_sema_params(s);
    rlf_sema_resources(s);
    if (!rlf_look_is_library(s->modules.data[0]))
        rlf_sema_flow(s);
    rlf_sema_unused_defs(s);
    rlf_look_walked(look);
}

/* A file of clusters, which is no program. *is: it is one. */
static rlf_status
look_at_clusters(rlf_look *look, const rlf_compile_options *options,
                 rlf_sources *sources, rlf_diags *diags, rlf_err *err, bool *is)
{
    rlf_arena *arena = look->arena;
    rlf_diags aside = {.arena = arena, .sources = sources};
    rlf_clusters clusters;
    uint32_t source;
    RLF_TRY(options->text
                ? rlf_sources_take(sources, options->path, options->text,
                                   options->size, err, &source)
                : rlf_sources_read(sources, options->path, err, &source));
    *is = rlf_cluster_is_file(rlf_parse(sources, source, arena, &aside));
    if (!*is)
        return RLF_OK;
    rlf_sema *s = RLF_NEW(arena, rlf_sema);
    rlf_module *module = RLF_NEW(arena, rlf_module);
    rlf_sema_start(s, options, arena, sources, diags);
    rlf_look_begin(look, s);
    module->path = options->path;
    module->program = rlf_parse(sources, source, arena, diags);
    module->names.arena = arena;
    for (size_t i = 0; i < module->program->decls.count; i++) {
        rlf_ast_decl *decl = module->program->decls.data[i];
        if (decl->name.text)
            rlf_map_put(&module->names, decl->name.text, decl);
    }
    RLF_PUSH_IN(arena, &s->modules, module);
    look->source = source;
    rlf_look_walked(look);
    return module->program->broken
               ? RLF_USER
               : rlf_clusters_make(module->program, arena, sources, diags, err,
                                   &clusters);
}

rlf_status
rlf_look_program(const rlf_compile_options *options, rlf_arena *arena,
                 rlf_sources *sources, rlf_diags *diags, rlf_err *err,
                 rlf_look **out)
{
    rlf_look *look = RLF_NEW(arena, rlf_look);
    rlf_compile_options *with = RLF_NEW(arena, rlf_compile_options);
    rlf_graph *graph = NULL;
    look->arena = arena;
    *with = *options;
    with->look = look;
    *out = NULL;
    bool clusters = false;
    rlf_status status =
        look_at_clusters(look, with, sources, diags, err, &clusters);
    if (clusters)
        *out = look;
    if (status < 0 || clusters)
        return status;
    status = rlf_compile(with, arena, sources, diags, err, &graph);
    if (!look->sema || !look->sema->modules.count)
        return status;
    *out = look;
    if (status >= 0 && graph->nodes.count)
        look->graph = graph;
    look->source = look->sema->modules.data[0]->program->source;
    if (!look->walked) {
        const rlf_source *source = rlf_sources_get(sources, look->source);
        walk_on(look, with, sources, source->text, source->size);
    }
    return status;
}

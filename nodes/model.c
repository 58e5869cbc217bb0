/* The resource class of models: what a declaration opens, and checkpoints. See
 * model.h; the weights are in model_copies.h, what declarations say in
 * model_declare.h.
 */
#include "nodes/model.h"

#include "engine/graph/class.h"
#include "engine/graph/place.h"
#include "engine/io/file.h"
#include "engine/lua/host.h"
#include "engine/text/tokenizer.h"
#include "nodes/chat.h"
#include "nodes/model_declare.h"
#include "nodes/hook.h"
#include "nodes/model_copies.h"
#include "nodes/model/adapter.h"
#include "nodes/model/move.h"
#include "nodes/model/tables.h"
#include "nodes/model/weights.h"
#include "nodes/reads.h"
#include "nodes/sequences.h"

/* Has this rank the first part of the first replica, of a model that changes?
 * It saves the files that all of them share. */
static bool
saves_texts(const rlf_env *env, const rlf_resource *resource)
{
    const rlf_weight_copy *copy =
        rlf_weight_copy_at(env, rlf_model_index(env, resource), 0);
    const rlf_coordinates at = copy->mesh.at;
    return !env->planned && !copy->fixed && at.dp == 0 && at.tp == 0 &&
           at.pp == 0;
}

/* Says whether the tokenizer is needed: of a model that is read from files a
 * plan does not need it. */
static bool
needs_tokenizer(const rlf_env *env, const rlf_resource *resource,
                const rlf_model_object *m)
{
    const char *file = rlf_path_join(m->arena, m->texts, "tokenizer.json");
    return !env->planned || rlf_file_exists(file) ||
           rlf_declared_source(resource)->kind == RLF_ARG_LIST;
}

/* Tokenizer, config and weights of lm(...). */
static rlf_status
open_lm(const rlf_env *env, const rlf_resource *resource, rlf_model_object *m,
        rlf_err *err)
{
    const rlf_arg *texts = rlf_declared_tokenizer(resource);
    RLF_TRY(rlf_declared_texts(resource, err, &m->texts));
    if (needs_tokenizer(env, resource, m))
        RLF_TRY(rlf_arg_blame(
            texts, rlf_tokenizer_open(m->texts, err, &m->tokenizer), err));
    if (saves_texts(env, resource))
        RLF_TRY(rlf_arg_blame(
            texts, rlf_tokenizer_files_read(m->texts, m->arena, err, &m->files),
            err));
    RLF_TRY(rlf_declared_config(resource, m->tokenizer, env->planned, m->arena,
                                err, m->config));
    if (m->tokenizer && rlf_declared(resource, "optimizer"))
        RLF_TRY(rlf_arg_blame(
            texts,
            rlf_tokenizer_check_beside(m->tokenizer, m->config->json, err),
            err));
    return rlf_weight_copies_open(
        env, resource, rlf_declared_head(resource, RLF_HEAD_LM), m, err);
}

static rlf_status
open_copy(const rlf_env *env, const rlf_resource *resource, rlf_model_object *m,
          rlf_err *err)
{
    m->source = rlf_model_at(env, resource->source);
    m->tokenizer = m->source->tokenizer;
    m->texts = m->source->texts;
    if (saves_texts(env, resource))
        RLF_TRY(rlf_tokenizer_files_read(m->texts, m->arena, err, &m->files));
    *m->config = *m->source->config;
    return rlf_weight_copies_open(
        env, resource,
        rlf_declared_head(resource, m->source->outline->table->head), m, err);
}

/* Weights, where they are cut as the model's, are the model's own. */
static rlf_status
open_base(const rlf_env *env, const rlf_resource *resource, rlf_model_object *m,
          rlf_err *err)
{
    const rlf_resource *of = &env->graph->resources.data[resource->source];
    const rlf_arg *arg = rlf_declared_source(resource);
    m->source = rlf_model_at(env, resource->source);
    m->base = true;
    m->tokenizer = m->source->tokenizer;
    m->texts = m->source->texts;
    *m->config = *m->source->config;
    m->config->lora = (rlf_lora){0};
    if (!rlf_declared_adapted(env->graph, of)) {
        rlf_fail(err, RLF_USER, "'%s' has no adapters, and so is its own base",
                 of->name);
        rlf_err_hint(err, "write copy(%s)", of->name);
        return rlf_arg_blame(arg, RLF_USER, err);
    }
    if (!(m->source->outline->table->head & RLF_HEAD_LM)) {
        rlf_fail(err, RLF_USER,
                 "'%s' has no language head, and its scalar head is no part of "
                 "its base",
                 of->name);
        return rlf_arg_blame(arg, RLF_USER, err);
    }
    return rlf_weight_copies_open(env, resource, RLF_HEAD_LM, m, err);
}

/* "2024-12-31" as 20241231; 0: it is no date. */
static uint32_t
day_of(const char *text)
{
    static const unsigned days[] = {31, 29, 31, 30, 31, 30,
                                    31, 31, 30, 31, 30, 31};
    unsigned year, month, day;
    int n = 0;
    if (sscanf(text, "%4u-%2u-%2u%n", &year, &month, &day, &n) != 3 ||
        text[n] || n != 10 || !year || !month || month > 12 || !day ||
        day > days[month - 1])
        return 0;
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    if (month == 2 && day == 29 && !leap)
        return 0;
    return year * 10000 + month * 100 + day;
}

/* The day that the declaration gives; without one *out stays. */
static rlf_status
read_day(const rlf_resource *resource, rlf_err *err, uint32_t *out)
{
    const rlf_arg *date = rlf_declared(resource, "date");
    if (!date)
        return RLF_OK;
    *out = day_of(date->text);
    if (*out)
        return RLF_OK;
    rlf_fail(err, RLF_USER, "date: is a day such as \"2024-12-31\"");
    return rlf_arg_blame(date, RLF_USER, err);
}

/* A template in Lua that is declared. */
static rlf_status
open_lua(const rlf_env *env, const rlf_arg *path, rlf_model_object *m,
         rlf_err *err)
{
    const rlf_lua_spec spec = {
        .path = path->text,
        .dirs = &env->graph->stdlib,
        .n_dirs = env->graph->stdlib ? 1 : 0,
        .per = RLF_LUA_PER_TEMPLATE,
    };
    const rlf_lua_program *program;
    rlf_status status = rlf_lua_program_open(m->arena, &spec, err, &program);
    if (status < 0)
        rlf_declared_hint_template(env->graph->stdlib, path->text, err);
    RLF_TRY(rlf_arg_blame(path, status, err));
    const rlf_lua_options options = {.check_pure = env->check_pure,
                                     .stops = rlf_hook_stops,
                                     .stops_arg = (void *)(uintptr_t)env};
    return rlf_arg_blame(
        path, rlf_lua_host_new(program, &options, err, &m->template), err);
}

/* The chat template: the one that is declared, else the tokenizer's; a copy has
 * that of the model copied. */
static rlf_status
open_template(const rlf_env *env, const rlf_resource *resource,
              rlf_model_object *m, rlf_err *err)
{
    const rlf_arg *path = rlf_declared(resource, "template"),
                  *tools = rlf_declared(resource, "tools"),
                  *named = rlf_declared(resource, "template_name");
    rlf_chat_options options = {.day = env->day,
                                .named = named ? named->text : NULL,
                                .tools = tools ? tools->text : NULL};
    if (m->source) {
        m->template = m->source->template;
        m->own = m->source->own;
        return RLF_OK;
    }
    RLF_TRY(read_day(resource, err, &options.day));
    if (path && (tools || named)) {
        rlf_fail(err, RLF_USER,
                 "%s: is for the tokenizer's templates, and template: is one "
                 "in Lua",
                 tools ? "tools" : "template_name");
        rlf_err_hint(err, "leave out one of the two");
        return rlf_arg_blame(tools ? tools : named, RLF_USER, err);
    }
    if (path)
        return open_lua(env, path, m, err);
    if (!m->tokenizer)
        return RLF_OK;
    rlf_status status =
        rlf_chat_open(m->tokenizer, m->texts, &options, m->arena, err, &m->own);
    if (status >= 0 && tools && !m->own)
        status = rlf_fail(err, RLF_USER,
                          "the tokenizer of '%s' has no chat template to write "
                          "tools",
                          m->name);
    return rlf_arg_blame(named ? named : tools, status, err);
}

/* Only what changes is saved: does neither the model change, nor a copy of it,
 * whose tensors have the types of its own? */
static void
warn_saved(const rlf_env *env, int index, rlf_buf *out)
{
    const rlf_resource *resources = env->graph->resources.data;
    if (!rlf_declared(&resources[index], "save"))
        return;
    for (size_t i = 0; i < env->graph->resources.count; i++) {
        int from = (int)i;
        while (resources[i].class->model && from >= 0 && from != index)
            from = resources[from].source;
        if (from == index && !rlf_weight_copy_at(env, (int)i, 0)->fixed)
            return;
    }
    rlf_buf_printf(out,
                   "warning: %s: save: has no effect: nothing changes the "
                   "model, and only models that change are saved\n",
                   resources[index].name);
}

/* Is the model in a weighted sum, or what a copy begins as, whose heads are to
 * be the same? */
static bool
is_like_others(const rlf_graph *graph, int model)
{
    bool like = false;
    for (size_t i = 0; i < graph->resources.count; i++)
        like |= graph->resources.data[i].class->model &&
                graph->resources.data[i].source == model;
    for (size_t i = 0; i < graph->nodes.count && !like; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        if (node->class->work != RLF_WORK_WEIGHTS)
            continue;
        like = node->receiver == model;
        for (int k = 0; k < node->n_args && !like; k++)
            like = node->args[k].list[1].resource == model;
    }
    return like;
}

/* Two heads of which nothing reads one; of a model that changes both may be
 * wanted where that is saved. */
static void
warn_head(const rlf_env *env, const rlf_resource *resource,
          const rlf_model_object *m, rlf_buf *out)
{
    if (!rlf_declared(resource, "head") ||
        rlf_declared_head(resource, RLF_HEAD_LM) != RLF_HEAD_BOTH ||
        resource->trained || m->uses_scalar_head == m->uses_lm_head ||
        is_like_others(env->graph, rlf_model_index(env, resource)))
        return;
    rlf_buf_printf(out,
                   "warning: %s: head: both is more than is used: nothing asks "
                   "for %s\n",
                   resource->name,
                   m->uses_lm_head
                       ? "a value or score of it (head: lm)"
                       : "samples or log-probabilities of it (head: "
                         "scalar)");
}

static rlf_status
settle(const rlf_env *env, const rlf_resource *resource, void *object,
       rlf_err *err)
{
    (void)err;
    rlf_model_object *m = object;
    int index = rlf_model_index(env, resource);
    if (env->planned)
        return RLF_OK;
    rlf_reads_warn_ends(env, index, &m->warnings);
    rlf_reads_warn_after(env, index, &m->warnings);
    rlf_reads_warn_chats(env, index, &m->warnings);
    rlf_reads_warn_stops(env, index, &m->warnings);
    warn_saved(env, index, &m->warnings);
    warn_head(env, resource, m, &m->warnings);
    m->blank = rlf_weight_copies_blank(env, index);
    return RLF_OK;
}

static void
close_object(void *object)
{
    rlf_model_object *m = object;
    rlf_buf_free(&m->warnings);
    for (int i = 0; i < m->n_copies; i++)
        if (m->copies[i].own)
            rlf_model_free(m->copies[i].model);
    if (!m->source && !m->outlined) {
        rlf_lua_host_free(m->template);
        rlf_tokenizer_close(m->tokenizer);
    }
    rlf_arena_free(m->arena);
}

size_t
rlf_model_ends(const rlf_model_object *model, const uint32_t **out)
{
    const rlf_model_config *c = model->config;
    size_t n;
    *out = rlf_tokenizer_eos(model->tokenizer, &n);
    if (!c->n_eos)
        return n;
    *out = (const uint32_t *)c->eos; /* ids are not negative */
    return (size_t)c->n_eos;
}

/* The end token to write after a text: the tokenizer's own, if generating ends
 * with it; -1: none. */
static int64_t
find_end(const rlf_model_object *m)
{
    const uint32_t *ends;
    size_t n = rlf_model_ends(m, &ends), n_own;
    const uint32_t *own = rlf_tokenizer_eos(m->tokenizer, &n_own);
    for (size_t i = 0; n_own && i < n; i++)
        if (ends[i] == own[0])
            return own[0];
    return n ? (int64_t)ends[0] : -1;
}

/* Finds what the program makes with the model. */
static void
find_makes(const rlf_graph *graph, int model, rlf_model_object *m)
{
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        m->generates |=
            node->receiver == model && node->class->work == RLF_WORK_GENERATE;
        bool scores =
            node->class == &rlf_node_score || node->class == &rlf_node_value;
        m->uses_scalar_head |= node->receiver == model && scores;
        m->uses_lm_head |= rlf_place_reads_words(node, model) ||
                           (rlf_place_calls(node, model) && !scores);
    }
    for (size_t i = 0; i < graph->sets.count; i++) {
        const rlf_set *set = &graph->sets.data[i];
        m->tokenizes_responses |= set->model == model && set->tokens >= 0;
    }
}

/* As who writes and reads texts sees it. */
static void
make_reader(rlf_model_object *m)
{
    const uint32_t *ends;
    m->reader = (rlf_reader){.model = m->name,
                             .tokenizer = m->tokenizer,
                             .template = m->template,
                             .own = m->own,
                             .context = (uint32_t)m->config->context,
                             .vocab = (uint32_t)m->config->vocab};
    if (!m->tokenizer)
        return;
    m->reader.n_ends = rlf_model_ends(m, &ends);
    m->reader.ends = ends;
    m->reader.eos = find_end(m);
    m->reader.writes = rlf_rows_writes(&m->reader);
}

static rlf_status
open_object(const rlf_env *env, const rlf_resource *resource, rlf_err *err,
            void **out)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_model_object *m = RLF_NEW(arena, rlf_model_object);
    m->arena = arena;
    m->name = resource->name;
    m->config = RLF_NEW(arena, rlf_model_config);
    if (env->planned)
        m->tables = rlf_tables_new(m->config, arena);
    rlf_status status =
        rlf_declared_base(resource) ? open_base(env, resource, m, err)
        : resource->source >= 0     ? open_copy(env, resource, m, err)
                                    : open_lm(env, resource, m, err);
    if (status >= 0)
        status = open_template(env, resource, m, err);
    if (status < 0) {
        close_object(m);
        return status;
    }
    find_makes(env->graph, rlf_model_index(env, resource), m);
    make_reader(m);
    *out = m;
    return RLF_OK;
}

/* The parts of its weights that another rank would have, without memory. */
static rlf_status
outline_object(const rlf_env *env, const rlf_resource *resource, void *opened,
               rlf_err *err, void **out)
{
    const rlf_model_object *from = opened;
    rlf_arena *arena = rlf_arena_new();
    rlf_model_object *m = RLF_NEW(arena, rlf_model_object);
    *m = *from;
    m->arena = arena;
    m->outlined = true;
    m->warnings = (rlf_buf){0};
    m->copies = NULL;
    m->n_copies = 0;
    if (m->source)
        m->source = rlf_model_at(env, resource->source);
    rlf_status status = rlf_weight_copies_open(
        env, resource, from->outline->table->head, m, err);
    if (status < 0)
        close_object(m);
    else
        *out = m;
    return status;
}

const rlf_reader *
rlf_model_reader(const void *model)
{
    return &((const rlf_model_object *)model)->reader;
}

/* ---- checkpoints ---- */

static const rlf_caps *
caps(const void *object)
{
    return &((const rlf_model_object *)object)->outline->caps;
}

static rlf_status
shapes(const rlf_graph *graph, const rlf_resource *resource, const void *object,
       rlf_arena *arena, rlf_err *err, rlf_shapes *out)
{
    const rlf_model_object *m = object;
    if (!m)
        return rlf_declared_shapes(graph, resource, arena, err, out);
    RLF_TRY(rlf_arena_room(
        arena, (size_t)m->outline->table->n_slots * sizeof *out->list,
        "the tensors of a model", err));
    *out = rlf_move_shapes(m->outline->table, arena);
    return RLF_OK;
}

static rlf_status
move(const rlf_env *env, const rlf_resource *resource, void *object,
     const rlf_weight_edge *edge, struct rlf_group *world, rlf_err *err,
     rlf_moved *moved)
{
    (void)env, (void)resource;
    const rlf_model_object *m = object;
    return rlf_move_weights(m->copies[edge->from].model,
                            m->copies[edge->to].model, edge, world, err, moved);
}

/* A checkpoint has NAME/, a Hugging Face directory, and NAME.state; of a model
 * that nothing changes nothing, for what it is read from is an input of the
 * run. */
static char *
state_path(rlf_arena *arena, const char *directory, const char *name)
{
    return rlf_path_join(arena, directory,
                         rlf_arena_printf(arena, "%s.state", name));
}

static rlf_status
save(const rlf_env *env, const rlf_resource *resource, void *object,
     const char *directory, rlf_err *err)
{
    const rlf_model_object *m = object;
    const char *dir = rlf_path_join(env->pool, directory, resource->name);
    const rlf_weight_copy *copy =
        rlf_weight_copy_at(env, rlf_model_index(env, resource), 0);
    /* the first replica of the first copy has it all, but for slices of
     * moments */
    bool first = copy->mesh.at.dp == 0;
    if (!m->model || (!first && m->model->slices.n == 1))
        return RLF_OK;
    if (copy->fixed)
        return RLF_OK;
    if (first)
        RLF_TRY(rlf_weights_save(m->model, dir, err));
    if (saves_texts(env, resource))
        RLF_TRY(rlf_tokenizer_files_write(&m->files, dir, err));
    return rlf_weights_save_state(
        m->model, state_path(env->pool, directory, resource->name), err);
}

/* As above, the first replica of the first copy has it all. */
static rlf_status
gather(const rlf_env *env, const rlf_resource *resource, void *object,
       rlf_gathered *out, rlf_err *err)
{
    const rlf_model_object *m = object;
    const rlf_weight_copy *copy =
        rlf_weight_copy_at(env, rlf_model_index(env, resource), 0);
    if (!m->model || copy->mesh.at.dp != 0)
        return RLF_OK;
    return rlf_weights_gather(m->model, out, err);
}

/* Every copy reads for itself; later weights are not there yet, and those that
 * never change have been read. */
static rlf_status
restore(const rlf_env *env, const rlf_resource *resource, void *object,
        const char *directory, rlf_err *err)
{
    const rlf_model_object *m = object;
    const char *dir = rlf_path_join(env->pool, directory, resource->name);
    if (rlf_weight_copy_at(env, rlf_model_index(env, resource), 0)->fixed)
        return RLF_OK;
    for (int i = 0; i < m->n_copies; i++)
        if (m->copies[i].own && !m->copies[i].later)
            RLF_TRY(rlf_weights_restore(
                m->copies[i].model, dir,
                state_path(env->pool, directory, resource->name), err));
    return RLF_OK;
}

static rlf_status
suits(const rlf_env *env, const rlf_resource *resource, const void *object,
      const char *directory, rlf_err *err)
{
    const rlf_model_object *m = object;
    const rlf_table *whole = m->outline->table->whole;
    const char *from = m->config->dir;
    const char *by = from && !rlf_table_adapted(whole)
                         ? rlf_arena_printf(env->pool, "%s/config.json", from)
                         : "the program";
    const char *how = rlf_weights_differ(
        whole, rlf_path_join(env->pool, directory, resource->name), by,
        env->pool);
    if (!how)
        return RLF_OK;
    rlf_fail(err, RLF_USER,
             "%s: model '%s' had another shape when it was saved: %s",
             directory, resource->name, how);
    rlf_err_hint(err, "a resume cannot change the shape of a model, and "
                      "--accept cannot help: give it the model that it had, or "
                      "begin a new run in another --out, which may read the "
                      "models of the checkpoint");
    return RLF_USER;
}

/* There is no second copy of the weights: what has begun to change them is not
 * undone. */
static void
mark(void *object)
{
    const rlf_model_object *m = object;
    if (m->model)
        m->model->marked = m->model->begun;
}

static bool
back(void *object)
{
    const rlf_model_object *m = object;
    return !m->model || m->model->marked == m->model->begun;
}

static void
note(const rlf_resource *resource, void *object, rlf_buf *out)
{
    const rlf_model_object *m = object;
    if (m->config->untied && !m->source)
        rlf_buf_printf(out,
                       "%s: its files have an lm_head.weight that is not the "
                       "embedding, though config.json has "
                       "\"tie_word_embeddings\": true: that head is taken, and "
                       "saved models say false\n",
                       resource->name);
    if (m->tokenizer && !m->source &&
        rlf_tokenizer_vocab(m->tokenizer) > (uint32_t)m->config->vocab)
        rlf_buf_printf(out,
                       "%s: its tokenizer has tokens up to %u, and the model "
                       "knows those below %d: texts with others are refused\n",
                       resource->name, rlf_tokenizer_vocab(m->tokenizer) - 1,
                       m->config->vocab);
    if (m->config->slips && !m->source)
        rlf_buf_printf(out, "%s: its config.json has keys that nothing reads: %s\n",
                       resource->name, m->config->slips);
    double longest = m->outline ? m->outline->caps.reach : 0;
    if (rlf_rope_is_stretched(&m->config->rope, longest) && !m->source)
        rlf_buf_printf(out,
                       "%s: its %s rotations are stretched for %.0f tokens, "
                       "the longest sequence that this program can have: a "
                       "program of at most %.0f has other log-probabilities\n",
                       resource->name, rlf_rope_kind(m->config->rope.kind),
                       longest, m->config->rope.original);
    if (m->config->unheeded && m->generates)
        rlf_buf_printf(out,
                       "%s: its generation_config.json asks for what generate "
                       "does not do: %s\n",
                       resource->name, m->config->unheeded);
    if (m->tokenizes_responses && !m->reader.n_ends)
        rlf_buf_printf(out,
                       "%s: neither its files nor its tokenizer name an end "
                       "token: respond writes none, and generate ends by "
                       "max_new: and stop: alone\n",
                       resource->name);
    if (m->rounds)
        rlf_buf_printf(out,
                       "%s: its files have tensors of %s, and saved models "
                       "are rounded to that; save: f32 keeps all bits\n",
                       resource->name, m->known.half);
    if (m->blank && m->uses_scalar_head)
        rlf_buf_printf(out,
                       "%s: no file has its scalar head, and nothing trains "
                       "it: every value and score of it is 0\n",
                       resource->name);
    if (m->known.idle_score && !m->source)
        rlf_buf_printf(out,
                       "%s: its adapter has a scalar head that was trained "
                       "with it, " RLF_ADAPTER_SCORE ": head: lm leaves it "
                       "out, and so do saved models; head: both reads it\n",
                       resource->name);
    rlf_buf_puts(out, m->warnings.p ? m->warnings.p : "");
}

static const rlf_reader *
reader(const void *object)
{
    const rlf_model_object *m = object;
    return &m->reader;
}

static const rlf_model_class of_models = {
    .outline = outline_object,
    .caps = caps,
    .reserve = rlf_weight_copies_reserve,
    .pools = rlf_model_pools,
    .shapes = shapes,
    .fits = rlf_declared_fits,
    .differ = rlf_declared_differ,
    .suits = suits,
    .move = move,
    .gather = gather,
    .reader = reader,
};

const rlf_resource_class rlf_resource_model = {
    .name = "model",
    .kind = RLF_RESOURCE_MODEL,
    .doc = "a transformer with its tokenizer",
    .noun = "model",
    .saved = "a model that changes",
    .model = &of_models,
    .constructors = rlf_model_constructors,
    .n_constructors = RLF_MODEL_CONSTRUCTORS,
    .open = open_object,
    .settle = settle,
    .note = note,
    .close = close_object,
    .memory = rlf_model_memory,
    .save = save,
    .restore = restore,
    .mark = mark,
    .back = back,
};

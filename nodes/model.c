/* The resource class of models: where their weights lie on a rank, memory,
 * checkpoints. See model.h; what declarations say stands in declare.h. */
#include "nodes/model.h"

#include <limits.h>
#include <stdio.h>

#include "engine/base/vec.h"
#include "engine/comm/comm.h"
#include "engine/graph/class.h"
#include "engine/graph/place.h"
#include "engine/io/file.h"
#include "engine/lua/host.h"
#include "engine/text/tokenizer.h"
#include "nodes/chat.h"
#include "nodes/declare.h"
#include "nodes/hook.h"
#include "nodes/model/move.h"
#include "nodes/model/tables.h"
#include "nodes/model/weights.h"
#include "nodes/model/work.h"
#include "nodes/reads.h"
#include "nodes/sequences.h"
#include "nodes/update.h"

/* ---- weights, where they lie ---- */

/* One hold, on this rank alone: of a run without meshes. */
static const rlf_hold alone;

static int
index_of(const rlf_env *env, const rlf_resource *resource)
{
    return (int)(resource - env->graph->resources.data);
}

static const rlf_hold *
hold_at(const rlf_env *env, int model, int i)
{
    return env->holds ? &env->holds[model].list[i] : &alone;
}

/* The hold of a model that a node takes its weights from. */
static int
hold_of(const rlf_env *env, const rlf_node *node, int model)
{
    return env->hold ? env->hold[node->id][model] : 0;
}

rlf_model *
rlf_model_of(const rlf_call *call, int resource)
{
    const rlf_env *env = call->env;
    if (rlf_call_mesh(call)->at.tp < 0)
        return NULL;
    return rlf_model_at(env, resource)
        ->holds[hold_of(env, call->node, resource)]
        .model;
}

/* Its weights lie in host memory between calls (the plan says when that can
 * be). */
static bool
is_offloaded(const rlf_graph *graph, int model)
{
    const rlf_place_row *row =
        rlf_placement_find(graph->placement, model, NULL);
    return row && row->offload == 1;
}

/* Do weights go from its first hold to others, on whatever ranks, that have
 * only what calls read? */
static bool
serves(const rlf_env *env, int model)
{
    for (int i = 1; env->holds && i < env->holds[model].n; i++) {
        const rlf_hold *hold = hold_at(env, model, i);
        if (hold->by_layer && !hold->fixed)
            return true;
    }
    return false;
}

/* With what the plan says of it, and the numerics that its placement asks for.
 */
static rlf_model_options
options_of(const rlf_env *env, const rlf_resource *resource,
           const rlf_model_object *m, rlf_model_head head, int i)
{
    int index = index_of(env, resource);
    const rlf_hold *hold = hold_at(env, index, i);
    bool trained = resource->trained && i == 0;
    bool save_f32 = rlf_declared_save_f32(env->graph, resource);
    return (rlf_model_options){
        .head = head,
        .trained = trained,
        .bare = hold->bare,
        .offload = is_offloaded(env->graph, index) && !hold->bare,
        .by_layer = hold->by_layer,
        .fixed = hold->by_layer && hold->fixed,
        .save_f32 = save_f32,
        .serves = i == 0 && serves(env, index),
        .stage = RLF_MOVE_STAGE,
        .caps = env->caps ? &env->caps[index] : NULL,
        .tables = m->tables,
        .shards = env->sums ? env->sums[index].shards : 1,
        .lanes = env->sums ? env->sums[index].lanes : 1,
        .group = hold->mesh.tp,
        .stages = hold->mesh.pp,
        .chunks = hold->mesh.layout.chunks,
        .vee = hold->mesh.layout.vee,
        .replicas = trained ? hold->mesh.dp : NULL,
        .peers = trained ? hold->mesh.slice : NULL,
        .flights = trained ? hold->mesh.flights : NULL,
        .owed = trained ? hold->mesh.owed : NULL,
        .sliced = trained && hold->mesh.zero > 0,
    };
}

/* Has it every tensor that `model` has, but for a scalar head? */
static bool
has_all(const rlf_model *x, const rlf_model *model)
{
    const rlf_table *t = model->table;
    for (int i = 0; i < t->n_slots; i++)
        if (t->slots[i].offset != t->score &&
            !rlf_table_find(x->table, t->slots[i].name))
            return false;
    return true;
}

/* The weights of an object that are cut as `model` is, or NULL. */
static const rlf_model *
cut_alike(const rlf_model_object *m, const rlf_model *model)
{
    for (int i = 0; i < m->n_holds; i++) {
        const rlf_model *x = m->holds[i].model;
        if (x && x->weights && !m->holds[i].later &&
            rlf_table_cut_alike(&x->table->cut, &model->table->cut) &&
            has_all(x, model))
            return x;
    }
    return NULL;
}

/* Where its first weights are from, in the end. */
static rlf_weights_origin
origin_of(const rlf_env *env, const rlf_resource *resource,
          const rlf_model_object *m, rlf_arena *arena)
{
    RLF_VEC(const rlf_table *) copies = {0};
    for (; m->source; m = m->source) {
        RLF_PUSH_IN(arena, &copies, m->source->outline->table);
        resource = &env->graph->resources.data[resource->source];
    }
    const rlf_arg *from = rlf_declared_source(resource);
    return (rlf_weights_origin){.dir = from->kind == RLF_ARG_LIST ? NULL
                                                                  : from->text,
                                .seed = env->seed,
                                .copies = copies.data,
                                .n_copies = (int)copies.count};
}

/* The first weights: those of the model copied, where that has them cut alike;
 * else what it was made of. */
static rlf_status
fill(const rlf_env *env, const rlf_resource *resource,
     const rlf_model_object *m, rlf_model *model, rlf_err *err)
{
    const rlf_model *alike =
        m->source && model->weights ? cut_alike(m->source, model) : NULL;
    if (alike)
        return rlf_model_copy(model, alike, err);
    const rlf_weights_origin origin = origin_of(env, resource, m, m->arena);
    return rlf_weights_fill(model, &origin, err);
}

/* The first hold of this rank that has the same part, in the same group: one
 * model does for both, unless the other's weights come by layer and all are
 * wanted, or one keeps later weights. */
static int
first_alike(const rlf_env *env, int model, const rlf_model_object *m, int i)
{
    const rlf_mesh *x = &hold_at(env, model, i)->mesh;
    if (hold_at(env, model, i)->later_of)
        return i;
    for (int k = 0; k < i; k++) {
        const rlf_mesh *y = &hold_at(env, model, k)->mesh;
        if (hold_at(env, model, k)->by_layer &&
            !hold_at(env, model, i)->by_layer)
            continue;
        if (m->holds[k].own && rlf_layout_same_cut(&x->layout, &y->layout) &&
            x->at.tp == y->at.tp && x->at.pp == y->at.pp && x->tp == y->tp &&
            x->pp == y->pp)
            return k;
    }
    return i;
}

static void
add_use(const rlf_env *env, const rlf_node *node, int model,
        rlf_model_object *m, rlf_use use)
{
    int first = m->holds[hold_of(env, node, model)].first;
    if (first >= 0)
        m->holds[first].uses[use] = true;
}

/* What nodes on this rank do with its weights. */
static void
find_uses(const rlf_env *env, int model, rlf_model_object *m)
{
    const rlf_graph *graph = env->graph;
    m->holds[0].uses[RLF_USE_UPDATE] = m->holds[0].own && m->outline->trained;
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        rlf_work_kind work = node->class->work;
        if (env->mesh && env->mesh[i].at.tp < 0)
            continue;
        if (rlf_place_reads_words(node, model))
            add_use(env, node, model, m, RLF_USE_READ);
        if (rlf_place_calls(node, model) && work != RLF_WORK_TRAIN)
            add_use(env, node, model, m,
                    work == RLF_WORK_GENERATE ? RLF_USE_GENERATE
                                              : RLF_USE_READ);
    }
}

/* Which holds have a part here, and models of their own. */
static void
find_holds(const rlf_env *env, int model, rlf_model_object *m)
{
    m->n_holds = env->holds ? env->holds[model].n : 1;
    m->holds = RLF_NEW_ARRAY(m->arena, rlf_model_hold, m->n_holds);
    for (int i = 0; i < m->n_holds; i++) {
        const rlf_hold *hold = hold_at(env, model, i);
        rlf_model_hold *to = &m->holds[i];
        if (i > 0 && hold->call)
            to->call = hold->call->name;
        to->later = hold->later_of > 0;
        to->first = hold->mesh.at.tp < 0 ? -1 : first_alike(env, model, m, i);
        to->own = to->first == i;
    }
    find_uses(env, model, m);
}

/* The error is at the row that asks for it: of an update or not, with these
 * tokens of a micro-batch, or with a schedule (tokens 0). */
static void
at_row(const rlf_env *env, const rlf_resource *resource, bool update,
       int64_t tokens, rlf_err *err)
{
    const rlf_placement *placement = env->graph->placement;
    for (int i = 0; placement && i < placement->n_rows; i++) {
        const rlf_place_row *row = &placement->rows[i];
        bool asks = tokens ? row->tokens == tokens : row->schedule != NULL;
        if (asks && row->model == index_of(env, resource) &&
            (!row->call || (row->call->work == RLF_WORK_TRAIN) == update))
            rlf_err_place(err, row->span, NULL);
    }
}

/* Micro-batches whose activations are kept at once, by chunk: those of the
 * pipeline's schedule, but no more than there can be. */
static rlf_status
count_flights(const rlf_env *env, const rlf_resource *resource,
              rlf_model_object *m, rlf_model_options *options, rlf_err *err)
{
    const int *said = options->flights;
    if (!said)
        return RLF_OK;
    rlf_caps caps =
        rlf_caps_resolve(options->caps, (uint32_t)m->config->context);
    int dp = options->replicas ? rlf_group_size(options->replicas) : 1;
    int64_t most =
        rlf_update_most_micros(env->graph, index_of(env, resource), &caps,
                               (options->lanes + dp - 1) / dp);
    int *flights = RLF_NEW_ARRAY(m->arena, int, options->chunks);
    int *owed = RLF_NEW_ARRAY(m->arena, int, options->chunks);
    for (int c = 0; c < options->chunks; c++) {
        if (!said[c] && (!most || most > INT_MAX)) {
            rlf_fail(err, RLF_USER,
                     "the pipeline of '%s' keeps all micro-batches of an "
                     "update (schedule: \"gpipe\"), and there is no bound on "
                     "their number",
                     resource->name);
            rlf_err_hint(err,
                         "take schedule: \"1f1b\", or give the flow's draw "
                         "a number of rows");
            at_row(env, resource, true, 0, err);
            return RLF_USER;
        }
        flights[c] = said[c] && (!most || said[c] < most) ? said[c] : (int)most;
        if (options->owed)
            owed[c] =
                options->owed[c] < flights[c] ? options->owed[c] : flights[c];
    }
    options->flights = flights;
    if (options->owed)
        options->owed = owed;
    return RLF_OK;
}

/* Holds beside one that is trained live from when they get its weights until
 * its next update begins (engine/order keeps readers and writers of a model
 * apart), so they lie in memory that only updates need. */
static rlf_status
lend(const rlf_env *env, const rlf_resource *resource, rlf_model_head head,
     const rlf_model_object *m, rlf_model_options *options, rlf_err *err)
{
    const bool *uses = m->holds[0].uses;
    options->unread = !uses[RLF_USE_READ] && !uses[RLF_USE_GENERATE];
    for (int i = 1; i < m->n_holds && options->trained; i++) {
        if (!m->holds[i].own)
            continue;
        rlf_model_options other = options_of(env, resource, m, head, i);
        size_t bytes;
        RLF_TRY(
            rlf_model_loan_bytes(env->kernels, m->config, &other, err, &bytes));
        options->lends += bytes;
    }
    return RLF_OK;
}

/* Without memory, which it takes once all is known to fit. */
static rlf_status
open_hold(const rlf_env *env, const rlf_resource *resource, rlf_model_head head,
          rlf_model_object *m, int i, rlf_err *err)
{
    rlf_model_options options = options_of(env, resource, m, head, i);
    RLF_TRY(count_flights(env, resource, m, &options, err));
    if (i == 0)
        RLF_TRY(lend(env, resource, head, m, &options, err));
    else if (m->model && m->model->trained)
        options.lender = m->model;
    return rlf_model_lay(env->queue, env->kernels, m->config, &options, err,
                         &m->holds[i].model);
}

/* Files that are no such model are told of before anything is read. */
static rlf_status
check_origin(const rlf_env *env, const rlf_resource *resource,
             rlf_model_object *m, rlf_err *err)
{
    const rlf_weights_origin origin = origin_of(env, resource, m, m->arena);
    if (!m->source)
        return rlf_arg_blame(
            rlf_declared_source(resource),
            rlf_weights_check(m->outline->table, &origin, err, &m->known), err);
    m->known = m->source->known;
    if (m->source->outline->table->whole->score == RLF_NO_SLOT)
        m->known.blank_score = m->outline->table->whole->score != RLF_NO_SLOT;
    return RLF_OK;
}

static rlf_status
fill_hold(const rlf_env *env, const rlf_resource *resource,
          const rlf_model_object *m, const rlf_model_hold *hold, rlf_err *err)
{
    RLF_TRY(rlf_model_take(hold->model, err));
    if (hold->later)
        return RLF_OK;
    RLF_TRY(rlf_arg_blame(rlf_declared_source(resource),
                          fill(env, resource, m, hold->model, err), err));
    hold->model->version = 1; /* in however many steps it was made */
    return RLF_OK;
}

/* The parts of the weights that lie on this rank. */
static rlf_status
open_holds(const rlf_env *env, const rlf_resource *resource,
           rlf_model_head head, rlf_model_object *m, rlf_err *err)
{
    int index = index_of(env, resource);
    rlf_model_options options = options_of(env, resource, m, head, 0);
    RLF_TRY(rlf_model_outline(env->kernels, m->config, &options, m->arena, err,
                              &m->outline));
    if (m->source)
        RLF_TRY(rlf_model_check_copy(m->outline, m->source->outline, err));
    if (!env->planned)
        RLF_TRY(check_origin(env, resource, m, err));
    bool fixed = hold_at(env, index, 0)->fixed;
    m->rounds = m->known.half && !options.save_f32 && !fixed;
    m->blank = m->known.blank_score && fixed;
    find_holds(env, index, m);
    for (int i = 0; i < m->n_holds; i++) {
        rlf_model_hold *to = &m->holds[i];
        if (to->own)
            RLF_TRY(open_hold(env, resource, head, m, i, err));
        else if (to->first >= 0)
            to->model = m->holds[to->first].model;
        if (i == 0)
            m->model = to->model;
    }
    return RLF_OK;
}

/* Has this rank the first part of the first replica, of a model that changes?
 * It saves the files that all of them share. */
static bool
saves_texts(const rlf_env *env, const rlf_resource *resource)
{
    const rlf_hold *hold = hold_at(env, index_of(env, resource), 0);
    const rlf_coordinates at = hold->mesh.at;
    return !env->planned && !hold->fixed && at.dp == 0 && at.tp == 0 &&
           at.pp == 0;
}

/* Of a model that is read from files a plan does not need it. */
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
            texts, rlf_tokenizer_files_read(m->texts, m->arena, err, m->files),
            err));
    RLF_TRY(rlf_declared_config(resource, m->tokenizer, env->planned, m->arena,
                                err, m->config));
    return open_holds(env, resource, rlf_declared_head(resource, RLF_HEAD_LM),
                      m, err);
}

static rlf_status
open_copy(const rlf_env *env, const rlf_resource *resource, rlf_model_object *m,
          rlf_err *err)
{
    m->source = rlf_model_at(env, resource->source);
    m->tokenizer = m->source->tokenizer;
    m->texts = m->source->texts;
    if (saves_texts(env, resource))
        RLF_TRY(rlf_tokenizer_files_read(m->texts, m->arena, err, m->files));
    *m->config = *m->source->config;
    return open_holds(
        env, resource,
        rlf_declared_head(resource, m->source->outline->table->head), m, err);
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

/* The template that the tokenizer comes with. */
static rlf_status
open_own(const rlf_env *env, const rlf_resource *resource, rlf_model_object *m,
         rlf_err *err)
{
    const rlf_arg *date = rlf_declared(resource, "date");
    uint32_t day = date ? day_of(date->text) : env->day;
    if (date && !day)
        return rlf_arg_blame(
            date,
            rlf_fail(err, RLF_USER, "date: is a day such as \"2024-12-31\""),
            err);
    if (!m->tokenizer)
        return RLF_OK;
    return rlf_chat_open(m->tokenizer, m->texts, day, m->arena, err, &m->own);
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
    const rlf_arg *path = rlf_declared(resource, "template");
    if (m->source) {
        m->template = m->source->template;
        m->own = m->source->own;
        return RLF_OK;
    }
    return path ? open_lua(env, path, m, err) : open_own(env, resource, m, err);
}

static rlf_status
settle(const rlf_env *env, const rlf_resource *resource, void *object,
       rlf_err *err)
{
    (void)err;
    rlf_model_object *m = object;
    if (!env->planned)
        rlf_reads_warn_ends(env, index_of(env, resource), &m->warnings);
    return RLF_OK;
}

static void
close_object(void *object)
{
    rlf_model_object *m = object;
    rlf_buf_free(&m->warnings);
    for (int i = 0; i < m->n_holds; i++)
        if (m->holds[i].own)
            rlf_model_free(m->holds[i].model);
    if (!m->source && !m->outlined) {
        rlf_lua_host_free(m->template);
        rlf_tokenizer_close(m->tokenizer);
    }
    rlf_arena_free(m->arena);
}

/* A sequence is read in one piece, so a micro-batch must hold the longest. */
static rlf_status
check_tokens(const rlf_env *env, const rlf_resource *resource,
             const rlf_caps *caps, rlf_use use, rlf_err *err)
{
    if (use == RLF_USE_GENERATE || caps->tokens[use] >= caps->longest)
        return RLF_OK;
    rlf_fail(err, RLF_USER,
             "a micro-batch of model '%s' holds %u tokens (tokens: of its "
             "place row), but a sequence can have %u",
             resource->name, caps->tokens[use], caps->longest);
    rlf_err_hint(err, "raise tokens:, or lower max_prompt: of the data and "
                      "max_new: of generate");
    at_row(env, resource, use == RLF_USE_UPDATE, caps->tokens[use], err);
    return RLF_USER;
}

static rlf_status
reserve_hold(const rlf_env *env, const rlf_resource *resource,
             const rlf_model_hold *hold, rlf_err *err)
{
    rlf_model *model = hold->model;
    rlf_kv *pages;
    void *arrays;
    for (rlf_use use = 0; use < RLF_N_USES; use++) {
        if (!hold->uses[use])
            continue;
        RLF_TRY(check_tokens(env, resource, &model->caps, use, err));
        RLF_TRY(rlf_work_reserve(model, use, err));
    }
    if (!hold->uses[RLF_USE_GENERATE])
        return RLF_OK;
    RLF_TRY(rlf_work_pages(model, err, &pages));
    return rlf_work_arrays(model, err, &arrays);
}

/* All weights are there, and buffers made, before the first step; none grows
 * later. */
static rlf_status
reserve(const rlf_env *env, const rlf_resource *resource, void *object,
        rlf_err *err)
{
    const rlf_model_object *m = object;
    for (int i = 0; i < m->n_holds; i++)
        if (m->holds[i].own)
            RLF_TRY(fill_hold(env, resource, m, &m->holds[i], err));
    for (int i = 0; i < m->n_holds; i++)
        if (m->holds[i].own)
            RLF_TRY(reserve_hold(env, resource, &m->holds[i], err));
    return RLF_OK;
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

/* What the program makes with it. */
static void
find_makes(const rlf_graph *graph, int model, rlf_model_object *m)
{
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        m->generates |=
            node->receiver == model && node->class->work == RLF_WORK_GENERATE;
        m->scores |=
            node->receiver == model && (node->class == &rlf_node_score ||
                                        node->class == &rlf_node_value);
    }
    for (size_t i = 0; i < graph->sets.count; i++) {
        const rlf_set *set = &graph->sets.data[i];
        m->writes |= set->model == model && set->tokens >= 0;
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
                             .context = (uint32_t)m->config->context};
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
    rlf_status status = strcmp(resource->constructor, "copy") == 0
                            ? open_copy(env, resource, m, err)
                            : open_lm(env, resource, m, err);
    if (status >= 0)
        status = open_template(env, resource, m, err);
    if (status < 0) {
        close_object(m);
        return status;
    }
    find_makes(env->graph, index_of(env, resource), m);
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
    m->holds = NULL;
    m->n_holds = 0;
    if (m->source)
        m->source = rlf_model_at(env, resource->source);
    rlf_status status =
        open_holds(env, resource, from->outline->table->head, m, err);
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
    return rlf_move_weights(m->holds[edge->from].model,
                            m->holds[edge->to].model, edge, world, err, moved);
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
    const rlf_hold *hold = hold_at(env, index_of(env, resource), 0);
    /* the first replica of the first hold has it all, but for slices of
     * moments */
    bool first = hold->mesh.at.dp == 0;
    if (!m->model || (!first && m->model->slices.n == 1))
        return RLF_OK;
    if (hold->fixed)
        return RLF_OK;
    if (first)
        RLF_TRY(rlf_weights_save(m->model, dir, err));
    if (saves_texts(env, resource))
        RLF_TRY(rlf_tokenizer_files_write(m->files, dir, err));
    return rlf_weights_save_state(
        m->model, state_path(env->pool, directory, resource->name), err);
}

/* Every hold reads for itself; later weights are not there yet, and those that
 * never change have been read. */
static rlf_status
restore(const rlf_env *env, const rlf_resource *resource, void *object,
        const char *directory, rlf_err *err)
{
    const rlf_model_object *m = object;
    const char *dir = rlf_path_join(env->pool, directory, resource->name);
    if (hold_at(env, index_of(env, resource), 0)->fixed)
        return RLF_OK;
    for (int i = 0; i < m->n_holds; i++)
        if (m->holds[i].own && !m->holds[i].later)
            RLF_TRY(rlf_weights_restore(
                m->holds[i].model, dir,
                state_path(env->pool, directory, resource->name), err));
    return RLF_OK;
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
    if (m->writes && !m->reader.n_ends)
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
    if (m->blank && m->scores)
        rlf_buf_printf(out,
                       "%s: no file has its scalar head, and nothing trains "
                       "it: every value and score of it is 0\n",
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
    .reserve = reserve,
    .pools = rlf_model_pools,
    .shapes = shapes,
    .fits = rlf_declared_fits,
    .move = move,
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

/* The copies of a model: see model_copies.h. */
#include "nodes/model_copies.h"

#include <limits.h>

#include "engine/base/vec.h"
#include "engine/comm/comm.h"
#include "engine/graph/class.h"
#include "engine/graph/place.h"
#include "nodes/model_declare.h"
#include "nodes/model/block.h"
#include "nodes/model/move.h"
#include "nodes/model/tables.h"
#include "nodes/model/weights.h"
#include "nodes/model/buffers.h"
#include "nodes/sequences.h"
#include "nodes/update.h"

/* One copy, on this rank alone: of a run without meshes. */
static const rlf_weight_copy alone;

const rlf_weight_copy *
rlf_weight_copy_at(const rlf_env *env, int model, int i)
{
    return env->copies ? &env->copies[model].list[i] : &alone;
}

/* The copy of a model that a node takes its weights from. */
static int
copy_of(const rlf_env *env, const rlf_node *node, int model)
{
    return env->copy ? env->copy[node->id][model] : 0;
}

rlf_model *
rlf_model_of(const rlf_call *call, int resource)
{
    const rlf_env *env = call->env;
    if (rlf_call_mesh(call)->at.tp < 0)
        return NULL;
    return rlf_model_at(env, resource)
        ->copies[copy_of(env, call->node, resource)]
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

/* Do weights go from its first copy to others, on whatever ranks, that have
 * only what calls read? */
static bool
serves(const rlf_env *env, int model)
{
    for (int i = 1; env->copies && i < env->copies[model].n; i++) {
        const rlf_weight_copy *copy = rlf_weight_copy_at(env, model, i);
        if (copy->by_layer && !copy->fixed)
            return true;
    }
    return false;
}

/* The options of a model, with what the plan says of it and the numerics that
 * its placement asks for. */
static rlf_model_options
options_of(const rlf_env *env, const rlf_resource *resource,
           const rlf_model_object *m, rlf_model_head head, int i)
{
    int index = rlf_model_index(env, resource);
    const rlf_weight_copy *copy = rlf_weight_copy_at(env, index, i);
    bool trained = resource->trained && i == 0;
    bool save_f32 = rlf_declared_save_f32(env->graph, resource);
    return (rlf_model_options){
        .head = head,
        .trained = trained,
        .bare = copy->bare,
        .offload = is_offloaded(env->graph, index) && !copy->bare,
        .by_layer = copy->by_layer,
        .fixed = copy->by_layer && copy->fixed,
        .bf16 = m->bf16,
        .save_f32 = save_f32,
        .serves = i == 0 && serves(env, index),
        .stage = RLF_MOVE_STAGE,
        .caps = env->caps ? &env->caps[index] : NULL,
        .tables = m->tables,
        .shards = env->sums ? env->sums[index].shards : 1,
        .lanes = env->sums ? env->sums[index].lanes : 1,
        .group = copy->mesh.tp,
        .stages = copy->mesh.pp,
        .chunks = copy->mesh.layout.chunks,
        .vee = copy->mesh.layout.vee,
        .replicas = trained ? copy->mesh.dp : NULL,
        .peers = trained ? copy->mesh.slice : NULL,
        .flights = trained ? copy->mesh.flights : NULL,
        .owed = trained ? copy->mesh.owed : NULL,
        .sliced = trained && copy->mesh.zero > 0,
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
    for (int i = 0; i < m->n_copies; i++) {
        const rlf_model *x = m->copies[i].model;
        if (x && x->weights && !m->copies[i].later &&
            rlf_table_cut_alike(&x->table->cut, &model->table->cut) &&
            has_all(x, model))
            return x;
    }
    return NULL;
}

/* The origin of its first weights, in the end. */
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
                                .adapter = rlf_declared_adapter(resource),
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

/* The first copy of this rank that has the same part, in the same group: one
 * model does for both, unless the other's weights come by layer and all are
 * wanted, or one keeps later weights. */
static int
first_alike(const rlf_env *env, int model, const rlf_model_object *m, int i)
{
    const rlf_mesh *x = &rlf_weight_copy_at(env, model, i)->mesh;
    if (rlf_weight_copy_at(env, model, i)->later_of)
        return i;
    for (int k = 0; k < i; k++) {
        const rlf_mesh *y = &rlf_weight_copy_at(env, model, k)->mesh;
        if (rlf_weight_copy_at(env, model, k)->by_layer &&
            !rlf_weight_copy_at(env, model, i)->by_layer)
            continue;
        if (m->copies[k].own && rlf_layout_same_cut(&x->layout, &y->layout) &&
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
    int first = m->copies[copy_of(env, node, model)].first;
    if (first >= 0)
        m->copies[first].uses[use] = true;
}

/* Finds what nodes on this rank do with its weights. */
static void
find_uses(const rlf_env *env, int model, rlf_model_object *m)
{
    const rlf_graph *graph = env->graph;
    m->copies[0].uses[RLF_USE_UPDATE] = m->copies[0].own && m->outline->trained;
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

/* Finds the copies that have a part here, and those of them that have models of
 * their own. */
static void
find_copies(const rlf_env *env, int model, rlf_model_object *m)
{
    m->n_copies = env->copies ? env->copies[model].n : 1;
    m->copies = RLF_NEW_ARRAY(m->arena, rlf_local_copy, m->n_copies);
    for (int i = 0; i < m->n_copies; i++) {
        const rlf_weight_copy *copy = rlf_weight_copy_at(env, model, i);
        rlf_local_copy *to = &m->copies[i];
        if (i > 0 && copy->call)
            to->call = copy->call->name;
        to->later = copy->later_of > 0;
        to->first = copy->mesh.at.tp < 0 ? -1 : first_alike(env, model, m, i);
        to->own = to->first == i;
    }
    find_uses(env, model, m);
}

/* The error is at the place row that asks for it: of an update or not, with
 * these tokens of a micro-batch, or with a schedule (tokens 0). */
static void
at_row(const rlf_env *env, const rlf_resource *resource, bool update,
       int64_t tokens, rlf_err *err)
{
    const rlf_placement *placement = env->graph->placement;
    for (int i = 0; placement && i < placement->n_rows; i++) {
        const rlf_place_row *row = &placement->rows[i];
        bool asks = tokens ? row->tokens == tokens : row->schedule != NULL;
        if (asks && row->model == rlf_model_index(env, resource) &&
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
        rlf_update_most_micros(env->graph, rlf_model_index(env, resource),
                               &caps, (options->lanes + dp - 1) / dp);
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

/* Copies beside one that is trained live from when they get its weights until
 * its next update begins (engine/order keeps readers and writers of a model
 * apart), so they lie in memory that only updates need. */
static rlf_status
lend(const rlf_env *env, const rlf_resource *resource, rlf_model_head head,
     const rlf_model_object *m, rlf_model_options *options, rlf_err *err)
{
    const bool *uses = m->copies[0].uses;
    if (m->config->lora.rank) /* their bases stay where they are */
        return RLF_OK;
    options->unread = !uses[RLF_USE_READ] && !uses[RLF_USE_GENERATE];
    for (int i = 1; i < m->n_copies && options->trained; i++) {
        if (!m->copies[i].own)
            continue;
        rlf_model_options other = options_of(env, resource, m, head, i);
        size_t bytes;
        RLF_TRY(
            rlf_model_loan_bytes(env->kernels, m->config, &other, err, &bytes));
        options->lends += bytes;
    }
    return RLF_OK;
}

/* The weights of a model's base that are cut so, or NULL. */
static const rlf_model *
base_of(const rlf_model_object *m, const rlf_model_options *options)
{
    const rlf_cut cut = rlf_block_cut(options);
    if (!m->base || !options->by_layer || !options->fixed)
        return NULL;
    for (int i = 0; i < m->source->n_copies; i++) {
        const rlf_model *x = m->source->copies[i].model;
        if (x && !x->bare && !x->offload && x->table->shards.of == cut.shards &&
            rlf_table_cut_alike(&x->table->cut, &cut))
            return x;
    }
    return NULL;
}

/* Opens a copy without memory, which it takes once all is known to fit. */
static rlf_status
open_copy(const rlf_env *env, const rlf_resource *resource, rlf_model_head head,
          rlf_model_object *m, int i, rlf_err *err)
{
    rlf_model_options options = options_of(env, resource, m, head, i);
    options.base_of = base_of(m, &options);
    RLF_TRY(count_flights(env, resource, m, &options, err));
    if (i == 0)
        RLF_TRY(lend(env, resource, head, m, &options, err));
    else if (m->model && m->model->trained && !m->config->lora.rank)
        options.lender = m->model;
    return rlf_model_lay(env->queue, env->kernels, m->config, &options, err,
                         &m->copies[i].model);
}

/* Finds the weights that can be kept in bf16; of a plan, whose files may be
 * elsewhere, if they are here. */
static rlf_status
find_bf16(const rlf_env *env, const rlf_resource *resource, rlf_model_object *m,
          rlf_err *err)
{
    if (m->outlined || !env->kernels || !env->kernels->bf16_weights)
        return RLF_OK;
    const rlf_weights_origin origin = origin_of(env, resource, m, m->arena);
    rlf_status status =
        rlf_weights_bf16(m->outline->table, &origin, m->arena, err, &m->bf16);
    if (status >= 0 || !env->planned)
        return rlf_arg_blame(rlf_declared_source(resource), status, err);
    rlf_err_clear(err);
    return RLF_OK;
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
fill_copy(const rlf_env *env, const rlf_resource *resource,
          const rlf_model_object *m, const rlf_local_copy *copy, rlf_err *err)
{
    RLF_TRY(rlf_model_take(copy->model, err));
    if (copy->later)
        return RLF_OK;
    if (!copy->model->options.base_of)
        RLF_TRY(rlf_arg_blame(rlf_declared_source(resource),
                              fill(env, resource, m, copy->model, err), err));
    copy->model->version = 1; /* in however many steps it was made */
    return RLF_OK;
}

/* Is its scalar head live in a loss? */
static bool
trains_score(const rlf_graph *graph, int model)
{
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        if (node->receiver != model || node->class->work != RLF_WORK_TRAIN)
            continue;
        for (int k = 0; k < node->loss->n_calls; k++)
            if (node->loss->calls[k].class == &rlf_node_score ||
                node->loss->calls[k].class == &rlf_node_value)
                return true;
    }
    return false;
}

/* Is the model set to a sum of others, of which one is not blank? */
static bool
is_set_to_more(const rlf_graph *graph, int model, const bool *blank)
{
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        if (node->receiver != model || node->class->work != RLF_WORK_WEIGHTS)
            continue;
        for (int k = 0; k < node->n_args; k++)
            if (!blank[node->args[k].list[1].resource])
                return true;
    }
    return false;
}

bool
rlf_weight_copies_blank(const rlf_env *env, int model)
{
    const rlf_graph *graph = env->graph;
    size_t n = graph->resources.count;
    bool *blank = RLF_NEW_ARRAY(env->pool, bool, n), changed = true;
    for (size_t i = 0; i < n; i++)
        blank[i] = graph->resources.data[i].class->model &&
                   rlf_model_at(env, (int)i)->known.blank_score &&
                   !trains_score(graph, (int)i);
    while (changed) {
        changed = false;
        for (size_t i = 0; i < n; i++)
            if (blank[i] && is_set_to_more(graph, (int)i, blank)) {
                blank[i] = false;
                changed = true;
            }
    }
    return blank[model];
}

/* A sequence is read in one piece, so a micro-batch must hold the longest, and
 * samples of a prompt that are trained on together. */
static rlf_status
check_tokens(const rlf_env *env, const rlf_resource *resource,
             const rlf_caps *caps, rlf_use use, rlf_err *err)
{
    uint32_t least = rlf_caps_least(caps, use);
    if (use == RLF_USE_GENERATE || caps->tokens[use] >= least)
        return RLF_OK;
    bool shared = caps->tokens[use] >= caps->longest;
    rlf_fail(err, RLF_USER,
             "a micro-batch of model '%s' holds %u tokens (tokens: of its "
             "place row), but %s can have %u",
             resource->name, caps->tokens[use],
             shared ? "the samples of a prompt that an update takes together"
                    : "a sequence",
             shared ? least : caps->longest);
    rlf_err_hint(err,
                 shared ? "raise tokens:, or leave shared: true of the update "
                          "out"
                 : resource->retokenizes
                     ? "raise tokens:, or bound the responses of another "
                       "tokenizer that it scores, as in "
                       "score(respond(roll.text, max_response: 100))"
                     : "raise tokens:, or lower max_prompt: of the data and "
                       "max_new: of generate");
    at_row(env, resource, use == RLF_USE_UPDATE, caps->tokens[use], err);
    return RLF_USER;
}

static rlf_status
check_copies(const rlf_env *env, const rlf_resource *resource,
             const rlf_model_object *m, rlf_err *err)
{
    for (int i = 0; i < m->n_copies; i++) {
        const rlf_local_copy *copy = &m->copies[i];
        for (rlf_use use = 0; use < RLF_N_USES; use++)
            if (copy->own && copy->uses[use])
                RLF_TRY(check_tokens(env, resource, &copy->model->caps, use,
                                     err));
    }
    return RLF_OK;
}

/* The parts of the weights that lie on this rank. */
rlf_status
rlf_weight_copies_open(const rlf_env *env, const rlf_resource *resource,
                       rlf_model_head head, rlf_model_object *m, rlf_err *err)
{
    int index = rlf_model_index(env, resource);
    rlf_model_options options = options_of(env, resource, m, head, 0);
    RLF_TRY(rlf_model_outline(env->kernels, m->config, &options, m->arena, err,
                              &m->outline));
    if (m->source)
        RLF_TRY(rlf_model_check_copy(m->outline, m->source->outline, err));
    if (!env->planned)
        RLF_TRY(check_origin(env, resource, m, err));
    RLF_TRY(find_bf16(env, resource, m, err));
    bool fixed = rlf_weight_copy_at(env, index, 0)->fixed;
    m->rounds = m->known.half && !options.save_f32 && !fixed;
    find_copies(env, index, m);
    for (int i = 0; i < m->n_copies; i++) {
        rlf_local_copy *to = &m->copies[i];
        if (to->own)
            RLF_TRY(open_copy(env, resource, head, m, i, err));
        else if (to->first >= 0)
            to->model = m->copies[to->first].model;
        if (i == 0)
            m->model = to->model;
    }
    return check_copies(env, resource, m, err);
}

static rlf_status
reserve_copy(const rlf_local_copy *copy, rlf_err *err)
{
    rlf_model *model = copy->model;
    rlf_kv *pages;
    void *arrays;
    for (rlf_use use = 0; use < RLF_N_USES; use++)
        if (copy->uses[use])
            RLF_TRY(rlf_buffers_reserve(model, use, err));
    if (!copy->uses[RLF_USE_GENERATE])
        return RLF_OK;
    RLF_TRY(rlf_buffers_pages(model, err, &pages));
    return rlf_buffers_arrays(model, err, &arrays);
}

rlf_status
rlf_weight_copies_reserve(const rlf_env *env, const rlf_resource *resource,
                          void *object, rlf_err *err)
{
    const rlf_model_object *m = object;
    for (int i = 0; i < m->n_copies; i++)
        if (m->copies[i].own)
            RLF_TRY(fill_copy(env, resource, m, &m->copies[i], err));
    for (int i = 0; i < m->n_copies; i++)
        if (m->copies[i].own)
            RLF_TRY(reserve_copy(&m->copies[i], err));
    return RLF_OK;
}

/* Weights of a session's models: where they are trained, or gathered from all
 * ranks. See rlflow.h. */
#include "engine/api/session.h"

#include "engine/base/vec.h"
#include "nodes/model.h"

#include <stdlib.h>
#include <string.h>

/* The number of the model among the resources; -1: there is none. */
static int
find_model(const rlf_session *s, const char *name)
{
    for (size_t i = 0; i < s->graph->resources.count; i++) {
        const rlf_resource *r = &s->graph->resources.data[i];
        if (r->class->model && strcmp(r->name, name) == 0)
            return (int)i;
    }
    return -1;
}

/* Returns why weights cannot be had, or NULL. */
static const char *
why_none(const rlf_session *s)
{
    return rlf_session_failed(s) ? "the session has failed"
           : s->ended            ? "the run was finished"
           : s->options.dry      ? "a dry run has no weights"
           : !s->run             ? "the session is not ready"
                                 : NULL;
}

/* ---- where they are trained ---- */

/* The model as a whole in host memory, or NULL, saying why not. */
static rlf_model *
whole_model(const rlf_session *s, const char *name)
{
    int i = find_model(s, name);
    if (i < 0) {
        rlf_why(s, "the program has no model '%s'", name);
        return NULL;
    }
    const rlf_model_object *object = rlf_run_opened(s->run).resource[i];
    rlf_model *m = object->model;
    if (object->base) {
        rlf_why(s,
                "'%s' is the base of a model with adapters: its weights are "
                "those of its files",
                name);
        return NULL;
    }
    const char *why = !m ? "is on other ranks"
                      : m->table->cut.ranks > 1 || m->table->cut.stages > 1
                          ? "is cut into parts"
                      : !m->weights ? "is kept as its products read it"
                      : m->queue->device->caps.host_memory ? NULL
                                                           : "is on a GPU";
    if (!why)
        return m;
    rlf_why(s,
            "the weights of '%s' cannot be looked at, for it %s: they can be "
            "gathered, or saved with a checkpoint",
            name, why);
    return NULL;
}

/* Notes that the weights of a model may be looked at, in the memory of which
 * model they lie. */
static rlf_status
show(rlf_session *s, rlf_model *m, rlf_err *err)
{
    while (m->lender)
        m = m->lender;
    for (size_t i = 0; i < s->answer.shown.count; i++)
        if (s->answer.shown.data[i] == m)
            return RLF_OK;
    RLF_TRY_ROOM(&s->answer.shown, 1, "a list of models");
    RLF_TRY_ROOM(&s->answer.kept, 1, "a list of models");
    RLF_PUSH(&s->answer.shown, m);
    RLF_PUSH(&s->answer.kept, NULL);
    return RLF_OK;
}

const rlf_weight *
rlf_session_weight(rlf_session *s, const char *model, size_t i)
{
    if (!s)
        return NULL;
    rlf_why_clear(s);
    const char *why = why_none(s);
    if (!why && !model)
        why = "rlf_session_weight: model is NULL";
    if (why)
        rlf_why(s, "%s", why);
    rlf_model *m = why ? NULL : whole_model(s, model);
    if (!m || i >= (size_t)m->table->n_slots)
        return NULL;
    rlf_err err = RLF_ERR_NONE;
    if (show(s, m, &err) < 0) {
        rlf_why(s, "%s", err.sentence);
        return NULL;
    }
    const rlf_slot *slot = &m->table->slots[i];
    s->answer.weight =
        (rlf_weight){.name = slot->name,
                     .rows = (uint64_t)slot->rows,
                     .cols = slot->cols ? (uint64_t)slot->cols : 1,
                     .data = m->weights + slot->offset};
    return &s->answer.weight;
}

void
rlf_weights_keep(rlf_session *s)
{
    for (size_t i = 0; i < s->answer.shown.count; i++) {
        rlf_model *m = s->answer.shown.data[i];
        s->answer.kept.data[i] = m->block;
        m->block = NULL;
    }
    s->answer.shown.count = 0;
}

void
rlf_weights_free(rlf_session *s)
{
    for (size_t i = 0; i < s->answer.kept.count; i++)
        free(s->answer.kept.data[i]);
    RLF_VEC_FREE(&s->answer.kept);
    RLF_VEC_FREE(&s->answer.shown);
    rlf_gathered_free(&s->answer.gathered);
}

/* ---- gathered ---- */

/* Is it the base of a model with adapters? Its weights are those of its files,
 * and no rank has them as a model's. */
static bool
is_base(const rlf_session *s, size_t model)
{
    const rlf_model_object *object = rlf_run_opened(s->run).resource[model];
    return object->base;
}

const char *
rlf_session_gathers(rlf_session *s, size_t i)
{
    if (!s)
        return NULL;
    rlf_why_clear(s);
    const char *why = why_none(s);
    if (why) {
        rlf_why(s, "%s", why);
        return NULL;
    }
    for (size_t k = 0; k < s->graph->resources.count; k++) {
        const rlf_resource *r = &s->graph->resources.data[k];
        if (r->class->model && !is_base(s, k) && i-- == 0)
            return r->name;
    }
    return NULL;
}

rlf_result
rlf_session_gather(rlf_session *s, const char *model)
{
    if (!rlf_call_begins(s, __func__, RLF_POINTERS({"model", model})))
        return rlf_session_status(s);
    const char *why = why_none(s);
    if (why)
        return rlf_call_refuse(s, "weights cannot be gathered: %s", why);
    int i = find_model(s, model);
    if (i < 0)
        return rlf_call_refuse(s, "the program has no model '%s'", model);
    if (is_base(s, (size_t)i))
        return rlf_call_refuse(s,
                               "'%s' is the base of a model with adapters, and "
                               "its weights are those of its files",
                               model);
    rlf_gathered_free(&s->answer.gathered);
    if (!s->leads)
        return RLF_RESULT_OK;
    locale_t before = rlf_locale_enter(s->locale);
    rlf_status status = rlf_run_gather(s->run, i, &s->answer.gathered, &s->err);
    if (status < 0)
        rlf_processes_succeed(s);
    rlf_locale_leave(before);
    return rlf_session_result(status);
}

const rlf_weight *
rlf_session_gathered(rlf_session *s, size_t i)
{
    if (!s)
        return NULL;
    rlf_why_clear(s);
    if (i >= s->answer.gathered.count) {
        if (i == 0)
            rlf_why(s, "%s",
                    s->answer.gathered.arena
                        ? "the rank that has gathered them is of another "
                          "process"
                        : "no weights were gathered");
        return NULL;
    }
    const rlf_gathered_tensor *t = &s->answer.gathered.data[i];
    s->answer.weight = (rlf_weight){
        .name = t->name, .rows = t->rows, .cols = t->cols, .data = t->data};
    return &s->answer.weight;
}

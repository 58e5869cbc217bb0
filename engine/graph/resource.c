/* Resource classes: what they have to have, and stubs. */
#include "engine/graph/resource.h"

#include <stdlib.h>

bool
rlf_resource_complete(const rlf_resource_class *c)
{
    const rlf_model_class *m = c->model;
    const rlf_data_class *d = c->data;
    const rlf_hook_class *h = c->hook;
    if (!m != (c->kind != RLF_RESOURCE_MODEL) ||
        !d != (c->kind != RLF_RESOURCE_DATA) ||
        !h != (c->kind != RLF_RESOURCE_HOOK) ||
        c->values != (c->kind == RLF_RESOURCE_STATE))
        return false;
    if (!c->name || !c->doc || !c->noun || !c->open || !c->settle ||
        !c->close || !c->note || !c->memory || !c->save || !c->restore ||
        !c->mark || !c->back)
        return false;
    return (!m ||
            (m->outline && m->caps && m->reserve && m->pools && m->shapes &&
             m->fits && m->differ && m->suits && m->move && m->gather &&
             m->reader)) &&
           (!d ||
            (d->infer && d->field && d->rows && d->digest && d->fields)) &&
           (!h || (h->per && h->text));
}

const rlf_caps *
rlf_resource_caps(const rlf_resource *resource, const void *object)
{
    const rlf_model_class *model = resource->class->model;
    return model ? model->caps(object) : NULL;
}

void
rlf_gathered_free(rlf_gathered *weights)
{
    free(weights->block);
    if (weights->arena)
        rlf_arena_free(weights->arena);
    *weights = (rlf_gathered){0};
}

rlf_status
rlf_resource_no_settle(const rlf_env *env, const rlf_resource *resource,
                       void *object, rlf_err *err)
{
    (void)env, (void)resource, (void)object, (void)err;
    return RLF_OK;
}

void
rlf_resource_no_mark(void *object)
{
    (void)object;
}

bool
rlf_resource_no_back(void *object)
{
    (void)object;
    return true;
}

void
rlf_resource_no_note(const rlf_resource *resource, void *object, rlf_buf *out)
{
    (void)resource, (void)object, (void)out;
}

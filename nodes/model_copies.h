/* The copies of a model on a rank: the parts of its weights that lie there, one
 * for each layout that a call reads them in (rlf_weight_copy), where they are
 * filled from, and what memory they reserve for their calls. */
#ifndef RLF_NODES_MODEL_COPIES_H
#define RLF_NODES_MODEL_COPIES_H

#include "nodes/model.h"

static inline int
rlf_model_index(const rlf_env *env, const rlf_resource *resource)
{
    return (int)(resource - env->graph->resources.data);
}

/* The model's i-th copy by the plan; of a run without meshes the one on this
 * rank alone. */
const rlf_weight_copy *rlf_weight_copy_at(const rlf_env *env, int model, int i);

/* Lays the copies of this rank out and finds which calls use them; takes no
 * memory of a device. `m` has its config, and its source where it is a copy.
 * RLF_USER where files are of another model. */
rlf_status rlf_weight_copies_open(const rlf_env *env,
                                  const rlf_resource *resource,
                                  rlf_model_head head, rlf_model_object *m,
                                  rlf_err *err);
/* Of the resource class: all weights are there, and buffers made, before the
 * first step; none grows later. `object` is a model's. */
rlf_status rlf_weight_copies_reserve(const rlf_env *env,
                                     const rlf_resource *resource, void *object,
                                     rlf_err *err);
/* Does the model's scalar head begin as 0 and stay so, since no loss trains it,
 * nor that of any model that it is made of? Of models that are all open. */
bool rlf_weight_copies_blank(const rlf_env *env, int model);

#endif

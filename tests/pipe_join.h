/* Two pipeline tables in one, for tests and benchmarks of tables that two
 * models share. */
#ifndef RLF_TESTS_PIPE_JOIN_H
#define RLF_TESTS_PIPE_JOIN_H

#include "engine/plan/pipe.h"

#include <string.h>

/* b's models after a's, b's place i at place where[i] of a (NULL: i): each
 * list of a, then b's, without a barrier. */
static inline void
pipe_join(const rlf_pipe *a, const rlf_pipe *b, const int *where,
          rlf_arena *arena, rlf_pipe *out)
{
    rlf_pipe joined = {.n_models = a->n_models + b->n_models,
                       .places = a->places};
    joined.models = RLF_NEW_ARRAY(arena, rlf_pipe_model, joined.n_models);
    memcpy(joined.models, a->models, sizeof *a->models * (size_t)a->n_models);
    for (int i = 0; i < b->n_models; i++) {
        rlf_pipe_model *m = &joined.models[a->n_models + i];
        int *path = RLF_NEW_ARRAY(arena, int, b->models[i].stages);
        *m = b->models[i];
        for (int k = 0; k < m->stages; k++)
            path[k] = where ? where[m->path[k]] : m->path[k];
        m->path = path;
    }
    joined.lists = RLF_NEW_ARRAY(arena, rlf_pipe_list, joined.places);
    for (int place = 0; place < joined.places; place++) {
        rlf_pipe_list *list = &joined.lists[place];
        const rlf_pipe_list *first = &a->lists[place], *second = NULL;
        for (int i = 0; i < b->places; i++)
            if ((where ? where[i] : i) == place)
                second = &b->lists[i];
        list->ops = RLF_NEW_ARRAY(arena, rlf_pipe_op,
                                  first->count + (second ? second->count : 0));
        for (int i = 0; i < first->count; i++)
            list->ops[list->count++] = first->ops[i];
        for (int i = 0; second && i < second->count; i++) {
            list->ops[list->count] = second->ops[i];
            list->ops[list->count++].model += a->n_models;
        }
    }
    *out = joined;
}

#endif

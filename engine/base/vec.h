/* Growable arrays: a struct of {data, count, room} of any element type.
 *
 *     RLF_VEC(int) v = {0};
 *     RLF_PUSH(&v, 3);
 *     for (size_t i = 0; i < v.count; i++) use(v.data[i]);
 *     RLF_VEC_FREE(&v);
 *
 * Storage comes from malloc and belongs to the vector. RLF_PUSH_IN takes it
 * from an arena instead (old storage is left behind until the arena goes). */
#ifndef RLF_BASE_VEC_H
#define RLF_BASE_VEC_H

#include "engine/base/arena.h"

#include <stdlib.h>
#include <string.h>

#define RLF_VEC(type)       \
    struct {                \
        type *data;         \
        size_t count, room; \
    }

#define RLF_PUSH(v, ...)                                                       \
    do {                                                                       \
        if ((v)->count == (v)->room) {                                         \
            (v)->room = (v)->room ? 2 * (v)->room : 8;                         \
            (v)->data = rlf_realloc((v)->data, (v)->room * sizeof *(v)->data); \
        }                                                                      \
        (v)->data[(v)->count++] = (__VA_ARGS__);                               \
    } while (0)

#define RLF_PUSH_IN(arena, v, ...)                                           \
    do {                                                                     \
        if ((v)->count == (v)->room) {                                       \
            size_t rlf_room_ = (v)->room ? 2 * (v)->room : 8;                \
            void *rlf_new_ =                                                 \
                rlf_arena_alloc((arena), rlf_room_ * sizeof *(v)->data);     \
            if ((v)->count)                                                  \
                memcpy(rlf_new_, (v)->data, (v)->count * sizeof *(v)->data); \
            (v)->data = rlf_new_;                                            \
            (v)->room = rlf_room_;                                           \
        }                                                                    \
        (v)->data[(v)->count++] = (__VA_ARGS__);                             \
    } while (0)

#define RLF_VEC_FREE(v)             \
    do {                            \
        free((v)->data);            \
        (v)->data = NULL;           \
        (v)->count = (v)->room = 0; \
    } while (0)

#define RLF_COUNT(array) (sizeof(array) / sizeof *(array))

#endif

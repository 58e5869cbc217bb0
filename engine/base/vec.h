/* Growable arrays: a struct of {data, count, room} of any element type.
 *
 *     RLF_VEC(int) v = {0};
 *     RLF_PUSH(&v, 3);
 *     for (size_t i = 0; i < v.count; i++) use(v.data[i]);
 *     RLF_VEC_FREE(&v);
 *
 * Storage comes from malloc and belongs to the vector. RLF_PUSH_IN takes it
 * from an arena instead (old storage is left behind until the arena goes).
 *
 * A list that grows with data, a model or a batch asks for room ahead:
 * RLF_TRY_ROOM returns RLF_MEMORY from the function that it stands in (which
 * has an `err`), or n pushes that follow need nothing more. */
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
            size_t rlf_room_ = (v)->room ? 2 * (v)->room : 8;                  \
            (v)->data = rlf_realloc((v)->data, rlf_room_ * sizeof *(v)->data); \
            (v)->room = rlf_room_;                                             \
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

#define RLF_TRY_ROOM(v, n, what)                                       \
    do {                                                               \
        size_t rlf_want_ = (v)->count + (size_t)(n);                   \
        size_t rlf_room_ = (v)->room ? (v)->room : 8;                  \
        while (rlf_room_ < rlf_want_)                                  \
            rlf_room_ *= 2;                                            \
        if (rlf_room_ > (v)->room) {                                   \
            size_t rlf_bytes_ = rlf_room_ * sizeof *(v)->data;         \
            void *rlf_new_ = rlf_try_realloc((v)->data, rlf_bytes_);   \
            if (!rlf_new_)                                             \
                return rlf_fail_memory(err, rlf_bytes_, "%s", (what)); \
            (v)->data = rlf_new_;                                      \
            (v)->room = rlf_room_;                                     \
        }                                                              \
    } while (0)

/* RLF_PUSH_IN, or RLF_MEMORY as RLF_TRY_ROOM. */
#define RLF_TRY_PUSH_IN(arena, v, what, ...)                               \
    do {                                                                   \
        size_t rlf_more_ = (v)->room ? 2 * (v)->room : 8;                  \
        if ((v)->count == (v)->room)                                       \
            RLF_TRY(rlf_arena_room((arena), rlf_more_ * sizeof *(v)->data, \
                                   (what), err));                          \
        RLF_PUSH_IN(arena, v, __VA_ARGS__);                                \
    } while (0)

#define RLF_VEC_FREE(v)             \
    do {                            \
        free((v)->data);            \
        (v)->data = NULL;           \
        (v)->count = (v)->room = 0; \
    } while (0)

#define RLF_COUNT(array) (sizeof(array) / sizeof *(array))

#endif

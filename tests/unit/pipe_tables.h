/* Pipeline tables that tests of tables share: two models in one pipeline as
 * RLHFuse fuses them, and tables whose backward is split. */
#ifndef TESTS_UNIT_PIPE_TABLES_H
#define TESTS_UNIT_PIPE_TABLES_H

#include "engine/plan/pipe.h"
#include "tests/pipe_join.h"
#include "tests/tap.h"

static rlf_arena *arena;

static bool
equal(double a, double b)
{
    return fabs(a - b) <= 1e-9 * (1 + fabs(b));
}

/* Two models in one pipeline: sizes, what one after the other takes, both 1F1B
 * lists behind each other without a barrier, and the least memory of 1F1B. From
 * the table of RLHFuse's own experiments. */
struct fusion {
    int p, p1, m0, m1;
    double f0, f1, memory0, memory1;
    double serial, joined, least_memory;
};

/* The big model forward through all places; p / p1 copies of the small one on
 * p1 places each, the other way. */
static void
fuse(const struct fusion *x, rlf_pipe *out)
{
    rlf_pipe small;
    rlf_pipe_1f1b(x->p, x->m0, arena, out);
    out->models[0].name = "big";
    for (int copy = 0; copy < x->p / x->p1; copy++) {
        int where[16];
        for (int i = 0; i < x->p1; i++)
            where[i] = (copy + 1) * x->p1 - 1 - i;
        rlf_pipe_1f1b(x->p1, x->m1, arena, &small);
        small.models[0].name = rlf_arena_printf(arena, "small%d", copy);
        pipe_join(out, &small, where, arena, out);
    }
}

/* The backward of the models of `whole` split: weights `late` operations after
 * the backward that they belong to, as far as there are so many. */
static void
split(const rlf_pipe *whole, int late, rlf_pipe *out)
{
    *out = *whole;
    out->models = RLF_NEW_ARRAY(arena, rlf_pipe_model, whole->n_models);
    out->lists = RLF_NEW_ARRAY(arena, rlf_pipe_list, whole->places);
    for (int m = 0; m < whole->n_models; m++) {
        out->models[m] = whole->models[m];
        out->models[m].split = !out->models[m].forward_only;
    }
    for (int p = 0; p < whole->places; p++) {
        const rlf_pipe_list *list = &whole->lists[p];
        rlf_pipe_list *to = &out->lists[p];
        to->ops = RLF_NEW_ARRAY(arena, rlf_pipe_op, 2 * list->count);
        for (int i = 0; i < list->count + late; i++) {
            if (i < list->count)
                to->ops[to->count++] = list->ops[i];
            if (i >= late && list->ops[i - late].kind == RLF_PIPE_BACKWARD) {
                to->ops[to->count] = list->ops[i - late];
                to->ops[to->count++].kind = RLF_PIPE_WEIGHTS;
            }
        }
    }
}

#endif

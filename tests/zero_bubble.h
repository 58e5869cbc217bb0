/* One model whose backward is split in two, in one or two chunks a place, as in
 * Zero Bubble Pipeline Parallelism (arXiv 2401.10241) and Pipeline Parallelism
 * with Controllable Memory (arXiv 2405.15362), and two that run towards each
 * other, as in DualPipe (DeepSeek-V3, arXiv 2412.19437). Forward, backward and
 * weights take 1 each of a chunk, which keeps 1. */
#ifndef RLF_TESTS_ZERO_BUBBLE_H
#define RLF_TESTS_ZERO_BUBBLE_H

#include "engine/fuse/fuse.h"

typedef enum zb_shape {
    ZB_ONE, /* a stage a place */
    ZB_VEE, /* down the places and up again */
    ZB_DUAL /* two models, half of the micro-batches each, which meet */
} zb_shape;

/* The published numbers of a schedule for p places: so many micro-batches that
 * a place keeps, (p times + more) / over, rounded down; its bubble as a part of
 * 1F1B's. `apart`: that counts from where a place could begin to where it ends,
 * because places go on with the next step without waiting for each other. */
static const struct zero_bubble {
    const char *name;
    zb_shape shape;
    int times, more, over;
    double bubble;
    bool apart;
} zero_bubbles[] = {
    {"ZB-H1", ZB_ONE, 1, 0, 1, 1 / 3.0, false},
    {"ZB-H2", ZB_ONE, 2, -1, 1, 0, true},
    {"ZB-V", ZB_VEE, 1, 0, 1, 0, true},
    {"V-Half", ZB_VEE, 1, 2, 2, 1 / 2.0, true},
    {"V-Min", ZB_VEE, 1, 4, 3, 2 / 3.0, true},
    {"DualPipe", ZB_DUAL, 1, 1, 1, 0, false}, /* its bubble: see below */
};

enum { ZERO_BUBBLES = sizeof zero_bubbles / sizeof *zero_bubbles };

/* Of p places and so many micro-batches; *least: the work of a place; *bubble:
 * what it waits as published. In `arena`. */
__attribute__((unused)) static void
zero_bubble_make(const struct zero_bubble *x, int p, int micros,
                 rlf_arena *arena, rlf_fuse *out, double *least, double *bubble)
{
    int n = x->shape == ZB_DUAL ? 2 : 1, chunks = x->shape == ZB_VEE ? 2 : 1;
    double *caps = RLF_NEW_ARRAY(arena, double, p);
    *out = (rlf_fuse){.n_models = n, .places = p, .apart = x->apart};
    out->models = RLF_NEW_ARRAY(arena, rlf_pipe_model, n);
    out->turn = RLF_NEW_ARRAY(arena, int, n);
    for (int m = 0; m < n; m++) {
        int *path = RLF_NEW_ARRAY(arena, int, chunks *p);
        for (int k = 0; k < chunks * p; k++)
            path[k] = (k < p) == (m == 0) ? k % p : p - 1 - k % p;
        out->models[m] = (rlf_pipe_model){.name = m ? "up" : "down",
                                          .micros = micros / n,
                                          .stages = chunks * p,
                                          .path = path,
                                          .split = true};
    }
    for (int i = 0; i < p; i++)
        caps[i] = chunks * ((p * x->times + x->more) / x->over);
    out->cap = caps;
    const rlf_pipe_cost each[2] = {{1, 1, 0, 1, 1}, {1, 1, 0, 1, 1}};
    rlf_pipe all = {.models = out->models, .n_models = n, .places = p};
    out->cost = rlf_pipe_even(&all, each, arena);
    *least = 3.0 * chunks * micros;
    *bubble = x->bubble * 3 * chunks * (p - 1);
    if (x->shape == ZB_DUAL) /* (p/2 - 1) (F&B + B - 3 W) */
        *bubble = (p / 2 - 1) * (3 + 2 - 3);
}

#endif

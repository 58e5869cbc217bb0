/* See hybridflow.h. */
#include "tests/papers/hybridflow.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/plan/realloc.h"

papers_family *
hybridflow_open(papers_size size, const papers_speeds *speeds, rlf_arena *arena)
{
    return papers_open(size, (papers_lengths){1024, 1024, 1024}, speeds, arena);
}

hybridflow_placed
hybridflow_place(papers_family *actor, papers_family *critic, int devices,
                 double more)
{
    rlf_arena *arena = rlf_arena_new();
    papers_problem *p = RLF_NEW(arena, papers_problem);
    int n = devices, h = n / 2;
    papers_problem_make(actor, critic, n, PAPERS_PARTS, arena, p);
    double *memory = RLF_NEW_ARRAY(arena, double, n);
    for (int i = 0; i < n; i++)
        memory[i] = p->problem.memory[i] + more;
    p->problem.memory = memory;
    hybridflow_placed out = {
        .colocate = papers_place(p, (int[4]){0, 0, 0, 0}, (int[4]){n, n, n, n}),
        .split = papers_place(p, (int[4]){0, h, 0, h}, (int[4]){h, h, h, h}),
        .standalone =
            papers_place(p, (int[4]){0, h, h + n / 4, h + n / 4 + n / 8},
                         (int[4]){h, n / 4, n / 8, n / 8}),
        .critic_apart =
            papers_place(p, (int[4]){0, h, 0, 0}, (int[4]){h, h, h, h})};
    rlf_arena_free(arena);
    return out;
}

/* Training has weights and gradients of 2 and 4 bytes and 12 more a parameter,
 * in eight parts. */
double
hybridflow_generate(papers_family *family, papers_size size, int tg, int *waves)
{
    const rlf_device_kind *device =
        papers_session(family)->planning.cluster->parts[0].machine->device;
    double parameters = papers_parameters(&papers_models[size], false);
    double room = device->memory - 18 * parameters / 8 - 2 * parameters / tg;
    papers_call calls[PAPERS_CALLS];
    papers_cut cut = {.count = 16,
                      .tp = tg,
                      .pp = 1,
                      .dp = 16 / tg,
                      .reads = 1,
                      .updates = 1,
                      .waves = 1};
    for (;; cut.waves++) {
        if (!papers_measure(family, &cut, false, calls))
            return INFINITY;
        if (calls[PAPERS_GENERATE].work <= room || cut.waves == 64)
            break;
    }
    *waves = cut.waves;
    return calls[PAPERS_GENERATE].seconds.total;
}

/* ---- resharding ---- */

enum { WORLD = 128, ELEMENT = 2, LAYERS = 8 };

/* Matrices that any of the layouts that are asked for divides evenly. */
static int64_t
even_model(rlf_shape *tensors, rlf_shapes *out)
{
    int64_t bytes = 0;
    for (int i = 0; i < LAYERS; i++) {
        tensors[2 * i] =
            (rlf_shape){"up", i, RLF_SPLIT_ROWS, 2 * WORLD, 3, 1, false, false};
        tensors[2 * i + 1] =
            (rlf_shape){"down", i, RLF_SPLIT_COLS, 3, WORLD, 1, false, false};
    }
    *out = (rlf_shapes){tensors, 2 * LAYERS, LAYERS};
    for (int i = 0; i < out->count; i++)
        bytes += tensors[i].rows * tensors[i].cols * ELEMENT;
    return bytes;
}

static void
must(rlf_status status, const rlf_err *err)
{
    if (status < 0) {
        fprintf(stderr, "%s\n", err->sentence);
        exit(1);
    }
}

double
hybridflow_volume(int p, int t, int d, int tg, double *peak)
{
    rlf_shape tensors[2 * LAYERS];
    rlf_shapes shapes;
    rlf_arena *arena = rlf_arena_new();
    double whole = (double)even_model(tensors, &shapes), part = -1;
    const rlf_wire wire = {5e-6, 1e11, false};
    int in_order[WORLD];
    for (int i = 0; i < WORLD; i++)
        in_order[i] = i;
    rlf_layout train = {
        .ranks = in_order, .n_ranks = p * t * d, .tp = t, .pp = p, .dp = d};
    rlf_layout generate;
    rlf_realloc_plan plan;
    rlf_err err = RLF_ERR_NONE;
    must(rlf_layout_regroup(&train, tg, 1, &err, &generate), &err);
    const rlf_realloc_job job = {.shapes = &shapes,
                                 .from = &train,
                                 .to = &generate,
                                 .element = ELEMENT,
                                 .inside = wire,
                                 .across = wire};
    must(rlf_realloc_make(&job, arena, &err, &plan), &err);
    for (int r = 0; r < train.n_ranks; r++) {
        rlf_realloc_load load;
        rlf_realloc_measure(&job, &plan, r, &load);
        double is = (double)load.received / whole;
        part = r && is != part ? -1 : is;
        *peak = (double)load.peak / whole;
    }
    rlf_arena_free(arena);
    return part;
}

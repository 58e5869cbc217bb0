/* Answers for less: see search.h.
 *
 * On the first half of the ranks, and in less memory, the same search
 * finds a placement that this problem has, too, and so on down. Each of them is
 * searched for once. */
#include <math.h>

#include "engine/search/search.h"

enum { HALVES = RLF_SEARCH_HALVES, RUNGS = RLF_SEARCH_RUNGS };
/* Placements that are looked at for each of these answers, at most: it is to be
 * cheap. */
enum { LESS_MOVES = RLF_SEARCH_LESS_MOVES };
/* Memory is lowered to whole parts of so many bytes, whatever there is, so that
 * problems that differ in it have smaller ones in common; on more ranks than
 * these it is not. */
#define RUNG 20e9
enum { RUNG_RANKS = 256 };

/* A problem with less, and which choice of the whole each of its choices is. */
typedef struct lesser {
    rlf_problem problem;
    int *whole[RLF_SEARCH_CALLS];
    bool made, fits; /* each call has a choice */
} lesser;

typedef struct ladder {
    const rlf_problem *problem;
    rlf_search_options options; /* of the smaller searches */
    rlf_arena *arena;
    double rungs[RUNGS + 1]; /* bytes; the first is no limit */
    int n_rungs;
    lesser half[HALVES]; /* with all memory: rungs have these choices, too */
    bool known[HALVES][RUNGS + 1];
    /* Choices are the whole problem's. NULL: nothing fits. */
    rlf_placing *answer[HALVES][RUNGS + 1];
} ladder;

/* The choices of a call on ranks below `devices`. False: there is none. */
static bool
take_choices(const rlf_problem_call *call, int devices, rlf_arena *arena,
             rlf_problem_call *out, int *whole)
{
    *out = *call;
    out->n_choices = out->n_others = out->n_meshes = 0;
    out->choices = RLF_NEW_ARRAY(arena, rlf_choice, call->n_choices);
    out->meshes = RLF_NEW_ARRAY(arena, rlf_mesh_span, call->n_meshes);
    for (int m = 0; m < call->n_meshes; m++) {
        const rlf_mesh_span *mesh = &call->meshes[m];
        int from = out->n_choices;
        if (mesh->first + mesh->count > devices)
            continue;
        for (int k = mesh->from; k < mesh->to; k++) {
            whole[out->n_choices] = k;
            out->choices[out->n_choices++] = call->choices[k];
        }
        out->meshes[out->n_meshes++] =
            (rlf_mesh_span){mesh->first, mesh->count, from, out->n_choices};
    }
    return out->n_choices > 0;
}

static const lesser *
half_of(ladder *l, int half)
{
    const rlf_problem *p = l->problem;
    lesser *out = &l->half[half];
    if (out->made)
        return out;
    *out = (lesser){.problem = *p, .made = true, .fits = true};
    out->problem.devices = p->devices >> half;
    out->problem.calls = RLF_NEW_ARRAY(l->arena, rlf_problem_call, p->n_calls);
    for (int i = 0; i < p->n_calls && out->fits; i++) {
        const rlf_problem_call *call = &p->calls[i];
        out->whole[i] = RLF_NEW_ARRAY(l->arena, int, call->n_choices);
        out->fits = take_choices(call, out->problem.devices, l->arena,
                                 &out->problem.calls[i], out->whole[i]);
    }
    return out;
}

static bool
make_lesser(ladder *l, int half, int rung, lesser *out)
{
    *out = *half_of(l, half);
    int devices = out->problem.devices;
    double *memory = RLF_NEW_ARRAY(l->arena, double, devices + 1);
    for (int r = 0; r < devices; r++)
        memory[r] = fmin(l->problem->memory[r], l->rungs[rung]);
    out->problem.memory = memory;
    return out->fits;
}

/* A placement of the whole problem that the smaller one has. */
static rlf_placing
of_lesser(const ladder *l, const lesser *from, const rlf_placing *at)
{
    rlf_placing out = *at;
    out.choice = RLF_NEW_ARRAY(l->arena, int, l->problem->n_calls);
    for (int i = 0; i < l->problem->n_calls; i++) {
        const rlf_problem_call *call = &from->problem.calls[i];
        int k = 0;
        while (k + 1 < call->n_choices && from->whole[i][k] != at->choice[i])
            k++;
        out.choice[i] = k;
    }
    return out;
}

static rlf_placing *solve(ladder *l, int half, int rung);

/* The answers for half of the ranks and for less memory: *n. */
static void
gather(ladder *l, int half, int rung, rlf_placing *starts, int *n)
{
    const rlf_placing *next[2] = {NULL, NULL};
    *n = 0;
    if (half + 1 < HALVES && l->problem->devices >> (half + 1))
        next[0] = solve(l, half + 1, rung);
    if (rung + 1 < l->n_rungs && l->problem->devices >> half <= RUNG_RANKS)
        next[1] = solve(l, half, rung + 1);
    for (int i = 0; i < 2; i++)
        if (next[i])
            starts[(*n)++] = *next[i];
}

static rlf_placing *
solve(ladder *l, int half, int rung)
{
    rlf_placing starts[2], **answer = &l->answer[half][rung];
    lesser less;
    rlf_found found;
    int n;
    if (l->known[half][rung])
        return *answer;
    l->known[half][rung] = true;
    if (!make_lesser(l, half, rung, &less))
        return NULL;
    gather(l, half, rung, starts, &n);
    for (int i = 0; i < n; i++)
        starts[i] = of_lesser(l, &less, &starts[i]);
    rlf_arena *scratch = rlf_arena_scratch(l->arena);
    rlf_search_anneal(&less.problem, &l->options, starts, n, scratch, &found);
    if (isfinite(found.best.period)) {
        *answer = RLF_NEW(l->arena, rlf_placing);
        **answer = found.best;
        (*answer)->choice = RLF_NEW_ARRAY(l->arena, int, l->problem->n_calls);
        for (int i = 0; i < l->problem->n_calls; i++)
            (*answer)->choice[i] = less.whole[i][found.best.choice[i]];
    }
    rlf_arena_free(scratch);
    return *answer;
}

int
rlf_search_rungs(const rlf_problem *problem, int ranks, double rungs[RUNGS + 1])
{
    double most = 0;
    int n = 0;
    for (int r = 0; r < problem->devices; r++)
        most = fmax(most, problem->memory[r]);
    rungs[n++] = INFINITY;
    for (int k = RUNGS; k > 0 && ranks <= RUNG_RANKS; k--)
        if (k * RUNG < most)
            rungs[n++] = k * RUNG;
    return n;
}

int
rlf_search_less(const rlf_problem *problem, const rlf_search_options *options,
                rlf_arena *arena, rlf_placing out[2])
{
    ladder *l = RLF_NEW(arena, ladder);
    int n;
    *l = (ladder){.problem = problem, .options = *options, .arena = arena};
    if (l->options.moves > LESS_MOVES)
        l->options.moves = LESS_MOVES;
    l->n_rungs = rlf_search_rungs(problem, 1, l->rungs);
    gather(l, 0, 0, out, &n);
    return n;
}

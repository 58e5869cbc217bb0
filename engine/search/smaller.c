/* Answers of smaller problems: see search.h.
 *
 * On fewer of the first ranks, and in less memory, the same search finds a
 * placement that this problem has, too, and so on down. Each of them is
 * searched for once. */
#include <math.h>

#include "engine/search/search.h"

enum { SIZES = RLF_SEARCH_SIZES, RUNGS = RLF_SEARCH_RUNGS };
/* Machines of which any number is a size. */
enum { MACHINES = 8 };
/* Placements that are looked at for each of these answers, at most: it is to be
 * cheap. */
enum { SMALLER_MOVES = RLF_SEARCH_SMALLER_MOVES };
/* Memory is lowered to whole parts of so many bytes, whatever there is, so that
 * problems that differ in it have smaller ones in common; on more ranks than
 * these it is not. */
#define RUNG 20e9
enum { RUNG_RANKS = 256 };

/* A problem with less, and which choice of the whole each of its choices is. */
typedef struct lesser {
    rlf_problem problem;
    int *whole[RLF_SEARCH_CALLS];
    bool empty; /* a call has no choice */
} lesser;

typedef struct ladder {
    const rlf_problem *problem;
    rlf_search_options options; /* of the smaller searches */
    rlf_arena *arena;
    double rungs[RUNGS + 1]; /* bytes; the first is no limit */
    int n_rungs;
    int sizes[SIZES]; /* ranks; the first are all */
    int n_sizes;
    lesser lesser[SIZES]; /* on as many ranks */
    bool known[SIZES][RUNGS + 1];
    /* Choices are the whole problem's. NULL: nothing fits. */
    rlf_placing *answer[SIZES][RUNGS + 1];
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

/* With all memory; made once for all rungs. */
static const lesser *
on_ranks(ladder *l, int size)
{
    const rlf_problem *p = l->problem;
    lesser *out = &l->lesser[size];
    if (out->problem.calls)
        return out;
    out->problem = *p;
    out->problem.devices = l->sizes[size];
    out->problem.calls = RLF_NEW_ARRAY(l->arena, rlf_problem_call, p->n_calls);
    for (int i = 0; i < p->n_calls; i++) {
        const rlf_problem_call *call = &p->calls[i];
        out->whole[i] = RLF_NEW_ARRAY(l->arena, int, call->n_choices);
        if (!take_choices(call, l->sizes[size], l->arena,
                          &out->problem.calls[i], out->whole[i]))
            out->empty = true;
    }
    return out;
}

static bool
make_lesser(ladder *l, int size, int rung, lesser *out)
{
    int devices = l->sizes[size];
    double *memory = RLF_NEW_ARRAY(l->arena, double, devices + 1);
    for (int r = 0; r < devices; r++)
        memory[r] = fmin(l->problem->memory[r], l->rungs[rung]);
    *out = *on_ranks(l, size);
    out->problem.memory = memory;
    return !out->empty;
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

static rlf_placing *solve(ladder *l, int size, int rung);

/* The answers for fewer ranks and for less memory: *n. */
static void
gather(ladder *l, int size, int rung, rlf_placing *starts, int *n)
{
    const rlf_placing *next[2] = {NULL, NULL};
    *n = 0;
    if (size + 1 < l->n_sizes)
        next[0] = solve(l, size + 1, rung);
    if (rung + 1 < l->n_rungs && l->sizes[size] <= RUNG_RANKS)
        next[1] = solve(l, size, rung + 1);
    for (int i = 0; i < 2; i++)
        if (next[i])
            starts[(*n)++] = *next[i];
}

static rlf_placing *
solve(ladder *l, int size, int rung)
{
    rlf_placing starts[2], **answer = &l->answer[size][rung];
    lesser less;
    rlf_found found;
    int n;
    if (l->known[size][rung])
        return *answer;
    l->known[size][rung] = true;
    if (!make_lesser(l, size, rung, &less))
        return NULL;
    gather(l, size, rung, starts, &n);
    for (int i = 0; i < n; i++)
        starts[i] = of_lesser(l, &less, &starts[i]);
    rlf_search_anneal(&less.problem, &l->options, starts, n, l->arena, &found);
    if (!isfinite(found.best.period))
        return NULL;
    *answer = RLF_NEW(l->arena, rlf_placing);
    **answer = found.best;
    for (int i = 0; i < l->problem->n_calls; i++)
        (*answer)->choice[i] = less.whole[i][found.best.choice[i]];
    return *answer;
}

/* Are the first ranks so many whole machines that the search starts from them?
 */
static bool
is_machines(const rlf_problem *p, int ranks)
{
    if (!p->machine_of || p->machine_of[ranks] == p->machine_of[ranks - 1])
        return false;
    int all = p->machine_of[p->devices - 1] - p->machine_of[0] + 1;
    int n = p->machine_of[ranks] - p->machine_of[0];
    return all <= MACHINES || !(n & (n - 1));
}

/* More than half of the devices of a single machine, of which calls may have as
 * many (rlf_cluster_meshes) though their number is no power of two? */
static bool
is_part(const rlf_problem *p, int ranks)
{
    int odd = ranks / (ranks & -ranks);
    return p->machine_of && p->machine_of[p->devices - 1] == p->machine_of[0] &&
           (p->devices & (p->devices - 1)) && 2 * ranks > p->devices &&
           (odd == 1 || odd == 3 || ranks == p->devices - 1);
}

int
rlf_search_sizes(const rlf_problem *problem, int sizes[SIZES])
{
    int half = problem->devices / 2, n = 0;
    sizes[n++] = problem->devices;
    for (int ranks = problem->devices - 1; ranks > 0 && n < SIZES; ranks--) {
        if (ranks == half || is_machines(problem, ranks) ||
            is_part(problem, ranks))
            sizes[n++] = ranks;
        if (ranks == half)
            half /= 2;
    }
    return n;
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
rlf_search_smaller(const rlf_problem *problem,
                   const rlf_search_options *options, rlf_arena *arena,
                   rlf_placing out[2])
{
    ladder *l = RLF_NEW(arena, ladder);
    int n;
    *l = (ladder){.problem = problem, .options = *options, .arena = arena};
    if (l->options.moves > SMALLER_MOVES)
        l->options.moves = SMALLER_MOVES;
    l->n_rungs = rlf_search_rungs(problem, 1, l->rungs);
    l->n_sizes = rlf_search_sizes(problem, l->sizes);
    gather(l, 0, 0, out, &n);
    return n;
}

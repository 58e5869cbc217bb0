/* HybridFlow's mapping: see hybridflow.h. */
#include "engine/search/hybridflow.h"

#include <math.h>
#include <string.h>

enum { SETS = RLF_MAPPED_MODELS };

typedef struct mapping {
    const rlf_problem *problem;
    rlf_estimator *e;
    int n_models, n_sets;
    int set_of[SETS];             /* per model */
    int first[SETS], count[SETS]; /* ranks, per set */
    int *counts, n_counts;        /* that any mesh of any call has, ascending */
    rlf_mesh_span within[RLF_SEARCH_CALLS];
    double least; /* the cost of *best */
    rlf_placing trial, *best;
    rlf_mapped seen;
} mapping;

double
rlf_hybridflow_cost(const rlf_problem *p, const int *set_of, const int *choice)
{
    double time[RLF_STAGE_UPDATE + 1][SETS] = {{0}}, sum = 0;
    for (int i = 0; i < p->n_calls; i++) {
        const rlf_problem_call *call = &p->calls[i];
        time[call->kind][set_of[call->model]] +=
            call->choices[choice[i]].seconds;
    }
    for (int stage = 0; stage <= RLF_STAGE_UPDATE; stage++) {
        double most = 0;
        for (int s = 0; s < SETS; s++)
            most = fmax(most, time[stage][s]);
        sum += most;
    }
    return sum;
}

/* ---- an allocation ---- */

/* Each call in its fastest way on its set's ranks that fits there alone
 * (algorithm 2). False: there is none. */
static bool
cut_alone(mapping *m)
{
    for (int i = 0; i < m->problem->n_calls; i++) {
        const rlf_problem_call *call = &m->problem->calls[i];
        double room = m->problem->memory[m->first[m->set_of[call->model]]];
        double least = INFINITY;
        for (int k = m->within[i].from; k < m->within[i].to; k++) {
            const rlf_choice *c = &call->choices[k];
            if (c->kept + c->own + c->work > room || c->seconds >= least)
                continue;
            least = c->seconds;
            m->trial.choice[i] = k;
        }
        if (!isfinite(least))
            return false;
    }
    return true;
}

/* If the fastest ways do not fit together, others are taken until they do.
 */
static void
judge(mapping *m)
{
    const rlf_problem *p = m->problem;
    if (!cut_alone(m) ||
        rlf_hybridflow_cost(p, m->set_of, m->trial.choice) >= m->least)
        return;
    rlf_placing_look(m->e, &m->trial);
    if (m->trial.over > 0)
        rlf_search_descend(m->e, p, m->within, NULL, &m->trial);
    double is = rlf_hybridflow_cost(p, m->set_of, m->trial.choice);
    if (m->trial.over > 0 || is >= m->least)
        return;
    m->least = is;
    m->best->over = m->trial.over;
    m->best->period = m->trial.period;
    memcpy(m->best->choice, m->trial.choice,
           sizeof *m->trial.choice * (size_t)p->n_calls);
}

/* Gives every set its ranks, those with fewer first, and every call its
 * choices there. False: a call has none. */
static bool
lay_out(mapping *m)
{
    bool placed[SETS] = {false};
    for (int k = 0, first = 0; k < m->n_sets; k++) {
        int next = -1;
        for (int s = 0; s < m->n_sets; s++)
            if (!placed[s] && (next < 0 || m->count[s] < m->count[next]))
                next = s;
        placed[next] = true;
        m->first[next] = first;
        first += m->count[next];
    }
    for (int i = 0; i < m->problem->n_calls; i++) {
        const rlf_problem_call *call = &m->problem->calls[i];
        int set = m->set_of[call->model];
        const rlf_mesh_span *span =
            rlf_search_mesh(call, m->first[set], m->count[set]);
        if (!span)
            return false;
        m->within[i] = *span;
    }
    return true;
}

/* The sets from `set` on get `left` ranks, all of them. */
static void
allocate(mapping *m, int set, int left)
{
    bool last = set == m->n_sets - 1;
    for (int k = 0; k < m->n_counts && m->counts[k] <= left; k++) {
        m->count[set] = m->counts[k];
        if (!last) {
            allocate(m, set + 1, left - m->counts[k]);
        } else if (m->counts[k] == left && lay_out(m)) {
            m->seen.allocations++;
            m->seen.of[m->n_sets]++;
            judge(m);
        }
    }
}

/* ---- partitions ---- */

/* All partitions of the models that have calls into sets. */
static void
divide(mapping *m, int model)
{
    if (model == m->n_models) {
        m->seen.partitions++;
        allocate(m, 0, m->problem->devices);
        return;
    }
    bool called = false;
    for (int i = 0; i < m->problem->n_calls; i++)
        called |= m->problem->calls[i].model == model;
    if (!called)
        divide(m, model + 1);
    for (int s = 0; called && s <= m->n_sets; s++) {
        bool fresh = s == m->n_sets;
        m->set_of[model] = s;
        m->n_sets += fresh;
        divide(m, model + 1);
        m->n_sets -= fresh;
    }
}

static void
find_counts(mapping *m, rlf_arena *arena)
{
    const rlf_problem *p = m->problem;
    bool *known = RLF_NEW_ARRAY(arena, bool, p->devices + 1);
    m->counts = RLF_NEW_ARRAY(arena, int, p->devices);
    for (int i = 0; i < p->n_calls; i++)
        for (int k = 0; k < p->calls[i].n_meshes; k++)
            known[p->calls[i].meshes[k].count] = true;
    for (int n = 1; n <= p->devices; n++)
        if (known[n])
            m->counts[m->n_counts++] = n;
}

void
rlf_hybridflow_map(const rlf_problem *problem, rlf_estimator *e,
                   rlf_arena *arena, rlf_placing *best, rlf_mapped *counts)
{
    mapping m = {.problem = problem, .e = e, .least = INFINITY, .best = best};
    m.trial.choice = RLF_NEW_ARRAY(arena, int, problem->n_calls);
    m.n_models = problem->n_models;
    find_counts(&m, arena);
    if (m.n_models <= SETS)
        divide(&m, 0);
    if (counts)
        *counts = m.seen;
}

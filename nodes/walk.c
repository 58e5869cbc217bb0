/* See walk.h. */
#include "nodes/walk.h"

#include "engine/dev/dev.h"
#include "nodes/data.h"
#include "nodes/rows.h"

#include <pthread.h>
#include <stdatomic.h>

enum { GRAIN = 32 }; /* rows that a thread takes at once */

typedef struct walk {
    const rlf_env *env;
    rlf_walk_fn *fn;
    void *arg;
    rlf_claim claim;
    _Atomic uint32_t failed; /* the first such row; UINT32_MAX: none */
    pthread_mutex_t lock;    /* for what follows */
    rlf_status status;
    rlf_err *err;
} walk;

/* Rows are taken in their order, so none before a row that failed is left out.
 */
static void
note_failure(walk *w, uint32_t row, rlf_status status, const rlf_err *err)
{
    pthread_mutex_lock(&w->lock);
    if (row < atomic_load(&w->failed)) {
        atomic_store(&w->failed, row);
        w->status = status;
        *w->err = *err;
    }
    pthread_mutex_unlock(&w->lock);
}

static void
walk_some(void *arg, int thread, int n_threads)
{
    walk *w = arg;
    rlf_env own = *w->env;
    int64_t first, last;
    (void)thread, (void)n_threads;
    own.pool = rlf_arena_new();
    while (rlf_claim_take(&w->claim, GRAIN, &first, &last))
        for (uint32_t row = (uint32_t)first; row < (uint32_t)last; row++) {
            rlf_err err = RLF_ERR_NONE;
            if (row > atomic_load(&w->failed))
                break;
            rlf_status status = w->fn(&own, w->arg, row, &err);
            if (status < 0)
                note_failure(w, row, status, &err);
            rlf_data_rest(own.pool);
        }
    rlf_arena_free(own.pool);
}

/* A state of Lua is one thread's. */
static bool
has_lua(const rlf_env *env)
{
    for (size_t i = 0; i < env->graph->resources.count; i++)
        if (env->graph->resources.data[i].class->model &&
            rlf_model_reader(env->resource[i])->template)
            return true;
    return false;
}

rlf_status
rlf_walk_rows(const rlf_env *env, uint32_t n, rlf_walk_fn *fn, void *arg,
              rlf_err *err)
{
    walk w = {.env = env,
              .fn = fn,
              .arg = arg,
              .claim = rlf_claim_of(n),
              .failed = UINT32_MAX,
              .err = err};
    rlf_team *team = env->queue ? env->queue->device->team : NULL;
    pthread_mutex_init(&w.lock, NULL);
    if (!team || n <= GRAIN || has_lua(env))
        walk_some(&w, 0, 1);
    else
        rlf_team_run(team, walk_some, &w);
    pthread_mutex_destroy(&w.lock);
    return w.status;
}

/* See replay.h. A list, searched from its beginning: a step on a GPU takes much
 * longer than that. */
#include "engine/dev/replay.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/hash.h"
#include "engine/base/vec.h"

typedef struct entry {
    void *key;
    size_t bytes;
    rlf_recording *recording; /* NULL: seen once */
    uint64_t used;            /* the larger, the later */
} entry;

struct rlf_replays {
    rlf_queue *queue;
    entry entries[RLF_REPLAYS_MOST];
    int n;
    uint64_t clock, history;
    RLF_VEC(uint64_t) places;
    bool agreed, more;      /* with others; that more are recorded */
    bool was_full, is_told; /* something was not recorded */
    rlf_err refusal;        /* status < 0: nothing more is recorded, why */
    bool refusal_is_told;
};

rlf_replays *
rlf_replays_new(rlf_queue *queue)
{
    rlf_replays *r = rlf_calloc(1, sizeof *r);
    r->queue = queue;
    r->history = RLF_HASH_INIT;
    return r;
}

static void
forget(rlf_replays *r, entry *e)
{
    r->queue->device->ops->recording_free(e->recording);
    free(e->key);
    *e = (entry){0};
}

void
rlf_replays_forget(rlf_replays *r)
{
    for (int i = 0; i < r->n; i++)
        forget(r, &r->entries[i]);
    r->n = 0;
    r->clock = 0;
    r->history = RLF_HASH_INIT;
    r->places.count = 0;
}

void
rlf_replays_free(rlf_replays *r)
{
    if (!r)
        return;
    rlf_replays_forget(r);
    RLF_VEC_FREE(&r->places);
    free(r);
}

uint32_t
rlf_replays_place(rlf_replays *r, uint64_t addresses)
{
    uint32_t i = 0;
    while (i < r->places.count && r->places.data[i] != addresses)
        i++;
    if (i == r->places.count)
        RLF_PUSH(&r->places, addresses);
    r->history = rlf_hash(r->history, &i, sizeof i);
    return i;
}

uint64_t
rlf_replays_history(const rlf_replays *r)
{
    return r->history;
}

static entry *
find(rlf_replays *r, const void *key, size_t bytes)
{
    for (int i = 0; i < r->n; i++) {
        entry *e = &r->entries[i];
        if (e->bytes == bytes && memcmp(e->key, key, bytes) == 0)
            return e;
    }
    return NULL;
}

/* A place for one more: the one not used for longest gives up its own. */
static entry *
take_place(rlf_replays *r)
{
    if (r->n < RLF_REPLAYS_MOST)
        return &r->entries[r->n++];
    entry *oldest = r->entries;
    for (int i = 1; i < r->n; i++)
        if (r->entries[i].used < oldest->used)
            oldest = &r->entries[i];
    forget(r, oldest);
    return oldest;
}

static rlf_status
record(rlf_replays *r, entry *e, rlf_replay_fn *work, void *ctx, rlf_err *err)
{
    const rlf_device_ops *ops = r->queue->device->ops;
    RLF_TRY(ops->record(r->queue, err));
    rlf_status status = work(ctx, err);
    if (status >= 0)
        return ops->recorded(r->queue, &e->recording, err);
    rlf_err ignored = RLF_ERR_NONE; /* the first one is told */
    ops->recorded(r->queue, NULL, &ignored);
    ops->queue_sync(r->queue, &ignored); /* nobody could while it recorded */
    return status;
}

bool
rlf_replays_room(const rlf_replays *r)
{
    return !r->queue->device->recorded_enough;
}

void
rlf_replays_agree(rlf_replays *r, bool more)
{
    r->agreed = true;
    r->more = more;
}

static bool
may_record(const rlf_replays *r)
{
    return r->agreed ? r->more : rlf_replays_room(r);
}

void
rlf_replays_note(rlf_replays *r, const rlf_log *log)
{
    if (r->was_full && !r->is_told)
        rlf_log_warn(log, MEM,
                     "no room for more recordings of decode steps: the others "
                     "are carried out kernel by kernel");
    r->is_told = r->was_full;
    if (r->refusal.status < 0 && !r->refusal_is_told)
        rlf_log_error(log, NODE,
                      "decode steps are carried out kernel by kernel, since "
                      "they cannot be recorded here: %s",
                      r->refusal.sentence);
    r->refusal_is_told = r->refusal.status < 0;
}

/* A driver or a library that does not record what another one does is no reason
 * to end a run: true if the work is to be carried out as ever. What went wrong
 * with the work itself does so again then. */
static bool
forgive(rlf_replays *r, rlf_status status, rlf_err *err)
{
    if (status != RLF_ENV)
        return false;
    r->refusal = *err;
    rlf_err_clear(err);
    return true;
}

/* Record it, if there is no recording and may be one. */
static rlf_status
want_recording(rlf_replays *r, entry *e, rlf_replay_fn *work, void *ctx,
               rlf_err *err)
{
    if (e->recording || r->refusal.status < 0)
        return RLF_OK;
    if (!may_record(r)) {
        r->was_full = true;
        return RLF_OK;
    }
    rlf_status status = record(r, e, work, ctx, err);
    return status < 0 && !forgive(r, status, err) ? status : RLF_OK;
}

rlf_status
rlf_replays_do(rlf_replays *r, const void *key, size_t bytes,
               rlf_replay_fn *work, void *ctx, rlf_err *err, bool *replayed)
{
    entry *e = find(r, key, bytes);
    r->history = rlf_hash(r->history, key, bytes);
    *replayed = e != NULL;
    if (e) {
        e->used = ++r->clock;
        RLF_TRY(want_recording(r, e, work, ctx, err));
        if (e->recording)
            return r->queue->device->ops->replay(r->queue, e->recording, err);
        *replayed = false;
        return work(ctx, err);
    }
    RLF_TRY(work(ctx, err));
    e = take_place(r);
    *e = (entry){rlf_malloc(bytes), bytes, NULL, ++r->clock};
    memcpy(e->key, key, bytes);
    return RLF_OK;
}

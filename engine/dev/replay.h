/* Work that is put onto a queue again and again, with the same arguments and
 * other numbers in its memory: recorded once, then carried out by one call.
 *
 * A caller that has such work gives it a key: all that its arguments are made
 * of, sizes and addresses. A key that is new is carried out as ever (so that a
 * device has loaded what it needs, and what happens once costs nothing more),
 * one seen before is recorded, and later ones are carried out from that. The
 * recordings used last are kept. Nothing here knows what is recorded. */
#ifndef RLF_DEV_REPLAY_H
#define RLF_DEV_REPLAY_H

#include "engine/base/log.h"
#include "engine/dev/dev.h"

/* Keys that are remembered, and recordings that are kept at most. There are
 * fewer where the device has no room for more (rlf_device.recorded_enough):
 * what is not recorded then is carried out as ever; nor is anything recorded
 * any more once the system has refused to (RLF_ENV). */
enum { RLF_REPLAYS_MOST = 64 };

typedef struct rlf_replays rlf_replays;
/* Puts the work onto the queue. */
typedef rlf_status rlf_replay_fn(void *ctx, rlf_err *err);

/* Makes the recordings of a queue that can record (caps.records). */
rlf_replays *rlf_replays_new(rlf_queue *queue);
void rlf_replays_free(rlf_replays *replays); /* NULL is fine */
/* Addresses by a number, for keys: by the order in which they first came, so
 * that it is the same on ranks whose addresses differ. */
uint32_t rlf_replays_place(rlf_replays *replays, uint64_t addresses);
/* Returns a hash of all places and keys that came so far, in order: where that
 * is equal, the next equal keys are carried out, recorded and replayed alike.
 */
uint64_t rlf_replays_history(const rlf_replays *replays);
/* Has the device room for more? */
bool rlf_replays_room(const rlf_replays *replays);
/* Sets whether more is recorded from now on, until this is called again,
 * whatever the device says: for ranks that must do alike. */
void rlf_replays_agree(rlf_replays *replays, bool more);
/* Logs once that there was no room, or that nothing can be recorded, and
 * why. */
void rlf_replays_note(rlf_replays *replays, const rlf_log *log);
/* Begins anew, as if nothing had come. */
void rlf_replays_forget(rlf_replays *replays);
/* The work of `key`, `bytes` of it, with its padding zeroed. *replayed: from a
 * recording. */
rlf_status rlf_replays_do(rlf_replays *replays, const void *key, size_t bytes,
                          rlf_replay_fn *work, void *ctx, rlf_err *err,
                          bool *replayed);

#endif

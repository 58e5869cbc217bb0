/* Mailboxes: a ring of slots under a lock, and the owner's bell. The ring of
 * the controller grows: however many ranks have reported while it was kept from
 * running, it hears all of them. */
#include "engine/base/clock.h"
#include "engine/comm/internal.h"

rlf_status
rlf_mailbox_open(rlf_mailbox *box, int n_slots, size_t slot_bytes, rlf_err *err)
{
    pthread_mutex_init(&box->lock, NULL);
    box->n_slots = (uint32_t)n_slots;
    box->slot_bytes = sizeof(rlf_mail) + (slot_bytes + 15) / 16 * 16;
    box->slots = rlf_try_calloc((size_t)n_slots, box->slot_bytes);
    return box->slots ? RLF_OK
                      : rlf_fail_memory(err, (size_t)n_slots * box->slot_bytes,
                                        "messages between ranks");
}

void
rlf_mailbox_close(rlf_mailbox *box)
{
    pthread_mutex_destroy(&box->lock);
    free(box->slots);
}

/* Twice the slots; under the lock. */
static rlf_status
grow(rlf_mailbox *box, rlf_err *err)
{
    char *slots = rlf_try_calloc(2 * (size_t)box->n_slots, box->slot_bytes);
    if (!slots)
        return rlf_fail_memory(err, 2 * (size_t)box->n_slots * box->slot_bytes,
                               "messages to the controller");
    uint32_t behind = box->n_slots - box->first; /* up to the end of the ring */
    memcpy(slots, box->slots + box->first * box->slot_bytes,
           behind * box->slot_bytes);
    memcpy(slots + behind * box->slot_bytes, box->slots,
           box->first * box->slot_bytes);
    free(box->slots);
    box->slots = slots;
    box->first = 0;
    box->n_slots *= 2;
    return RLF_OK;
}

rlf_status
rlf_mail_deliver(rlf_comm_world *world, int to, int from, const void *message,
                 size_t bytes, rlf_err *err)
{
    rlf_comm *end = to == RLF_CONTROLLER ? world->controller
                                         : world->ends[to % world->local];
    rlf_mailbox *box = &end->mailbox;
    rlf_mail head = {from, bytes};
    pthread_mutex_lock(&box->lock);
    uint32_t count = __atomic_load_n(&box->count, __ATOMIC_RELAXED);
    if (count == box->n_slots && to == RLF_CONTROLLER &&
        grow(box, err) < 0) {
        pthread_mutex_unlock(&box->lock);
        return RLF_MEMORY;
    }
    bool full = count == box->n_slots;
    if (!full) {
        uint32_t at = (box->first + count) % box->n_slots;
        char *slot = box->slots + at * box->slot_bytes;
        memcpy(slot, &head, sizeof head);
        if (bytes)
            memcpy(slot + sizeof head, message, bytes);
        __atomic_store_n(&box->count, count + 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&box->lock);
    if (full)
        return rlf_fail(err, RLF_BUG,
                        "the mailbox of rank %d is full: %u messages", to,
                        box->n_slots);
    rlf_futex_ring(&end->bell);
    return RLF_OK;
}

rlf_status
rlf_mail_post(rlf_comm *from, int to, const void *message, size_t bytes,
              rlf_err *err)
{
    rlf_comm_world *world = from->world;
    RLF_ASSERT(to >= RLF_CONTROLLER && to < world->size);
    RLF_TRY(rlf_comm_check(world, err));
    if (bytes > world->options.mail_bytes)
        return rlf_fail(err, RLF_BUG,
                        "a message of %zu bytes is longer than %zu", bytes,
                        world->options.mail_bytes);
    int process = to == RLF_CONTROLLER ? 0 : rlf_process_of(world, to);
    if (process == world->process)
        return rlf_mail_deliver(world, to, from->rank, message, bytes, err);
    rlf_connections_mail(world->links, to, from->rank, message, bytes);
    return RLF_OK;
}

static bool
box_take(rlf_mailbox *box, void *message, rlf_mail *mail)
{
    uint32_t count = __atomic_load_n(&box->count, __ATOMIC_ACQUIRE);
    if (!count)
        return false;
    pthread_mutex_lock(&box->lock);
    const char *slot = box->slots + box->first * box->slot_bytes;
    memcpy(mail, slot, sizeof *mail);
    if (mail->bytes)
        memcpy(message, slot + sizeof *mail, mail->bytes);
    box->first = (box->first + 1) % box->n_slots;
    __atomic_fetch_sub(&box->count, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&box->lock);
    return true;
}

rlf_status
rlf_mail_poll(rlf_comm *comm, void *message, rlf_mail *mail, rlf_err *err)
{
    if (rlf_world_aborted(comm->world))
        return rlf_comm_give_up(comm, err);
    if (box_take(&comm->mailbox, message, mail))
        return RLF_OK;
    rlf_status status = rlf_comm_progress(comm, err);
    if (status < 0)
        return rlf_comm_give_up(comm, err);
    return RLF_AGAIN;
}

rlf_status
rlf_mail_wait(rlf_comm *comm, double seconds, void *message, rlf_mail *mail,
              rlf_err *err)
{
    uint64_t begin = 0, idle = 0, moved = 0;
    for (;;) {
        uint32_t bell = rlf_futex_get(&comm->bell);
        rlf_status status = rlf_mail_poll(comm, message, mail, err);
        if (status != RLF_AGAIN)
            return status;
        uint64_t now = rlf_clock_now(), left = RLF_FOREVER;
        if (!begin)
            begin = now;
        if (seconds >= 0) {
            uint64_t limit = (uint64_t)(seconds * 1e9);
            if (now - begin >= limit)
                return RLF_AGAIN;
            left = limit - (now - begin);
        }
        if (!idle || moved != comm->n_moved) {
            idle = now;
            moved = comm->n_moved;
        }
        rlf_comm_pause(comm, bell, idle, left);
    }
}

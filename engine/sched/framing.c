/* Cutting messages into frames, and putting them together: see framing.h. */
#include "engine/sched/framing.h"

#include "engine/base/arena.h"

#include <stdlib.h>
#include <string.h>

/* The first byte of a frame says whether it is the last of its message. */
enum { ROOM = RLF_FRAME_BYTES - 1 };

void
rlf_framing_open(rlf_framing *framing, rlf_comm *comm)
{
    memset(framing, 0, sizeof *framing);
    framing->comm = comm;
    framing->n_senders = rlf_comm_rank(comm) < 0 ? rlf_comm_size(comm) : 1;
    framing->parts =
        rlf_calloc((size_t)framing->n_senders, sizeof *framing->parts);
    framing->done = -1;
}

void
rlf_framing_close(rlf_framing *framing)
{
    for (int i = 0; i < framing->n_senders; i++)
        rlf_buf_free(&framing->parts[i]);
    free(framing->parts);
    memset(framing, 0, sizeof *framing);
}

uint32_t
rlf_framing_count(size_t n)
{
    return n ? (uint32_t)((n + ROOM - 1) / ROOM) : 1;
}

rlf_status
rlf_framing_send(rlf_framing *framing, int to, const rlf_buf *message,
                 rlf_err *err)
{
    char frame[RLF_FRAME_BYTES];
    for (size_t at = 0; at < message->n || at == 0; at += ROOM) {
        size_t n = message->n - at < ROOM ? message->n - at : ROOM;
        frame[0] = at + n == message->n;
        memcpy(frame + 1, message->p + at, n);
        RLF_TRY(rlf_mail_post(framing->comm, to, frame, n + 1, err));
    }
    return RLF_OK;
}

rlf_status
rlf_framing_hear(rlf_framing *framing, double seconds, rlf_err *err,
                 const rlf_buf **message)
{
    if (framing->done >= 0)
        rlf_buf_clear(&framing->parts[framing->done]);
    framing->done = -1;
    for (;;) {
        rlf_mail mail;
        rlf_status status =
            seconds == 0
                ? rlf_mail_poll(framing->comm, framing->frame, &mail, err)
                : rlf_mail_wait(framing->comm, seconds, framing->frame, &mail,
                                err);
        if (status != RLF_OK)
            return status;
        framing->taken++;
        int from = mail.from < 0 ? 0 : mail.from;
        if (!rlf_buf_try(&framing->parts[from], mail.bytes))
            return rlf_fail_memory(err, framing->parts[from].n + mail.bytes,
                                   "a message of rank %d", from);
        rlf_buf_add(&framing->parts[from], framing->frame + 1, mail.bytes - 1);
        if (!framing->frame[0])
            continue;
        framing->done = from;
        *message = &framing->parts[from];
        return RLF_OK;
    }
}

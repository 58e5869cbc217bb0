/* Cutting messages into pieces and putting them together: see desk.h. */
#include "engine/sched/desk.h"

#include "engine/base/arena.h"

#include <stdlib.h>
#include <string.h>

/* The first byte of a piece says whether it is the last of its message. */
enum { ROOM = RLF_DESK_PIECE - 1 };

void
rlf_desk_open(rlf_desk *desk, rlf_comm *comm)
{
    memset(desk, 0, sizeof *desk);
    desk->comm = comm;
    desk->n_senders = rlf_comm_rank(comm) < 0 ? rlf_comm_size(comm) : 1;
    desk->parts = rlf_calloc((size_t)desk->n_senders, sizeof *desk->parts);
    desk->done = -1;
}

void
rlf_desk_close(rlf_desk *desk)
{
    for (int i = 0; i < desk->n_senders; i++)
        rlf_buf_free(&desk->parts[i]);
    free(desk->parts);
    memset(desk, 0, sizeof *desk);
}

uint32_t
rlf_desk_pieces(size_t n)
{
    return n ? (uint32_t)((n + ROOM - 1) / ROOM) : 1;
}

rlf_status
rlf_desk_send(rlf_desk *desk, int to, const rlf_buf *message, rlf_err *err)
{
    char piece[RLF_DESK_PIECE];
    for (size_t at = 0; at < message->n || at == 0; at += ROOM) {
        size_t n = message->n - at < ROOM ? message->n - at : ROOM;
        piece[0] = at + n == message->n;
        memcpy(piece + 1, message->p + at, n);
        RLF_TRY(rlf_mail_post(desk->comm, to, piece, n + 1, err));
    }
    return RLF_OK;
}

rlf_status
rlf_desk_hear(rlf_desk *desk, double seconds, rlf_err *err,
              const rlf_buf **message)
{
    if (desk->done >= 0)
        rlf_buf_clear(&desk->parts[desk->done]);
    desk->done = -1;
    for (;;) {
        rlf_mail mail;
        rlf_status status =
            seconds == 0
                ? rlf_mail_poll(desk->comm, desk->piece, &mail, err)
                : rlf_mail_wait(desk->comm, seconds, desk->piece, &mail, err);
        if (status != RLF_OK)
            return status;
        desk->taken++;
        int from = mail.from < 0 ? 0 : mail.from;
        if (!rlf_buf_try(&desk->parts[from], mail.bytes))
            return rlf_fail_memory(err, desk->parts[from].n + mail.bytes,
                                   "a message of rank %d", from);
        rlf_buf_add(&desk->parts[from], desk->piece + 1, mail.bytes - 1);
        if (!desk->piece[0])
            continue;
        desk->done = from;
        *message = &desk->parts[from];
        return RLF_OK;
    }
}

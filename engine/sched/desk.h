/* Messages of any length over mailboxes of short ones.
 *
 * A message goes as pieces; who takes them puts them together by sender. A
 * mailbox has room for so many pieces: the sender of commands counts how many a
 * rank has not taken yet and lets the rank say, now and then, how many it has.
 * Private to this folder. */
#ifndef RLF_SCHED_DESK_H
#define RLF_SCHED_DESK_H

#include "engine/base/str.h"
#include "engine/comm/mail.h"

enum { RLF_DESK_PIECE = 2048, RLF_DESK_SLOTS = 1024 };

typedef struct rlf_desk {
    rlf_comm *comm;
    rlf_buf *parts; /* per sender: what came of its message */
    int n_senders;  /* ranks, or 1: the controller */
    int done;       /* sender whose message was given out, or -1 */
    char piece[RLF_DESK_PIECE];
    uint32_t taken; /* pieces, since the owner asked */
} rlf_desk;

/* For a rank's end (which hears the controller) or for the controller's. */
void rlf_desk_open(rlf_desk *desk, rlf_comm *comm);
void rlf_desk_close(rlf_desk *desk);

/* Pieces that a message of n bytes takes. */
uint32_t rlf_desk_pieces(size_t n);
rlf_status rlf_desk_send(rlf_desk *desk, int to, const rlf_buf *message,
                         rlf_err *err);
/* The next whole message, waiting up to `seconds` (0: not at all, < 0: for
 * ever); RLF_AGAIN when there is none. Good until the next call. */
rlf_status rlf_desk_hear(rlf_desk *desk, double seconds, rlf_err *err,
                         const rlf_buf **message);

#endif

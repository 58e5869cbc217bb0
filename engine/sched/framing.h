/* Messages of any length over mailboxes of short ones.
 *
 * A message goes as frames; who takes them puts them together by sender. A
 * mailbox has room for so many frames: the sender of commands counts how many a
 * rank has not taken yet and lets the rank say, now and then, how many it has.
 * Private to this folder. */
#ifndef RLF_SCHED_FRAMING_H
#define RLF_SCHED_FRAMING_H

#include "engine/base/str.h"
#include "engine/comm/mail.h"

enum { RLF_FRAME_BYTES = 2048, RLF_FRAME_SLOTS = 1024 };

typedef struct rlf_framing {
    rlf_comm *comm;
    rlf_buf *parts; /* per sender: what came of its message */
    int n_senders;  /* ranks, or 1: the controller */
    int done;       /* sender whose message was given out, or -1 */
    char frame[RLF_FRAME_BYTES];
    uint32_t taken; /* frames, since the owner asked */
} rlf_framing;

/* Opens a rank's end (which hears the controller) or the controller's. */
void rlf_framing_open(rlf_framing *framing, rlf_comm *comm);
void rlf_framing_close(rlf_framing *framing);

/* Pieces that a message of n bytes takes. */
uint32_t rlf_framing_count(size_t n);
rlf_status rlf_framing_send(rlf_framing *framing, int to,
                            const rlf_buf *message, rlf_err *err);
/* The next whole message, waiting up to `seconds` (0: not at all, < 0: for
 * ever); RLF_AGAIN when there is none. Good until the next call. */
rlf_status rlf_framing_hear(rlf_framing *framing, double seconds, rlf_err *err,
                            const rlf_buf **message);

#endif

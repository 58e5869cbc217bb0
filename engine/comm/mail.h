/* The control channel: a mailbox for every rank and one for the controller.
 *
 * A message is a few bytes that mean nothing to this layer. Every rank and the
 * controller may post to any box; only its owner takes from it. Messages of one
 * sender to one box arrive in order and are never lost. Posting never blocks:
 * boxes of ranks hold as many messages as the protocol can have outstanding
 * (rlf_comm_options), and one more is an error of the program; the
 * controller's grows, since it may be kept from running. Within a process
 * a box is shared memory; between processes there is one connection each to
 * process 0, apart from the data, with one sleeping reader a process. When an
 * end closes without saying good-bye the run is aborted at once. */
#ifndef RLF_COMM_MAIL_H
#define RLF_COMM_MAIL_H

#include "engine/comm/comm.h"

/* The controller's box, as receiver and as sender. */
#define RLF_CONTROLLER (-1)

/* RLF_BUG when the box is full or the message too long; RLF_PEER when the run
 * was aborted. `from` is an end that this thread owns. */
rlf_status rlf_mail_post(rlf_comm *from, int to, const void *message,
                         size_t bytes, rlf_err *err);

typedef struct rlf_mail {
    int from;     /* rank or RLF_CONTROLLER */
    size_t bytes; /* bytes of the message */
} rlf_mail;

/* The oldest message of this end's box into `message` (room for mail_bytes).
 * RLF_AGAIN: there is none. Moves on what this rank has under way. */
rlf_status rlf_mail_poll(rlf_comm *comm, void *message, rlf_mail *mail,
                         rlf_err *err);
/* The same, waiting up to `seconds` (< 0: for ever) for one; RLF_AGAIN when
 * none came. The limit of the options does not count here: an idle rank waits
 * as long as it takes. */
rlf_status rlf_mail_wait(rlf_comm *comm, double seconds, void *message,
                         rlf_mail *mail, rlf_err *err);

#endif

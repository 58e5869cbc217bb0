/* Messages between the stages of a pipeline: how long each is on its way, and
 * how long stages wait for them.
 *
 * In a reading only the first micro-batch waits for messages. In training a
 * stage has few micro-batches at once, so it waits for what it sent to come
 * back: with 1F1B a message and its answer, each c, add c to every micro-batch
 * on two stages, and 2 (pp - 1) / pp c on pp. How long that is, the table of
 * the schedule says. */
#ifndef RLF_SEARCH_MESSAGES_H
#define RLF_SEARCH_MESSAGES_H

#include "engine/search/pipelines.h"
#include "engine/timing/seconds.h"

/* Stages and chunks of which messages are timed one by one. */
enum { RLF_MESSAGES = 255 };

typedef struct rlf_messages {
    int n;                     /* stages - 1; 0: nothing is sent */
    double send[RLF_MESSAGES]; /* seconds from stage s to the next, or back */
    double sum, most;          /* seconds of all messages, and of the longest */
    rlf_seconds terms;         /* what the seconds of the longest are made of */
} rlf_messages;

/* Makes the messages of a micro-batch of which a stage sends so many bytes, in
 * the replica of a rank. */
void rlf_messages_make(const rlf_speeds *speeds, const rlf_layout *layout,
                       int rank, double bytes, rlf_messages *out);
/* Adds so many seconds of waiting to the terms of messages. */
void rlf_messages_add(const rlf_messages *messages, double seconds,
                      rlf_seconds *to);

#endif

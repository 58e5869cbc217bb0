/* Remembers what a run has seen of its generations, and finds what follows:
 * with how many samples left it pays to gather them on few replicas, and on how
 * many.
 *
 * Kept per generate call for as long as the run is open: how long responses
 * were, how long a turn takes, how long what follows a sample takes. The older,
 * the less it counts, so that it follows a drift. It decides when and where
 * samples are made, never what they are; so it is no part of a checkpoint, and
 * a run that goes on after one begins to learn anew. Integers and seconds that
 * others measured; no clock here. */
#ifndef RLF_ORDER_TAIL_H
#define RLF_ORDER_TAIL_H

#include "engine/order/control.h"

enum { RLF_TAIL_LENGTHS = 192 }; /* classes, eight an octave */

typedef struct rlf_tail {
    rlf_turns turns, decodes; /* turns and decoding turns, as in reports */
    double length[RLF_TAIL_LENGTHS]; /* responses in each class */
    double samples, follows; /* samples that were made; seconds of ranks for
                                what is made of them sample by sample */
    /* Seconds of `follows` times the ranks that there are for it: of replicas
     * that sample, and of others. */
    double within, beside;
    int together, met;       /* ranks that work at one sample of that: after the
                                generation before, and after this one; 0: unseen */
    uint32_t seats;          /* samples at once on a replica; 0: not known */
} rlf_tail;

/* The class of a length, and the least real number whose class it is: class k
 * has those from 2^(k / 8) - 1 to below 2^((k + 1) / 8) - 1, the last all
 * above.
 */
int rlf_tail_class(uint32_t length);
double rlf_tail_least(int class);

/* A generation begins: what was seen before counts half. */
void rlf_tail_begin(rlf_tail *tail);
/* A ROWS report. */
void rlf_tail_rows(rlf_tail *tail, const rlf_rank_event *event);
/* The work behind some samples took so many seconds of each of `ranks`, which
 * did it together. Of its replicas so many ranks are `within` replicas of which
 * some ranks sample, and so many `beside` them: at least one in all. */
void rlf_tail_follow(rlf_tail *tail, double seconds, int ranks, int within,
                     int beside);

/* One more turn: it fed x tokens, which looked at y keys, in t seconds. */
void rlf_tail_turn_add(rlf_turns *to, double x, double y, double t);

/* Seconds of a turn in which n samples are fed a token each, and these look at
 * k keys: fixed + n sample + k key; none is negative. Keys count by themselves
 * because the samples that are left at the end are the longest. */
typedef struct rlf_tail_turn {
    double fixed, sample, key;
} rlf_tail_turn;

/* The nearest to what was seen (least squares). False: too little was seen. The
 * threshold is made of it; tests look at the line itself. */
bool rlf_tail_decodes(const rlf_tail *tail, rlf_tail_turn *out);
/* Seconds for each token more that a turn feeds, of prompts too: the slope of a
 * line through all turns. False: too little was seen. */
bool rlf_tail_token(const rlf_tail *tail, double *seconds);
/* Samples of so many keys that a replica can have at work before a turn takes
 * twice as long as one that feeds nothing; at least 1; 0: not known. */
uint32_t rlf_tail_saturation(const rlf_tail *tail, double keys);

/* A generation that begins. */
typedef struct rlf_tail_begun {
    uint32_t n;          /* samples */
    int replicas, ranks; /* ranks of a replica */
    uint32_t room;       /* samples that a replica can have at work */
    double prompt;       /* tokens of a prompt, on average; 0: not known */
    /* Complete samples with which what follows begins, and it goes on with all
     * when the last is; 0: it begins with all. */
    uint32_t piece;
} rlf_tail_begun;

/* The moment at which samples are to be gathered: fewer than `threshold` are
 * left, of which a replica gets at most `seats`; 0: that does not pay, or too
 * little was seen. */
typedef struct rlf_tail_gather {
    uint32_t threshold, seats;
} rlf_tail_gather;

/* Found by playing generation and what follows at so many thresholds, each with
 * half of the replicas, a quarter ... (RLHFuse's sweep): with A samples left
 * that are spread at random, replicas (1 - (1 - 1/replicas)^A) of them are at
 * work, or after gathering ceil(A / seats); the others do what follows the
 * samples that are complete in whole pieces, as far as none of the ranks that
 * do it together samples, with ranks that never sample. Who samples does none
 * of it (defer.c), and what is left of it at the end is shared by all.
 */
rlf_tail_gather rlf_tail_find(const rlf_tail *tail,
                              const rlf_tail_begun *begun);

#endif

/* What a run has seen of its generations, and what follows from it: with how
 * many samples left it pays to gather them on few replicas.
 *
 * Kept per generate call for as long as the run is open: how long responses
 * were, how long a turn takes, how long what follows a sample takes. The older,
 * the less it counts, so that it follows a drift. It decides when and where
 * samples are made, never what they are; so it is no part of a checkpoint, and
 * a run that goes on after one begins to learn anew. Integers and seconds that
 * others measured; no clock here. */
#ifndef RLF_ORDER_PACE_H
#define RLF_ORDER_PACE_H

#include "engine/order/control.h"

enum { RLF_PACE_LENGTHS = 192 }; /* classes, eight an octave */

typedef struct rlf_pace {
    rlf_turns turns;
    double length[RLF_PACE_LENGTHS]; /* responses in each class */
    double samples, follows; /* that were made; seconds of ranks for what is
                                made of them sample by sample */
    int together;            /* ranks that work at one sample of that */
    uint32_t seats;          /* of a replica; 0: not known */
} rlf_pace;

/* The class of a length, and the least real number whose class it is: class k
 * has those from 2^(k / 8) - 1 to below 2^((k + 1) / 8) - 1, the last all
 * above.
 */
int rlf_pace_class(uint32_t length);
double rlf_pace_least(int class);

/* A generation begins: what was seen before counts half. */
void rlf_pace_begin(rlf_pace *pace);
/* A ROWS report. */
void rlf_pace_rows(rlf_pace *pace, const rlf_report *report);
/* What follows some samples took so many seconds of each of `ranks`, which did
 * it together. */
void rlf_pace_follow(rlf_pace *pace, double seconds, int ranks);

/* A turn takes *fixed seconds and *each for every token that it feeds. False:
 * too little was seen. */
bool rlf_pace_turn(const rlf_pace *pace, double *fixed, double *each);
/* Samples that a replica can have at work before a turn takes twice as long as
 * one that feeds nothing; at least 1; 0: not known. */
uint32_t rlf_pace_saturation(const rlf_pace *pace);
/* A generation that begins. */
typedef struct rlf_pace_begun {
    uint32_t n;          /* samples */
    int replicas, ranks; /* ranks of a replica */
    uint32_t seats;      /* of a replica, once samples are gathered */
    uint32_t piece; /* what follows begins with so many complete samples, and
                       with all when the last is; 0: with all */
} rlf_pace_begun;

/* With fewer than this many samples left they are to be gathered; 0: that does
 * not pay, or too little was seen.
 *
 * Found by playing generation and what follows at so many thresholds (RLHFuse's
 * sweep): with A samples left that are spread at random, replicas
 * (1 - (1 - 1/replicas)^A) of them are at work, or after gathering
 * ceil(A / seats); the others do what follows the samples that are complete in
 * whole pieces, as far as none of the ranks that do it together samples, and
 * what is left of it at the end is shared by all. */
uint32_t rlf_pace_threshold(const rlf_pace *pace, const rlf_pace_begun *begun);

#endif

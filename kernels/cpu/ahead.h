/* Whether products of few rows ask for weights ahead of their use.
 *
 * Processors differ: on some of them weights stream from memory faster if they
 * are asked for some steps ahead, on others the hardware does that by itself
 * and what is asked for is in its way. So the machine at hand is asked: the
 * first parts of a head that few rows read go one way or the other, and the
 * clock decides. No bit depends on it. */
#ifndef RLF_KERNELS_CPU_AHEAD_H
#define RLF_KERNELS_CPU_AHEAD_H

#include <stdbool.h>
#include <stdint.h>

enum { RLF_AHEAD_TRIALS = 24 }; /* of each way */

/* One decision; zeros are one to be made. All functions may be called by
 * several threads at once. */
typedef struct rlf_ahead {
    uint32_t asked;             /* times that a way was asked for */
    uint32_t begun[2], told[2]; /* trials of a way, without and with */
    double took[2][RLF_AHEAD_TRIALS];
    uint32_t decided; /* 0: not yet, 1: without, 2: with */
} rlf_ahead;

/* Returns the way to go; *trial: it is to be told how long that takes. */
bool rlf_ahead_ask(rlf_ahead *ahead, bool *trial);
/* The way to go where nobody takes the time: without, until it is decided, for
 * caches need no asking. */
bool rlf_ahead_way(const rlf_ahead *ahead);
/* Seconds a byte of a trial. */
void rlf_ahead_tell(rlf_ahead *ahead, bool way, double seconds);

/* The decisions of a type: for one or two rows, a tile of them, and two tiles.
 * For more the weights are asked for: what they do with them takes longer. */
typedef struct rlf_ahead_choices {
    rlf_ahead of[3];
} rlf_ahead_choices;

/* A part of a product that may be a trial. */
typedef struct rlf_ahead_part {
    rlf_ahead *choice; /* NULL: it is none */
    bool way;
    double bytes;
    uint64_t from; /* on the clock */
} rlf_ahead_part;

/* Returns the way of a part of `rows` rows, `tile` of which are a tile, that
 * reads so many bytes of weights. The end tells how long it took, if that is
 * asked for. */
bool rlf_ahead_begin(rlf_ahead_choices *choices, int64_t rows, int64_t tile,
                     double bytes, rlf_ahead_part *part);
void rlf_ahead_end(const rlf_ahead_part *part);

#endif

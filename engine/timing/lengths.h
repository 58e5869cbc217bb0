/* The lengths of responses that are not made: a distribution of lengths, and
 * from it the length of each sample by seed and number.
 *
 *     fixed:512            all alike
 *     lognormal:512,0.75   mean of the lengths; standard deviation of their
 *                          logarithms
 *     a histogram          of lengths that a run has seen: the classes of
 *                          tail.h, with the mean of each
 *     a list               of lengths themselves, each as likely as it is often
 *
 * A length is a whole number of tokens, at least 1. What a run would cut at its
 * max_new is cut there: `most` below; 0 is no limit. */
#ifndef RLF_TIMING_LENGTHS_H
#define RLF_TIMING_LENGTHS_H

#include "engine/base/arena.h"
#include "engine/base/philox.h"
#include "engine/base/status.h"
#include "engine/base/str.h"
#include "engine/order/tail.h"

enum { RLF_LENGTHS_MOST = 1 << 24 }; /* tokens of a length */

typedef enum rlf_lengths_kind {
    RLF_LENGTHS_FIXED,
    RLF_LENGTHS_LOGNORMAL,
    RLF_LENGTHS_HISTOGRAM,
    RLF_LENGTHS_LIST,
} rlf_lengths_kind;

/* A length of a list, and of all up to and with it: how often they were seen,
 * and how many tokens that are. */
typedef struct rlf_length_seen {
    uint32_t length;
    double times, tokens;
} rlf_length_seen;

typedef struct rlf_length_distribution {
    rlf_lengths_kind kind;
    double mean, sigma; /* FIXED: mean; LOGNORMAL: both */
    /* HISTOGRAM: the share of lengths in classes up to and with this one, and
     * the mean of those in it */
    double up_to[RLF_TAIL_LENGTHS], mean_in[RLF_TAIL_LENGTHS];
    /* LIST: n ascending, no two alike, at least one; in the arena of who made
     * it */
    const rlf_length_seen *list;
    size_t n;
} rlf_length_distribution;

/* Is it the text of a distribution, right or wrong: `fixed:` or `lognormal:`?
 * Anything else is a file's path. */
bool rlf_lengths_is_text(const char *text);
/* RLF_USER with what is wrong. */
rlf_status rlf_lengths_parse(const char *text, rlf_err *err,
                             rlf_length_distribution *out);
/* A file's text: lines of a length, or of a length and how often it was seen;
 * `#` begins a comment. A list of exactly these. RLF_USER, naming the line of
 * `path`. */
rlf_status rlf_lengths_parse_file(const char *path, const char *text,
                                  rlf_arena *arena, rlf_err *err,
                                  rlf_length_distribution *out);
/* Of counts by class, as rlf_tail has them, and of the tokens of each class in
 * all; 0: as many as if the class's lengths were equally likely. Lengths of a
 * class then lie evenly around their mean, as far as the nearer of the class's
 * edges. RLF_USER if all counts are 0. */
rlf_status rlf_lengths_of_classes(const double count[RLF_TAIL_LENGTHS],
                                  const double tokens[RLF_TAIL_LENGTHS],
                                  rlf_err *err, rlf_length_distribution *out);

/* Makes the distribution of n lengths, at least one, each as likely. */
rlf_length_distribution rlf_lengths_of_list(const uint32_t *list, size_t n,
                                            rlf_arena *arena);
/* Are all lengths that are cut at `most` the same? */
bool rlf_lengths_alike(const rlf_length_distribution *d, double most);

/* The length that the share q of all does not exceed, 0 < q < 1; not rounded.
 */
double rlf_lengths_quantile(const rlf_length_distribution *d, double q);
/* The share of lengths above x. */
double rlf_lengths_above(const rlf_length_distribution *d, double x);
/* The mean, where what is longer counts as `most`. */
double rlf_lengths_mean(const rlf_length_distribution *d, double most);
/* The mean of the longest of n that are drawn, where what is longer counts as
 * `most`. */
double rlf_lengths_longest(const rlf_length_distribution *d, double n,
                           double most);
/* The length of a sample: a function of the key (which names seed, call, step
 * and sample; its purpose is set here). */
uint32_t rlf_lengths_draw(const rlf_length_distribution *d,
                          const rlf_random_key *key, uint32_t most);
/* Writes it as it is written on a command line; a histogram or list as a
 * comment on it. */
void rlf_lengths_print(const rlf_length_distribution *d, rlf_buf *out);

#endif

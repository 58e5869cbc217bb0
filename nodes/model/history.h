/* Responses that were sampled before, for guesses at the next tokens of others
 * to the same prompt.
 *
 * A guess is what followed the last tokens of a response where they stood
 * before: the longest run of tokens that ends a response and is found in an
 * earlier one, the latest of these if there are several (as LZ77 finds what
 * repeats: Ziv and Lempel 1977). Only so many tokens are remembered; the oldest
 * half is forgotten at once. Nothing that is sampled depends on a guess
 * (generate.h). */
#ifndef RLF_MODEL_HISTORY_H
#define RLF_MODEL_HISTORY_H

#include <stdint.h>

#include "engine/base/status.h"

/* Tokens that it remembers at least, once there were as many; twice as many at
 * most. One takes 12 bytes, and with each half go 4 bytes a token of a table.
 */
enum { RLF_HISTORY_TOKENS = 1 << 17 };
/* Tokens alike before a guess, at least; before its first token a response has
 * as many that stand for its beginning. */
enum { RLF_HISTORY_RUN = 2 };

typedef struct rlf_history rlf_history;

rlf_history *rlf_history_new(uint32_t tokens); /* to remember at least */
void rlf_history_free(rlf_history *history);   /* NULL is fine */

/* The name of a prompt in it. */
uint32_t rlf_history_prompt(const uint32_t *ids, uint32_t n);

/* A response to a prompt is complete. One that has more tokens than are
 * remembered is left out. RLF_MEMORY: there is no room. */
rlf_status rlf_history_add(rlf_history *history, uint32_t prompt,
                           const uint32_t *ids, uint32_t n, rlf_err *err);

/* Guesses at what follows the n tokens of a response to a prompt, `most` at
 * most, into `out`. Returns how many; 0: nothing like it was seen. */
uint32_t rlf_history_guess(const rlf_history *history, uint32_t prompt,
                           const uint32_t *ids, uint32_t n, uint32_t most,
                           uint32_t *out);

/* How many of the guesses that were tried turned out right: the share of late
 * ones, more or less. */
void rlf_history_count(rlf_history *history, uint32_t tried, uint32_t right);
double rlf_history_share(const rlf_history *history);

#endif

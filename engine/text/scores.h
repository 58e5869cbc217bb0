/* The scores of a unigram model as its reference reads them.
 *
 * It takes a number's digits as an integer and multiplies or divides by a power
 * of ten, which is not always the nearest double. Where two ways to write a
 * word have nearly the same sum the last bit decides, so it has to be the same.
 */
#ifndef RLF_TEXT_SCORES_H
#define RLF_TEXT_SCORES_H

#include <stdbool.h>
#include <stddef.h>

/* The number that the n characters at p write, which are one in JSON, with
 * nothing around it. Outside of scores.c only tests call it, on numbers that
 * are hard to round. */
double rlf_score_read(const char *p, size_t n);
/* The second members of the pairs in "vocab" of "model", n of them, of the text
 * of a tokenizer.json, which is known to be JSON. False if they are not there,
 * as where a key is written with escapes. */
bool rlf_scores_read(const char *text, size_t size, size_t n, double *out);

#endif

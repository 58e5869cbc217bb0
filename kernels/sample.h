/* The weight of a word under filters, and the filters: the same for all
 * backends. Internal to them.
 *
 * Of a row with largest logit `top`, word i is d = top - z_i away from it and
 * weighs w = floor(2^40 e^-d), which no word has that is SAMPLE_REACH or more
 * away, or whose logit is no number. Words go in order of d, then of id: it is
 * the order of likelihood. A sum of weights is a whole number below 2^64, so
 * words may be counted, summed and searched in any order, by any number of
 * threads, and the token is the same:
 *   top_k keeps the first k words;
 *   top_p the fewest of these, in order, with sum of w >= top_p * (their sum);
 *   min_p of these the ones with e^-d >= min_p.
 * The token is the first, by id, at which the sum of what is kept exceeds
 * floor(uniform * (all of it)). */
#ifndef RLF_KERNELS_SAMPLE_H
#define RLF_KERNELS_SAMPLE_H

#include "engine/base/half.h"
#include "engine/base/inline.h"
#include "kernels/kernels.h"


#define SAMPLE_REACH 28.0F
/* The most words of a vocabulary, for the sum of all weights. */
#define SAMPLE_MOST ((int64_t)1 << 23)

/* Words are found by counting, first in coarse bins, SAMPLE_FINE of them where
 * d grows by 1; then, in one of them, digit by digit of d's bits. */
#define SAMPLE_FINE 32
#define SAMPLE_COARSE 896 /* SAMPLE_REACH * SAMPLE_FINE */
#define SAMPLE_BINS 1024
#define SAMPLE_DIGIT 10

/* The weights of words added up, and how many they are. */
typedef struct sample_bins {
    uint64_t mass[SAMPLE_BINS];
    uint32_t count[SAMPLE_BINS];
} sample_bins;

/* The place of a bin: what comes before it, and what is in it. */
typedef struct sample_place {
    uint64_t mass, own_mass;
    uint32_t count, own_count;
    int bin;
} sample_place;

/* Kept are words nearer than d, and those at d with an id of at most `last`. */
typedef struct sample_cut {
    float d;
    int64_t last;
} sample_cut;

RLF_INLINE bool
sample_cuts_mass(const rlf_sample_args *a)
{
    return a->top_p > 0 && a->top_p < 1;
}

static inline bool
sample_has_filters(const rlf_sample_args *a)
{
    return !a->greedy && (a->top_k > 0 || sample_cuts_mass(a) || a->min_p > 0);
}

static inline rlf_status
sample_check(const rlf_sample_args *a, rlf_err *err)
{
    return sample_has_filters(a) && a->v > SAMPLE_MOST
               ? rlf_fail(err, RLF_USER,
                          "sampling with top_k, top_p or min_p from a "
                          "vocabulary of %lld is not supported, at most %lld",
                          (long long)a->v, (long long)SAMPLE_MOST)
               : RLF_OK;
}

/* (Where some logit is no number, another may lie above what was taken for the
 * largest.) */
RLF_INLINE bool
sample_reaches(float d)
{
    return d >= 0 && d < SAMPLE_REACH;
}

RLF_INLINE bool
sample_keeps(sample_cut cut, float d, int64_t id)
{
    return sample_reaches(d) && (d < cut.d || (d == cut.d && id <= cut.last));
}

/* e: e^-d, of 0 to 1. */
RLF_INLINE uint64_t
sample_weight(float e)
{
    return (uint64_t)(int64_t)(e * 0x1p40F);
}

/* The coarse bin of 0 <= d < SAMPLE_REACH; and where one begins, for d is not
 * negative, so its bits are in order. */
RLF_INLINE int
sample_bin(float d)
{
    return (int)(d * SAMPLE_FINE);
}

RLF_INLINE uint32_t
sample_bin_bits(int bin)
{
    return rlf_f32_bits((float)bin / SAMPLE_FINE);
}

/* A search for the word at which a sum in order reaches its goal: it is among
 * those with bits low..end-1, of which `at` knows what comes before. */
typedef struct sample_search {
    uint64_t goal;
    bool by_count; /* the filter is by the number of words, or else by their
                      mass */
    uint32_t low, end;
    int shift; /* the shift of the digit that is next, bits - low */
    sample_place at;
} sample_search;

/* The rest that is to be reached among those. */
RLF_INLINE uint64_t
sample_left(const sample_search *s)
{
    return s->goal - (s->by_count ? s->at.count : s->at.mass);
}

/* Begins with the coarse bin that it is in. */
RLF_INLINE void
sample_begin(sample_search *s, sample_place coarse)
{
    s->at = coarse;
    s->low = sample_bin_bits(coarse.bin);
    s->end = sample_bin_bits(coarse.bin + 1);
    s->shift = 0;
    while ((s->end - s->low - 1) >> s->shift >= SAMPLE_BINS)
        s->shift += SAMPLE_DIGIT;
}

/* The digit is found. Returns false if it was the last: low is d. */
RLF_INLINE bool
sample_narrow(sample_search *s, sample_place digit)
{
    s->at.mass += digit.mass;
    s->at.count += digit.count;
    s->at.own_mass = digit.own_mass;
    s->at.own_count = digit.own_count;
    s->low += (uint32_t)digit.bin << s->shift;
    if (s->shift == 0)
        return false;
    if ((s->end - s->low) >> s->shift)
        s->end = s->low + (1U << s->shift);
    s->shift -= SAMPLE_DIGIT;
    return true;
}

/* Returns how many of the words that the search ended at are kept. All weigh
 * the same. */
RLF_INLINE uint32_t
sample_taken(const sample_search *s)
{
    uint64_t left = sample_left(s);
    uint64_t each = s->by_count ? 1 : s->at.own_mass / s->at.own_count;
    return (uint32_t)((left + each - 1) / each);
}

/* The mass that is kept with so many of them. */
RLF_INLINE uint64_t
sample_mass(const sample_search *s, uint32_t taken)
{
    return s->at.mass + s->at.own_mass / s->at.own_count * taken;
}

/* The mass that top_p wants of `total`: at least 1, at most all of it. */
RLF_INLINE uint64_t
sample_nucleus(float top_p, uint64_t total)
{
    double wanted = (double)top_p * (double)total;
    uint64_t goal = (uint64_t)wanted;
    goal += (double)goal < wanted;
    return goal > total ? total : goal;
}

/* The sum that the token is the first to reach, of 1 to total. */
RLF_INLINE uint64_t
sample_goal(double uniform, uint64_t total)
{
    uint64_t goal = (uint64_t)(uniform * (double)total);
    return goal < total ? goal + 1 : total;
}

#endif

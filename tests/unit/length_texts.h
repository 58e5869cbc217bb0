/* Distributions of lengths from their texts, which have to be right. */
#ifndef RLF_TESTS_UNIT_LENGTH_TEXTS_H
#define RLF_TESTS_UNIT_LENGTH_TEXTS_H

#include "engine/timing/lengths.h"
#include "tests/tap.h"

TAP_FUNCTION rlf_length_distribution
read_text(const char *text)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_length_distribution d;
    if (rlf_lengths_parse(text, &err, &d) < 0)
        bail("%s", err.sentence);
    return d;
}

#endif

/* See copy.h. Where there are no such stores it is memcpy. */
#include "engine/dev/copy.h"

#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define LINE ((size_t)64)

void
rlf_copy_past(void *to, const void *from, size_t bytes)
{
    char *at = to;
    const char *of = from;
    size_t n = bytes;
#ifdef __SSE2__
    size_t head = -(uintptr_t)at % LINE;
    head = head < n ? head : n;
    memcpy(at, of, head);
    at += head;
    of += head;
    for (n -= head; n >= LINE; n -= LINE, at += LINE, of += LINE)
        for (size_t i = 0; i < LINE; i += sizeof(__m128i))
            _mm_stream_si128(
                (__m128i *)(void *)(at + i),
                _mm_loadu_si128((const __m128i *)(const void *)(of + i)));
#endif
    memcpy(at, of, n);
}

void
rlf_copy_past_end(void)
{
#ifdef __SSE2__
    _mm_sfence();
#endif
}

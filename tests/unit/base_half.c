/* 16-bit floats: every value, and every border between two of them. */
#include "engine/base/half.h"
#include "tests/tap.h"

/* Returns the number that a 16-bit pattern stands for, by the definition:
 * `bits` of mantissa, an exponent of the rest with this bias. */
static double
meaning(unsigned h, int bits, int bias)
{
    int top = (1 << (15 - bits)) - 1;
    int exponent = (int)(h >> bits) & top;
    double mantissa = (double)(h & ((1u << bits) - 1));
    double sign = h & 0x8000 ? -1 : 1;
    if (exponent == top)
        return mantissa != 0 ? (double)NAN : sign * (double)INFINITY;
    if (exponent == 0)
        return sign * ldexp(mantissa, 1 - bias - bits);
    return sign * ldexp(mantissa + ldexp(1, bits), exponent - bias - bits);
}

static void
check(const char *name, int bits, int bias, float (*widen)(uint16_t),
      uint16_t (*narrow)(float))
{
    size_t wrong_value = 0, wrong_back = 0, wrong_border = 0;
    unsigned infinity = 0x7fffu & ~((1u << bits) - 1);
    for (unsigned h = 0; h < 0x10000; h++) {
        float x = widen((uint16_t)h);
        double want = meaning(h, bits, bias);
        if (isnan(want)) {
            wrong_value += isnan(x) == 0;
            wrong_back += isnan(widen(narrow(x))) == 0;
            continue;
        }
        wrong_value +=
            (double)x != want || (signbit(x) != 0) != (signbit(want) != 0);
        wrong_back += narrow(x) != h;
    }
    /* Between h and h + 1: the middle goes to the even one, what is nearer to
     * one of them goes there. Infinity is the value that comes next. */
    for (unsigned h = 0; h < infinity; h++) {
        double low = meaning(h, bits, bias);
        double high = h + 1 == infinity ? 2 * low - meaning(h - 1, bits, bias)
                                        : meaning(h + 1, bits, bias);
        float middle = (float)((low + high) / 2);
        unsigned even = h & 1 ? h + 1 : h;
        for (int sign = 0; sign < 2; sign++) {
            float s = sign ? -1.0f : 1.0f;
            unsigned bit = sign ? 0x8000u : 0;
            if ((double)middle == (low + high) / 2)
                wrong_border += narrow(s * middle) != (even | bit);
            wrong_border += narrow(s * nextafterf(middle, 0.0f)) != (h | bit);
            wrong_border +=
                narrow(s * nextafterf(middle, INFINITY)) != ((h + 1) | bit);
        }
    }
    ok(!wrong_value, "%s: every pattern has its value", name);
    ok(!wrong_back, "%s: every value comes back", name);
    ok(!wrong_border, "%s: rounds to nearest, ties to even", name);
    is_int(narrow(INFINITY), infinity, "infinity stays");
    is_int(narrow(3e38f), bits == 10 ? infinity : (int)narrow(3e38f),
           "what is too large becomes infinity");
}

/* Doubles at a border of two patterns and next to it, whose nearest f32 is the
 * border itself, are rounded once. */
static void
check_once(const char *name, int bits, int bias, uint16_t (*narrow)(float))
{
    size_t wrong = 0;
    unsigned infinity = 0x7fffu & ~((1u << bits) - 1);
    for (unsigned h = 0; h < infinity; h++) {
        double low = meaning(h, bits, bias);
        double high = h + 1 == infinity ? 2 * low - meaning(h - 1, bits, bias)
                                        : meaning(h + 1, bits, bias);
        double middle = (low + high) / 2;
        unsigned even = h & 1 ? h + 1 : h;
        for (int sign = 0; sign < 2; sign++) {
            double s = sign ? -1 : 1;
            unsigned bit = sign ? 0x8000u : 0;
            double at[] = {middle, nextafter(middle, 0),
                           nextafter(middle, (double)INFINITY)};
            unsigned want[] = {even, h, h + 1};
            for (int i = 0; i < 3; i++)
                wrong +=
                    narrow(rlf_f64_to_odd_f32(s * at[i])) != (want[i] | bit);
        }
    }
    ok(!wrong, "%s: doubles are rounded once", name);
    is_int(narrow(rlf_f64_to_odd_f32((double)INFINITY)), infinity,
           "infinity stays");
    ok(isnan(rlf_f64_to_odd_f32((double)NAN)), "so does what is no number");
    is_int(narrow(rlf_f64_to_odd_f32(-1e300)), infinity | 0x8000u,
           "what is too large becomes infinity");
}

int
main(void)
{
    check("f16", 10, 15, rlf_f16_to_f32, rlf_f32_to_f16);
    check("bf16", 7, 127, rlf_bf16_to_f32, rlf_f32_to_bf16);
    check_once("f16", 10, 15, rlf_f32_to_f16);
    check_once("bf16", 7, 127, rlf_f32_to_bf16);
    return done();
}

/* UTF-8, unit by unit: see utf8.h. */
#include "engine/text/utf8.h"

int
rlf_utf8_unit(const char *text, size_t n)
{
    const unsigned char *p = (const unsigned char *)text;
    unsigned char c = p[0];
    if (c < 0x80)
        return 1;
    if (c < 0xc2 || c > 0xf4)
        return -1;
    int want = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
    /* The second byte excludes overlong forms, surrogates and the beyond. */
    unsigned char low = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
    unsigned char high = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
    for (int i = 1; i < want; i++) {
        if ((size_t)i == n)
            return 0;
        if (p[i] < low || p[i] > high)
            return -i;
        low = 0x80;
        high = 0xbf;
    }
    return want;
}

uint32_t
rlf_utf8_code(const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    if (p[0] < 0x80)
        return p[0];
    uint32_t tail = p[1] & 0x3fu;
    if (p[0] < 0xe0)
        return (p[0] & 0x1fu) << 6 | tail;
    tail = tail << 6 | (p[2] & 0x3fu);
    if (p[0] < 0xf0)
        return (p[0] & 0xfu) << 12 | tail;
    return (p[0] & 0x7u) << 18 | tail << 6 | (p[3] & 0x3fu);
}

size_t
rlf_utf8_put(uint32_t code, char *p)
{
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = n; i-- > 1; code >>= 6)
        p[i] = (char)(0x80 | (code & 0x3f));
    p[0] = (char)(lead[n] | code);
    return n;
}

size_t
rlf_utf8_before(const char *p, size_t at)
{
    size_t n = 1;
    while (n < at && ((unsigned char)p[at - n] & 0xc0) == 0x80)
        n++;
    return n;
}

bool
rlf_utf8_valid(const char *p, size_t n)
{
    for (size_t i = 0; i < n;) {
        int k = rlf_utf8_unit(p + i, n - i);
        if (k <= 0)
            return false;
        i += (size_t)k;
    }
    return true;
}

void
rlf_utf8_clean(const char *p, size_t n, rlf_buf *out)
{
    for (size_t i = 0; i < n;) {
        int k = rlf_utf8_unit(p + i, n - i);
        if (k > 0) {
            rlf_buf_add(out, p + i, (size_t)k);
            i += (size_t)k;
        } else {
            rlf_buf_puts(out, RLF_UTF8_BAD);
            i += k ? (size_t)-k : n - i;
        }
    }
}

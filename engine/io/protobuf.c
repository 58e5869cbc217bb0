/* The wire format: see protobuf.h. Numbers are little endian. */
#include "engine/io/protobuf.h"

#include <string.h>

/* How a field stands there: the lower three bits of its tag. */
enum { VARINT = 0, WIDE = 1, BYTES = 2, NARROW = 5 };

static void
put_varint(rlf_buf *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        rlf_buf_putc(out, (char)(value | 0x80));
    rlf_buf_putc(out, (char)value);
}

static void
put_fixed(rlf_buf *out, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        rlf_buf_putc(out, (char)(value >> 8 * i));
}

static void
put_tag(rlf_buf *out, uint32_t field, unsigned kind)
{
    put_varint(out, (uint64_t)field << 3 | kind);
}

void
rlf_proto_int(rlf_buf *out, uint32_t field, uint64_t value)
{
    put_tag(out, field, VARINT);
    put_varint(out, value);
}

void
rlf_proto_double(rlf_buf *out, uint32_t field, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_tag(out, field, WIDE);
    put_fixed(out, bits, sizeof bits);
}

void
rlf_proto_float(rlf_buf *out, uint32_t field, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_tag(out, field, NARROW);
    put_fixed(out, bits, sizeof bits);
}

void
rlf_proto_bytes(rlf_buf *out, uint32_t field, const void *p, size_t n)
{
    put_tag(out, field, BYTES);
    put_varint(out, n);
    if (n)
        rlf_buf_add(out, p, n);
}

void
rlf_proto_text(rlf_buf *out, uint32_t field, const char *text)
{
    rlf_proto_bytes(out, field, text, strlen(text));
}

void
rlf_proto_message(rlf_buf *out, uint32_t field, const rlf_buf *message)
{
    rlf_proto_bytes(out, field, message->p, message->n);
}

uint32_t
rlf_crc32c(const void *p, size_t n)
{
    const uint32_t polynomial = 0x82f63b78; /* reflected */
    const unsigned char *at = p;
    uint32_t sum = UINT32_MAX;
    for (size_t i = 0; i < n; i++) {
        sum ^= at[i];
        for (int bit = 0; bit < 8; bit++)
            sum = sum >> 1 ^ (sum & 1 ? polynomial : 0);
    }
    return ~sum;
}

static uint32_t
masked(const void *p, size_t n)
{
    uint32_t sum = rlf_crc32c(p, n);
    return (sum >> 15 | sum << 17) + 0xa282ead8;
}

void
rlf_tfrecord_add(rlf_buf *out, const void *p, size_t n)
{
    size_t from = out->n;
    put_fixed(out, n, 8);
    put_fixed(out, masked(out->p + from, 8), 4);
    rlf_buf_add(out, p, n);
    put_fixed(out, masked(p, n), 4);
}

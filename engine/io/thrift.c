/* Thrift's compact protocol: see thrift.h. */
#include "engine/io/thrift.h"

#include "engine/base/status.h"

enum {
    TRUE = 1,
    FALSE = 2,
    BYTE = 3,
    I16 = 4,
    I64 = 6,
    DOUBLE = 7,
    BINARY = 8,
    LIST = 9,
    SET = 10,
    MAP = 11,
    STRUCT = 12,
    DEEPEST = 64
};

static uint8_t
take_byte(rlf_thrift *t)
{
    if (t->p == t->end) {
        t->cut = true;
        return 0;
    }
    return *t->p++;
}

static void
pass(rlf_thrift *t, uint64_t n)
{
    if (n > (uint64_t)(t->end - t->p)) {
        t->cut = true;
        t->p = t->end;
    } else {
        t->p += n;
    }
}

static uint64_t
take_unsigned(rlf_thrift *t)
{
    uint64_t out = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        uint8_t byte = take_byte(t);
        out |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return out;
    }
    t->bad = true;
    return 0;
}

static int64_t
take_signed(rlf_thrift *t)
{
    uint64_t n = take_unsigned(t);
    return (int64_t)((n >> 1) ^ (0 - (n & 1)));
}

bool
rlf_thrift_field(rlf_thrift *t, int *id, int *type)
{
    uint8_t head = take_byte(t);
    if (t->bad || t->cut || !(head & 0x0f))
        return false;
    *type = head & 0x0f;
    int64_t next = head >> 4 ? *id + (head >> 4) : take_signed(t);
    if (next < 0 || next > INT16_MAX)
        t->bad = true;
    *id = (int)next;
    return !t->bad;
}

int64_t
rlf_thrift_int(rlf_thrift *t, int type)
{
    if (type == TRUE || type == FALSE)
        return type == TRUE;
    if (type == BYTE)
        return (int8_t)take_byte(t);
    if (type >= I16 && type <= I64)
        return take_signed(t);
    rlf_thrift_skip(t, type);
    return 0;
}

rlf_str
rlf_thrift_text(rlf_thrift *t, int type)
{
    if (type != BINARY) {
        rlf_thrift_skip(t, type);
        return (rlf_str){"", 0};
    }
    uint64_t n = take_unsigned(t);
    const uint8_t *begin = t->p;
    pass(t, n);
    return (rlf_str){(const char *)begin, t->cut ? 0 : (size_t)n};
}

bool
rlf_thrift_struct(rlf_thrift *t, int type)
{
    if (type == STRUCT)
        return true;
    rlf_thrift_skip(t, type);
    return false;
}

static size_t
list_of(rlf_thrift *t, int *of)
{
    uint8_t head = take_byte(t);
    uint64_t n = head >> 4 < 15 ? (uint64_t)(head >> 4) : take_unsigned(t);
    *of = head & 0x0f;
    if (n <= (uint64_t)(t->end - t->p))
        return (size_t)n;
    t->cut = true;
    return 0;
}

size_t
rlf_thrift_list(rlf_thrift *t, int type, int *of)
{
    if (type == LIST)
        return list_of(t, of);
    rlf_thrift_skip(t, type);
    return 0;
}

/* `element`: of a list or map, where a truth value takes a byte. */
static void
skip(rlf_thrift *t, int type, bool element, int depth)
{
    int of, id = 0;
    if (depth > DEEPEST)
        t->bad = true;
    if (t->bad || t->cut)
        return;
    switch (type) {
    case TRUE:
    case FALSE:
        pass(t, element ? 1 : 0);
        break;
    case BYTE:
        pass(t, 1);
        break;
    case DOUBLE:
        pass(t, 8);
        break;
    case BINARY:
        pass(t, take_unsigned(t));
        break;
    case LIST:
    case SET:
        for (size_t n = list_of(t, &of); n && !t->bad && !t->cut; n--)
            skip(t, of, true, depth + 1);
        break;
    case MAP: {
        uint64_t n = take_unsigned(t);
        uint8_t types = n ? take_byte(t) : 0;
        for (; n && !t->bad && !t->cut; n--) {
            skip(t, types >> 4, true, depth + 1);
            skip(t, types & 0x0f, true, depth + 1);
        }
        break;
    }
    case STRUCT:
        while (rlf_thrift_field(t, &id, &type))
            skip(t, type, false, depth + 1);
        break;
    default:
        if (type >= I16 && type <= I64)
            take_unsigned(t);
        else
            t->bad = true;
    }
}

void
rlf_thrift_skip(rlf_thrift *t, int type)
{
    skip(t, type, false, 0);
}

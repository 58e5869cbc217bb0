/* Levels and values of a parquet page: see parquet_inside.h. */
#include "engine/io/parquet_inside.h"

#include "engine/base/half.h"

#include <stdlib.h>
#include <string.h>

enum { /* as files number them */
       PLAIN = 0,
       PLAIN_DICTIONARY = 2,
       RUNS = 3,
       DELTA_NUMBERS = 5,
       DELTA_LENGTHS = 6,
       DELTA_TEXTS = 7,
       DICTIONARY = 8,
       SPLIT = 9
};

static uint64_t
little(const uint8_t *p, size_t n)
{
    uint64_t out = 0;
    for (size_t i = 0; i < n; i++)
        out |= (uint64_t)p[i] << (8 * i);
    return out;
}

static uint64_t
take_unsigned(const uint8_t **p, const uint8_t *end, bool *bad)
{
    uint64_t out = 0;
    for (int shift = 0; shift < 64 && *p < end; shift += 7) {
        uint8_t byte = *(*p)++;
        out |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return out;
    }
    *bad = true;
    return 0;
}

static int64_t
take_signed(const uint8_t **p, const uint8_t *end, bool *bad)
{
    uint64_t n = take_unsigned(p, end, bad);
    return (int64_t)((n >> 1) ^ (0 - (n & 1)));
}

/* `bits` of p from the given one on, all of which are there; at most 64. */
static uint64_t
take_bits(const uint8_t *p, uint64_t bit, int bits)
{
    uint64_t out = 0;
    for (int got = 0; got < bits;) {
        int in = (int)((bit + (uint64_t)got) % 8), n = 8 - in;
        if (n > bits - got)
            n = bits - got;
        uint64_t part = (uint64_t)p[(bit + (uint64_t)got) / 8] >> in;
        out |= (part & ((UINT64_C(1) << n) - 1)) << got;
        got += n;
    }
    return out;
}

/* ---- runs ---- */

static void
begin_run(rlf_parquet_runs *r, bool *bad)
{
    uint64_t head = take_unsigned(&r->p, r->end, bad);
    uint64_t room = (uint64_t)(r->end - r->p), n = head >> 1;
    size_t bytes = (size_t)(r->bits + 7) / 8;
    r->packed = head & 1;
    if (*bad || !n) {
        *bad = true;
        return;
    }
    if (r->packed) {
        /* the last run may have fewer bytes than it should */
        uint64_t fits = r->bits ? room * 8 / (uint64_t)r->bits : UINT64_MAX;
        r->bit = 0;
        r->left = n > UINT64_MAX / 8 ? UINT64_MAX : n * 8;
        if (r->left > fits)
            r->left = fits;
        if (!r->left)
            *bad = true;
    } else if (bytes > room) {
        *bad = true;
    } else {
        r->value = (uint32_t)little(r->p, bytes);
        r->p += bytes;
        r->left = n;
    }
}

uint32_t
rlf_parquet_runs_next(rlf_parquet_runs *r, bool *bad)
{
    if (!r->left && !*bad)
        begin_run(r, bad);
    if (*bad)
        return 0;
    r->left--;
    if (!r->packed)
        return r->value;
    uint32_t out = (uint32_t)take_bits(r->p, r->bit, r->bits);
    r->bit += (uint64_t)r->bits;
    if (!r->left)
        r->p += (r->bit + 7) / 8;
    return out;
}

/* ---- deltas ---- */

/* Numbers, of which the first and the differences are there: at most `most` of
 * them. *p goes behind them. NULL: *bad, or no memory. */
static int64_t *
take_deltas(const uint8_t **p, const uint8_t *end, uint64_t most, size_t *n,
            bool *bad)
{
    uint64_t block = take_unsigned(p, end, bad);
    uint64_t minis = take_unsigned(p, end, bad);
    uint64_t count = take_unsigned(p, end, bad);
    uint64_t value = (uint64_t)take_signed(p, end, bad);
    *n = 0;
    if (*bad || !minis || block % 128 || !block || block > 1 << 24 ||
        block % minis || block / minis % 8 || count > most) {
        *bad = true;
        return NULL;
    }
    int64_t *out = malloc((size_t)(count ? count : 1) * sizeof *out);
    if (!out)
        return NULL;
    if (count)
        out[(*n)++] = (int64_t)value;
    while (*n < count && !*bad) {
        uint64_t least = (uint64_t)take_signed(p, end, bad);
        const uint8_t *widths = *p;
        if (*bad || minis > (uint64_t)(end - *p))
            break;
        *p += minis;
        for (uint64_t m = 0; m < minis && *n < count; m++) {
            int bits = widths[m];
            uint64_t bytes = block / minis / 8 * (uint64_t)bits;
            if (bits > 64 || bytes > (uint64_t)(end - *p)) {
                *bad = true;
                break;
            }
            for (uint64_t i = 0; i < block / minis && *n < count; i++) {
                value += least + take_bits(*p, i * (uint64_t)bits, bits);
                out[(*n)++] = (int64_t)value;
            }
            *p += bytes;
        }
    }
    if (*n < count)
        *bad = true;
    return out;
}

/* Reads what texts have in common with the one before, if they do, and their
 * lengths, which fit behind all together. */
static void
begin_texts(rlf_parquet_values *v, uint64_t most)
{
    if (v->encoding == DELTA_TEXTS) {
        v->prefixes = take_deltas(&v->p, v->end, most, &v->n_numbers, &v->bad);
        most = v->n_numbers;
        if (v->bad || !v->prefixes)
            return;
    }
    v->numbers = take_deltas(&v->p, v->end, most, &v->n_numbers, &v->bad);
    if (v->prefixes && v->n_numbers != most)
        v->bad = true;
    uint64_t room = (uint64_t)(v->end - v->p);
    for (size_t i = 0; i < v->n_numbers && !v->bad; i++)
        if (v->numbers[i] < 0 || (uint64_t)v->numbers[i] > room)
            v->bad = true;
        else
            room -= (uint64_t)v->numbers[i];
}

/* ---- values ---- */

static bool
is_integer(int type)
{
    return type == RLF_PARQUET_INT32 || type == RLF_PARQUET_INT64;
}

static bool
can(int encoding, int type)
{
    switch (encoding) {
    case PLAIN:
        return type != RLF_PARQUET_INT96;
    case PLAIN_DICTIONARY:
    case DICTIONARY:
        return type != RLF_PARQUET_INT96 && type != RLF_PARQUET_BOOLEAN;
    case RUNS:
        return type == RLF_PARQUET_BOOLEAN;
    case DELTA_NUMBERS:
        return is_integer(type);
    case DELTA_LENGTHS:
        return type == RLF_PARQUET_BYTES;
    case DELTA_TEXTS:
        return type == RLF_PARQUET_BYTES || type == RLF_PARQUET_FIXED;
    case SPLIT:
        return is_integer(type) || type == RLF_PARQUET_FLOAT ||
               type == RLF_PARQUET_DOUBLE || type == RLF_PARQUET_FIXED;
    default:
        return false;
    }
}

/* Bytes of a value; 0: they differ. */
static size_t
bytes_of(const rlf_parquet_values *v)
{
    switch (v->type) {
    case RLF_PARQUET_INT32:
    case RLF_PARQUET_FLOAT:
        return 4;
    case RLF_PARQUET_INT64:
    case RLF_PARQUET_DOUBLE:
        return 8;
    case RLF_PARQUET_FIXED:
        return (size_t)v->width;
    default:
        return 0;
    }
}

rlf_status
rlf_parquet_values_begin(rlf_parquet_values *v, int encoding, const uint8_t *p,
                         size_t n, uint64_t most, rlf_err *err)
{
    rlf_parquet_values_end(v);
    v->encoding = encoding;
    v->p = p;
    v->end = p + n;
    v->at = 0;
    v->bad = false;
    if (!can(encoding, v->type))
        return rlf_fail(err, RLF_USER,
                        "is encoded in a way that is not supported (encoding "
                        "%d of type %d)",
                        encoding, v->type);
    switch (encoding) {
    case PLAIN_DICTIONARY:
    case DICTIONARY:
        v->bad = !n || *p > 32;
        v->index = (rlf_parquet_runs){
            .p = n ? p + 1 : p, .end = p + n, .bits = v->bad ? 0 : *p};
        break;
    case RUNS: /* behind their length in bytes */
        v->bad = n < 4 || little(p, 4) > n - 4;
        if (!v->bad)
            v->index = (rlf_parquet_runs){
                .p = p + 4, .end = p + 4 + little(p, 4), .bits = 1};
        break;
    case DELTA_NUMBERS:
        v->numbers = take_deltas(&v->p, v->end, most, &v->n_numbers, &v->bad);
        break;
    case DELTA_TEXTS:
    case DELTA_LENGTHS:
        begin_texts(v, most);
        break;
    default:
        break;
    }
    bool deltas = encoding >= DELTA_NUMBERS && encoding <= DELTA_TEXTS;
    if (deltas && !v->bad && !v->numbers)
        return rlf_fail_memory(err, (size_t)most * sizeof *v->numbers,
                               "a page of numbers");
    return RLF_OK;
}

/* The value of the bytes of a number or fixed text. */
static rlf_parquet_value
value_of(const rlf_parquet_values *v, const uint8_t *p)
{
    rlf_parquet_value out = {0};
    switch (v->type) {
    case RLF_PARQUET_INT32:
        out.i = (int32_t)(uint32_t)little(p, 4);
        break;
    case RLF_PARQUET_INT64:
        out.i = (int64_t)little(p, 8);
        break;
    case RLF_PARQUET_FLOAT:
        out.d = (double)rlf_f32_of_bits((uint32_t)little(p, 4));
        break;
    case RLF_PARQUET_DOUBLE: {
        uint64_t bits = little(p, 8);
        memcpy(&out.d, &bits, sizeof bits);
        break;
    }
    default:
        out.text = (rlf_str){(const char *)p, bytes_of(v)};
    }
    return out;
}

static rlf_parquet_value
fail(rlf_parquet_values *v)
{
    v->bad = true;
    return (rlf_parquet_value){.text = {"", 0}};
}

static rlf_parquet_value
next_plain(rlf_parquet_values *v)
{
    uint64_t room = (uint64_t)(v->end - v->p);
    if (v->type == RLF_PARQUET_BOOLEAN) {
        if (v->at / 8 >= room)
            return fail(v);
        return (rlf_parquet_value){.i = v->p[v->at / 8] >> (v->at % 8) & 1};
    }
    if (v->type == RLF_PARQUET_BYTES) {
        if (room < 4 || little(v->p, 4) > room - 4)
            return fail(v);
        size_t n = (size_t)little(v->p, 4);
        const char *text = (const char *)v->p + 4;
        v->p += 4 + n;
        return (rlf_parquet_value){.text = {text, n}};
    }
    if (bytes_of(v) > room)
        return fail(v);
    rlf_parquet_value out = value_of(v, v->p);
    v->p += bytes_of(v);
    return out;
}

/* Bytes of the same place stand together. */
static rlf_parquet_value
next_split(rlf_parquet_values *v)
{
    size_t width = bytes_of(v);
    uint64_t n = width ? (uint64_t)(v->end - v->p) / width : 0;
    rlf_buf_clear(&v->last);
    if (v->at >= n || !rlf_buf_try(&v->last, width))
        return fail(v);
    for (size_t k = 0; k < width; k++)
        rlf_buf_putc(&v->last, (char)v->p[k * n + v->at]);
    return value_of(v, (const uint8_t *)v->last.p);
}

/* A text that begins as the one before. */
static rlf_parquet_value
next_text(rlf_parquet_values *v)
{
    int64_t prefix = v->prefixes[v->at], n = v->numbers[v->at];
    if (prefix < 0 || (uint64_t)prefix > v->last.n ||
        !rlf_buf_try(&v->last, (size_t)n))
        return fail(v);
    v->last.n = (size_t)prefix;
    rlf_buf_add(&v->last, (const char *)v->p, (size_t)n);
    v->p += n;
    if (v->type == RLF_PARQUET_FIXED && v->last.n != (size_t)v->width)
        return fail(v);
    return (rlf_parquet_value){.text = {v->last.p ? v->last.p : "", v->last.n}};
}

rlf_parquet_value
rlf_parquet_values_next(rlf_parquet_values *v)
{
    rlf_parquet_value out = {.text = {"", 0}};
    if (v->bad)
        return out;
    switch (v->encoding) {
    case PLAIN:
        out = next_plain(v);
        break;
    case RUNS:
        out.i = rlf_parquet_runs_next(&v->index, &v->bad);
        break;
    case SPLIT:
        out = next_split(v);
        break;
    case PLAIN_DICTIONARY:
    case DICTIONARY: {
        uint32_t i = rlf_parquet_runs_next(&v->index, &v->bad);
        out = v->bad || i >= v->n_dictionary ? fail(v) : v->dictionary[i];
        break;
    }
    default: /* deltas */
        if (v->at >= v->n_numbers) {
            out = fail(v);
        } else if (v->encoding == DELTA_NUMBERS) {
            out.i = v->type == RLF_PARQUET_INT32
                        ? (int32_t)(uint32_t)v->numbers[v->at]
                        : v->numbers[v->at];
        } else if (v->encoding == DELTA_TEXTS) {
            out = next_text(v);
        } else {
            out.text = (rlf_str){(const char *)v->p, (size_t)v->numbers[v->at]};
            v->p += v->numbers[v->at];
        }
    }
    v->at++;
    return out;
}

void
rlf_parquet_values_end(rlf_parquet_values *v)
{
    free(v->numbers);
    free(v->prefixes);
    v->numbers = v->prefixes = NULL;
    v->n_numbers = 0;
    rlf_buf_free(&v->last);
    v->last = (rlf_buf){0};
}

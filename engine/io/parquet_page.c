/* The pages of a column of a parquet file: see parquet_inside.h. */
#include "engine/io/parquet_inside.h"

#include "engine/base/vec.h"
#include "engine/io/thrift.h"

#include <snappy-c.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

enum { /* as files number them */
       DATA = 0,
       INDEX = 1,
       DICTIONARY = 2,
       DATA_2 = 3,
       RUNS = 3
};

enum {
    FIRST_HEADER = 1 << 9, /* bytes of a header that are looked at */
    MOST_HEADER = 64 << 20,
    MOST_PAGE = 1 << 30 /* bytes */
};

typedef struct header {
    int64_t kind, whole, packed; /* bytes of the page, and as compressed */
    int64_t count, encoding, rep_encoding, def_encoding;
    int64_t reps, defs; /* bytes of levels, of version 2 */
    int64_t crc;
    bool has_crc, plain; /* plain: not compressed, of version 2 */
} header;

static rlf_status
fail(const rlf_parquet_cursor *c, const char *why, rlf_err *err)
{
    return rlf_fail(err, RLF_USER, "%s: column \"%s\" %s", c->path,
                    c->node->path, why);
}

static rlf_status
fail_page(const rlf_parquet_cursor *c, rlf_err *err)
{
    return fail(c, "has a page that is damaged", err);
}

/* ---- headers ---- */

static void
read_part(rlf_thrift *t, int kind, header *h)
{
    int64_t plain = 1, *fields[9] = {0};
    fields[1] = &h->count;
    if (kind == 8) {
        fields[4] = &h->encoding;
        fields[5] = &h->defs;
        fields[6] = &h->reps;
        fields[7] = &plain;
    } else {
        fields[2] = &h->encoding;
        fields[3] = &h->def_encoding;
        fields[4] = &h->rep_encoding;
    }
    for (int id = 0, type; rlf_thrift_field(t, &id, &type);)
        if (id < 9 && fields[id])
            *fields[id] = rlf_thrift_int(t, type);
        else
            rlf_thrift_skip(t, type);
    h->plain = !plain;
}

static void
read_header(rlf_thrift *t, header *h)
{
    *h = (header){.rep_encoding = RUNS, .def_encoding = RUNS};
    for (int id = 0, type; rlf_thrift_field(t, &id, &type);) {
        if (id == 1)
            h->kind = rlf_thrift_int(t, type);
        else if (id == 2)
            h->whole = rlf_thrift_int(t, type);
        else if (id == 3)
            h->packed = rlf_thrift_int(t, type);
        else if (id == 4)
            h->has_crc = true, h->crc = rlf_thrift_int(t, type);
        else if (id != 5 && id != 7 && id != 8)
            rlf_thrift_skip(t, type);
        else if (rlf_thrift_struct(t, type))
            read_part(t, id, h);
    }
}

/* The header at c->at, which goes behind it. How long it is, it does not say.
 */
static rlf_status
next_header(rlf_parquet_cursor *c, header *h, rlf_err *err)
{
    for (uint64_t n = FIRST_HEADER;; n *= 8) {
        uint64_t rest = c->end - c->at;
        if (n > rest)
            n = rest;
        rlf_buf_clear(&c->raw);
        if (!rlf_buf_try(&c->raw, (size_t)n))
            return rlf_fail_memory(err, (size_t)n, "a header of %s", c->path);
        RLF_TRY(rlf_infile_read(c->file, c->at, c->raw.p, (size_t)n, err));
        const uint8_t *begin = (const uint8_t *)c->raw.p;
        rlf_thrift t = {.p = begin, .end = begin + n};
        read_header(&t, h);
        if (!t.cut && !t.bad) {
            c->at += (uint64_t)(t.p - begin);
            break;
        }
        if (t.bad || n == rest || n >= MOST_HEADER)
            return fail_page(c, err);
    }
    bool right = h->packed >= 0 && (uint64_t)h->packed <= c->end - c->at &&
                 h->whole >= 0 && h->whole <= MOST_PAGE && h->count >= 0 &&
                 h->reps >= 0 && h->defs >= 0;
    return right ? RLF_OK : fail_page(c, err);
}

/* ---- bytes ---- */

static bool
inflate_all(const char *from, size_t n, char *to, size_t whole)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)from,
                  .avail_in = (uInt)n,
                  .next_out = (Bytef *)to,
                  .avail_out = (uInt)whole};
    if (inflateInit2(&z, 32 + 15) != Z_OK)
        return false;
    int last = inflate(&z, Z_FINISH);
    bool good = last == Z_STREAM_END && z.avail_out == 0;
    inflateEnd(&z);
    return good;
}

/* n bytes, by the codec, to the end of c->page: so many that it has `whole`. */
static rlf_status
unpack(rlf_parquet_cursor *c, const char *from, size_t n, size_t whole,
       bool plain, rlf_err *err)
{
    static const char *const names[] = {"UNCOMPRESSED", "SNAPPY", "GZIP",
                                        "LZO",          "BROTLI", "LZ4",
                                        "ZSTD",         "LZ4_RAW"};
    bool good = whole >= c->page.n;
    size_t room = good ? whole - c->page.n : 0, got = room;
    char *to = c->page.p + c->page.n;
    int codec = plain ? 0 : c->codec;
    if (good && codec == 0) {
        good = n == room;
        memcpy(to, from, good ? n : 0);
    } else if (good && codec == 1) {
        good = snappy_uncompressed_length(from, n, &got) == SNAPPY_OK &&
               got == room && snappy_uncompress(from, n, to, &got) == SNAPPY_OK;
    } else if (good && codec == 2) {
        good = inflate_all(from, n, to, room);
    } else if (good && codec == 6) {
        good = ZSTD_decompress(to, room, from, n) == room;
    } else if (good) {
        bool known = codec > 0 && (size_t)codec < RLF_COUNT(names);
        rlf_fail(err, RLF_USER, "%s: column \"%s\" is compressed by %s",
                 c->path, c->node->path,
                 known ? names[codec] : "an unknown codec");
        rlf_err_hint(err, "read are pages without compression, and those of "
                          "snappy, gzip and zstd");
        return RLF_USER;
    }
    c->page.n = whole;
    return good ? RLF_OK : fail_page(c, err);
}

/* The page behind its header into c->page. */
static rlf_status
load(rlf_parquet_cursor *c, const header *h, rlf_err *err)
{
    size_t n = (size_t)h->packed, whole = (size_t)h->whole;
    size_t levels = h->kind == DATA_2 ? (size_t)(h->reps + h->defs) : 0;
    rlf_buf_clear(&c->raw);
    rlf_buf_clear(&c->page);
    if (levels > n || levels > whole)
        return fail_page(c, err);
    if (!rlf_buf_try(&c->raw, n) || !rlf_buf_try(&c->page, whole))
        return rlf_fail_memory(err, n + whole, "a page of %s", c->path);
    RLF_TRY(rlf_infile_read(c->file, c->at, c->raw.p, n, err));
    c->at += n;
    if (h->has_crc &&
        crc32(0, (const Bytef *)c->raw.p, (uInt)n) != (uint32_t)h->crc)
        return fail(c, "has a page whose checksum is another", err);
    memcpy(c->page.p, c->raw.p, levels); /* they are never compressed */
    c->page.n = levels;
    if (n == levels && whole == levels)
        return RLF_OK; /* nulls alone */
    return unpack(c, c->raw.p + levels, n - levels, whole,
                  h->kind == DATA_2 && h->plain, err);
}

/* ---- pages ---- */

static rlf_status
values_begin(rlf_parquet_cursor *c, int64_t encoding, const uint8_t *p,
             size_t n, uint64_t most, rlf_err *err)
{
    rlf_err why = RLF_ERR_NONE;
    c->values.type = c->node->type;
    c->values.width = c->node->width;
    c->values.dictionary = c->dictionary;
    c->values.n_dictionary = c->n_dictionary;
    rlf_status status =
        rlf_parquet_values_begin(&c->values, (int)encoding, p, n, most, &why);
    if (status == RLF_USER)
        status = fail(c, why.sentence, err);
    else if (status < 0)
        *err = why;
    if (status != RLF_USER)
        return status;
    rlf_err_clear(&why);
    return status;
}

static rlf_status
take_dictionary(rlf_parquet_cursor *c, const header *h, rlf_err *err)
{
    rlf_buf spare = c->words;
    size_t n = (size_t)h->count;
    c->words = c->page;
    c->page = spare;
    free(c->dictionary);
    c->dictionary = NULL;
    c->n_dictionary = 0;
    /* but for booleans, which have none, each value has a byte */
    if (n > c->words.n)
        return fail_page(c, err);
    RLF_TRY(
        values_begin(c, 0, (const uint8_t *)c->words.p, c->words.n, n, err));
    c->dictionary = malloc((n ? n : 1) * sizeof *c->dictionary);
    if (!c->dictionary)
        return rlf_fail_memory(err, n * sizeof *c->dictionary,
                               "a dictionary of %s", c->path);
    for (size_t i = 0; i < n; i++)
        c->dictionary[i] = rlf_parquet_values_next(&c->values);
    c->n_dictionary = n;
    return c->values.bad ? fail_page(c, err) : RLF_OK;
}

static int
bits_of(int most)
{
    int bits = 0;
    for (; most >> bits; bits++) {
    }
    return bits;
}

/* Levels that begin at *p: of version 1 behind their length. */
static bool
take_levels(const uint8_t **p, const uint8_t *end, int most, int64_t length,
            bool second, rlf_parquet_runs *out)
{
    size_t n = (size_t)length, room = (size_t)(end - *p);
    if (!second && most) {
        if (room < 4)
            return false;
        n = (size_t)(*p)[0] | (size_t)(*p)[1] << 8 | (size_t)(*p)[2] << 16 |
            (size_t)(*p)[3] << 24;
        *p += 4;
        room -= 4;
    } else if (!second) {
        n = 0;
    }
    if (n > room)
        return false;
    *out = (rlf_parquet_runs){.p = *p, .end = *p + n, .bits = bits_of(most)};
    *p += n;
    return true;
}

static rlf_status
begin_page(rlf_parquet_cursor *c, const header *h, rlf_err *err)
{
    const uint8_t *p = (const uint8_t *)c->page.p, *end = p + c->page.n;
    bool second = h->kind == DATA_2;
    if (h->rep_encoding != RUNS || h->def_encoding != RUNS) {
        bool needed = (c->node->rep && h->rep_encoding != RUNS) ||
                      (c->node->def && h->def_encoding != RUNS);
        if (needed && !second)
            return fail(c, "has levels in a form that is out of use", err);
    }
    if (!take_levels(&p, end, c->node->rep, h->reps, second, &c->reps) ||
        !take_levels(&p, end, c->node->def, h->defs, second, &c->defs) ||
        (uint64_t)h->count > c->left)
        return fail_page(c, err);
    c->in_page = (uint64_t)h->count;
    return values_begin(c, h->encoding, p, (size_t)(end - p), c->in_page, err);
}

static rlf_status
next_page(rlf_parquet_cursor *c, rlf_err *err)
{
    while (!c->in_page) {
        header h;
        if (c->at >= c->end)
            return fail(c, "has fewer values than the file says", err);
        RLF_TRY(next_header(c, &h, err));
        if (h.kind != DATA && h.kind != DATA_2 && h.kind != DICTIONARY) {
            c->at += (uint64_t)h.packed;
            continue;
        }
        RLF_TRY(load(c, &h, err));
        if (h.kind == DICTIONARY)
            RLF_TRY(take_dictionary(c, &h, err));
        else
            RLF_TRY(begin_page(c, &h, err));
    }
    return RLF_OK;
}

void
rlf_parquet_cursor_begin(rlf_parquet_cursor *c, const rlf_parquet_chunk *chunk)
{
    uint64_t size = rlf_infile_size(c->file);
    c->codec = chunk->codec;
    c->at = chunk->at < size ? chunk->at : size;
    c->end = chunk->bytes < size - c->at ? c->at + chunk->bytes : size;
    c->left = chunk->values;
    c->in_page = 0;
    c->n_dictionary = 0;
    c->ready = c->over = false;
}

rlf_status
rlf_parquet_cursor_look(rlf_parquet_cursor *c, rlf_err *err)
{
    bool bad = false;
    if (c->ready)
        return RLF_OK;
    c->rep = c->def = 0;
    c->ready = true;
    c->over = !c->left;
    if (c->over)
        return RLF_OK;
    RLF_TRY(next_page(c, err));
    if (c->node->rep)
        c->rep = (int)rlf_parquet_runs_next(&c->reps, &bad);
    if (c->node->def)
        c->def = (int)rlf_parquet_runs_next(&c->defs, &bad);
    if (bad || c->rep > c->node->rep || c->def > c->node->def)
        return fail_page(c, err);
    c->left--;
    c->in_page--;
    return RLF_OK;
}

rlf_status
rlf_parquet_cursor_take(rlf_parquet_cursor *c, rlf_err *err,
                        rlf_parquet_value *out)
{
    *out = (rlf_parquet_value){.text = {"", 0}};
    RLF_TRY(rlf_parquet_cursor_look(c, err));
    if (c->over)
        return fail(c, "has fewer values than the file says", err);
    if (c->def == c->node->def)
        *out = rlf_parquet_values_next(&c->values);
    c->ready = false;
    return c->values.bad ? fail_page(c, err) : RLF_OK;
}

void
rlf_parquet_cursor_end(rlf_parquet_cursor *c)
{
    rlf_parquet_values_end(&c->values);
    rlf_buf_free(&c->raw);
    rlf_buf_free(&c->page);
    rlf_buf_free(&c->words);
    free(c->dictionary);
}

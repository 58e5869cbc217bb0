/* The file of a report while it is written: see page.h. */
#include "engine/report/page.h"

#include <stdlib.h>
#include <string.h>

enum { ENOUGH = 1 << 20 }; /* bytes that are written at once */

void
rlf_page_free(rlf_page *page)
{
    rlf_buf_free(&page->text);
    rlf_buf_free(&page->scratch);
    free(page->packed);
    if (page->packing)
        deflateEnd(&page->deflate);
}

void
rlf_page_flush(rlf_page *page)
{
    if (page->status >= 0 && page->text.n)
        page->status =
            rlf_output_add(page->file, page->text.p, page->text.n, page->err);
    rlf_buf_clear(&page->text);
}

void
rlf_page_add(rlf_page *page, const char *p, size_t n)
{
    rlf_buf_add(&page->text, p, n);
    if (page->text.n >= ENOUGH)
        rlf_page_flush(page);
}

void
rlf_page_puts(rlf_page *page, const char *text)
{
    rlf_page_add(page, text, strlen(text));
}

void
rlf_page_printf(rlf_page *page, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    rlf_buf_vprintf(&page->text, fmt, ap);
    va_end(ap);
}

/* ---- JSON in a script element ---- */

/* In JSON a "<" stands in texts alone, where it has an escape. */
static void
put_safe(rlf_page *page, const char *p, size_t n)
{
    while (n) {
        const char *at = memchr(p, '<', n);
        size_t plain = at ? (size_t)(at - p) : n;
        rlf_page_add(page, p, plain);
        p += plain;
        n -= plain;
        if (at) {
            rlf_page_puts(page, "\\u003c");
            p++;
            n--;
        }
    }
}

void
rlf_page_json(rlf_page *page, const char *json)
{
    put_safe(page, json, strlen(json));
}

void
rlf_page_text_of(rlf_page *page, const char *p, size_t n)
{
    rlf_buf_clear(&page->scratch);
    rlf_buf_json(&page->scratch, p, n);
    put_safe(page, page->scratch.p, page->scratch.n);
}

void
rlf_page_text(rlf_page *page, const char *text)
{
    if (text)
        rlf_page_text_of(page, text, strlen(text));
    else
        rlf_page_puts(page, "null");
}

void
rlf_page_number(rlf_page *page, double x)
{
    rlf_buf_clear(&page->scratch);
    rlf_buf_number(&page->scratch, x);
    rlf_page_add(page, page->scratch.p, page->scratch.n);
}

void
rlf_page_member(rlf_page *page, const char *key, const char *text)
{
    rlf_page_printf(page, ",\"%s\":", key);
    rlf_page_text(page, text);
}

void
rlf_page_count(rlf_page *page, const char *key, uint64_t n)
{
    rlf_page_printf(page, ",\"%s\":%llu", key, (unsigned long long)n);
}

/* ---- packed bytes ---- */

static void
put_base64(rlf_page *page, const unsigned char *p, size_t n)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "abcdefghijklmnopqrstuvwxyz0123456789+/";
    char out[4 * 1024];
    size_t k = 0;
    for (size_t i = 0; i < n; i += 3) {
        size_t left = n - i;
        uint32_t x = (uint32_t)p[i] << 16 |
                     (left > 1 ? (uint32_t)p[i + 1] << 8 : 0) |
                     (left > 2 ? p[i + 2] : 0);
        out[k] = letters[x >> 18];
        out[k + 1] = letters[x >> 12 & 63];
        out[k + 2] = left > 1 ? letters[x >> 6 & 63] : '=';
        out[k + 3] = left > 2 ? letters[x & 63] : '=';
        k += 4;
        if (k == sizeof out) {
            rlf_page_add(page, out, k);
            k = 0;
        }
    }
    rlf_page_add(page, out, k);
}

static rlf_status
begin_deflate(rlf_page *page, int level)
{
    enum { WINDOW = -15, MEMORY = 9 }; /* raw: without a header */
    if (page->packing && page->level == level)
        return deflateReset(&page->deflate) == Z_OK ? RLF_OK : RLF_BUG;
    if (page->packing)
        deflateEnd(&page->deflate);
    page->deflate = (z_stream){0};
    page->packing = deflateInit2(&page->deflate, level, Z_DEFLATED, WINDOW,
                                 MEMORY, Z_DEFAULT_STRATEGY) == Z_OK;
    page->level = level;
    return page->packing ? RLF_OK
                         : rlf_fail_memory(page->err, 1 << 18, "compression");
}

/* *got bytes at page->packed. */
static rlf_status
deflate_all(rlf_page *page, const void *p, size_t n, int level, size_t *got)
{
    rlf_err *err = page->err;
    RLF_TRY(begin_deflate(page, level));
    size_t most = deflateBound(&page->deflate, n);
    if (page->packed_room < most) {
        RLF_TRY(rlf_try_grow(&page->packed, most, "a block of a report", err));
        page->packed_room = most;
    }
    page->deflate.next_in = (unsigned char *)(uintptr_t)p;
    page->deflate.avail_in = (uInt)n;
    page->deflate.next_out = page->packed;
    page->deflate.avail_out = (uInt)most;
    if (deflate(&page->deflate, Z_FINISH) != Z_STREAM_END)
        return rlf_fail(err, RLF_BUG, "zlib packs no block of %zu bytes", n);
    *got = most - page->deflate.avail_out;
    return RLF_OK;
}

void
rlf_page_pack(rlf_page *page, const char *id, const void *p, size_t n,
              int level)
{
    size_t got = 0;
    if (page->status >= 0)
        page->status = deflate_all(page, p, n, level, &got);
    if (page->status < 0)
        return;
    rlf_page_printf(page, "<script type=\"text/plain\" id=\"%s\">", id);
    put_base64(page, page->packed, got);
    rlf_page_puts(page, "</script>\n");
}

/* Strings: a slice that owns nothing, and a growable buffer. */
#ifndef RLF_BASE_STR_H
#define RLF_BASE_STR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* n bytes at p, not 0-terminated, owned by someone else. */
typedef struct rlf_str {
    const char *p;
    size_t n;
} rlf_str;

#define RLF_STR(literal) ((rlf_str){(literal), sizeof(literal) - 1})
rlf_str rlf_str_of(const char *p);
bool rlf_str_eq(rlf_str a, rlf_str b);
/* Bytes of the UTF-8 character that the n >= 1 bytes at p begin with; 0: they
 * begin with none. */
size_t rlf_str_utf8(const char *p, size_t n);

/* Returns how many bytes of the beginning of a text messages show: `most`, or
 * up to three fewer, so that no UTF-8 character is cut. */
size_t rlf_str_cut(rlf_str text, size_t most);
/* The two arguments of "%.*s" for the beginning of a 0-terminated text. */
#define RLF_CUT(most, text) (int)rlf_str_cut(rlf_str_of(text), most), (text)

/* Bytes that grow; p is always 0-terminated once something was added.
 * {0} is an empty buffer; rlf_buf_free ends it. */
typedef struct rlf_buf {
    char *p;
    size_t n, room;
} rlf_buf;

/* Room for n bytes more, of what grows with a file or a batch: what is added
 * then needs nothing more. false: no memory. */
bool rlf_buf_try(rlf_buf *buf, size_t n);
void rlf_buf_add(rlf_buf *buf, const void *p, size_t n);
void rlf_buf_puts(rlf_buf *buf, const char *p);
void rlf_buf_putc(rlf_buf *buf, char c);
void rlf_buf_printf(rlf_buf *buf, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void rlf_buf_vprintf(rlf_buf *buf, const char *fmt, va_list ap);
/* A JSON string with quotes; bytes that are not UTF-8 become U+FFFD. */
void rlf_buf_json(rlf_buf *buf, const char *p, size_t n);
/* Text that no terminal acts on: control characters but line feeds and tabs,
 * those that turn a text's direction around or are not seen, and what is no
 * UTF-8, are written as \027, byte by byte, in decimal. */
void rlf_buf_shown(rlf_buf *buf, const char *p, size_t n);
/* A line, or a piece of one, which may have names and texts of the user's in
 * it: line feeds of theirs are written so, too. Only one at the end of `fmt`
 * ends the line. */
void rlf_buf_line(rlf_buf *buf, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void rlf_buf_vline(rlf_buf *buf, const char *fmt, va_list ap);
/* One word of a POSIX shell: in single quotes where it has to be. */
void rlf_buf_shell(rlf_buf *buf, const char *word);
/* The shortest decimal that reads back as exactly x; nan and inf as null. */
void rlf_buf_number(rlf_buf *buf, double x);
/* A part of the whole as people read it, in two digits: "12 %", "1.7 %",
 * "0.034 %"; "100 %" of the whole alone, else "99.6 %"; below a millionth of
 * a percent "0 %". */
void rlf_buf_percent(rlf_buf *buf, double part);
void rlf_buf_clear(rlf_buf *buf);
void rlf_buf_free(rlf_buf *buf);

/* A number from 0 at the beginning of a text, of decimal digits with a point and
 * an exponent, as users write it; *end: what follows. NaN and *end = text where
 * there is none: a blank, a sign, a word. Called in a locale with a point. */
double rlf_str_number(const char *text, const char **end);

/* Edit distance of a and b (a letter more, less or another, two neighbours
 * swapped), at most `cap` + 1: for "did you mean". */
size_t rlf_str_distance(const char *a, const char *b, size_t cap);
/* The nearest of n names to `name` if it is near enough to be a slip, or NULL
 */
const char *rlf_str_nearest(const char *name, const char *const *names,
                            size_t n);

/* A number of bytes in words, "20 MB", "1.5 MB", "64 KB", "1 byte" (KB: 1024):
 * so that little is not said to be nothing. In `out`, which is returned. */
enum { RLF_BYTES_TEXT = 32 };
const char *rlf_bytes_text(uint64_t bytes, char out[RLF_BYTES_TEXT]);
/* "83.3 GB", "8170 GB" (GB: 1e9 bytes): so many digits, never an exponent
 * because there are more. In `out`, which is returned. */
const char *rlf_gb_text(double bytes, int digits, char out[RLF_BYTES_TEXT]);

#endif

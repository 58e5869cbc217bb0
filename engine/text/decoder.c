/* The decoder of a tokenizer file: see decoder.h. What a token stands for
 * between others is worked out once, when the tokenizer is opened. */
#include "engine/text/decoder.h"

#include "engine/text/inside.h"

#include "engine/io/json.h"
#include "engine/text/utf8.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Bytes that print stand for themselves; the others, 0..32, 127..160 and 173,
 * are the code points from 256 on. */
enum { OTHERS = 256, AFTER_SPACE = 127, AFTER_DELETE = 161, HYPHEN = 173 };

uint32_t
rlf_byte_char(unsigned char byte)
{
    if (byte <= ' ')
        return OTHERS + (uint32_t)byte;
    if (byte >= AFTER_SPACE && byte < AFTER_DELETE)
        return OTHERS + ' ' + 1 + (uint32_t)(byte - AFTER_SPACE);
    return byte == HYPHEN ? OTHERS + 67 : byte;
}

int
rlf_char_byte(uint32_t code)
{
    if (code < OTHERS)
        return rlf_byte_char((unsigned char)code) == code ? (int)code : -1;
    if (code <= OTHERS + ' ')
        return (int)code - OTHERS;
    if (code < OTHERS + 67)
        return (int)code - (OTHERS + ' ' + 1) + AFTER_SPACE;
    return code == OTHERS + 67 ? HYPHEN : -1;
}

/* The state of the reading of a sequence. */
typedef struct reading {
    rlf_decoder *decoder;
    const char *file;
    rlf_arena *arena;
    bool fused; /* all tokens are one text from here on */
    bool bytes; /* bytes have become characters */
} reading;

static rlf_status
fail_order(const reading *r, const char *type, rlf_err *err)
{
    return rlf_fail(err, RLF_USER,
                    "%s: the decoder %s behind %s is not supported", r->file,
                    type,
                    r->decoder->byte_level ? "ByteLevel"
                    : r->bytes             ? "ByteFallback"
                                           : "Fuse");
}

static rlf_status
add_step(reading *r, const char *type, rlf_decode_step step, rlf_err *err)
{
    rlf_decoder *d = r->decoder;
    if (r->fused || r->bytes)
        return fail_order(r, type, err);
    if (d->n_steps == d->room) {
        size_t room = d->room ? 2 * d->room : 4;
        rlf_decode_step *steps = NULL;
        RLF_TRY(rlf_arena_try(r->arena, room * sizeof *steps, "a tokenizer",
                              err, &steps));
        if (d->n_steps)
            memcpy(steps, d->steps, d->n_steps * sizeof *steps);
        d->steps = steps;
        d->room = room;
    }
    d->steps[d->n_steps++] = step;
    return RLF_OK;
}

/* The text of a key, which must be there, in the arena. */
static rlf_status
get_text(const reading *r, const json_t *json, const char *key, rlf_err *err,
         rlf_str *out)
{
    const char *text = NULL;
    RLF_TRY(rlf_json_get_text(json, r->file, key, true, err, &text));
    *out = rlf_str_of(rlf_arena_strdup(r->arena, text));
    return RLF_OK;
}

static rlf_status
load_strip(reading *r, const json_t *json, rlf_err *err)
{
    enum { MOST = 1000 };
    int64_t start = 0, stop = 0;
    rlf_decode_step step = {.kind = RLF_DECODE_STRIP};
    RLF_TRY(get_text(r, json, "content", err, &step.text));
    RLF_TRY(rlf_json_get_int(json, r->file, "start", true, err, &start));
    RLF_TRY(rlf_json_get_int(json, r->file, "stop", true, err, &stop));
    if (start < 0 || start > MOST || stop < 0 || stop > MOST || !step.text.n ||
        rlf_str_utf8(step.text.p, step.text.n) != step.text.n)
        return rlf_fail(err, RLF_USER,
                        "%s: a Strip decoder takes one character and numbers "
                        "from 0 to %d",
                        r->file, MOST);
    step.start = (uint32_t)start;
    step.stop = (uint32_t)stop;
    if (!r->fused && !r->bytes)
        return add_step(r, "Strip", step, err);
    if (!r->fused || stop || step.text.n > 1 || r->decoder->strip_most)
        return rlf_fail(err, RLF_USER,
                        "%s: this Strip decoder is not supported: behind Fuse "
                        "only one, of an ASCII character, with stop 0",
                        r->file);
    r->decoder->strip = step.text.p[0];
    r->decoder->strip_most = step.start;
    return RLF_OK;
}

static rlf_status
load_replace(reading *r, const json_t *json, rlf_err *err)
{
    rlf_decode_step step = {.kind = RLF_DECODE_REPLACE};
    RLF_TRY(get_text(r, json, "content", err, &step.text));
    RLF_TRY(rlf_pattern_load(json, r->file, r->arena, err, &step.regex));
    return add_step(r, "Replace", step, err);
}

static rlf_status
load_metaspace(reading *r, const json_t *json, rlf_err *err)
{
    const char *space = "\xe2\x96\x81", *scheme = NULL;
    bool prefix = true;
    RLF_TRY(
        rlf_json_get_text(json, r->file, "replacement", false, err, &space));
    RLF_TRY(rlf_json_get_text(json, r->file, "prepend_scheme", false, err,
                              &scheme));
    RLF_TRY(rlf_json_get_bool(json, r->file, "add_prefix_space", false, err,
                              &prefix)); /* what old files have instead */
    if (!scheme)
        scheme = prefix ? "always" : "never";
    r->decoder->drop_first = strcmp(scheme, "never") != 0;
    r->decoder->with_first = true;
    rlf_decode_step step = {.kind = RLF_DECODE_SPACE,
                            .text =
                                rlf_str_of(rlf_arena_strdup(r->arena, space))};
    if (!step.text.n)
        return rlf_fail(err, RLF_USER,
                        "%s: the decoder Metaspace has no replacement",
                        r->file);
    return add_step(r, "Metaspace", step, err);
}

static rlf_status
load_wordpiece(reading *r, const json_t *json, rlf_err *err)
{
    rlf_decode_step step = {.kind = RLF_DECODE_WORDPIECE, .clean = true};
    RLF_TRY(get_text(r, json, "prefix", err, &step.text));
    RLF_TRY(
        rlf_json_get_bool(json, r->file, "cleanup", true, err, &step.clean));
    r->decoder->with_first = true;
    return add_step(r, "WordPiece", step, err);
}

static rlf_status
load_suffix(reading *r, const json_t *json, rlf_err *err)
{
    rlf_decode_step step = {.kind = RLF_DECODE_SUFFIX};
    RLF_TRY(get_text(r, json, "suffix", err, &step.text));
    if (!step.text.n)
        return rlf_fail(err, RLF_USER,
                        "%s: the decoder BPEDecoder without a suffix is not "
                        "supported",
                        r->file);
    r->decoder->with_last = true;
    return add_step(r, "BPEDecoder", step, err);
}

static rlf_status
load_step(reading *r, const json_t *json, rlf_err *err)
{
    const char *type = NULL;
    json_t *list = NULL;
    RLF_TRY(rlf_json_get_text(json, r->file, "type", true, err, &type));
    if (strcmp(type, "Sequence") == 0) {
        RLF_TRY(
            rlf_json_get_array(json, r->file, "decoders", true, err, &list));
        for (size_t i = 0; i < json_array_size(list); i++)
            RLF_TRY(load_step(r, json_array_get(list, i), err));
        return RLF_OK;
    }
    if (strcmp(type, "Replace") == 0)
        return load_replace(r, json, err);
    if (strcmp(type, "Metaspace") == 0)
        return load_metaspace(r, json, err);
    if (strcmp(type, "WordPiece") == 0)
        return load_wordpiece(r, json, err);
    if (strcmp(type, "BPEDecoder") == 0)
        return load_suffix(r, json, err);
    if (strcmp(type, "Strip") == 0)
        return load_strip(r, json, err);
    bool level = strcmp(type, "ByteLevel") == 0;
    if (level || strcmp(type, "ByteFallback") == 0) {
        if (r->fused || r->bytes)
            return fail_order(r, type, err);
        r->decoder->byte_level = level;
        r->decoder->byte_fallback = !level;
        r->fused = level;
        r->bytes = true;
    } else if (strcmp(type, "Fuse") == 0) {
        r->fused = true;
    } else {
        return rlf_fail(err, RLF_USER, "%s: the decoder %.*s is not supported",
                        r->file, RLF_CUT(40, type));
    }
    return RLF_OK;
}

rlf_status
rlf_decoder_load(rlf_decoder *decoder, const json_t *json, const char *file,
                 rlf_arena *arena, rlf_err *err)
{
    reading r = {.decoder = decoder, .file = file, .arena = arena};
    decoder->join = !json || json_is_null(json);
    return decoder->join ? RLF_OK : load_step(&r, json, err);
}

/* The byte of a token <0xHH>, or -1. */
static int
fallback_byte(rlf_str text)
{
    if (text.n != 6 || memcmp(text.p, "<0x", 3) != 0 || text.p[5] != '>' ||
        !isxdigit((unsigned char)text.p[3]) ||
        !isxdigit((unsigned char)text.p[4]))
        return -1;
    return (int)strtoul(text.p + 3, NULL, 16);
}

static void
byte_level_piece(rlf_str text, rlf_buf *out)
{
    size_t before = out->n;
    for (size_t i = 0; i < text.n;) {
        int byte = rlf_char_byte(rlf_utf8_code(text.p + i));
        if (byte < 0) { /* not in the alphabet: all of it stands for itself */
            out->n = before;
            rlf_buf_add(out, text.p, text.n);
            return;
        }
        rlf_buf_putc(out, (char)byte);
        i += (size_t)rlf_utf8_unit(text.p + i, text.n - i);
    }
}

/* ---- steps ---- */

/* All of `from` in `text` by `to`, appended to `out`. */
static void
replace_text(rlf_str text, rlf_str from, rlf_str to, rlf_buf *out)
{
    for (size_t i = 0; i < text.n;)
        if (text.n - i >= from.n && memcmp(text.p + i, from.p, from.n) == 0) {
            rlf_buf_add(out, to.p, to.n);
            i += from.n;
        } else {
            rlf_buf_putc(out, text.p[i++]);
        }
}

/* A pattern that cannot be matched for want of memory leaves the rest as it
 * is. */
static void
replace_matches(const rlf_decode_step *step, rlf_str text, rlf_buf *out)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_regex_walk walk = {0};
    size_t at = 0, begin = 0, end = 0;
    bool found = true;
    if (rlf_regex_begin(&walk, step->regex, text.p, text.n, &err) == RLF_OK) {
        while (rlf_regex_next(&walk, &err, &found, &begin, &end) == RLF_OK &&
               found) {
            rlf_buf_add(out, text.p + at, begin - at);
            rlf_buf_add(out, step->text.p, step->text.n);
            at = end;
        }
        rlf_regex_end(&walk);
    }
    rlf_err_clear(&err);
    rlf_buf_add(out, text.p + at, text.n - at);
}

/* Spaces that word pieces have and texts do not, one pair after the other. */
static const struct {
    const char *from, *to;
} cleanings[] = {
    {" .", "."},   {" ?", "?"},     {" !", "!"},     {" ,", ","},
    {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},   {" do not", " don't"},
    {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
};

static void
join_wordpiece(const rlf_decode_step *step, rlf_str text, bool first,
               rlf_buf *out)
{
    bool inside = text.n >= step->text.n &&
                  memcmp(text.p, step->text.p, step->text.n) == 0;
    rlf_buf buf = {0}, next = {0};
    if (!first && !inside)
        rlf_buf_putc(&buf, ' ');
    size_t skip = !first && inside ? step->text.n : 0;
    rlf_buf_add(&buf, text.p + skip, text.n - skip);
    for (size_t i = 0; step->clean && i < RLF_COUNT(cleanings); i++) {
        rlf_buf_clear(&next);
        rlf_buf_add(&next, "", 0);
        replace_text((rlf_str){buf.p, buf.n}, rlf_str_of(cleanings[i].from),
                     rlf_str_of(cleanings[i].to), &next);
        rlf_buf other = buf;
        buf = next;
        next = other;
    }
    rlf_buf_add(out, buf.p, buf.n);
    rlf_buf_free(&buf);
    rlf_buf_free(&next);
}

static void
strip(const rlf_decode_step *step, rlf_str text, rlf_buf *out)
{
    const rlf_str c = step->text;
    for (uint32_t i = 0;
         i < step->start && text.n >= c.n && memcmp(text.p, c.p, c.n) == 0;
         i++) {
        text.p += c.n;
        text.n -= c.n;
    }
    for (uint32_t i = 0; i < step->stop && text.n >= c.n &&
                         memcmp(text.p + text.n - c.n, c.p, c.n) == 0;
         i++)
        text.n -= c.n;
    rlf_buf_add(out, text.p, text.n);
}

static void
apply_step(const rlf_decoder *decoder, const rlf_decode_step *step,
           rlf_str text, unsigned where, rlf_buf *out)
{
    bool first = where & RLF_PIECE_FIRST, last = where & RLF_PIECE_LAST;
    switch (step->kind) {
    case RLF_DECODE_REPLACE:
        replace_matches(step, text, out);
        break;
    case RLF_DECODE_SPACE:
        replace_text(text, step->text,
                     first && decoder->drop_first ? RLF_STR("") : RLF_STR(" "),
                     out);
        break;
    case RLF_DECODE_WORDPIECE:
        join_wordpiece(step, text, first, out);
        break;
    case RLF_DECODE_SUFFIX:
        replace_text(text, step->text, last ? RLF_STR("") : RLF_STR(" "), out);
        break;
    case RLF_DECODE_STRIP:
        strip(step, text, out);
        break;
    }
}

void
rlf_decoder_piece(const rlf_decoder *decoder, rlf_str text, unsigned where,
                  rlf_buf *out)
{
    rlf_buf buffers[2] = {0};
    for (size_t i = 0; i < decoder->n_steps; i++) {
        rlf_buf *to = &buffers[i % 2];
        rlf_buf_clear(to);
        rlf_buf_add(to, "", 0);
        apply_step(decoder, &decoder->steps[i], text, where, to);
        text = (rlf_str){to->p, to->n};
    }
    int byte = decoder->byte_fallback ? fallback_byte(text) : -1;
    if (byte >= 0)
        rlf_buf_putc(out, (char)byte);
    else if (decoder->byte_level)
        byte_level_piece(text, out);
    else
        rlf_buf_add(out, text.p, text.n);
    rlf_buf_free(&buffers[0]);
    rlf_buf_free(&buffers[1]);
}

/* The "decoder" of a tokenizer file: ByteLevel, or a sequence of Replace,
 * ByteFallback, Metaspace, Fuse and Strip. All but Strip and what concerns the
 * first token is done once for each token, when the tokenizer is opened. */
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

static rlf_status
load_strip(rlf_decoder *decoder, const json_t *json, const char *file,
           bool fused, rlf_err *err)
{
    int64_t start = 0, stop = 0;
    const char *content = NULL;
    RLF_TRY(rlf_json_get_text(json, file, "content", true, err, &content));
    RLF_TRY(rlf_json_get_int(json, file, "start", true, err, &start));
    RLF_TRY(rlf_json_get_int(json, file, "stop", true, err, &stop));
    if (!fused || stop || start < 0 || start > 1000 || strlen(content) != 1 ||
        (unsigned char)content[0] >= 0x80)
        return rlf_fail(err, RLF_USER,
                        "%s: this Strip decoder is not supported: only one "
                        "after Fuse, of an ASCII character, with stop 0",
                        file);
    decoder->strip = content[0];
    decoder->strip_most = (uint32_t)start;
    return RLF_OK;
}

static rlf_status
load_step(rlf_decoder *decoder, const json_t *json, const char *file,
          rlf_arena *arena, bool *fused, rlf_err *err)
{
    const char *type = NULL;
    RLF_TRY(rlf_json_get_text(json, file, "type", true, err, &type));
    if (strcmp(type, "ByteLevel") == 0) {
        decoder->byte_level = true;
    } else if (strcmp(type, "ByteFallback") == 0) {
        decoder->byte_fallback = true;
    } else if (strcmp(type, "Fuse") == 0) {
        *fused = true;
    } else if (strcmp(type, "Strip") == 0) {
        RLF_TRY(load_strip(decoder, json, file, *fused, err));
    } else if (strcmp(type, "Metaspace") == 0) {
        const char *space = "\xe2\x96\x81", *scheme = "always";
        RLF_TRY(
            rlf_json_get_text(json, file, "replacement", false, err, &space));
        RLF_TRY(rlf_json_get_text(json, file, "prepend_scheme", false, err,
                                  &scheme));
        decoder->space = rlf_arena_strdup(arena, space);
        decoder->drop_first = strcmp(scheme, "never") != 0;
    } else if (strcmp(type, "Replace") == 0) {
        const char *from = NULL, *to = NULL;
        RLF_TRY(rlf_json_get_text(json, file, "content", true, err, &to));
        RLF_TRY(rlf_json_get_text(json_object_get(json, "pattern"), file,
                                  "String", true, err, &from));
        rlf_decode_replace replace = {rlf_str_of(rlf_arena_strdup(arena, from)),
                                      rlf_str_of(rlf_arena_strdup(arena, to))};
        if (*fused || !replace.from.n)
            return rlf_fail(err, RLF_USER,
                            "%s: a Replace decoder after Fuse, or of nothing, "
                            "is not supported",
                            file);
        RLF_PUSH_IN(arena, &decoder->replaces, replace);
    } else {
        return rlf_fail(err, RLF_USER, "%s: the decoder %.*s is not supported",
                        file, RLF_CUT(40, type));
    }
    return RLF_OK;
}

rlf_status
rlf_decoder_load(rlf_decoder *decoder, const json_t *json, const char *file,
                 rlf_arena *arena, rlf_err *err)
{
    const char *type = NULL;
    bool fused = false;
    decoder->join = !json || json_is_null(json);
    if (decoder->join)
        return RLF_OK;
    RLF_TRY(rlf_json_get_text(json, file, "type", true, err, &type));
    if (strcmp(type, "Sequence") != 0)
        return load_step(decoder, json, file, arena, &fused, err);
    json_t *list = NULL;
    RLF_TRY(rlf_json_get_array(json, file, "decoders", true, err, &list));
    for (size_t i = 0; i < json_array_size(list); i++)
        RLF_TRY(load_step(decoder, json_array_get(list, i), file, arena, &fused,
                          err));
    if (decoder->byte_level && json_array_size(list) > 1)
        return rlf_fail(err, RLF_USER,
                        "%s: a ByteLevel decoder beside others is not "
                        "supported",
                        file);
    return RLF_OK;
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

static void
replace_all(rlf_buf *buf, size_t begin, rlf_str from, rlf_str to)
{
    rlf_buf copy = {0};
    rlf_buf_add(&copy, buf->p + begin, buf->n - begin);
    buf->n = begin;
    for (size_t i = 0; i < copy.n;)
        if (copy.n - i >= from.n && memcmp(copy.p + i, from.p, from.n) == 0) {
            rlf_buf_add(buf, to.p, to.n);
            i += from.n;
        } else {
            rlf_buf_putc(buf, copy.p[i++]);
        }
    rlf_buf_free(&copy);
}

void
rlf_decoder_piece(const rlf_decoder *decoder, rlf_str text, rlf_buf *out)
{
    size_t begin = out->n;
    int byte = decoder->byte_fallback ? fallback_byte(text) : -1;
    if (byte >= 0) {
        rlf_buf_putc(out, (char)byte);
        return;
    }
    if (decoder->byte_level) {
        byte_level_piece(text, out);
        return;
    }
    rlf_buf_add(out, text.p, text.n);
    for (size_t i = 0; i < decoder->replaces.count; i++)
        replace_all(out, begin, decoder->replaces.data[i].from,
                    decoder->replaces.data[i].to);
    if (decoder->space)
        replace_all(out, begin, rlf_str_of(decoder->space), RLF_STR(" "));
}

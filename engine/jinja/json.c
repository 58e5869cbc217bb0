/* `tojson`: Python's json.dumps, as transformers calls it. */
#include "engine/jinja/inside.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct writer {
    jinja_run *r;
    jinja_buf *out;
    bool ascii, sorted, lines;
    jinja_value indent; /* a text */
    jinja_value between, colon;
    size_t depth;
} writer;

static void write_value(writer *w, jinja_value v);

static void
write_escape(writer *w, uint32_t unit)
{
    char text[16];
    snprintf(text, sizeof text, "\\u%04x", unit);
    jinja_puts(w->r, w->out, text);
}

static void
write_text(writer *w, const jinja_text *t)
{
    static const char special[] = "\"\\\n\r\t\b\f", as[] = "\"\\nrtbf";
    jinja_put(w->r, w->out, '"');
    for (size_t i = 0, n; i < t->n; i += n) {
        uint32_t c = jinja_code(t->p + i, &n);
        const char *is = c && c < 0x80 ? strchr(special, (int)c) : NULL;
        if (is) {
            jinja_put(w->r, w->out, '\\');
            jinja_put(w->r, w->out, (unsigned char)as[is - special]);
        } else if (c >= 0x10000 && w->ascii) {
            write_escape(w, 0xD800 + ((c - 0x10000) >> 10));
            write_escape(w, 0xDC00 + ((c - 0x10000) & 0x3FF));
        } else if (c < 0x20 || (c > 0x7E && w->ascii)) {
            write_escape(w, c);
        } else {
            jinja_add(w->r, w->out, t->p + i, n);
        }
    }
    jinja_put(w->r, w->out, '"');
}

static void
write_number(writer *w, jinja_value v)
{
    char text[JINJA_FLOAT_TEXT];
    if (v.kind == JINJA_INT)
        snprintf(text, sizeof text, "%" PRId64, v.i);
    else if (isnan(v.f))
        strcpy(text, "NaN");
    else if (isinf(v.f))
        strcpy(text, v.f < 0 ? "-Infinity" : "Infinity");
    else
        jinja_float_text(v.f, text);
    jinja_puts(w->r, w->out, text);
}

static void
new_line(writer *w)
{
    if (!w->lines)
        return;
    jinja_put(w->r, w->out, '\n');
    for (size_t i = 0; i < w->depth; i++)
        jinja_print(w->r, w->out, w->indent);
}

static void
begin_element(writer *w, size_t i)
{
    if (i)
        jinja_print(w->r, w->out, w->between);
    new_line(w);
}

static void
write_list(writer *w, const jinja_list *list)
{
    if (!list->count) {
        jinja_puts(w->r, w->out, "[]");
        return;
    }
    jinja_put(w->r, w->out, '[');
    w->depth++;
    for (size_t i = 0; i < list->count; i++) {
        begin_element(w, i);
        write_value(w, list->data[i]);
    }
    w->depth--;
    new_line(w);
    jinja_put(w->r, w->out, ']');
}

static void
write_key(writer *w, jinja_value key)
{
    if (key.kind == JINJA_TEXT) {
        write_text(w, key.text);
        return;
    }
    if (key.kind < JINJA_NONE || key.kind > JINJA_FLOAT)
        jinja_stop(
            w->r,
            "TypeError: keys must be str, int, float, bool or None, not %s",
            jinja_type(key));
    jinja_put(w->r, w->out, '"');
    write_value(w, key);
    jinja_put(w->r, w->out, '"');
}

static jinja_dict *
in_order(writer *w, const jinja_dict *dict)
{
    jinja_dict *out = JINJA_NEW(w->r, jinja_dict);
    for (size_t i = 0; i < dict->count; i++) {
        size_t at = out->count;
        JINJA_PUSH(w->r, out, dict->data[i]);
        jinja_pair pair = dict->data[i];
        for (;
             at && jinja_order(w->r, pair.key, out->data[at - 1].key, "<") < 0;
             at--)
            out->data[at] = out->data[at - 1];
        out->data[at] = pair;
    }
    return out;
}

static void
write_dict(writer *w, const jinja_dict *dict)
{
    if (!dict->count) {
        jinja_puts(w->r, w->out, "{}");
        return;
    }
    if (w->sorted)
        dict = in_order(w, dict);
    jinja_put(w->r, w->out, '{');
    w->depth++;
    for (size_t i = 0; i < dict->count; i++) {
        begin_element(w, i);
        write_key(w, dict->data[i].key);
        jinja_print(w->r, w->out, w->colon);
        write_value(w, dict->data[i].value);
    }
    w->depth--;
    new_line(w);
    jinja_put(w->r, w->out, '}');
}

static void
write_value(writer *w, jinja_value v)
{
    jinja_pay(w->r, 1);
    jinja_enter(w->r);
    switch (v.kind) {
    case JINJA_NONE:
        jinja_puts(w->r, w->out, "null");
        break;
    case JINJA_BOOL:
        jinja_puts(w->r, w->out, v.b ? "true" : "false");
        break;
    case JINJA_INT:
    case JINJA_FLOAT:
        write_number(w, v);
        break;
    case JINJA_TEXT:
        write_text(w, v.text);
        break;
    case JINJA_LIST:
    case JINJA_TUPLE:
        write_list(w, v.list);
        break;
    case JINJA_DICT:
        write_dict(w, v.dict);
        break;
    default:
        jinja_stop(w->r,
                   "TypeError: Object of type %s is not JSON serializable",
                   jinja_type(v));
    }
    jinja_leave(w->r);
}

/* Arguments: ensure_ascii, indent, separators, sort_keys. */
jinja_value
jinja_to_json(jinja_run *r, jinja_value v, const jinja_args *args)
{
    jinja_buf out = {0};
    jinja_value indent = args->v[1], separators = args->v[2];
    writer w = {.r = r, .out = &out};
    w.ascii = jinja_truth(r, args->v[0]);
    w.sorted = jinja_truth(r, args->v[3]);
    w.lines = indent.kind != JINJA_MISSING && indent.kind != JINJA_NONE;
    if (w.lines && indent.kind != JINJA_TEXT)
        indent =
            jinja_repeated(r, jinja_text_z(r, " "), jinja_need_int(r, indent));
    w.indent = indent;
    w.between = jinja_text_z(r, w.lines ? "," : ", ");
    w.colon = jinja_text_z(r, ": ");
    if (separators.kind != JINJA_MISSING && separators.kind != JINJA_NONE) {
        jinja_value pair = jinja_listed(r, separators, JINJA_LIST);
        if (pair.list->count != 2)
            jinja_stop(r, "ValueError: separators are two texts");
        w.between = pair.list->data[0];
        w.colon = pair.list->data[1];
        jinja_need_text(r, w.between);
        jinja_need_text(r, w.colon);
    }
    write_value(&w, v);
    return jinja_taken(r, &out);
}

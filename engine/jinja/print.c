/* Values as texts: Python's str() and repr(). */
#include "engine/jinja/inside.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* repr of a float: the shortest digits that are read back as the same, with an
 * exponent below 1e-4 and from 1e16 on. */
const char *
jinja_float_text(double f, char out[JINJA_FLOAT_TEXT])
{
    char digits[JINJA_FLOAT_TEXT];
    if (isnan(f))
        return strcpy(out, "nan");
    if (isinf(f))
        return strcpy(out, f < 0 ? "-inf" : "inf");
    int precision = 1;
    do
        snprintf(digits, sizeof digits, "%.*e", precision - 1, f);
    while (strtod(digits, NULL) != f && precision++ < 17);
    int exponent = atoi(strchr(digits, 'e') + 1);
    if (exponent < -4 || exponent >= 16) {
        char *e = strchr(digits, 'e');
        snprintf(out, JINJA_FLOAT_TEXT, "%.*se%c%02d", (int)(e - digits),
                 digits, exponent < 0 ? '-' : '+', abs(exponent));
        return out;
    }
    int after = precision - 1 - exponent;
    snprintf(out, JINJA_FLOAT_TEXT, "%.*f", after > 0 ? after : 1, f);
    return out;
}

static void
repr_text(jinja_run *r, jinja_buf *out, const jinja_text *t)
{
    bool single = memchr(t->p, '\'', t->n) != NULL;
    bool twice = memchr(t->p, '"', t->n) != NULL;
    char quote = single && !twice ? '"' : '\'';
    jinja_put(r, out, (unsigned char)quote);
    for (size_t i = 0, n; i < t->n; i += n) {
        char escape[16];
        uint32_t c = jinja_code(t->p + i, &n);
        if (c == (unsigned char)quote || c == '\\') {
            jinja_put(r, out, '\\');
            jinja_put(r, out, c);
        } else if (c == '\n' || c == '\r' || c == '\t') {
            jinja_puts(r, out, c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t");
        } else if (jinja_is_printable(c)) {
            jinja_add(r, out, t->p + i, n);
        } else {
            snprintf(escape, sizeof escape,
                     c < 0x100     ? "\\x%02x"
                     : c < 0x10000 ? "\\u%04x"
                                   : "\\U%08x",
                     c);
            jinja_puts(r, out, escape);
        }
    }
    jinja_put(r, out, (unsigned char)quote);
}

static void
repr_list(jinja_run *r, jinja_buf *out, jinja_value v)
{
    bool tuple = v.kind == JINJA_TUPLE;
    jinja_put(r, out, tuple ? '(' : '[');
    for (size_t i = 0; i < v.list->count; i++) {
        if (i)
            jinja_puts(r, out, ", ");
        jinja_repr(r, out, v.list->data[i]);
    }
    if (tuple && v.list->count == 1)
        jinja_put(r, out, ',');
    jinja_put(r, out, tuple ? ')' : ']');
}

static void
repr_dict(jinja_run *r, jinja_buf *out, const jinja_dict *d)
{
    jinja_put(r, out, '{');
    for (size_t i = 0; i < d->count; i++) {
        if (i)
            jinja_puts(r, out, ", ");
        jinja_repr(r, out, d->data[i].key);
        jinja_puts(r, out, ": ");
        jinja_repr(r, out, d->data[i].value);
    }
    jinja_put(r, out, '}');
}

static void
repr_view(jinja_run *r, jinja_buf *out, jinja_value v)
{
    static const char *const names[] = {"dict_keys(", "dict_values(",
                                        "dict_items("};
    jinja_puts(r, out, names[v.view]);
    jinja_repr(r, out, jinja_listed(r, v, JINJA_LIST));
    jinja_put(r, out, ')');
}

static void
repr_range(jinja_run *r, jinja_buf *out, const jinja_range *g)
{
    char text[96];
    if (g->step == 1)
        snprintf(text, sizeof text, "range(%" PRId64 ", %" PRId64 ")", g->first,
                 g->last);
    else
        snprintf(text, sizeof text,
                 "range(%" PRId64 ", %" PRId64 ", %" PRId64 ")", g->first,
                 g->last, g->step);
    jinja_puts(r, out, text);
}

static void
repr_other(jinja_run *r, jinja_buf *out, jinja_value v)
{
    char text[128];
    switch (v.kind) {
    case JINJA_UNDEFINED:
        jinja_puts(r, out, "Undefined");
        return;
    case JINJA_NAMESPACE:
        jinja_puts(r, out, "<Namespace ");
        repr_dict(r, out, v.dict);
        jinja_put(r, out, '>');
        return;
    case JINJA_MACRO:
        jinja_puts(r, out, "<Macro ");
        if (v.macro->node->name)
            repr_text(r, out, v.macro->node->name);
        else
            jinja_puts(r, out, "anonymous");
        jinja_put(r, out, '>');
        return;
    case JINJA_LOOP:
        snprintf(text, sizeof text, "<LoopContext %" PRId64 "/%zu>",
                 v.loop->index + 1, jinja_loop_length(r, v.loop));
        jinja_puts(r, out, text);
        return;
    default: /* Python prints an address: no two runs have the same text */
        jinja_stop(r, "a value of type %s has no text", jinja_type(v));
    }
}

void
jinja_repr(jinja_run *r, jinja_buf *out, jinja_value v)
{
    char text[JINJA_FLOAT_TEXT];
    jinja_pay(r, 1);
    jinja_enter(r);
    switch (v.kind) {
    case JINJA_NONE:
        jinja_puts(r, out, "None");
        break;
    case JINJA_BOOL:
        jinja_puts(r, out, v.b ? "True" : "False");
        break;
    case JINJA_INT:
        snprintf(text, sizeof text, "%" PRId64, v.i);
        jinja_puts(r, out, text);
        break;
    case JINJA_FLOAT:
        jinja_puts(r, out, jinja_float_text(v.f, text));
        break;
    case JINJA_TEXT:
        if (v.markup)
            jinja_puts(r, out, "Markup(");
        repr_text(r, out, v.text);
        if (v.markup)
            jinja_put(r, out, ')');
        break;
    case JINJA_LIST:
    case JINJA_TUPLE:
        repr_list(r, out, v);
        break;
    case JINJA_DICT:
        repr_dict(r, out, v.dict);
        break;
    case JINJA_VIEW:
        repr_view(r, out, v);
        break;
    case JINJA_RANGE:
        repr_range(r, out, v.range);
        break;
    default:
        repr_other(r, out, v);
    }
    jinja_leave(r);
}

void
jinja_print(jinja_run *r, jinja_buf *out, jinja_value v)
{
    if (v.kind == JINJA_TEXT)
        jinja_add(r, out, v.text->p, v.text->n);
    else if (v.kind != JINJA_UNDEFINED)
        jinja_repr(r, out, v);
}

jinja_value
jinja_str(jinja_run *r, jinja_value v)
{
    jinja_buf out = {0};
    if (v.kind == JINJA_TEXT) {
        v.markup = false;
        return v;
    }
    jinja_print(r, &out, v);
    return jinja_taken(r, &out);
}

jinja_value
jinja_soft(jinja_run *r, jinja_value v)
{
    return v.kind == JINJA_TEXT ? v : jinja_str(r, v);
}

jinja_value
jinja_escaped(jinja_run *r, jinja_value v)
{
    static const char special[] = "&<>\"'";
    static const char *const as[] = {"&amp;", "&lt;", "&gt;", "&#34;", "&#39;"};
    jinja_buf out = {0};
    if (v.kind == JINJA_TEXT && v.markup)
        return v;
    v = jinja_str(r, v);
    for (size_t i = 0; i < v.text->n; i++) {
        char c = v.text->p[i];
        const char *is = c ? strchr(special, c) : NULL;
        if (is)
            jinja_puts(r, &out, as[is - special]);
        else
            jinja_add(r, &out, &c, 1);
    }
    v = jinja_taken(r, &out);
    v.markup = true;
    return v;
}

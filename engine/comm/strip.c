/* Copying what lies in strips: see rlf_strip in comm.h. What lies in one piece
 * is a strip of one row. */
#include "engine/comm/internal.h"
#include "engine/dev/copy.h"

#include <string.h>

/* A place in the strips of a message. */
typedef struct place {
    const rlf_strip *strip;
    int left; /* strips, this one among them */
    size_t row, at;
    rlf_strip whole; /* of a message in one piece */
} place;

static bool
is_dense(const rlf_strip *strip)
{
    return strip->stride == strip->bytes || strip->rows == 1;
}

/* Bytes from here on without a gap. */
static size_t
run_of(const place *p)
{
    const rlf_strip *s = p->strip;
    if (!s->rows)
        return 0;
    return is_dense(s) ? s->bytes * s->rows - p->at : s->bytes - p->at;
}

static char *
data_of(const place *p)
{
    return (char *)p->strip->data + p->row * p->strip->stride + p->at;
}

/* Over what is empty or done. */
static void
settle(place *p)
{
    while (p->left && run_of(p) == 0) {
        p->at = 0;
        if (!is_dense(p->strip) && ++p->row < p->strip->rows)
            continue;
        p->row = 0;
        p->strip++;
        p->left--;
    }
}

static place
begin(const rlf_request *r, char *data)
{
    place p = {.whole = {data, r->bytes, r->bytes, 1}, .left = 1};
    if (!data) {
        p.strip = r->strips;
        p.left = r->n_strips;
    }
    return p;
}

static void
copy(place to, place from, size_t bytes)
{
    bool large = bytes >= RLF_COPY_PAST_BYTES;
    if (!to.strip)
        to.strip = &to.whole;
    if (!from.strip)
        from.strip = &from.whole;
    for (settle(&to), settle(&from); to.left && from.left;) {
        size_t n = run_of(&to), m = run_of(&from);
        n = n < m ? n : m;
        if (large)
            rlf_copy_past(data_of(&to), data_of(&from), n);
        else
            memcpy(data_of(&to), data_of(&from), n);
        to.at += n;
        from.at += n;
        settle(&to);
        settle(&from);
    }
    if (large)
        rlf_copy_past_end();
}

void
rlf_request_copy(const rlf_request *to, const rlf_request *from)
{
    copy(begin(to, to->data), begin(from, from->data), to->bytes);
}

void
rlf_request_pack(const rlf_request *from, void *to)
{
    copy(begin(from, to), begin(from, NULL), from->bytes);
}

void
rlf_request_unpack(const rlf_request *to, const void *from)
{
    copy(begin(to, NULL), begin(to, (char *)from), to->bytes);
}

/* Copying between strided messages: see rlf_strided_rows in comm.h. Bytes in
 * one piece are one row. */
#include "engine/comm/internal.h"
#include "engine/dev/copy.h"

#include <string.h>

/* A position in a strided message. */
typedef struct place {
    const rlf_strided_rows *rows;
    int left; /* of the list, these rows among them */
    size_t row, at;
    rlf_strided_rows whole; /* of a message in one piece */
} place;

static bool
is_dense(const rlf_strided_rows *rows)
{
    return rows->stride == rows->bytes || rows->rows == 1;
}

/* Bytes from here on without a gap. */
static size_t
run_of(const place *p)
{
    const rlf_strided_rows *s = p->rows;
    if (!s->rows)
        return 0;
    return is_dense(s) ? s->bytes * s->rows - p->at : s->bytes - p->at;
}

static char *
data_of(const place *p)
{
    return (char *)p->rows->data + p->row * p->rows->stride + p->at;
}

/* Over what is empty or done. */
static void
settle(place *p)
{
    while (p->left && run_of(p) == 0) {
        p->at = 0;
        if (!is_dense(p->rows) && ++p->row < p->rows->rows)
            continue;
        p->row = 0;
        p->rows++;
        p->left--;
    }
}

static place
begin(const rlf_request *r, char *data)
{
    place p = {.whole = {data, r->bytes, r->bytes, 1}, .left = 1};
    if (!data) {
        p.rows = r->strided;
        p.left = r->n_strided;
    }
    return p;
}

static void
copy(place to, place from, size_t bytes)
{
    bool large = bytes >= RLF_COPY_PAST_BYTES;
    if (!to.rows)
        to.rows = &to.whole;
    if (!from.rows)
        from.rows = &from.whole;
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

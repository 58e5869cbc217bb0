/* Inputs that cannot be opened: the ranks of a run add each of them here, so
 * that all are reported at once. */
#include "engine/api/rundir/rundir.h"

#include "engine/base/vec.h"

#include <string.h>

void
rlf_input_errors_add(void *sink, const rlf_err *err)
{
    rlf_session *s = sink;
    rlf_mutex_lock(&s->input_errors.mutex);
    if (s->input_errors.list.count < RLF_DIAG_MOST) {
        RLF_PUSH(&s->input_errors.list, *err);
        rlf_evaluating_place(
            s, &s->input_errors.list.data[s->input_errors.list.count - 1]);
    }
    rlf_mutex_unlock(&s->input_errors.mutex);
}

static bool
is_same_error(const rlf_err *a, const rlf_err *b)
{
    return a->span.source == b->span.source && a->span.first == b->span.first &&
           strcmp(a->sentence, b->sentence) == 0;
}

void
rlf_input_errors_print(rlf_session *s, const rlf_err *first, rlf_buf *out)
{
    const rlf_err *said[2 * RLF_DIAG_MOST + 1] = {first}, *all;
    size_t n = 1, k;
    rlf_mutex_lock(&s->input_errors.mutex);
    all = s->input_errors.list.data;
    for (size_t i = 0; i < 2 * s->input_errors.list.count; i++) {
        const rlf_err *e = &all[i % s->input_errors.list.count];
        if ((i < s->input_errors.list.count) != (e->rank == first->rank))
            continue;
        for (k = 0; k < n && !is_same_error(said[k], e);)
            k++;
        if (k == n)
            said[n++] = e;
    }
    for (k = 0; k < n; k++)
        (s->options.json ? rlf_err_print_json
                         : rlf_err_print)(said[k], &s->program.sources, out);
    rlf_mutex_unlock(&s->input_errors.mutex);
}

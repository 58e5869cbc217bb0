/* See form.h. */
#include "nodes/model/form.h"

#include <stdlib.h>

bool
rlf_form_is_plain(const rlf_slot *s)
{
    return !s->form.transposed && !s->form.pairs && !s->form.run;
}

bool
rlf_form_ends(const rlf_slot *s)
{
    return s->form.run ? s->form.first + s->form.run == s->form.stride
                       : s->form.first + s->file_rows == s->form.rows;
}

rlf_tensor
rlf_form_tensor(const rlf_slot *s)
{
    const rlf_file_form *f = &s->form;
    uint64_t rows = (uint64_t)f->rows, cols = (uint64_t)s->file_cols;
    rlf_tensor x = {.name = f->tensor, .n_dims = 2, .shape = {rows, cols}};
    if (f->fold) {
        x.shape[0] = rows / (uint64_t)f->fold;
        x.shape[1] = (uint64_t)f->fold;
    } else if (!cols) {
        x.n_dims = 1;
    } else if (f->transposed) {
        x.shape[0] = cols;
        x.shape[1] = rows;
    }
    return x;
}

/* The tensor's row that is row i of the slot: rotations pair row k of a head
 * with the one half of the rotated rows behind it. */
static int64_t
row_of(const rlf_slot *s, int64_t i)
{
    int64_t d = s->form.pairs, k = d ? i % d : 0, half = s->form.turned / 2;
    int64_t run = s->form.run;
    if (run)
        return i / run * s->form.stride + s->form.first + i % run;
    int64_t to = k >= 2 * half ? k : k < half ? 2 * k : 2 * (k - half) + 1;
    return s->form.first + i - k + to;
}

int64_t
rlf_form_place(const rlf_slot *s, int64_t i)
{
    int64_t cols = s->file_cols ? s->file_cols : 1;
    int64_t row = row_of(s, i / cols), col = i % cols;
    return s->form.transposed ? col * s->form.rows + row : row * cols + col;
}

/* Row by row of the tensor, each with an element of every row of the slot. */
static rlf_status
read_transposed(const rlf_slot *s, const rlf_tensor *x, rlf_err *err,
                float *values)
{
    int64_t rows = s->file_rows, cols = s->file_cols ? s->file_cols : 1;
    size_t bytes = (size_t)rows * sizeof(float);
    float *row = rlf_try_malloc(bytes);
    if (!row)
        return rlf_fail_memory(err, bytes, "a row of a tensor");
    rlf_status status = RLF_OK;
    for (int64_t j = 0; j < cols && status >= 0; j++) {
        uint64_t at = (uint64_t)(j * s->form.rows + s->form.first);
        status = rlf_tensor_read_f32(x, at, (uint64_t)rows, err, row);
        for (int64_t i = 0; status >= 0 && i < rows; i++)
            values[i * cols + j] = row[row_of(s, i) - s->form.first];
    }
    free(row);
    return status;
}

rlf_status
rlf_form_read(const rlf_slot *s, const rlf_tensor *x, int64_t at, int64_t n,
              rlf_err *err, float *values)
{
    int64_t cols = s->file_cols ? s->file_cols : 1;
    if (s->form.transposed) {
        RLF_ASSERT(at == 0 && n == rlf_slot_file_count(s));
        return read_transposed(s, x, err, values);
    }
    for (int64_t i = 0, run; i < n; i += run) {
        run = s->form.pairs || s->form.run ? cols - (at + i) % cols : n;
        run = run < n - i ? run : n - i;
        RLF_TRY(rlf_tensor_read_f32(x, (uint64_t)rlf_form_place(s, at + i),
                                    (uint64_t)run, err, values + i));
    }
    return RLF_OK;
}

void
rlf_form_put(const rlf_slot *s, const float *values, float *tensor)
{
    for (int64_t i = 0; i < rlf_slot_file_count(s); i++)
        tensor[rlf_form_place(s, i)] = values[i];
}

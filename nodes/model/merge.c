/* See merge.h. A tensor of the base's files is read, changed and written in
 * pieces of whole rows, in the form that files have it in: an adapter's
 * matrices have the rows and columns of the tensor that they are beside. */
#include "nodes/model/merge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/half.h"
#include "engine/base/str.h"
#include "engine/base/vec.h"
#include "engine/io/file.h"
#include "engine/io/json.h"
#include "engine/io/safetensors.h"
#include "nodes/model/adapter.h"
#include "nodes/model/adapter_files.h"
#include "nodes/model/families/families.h"
#include "nodes/model/origin.h"

enum { PIECE = 1 << 20 }; /* bytes */

/* A tensor that is written. */
typedef struct output {
    const rlf_slot *slot;
    const char *name; /* in the files that are written */
    const rlf_tensor *from;
    const rlf_tensor *a, *b; /* of its adapter; NULL: it has none */
    rlf_element element;     /* in which it is written */
    int file;
} output;

typedef struct merging {
    const char *base, *adapter, *dir;
    rlf_arena *arena;
    rlf_err *err;
    rlf_model_config config;
    rlf_model_head head;
    const rlf_table *table;
    rlf_weights_source source;
    RLF_VEC(output) outputs; /* in the order of the base's files */
    int files;
    void *piece;
} merging;

/* ---- what is merged ---- */

/* The base with the targets of the adapter. */
static rlf_status
read_configs(merging *m)
{
    rlf_err *err = m->err;
    RLF_TRY(rlf_model_config_read(m->base, m->arena, err, &m->config));
    RLF_TRY(rlf_weights_tie(m->base, &m->config, err));
    RLF_TRY(
        rlf_adapter_config_read(m->adapter, m->arena, err, &m->config.lora));
    return rlf_adapters_check(&m->config, m->arena, err);
}

static rlf_status
find_score(merging *m, bool *own, bool *there)
{
    rlf_err *err = m->err;
    rlf_safetensors *files = NULL;
    RLF_TRY(rlf_adapter_tensors_open(m->adapter, err, &files));
    *own = rlf_adapter_tensors_score(files);
    rlf_safetensors_close(files);
    RLF_TRY(rlf_safetensors_open(m->base, err, &files));
    *there = *own || rlf_safetensors_get(files, "score.weight");
    rlf_safetensors_close(files);
    return RLF_OK;
}

/* The heads of the result: an adapter that was made for scores has no other
 * one. */
static rlf_status
find_head(merging *m)
{
    rlf_err *err = m->err;
    json_t *root;
    bool own, there;
    RLF_TRY(find_score(m, &own, &there));
    RLF_TRY(rlf_json_load_object(
        rlf_path_join(m->arena, m->adapter, RLF_ADAPTER_CONFIG), err, &root));
    const char *task = json_string_value(json_object_get(root, "task_type"));
    bool scores = task && !strcmp(task, "SEQ_CLS");
    json_decref(root);
    m->head = there && scores ? RLF_HEAD_SCALAR
              : own           ? RLF_HEAD_BOTH
                              : RLF_HEAD_LM;
    return RLF_OK;
}

/* Finds one matrix, "lora_A", of the adapter beside a tensor of the base; NULL:
 * there is none. */
static const rlf_tensor *
find_matrix(const merging *m, const char *tensor, const char *which)
{
    static const char end[] = ".weight";
    size_t n = strlen(tensor), k = sizeof end - 1;
    if (n <= k || strcmp(tensor + n - k, end) != 0)
        return NULL;
    return rlf_safetensors_get(m->source.adapter,
                               rlf_arena_printf(m->arena, "%s%.*s.%s.weight",
                                                RLF_ADAPTER_PREFIX,
                                                (int)(n - k), tensor, which));
}

static rlf_status
find_output(merging *m, const rlf_slot *slot, output *out)
{
    rlf_err *err = m->err;
    bool score = slot->offset == m->table->score; /* has an adapter's name */
    *out =
        (output){.slot = slot, .name = score ? slot->name : slot->form.tensor};
    RLF_TRY(
        rlf_weights_source_find(m->table, &m->source, slot, err, &out->from));
    RLF_ASSERT(out->from);
    out->element = out->from->element;
    out->a = find_matrix(m, out->name, "lora_A");
    out->b = find_matrix(m, out->name, "lora_B");
    return RLF_OK;
}

/* Is the file of the adapter what it is read from? */
static bool
is_adapters(const merging *m, const rlf_tensor *x)
{
    return x == rlf_safetensors_get(m->source.adapter, x->name);
}

/* The tensors of the result, in the order of the files that they come from;
 * what the adapter alone has stands behind them in the type of the last. */
static rlf_status
list_outputs(merging *m)
{
    rlf_err *err = m->err;
    const rlf_safetensors *files = m->source.file;
    const rlf_table *t = m->table;
    RLF_VEC(output) found = {0};
    output one, own = {0};
    for (int i = 0; i < t->n_slots; i++) {
        const rlf_slot *slot = &t->slots[i];
        bool written = i < t->n_base || slot->offset == t->score;
        if (!written || slot->form.first)
            continue;
        RLF_TRY(find_output(m, slot, &one));
        if (is_adapters(m, one.from))
            own = one;
        else
            RLF_PUSH_IN(m->arena, &found, one);
    }
    const char *last = NULL;
    for (size_t i = 0; i < rlf_safetensors_count(files); i++) {
        const rlf_tensor *x = rlf_safetensors_at(files, i);
        for (size_t k = 0; k < found.count; k++) {
            if (found.data[k].from != x)
                continue;
            m->files += !last || strcmp(last, x->file) != 0;
            last = x->file;
            found.data[k].file = m->files - 1;
            RLF_PUSH_IN(m->arena, &m->outputs, found.data[k]);
        }
    }
    if (!own.slot)
        return RLF_OK;
    own.file = m->files - 1;
    own.element = m->outputs.data[m->outputs.count - 1].element;
    RLF_PUSH_IN(m->arena, &m->outputs, own);
    return RLF_OK;
}

/* ---- values ---- */

static double
get_value(rlf_element element, const void *p, size_t i)
{
    switch (element) {
    case RLF_ELEMENT_F64:
        return ((const double *)p)[i];
    case RLF_ELEMENT_F32:
        return (double)((const float *)p)[i];
    case RLF_ELEMENT_BF16:
        return (double)rlf_bf16_to_f32(((const uint16_t *)p)[i]);
    default:
        return (double)rlf_f16_to_f32(((const uint16_t *)p)[i]);
    }
}

/* Rounds to nearest, once; returns whether it is finite then. */
static bool
put_value(rlf_element element, void *p, size_t i, double x)
{
    switch (element) {
    case RLF_ELEMENT_F64:
        ((double *)p)[i] = x;
        break;
    case RLF_ELEMENT_F32:
        ((float *)p)[i] = (float)x;
        break;
    case RLF_ELEMENT_BF16:
        ((uint16_t *)p)[i] = rlf_f32_to_bf16(rlf_f64_to_odd_f32(x));
        break;
    default:
        ((uint16_t *)p)[i] = rlf_f32_to_f16(rlf_f64_to_odd_f32(x));
    }
    return isfinite(get_value(element, p, i));
}

/* An adapter's matrix [rows, cols] as doubles, or transposed; to be freed. */
static rlf_status
read_matrix(const merging *m, const rlf_tensor *x, bool transposed,
            double **out)
{
    uint64_t cols = x->shape[1], n = x->count;
    double *values = rlf_try_malloc((size_t)n * sizeof *values);
    float *row = rlf_try_malloc((size_t)cols * sizeof *row);
    rlf_status status = RLF_OK;
    if (!values || !row)
        status = rlf_fail_memory(m->err, (size_t)n * sizeof *values,
                                 "a matrix of an adapter");
    for (uint64_t i = 0; status >= 0 && i < x->shape[0]; i++) {
        status = rlf_tensor_read_f32(x, i * cols, cols, m->err, row);
        for (uint64_t j = 0; status >= 0 && j < cols; j++)
            values[transposed ? j * x->shape[0] + i : i * cols + j] =
                (double)row[j];
    }
    free(row);
    if (status < 0)
        free(values);
    else
        *out = values;
    return status;
}

/* The sum that a tensor [rows, cols] gets: left right, times a scale. */
typedef struct product {
    double *left, *right; /* [rows, rank], [rank, cols] */
    double *row;          /* [cols] */
    size_t rank, cols;
    double scale;
} product;

static void
product_free(product *p)
{
    free(p->left);
    free(p->right);
    free(p->row);
}

/* b a, or where files have matrices transposed what that is so. */
static rlf_status
product_open(const merging *m, const output *o, product *p)
{
    rlf_err *err = m->err;
    bool turned = o->slot->form.transposed;
    const rlf_tensor *left = turned ? o->a : o->b,
                     *right = turned ? o->b : o->a;
    *p = (product){.rank = (size_t)m->config.lora.rank,
                   .cols = (size_t)o->from->shape[1],
                   .scale = rlf_lora_scale(&m->config.lora)};
    RLF_TRY(read_matrix(m, left, turned, &p->left));
    RLF_TRY(read_matrix(m, right, turned, &p->right));
    p->row = rlf_try_malloc(p->cols * sizeof *p->row);
    return p->row ? RLF_OK
                  : rlf_fail_memory(err, p->cols * sizeof *p->row,
                                    "a row of a tensor");
}

/* Row `row` of it onto the values at `values`; false: one is not finite then.
 */
static bool
product_add(const product *p, size_t row, rlf_element element, void *values)
{
    bool finite = true;
    memset(p->row, 0, p->cols * sizeof *p->row);
    for (size_t k = 0; k < p->rank; k++) {
        double x = p->left[row * p->rank + k];
        const double *right = p->right + k * p->cols;
        for (size_t j = 0; j < p->cols; j++)
            p->row[j] += x * right[j];
    }
    for (size_t j = 0; j < p->cols; j++)
        finite &=
            put_value(element, values, j,
                      get_value(element, values, j) + p->scale * p->row[j]);
    return finite;
}

/* ---- writing ---- */

static rlf_status
write_same(const merging *m, const output *o, rlf_tensor_writer *to)
{
    rlf_err *err = m->err;
    const rlf_tensor *x = o->from;
    for (uint64_t at = 0, n; at < x->bytes; at += n) {
        n = x->bytes - at < PIECE ? x->bytes - at : PIECE;
        RLF_TRY(
            rlf_infile_read(x->input, x->at + at, m->piece, (size_t)n, err));
        RLF_TRY(rlf_tensor_writer_add(to, m->piece, (size_t)n, err));
    }
    return RLF_OK;
}

/* Writes in the type that the model's files have. */
static rlf_status
write_converted(const merging *m, const output *o, rlf_tensor_writer *to)
{
    rlf_err *err = m->err;
    enum { SOME = PIECE / 16 };
    const rlf_tensor *x = o->from;
    float *values = m->piece;
    void *converted = values + SOME;
    for (uint64_t at = 0, n; at < x->count; at += n) {
        n = x->count - at < SOME ? x->count - at : SOME;
        RLF_TRY(rlf_tensor_read_f32(x, at, n, err, values));
        for (size_t i = 0; i < n; i++)
            put_value(o->element, converted, i, (double)values[i]);
        RLF_TRY(rlf_tensor_writer_add(
            to, converted, (size_t)n * rlf_element_size(o->element), err));
    }
    return RLF_OK;
}

static rlf_status
fail_finite(const merging *m, const output *o)
{
    rlf_fail(m->err, RLF_USER,
             "%s: tensor %s with its adapter has a value that is not finite in "
             "%s",
             o->from->file, o->from->name, rlf_element_text(o->element));
    rlf_err_hint(m->err, "a file is torn, training went wrong, or the type of "
                         "the model's files is too small for it");
    return RLF_USER;
}

static rlf_status
write_sum(const merging *m, const output *o, const product *p,
          rlf_tensor_writer *to)
{
    const rlf_tensor *x = o->from;
    size_t row = p->cols * rlf_element_size(x->element);
    size_t rows = (size_t)x->shape[0], most = row < PIECE ? PIECE / row : 1;
    char *piece = row <= PIECE ? m->piece : rlf_try_malloc(row);
    if (!piece)
        return rlf_fail_memory(m->err, row, "a row of a tensor");
    rlf_status status = RLF_OK;
    for (size_t at = 0, n; status >= 0 && at < rows; at += n) {
        n = rows - at < most ? rows - at : most;
        status =
            rlf_infile_read(x->input, x->at + at * row, piece, n * row, m->err);
        for (size_t i = 0; status >= 0 && i < n; i++)
            if (!product_add(p, at + i, x->element, piece + i * row))
                status = fail_finite(m, o);
        if (status >= 0)
            status = rlf_tensor_writer_add(to, piece, n * row, m->err);
    }
    if (piece != m->piece)
        free(piece);
    return status;
}

static rlf_status
write_tensor(const merging *m, const output *o, rlf_tensor_writer *to)
{
    product p;
    if (!o->a || !o->b)
        return o->element == o->from->element ? write_same(m, o, to)
                                              : write_converted(m, o, to);
    rlf_status status = product_open(m, o, &p);
    if (status >= 0)
        status = write_sum(m, o, &p, to);
    product_free(&p);
    return status;
}

static const char *
file_name(const merging *m, int file)
{
    return m->files == 1
               ? "model.safetensors"
               : rlf_arena_printf(m->arena, "model-%05d-of-%05d.safetensors",
                                  file + 1, m->files);
}

/* Tensors first..last-1 of the list, which are of one file. */
static rlf_status
write_file(const merging *m, size_t first, size_t last)
{
    rlf_err *err = m->err;
    size_t n = last - first;
    rlf_tensor *list = RLF_NEW_ARRAY(m->arena, rlf_tensor, n);
    for (size_t i = 0; i < n; i++) {
        const output *o = &m->outputs.data[first + i];
        list[i] = *o->from;
        list[i].name = o->name;
        list[i].element = o->element;
    }
    rlf_tensor_writer *to = NULL;
    rlf_status status = rlf_tensor_writer_open(
        rlf_path_join(m->arena, m->dir,
                      file_name(m, m->outputs.data[first].file)),
        list, n, NULL, 0, err, &to);
    for (size_t i = first; i < last; i++)
        RLF_TRY_GOTO(write_tensor(m, &m->outputs.data[i], to), drop);
    return rlf_tensor_writer_commit(to, err, NULL, NULL);
drop:
    rlf_tensor_writer_drop(to);
    return status;
}

static rlf_status
save_text(const merging *m, const char *name, const char *text)
{
    return rlf_file_write(rlf_path_join(m->arena, m->dir, name), text,
                          strlen(text), m->err);
}

/* Writes the index that tells which tensor is in which file. */
static rlf_status
write_index(const merging *m, uint64_t bytes)
{
    json_t *map = json_object();
    for (size_t i = 0; i < m->outputs.count; i++) {
        const output *o = &m->outputs.data[i];
        json_object_set_new(map, o->name, json_string(file_name(m, o->file)));
    }
    json_t *root = json_pack("{s:{s:I}, s:o}", "metadata", "total_size",
                             (json_int_t)bytes, "weight_map", map);
    RLF_ASSERT(root);
    char *text = json_dumps(root, JSON_INDENT(2) | JSON_SORT_KEYS);
    rlf_status status = save_text(m, "model.safetensors.index.json", text);
    free(text);
    json_decref(root);
    return status;
}

static rlf_status
write_texts(const merging *m, rlf_merged *out)
{
    rlf_err *err = m->err;
    bool types[RLF_ELEMENT_COUNT] = {0};
    for (size_t i = 0; i < m->outputs.count; i++) {
        const output *o = &m->outputs.data[i];
        types[o->element] = true;
        out->tensors++;
        out->adapted += o->a && o->b;
        out->bytes += o->from->count * rlf_element_size(o->element);
    }
    const char *text;
    rlf_model_config merged = m->config;
    merged.lora.rank = 0;
    RLF_TRY(
        rlf_model_config_text(&merged, m->head, types, m->arena, err, &text));
    RLF_TRY(save_text(m, "config.json", text));
    RLF_TRY(save_text(m, "generation_config.json",
                      rlf_model_config_generation(&merged, m->arena)));
    return m->files > 1 ? write_index(m, out->bytes) : RLF_OK;
}

static rlf_status
write_files(const merging *m)
{
    rlf_err *err = m->err;
    for (size_t i = 0, n; i < m->outputs.count; i += n) {
        for (n = 1; i + n < m->outputs.count &&
                    m->outputs.data[i + n].file == m->outputs.data[i].file;)
            n++;
        RLF_TRY(write_file(m, i, i + n));
    }
    return RLF_OK;
}

/* Writes all tensors, with both sources open. */
static rlf_status
write_all(merging *m, rlf_merged *out)
{
    rlf_err *err = m->err;
    RLF_TRY(list_outputs(m));
    RLF_TRY(write_texts(m, out));
    m->piece = rlf_try_malloc(PIECE);
    if (!m->piece)
        return rlf_fail_memory(err, PIECE, "a piece of a tensor");
    rlf_status status = write_files(m);
    free(m->piece);
    return status;
}

rlf_status
rlf_merge_write(const char *base, const char *adapter, const char *dir,
                rlf_arena *arena, rlf_err *err, rlf_merged *out)
{
    merging m = {.base = base,
                 .adapter = adapter,
                 .dir = dir,
                 .arena = arena,
                 .err = err};
    const rlf_weights_origin origin = {.dir = base, .adapter = adapter};
    rlf_weights_known known;
    *out = (rlf_merged){0};
    RLF_TRY(read_configs(&m));
    RLF_TRY(find_head(&m));
    m.table = rlf_table_new(&m.config, m.head, NULL, arena);
    RLF_TRY(rlf_weights_check(m.table, &origin, err, &known));
    out->architecture = m.config.family->architecture;
    out->untied = m.config.untied && (m.head & RLF_HEAD_LM);
    rlf_status status =
        rlf_weights_source_open(m.table, &origin, err, &m.source);
    if (status >= 0)
        status = write_all(&m, out);
    rlf_weights_source_close(&m.source);
    return status;
}

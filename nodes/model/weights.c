/* Tensors pass through one host buffer, slot by slot, as they are in the file:
 * in pieces where a rank has all of them in one block; else whole, since a rank
 * that holds a part cuts it out, and all parts meet on rank 0 of the first
 * stage, which alone writes; slices of moments meet on the first replica
 * before. */
#include "nodes/model/weights.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/vec.h"
#include "engine/io/file.h"
#include "engine/io/safetensors.h"
#include "nodes/model/adapter_files.h"
#include "nodes/model/block.h"
#include "nodes/model/form.h"
#include "nodes/model/offload.h"
#include "nodes/model/origin.h"
#include "nodes/model/parallel.h"

enum { PIECE = 1 << 16 }; /* floats, which stay in a cache */

/* Has this rank all tensors as files have them, in one block? */
static bool
is_plain(const rlf_model *m)
{
    const rlf_cut *cut = &m->table->cut;
    return !m->by_layer && cut->ranks == 1 && cut->stages == 1 &&
           m->slices.n == 1;
}

/* Rows of the embedding, or of a head, that are filled at once. */
static int64_t
rows_at_once(const rlf_slot *slot)
{
    int64_t n = PIECE / slot->file_cols / RLF_PACK_ROWS;
    return (n > 1 ? n : 1) * RLF_PACK_ROWS;
}

/* Of the floats of a slot of a table from `at` on, how many go at once: all of
 * a matrix that files have otherwise, or of which a rank cuts its part. */
static int64_t
piece_size(const rlf_model *m, const rlf_table *t, const rlf_slot *slot,
           int64_t at)
{
    int64_t left = rlf_slot_file_count(slot) - at, most = left;
    if (rlf_model_fills_rows(m, t, slot))
        most = rows_at_once(slot) * slot->file_cols;
    else if (is_plain(m) && rlf_form_is_plain(slot))
        most = PIECE;
    return left < most ? left : most;
}

static int64_t
buffer_floats(const rlf_model *m)
{
    const rlf_table *t = m->table->whole;
    int64_t most = 1;
    for (int i = 0; i < t->n_slots; i++) {
        int64_t n = piece_size(m, t, &t->slots[i], 0);
        most = n > most ? n : most;
    }
    return most;
}

/* Most floats of a tensor of the file that is put together before it is
 * written. */
static int64_t
form_floats(const rlf_model *m)
{
    const rlf_table *t = m->table->whole;
    int64_t most = 0;
    for (int i = 0; i < t->n_slots; i++) {
        const rlf_slot *s = &t->slots[i];
        int64_t n = s->form.rows * (s->file_cols ? s->file_cols : 1);
        most = n > most && !rlf_form_is_plain(s) ? n : most;
    }
    return most;
}

/* A host buffer, or NULL if it is for nothing. */
static rlf_status
float_buffer(int64_t n, rlf_err *err, float **out)
{
    size_t bytes = (size_t)n * sizeof(float);
    *out = n ? rlf_try_malloc(bytes) : NULL;
    return *out || !n ? RLF_OK
                      : rlf_fail_memory(err, bytes, "a tensor of a model");
}

/* One that holds what goes at once of any tensor of the file. */
static rlf_status
slot_buffer(const rlf_model *m, rlf_err *err, float **out)
{
    return float_buffer(buffer_floats(m), err, out);
}

uint64_t
rlf_weights_buffer_bytes(const rlf_model *m)
{
    const rlf_table *t = m->table;
    int64_t part = 0, layer = 0;
    for (int i = 0; i < t->n_slots; i++) {
        const rlf_slot *slot = &t->slots[i];
        if (slot->count != rlf_slot_file_count(slot) && slot->count > part &&
            !rlf_model_fills_rows(m, t, slot))
            part = slot->count;
    }
    for (int i = 0; i < t->config.layers && m->by_layer; i++)
        if (rlf_block_layer_floats(t, i) > layer)
            layer = rlf_block_layer_floats(t, i);
    return sizeof(float) *
           (uint64_t)(buffer_floats(m) + form_floats(m) + part + layer);
}

/* Weights or moments: the floats first..last-1 of the block. */
typedef struct piece {
    float *floats; /* NULL: a model by layer has them in no one place */
    int64_t first, last;
    bool sliced;       /* moments: other replicas have the rest */
    rlf_copy to, from; /* what copying to it and from it is */
} piece;

static piece
weights_of(const rlf_model *m)
{
    return (piece){.floats = m->weights,
                   .last = m->table->count,
                   .to = rlf_model_copy_kind(m, NULL),
                   .from = rlf_model_copy_kind(NULL, m)};
}

/* The piece that is saved: of a model with adapters what training changes. */
static piece
saved_of(const rlf_model *m)
{
    const rlf_table *t = m->table;
    piece p = weights_of(m);
    if (rlf_table_adapted(t)) {
        p.floats = rlf_block_place(m, t->trained);
        p.first = t->trained;
    }
    return p;
}

/* The first tensor of those, in the table of the whole. */
static int
first_saved(const rlf_model *m)
{
    const rlf_table *whole = m->table->whole;
    return rlf_table_adapted(whole) ? whole->n_base : 0;
}

/* The part of a slot that a piece has, *at from the slot's beginning. */
static int64_t
piece_part(const piece *p, const rlf_slot *slot, int64_t *at, float **floats)
{
    int64_t from = p->first > slot->offset ? p->first : slot->offset;
    int64_t to = slot->offset + slot->count;
    to = to < p->last ? to : p->last;
    if (to <= from)
        return 0;
    *at = from - slot->offset;
    *floats = p->floats + (from - p->first);
    return to - from;
}

static rlf_status
put_part(rlf_model *m, const piece *to, const rlf_slot *slot, const float *part,
         rlf_err *err)
{
    int64_t at, n;
    float *floats;
    if (!to->floats)
        return rlf_model_fill(m, slot, part, err);
    if (!(n = piece_part(to, slot, &at, &floats)))
        return RLF_OK;
    RLF_TRY(rlf_queue_copy(m->queue, floats, part + at,
                           (size_t)n * sizeof(float), to->to, err));
    return rlf_queue_sync(m->queue, err);
}

/* This rank's part of a tensor. */
static rlf_status
put_whole(rlf_model *m, const piece *to, const rlf_slot *slot,
          const float *values, rlf_err *err)
{
    if (slot->count == rlf_slot_file_count(slot))
        return put_part(m, to, slot, values, err);
    size_t bytes = (size_t)slot->count * sizeof(float);
    float *part = rlf_try_malloc(bytes);
    if (!part)
        return rlf_fail_memory(err, bytes, "a part of a tensor");
    rlf_parallel_cut(slot, values, part);
    rlf_status status = put_part(m, to, slot, part, err);
    free(part);
    return status;
}

/* n values of a tensor from `at` on: all of them unless the model is plain. */
static rlf_status
put(rlf_model *m, const piece *to, const rlf_slot *slot, int64_t at, int64_t n,
    const float *values, rlf_err *err)
{
    if (!is_plain(m))
        return put_whole(m, to, slot, values, err);
    RLF_TRY(rlf_queue_copy(m->queue, to->floats + slot->offset + at, values,
                           (size_t)n * sizeof(float), to->to, err));
    return rlf_queue_sync(m->queue, err);
}

/* ---- filling ---- */

/* Notes the type in which it is saved again, unless all are saved in f32. */
static rlf_status
note_saved(rlf_model *m, const rlf_weights_source *from, int tensor,
           rlf_err *err)
{
    const rlf_table *whole = m->table->whole;
    const rlf_tensor *x;
    RLF_TRY(
        rlf_weights_source_find(whole, from, &whole->slots[tensor], err, &x));
    const bool *bf16 = m->options.bf16;
    if (m->narrow > 0 && bf16 && bf16[tensor] &&
        (!x || x->element != RLF_ELEMENT_BF16))
        return rlf_fail(err, RLF_USER,
                        "%s: tensor %s was of bf16, and is no longer: the "
                        "files changed while they were read",
                        from->origin->dir, whole->slots[tensor].form.tensor);
    bool half =
        x && (x->element == RLF_ELEMENT_BF16 || x->element == RLF_ELEMENT_F16);
    m->saved[tensor] = (uint8_t)(half ? x->element : RLF_ELEMENT_F32);
    return RLF_OK;
}

static rlf_status read_state(const rlf_model *m, const rlf_safetensors *file,
                             size_t which, int tensor, int64_t at, int64_t n,
                             float *values, rlf_err *err);

/* This rank's rows of the embedding or of a head, a few at once, shard by
 * shard. */
static rlf_status
fill_rows(rlf_model *m, const rlf_weights_source *from, int tensor,
          const rlf_slot *slot, float *values, rlf_err *err)
{
    const rlf_table *t = m->table;
    int64_t d = slot->file_cols, most = rows_at_once(slot), first = 0;
    for (int s = 0; s < t->shards.count; s++) {
        int64_t end = first + rlf_table_shard_tokens(t, s);
        for (int64_t n; first < end; first += n) {
            n = end - first < most ? end - first : most;
            int64_t at = (slot->first + first) * d;
            RLF_TRY(rlf_weights_source_read(m, from, tensor, at, n * d, values,
                                            err));
            if (from->state)
                RLF_TRY(read_state(m, from->state, 0, tensor, at, n * d, values,
                                   err));
            RLF_TRY(rlf_model_fill_rows(m, slot, first, n, values, err));
        }
    }
    return RLF_OK;
}

/* A tensor that is held here; if the checkpoint has a master of it, from there.
 */
static rlf_status
fill_tensor(rlf_model *m, const rlf_weights_source *from, int tensor,
            float *values, rlf_err *err)
{
    const rlf_table *t = m->table;
    const rlf_slot *slot = &t->slots[t->own[tensor]];
    const piece weights = weights_of(m);
    if (rlf_model_fills_rows(m, t, slot))
        return fill_rows(m, from, tensor, slot, values, err);
    for (int64_t at = 0, n; (n = piece_size(m, t, slot, at)); at += n) {
        RLF_TRY(rlf_weights_source_read(m, from, tensor, at, n, values, err));
        if (from->state)
            RLF_TRY(read_state(m, from->state, 0, tensor, at, n, values, err));
        RLF_TRY(put(m, &weights, slot, at, n, values, err));
    }
    return RLF_OK;
}

/* Tensor `first` of the whole and those behind it. */
static rlf_status
fill_from(rlf_model *m, const rlf_weights_source *from, int first, rlf_err *err)
{
    const rlf_table *t = m->table;
    float *values;
    RLF_TRY(slot_buffer(m, err, &values));
    rlf_status status = RLF_OK;
    for (int i = first; i < t->whole->n_slots; i++) {
        RLF_TRY_GOTO(note_saved(m, from, i, err), done);
        if (t->own[i] >= 0)
            RLF_TRY_GOTO(fill_tensor(m, from, i, values, err), done);
    }
    status = rlf_model_changed(m, err);
done:
    free(values);
    return status;
}

static const rlf_weights_origin *
keep_origin(rlf_arena *arena, const rlf_weights_origin *origin)
{
    rlf_weights_origin *kept = RLF_NEW(arena, rlf_weights_origin);
    const rlf_table **copies =
        RLF_NEW_ARRAY(arena, const rlf_table *, origin->n_copies);
    for (int i = 0; i < origin->n_copies; i++)
        copies[i] = origin->copies[i];
    *kept = *origin;
    kept->copies = copies;
    kept->dir = origin->dir ? rlf_arena_strdup(arena, origin->dir) : NULL;
    kept->adapter =
        origin->adapter ? rlf_arena_strdup(arena, origin->adapter) : NULL;
    return kept;
}

rlf_status
rlf_weights_fill(rlf_model *m, const rlf_weights_origin *origin, rlf_err *err)
{
    rlf_weights_source from;
    rlf_status status =
        rlf_weights_source_open(m->table->whole, origin, err, &from);
    if (status >= 0)
        status = fill_from(m, &from, 0, err);
    rlf_weights_source_close(&from);
    if (m->by_layer)
        m->origin = keep_origin(m->arena, origin);
    return status;
}

/* ---- saving ---- */

/* The type of a tensor in the files that are written. */
static rlf_element
written(const rlf_model *m, int tensor)
{
    return m->options.save_f32 ? RLF_ELEMENT_F32
                               : (rlf_element)m->saved[tensor];
}

static bool
is_writer(const rlf_model *m)
{
    return m->table->cut.rank == 0 && m->table->cut.stage == 0;
}

static rlf_status
get_own(const rlf_model *m, const piece *from, const rlf_slot *slot,
        float *part, rlf_err *err)
{
    int64_t at, n;
    float *floats;
    if (!(n = piece_part(from, slot, &at, &floats)))
        return RLF_OK;
    RLF_TRY(rlf_queue_copy(m->queue, part + at, floats,
                           (size_t)n * sizeof(float), from->from, err));
    return rlf_queue_sync(m->queue, err);
}

/* A tensor of what all ranks of this stage have; `values` are set on rank 0 of
 * the first replica. */
static rlf_status
get_here(const rlf_model *m, const piece *from, const rlf_slot *slot,
         float *values, rlf_err *err)
{
    bool whole = slot->count == rlf_slot_file_count(slot);
    size_t bytes = (size_t)slot->count * sizeof(float);
    float *part = whole ? values : rlf_try_malloc(bytes);
    if (!part)
        return rlf_fail_memory(err, bytes, "a part of a tensor");
    rlf_status status = get_own(m, from, slot, part, err);
    if (status >= 0 && from->sliced)
        status = rlf_parallel_collect_slot(m, slot, part, err);
    if (status >= 0 && !whole && (!from->sliced || m->slices.own == 0))
        status = rlf_parallel_gather(m, slot, part, err, values);
    if (!whole)
        free(part);
    return status;
}

/* Reads a tensor of a model by layer, as it was filled. */
static rlf_status
get_from_origin(const rlf_model *m, int tensor, int64_t at, int64_t n,
                float *values, rlf_err *err)
{
    rlf_weights_source from;
    if (!is_writer(m))
        return RLF_OK;
    rlf_status status =
        rlf_weights_source_open(m->table->whole, m->origin, err, &from);
    if (status >= 0)
        status = rlf_weights_source_read(m, &from, tensor, at, n, values, err);
    rlf_weights_source_close(&from);
    return status;
}

/* The first stage that has a tensor of the whole. */
static int
holder(const rlf_model *m, int tensor)
{
    int stage = 0;
    while (m->stage[stage].table->own[tensor] < 0)
        stage++;
    return stage;
}

/* All of a tensor of the whole, which some stage has. */
static rlf_status
get_whole(const rlf_model *m, const piece *from, int tensor, float *values,
          rlf_err *err)
{
    const rlf_table *t = m->table;
    int own = t->own[tensor], stage = holder(m, tensor), here = t->cut.stage;
    int64_t n = rlf_slot_file_count(&t->whole->slots[tensor]);
    if (here == stage)
        RLF_TRY(get_here(m, from, &t->slots[own], values, err));
    if (stage == 0 || t->cut.rank != 0 || (from->sliced && m->slices.own != 0))
        return RLF_OK;
    if (here == stage)
        return rlf_parallel_send_host(m, 0, values, n, err);
    return here ? RLF_OK : rlf_parallel_receive_host(m, stage, values, n, err);
}

/* Of a tensor of the whole n values from `at` on, all of them unless the model
 * is plain; `values` are set on rank 0 of the first replica's first stage. */
static rlf_status
get(const rlf_model *m, const piece *from, int tensor, int64_t at, int64_t n,
    float *values, rlf_err *err)
{
    if (!from->floats)
        return get_from_origin(m, tensor, at, n, values, err);
    if (!is_plain(m))
        return get_whole(m, from, tensor, values, err);
    const rlf_table *t = m->table;
    const float *floats = from->floats + t->slots[t->own[tensor]].offset + at;
    RLF_TRY(rlf_queue_copy(m->queue, values, floats, (size_t)n * sizeof(float),
                           from->from, err));
    return rlf_queue_sync(m->queue, err);
}

/* A place that tensors go to, one behind the other: a file, or memory. On ranks
 * that do not write it is neither. */
typedef struct target {
    rlf_tensor_writer *writer;
    float *memory; /* where the next ones go */
} target;

static rlf_status
put_out(target *to, const float *values, size_t n, rlf_err *err)
{
    if (to->writer)
        return rlf_tensor_writer_add_f32(to->writer, values, n, err);
    if (to->memory) {
        memcpy(to->memory, values, n * sizeof *values);
        to->memory += n;
    }
    return RLF_OK;
}

/* A tensor of the whole, by way of `values`, to its place. */
static rlf_status
write_tensor(const rlf_model *m, const piece *from, int tensor, float *values,
             target *to, rlf_err *err)
{
    const rlf_table *whole = m->table->whole;
    const rlf_slot *slot = &whole->slots[tensor];
    for (int64_t at = 0, n; (n = piece_size(m, whole, slot, at)); at += n) {
        RLF_TRY(get(m, from, tensor, at, n, values, err));
        RLF_TRY(put_out(to, values, (size_t)n, err));
    }
    return RLF_OK;
}

static rlf_status
save_text(const char *dir, const char *name, const char *text, rlf_arena *arena,
          rlf_err *err)
{
    return rlf_file_write(rlf_path_join(arena, dir, name), text, strlen(text),
                          err);
}

/* The same in the form of the files, by way of `tensor`, which has the parts
 * before it. */
static rlf_status
write_formed(const rlf_model *m, int i, float *values, float *tensor,
             target *to, rlf_err *err)
{
    const rlf_slot *slot = &m->table->whole->slots[i];
    const piece weights = saved_of(m);
    if (rlf_form_is_plain(slot))
        return write_tensor(m, &weights, i, values, to, err);
    RLF_TRY(get(m, &weights, i, 0, rlf_slot_file_count(slot), values, err));
    if (!to->writer && !to->memory)
        return RLF_OK;
    rlf_form_put(slot, values, tensor);
    int64_t cols = slot->file_cols ? slot->file_cols : 1;
    return rlf_form_ends(slot)
               ? put_out(to, tensor, (size_t)(slot->form.rows * cols), err)
               : RLF_OK;
}

/* Declares a tensor of the checkpoint's state. */
static rlf_tensor
declare(const char *name, const rlf_slot *slot, rlf_element element)
{
    return (rlf_tensor){
        .name = name,
        .element = element,
        .n_dims = slot->file_cols ? 2 : 1,
        .shape = {(uint64_t)slot->file_rows, (uint64_t)slot->file_cols}};
}

static rlf_status
save_tensors(const rlf_model *m, const char *path, rlf_arena *arena,
             rlf_err *err)
{
    const rlf_table *t = m->table->whole;
    RLF_VEC(rlf_tensor) list = {0};
    for (int i = first_saved(m); i < t->n_slots; i++)
        if (!t->slots[i].form.first) {
            RLF_PUSH_IN(arena, &list, rlf_form_tensor(&t->slots[i]));
            list.data[list.count - 1].element = written(m, i);
        }
    target to = {0};
    float *values = NULL, *tensor = NULL;
    rlf_status status = RLF_OK;
    int64_t formed = is_writer(m) ? form_floats(m) : 0;
    RLF_TRY_GOTO(float_buffer(formed, err, &tensor), done);
    RLF_TRY_GOTO(slot_buffer(m, err, &values), done);
    if (is_writer(m))
        RLF_TRY_GOTO(rlf_tensor_writer_open(path, list.data, list.count, NULL,
                                            0, err, &to.writer),
                     done);
    for (int i = first_saved(m); i < t->n_slots; i++)
        RLF_TRY_GOTO(write_formed(m, i, values, tensor, &to, err), done);
    if (to.writer)
        status = rlf_tensor_writer_commit(to.writer, err, NULL, NULL);
    to.writer = NULL;
done:
    free(values);
    free(tensor);
    rlf_tensor_writer_drop(to.writer);
    return status;
}

/* Names and shapes of the tensors, and a block for all of them. */
static rlf_status
prepare(const rlf_model *m, rlf_gathered *out, rlf_err *err)
{
    const rlf_table *t = m->table->whole;
    RLF_VEC(rlf_gathered_tensor) list = {0};
    size_t floats = 0;
    for (int i = first_saved(m); i < t->n_slots; i++) {
        if (t->slots[i].form.first)
            continue;
        const rlf_tensor x = rlf_form_tensor(&t->slots[i]);
        const rlf_gathered_tensor one = {
            .name = rlf_arena_strdup(out->arena, x.name),
            .rows = x.shape[0],
            .cols = x.n_dims > 1 ? x.shape[1] : 1};
        RLF_PUSH_IN(out->arena, &list, one);
        floats += (size_t)(one.rows * one.cols);
    }
    out->block = rlf_try_malloc(floats * sizeof(float));
    if (!out->block)
        return rlf_fail_memory(err, floats * sizeof(float),
                               "the weights of a model");
    float *at = out->block;
    for (size_t i = 0; i < list.count; i++) {
        list.data[i].data = at;
        at += list.data[i].rows * list.data[i].cols;
    }
    out->data = list.data;
    out->count = list.count;
    return RLF_OK;
}

rlf_status
rlf_weights_gather(const rlf_model *m, rlf_gathered *out, rlf_err *err)
{
    const rlf_table *t = m->table->whole;
    bool takes = out && is_writer(m);
    float *values = NULL, *tensor = NULL;
    rlf_status status = RLF_OK;
    if (takes)
        RLF_TRY(prepare(m, out, err));
    target to = {.memory = takes ? out->block : NULL};
    RLF_TRY_GOTO(float_buffer(takes ? form_floats(m) : 0, err, &tensor), done);
    RLF_TRY_GOTO(slot_buffer(m, err, &values), done);
    for (int i = first_saved(m); i < t->n_slots; i++)
        RLF_TRY_GOTO(write_formed(m, i, values, tensor, &to, err), done);
done:
    free(values);
    free(tensor);
    return status;
}

/* All but the tensors. */
static rlf_status
save_texts(const rlf_model *m, const char *dir, rlf_arena *arena, rlf_err *err)
{
    const rlf_model_config *c = &m->table->config;
    if (!is_writer(m))
        return RLF_OK;
    RLF_TRY(rlf_dir_make_in(rlf_path_parent(arena, dir), dir, err));
    if (rlf_table_adapted(m->table))
        return save_text(dir, RLF_ADAPTER_CONFIG,
                         rlf_adapter_config_text(c, m->table->head, arena),
                         arena, err);
    bool types[RLF_ELEMENT_COUNT] = {0};
    for (int i = 0; i < m->table->whole->n_slots; i++)
        types[written(m, i)] = true;
    const char *text;
    RLF_TRY(rlf_model_config_text(c, m->table->head, types, arena, err, &text));
    RLF_TRY(save_text(dir, "config.json", text, arena, err));
    return save_text(dir, "generation_config.json",
                     rlf_model_config_generation(c, arena), arena, err);
}

rlf_status
rlf_weights_save(const rlf_model *m, const char *dir, rlf_err *err)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_status status = save_texts(m, dir, arena, err);
    if (status >= 0)
        status = save_tensors(m,
                              rlf_path_join(arena, dir,
                                            rlf_table_adapted(m->table)
                                                ? RLF_ADAPTER_TENSORS
                                                : "model.safetensors"),
                              arena, err);
    rlf_arena_free(arena);
    return status;
}

/* ---- checkpoints ---- */

/* The blocks of a checkpoint's state, in the order of the file. */
static const char *const block_names[] = {"master", "moment1", "moment2"};

static piece
state_piece(const rlf_model *m, size_t which)
{
    const rlf_slices *s = &m->slices;
    if (which == 0)
        return saved_of(m);
    return (piece){.floats = which == 1 ? m->moment1 : m->moment2,
                   .first = s->first,
                   .last = s->last,
                   .sliced = s->n > 1,
                   .to = RLF_COPY_TO_DEVICE,
                   .from = RLF_COPY_TO_HOST};
}

/* Has a state this block of a tensor, whose type in the files beside it is
 * `element`? */
static bool
in_state(const rlf_model *m, size_t which, rlf_element element)
{
    return which == 0 ? element != RLF_ELEMENT_F32 : m->trained;
}

rlf_status
rlf_weights_save_state(const rlf_model *m, const char *path, rlf_err *err)
{
    const rlf_table *t = m->table->whole;
    bool first = m->slices.own == 0; /* of the replicas that have slices */
    rlf_arena *arena = rlf_arena_new();
    RLF_VEC(rlf_tensor) list = {0};
    for (size_t b = 0; b < RLF_COUNT(block_names); b++)
        for (int i = first_saved(m); i < t->n_slots; i++)
            if (in_state(m, b, written(m, i)))
                RLF_PUSH_IN(
                    arena, &list,
                    declare(rlf_arena_printf(arena, "%s.%s", block_names[b],
                                             t->slots[i].name),
                            &t->slots[i], RLF_ELEMENT_F32));
    const char *metadata[] = {
        "steps", rlf_arena_printf(arena, "%" PRId64, m->steps), "version",
        rlf_arena_printf(arena, "%" PRIu64, m->version)};
    target to = {0};
    float *values;
    RLF_TRY(slot_buffer(m, err, &values));
    rlf_status status = RLF_OK;
    if (is_writer(m) && first)
        RLF_TRY_GOTO(rlf_tensor_writer_open(path, list.data, list.count,
                                            metadata, 2, err, &to.writer),
                     done);
    for (size_t b = 0; b < RLF_COUNT(block_names); b++)
        for (int i = first_saved(m); i < t->n_slots; i++) {
            const piece from = state_piece(m, b);
            if (in_state(m, b, written(m, i)) && (b > 0 || first))
                RLF_TRY_GOTO(write_tensor(m, &from, i, values, &to, err),
                             done);
        }
    if (to.writer)
        status = rlf_tensor_writer_commit(to.writer, err, NULL, NULL);
    to.writer = NULL;
done:
    rlf_tensor_writer_drop(to.writer);
    free(values);
    rlf_arena_free(arena);
    return status;
}

/* Reads n values of a tensor of a block of the state, from `at` on; nothing
 * where there is none. */
static rlf_status
read_state(const rlf_model *m, const rlf_safetensors *file, size_t which,
           int tensor, int64_t at, int64_t n, float *values, rlf_err *err)
{
    const rlf_slot *slot = &m->table->whole->slots[tensor];
    char name[320];
    if (!in_state(m, which, (rlf_element)m->saved[tensor]))
        return RLF_OK;
    snprintf(name, sizeof name, "%s.%s", block_names[which], slot->name);
    const rlf_tensor *x = rlf_safetensors_get(file, name);
    if (!x)
        return rlf_fail(err, RLF_USER,
                        "the state of the model has no tensor %s", name);
    const rlf_tensor want = declare(name, slot, RLF_ELEMENT_F32);
    RLF_TRY(rlf_weights_source_fits(&want, x, err));
    return rlf_tensor_read_f32(x, (uint64_t)at, (uint64_t)n, err, values);
}

static rlf_status
restore_tensor(rlf_model *m, const rlf_safetensors *file, size_t which,
               int tensor, float *values, rlf_err *err)
{
    const rlf_table *t = m->table;
    const rlf_slot *slot = &t->slots[t->own[tensor]];
    const piece to = state_piece(m, which);
    for (int64_t at = 0, n; (n = piece_size(m, t, slot, at)); at += n) {
        RLF_TRY(read_state(m, file, which, tensor, at, n, values, err));
        RLF_TRY(put(m, &to, slot, at, n, values, err));
    }
    return RLF_OK;
}

static rlf_status
restore_moments(rlf_model *m, const rlf_safetensors *file, rlf_err *err)
{
    const rlf_table *t = m->table;
    float *values;
    RLF_TRY(slot_buffer(m, err, &values));
    rlf_status status = RLF_OK;
    for (size_t b = 1; b < RLF_COUNT(block_names); b++)
        for (int i = first_saved(m); i < t->whole->n_slots; i++)
            if (t->own[i] >= 0 && m->trained)
                RLF_TRY_GOTO(restore_tensor(m, file, b, i, values, err), done);
done:
    free(values);
    return status;
}

static rlf_status
restore_from(rlf_model *m, const rlf_weights_source *from, const char *path,
             rlf_err *err)
{
    const char *steps = rlf_safetensors_metadata(from->state, "steps");
    const char *version = rlf_safetensors_metadata(from->state, "version");
    if (!steps || !version)
        return rlf_fail(err, RLF_USER,
                        "%s is not the state of a model: it counts no steps",
                        path);
    RLF_TRY(fill_from(m, from, first_saved(m), err));
    RLF_TRY(restore_moments(m, from->state, err));
    m->steps = strtoll(steps, NULL, 10);
    m->version = strtoull(version, NULL, 10);
    return RLF_OK;
}

rlf_status
rlf_weights_restore(rlf_model *m, const char *dir, const char *path,
                    rlf_err *err)
{
    bool adapted = rlf_table_adapted(m->table);
    const rlf_weights_origin origin = {.dir = adapted ? NULL : dir,
                                       .adapter = adapted ? dir : NULL};
    rlf_weights_source from;
    rlf_status status =
        rlf_weights_source_open(m->table->whole, &origin, err, &from);
    if (status >= 0)
        status = rlf_safetensors_open(path, err, &from.state);
    if (status >= 0)
        status = restore_from(m, &from, path, err);
    rlf_weights_source_close(&from);
    return status;
}

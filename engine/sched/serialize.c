/* Values as bytes: see serialize.h. */
#include "engine/sched/serialize.h"

#include "engine/io/records.h"

#include <stdlib.h>
#include <string.h>

#define NO_SPACE UINT32_MAX

/* Bytes of the file that are held at once. What is longer passes by. */
enum { PIECE = 1 << 16 };

/* It has failed, which *k->err says: nothing is kept or read any more. */
static void
stop(rlf_serializer *k, rlf_status status)
{
    k->status = k->status < 0 ? k->status : status;
    k->torn = true;
}

rlf_status
rlf_serializer_check(const rlf_serializer *k)
{
    return k->status;
}

void *
rlf_deserialize_room(rlf_serializer *k, size_t n)
{
    void *p = NULL;
    rlf_status status = rlf_arena_try(
        k->arena, n, "what is made ahead, in a checkpoint", k->err, &p);
    if (status < 0)
        stop(k, status);
    return p;
}

/* ---- the file ---- */

static char *
piece_of(rlf_serializer *k)
{
    if (!k->piece.p)
        k->piece.p = rlf_malloc(PIECE);
    return k->piece.p;
}

static void
write_out(rlf_serializer *k, const void *p, size_t n)
{
    rlf_status status =
        k->status < 0 ? k->status : rlf_writer_add(k->to, p, n, k->err);
    if (status < 0)
        stop(k, status);
}

rlf_status
rlf_serialize_end(rlf_serializer *k)
{
    if (k->piece.n)
        write_out(k, k->piece.p, k->piece.n);
    k->piece.n = 0;
    return k->status;
}

void
rlf_serialize_bytes(rlf_serializer *k, const void *p, size_t n)
{
    k->at += n;
    if (!k->to || !n)
        return;
    if (n > PIECE - k->piece.n)
        rlf_serialize_end(k);
    if (n > PIECE) {
        write_out(k, p, n);
    } else {
        memcpy(piece_of(k) + k->piece.n, p, n);
        k->piece.n += n;
    }
}

/* The piece of the file from `at` on. */
static rlf_status
read_piece(rlf_serializer *k)
{
    uint64_t rest = rlf_infile_size(k->from) - k->at;
    k->piece.at = k->at;
    k->piece.n = rest < PIECE ? (size_t)rest : PIECE;
    return rlf_infile_read(k->from, k->at, piece_of(k), k->piece.n, k->err);
}

static rlf_status
read_in(rlf_serializer *k, char *to, size_t n)
{
    while (n) {
        uint64_t in = k->at - k->piece.at; /* huge, if it lies before */
        size_t most = n;
        if (in < k->piece.n) {
            if (most > k->piece.n - in)
                most = (size_t)(k->piece.n - in);
            memcpy(to, k->piece.p + in, most);
        } else if (n >= PIECE) {
            rlf_status status = rlf_infile_read(k->from, k->at, to, n, k->err);
            if (status < 0)
                return status;
        } else {
            rlf_status status = read_piece(k);
            if (status < 0)
                return status;
            continue;
        }
        to += most;
        k->at += most;
        n -= most;
    }
    return RLF_OK;
}

/* Bytes that are left to read. */
static uint64_t
left(const rlf_serializer *k)
{
    return k->at < k->end ? k->end - k->at : 0;
}

void
rlf_deserialize_bytes(rlf_serializer *k, void *to, size_t n)
{
    rlf_status status = RLF_OK;
    k->torn |= n > left(k);
    if (!k->torn)
        status = read_in(k, to, n);
    if (status < 0)
        stop(k, status);
    if (k->torn)
        memset(to, 0, n);
}

/* ---- numbers and texts ---- */

void
rlf_serialize_text(rlf_serializer *k, rlf_str text)
{
    uint64_t n = text.n;
    RLF_SERIALIZE(k, n);
    rlf_serialize_bytes(k, text.p, text.n);
}

rlf_str
rlf_deserialize_text(rlf_serializer *k)
{
    uint64_t n;
    RLF_DESERIALIZE(k, n);
    if (n > left(k))
        k->torn = true;
    if (k->torn)
        return RLF_STR("");
    char *p = rlf_deserialize_room(k, n + 1);
    if (!p)
        return RLF_STR("");
    rlf_deserialize_bytes(k, p, n);
    p[n] = 0;
    return (rlf_str){p, n};
}

/* An array that may be absent. */
static void
serialize_array(rlf_serializer *k, const void *array, size_t n, size_t size)
{
    uint8_t has = array != NULL;
    RLF_SERIALIZE(k, has);
    if (has)
        rlf_serialize_bytes(k, array, n * size);
}

static void *
deserialize_array(rlf_serializer *k, size_t n, size_t size)
{
    uint8_t has;
    RLF_DESERIALIZE(k, has);
    if (!has)
        return NULL;
    if (n > left(k) / size)
        k->torn = true;
    if (k->torn)
        return NULL;
    void *array = rlf_deserialize_room(k, n * size + 1);
    if (array)
        rlf_deserialize_bytes(k, array, n * size);
    return array;
}

/* ---- what outlives a step, by name ---- */

static const rlf_space *
rows_of(const rlf_serializer *k, int resource)
{
    const rlf_data_class *data =
        resource < 0 ? NULL : k->graph->resources.data[resource].class->data;
    return data ? data->rows(k->resource[resource]) : NULL;
}

static const struct rlf_reader *
reader_of(const rlf_serializer *k, int resource)
{
    const rlf_model_class *model =
        resource < 0 ? NULL : k->graph->resources.data[resource].class->model;
    return model ? model->reader(k->resource[resource]) : NULL;
}

/* The resource whose rows, or whose reader, it is; -1: none. */
static int
owner_of(const rlf_serializer *k, const void *thing)
{
    for (int i = 0; thing && i < (int)k->graph->resources.count; i++)
        if (rows_of(k, i) == thing || (const void *)reader_of(k, i) == thing)
            return i;
    return -1;
}

static void
serialize_owner(rlf_serializer *k, int resource)
{
    const char *name =
        resource < 0 ? "" : k->graph->resources.data[resource].name;
    rlf_serialize_text(k, rlf_str_of(name));
}

static int
deserialize_owner(rlf_serializer *k)
{
    rlf_str name = rlf_deserialize_text(k);
    for (size_t i = 0; i < k->graph->resources.count; i++)
        if (name.n &&
            rlf_str_eq(name, rlf_str_of(k->graph->resources.data[i].name)))
            return (int)i;
    k->torn |= name.n > 0;
    return -1;
}

/* ---- spaces ---- */

static const rlf_domain *
domain_of(const rlf_serializer *k, const rlf_space *space)
{
    return rlf_domains_get(&k->graph->domains, space->domain);
}

/* The number of a space: found, or the next behind those that it hangs from. */
static uint32_t
number_of(rlf_serializer *k, const rlf_space *space)
{
    if (!space)
        return NO_SPACE;
    for (uint32_t i = 0; i < k->known.count; i++)
        if (k->known.data[i].space == space)
            return i;
    rlf_known_space new = {.space = (rlf_space *)space};
    if (owner_of(k, space) < 0)
        new.n_up = domain_of(k, space)->n_up;
    for (int i = 0; i < new.n_up; i++)
        new.up[i] = number_of(k, space->up[i].to);
    RLF_PUSH(&k->known, new);
    return (uint32_t)k->known.count - 1;
}

static void
serialize_space(rlf_serializer *k, const rlf_space *space)
{
    uint32_t number = number_of(k, space);
    RLF_SERIALIZE(k, number);
}

static void
serialize_known(rlf_serializer *k, const rlf_known_space *known)
{
    const rlf_space *space = known->space;
    int owner = owner_of(k, space);
    serialize_owner(k, owner);
    RLF_SERIALIZE(k, known->n_up);
    RLF_SERIALIZE(k, space->count);
    for (int i = 0; i < known->n_up; i++) {
        RLF_SERIALIZE(k, known->up[i]);
        serialize_array(k, space->up[i].index, space->count, sizeof(uint32_t));
    }
    serialize_array(k, owner < 0 ? space->identity : NULL, space->count,
                    sizeof(uint64_t));
    serialize_array(k, space->length, space->count, sizeof(uint32_t));
}

void
rlf_serialize_spaces(rlf_serializer *k)
{
    uint32_t n = (uint32_t)k->known.count;
    RLF_SERIALIZE(k, n);
    for (uint32_t i = 0; i < n; i++)
        serialize_known(k, &k->known.data[i]);
}

/* Rows of tokens are packed. */
static void
place_tokens(rlf_serializer *k, rlf_space *space)
{
    uint64_t *offset =
        rlf_deserialize_room(k, (space->count + 1) * sizeof *offset);
    space->extent = 0;
    for (uint32_t i = 0; offset && i < space->count; i++) {
        offset[i] = space->extent;
        space->extent += space->length[i];
    }
    space->offset = offset;
}

/* A space whose domain is not known before a value stands on it. */
static rlf_known_space
deserialize_new_space(rlf_serializer *k)
{
    rlf_space *space = RLF_NEW(k->arena, rlf_space);
    rlf_known_space new = {.space = space};
    const rlf_space *rows = rows_of(k, deserialize_owner(k));
    space->domain = -1;
    RLF_DESERIALIZE(k, new.n_up);
    RLF_DESERIALIZE(k, space->count);
    space->extent = space->count;
    k->torn |= new.n_up < 0 || new.n_up > RLF_DOMAIN_UPS;
    for (int i = 0; i < new.n_up && !k->torn; i++) {
        RLF_DESERIALIZE(k, new.up[i]);
        space->up[i].index =
            deserialize_array(k, space->count, sizeof(uint32_t));
    }
    space->identity = deserialize_array(k, space->count, sizeof(uint64_t));
    space->length = deserialize_array(k, space->count, sizeof(uint32_t));
    if (space->length && !k->torn)
        place_tokens(k, space);
    if (rows) {
        k->torn |= space->count != rows->count; /* other data */
        new.space = (rlf_space *)rows;
    }
    return new;
}

void
rlf_deserialize_spaces(rlf_serializer *k)
{
    uint32_t n;
    RLF_DESERIALIZE(k, n);
    for (uint32_t i = 0; i < n && !k->torn; i++) {
        rlf_known_space new = deserialize_new_space(k);
        RLF_PUSH(&k->known, new);
    }
}

/* The space of that number, as one of `domain`. */
static rlf_space *
space_at(rlf_serializer *k, uint32_t number, int domain)
{
    if (number == NO_SPACE || k->torn)
        return NULL;
    if (number >= k->known.count) {
        k->torn = true;
        return NULL;
    }
    const rlf_known_space *known = &k->known.data[number];
    rlf_space *space = known->space;
    if (space->domain < 0) {
        const rlf_domain *d = rlf_domains_get(&k->graph->domains, domain);
        space->domain = domain;
        k->torn |= d->n_up != known->n_up;
        for (int i = 0; i < d->n_up && !k->torn; i++)
            space->up[i].to = known->up[i] < number || known->up[i] == NO_SPACE
                                  ? space_at(k, known->up[i], d->up[i])
                                  : NULL;
    }
    k->torn |= space->domain != domain;
    return k->torn ? NULL : space;
}

static rlf_space *
deserialize_space(rlf_serializer *k, int domain)
{
    uint32_t number;
    RLF_DESERIALIZE(k, number);
    return space_at(k, number, domain);
}

/* ---- columns ---- */

static bool
has_tokens(const rlf_serializer *k, const rlf_space *space)
{
    return space && domain_of(k, space)->kind == RLF_DOMAIN_TOKENS;
}

/* The values of a row of a column's space: where, and how many. */
static uint64_t
cells(const rlf_serializer *k, const rlf_space *space, uint32_t row,
      uint32_t *n)
{
    bool tokens = has_tokens(k, space);
    *n = tokens ? space->length[row] : 1;
    return tokens ? space->offset[row] : row;
}

static void
serialize_column(rlf_serializer *k, const rlf_column *c)
{
    uint8_t what[2] = {c->number != NULL, c->text != NULL};
    serialize_space(k, c->space);
    RLF_SERIALIZE(k, what);
    uint32_t rows = c->space ? c->space->count : 1, n;
    for (uint32_t i = 0; i < rows; i++) {
        uint64_t first = cells(k, c->space, i, &n);
        if (c->number)
            rlf_serialize_bytes(k, c->number + first, n * sizeof *c->number);
        for (uint32_t t = 0; c->text && t < n; t++)
            rlf_serialize_text(k, c->text[first + t]);
    }
}

static rlf_column
deserialize_column(rlf_serializer *k, int domain)
{
    uint8_t what[2];
    rlf_column c = {.space = deserialize_space(k, domain)};
    RLF_DESERIALIZE(k, what);
    uint64_t extent = c.space ? c.space->extent : 1;
    uint32_t rows = c.space ? c.space->count : 1, n;
    if (c.space && !has_tokens(k, c.space))
        extent = rows;
    if (k->torn || ((what[0] || what[1]) && extent > left(k) / 8)) {
        k->torn = true;
        return (rlf_column){0};
    }
    if (what[0])
        c.number = rlf_deserialize_room(k, (extent + 1) * sizeof *c.number);
    if (what[1])
        c.text = rlf_deserialize_room(k, (extent + 1) * sizeof *c.text);
    for (uint32_t i = 0; i < rows && !k->torn; i++) {
        uint64_t first = cells(k, c.space, i, &n);
        if (c.number)
            rlf_deserialize_bytes(k, c.number + first, n * sizeof *c.number);
        for (uint32_t t = 0; c.text && t < n; t++)
            c.text[first + t] = rlf_deserialize_text(k);
    }
    return c;
}

/* ---- sets ---- */

static void
serialize_prompt(rlf_serializer *k, const rlf_prompt *p)
{
    uint8_t has = p->text.p != NULL;
    RLF_SERIALIZE(k, has);
    rlf_serialize_text(k, p->text);
    RLF_SERIALIZE(k, p->n_messages);
    for (uint32_t i = 0; i < p->n_messages; i++) {
        rlf_serialize_text(k, p->messages[i].role);
        rlf_serialize_text(k, p->messages[i].content);
        rlf_serialize_text(k, p->messages[i].json);
    }
    rlf_serialize_text(k, p->tools);
    RLF_SERIALIZE(k, p->n_ids);
    serialize_array(k, p->ids, p->n_ids, sizeof *p->ids);
}

static rlf_prompt
deserialize_prompt(rlf_serializer *k)
{
    rlf_prompt p = {0};
    uint8_t has;
    RLF_DESERIALIZE(k, has);
    rlf_str text = rlf_deserialize_text(k);
    if (has)
        p.text = text;
    RLF_DESERIALIZE(k, p.n_messages);
    k->torn |= p.n_messages > left(k);
    if (k->torn)
        return p;
    rlf_message *messages = NULL;
    if (p.n_messages)
        messages = rlf_deserialize_room(k, p.n_messages * sizeof *messages);
    for (uint32_t i = 0; i < p.n_messages && !k->torn; i++) {
        messages[i].role = rlf_deserialize_text(k);
        messages[i].content = rlf_deserialize_text(k);
        messages[i].json = rlf_deserialize_text(k);
    }
    p.messages = messages;
    p.tools = rlf_deserialize_text(k);
    RLF_DESERIALIZE(k, p.n_ids);
    p.ids = deserialize_array(k, p.n_ids, sizeof *p.ids);
    return p;
}

static void
serialize_sample(rlf_serializer *k, const rlf_sample *s)
{
    uint8_t finished = s->finished;
    rlf_serialize_text(k, s->text);
    RLF_SERIALIZE(k, finished);
    RLF_SERIALIZE(k, s->n_ids);
    serialize_array(k, s->ids, s->n_ids, sizeof *s->ids);
    const rlf_dialog none = {0}, *dialog = s->dialog ? s->dialog : &none;
    RLF_SERIALIZE(k, dialog->n_ids);
    RLF_SERIALIZE(k, dialog->n_runs);
    serialize_array(k, dialog->ids, dialog->n_ids, sizeof *dialog->ids);
    serialize_array(k, dialog->runs, dialog->n_runs, sizeof *dialog->runs);
}

/* Are the runs within the tokens, and together n of them? */
static bool
runs_fit(const rlf_dialog *dialog, uint32_t n)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < dialog->n_runs; i++) {
        rlf_token_run run = dialog->runs[i];
        if (run.from < at || run.to <= run.from || run.to > dialog->n_ids)
            return false;
        at = run.to;
        n -= run.to - run.from;
    }
    return n == 0;
}

/* `n`: tokens in its runs. */
static const rlf_dialog *
deserialize_dialog(rlf_serializer *k, uint32_t n)
{
    rlf_dialog dialog = {0}, *kept;
    RLF_DESERIALIZE(k, dialog.n_ids);
    RLF_DESERIALIZE(k, dialog.n_runs);
    dialog.ids = deserialize_array(k, dialog.n_ids, sizeof *dialog.ids);
    dialog.runs = deserialize_array(k, dialog.n_runs, sizeof *dialog.runs);
    if (k->torn || !dialog.ids)
        return NULL;
    if (!dialog.runs || !runs_fit(&dialog, n)) {
        k->torn = true;
        return NULL;
    }
    kept = rlf_deserialize_room(k, sizeof *kept);
    if (kept)
        *kept = dialog;
    return kept;
}

static rlf_sample
deserialize_sample(rlf_serializer *k)
{
    rlf_sample s = {0};
    uint8_t finished;
    s.text = rlf_deserialize_text(k);
    RLF_DESERIALIZE(k, finished);
    RLF_DESERIALIZE(k, s.n_ids);
    s.finished = finished;
    s.ids = deserialize_array(k, s.n_ids, sizeof *s.ids);
    s.dialog = deserialize_dialog(k, s.n_ids);
    return s;
}

static void
serialize_rows(rlf_serializer *k, const rlf_rows *rows)
{
    uint8_t has_samples = rows->sample != NULL;
    serialize_space(k, rows->prompts);
    serialize_space(k, rows->samples);
    serialize_space(k, rows->tokens);
    serialize_owner(k, owner_of(k, rows->reader));
    RLF_SERIALIZE(k, rows->temperature);
    RLF_SERIALIZE(k, rows->lag);
    for (uint32_t i = 0; i < rows->prompts->count; i++)
        serialize_prompt(k, &rows->prompt[i]);
    serialize_array(k, rows->data_row, rows->prompts->count,
                    sizeof *rows->data_row);
    RLF_SERIALIZE(k, has_samples);
    for (uint32_t i = 0; has_samples && i < rows->samples->count; i++)
        serialize_sample(k, &rows->sample[i]);
    serialize_column(k, &(rlf_column){rows->tokens, rows->logprob, NULL});
}

static rlf_rows *
deserialize_rows(rlf_serializer *k, const rlf_set *set)
{
    uint8_t has_samples;
    rlf_rows *rows = RLF_NEW(k->arena, rlf_rows);
    rows->set = set;
    rows->prompts = deserialize_space(k, set->prompts);
    rows->samples = deserialize_space(k, set->samples);
    rows->tokens = deserialize_space(k, set->tokens);
    rows->reader = reader_of(k, deserialize_owner(k));
    RLF_DESERIALIZE(k, rows->temperature);
    RLF_DESERIALIZE(k, rows->lag);
    if (k->torn || !rows->prompts || !rows->samples) {
        k->torn = true;
        return rows;
    }
    uint32_t n = rows->prompts->count;
    k->torn |= n > left(k);
    if (k->torn)
        return rows;
    rows->prompt = rlf_deserialize_room(k, (n + 1) * sizeof *rows->prompt);
    for (uint32_t i = 0; i < n && !k->torn; i++)
        rows->prompt[i] = deserialize_prompt(k);
    rows->data_row = deserialize_array(k, n, sizeof *rows->data_row);
    RLF_DESERIALIZE(k, has_samples);
    n = rows->samples->count;
    k->torn |= has_samples && n > left(k);
    if (has_samples && !k->torn)
        rows->sample = rlf_deserialize_room(k, (n + 1) * sizeof *rows->sample);
    for (uint32_t i = 0; has_samples && i < n && !k->torn; i++)
        rows->sample[i] = deserialize_sample(k);
    rows->logprob = deserialize_column(k, set->tokens).number;
    return rows;
}

/* ---- values ---- */

/* Values per word of the vocabulary are never stored. */
static bool
is_stored(const rlf_serializer *k, const rlf_value *value)
{
    return value->kind == RLF_VALUE_SET ||
           rlf_domains_get(&k->graph->domains, value->domain)->kind !=
               RLF_DOMAIN_VOCAB;
}

void
rlf_serialize_content(rlf_serializer *k, const rlf_value *value,
                      const rlf_content *content)
{
    if (!is_stored(k, value))
        return;
    if (value->kind == RLF_VALUE_SET)
        serialize_rows(k, content->rows);
    else
        serialize_column(k, &content->column);
}

rlf_content
rlf_deserialize_content(rlf_serializer *k, const rlf_value *value)
{
    rlf_content content = {0};
    if (!is_stored(k, value))
        return content;
    if (value->kind == RLF_VALUE_SET)
        content.rows = deserialize_rows(k, &k->graph->sets.data[value->set]);
    else
        content.column = deserialize_column(k, value->domain);
    return content;
}

void
rlf_serializer_free(rlf_serializer *k)
{
    RLF_VEC_FREE(&k->known);
    free(k->piece.p);
}

/* Data sets: the resource behind `data d = jsonl(...)`, `mix(...)`,
 * `d.where(c)`.
 *
 * A file can hold out rows (`held_out:`), which are a data set of their own,
 * `d.held_out`: those whose contents have the least digests, so that neither
 * the order of rows nor the seed counts, and rows of one prompt are on one
 * side.
 *
 * Numbers of rows are in memory, texts and chats are read where they are wanted
 * (engine/io/records.h). A data set that is made of others has columns of
 * numbers of its own, and the texts of its members. What moves is the cursor of
 * each draw: the place in the shuffled order of its epoch, and rows that were
 * put off because the step had them already. It is part of the checkpoint. */
#ifndef RLF_NODES_DATA_H
#define RLF_NODES_DATA_H

#include "engine/graph/class.h"
#include "engine/io/records.h"
#include "engine/io/shards.h"

/* The position of one draw of the program. */
typedef struct rlf_cursor {
    uint32_t site;   /* the number of the draw's node */
    uint32_t member; /* the member of a mixture by weights; 0 */
    uint32_t epoch;  /* 0, 1, ... */
    uint32_t index;  /* rows of this epoch's order that were met */
    uint64_t drawn;  /* rows drawn in the run */
    struct {
        uint32_t *data; /* rows put off, the oldest first */
        size_t count, room;
    } later;
    uint32_t *order; /* the order of `epoch`; NULL: not made yet */
    /* The rows that the step `step` has already, between its draws; not part of
     * a checkpoint, which is written when a step is over. */
    uint32_t step;
    bool *taken;
    uint32_t n_taken;
} rlf_cursor;

typedef struct rlf_data rlf_data;
struct rlf_data {
    rlf_arena *arena;
    const char *name;
    rlf_records records;
    const rlf_record_column *prompt; /* NULL: prompts are empty */
    /* Tokens of a prompt of a file, at most; 0: no limit. */
    uint32_t max_prompt;
    bool conversations;              /* prompts are whole conversations, which
                                        converse() reads */
    bool tools; /* a file has a column of that name with the tools of its chats
                 */
    const rlf_arg *chats; /* the argument that made chats of prompts that are
                             texts; NULL: nothing did */
    struct {
        bool made;             /* prompts are chats, as the program says, */
        bool of_texts;         /* chats are made of texts in the file */
        const rlf_str *system; /* a system message that is put in front where
                                  there is none; or NULL */
    } chat;                    /* how chats of a file are made */
    bool drops;                      /* rows that no step can use go */
    uint64_t dropped; /* rows that were dropped for their texts */
    const char *why;                 /* the first of them: a sentence */
    rlf_buf warnings;                /* lines: of lengths */
    rlf_data *rest; /* the rows of a file that are held out, or NULL */
    uint64_t equal;                  /* rows left out because they equal such */
    rlf_space *space;                /* all rows, once settled */
    /* Made of others: where has one member and rows of it; what is held out has
     * the member that it is held out of, and its `rest`; mix has all rows of
     * its members, member m's from row first[m] on. */
    rlf_data **members;
    size_t n_members;
    bool owns;           /* the members are its own, to be freed with it */
    uint32_t *row;       /* per row: the member's row */
    uint32_t *first;     /* mix: n_members + 1 of them */
    uint32_t *drawing;   /* mix by weights: room for two of each row drawn */
    size_t drawing_room;
    const double *share; /* mix by weights: of each member, their sum is 1 */
    struct {
        rlf_cursor *data;
        size_t count, room;
    } cursors;
    struct { /* the first ones of `cursors`, as the step began */
        rlf_cursor *data;
        size_t count, room;
    } marked;
};

/* ---- view.c: data made of data ---- */

/* Make `data` the rows of its one member for which the condition holds.
 * RLF_USER if there is none. */
rlf_status rlf_data_choose(rlf_data *data, const rlf_expr *condition,
                           rlf_err *err);
/* The numbers that operation `op` of a program gives at the rows of `data`,
 * into out[rows], where each is made of what stands in its row alone; `column`:
 * per input of the program, NULL: it is no column of the data. *known is false:
 * they are not known from the data. */
rlf_status rlf_data_values(const rlf_data *data, const rlf_expr *e, int op,
                           const rlf_record_column *const *column,
                           rlf_arena *arena, rlf_err *err, double *out,
                           bool *known);
/* Make `data` all rows of its members, with the columns that all have. RLF_USER
 * if a column is of another kind in one of them. */
rlf_status rlf_data_join(rlf_data *data, rlf_err *err);
/* The digest of the prompts of all rows in their order, or where there are none
 * of all columns. */
rlf_status rlf_data_digest(const rlf_data *data, rlf_err *err, rlf_digest *out);
/* Put `n` rows of a file into data->rest, by what stands in their prompts, or
 * where there are none in all columns; of rows with one prompt by all columns.
 * Of the others those go that have the same prompts, unless `part`: these are
 * not all rows. RLF_USER if none is left. */
rlf_status rlf_data_hold_out(rlf_data *data, uint32_t n, bool part,
                             rlf_err *err);
/* Make `data` what its one member holds out. */
void rlf_data_take_rest(rlf_data *data);
/* Keep only the rows keep[0..n-1] of a file. */
rlf_status rlf_data_keep(rlf_data *data, const uint32_t *keep, uint32_t n,
                         rlf_err *err);
/* The data set of a file that row *row is of, and its row there. */
const rlf_data *rlf_data_origin(const rlf_data *data, uint32_t *row);
/* "data/arith.jsonl:412": where a row stands, in `arena`. */
const char *rlf_data_place(const rlf_data *data, uint32_t row,
                           rlf_arena *arena);

/* The texts of a row in each column of `data`, of numbers nothing: in `pool`,
 * or the data's. RLF_USER or RLF_ENV, naming the row, if it cannot be read any
 * more. */
rlf_status rlf_data_row(const rlf_data *data, uint32_t row, rlf_arena *pool,
                        rlf_err *err, const rlf_record_value **out);
/* The same of one column. */
rlf_status rlf_data_value(const rlf_data *data, const rlf_record_column *column,
                          uint32_t row, rlf_arena *pool, rlf_err *err,
                          rlf_record_value *out);
/* The prompt of a row as no model has read it yet; it lives as what
 * rlf_data_row gives. */
rlf_status rlf_data_prompt(const rlf_data *data, uint32_t row, rlf_arena *pool,
                           rlf_err *err, rlf_prompt *out);

/* Gives back what rows have taken of a pool that is for one of them at a time,
 * if it is much. */
void rlf_data_rest(rlf_arena *pool);

/* ---- drop.c ---- */

/* That every model which reads the rows of resource `index` can: RLF_USER for a
 * prompt (of a file) that its tokenizer cannot write, that is longer than
 * `max_prompt` or leaves no room in its context, for chats without a template,
 * and for a text that no model can read as a response (responses.h). */
rlf_status rlf_data_check(const rlf_env *env, int index, rlf_data *data,
                          rlf_err *err);
/* Leave out the rows of resource `index`, a file, that would be refused so, also
 * as rows of what is made of it. RLF_USER, with the reason, if none is left. */
rlf_status rlf_data_drop(const rlf_env *env, int index, rlf_data *data,
                         rlf_err *err);

/* ---- prompts.c ---- */

/* Finds how many tokens the prompts of data set `data` have as model `model`
 * writes them, both resources that are open: of `most` rows at most, spread
 * evenly over the data, or of a mixture by weights as often as it gives them.
 * The numbers are in `arena`. *n is 0 if the data has no prompts or the model
 * no tokenizer. */
rlf_status rlf_data_lengths(const rlf_env *env, int data, int model,
                            uint32_t most, rlf_arena *arena, rlf_err *err,
                            uint32_t **out, uint32_t *n);
/* The same of the texts of a field, as responses that the model writes, with
 * its end token; of the field of conversations what the assistant says. *n is 0
 * if it is neither. */
rlf_status rlf_data_response_lengths(const rlf_env *env, int data,
                                     const char *field, int model,
                                     uint32_t most, rlf_arena *arena,
                                     rlf_err *err, uint32_t **out, uint32_t *n);

/* ---- data.c ---- */

/* The files of a declaration that names some, in `arena`. */
rlf_status rlf_data_shards(const rlf_resource *resource, rlf_arena *arena,
                           rlf_err *err, rlf_shard_files *out);

/* While compiling: the first `most` rows (0: all) of a data set, or as many as
 * there are; long prompts are not dropped yet. To be freed. */
rlf_status rlf_data_peek(const rlf_graph *graph, const rlf_resource *resource,
                         uint64_t most, rlf_err *err, rlf_data **out);
/* Does the declaration say which field the prompts are in? Of what is made of
 * others, all of them. */
bool rlf_data_has_prompts(const rlf_graph *graph, const rlf_resource *resource);
void rlf_data_free(rlf_data *data); /* NULL is fine */
/* Has it rows for draws of `count` in a step? RLF_USER with the sentence if
 * not. */
rlf_status rlf_data_can_draw(const rlf_data *data, double count, bool weighted,
                             rlf_err *err);

/* ---- cursor.c ---- */

/* Frees what the cursor keeps, not the cursor itself. */
void rlf_cursor_free(rlf_cursor *cursor);
/* The cursors of a data set in checkpoints, and as a step began with them:
 * members of its class (engine/graph/resource.h). */
rlf_status rlf_cursors_save(const rlf_env *env, const rlf_resource *resource,
                            void *data, const char *directory, rlf_err *err);
rlf_status rlf_cursors_restore(const rlf_env *env, const rlf_resource *resource,
                               void *data, const char *directory, rlf_err *err);
void rlf_cursors_mark(void *data);
bool rlf_cursors_back(void *data);
/* The cursor of a draw (in a mixture by weights, of a member); made if it is
 * not there. Good until the next call. */
rlf_cursor *rlf_data_cursor(rlf_data *data, uint32_t site, uint32_t member);
/* Rows of a mixture's member. */
uint32_t rlf_data_rows_of(const rlf_data *data, uint32_t member);
/* RLF_USER if one of these weights of the rows is no number or negative, naming
 * the row, or fewer than n are positive of those that are not `taken` (NULL: none
 * is). */
rlf_status rlf_data_check_weights(const rlf_data *data, const double *weight,
                                  const bool *taken, uint32_t n, rlf_err *err);
/* Rows with a weight above 0 that the draw at `site` has not given this step
 * yet. */
uint32_t rlf_data_left(rlf_data *data, uint32_t site, uint32_t step,
                       const double *weight);
/* Room ahead for a draw of n rows at `site`: RLF_MEMORY, or it cannot fail. */
rlf_status rlf_data_room(rlf_data *data, uint64_t seed, uint32_t site,
                         uint32_t n, rlf_err *err);
/* The next n rows of the draw at `site` into out[n], epoch after epoch, each
 * in an order of its own; no row twice in one step, in how many calls it may be.
 * Together they are at most the number of rows. Returns the number of the first
 * in the run. */
uint64_t rlf_data_draw(rlf_data *data, uint64_t seed, uint32_t site,
                       uint32_t step, uint32_t n, uint32_t *out);
/* The same with each next row drawn in proportion to the weights of those that
 * are left, weight[i] of row i. RLF_USER if a weight is no number or
 * negative, naming the row, or fewer than n are positive. */
rlf_status rlf_data_draw_weighted(rlf_data *data, uint64_t seed, uint32_t site,
                                  uint32_t step, uint32_t n,
                                  const double *weight, rlf_err *err,
                                  uint32_t *out, uint64_t *first);

#endif

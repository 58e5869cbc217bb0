/* Data sets: the resource behind `data d = jsonl(...)`.
 *
 * All rows are in memory (engine/io/records.h). What moves is the cursor of
 * each draw: the place in the shuffled order of its epoch, and rows that were
 * put off because the step had them already. It is part of the checkpoint. */
#ifndef RLF_NODES_DATA_H
#define RLF_NODES_DATA_H

#include "engine/graph/class.h"
#include "engine/io/records.h"

/* Where one draw of the program stands. */
typedef struct rlf_cursor {
    uint32_t site;  /* of the draw's node */
    uint32_t epoch; /* 0, 1, ... */
    uint32_t index; /* rows of this epoch's order that were met */
    uint64_t drawn; /* rows drawn in the run */
    struct {
        uint32_t *data; /* rows put off, the oldest first */
        size_t count, room;
    } later;
    uint32_t *order; /* of `epoch`; NULL: not made yet */
    /* Which rows the step `step` has already, between its draws; not part of
     * a checkpoint, which is written when a step is over. */
    uint32_t step;
    bool *taken;
} rlf_cursor;

typedef struct rlf_data {
    rlf_arena *arena;
    const char *name;
    rlf_records records;
    const rlf_record_column *prompt; /* NULL: prompts are empty */
    uint32_t max_prompt;             /* tokens; 0: no limit */
    struct {
        rlf_cursor *data;
        size_t count, room;
    } cursors;
} rlf_data;

/* The next n rows of the draw at `site` into out[n], epoch after epoch, each
 * in an order of its own; no row twice in one step, however often it draws. All
 * draws of a step are together at most the number of rows. Returns the number
 * of the first in the run. */
uint64_t rlf_data_draw(rlf_data *data, uint64_t seed, uint32_t site,
                       uint32_t step, uint32_t n, uint32_t *out);

#endif

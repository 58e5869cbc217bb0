/* Tables of one model that are made once: a search outlines a model on many
 * ranks of many plans, and asks for the same cuts again and again.
 *
 * They live as long as their arena. One owner at a time, as an arena has. */
#ifndef RLF_MODEL_TABLES_H
#define RLF_MODEL_TABLES_H

#include "nodes/model/table.h"

typedef struct rlf_tables rlf_tables;

/* None yet; of this config, which must live as long, and be filled when the
 * first is asked for. */
rlf_tables *rlf_tables_new(const rlf_model_config *config, rlf_arena *arena);
/* The table that rlf_table_new gives; with `tables` NULL in `arena`. */
const rlf_table *rlf_tables_get(rlf_tables *tables,
                                const rlf_model_config *config,
                                rlf_model_head head, const rlf_cut *cut,
                                rlf_arena *arena);

#endif

/* Texts of data sets that are given as responses, respond(batch.answer), looked
 * at before the first step. Not here: prompts (drop.c), and texts that only a
 * step knows, which respond.c checks. */
#ifndef RLF_NODES_RESPONSES_H
#define RLF_NODES_RESPONSES_H

#include "engine/base/vec.h"
#include "nodes/data.h"

/* One column's texts as one call of respond gives them to one model. */
typedef struct rlf_response_use {
    const rlf_node *respond;
    const rlf_set *set;              /* the set that it makes */
    const rlf_record_column *column; /* the texts */
    const struct rlf_reader *writer; /* the model whose tokens they are */
    const struct rlf_reader *reader;
    bool all;        /* the reader reads each: it must fit its context */
    bool own_prompt; /* the prompt is that of the text's row */
} rlf_response_use;
typedef RLF_VEC(rlf_response_use) rlf_response_uses;

/* The node of the data's field whose texts a respond gives; NULL: it is another
 * node, or its texts are no field's. */
const rlf_node *rlf_responses_field(const rlf_graph *graph,
                                    const rlf_node *node);
/* The uses of the data set `data`, which is resource `index`; `parts`: also of
 * data sets that are made of it. Appended to `out`, which the caller frees. */
void rlf_responses_list(const rlf_env *env, int index, const rlf_data *data,
                        bool parts, rlf_response_uses *out);
/* RLF_USER, naming the row, if a step could not use its texts: one that the
 * tokenizer cannot write, that has no token, is longer than `max_response` or,
 * with its prompt, than the context. What it takes is in env->pool. */
rlf_status rlf_responses_fit(const rlf_env *env, const rlf_data *data,
                             uint32_t row, const rlf_response_uses *uses,
                             rlf_err *err);

#endif

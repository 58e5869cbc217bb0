/* Data sets of conversations (conversation:), looked at before the first step:
 * who reads them, and whether each row can be written by who does. */
#ifndef RLF_NODES_CONVERSATIONS_H
#define RLF_NODES_CONVERSATIONS_H

#include "engine/base/vec.h"
#include "nodes/data.h"

/* One call of converse as it reads rows of a data set. */
typedef struct rlf_conversation_use {
    const rlf_node *converse;
    const rlf_set *set; /* the set that it makes */
    const struct rlf_reader *reader;
    uint32_t most; /* tokens of a conversation; 0: all that it has */
} rlf_conversation_use;
typedef RLF_VEC(rlf_conversation_use) rlf_conversation_uses;

/* The uses of the data set that is resource `index`, and of what is made of it.
 * Appended to `out`, which the caller frees. */
void rlf_conversations_list(const rlf_env *env, int index,
                            rlf_conversation_uses *out);
/* RLF_USER, naming the row, if a step could not use it. What it takes is in
 * env->pool. *ends becomes false if a turn in it ends without end token. */
rlf_status rlf_conversations_fit(const rlf_env *env, const rlf_data *data,
                                 uint32_t row,
                                 const rlf_conversation_uses *uses,
                                 rlf_err *err, bool *ends);
/* RLF_USER if who reads the data set, which is resource `index`, takes it for
 * what it is not: conversations for prompts, or prompts for conversations; or
 * if other models read its conversations than write them. */
rlf_status rlf_conversations_check(const rlf_env *env, int index,
                                   const rlf_data *data, rlf_err *err);
/* All rows; warnings are added to those of the data. */
rlf_status rlf_conversations_check_rows(const rlf_env *env, int index,
                                        rlf_data *data, rlf_err *err);
/* Tokens of the row as a model writes it: all, and those of the assistant. */
rlf_status rlf_conversations_length(const rlf_env *env, const rlf_data *data,
                                    uint32_t row,
                                    const struct rlf_reader *reader,
                                    rlf_err *err, uint32_t *all,
                                    uint32_t *said);

#endif

/* Conversations as models read them: their tokens, and which of these the
 * assistant says.
 *
 * A template with {% generation %} blocks says which texts those are. Else the
 * conversation is written twice, the second time with a mark at each end of
 * every text of the assistant's: without its marks that must be the same text,
 * and the marks be in their order. A turn then ends behind the end token that
 * follows it directly or after white space. A token is the assistant's if any
 * byte of it is, as transformers' return_assistant_tokens_mask has it. */
#ifndef RLF_NODES_TURNS_H
#define RLF_NODES_TURNS_H

#include "nodes/chat.h"
#include "nodes/rows.h"

/* A conversation in tokens of a model. Runs are in order, apart from each
 * other, not empty, and none begins with the first token, before which there is
 * nothing. */
typedef struct rlf_conversation {
    rlf_str text;
    const uint32_t *ids;
    const rlf_token_run *runs; /* runs of the ids */
    uint32_t n_ids, n_runs;
    uint32_t n_said; /* tokens in the runs */
    bool cut;        /* the conversation had more than `most` tokens */
    bool ends;       /* each run has an end token */
} rlf_conversation;

/* Read a prompt's messages; `most`: only so many tokens of the beginning, 0:
 * all. In the pool. RLF_USER where nobody is the assistant, where its texts
 * cannot be found in what the template writes, and where no token is left of
 * them. */
rlf_status rlf_turns_read(const rlf_env *env, const rlf_reader *reader,
                          const rlf_prompt *prompt, uint32_t most, rlf_err *err,
                          rlf_conversation *out);

#endif

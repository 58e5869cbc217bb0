/* The models that read each set, as the graph says, and what there is to warn
 * of before the first step: responses that a context cuts or cannot hold, given
 * responses that end with another model's end token, stop texts that no tokens
 * give, bounds of prompts that bound nothing, and days and templates that
 * nothing asks for. Not here: reading (rows.h, sequences.h), and prompts that
 * are refused (drop.c). */
#ifndef RLF_NODES_READS_H
#define RLF_NODES_READS_H

#include "engine/graph/run.h"

struct rlf_data;
struct rlf_reader;

/* Does the node have the model read the prompts of its input k? */
bool rlf_reads(const rlf_graph *graph, const rlf_node *node, int model, int k);
/* The data set whose rows the set's prompts are; -1: they are asked texts. */
int rlf_reads_data(const rlf_graph *graph, int set);
/* Is the data set `part`, or made of it? */
bool rlf_reads_part(const rlf_graph *graph, int data, int part);

/* Does a call of the model read prompts of the data? Texts that are asked are
 * other prompts. */
bool rlf_reads_rows(const rlf_graph *graph, int model, int data);
/* ... of any data whose prompts are chats? Of data sets that are open, but need
 * not be settled. */
bool rlf_reads_chats(const rlf_env *env, int model);

/* The longest of a data set's prompts, by one model. */
typedef struct rlf_longest {
    int data, model; /* resources */
    uint32_t row, tokens;
} rlf_longest;
/* Could its responses, of calls of the model, go beyond the context? Lines of
 * warnings, appended to `out`. */
void rlf_reads_warn_long(const rlf_env *env, const rlf_longest *longest,
                         rlf_buf *out);
/* Does the template of the reader, which has one, write `<|word|>` for a word
 * that is no token of its tokenizer, as the template of another model does? By
 * the first row of the data. The same; `err`: it cannot write that. */
rlf_status rlf_reads_warn_markers(const rlf_env *env,
                                  const struct rlf_reader *reader,
                                  const struct rlf_data *data, rlf_err *err,
                                  rlf_buf *out);
/* Does the model read given responses that end with an end token of another
 * model, which is none of its own? The same. */
void rlf_reads_warn_ends(const rlf_env *env, int model, rlf_buf *out);
/* Does the model read prompts that are texts, behind which its tokenizer puts
 * an end token? The same. */
void rlf_reads_warn_after(const rlf_env *env, int model, rlf_buf *out);
/* Does the model sample with a text of `stop` that its tokenizer has no tokens
 * for, or a special one, which gives no text? The same. */
void rlf_reads_warn_stops(const rlf_env *env, int model, rlf_buf *out);
/* Has the data a `max_prompt` that bounds nothing, since the contexts of all
 * who read it are no longer? The same, of data whose rows are there. */
void rlf_reads_warn_bound(const rlf_env *env, int data, rlf_buf *out);
/* Does the model's declaration have a day that nothing asks for, or a template
 * where nothing is a chat? The same. */
void rlf_reads_warn_chats(const rlf_env *env, int model, rlf_buf *out);

#endif

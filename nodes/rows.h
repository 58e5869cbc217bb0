/* Sets and models: texts to tokens and back.
 *
 * Every model reads prompts as it writes them itself, whichever other models
 * read them before it: with its own template and its own begin tokens. The
 * tokens of a response are those of the set wherever they mean the same to the
 * model that reads them. Everything here lives in the step's pool. Not here:
 * parts of sets (rlf_rows_part in engine/graph/run.h) and rows of data sets
 * (data.h). */
#ifndef RLF_NODES_ROWS_H
#define RLF_NODES_ROWS_H

#include "engine/graph/run.h"

/* The way in which a model reads and ends texts. A part of each model resource.
 */
typedef struct rlf_reader {
    const char *model; /* the user's name for it, for messages */
    const struct rlf_tokenizer *tokenizer;
    struct rlf_lua_host
        *template; /* the template of chats, in Lua; NULL: none is given */
    const struct rlf_chat_template *own; /* the tokenizer's, where none is
                                            given; NULL: it has none */
    rlf_digest writes; /* the digest of all that decides a prompt's tokens */
    uint32_t context;              /* positions that it was made for */
    uint32_t vocab;                /* tokens that the model knows; 0: of
                                      no model */
    int64_t eos;                   /* ends a written response; -1: none */
    const uint32_t *ends;          /* tokens that end a sampled response */
    size_t n_ends;
} rlf_reader;

/* The reader of a model resource's object (env->resource[...]). Defined with
 * the resource class of models. */
const rlf_reader *rlf_model_reader(const void *model);

/* Can the reader write chats? */
static inline bool
rlf_reader_has_template(const rlf_reader *reader)
{
    return reader->template || reader->own;
}
/* reader->writes, of its tokenizer and template. */
rlf_digest rlf_rows_writes(const rlf_reader *reader);
/* RLF_USER if the reader's model does not know one of the tokens: those of its
 * tokenizer may be more. */
rlf_status rlf_rows_known(const rlf_reader *reader, const uint32_t *ids,
                          size_t n, rlf_err *err);
/* n prompts without contents yet, which remember how models write them. */
rlf_prompt *rlf_rows_new_prompts(rlf_arena *pool, uint32_t n);
/* Prompt i of `rows` as the reader writes it. Plain texts get the tokenizer's
 * special tokens (BOS), once where they begin with them; chat messages go
 * through the template, whose text has its own. RLF_USER, naming the row, if it
 * has no token, is longer than the data's `max_prompt`, or leaves no room in
 * the context. */
rlf_status rlf_rows_prompt(const rlf_env *env, const rlf_rows *rows, uint32_t i,
                           const rlf_reader *reader, rlf_err *err,
                           rlf_prompt *out);
/* All of them: those of the set, if its reader writes the same, else in the
 * pool. */
rlf_status rlf_rows_prompts(const rlf_env *env, const rlf_rows *rows,
                            const rlf_reader *reader, rlf_err *err,
                            rlf_prompt **out);
/* Text (of chat messages, by the template) and tokens of one prompt, of any
 * length. */
rlf_status rlf_rows_encode(const rlf_env *env, const rlf_reader *reader,
                           rlf_prompt *prompt, rlf_err *err);
/* A prompt's messages as one text by the reader's template in Lua, which sees
 * two texts of each; `open`: the assistant is to speak next. */
rlf_status rlf_rows_write_lua(const rlf_env *env, const rlf_reader *reader,
                              const rlf_prompt *prompt, bool open, rlf_err *err,
                              rlf_str *out);
/* RLF_USER: a chat for a model that has no template. */
rlf_status rlf_rows_no_template(const rlf_reader *reader, rlf_err *err);
/* RLF_USER if the prompt has no token. */
rlf_status rlf_rows_some(const rlf_reader *reader, const rlf_prompt *prompt,
                         rlf_err *err);
/* Returns the tokens that the text has at least, where it is so large that
 * writing it costs: 0 of others. */
rlf_status rlf_rows_least(const rlf_reader *reader, rlf_str text, rlf_err *err,
                          uint64_t *out);
/* Do both give the same tokens? Models loaded from one directory have
 * tokenizers of their own that are the same. */
bool rlf_rows_same_tokens(const struct rlf_tokenizer *a,
                          const struct rlf_tokenizer *b);
/* Is the last of the tokens one that ends the reader's responses? */
bool rlf_rows_ended(const rlf_reader *reader, const uint32_t *ids, uint32_t n);
/* A response's text as tokens behind its prompt, as the reader writes that
 * (NULL: it is not known, and ends with ordinary text); `end`: they end with an
 * end token, the reader's own if the text ends with none. */
rlf_status rlf_rows_response(const rlf_env *env, const rlf_reader *reader,
                             const rlf_prompt *prompt, rlf_str text, bool end,
                             rlf_err *err, rlf_sample *out);
/* The text of response tokens, special tokens left out, in `pool`. */
rlf_status rlf_rows_text(rlf_arena *pool, const struct rlf_tokenizer *tokenizer,
                         const uint32_t *ids, uint32_t n, rlf_err *err,
                         rlf_str *out);

/* The space of `domain` whose rows are those of `from`: `from` itself if that
 * is its domain, else a new one right below it. */
rlf_space *rlf_rows_of(rlf_arena *pool, const rlf_graph *graph, int domain,
                       const rlf_space *from);
/* The row of `rows->prompts` that sample `row` belongs to. */
uint32_t rlf_rows_prompt_of(const rlf_graph *graph, const rlf_rows *rows,
                            uint32_t row);
/* The spaces of a call's inputs and all above them, indexed by domain, for
 * expression programs; in the step's pool. Defined in expr.c. */
const rlf_space **rlf_call_spaces(const rlf_call *call);
/* Columns for all outputs of the call, in these spaces; `what` names their
 * values where memory lacks for them. Defined in expr.c. */
rlf_status rlf_call_open_columns(rlf_call *call, const char *what,
                                 rlf_err *err);
/* "sample 3 of prompt 17 of 'roll', from data/arith.jsonl:412": who a sample
 * is, for messages; in `arena`. `row` is one of rows->samples. */
const char *rlf_rows_name(const rlf_env *env, const rlf_rows *rows,
                          uint32_t row, rlf_arena *arena);

#endif

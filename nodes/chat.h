/* Chats as texts, by the templates that a tokenizer comes with (engine/jinja).
 *
 * Variables are those that transformers' apply_chat_template gives: `messages`
 * without members that are null, a message's reasoning under both of its usual
 * names, `tools` as the prompt has them, else the model, else none, `documents`
 * as none, `add_generation_prompt` as true where the assistant is to speak, and
 * the special tokens that the files name. Of several templates that have names
 * it is the one that the program names, else "tool_use" if there are tools and
 * such a template, else "default". Not here: templates in Lua. */
#ifndef RLF_NODES_CHAT_H
#define RLF_NODES_CHAT_H

#include "engine/base/arena.h"
#include "engine/base/digest.h"
#include "engine/base/status.h"
#include "engine/base/str.h"

struct rlf_prompt;
struct rlf_tokenizer;
typedef struct rlf_chat_template rlf_chat_template;

typedef struct rlf_chat_options {
    uint32_t day;      /* the date for strftime_now: 20241231 */
    const char *named; /* the template that the program names; or NULL */
    const char *tools; /* a file of JSON: the model's tools; or NULL */
} rlf_chat_options;

/* The templates of the tokenizer whose files are at `path`; *out NULL: it has
 * none. One that cannot be read is no error before it is to write something,
 * but RLF_USER is one that is named and not there, and tools that are no list
 * of objects. In `arena`. */
rlf_status rlf_chat_open(const struct rlf_tokenizer *tokenizer,
                         const char *path, const rlf_chat_options *options,
                         rlf_arena *arena, rlf_err *err,
                         rlf_chat_template **out);
/* RLF_USER, as whoever writes would get it, if no prompt can be written: then
 * none of them is at fault. */
rlf_status rlf_chat_check(const rlf_chat_template *chat, rlf_err *err);
/* Does one that may be used ask for the day? */
bool rlf_chat_asks_day(const rlf_chat_template *chat);
/* Does the one for prompts with tools read them at all? */
bool rlf_chat_shows_tools(const rlf_chat_template *chat);
/* Returns the digest of all that decides a text. */
rlf_digest rlf_chat_digest(const rlf_chat_template *chat);
/* The text of a prompt's messages, after which the assistant is to speak; in
 * `pool`. RLF_USER with the template's place for what it refuses or cannot. */
rlf_status rlf_chat_write(const rlf_chat_template *chat,
                          const struct rlf_prompt *prompt, rlf_arena *pool,
                          rlf_err *err, rlf_str *out);

/* Does the template of this conversation say by {% generation %} what the
 * assistant says? */
bool rlf_chat_generates(const rlf_chat_template *chat,
                        const struct rlf_prompt *prompt);
/* The whole conversation, after which nobody is to speak, and bytes [from, to)
 * of it, in order, that the assistant says, where the template says so; both in
 * `pool`. As rlf_chat_write; RLF_USER, too, where the template has such a text
 * at a place that is not known. */
typedef struct rlf_chat_span {
    size_t from, to;
} rlf_chat_span;
rlf_status rlf_chat_converse(const rlf_chat_template *chat,
                             const struct rlf_prompt *prompt, rlf_arena *pool,
                             rlf_err *err, rlf_str *out, rlf_chat_span **spans,
                             size_t *n_spans);

#endif

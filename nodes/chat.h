/* Chats as texts, by the template that a tokenizer comes with (engine/jinja).
 *
 * Variables are those that transformers' apply_chat_template gives: `messages`
 * without members that are null, a message's reasoning under both of its usual
 * names, `tools` and `documents` as none, `add_generation_prompt` as true where
 * the assistant is to speak, and the special tokens that the files name. Not
 * here: templates in Lua. */
#ifndef RLF_NODES_CHAT_H
#define RLF_NODES_CHAT_H

#include "engine/base/arena.h"
#include "engine/base/digest.h"
#include "engine/base/status.h"
#include "engine/base/str.h"

struct rlf_message;
struct rlf_tokenizer;
typedef struct rlf_chat_template rlf_chat_template;

/* The template of the tokenizer whose files are at `path`, for strftime_now on
 * `day` (20241231); *out NULL: it has none. One that cannot be read is no error
 * before it is to write something. In `arena`. */
rlf_status rlf_chat_open(const struct rlf_tokenizer *tokenizer,
                         const char *path, uint32_t day, rlf_arena *arena,
                         rlf_err *err, rlf_chat_template **out);
/* Does it ask for the day? */
bool rlf_chat_asks_day(const rlf_chat_template *chat);
/* Of all that decides a text. */
rlf_digest rlf_chat_digest(const rlf_chat_template *chat);
/* The text of n messages, after which the assistant is to speak; in `pool`.
 * RLF_USER with the template's place for what it refuses or cannot. */
rlf_status rlf_chat_write(const rlf_chat_template *chat,
                          const struct rlf_message *messages, size_t n,
                          rlf_arena *pool, rlf_err *err, rlf_str *out);

/* Does the template say by {% generation %} what the assistant says? */
bool rlf_chat_generates(const rlf_chat_template *chat);
/* The whole conversation, after which nobody is to speak, and bytes [from, to)
 * of it, in order, that the assistant says, where the template says so; both in
 * `pool`. As rlf_chat_write; RLF_USER, too, where the template has such a text
 * at a place that is not known. */
typedef struct rlf_chat_span {
    size_t from, to;
} rlf_chat_span;
rlf_status rlf_chat_converse(const rlf_chat_template *chat,
                             const struct rlf_message *messages, size_t n,
                             rlf_arena *pool, rlf_err *err, rlf_str *out,
                             rlf_chat_span **spans, size_t *n_spans);

#endif

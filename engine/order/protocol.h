/* The protocol of the controller and the ranks of a run: commands to
 * ranks, events of ranks, their bytes and how they are printed.
 *
 * All of it is made of the table protocol.def, which says what each command
 * and event means, its fields and their units; rlflow-protocol(7) is that table
 * to be read. A command of the controller (control.h) has the parts of all
 * ranks; what one rank gets of it (part.h) is the same struct with its own
 * share, or the messages from and to it. Fields that a kind does not have are
 * 0. Arrays belong to whoever made the message. */
#ifndef RLF_ORDER_PROTOCOL_H
#define RLF_ORDER_PROTOCOL_H

#include "engine/order/order.h"
#include "engine/plan/memory.h"

// clang-format off
#define PROTOCOL(version) enum { RLF_PROTOCOL = version }; /* of the bytes */
#include "engine/order/protocol.def"

typedef enum rlf_do {
#define COMMAND(NAME, word, who, doing, doc) RLF_DO_##NAME,
#include "engine/order/protocol.def"
    RLF_DO_KINDS
} rlf_do;

typedef enum rlf_event_kind {
#define EVENT(NAME, word, doc) RLF_EVENT_##NAME,
#include "engine/order/protocol.def"
    RLF_EVENT_KINDS
} rlf_event_kind;

#define ONE(of, type, name, unit, doc) type name;
#define TEXT(of, name, doc) const char *name;
#define MAYBE_TEXT(of, name, doc) const char *name;
#define COUNT(of, type, name, doc) type name;
#define LIST(of, type, name, count, unit, doc) const type *name;
#define MAYBE(of, type, name, count, unit, doc) const type *name;
#define RECORD(type, doc) typedef struct type {
#define MESSAGE(type, kinds) typedef struct type { kinds kind;
#define END(type) } type;
#include "engine/order/protocol.def"
// clang-format on

/* The ranks that take part in a command. */
typedef enum rlf_participants {
    RLF_PARTICIPANTS_ALL,    /* every rank */
    RLF_PARTICIPANTS_SHARE,  /* the ranks that have a share */
    RLF_PARTICIPANTS_MOVES,  /* the ranks that send or receive */
    RLF_PARTICIPANTS_COPIES, /* the ranks that have weights of either copy */
} rlf_participants;
extern const rlf_participants rlf_do_participants[RLF_DO_KINDS];

/* In one word, "run"; of commands what a rank is doing meanwhile, in words for
 * people, "writing a checkpoint", or "" where the name of its node says it. */
extern const char *const rlf_do_words[RLF_DO_KINDS];
extern const char *const rlf_do_doing[RLF_DO_KINDS];
extern const char *const rlf_event_words[RLF_EVENT_KINDS];

/* Adds the bytes of a message. RLF_MEMORY. */
rlf_status rlf_rank_command_write(const rlf_rank_command *command, rlf_buf *out,
                                  rlf_err *err);
rlf_status rlf_rank_event_write(const rlf_rank_event *event, rlf_buf *out,
                                rlf_err *err);
/* The message that these n bytes are, and nothing else, of a run that follows
 * `plan`; its arrays in `arena`. Any bytes may be given. RLF_USER: they are of
 * another version of the protocol; RLF_BUG: they are no message; RLF_MEMORY. */
rlf_status rlf_rank_command_read(const char *bytes, size_t n,
                                 const rlf_plan *plan, rlf_arena *arena,
                                 rlf_err *err, rlf_rank_command *out);
rlf_status rlf_rank_event_read(const char *bytes, size_t n,
                               const rlf_plan *plan, rlf_arena *arena,
                               rlf_err *err, rlf_rank_event *out);
/* For people, with a space before it: " end { n 7 node -1 }", each field that
 * the kind has, but none that is false or missing, and no lists of numbers. */
void rlf_rank_command_print(const rlf_rank_command *command, rlf_buf *out);
void rlf_rank_event_print(const rlf_rank_event *event, rlf_buf *out);

#endif

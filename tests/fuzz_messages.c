/* Fuzz target: any bytes as a message between the controller and a rank, of
 * commands or events by the first byte. One that is read can be printed, and
 * written as the same bytes. */
#include "tests/fuzz.h"

#include "engine/order/protocol.h"

#include <string.h>

static rlf_status
read_command(const char *bytes, size_t n, const rlf_plan *plan,
             rlf_arena *arena, rlf_err *err, rlf_buf *again, rlf_buf *shown)
{
    rlf_rank_command command;
    RLF_TRY(rlf_rank_command_read(bytes, n, plan, arena, err, &command));
    rlf_rank_command_print(&command, shown);
    return rlf_rank_command_write(&command, again, err);
}

static rlf_status
read_event(const char *bytes, size_t n, const rlf_plan *plan, rlf_arena *arena,
           rlf_err *err, rlf_buf *again, rlf_buf *shown)
{
    rlf_rank_event event;
    RLF_TRY(rlf_rank_event_read(bytes, n, plan, arena, err, &event));
    rlf_rank_event_print(&event, shown);
    return rlf_rank_event_write(&event, again, err);
}

FUZZ_TARGET(fuzz_messages)
{
    static rlf_weight_copies copies[] = {{.n = 2}, {.n = 1}};
    static const rlf_graph graph = {.nodes.count = 3, .resources.count = 2};
    static const rlf_plan plan = {
        .graph = &graph, .copies = copies, .ranks = 4};
    if (!n)
        return 0;
    const char *bytes = (const char *)data + 1;
    rlf_arena *arena = rlf_arena_new();
    rlf_err err = RLF_ERR_NONE;
    rlf_buf again = {0}, shown = {0};
    rlf_status status = (data[0] & 1 ? read_event : read_command)(
        bytes, n - 1, &plan, arena, &err, &again, &shown);
    RLF_ASSERT(status == RLF_OK || status == RLF_BUG || status == RLF_USER);
    if (status == RLF_OK)
        RLF_ASSERT(again.n == n - 1 && !memcmp(again.p, bytes, n - 1));
    rlf_buf_free(&again);
    rlf_buf_free(&shown);
    rlf_arena_free(arena);
    return 0;
}

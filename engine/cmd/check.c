/* rlflow check: is the program right, what would it take, what runs where? */
#include "engine/cmd/cmd.h"

#include <inttypes.h>
#include <stdio.h>

static void
put_bytes(uint64_t n)
{
    if (n >= UINT64_C(1) << 30)
        printf("%8.2f GB", (double)n / (1 << 30));
    else
        printf("%8.2f MB", (double)n / (1 << 20));
}

static void
put_memory(const rlf_session *s)
{
    rlf_memory memory = {.arena = s->arena};
    rlf_run_memory(s->run, &memory);
    uint64_t device = 0, host = 0;
    printf("\nmemory of rank 0\n%-42s %11s %11s\n", "", "device", "host");
    for (size_t i = 0; i < memory.rows.count; i++) {
        const rlf_memory_row *r = &memory.rows.data[i];
        printf("%-16s %-25s ", r->owner, r->purpose);
        put_bytes(r->device);
        putchar(' ');
        put_bytes(r->host);
        putchar('\n');
        device += r->device;
        host += r->host;
    }
    printf("%-42s ", "all");
    put_bytes(device);
    putchar(' ');
    put_bytes(host);
    putchar('\n');
}

static void
put_plan(const rlf_session *s)
{
    rlf_buf text = {0};
    rlf_plan_print(s->plan, &text);
    printf("\n%s", text.p);
    rlf_buf_free(&text);
}

/* An update whose gradient at a token needs the values of other tokens takes a
 * second forward pass, which is worth knowing. */
static void
put_updates(const rlf_session *s)
{
    for (size_t i = 0; i < s->graph->nodes.count; i++) {
        const rlf_node *node = &s->graph->nodes.data[i];
        if (!node->loss || node->loss->reach == RLF_REACH_POINT)
            continue;
        rlf_place at = rlf_sources_place(&s->sources, node->span);
        printf("%s:%u: update %s: %s\n", at.path, at.line,
               s->graph->resources.data[node->receiver].name,
               node->loss->reach == RLF_REACH_SAMPLE
                   ? "its loss looks at whole samples: the head is computed "
                     "twice"
                   : "its loss looks across samples: a second forward pass");
    }
}

int
rlf_cmd_check(const rlf_command_line *line)
{
    int status;
    rlf_session *s = rlf_cmd_session(line, &status);
    if (!s)
        return status;
    rlf_result result = rlf_session_ready(s);
    if (result == RLF_RESULT_OK) {
        printf("%s: %s is right: %zu nodes, %zu values", s->path,
               s->graph->name, s->graph->nodes.count, s->graph->values.count);
        if (s->wanted)
            printf(", %" PRIu64 " steps an epoch", s->wanted);
        putchar('\n');
        rlf_cmd_notes(s);
        put_updates(s);
        put_plan(s);
        put_memory(s);
    }
    return rlf_cmd_end(s, result);
}

/* What commands about the directories of runs share: opening, notes, ending. */
#include "engine/cmd/cmd.h"

#include <inttypes.h>
#include <string.h>

/* Prints notes of a record, what it left out, to the standard error. */
static void
put_notes(rlf_record *r)
{
    const char *note;
    for (size_t i = 0; (note = rlf_record_note(r, i)); i++) {
        rlf_buf text = {0};
        rlf_buf_printf(&text, "warning: %s\n", note);
        rlf_cmd_put_message(text.p);
        rlf_buf_free(&text);
    }
}

rlf_record *
rlf_cmd_record(const char *directory, int *status)
{
    rlf_record *r = rlf_record_open(directory);
    rlf_result result = rlf_record_status(r);
    if (result == RLF_RESULT_OK) {
        put_notes(r);
        return r;
    }
    rlf_cmd_put_message(rlf_record_message(r));
    rlf_record_close(r);
    *status = rlf_cmd_status(result);
    return NULL;
}

void
rlf_cmd_put_run(rlf_record *r)
{
    const rlf_recorded_run *run = rlf_record_run(r);
    rlf_cmd_line("%s: %s, %s, step %" PRIu64, run->directory,
                 run->program ? run->program : "an unknown program",
                 run->state_text, run->step);
    if (run->steps)
        printf(" of %" PRIu64, run->steps);
    putchar('\n');
    if (run->why) {
        rlf_cmd_put_text(run->why, stdout);
        putchar('\n');
    }
}

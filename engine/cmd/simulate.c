/* rlflow simulate: how long would steps of the program take on a cluster, and
 * what would its ranks do? */
#include "engine/cmd/cmd.h"

#include "engine/api/planned.h"
#include "engine/api/search.h"
#include "engine/api/trial.h"
#include "engine/base/clock.h"
#include "engine/io/file.h"
#include "nodes/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    WARM = 2,    /* steps that are not counted: the first learn of lengths */
    ENOUGH = 12, /* steps that are counted, unless fewer tell as much */
    MOST_STEPS = 10000,
    SHOWN = 3, /* steps in the SVG */
    COLUMNS = 96,
    MOST_LINES = 64, /* of ranks in the picture */
};

typedef struct simulation {
    rlf_session *s;
    rlf_arena *arena;
    rlf_outline *outline;
    rlf_speeds speeds;
    RLF_TRY(check_program(m->s, err));
    RLF_TRY(read_steps(m, &o[RLF_OPTION_STEPS], err));
    const rlf_workload_said said = rlf_cmd_lengths(line);
    RLF_TRY(simulate(m, &said, (uint64_t)o[RLF_OPTION_SEED].number, err));
    rlf_cmd_warn_lengths(m->s, &m->workload);
    rlf_cmd_put_cluster(m->s);
    put_steps(m);
    put_ranks(m);
    put_calls(m);
    put_picture(m);
    tell_timeline(m);
    RLF_TRY(write_svg(m, o[RLF_OPTION_SVG].text, err));
    return write_trace(m, o[RLF_OPTION_TRACE].text, err);
}

int
rlf_cmd_simulate(const rlf_command_line *line)
{
    int status;
    rlf_session *s = rlf_cmd_session(line, &status);
    if (!s)
        return status;
    rlf_result result = rlf_session_plan(s);
    simulation m = {.s = s, .arena = rlf_arena_new()};
    if (result == RLF_RESULT_OK)
        result = rlf_session_result(run(&m, line, &s->err));
    rlf_trial_close(&m.trial);
    rlf_arena_free(m.arena);
    rlf_outline_close(m.outline);
    return rlf_cmd_end(s, result);
}

/* rlflow plan: where everything runs, as a place block that can be pasted or
 * given to --plan; with --verbose also what goes from rank to rank, and how
 * long the stages of pipelines wait. All else that is printed stands in
 * comments. */
#include "engine/cmd/cmd.h"

/* Without a search, which `place auto` makes too, nothing follows from what one
 * is told. What the environment says is meant for other commands. */
static bool
check_options(rlf_session *s, const rlf_command_line *line, rlf_err *err)
{
    const struct {
        rlf_option option;
        const char *what;
    } table[] = {
        {RLF_OPTION_SEED, "--seed is of a search"},
        {RLF_OPTION_LENGTHS, "--lengths is what a search looks at"},
        {RLF_OPTION_PROMPTS, "--prompts is what a search looks at"},
        {RLF_OPTION_PROFILE, "--profile is what a search looks at"},
        {RLF_OPTION_LIKE, "--like is what a search looks at"},
    };
    if (rlf_session_info(s)->automatic)
        return true;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const rlf_option_value *o = &line->options[table[i].option];
        if (!o->given || o->variable)
            continue;
        rlf_fail(err, RLF_USAGE, "%s, and none is made", table[i].what);
        bool clustered = line->options[RLF_OPTION_CLUSTER].given;
        rlf_err_hint(err,
                     "add --search%s, or write 'place auto' into the program",
                     clustered ? "" : " --cluster a100x8:2");
        return false;
    }
    return true;
}

int
rlf_cmd_plan(const rlf_command_line *line)
{
    int status;
    rlf_session *s = rlf_cmd_session(line, &status);
    if (!s)
        return status;
    rlf_err err = RLF_ERR_NONE;
    rlf_result result = rlf_session_plan(s);
    if (result == RLF_RESULT_OK && rlf_session_info(s)->leads) {
        rlf_cmd_warn(s);
        rlf_cmd_put(s, RLF_TEXT_CLUSTER);
        if (line->options[RLF_OPTION_SEARCH].given)
            return rlf_cmd_search(s, line);
        if (!check_options(s, line, &err)) {
            rlf_cmd_say(&err);
            return rlf_cmd_end(s, RLF_RESULT_USAGE);
        }
        rlf_cmd_put(s, RLF_TEXT_PLAN);
        if (line->options[RLF_OPTION_VERBOSE].given)
            rlf_cmd_put(s, RLF_TEXT_EDGES);
        result = rlf_session_fit(s);
        rlf_cmd_put(s, RLF_TEXT_FIT);
    }
    return rlf_cmd_end(s, result);
}

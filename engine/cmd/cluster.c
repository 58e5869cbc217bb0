/* rlflow cluster: check a cluster, and print it as a cluster file with what it
 * holds; `rlflow check` of such a file does the same. */
#include "engine/cmd/cmd.h"

#include "engine/base/option_table.h"

int
rlf_cmd_cluster(const rlf_command_line *line)
{
    rlf_session *s = rlf_cmd_open(line->files[0]);
    const rlf_cluster_text *cluster =
        rlf_session_cluster_called(s, line->files[0]);
    if (cluster)
        rlf_cmd_put_text(cluster->text, stdout);
    rlf_cmd_warn(s);
    return rlf_cmd_end(s, rlf_session_status(s));
}

/* The word of something that a program can be given, and a cluster cannot; or
 * NULL. The environment is for all commands. */
static const char *
not_of_clusters(const rlf_command_line *line, const char **dashes)
{
    *dashes = "--";
    for (int i = 0; i < RLF_OPTIONS; i++)
        if (i != RLF_OPTION_DIAG && line->options[i].given &&
            !line->options[i].variable)
            return rlf_option_rows[i].word;
    *dashes = "";
    return line->n_settings ? line->settings[0].name : NULL;
}

static rlf_result
check_file(rlf_session *s, const rlf_command_line *line)
{
    const char *dashes, *extra = not_of_clusters(line, &dashes);
    rlf_err err = RLF_ERR_NONE;
    if (extra && !rlf_session_failed(s)) {
        rlf_fail(&err, RLF_USAGE, "%s declares a cluster, which takes no %s%s",
                 line->files[0], dashes, extra);
        rlf_cmd_say(&err);
        return RLF_RESULT_USAGE;
    }
    const rlf_cluster_text *cluster;
    for (size_t i = 0; (cluster = rlf_session_cluster(s, i)); i++) {
        fputs(i ? "\n" : "", stdout);
        rlf_cmd_line("%s: cluster %s is right\n", line->files[0],
                     cluster->name);
        rlf_cmd_put_text(cluster->text, stdout);
    }
    rlf_cmd_warn(s);
    return rlf_session_status(s);
}

bool
rlf_cmd_check_cluster(const rlf_command_line *line, int *exit_status)
{
    rlf_session *s = rlf_cmd_open(line->files[0]);
    bool is = rlf_session_is_cluster(s);
    if (is)
        *exit_status = rlf_cmd_end(s, check_file(s, line));
    else
        rlf_session_close(s);
    return is;
}

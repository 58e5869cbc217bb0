/* What commands about the directories of runs share: opening, notes, ending. */
#include "engine/cmd/cmd.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

/* ---- the model of a run ---- */

static char *
join(const char *directory, const char *name)
{
    rlf_buf path = {0};
    rlf_buf_printf(&path, "%s/%s", directory, name);
    return path.p;
}

/* Is it the directory of a causal language model, and not of one with another
 * head? */
static bool
writes_text(const char *directory)
{
    char *path = join(directory, "config.json"), text[1 << 14];
    struct stat about;
    bool is = false;
    FILE *f = stat(path, &about) == 0 && S_ISREG(about.st_mode)
                  ? fopen(path, "r")
                  : NULL;
    if (f) {
        size_t n = fread(text, 1, sizeof text - 1, f);
        text[n] = 0;
        is = strstr(text, "ForCausalLM\"") || strstr(text, "LMHeadModel\"");
        fclose(f);
    }
    free(path);
    return is;
}

/* The last checkpoint of a run, or the directory itself. */
static char *
checkpoint_of(const char *directory)
{
    char *all = join(directory, "checkpoints"), *last = NULL;
    DIR *dir = opendir(all);
    for (const struct dirent *e; dir && (e = readdir(dir));)
        if (strncmp(e->d_name, "step-", 5) == 0 &&
            (!last || strcmp(e->d_name, last) > 0)) {
            free(last);
            last = strdup(e->d_name);
        }
    if (dir)
        closedir(dir);
    char *path = last ? join(all, last) : strdup(directory);
    free(last);
    free(all);
    return path;
}

char *
rlf_cmd_model_of(const char *directory)
{
    char *own = join(directory, "config.json"), *found = NULL;
    struct stat about;
    bool is_model = stat(own, &about) == 0;
    free(own);
    if (is_model)
        return NULL;
    char *checkpoint = checkpoint_of(directory);
    DIR *dir = checkpoint ? opendir(checkpoint) : NULL;
    size_t n = 0;
    for (const struct dirent *e; dir && (e = readdir(dir));) {
        char *path = join(checkpoint, e->d_name);
        if (e->d_name[0] != '.' && writes_text(path) && n++ == 0)
            found = path;
        else
            free(path);
    }
    if (dir)
        closedir(dir);
    free(checkpoint);
    if (n == 1)
        return found;
    free(found);
    return NULL;
}

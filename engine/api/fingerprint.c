/* The fingerprint of a process: everything that has to be the same in all
 * processes of a run, a line each. A line is a name, a tab and a value, so that
 * a message can name the difference.
 *
 * Most lines are the inputs of the run (rundir/inputs.c), which count here as
 * they do for a resume; the others may change from one resume to the next, but
 * not from process to process. */
#include "engine/api/session.h"
#include "engine/api/rundir/rundir.h"

#include "engine/base/digest.h"
#include "engine/io/checksum.h"

#include <string.h>

static void
put_input(const rlf_input *input, rlf_buf *out)
{
    const char *name = input->path ? strrchr(input->path, '/') : NULL;
    if (input->path)
        rlf_buf_line(out, "file %s of '%s'\t", name ? name + 1 : input->path,
                     input->name);
    else
        rlf_buf_printf(out, "%s%s%s\t", input->name, *input->part ? " of " : "",
                       input->part);
    rlf_buf_json(out, input->value, strlen(input->value));
    if (input->path)
        rlf_buf_printf(out, ", %llu bytes", (unsigned long long)input->bytes);
    rlf_buf_putc(out, '\n');
}

void
rlf_fingerprint_write(rlf_session *s, rlf_buf *out)
{
    rlf_err ignored = RLF_ERR_NONE;
    rlf_digest digest = {0};
    uint64_t size;
    char text[RLF_DIGEST_TEXT];
    rlf_inputs inputs = {0};
    rlf_digest_file("/proc/self/exe", false, &ignored, &digest, &size);
    rlf_buf_printf(out, "executable file\t%s\n",
                   rlf_digest_print(digest, text));
    rlf_err why = RLF_ERR_NONE;
    if (rlf_inputs_collect(s, false, &why, &inputs) < 0)
        rlf_buf_printf(out, "inputs\t%s\n", why.sentence);
    for (size_t i = 0; i < inputs.list.count; i++)
        if (!inputs.list.data[i].noted)
            put_input(&inputs.list.data[i], out);
    rlf_buf_printf(out, "option --resume\t%s\n",
                   s->options.resume ? "yes" : "no");
    rlf_buf_printf(out, "plan\t%s\n", rlf_digest_print(s->plan->digest, text));
}

rlf_status
rlf_fingerprint_compare(const char *first, const char *other, int rank,
                        rlf_err *err)
{
    const char *a = first, *b = other;
    size_t n = strcspn(a, "\n"), m = strcspn(b, "\n");
    while (*a && n == m && memcmp(a, b, n) == 0) {
        a += n + 1;
        b += m + 1;
        n = strcspn(a, "\n");
        m = strcspn(b, "\n");
    }
    if (!*a && !*b)
        return RLF_OK;
    size_t word = strcspn(a, "\t"), other_word = strcspn(b, "\t");
    if (word == other_word && *a && memcmp(a, b, word) == 0)
        rlf_fail(err, RLF_USER,
                 "rank %d has another %.*s than rank 0: %.*s, not %.*s", rank,
                 (int)word, a, (int)(m - word - 1), b + word + 1,
                 (int)(n - word - 1), a + word + 1);
    else if (strncmp(a, "file ", 5) == 0 || strncmp(b, "file ", 5) == 0)
        rlf_fail(err, RLF_USER, "rank %d has %.*s where rank 0 has %.*s", rank,
                 (int)other_word, b, (int)word, a);
    else /* other parameters */
        rlf_fail(err, RLF_USER, "rank %d has another program than rank 0",
                 rank);
    rlf_err_hint(err, "program, its files, parameters, options and the version "
                      "of rlflow must be the same for all ranks");
    return RLF_USER;
}

/* The lines of samples as they are, in blocks that are filled in the order of
 * the samples. */
#include "engine/report/page.h"

#include <stdlib.h>
#include <string.h>

enum {
    BLOCK = 512 << 10,
    LEVEL = 6,
    QUICK_LEVEL = 1,
    MANY = 32 << 20 /* bytes of lines beyond which they are packed quickly */
};

/* Samples from `first` on that are one block, and their bytes. */
static size_t
block_of(const rlf_sample_table *t, size_t first, size_t *bytes)
{
    size_t i = first;
    *bytes = 0;
    while (i < t->samples.count && *bytes < BLOCK)
        *bytes += t->samples.data[i++].bytes + 1;
    return i - first;
}

void
rlf_page_blocks(rlf_page *page, const rlf_record *r)
{
    const rlf_sample_table *t = &r->samples;
    size_t bytes;
    rlf_page_puts(page, ",\"blocks\":[");
    for (size_t i = 0; i < t->samples.count; i += block_of(t, i, &bytes))
        rlf_page_printf(page, "%s%zu", i ? "," : "", i);
    rlf_page_puts(page, "]");
}

/* Reads the samples' lines to `to`, a line feed behind each. Lines of samples
 * stand behind each other, but for those that were left out. */
static rlf_status
read_block(const rlf_infile *file, const rlf_sample_entry *e, size_t n,
           char *to, rlf_err *err)
{
    for (size_t i = 0, k; i < n; i += k) {
        size_t bytes = e[i].bytes;
        for (k = 1; i + k < n && e[i + k].offset == e[i].offset + bytes + 1;
             k++)
            bytes += 1 + e[i + k].bytes;
        RLF_TRY(rlf_infile_read(file, e[i].offset, to, bytes, err));
        to += bytes;
        *to++ = '\n';
    }
    return RLF_OK;
}

static rlf_status
put_blocks(rlf_page *page, const rlf_record *r, const rlf_infile *file,
           size_t run, rlf_err *err)
{
    const rlf_sample_table *t = &r->samples;
    uint64_t all = 0;
    char *text = NULL, id[48];
    size_t room = 0, n, bytes, number = 0;
    rlf_status status = RLF_OK;
    for (size_t i = 0; i < t->samples.count; i++)
        all += t->samples.data[i].bytes;
    for (size_t i = 0; i < t->samples.count && status >= 0; i += n) {
        n = block_of(t, i, &bytes);
        if (room < bytes) {
            status = rlf_try_grow(&text, bytes, "samples of a report", err);
            room = bytes;
        }
        if (status >= 0)
            status = read_block(file, t->samples.data + i, n, text, err);
        if (status < 0)
            break;
        snprintf(id, sizeof id, "lines-%zu-%zu", run, number++);
        rlf_page_pack(page, id, text, bytes, all > MANY ? QUICK_LEVEL : LEVEL);
        status = page->status;
    }
    free(text);
    return status;
}

void
rlf_page_sample_lines(rlf_page *page, const rlf_record *r, size_t run)
{
    rlf_infile *file = NULL;
    if (page->status < 0 || !r->samples.samples.count)
        return;
    page->status = rlf_infile_open(r->samples_path, page->err, &file);
    if (page->status >= 0)
        page->status = put_blocks(page, r, file, run, page->err);
    rlf_infile_close(file);
}

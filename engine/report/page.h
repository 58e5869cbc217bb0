/* The file of a report while it is written, and pieces that several parts of it
 * need. */
#ifndef RLF_REPORT_PAGE_H
#define RLF_REPORT_PAGE_H

#include "engine/io/output.h"
#include "engine/report/report.h"

#include <zlib.h>

typedef struct rlf_page {
    rlf_output_file *file;
    rlf_err *err;
    rlf_status status; /* of the first error: nothing more is written then */
    rlf_buf text;      /* what is not written yet */
    rlf_buf scratch;
    bool packing; /* `deflate` is begun, for this level */
    int level;
    z_stream deflate;
    unsigned char *packed;
    size_t packed_room;
} rlf_page;

void rlf_page_free(rlf_page *page);
void rlf_page_flush(rlf_page *page);
void rlf_page_add(rlf_page *page, const char *p, size_t n);
void rlf_page_puts(rlf_page *page, const char *text);
void rlf_page_printf(rlf_page *page, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* JSON without a "<": a text (NULL: null), a number, and what is JSON
 * already. */
void rlf_page_text(rlf_page *page, const char *text);
void rlf_page_text_of(rlf_page *page, const char *p, size_t n);
void rlf_page_number(rlf_page *page, double x);
void rlf_page_json(rlf_page *page, const char *json);
/* Members: ,"key":value; `first` leaves the comma out. */
void rlf_page_member(rlf_page *page, const char *key, const char *text);
void rlf_page_count(rlf_page *page, const char *key, uint64_t n);

/* n bytes as a script element of that id that runs nothing: raw deflate of the
 * level (1 to 9) in base64. */
void rlf_page_pack(rlf_page *page, const char *id, const void *p, size_t n,
                   int level);

/* ---- parts of a report; `run` is the number that ids have ---- */

void rlf_page_facts(rlf_page *page, const rlf_report_run *run);
/* The metrics as a member of a run's object; their numbers. */
void rlf_page_metrics(rlf_page *page, const rlf_record *record);
void rlf_page_metric_numbers(rlf_page *page, const rlf_record *record,
                             size_t run);
/* What ranks did with their time, likewise. */
void rlf_page_ranks(rlf_page *page, const rlf_record *record);
void rlf_page_rank_numbers(rlf_page *page, const rlf_record *record,
                           size_t run);
/* The samples as a member; their numbers; their lines. */
void rlf_page_samples(rlf_page *page, const rlf_record *record);
/* The number of the first sample of each block of lines, as a member. */
void rlf_page_blocks(rlf_page *page, const rlf_record *record);
void rlf_page_sample_numbers(rlf_page *page, const rlf_record *record,
                             size_t run);
void rlf_page_sample_lines(rlf_page *page, const rlf_record *record,
                           size_t run);
/* Tokens that were recorded: what there is, then their blocks. */
typedef struct rlf_page_tokens rlf_page_tokens;
rlf_page_tokens *rlf_page_tokens_find(rlf_record *record);
void rlf_page_tokens_list(rlf_page *page, const rlf_page_tokens *tokens);
void rlf_page_tokens_put(rlf_page *page, const rlf_page_tokens *tokens,
                         size_t run);
void rlf_page_tokens_free(rlf_page_tokens *tokens);

/* The sources of the page, embedded by the build (embed.awk). */
extern const char rlf_page_styles[], rlf_page_script[];

#endif

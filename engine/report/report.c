/* The file of a report, from its first line to its last: see report.h. */
#include "engine/report/report.h"

#include "engine/report/page.h"

#include <time.h>

/* What may run or load: nothing but what stands in the file. */
static const char head[] = RLF_REPORT_BEGIN
    "<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
    "'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
    "<meta name=\"color-scheme\" content=\"light dark\">\n"
    "<title>rlflow report</title>\n<style>\n";
static const char body[] =
    "</style></head>\n<body><noscript><p>This page shows curves, samples and "
    "programs of runs by the program in it, which this browser does not "
    "run.</p></noscript>\n"
    "<div id=\"page\"></div>\n"
    "<script type=\"application/json\" id=\"report-data\">";

static void
put_differences(rlf_page *page, const rlf_report_run *runs, size_t n)
{
    const char *between = "";
    rlf_page_puts(page, "],\"differences\":[");
    for (size_t k = 1; k < n; k++) {
        const rlf_recorded_difference *d;
        for (size_t i = 0;
             (d = rlf_record_difference(runs[0].record, runs[k].record, i));
             i++) {
            rlf_page_printf(page, "%s{\"run\":%zu", between, k);
            rlf_page_member(page, "kind", d->kind);
            rlf_page_member(page, "name", d->name);
            rlf_page_member(page, "a", d->a);
            rlf_page_member(page, "b", d->b);
            rlf_page_member(page, "text", d->text);
            rlf_page_puts(page, "}");
            between = ",\n";
        }
    }
    rlf_page_puts(page, "]");
}

static void
put_data(rlf_page *page, const rlf_report_run *runs, size_t n, bool live,
         rlf_page_tokens *const *tokens)
{
    char made[32] = "";
    time_t now = time(NULL);
    struct tm tm;
    if (gmtime_r(&now, &tm))
        strftime(made, sizeof made, "%Y-%m-%dT%H:%M:%SZ", &tm);
    rlf_page_printf(page, "{\"format\":1,\"live\":%s", live ? "true" : "false");
    rlf_page_member(page, "made", made);
    rlf_page_member(page, "version", RLF_VERSION);
    rlf_page_puts(page, ",\n\"runs\":[");
    for (size_t i = 0; i < n; i++) {
        rlf_page_puts(page, i ? ",\n{" : "\n{");
        rlf_page_facts(page, &runs[i]);
        rlf_page_metrics(page, runs[i].record);
        rlf_page_ranks(page, runs[i].record);
        rlf_page_samples(page, runs[i].record);
        rlf_page_tokens_list(page, tokens[i]);
        rlf_page_puts(page, "}");
    }
    put_differences(page, runs, n);
    rlf_page_puts(page, "}</script>\n");
}

static void
put_page(rlf_page *page, const rlf_report_run *runs, size_t n, bool live,
         rlf_page_tokens *const *tokens)
{
    rlf_page_puts(page, head);
    rlf_page_puts(page, rlf_page_styles);
    rlf_page_puts(page, body);
    put_data(page, runs, n, live, tokens);
    for (size_t i = 0; i < n; i++)
        rlf_page_metric_numbers(page, runs[i].record, i);
    for (size_t i = 0; i < n; i++)
        rlf_page_rank_numbers(page, runs[i].record, i);
    rlf_page_puts(page, "<script>\n");
    rlf_page_puts(page, rlf_page_script);
    rlf_page_puts(page, "</script>\n");
    for (size_t i = 0; i < n; i++)
        rlf_page_sample_numbers(page, runs[i].record, i);
    for (size_t i = 0; i < n; i++)
        rlf_page_tokens_put(page, tokens[i], i);
    for (size_t i = 0; i < n; i++)
        rlf_page_sample_lines(page, runs[i].record, i);
    rlf_page_puts(page, "</body></html>\n");
    rlf_page_flush(page);
}

rlf_status
rlf_report_print(const rlf_report_run *runs, size_t n, bool live,
                 const char *path, rlf_err *err)
{
    rlf_page page = {.err = err};
    RLF_TRY(rlf_output_open(path, err, &page.file));
    rlf_page_tokens **tokens = rlf_calloc(n, sizeof *tokens);
    for (size_t i = 0; i < n; i++)
        tokens[i] = rlf_page_tokens_find(runs[i].record);
    put_page(&page, runs, n, live, tokens);
    for (size_t i = 0; i < n; i++)
        rlf_page_tokens_free(tokens[i]);
    free(tokens);
    rlf_page_free(&page);
    if (page.status >= 0)
        return rlf_output_close(page.file, err);
    rlf_output_drop(page.file);
    return page.status;
}

/* What the runs of a report are: the members of their objects. */
#include "engine/report/page.h"

#include <string.h>

static void
put_parameters(rlf_page *page, rlf_record *r)
{
    const rlf_recorded_setting *s;
    rlf_page_puts(page, ",\"parameters\":[");
    for (size_t i = 0; (s = rlf_record_parameter(r, i)); i++) {
        rlf_page_puts(page, i ? ",[" : "[");
        rlf_page_text(page, s->name);
        rlf_page_puts(page, ",");
        rlf_page_text(page, s->value);
        rlf_page_puts(page, "]");
    }
    rlf_page_puts(page, "]");
}

static void
put_inputs(rlf_page *page, rlf_record *r)
{
    const rlf_recorded_input *in;
    rlf_page_puts(page, ",\"inputs\":[");
    for (size_t i = 0; (in = rlf_record_input(r, i)); i++) {
        rlf_page_puts(page, i ? ",\n{\"name\":" : "{\"name\":");
        rlf_page_text(page, in->name);
        rlf_page_member(page, "part", in->part);
        rlf_page_member(page, "value", in->value);
        rlf_page_member(page, "path", in->path);
        rlf_page_member(page, "copy", in->copy);
        rlf_page_puts(page, "}");
    }
    rlf_page_puts(page, "]");
}

static void
put_starts(rlf_page *page, rlf_record *r)
{
    const rlf_recorded_start *s;
    rlf_page_puts(page, ",\"starts\":[");
    for (size_t i = 0; (s = rlf_record_start(r, i)); i++) {
        rlf_page_puts(page, i ? ",\n" : "");
        rlf_page_json(page, s->json);
    }
    rlf_page_puts(page, "],\"checkpoints\":[");
    const rlf_recorded_checkpoint *c;
    for (size_t i = 0; (c = rlf_record_checkpoint(r, i)); i++)
        rlf_page_printf(page, "%s{\"step\":%llu,\"there\":%s}", i ? "," : "",
                        (unsigned long long)c->step,
                        c->there ? "true" : "false");
    rlf_page_puts(page, "]");
}

static bool
ends(const char *text, const char *end)
{
    size_t n = strlen(text), k = strlen(end);
    return n >= k && strcmp(text + n - k, end) == 0;
}

/* Is it a text that people want to read: the program, what it imports, Lua? */
static bool
is_read(const rlf_recorded_input *in)
{
    return in->copy && (strcmp(in->name, "program") == 0 ||
                        ends(in->copy, ".lua") || ends(in->copy, ".rlf"));
}

static void
put_sources(rlf_page *page, rlf_record *r)
{
    enum { MOST = 1 << 20 }; /* bytes of one that are shown */
    const rlf_recorded_input *in;
    bool any = false;
    rlf_page_puts(page, ",\"sources\":[");
    for (size_t i = 0; (in = rlf_record_input(r, i)); i++) {
        size_t n;
        const char *text =
            is_read(in) ? rlf_record_file_text(r, in->copy, &n) : NULL;
        if (!text)
            continue;
        rlf_page_puts(page, any ? ",\n{\"name\":" : "{\"name\":");
        rlf_page_text(page, in->name);
        rlf_page_member(page, "part", in->part);
        rlf_page_member(page, "copy", in->copy);
        rlf_page_member(page, "path", in->path ? in->path : in->copy);
        rlf_page_puts(page, ",\"text\":");
        rlf_page_text_of(page, text, n < MOST ? n : MOST);
        rlf_page_puts(page, "}");
        any = true;
    }
    rlf_page_puts(page, "]");
    size_t n;
    const char *plan = rlf_record_file_text(r, "plan.rlf", &n);
    rlf_page_puts(page, ",\"plan\":");
    if (plan)
        rlf_page_text_of(page, plan, n < MOST ? n : MOST);
    else
        rlf_page_puts(page, "null");
}

static void
put_findings(rlf_page *page, rlf_record *r)
{
    const rlf_recorded_finding *f;
    const char *note;
    rlf_page_puts(page, ",\"findings\":[");
    for (size_t i = 0; (f = rlf_record_finding(r, i)); i++) {
        rlf_page_puts(page, i ? ",\n{\"kind\":" : "{\"kind\":");
        rlf_page_text(page, f->kind);
        rlf_page_member(page, "name", f->name);
        rlf_page_count(page, "first", f->first);
        rlf_page_count(page, "last", f->last);
        rlf_page_member(page, "text", f->text);
        rlf_page_puts(page, "}");
    }
    rlf_page_puts(page, "],\"notes\":[");
    for (size_t i = 0; (note = rlf_record_note(r, i)); i++) {
        rlf_page_puts(page, i ? "," : "");
        rlf_page_text(page, note);
    }
    rlf_page_puts(page, "]");
}

static void
put_prediction(rlf_page *page, const rlf_record *r)
{
    char *text = r->facts.prediction
                     ? json_dumps(r->facts.prediction, JSON_COMPACT)
                     : NULL;
    rlf_page_puts(page, ",\"prediction\":");
    rlf_page_json(page, text ? text : "null");
    free(text);
}

void
rlf_page_facts(rlf_page *page, const rlf_report_run *run)
{
    rlf_record *r = run->record;
    const rlf_recorded_run *is = rlf_record_run(r);
    rlf_page_puts(page, "\"directory\":");
    rlf_page_text(page, is->directory);
    rlf_page_member(page, "program", is->program);
    rlf_page_count(page, "state", is->state);
    rlf_page_member(page, "state_text", is->state_text);
    rlf_page_member(page, "why", is->why);
    rlf_page_count(page, "step", is->step);
    rlf_page_count(page, "steps", is->steps);
    rlf_page_puts(page, ",\"seconds\":");
    rlf_page_number(page, is->seconds);
    put_parameters(page, r);
    put_inputs(page, r);
    put_starts(page, r);
    put_sources(page, r);
    put_findings(page, r);
    put_prediction(page, r);
    rlf_page_puts(page, ",\"graph\":");
    rlf_page_json(page, run->graph ? run->graph : "null");
    rlf_page_member(page, "graph_why", run->why);
}

/* Pictures of a simulated run: a text to the letter, every span once in the SVG
 * and in the trace, at its time. */
#include "engine/graph/class.h"
#include "engine/search/timeline.h"
#include "tests/tap.h"

#include <unistd.h>

static const rlf_node_class sample = {.name = "generate"},
                            update = {.name = "update"};

/* Rank 0 samples, waits and trains, half of that for stages; rank 1 does
 * nothing but read for a moment. */
static rlf_timeline
make(void)
{
    static const rlf_node nodes[2] = {{.class = &sample}, {.class = &update}};
    static const rlf_span_spent spans[] = {
        {.rank = 0,
         .kind = RLF_SPENT_GENERATE,
         .node = &nodes[0],
         .to = 4,
         .turns = 8,
         .rows = 3},
        {.rank = 1, .kind = RLF_SPENT_READ, .from = 5, .to = 6},
        {.rank = 1, .kind = RLF_SPENT_OTHER, .from = 6, .to = 6},
        {.rank = 0,
         .kind = RLF_SPENT_TRAIN,
         .node = &nodes[1],
         .from = 6,
         .to = 10,
         .bubble = 2.5},
    };
    rlf_timeline t = {.ranks = 2};
    for (size_t i = 0; i < RLF_COUNT(spans); i++)
        rlf_timeline_see(&t, &spans[i]);
    return t;
}

static int
count(const char *text, const char *what)
{
    int n = 0;
    for (const char *p = text; (p = strstr(p, what)); p++)
        n++;
    return n;
}

static void
test_text(const rlf_timeline *t)
{
    rlf_buf text = {0};
    rlf_timeline_text(t, 0, 10, 10, &text);
    is_str(text.p,
           "    0 GGGG..~~~~\n"
           "    1 .....R....\n",
           "a letter for what takes most of each second");
    rlf_buf_clear(&text);
    rlf_timeline_text(t, 2, 7, 5, &text);
    is_str(text.p,
           "    0 GG..~\n"
           "    1 ...R.\n",
           "of a part of the time");
    rlf_buf_free(&text);
}

static void
test_svg(const rlf_timeline *t)
{
    rlf_buf text = {0};
    rlf_timeline_svg(t, 0, 10, &text);
    is_int(count(text.p, "<title>"), 3, "SVG: a bar for each span that lasts");
    ok(strstr(text.p, "<rect x=\"60.000\" y=\"40\" width=\"456.000\" "
                      "height=\"16\" fill=\"#0072b2\"><title>generate, "
                      "sampling: 4 s from 0 s, 8 turns of 3 samples</title>"),
       "at its place, and what it is");
    ok(strstr(text.p, "update, training: 4 s from 6 s, 2.5 s of it waiting for "
                      "others"),
       "with what it waits");
    ok(count(text.p, "<svg") == 1 && count(text.p, "</svg>\n") == 1 &&
           count(text.p, "<rect") ==
               count(text.p, "/>") + count(text.p, "</rect>"),
       "and ends all that it begins");
    rlf_buf_clear(&text);
    rlf_timeline_svg(t, 5, 6, &text);
    is_int(count(text.p, "<title>"), 1, "of a part of the time");
    rlf_buf_free(&text);
}

static void
test_trace(const rlf_timeline *t)
{
    char path[] = "/tmp/rlflow-timeline-XXXXXX", text[8192];
    int fd = mkstemp(path);
    rlf_trace *trace;
    rlf_err err = RLF_ERR_NONE;
    if (fd < 0 || rlf_trace_open(path, 1000, &err, &trace) < 0)
        bail("no file for a trace");
    rlf_timeline_trace(t, 1000, trace);
    is_int(rlf_trace_close(trace, &err), RLF_OK, "a trace is written");
    ssize_t n = read(fd, text, sizeof text - 1);
    text[n > 0 ? n : 0] = 0;
    is_int(count(text, "\"ph\": \"X\""), 3, "with all spans");
    ok(strstr(text, "\"ts\": 6000000"), "in microseconds");
    close(fd);
    unlink(path);
}

int
main(void)
{
    rlf_timeline t = make();
    test_text(&t);
    test_svg(&t);
    test_trace(&t);
    rlf_timeline_free(&t);
    return done();
}

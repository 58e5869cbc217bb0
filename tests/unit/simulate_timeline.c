/* Pictures of a simulated run: a text to the letter, every span once in the SVG
 * and in the trace, at its time. */
#include "engine/graph/class.h"
#include "engine/simulate/timeline_groups.h"
#include "engine/simulate/timeline.h"
#include "tests/tap.h"

#include <unistd.h>

static const rlf_node_class sample = {.name = "generate"},
                            update = {.name = "update"};

/* Rank 0 samples, waits and trains, half of that for stages; rank 1 does
 * nothing but read for a moment. */
static rlf_timeline
make(void)
{
    static const rlf_node nodes[2] = {{.class = &sample},
                                      {.class = &update, .id = 1}};
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
    ok(strstr(text.p, "<g><rect x=\"60.000\" y=\"76\" width=\"456.000\" "
                      "height=\"16\" fill=\"#0072b2\"/><title>generate, "
                      "sampling: 4 s from 0 s, 8 turns of 3 samples</title>"
                      "</g>"),
       "at its place, and what it is");
    ok(strstr(text.p, "y=\"82\" width=\"456.000\" height=\"10\""),
       "what waits for others is pale, 2.5 s of 4");
    ok(strstr(text.p, "update, training: 4 s from 6 s, 2.5 s of it waiting for "
                      "others"),
       "with what it waits");
    ok(count(text.p, "<svg") == 1 && count(text.p, "</svg>\n") == 1 &&
           count(text.p, "<rect") + count(text.p, "<path") ==
               count(text.p, "/>") &&
           count(text.p, "<g>") == count(text.p, "</g>") &&
           count(text.p, "<text") == count(text.p, "</text>"),
       "and ends all that it begins");
    is_int(count(text.p, " s</text>"), 11, "a scale of whole seconds");
    rlf_buf_clear(&text);
    rlf_timeline_svg(t, 5, 6, &text);
    is_int(count(text.p, "<title>"), 1, "of a part of the time");
    ok(strstr(text.p, ">0.5 s</text>"), "whose scale begins with it");
    rlf_buf_free(&text);
}

/* Checks the parts of a picture that the caller adds: names of calls, steps, a
 * title. */
static void
test_told(rlf_timeline *t)
{
    static const char *const names[] = {"actor.generate", "actor.update"};
    static const double ends[] = {4, 10};
    rlf_buf text = {0};
    t->names = names;
    t->ends = ends;
    t->steps = 2;
    t->title = "a < b & c";
    rlf_timeline_svg(t, 0, 10, &text);
    ok(strstr(text.p, "<title>actor.update, training: 4 s"), "calls by name");
    ok(strstr(text.p, ">step 1: 4 s<") && strstr(text.p, ">step 2: 6 s<") &&
           count(text.p, "stroke-dasharray") == 2,
       "where steps end");
    ok(strstr(text.p, ">a &lt; b &amp; c<"), "a title, as XML has it");
    rlf_buf_clear(&text);
    rlf_timeline_svg(t, 4, 10, &text);
    ok(!strstr(text.p, "step 1") && strstr(text.p, "step 2: 6 s"),
       "of a part of the time, the steps in it");
    rlf_buf_free(&text);
}

/* Six ranks: 0, 1 and 4 do the same but for a moment that no pixel shows, 2 and
 * 3 later, 5 with other samples. */
static void
test_bands(void)
{
    static const rlf_node node = {.class = &sample};
    rlf_timeline t = {.ranks = 6};
    rlf_buf text = {0};
    for (int r = 0; r < t.ranks; r++) {
        double late = r == 2 || r == 3 ? 3 : r == 1 ? 0.002 : 0;
        rlf_timeline_see(&t, &(rlf_span_spent){.rank = r,
                                               .kind = RLF_SPENT_GENERATE,
                                               .node = &node,
                                               .from = late,
                                               .to = late + 4,
                                               .turns = 8,
                                               .rows = r == 5 ? 2 : 3});
    }
    rlf_timeline_see(
        &t, &(rlf_span_spent){
                .rank = 4, .kind = RLF_SPENT_MESSAGES, .from = 9, .to = 9.001});
    rlf_timeline_svg(&t, 0, 10, &text);
    is_int(count(text.p, "<title>"), 3, "ranks that do the same are one bar");
    ok(strstr(text.p, ">ranks 0-1, 4</text>") &&
           strstr(text.p, ">ranks 2-3</text>") &&
           strstr(text.p, ">rank 5</text>"),
       "which names them");
    ok(strstr(text.p, "8 turns of 3 samples; ranks 2-3</title>"),
       "as its spans do");
    rlf_buf_clear(&text);
    rlf_timeline_svg(&t, 8, 10, &text);
    ok(strstr(text.p, ">ranks 0-5</text>"),
       "where only a moment of one differs all are one");
    rlf_buf_clear(&text);
    rlf_timeline_svg(&t, 8.999, 9.002, &text);
    ok(strstr(text.p, ">ranks 0-3, 5</text>") &&
           strstr(text.p, ">rank 4</text>"),
       "unless it is seen");
    rlf_buf_clear(&text);
    rlf_timeline_group_text(&(rlf_timeline_group){(int[]){1, 3, 5, 7}, 4}, 2,
                            &text);
    is_str(text.p, "ranks 1, 3, ... (4)", "of many runs the first ones");
    rlf_buf_free(&text);
    rlf_timeline_free(&t);
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
    is_int(count(text, "\"ph\": \"X\""), 5, "with all spans and steps");
    ok(strstr(text, "\"name\": \"step 2\", \"cat\": \"step\"") &&
           strstr(text, "\"name\": \"actor.update\""),
       "by name");
    is_int(count(text, "\"name\": \"rank 0\""), 2, "ranks have names");
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
    test_bands();
    test_told(&t);
    test_trace(&t);
    rlf_timeline_free(&t);
    return done();
}

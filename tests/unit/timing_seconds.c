/* Seconds of counts, against numbers worked out by hand from data sheets. */
#include "engine/timing/profile.h"
#include "engine/timing/seconds.h"
#include "tests/tap.h"
#include "tests/longest_term.h"

#include <string.h>

static rlf_arena *arena;
static const int ranks[32] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                              11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                              22, 23, 24, 25, 26, 27, 28, 29, 30, 31};

static rlf_speeds
speeds_of(const char *name, int machines, bool bf16)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_cluster *c;
    if (rlf_cluster_preset(name, machines, arena, &err, &c) < 0)
        bail("%s", err.sentence);
    return rlf_speeds_of(c, bf16);
}

static rlf_layout
layout_of(int tp, int pp, int dp)
{
    return (rlf_layout){
        .ranks = ranks, .n_ranks = tp * pp * dp, .tp = tp, .pp = pp, .dp = dp};
}

static rlf_seconds
seconds_of(const rlf_speeds *speeds, const rlf_cost *cost,
           const rlf_layout *layout, int rank)
{
    rlf_seconds s;
    rlf_seconds_of(speeds, cost, layout, rank, 0, &s);
    return s;
}

static void
is_term(const rlf_seconds *s, rlf_seconds_term term, double want,
        const char *name)
{
    ok(fabs(s->term[term] - want) <= 1e-12 * want, "%s: %s takes %g s: %g",
       name, rlf_seconds_word(term), want, s->term[term]);
}

static void
check_work(void)
{
    rlf_speeds a100 = speeds_of("a100x8", 1, true),
               f32 = speeds_of("a100x8", 1, false);
    const rlf_layout one = layout_of(1, 1, 1);
    rlf_cost cost = {.flops = 312e12,
                     .read = 1.5e9,
                     .written = 0.539e9,
                     .calls = 1000,
                     .host = 16e9};
    rlf_seconds s = seconds_of(&a100, &cost, &one, 0);
    is_term(&s, RLF_SECONDS_COMPUTE, 1, "an A100");
    is_term(&s, RLF_SECONDS_MEMORY, 1e-3, "an A100");
    is_term(&s, RLF_SECONDS_LAUNCH, 6e-3, "an A100");
    is_term(&s, RLF_SECONDS_HOST, 0.5, "an A100");
    near(s.total, 1.506, 1e-12, "memory is read while it computes");
    is_int(longest_term(&s), RLF_SECONDS_COMPUTE, "computing takes most");
    s = seconds_of(&f32, &cost, &one, 0);
    is_term(&s, RLF_SECONDS_COMPUTE, 16, "in f32");
    cost.read = 4078e9;
    cost.written = 0;
    s = seconds_of(&a100, &cost, &one, 0);
    near(s.total, 2.506, 1e-12, "memory takes longer");
    is_int(longest_term(&s), RLF_SECONDS_MEMORY, "... and takes most");
    rlf_seconds_of(&a100, &cost, &one, 0, 256, &s);
    is_term(&s, RLF_SECONDS_COMPUTE, 1, "half 0");
    a100.half = 128;
    rlf_seconds_of(&a100, &cost, &one, 0, 256, &s);
    is_term(&s, RLF_SECONDS_COMPUTE, 1.5, "256 rows reach two thirds");
    rlf_seconds_of(&a100, &cost, &one, 0, 128, &s);
    is_term(&s, RLF_SECONDS_COMPUTE, 2, "128 rows reach half");
    a100.factor[RLF_SECONDS_COMPUTE] = 3;
    rlf_seconds_of(&a100, &cost, &one, 0, 128, &s);
    near(s.total, 6.506, 1e-12, "with a factor computing takes longer");
    /* two ranks of this machine have half of all each */
    rlf_speeds two = rlf_speeds_of(rlf_cluster_this(2, 4, 1e9, arena), true);
    cost = (rlf_cost){.flops = 80e9, .read = 1e9, .host = 1e9};
    s = seconds_of(&two, &cost, &one, 1);
    is_term(&s, RLF_SECONDS_COMPUTE, 1, "two of four cores, in f32 alone");
    is_term(&s, RLF_SECONDS_MEMORY, 0.1, "half of the memory's speed");
    is_term(&s, RLF_SECONDS_HOST, 0.1, "what is for the host is copied in it");
}

static void
check_collectives(void)
{
    const rlf_speeds two = speeds_of("a100x8", 2, true);
    rlf_cost cost = {.meets[RLF_AXIS_TP] = {10, 3e9}};
    rlf_layout layout = layout_of(8, 1, 2);
    rlf_seconds s = seconds_of(&two, &cost, &layout, 3);
    is_term(&s, RLF_SECONDS_MEET_INSIDE, 8e-5, "tp in a machine");
    is_term(&s, RLF_SECONDS_SUM_INSIDE, 0.01, "tp in a machine");
    near(s.total, 0.01008, 1e-15, "and that is all");
    cost = (rlf_cost){.meets[RLF_AXIS_DP] = {1, 1e9}};
    s = seconds_of(&two, &cost, &layout, 3);
    is_term(&s, RLF_SECONDS_MEET_ACROSS, 2e-5, "eight groups of dp across");
    is_term(&s, RLF_SECONDS_SUM_ACROSS, 0.04, "... share 200 GB/s");
    is_int(longest_term(&s), RLF_SECONDS_SUM_ACROSS, "which binds");
    layout = layout_of(1, 1, 16);
    s = seconds_of(&two, &cost, &layout, 9);
    is_term(&s, RLF_SECONDS_SUM_ACROSS, 0.005, "one ring has it alone");
    layout = layout_of(4, 1, 2);
    s = seconds_of(&two, &cost, &layout, 0);
    is_term(&s, RLF_SECONDS_SUM_INSIDE, 1e9 / 300e9, "dp in a machine");
    near(s.term[RLF_SECONDS_SUM_ACROSS], 0, 0, "goes nowhere else");
    cost = (rlf_cost){.meets[RLF_AXIS_TP | RLF_AXIS_DP] = {2, 1e9}};
    layout = layout_of(8, 1, 2);
    s = seconds_of(&two, &cost, &layout, 0);
    is_term(&s, RLF_SECONDS_SUM_ACROSS, 0.005, "all sixteen together");
    is_term(&s, RLF_SECONDS_MEET_ACROSS, 4e-5, "all sixteen together");
}

static void
check_messages(void)
{
    const rlf_speeds two = speeds_of("a100x8", 2, true);
    const rlf_cost cost = {.meets[RLF_AXIS_PP] = {4, 1e9}};
    rlf_layout layout = layout_of(8, 2, 1);
    rlf_seconds s = seconds_of(&two, &cost, &layout, 5);
    is_term(&s, RLF_SECONDS_WAIT_ACROSS, 8e-5, "stages on two machines");
    is_term(&s, RLF_SECONDS_SEND_ACROSS, 0.04, "eight ranks send at a time");
    layout = layout_of(4, 4, 1);
    s = seconds_of(&two, &cost, &layout, 1);
    is_term(&s, RLF_SECONDS_SEND_INSIDE, 1e9 / 300e9,
            "the first stage has its neighbour beside it");
    s = seconds_of(&two, &cost, &layout, 5);
    is_term(&s, RLF_SECONDS_SEND_ACROSS, 0.02,
            "the second has one on the other machine, as four ranks have");
    rlf_seconds_stage(&two, &layout, 5, 9, 1e9, &s);
    is_term(&s, RLF_SECONDS_SEND_ACROSS, 0.02,
            "by itself it takes as long, for the others send too");
    rlf_seconds_stage(&two, &layout, 1, 5, 1e9, &s);
    is_term(&s, RLF_SECONDS_SEND_INSIDE, 1e9 / 300e9, "in a machine none do");
    layout.chunks = 2;
    s = seconds_of(&two, &cost, &layout, 1);
    is_term(&s, RLF_SECONDS_SEND_ACROSS, 0.02,
            "with chunks the last stage goes on with the first");
    rlf_seconds_message(&two, 2, 11, 1e9, &s);
    is_term(&s, RLF_SECONDS_SEND_ACROSS, 0.005, "a message by itself");
    near(s.total, 0.00502, 1e-15, "... with its start");
    rlf_seconds_message(&two, 2, 3, 3e9, &s);
    near(s.total, 0.010008, 1e-15, "a message in a machine");
    rlf_seconds_message(&two, 2, 2, 3e9, &s);
    near(s.total, 0, 0, "with itself a rank has none");
    rlf_seconds_copy(&two, 2, 32e9, &s);
    near(s.total, 1, 1e-15, "a copy to the host");
}

static void
check_lines(void)
{
    rlf_speeds two = speeds_of("a100x8", 2, true);
    rlf_line lines[] = {
        {.kind = RLF_LINE_COLLECTIVE, .ranks = 2, .fixed = 9e-4, .each = 1e-9},
        {.kind = RLF_LINE_COLLECTIVE, .ranks = 8, .fixed = 1e-4, .each = 1e-11},
        {.kind = RLF_LINE_MESSAGE, .ranks = 2, .fixed = 2e-4, .each = 1e-10},
        {.kind = RLF_LINE_COPY, .ranks = 1, .fixed = 1e-2, .each = 1e-10},
    };
    const rlf_profile profile = {.links = lines, .n_links = 4};
    const rlf_profile *profiles[16] = {0};
    for (int r = 0; r < 8; r++) /* the first machine's */
        profiles[r] = &profile;
    two.profiles = profiles;
    const rlf_cost cost = {.host = 1e9,
                           .meets[RLF_AXIS_TP] = {10, 1e9},
                           .meets[RLF_AXIS_DP] = {1, 1e9}};
    const rlf_layout layout = layout_of(8, 1, 2);
    rlf_seconds s;
    ok(rlf_speeds_line(&two, RLF_LINE_COLLECTIVE, 7, 2) == &lines[0] &&
           rlf_speeds_line(&two, RLF_LINE_COLLECTIVE, 7, 5) == &lines[1] &&
           rlf_speeds_line(&two, RLF_LINE_COLLECTIVE, 7, 64) == &lines[1] &&
           rlf_speeds_line(&two, RLF_LINE_MESSAGE, 0, 2) == &lines[2] &&
           !rlf_speeds_line(&two, RLF_LINE_MESSAGE, 8, 2),
       "lines are found by their kind, rank and number of ranks");
    s = seconds_of(&two, &cost, &layout, 0);
    is_term(&s, RLF_SECONDS_MEET_INSIDE, 1e-3, "by a line");
    is_term(&s, RLF_SECONDS_SUM_INSIDE, 1e-2, "by a line");
    is_term(&s, RLF_SECONDS_SUM_ACROSS, 0.04, "across machines without one");
    is_term(&s, RLF_SECONDS_HOST, 0.11, "by a line");
    rlf_seconds_message(&two, 2, 3, 1e9, &s);
    near(s.total, 0.1002, 1e-12, "a message by a line");
    rlf_seconds_message(&two, 2, 11, 1e9, &s);
    near(s.total, 0.00502, 1e-12, "to another machine without one");
    rlf_seconds_message(&two, 9, 10, 3e9, &s);
    near(s.total, 0.010008, 1e-12, "and where nobody has measured");
    near(rlf_line_at(&lines[0], 0), 9e-4, 0, "a line at 0");
}

/* A profile with these lines, as a file of the format has them. */
static rlf_profile
parse(int format, const char *lines)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_profile p;
    const char *text = rlf_arena_printf(
        arena,
        "{\"profile\":%d,\"machine\":\"m\",\"cores\":2,\"program\":\"p\","
        "\"post\":0,\"models\":[],\"links\":[],\"lengths\":[],\"lines\":[%s]}",
        format, lines);
    if (rlf_profile_parse("p.json", text, strlen(text), arena, &err, &p) < 0)
        bail("%s", err.sentence);
    return p;
}

#define PASS(piece, pp, cut, each)                                          \
    "{\"call\":\"a.update\",\"piece\":\"" piece "\",\"tp\":1,\"pp\":" pp    \
    ",\"stage\":0,\"dp\":0,\"threads\":1" cut ",\"fixed\":0,\"each\":" each \
    ",\"more\":0,\"least\":1,\"most\":100,\"spread\":0,\"n\":9}"

static double
pass_at(const rlf_profile *p, rlf_measured_kind kind, int pp, int chunks,
        bool split, bool *exact)
{
    const rlf_profile_key key = {.kind = kind,
                                 .call = "a.update",
                                 .tp = 1,
                                 .pp = pp,
                                 .threads = 1,
                                 .chunks = chunks,
                                 .split = split};
    rlf_profile_line made;
    const rlf_profile_line *line = rlf_profile_find(p, &key, &made, exact);
    return line ? rlf_profile_line_at(line, 10, 0) : -1;
}

/* Checks that passes through a pipeline's table are measured by chunks. */
static void
check_chunks(void)
{
    bool exact, other, read;
    rlf_buf text = {0};
    rlf_err err = RLF_ERR_NONE;
    rlf_profile again;
    const rlf_profile p =
        parse(3, PASS("forward", "2", ",\"chunks\":1", "4e-3") "," PASS(
                     "forward", "2", ",\"chunks\":2",
                     "3e-3") "," PASS("backward", "2",
                                      ",\"chunks\":1,\"split\":true", "5e-3"));
    near(pass_at(&p, RLF_MEASURED_FORWARD, 2, 1, false, &exact), 0.04, 1e-15,
         "a whole stage by its own line");
    near(pass_at(&p, RLF_MEASURED_FORWARD, 2, 2, false, &other), 0.03, 1e-15,
         "one of two chunks by its own");
    ok(exact && other, "... which are of just that cut");
    near(pass_at(&p, RLF_MEASURED_FORWARD, 2, 4, false, &exact), 0.015, 1e-15,
         "one of four by half of one of two");
    near(pass_at(&p, RLF_MEASURED_FORWARD, 4, 2, false, &exact), 0.015, 1e-15,
         "of twice the stages by half of as many chunks");
    ok(!exact, "... which is of another cut");
    ok(pass_at(&p, RLF_MEASURED_BACKWARD, 2, 1, false, &exact) < 0 &&
           pass_at(&p, RLF_MEASURED_BACKWARD, 2, 1, true, &exact) > 0,
       "half of a backward pass is no whole one");
    rlf_profile_print(&p, &text);
    ok(rlf_profile_parse("p.json", text.p, text.n, arena, &err, &again) >= 0 &&
           again.n_lines == 3 &&
           rlf_profile_same_key(&again.lines[1].key, &p.lines[1].key) &&
           rlf_profile_same_key(&again.lines[2].key, &p.lines[2].key),
       "a profile that is written reads back the same");
    rlf_buf_free(&text);
    const rlf_profile old =
        parse(2, PASS("backward", "2", "", "4e-3") "," PASS(
                     "backward", "4", "", "1e-3") "," PASS("weights", "4", "",
                                                           "1e-3"));
    near(pass_at(&old, RLF_MEASURED_BACKWARD, 2, 1, false, &exact), 0.04, 1e-15,
         "a file of the format before has whole stages");
    near(pass_at(&old, RLF_MEASURED_BACKWARD, 4, 1, true, &read), 0.01, 1e-15,
         "... and parts of a backward pass where it has the others");
    ok(exact && read, "... of just that cut");
}

static void
check_sums(void)
{
    const rlf_speeds one = speeds_of("a100x8", 1, true);
    const rlf_layout layout = layout_of(1, 1, 1);
    const rlf_cost first = {.flops = 312e12}, second = {.read = 2.039e12};
    rlf_seconds a = seconds_of(&one, &first, &layout, 0),
                b = seconds_of(&one, &second, &layout, 0), sum = {0};
    rlf_seconds_add(&sum, &a, 2);
    rlf_seconds_add(&sum, &b, 1);
    near(sum.total, 3, 1e-12, "what is done in turn does not overlap");
    is_term(&sum, RLF_SECONDS_COMPUTE, 2, "a sum");
    is_term(&sum, RLF_SECONDS_MEMORY, 1, "a sum");
}

int
main(void)
{
    arena = rlf_arena_new();
    check_work();
    check_collectives();
    check_messages();
    check_lines();
    check_chunks();
    check_sums();
    rlf_arena_free(arena);
    return done();
}

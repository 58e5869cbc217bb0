/* Pipeline tables: bubbles as in the textbooks, latencies and memory of
 * RLHFuse's table for two models in one pipeline, and the text form. Damaged
 * tables and stages that differ are judged in plan_pipe_judge.c. */
#include "tests/unit/pipe_tables.h"

static bool
accepted(const rlf_pipe *pipe)
{
    rlf_err err = RLF_ERR_NONE;
    bool good = rlf_pipe_check(pipe, NULL, NULL, &err) == RLF_OK;
    if (!good)
        note("%s", err.sentence);
    return good;
}

/* With all stages of a model alike. */
static void
time_of(const rlf_pipe *pipe, const rlf_pipe_cost *cost, rlf_pipe_report *out)
{
    rlf_pipe_time(pipe, rlf_pipe_even(pipe, cost, arena), arena, out, NULL);
}

/* Textbook */

static void
test_bubbles(void)
{
    static const rlf_pipe_cost cost = {1, 2, 0, 1, 0};
    bool gpipe = true, by_one = true, peaks = true, forward = true;
    for (int p = 1; p <= 9; p++)
        for (int m = 1; m <= 18; m++) {
            rlf_pipe pipe;
            rlf_pipe_report r;
            double want = (p - 1.0) / (m + p - 1);
            rlf_pipe_gpipe(p, m, arena, &pipe);
            time_of(&pipe, &cost, &r);
            gpipe &= accepted(&pipe) && equal(r.bubble, want) &&
                     equal(r.makespan, 3 * (m + p - 1));
            for (int i = 0; i < p; i++)
                peaks &= r.peak[i] == m;
            rlf_pipe_1f1b(p, m, arena, &pipe);
            time_of(&pipe, &cost, &r);
            by_one &= accepted(&pipe) && equal(r.bubble, want) &&
                      equal(r.makespan, 3 * (m + p - 1));
            for (int i = 0; i < p; i++)
                peaks &= r.peak[i] == (p - i < m ? p - i : m);
            rlf_pipe_forward(p, m, arena, &pipe);
            time_of(&pipe, &cost, &r);
            forward &= accepted(&pipe) && equal(r.bubble, want) &&
                       r.makespan == m + p - 1 && r.peak[0] == 0;
        }
    ok(gpipe, "GPipe: (p - 1) / (m + p - 1)");
    ok(by_one, "1F1B: the same");
    ok(peaks, "activations in flight: m, and p - stage");
    ok(forward, "forward only: the same, nothing kept");
}

static void
test_interleaved(void)
{
    static const rlf_pipe_cost cost = {1, 2, 0, 1, 0};
    bool good = true, odd = true, held = true;
    for (int p = 1; p <= 6; p++)
        for (int m = 1; m <= 5 * p; m++)
            for (int v = 1; v <= 4; v++) {
                rlf_pipe pipe;
                rlf_pipe_report r;
                rlf_pipe_interleaved(p, m, v, arena, &pipe);
                good &= accepted(&pipe);
                time_of(&pipe, &cost, &r);
                if (m % p == 0)
                    good &= equal(r.bubble, (p - 1.0) / (v * m + p - 1)) &&
                            equal(r.makespan, 3 * (v * m + p - 1));
                for (int i = 0; i < p && m >= 2 * p && v > 1; i++)
                    held &= r.peak[i] == 2 * (p - 1 - i) + (v - 1) * p + 1;
                if (m % p) /* no slower than with the last turn filled */
                    odd &= r.makespan <=
                           3 * (v * ((m / p + 1) * p) + p - 1) + 1e-9;
            }
    ok(good, "interleaved 1F1B: (p - 1) / (v m + p - 1)");
    ok(odd, "with a short last turn too");
    ok(held, "chunks in flight: 2 (p - 1 - stage) + (v - 1) p + 1");
}

static void
test_named(void)
{
    static const char *const names[] = {"gpipe", "1f1b", "interleaved", "zb-h1",
                                        "zb-h2", "zb-v"};
    rlf_pipe pipes[6], other;
    rlf_err err = RLF_ERR_NONE;
    rlf_pipe_gpipe(3, 7, arena, &pipes[0]);
    rlf_pipe_1f1b(3, 7, arena, &pipes[1]);
    rlf_pipe_interleaved(3, 7, 2, arena, &pipes[2]);
    rlf_pipe_zero_bubble(3, 7, 1, arena, &pipes[3]);
    rlf_pipe_zero_bubble(3, 7, 2, arena, &pipes[4]);
    rlf_pipe_vee(3, 7, arena, &pipes[5]);
    for (int i = 0; i < 6; i++) {
        rlf_buf a = {0}, b = {0};
        if (rlf_pipe_named(names[i], 3, 7, 2, arena, &err, &other) != RLF_OK)
            bail("%s", err.sentence);
        rlf_pipe_print(&pipes[i], &a);
        rlf_pipe_print(&other, &b);
        is_str(b.p, a.p, names[i]);
        rlf_buf_free(&a);
        rlf_buf_free(&b);
    }
    is_int(rlf_pipe_named("zigzag", 3, 7, 2, arena, &err, &other), RLF_USER,
           "another name is refused");
    is_str(err.sentence,
           "there is no schedule \"zigzag\"; there are gpipe, 1f1b, "
           "interleaved, zb-h1, zb-h2 and zb-v",
           "says so");
}

static const struct fusion fusions[] = {
    {8, 4, 32, 16, 5, 4, 1.95, 2, 813, 801, 15.6},
    {8, 4, 16, 8, 5, 4, 1.95, 2, 477, 465, 15.6},
    {8, 4, 8, 4, 5, 4, 1.95, 2, 309, 297, 15.6},
    {8, 8, 32, 32, 5, 2, 1.95, 1, 819, 805, 15.6},
    {8, 8, 16, 16, 5, 2, 1.95, 1, 483, 469, 15.6},
    {8, 8, 8, 8, 5, 2, 1.95, 1, 315, 301, 15.6},
    {16, 8, 64, 32, 2, 2, 1.64, 2, 708, 694, 26.24},
    {16, 8, 32, 16, 2, 2, 1.64, 2, 420, 406, 26.24},
    {16, 8, 16, 8, 2, 2, 1.64, 2, 276, 262, 26.24},
    {16, 16, 64, 64, 2, 1, 1.64, 1, 711, 696, 26.24},
    {16, 16, 32, 32, 2, 1, 1.64, 1, 423, 408, 26.24},
    {16, 16, 16, 16, 2, 1, 1.64, 1, 279, 264, 26.24},
};

static void
test_fusion(void)
{
    bool serial = true, joined = true, memory = true, sound = true;
    for (size_t i = 0; i < sizeof fusions / sizeof *fusions; i++) {
        const struct fusion *x = &fusions[i];
        rlf_pipe_cost cost[3] = {{x->f0, 2 * x->f0, 0, x->memory0, 0},
                                 {x->f1, 2 * x->f1, 0, x->memory1, 0},
                                 {x->f1, 2 * x->f1, 0, x->memory1, 0}};
        rlf_pipe pipe, alone;
        rlf_pipe_report both, big, small;
        rlf_pipe_1f1b(x->p, x->m0, arena, &alone);
        time_of(&alone, cost, &big);
        rlf_pipe_1f1b(x->p1, x->m1, arena, &alone);
        time_of(&alone, cost + 1, &small);
        serial &= equal(big.makespan + small.makespan, x->serial);
        double peak = x->p * x->memory0 > x->p1 * x->memory1 ? big.peak[0]
                                                             : small.peak[0];
        memory &= equal(peak, x->least_memory);
        fuse(x, &pipe);
        sound &= accepted(&pipe);
        time_of(&pipe, cost, &both);
        joined &= equal(both.makespan, x->joined);
    }
    ok(serial, "one after the other: the paper's serial latencies");
    ok(memory, "and its least memory");
    ok(sound, "fused tables with a reversed second model are accepted");
    ok(joined, "their latencies without a barrier: 801, 465, 297 .. 264");
}

/* W right after its B is a backward in one, but that the stage before waits for
 * B alone. */
static void
test_split(void)
{
    static const rlf_pipe_cost one = {1, 2, 0, 1, 0}, two = {1, 1, 0, 1, 1};
    bool sound = true, joined = true, held = true;
    for (int p = 1; p <= 6; p++)
        for (int m = 1; m <= 12; m++) {
            rlf_pipe whole, pipe;
            rlf_pipe_report r;
            rlf_pipe_1f1b(p, m, arena, &whole);
            for (int late = 0; late < 4; late++) {
                split(&whole, late, &pipe);
                sound &= accepted(&pipe);
                time_of(&pipe, &two, &r);
                sound &= equal(r.busy, 3 * p * m) && pipe.models[0].split;
                for (int i = 0; i < p; i++)
                    held &= rlf_pipe_held(&pipe, 0, i, 0) == (int)r.peak[i];
            }
            split(&whole, 0, &pipe);
            time_of(&pipe, &two, &r);
            joined &= equal(r.makespan, 3 * m + 2 * (p - 1));
            for (int i = 0; i < p; i++)
                held &= r.peak[i] == (p - i < m ? p - i : m);
            time_of(&whole, &one, &r);
            joined &= equal(r.makespan, 3 * (m + p - 1));
        }
    ok(sound, "1F1B with weights apart, right after backward and later");
    ok(joined, "apart and at once: 3 m + 2 (p - 1), for 3 (m + p - 1) in one");
    ok(held, "and activations are held until then");
}

/* As published: a place is at it for (p - 1)(f + b - w) more than its work, in
 * ZB-H2 for (p - 1)(f + b - 2 w), if w <= b <= f + w and there are
 * micro-batches enough; 1F1B for (p - 1)(f + b + w). */
static void
test_zero_bubble(void)
{
    static const rlf_pipe_cost costs[] = {
        {1, 1, 0, 1, 1}, {10, 11, 0, 1, 9}, {10, 12, 0, 1, 8}, {2, 2, 0, 1, 1}};
    bool sound = true, spans = true, held = true, least = true;
    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++)
        for (int p = 1; p <= 8; p++)
            for (int m = 1; m <= 4 * p + 1; m++) {
                const rlf_pipe_cost *c = &costs[i];
                double each = c->forward + c->backward + c->weights;
                for (int depth = 1; depth <= 2; depth++) {
                    rlf_pipe pipe;
                    rlf_pipe_report r;
                    rlf_pipe_zero_bubble(p, m, depth, arena, &pipe);
                    sound &= accepted(&pipe);
                    time_of(&pipe, c, &r);
                    double waits = (p - 1) * (c->forward + c->backward -
                                              depth * c->weights);
                    least &=
                        r.makespan >= (p - 1) * c->forward + m * each - 1e-9;
                    if (m >= depth * p)
                        spans &= equal(r.span, m * each + waits);
                    if (m >= p && depth == 1)
                        spans &= equal(r.makespan, r.span);
                    for (int k = 0; k < p; k++)
                        held &= r.peak[k] <= depth * (p - 1) + 1;
                    rlf_pipe_1f1b(p, m, arena, &pipe);
                    time_of(&pipe, c, &r);
                    /* its backward is both */
                    spans &=
                        m < p ||
                        equal(r.span, (m + p - 1) * (c->forward + c->backward));
                }
            }
    ok(sound, "ZB-H1 and ZB-H2 are tables");
    ok(spans, "with a third of 1F1B's bubble, and none, if f = b = w");
    ok(held, "in p, and 2 p - 1, micro-batches' memory");
    ok(least, "no sooner than the last place can");
}

/* As published: where forward, backward and weights take the same, no place
 * waits from its first operation to its last, in ZB-H1's memory; and each keeps
 * no more of both chunks, one by one, than half a micro-batch above it. */
static void
test_vee(void)
{
    static const rlf_pipe_cost one = {1, 1, 0, 1, 1};
    bool sound = true, spans = true, held = true, apart = true;
    for (int p = 1; p <= 12; p++)
        for (int m = 1; m <= 4 * p + 1; m++) {
            rlf_pipe pipe;
            rlf_pipe_report r;
            rlf_pipe_vee(p, m, arena, &pipe);
            sound &= accepted(&pipe);
            time_of(&pipe, &one, &r);
            spans &= m < 2 * p - 1 || equal(r.span, 6 * m);
            for (int k = 0; k < p; k++) {
                held &= r.peak[k] <= 2 * p;
                apart &= rlf_pipe_held(&pipe, 0, k, 0) +
                             rlf_pipe_held(&pipe, 0, k, 1) <=
                         2 * p + 1;
            }
        }
    ok(sound, "ZB-V is a table");
    ok(spans, "without a bubble, if f = b = w and m >= 2 p - 1");
    ok(held, "in the memory of p micro-batches");
    ok(apart, "each chunk for itself keeps half a micro-batch more");
}

/* Fewer micro-batches than a table was made for. */
static void
test_limit(void)
{
    bool good = true;
    for (int a = 0; a <= 6; a++)
        for (int b = 0; b <= 4; b++) {
            struct fusion x = {4, 2, 6, 4, 1, 1, 1, 1, 0, 0, 0};
            int micros[3] = {a + 1, b + 1, 4}, count = 0;
            rlf_pipe pipe;
            fuse(&x, &pipe);
            rlf_pipe_limit(&pipe, micros, arena, &pipe);
            for (int i = 0; i < 4; i++)
                count += pipe.lists[i].count;
            int first = a + 1 < 6 ? a + 1 : 6, second = b + 1 < 4 ? b + 1 : 4;
            good &= accepted(&pipe) && pipe.models[0].micros == first &&
                    count == 2 * (4 * first + 2 * second + 2 * 4);
        }
    ok(good, "a table with fewer micro-batches is a table");
}

static void
test_send_time(void)
{
    static const rlf_pipe_cost cost = {1, 2, 0.5, 1, 0};
    rlf_pipe pipe;
    rlf_pipe_report r;
    rlf_pipe_1f1b(4, 1, arena, &pipe);
    time_of(&pipe, &cost, &r);
    near(r.makespan, 4 * 3 + 6 * 0.5, 1e-12, "one micro-batch: 6 sends");
    rlf_pipe_1f1b(1, 5, arena, &pipe);
    time_of(&pipe, &cost, &r);
    near(r.makespan, 15, 1e-12, "one place: none");
}

/* Sentences */

static void
refuses(const char *text, const char *sentence)
{
    rlf_pipe pipe;
    rlf_err err = RLF_ERR_NONE;
    rlf_status status = rlf_pipe_read(text, "t", arena, &err, &pipe);
    if (status == RLF_OK)
        status = rlf_pipe_check(&pipe, NULL, NULL, &err);
    if (is_int(status, RLF_USER, sentence))
        is_str(err.sentence, sentence, "says so");
}

#define TWO "places 2\nmodel a micros 2 path 0 1\n"

#define SPLIT "places 2\nmodel a micros 2 split path 0 1\n"

static void
test_sentences(void)
{
    refuses("", "t has no line that says places");
    refuses("places 2\n", "t has no line that says model");
    refuses("places 0\n", "t:1: expected a number of places, not \"0\"");
    refuses("places 99999999999\n",
            "t:1: expected a number of places, not \"99999999999\"");
    refuses("places 2\nplaces 2\n", "t:2: places are said twice, again \"2\"");
    refuses("\n# so\nstages 2\n",
            "t:3: expected places, model or place, not \"stages\"");
    refuses("places 1\nmodel a micros x\n",
            "t:2: expected a number of micro-batches, not \"x\"");
    refuses("model a macros 1 path 0\n",
            "t:1: expected micros, not \"macros\"");
    refuses("model a micros 1 way 0\n", "t:1: expected path, not \"way\"");
    refuses("model a micros 1 path 0 -1\n",
            "t:1: expected a place, not \"-1\"");
    refuses("model a micros 1 path 0\nmodel a micros 1 path 0\n",
            "t:2: expected a new name of a model, not \"a\"");
    refuses("model a:b micros 1 path 0\n",
            "t:1: names have no colon, but see \"a:b\"");
    refuses(TWO "place 2: F0\n",
            "t:3: expected a place and a colon, not \"2:\"");
    refuses(TWO "place 0: F0 X\n",
            "t:3: expected an operation (F0, B0, W0, NAME:F0 of several "
            "models, F0/1 on chunk 1), not \"X\"");
    refuses(TWO "place 0: F\n",
            "t:3: expected an operation (F0, B0, W0, NAME:F0 of several "
            "models, F0/1 on chunk 1), not \"F\"");
    refuses(TWO "model b micros 1 path 0\nplace 0: F0\n",
            "t:4: expected an operation (F0, B0, W0, NAME:F0 of several "
            "models, F0/1 on chunk 1), not \"F0\"");
    refuses("places 2\nmodel a micros 1 path 0 2\n",
            "stage 1 of a is at place 2, but the places are 0 to 1");
    refuses("places 1\nmodel a micros 1 path\nplace 0:\n",
            "a has 1 micro-batches and 0 stages; both are at least 1");
    refuses(TWO "place 0: F0 F1 B0 B1\nplace 1: F0 B0 F1 B1 F0\n",
            "place 1 has forward of micro-batch 0 of a twice, as operations 0 "
            "and 4");
    refuses(TWO "place 0: F0 F1 B0 B1\nplace 1: F0 B0 F1\n",
            "place 1 has no backward of micro-batch 1 of a");
    refuses(TWO "place 0: F0 B0 B1 F1\nplace 1: F0 B0 F1 B1\n",
            "place 0 has backward of micro-batch 1 of a, its operation 2, "
            "before its forward");
    refuses(TWO "place 0: F0 F1 B1 B0\nplace 1: F0 F1 B1 B0\n",
            "place 0 has backward of micro-batch 1 of a, its operation 2, "
            "before that of micro-batch 0; backward goes in index order");
    refuses(TWO "place 0: F0 F1/1\n",
            "operation 1 of place 0 is of chunk 1 of a, which has 1 stages "
            "there");
    refuses(TWO "place 0: F2\n",
            "operation 0 of place 0 is of micro-batch 2 of a, which has 0 to "
            "1");
    refuses("places 1\nmodel a micros 1 forward path 0\nplace 0: F0 B0\n",
            "operation 1 of place 0 goes backward, but a only goes forward");
    refuses(SPLIT "place 0: F0 F1 B0 B1 W0\nplace 1: F0 B0 W0 F1 B1 W1\n",
            "place 0 has no weight gradient of micro-batch 1 of a");
    refuses(SPLIT "place 0: F0 F1 B0 W0 W1 B1\nplace 1: F0 B0 W0 F1 B1 W1\n",
            "place 0 has weight gradient of micro-batch 1 of a, its operation "
            "4, before its backward");
    refuses(SPLIT "place 0: F0 F1 B0 B1 W1 W0\nplace 1: F0 B0 W0 F1 B1 W1\n",
            "place 0 has weight gradient of micro-batch 1 of a, its operation "
            "4, before that of micro-batch 0; weight gradients go in index "
            "order");
    refuses(SPLIT "place 0: F0 F1 B0 B1 W0 W1\nplace 1: F0 B0 W0 F1 B1 W1 W0",
            "place 1 has weight gradient of micro-batch 0 of a twice, as "
            "operations 2 and 6");
    refuses(TWO "place 0: F0 F1 B0 B1\nplace 1: F0 B0 W0 F1 B1\n",
            "operation 2 of place 1 is a weight gradient, but the backward of "
            "a is not split");
    refuses("places 1\nmodel a micros 1 forward split path 0\n",
            "t:2: expected path, not \"split\"");
    refuses(TWO "place 0: F0 B0 F1 B1\nplace 1: F0 F1 B0 B1\n",
            "place 0 waits for ever: its operation 1, backward of micro-batch "
            "0 of a, needs backward of micro-batch 0 of a of place 1 first");
}

static void
test_memory(void)
{
    static const rlf_pipe_cost cost = {1, 2, 0, 1.5, 0};
    double cap[4] = {6, 6, 3, 1.5};
    rlf_pipe pipe;
    rlf_err err = RLF_ERR_NONE;
    rlf_pipe_1f1b(4, 9, arena, &pipe);
    const rlf_pipe_cost *const *even = rlf_pipe_even(&pipe, &cost, arena);
    is_int(rlf_pipe_check(&pipe, even, cap, &err), RLF_OK,
           "1F1B within 4, 3, 2 and 1 activations");
    cap[1] = 4.4;
    is_int(rlf_pipe_check(&pipe, even, cap, &err), RLF_USER,
           "but not with less");
    is_str(err.sentence,
           "place 1 holds 4.5 of activations at its operation 2, more than its "
           "4.4",
           "says so");
    rlf_pipe late;
    split(&pipe, 2, &late);
    cap[1] = 4.5;
    rlf_err_clear(&err);
    is_int(rlf_pipe_check(&late, even, cap, &err), RLF_USER,
           "nor if weights come late");
    is_str(err.sentence,
           "place 0 holds 7.5 of activations at its operation 5, more than its "
           "6",
           "says so");
}

/* The text form */

/* Actor through the places, critic the other way: each fills the bubbles of the
 * other. */
static const char fused[] = "# actor and critic trained in one pipeline\n"
                            "places 2\n"
                            "model actor micros 2 path 0 1\n"
                            "model critic micros 2 path 1 0\n"
                            "\n"
                            "place 0: actor:F0 actor:F1 critic:F0 critic:B0\n"
                            "place 0: actor:B0 critic:F1 critic:B1 actor:B1\n"
                            "place 1: critic:F0 critic:F1 actor:F0 actor:B0\n"
                            "place 1: critic:B0 actor:F1 actor:B1 critic:B1\n";

static void
test_text(void)
{
    rlf_pipe pipe, again, chunks;
    rlf_err err = RLF_ERR_NONE;
    rlf_buf a = {0}, b = {0};
    is_int(rlf_pipe_read(fused, "fused", arena, &err, &pipe), RLF_OK,
           "a fused table is read");
    ok(accepted(&pipe), "and accepted");
    static const rlf_pipe_cost cost[2] = {{1, 2, 0, 1, 0}, {1, 2, 0, 1, 0}};
    rlf_pipe_report r;
    time_of(&pipe, cost, &r);
    near(r.makespan, 12, 1e-12, "without a bubble: 12 units, not 18");
    near(r.bubble, 0, 1e-12, "all places busy all the time");
    rlf_pipe_print(&pipe, &a);
    is_int(rlf_pipe_read(a.p, "again", arena, &err, &again), RLF_OK,
           "what is printed can be read");
    rlf_pipe_print(&again, &b);
    is_str(b.p, a.p, "and prints the same");
    rlf_buf_clear(&a);
    rlf_buf_clear(&b);
    rlf_pipe_interleaved(2, 4, 3, arena, &chunks);
    rlf_pipe_print(&chunks, &a);
    is_int(rlf_pipe_read(a.p, "chunks", arena, &err, &again), RLF_OK,
           "chunks too");
    rlf_pipe_print(&again, &b);
    is_str(b.p, a.p, "the same");
    rlf_buf_clear(&a);
    rlf_buf_clear(&b);
    split(&pipe, 1, &chunks);
    chunks.models[1].split = false;
    rlf_pipe_print(&chunks, &a);
    is_int(rlf_pipe_read(a.p, "split", arena, &err, &again), RLF_OK,
           "and a model that splits its backward, beside one that does not");
    rlf_pipe_print(&again, &b);
    is_str(b.p, a.p, "the same");
    ok(strstr(a.p,
              "model actor micros 2 split path 0 1\n"
              "model critic micros 2 path 1 0\n"
              "place 0: actor:F0 actor:F1 critic:F0 critic:B0 actor:B0 ") !=
           NULL,
       "... as it is written");
    rlf_buf_clear(&a);
    rlf_pipe_zero_bubble(3, 4, 1, arena, &pipe);
    rlf_pipe_print(&pipe, &a);
    is_str(a.p,
           "places 3\n"
           "model model micros 4 split path 0 1 2\n"
           "place 0: F0 F1 F2 B0 W0 F3 B1 W1 B2 W2 B3 W3\n"
           "place 1: F0 F1 B0 F2 B1 W0 F3 B2 W1 B3 W2 W3\n"
           "place 2: F0 B0 F1 B1 F2 B2 W0 F3 B3 W1 W2 W3\n",
           "ZB-H1 as published");
    rlf_buf_clear(&a);
    rlf_pipe_1f1b(3, 3, arena, &pipe);
    rlf_pipe_print(&pipe, &a);
    is_str(a.p,
           "places 3\n"
           "model model micros 3 path 0 1 2\n"
           "place 0: F0 F1 F2 B0 B1 B2\n"
           "place 1: F0 F1 B0 F2 B1 B2\n"
           "place 2: F0 B0 F1 B1 F2 B2\n",
           "1F1B as in the books");
    rlf_buf_free(&a);
    rlf_buf_free(&b);
}

int
main(void)
{
    arena = rlf_arena_new();
    test_bubbles();
    test_interleaved();
    test_named();
    test_fusion();
    test_split();
    test_zero_bubble();
    test_vee();
    test_limit();
    test_send_time();
    test_sentences();
    test_memory();
    test_text();
    rlf_arena_free(arena);
    return done();
}

/* Pictures of a simulated run: see timeline.h. */
#include "engine/search/timeline.h"

#include "engine/graph/class.h"

const char rlf_timeline_letters[RLF_SPENTS + 1] = {
    [RLF_SPENT_GENERATE] = 'G', [RLF_SPENT_READ] = 'R',
    [RLF_SPENT_TRAIN] = 'T',    [RLF_SPENT_HOOK] = 'H',
    [RLF_SPENT_OTHER] = 'o',    [RLF_SPENT_MESSAGES] = 'm',
    [RLF_SPENT_WEIGHTS] = 'w',  [RLF_SPENT_BUBBLE] = '~'};

/* Told apart by those who do not see all colours, too. */
static const char *const colors[RLF_SPENTS] = {
    [RLF_SPENT_GENERATE] = "#0072b2", [RLF_SPENT_READ] = "#56b4e9",
    [RLF_SPENT_TRAIN] = "#d55e00",    [RLF_SPENT_HOOK] = "#009e73",
    [RLF_SPENT_OTHER] = "#999999",    [RLF_SPENT_MESSAGES] = "#cc79a7",
    [RLF_SPENT_WEIGHTS] = "#f0e442",  [RLF_SPENT_BUBBLE] = "#eecfb8"};

void
rlf_timeline_see(void *timeline, const rlf_span_spent *span)
{
    rlf_timeline *t = timeline;
    if (span->to > span->from)
        RLF_PUSH(&t->spans, *span);
}

void
rlf_timeline_free(rlf_timeline *t)
{
    RLF_VEC_FREE(&t->spans);
}

static double
overlap(double a, double b, double c, double d)
{
    double from = a > c ? a : c, to = b < d ? b : d;
    return to > from ? to - from : 0;
}

/* ---- text ---- */

/* Seconds of each kind in each column of each rank. */
static double *
fill(const rlf_timeline *t, double from, double width, int columns)
{
    double *of =
        rlf_calloc((size_t)t->ranks * (size_t)columns * RLF_SPENTS, sizeof *of);
    for (size_t i = 0; i < t->spans.count && width > 0; i++) {
        const rlf_span_spent *s = &t->spans.data[i];
        int first = (int)((s->from - from) / width);
        double share = s->bubble / (s->to - s->from);
        for (int k = first < 0 ? 0 : first;
             k < columns && from + k * width < s->to; k++) {
            double at = from + k * width;
            double here = overlap(s->from, s->to, at, at + width);
            double *cell =
                of +
                ((size_t)s->rank * (size_t)columns + (size_t)k) * RLF_SPENTS;
            cell[s->kind] += here * (1 - share);
            cell[RLF_SPENT_BUBBLE] += here * share;
        }
    }
    return of;
}

static char
letter(const double *cell, double width)
{
    double idle = width;
    int most = -1;
    for (int k = 0; k < RLF_SPENTS; k++) {
        idle -= cell[k];
        if (cell[k] > 0 && (most < 0 || cell[k] > cell[most]))
            most = k;
    }
    return most < 0 || idle > cell[most] ? '.' : rlf_timeline_letters[most];
}

void
rlf_timeline_text(const rlf_timeline *t, double from, double to, int columns,
                  rlf_buf *out)
{
    double width = (to - from) / columns;
    double *of = fill(t, from, width, columns);
    for (int r = 0; r < t->ranks; r++) {
        rlf_buf_printf(out, "%5d ", r);
        for (int k = 0; k < columns; k++)
            rlf_buf_putc(out,
                         letter(of + ((size_t)r * (size_t)columns + (size_t)k) *
                                         RLF_SPENTS,
                                width));
        rlf_buf_putc(out, '\n');
    }
    free(of);
}

/* ---- SVG ---- */

enum { WIDTH = 1200, LEFT = 60, BAR = 16, GAP = 4, TOP = 40, TICKS = 10 };

static const char *
name_of(const rlf_span_spent *s)
{
    return s->node ? s->node->class->name : rlf_spent_words[s->kind];
}

static void
put_bar(const rlf_span_spent *s, double from, double to, rlf_buf *out)
{
    double a = s->from > from ? s->from : from, b = s->to < to ? s->to : to;
    double scale = (WIDTH - LEFT) / (to - from);
    if (b <= a)
        return;
    rlf_buf_printf(out,
                   "<rect x=\"%.3f\" y=\"%d\" width=\"%.3f\" height=\"%d\" "
                   "fill=\"%s\"><title>%s, %s: %.6g s from %.6g s",
                   LEFT + (a - from) * scale, TOP + s->rank * (BAR + GAP),
                   (b - a) * scale, BAR, colors[s->kind], name_of(s),
                   rlf_spent_words[s->kind], s->to - s->from, s->from);
    if (s->turns)
        rlf_buf_printf(out, ", %u turns of %u samples", s->turns, s->rows);
    if (s->bubble > 0)
        rlf_buf_printf(out, ", %.6g s of it waiting for others",
                       s->bubble);
    rlf_buf_puts(out, "</title></rect>\n");
}

static void
put_scale(double from, double to, int bottom, rlf_buf *out)
{
    for (int i = 0; i <= TICKS; i++)
        rlf_buf_printf(out, "<text x=\"%d\" y=\"%d\">%.4g s</text>\n",
                       LEFT + (WIDTH - LEFT) * i / TICKS, bottom,
                       from + (to - from) * i / TICKS);
}

void
rlf_timeline_svg(const rlf_timeline *t, double from, double to, rlf_buf *out)
{
    int bottom = TOP + t->ranks * (BAR + GAP) + BAR;
    rlf_buf_printf(out,
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
                   "height=\"%d\" font-family=\"sans-serif\" "
                   "font-size=\"12\">\n"
                   "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
                   WIDTH + LEFT, bottom + BAR);
    for (int k = 0; k < RLF_SPENT_BUBBLE; k++)
        rlf_buf_printf(out,
                       "<rect x=\"%d\" y=\"8\" width=\"12\" height=\"12\" "
                       "fill=\"%s\"/><text x=\"%d\" y=\"18\">%s</text>\n",
                       LEFT + 110 * k, colors[k], LEFT + 110 * k + 16,
                       rlf_spent_words[k]);
    for (int r = 0; r < t->ranks; r++)
        rlf_buf_printf(out, "<text x=\"4\" y=\"%d\">rank %d</text>\n",
                       TOP + r * (BAR + GAP) + BAR - 3, r);
    for (size_t i = 0; i < t->spans.count; i++)
        put_bar(&t->spans.data[i], from, to, out);
    put_scale(from, to, bottom, out);
    rlf_buf_puts(out, "</svg>\n");
}

/* ---- a trace ---- */

static uint64_t
nanoseconds(uint64_t start, double seconds)
{
    return start + (uint64_t)(seconds * 1e9 + 0.5);
}

void
rlf_timeline_trace(const rlf_timeline *t, uint64_t start, rlf_trace *trace)
{
    rlf_trace_lane **lanes = rlf_calloc((size_t)t->ranks, sizeof *lanes);
    for (int r = 0; r < t->ranks; r++)
        lanes[r] = rlf_trace_add(trace, r, "simulated");
    for (size_t i = 0; i < t->spans.count; i++) {
        const rlf_span_spent *s = &t->spans.data[i];
        rlf_trace_span(lanes[s->rank], rlf_spent_words[s->kind], name_of(s),
                       nanoseconds(start, s->from), nanoseconds(start, s->to),
                       s->turns);
    }
    free(lanes);
}

/* Graphs as SVG documents: see draw.h. Classes of elements have names, so that
 * a page which has the picture in it can give them other colours; by itself it
 * is dark where its reader's pages are. */
#include "engine/base/svg.h"
#include "engine/base/vec.h"
#include "engine/draw/scene.h"
#include "engine/graph/class.h"

#include <math.h>
#include <string.h>

enum {
    TOP = 34,    /* of the flow's scene, below its name */
    MODELS = 6,  /* colours of models, which come again after so many */
    LEGEND = 22, /* a row of the legend */
    MARGIN = 14,
};

static const char style[] =
    "<style>\n"
    ".rlf{font-family:Helvetica,Arial,sans-serif;font-size:12px}\n"
    ".rlf text{fill:#222}\n"
    ".rlf .name{font-size:15px;font-weight:bold}\n"
    ".rlf .title{font-weight:bold;text-anchor:middle}\n"
    ".rlf .head{font-weight:bold}\n"
    ".rlf .under{font-size:10px;fill:#555;text-anchor:middle}\n"
    ".rlf .label{font-size:10px;fill:#444;text-anchor:end;paint-order:stroke;"
    "stroke:#fff;stroke-width:3px;stroke-linejoin:round}\n"
    ".rlf .line{fill:none;stroke:#777;stroke-width:1.2}\n"
    ".rlf .tip{fill:#777;stroke:none}\n"
    ".rlf .box{fill:#fff;stroke:#666;stroke-width:1.2}\n"
    ".rlf .update{stroke-width:2.4}\n"
    ".rlf .hook{fill:#fff7d6;stroke:#97780a}\n"
    ".rlf .frame{fill:#f8f8f8;stroke:#999}\n"
    ".rlf .looking{stroke-dasharray:4 3}\n"
    ".rlf .metrics{stroke:#999}\n"
    ".rlf .page{fill:#fff}\n"
    ".rlf .m0{fill:#dbe9f9;stroke:#2f6fb5}\n"
    ".rlf .m1{fill:#dff1df;stroke:#2e7d43}\n"
    ".rlf .m2{fill:#ececec;stroke:#666}\n"
    ".rlf .m3{fill:#fde8d3;stroke:#b8651b}\n"
    ".rlf .m4{fill:#eee3f6;stroke:#7a4fa0}\n"
    ".rlf .m5{fill:#fbe0e6;stroke:#b03a5b}\n"
    "@media (prefers-color-scheme:dark){\n"
    ".rlf text{fill:#e3e8ee}\n"
    ".rlf .under{fill:#b4bfcb}\n"
    ".rlf .label{fill:#b4bfcb;stroke:#14181d}\n"
    ".rlf .line{stroke:#8b97a5}\n"
    ".rlf .tip{fill:#8b97a5}\n"
    ".rlf .box{fill:#1f262e;stroke:#8b97a5}\n"
    ".rlf .hook{fill:#38300f;stroke:#cdb04a}\n"
    ".rlf .frame{fill:#191f26;stroke:#6d7886}\n"
    ".rlf .metrics{stroke:#6d7886}\n"
    ".rlf .page{fill:#14181d}\n"
    ".rlf .m0{fill:#1b3350;stroke:#6aa9ff}\n"
    ".rlf .m1{fill:#1c3a26;stroke:#5fc585}\n"
    ".rlf .m2{fill:#30363d;stroke:#a3adb8}\n"
    ".rlf .m3{fill:#43290f;stroke:#ee9a4f}\n"
    ".rlf .m4{fill:#33234a;stroke:#b48be0}\n"
    ".rlf .m5{fill:#451f2b;stroke:#ee7a9a}\n"
    "}\n"
    "</style>\n";

static void
put_class(const rlf_scene_box *box, rlf_buf *out)
{
    static const char *const words[RLF_BOX_KINDS] = {
        [RLF_BOX_DATA] = "data",   [RLF_BOX_MODEL] = "model",
        [RLF_BOX_HOOK] = "hook",   [RLF_BOX_FORMULA] = "formula",
        [RLF_BOX_OTHER] = "other", [RLF_BOX_METRICS] = "metrics",
        [RLF_BOX_FRAME] = "frame", [RLF_BOX_ENTRY] = "entry",
    };
    rlf_buf_printf(out, "box %s", words[box->kind]);
    if (box->kind == RLF_BOX_MODEL && box->model >= 0)
        rlf_buf_printf(out, " m%d", box->model % MODELS);
    if (box->updates)
        rlf_buf_puts(out, " update");
    if (box->looking)
        rlf_buf_puts(out, " looking");
}

static void
put_hint(const char *hint, rlf_buf *out)
{
    if (!hint || !*hint)
        return;
    rlf_buf_puts(out, "<title>");
    rlf_svg_text(out, hint);
    rlf_buf_puts(out, "</title>");
}

static void
put_text(const char *class, double x, double y, const char *text, rlf_buf *out)
{
    rlf_buf_printf(out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">", class, x,
                   y);
    rlf_svg_text(out, text);
    rlf_buf_puts(out, "</text>\n");
}

/* ---- lines ---- */

/* From one point to the next, level at both ends. */
static void
put_curve(const double *p, rlf_buf *out)
{
    double middle = (p[0] + p[2]) / 2;
    rlf_buf_printf(out, "C%.1f %.1f %.1f %.1f %.1f %.1f", middle, p[1], middle,
                   p[3], p[2], p[3]);
}

static void
put_line(const rlf_scene_line *line, rlf_buf *out)
{
    const double *p = line->points;
    int last = 2 * (line->n_points - 1);
    rlf_buf_printf(out, "<path class=\"line%s\" d=\"M%.1f %.1f",
                   line->looking ? " looking" : "", p[0], p[1]);
    for (int i = 0; i < last; i += 4) {
        double to[4] = {p[i], p[i + 1], p[i + 2], p[i + 3]};
        if (i + 2 == last)
            to[2] -= 5; /* the tip of the arrow */
        put_curve(to, out);
        if (i + 4 <= last)
            rlf_buf_printf(out, "L%.1f %.1f", p[i + 4], p[i + 5]);
    }
    rlf_buf_puts(out, "\"/>");
    double x = p[last], y = p[last + 1];
    rlf_buf_printf(out, "<path class=\"tip\" d=\"M%.1f %.1fl-7 -3.2v6.4z\"/>\n",
                   x, y);
}

static void
put_label(const rlf_scene_line *line, rlf_buf *out)
{
    int last = 2 * (line->n_points - 1);
    if (*line->label)
        put_text("label", line->points[last] - 9, line->points[last + 1] - 3.5,
                 line->label, out);
}

/* ---- boxes ---- */

static void put_scene(const rlf_scene *scene, double x, double y, rlf_buf *out);

static void
put_frame(const rlf_scene_box *box, rlf_buf *out)
{
    rlf_buf_printf(out,
                   "<g><rect class=\"box frame\" x=\"%.1f\" y=\"%.1f\" "
                   "width=\"%.1f\" height=\"%.1f\" rx=\"7\"/>",
                   box->x, box->y, box->w, box->h);
    put_hint(box->hint, out);
    rlf_buf_puts(out, "</g>\n");
    put_text("head", box->x + 10, box->y + 17, box->title, out);
    put_scene(box->inside, box->x, box->y + RLF_FRAME_HEAD, out);
}

static void
put_box(const rlf_scene_box *box, rlf_buf *out)
{
    double middle = box->x + box->w / 2,
           text = box->y + (box->h - RLF_SCENE_LINE * (box->n_under + 1)) / 2;
    int round = box->kind == RLF_BOX_DATA      ? 14
                : box->kind == RLF_BOX_FORMULA ? 0
                                               : 5;
    rlf_buf_puts(out, "<g><rect class=\"");
    put_class(box, out);
    rlf_buf_printf(out,
                   "\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
                   "rx=\"%d\"/>",
                   box->x, box->y, box->w, box->h, round);
    put_hint(box->hint, out);
    rlf_buf_putc(out, '\n');
    put_text("title", middle, text + 11, box->title, out);
    for (int i = 0; i < box->n_under; i++)
        put_text("under", middle, text + 11 + RLF_SCENE_LINE * (i + 1),
                 box->under[i], out);
    rlf_buf_puts(out, "</g>\n");
}

static void
put_scene(const rlf_scene *scene, double x, double y, rlf_buf *out)
{
    rlf_buf_printf(out, "<g transform=\"translate(%.1f %.1f)\">\n", x, y);
    for (size_t i = 0; i < scene->lines.count; i++)
        put_line(&scene->lines.data[i], out);
    for (size_t i = 0; i < scene->boxes.count; i++) {
        const rlf_scene_box *box = &scene->boxes.data[i];
        if (box->inside)
            put_frame(box, out);
        else if (box->kind != RLF_BOX_ENTRY)
            put_box(box, out);
    }
    for (size_t i = 0; i < scene->lines.count; i++)
        put_label(&scene->lines.data[i], out);
    rlf_buf_puts(out, "</g>\n");
}

/* ---- the legend ---- */

/* An entry of the legend: a small box and a text. It is put at *x, *y, or
 * begins a new row. `out` NULL: only room is made. */
static void
put_entry(const char *class, const char *text, double wide, double *x,
          double *y, rlf_buf *out)
{
    double needs = 26 + rlf_scene_width(text, RLF_SCENE_SMALL * 1.1) + 18;
    if (*x > MARGIN && *x + needs > wide) {
        *x = MARGIN;
        *y += LEGEND;
    }
    if (out) {
        rlf_buf_printf(out,
                       "<rect class=\"box %s\" x=\"%.1f\" y=\"%.1f\" "
                       "width=\"20\" height=\"12\" rx=\"3\"/>\n",
                       class, *x, *y);
        rlf_buf_printf(out, "<text font-size=\"11\" x=\"%.1f\" y=\"%.1f\">",
                       *x + 26, *y + 10);
        rlf_svg_text(out, text);
        rlf_buf_puts(out, "</text>\n");
    }
    *x += needs;
}

/* Returns where the legend ends. */
static double
put_legend(const rlf_graph *graph, rlf_arena *arena, double wide, double y,
           rlf_buf *out)
{
    double x = MARGIN;
    int models = 0;
    for (size_t i = 0; i < graph->resources.count; i++) {
        const rlf_resource *r = &graph->resources.data[i];
        if (!r->class->model)
            continue;
        const char *from =
            r->source >= 0 ? graph->resources.data[r->source].name : NULL;
        put_entry(rlf_arena_printf(arena, "m%d", models++ % MODELS),
                  rlf_arena_printf(arena, "%s: %s%s%s%s", r->name,
                                   r->constructor, from ? " of " : "",
                                   from ? from : "",
                                   r->trained ? ", trained" : ", frozen"),
                  wide, &x, &y, out);
    }
    put_entry("hook", "function of the user", wide, &x, &y, out);
    put_entry("formula", "arithmetic", wide, &x, &y, out);
    put_entry("metrics looking", "only reported", wide, &x, &y, out);
    return y + LEGEND;
}

void
rlf_draw_svg(const rlf_graph *graph, rlf_buf *out)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_scene *scene = rlf_scene_fold(graph, arena);
    rlf_scene_place(scene, arena);
    double wide = fmax(scene->w + 2 * MARGIN, 420), below = TOP + scene->h + 6,
           high = put_legend(graph, arena, wide, below, NULL) + 4;
    rlf_buf_printf(out,
                   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" RLF_SVG_MARK
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"rlf\" "
                   "role=\"img\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" "
                   "height=\"%.0f\">\n<title>",
                   wide, high, wide, high);
    rlf_svg_text(out, graph->name);
    rlf_buf_printf(out, ": the dataflow of a step</title>\n%s", style);
    rlf_buf_printf(out,
                   "<rect class=\"page\" width=\"%.0f\" height=\"%.0f\"/>\n",
                   wide, high);
    put_text("name", MARGIN, 24, graph->name, out);
    put_scene(scene, MARGIN, TOP, out);
    put_legend(graph, arena, wide, below, out);
    rlf_buf_puts(out, "</svg>\n");
    rlf_arena_free(arena);
}

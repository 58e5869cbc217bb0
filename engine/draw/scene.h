/* What a picture of a graph is made of. Lengths are in pixels, from the upper
 * left corner of the scene that has the box. All of it is in one arena. */
#ifndef RLF_DRAW_SCENE_H
#define RLF_DRAW_SCENE_H

#include "engine/draw/draw.h"

typedef enum rlf_scene_kind {
    RLF_BOX_DATA,    /* rows of data, a state's value */
    RLF_BOX_MODEL,   /* a call or an update of a model */
    RLF_BOX_HOOK,    /* a function of the user */
    RLF_BOX_FORMULA, /* arithmetic */
    RLF_BOX_OTHER,   /* sets that are made of others, and what remains */
    RLF_BOX_METRICS, /* what is only reported, evaluations, checkpoints */
    RLF_BOX_FRAME,   /* a body: `inside` */
    RLF_BOX_ENTRY,   /* where values come into a frame: no more than a point */
    RLF_BOX_KINDS
} rlf_scene_kind;

enum {
    RLF_BOX_LINES = 4,
    RLF_FRAME_HEAD = 26,  /* above the scene inside a frame */
    RLF_SCENE_LINE = 14,  /* from a line of text to the next */
    RLF_SCENE_TEXT = 12,  /* size of titles */
    RLF_SCENE_SMALL = 10, /* size of the lines below, and of labels */
};

typedef struct rlf_scene rlf_scene;

typedef struct rlf_scene_box {
    rlf_scene_kind kind;
    const char *title;
    const char *under[RLF_BOX_LINES]; /* [n_under] lines below the title */
    int n_under;
    const char *hint;  /* the statements, in lines; or NULL */
    int model;         /* number among the models; -1: it is of none */
    bool updates;      /* of a model: it is trained here */
    bool looking;      /* only metrics want it */
    rlf_scene *inside; /* a frame's; else NULL */
    double x, y, w, h;
} rlf_scene_box;

/* A line from one box of a scene to another, later one. */
typedef struct rlf_scene_line {
    int from, to;
    const char *label; /* the values, "roll, adv"; "": none is named */
    bool looking;
    /* Corners of the line: [n_points] pairs of x and y. From the first it goes
     * to the second in a curve, from that straight to the third, and so on: the
     * last stretch is a curve. */
    double *points;
    int n_points;
} rlf_scene_line;

struct rlf_scene {
    rlf_scene *parent; /* NULL: the flow */
    int box;           /* the frame in `parent` */
    struct {
        rlf_scene_box *data;
        size_t count, room;
    } boxes;
    struct {
        rlf_scene_line *data;
        size_t count, room;
    } lines;
    double w, h;
};

/* What of a graph is shown. Boxes of a scene are in an order in which lines go
 * forward; the first box of a frame's scene is its entry. */
rlf_scene *rlf_scene_fold(const rlf_graph *graph, rlf_arena *arena);

/* Finds a place for all boxes and lines, of frames too: in layers from left to
 * right, with few crossings; boxes without lines stand below. */
void rlf_scene_place(rlf_scene *scene, rlf_arena *arena);

/* Pixels that a text takes at most, in a sans-serif font of that size. */
double rlf_scene_width(const char *text, double size);

#endif

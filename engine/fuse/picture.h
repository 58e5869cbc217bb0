/* Pictures of fused schedules: as text, and as SVG. */
#ifndef RLF_FUSE_PICTURE_H
#define RLF_FUSE_PICTURE_H

#include "engine/fuse/fuse.h"

/* A line a place, at most `columns` (60 or more) wide: in each column what the
 * place does most of that time, a forward as the small letter of its model, a
 * backward as the large one, gradients of weights as its number, waiting as a
 * point; then how much of the time it waits, and its peak of memory. Models of
 * one turn share a letter. */
void rlf_picture_text(const rlf_fuse *fuse, const rlf_fuse_answer *answer,
                      int columns, rlf_buf *out);
/* Every operation as a box with its micro-batch; forward light, backward
 * dark. */
void rlf_picture_svg(const rlf_fuse *fuse, const rlf_fuse_answer *answer,
                     rlf_buf *out);

#endif

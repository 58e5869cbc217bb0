/* Pictures: of schedules, of simulated runs, of graphs. */
#ifndef RLF_BASE_SVG_H
#define RLF_BASE_SVG_H

#include "engine/base/str.h"

/* The second line of every picture, by which a later command knows that it may
 * replace it. */
#define RLF_SVG_MARK "<!-- a picture by rlflow, which replaces it -->\n"

/* The least of 1, 2 and 5 times powers of ten that is not below x > 0: for the
 * ticks of an axis. */
double rlf_svg_step(double x);

/* Appends a text with the signs escaped that SVG and HTML give a meaning;
 * control characters but line feeds become spaces, what is no UTF-8 U+FFFD. */
void rlf_svg_text(rlf_buf *out, const char *text);

#endif

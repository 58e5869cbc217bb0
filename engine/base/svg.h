/* Pictures of schedules and of simulated runs. */
#ifndef RLF_BASE_SVG_H
#define RLF_BASE_SVG_H

/* The second line of every picture, by which a later command knows that it may
 * replace it. */
#define RLF_SVG_MARK "<!-- a picture by rlflow, which replaces it -->\n"

/* The least of 1, 2 and 5 times powers of ten that is not below x > 0: for the
 * ticks of an axis. */
double rlf_svg_step(double x);

#endif

/* Axes of pictures: see svg.h. */
#include "engine/base/svg.h"

#include <math.h>

double
rlf_svg_step(double x)
{
    double power = pow(10, floor(log10(x)));
    double times = x / power;
    return power * (times <= 1 ? 1 : times <= 2 ? 2 : times <= 5 ? 5 : 10);
}

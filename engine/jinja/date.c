/* strftime of a date that is given: C's formats, with English names. */
#include "engine/jinja/inside.h"

#include <stdio.h>
#include <string.h>

static bool
is_leap(int year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static int
day_of_year(const rlf_jinja_date *d) /* from 0 */
{
    static const int before[] = {0,   31,  59,  90,  120, 151,
                                 181, 212, 243, 273, 304, 334};
    return before[d->month - 1] + d->day - 1 +
           (d->month > 2 && is_leap(d->year));
}

static int
weekday(const rlf_jinja_date *d) /* 0: Sunday */
{
    int y = d->year - 1;
    return (1 + y + y / 4 - y / 100 + y / 400 + day_of_year(d)) % 7;
}

/* The week of ISO 8601 and its year. */
static int
iso_week(const rlf_jinja_date *d, int *year)
{
    int monday = (weekday(d) + 6) % 7,
        week = (day_of_year(d) - monday + 10) / 7;
    *year = d->year;
    rlf_jinja_date last = {.year = d->year - 1, .month = 12, .day = 31};
    if (week < 1) {
        --*year;
        return iso_week(&last, &(int){0});
    }
    rlf_jinja_date first = {.year = d->year + 1, .month = 1, .day = 1};
    int of_next = (weekday(&first) + 6) % 7;
    if (week == 53 && of_next <= 3) {
        ++*year;
        return 1;
    }
    return week;
}

typedef struct number {
    int value, digits;
    char pad;
} number;

/* A code that is a number; digits 0: it is none. */
static number
number_of(char code, const rlf_jinja_date *d)
{
    int year, week = iso_week(d, &year), day = day_of_year(d);
    int hour = d->hour % 12 ? d->hour % 12 : 12;
    switch (code) {
    case 'Y':
        return (number){d->year, 1, '0'};
    case 'y':
        return (number){d->year % 100, 2, '0'};
    case 'C':
        return (number){d->year / 100, 2, '0'};
    case 'm':
        return (number){d->month, 2, '0'};
    case 'd':
        return (number){d->day, 2, '0'};
    case 'e':
        return (number){d->day, 2, ' '};
    case 'H':
        return (number){d->hour, 2, '0'};
    case 'k':
        return (number){d->hour, 2, ' '};
    case 'I':
        return (number){hour, 2, '0'};
    case 'l':
        return (number){hour, 2, ' '};
    case 'M':
        return (number){d->minute, 2, '0'};
    case 'S':
        return (number){d->second, 2, '0'};
    case 'j':
        return (number){day + 1, 3, '0'};
    case 'w':
        return (number){weekday(d), 1, '0'};
    case 'u':
        return (number){weekday(d) ? weekday(d) : 7, 1, '0'};
    case 'U':
        return (number){(day + 7 - weekday(d)) / 7, 2, '0'};
    case 'W':
        return (number){(day + 7 - (weekday(d) + 6) % 7) / 7, 2, '0'};
    case 'V':
        return (number){week, 2, '0'};
    case 'G':
        return (number){year, 1, '0'};
    case 'g':
        return (number){year % 100, 2, '0'};
    case 'f':
        return (number){0, 6, '0'};
    default:
        return (number){0};
    }
}

/* The codes that a code stands for which is made of others, or NULL. */
static const char *
longer(char code)
{
    return code == 'D'   ? "%m/%d/%y"
           : code == 'F' ? "%Y-%m-%d"
           : code == 'T' ? "%H:%M:%S"
           : code == 'R' ? "%H:%M"
           : code == 'r' ? "%I:%M:%S %p"
           : code == 'c' ? "%a %b %e %H:%M:%S %Y"
           : code == 'x' ? "%m/%d/%y"
           : code == 'X' ? "%H:%M:%S"
           : code == 'n' ? "\n"
           : code == 't' ? "\t"
           : code == '%' ? "%"
                         : NULL;
}

static void
add_name(jinja_run *r, jinja_buf *out, const char *name, bool whole)
{
    jinja_add(r, out, name, whole ? strlen(name) : 3);
}

static void
add_number(jinja_run *r, jinja_buf *out, number n, char flag)
{
    char text[32];
    char pad = flag == '0' ? '0' : flag == '_' ? ' ' : n.pad;
    if (flag == '-')
        n.digits = 1;
    snprintf(text, sizeof text, pad == ' ' ? "%*d" : "%0*d", n.digits, n.value);
    jinja_puts(r, out, text);
}

static void
add_code(jinja_run *r, jinja_buf *out, char code, char flag)
{
    static const char *const days[] = {"Sunday",    "Monday",   "Tuesday",
                                       "Wednesday", "Thursday", "Friday",
                                       "Saturday"};
    static const char *const months[] = {
        "January", "February", "March",     "April",   "May",      "June",
        "July",    "August",   "September", "October", "November", "December"};
    const rlf_jinja_date *d = &r->now;
    number n = number_of(code, d);
    const char *parts = longer(code);
    if (n.digits) {
        add_number(r, out, n, flag);
    } else if (code == 'A' || code == 'a') {
        add_name(r, out, days[weekday(d)], code == 'A');
    } else if (code == 'B' || code == 'b' || code == 'h') {
        add_name(r, out, months[d->month - 1], code == 'B');
    } else if (code == 'p') {
        jinja_puts(r, out, d->hour < 12 ? "AM" : "PM");
    } else if (code == 'P') {
        jinja_puts(r, out, d->hour < 12 ? "am" : "pm");
    } else if (parts) {
        for (; *parts; parts++) {
            if (*parts == '%' && parts[1])
                add_code(r, out, *++parts, 0);
            else
                jinja_add(r, out, parts, 1);
        }
    } else if (code != 'Z' && code != 'z') {
        jinja_stop(r, "strftime_now: the format %%%c is not supported",
                   code >= ' ' && code < 127 ? code : '?');
    }
}

jinja_value
jinja_date(jinja_run *r, jinja_value format)
{
    const jinja_text *t = jinja_need_text(r, format);
    jinja_buf out = {0};
    for (size_t i = 0; i < t->n; i++) {
        char flag = 0;
        if (t->p[i] != '%' || i + 1 == t->n) {
            jinja_add(r, &out, t->p + i, 1);
            continue;
        }
        i++;
        if (strchr("-_0", t->p[i]) && t->p[i] && i + 1 < t->n)
            flag = t->p[i++];
        add_code(r, &out, t->p[i], flag);
    }
    return jinja_taken(r, &out);
}

# A table of numbers as curves, a panel a metric: awk -v name=NAME -f curve.awk
# FILE.csv, or with -v small=1 the first metric alone, a line's height large.
# The table's columns are seed, step, and metrics, empty where a step has none.
# Thin lines are runs, the thick one is their mean.
BEGIN { FS = "," }
NR == 1 {
    for (i = 3; i <= NF; i++) metric[++metrics] = $i
    next
}
{
    if (!($1 in known)) { known[$1]; seed[++seeds] = $1 }
    if (!($2 in at)) { at[$2]; step[++steps] = $2 }
    if ($2 + 0 > last) last = $2 + 0
    for (i = 3; i <= NF; i++)
        if ($i != "") {
            value[i - 2, $1, $2] = $i
            sum[i - 2, $2] += $i
            count[i - 2, $2]++
            if (!((i - 2) in low) || $i + 0 < low[i - 2]) low[i - 2] = $i + 0
            if (!((i - 2) in high) || $i + 0 > high[i - 2]) high[i - 2] = $i + 0
        }
}
# The distance of ticks: 1, 2 or 5 times a power of ten, so that about `many`
# fit into `span`.
function nice(span, many,   raw, power) {
    raw = span / many
    power = 10 ^ int(log(raw) / log(10) + 100) / 1e100
    raw /= power
    return (raw <= 1 ? 1 : raw <= 2 ? 2 : raw <= 5 ? 5 : 10) * power
}
function x_of(s) { return left + (last > first ? (s - first) / (last - first) : 0.5) * wide }
function y_of(v) { return top + (1 - (v - bottom_value) / (top_value - bottom_value)) * tall }
# A run's points of metric m, or with "" those of the mean.
function points(m, run,   i, s, v, d, n) {
    d = ""
    n = 0
    for (i = 1; i <= steps; i++) {
        s = step[i]
        if (run == "" ? count[m, s] != seeds : !((m, run, s) in value)) continue
        v = run == "" ? sum[m, s] / seeds : value[m, run, s]
        end_value = v
        d = d sprintf(n++ ? " %.1f %.1f" : "M%.1f %.1fL", x_of(s), y_of(v))
        if (n == 1) d = d sprintf("%.1f %.1f", x_of(s), y_of(v))
    }
    return d
}
function shown(v,   size) {
    size = v < 0 ? -v : v
    if (size >= 100) return sprintf("%.0f", v)
    if (size >= 10) return sprintf("%.1f", v)
    if (size < 0.0005) return "0"
    if (size >= 0.095) return sprintf("%.2f", v)
    return sprintf("%.2g", v)
}
function range(m,   distance) {
    bottom_value = low[m]
    top_value = high[m]
    if (bottom_value >= 0 && top_value <= 1 && top_value > 0.4) { # a share
        bottom_value = 0
        top_value = 1
    }
    if (top_value - bottom_value < 1e-9) { bottom_value -= 0.5; top_value += 0.5 }
    if (bottom_value < 0 && bottom_value > -0.02 * top_value) bottom_value = 0
    tick = nice(top_value - bottom_value, 3)
    distance = bottom_value / tick
    bottom_value = (distance == int(distance) ? distance : int(distance + 1e6) - 1e6) * tick
    if (bottom_value < 0 && low[m] >= 0) bottom_value = 0
    distance = int((top_value - bottom_value) / tick - 1e-9) + 1
    top_value = bottom_value + distance * tick
}
function head(width, height) {
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"rlf\" role=\"img\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\">\n", width, height, width, height
    printf "<title>%s: %s</title>\n", name, titles
    print "<style>"
    print ".rlf{font-family:Helvetica,Arial,sans-serif;font-size:11px}"
    print ".rlf text{fill:#222}"
    print ".rlf .under{font-size:10px;fill:#555}"
    print ".rlf .page{fill:#fff}"
    print ".rlf .grid{stroke:#ddd;fill:none}"
    print ".rlf .run{fill:none;opacity:.4}"
    print ".rlf .mean{fill:none;stroke-width:1.8;stroke-linejoin:round}"
    print ".rlf .c0{stroke:#2f6fb5}.rlf .c1{stroke:#2e7d43}.rlf .c2{stroke:#b8651b}.rlf .c3{stroke:#7a4fa0}"
    print "@media (prefers-color-scheme:dark){"
    print ".rlf text{fill:#e3e8ee}"
    print ".rlf .under{fill:#b4bfcb}"
    print ".rlf .page{fill:#14181d}"
    print ".rlf .grid{stroke:#333c46}"
    print ".rlf .c0{stroke:#6aa9ff}.rlf .c1{stroke:#5fc585}.rlf .c2{stroke:#ee9a4f}.rlf .c3{stroke:#b48be0}"
    print "}"
    print "</style>"
    printf "<rect class=\"page\" width=\"%d\" height=\"%d\"/>\n", width, height
}
function panel(m,   i, v, s, distance) {
    range(m)
    printf "<text x=\"%.1f\" y=\"14\" font-weight=\"bold\">%s</text>\n", left, metric[m]
    for (v = bottom_value; v <= top_value + tick / 2; v += tick) {
        printf "<path class=\"grid\" d=\"M%.1f %.1fh%.1f\"/>\n", left, y_of(v), wide
        printf "<text class=\"under\" text-anchor=\"end\" x=\"%.1f\" y=\"%.1f\">%g</text>\n", left - 4, y_of(v) + 3.5, (v < tick / 100 && v > -tick / 100 ? 0 : v)
    }
    distance = nice(last - first, 4)
    for (s = int(first / distance) * distance; s <= last; s += distance)
        if (s >= first)
            printf "<text class=\"under\" text-anchor=\"middle\" x=\"%.1f\" y=\"%.1f\">%d</text>\n", x_of(s), top + tall + 14, s
    if (seeds > 1)
        for (i = 1; i <= seeds; i++)
            printf "<path class=\"run c%d\" d=\"%s\"/>\n", (m - 1) % 4, points(m, seed[i])
    printf "<path class=\"mean c%d\" d=\"%s\"/>\n", (m - 1) % 4, points(m, "")
    printf "<text x=\"%.1f\" y=\"%.1f\">%s</text>\n", left + wide + 4, y_of(end_value) + 4, shown(end_value)
}
END {
    if (!steps) exit 1
    first = step[1]
    if (small) {
        left = 2; wide = 90; top = 4; tall = 20
        titles = metric[1]
        head(130, 28)
        range(1)
        printf "<path class=\"mean c0\" d=\"%s\"/>\n", points(1, "")
        printf "<text x=\"%.1f\" y=\"%.1f\">%s</text>\n", left + wide + 6, 18, shown(end_value)
        print "</svg>"
        exit
    }
    for (i = 1; i <= metrics; i++) titles = titles (i > 1 ? ", " : "") metric[i]
    titles = titles " by step, " seeds (seeds > 1 ? " runs and their mean" : " run")
    head(260 * metrics, 170)
    printf "<text class=\"under\" text-anchor=\"end\" x=\"%d\" y=\"14\">%s.rlf</text>\n", 260 * metrics - 8, name
    for (i = 1; i <= metrics; i++) {
        left = 260 * (i - 1) + 36; wide = 180; top = 24; tall = 120
        panel(i)
    }
    print "</svg>"
}

# Makes librlflow(3) of its page without the functions, and of the header: each
# declaration with the comment before it.
#
#     awk -f librlflow.awk librlflow.3.in rlflow.h

function prose(text,   n, lines, i) {
    gsub(/\\/, "\\e", text)
    gsub(/ +/, " ", text)
    gsub(/[.:] /, "&\n", text)
    n = split(text, lines, "\n")
    text = ""
    for (i = 1; i <= n; i++) {
        gsub(/^ | $/, "", lines[i])
        if (lines[i] == "")
            continue
        if (lines[i] ~ /^[.']/)
            lines[i] = "\\&" lines[i]
        text = text lines[i] "\n"
    }
    return text
}
# A function or its type: ".Ft int" and ".Fn name args".
function put_function(text,   open, head, args, n, list, i, name) {
    sub(/^RLF_PUBLIC /, "", text)
    sub(/;$/, "", text)
    open = match(text, /\([^*]/)
    if (text ~ /\(\*/) { # an argument that is a function
        open = index(text, "(")
    }
    head = substr(text, 1, open - 1)
    args = substr(text, open + 1)
    sub(/\)$/, "", args)
    match(head, /[a-z_0-9]+$/)
    name = substr(head, RSTART)
    head = substr(head, 1, RSTART - 1)
    sub(/ $/, "", head)
    printf ".It Xo\n.Ft \"%s\"\n.Fn %s", head, name
    n = args ~ /[(]/ ? 1 : split(args, list, / *, */)
    if (n == 1 && args ~ /[(]/)
        list[1] = args
    for (i = 1; i <= n; i++)
        printf " \"%s\"", list[i]
    printf "\n.Xc\n"
}
function put_declaration(text, flat) {
    if (text ~ /^(RLF_PUBLIC|typedef [^{]*\()/) {
        put_function(flat)
        return
    }
    printf ".It Vt %s\n", name_of(flat)
    if (text ~ /{/)
        printf ".Bd -literal\n%s.Ed\n", literal(text)
}
function name_of(flat) {
    sub(/;$/, "", flat)
    match(flat, /[a-z_0-9]+$/)
    return substr(flat, RSTART)
}
function literal(text) {
    gsub(/\\/, "\\e", text)
    gsub(/\n[.']/, "\n\\\\\\&.", text)
    return text
}
function end_list() {
    if (inside)
        print ".El"
    inside = 0
}
function begin(title) {
    end_list()
    title = toupper(substr(title, 1, 1)) substr(title, 2)
    printf ".Ss %s\n.Bl -tag -width Ds\n", title
    inside = 1
}
# Prints what was read up to here: declarations that share a comment.
function flush_items(   i) {
    if (n_items && inside && comment == "" && items[n_items] ~ /^RLF_PUBLIC/) {
        print "rlflow.h: no sentence for " flats[n_items] >"/dev/stderr"
        failed = 1
    }
    if (n_items && inside)
        for (i = 1; i <= n_items; i++) {
            put_declaration(items[i], flats[i])
            if (i == n_items && comment != "")
                printf "%s", prose(comment)
        }
    if (n_items)
        comment = ""
    n_items = 0
}
FNR == NR {
    if ($0 == ".\\\" functions")
        exit_at = NR
    else if (exit_at)
        tail = tail $0 "\n"
    else
        print
    next
}
/^\/\* ---- .* ---- \*\/$/ {
    flush_items()
    comment = ""
    title = $0
    gsub(/^\/\* ---- | ---- \*\/$/, "", title)
    begin(title)
    next
}
!inside { next }
/^#/ { flush_items(); end_list(); next }
/^\/\*/ && !depth {
    flush_items()
    comment = ""
    in_comment = 1
}
in_comment {
    line = $0
    if (sub(/ ?\*\/$/, "", line))
        in_comment = 0
    sub(/^(\/| )\* ?/, "", line)
    comment = comment (comment == "" ? "" : " ") line
    next
}
/^$/ && !depth { flush_items(); comment = ""; next }
{
    whole = whole $0 "\n"
    bare = $0
    gsub(/\/\*[^*]*\*\//, "", bare)
    sub(/^ +/, "", bare)
    flat = flat (flat == "" || flat ~ /[(*]$/ ? "" : " ") bare
    depth += gsub(/[{(]/, "", bare) - gsub(/[})]/, "", bare)
    if (!depth && $0 ~ /;$/) {
        items[++n_items] = whole
        flats[n_items] = flat
        whole = flat = ""
    }
}
END {
    flush_items()
    end_list()
    printf "%s", tail
    exit failed
}

# Makes rlflow-std(7) of the library's files: what stands behind ## before a
# definition is its text, "# ---- title ----" begins a part.
#
#     awk -f std.awk advantage.rlf loss.rlf ...

# A sentence in mdoc: `code` is emphasized, and nothing begins a request by
# chance.
function put_text(text,   parts, n, i, line) {
    gsub(/\\/, "\\e", text)
    n = split(text, parts, "`")
    for (i = 1; i <= n; i++)
        line = line (i % 2 ? parts[i] : "\\fI" parts[i] "\\fP")
    sub(/^[.']/, "\\\\\\&&", line)
    n = split(line, parts, /Dr\. /) # no end of a sentence
    line = parts[1]
    for (i = 2; i <= n; i++)
        line = line "Dr.\\& " parts[i]
    if (line != "")
        print line
}
# Each sentence begins a line.
function put_doc(   lines, n, i) {
    gsub(/\n/, " ", doc)
    n = split_sentences(doc, lines)
    for (i = 1; i <= n; i++)
        put_text(lines[i])
    doc = ""
}
# ". A" ends a sentence, but not in "et al. 2016" or "Dr. GRPO".
function split_sentences(text, out,   n, at, before) {
    n = 0
    before = ""
    while (match(text, /[.:;)`a-z0-9]\. [A-Z`]/)) {
        at = RSTART + 1
        before = before substr(text, 1, at)
        text = substr(text, at + 2)
        if (before ~ /(Dr|al)\.$/) {
            before = before " "
            continue
        }
        out[++n] = before
        before = ""
    }
    out[++n] = before text
    return n
}
function put_line(line) {
    gsub(/\\/, "\\e", line)
    sub(/^[.']/, "\\\\\\&&", line)
    print line
}
function end_body() {
    if (inside)
        print ".Ed"
    inside = 0
}
function end_part() {
    end_body()
    if (listed)
        print ".El"
    listed = 0
}
BEGIN {
    print ".\\\" Made of the files in stdlib by man/std.awk."
    print ".Dd November 22, 2026"
    print ".Dt RLFLOW-STD 7"
    print ".Os"
    print ".Sh NAME"
    print ".Nm rlflow-std"
    print ".Nd the library of the language of rlflow programs"
    print ".Sh DESCRIPTION"
    print "The files of the library are written in the language itself,"
    print ".Xr rlf 5 ,"
    print "and this page has the full text of each definition, to be read and copied."
    print "A program imports a file by its name, as in"
    print ".Li import \\(dqstd/loss\\(dq ;"
    print "a definition of the same name in the program hides that of the library."
}
FNR == 1 {
    end_part()
    name = FILENAME
    sub(/.*\//, "", name)
    sub(/\.rlf$/, "", name)
    print ".Sh STD/" toupper(name)
    doc = ""
    header = 1
}
/^##/ {
    end_body()
    line = $0
    sub(/^## ?/, "", line)
    doc = doc (doc == "" ? "" : "\n") line
    next
}
/^# ----/ {
    end_part()
    title = $0
    gsub(/^# -+ | -+$/, "", title)
    print ".Ss " toupper(substr(title, 1, 1)) substr(title, 2)
    next
}
/^# / && !inside {
    doc = doc (doc == "" ? "" : "\n") substr($0, 3)
    remark = 1
    next
}
/^def / {
    end_body()
    if (!listed)
        print ".Bl -tag -width Ds"
    listed = 1
    name = $2
    sub(/\(.*/, "", name)
    print ".It Ic " name
    if (doc != "") {
        put_doc()
        print ".Pp"
    }
    print ".Bd -literal -compact"
    inside = 1
    put_line($0)
    next
}
/^$/ {
    end_body()
    if ((header || remark) && doc != "")
        put_doc()
    header = remark = 0
    next
}
inside { put_line($0) }
END {
    end_part()
    print ".Sh SEE ALSO"
    print ".Xr rlflow 1 ,"
    print ".Xr rlf 5"
}

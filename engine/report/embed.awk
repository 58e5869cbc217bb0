# Makes a C source of the page's files: a text of the styles, then one of the
# script, as they are written.
#
#     awk -f embed.awk FILE.css ... FILE.js ...

function end() {
    if (last != "")
        print "    ;\n"
}
BEGIN {
    print "extern const char rlf_page_styles[], rlf_page_script[];\n"
}
FNR == 1 {
    name = FILENAME ~ /\.css$/ ? "rlf_page_styles" : "rlf_page_script"
    if (name != last) {
        end()
        printf "const char %s[] =\n", name
        last = name
    }
}
/<\/(script|style)|<!--/ {
    print FILENAME ": " FNR ": this would end the element" >"/dev/stderr"
    failed = 1
    exit 1
}
{
    gsub(/\\/, "&&")
    gsub(/"/, "\\\\&")
    gsub(/[?][?]/, "?\\?") # no trigraphs
    printf "    \"%s\\n\"\n", $0
}
END {
    if (failed)
        exit 1
    end()
}

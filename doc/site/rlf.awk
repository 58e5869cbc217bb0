# The language as a syntax definition of KDE's, which pandoc and Kate read, made of
# its tables of words: awk -f rlf.awk keyword.def builtin.def builtin.c
#
# Behind a dot and before a colon words are names, as editors/ has it.
/^KEYWORD\(/ {
    split($0, field, /, */)
    word = field[2]
    gsub(/"/, "", word)
    begins = substr(field[3], match(field[3], /[^ ]/), 3)
    if (begins == "'s'")
        flow = flow "|" word
    else if (begins == "'c'")
        cluster = cluster "|" word
    else if (begins == "0" && field[4] + 0)
        constant = constant "|" word
    else
        keyword = keyword "|" word
}
/^BUILTIN\("/ {
    split($0, field, /"/)
    builtin = builtin "|" field[2]
}
/reductions\[\] = \{/ { listing = 1 }
listing {
    line = $0
    while (match(line, /"[a-z]+"/)) {
        word = substr(line, RSTART + 1, RLENGTH - 2)
        line = substr(line, RSTART + RLENGTH)
        if (index(builtin "|", "|" word "|") == 0)
            builtin = builtin "|" word
    }
    if (/};/)
        listing = 0
}
function rule(attribute, pattern) {
    printf "    <RegExpr attribute=\"%s\" context=\"#stay\" String=\"%s\"/>\n", attribute, pattern
}
function words(attribute, list, after) {
    rule(attribute, "\\b(" substr(list, 2) ")\\b" after)
}
END {
    if (flow == "" || cluster == "" || keyword == "" || constant == "" || builtin == "") {
        print "rlf.awk: no words are found in the tables of the language" >"/dev/stderr"
        exit 1
    }
    print "<?xml version=\"1.0\" encoding=\"UTF-8\"?>"
    print "<!DOCTYPE language SYSTEM \"language.dtd\">"
    print "<language name=\"rlf\" section=\"Sources\" extensions=\"*.rlf\" version=\"1\" kateversion=\"5.0\">"
    print " <highlighting>"
    print "  <contexts>"
    print "   <context name=\"program\" attribute=\"Text\" lineEndContext=\"#stay\">"
    rule("Documentation", "##.*$")
    rule("Comment", "#.*$")
    print "    <DetectChar attribute=\"String\" context=\"string\" char=\"&quot;\"/>"
    rule("Number", "\\b[0-9]+(\\.[0-9]+)?([eE][-+]?[0-9]+)?(ms|s|min|h|KB|MB|GB|K|M)?\\b")
    rule("Label", "\\b[A-Za-z_][A-Za-z0-9_]*(?=\\s*:(?!=))")
    rule("Operator", "\\.\\.")
    print "    <RegExpr attribute=\"Text\" context=\"member\" String=\"\\.(?=[A-Za-z_])\"/>"
    print "    <RegExpr attribute=\"Keyword\" context=\"level\" String=\"\\bover(?=\\s+(tokens|group|batch|vocab)\\b)\"/>"
    words("Keyword", cluster, "(?=\\s+[A-Za-z_][A-Za-z0-9_]*\\s*=)")
    words("Keyword", keyword, "")
    words("Flow", flow, "")
    words("Constant", constant, "")
    rule("Variable", "\\bstep\\b")
    words("Builtin", builtin, "(?=\\s*\\()")
    rule("Call", "\\b[A-Za-z_][A-Za-z0-9_]*(?=\\s*\\()")
    rule("Text", "\\b[A-Za-z_][A-Za-z0-9_]*")
    rule("Operator", ":=|-&gt;|==|!=|&lt;=|&gt;=|[-+*/%^&lt;&gt;=?]")
    print "   </context>"
    print "   <context name=\"member\" attribute=\"Text\" lineEndContext=\"#pop\">"
    print "    <RegExpr attribute=\"Call\" context=\"#pop\" String=\"\\b[A-Za-z_][A-Za-z0-9_]*(?=\\s*\\()\"/>"
    print "    <RegExpr attribute=\"Field\" context=\"#pop\" String=\"\\b[A-Za-z_][A-Za-z0-9_]*\"/>"
    print "   </context>"
    print "   <context name=\"level\" attribute=\"Text\" lineEndContext=\"#pop\">"
    print "    <RegExpr attribute=\"Level\" context=\"#pop\" String=\"\\b[a-z]+\\b\"/>"
    print "   </context>"
    print "   <context name=\"string\" attribute=\"String\" lineEndContext=\"#pop\">"
    rule("Escape", "\\\\([ntr&quot;\\\\]|u\\{[0-9A-Fa-f]+\\})")
    print "    <DetectChar attribute=\"String\" context=\"#pop\" char=\"&quot;\"/>"
    print "   </context>"
    print "  </contexts>"
    print "  <itemDatas>"
    count = split("Text Normal,Comment Comment,Documentation Documentation,String String," \
        "Escape SpecialChar,Number DecVal,Label Attribute,Call Function,Field Variable," \
        "Level DataType,Keyword Keyword,Flow ControlFlow,Constant Constant," \
        "Variable Variable,Builtin BuiltIn,Operator Operator", style, ",")
    for (i = 1; i <= count; i++) {
        split(style[i], of, " ")
        printf "   <itemData name=\"%s\" defStyleNum=\"ds%s\"/>\n", of[1], of[2]
    }
    print "  </itemDatas>"
    print " </highlighting>"
    print " <general>"
    print "  <comments><comment name=\"singleLine\" start=\"#\"/></comments>"
    print " </general>"
    print "</language>"
}

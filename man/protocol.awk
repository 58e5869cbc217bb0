# Makes rlflow-protocol(7) of the table engine/order/protocol.def.
#
#     awk -f protocol.awk protocol.def

# A sentence: a capital, a full stop, and no request by chance.
function sentence(text) {
    gsub(/\\/, "\\e", text)
    sub(/^[.']/, "\\\\\\&&", text)
    text = toupper(substr(text, 1, 1)) substr(text, 2)
    if (text !~ /\.$/)
        text = text "."
    gsub(/\. /, ".\n", text)
    return text
}
function type_words(kind, type, many,   words) {
    words = type
    sub(/^rlf_/, "", words)
    if (kind == "TEXT" || kind == "MAYBE_TEXT")
        words = "text"
    if (kind == "LIST" || kind == "MAYBE")
        words = "list of " words
    if (kind == "FIXED")
        words = many " times " words
    if (kind ~ /^MAYBE/)
        words = words ", or nothing"
    return words
}
# The fields of a part that all have (no name), or that one has alone.
function put_fields(part, name,   i, any) {
    any = 0
    for (i = 1; i <= n_fields; i++) {
        if (of_part[i] != part ||
            (name == "" ? of[i] != "EACH" : of[i] !~ "(DO|TOLD)[(]" name "[)]"))
            continue
        if (!any++)
            print ".Bl -tag -width Ds -compact"
        print ".It Va " field[i] " Pq " kind_words[i] unit[i]
        print sentence(doc[i])
    }
    if (any)
        print ".El"
}
BEGIN {
    who["ALL"] = "Every rank takes part."
    who["SHARE"] = "Ranks that have a share take part."
    who["MOVES"] = "Ranks that send or receive take part."
    who["COPIES"] = "Ranks that have weights of either copy take part."
}
/^PROTOCOL\(/ {
    version = $0
    gsub(/[^0-9]/, "", version)
    next
}
/^ *[A-Z_]+\(.*\)$/ && !/^\/\// {
    line = $0
    sub(/^ */, "", line)
    macro = line
    sub(/\(.*/, "", macro)
    sub(/^[A-Z_]+\(/, "", line)
    text = ""
    if (match(line, /"[^"]*"\)$/)) {
        text = substr(line, RSTART + 1, RLENGTH - 3)
        line = substr(line, 1, RSTART - 1)
    } else
        sub(/\)$/, "", line)
    split(line, args, ", ")
    if (macro == "COMMAND") {
        commands[++n_commands] = args[1]
        word[args[1]] = args[2]
        participants[args[1]] = args[3]
        about[args[1]] = text
    } else if (macro == "EVENT") {
        events[++n_events] = args[1]
        word[args[1]] = args[2]
        about[args[1]] = text
    } else if (macro == "RECORD" || macro == "GIVEN") {
        records[++n_records] = part = args[1]
        about[part] = text
    } else if (macro == "MESSAGE") {
        part = args[1]
    } else if (macro != "END") {
        i = ++n_fields
        named = macro ~ /TEXT/ ? 2 : 3
        of[i] = args[1]
        of_part[i] = part
        field[i] = args[named]
        kind_words[i] = type_words(macro, args[2], args[4])
        unit[i] = macro == "ONE" ? args[4] : args[5]
        unit[i] = unit[i] ~ /^(NONE)?$/ ? "" : ", " tolower(unit[i])
        doc[i] = text
    }
}
END {
    print ".\\\" Made of engine/order/protocol.def by man/protocol.awk."
    print ".Dd November 28, 2026"
    print ".Dt RLFLOW-PROTOCOL 7"
    print ".Os"
    print ".Sh NAME"
    print ".Nm rlflow-protocol"
    print ".Nd what the controller and the ranks of a run tell each other"
    print ".Sh DESCRIPTION"
    print "The controller of a run decides what each rank computes."
    print "It sends commands, which each rank carries out in their order,"
    print "and ranks answer with events."
    print "This page is made of the table that the program itself is made of:"
    print "a rank can be told and can tell nothing else."
    print "It is version " version " of the protocol;"
    print "processes of another version are refused."
    print ".Pp"
    print "With"
    print ".Ev RLFLOW_LOG Ns = Ns Li sched:trace"
    print ".Xr rlflow 1"
    print "prints every command and every event, with its fields."
    print ".Sh COMMANDS"
    print "Every command has:"
    put_fields("rlf_rank_command", "")
    print ".Bl -tag -width Ds"
    for (c = 1; c <= n_commands; c++) {
        print ".It Ic " word[commands[c]]
        print sentence(about[commands[c]])
        print who[participants[commands[c]]]
        put_fields("rlf_rank_command", commands[c])
    }
    print ".El"
    print ".Sh EVENTS"
    print "Every event has:"
    put_fields("rlf_rank_event", "")
    print ".Bl -tag -width Ds"
    for (c = 1; c <= n_events; c++) {
        print ".It Ic " word[events[c]]
        print sentence(about[events[c]])
        put_fields("rlf_rank_event", events[c])
    }
    print ".El"
    print ".Sh RECORDS"
    print "Fields of commands and events that are more than a number:"
    print ".Bl -tag -width Ds"
    for (c = 1; c <= n_records; c++) {
        name = records[c]
        sub(/^rlf_/, "", name)
        print ".It Ic " name
        print sentence(about[records[c]])
        put_fields(records[c], "")
    }
    print ".El"
    print ".Sh SEE ALSO"
    print ".Xr rlflow 1"
}

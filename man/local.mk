# man: the pages, mdoc. dist_man_MANS += %D%/NAME.1
dist_man_MANS += %D%/rlflow.1
dist_man_MANS += %D%/rlf.5

# man: the pages, mdoc. dist_man_MANS += %D%/NAME.1

# doc: pages for people. `make html` makes a site of all of them, in html/ of the
# build; `make install-html` installs it.
EXTRA_DIST += %D%/tutorial/pictures %D%/tutorial/report-curves.png \
	%D%/tutorial/report-program.png %D%/tutorial/report-samples.png \
	%D%/tutorial/report-times.png
EXTRA_DIST += %D%/site/build_site %D%/site/console.xml %D%/site/contents \
	%D%/site/page.html %D%/site/rlf.awk %D%/site/search.js \
	%D%/site/site.css %D%/site/site.lua

html-local: $(man_MANS)
	$(AM_V_at)PANDOC='$(PANDOC)' MANDOC='$(MANDOC)' $(srcdir)/%D%/site/build_site \
	    $(srcdir) . html
install-html-local: html-local
	cd html && find . -type f | while read -r f; do \
	    to="$(DESTDIR)$(htmldir)/html/$$f"; $(MKDIR_P) "$${to%/*}" && \
	    $(INSTALL_DATA) "$$f" "$$to" || exit 1; done
clean-local:
	rm -rf html
.PHONY: html-local install-html-local

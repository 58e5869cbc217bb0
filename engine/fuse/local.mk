# engine/fuse: layer 6. Add the sources (headers too) to the first list, and a
# test as: check_PROGRAMS += tests/unit/fuse_NAME
#          tests_unit_fuse_NAME_LDADD = $(FUSE_LIBS)
noinst_LIBRARIES += libfuse.a
libfuse_a_SOURCES = \
	%D%/dispatch.c %D%/dispatch.h \
	%D%/fuse.c %D%/fuse.h \
	%D%/improve.c %D%/improve.h \
	%D%/orders.c %D%/orders.h \
	%D%/picture.c %D%/picture.h \
	%D%/published.c \
	%D%/rows.c %D%/rows.h

check_PROGRAMS += tests/unit/fuse_fuse
tests_unit_fuse_fuse_SOURCES = tests/unit/fuse_fuse.c tests/fused.h \
	tests/zero_bubble.h
tests_unit_fuse_fuse_LDADD = $(FUSE_LIBS)

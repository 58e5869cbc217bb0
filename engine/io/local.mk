# engine/io: layer 1. Add the sources (headers too) to the first list, and a
# test as: check_PROGRAMS += tests/unit/io_NAME
#          tests_unit_io_NAME_LDADD = $(IO_LIBS)
noinst_LTLIBRARIES += libio.la
libio_la_SOURCES =
libio_la_LIBADD = $(JANSSON_LIBS) $(ZLIB_LIBS) $(ZSTD_LIBS)

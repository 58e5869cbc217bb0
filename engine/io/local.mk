# engine/io: layer 1.
noinst_LIBRARIES += libio.a
libio_a_SOURCES = \
	%D%/arrow.c %D%/arrow.h \
	%D%/checksum.c %D%/checksum.h \
	%D%/csv.c %D%/csv.h \
	%D%/dir.c \
	%D%/element.def \
	%D%/file.c %D%/file.h \
	%D%/hub.c %D%/hub.h \
	%D%/json.c %D%/json.h \
	%D%/lock.c %D%/lock.h \
	%D%/output.c %D%/output.h \
	%D%/parquet.c %D%/parquet.h %D%/parquet_inside.h \
	%D%/protobuf.c %D%/protobuf.h \
	%D%/parquet_decode.c %D%/parquet_page.c %D%/parquet_schema.c \
	%D%/records.c %D%/records.h %D%/records_inside.h \
	%D%/records_again.c %D%/records_csv.c %D%/records_dialog.c %D%/records_json.c %D%/records_parquet.c %D%/records_store.c \
	%D%/safetensors.c %D%/safetensors.h \
	%D%/sealed.c %D%/sealed.h \
	%D%/shards.c %D%/shards.h \
	%D%/spool.c %D%/spool.h \
	%D%/stream.c %D%/stream.h \
	%D%/tensor_writer.c \
	%D%/thrift.c %D%/thrift.h

check_PROGRAMS += tests/unit/base_half tests/unit/io_file \
	tests/unit/io_parquet tests/unit/io_records tests/unit/io_safetensors tests/unit/io_stream
check_PROGRAMS += tests/unit/io_arrow
tests_unit_io_arrow_LDADD = $(IO_LIBS)
EXTRA_DIST += tests/data/arrow tests/oracle/arrow_cases.py
check_PROGRAMS += tests/unit/io_lock tests/unit/io_shards tests/unit/io_protobuf tests/unit/io_dialog
tests_unit_io_lock_LDADD = $(IO_LIBS)
tests_unit_io_lock_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=flock
tests_unit_io_file_LDADD = $(IO_LIBS)
tests_unit_io_parquet_LDADD = $(IO_LIBS)
tests_unit_io_records_LDADD = $(IO_LIBS) $(ZLIB_LIBS)
tests_unit_io_safetensors_LDADD = $(IO_LIBS)
tests_unit_io_dialog_LDADD = $(IO_LIBS)
tests_unit_io_shards_LDADD = $(IO_LIBS) $(ZLIB_LIBS)
tests_unit_io_protobuf_LDADD = $(IO_LIBS)
tests_unit_io_stream_LDADD = $(IO_LIBS) $(ZLIB_LIBS) $(ZSTD_LIBS)
EXTRA_DIST += tests/data/parquet tests/oracle/parquet_cases.py

# bench: measurements, built by `make bench`, never by `make`. Add a program as
# EXTRA_PROGRAMS += %D%/NAME and list it in bench_programs.
bench_programs =
bench: $(bench_programs)
CLEANFILES += $(bench_programs)

if HAVE_ONEDNN
bench_programs += %D%/model
EXTRA_PROGRAMS += %D%/model
%C%_model_LDADD = $(NODES_LIBS) -ldnnl -lgomp
endif

# engine/comm: layer 2. Add the sources (headers too) to the first list, and a
# test as: check_PROGRAMS += tests/unit/comm_NAME
#          tests_unit_comm_NAME_LDADD = $(COMM_LIBS)
noinst_LIBRARIES += libcomm.a
libcomm_a_SOURCES = \
	%D%/comm.h %D%/mail.h %D%/type.def %D%/backend.def \
	%D%/internal.h \
	%D%/batch.c \
	%D%/device.c %D%/device.h %D%/port.h \
	%D%/strided.c \
	%D%/group.c \
	%D%/link.c %D%/link.h \
	%D%/mail.c \
	%D%/nccl_library.c \
	%D%/rendezvous.c \
	%D%/nccl.c %D%/nccl.h \
	%D%/peer.c \
	%D%/reduce.c \
	%D%/request.c \
	%D%/staged.c \
	%D%/sum.c \
	%D%/thread.c \
	%D%/transfer.c \
	%D%/world.c

libcomm_a_CPPFLAGS = $(AM_CPPFLAGS) $(NCCL_CPPFLAGS)
EXTRA_DIST += %D%/fold.cu %D%/fold.cuh

if HAVE_CUDA
%D%/fold.o: %D%/fold.cu %D%/comm.h %D%/device.h %D%/fold.cuh %D%/type.def \
	engine/base/half.h engine/dev/cuda.h engine/dev/dev.h
	@$(MKDIR_P) $(@D)
	$(AM_V_NVCC)$(NVCC_COMPILE) -o $@
libcomm_a_LIBADD = %D%/fold.o
endif

check_PROGRAMS += \
	tests/unit/comm_device \
	tests/unit/comm_thread \
	tests/unit/comm_transfer
# A message that fails comes in when they are linked (tests/message_fault.h).
message_fault = -Wl,--wrap=rlf_request_start
tests_unit_comm_device_LDFLAGS = $(AM_LDFLAGS) $(message_fault)
tests_unit_comm_thread_LDFLAGS = $(AM_LDFLAGS) $(message_fault)
tests_unit_comm_device_LDADD = $(COMM_LIBS) -lm
tests_unit_comm_thread_LDADD = $(COMM_LIBS) -lm
tests_unit_comm_transfer_LDADD = $(COMM_LIBS)

# The transports between processes and their table, for programs (once more for
# those of the other kind of MPI in engine/cmd/local.mk). mpi.c is the one file
# that is compiled with MPI, once more with each kind of MPI for the test.
transports = %D%/backend.c
if HAVE_MPI
transports += %D%/mpi.c
endif
noinst_LIBRARIES += libtransport.a
libtransport_a_SOURCES = $(transports)
libtransport_a_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
if HAVE_OPENMPI
check_PROGRAMS += tests/comm_openmpi
tests_comm_openmpi_SOURCES = tests/comm_mpi.c %D%/mpi.c
tests_comm_openmpi_CFLAGS = $(AM_CFLAGS) $(OPENMPI_CFLAGS)
tests_comm_openmpi_LDFLAGS = $(AM_LDFLAGS) $(message_fault)
tests_comm_openmpi_LDADD = $(COMM_LIBS) $(OPENMPI_LIBS) -lm
endif
if HAVE_MPICH
check_PROGRAMS += tests/comm_mpich
tests_comm_mpich_SOURCES = tests/comm_mpi.c %D%/mpi.c
tests_comm_mpich_CFLAGS = $(AM_CFLAGS) $(MPICH_CFLAGS)
tests_comm_mpich_LDFLAGS = $(AM_LDFLAGS) $(message_fault)
tests_comm_mpich_LDADD = $(COMM_LIBS) $(MPICH_LIBS) -lm
endif
tap_tests += tests/comm_mpi.tap

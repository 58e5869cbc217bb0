# Shared by the tests that start processes: . "$RLFLOW_SOURCE/tests/mpi.sh"
# What launchers want to be told, and `launch ARGUMENT ...`: mpiexec under a
# time limit.
OMPI_ALLOW_RUN_AS_ROOT=1
OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
OMPI_MCA_rmaps_base_oversubscribe=1
OMPI_MCA_btl_base_warn_component_unused=0
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
export OMPI_MCA_rmaps_base_oversubscribe OMPI_MCA_btl_base_warn_component_unused
launch() { timeout --kill-after=5 120 "$MPIEXEC" "$@" </dev/null; }

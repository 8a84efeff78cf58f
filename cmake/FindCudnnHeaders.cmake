# Finds the headers of cuDNN 9 (9.14 or later, for the SDPA operation) and of the CUDA runtime, which they include.
# Nothing is linked, because attnprobe loads the library at run time. Looks in CUDNN_ROOT, the wheels that scripts/setup
# unpacks into .deps, CUDA toolkits and the system.
#
# Defines the interface target attnprobe_cudnn_headers.
file(GLOB _wheel_roots "${PROJECT_SOURCE_DIR}/.deps/nvidia/*")
find_path(CUDNN_INCLUDE_DIR cudnn_graph.h
          HINTS ${CUDNN_ROOT} $ENV{CUDNN_ROOT} ${_wheel_roots} $ENV{CUDA_PATH} /usr/local/cuda
          PATH_SUFFIXES include)
find_path(CUDA_RUNTIME_INCLUDE_DIR cuda_runtime_api.h
          HINTS $ENV{CUDA_PATH} /usr/local/cuda ${_wheel_roots}
          PATH_SUFFIXES include)

if(CUDNN_INCLUDE_DIR)
  set(_version_file "${CUDNN_INCLUDE_DIR}/cudnn_version.h")
  if(EXISTS "${CUDNN_INCLUDE_DIR}/cudnn_version_v9.h")
    set(_version_file "${CUDNN_INCLUDE_DIR}/cudnn_version_v9.h")
  endif()
  file(STRINGS "${_version_file}" _lines REGEX "#define CUDNN_(MAJOR|MINOR|PATCHLEVEL) ")
  string(REGEX REPLACE "[^0-9;]" "" _numbers "${_lines}")
  list(JOIN _numbers "." CudnnHeaders_VERSION)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  CudnnHeaders
  REQUIRED_VARS CUDNN_INCLUDE_DIR CUDA_RUNTIME_INCLUDE_DIR
  VERSION_VAR CudnnHeaders_VERSION
  REASON_FAILURE_MESSAGE "run scripts/setup, which fetches them with pip, or give -DCUDNN_ROOT=<folder>")
if(CudnnHeaders_FOUND AND CudnnHeaders_VERSION VERSION_LESS 9.14)
  message(FATAL_ERROR "cuDNN headers ${CudnnHeaders_VERSION} in ${CUDNN_INCLUDE_DIR} are too old (9.14 needed); "
                      "run scripts/setup --wheels and configure again")
endif()
if(CudnnHeaders_FOUND AND NOT TARGET attnprobe_cudnn_headers)
  add_library(attnprobe_cudnn_headers INTERFACE)
  target_include_directories(attnprobe_cudnn_headers SYSTEM INTERFACE ${CUDNN_INCLUDE_DIR} ${CUDA_RUNTIME_INCLUDE_DIR})
endif()

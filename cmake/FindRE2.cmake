# Finds RE2, Google's regular expressions: its CMake package, otherwise its header and library (Debian 12 has no CMake
# package of it).
#
# Defines the imported target re2::re2.
find_package(re2 CONFIG QUIET)
if(TARGET re2::re2)
  set(RE2_LIBRARY re2::re2)
  set(RE2_INCLUDE_DIR "${re2_DIR}")
else()
  find_path(RE2_INCLUDE_DIR re2/re2.h)
  find_library(RE2_LIBRARY re2)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(RE2 REQUIRED_VARS RE2_LIBRARY RE2_INCLUDE_DIR
                                  REASON_FAILURE_MESSAGE "install libre2-dev, or run scripts/setup")
if(RE2_FOUND AND NOT TARGET re2::re2)
  add_library(re2::re2 UNKNOWN IMPORTED)
  set_target_properties(re2::re2 PROPERTIES IMPORTED_LOCATION "${RE2_LIBRARY}"
                                            INTERFACE_INCLUDE_DIRECTORIES "${RE2_INCLUDE_DIR}")
endif()
mark_as_advanced(RE2_LIBRARY RE2_INCLUDE_DIR)

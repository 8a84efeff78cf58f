# Finds the header and library of libzip, which reads wheels. Debian's CMake package of libzip also requires libzip's
# programs.
#
# Defines the imported target zip::zip.
find_path(ZIP_INCLUDE_DIR zip.h)
find_library(ZIP_LIBRARY zip)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Zip REQUIRED_VARS ZIP_LIBRARY ZIP_INCLUDE_DIR
                                  REASON_FAILURE_MESSAGE "install libzip-dev, or run scripts/setup")
if(Zip_FOUND AND NOT TARGET zip::zip)
  add_library(zip::zip UNKNOWN IMPORTED)
  set_target_properties(zip::zip PROPERTIES IMPORTED_LOCATION "${ZIP_LIBRARY}"
                                            INTERFACE_INCLUDE_DIRECTORIES "${ZIP_INCLUDE_DIR}"
                                            INTERFACE_LINK_LIBRARIES ZLIB::ZLIB)  # if libzip is static
endif()
mark_as_advanced(ZIP_LIBRARY ZIP_INCLUDE_DIR)

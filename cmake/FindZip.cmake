# libzip, which reads wheels. Its header and library: Debian's CMake package of it asks for libzip's programs, too.
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
                                            INTERFACE_LINK_LIBRARIES ZLIB::ZLIB)  # where it is static
endif()
mark_as_advanced(ZIP_LIBRARY ZIP_INCLUDE_DIR)

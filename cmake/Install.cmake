# What `cmake --install` installs: the program, the null driver that it needs, and the library for
# find_package(attnprobe) with the target attnprobe::attnprobe. Installed files contain no absolute path of the tree, so
# it can be moved. The test consumer uses it installed and moved.
include(CMakePackageConfigHelpers)
set(_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/attnprobe")

# attnprobe::program is exported too, because the library's workers are processes of it.
set_target_properties(attnprobe_program PROPERTIES EXPORT_NAME program)
install(TARGETS attnprobe attnprobe_program EXPORT attnprobe_targets
        RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT program
        ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
        FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/attnprobe")
install(TARGETS attnprobe_c EXPORT attnprobe_targets LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT program
        NAMELINK_COMPONENT development)
install(FILES lib/service/c_api.h DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/attnprobe")
install(TARGETS attnprobe_null_driver LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/attnprobe" COMPONENT program)
install(DIRECTORY configs DESTINATION "${CMAKE_INSTALL_DATADIR}/attnprobe" COMPONENT program FILES_MATCHING PATTERN *.json)

install(EXPORT attnprobe_targets NAMESPACE attnprobe:: DESTINATION "${_package_dir}")
configure_package_config_file(cmake/attnprobe-config.cmake.in "${PROJECT_BINARY_DIR}/attnprobe-config.cmake"
                              INSTALL_DESTINATION "${_package_dir}" NO_SET_AND_CHECK_MACRO)
# Before 1.0, a minor version may break compatibility.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/attnprobe-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/attnprobe-config.cmake" "${PROJECT_BINARY_DIR}/attnprobe-config-version.cmake"
              cmake/FindRE2.cmake cmake/FindZip.cmake
        DESTINATION "${_package_dir}")

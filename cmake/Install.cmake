# What `cmake --install` puts on a machine: the program, the null driver that it needs, and the library for
# find_package(attnprobe) with the target attnprobe::attnprobe. tests/consumer uses the result.
include(CMakePackageConfigHelpers)
set(_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/attnprobe")

# attnprobe::program, too: a library's user needs it, since the library's workers are processes of it.
set_target_properties(attnprobe_program PROPERTIES EXPORT_NAME program)
install(TARGETS attnprobe attnprobe_program EXPORT attnprobe_targets
        RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(TARGETS attnprobe_null_driver LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/attnprobe")
install(DIRECTORY configs DESTINATION "${CMAKE_INSTALL_DATADIR}/attnprobe" FILES_MATCHING PATTERN *.json)

# All headers but those that need cuDNN's or CUDA's own, or that only builders of graphs share.
# Quoted: CMake takes parentheses in bare words apart.
set(_internal_headers
    "cudnn/(api|descriptor|device_context|enums|library|log_capture|lowering|newer_api)" "probe/(logged_graph|plan|steps|walk)"
    "run/(cuda|execution|plan_keeper|runner|timing)" "worker/archive" "worker/target_run" "worker/test_plans"
    "attention/(features|json_values|transformer_engine_reading)"
    "graph/(graph_builder|attention_tensors|flash_parts|mha_parts|operation_fields|scores|softmax)"
    "graph/(cudnn_names|frontend_json|graph_nodes|graph_view|reading|import_frontend_(layout|parts|reader))"
    "graph/log_(descriptors|import|tree|values)")
list(JOIN _internal_headers "|" _internal_headers)
install(DIRECTORY lib/ DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/attnprobe"
        FILES_MATCHING PATTERN *.hpp REGEX "/(${_internal_headers})\\.hpp$" EXCLUDE)

install(EXPORT attnprobe_targets NAMESPACE attnprobe:: DESTINATION "${_package_dir}")
configure_package_config_file(cmake/attnprobe-config.cmake.in "${PROJECT_BINARY_DIR}/attnprobe-config.cmake"
                              INSTALL_DESTINATION "${_package_dir}" NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor version may break users.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/attnprobe-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/attnprobe-config.cmake" "${PROJECT_BINARY_DIR}/attnprobe-config-version.cmake"
        DESTINATION "${_package_dir}")

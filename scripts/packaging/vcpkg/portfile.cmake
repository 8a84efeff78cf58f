# An overlay port: vcpkg install attnprobe --overlay-ports=scripts/packaging/vcpkg
# With the hash of a release's archive instead of SHA512 0, it is a port for microsoft/vcpkg.
vcpkg_from_github(
  OUT_SOURCE_PATH SOURCE_PATH
  REPO OWNER/attnprobe
  REF "v${VERSION}"
  SHA512 0
  HEAD_REF main
)

# tree-sitter 0.24.0 and tree-sitter-python 0.23.6, as in scripts/setup.
vcpkg_from_git(
  OUT_SOURCE_PATH TREE_SITTER
  URL https://github.com/tree-sitter/tree-sitter
  REF dfc891a5ce7d340c67252178729890bd6c18bbbc
)
vcpkg_from_git(
  OUT_SOURCE_PATH TREE_SITTER_PYTHON
  URL https://github.com/tree-sitter/tree-sitter-python
  REF bffb65a8cfe4e46290331dfef0dbf0ef3679de11
)

vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    -DATTNPROBE_BUILD_TESTS=OFF
    "-DTREE_SITTER_CORE_DIR=${TREE_SITTER}/lib"
    "-DTREE_SITTER_PYTHON_DIR=${TREE_SITTER_PYTHON}"
    -DATTNPROBE_TCMALLOC=ATTNPROBE_TCMALLOC-NOTFOUND
)
vcpkg_cmake_install()

vcpkg_copy_tools(TOOL_NAMES attnprobe AUTO_CLEAN)
# The program first searches its own folder for it.
file(COPY "${CURRENT_PACKAGES_DIR}/lib/attnprobe/libattnprobe_null_driver.so" DESTINATION "${CURRENT_PACKAGES_DIR}/tools/${PORT}")
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/attnprobe)
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")

vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE" "${TREE_SITTER}/LICENSE" "${TREE_SITTER}/lib/src/unicode/LICENSE"
                                  "${TREE_SITTER_PYTHON}/LICENSE")

# Finds the C sources of tree-sitter and its grammar of Python, because no distribution packages the grammar.
# TREE_SITTER_CORE_DIR is lib/ of tree-sitter's repository, TREE_SITTER_PYTHON_DIR the repository tree-sitter-python;
# scripts/setup unpacks both into .deps.
#
# Defines the object library attnprobe_tree_sitter.
find_path(TREE_SITTER_CORE_DIR src/lib.c PATHS "${PROJECT_SOURCE_DIR}/.deps/tree-sitter/core" NO_DEFAULT_PATH)
find_path(TREE_SITTER_PYTHON_DIR src/scanner.c PATHS "${PROJECT_SOURCE_DIR}/.deps/tree-sitter/python" NO_DEFAULT_PATH)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  TreeSitterPython
  REQUIRED_VARS TREE_SITTER_CORE_DIR TREE_SITTER_PYTHON_DIR
  REASON_FAILURE_MESSAGE "run scripts/setup, which fetches them with pip, or give -DTREE_SITTER_CORE_DIR=<folder> and -DTREE_SITTER_PYTHON_DIR=<folder>")
if(TreeSitterPython_FOUND AND NOT TARGET attnprobe_tree_sitter)
  # The grammar includes <tree_sitter/parser.h>, which its archive lacks.
  set(_headers "${PROJECT_BINARY_DIR}/tree_sitter_headers")
  file(MAKE_DIRECTORY "${_headers}")
  file(CREATE_LINK "${TREE_SITTER_CORE_DIR}/src" "${_headers}/tree_sitter" SYMBOLIC)
  add_library(attnprobe_tree_sitter OBJECT "${TREE_SITTER_CORE_DIR}/src/lib.c" "${TREE_SITTER_PYTHON_DIR}/src/parser.c"
                                           "${TREE_SITTER_PYTHON_DIR}/src/scanner.c")
  target_include_directories(attnprobe_tree_sitter PRIVATE "${TREE_SITTER_CORE_DIR}/src" "${_headers}")
  target_include_directories(attnprobe_tree_sitter SYSTEM PUBLIC "${TREE_SITTER_CORE_DIR}/include")
  set_target_properties(attnprobe_tree_sitter PROPERTIES C_STANDARD 11 C_VISIBILITY_PRESET hidden POSITION_INDEPENDENT_CODE ON
                                                         UNITY_BUILD OFF)
  target_compile_options(attnprobe_tree_sitter PRIVATE -w)
endif()
mark_as_advanced(TREE_SITTER_CORE_DIR TREE_SITTER_PYTHON_DIR)

# Packs the build of scripts/package build as attnprobe_0.1.0_amd64.deb and, for any folder, as
# attnprobe-0.1.0-linux-x86_64.tar.gz. Both have the program and what it needs. They lack the static library, because it
# works only with the compiler that built it.
set(CPACK_PACKAGE_NAME attnprobe)
set(CPACK_PACKAGE_VENDOR attnprobe)
# Debian's own variables name the contact: the maker of the package.
if(DEFINED ENV{DEBFULLNAME} AND DEFINED ENV{DEBEMAIL})
  set(CPACK_PACKAGE_CONTACT "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
else()
  set(CPACK_PACKAGE_CONTACT "whoever built this package <nobody@localhost.invalid>")
endif()
set(CPACK_PACKAGE_HOMEPAGE_URL "${PROJECT_HOMEPAGE_URL}")
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/packages")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_COMPONENTS_ALL program)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_STRIP_FILES OFF)  # already linked without symbols; the null driver must be the same in every package

set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_PACKAGE_FILE_NAME "attnprobe-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR}")
set(CPACK_ARCHIVE_FILE_NAME "${CPACK_PACKAGE_FILE_NAME}")
# A tarball unpacks into one folder; a .deb must not.
file(WRITE "${PROJECT_BINARY_DIR}/cpack-each.cmake"
     "if(CPACK_GENERATOR STREQUAL \"TGZ\")\n  set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY ON)\nendif()\n")
set(CPACK_PROJECT_CONFIG_FILE "${PROJECT_BINARY_DIR}/cpack-each.cmake")

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= 2.28)")
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
else()
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE amd64)
endif()
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
    "asks cuDNN which fused-attention graphs it supports, and why not
 The real cuDNN (9.8 and later, which is not part of this package) answers for any
 GPU, on any machine, from a description of that GPU. attnprobe keeps cuDNN's own
 reason for every engine config that it rejects, explains it in plain words, and
 prints only advice that it has probed.")

install(FILES LICENSE README.md CHANGELOG.md DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT program)
if(ATTNPROBE_LICENSES)
  install(FILES "${ATTNPROBE_LICENSES}" DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT program)
endif()
install(DIRECTORY "${PROJECT_BINARY_DIR}/man/" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT program OPTIONAL)
install(FILES scripts/packaging/attnprobe.bash DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions"
        RENAME attnprobe COMPONENT program)
# Debian's folders for both shells; users of a tarball set fpath and fish_complete_path.
install(FILES scripts/packaging/attnprobe.zsh DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions"
        RENAME _attnprobe COMPONENT program)
install(FILES scripts/packaging/attnprobe.fish DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d" COMPONENT program)
include(CPack)

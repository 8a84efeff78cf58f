# The toolchain of the packages (scripts/package build): zig's clang with its static libc++, the glibc of
# manylinux_2_28, and dependencies built from source. It uses nothing from the machine's /usr.
#
#   ATTNPROBE_PORTABLE   the folder of this target in .deps/portable: bin/ with zig's tools, lib/ and include/
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ATTNPROBE_PORTABLE)
if(NOT EXISTS "${ATTNPROBE_PORTABLE}/bin/cc")
  message(FATAL_ERROR "ATTNPROBE_PORTABLE is \"${ATTNPROBE_PORTABLE}\", not a folder of scripts/package build")
endif()
cmake_path(GET ATTNPROBE_PORTABLE FILENAME CMAKE_SYSTEM_PROCESSOR)
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_C_COMPILER "${ATTNPROBE_PORTABLE}/bin/cc")
set(CMAKE_CXX_COMPILER "${ATTNPROBE_PORTABLE}/bin/c++")
set(CMAKE_AR "${ATTNPROBE_PORTABLE}/bin/ar" CACHE FILEPATH "")
set(CMAKE_RANLIB "${ATTNPROBE_PORTABLE}/bin/ranlib" CACHE FILEPATH "")

set(CMAKE_PREFIX_PATH "${ATTNPROBE_PORTABLE}")
set(CMAKE_FIND_USE_CMAKE_SYSTEM_PATH OFF)
set(CMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH OFF)
set(CMAKE_FIND_USE_PACKAGE_REGISTRY OFF)

set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_FLAGS_INIT "-ffunction-sections -fdata-sections")
set(CMAKE_CXX_FLAGS_INIT "-ffunction-sections -fdata-sections")
set(CMAKE_C_FLAGS_RELEASE "-O2 -DNDEBUG" CACHE STRING "")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG" CACHE STRING "")
foreach(kind EXE SHARED MODULE)
  set(CMAKE_${kind}_LINKER_FLAGS_INIT "-s -Wl,--gc-sections")
endforeach()
# zig checks only the path of a precompiled header, so it would use an outdated one; joined sources save more time.
set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)

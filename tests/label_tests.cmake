# Writes OUTPUT, from which ctest reads the labels of PROGRAM's tests. They are the module, which is the folder of a test's
# source, and the TAGS of the test. Run as a script after PROGRAM is linked:
#   cmake -DPROGRAM=… "-DSOURCES=module/name_test.cpp;…" "-DTAGS=slow;real_gpu" -DCATCH=2.13.10 -DOUTPUT=… -P label_tests.cmake
cmake_minimum_required(VERSION 3.25)

set(listing --list-test-names-only)
if(NOT CATCH VERSION_LESS 3)
  set(listing --list-tests --verbosity quiet)
endif()

# Adds a label to the tests that a Catch2 test spec selects.
function(add_label label spec)
  # Catch2 uses the stem of a test's file as a tag. Version 2 exits with the number of tests, so the status is ignored.
  execute_process(COMMAND "${PROGRAM}" --filenames-as-tags "${spec}" ${listing} OUTPUT_VARIABLE output)
  if(output MATCHES ";")
    string(REGEX MATCH "[^\n]*;[^\n]*" test "${output}")
    message(FATAL_ERROR "ctest takes a test's name apart at a semicolon, and then runs nothing: ${test}")
  endif()
  string(REPLACE "\n" ";" output "${output}")
  foreach(test IN LISTS output)
    if(test)
      set_property(GLOBAL APPEND PROPERTY "labels of ${test}" "${label}")
      set_property(GLOBAL APPEND PROPERTY labelled "${test}")
    endif()
  endforeach()
endfunction()

set(stems "")
foreach(source IN LISTS SOURCES)
  set(room library)  # attnprobe.hpp belongs to no module
  if(source MATCHES "^([^/]+)/")
    set(room "${CMAKE_MATCH_1}")
  endif()
  get_filename_component(stem "${source}" NAME_WE)
  if(stem IN_LIST stems)
    message(FATAL_ERROR "two test files have the name ${stem}, which identifies a test's labels")
  endif()
  list(APPEND stems "${stem}")
  add_label("${room}" "[#${stem}]")
endforeach()
foreach(tag IN LISTS TAGS)
  add_label("${tag}" "[${tag}]")
endforeach()

get_property(tests GLOBAL PROPERTY labelled)
list(REMOVE_DUPLICATES tests)
set(text "")
foreach(test IN LISTS tests)
  get_property(labels GLOBAL PROPERTY "labels of ${test}")
  set(properties "LABELS \"${labels}\"")
  if(slow IN_LIST labels)
    string(APPEND properties " TIMEOUT 600")  # several wait for time limits
  endif()
  string(APPEND text "set_tests_properties([==[${test}]==] PROPERTIES ${properties})\n")
endforeach()
file(WRITE "${OUTPUT}" "${text}")

# A wheel (pyproject.toml) has app/python, the program and, in the same folder, the null driver, for which the program
# searches there first. The files stay as built: not stripped, with the same search path. A wheel has no symbolic links,
# so the C library is one file. `cmake --install` installs these files only with `--component python`.
install(PROGRAMS "$<TARGET_FILE:attnprobe_program>" "$<TARGET_FILE:attnprobe_null_driver>"
        DESTINATION _bin COMPONENT python EXCLUDE_FROM_ALL)
if(TARGET attnprobe_c)
  install(PROGRAMS "$<TARGET_FILE:attnprobe_c>" DESTINATION _bin RENAME libattnprobe.so COMPONENT python EXCLUDE_FROM_ALL)
endif()
if(ATTNPROBE_LICENSES)
  install(FILES "${ATTNPROBE_LICENSES}" DESTINATION _bin COMPONENT python EXCLUDE_FROM_ALL)
endif()

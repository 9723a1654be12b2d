# Cross-building with Zig's clang, one file for all platforms. Variables: QUERN_ZIG, the program; QUERN_ZIG_TARGET, its name of the
# platform; QUERN_TARGET_SYSTEM and QUERN_TARGET_PROCESSOR, CMake's names.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES QUERN_ZIG QUERN_ZIG_TARGET QUERN_TARGET_SYSTEM QUERN_TARGET_PROCESSOR)
set(CMAKE_SYSTEM_NAME ${QUERN_TARGET_SYSTEM})
set(CMAKE_SYSTEM_PROCESSOR ${QUERN_TARGET_PROCESSOR})
set(CMAKE_CXX_COMPILER ${QUERN_ZIG} c++ -target ${QUERN_ZIG_TARGET})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
# Symbols of the linked libc++ stay inside: those of another C++ library in the process have the same names and other contents.
if(QUERN_TARGET_SYSTEM STREQUAL "Linux")
  set(CMAKE_MODULE_LINKER_FLAGS_INIT "-s -Wl,--version-script=${CMAKE_CURRENT_LIST_DIR}/exports.map")
endif()

# Cross-building with Zig's clang, one file for all platforms. Variables: QUERN_ZIG, the program; QUERN_ZIG_TARGET, its name of the
# platform; QUERN_TARGET_SYSTEM and QUERN_TARGET_PROCESSOR, CMake's names.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES QUERN_ZIG QUERN_ZIG_TARGET QUERN_TARGET_SYSTEM QUERN_TARGET_PROCESSOR)
set(CMAKE_SYSTEM_NAME ${QUERN_TARGET_SYSTEM})
set(CMAKE_SYSTEM_PROCESSOR ${QUERN_TARGET_PROCESSOR})
set(CMAKE_CXX_COMPILER ${QUERN_ZIG} c++ -target ${QUERN_ZIG_TARGET})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_USER_MAKE_RULES_OVERRIDE_CXX ${CMAKE_CURRENT_LIST_DIR}/zig-rules.cmake)
set(CMAKE_PROJECT_INCLUDE ${CMAKE_CURRENT_LIST_DIR}/zig-libraries.cmake)
# What CMake would find out by linking programs: Zig first compiles its libc++ for each kind of program, a minute each.
set(CMAKE_CXX_COMPILER_ID_RUN TRUE)
set(CMAKE_CXX_COMPILER_FORCED TRUE)
set(CMAKE_CXX_COMPILER_ID Clang)
set(CMAKE_CXX_COMPILER_VERSION 16.0.6)
set(CMAKE_CXX_COMPILER_FRONTEND_VARIANT GNU)
set(CMAKE_CXX_STANDARD_COMPUTED_DEFAULT 17)
set(CMAKE_CXX_EXTENSIONS_COMPUTED_DEFAULT ON)
set(CMAKE_CXX_COMPILE_FEATURES cxx_std_20)
set(CMAKE_CXX20_COMPILE_FEATURES cxx_std_20)
set(CMAKE_SIZEOF_VOID_P 8)
set(CMAKE_HAVE_LIBC_PTHREAD TRUE) # no library of its own for threads; on Windows they are the system's
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_MODULE_LINKER_FLAGS_INIT -s)
# Symbols of the linked libc++ stay inside: those of another C++ library in the process have the same names and other contents.
if(QUERN_TARGET_SYSTEM STREQUAL "Linux")
  string(APPEND CMAKE_MODULE_LINKER_FLAGS_INIT " -Wl,--version-script=${CMAKE_CURRENT_LIST_DIR}/exports.map")
endif()

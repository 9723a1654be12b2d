# Cross-building for 64-bit Windows with clang, lld and Debian's mingw-w64 (clang-19, lld-19, g++-mingw-w64-x86-64-posix). g++ itself
# does not align vectors of AVX on the stack there.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR AMD64)
find_program(QUERN_CLANG NAMES clang++-19 clang++ REQUIRED)
find_program(QUERN_LLD NAMES ld.lld-19 ld.lld REQUIRED)
set(CMAKE_CXX_COMPILER ${QUERN_CLANG})
set(CMAKE_CXX_COMPILER_TARGET x86_64-w64-windows-gnu)
set(CMAKE_RC_COMPILER x86_64-w64-mingw32-windres)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
# clang takes the library whose threads are Windows' own, without std::thread; its thread_local is not that of g++'s library.
file(GLOB POSIX_LIBRARY /usr/lib/gcc/x86_64-w64-mingw32/*-posix)
list(GET POSIX_LIBRARY -1 POSIX_LIBRARY)
set(HEADERS ${POSIX_LIBRARY}/include/c++)
add_compile_options(-femulated-tls -nostdinc++)
foreach(folder "" /x86_64-w64-mingw32 /backward)
  add_compile_options("SHELL:-isystem ${HEADERS}${folder}")
endforeach()
add_link_options(-fuse-ld=${QUERN_LLD} -static -L${POSIX_LIBRARY} -lwinpthread)

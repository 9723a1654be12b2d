# Included after project(): what Zig lacks beside the libraries that a project names.
if(WIN32) # Zig names the library of WaitOnAddress as Windows does
  add_library(synchronization INTERFACE)
  target_link_libraries(synchronization INTERFACE api-ms-win-core-synch-l1-2-0)
elseif(QUERN_ZIG_TARGET MATCHES "-gnu\\.") # glibc-stat.cc
  add_library(glibc_stat OBJECT ${CMAKE_CURRENT_LIST_DIR}/glibc-stat.cc)
  set_target_properties(glibc_stat PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_compile_options(glibc_stat PRIVATE -O2)
  link_libraries(glibc_stat)
endif()

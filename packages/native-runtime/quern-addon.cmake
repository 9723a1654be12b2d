# quern_addon(name sources…): builds `name`.node, a Node-API addon of `sources` and the sources of this package. Works under
# cmake-js, and under plain cmake if node finds node-api-headers and node-addon-api.
# quern_plain_ops(name): adds the plain ops (native/quern/plain) to the addon.
set(QUERN_NATIVE ${CMAKE_CURRENT_LIST_DIR}/native)

if(NOT CMAKE_JS_INC)
  execute_process(COMMAND node -p "require('node-api-headers').include_dir" WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE NAPI_H OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND node -p "require('node-addon-api').include_dir" WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE NAPI_CPP OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  set(CMAKE_JS_INC ${NAPI_H} ${NAPI_CPP})
endif()
find_package(Threads REQUIRED)

# Most of a short file's compilation is headers. A clean build of a small backend with all plain ops takes about 13 s of processor time;
# backend-cpu, with its kernels per instruction set, 220 s without unity, 150 with.
option(QUERN_UNITY "Compile 12 source files as one; OFF is faster while one file changes" ON)

function(quern_addon name)
  file(GLOB SOURCES CONFIGURE_DEPENDS ${QUERN_NATIVE}/quern/*.cc)
  file(GLOB ADDON CONFIGURE_DEPENDS ${QUERN_NATIVE}/quern/addon/*.cc)
  add_library(${name} MODULE ${ARGN} ${SOURCES} ${ADDON} ${CMAKE_JS_SRC})
  set_target_properties(${name} PROPERTIES PREFIX "" SUFFIX ".node" UNITY_BUILD ${QUERN_UNITY} UNITY_BUILD_BATCH_SIZE 12)
  target_compile_features(${name} PRIVATE cxx_std_20)
  # A terminating worker accepts no exceptions: without SWALLOW an exception would end the process.
  target_compile_definitions(${name} PRIVATE NAPI_VERSION=8 NAPI_CPP_EXCEPTIONS NODE_ADDON_API_DISABLE_DEPRECATED NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS)
  target_include_directories(${name} SYSTEM PRIVATE ${CMAKE_JS_INC})
  target_include_directories(${name} PRIVATE ${QUERN_NATIVE})
  target_link_libraries(${name} PRIVATE ${CMAKE_JS_LIB} Threads::Threads)
  if(NOT APPLE AND NOT WIN32)
    target_link_options(${name} PRIVATE -Wl,-z,nodelete) # an ending worker unloads its addons, but the SIGBUS handler stays installed
  endif()
endfunction()

function(quern_plain_ops name)
  file(GLOB PLAIN CONFIGURE_DEPENDS ${QUERN_NATIVE}/quern/plain/*.cc)
  target_sources(${name} PRIVATE ${PLAIN})
endfunction()

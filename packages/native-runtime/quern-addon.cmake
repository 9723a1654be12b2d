# quern_addon(name sources…): builds `name`.node, a Node-API addon of `sources` and the sources of this package. Works under
# cmake-js, and under plain cmake if node finds node-api-headers and node-addon-api.
# quern_plain_ops(name): adds the plain ops (native/quern/plain) to the addon.
# quern_node_api(name): makes a module a Node-API addon, without our sources. quern_addon calls it.
set(QUERN_NATIVE ${CMAKE_CURRENT_LIST_DIR}/native)

if(NOT CMAKE_JS_INC)
  execute_process(COMMAND node -p "require('node-api-headers').include_dir" WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE NAPI_H OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND node -p "require('node-addon-api').include_dir" WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE NAPI_CPP OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  set(CMAKE_JS_INC ${NAPI_H} ${NAPI_CPP})
endif()
find_package(Threads REQUIRED)

# Folders with the files of the system.
if(WIN32)
  set(QUERN_SYSTEM windows)
elseif(APPLE)
  set(QUERN_SYSTEM unix darwin)
else()
  set(QUERN_SYSTEM unix linux)
endif()

# Most of a short file's compilation is headers. A clean build of a small backend with all plain ops takes about 13 s of processor time;
# backend-cpu, with its kernels per instruction set, 220 s without unity, 150 with.
option(QUERN_UNITY "Compile 12 source files as one; OFF is faster while one file changes" ON)

# Windows: quern/windows/node-api.cc finds the functions of Node-API in the program that loads the addon. Their names:
function(quern_find_node_api name)
  execute_process(COMMAND node -p "Object.values(require('node-api-headers').symbols.v8).flat().map((name) => 'NODE_API(' + name + ')').join(';')" WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE FUNCTIONS OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  list(JOIN FUNCTIONS "\n" LINES)
  set(FOLDER ${CMAKE_CURRENT_BINARY_DIR}/node-api)
  file(WRITE ${FOLDER}/node-api.inc "${LINES}\n")
  target_sources(${name} PRIVATE ${QUERN_NATIVE}/quern/windows/node-api.cc)
  target_include_directories(${name} PRIVATE ${QUERN_NATIVE} ${FOLDER})
  target_compile_definitions(${name} PRIVATE BUILDING_NODE_EXTENSION) # declares them with dllimport
endfunction()

function(quern_node_api name)
  set_target_properties(${name} PROPERTIES PREFIX "" SUFFIX ".node")
  # A terminating worker accepts no exceptions: without SWALLOW an exception would end the process.
  target_compile_definitions(${name} PRIVATE NAPI_VERSION=8 NAPI_CPP_EXCEPTIONS NODE_ADDON_API_DISABLE_DEPRECATED NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS)
  target_include_directories(${name} SYSTEM PRIVATE ${CMAKE_JS_INC})
  if(WIN32)
    quern_find_node_api(${name}) # in place of cmake-js's source and library
  else()
    target_sources(${name} PRIVATE ${CMAKE_JS_SRC})
    target_link_libraries(${name} PRIVATE ${CMAKE_JS_LIB})
  endif()
  if(APPLE)
    target_link_options(${name} PRIVATE -Wl,-undefined,dynamic_lookup)
  endif()
endfunction()

function(quern_addon name)
  file(GLOB SOURCES CONFIGURE_DEPENDS ${QUERN_NATIVE}/quern/*.cc)
  foreach(folder ${QUERN_SYSTEM})
    file(GLOB OF_SYSTEM CONFIGURE_DEPENDS ${QUERN_NATIVE}/quern/${folder}/*.cc)
    list(APPEND SOURCES ${OF_SYSTEM})
  endforeach()
  list(FILTER SOURCES EXCLUDE REGEX "/windows/node-api.cc$") # quern_node_api has it
  file(GLOB ADDON CONFIGURE_DEPENDS ${QUERN_NATIVE}/quern/addon/*.cc)
  add_library(${name} MODULE ${ARGN} ${SOURCES} ${ADDON})
  set_target_properties(${name} PROPERTIES UNITY_BUILD ${QUERN_UNITY} UNITY_BUILD_BATCH_SIZE 12)
  target_compile_features(${name} PRIVATE cxx_std_20)
  target_include_directories(${name} PRIVATE ${QUERN_NATIVE})
  target_link_libraries(${name} PRIVATE Threads::Threads)
  quern_node_api(${name})
  if(WIN32)
    get_target_property(WITH_WINDOWS_HEADERS ${name} SOURCES)
    target_link_libraries(${name} PRIVATE synchronization) # WaitOnAddress
    list(FILTER WITH_WINDOWS_HEADERS INCLUDE REGEX "/windows/")
    set_source_files_properties(${WITH_WINDOWS_HEADERS} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON) # macros of those headers
  endif()
  if(NOT APPLE AND NOT WIN32)
    target_link_options(${name} PRIVATE -Wl,-z,nodelete) # an ending worker unloads its addons, but the SIGBUS handler stays installed
  endif()
endfunction()

function(quern_plain_ops name)
  file(GLOB PLAIN CONFIGURE_DEPENDS ${QUERN_NATIVE}/quern/plain/*.cc)
  target_sources(${name} PRIVATE ${PLAIN})
endfunction()

# Read after CMake's own rules. Zig's linker makes no bundles of macOS: a dynamic library, which Node opens as well.
if(APPLE)
  set(CMAKE_SHARED_MODULE_CREATE_CXX_FLAGS "-dynamiclib -Wl,-install_name,@rpath/addon.node") # else the name is a path of this machine
endif()

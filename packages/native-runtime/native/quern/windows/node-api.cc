// The addon takes Node-API from the program that loads it, whatever its file's name. Calls of functions that are declared with dllimport
// read the addresses from variables __imp_…: an import library has them as a rule, for one name of the program.
#include "quern/windows/windows.h"

#include <cstdio>
#include <cstdlib>

// node-api.inc: NODE_API(napi_call_function) and so on, a line per function
#define NODE_API(name) extern "C" FARPROC __imp_##name = nullptr;
#include "node-api.inc"
#undef NODE_API

static INT_PTR WINAPI absent() {
  fputs("quern: the program that loaded this addon lacks a function of Node-API 8\n", stderr);
  abort();
}

static FARPROC find(const char* name) {
  const FARPROC found = GetProcAddress(GetModuleHandleW(nullptr), name);
  return found ? found : absent;
}

[[gnu::constructor]] static void find_functions() {
#define NODE_API(name) __imp_##name = find(#name);
#include "node-api.inc"
}

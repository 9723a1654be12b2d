// The addon takes Node-API from the program that loads it, whatever its file's name. native-runtime has the same for backends.
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#include <windows.h>

#include <delayimp.h> // behind windows.h

static FARPROC WINAPI find_program(unsigned moment, DelayLoadInfo* sought) {
  const bool of_node = moment == dliNotePreLoadLibrary && lstrcmpiA(sought->szDll, "node.exe") == 0;
  return of_node ? reinterpret_cast<FARPROC>(GetModuleHandleW(nullptr)) : nullptr;
}

PfnDliHook __pfnDliNotifyHook2 = find_program;

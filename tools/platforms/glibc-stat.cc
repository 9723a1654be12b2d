// The functions of <sys/stat.h> for Zig's programs of glibc. Before version 2.33 glibc has them as inline functions alone; those that
// Zig 0.11 links instead set an errno of their own, not that of the program. libc++ takes a missing file for one that exists.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int call(int folder, const char* path, void* into, int flags) {
  return static_cast<int>(syscall(SYS_newfstatat, folder, path, into, flags)); // struct stat is the kernel's on x86-64 and 64-bit Arm
}

extern "C" {

int stat(const char* path, struct stat* into) { return call(AT_FDCWD, path, into, 0); }
int lstat(const char* path, struct stat* into) { return call(AT_FDCWD, path, into, AT_SYMLINK_NOFOLLOW); }
int fstat(int file, struct stat* into) { return call(file, "", into, AT_EMPTY_PATH); }
int fstatat(int folder, const char* path, struct stat* into, int flags) { return call(folder, path, into, flags); }

} // extern "C"

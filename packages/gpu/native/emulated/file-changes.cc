#include "emulated/file-changes.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

namespace quern::gpu {

// As another process might.
bool changes_files() {
  const char *const cut = getenv("QUERN_EMULATED_CUTS"), *const touched = getenv("QUERN_EMULATED_TOUCHES");
  return (!cut || truncate(cut, 4096) == 0) && (!touched || utimensat(AT_FDCWD, touched, nullptr, 0) == 0);
}

}  // namespace quern::gpu

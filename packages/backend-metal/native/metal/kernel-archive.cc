#include "metal/kernel-archive.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "metal/strings.h"
#include "quern/failure.h"

namespace quern::metal {

namespace fs = std::filesystem;

// FNV-1a of 64 bits (Fowler, Noll, Vo): finds damage, not attacks; the folder is the user's own.
static std::string hash_of(const std::string& bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : bytes) hash = (hash ^ uint8_t(byte)) * 0x100000001b3;
  return text("%016llx", (unsigned long long)hash);
}

static std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

static std::string archive_path(const std::string& path) { return path + ".metalarchive"; }
static std::string hash_path(const std::string& path) { return path + ".hash"; }

static bool is_whole(const std::string& path) {
  const std::string archive = content_of(archive_path(path));
  return !archive.empty() && content_of(hash_path(path)) == hash_of(archive);
}

static Object url_of(const std::string& path) { return file_url(Runtime::get().class_named("NSURL"), string_of(path)); }

// Empty: files can be made in the folder, which is made if it is not there.
static std::string why_unwritable(const std::string& folder) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) return failed.message();
  return access(folder.c_str(), W_OK) == 0 ? "" : strerror(errno);
}

KernelArchive::KernelArchive(Object device, const std::string& folder, const std::string& key) {
  if (folder.empty()) return;
  path_ = (fs::path(folder) / ("kernels-" + hash_of(key))).string();
  const std::string why = why_unwritable(folder);
  if (!why.empty()) {
    give_up(why);
    return;
  }
  const Pool pool;
  if (is_whole(path_)) open(device, true);
  if (!archive_) open(device, false);
}

void KernelArchive::open(Object device, bool from_file) {
  const Owned descriptor = made("MTLBinaryArchiveDescriptor");
  if (from_file) set_url(descriptor.get(), url_of(archive_path(path_)));
  Object error = nullptr;
  archive_ = Owned(new_archive(device, descriptor.get(), &error));
}

void KernelArchive::add(Object descriptor) {
  Object error = nullptr;
  if (archive_ && add_pipeline(archive_.get(), descriptor, &error)) changed_ = true;
}

void KernelArchive::give_up(const std::string& why) {
  notice_ = "kernels are compiled at each start: " + path_ + ".metalarchive cannot be written (" + why + ")";
  archive_ = Owned();
}

// Other processes see the old archive, the new one, or one whose hash is wrong.
void KernelArchive::save() {
  if (!std::exchange(changed_, false)) return;
  const Pool pool;
  std::error_code failed;
  const std::string made = path_ + "." + std::to_string(getpid());
  Object error = nullptr;
  if (!serialize(archive_.get(), url_of(made), &error)) return give_up(told(error));
  std::ofstream(made + ".hash") << hash_of(content_of(made));
  fs::rename(made, archive_path(path_), failed);
  if (!failed) fs::rename(made + ".hash", hash_path(path_), failed);
  if (failed) give_up(failed.message());
}

}  // namespace quern::metal

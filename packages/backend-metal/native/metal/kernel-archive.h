// Compiled kernels on disk: an archive of Metal, and a file with its hash. An archive is for one text of the kernels, one GPU, one system.
#pragma once
#include <string>

#include "metal/objc.h"

namespace quern::metal {

class KernelArchive {
 public:
  // folder: empty for none. key: what the kernels depend on. An archive whose hash is wrong is not used; the next `save` replaces it.
  KernelArchive(Object device, const std::string& folder, const std::string& key);

  // MTLBinaryArchive; null: none.
  Object object() const { return archive_.get(); }
  // Adds a kernel that has been compiled: MTLComputePipelineDescriptor.
  void add(Object descriptor);
  // Writes what was added since the last time.
  void save();
  // Why kernels are not kept; empty: they are.
  const std::string& notice() const { return notice_; }

 private:
  void open(Object device, bool from_file);
  void give_up(const std::string& why);

  std::string path_; // without suffix; empty: not on disk
  Owned archive_;
  bool changed_ = false;
  std::string notice_;
};

}  // namespace quern::metal

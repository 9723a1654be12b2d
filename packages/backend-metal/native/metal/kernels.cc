#include "metal/kernels.h"

#include "metal/kernels-source.h"
#include "metal/strings.h"
#include "quern/failure.h"

namespace quern::metal {

static constexpr Natural lanes = 32; // WARP of the kernels

Kernels::Kernels(Object device, const std::string& label, const std::string& folder, const std::string& system)
    : device_(device), label_(label), archive_(device, folder, system + " " + label + " " + kernels_source) {}

const Kernel& Kernels::find(const char* name) {
  const auto found = kernels_.find(std::string_view(name));
  if (found != kernels_.end()) return found->second;
  const Pool pool;
  return kernels_.emplace(name, make_kernel(name)).first->second;
}

// The text makes those kernels that are wanted: compiling all would take minutes.
Owned Kernels::compile(const std::string& name) {
  const Owned options = made("MTLCompileOptions");
  set_language_version(options.get(), language_3_2);
  set_math_mode(options.get(), math_mode_safe);
  Object error = nullptr;
  Owned library(new_library(device_, string_of("#define WANTS_" + name + " 0, MADE_\n" + kernels_source), options.get(), &error));
  if (!library)
    fail(Code::device_failed, "the kernel %s does not compile on %s: %s", name.c_str(), label_.c_str(), told(error).c_str());
  return library;
}

// From the archive; else compiled for the GPU, and added.
Owned Kernels::pipeline_of(const std::string& name, Object function) {
  const Owned descriptor = made("MTLComputePipelineDescriptor");
  set_function(descriptor.get(), function);
  Object error = nullptr;
  if (archive_.object()) {
    set_archives(descriptor.get(), array_with_object(Runtime::get().class_named("NSArray"), archive_.object()));
    if (Owned kept(new_pipeline(device_, descriptor.get(), fail_on_archive_miss, nullptr, &error)); kept) return kept;
  }
  Owned pipeline(new_pipeline(device_, descriptor.get(), no_pipeline_options, nullptr, &error));
  if (!pipeline)
    fail(Code::device_failed, "the kernel %s cannot be made on %s: %s", name.c_str(), label_.c_str(), told(error).c_str());
  archive_.add(descriptor.get());
  return pipeline;
}

Kernel Kernels::make_kernel(const std::string& name) {
  const Owned library = compile(name);
  const Owned function(new_function(library.get(), string_of(name)));
  if (!function) fail(Code::device_failed, "there is no kernel %s for %s", name.c_str(), label_.c_str());
  Owned pipeline = pipeline_of(name, function.get());
  const Natural width = simdgroup_width(pipeline.get());
  if (width != lanes)
    fail(Code::unsupported, "%s runs %s with %lu lanes in a simdgroup; this backend needs %lu", label_.c_str(), name.c_str(), width, lanes);
  const auto threads = int(most_threads(pipeline.get()));
  return {std::move(pipeline), threads};
}

}  // namespace quern::metal

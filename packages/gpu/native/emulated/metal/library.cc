// MTLLibrary, MTLFunction, MTLComputePipelineState, MTLBinaryArchive. The text of kernels is not compiled: its `#define WANTS_…` say which
// kernels the library has, and the program has those.
#include <fstream>

#include "emulated/metal/objects.h"

namespace quern::gpu {

namespace {

using metal::Natural;

struct LibraryObject : Instance {
  explicit LibraryObject(std::set<std::string> kernels);
  const std::set<std::string> kernels;
};

std::set<std::string> wanted_kernels(const std::string& source) {
  const std::string define = "#define WANTS_";
  std::set<std::string> kernels;
  for (size_t at = source.find(define); at != std::string::npos; at = source.find(define, at + 1)) {
    const size_t first = at + define.size(), end = source.find_first_of(" \n", first);
    kernels.insert(source.substr(first, end - first));
  }
  return kernels;
}

Object new_function_of(const LibraryObject& library, const std::string& name) {
  const Kernel* const kernel = library.kernels.contains(name) ? find_kernel(name) : nullptr;
  return kernel ? new FunctionObject(*kernel) : nullptr;
}

const Methods& library_methods = *new Methods(Methods("MTLLibrary").add(metal::new_function, [](Object self, Selector, Object name) {
  return new_function_of(as_a<LibraryObject>(self), as_a<StringObject>(name).text);
}));
const Methods& function_methods = *new Methods("MTLFunction");
const Methods& pipeline_methods = *new Methods(
    Methods("MTLComputePipelineState")
        .add(metal::most_threads, [](Object self, Selector) -> Natural { return Natural(as_a<PipelineObject>(self).kernel.most_threads); })
        .add(metal::simdgroup_width, [](Object, Selector) -> Natural { return setting("QUERN_EMULATED_SIMDGROUP", 32); })
        .add(metal::shared_bytes_of, [](Object, Selector) -> Natural { return 0; }));

const Methods& descriptor_methods = *new Methods(
    Methods("MTLComputePipelineDescriptor")
        .add(metal::set_function, [](Object self, Selector, Object function) {
          as_a<DescriptorObject>(self).function = Kept<FunctionObject>(&as_a<FunctionObject>(function));
        })
        .add(metal::set_archives, [](Object self, Selector, Object archives) {
          as_a<DescriptorObject>(self).archives = Kept<ArrayObject>(&as_a<ArrayObject>(archives));
        }));
const Methods& archive_descriptor_methods = *new Methods(Methods("MTLBinaryArchiveDescriptor").add(metal::set_url, [](Object self, Selector, Object url) {
  as_a<DescriptorObject>(self).url = as_a<StringObject>(url).text;
}));
const Methods& residency_descriptor_methods = *new Methods("MTLResidencySetDescriptor");
const Methods& options_methods = *new Methods(Methods("MTLCompileOptions")
                                                  .add(metal::set_language_version, [](Object, Selector, Natural) {})
                                                  .add(metal::set_math_mode, [](Object, Selector, metal::Integer) {}));

#define MADE_BY_NEW(methods)                                                                                             \
  const ClassDefinition methods##_class(methods.name(),                                                                  \
                                        *new Methods(Methods("+" #methods).add(metal::make, [](Object, Selector) -> Object { \
                                          return new DescriptorObject(methods);                                          \
                                        })))
MADE_BY_NEW(descriptor_methods);
MADE_BY_NEW(archive_descriptor_methods);
MADE_BY_NEW(residency_descriptor_methods);
MADE_BY_NEW(options_methods);

constexpr const char* first_line = "emulated archive 1";

bool write_archive(const ArchiveObject& archive, const std::string& path) {
  std::ofstream file(path);
  file << first_line << '\n';
  for (const std::string& kernel : archive.kernels) file << kernel << '\n';
  return file.flush().good();
}

const Methods& archive_methods = *new Methods(
    Methods("MTLBinaryArchive")
        .add(metal::add_pipeline, [](Object self, Selector, Object descriptor, Object*) -> metal::Bool {
          as_a<ArchiveObject>(self).kernels.insert(as_a<DescriptorObject>(descriptor).function->kernel.name);
          return true;
        })
        .add(metal::serialize, [](Object self, Selector, Object url, Object* error) -> metal::Bool {
          if (write_archive(as_a<ArchiveObject>(self), as_a<StringObject>(url).text)) return true;
          return failed(error, "the file cannot be written") != nullptr;
        }));

LibraryObject::LibraryObject(std::set<std::string> kernels) : Instance(library_methods), kernels(std::move(kernels)) {}

bool has_archived(const DescriptorObject& descriptor) {
  if (!descriptor.archives.get()) return false;
  for (const Kept<Instance>& archive : descriptor.archives->items)
    if (dynamic_cast<ArchiveObject&>(*archive.get()).kernels.contains(descriptor.function->kernel.name)) return true;
  return false;
}

}  // namespace

FunctionObject::FunctionObject(const Kernel& kernel) : Instance(function_methods), kernel(kernel) {}
PipelineObject::PipelineObject(const Kernel& kernel) : Instance(pipeline_methods), kernel(kernel) {}
ArchiveObject::ArchiveObject(std::set<std::string> kernels) : Instance(archive_methods), kernels(std::move(kernels)) {}

Object new_library_of(DeviceObject&, const std::string& source, Object* error) {
  const std::set<std::string> kernels = wanted_kernels(source);
  const std::string broken = text_setting("QUERN_EMULATED_COMPILE_FAILS", "");
  if (kernels.contains(broken)) return failed(error, "program_source:1:1: error: planted in '" + broken + "'");
  return new LibraryObject(kernels);
}

Object new_pipeline_of(DescriptorObject& descriptor, bool from_archive_alone, Object* error) {
  const Kernel& kernel = descriptor.function->kernel;
  const bool archived = has_archived(descriptor);
  if (!archived && from_archive_alone) return failed(error, "no archive has the kernel");
  if (!archived) append_line("QUERN_EMULATED_COMPILED", kernel.name);
  return new PipelineObject(kernel);
}

Object new_archive_of(const DescriptorObject& descriptor, Object* error) {
  std::set<std::string> kernels;
  if (!descriptor.url.empty()) {
    std::ifstream file(descriptor.url);
    std::string line;
    if (!std::getline(file, line) || line != first_line) return failed(error, "the archive cannot be read");
    while (std::getline(file, line)) kernels.insert(line);
  }
  return new ArchiveObject(kernels);
}

}  // namespace quern::gpu

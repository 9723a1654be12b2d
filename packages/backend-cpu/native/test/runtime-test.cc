// Tests of threads, files, weights and the executor without Node, for sanitizers: native/test/sanitize.sh
#include "runtime-test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <new>
#include <numeric>
#include <thread>

#include "kernels-test.h"
#include "quern/linux/cgroup.h"
#include "quern/chain.h"
#include "quern/linux/cores.h"
#include "quern/machine.h"
#include "quern/system-pages.h"
#include "quern/task-queue.h"
#include "runtime/read-loops.h"
#include "weights/load-weight.h"

using namespace quern;
using namespace quern::test;

static std::atomic<long> allocations{0};

void* operator new(size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = malloc(bytes ? bytes : 1)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { free(memory); }
void operator delete(void* memory, size_t) noexcept { free(memory); }

namespace {

// ---- the C library

// A C library linked beside the system's may have an errno of its own (tools/platforms/glibc-stat.cc).
void the_c_library_gives_reasons() {
  Check check("stat, lstat, fstat and fstatat set errno");
  Folder folder;
  const std::string missing = folder.path("missing");
  struct stat info;
  const auto refuses = [&](int result, int reason, const char* name) {
    check.that(result == -1 && errno == reason, std::string(name) + ": " + std::to_string(result) + ", errno " + std::to_string(errno));
    errno = 0;
  };
  refuses(stat(missing.c_str(), &info), ENOENT, "stat");
  refuses(lstat(missing.c_str(), &info), ENOENT, "lstat");
  refuses(fstat(-1, &info), EBADF, "fstat");
  refuses(fstatat(AT_FDCWD, missing.c_str(), &info, 0), ENOENT, "fstatat");
  check.that(stat(folder.path().c_str(), &info) == 0 && S_ISDIR(info.st_mode), "stat of a folder");
}

// ---- cores

void cpu_lists_are_read() {
  Check check("parse_cpu_list reads lists of processors");
  const std::pair<const char*, std::vector<int>> cases[] = {
      {"0-3,8", {0, 1, 2, 3, 8}}, {"5", {5}}, {"0,2-2", {0, 2}}, {"", {}}, {"x", {}}, {"3-1", {}}, {"-4", {}},
      {"1,7-x", {1}}, {"0,99999999999", {0}}, {"0-70000", {}}};
  for (const auto& [text, want] : cases) check.that(parse_cpu_list(text) == want, std::string("'") + text + "'");
}

std::string in_cpu(int cpu, const char* file) { return "devices/system/cpu/cpu" + std::to_string(cpu) + "/" + file; }

std::vector<int> cpus(int first, int last) {
  std::vector<int> numbers(last - first + 1);
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

void hyperthreads_share_a_core() {
  Check check("hyperthreads share a core");
  Folder now, before; // processors i and i + 4 are one core; `before`: file name of older kernels
  for (int cpu = 0; cpu < 8; cpu++) {
    const std::string siblings = std::to_string(cpu % 4) + "," + std::to_string(cpu % 4 + 4) + "\n";
    now.write(in_cpu(cpu, "topology/core_cpus_list"), siblings);
    before.write(in_cpu(cpu, "topology/thread_siblings_list"), siblings);
  }
  for (const Folder* sysfs : {&now, &before}) {
    check.same(performance_cores(cpus(0, 7), sysfs->path()), 4, "the whole machine");
    check.same(performance_cores({0, 4}, sysfs->path()), 1, "both halves of a core");
    check.same(performance_cores({5, 4, 0}, sysfs->path()), 2, "a core and half of another");
  }
  check.same(performance_cores(cpus(0, 2), "/nowhere"), 3, "no sysfs");
}

void slow_cores_are_left_out() {
  Check check("slow cores do not count");
  Folder intel; // 4 fast cores with two processors each, then 4 slow cores
  intel.write("devices/cpu_core/cpus", "0-7\n");
  intel.write("devices/cpu_atom/cpus", "8-11\n");
  for (int cpu = 0; cpu < 12; cpu++) {
    const std::string pair = std::to_string(cpu / 2 * 2) + "-" + std::to_string(cpu / 2 * 2 + 1);
    intel.write(in_cpu(cpu, "topology/core_cpus_list"), cpu < 8 ? pair : std::to_string(cpu));
  }
  check.same(performance_cores(cpus(0, 11), intel.path()), 4, "Intel, the whole machine");
  check.same(performance_cores({0, 8, 9}, intel.path()), 1, "Intel, one fast core allowed");
  check.same(performance_cores(cpus(8, 11), intel.path()), 4, "Intel, only slow cores allowed");

  Folder arm; // 4 little, 3 big, 1 bigger
  for (int cpu = 0; cpu < 8; cpu++)
    arm.write(in_cpu(cpu, "cpu_capacity"), cpu < 4 ? "250\n" : cpu < 7 ? "870\n" : "1024\n");
  check.same(performance_cores(cpus(0, 7), arm.path()), 4, "Arm, the whole machine");
  check.same(performance_cores(cpus(0, 3), arm.path()), 4, "Arm, only slow cores allowed");
}

void control_groups_limit() {
  Check check("control groups limit processors and memory");
  Folder free, v2, v1;
  free.write("proc/self/cgroup", "0::/\n");
  check.same(cgroup_cpus(free.path()), 0.0, "no quota");
  check.same(cgroup_memory(free.path()).total, UINT64_MAX, "no memory limit");

  v2.write("proc/self/cgroup", "0::/a/b\n"); // the tightest limit of a group and its parents counts
  v2.write("sys/fs/cgroup/a/cpu.max", "150000 100000\n");
  v2.write("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  v2.write("sys/fs/cgroup/a/memory.max", "1000\n");
  v2.write("sys/fs/cgroup/a/memory.current", "700\n");
  v2.write("sys/fs/cgroup/a/memory.stat", "anon 500\ninactive_file 200\n");
  check.same(cgroup_cpus(v2.path()), 1.5, "quota, version 2");
  check.same<uint64_t>(cgroup_memory(v2.path()).total, 1000, "memory, version 2");
  check.same<uint64_t>(cgroup_memory(v2.path()).available, 500, "memory left, version 2");
  v2.write("sys/fs/cgroup/a/memory.high", "800\n");
  check.same<uint64_t>(cgroup_memory(v2.path()).available, 300, "memory left below memory.high");

  v1.write("proc/self/cgroup", "5:memory:/c\n4:cpu,cpuacct:/c\n");
  v1.write("sys/fs/cgroup/cpu/c/cpu.cfs_quota_us", "300000\n");
  v1.write("sys/fs/cgroup/cpu/c/cpu.cfs_period_us", "100000\n");
  v1.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  v1.write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  v1.write("sys/fs/cgroup/memory/c/memory.limit_in_bytes", "9223372036854771712\n");
  check.same(cgroup_cpus(v1.path()), 3.0, "quota, version 1");
  check.same(cgroup_memory(v1.path()).total, UINT64_MAX, "no memory limit, version 1");
}

void some_thread_is_always_left() {
  Check check("at least one thread by default");
  check.that(default_threads() >= 1, std::to_string(default_threads()));
}

// ---- threads

void nap(int microseconds) { std::this_thread::sleep_for(std::chrono::microseconds(microseconds)); }

// Non-atomic integers: the thread sanitizer reports unordered accesses.
void chunks_are_done_once() {
  Check check("run calls every chunk once before it returns");
  for (const int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    std::vector<int> done(64), by_thread(threads);
    for (int job = 0; job < 4000; job++) {
      const int64_t chunks = job % 64;
      std::fill(done.begin(), done.end(), 0);
      pool.run(chunks, [&](int64_t chunk, int thread) {
        done[chunk]++;
        by_thread[thread]++;
      });
      if (job % 200 == 0) nap(300); // long enough for all threads to fall asleep
      if (std::accumulate(done.begin(), done.end(), 0) == chunks &&
          std::all_of(done.begin(), done.begin() + chunks, [](int count) { return count == 1; }))
        continue;
      check.that(false, "job " + std::to_string(job) + " with " + std::to_string(threads) + " threads");
    }
    long all = 0;
    for (const int count : by_thread) all += count;
    check.same(all, 4000L / 64 * (63 * 64 / 2) + 31 * 32 / 2, "chunks of all jobs");
  }
}

// Each chunk waits for the other chunk: with one thread, run would never return.
void sleeping_threads_are_woken() {
  Check check("a sleeping thread is woken for a large job");
  ThreadPool pool(2);
  for (int job = 0; job < 50; job++) {
    std::atomic<int> arrived{0};
    std::atomic<bool> both[2] = {};
    if (job % 2) nap(1000);
    pool.run(16, [&](int64_t, int thread) {
      if (both[thread].exchange(true)) return;
      arrived++;
      while (arrived < 2) std::this_thread::yield();
    });
    check.same(arrived.load(), 2, "threads in the job");
  }
}

void pools_end_at_any_time() {
  Check check("a pool ends in any state of its threads");
  for (int i = 0; i < 200; i++) {
    std::atomic<int> done{0};
    {
      ThreadPool pool(1 + i % 4);
      if (i % 3) pool.run(i % 7, [&](int64_t, int) { done++; });
      if (i % 5 == 0) nap(100);
    }
    check.same(done.load(), i % 3 ? i % 7 : 0, "chunks");
  }
}

// Words at the end of readable memory: a read behind them crashes.
void read_loops_read_every_word() {
  Check check("read loops read every word once, and none behind the last");
  constexpr int64_t page = 1 << 16, lines = page / 64, words = 8 * lines; // 64 KiB: whole pages on every machine
  auto* const memory = static_cast<uint64_t*>(
      mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  check.that(memory != MAP_FAILED && mprotect(memory + words, page, PROT_NONE) == 0, "memory");
  for (int64_t i = 0; i < words; i++) memory[i] = i * i + 1;
  for (const int64_t count : {int64_t{0}, int64_t{1}, lines}) {
    const uint64_t* const first = memory + words - 8 * count;
    const uint64_t want = std::accumulate(first, first + 8 * count, uint64_t{0});
    for (const ReadLoop& loop : read_loops())
      check.same(loop.sum(first, count), want, std::string(loop.name) + ", " + std::to_string(count) + " lines");
  }
  munmap(memory, 2 * page);
}

void tasks_run_in_order() {
  Check check("all tasks run, in the order of each poster");
  constexpr int posters = 3, each = 1000;
  std::vector<int> seen[posters]; // only the queue's thread writes these before it ends
  {
    TaskQueue queue("test");
    std::vector<std::thread> threads;
    for (int p = 0; p < posters; p++)
      threads.emplace_back([&, p] {
        for (int i = 0; i < each; i++) queue.post([&seen, p, i] { seen[p].push_back(i); });
      });
    for (std::thread& thread : threads) thread.join();
  }
  std::vector<int> want(each);
  std::iota(want.begin(), want.end(), 0);
  for (const auto& one : seen) check.that(one == want, std::to_string(one.size()) + " tasks");
}

void handles_may_be_used_from_any_thread() {
  Check check("handles may be used from any thread");
  HandleTable<const int> table;
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 3; t++)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 1000; i++) {
        const int32_t id = table.add(std::make_shared<const int>(t * 1000 + i));
        const auto found = table.find(id);
        wrong += !found || *found != t * 1000 + i;
        table.remove(id);
        wrong += table.find(id) != nullptr;
      }
    });
  for (std::thread& thread : threads) thread.join();
  check.same(wrong.load(), 0, "wrong answers");
}

// ---- memory

void short_texts_take_few_pages() {
  Check check("the start of a buffer takes the pages that were written to");
  CpuDevice device(1, "scalar");
  const size_t page = sysconf(_SC_PAGESIZE), bytes = 8 << 20;
  const auto buffer = device.allocate(bytes);
  for (size_t at = 0; at < 2 << 20; at += 1 << 19) buffer->data()[at] = 1;
  std::vector<unsigned char> resident(bytes / page);
  check.that(mincore(buffer->data(), bytes, resident.data()) == 0, "mincore");
  check.same<long>(std::count_if(resident.begin(), resident.end(), [](unsigned char state) { return state & 1; }), 4, "pages");
}

void caches_begin_huge_pages_one_by_one() {
  Check check("buffers of a cache reach a huge page at different lengths; other memory begins at one");
  constexpr uint64_t bytes = 8 << 20;
  std::vector<Pages> caches;
  std::vector<uint64_t> offsets;
  for (int i = 0; i < 56; i++) { // keys and values of 28 layers
    caches.emplace_back(bytes, Filled::from_the_start);
    memset(caches.back().data() + bytes - 1, 1, 1); // the last byte is there
    offsets.push_back(reinterpret_cast<uintptr_t>(caches.back().data()) % huge_page);
  }
  std::sort(offsets.begin(), offsets.end());
  const uint64_t least = huge_page / 64;
  for (size_t i = 1; i < offsets.size(); i++) check.that(offsets[i] - offsets[i - 1] >= least, std::to_string(i));
  check.that(reinterpret_cast<uintptr_t>(Pages(bytes).data()) % huge_page == 0, "at_once");
}

void promised_memory_is_not_free() {
  Check check("memory that is held counts as used before it is written");
  constexpr uint64_t bytes = 512 << 20, other = 128 << 20; // `other`: what the rest of the machine may take or free meanwhile
  const uint64_t held = reserved_bytes(), before = memory_state().available, written = written_bytes();
  {
    Pages cache(bytes);
    check.same(reserved_bytes() - held, bytes, "bytes held");
    const uint64_t unwritten = bytes - std::min(bytes, written);
    check.that(memory_state().available < before - unwritten + other, "unwritten memory is free");
    memset(cache.data(), 1, bytes);
    check.that(written_bytes() >= written + bytes / 2, "bytes written");
    Pages moved = std::move(cache);
    check.same(reserved_bytes() - held, bytes, "bytes held, moved");
    PagePool pool;
    const auto block = pool.take(5000);
    check.same(reserved_bytes() - held, bytes + (5000 + page_bytes() - 1) / page_bytes() * page_bytes(), "bytes of a pool");
  }
  check.same(reserved_bytes(), held, "bytes held, dropped");
}

// Pages of [block, block + bytes) that lie in memory.
int64_t pages_in_memory(uint8_t* block, uint64_t bytes) {
  std::vector<unsigned char> here((bytes + page_bytes() - 1) / page_bytes());
  return mincore(block, bytes, here.data()) ? -1 : std::count(here.begin(), here.end(), 1);
}

void blocks_belong_to_their_owners() {
  Check check("blocks of a page pool do not overlap, outlive it, and give their pages back");
  auto pool = std::make_unique<PagePool>();
  check.that(pool->take(0) == nullptr, "a block of no bytes");
  check.fails(Code::out_of_memory, "were asked for", [&] { pool->take(uint64_t{1} << 60); });
  const uint64_t sizes[] = {1, 4096, 5000, 3 << 20, 70 << 20, 40 << 20, 40 << 20};
  std::vector<std::shared_ptr<uint8_t>> blocks;
  for (const uint64_t bytes : sizes) {
    blocks.push_back(pool->take(bytes));
    uint8_t* const block = blocks.back().get();
    check.that(reinterpret_cast<uintptr_t>(block) % page_bytes() == 0, "a block does not begin a page");
    check.that(std::all_of(block, block + bytes, [](uint8_t byte) { return byte == 0; }), "a block is not zero");
    memset(block, int(blocks.size()), bytes);
  }
  pool.reset();
  for (size_t i = 0; i < blocks.size(); i++)
    check.that(std::all_of(blocks[i].get(), blocks[i].get() + sizes[i], [&](uint8_t byte) { return byte == i + 1; }), "a block has changed");
  uint8_t* const dropped = blocks[3].get(); // its neighbours keep the mapping
  blocks[3].reset();
  check.that(pages_in_memory(dropped, sizes[3]) == 0, "a dropped block keeps its pages");
}

// ---- files and weights

void files_are_mapped_once() {
  Check check("a file is mapped once");
  Folder folder;
  FileMap files;
  const std::string path = folder.write("a", "first");
  const auto one = files.open(path), two = files.open(path);
  check.that(one == two && one->bytes() == 5 && !memcmp(one->data(), "first", 5), "the same file");
  std::filesystem::rename(folder.write("b", "second!"), path);
  const auto other = files.open(path);
  check.that(other != one && other->bytes() == 7, "a file that was replaced");
  check.that(!memcmp(one->data(), "first", 5), "the mapping of the old one");
  check.same<uint64_t>(files.open(folder.write("empty", ""))->bytes(), 0, "an empty file");
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; t++)
    threads.emplace_back([&] {
      for (int i = 0; i < 100; i++) files.open(path);
    });
  for (std::thread& thread : threads) thread.join();
}

// Advice to the system about the mapping at `data`, as in the line VmFlags of /proc/self/smaps: "rd sh mr mw me ms hg".
std::string advice_of(const void* data) {
  std::ifstream maps("/proc/self/smaps");
  const auto address = reinterpret_cast<uintptr_t>(data);
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long start, end;
    if (sscanf(line.c_str(), "%lx-%lx ", &start, &end) == 2) inside = start <= address && address < end;
    else if (inside && line.starts_with("VmFlags:")) return line;
  }
  return "";
}

// The system decides whether it has huge pages for a file: ext4 since Linux 6.16, xfs and btrfs before.
void files_ask_for_huge_pages() {
  if (!std::filesystem::exists("/sys/kernel/mm/transparent_hugepage")) return; // a kernel without huge pages
  Check check("a mapped file asks for huge pages");
  Folder folder;
  FileMap files;
  const auto file = files.open(folder.write("file", std::string(5 << 20, 'x')));
  check.that(advice_of(file->data()).find(" hg") != std::string::npos, "VmFlags: " + advice_of(file->data()));
  check.that(file->data()[0] == 'x' && file->data()[(5 << 20) - 1] == 'x', "the bytes");
}

void what_is_no_file_is_refused() {
  Check check("paths that are not regular files are refused");
  Folder folder;
  FileMap files;
  check.fails(Code::bad_weight, "cannot be opened", [&] { files.open(folder.path("missing")); });
  check.fails(Code::bad_weight, "is not a file", [&] { files.open(folder.path()); });
  check.that(mkfifo(folder.path("pipe").c_str(), 0600) == 0, "mkfifo");
  check.fails(Code::bad_weight, "is not a file", [&] { files.open(folder.path("pipe")); });
}

std::string random_bytes(size_t count) { // small exponents: no NaN in any format
  Random random(count);
  std::string bytes(count, 0);
  for (char& byte : bytes) byte = static_cast<char>(random.next() % 60);
  return bytes;
}

ByteSource held(const std::string& bytes) {
  ByteSource source;
  source.bytes = bytes.size();
  source.memory = std::make_shared<const Pages>(bytes.size());
  if (!bytes.empty()) memcpy(source.memory->data(), bytes.data(), bytes.size());
  return source;
}

WeightSource in_memory(const std::string& format, std::vector<int64_t> shape, const std::string& bytes) {
  return {format, std::move(shape), format, {{held(bytes)}}};
}

void wrong_weights_are_refused() {
  Check check("wrong weights are refused");
  Folder folder;
  Backend backend(1, "scalar");
  const auto load = [&](const WeightSource& source) { return load_weight(source, backend.files, backend.kernels, backend.pool, backend.pages); };
  const std::string bytes = random_bytes(4 * 2 * 34);
  const auto source = [&](std::vector<int64_t> shape) { return in_memory("q8_0", std::move(shape), bytes); };
  check.same<uint64_t>(load(source({4, 64}))->byte_length(), bytes.size(), "bytes of a right one");
  check.fails(Code::unsupported, "not known", [&] { load(in_memory("q8_7", {4, 64}, bytes)); });
  check.fails(Code::bad_weight, "dimensions", [&] { load(source({})); });
  check.fails(Code::bad_weight, "below 1", [&] { load(source({-4, 64})); });
  for (const std::vector<int64_t>& nothing : {std::vector<int64_t>{0, 64}, {64, 0}, {int64_t{1} << 50, 0, 64}, {0}})
    check.fails(Code::bad_weight, "below 1", [&] { load(in_memory("q8_0", nothing, "")); });
  check.fails(Code::bad_weight, "no whole number", [&] { load(source({4, 65})); });
  check.fails(Code::bad_weight, "takes 136 bytes; got 272", [&] { load(source({2, 64})); });
  check.fails(Code::bad_weight, "too large", [&] { load(source({INT64_MAX, INT64_MAX, 64})); });
  check.fails(Code::bad_weight, "too large", [&] { load(source({INT64_MAX / 64, 64})); });

  WeightSource slice = source({4, 64});
  slice.parts[0].bytes.memory = nullptr;
  slice.parts[0].bytes.path = folder.write("weights", "head" + bytes);
  for (const uint64_t offset : {uint64_t{5}, uint64_t{1} << 40, UINT64_MAX, UINT64_MAX - bytes.size() + 1}) {
    slice.parts[0].bytes.offset = offset;
    check.fails(Code::bad_weight, "may be truncated", [&] { load(slice); });
  }
  slice.parts[0].bytes.offset = 4;
  check.same<uint64_t>(load(slice)->byte_length(), bytes.size(), "bytes of a slice of a file");
  std::filesystem::resize_file(slice.parts[0].bytes.path, 4 + bytes.size() - 1);
  for (const bool mapped : {true, false}) {
    slice.parts[0].bytes.mapped = mapped;
    check.fails(Code::bad_weight, "may be truncated", [&] { load(slice); });
  }
}

void weights_are_read_where_they_are_not_mapped() {
  Check check("weights that are not mapped do not need their file");
  Folder folder;
  Backend backend(2, "");
  const std::string bytes = random_bytes(9 << 20); // several pieces
  WeightSource source = in_memory("f16", {9 << 9, 1 << 10}, bytes);
  source.parts[0].bytes = {folder.write("weights", "head" + bytes), 4, bytes.size(), false, nullptr};
  const auto weight = load_weight(source, backend.files, backend.kernels, backend.pool, backend.pages);
  std::filesystem::resize_file(source.parts[0].bytes.path, 0);
  check.that(!memcmp(weight->matrix().row(0), bytes.data(), bytes.size()), "the bytes");
  weight->each_file([&](const MappedFile& file) { check.that(false, file.path() + " is mapped"); });
}

// An unreadable page raises SIGBUS; the process must continue.
void lost_pages_are_zeros() {
  Check check("lost pages of a truncated file read as zeros and are reported");
  Folder folder;
  FileMap files;
  const auto other = files.open(folder.write("other", std::string(1 << 16, 'o')));
  const auto file = files.open(folder.write("file", std::string(1 << 16, 'x')));
  std::filesystem::resize_file(file->path(), 1 << 12);
  std::vector<std::thread> readers;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; t++)
    readers.emplace_back([&] {
      for (size_t at = 0; at < file->bytes(); at += 512) wrong += file->data()[at] != (at < (1 << 12) ? 'x' : 0);
    });
  for (std::thread& reader : readers) reader.join();
  check.same(wrong.load(), 0, "bytes that are neither the file's nor zeros");
  check.that(FaultGuard::any_lost(), "some file has lost pages");
  check.fails(Code::device_failed, "had 65536 bytes and now has 4096", [&] { file->need_whole(Code::device_failed); });
  other->need_whole(Code::device_failed);
  check.that(file->has_changed() && !other->has_changed(), "what has changed");
  const auto again = files.open(file->path());
  check.that(again->bytes() == 1 << 12 && again->data()[0] == 'x', "the file as it is now");
}

// SIGBUS for other memory goes to the earlier handler. Here, as in most programs, there is none: the process ends.
void other_faults_are_passed_on() {
  Check check("SIGBUS for other memory goes to the earlier handler");
  Folder folder;
  const std::string path = folder.write("file", std::string(1 << 14, 'x'));
  FileMap files;
  files.open(path); // installs the handler
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    const OpenFile file(path);
    const auto* data = static_cast<const volatile char*>(mmap(nullptr, 1 << 14, PROT_READ, MAP_SHARED, file.descriptor, 0));
    std::filesystem::resize_file(path, 0);
    _exit(data[1 << 13] ? 42 : 43);
  }
  int status = 0;
  waitpid(child, &status, 0);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  check.that(!WIFEXITED(status) || (WEXITSTATUS(status) != 42 && WEXITSTATUS(status) != 43), "the child was ended"); // by the sanitizer
#else
  check.that(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS, "the child was ended by SIGBUS");
#endif
}

void a_file_written_to_during_a_load_is_refused() {
  Check check("a file that changes during loading is refused");
  Folder folder;
  Backend backend(1, "");
  ByteSource source;
  source.path = folder.write("file", random_bytes(1 << 12));
  source.bytes = 1 << 12;
  const HeldBytes held = HeldBytes::open(source, backend.files, backend.pool);
  held.need_unchanged();
  std::filesystem::last_write_time(source.path, std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  check.fails(Code::bad_weight, "was written to while it was loaded", [&] { held.need_unchanged(); });
}

// A random GPTQ matrix [24, 128] in groups of 32, and its element values.
struct Gptq {
  static constexpr int64_t N = 24, K = 128, groups = 4;
  GptqSource source;
  std::string words, zeros, scales, index;

  Gptq(int bits, bool symmetric, bool ordered)
      : words(random_bytes(N * K * bits / 8)), zeros(groups * N * bits / 8, bits == 4 ? '\x77' : '\x7f'),
        scales(groups * N * 2, '\x2c'), index(ordered ? K * 4 : 0, '\0') {
    if (!symmetric) zeros = random_bytes(groups * N * bits / 8);
    for (size_t k = 0; k < index.size() / 4; k++) index[4 * k] = char(k % groups);
    source.name = "gptq";
    source.N = N;
    source.K = K;
    source.bits = bits;
    source.group_size = 32;
    source.qweight = held(words);
    source.qzeros = held(zeros);
    source.scales = held(scales);
    source.group_index = held(index);
  }
  int field(const std::string& bytes, int64_t word, int64_t place) const {
    uint32_t value;
    memcpy(&value, bytes.data() + 4 * word, 4);
    return int(value >> source.bits * place & ((1u << source.bits) - 1));
  }
  float element(int64_t n, int64_t k) const {
    const int64_t per = 32 / source.bits, group = index.empty() ? k / 32 : k % groups;
    const int zero = field(zeros, (group * N + n) / per, n % per) + 1;
    const uint16_t half = 0x2c2c;
    float scale;
    scalar_kernels().f16_to_f32(&half, &scale, 1);
    return float(field(words, k / per * N + n, k % per) - zero) * scale;
  }
};

void gptq_matrices_keep_their_values() {
  Check check("GPTQ matrices keep their values");
  for (const char* isa : {"scalar", ""}) {
    Backend backend(2, isa);
    const auto load = [&](const GptqSource& source) {
      return load_gptq(source, backend.files, backend.kernels, backend.pool, backend.pages);
    };
    for (const int bits : {4, 8})
      for (const bool symmetric : {true, false})
        for (const bool ordered : {true, false}) {
          const Gptq gptq(bits, symmetric, ordered);
          const auto weight = load(gptq.source);
          const Format wanted = bits == 4 ? symmetric ? FORMAT_Q4_0 : FORMAT_Q5_0 : symmetric ? FORMAT_Q8_0 : FORMAT_F32;
          check.same<int>(weight->format(), wanted, "the format");
          check.that(weight->matrix().order().empty() == !(ordered && wanted != FORMAT_F32), "the order");
          std::vector<float> rows(Gptq::N * Gptq::K);
          weight->matrix().decode(backend.kernels, 0, Gptq::N, rows.data());
          for (int64_t n = 0; n < Gptq::N; n++)
            for (int64_t place = 0; place < Gptq::K; place++) {
              const int64_t k = weight->matrix().order().empty() ? place : weight->matrix().order()[place];
              check.same<float>(rows[n * Gptq::K + place], gptq.element(n, k), "an element");
            }
        }
    Gptq broken(4, true, true);
    broken.source.group_index.memory->data()[8] = 4;
    check.fails(Code::bad_weight, "column 2 is of group 4 of 4", [&] { load(broken.source); });
    broken.source.scales.bytes--;
    check.fails(Code::bad_weight, "scales must have 192 bytes; got 191", [&] { load(broken.source); });
  }
}

// ---- plans

// A small model on a backend: ids [T] → argmax [T] and logits [T, V], both in the outputs.
class Model {
 public:
  static constexpr int32_t T = 5, D = 64, F = 2048, V = 320, E = 3;
  static constexpr int32_t outputs_bytes = T * 4 + T * V * 4;

  explicit Model(int threads) : backend(threads, "") {
    const auto load = [&](const std::string& format, std::vector<int64_t> shape, size_t bytes) {
      const std::string data = random_bytes(bytes);
      return backend.weights.add(
          load_weight(in_memory(format, std::move(shape), data), backend.files, backend.kernels, backend.pool, backend.pages));
    };
    const int32_t table = load("f16", {V, D}, V * D * 2), norm = load("f32", {D}, D * 4);
    const int32_t gate = load("q8_0", {F, D}, F * D / 32 * 34), up = load("q4_0", {F, D}, F * D / 32 * 18);
    const int32_t down = load("q6_k", {D, F}, D * F / 256 * 210), router = load("f16", {E, D}, E * D * 2);
    const int32_t gates = load("q8_0", {E, D, D}, E * D * D / 32 * 34), ups = load("q4_0", {E, D, D}, E * D * D / 32 * 18);
    const int32_t downs = load("f16", {E, D, D}, E * D * D * 2);
    const Place none{Region::none, {}};
    const auto rows = [](int32_t width, uint64_t at) { return Place{Region::arena, {T, width}, at}; };
    const auto weight = [](int32_t id, std::vector<int32_t> shape) {
      return Place{Region::weight, std::move(shape), 0, id};
    };
    constexpr uint64_t narrow = T * D * 4; // bytes of a [T, D]
    const Place x = rows(D, 0), n = rows(D, narrow), down_y = rows(D, 2 * narrow), sum = rows(D, 3 * narrow);
    const Place mixed = rows(D, 4 * narrow), hidden = rows(F, 5 * narrow), logits{Region::outputs, {T, V}, T * 4};
    const Place ids{Region::inputs, {T}, 0, 0, DType::i32}, best{Region::outputs, {T}, 0, 0, DType::i32};
    PlanWriter plan;
    const int32_t eps = 0x358637bd; // 1e-6
    plan.op("embed", {}, {weight(table, {V, D}), ids, x});
    plan.op("rmsNorm", {eps}, {x, weight(norm, {D}), n});
    plan.op("gateUpSwiglu", {0}, {n, weight(gate, {F, D}), weight(up, {F, D}), hidden});
    plan.op("linear", {0}, {hidden, weight(down, {D, F}), none, down_y});
    plan.op("add", {}, {x, down_y, sum});
    plan.op("moe", {2, 1}, {n, weight(router, {E, D}), weight(gates, {E, D, D}), weight(ups, {E, D, D}),
                            weight(downs, {E, D, D}), sum, mixed});
    plan.op("linear", {0}, {mixed, weight(table, {V, D}), none, logits});
    plan.op("argmax", {}, {logits, best});
    words = plan.words(arena_bytes, T * 4, outputs_bytes);
  }

  HostMemory host() { return {bytes_of(inputs), T * 4, outputs.data(), outputs.size()}; }
  std::unique_ptr<Plan> plan(const std::vector<int32_t>& of) {
    return std::make_unique<Plan>(of, host(), backend.buffers, backend.weights);
  }

  static constexpr int32_t arena_bytes = T * (5 * D + F) * 4;
  Backend backend;
  std::vector<int32_t> words;
  std::vector<int32_t> inputs = {0, 1, V - 1, 7, 7};
  std::vector<uint8_t> outputs = std::vector<uint8_t>(outputs_bytes);
  int32_t control = 0;

 private:
  static uint8_t* bytes_of(std::vector<int32_t>& values) { return reinterpret_cast<uint8_t*>(values.data()); }
};

void threads_do_not_change_results() {
  Check check("1, 2, 3 threads give the same bits");
  std::vector<uint8_t> want;
  for (const int threads : {1, 2, 3}) {
    Model model(threads);
    const auto plan = model.plan(model.words);
    for (int run = 0; run < 20; run++) {
      std::fill(model.outputs.begin(), model.outputs.end(), 0xee);
      model.backend.compute(*plan, &model.control);
      if (want.empty()) want = model.outputs;
      check.that(model.outputs == want, std::to_string(threads) + " threads, run " + std::to_string(run));
    }
    std::vector<float> logits(Model::V);
    memcpy(logits.data(), want.data() + Model::T * 4, Model::V * 4);
    check.that(std::abs(logits[0]) > 0 && std::isfinite(logits[0]), "a logit is " + std::to_string(logits[0]));
  }
}

void a_replay_allocates_nothing() {
  Check check("a replay allocates nothing");
  Model model(2);
  const auto plan = model.plan(model.words);
  model.backend.compute(*plan, &model.control);
  const long before = allocations;
  for (int run = 0; run < 50; run++) model.backend.compute(*plan, &model.control);
  const long made = allocations - before;
  check.same(made, 0L, "allocations in 50 replays");
}

void runs_can_be_ended() {
  Check check("a run can be aborted, and the executor stopped");
  Model model(2);
  const auto plan = model.plan(model.words);
  const auto run = [&] { model.backend.compute(*plan, &model.control); };
  model.control = 1;
  check.fails(Code::aborted, "before op 1 of 8, embed", run);
  model.control = 0;
  run();
  std::thread other([&] {
    nap(500);
    __atomic_store_n(&model.control, 1, __ATOMIC_RELAXED);
  });
  check.fails(Code::aborted, "aborted", [&] {
    for (;;) run();
  });
  other.join();
  model.control = 0;
  run();
  model.backend.pool.cancel();
  check.fails(Code::aborted, "disposed", run);
}

// A device whose kernels set flags. Ops named `broken` fail with DEVICE_FAILED.
struct FlaggingBackend : Backend {
  using Backend::Backend;
  void run(Plan& plan, const Run& run) override {
    arena.resize(plan.arena_bytes());
    plan.bind({arena.data(), plan.host().inputs, plan.host().outputs});
    each_op(plan, run, [&](const PlanOp& op) {
      if (op.spec->name == broken) return flag(plan, run, op, FaultCode::device_failed);
      try {
        run_op(op);
      } catch (const Failure& failure) {
        if (failure.code != Code::out_of_range) throw;
        flag(plan, run, op, FaultCode::out_of_range);
      }
    });
  }
  std::vector<uint8_t> arena;
  std::string broken;
};

void kernels_may_set_flags() {
  Check check("a kernel that cannot throw flags its op and what went wrong");
  constexpr int32_t V = 3, D = 16, bytes = D * 4;
  FlaggingBackend backend(1, "");
  const int32_t table = backend.weights.add(
      load_weight(in_memory("f32", {V, D}, random_bytes(V * D * 4)), backend.files, backend.kernels, backend.pool, backend.pages));
  const auto row = [](Region region, uint64_t at = 0) { return Place{region, {1, D}, at}; };
  const auto id = [](uint64_t at) { return Place{Region::inputs, {1}, at, 0, DType::i32}; };
  const Place weight{Region::weight, {V, D}, 0, table};
  PlanWriter writer;
  writer.op("embed", {}, {weight, id(0), row(Region::arena)});
  writer.op("silu", {}, {row(Region::arena), row(Region::arena, bytes)});
  writer.op("embed", {}, {weight, id(4), row(Region::outputs)});
  int32_t ids[16] = {0, 1}, control = 0;
  float outputs[D];
  const HostMemory host = {reinterpret_cast<uint8_t*>(ids), sizeof ids, reinterpret_cast<uint8_t*>(outputs), sizeof outputs};
  Plan plan(writer.words(2 * bytes, sizeof ids, sizeof outputs), host, backend.buffers, backend.weights);
  const auto run = [&](int32_t op, int32_t code, const char* what) {
    int32_t fault[2] = {0, 0};
    run_plan(backend, plan, {.control = &control, .fault = fault});
    check.same(fault[0], op, std::string(what) + ", the op");
    check.same(fault[1], code, std::string(what) + ", the code");
  };
  constexpr auto out_of_range = static_cast<int32_t>(FaultCode::out_of_range);
  constexpr auto device_failed = static_cast<int32_t>(FaultCode::device_failed);
  run(0, 0, "nothing wrong");
  ids[1] = V;
  run(3, out_of_range, "an index of the last op");
  ids[0] = -1;
  run(1, out_of_range, "indices of two ops: the first");
  ids[0] = ids[1] = 0;
  backend.broken = "silu";
  run(2, device_failed, "an op that fails");
  ids[1] = V;
  run(2, device_failed, "an op that fails before an index");
  backend.broken = "";
  control = 1;
  check.fails(Code::aborted, "before op 1 of 3", [&] { run(0, 0, "an abort"); });
}

void a_flag_ends_a_chain() {
  Check check("a chain ends with the replay that sets a flag");
  int32_t feed = 0, output = 7;
  const HostMemory host = {reinterpret_cast<uint8_t*>(&feed), sizeof feed, reinterpret_cast<uint8_t*>(&output), sizeof output};
  const double places[] = {1, 0, 0, 0}; // one row, nothing that grows
  int32_t results[10], counts[1];
  Chain chain(places, host, results, counts);
  const int32_t limit = 10;
  for (const int64_t right : {3, 100}) {
    int64_t replays = 0;
    check.same(chain.run(&limit, {}, [&] { return ++replays < right; }), std::min<int64_t>(right, limit), "replays");
    check.same(replays, std::min<int64_t>(right, limit), "calls");
  }
}

// A listener finds the results and counts of the replays that it is told of, and not the last ones.
void a_chain_tells_its_listener() {
  Check check("a chain tells its listener of each replay that another follows");
  int32_t feed[3] = {}, output[3] = {};
  const HostMemory host = {reinterpret_cast<uint8_t*>(feed), sizeof feed, reinterpret_cast<uint8_t*>(output), sizeof output};
  const double places[] = {3, 0, 0, 0}; // three rows, nothing that grows
  int32_t results[15], counts[3];
  Chain chain(places, host, results, counts);
  const int32_t limits[] = {4, 2, 5}, stop = 21; // row 2 stops with its third token
  int64_t replays = 0, told = 0;
  const auto replay = [&] {
    replays++;
    for (int row = 0; row < 3; row++) output[row] = static_cast<int32_t>(row < 2 ? 100 * row + replays : 7 * replays);
    return true;
  };
  chain.listen([&](int64_t done) {
    check.same(done, replays, "replays told");
    check.same(done, ++told, "calls");
    for (int64_t row = 0; row < 3; row++) {
      check.same(results[(done - 1) * 3 + row], output[row], "its token");
      check.same(int64_t{counts[row]}, std::min<int64_t>(done, row == 0 ? 4 : row == 1 ? 2 : 3), "its count");
    }
  });
  check.same(chain.run(limits, {&stop, 1}, replay), int64_t{4}, "replays");
  check.same(told, int64_t{3}, "replays that others follow");
  chain.listen({});
  check.same(chain.run(limits, {}, replay), int64_t{5}, "replays");
  check.same(told, int64_t{3}, "calls without a listener");
}

// When a backend ends, queued loads do not begin, and running loads end after the chunks in progress.
void loads_end_with_the_backend() {
  Check check("a load ends when the pool is cancelled");
  for (const int threads : {1, 3}) {
    Backend backend(threads, "");
    const WeightSource source = in_memory("q8_0", {4096, 64}, random_bytes(4096 * 2 * 34));
    std::atomic<int> begun{0};
    check.fails(Code::aborted, "disposed", [&] {
      backend.pool.run(1000, [&](int64_t, int) {
        if (begun++ == 0) backend.pool.cancel();
        nap(100);
      });
    });
    check.that(begun < 1000, std::to_string(begun) + " chunks were begun");
    check.fails(Code::aborted, "disposed", [&] { load_weight(source, backend.files, backend.kernels, backend.pool, backend.pages); });
  }
}

void weights_in_lost_files_end_runs() {
  Check check("a run fails if the file of its weights has lost bytes");
  Folder folder;
  Backend backend(2, "");
  constexpr int32_t V = 4096, D = 64; // several pages
  WeightSource source = in_memory("f16", {V, D}, random_bytes(V * D * 2));
  source.parts[0].bytes = {folder.write("weights", random_bytes(V * D * 2)), 0, V * D * 2, true, nullptr};
  const int32_t table = backend.weights.add(load_weight(source, backend.files, backend.kernels, backend.pool, backend.pages));
  PlanWriter writer;
  writer.op("embed", {}, {{Region::weight, {V, D}, 0, table}, {Region::inputs, {1}, 0, 0, DType::i32}, {Region::outputs, {1, D}}});
  int32_t id = V - 1, control = 0;
  float outputs[D];
  const HostMemory host = {reinterpret_cast<uint8_t*>(&id), sizeof id, reinterpret_cast<uint8_t*>(outputs), sizeof outputs};
  Plan plan(writer.words(0, sizeof id, sizeof outputs), host, backend.buffers, backend.weights);
  backend.compute(plan, &control);
  id = V; // another error, while the file is unchanged
  try {
    backend.compute(plan, &control);
    check.that(false, "an id out of range");
  } catch (const Failure& failure) {
    check.that(!strstr(failure.what(), "written to"), failure.what());
  }
  std::filesystem::last_write_time(source.parts[0].bytes.path, std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  check.fails(Code::out_of_range, "has been written to while it was in use", [&] { backend.compute(plan, &control); });
  id = V - 1;
  backend.compute(plan, &control);
  std::filesystem::resize_file(source.parts[0].bytes.path, 0);
  check.fails(Code::device_failed, "now has 0", [&] { backend.compute(plan, &control); });
  id = 0;
  check.fails(Code::device_failed, "now has 0", [&] { backend.compute(plan, &control); });
}

// Inputs and outputs have exactly the size of the operands; sanitizers watch the memory beyond.
void reshaped_operands_are_refused() {
  Check check("operands with equal counts but other shapes are refused");
  Backend backend(2, "");
  constexpr int32_t S = 4, V = 4096;
  const std::vector<int32_t> right = {S, V}, wrong = {1, S * V};
  const auto run = [&](const char* name, const std::vector<int32_t>& attributes, const std::vector<Place>& operands) {
    PlanWriter writer;
    writer.op(name, attributes, operands);
    std::vector<uint8_t> inputs(S * V * 4), outputs(S * V * 4);
    const HostMemory host = {inputs.data(), inputs.size(), outputs.data(), outputs.size()};
    Plan plan(writer.words(0, S * V * 4, S * V * 4), host, backend.buffers, backend.weights);
    int32_t control = 0;
    backend.compute(plan, &control);
  };
  const auto in = [](std::vector<int32_t> shape, DType dtype = DType::f32) { return Place{Region::inputs, std::move(shape), 0, 0, dtype}; };
  const auto out = [](std::vector<int32_t> shape, DType dtype = DType::f32) { return Place{Region::outputs, std::move(shape), 0, 0, dtype}; };
  const Place token = in({S}, DType::i32);
  for (const char* name : {"add", "mul"}) {
    run(name, {}, {in(right), in({V}), out(right)});
    check.fails(Code::bad_argument, "shape", [&] { run(name, {}, {in(right), in({V}), out(wrong)}); });
    check.fails(Code::bad_argument, "row", [&] { run(name, {}, {in(wrong), in({V}), out(right)}); });
  }
  const Place bits = in({S, V / 32}, DType::i32);
  run("maskLogits", {}, {in(right), bits, out(right)});
  check.fails(Code::bad_argument, "y as x", [&] { run("maskLogits", {}, {in(right), bits, out(wrong)}); });
  const Place tokens = in({S, 1}, DType::i32);
  run("penalise", {}, {in(right), tokens, in({S, 3}), out(right)});
  check.fails(Code::bad_argument, "y as x", [&] { run("penalise", {}, {in(right), tokens, in({S, 3}), out(wrong)}); });
  check.fails(Code::bad_argument, "strengths", [&] { run("penalise", {}, {in(right), tokens, in({3, S}), out(right)}); });
  run("logProbs", {}, {in(right), tokens, out({S, 1})});
  check.fails(Code::bad_argument, "y must be", [&] { run("logProbs", {}, {in(right), tokens, out({S, 2})}); });
  const Place random = in({S, 2}, DType::i32);
  run("sample", {}, {in(right), in({S, 4}), random, token, out({S}, DType::i32)});
  check.fails(Code::bad_argument, "settings", [&] { run("sample", {}, {in(right), in({1, 4 * S}), random, token, out({S}, DType::i32)}); });
}

// Shapes without elements, with other dimensions as large as possible.
void nothing_takes_no_time() {
  Check check("shapes without elements take no time, or are refused");
  Backend backend(2, "");
  constexpr int32_t most = INT32_MAX;
  int32_t control = 0;
  const auto run = [&](const char* name, const std::vector<int32_t>& attributes, const std::vector<Place>& operands) {
    PlanWriter writer;
    writer.op(name, attributes, operands);
    uint8_t memory[64] = {};
    const HostMemory host = {memory, sizeof memory, memory, sizeof memory};
    Plan plan(writer.words(0, 0, 0), host, backend.buffers, backend.weights);
    backend.compute(plan, &control);
    check.that(true, name);
  };
  const auto at = [](Region region, std::vector<int32_t> shape, DType dtype = DType::f32) { return Place{region, std::move(shape), 0, 0, dtype}; };
  const auto in = [&](std::vector<int32_t> shape) { return at(Region::inputs, std::move(shape)); };
  const auto out = [&](std::vector<int32_t> shape) { return at(Region::outputs, std::move(shape)); };
  run("rope", {0}, {in({most, 4096, 0}), in({most, 0}), out({most, 4096, 0})});
  run("maskLogits", {}, {in({most, 0}), at(Region::inputs, {most, 0}, DType::i32), out({most, 0})});
  run("softmax", {}, {in({most, 0}), out({most, 0})});
  run("silu", {}, {in({most, 0}), out({most, 0})});
  check.fails(Code::bad_argument, "impossible", [&] { run("rope", {0}, {in({0, most, most}), in({0, 0}), out({0, most, most})}); });
  Scratch scratch(8);
  check.fails(Code::out_of_memory, "64 bits", [&] { scratch.reserve(INT64_MAX / 16); });
  check.fails(Code::out_of_memory, "64 bits", [&] { scratch.reserve(16, INT64_MAX / 2); });
}

// Each plan has one or two changed words. A plan that still runs must stay inside its memory; sanitizers watch.
void changed_plans_do_no_harm() {
  Check check("plans with changed words fail or run");
  Model model(2);
  Random random(1);
  const int32_t values[] = {-1, 0, 1, 2, 3, 5, 6, 63, 64, 65, 320, 2048, INT32_MAX, INT32_MIN};
  int ran = 0, failed = 0;
  for (int round = 0; round < 3000; round++) {
    std::vector<int32_t> words = model.words;
    for (int change = 0; change <= round % 2; change++) {
      int32_t& word = words[random.next() % words.size()];
      const uint32_t pick = random.next() % (std::size(values) + 2);
      word = pick < std::size(values) ? values[pick] : word + (pick % 2 ? 4 : -4);
    }
    try {
      model.backend.compute(*model.plan(words), &model.control);
      ran++;
    } catch (const Failure&) {
      failed++;
    }
  }
  check.that(ran > 100 && failed > 100, std::to_string(ran) + " ran, " + std::to_string(failed) + " failed");
  check.fails(Code::out_of_range, "ids[0] is 320", [&] {
    model.inputs[0] = Model::V;
    model.backend.compute(*model.plan(model.words), &model.control);
  });
}

} // namespace

int main() {
  alarm(240); // ends a test that hangs
  the_c_library_gives_reasons();
  cpu_lists_are_read();
  hyperthreads_share_a_core();
  slow_cores_are_left_out();
  control_groups_limit();
  some_thread_is_always_left();
  chunks_are_done_once();
  sleeping_threads_are_woken();
  pools_end_at_any_time();
  read_loops_read_every_word();
  tasks_run_in_order();
  handles_may_be_used_from_any_thread();
  short_texts_take_few_pages();
  caches_begin_huge_pages_one_by_one();
  promised_memory_is_not_free();
  blocks_belong_to_their_owners();
  files_are_mapped_once();
  files_ask_for_huge_pages();
  what_is_no_file_is_refused();
  wrong_weights_are_refused();
  weights_are_read_where_they_are_not_mapped();
  lost_pages_are_zeros();
  other_faults_are_passed_on();
  a_file_written_to_during_a_load_is_refused();
  gptq_matrices_keep_their_values();
  threads_do_not_change_results();
  a_replay_allocates_nothing();
  runs_can_be_ended();
  kernels_may_set_flags();
  a_flag_ends_a_chain();
  a_chain_tells_its_listener();
  loads_end_with_the_backend();
  weights_in_lost_files_end_runs();
  reshaped_operands_are_refused();
  nothing_takes_no_time();
  changed_plans_do_no_harm();
  printf("%s\n", failures ? "FAILED" : "passed");
  return failures ? 1 : 0;
}

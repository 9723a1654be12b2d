// Files, pages, faults, waiting threads and the machine by the functions of Windows.
#include <stdio.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "quern/address-wait.h"
#include "quern/machine.h"
#include "quern/mapped-file.h"
#include "quern/page-pool.h"
#include "quern/system-pages.h"
#include "quern/user-cache.h"
#include "quern/windows/windows.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

int checks = 0, failed = 0;

void that(bool ok, const std::string& what) {
  checks++;
  if (ok) return;
  failed++;
  printf("FAIL %s\n", what.c_str());
}

// `act` must throw a Failure whose message has `part`.
template <class Act>
void fails(Code code, const std::string& part, const Act& act) {
  try {
    act();
    that(false, "nothing was thrown; want '" + part + "'");
  } catch (const Failure& failure) {
    const std::string message = failure.what();
    that(failure.code == code && message.find(part) != std::string::npos, "'" + message + "'; want '" + part + "'");
  }
}

// A folder whose files have names beyond ASCII and paths longer than 260 characters (wine has no such limit, Windows has).
class Folder {
 public:
  Folder() : top_(fs::temp_directory_path() / L"quern-größe-量"), path_(top_ / std::wstring(200, L'l') / std::wstring(90, L'm')) {
    fs::create_directories(whole(path_));
  }
  ~Folder() { // remove_all takes no paths as long
    for (const wchar_t* name : {L"weights", L"others", L"moved", L"empty"}) DeleteFileW(whole(path_ / name).c_str());
    for (const fs::path& at : {path_, path_.parent_path(), top_}) RemoveDirectoryW(whole(at).c_str());
  }

  std::string file(const std::string& name) const { return to_utf8((path_ / name).wstring()); }
  std::string path() const { return to_utf8(path_.wstring()); }
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream out(whole(path_ / name), std::ios::binary);
    out << bytes;
    out.close();
    that(bool(out), name + " is written");
  }
  static fs::path whole(const fs::path& path) { return L"\\\\?\\" + path.wstring(); }
  fs::path place(const std::string& name) const { return whole(path_ / name); }

 private:
  const fs::path top_, path_;
};

std::string numbered(size_t bytes) {
  std::string text(bytes, '\0');
  for (size_t i = 0; i < bytes; i++) text[i] = char(i * 7 + i / 251);
  return text;
}

DWORD state_of(const void* address) {
  MEMORY_BASIC_INFORMATION info{};
  VirtualQuery(address, &info, sizeof info);
  return info.State;
}

void files_are_mapped() {
  const Folder folder;
  const std::string bytes = numbered(300000);
  folder.write("weights", bytes);
  FileMap files;
  const auto mapped = files.open(folder.file("weights"));
  that(mapped->bytes() == bytes.size() && bytes == std::string(reinterpret_cast<const char*>(mapped->data()), bytes.size()), "the bytes");
  that(files.open(folder.file("weights")) == mapped, "a file is mapped once");
  mapped->prefetch(70000, 100000);
  mapped->release(70000, 100000);
  that(mapped->data()[100001] == uint8_t(bytes[100001]), "released bytes are read again");
  folder.write("empty", "");
  that(files.open(folder.file("empty"))->bytes() == 0, "an empty file");
}

void other_programs_use_mapped_files() {
  const Folder folder;
  folder.write("weights", numbered(5000));
  FileMap files;
  const auto mapped = files.open(folder.file("weights"));
  const OpenFile open(folder.file("weights"));
  that(!mapped->has_changed(), "nobody has written");
  {
    std::fstream other(folder.place("weights"), std::ios::binary | std::ios::in | std::ios::out);
    other.seekp(4000);
    other << "other bytes";
    that(bool(other.flush()), "another program writes");
  }
  fs::last_write_time(folder.place("weights"), fs::file_time_type::clock::now() - std::chrono::hours(1));
  that(mapped->has_changed(), "a write is detected");
  std::error_code error;
  fs::rename(folder.place("weights"), folder.place("moved"), error);
  that(!error, "another program renames: " + error.message());
  that(!mapped->has_changed() && mapped->data()[1] == 7, "a file that is renamed stays mapped");
}

void missing_files_are_named() {
  const Folder folder;
  FileMap files;
  fails(Code::bad_weight, "none cannot be opened: ", [&] { files.open(folder.file("none")); });
  fails(Code::bad_weight, "(error 2)", [&] { files.open(folder.file("none")); });
  fails(Code::bad_weight, " is not a file", [&] { files.open(folder.path()); });
  fails(Code::bad_weight, " is not a file", [&] { files.open("NUL"); });
  that(identity_at(folder.file("none")) == FileIdentity{}, "no file has no identity");
}

void locked_files_are_named() {
  const Folder folder;
  folder.write("weights", numbered(5000));
  const HANDLE other = CreateFileW(folder.place("weights").c_str(), GENERIC_READ, 0, nullptr, OPEN_EXISTING, 0, nullptr);
  FileMap files;
  const char* const advice = "(error 32); another program has it open: close that program";
  fails(Code::bad_weight, advice, [&] { files.open(folder.file("weights")); });
  CloseHandle(other);
  that(files.open(folder.file("weights"))->bytes() == 5000, "a file that is free again");
}

void slices_are_read() {
  const Folder folder;
  const std::string bytes = numbered((9 << 20) + 5);
  folder.write("weights", bytes);
  OneByOne parallel;
  const uint64_t from = 70001, length = bytes.size() - from;
  const Pages pages = read_slice(folder.file("weights"), from, length, parallel);
  that(memcmp(pages.data(), bytes.data() + from, length) == 0, "a slice of several pieces");
  fails(Code::bad_weight, "but bytes 0 to 9437190 are asked for", [&] { read_slice(folder.file("weights"), 0, bytes.size() + 1, parallel); });
  const OpenFile file(folder.file("weights"));
  uint8_t byte;
  const auto error = read_all(file, bytes.size(), 1, &byte);
  that(error && error->find("ends at byte 9437189") == 0, "a read behind the end: " + error.value_or("none"));
}

// As the system raises it where a page of a file cannot be read.
void raise_unreadable(const uint8_t* address) {
  constexpr ULONG_PTR reads = 0, status_unexpected_network_error = 0xc00000c4;
  const ULONG_PTR of_fault[] = {reads, reinterpret_cast<ULONG_PTR>(address), status_unexpected_network_error};
  RaiseException(EXCEPTION_IN_PAGE_ERROR, 0, 3, of_fault);
}

void unreadable_pages_become_zeros() {
  const Folder folder;
  folder.write("weights", numbered(1 << 20));
  folder.write("others", numbered(1 << 20));
  FileMap files;
  const auto others = files.open(folder.file("others"));
  const uint8_t* data;
  {
    const auto mapped = files.open(folder.file("weights"));
    data = mapped->data();
    mapped->need_whole(Code::bad_weight);
    raise_unreadable(data + 500000);
    const volatile uint8_t* const read = data;
    that(read[500000] == 0 && read[500001] == 0, "the unreadable page is zeros");
    that(read[3] == 0 && read[(1 << 20) - 1] == 0, "so are the others: each read is another fault");
    fails(Code::bad_weight, "could not be read to its end while it was in use: it had 1048576 bytes", [&] { mapped->need_whole(Code::bad_weight); });
    others->need_whole(Code::bad_weight);
    that(others->data()[1] == 7 && FaultGuard::any_lost(), "other files are whole");
  }
  that(state_of(data) == MEM_FREE, "the range is freed");
}

int passed_on = 0;

void other_faults_are_passed_on() {
  const auto next = [](EXCEPTION_POINTERS* fault) -> LONG {
    if (fault->ExceptionRecord->ExceptionCode != EXCEPTION_IN_PAGE_ERROR) return EXCEPTION_CONTINUE_SEARCH;
    passed_on++;
    return EXCEPTION_CONTINUE_EXECUTION;
  };
  static const uint8_t elsewhere = 0;
  void* const handler = AddVectoredExceptionHandler(0, next); // behind all others
  raise_unreadable(&elsewhere);
  RemoveVectoredExceptionHandler(handler);
  that(passed_on == 1, "a fault elsewhere goes to the next handler");
}

void pages_are_zeroed_and_freed() {
  const uint64_t before = reserved_bytes();
  const uint8_t* data;
  {
    const Pages pages(5 << 20);
    data = pages.data();
    that(data[0] == 0 && data[(5 << 20) - 1] == 0 && uintptr_t(data) % page_bytes() == 0, "zeroed pages");
    pages.data()[(5 << 20) - 1] = 1;
    that(reserved_bytes() == before + (5 << 20), "counted");
  }
  that(state_of(data) == MEM_FREE && reserved_bytes() == before, "freed");
  fails(Code::out_of_memory, "of memory were asked for", [] { Pages(uint64_t(1) << 50); });
}

void blocks_return_to_the_system() {
  PagePool pool;
  const auto first = pool.take(10000);
  auto second = pool.take(10000);
  const uint8_t* const data = second.get();
  that(data == first.get() + 12288, "blocks lie behind each other");
  second.get()[9999] = 1;
  that(state_of(data) == MEM_COMMIT && state_of(first.get() + (1 << 20)) == MEM_RESERVE, "blocks alone have memory");
  second.reset();
  that(state_of(data) == MEM_RESERVE && first.get()[9999] == 0, "and give it back");
  that(pool.take(100 << 20).get()[(100 << 20) - 1] == 0, "a block larger than usual");
}

// A thread that is falling asleep while another changes the number and calls: std::atomic::wait of libstdc++ 12 misses a call in about
// 4000.
void sleeping_threads_wake() {
  constexpr int rounds = 20000;
  int woken = 0;
  for (int i = 0; i < rounds; i++) {
    std::atomic<uint32_t> number{0};
    std::thread sleeper([&] {
      while (number.load() == 0) wait_while_equal(number, 0);
    });
    number = 1;
    wake_all(number);
    sleeper.join();
    woken++;
  }
  that(woken == rounds, "each sleeping thread wakes");
  std::atomic<uint32_t> other{7};
  wait_while_equal(other, 6);
  that(other == 7, "no sleep on another number");
}

void the_machine_is_described() {
  const MemoryState memory = memory_state();
  that(memory.total > (64 << 20) && memory.available > 0 && memory.available <= memory.total, "memory");
  that(default_threads() >= 1 && default_threads() <= int(GetActiveProcessorCount(ALL_PROCESSOR_GROUPS)), "threads");
  that(written_bytes() > 0, "written bytes");
  SetProcessAffinityMask(GetCurrentProcess(), 1);
  that(default_threads() == 1, "threads of a process on one processor");
}

void the_cache_of_the_user() {
  SetEnvironmentVariableW(L"XDG_CACHE_HOME", L"relative");
  SetEnvironmentVariableW(L"LOCALAPPDATA", L"C:\\größe");
  that(user_cache_folder() == to_utf8(L"C:\\größe"), "LOCALAPPDATA: " + user_cache_folder());
  SetEnvironmentVariableW(L"XDG_CACHE_HOME", L"D:\\cache");
  that(user_cache_folder() == "D:\\cache", "XDG_CACHE_HOME: " + user_cache_folder());
  SetEnvironmentVariableW(L"XDG_CACHE_HOME", nullptr);
  SetEnvironmentVariableW(L"LOCALAPPDATA", nullptr);
  that(user_cache_folder().empty(), "no folder");
}

} // namespace
} // namespace quern

int main() {
  using namespace quern;
  files_are_mapped();
  other_programs_use_mapped_files();
  missing_files_are_named();
  locked_files_are_named();
  slices_are_read();
  unreadable_pages_become_zeros();
  other_faults_are_passed_on();
  pages_are_zeroed_and_freed();
  blocks_return_to_the_system();
  the_cache_of_the_user();
  sleeping_threads_wake();
  the_machine_is_described();
  printf("%s files, pages, faults, waiting threads and machine of Windows: %d checks, %d failed\n", failed ? "FAIL" : "PASS", checks, failed);
  return failed ? 1 : 0;
}

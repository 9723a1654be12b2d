#include "emulated/counts.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "emulated/block.h"

namespace quern::gpu {

namespace {

constexpr uint64_t sector = 32, bank = 4, banks = 32;

// What the lanes of a warp do together.
struct Request {
  struct Lane {
    uint64_t address, bytes;
  };
  Access access;
  const void* place;
  int lanes = 0;                   // that have come
  std::array<Lane, WARP> of = {}; // without bytes: not this one
};

// All requests of a place. Of device memory: bytes, in sectors; of shared memory: turns of the banks, and those that the bytes need.
struct Place {
  uint64_t requests = 0, used = 0, moved = 0;
};

struct Counts {
  std::map<std::pair<const void*, Access>, Place> places;
  std::unordered_map<uint64_t, uint32_t> seen;     // accesses of a thread at a place
  std::unordered_map<uint64_t, Request> requests;  // with lanes missing, by place, warp and number
  std::unordered_set<uint64_t> sectors;            // of the launch
};

// A launch runs on one thread.
Counts& counts() {
  static thread_local Counts counts;
  return counts;
}

uint64_t mixed(uint64_t a, uint64_t b) { return (a * 0x9e3779b97f4a7c15 ^ b) * 0xbf58476d1ce4e5b9; }

// Bytes, words or sectors that lanes [first .. end) use.
std::set<uint64_t> used_by(const Request& request, int first, int end, uint64_t unit) {
  std::set<uint64_t> used;
  for (int lane = first; lane < end; lane++) {
    const auto [address, bytes] = request.of[size_t(lane)];
    for (uint64_t at = address / unit; at * unit < address + bytes; at++) used.insert(at);
  }
  return used;
}

void add_device(Place& place, const Request& request) {
  const std::set<uint64_t> sectors = used_by(request, 0, WARP, sector);
  place.used += used_by(request, 0, WARP, 1).size();
  place.moved += sectors.size() * sector;
  counts().sectors.insert(sectors.begin(), sectors.end());
}

// A turn serves a word of each bank. Words of 8 bytes go to half of the lanes at a time, of 16 to a quarter.
void add_shared(Place& place, const Request& request) {
  uint64_t bytes = 0;
  for (const Request::Lane& lane : request.of) bytes = std::max(bytes, lane.bytes);
  const int at_once = bytes > 8 ? WARP / 4 : bytes > 4 ? WARP / 2 : WARP;
  for (int first = 0; first < WARP; first += at_once) {
    uint64_t of_bank[banks] = {};
    const auto words = used_by(request, first, first + at_once, bank);
    for (const uint64_t word : words) of_bank[word % banks]++;
    place.moved += *std::max_element(of_bank, of_bank + banks);
    place.used += (words.size() + banks - 1) / banks;
  }
}

void add(const Request& request) {
  Place& place = counts().places[{request.place, request.access}];
  place.requests++;
  if (request.access < Access::shared_read) add_device(place, request);
  else add_shared(place, request);
}

void print(FILE* file, const void* place, Access access, const Place& sums) {
  static constexpr const char* names[] = {"read", "write", "atomic", "shared read", "shared write"};
  Dl_info code{};
  if (place) dladdr(place, &code);
  fprintf(file, "{\"file\":\"%s\",\"at\":%lld,\"access\":\"%s\",\"requests\":%llu,\"used\":%llu,\"moved\":%llu}", code.dli_fname ? code.dli_fname : "",
          code.dli_fname ? static_cast<long long>(static_cast<const char*>(place) - static_cast<const char*>(code.dli_fbase)) : 0,
          place ? names[int(access)] : "copy of a tensor", (unsigned long long)sums.requests, (unsigned long long)sums.used,
          (unsigned long long)sums.moved);
}

}  // namespace

void counts_begin() {
  const char* const path = getenv("QUERN_EMULATED_COUNTS");
  counting = path && *path;
  if (counting) counts() = {};
}

void count_access(Access access, const void* place, const void* address, uint64_t bytes) {
  const Block& block = Block::current();
  if (!block.runs()) return;
  const uint64_t at = mixed(reinterpret_cast<uint64_t>(place), uint64_t(access));
  const uint32_t number = counts().seen[mixed(at, uint64_t(block.self().index))]++;
  const uint64_t key = mixed(mixed(at, uint64_t(block.self().index / WARP)), number);
  Request& request = counts().requests[key];
  request.access = access, request.place = place;
  request.of[size_t(block.self().index % WARP)] = {reinterpret_cast<uint64_t>(address), bytes};
  if (++request.lanes < WARP) return;
  add(request);
  counts().requests.erase(key);
}

void count_copy(const void* address, uint64_t bytes) {
  Place& place = counts().places[{nullptr, Access::read}];
  const auto at = reinterpret_cast<uint64_t>(address);
  place.requests++, place.used += bytes, place.moved += bytes;
  for (uint64_t i = at / sector; i * sector < at + bytes; i++) counts().sectors.insert(i);
}

// Requests that some lanes have left out.
void counts_end_block() {
  for (const auto& [key, request] : counts().requests) add(request);
  counts().requests.clear(), counts().seen.clear();
}

void counts_end(const char* kernel, int blocks, int threads) {
  FILE* const file = fopen(getenv("QUERN_EMULATED_COUNTS"), "a");
  if (!file) return;
  fprintf(file, "{\"kernel\":\"%s\",\"blocks\":%d,\"threads\":%d,\"needed\":%llu,\"places\":[", kernel, blocks, threads,
          (unsigned long long)(counts().sectors.size() * sector));
  const char* separator = "";
  for (const auto& [of, sums] : counts().places) fputs(separator, file), print(file, of.first, of.second, sums), separator = ",";
  fputs("]}\n", file);
  fclose(file);
}

}  // namespace quern::gpu

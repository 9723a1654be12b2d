// Accesses of memory as hardware groups them: sectors of a warp's requests to device memory, turns of the banks of shared memory. Counted
// by place in the code, where QUERN_EMULATED_COUNTS names a file; it gets a line of JSON per launch. packages/backend-cuda/test/counts.mjs reads it.
#pragma once
#include <stdint.h>

namespace quern::gpu {

enum class Access : uint8_t { read, write, atomic, shared_read, shared_write };

// Whether the present launch is counted.
inline bool counting = false;

// An access of the present thread. `place`: an address in the code; accesses of a warp's lanes at one place are one request, the n-th of each
// lane together.
void count_access(Access access, const void* place, const void* address, uint64_t bytes);
// What a copy of a tensor reads: no request of a warp.
void count_copy(const void* address, uint64_t bytes);

void counts_begin();
void counts_end_block();
void counts_end(const char* kernel, int blocks, int threads);

}  // namespace quern::gpu

// What runs beside the threads of a block: barriers that count bytes, copies of tensors, products of warpgroups (dialect/hopper.h).
// Copies land when somebody waits for their barrier's phase, products are computed when they are waited for. Accesses are ordered as
// PTX asks: by a thread's own wait for the barrier of a copy; by writes_before_copies and the block's barrier for what threads write.
#pragma once
#include <stdint.h>

#include <map>
#include <string>
#include <vector>

#include "emulated/block-thread.h"
#include "emulated/tensor-map.h"

namespace quern::gpu {

struct Element;

// c = a · bᵀ (+ c): operands of 64 rows and of `columns`, 16 of k.
struct ProductOfGroup {
  uint64_t a, b; // matrix descriptors
  int columns;
  bool adds;
};

class Beside {
 public:
  void begin_block();
  void end_block() const; // faults if anything is under way

  void begin(unsigned barrier, int arrivals);
  void begun();
  void arrive(unsigned barrier, int bytes);
  void wait(unsigned barrier, int parity);
  void copy(unsigned to, const TensorMap& map, int column, int row, unsigned barrier);

  void whole_warpgroup();
  void products_begin();
  void products_commit();
  void products_wait(int left);
  // sums: of the calling thread, columns / 2.
  void multiply(const ProductOfGroup& product, float* sums);

  // Faults of threads that use an element which a copy wrote, or that products still read.
  void check_read(const Element& element, const char* name, int64_t i) const;
  void check_write(const Element& element, const char* name, int64_t i) const;
  // Why a thread waits.
  std::string waited_for(const Thread& thread) const;

 private:
  struct Copy {
    EncodedMap map;
    unsigned to;
    int64_t column, row;
  };
  struct Barrier {
    unsigned address;
    int arrivals, left;    // of a phase; that are missing
    int thread;            // that began it
    Moment begun;
    bool known = false;    // to copies
    int64_t expected = 0, issued = 0; // bytes of the present phase
    uint32_t ended = 0;    // phases
    std::vector<Copy> copies;

    bool is_complete() const { return left == 0 && expected == issued; }
  };
  // Sums under way: what products make of them, until all of them are waited for.
  struct Sums {
    std::vector<float*> of_threads;
    std::vector<float> values; // [64, columns]
    int columns, uses;
  };
  struct Pending {
    ProductOfGroup product;
    uint32_t group;
    float* sums; // of the warpgroup's first thread
  };
  struct Warpgroup {
    bool begun = false;
    uint32_t committed = 0, done = 0; // groups of products
    std::vector<Pending> pending;
    std::map<float*, Sums> sums;
  };

  Barrier& find(unsigned address);
  void settle(Barrier& barrier);
  void end_phase(Barrier& barrier);
  void land(const Copy& copy) const;
  void claim(const Copy& copy, int barrier);
  void need_fence(const Element& element, const char* name, int64_t i) const;
  bool has_landed(const Element& element) const;
  bool is_multiplied(const Element& element) const;
  std::vector<uint32_t> seen_by(int warpgroup) const;
  void claim(const ProductOfGroup& product, int warpgroup);
  void add(const ProductOfGroup& product, int warpgroup);
  void compute(Warpgroup& group, const Pending& pending) const;

  std::vector<Barrier> barriers_;
  std::vector<Warpgroup> warpgroups_;
};

} // namespace quern::gpu

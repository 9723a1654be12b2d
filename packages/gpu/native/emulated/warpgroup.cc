// Products of warpgroups.
#include <string.h>

#include <limits>

#include "dialect/nvidia.h"
#include "emulated/beside.h"

namespace quern::gpu {

static constexpr int rows_of_group = 64, depth = 16; // of a product

namespace {

// A matrix descriptor of a K-major operand (PTX ISA, "Matrix Descriptor Format" and "Strides").
struct Operand {
  unsigned start, leading, stride, base, swizzle;

  explicit Operand(uint64_t descriptor)
      : start(unsigned(descriptor & 0x3fff) << 4), leading(unsigned(descriptor >> 16 & 0x3fff) << 4),
        stride(unsigned(descriptor >> 32 & 0x3fff) << 4), base(unsigned(descriptor >> 49 & 7)), swizzle(unsigned(descriptor >> 62)) {
    if (base != 0 || swizzle > 1) fault("an operand with base offset %u and swizzle %u: not emulated", base, swizzle);
    constexpr unsigned row_bytes = 128; // those of k lie within the first row
    if (swizzle == 1 && start % EncodedMap::swizzled_bytes >= row_bytes)
      fault("an operand whose rows begin at byte %u of shared memory: with base offset 0 they begin at a multiple of %u", start - Block::origin,
            EncodedMap::swizzled_bytes);
  }
  // Of values [8 · eight .. 8 · eight + 7] of a row.
  unsigned address(int row, int eight) const {
    const auto group = unsigned(row / 8), inside = unsigned(row % 8);
    if (swizzle == 0) return start + group * stride + unsigned(eight) * leading + inside * 16;
    const unsigned straight = start + group * stride + inside * 128 + unsigned(eight) * 16;
    return straight ^ (straight >> 7 & 7) << 4;
  }
  // transposed: [depth, rows]
  std::vector<float> values(int rows) const {
    std::vector<float> taken(size_t(rows * depth));
    for (int row = 0; row < rows; row++)
      for (int k = 0; k < depth; k++) {
        uint16_t bits;
        memcpy(&bits, Block::current().shared_bytes(address(row, k / 8), 16, "an operand") + k % 8 * 2, sizeof bits);
        taken[size_t(k * rows + row)] = from_bf16(bits);
      }
    return taken;
  }
};

// The place of a thread's i-th sum in [64, columns].
size_t place_of_sum(int thread, int i, int columns) {
  const int row = thread / WARP * 16 + thread % WARP / 4 + i / 2 % 2 * 8, column = i / 4 * 8 + thread % 4 * 2 + i % 2;
  return size_t(row * columns + column);
}

int own_warpgroup() { return Block::current().self().index / WARPGROUP; }

} // namespace

bool Beside::is_multiplied(const Element& element) const {
  return element.multiplier >= 0 && element.group > warpgroups_[size_t(element.multiplier)].done;
}

void Beside::whole_warpgroup() {
  static constexpr char here = 0;
  Block::current().meet_warpgroup(&here, [] {});
}

void Beside::products_begin() {
  static constexpr char here = 0;
  Block::current().meet_warpgroup(&here, [this] { warpgroups_[size_t(own_warpgroup())].begun = true; });
}

void Beside::products_commit() {
  static constexpr char here = 0;
  Block::current().meet_warpgroup(&here, [this] { warpgroups_[size_t(own_warpgroup())].committed++; });
}

void Beside::products_wait(int left) {
  static constexpr char here = 0;
  Block::current().meet_warpgroup(&here, [this, left] {
    Warpgroup& group = warpgroups_[size_t(own_warpgroup())];
    group.begun = false; // sums may be used now
    if (group.committed < uint32_t(left) + group.done) return;
    group.done = group.committed - uint32_t(left);
    size_t computed = 0;
    for (; computed < group.pending.size() && group.pending[computed].group <= group.done; computed++) compute(group, group.pending[computed]);
    group.pending.erase(group.pending.begin(), group.pending.begin() + ptrdiff_t(computed));
  });
}

void Beside::multiply(const ProductOfGroup& product, float* sums) {
  static constexpr char here = 0;
  Thread& self = Block::current().self();
  self.sums = sums, self.shown = &product;
  Block::current().meet_warpgroup(&here, [this, &product] { add(product, own_warpgroup()); });
}

// Phases that all threads of a warpgroup have waited for.
std::vector<uint32_t> Beside::seen_by(int warpgroup) const {
  std::vector<uint32_t> seen(barriers_.size(), std::numeric_limits<uint32_t>::max());
  for (int i = 0; i < WARPGROUP; i++) {
    const std::vector<uint32_t>& own = Block::current().thread(warpgroup * WARPGROUP + i).seen;
    for (size_t b = 0; b < seen.size(); b++) seen[b] = std::min(seen[b], b < own.size() ? own[b] : 0);
  }
  return seen;
}

// The products may read their operands at any time until they are waited for.
void Beside::claim(const ProductOfGroup& product, int warpgroup) {
  const Block& block = Block::current();
  const char* const name = block.large_array().name;
  const std::vector<uint32_t> seen = seen_by(warpgroup);
  const auto claim_rows = [&](const Operand& operand, int rows) {
    for (int row = 0; row < rows; row++)
      for (int eight = 0; eight < depth / 8; eight++) {
        const unsigned address = operand.address(row, eight);
        Element& element = block.shared_element(address, "an operand");
        const auto i = (long long)(address - Block::origin) / 16;
        if (element.block != block.id()) fault("products read %s[%lld], which was never written", name, i);
        need_fence(element, name, i);
        if (element.copied >= 0 && seen[size_t(element.copied)] < element.phase)
          fault("products read %s[%lld] before all their threads have waited for the barrier of the copy", name, i);
        if (element.copied < 0 && element.written.block == block.self().now.block)
          fault("products read %s[%lld], which thread %d writes: no barrier between them", name, i, element.writer);
        element.multiplier = warpgroup, element.group = warpgroups_[size_t(warpgroup)].committed + 1;
      }
  };
  claim_rows(Operand(product.a), rows_of_group);
  claim_rows(Operand(product.b), product.columns);
}

// The sums are undefined from here until they are waited for.
void Beside::add(const ProductOfGroup& product, int warpgroup) {
  Warpgroup& group = warpgroups_[size_t(warpgroup)];
  Block& block = Block::current();
  const int first = warpgroup * WARPGROUP;
  for (int i = 0; i < WARPGROUP; i++) {
    const auto& other = *static_cast<const ProductOfGroup*>(block.thread(first + i).shown);
    if (other.a != product.a || other.b != product.b || other.columns != product.columns || other.adds != product.adds)
      fault("thread %d gives other operands to products than thread %d", first + i, block.self().index);
  }
  if (!group.begun) fault("products of the warpgroup of thread %d without products_begin since sums were last waited for", first);
  claim(product, warpgroup);
  float* const key = block.thread(first).sums;
  group.pending.push_back({product, group.committed + 1, key});
  Sums& sums = group.sums[key];
  if (sums.uses++ > 0) return;
  sums.columns = product.columns;
  sums.values.resize(size_t(rows_of_group * product.columns));
  for (int i = 0; i < WARPGROUP; i++) {
    float* const own = block.thread(first + i).sums;
    sums.of_threads.push_back(own);
    for (int j = 0; j < product.columns / 2; j++) {
      sums.values[place_of_sum(i, j, product.columns)] = own[j];
      own[j] = std::numeric_limits<float>::quiet_NaN();
    }
  }
}

// Tensor cores cut sums off.
void Beside::compute(Warpgroup& group, const Pending& pending) const {
  const ProductOfGroup& product = pending.product;
  const int columns = product.columns;
  Sums& sums = group.sums[pending.sums];
  const std::vector<float> a = Operand(product.a).values(rows_of_group), b = Operand(product.b).values(columns);
  std::vector<double> row(static_cast<size_t>(columns));
  for (int r = 0; r < rows_of_group; r++) {
    float* const of_row = &sums.values[size_t(r * columns)];
    for (int n = 0; n < columns; n++) row[size_t(n)] = product.adds ? double(of_row[n]) : 0;
    for (int k = 0; k < depth; k++) {
      const double left = a[size_t(k * rows_of_group + r)];
      const float* const right = &b[size_t(k * columns)];
      for (int n = 0; n < columns; n++) row[size_t(n)] += left * double(right[n]);
    }
    for (int n = 0; n < columns; n++) of_row[n] = cut_off(row[size_t(n)]);
  }
  if (--sums.uses > 0) return;
  for (int i = 0; i < WARPGROUP; i++)
    for (int j = 0; j < columns / 2; j++) sums.of_threads[size_t(i)][j] = sums.values[place_of_sum(i, j, columns)];
  group.sums.erase(pending.sums);
}

} // namespace quern::gpu

// Weights of random blocks on the emulated device, and their values.
#pragma once
#include "kernels/unpack-blocks.h"
#include "test/arrays.h"

namespace quern::gpu {

using FileBytes = std::vector<unsigned char>;

inline FileBytes random_bytes(int64_t count, uint64_t seed) {
  FileBytes bytes;
  for (const float x : numbers(count, seed)) bytes.push_back(static_cast<unsigned char>((x + 1) * 128));
  return bytes;
}

// A weight of random blocks: its values by definition, and its planes on the device.
template <class Format>
class Weight {
  using File = FileBlock<Format>;
  static constexpr int of_block = File::VALUES / GROUP;

 public:
  Weight(int rows, int width, uint64_t seed) : rows_(rows), groups_(width / GROUP), file_(bytes(seed)), file_array_(file_) { unpack(); }

  Planes planes() const { return {low_.global(), high_.global(), subscales_.global(), factors_.global()}; }
  double value(int64_t i) const { return values_[size_t(i)]; }

 private:
  // Blocks whose factors are small numbers.
  FileBytes bytes(uint64_t seed) {
    const int64_t blocks = int64_t(rows_) * groups_ / of_block;
    FileBytes all;
    for (int64_t block = 0; block < blocks; block++) {
      FileBytes one;
      do one = random_bytes(File::BYTES, seed++);
      while (!is_small(one));
      all.insert(all.end(), one.begin(), one.end());
    }
    return all;
  }
  bool is_small(const FileBytes& block) {
    const Array<unsigned char> array(block);
    const std::vector<double> values = values_of(array.global());
    for (const double x : values)
      if (!(fabs(x) < 8)) return false;
    values_.insert(values_.end(), values.begin(), values.end());
    return true;
  }
  static std::vector<double> values_of(Bytes block) {
    std::vector<double> values;
    for (int i = 0; i < File::VALUES; i++) {
      const int g = i / GROUP, half = i % GROUP * Format::HALVES / GROUP;
      unsigned factors = 0, subscales = 0;
      for (int j = 0; j < Format::FACTORS; j++) factors |= File::factor(block, g, j) << 16 * j;
      for (int j = 0; j < Format::SUBSCALES; j++) subscales |= (File::subscale(block, g, j) & 255) << 8 * j;
      values.push_back(double(Format::scale(factors, subscales, half)) * Format::quant(File::bits(block, g, i % GROUP)) -
                       double(Format::min(factors, subscales, half)));
    }
    return values;
  }
  // In two parts.
  void unpack() const {
    const int64_t block_bytes = int64_t(groups_) / of_block * File::BYTES;
    for (const auto& [first, count] : {std::pair{0, rows_ / 2}, std::pair{rows_ / 2, rows_ - rows_ / 2}}) {
      if (count == 0) continue;
      const int64_t g = int64_t(first) * groups_;
      const UnpackBlocks args{Global<const unsigned char>(file_array_.global()) + first * block_bytes,
                              low_.global() + g * Format::LOW,
                              high_.global() + g * Format::HIGH,
                              subscales_.global() + g * Format::SUBSCALES,
                              factors_.global() + g / Format::SPAN * Format::FACTORS,
                              int64_t(count) * groups_};
      launch(*find_kernel(name_of("unpack")), 2, 64, &args, 1);
    }
  }

 public:
  static std::string name_of(const char* kernel) { return std::string(kernel) + "_" + name; }
  static inline const char* name = "";

 private:
  const int rows_, groups_;
  std::vector<double> values_;
  const FileBytes file_;
  const Array<unsigned char> file_array_;
  const size_t count_ = size_t(rows_) * size_t(groups_);
  const Array<unsigned> low_{count_ * Format::LOW}, high_{count_ * Format::HIGH + 4};
  const Array<unsigned char> subscales_{count_ * Format::SUBSCALES + 4};
  const Array<unsigned short> factors_{count_ * Format::FACTORS};
};

} // namespace quern::gpu

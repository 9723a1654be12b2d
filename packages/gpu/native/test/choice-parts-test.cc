// Kernels that choose from long rows in parts, on the emulated device: against the definitions, and kernels without parts.
#include "kernels/argmax.h"
#include "kernels/sample-parts.h"
#include "kernels/top-k.h"
#include "test/choices.h"
#include "test/run-test.h"

namespace quern::gpu {
namespace {

int parts_of(int width) { return (width + ROW_PART - 1) / ROW_PART; }
int threads_of(int parts) { return (parts + WARP - 1) / WARP * WARP; }

void argmax_agrees(int width, int threads) {
  int rows;
  const std::vector<float> x = delicate_rows(width, rows);
  const int parts = parts_of(width);
  const Array<float> input(x);
  const Array<Place> firsts(size_t(rows * parts));
  const Array<int> y{size_t(rows)};
  launched<2>("first_places", rows * parts, threads, FirstPlaces{input.global(), firsts.global(), width, parts}, [&] {
    launched<2>("argmax_merge", rows, threads_of(parts), ArgmaxMerge{firsts.global(), y.global(), parts}, [&] {
      const std::vector<int> found = y.values();
      for (int r = 0; r < rows; r++)
        check(found[size_t(r)] == order_of_row(&x[size_t(r * width)], width)[0], "argmax in parts: row %d of %d", r, width);
    });
  });
}

void top_k_agrees(int width, int k, int threads) {
  int rows;
  const std::vector<float> x = delicate_rows(width, rows);
  const int parts = parts_of(width), kept = std::min(k, ROW_PART);
  const Array<float> input(x), values(size_t(rows * k));
  const Array<int> indices(size_t(rows * k));
  const Array<Place> places(size_t(rows * parts) * size_t(kept));
  const TopKParts args = {{input.global(), values.global(), indices.global(), width, k}, places.global(), parts, kept};
  launched<2>("top_k_parts", rows * parts, threads, args, [&] {
    launched<1>("top_k_merge", rows, threads_of(parts), args, [&] {
      const std::vector<float> found = values.values();
      const std::vector<int> at = indices.values();
      for (int r = 0; r < rows; r++) {
        const float* const row = &x[size_t(r * width)];
        const std::vector<int> order = order_of_row(row, width);
        bool right = true;
        for (int i = 0; i < k; i++) {
          const float value = row[order[size_t(i)]];
          right &= at[size_t(r * k + i)] == order[size_t(i)] && found[size_t(r * k + i)] == (value == value ? value : -inf);
        }
        check(right, "top_k %d in parts: row %d of %d", k, r, width);
      }
    });
  });
}

const std::vector<SampleSettings> kinds = {{},
                                           {0},
                                           {0.7f, 0, 1, -2.5f},
                                           {0.8f, 40, 0.95f, -3},
                                           {1.5f, 0, 0.9f},
                                           {2, 2000},
                                           {1, 0, 0},
                                           {1e30f, 1e9f},
                                           {1e-30f, 0, 0.5f},
                                           {1, 3000, 0.9999f, -20}};

// Device arrays of sample in parts.
struct PartArrays {
  PartArrays(const SampleCase& given)
      : parts(parts_of(given.V)), firsts(size_t(given.S * parts)), totals(size_t(given.S * parts)), places(totals_of(given)),
        plain_sums(totals_of(given)), sums(totals_of(given)) {}

  size_t totals_of(const SampleCase& given) const { return size_t(given.S * parts) * ROW_PART; }
  SampleParts args(const SampleCase& given) const {
    return {given.args(), firsts.global(), totals.global(), places.global(), plain_sums.global(), sums.global(), parts};
  }

  const int parts;
  const Array<Place> firsts;
  const Array<uint64_t> totals;
  const Array<Place> places;
  const Array<uint64_t> plain_sums, sums;
};

template <class F>
void sampled(const SampleCase& given, int threads, const F& body) {
  const PartArrays arrays(given);
  const int blocks = given.S * arrays.parts;
  const SampleParts args = arrays.args(given);
  const FirstPlaces of_rows = {given.input.global(), arrays.firsts.global(), given.V, arrays.parts};
  launched<1>("first_places", blocks, threads, of_rows, [&] {
    launched<2>("sample_parts", blocks, threads, args, [&] {
      launched<1>("sample_merge", given.S, threads_of(arrays.parts), args, body);
    });
  });
}

// The definition allows tokens at an edge nearby; the kernel without parts has the same integers, so the same token.
void sample_agrees(const char* name, const std::vector<float>& x, int V, int threads) {
  const SampleCase given(V, x, kinds, random_words(int(kinds.size()), 30));
  given.agrees(name, 256);
  const std::vector<int> whole = given.y.values();
  sampled(given, threads, [&] {
    given.check_tokens(name);
    check(given.y.values() == whole, "%s, V %d: other tokens than without parts", name, V);
  });
}

void samples_agree(int V, int threads) {
  for (const float size : {0.001f, 6.f}) sample_agrees("sample", rough_logits(V * int64_t(kinds.size()), 20, size), V, threads);
  std::vector<float> tied;
  for (size_t i = 0; i < kinds.size() * size_t(V); i++) tied.push_back(i % 3 ? 2 : 1);
  sample_agrees("ties", tied, V, threads);
}

void sample_finds_no_token() {
  constexpr int V = ROW_PART + 1;
  std::vector<float> x = repeated(std::vector<float>(V, -inf), 4);
  x[V - 1] = nan, x[V + 3] = inf, x[3 * V + 7] = inf;
  const SampleCase given(V, x, {{}, {0.8f, 40, 0.95f}, {0}, {0}}, random_words(4, 60));
  sampled(given, 64, [&] { check(given.y.values() == std::vector<int>{-1, -1, 0, 7}, "rows without a token, in parts"); });
}

void sample_finds_bad_settings() {
  constexpr int V = 2 * ROW_PART;
  for (const SampleSettings& at : {SampleSettings{-0.5f}, SampleSettings{1, nan}, SampleSettings{1, 0, 1.5f}}) {
    const SampleCase refused(V, numbers(V, 61), {at}, {1, 2});
    sampled(refused, 64, [&] {
      check(refused.fault.values() == std::vector<int>{4, OUT_OF_RANGE}, "bad settings, in parts");
      check(refused.y.values() == std::vector<int>{-1}, "a token by bad settings");
    });
  }
}

} // namespace
} // namespace quern::gpu

int main() {
  using namespace quern::gpu;
  return run_test("kernels that choose from rows in parts", [] {
    for (const int width : {5, ROW_PART, ROW_PART + 1}) {
      argmax_agrees(width, 128);
      top_k_agrees(width, 1, 128);
      top_k_agrees(width, std::min(width, 300), 512);
      samples_agree(width, width < ROW_PART ? 512 : 96);
    }
    top_k_agrees(2 * ROW_PART + 1, 2 * ROW_PART + 1, 256);
    const int more_than_a_warp = 33 * ROW_PART + 100; // of parts
    argmax_agrees(more_than_a_warp, 512);
    sample_agrees("long rows", rough_logits(more_than_a_warp * int64_t(kinds.size()), 21, 6), more_than_a_warp, 512);
    sample_finds_no_token();
    sample_finds_bad_settings();
  });
}

// Kernels that choose tokens, on the emulated device, against their definitions in float64.
#include <map>

#include "kernels/argmax.h"
#include "kernels/log-probs.h"
#include "kernels/mask-logits.h"
#include "kernels/penalise.h"
#include "kernels/top-k.h"
#include "test/choices.h"
#include "test/run-test.h"

namespace quern::gpu {
namespace {

void argmax_agrees(int width, int threads) {
  int rows;
  const std::vector<float> x = delicate_rows(width, rows);
  const Array<float> input(x);
  const Array<int> output(static_cast<size_t>(rows));
  launched("argmax", rows, threads, Argmax{input.global(), output.global(), width}, [&] {
    const std::vector<int> y = output.values();
    for (int r = 0; r < rows; r++) check(y[size_t(r)] == order_of_row(&x[size_t(r * width)], width)[0], "argmax of row %d of %d", r, width);
  });
}

void top_k_agrees(int width, int k, int threads) {
  int rows;
  const std::vector<float> x = delicate_rows(width, rows);
  const Array<float> input(x), values(static_cast<size_t>(rows * k));
  const Array<int> indices(static_cast<size_t>(rows * k));
  launched("top_k", rows, threads, TopK{input.global(), values.global(), indices.global(), width, k}, [&] {
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
      check(right, "top_k %d of row %d of %d", k, r, width);
    }
  });
}

void mask_logits_agrees(int V) {
  constexpr int S = 3;
  const int parts = (V + ROW_PART - 1) / ROW_PART, words = (V + 31) / 32;
  const std::vector<float> x = numbers(S * V, 7), random = numbers(S * words, 8);
  std::vector<int> bits;
  for (const float number : random) bits.push_back(int(number * 2147483647.0));
  const Array<float> input(x), output(x.size());
  const Array<int> mask(bits);
  launched("mask_logits", S * parts, 64, MaskLogits{input.global(), mask.global(), output.global(), V, parts}, [&] {
    const std::vector<float> y = output.values();
    bool right = true;
    for (int i = 0; i < S * V; i++)
      right &= y[size_t(i)] == (bits[size_t(i / V * words + i % V / 32)] >> (i % V % 32) & 1 ? x[size_t(i)] : -inf);
    check(right, "mask_logits of %d", V);
  });
}

void penalise_agrees(int V, int L) {
  constexpr int S = 3;
  std::vector<float> x = numbers(S * V, 9);
  for (float& logit : x) logit *= 30;
  x[0] = -inf;
  const std::vector<float> strengths = {1.3f, 0, 0, 1.1f, 0.5f, 0.251f, 0.7f, -1, 3};
  const std::vector<float> random = numbers(S * L, 10);
  std::vector<int> tokens;
  for (const float number : random) tokens.push_back(int(floor((number + 1) * 0.5 * (V + 1))) - 1);
  const Array<float> input(x), given(strengths);
  const Array<int> seen(tokens), fault(std::vector<int>{0, 0});
  const Array<float> output(x); // y begins as x
  const Penalise args = {input.global(), given.global(), seen.global(), output.global(), V, L, fault.global(), 3};
  launched("penalise", S, 64, args, [&] {
    const std::vector<float> y = output.values();
    double worst = 0;
    for (int s = 0; s < S; s++) {
      std::map<int, double> counts;
      for (int i = 0; i < L; i++) counts[tokens[size_t(s * L + i)]]++;
      for (int v = 0; v < V; v++) {
        const double logit = x[size_t(s * V + v)], repetition = strengths[size_t(3 * s)];
        double right = logit;
        if (counts.count(v)) {
          right = logit > 0 ? logit / repetition : logit * repetition;
          right -= strengths[size_t(3 * s + 1)] + counts[v] * strengths[size_t(3 * s + 2)];
        }
        const double got = y[size_t(s * V + v)], apart = got == right ? 0 : fabs(got - right) / (1 + fabs(right));
        worst = apart <= worst ? worst : apart;
      }
    }
    check(worst < 2e-7, "penalise of %d, %d tokens: %g away", V, L, worst);
    check(fault.values()[0] == 0, "penalise: a fault");
  });
}

void penalise_finds_bad_tokens() {
  for (const int bad : {-2, 5, 2147483647}) {
    const Array<float> x(std::vector<float>{1, 2, 3, 4, 5}), strengths(std::vector<float>{1, 1, 0});
    const Array<float> y(std::vector<float>{1, 2, 3, 4, 5});
    const Array<int> tokens(std::vector<int>{2, bad, 2}), fault(std::vector<int>{0, 0});
    launched("penalise", 1, 32, Penalise{x.global(), strengths.global(), tokens.global(), y.global(), 5, 3, fault.global(), 7}, [&] {
      check(fault.values() == std::vector<int>{7, OUT_OF_RANGE}, "penalise accepts token %d", bad);
      check(y.values() == std::vector<float>{1, 2, 2, 4, 5}, "penalise with token %d", bad);
    });
  }
}

void log_probs_agrees(int V, int k) {
  constexpr int S = 3;
  std::vector<float> x = numbers(S * V, 11);
  for (float& logit : x) logit *= 20;
  if (V > 1) x[0] = -inf;
  const std::vector<float> random = numbers(S * k, 12);
  std::vector<int> tokens;
  for (const float number : random) tokens.push_back(int(floor((number + 1) * 0.5 * (V + 1))) - 1);
  const Array<float> input(x), output(static_cast<size_t>(S * k));
  const Array<int> given(tokens), fault(std::vector<int>{0, 0});
  const LogProbs args = {input.global(), given.global(), output.global(), V, k, fault.global(), 3};
  launched("log_probs", S, 64, args, [&] {
    const std::vector<float> y = output.values();
    double worst = 0;
    for (int s = 0; s < S; s++) {
      const float* const row = &x[size_t(s * V)];
      double sum = 0;
      for (int v = 0; v < V; v++) sum += exp(double(row[v]));
      for (int i = 0; i < k; i++) {
        const int token = tokens[size_t(s * k + i)];
        const double right = token < 0 ? -inf : row[token] - log(sum), got = y[size_t(s * k + i)];
        const double apart = got == right ? 0 : fabs(got - right) / (1 + fabs(right));
        worst = apart <= worst ? worst : apart;
      }
    }
    check(worst < 1e-6, "log_probs of %d, %d tokens: %g away", V, k, worst);
    check(fault.values()[0] == 0, "log_probs: a fault");
  });
}

void log_probs_finds_bad_tokens() {
  for (const int bad : {-2, 5, 2147483647}) {
    const Array<float> x(std::vector<float>{0, 0, nan, 0, 0}), y(std::vector<float>{7, 7, 7});
    const Array<int> tokens(std::vector<int>{-1, bad, 2}), fault(std::vector<int>{0, 0});
    launched("log_probs", 1, 32, LogProbs{x.global(), tokens.global(), y.global(), 5, 3, fault.global(), 7}, [&] {
      check(fault.values() == std::vector<int>{7, OUT_OF_RANGE}, "log_probs accepts token %d", bad);
      check(y.values()[0] == -inf && y.values()[2] != y.values()[2], "log_probs of padding, and of a row with NaN");
    });
  }
}

const std::vector<SampleSettings> kinds = {{},
                                     {0, 5, 0.5f, -1},
                                     {0.8f, 40, 0.95f, logf(0.05f)},
                                     {1, 5},
                                     {1.5f, 0, 0.7f},
                                     {2, 0, 1, -2},
                                     {1, 1e9f, 0.999f},
                                     {1, 0, 0},
                                     {1, 1},
                                     {1e-30f},
                                     {1e30f},
                                     {1, 300, 1, 0},
                                     {0.3f, 0, 0.99f, -5},
                                     {1, 700, 0.9f}};

void sample_agrees(int V, int threads) {
  for (const float size : {0.001f, 6.f}) {
    std::vector<float> x;
    std::vector<SampleSettings> settings;
    for (size_t i = 0; i < kinds.size(); i++) {
      const std::vector<float> row = rough_logits(V, 20 + i, size);
      x.insert(x.end(), row.begin(), row.end());
      settings.push_back(kinds[i]);
    }
    SampleCase(V, x, settings, random_words(int(kinds.size()), 30)).agrees("sample", threads);
  }
  std::vector<float> tied;
  for (size_t i = 0; i < kinds.size() * size_t(V); i++) tied.push_back(i % 3 ? 2 : 1);
  SampleCase(V, tied, kinds, random_words(int(kinds.size()), 31)).agrees("ties", threads);
}

void sample_of_long_rows_agrees() {
  const std::vector<SampleSettings> few = {{}, {0.8f, 40, 0.95f, -3}, {1.5f, 0, 0.9f}, {1, 2000}};
  constexpr int V = 32000;
  SampleCase(V, rough_logits(V * int64_t(few.size()), 35, 10), few, random_words(int(few.size()), 36)).agrees("long rows", 256);
}

void sample_follows_many_numbers() {
  constexpr int V = 50, draws = 400;
  const std::vector<float> row = rough_logits(V, 40, 3);
  int elsewhere = 0;
  for (const SampleSettings& at : kinds) {
    const SampleCase many(V, repeated(row, draws), std::vector<SampleSettings>(draws, at), random_words(draws, 41));
    const Sample args = many.args();
    launch(*find_kernel("sample"), draws, 32, &args, 1);
    const std::vector<int> y = many.y.values();
    for (int s = 0; s < draws; s++) elsewhere += y[size_t(s)] != right_token(row.data(), V, at, many.u(s), 0);
  }
  check(elsewhere <= 2, "%d of many draws are other tokens", elsewhere);
}

// χ² of 2000 draws, for the tokens expected 5 times or more.
void sample_frequencies() {
  constexpr int V = 20, draws = 2000;
  const std::vector<float> row = numbers(V, 50);
  const SampleCase many(V, repeated(row, draws), std::vector<SampleSettings>(draws, {0.5f}), random_words(draws, 51));
  const Sample args = many.args();
  launch(*find_kernel("sample"), draws, 32, &args, 1);
  std::vector<double> counts(V);
  for (const int token : many.y.values()) counts[size_t(token)]++;
  double total = 0, chi = 0;
  for (const float x : row) total += exp(x / 0.5);
  for (size_t i = 0; i < V; i++) {
    const double expected = draws * exp(row[i] / 0.5) / total;
    if (expected >= 5) chi += pow(counts[i] - expected, 2) / expected;
  }
  check(chi < 50, "the frequencies of sample: chi² is %g for %d tokens", chi, V);
}

void sample_finds_no_token() {
  const std::vector<float> x = {-inf, nan, inf, 1, -inf, -inf, 0, inf, nan, -1};
  const std::vector<SampleSettings> settings = {{}, {0.8f, 40, 0.95f, -3}, {0}, {0}, {1, 3, 0.9f}};
  const SampleCase few(2, x, settings, random_words(5, 60));
  launched("sample", 5, 32, few.args(), [&] { check(few.y.values() == std::vector<int>{-1, -1, 0, 1, 1}, "rows without a token"); });
}

// Edges between two tokens, of top-p and of min-p.
void sample_is_exact_at_edges() {
  const int below = 0x7fffffff, above = int(0x80000000);
  const std::vector<SampleSettings> settings = {{}, {}, {1, 0, 0.5f}, {1, 0, 0.5000001f}, {1, 0, 1, -1}, {1, 0, 1, nextafterf(-1, 0)}};
  const std::vector<float> x = {0, 0, 0, 0, 0, 0, 0, 0, 3, 2, 3, 2};
  const std::vector<int> words = {-1, -1, -1, -1, -1, -1, -1, -1, above, 0, below, -1}; // draws are taken from the end
  const SampleCase edges(2, x, settings, words);
  launched("sample", 6, 32, edges.args(), [&] { check(edges.y.values() == std::vector<int>{0, 1, 0, 1, 1, 0}, "edges of sample"); });
}

void sample_finds_bad_settings() {
  const std::vector<SampleSettings> bad = {{-0.5f}, {nan}, {inf}, {1, 2.5f}, {1, -1}, {1, nan}, {1, 0, 1.5f}, {1, 0, nan}, {1, 0, 1, 0.5f}};
  for (const SampleSettings& at : bad) {
    const SampleCase refused(5, numbers(5, 61), {at}, {1, 2});
    launched("sample", 1, 32, refused.args(), [&] { check(refused.fault.values() == std::vector<int>{4, OUT_OF_RANGE}, "bad settings"); });
  }
  for (const int draw : {-1, 1, 2147483647}) {
    const SampleCase refused(5, numbers(5, 61), {SampleSettings{}}, {1, 2});
    const Array<int> draws(std::vector<int>{draw});
    Sample args = refused.args();
    args.draws = draws.global();
    launched("sample", 1, 32, args, [&] { check(refused.fault.values() == std::vector<int>{4, OUT_OF_RANGE}, "draw %d", draw); });
  }
}

} // namespace
} // namespace quern::gpu

int main() {
  using namespace quern::gpu;
  return run_test("kernels that choose tokens", [] {
    for (const int width : {1, 33, 1000}) {
      const int threads = width < 1000 ? 64 : 128;
      argmax_agrees(width, threads);
      top_k_agrees(width, 1, threads);
      top_k_agrees(width, (width + 1) / 2, threads);
      top_k_agrees(width, width, threads);
      mask_logits_agrees(width);
      sample_agrees(width, threads);
    }
    argmax_agrees(32000, 1024);
    top_k_agrees(32000, 40, 256);
    mask_logits_agrees(2 * ROW_PART + 5);
    penalise_agrees(1, 3);
    penalise_agrees(33, 200);
    penalise_agrees(1000, 500);
    penalise_finds_bad_tokens();
    log_probs_agrees(1, 3);
    log_probs_agrees(33, 200);
    log_probs_agrees(5000, 21);
    log_probs_finds_bad_tokens();
    sample_of_long_rows_agrees();
    sample_follows_many_numbers();
    sample_frequencies();
    sample_finds_no_token();
    sample_is_exact_at_edges();
    sample_finds_bad_settings();
  });
}

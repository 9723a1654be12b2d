// Kernels that keep a state per sequence, on the emulated device, against their definitions in float64.
#include "kernels/gated-delta.h"
#include "kernels/short-conv.h"
#include "test/arrays.h"
#include "test/run-test.h"

namespace quern::gpu {
namespace {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;
using Ints = std::vector<int>;

constexpr int op = 7, slot_count = 4;

struct Batch {
  Ints bounds, slots;
  int sequences() const { return int(bounds.size()) - 1; }
  int rows() const { return bounds.back(); }
};

// A slot that is read and written, zeros, no slot to write, a slot that two read, sequences without rows.
const Batch batches[] = {
    {{0, 1, 2, 3}, {2, 2, -1, 0, 1, 3}},
    {{0, 5, 6, 8, 10}, {-1, 1, 0, 0, 3, 2, 3, -1}},
    {{0, 0, 3, 3, 3}, {1, 2, -1, -1, -1, 0, 3, 3}},
    {{0, 37}, {0, 0}},
};

struct BatchArrays {
  const Array<int> bounds, slots, fault;
  const Array<float> state;
  BatchArrays(const Batch& batch, const Floats& state) : bounds(batch.bounds), slots(batch.slots), fault(Ints{0, 0}), state(state) {}

  StateBatch global(int rows) const {
    const int sequences = int(slots.values().size()) / 2;
    return {bounds.global(), slots.global(), state.global(), rows, sequences, slot_count, fault.global(), op};
  }
};

// What an op makes of a batch.
struct Wanted {
  Doubles y, state;
};

// The state of sequence s: [size].
Doubles state_read(const Batch& batch, int s, const Floats& state) {
  const size_t size = state.size() / slot_count;
  const int from = batch.slots[size_t(2) * s];
  return from < 0 ? Doubles(size) : Doubles(&state[from * size], &state[from * size] + size);
}
void put_state(const Batch& batch, int s, const Doubles& values, Doubles& state) {
  const int to = batch.slots[size_t(2) * s + 1];
  if (to >= 0) std::copy(values.begin(), values.end(), &state[to * values.size()]);
}

// The kernel's y and state, with each order of threads; y begins as NaN.
template <class Args>
void agrees_with(const char* name, int blocks, int threads, const Args& args, const BatchArrays& arrays, const Array<float>& y,
                 const Floats& state, double tolerance, const Wanted& want) {
  launched<3>(name, blocks, threads, args, [&] {
    close(name, y.values(), tolerance, tolerance, [&](int64_t i) { return want.y[size_t(i)]; });
    close("its state", arrays.state.values(), tolerance, tolerance, [&](int64_t i) { return want.state[size_t(i)]; });
    equal("its fault", arrays.fault.values(), Ints{0, 0});
    arrays.state.write(state);
    y.write(Floats(want.y.size(), NAN));
  });
}

Wanted conv_wanted(const Batch& batch, const Floats& x, const Floats& w, const Floats& bias, const Floats& state, int width) {
  const int taps = int(w.size()) / width;
  Wanted want{Doubles(x.size()), Doubles(state.begin(), state.end())};
  for (int s = 0; s < batch.sequences(); s++) {
    const int first = batch.bounds[s], count = batch.bounds[s + 1] - first;
    Doubles inputs = state_read(batch, s, state);
    inputs.insert(inputs.end(), x.begin() + first * width, x.begin() + (first + count) * width);
    for (int i = 0; i < count * width; i++) {
      double& sum = want.y[size_t(first * width + i)];
      sum = bias.empty() ? 0 : bias[i % width];
      for (int j = 0; j < taps; j++) sum += w[i % width * taps + j] * inputs[size_t(j * width + i)];
    }
    put_state(batch, s, Doubles(inputs.begin() + count * width, inputs.end()), want.state);
  }
  return want;
}

// w: its values, and as they are stored.
template <class Format>
void conv_agrees_on(const char* name, const Batch& batch, const Floats& x, const Floats& w,
                    const std::vector<typename Format::Stored>& stored, const Floats& bias, int width) {
  const int taps = int(w.size()) / width, threads = 32, tiles = (width + threads - 1) / threads;
  const Floats state = numbers(int64_t(slot_count) * (taps - 1) * width, 4);
  const Wanted want = conv_wanted(batch, x, w, bias, state, width);
  for (const int parts : {1, 3}) {
    const BatchArrays arrays(batch, state);
    const Array<float> from(x), biases(bias), y(x.size());
    const Array<typename Format::Stored> weights(stored);
    const ShortConv<Dense<Format>> args{from.global(),
                                        {weights.global()},
                                        bias.empty() ? Global<float>() : biases.global(),
                                        y.global(),
                                        arrays.global(batch.rows()),
                                        width,
                                        taps,
                                        parts,
                                        tiles};
    agrees_with(name, batch.sequences() * parts * tiles, threads, args, arrays, y, state, 2e-6, want);
  }
}

template <class Format>
void conv_agrees(const char* name) {
  for (const Batch& batch : batches)
    for (const int width : {1, 33, 70})
      for (const int taps : {1, 2, 4}) {
        Floats x = numbers(int64_t(batch.rows()) * width, 1), w = numbers(int64_t(width) * taps, 2);
        std::vector<typename Format::Stored> stored;
        for (float& value : w) value = Format::value(stored.emplace_back(Format::rounded(value)));
        conv_agrees_on<Format>(name, batch, x, w, stored, {}, width);
        x[size_t(width) / 2] = NAN, x.back() = INFINITY;
        conv_agrees_on<Format>(name, batch, x, w, stored, numbers(width, 3), width);
      }
}

struct DeltaShape {
  int key_heads, heads, dk, dv, tiled;
};

struct DeltaInputs {
  Floats q, k, v, decay, beta;
};

// Keys of length 1 at most. Some decays forget all.
DeltaInputs delta_inputs(const DeltaShape& of, int rows) {
  DeltaInputs inputs{numbers(int64_t(rows) * of.key_heads * of.dk, 1), numbers(int64_t(rows) * of.key_heads * of.dk, 2),
                     numbers(int64_t(rows) * of.heads * of.dv, 3), numbers(int64_t(rows) * of.heads, 4),
                     numbers(int64_t(rows) * of.heads, 5)};
  for (float& value : inputs.k) value /= sqrtf(float(of.dk));
  for (float& value : inputs.decay) value = value > 0.8f ? -200 : -fabsf(value);
  for (float& value : inputs.beta) value = fabsf(value);
  return inputs;
}

// A row of head h: S [dk, dv] and y [dv].
void delta_row(const DeltaShape& of, const DeltaInputs& x, int t, int h, double scale, double* S, double* y) {
  const int key_head = of.tiled ? h % of.key_heads : h / (of.heads / of.key_heads), at = t * of.heads + h;
  const float *q = &x.q[size_t(t * of.key_heads + key_head) * of.dk], *k = &x.k[size_t(t * of.key_heads + key_head) * of.dk];
  for (int i = 0; i < of.dk * of.dv; i++) S[i] *= ::exp(double(x.decay[at]));
  for (int j = 0; j < of.dv; j++) {
    double change = x.v[size_t(at) * of.dv + j];
    for (int i = 0; i < of.dk; i++) change -= k[i] * S[i * of.dv + j];
    y[j] = 0;
    for (int i = 0; i < of.dk; i++) {
      S[i * of.dv + j] += k[i] * x.beta[at] * change;
      y[j] += scale * q[i] * S[i * of.dv + j];
    }
  }
}

Wanted delta_wanted(const Batch& batch, const DeltaShape& of, const DeltaInputs& x, double scale, const Floats& state) {
  Wanted want{Doubles(x.v.size()), Doubles(state.begin(), state.end())};
  for (int s = 0; s < batch.sequences(); s++) {
    Doubles values = state_read(batch, s, state);
    for (int t = batch.bounds[s]; t < batch.bounds[s + 1]; t++)
      for (int h = 0; h < of.heads; h++)
        delta_row(of, x, t, h, scale, &values[size_t(h) * of.dk * of.dv], &want.y[size_t(t * of.heads + h) * of.dv]);
    put_state(batch, s, values, want.state);
  }
  return want;
}

void delta_agrees_on(const Batch& batch, const DeltaShape& of, const DeltaInputs& x, int columns, int parts) {
  constexpr float scale = 0.25f;
  const Floats state = numbers(int64_t(slot_count) * of.heads * of.dk * of.dv, 6);
  const BatchArrays arrays(batch, state);
  const Array<float> q(x.q), k(x.k), v(x.v), decay(x.decay), beta(x.beta), y(x.v.size());
  const int tiles = (of.dv + columns - 1) / columns;
  const GatedDelta args{q.global(), k.global(), v.global(), decay.global(), beta.global(), y.global(), arrays.global(batch.rows()),
                        of.key_heads, of.heads, of.dk, of.dv, columns, tiles, scale, of.tiled};
  agrees_with("gated_delta", batch.sequences() * of.heads * tiles, columns * parts, args, arrays, y, state, 1e-5,
              delta_wanted(batch, of, x, scale, state));
}

void delta_agrees() {
  for (const Batch& batch : batches) {
    const auto on = [&](const DeltaShape& of, int columns, int parts) {
      delta_agrees_on(batch, of, delta_inputs(of, batch.rows()), columns, parts);
    };
    on({1, 2, 4, 4, 0}, 32, 1);
    on({2, 4, 24, 40, 0}, 32, 1);
    on({2, 4, 33, 33, 1}, 32, 2);
    on({1, 1, 128, 33, 0}, 32, 4);
    on({1, 2, 70, 9, 0}, 16, 4); // of four parts the last has no row
  }
  const DeltaShape wide{1, 1, 600, 9, 0}; // rows of 2048 numbers fill the shared memory: three at a time
  delta_agrees_on(batches[1], wide, delta_inputs(wide, batches[1].rows()), 16, 20);
}

// NaN and infinities stay in their column, but for those of a key, a decay and a beta.
void delta_keeps_columns_apart() {
  const DeltaShape of{1, 2, 24, 40, 0};
  const auto on = [&](const auto& change) {
    DeltaInputs x = delta_inputs(of, batches[1].rows());
    change(x);
    delta_agrees_on(batches[1], of, x, 32, 1);
  };
  on([](DeltaInputs& x) { x.v[3] = NAN; });
  on([](DeltaInputs& x) { x.v[3] = INFINITY; });
  on([](DeltaInputs& x) { x.k[5] = NAN; });
  on([](DeltaInputs& x) { x.decay[1] = NAN; });
  on([](DeltaInputs& x) { x.beta[2] = -INFINITY; });
}

// Rows that do not run from 0 to 8 or fall, slots that are not there.
const Batch wrong[] = {
    {{0, 9}, {0, 0}},
    {{0, 7}, {0, 0}},
    {{1, 8}, {0, 0}},
    {{-1, 8}, {0, 0}},
    {{0, 5, 4, 8}, {0, 0, 1, 1, 2, 2}},
    {{0, 9, 9, 8}, {0, 0, 1, 1, 2, 2}},
    {{0, 1 << 30, 8}, {0, 0, 1, 1}},
    {{0, -4, 8}, {0, 0, 1, 1}},
    {{0, 8}, {slot_count, 0}},
    {{0, 8}, {0, slot_count}},
    {{0, 8}, {-2, 0}},
    {{0, 8}, {0, -2}},
    {{0, 4, 8}, {0, 0, 1 << 30, INT32_MIN}},
};

template <class F>
void wrong_batches_are_found(const char* name, int size, const F& launch) {
  for (const Batch& batch : wrong) {
    const Floats state = numbers(int64_t(slot_count) * size, 4);
    const BatchArrays arrays(batch, state);
    launch(arrays, batch.sequences(), [&] {
      equal(name, arrays.fault.values(), Ints{op, OUT_OF_RANGE});
      equal("its state, left alone", arrays.state.values(), state);
    });
  }
}

void wrong_batches_are_found() {
  constexpr int rows = 8, width = 33, taps = 3, d = 8;
  wrong_batches_are_found("short_conv, a wrong batch", (taps - 1) * width, [](const BatchArrays& arrays, int sequences, const auto& look) {
    const Array<float> x(numbers(rows * width, 1)), w(numbers(width * taps, 2)), y(rows * width);
    const ShortConv<Dense<F32>> args{x.global(), {w.global()}, Global<float>(), y.global(), arrays.global(rows), width, taps, 2, 2};
    launched("short_conv_f32", sequences * 4, 32, args, look);
  });
  wrong_batches_are_found("gated_delta, a wrong batch", d * d, [](const BatchArrays& arrays, int sequences, const auto& look) {
    const Array<float> q(numbers(rows * d, 1)), v(numbers(rows * d, 2)), decay(numbers(rows, 3)), y(rows * d);
    const GatedDelta args{q.global(), q.global(), v.global(), decay.global(), decay.global(), y.global(), arrays.global(rows),
                          1, 1, d, d, 32, 1, 1.0f, 0};
    launched("gated_delta", sequences, 32, args, look);
  });
}

} // namespace
} // namespace quern::gpu

int main() {
  using namespace quern::gpu;
  return run_test("kernels with a state per sequence", [] {
    conv_agrees<F32>("short_conv_f32");
    conv_agrees<F16>("short_conv_f16");
    conv_agrees<Bf16>("short_conv_bf16");
    delta_agrees();
    delta_keeps_columns_apart();
    wrong_batches_are_found();
  });
}

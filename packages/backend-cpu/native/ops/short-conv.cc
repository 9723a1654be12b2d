// Channels are independent: a thread takes some channels of all sequences.
#include <string.h>

#include "ops/state-slots.h"

namespace quern {

namespace {

// Scratch of a thread: a block of channels.
struct Block {
  int64_t first, channels, L;
  float* w;    // [L, channels]
  float* past; // [L − 1, channels]

  static int64_t floats(int64_t channels, int64_t L) { return channels * (3 * L - 1); }

  Block(const Call& call, int64_t first, int64_t channels, float* scratch) : first(first), channels(channels) {
    const Matrix& weight = call.matrix(ShortConvOp::WEIGHT);
    L = weight.width(), w = scratch, past = w + L * channels;
    float* const rows = past + (L - 1) * channels; // [channels, L]
    weight.decode(call.kernels, first, channels, rows);
    for (int64_t j = 0; j < L; j++)
      for (int64_t c = 0; c < channels; c++) w[j * channels + c] = rows[c * L + j];
  }

  void read(const float* state, int64_t D) const {
    for (int64_t i = 0; i < L - 1; i++)
      if (state) memcpy(past + i * channels, state + i * D + first, channels * sizeof(float));
      else memset(past + i * channels, 0, channels * sizeof(float));
  }
};

// The channels of a block, all sequences.
void convolve(const Call& call, const StateBatch& batch, const Block& block, const float* bias) {
  const Floats x = call.floats(ShortConvOp::X), y = call.floats(ShortConvOp::Y);
  const int64_t D = x.width();
  for (int64_t s = 0; s < batch.count; s++) {
    const StateRows rows = batch[s];
    const int64_t count = rows.end - rows.first;
    block.read(state_slot(call, ShortConvOp::STATE, rows.from), D);
    const ShortConv conv{x.row(rows.first) + block.first, block.past, block.w, bias ? bias + block.first : nullptr,
                         y.row(rows.first) + block.first, D, count, block.L, block.channels};
    call.kernels.short_conv(conv);
    if (float* const state = state_slot(call, ShortConvOp::STATE, rows.to))
      for (int64_t i = 0; i < block.L - 1; i++)
        memcpy(state + i * D + block.first, conv.input(count + i), block.channels * sizeof(float));
  }
}

} // namespace

void ShortConvOp::run(Call& call) {
  const Floats x = call.floats(X, 2), y = call.floats(Y, 2); // [T, D]
  const Matrix& w = call.matrix(WEIGHT);                     // [D, L]
  const int64_t T = x.shape[0], D = x.shape[1], L = w.width();
  const float* const bias = call.vector(BIAS, D);
  call.need(y.same_shape(x) && w.rows() == D && L > 0, "y must have x's shape, the weight be [D, L]");
  const StateBatch batch(call, CU_SEQLENS, STATES, STATE, T, L - 1, D);
  if (D == 0) return;
  // Wide blocks read memory in order; each thread should have several.
  const int64_t width = std::clamp<int64_t>(D / (4 * call.pool.threads()) / 64 * 64, 64, 1024);
  call.scratch.reserve(Block::floats(width, L));
  const int64_t cost = width * 2 * L * (T + batch.count + 1);
  call.split((D + width - 1) / width, cost, [&](int64_t first, int64_t end, int thread) {
    for (int64_t i = first; i < end; i++)
      convolve(call, batch, Block(call, i * width, std::min(width, D - i * width), call.scratch.of(thread)), bias);
  });
}

} // namespace quern

// Products with weights.
#include "gpu/op-call.h"
#include "gpu/ops/ops.h"
#include "kernels/conv1d.h"
#include "kernels/expert-linear.h"
#include "kernels/linear-few.h"
#include "kernels/linear-many.h"

namespace quern::gpu {

static constexpr int64_t most_few = 8;  // of linear-few.h
static constexpr int few_threads = 128, tile_threads = 256;
static constexpr int64_t tile = 64, most_blocks = 8192;

static int64_t tiles_of(int64_t rows, int64_t columns) { return (rows + tile - 1) / tile * ((columns + tile - 1) / tile); }
static int64_t blocks_of_warps(int64_t outputs) { return std::min(most_blocks, (outputs + 3) / 4); }

template <class Stored>
static void linear_of(const OpCall& op, const GpuWeight& w, const quern::Floats& x, const quern::Floats& y, const float* bias) {
  const int64_t T = x.shape[0], N = y.width();
  const Linear<Stored> args{
      x.data, reinterpret_cast<const Stored*>(w.data()), bias, y.data, op.small(T), op.small(N), op.small(x.width())};
  // Products that must not depend on the number of rows have one kernel for all.
  if (T <= most_few && !op.flag(LinearOp::BATCH_INVARIANT))
    op.launch(std::string("linear_few") + suffix_of(w.element()), blocks_of_warps(N), few_threads, args);
  else op.launch(std::string("linear_many") + suffix_of(w.element()), tiles_of(T, N), tile_threads, args);
}

void linear(const OpCall& op) {
  const quern::Floats x = op.floats(LinearOp::X, 2), y = op.floats(LinearOp::Y, 2);
  const GpuWeight& w = op.weight(LinearOp::W, 2);
  const int64_t N = w.shape()[0], K = w.shape()[1];
  op.need(x.width() == K && y.width() == N && x.shape[0] == y.shape[0], "x must be [T, K], w [N, K], y [T, N]");
  const float* const bias = op.vector(LinearOp::BIAS, N);
  if (y.count == 0) return;
  if (w.element() == Element::f32) linear_of<float>(op, w, x, y, bias);
  else linear_of<unsigned short>(op, w, x, y, bias);
}

template <class Stored>
static void expert_linear_of(const OpCall& op, const GpuWeight& w, const quern::Floats& x, const quern::Floats& y) {
  const int64_t *shape = w.shape().data(), k = y.shape[1];
  op.launch(std::string("expert_linear") + suffix_of(w.element()), blocks_of_warps(y.count), few_threads,
            ExpertLinear<Stored>{x.data, reinterpret_cast<const Stored*>(w.data()), op.ids(ExpertLinearOp::IDS), y.data,
                                 op.small(x.shape[0]), op.small(k), op.small(shape[0]), op.small(shape[1]), op.small(shape[2]),
                                 op.fault, op.index});
}

void expert_linear(const OpCall& op) {
  const quern::Floats x = op.floats(ExpertLinearOp::X, 2), y = op.floats(ExpertLinearOp::Y, 3);
  const GpuWeight& w = op.weight(ExpertLinearOp::W, 3);
  const int64_t *shape = w.shape().data(), k = y.shape[1];
  op.need(x.width() == shape[2] && y.width() == shape[1] && y.shape[0] == x.shape[0] &&
              op.operand(ExpertLinearOp::IDS).count == x.shape[0] * k,
          "x must be [R, K], w [E, N, K], ids [R, k], y [R, k, N]");
  if (y.count == 0) return;
  if (w.element() == Element::f32) expert_linear_of<float>(op, w, x, y);
  else expert_linear_of<unsigned short>(op, w, x, y);
}

template <class Stored>
static void conv1d_of(const OpCall& op, const GpuWeight& w, const quern::Floats& x, const quern::Floats& y, const float* bias) {
  const int64_t N = w.shape()[0], K = w.shape()[1];
  op.launch(std::string("conv1d") + suffix_of(w.element()), tiles_of(y.shape[0], N), tile_threads,
            Conv1d<Stored>{x.data, reinterpret_cast<const Stored*>(w.data()), bias, y.data, op.small(x.shape[0]),
                           op.small(x.width()), op.small(y.shape[0]), op.small(N), op.small(K), op.integer(Conv1dOp::STRIDE),
                           op.integer(Conv1dOp::PADDING)});
}

void conv1d(const OpCall& op) {
  const quern::Floats x = op.floats(Conv1dOp::X, 2), y = op.floats(Conv1dOp::Y, 2);
  const GpuWeight& w = op.weight(Conv1dOp::W, 2);
  const int64_t N = w.shape()[0], K = w.shape()[1], C = x.width();
  const int64_t stride = op.integer(Conv1dOp::STRIDE), padding = op.integer(Conv1dOp::PADDING);
  op.need(C > 0 && K % C == 0 && stride > 0 && padding >= 0 && y.width() == N, "w must be [N, W·C]");
  const int64_t windows = std::max<int64_t>(-1, x.shape[0] + 2 * padding - K / C) / stride + 1;
  op.need(y.shape[0] <= windows, "y has more rows than there are windows");
  const float* const bias = op.vector(Conv1dOp::BIAS, N);
  if (y.count == 0) return;
  if (w.element() == Element::f32) conv1d_of<float>(op, w, x, y, bias);
  else conv1d_of<unsigned short>(op, w, x, y, bias);
}

}  // namespace quern::gpu

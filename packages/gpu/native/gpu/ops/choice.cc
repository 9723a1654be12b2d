// Tokens from logits: a block per row.
#include "gpu/op-call.h"
#include "gpu/ops/ops.h"
#include "kernels/argmax.h"
#include "kernels/mask-logits.h"
#include "kernels/penalise.h"
#include "kernels/sample.h"
#include "kernels/top-k.h"
#include "quern/failure.h"

namespace quern::gpu {

static constexpr int threads = 512;
static constexpr int64_t most_sampled = 1 << 20;  // of kernels/sample.h

void argmax(const OpCall& op) {
  const quern::Floats x = op.floats(ArgmaxOp::X);
  op.need(x.rank > 0 && op.operand(ArgmaxOp::Y).count == x.rows() && x.width() > 0, "y must have an element for each row");
  op.launch("argmax", x.rows(), threads, Argmax{x.data, op.ints_out(ArgmaxOp::Y), op.small(x.width())});
}

void top_k(const OpCall& op) {
  const quern::Floats x = op.floats(TopKOp::X), values = op.floats(TopKOp::VALUES);
  const int64_t k = op.integer(TopKOp::K);
  op.need(k >= 1 && k <= x.width() && values.count == x.rows() * k && op.operand(TopKOp::INDICES).count == values.count,
          "y must be [.., k]");
  op.launch("top_k", x.rows(), threads,
            TopK{x.data, values.data, op.ints_out(TopKOp::INDICES), op.small(x.width()), op.small(k)});
}

void mask_logits(const OpCall& op) {
  const quern::Floats x = op.floats(MaskLogitsOp::X, 2), y = op.floats(MaskLogitsOp::Y);
  op.need(x.same_shape(y) && op.operand(MaskLogitsOp::BITS).count == x.shape[0] * ((x.width() + 31) / 32),
          "y must have the shape of x, bits a word for 32 columns");
  op.launch("mask_logits", x.rows(), threads, MaskLogits{x.data, op.ids(MaskLogitsOp::BITS), y.data, op.small(x.width())});
}

void penalise(const OpCall& op) {
  const quern::Floats x = op.floats(PenaliseOp::X, 2), strengths = op.floats(PenaliseOp::STRENGTHS, 2),
                      y = op.floats(PenaliseOp::Y);
  const Operand& tokens = op.operand(PenaliseOp::TOKENS);
  const int64_t S = x.shape[0];
  op.need(x.same_shape(y) && tokens.rank == 2 && tokens.shape[0] == S && strengths.shape[0] == S && strengths.width() == 3,
          "tokens must be [S, L], strengths [S, 3], y as x");
  op.launch("penalise", x.rows(), threads,
            Penalise{x.data, strengths.data, op.ids(PenaliseOp::TOKENS), y.data, op.small(x.width()), op.small(tokens.shape[1]),
                     op.fault, op.index});
}

void sample(const OpCall& op) {
  const quern::Floats x = op.floats(SampleOp::X, 2), settings = op.floats(SampleOp::SETTINGS, 2);
  const int64_t S = x.shape[0], random = op.operand(SampleOp::RANDOM).count;
  op.need(settings.shape[0] == S && settings.width() == 4 && random % 2 == 0 && op.operand(SampleOp::DRAWS).count == S &&
              op.operand(SampleOp::Y).count == S && x.width() > 0,
          "settings must be [S, 4], random [R, 2], draws and y [S]");
  if (x.width() > most_sampled)
    fail(Code::unsupported, "[sample] rows of %lld logits; this device samples from at most %lld", (long long)x.width(),
         (long long)most_sampled);
  op.launch("sample", S, threads,
            Sample{x.data, settings.data, op.ids(SampleOp::RANDOM), op.ids(SampleOp::DRAWS), op.ints_out(SampleOp::Y),
                   op.small(x.width()), op.small(random / 2), op.fault, op.index});
}

}  // namespace quern::gpu

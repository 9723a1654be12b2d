// Tokens from logits: a block per row, or several for long rows.
#include "gpu/ops/choice.h"

#include "gpu/ops/elements.h"
#include "gpu/ops/ops.h"
#include "kernels/argmax.h"
#include "kernels/log-probs.h"
#include "kernels/map.h"
#include "kernels/mask-logits.h"
#include "kernels/penalise.h"
#include "kernels/sample-parts.h"
#include "kernels/top-k.h"
#include "quern/failure.h"

namespace quern::gpu {

static constexpr int threads = 512;
static constexpr int64_t most_sampled = 1 << 20;     // of kernels/sample.h
static constexpr int64_t long_row = 4 * ROW_PART;    // a block takes shorter ones without loss
static constexpr int64_t most_sorted = 2048;         // parts at a time: they have 48 KiB of scratch memory each

static int64_t row_parts(int64_t width) { return (width + ROW_PART - 1) / ROW_PART; }

// Whether rows are sorted in parts: the results are the same.
static bool sorts_parts(int64_t width) { return width >= long_row && row_parts(width) <= MOST_PARTS; }

// Calls act(first, count) for rows that are sorted at a time.
template <class Act>
static void each_sorted(int64_t rows, int64_t parts, const Act& act) {
  const int64_t most = most_sorted / parts;
  for (int64_t first = 0; first < rows; first += most) act(first, std::min(most, rows - first));
}

// Of a block that merges parts: a thread per part.
static int threads_of_parts(int64_t parts) { return int((parts + WARP - 1) / WARP * WARP); }

// The first place of each part [rows, parts].
static const Place* launch_first_places(const OpCall& op, const float* x, int64_t rows, int64_t width) {
  const int64_t parts = row_parts(width);
  Place* const firsts = op.scratch<Place>(rows * parts);
  op.launch("first_places", rows * parts, threads, FirstPlaces{x, firsts, op.small(width), op.small(parts)});
  return firsts;
}

void launch_argmax(const OpCall& op, const float* x, int32_t* y, int64_t rows, int64_t width) {
  if (rows == 0) return;
  if (width < long_row) return op.launch("argmax", rows, threads, Argmax{x, y, op.small(width)});
  const int64_t parts = row_parts(width);
  const Place* const firsts = launch_first_places(op, x, rows, width);
  op.launch("argmax_merge", rows, int(std::min<int64_t>(threads, threads_of_parts(parts))), ArgmaxMerge{firsts, y, op.small(parts)});
}

void launch_top_k(const OpCall& op, const TopK& args, int64_t rows) {
  if (rows == 0) return;
  if (!sorts_parts(args.width)) return op.launch("top_k", rows, threads, args);
  const int64_t parts = row_parts(args.width), kept = std::min(args.k, ROW_PART);
  Place* const places = op.scratch<Place>(std::min(rows * parts, most_sorted) * kept);
  each_sorted(rows, parts, [&](int64_t first, int64_t count) {
    const TopK of{args.x + first * args.width, args.values + first * args.k, args.indices + first * args.k, args.width, args.k};
    const TopKParts split{of, places, op.small(parts), op.small(kept)};
    op.launch("top_k_parts", count * parts, threads, split);
    op.launch("top_k_merge", count, threads_of_parts(parts), split);
  });
}

static void launch_sample(const OpCall& op, const Sample& args, int64_t rows) {
  if (rows == 0) return;
  if (!sorts_parts(args.V)) return op.launch("sample", rows, threads, args);
  const int64_t parts = row_parts(args.V), at_a_time = std::min(rows * parts, most_sorted), sorted = at_a_time * ROW_PART;
  const Place* const firsts = launch_first_places(op, args.x, rows, args.V);
  SampleParts split{args,
                    firsts,
                    op.scratch<uint64_t>(at_a_time),
                    op.scratch<Place>(sorted),
                    op.scratch<uint64_t>(sorted),
                    op.scratch<uint64_t>(sorted),
                    op.small(parts)};
  each_sorted(rows, parts, [&](int64_t first, int64_t count) {
    split.all.x = args.x + first * args.V, split.all.settings = args.settings + first * 4;
    split.all.draws = args.draws + first, split.all.y = args.y + first, split.firsts = firsts + first * parts;
    op.launch("sample_parts", count * parts, threads, split);
    op.launch("sample_merge", count, threads_of_parts(parts), split);
  });
}

void argmax(const OpCall& op) {
  const quern::Floats x = op.floats(ArgmaxOp::X);
  op.need(x.rank > 0 && op.operand(ArgmaxOp::Y).count == x.rows() && x.width() > 0, "y must have an element for each row");
  launch_argmax(op, x.data, op.ints_out(ArgmaxOp::Y), x.rows(), x.width());
}

void top_k(const OpCall& op) {
  const quern::Floats x = op.floats(TopKOp::X), values = op.floats(TopKOp::VALUES);
  const int64_t k = op.integer(TopKOp::K);
  op.need(k >= 1 && k <= x.width() && values.count == x.rows() * k && op.operand(TopKOp::INDICES).count == values.count,
          "y must be [.., k]");
  launch_top_k(op, {x.data, values.data, op.ints_out(TopKOp::INDICES), op.small(x.width()), op.small(k)}, x.rows());
}

void mask_logits(const OpCall& op) {
  const quern::Floats x = op.floats(MaskLogitsOp::X, 2), y = op.floats(MaskLogitsOp::Y);
  op.need(x.same_shape(y) && op.operand(MaskLogitsOp::BITS).count == x.shape[0] * ((x.width() + 31) / 32),
          "y must have the shape of x, bits a word for 32 columns");
  const int64_t parts = row_parts(x.width());
  op.launch("mask_logits", x.rows() * parts, threads,
            MaskLogits{x.data, op.ids(MaskLogitsOp::BITS), y.data, op.small(x.width()), op.small(parts)});
}

void penalise(const OpCall& op) {
  const quern::Floats x = op.floats(PenaliseOp::X, 2), strengths = op.floats(PenaliseOp::STRENGTHS, 2),
                      y = op.floats(PenaliseOp::Y);
  const Operand& tokens = op.operand(PenaliseOp::TOKENS);
  const int64_t S = x.shape[0];
  op.need(x.same_shape(y) && tokens.rank == 2 && tokens.shape[0] == S && strengths.shape[0] == S && strengths.width() == 3,
          "tokens must be [S, L], strengths [S, 3], y as x");
  launch_map(op, "cast_f32_f32", OneInput{x.data, y.data, x.count});
  op.launch("penalise", x.rows(), threads,
            Penalise{x.data, strengths.data, op.ids(PenaliseOp::TOKENS), y.data, op.small(x.width()), op.small(tokens.shape[1]),
                     op.fault, op.index});
}

void log_probs(const OpCall& op) {
  const quern::Floats x = op.floats(LogProbsOp::X, 2), y = op.floats(LogProbsOp::Y, 2);
  const int64_t S = x.shape[0], k = y.width();
  op.need(y.shape[0] == S && op.operand(LogProbsOp::TOKENS).count == S * k, "tokens and y must be [S, k]");
  if (k == 0) return;
  op.launch("log_probs", S, threads,
            LogProbs{x.data, op.ids(LogProbsOp::TOKENS), y.data, op.small(x.width()), op.small(k), op.fault, op.index});
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
  launch_sample(op,
                {x.data, settings.data, op.ids(SampleOp::RANDOM), op.ids(SampleOp::DRAWS), op.ints_out(SampleOp::Y),
                 op.small(x.width()), op.small(random / 2), op.fault, op.index},
                S);
}

}  // namespace quern::gpu

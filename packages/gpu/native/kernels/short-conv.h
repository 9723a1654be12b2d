// y[t, c] = bias[c] + Σ over j of w[c, j] · x[t − taps + 1 + j, c]; inputs before the first row of a sequence are its state. A block per
// sequence, part of its rows, and tile of channels; a thread per channel.
#pragma once
#include "formats/every.h"
#include "state-rows.h"

namespace quern {
namespace gpu {

template <class Weights>
struct ShortConv {
  Global<const float> x;    // [rows, width]
  Weights w;                // [width, taps]
  Global<const float> bias; // [width], or null
  Global<float> y;          // [rows, width]
  StateBatch batch;         // a state: [taps − 1, width], the last inputs, oldest first
  int width, taps;
  int parts, tiles; // of a sequence, of a row: block_threads() channels each
};

// The inputs of a channel: taps − 1 of the state, then those of the sequence's rows.
struct ConvInputs {
  Global<const float> past; // null: zeros
  Global<const float> x;    // the first row
  int kept, width;          // kept: taps − 1

  FUNCTION float at(int i) const {
    if (i >= kept) return x[int64_t(i - kept) * width];
    return past ? float(past[int64_t(i) * width]) : 0.0f;
  }
};

template <class Weights>
FUNCTION ConvInputs conv_inputs(ARGUMENTS const ShortConv<Weights>& args, StateRows rows, int channel) {
  const int kept = args.taps - 1;
  const Global<const float> state = args.batch.state, none = {};
  return {rows.from < 0 ? none : state + int64_t(rows.from) * kept * args.width + channel,
          args.x + int64_t(rows.first) * args.width + channel, kept, args.width};
}

// Row i of the sequence.
template <class Weights>
FUNCTION void put_conv(ARGUMENTS const ShortConv<Weights>& args, ConvInputs inputs, int first, int i, int channel) {
  float sum = args.bias ? float(args.bias[channel]) : 0.0f;
  for (int j = 0; j < args.taps; j++) sum += args.w.at(int64_t(channel) * args.taps + j) * inputs.at(i + j);
  args.y[(int64_t(first) + i) * args.width + channel] = sum;
}

// The last taps − 1 inputs. In their own slot they move towards its start: each is read before its place is written.
FUNCTION void keep_inputs(Global<float> state, ConvInputs inputs, int count) {
  for (int i = 0; i < inputs.kept; i++) state[int64_t(i) * inputs.width] = inputs.at(count + i);
}

// Part 0 has all rows that need the state, and writes it: the slot to write may be the slot to read.
template <class Weights>
FUNCTION void short_conv(ARGUMENTS const ShortConv<Weights>& args) {
  const int channel = block_index() % args.tiles * block_threads() + thread_index(), part = block_index() / args.tiles % args.parts;
  if (!batch_fits(args.batch) || channel >= args.width) return;
  const StateRows rows = rows_of_sequence(args.batch, block_index() / args.tiles / args.parts);
  const ConvInputs inputs = conv_inputs(args, rows, channel);
  const int count = rows.end - rows.first;
  if (part == 0)
    for (int i = 0; i < inputs.kept && i < count; i++) put_conv(args, inputs, rows.first, i, channel);
  for (int i = inputs.kept + part; i < count; i += args.parts) put_conv(args, inputs, rows.first, i, channel);
  if (part == 0 && rows.to >= 0) keep_inputs(args.batch.state + int64_t(rows.to) * inputs.kept * args.width + channel, inputs, count);
}

#define SHORT_CONV(Format, name) \
  KERNEL(short_conv_##name, ShortConv<Dense<Format>>) { short_conv(args); }
EVERY_DENSE_FORMAT(SHORT_CONV)
#undef SHORT_CONV

} // namespace gpu
} // namespace quern

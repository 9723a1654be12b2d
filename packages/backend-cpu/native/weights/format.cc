#include "weights/format.h"

namespace quern {

static constexpr FormatLayout formats[] = {
    {"f32", FORMAT_F32, 1, 4},       {"f16", FORMAT_F16, 1, 2},       {"bf16", FORMAT_BF16, 1, 2},
    {"q4_0", FORMAT_Q4_0, 32, 18},   {"q4_1", FORMAT_Q4_1, 32, 20},   {"q5_0", FORMAT_Q5_0, 32, 22},
    {"q5_1", FORMAT_Q5_1, 32, 24},   {"q8_0", FORMAT_Q8_0, 32, 34},   {"q2_k", FORMAT_Q2_K, 256, 84},
    {"q3_k", FORMAT_Q3_K, 256, 110}, {"q4_k", FORMAT_Q4_K, 256, 144}, {"q5_k", FORMAT_Q5_K, 256, 176},
    {"q6_k", FORMAT_Q6_K, 256, 210}, {"iq4_nl", FORMAT_IQ4_NL, 32, 18}, {"iq4_xs", FORMAT_IQ4_XS, 256, 136},
    {"mxfp4", FORMAT_MXFP4, 32, 17}, {"iq8", FORMAT_IQ8, 256, 276},
};
static_assert(sizeof formats / sizeof *formats == FORMAT_COUNT);

const FormatLayout* find_format(const std::string& name) {
  for (const FormatLayout& layout : formats)
    if (name == layout.name) return &layout;
  return nullptr;
}

const FormatLayout& layout_of(Format format) { return formats[format]; }

} // namespace quern

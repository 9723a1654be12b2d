// The logits of llama.cpp after each token id of standard input, as raw f32 [T, V] on standard output; once per number of
// rows per step.
//   llama-logits MODEL f16|f32 auto|on|off THREADS ROWS…
// f16, f32: the type of the cache. auto, on, off: flash attention.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "llama.h"

namespace {

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "llama-logits: %s\n", what.c_str());
  std::exit(1);
}

llama_flash_attn_type flash_attention(const std::string& name) {
  if (name == "on") return LLAMA_FLASH_ATTN_TYPE_ENABLED;
  if (name == "off") return LLAMA_FLASH_ATTN_TYPE_DISABLED;
  return LLAMA_FLASH_ATTN_TYPE_AUTO;
}

llama_context* open_context(llama_model* model, char** arguments, size_t tokens) {
  llama_context_params params = llama_context_default_params();
  params.n_ctx = static_cast<uint32_t>(tokens);
  params.n_batch = params.n_ubatch = params.n_ctx;
  params.type_k = params.type_v = std::string(arguments[2]) == "f32" ? GGML_TYPE_F32 : GGML_TYPE_F16;
  params.flash_attn_type = flash_attention(arguments[3]);
  params.n_threads = params.n_threads_batch = std::atoi(arguments[4]);
  llama_context* context = llama_init_from_model(model, params);
  if (!context) fail("no context");
  return context;
}

/** Computes ids [from, to) and writes their logits [to - from, V]. */
void step(llama_context* context, llama_batch& batch, const std::vector<llama_token>& ids, size_t from, size_t to,
          size_t vocabulary) {
  batch.n_tokens = static_cast<int32_t>(to - from);
  for (size_t i = from; i < to; i++) {
    batch.token[i - from] = ids[i];
    batch.pos[i - from] = static_cast<llama_pos>(i);
    batch.n_seq_id[i - from] = 1;
    batch.seq_id[i - from][0] = 0;
    batch.logits[i - from] = true;
  }
  if (llama_decode(context, batch) != 0) fail("llama_decode failed");
  for (size_t i = from; i < to; i++)
    std::fwrite(llama_get_logits_ith(context, static_cast<int32_t>(i - from)), sizeof(float), vocabulary, stdout);
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 6) fail("usage: llama-logits MODEL f16|f32 auto|on|off THREADS ROWS…");
  llama_log_set([](ggml_log_level level, const char* text, void*) {
    if (level == GGML_LOG_LEVEL_ERROR) std::fputs(text, stderr);
  }, nullptr);
  std::vector<llama_token> ids;
  for (llama_token id; std::cin >> id;) ids.push_back(id);
  llama_model* model = llama_model_load_from_file(arguments[1], llama_model_default_params());
  if (!model) fail(std::string("cannot load ") + arguments[1]);
  const size_t vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(model));
  llama_context* context = open_context(model, arguments, ids.size());
  llama_batch batch = llama_batch_init(static_cast<int32_t>(ids.size()), 0, 1);
  for (int i = 5; i < count; i++) {
    const size_t rows = std::strtoul(arguments[i], nullptr, 10);
    llama_memory_clear(llama_get_memory(context), true);
    for (size_t at = 0; at < ids.size(); at += rows)
      step(context, batch, ids, at, std::min(at + rows, ids.size()), vocabulary);
  }
  llama_batch_free(batch);
  llama_free(context);
  llama_model_free(model);
}

// llama.cpp's C API for engines/llama-cpp.mjs, the only file that passes arguments. One process has one model, which
// lives as long as the process.
#include <llama.h>
#include <napi.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

namespace {

/** Tokens per step; llama.cpp computes a longer prompt in several steps. */
constexpr int32_t kBatch = 512;

struct Context {
  llama_context* llama;
  llama_batch batch;
  int32_t sequences, vocabulary;

  ~Context() {
    llama_batch_free(batch);
    llama_free(llama);
  }
};

[[noreturn]] void fail(const Napi::Env& env, const std::string& what) {
  throw Napi::Error::New(env, "llama.cpp: " + what);
}

int32_t wholeOf(const Napi::CallbackInfo& info, size_t index) { return info[index].As<Napi::Number>().Int32Value(); }
bool flagOf(const Napi::CallbackInfo& info, size_t index) { return info[index].As<Napi::Boolean>().Value(); }

/** Argument 0. */
Context& contextOf(const Napi::CallbackInfo& info) { return *info[0].As<Napi::External<Context>>().Data(); }

void add(llama_batch& batch, llama_token token, llama_pos position, llama_seq_id sequence, bool wantsLogits) {
  const int32_t at = batch.n_tokens++;
  batch.token[at] = token;
  batch.pos[at] = position;
  batch.n_seq_id[at] = 1;
  batch.seq_id[at][0] = sequence;
  batch.logits[at] = wantsLogits;
}

/** Computes the batch and empties it. */
void step(const Napi::Env& env, Context& context) {
  const int status = llama_decode(context.llama, context.batch);
  context.batch.n_tokens = 0;
  if (status != 0) fail(env, "llama_decode gave " + std::to_string(status));
}

/** Tokens of one sequence from `position` on. With `wantsLogits`, those of the last token remain. */
void prompt(const Napi::Env& env, Context& context, llama_seq_id sequence, const Napi::Int32Array& tokens,
            llama_pos position, bool wantsLogits) {
  const size_t count = tokens.ElementLength();
  for (size_t i = 0; i < count; i++) {
    const bool isLast = i + 1 == count;
    add(context.batch, tokens[i], position + static_cast<llama_pos>(i), sequence, isLast && wantsLogits);
    if (isLast || context.batch.n_tokens == kBatch) step(env, context);
  }
}

/** The likeliest token. Two loops: compilers vectorise a maximum, not its place. */
llama_token likeliest(const float* logits, int32_t count) {
  float most = logits[0];
  for (int32_t i = 1; i < count; i++) most = std::max(most, logits[i]);
  return static_cast<llama_token>(std::find(logits, logits + count, most) - logits);
}

/** One token more in each sequence. */
void extend(const Napi::Env& env, Context& context, std::vector<llama_token>& last, llama_pos position) {
  for (int32_t i = 0; i < context.sequences; i++) add(context.batch, last[i], position, i, true);
  step(env, context);
  for (int32_t i = 0; i < context.sequences; i++)
    last[i] = likeliest(llama_get_logits_ith(context.llama, i), context.vocabulary);
}

/** (path) */
Napi::Value loadModel(const Napi::CallbackInfo& info) {
  const std::string path = info[0].As<Napi::String>();
  llama_model* model = llama_model_load_from_file(path.c_str(), llama_model_default_params());
  if (!model) fail(info.Env(), "cannot load " + path);
  return Napi::External<llama_model>::New(info.Env(), model);
}

/** Quantised values need flash attention. */
void useQ8_0Caches(llama_context_params& params, bool flashAttention) {
  params.type_k = GGML_TYPE_Q8_0;
  if (flashAttention) params.type_v = GGML_TYPE_Q8_0;
}

/** (model, threads, context tokens per sequence, sequences, flashAttention, quantisedCaches) */
Napi::Value createContext(const Napi::CallbackInfo& info) {
  llama_model* model = info[0].As<Napi::External<llama_model>>().Data();
  const int32_t sequences = wholeOf(info, 3);
  const bool flashAttention = flagOf(info, 4);
  llama_context_params params = llama_context_default_params();
  params.n_threads = params.n_threads_batch = wholeOf(info, 1);
  params.n_ctx = static_cast<uint32_t>(wholeOf(info, 2) * sequences);
  params.n_seq_max = static_cast<uint32_t>(sequences);
  params.n_batch = params.n_ubatch = kBatch;
  params.flash_attn_type = flashAttention ? LLAMA_FLASH_ATTN_TYPE_ENABLED : LLAMA_FLASH_ATTN_TYPE_DISABLED;
  if (flagOf(info, 5)) useQ8_0Caches(params, flashAttention);
  llama_context* llama = llama_init_from_model(model, params);
  if (!llama) fail(info.Env(), "cannot create a context");
  const int32_t vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(model));
  auto* context = new Context{llama, llama_batch_init(kBatch, 0, 1), sequences, vocabulary};
  return Napi::External<Context>::New(info.Env(), context);
}

/** (context) */
void disposeContext(const Napi::CallbackInfo& info) { delete &contextOf(info); }

/** (context, length): every sequence keeps its first `length` tokens. */
void truncate(const Napi::CallbackInfo& info) {
  Context& context = contextOf(info);
  llama_memory_t memory = llama_get_memory(context.llama);
  for (int32_t i = 0; i < context.sequences; i++) {
    llama_memory_seq_rm(memory, i, wholeOf(info, 1), -1);
    const llama_pos end = llama_memory_seq_pos_max(memory, i) + 1;
    if (end != wholeOf(info, 1)) fail(info.Env(), "has " + std::to_string(end) + " tokens in the cache");
  }
}

/** (context, sequence, Int32Array tokens, position) */
void fill(const Napi::CallbackInfo& info) {
  prompt(info.Env(), contextOf(info), wholeOf(info, 1), info[2].As<Napi::Int32Array>(), wholeOf(info, 3), false);
}

/** (context, Int32Array prompt, answer, position): `answer` greedy tokens of every sequence after the same prompt. */
void generate(const Napi::CallbackInfo& info) {
  Context& context = contextOf(info);
  const auto tokens = info[1].As<Napi::Int32Array>();
  const int32_t answer = wholeOf(info, 2);
  llama_pos position = wholeOf(info, 3);
  std::vector<llama_token> last(context.sequences, tokens[tokens.ElementLength() - 1]);
  if (tokens.ElementLength() > 1) {
    if (context.sequences > 1) fail(info.Env(), "a prompt of several sequences must be one token");
    prompt(info.Env(), context, 0, tokens, position, true);
    position += static_cast<llama_pos>(tokens.ElementLength());
    last[0] = likeliest(llama_get_logits_ith(context.llama, -1), context.vocabulary);
  } else {
    extend(info.Env(), context, last, position++);
  }
  for (int32_t i = 1; i < answer; i++) extend(info.Env(), context, last, position++);
}

void logErrors(ggml_log_level level, const char* text, void*) {
  if (level == GGML_LOG_LEVEL_ERROR) fputs(text, stderr);
}

Napi::Object init(Napi::Env env, Napi::Object exports) {
  llama_log_set(logErrors, nullptr);
  llama_backend_init();
  exports["loadModel"] = Napi::Function::New(env, loadModel);
  exports["createContext"] = Napi::Function::New(env, createContext);
  exports["disposeContext"] = Napi::Function::New(env, disposeContext);
  exports["truncate"] = Napi::Function::New(env, truncate);
  exports["fill"] = Napi::Function::New(env, fill);
  exports["generate"] = Napi::Function::New(env, generate);
  return exports;
}

}  // namespace

NODE_API_MODULE(llama_cpp, init)

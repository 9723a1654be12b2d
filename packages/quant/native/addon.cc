// The functions that JavaScript calls. Only src/native.ts passes arguments. They are checked all the same, because a
// mistake there must not corrupt memory.
#include <napi.h>

#include <string>

#include "search.h"
#ifdef QUERN_X86
#include "has-avx2.h"
#endif

namespace {

/** The instruction set of this function. */
const quern::Search& searchOf(const Napi::CallbackInfo& info) { return *static_cast<const quern::Search*>(info.Data()); }

void need(const Napi::Env& env, bool holds, const char* what) {
  if (!holds) throw Napi::RangeError::New(env, what);
}

[[noreturn]] void failType(const Napi::CallbackInfo& info, size_t index, const char* type) {
  throw Napi::TypeError::New(info.Env(), "argument " + std::to_string(index + 1) + " must be a " + type);
}

/** Argument `index`; it must be a typed array of this type. */
template <class Array>
Array arrayOf(const Napi::CallbackInfo& info, size_t index, napi_typedarray_type type, const char* name) {
  const Napi::Value value = info[index];
  if (!value.IsTypedArray() || value.As<Napi::TypedArray>().TypedArrayType() != type) failType(info, index, name);
  return value.As<Array>();
}
auto floatsOf(const Napi::CallbackInfo& info, size_t index) {
  return arrayOf<Napi::Float32Array>(info, index, napi_float32_array, "Float32Array");
}
auto doublesOf(const Napi::CallbackInfo& info, size_t index) {
  return arrayOf<Napi::Float64Array>(info, index, napi_float64_array, "Float64Array");
}
auto bytesOf(const Napi::CallbackInfo& info, size_t index) {
  return arrayOf<Napi::Uint8Array>(info, index, napi_uint8_array, "Uint8Array");
}
Napi::Number numberOf(const Napi::CallbackInfo& info, size_t index) {
  if (!info[index].IsNumber()) failType(info, index, "number");
  return info[index].As<Napi::Number>();
}
bool flagOf(const Napi::CallbackInfo& info, size_t index) {
  if (!info[index].IsBoolean()) failType(info, index, "boolean");
  return info[index].As<Napi::Boolean>().Value();
}

void needGroups(const Napi::Env& env, const quern::Groups& groups) {
  const size_t size = groups.size;
  need(env, size >= 4 && size <= 32 && size % 4 == 0 && groups.count % size == 0, "x must be whole groups of 4 to 32");
}

quern::Groups groupsOf(const Napi::Env& env, const Napi::Float32Array& x, const Napi::Float64Array& weights,
                       uint32_t size) {
  const quern::Groups groups = {x.Data(), weights.Data(), x.ElementLength(), size};
  needGroups(env, groups);
  need(env, weights.ElementLength() == groups.count, "weights must be as many as x");
  return groups;
}

/** (x, weights, groupSize, top, first, step, steps, absolute, scales, lifts, levels) */
void FitAffine(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  need(env, info.Length() == 11, "fitAffine takes 11 arguments");
  const auto groups = groupsOf(env, floatsOf(info, 0), doublesOf(info, 1),
                               numberOf(info, 2).Uint32Value());
  const quern::AffineSearch how = {
      numberOf(info, 3).DoubleValue(), numberOf(info, 4).DoubleValue(),
      numberOf(info, 5).DoubleValue(), numberOf(info, 6).Int32Value(),
      flagOf(info, 7)};
  auto scales = doublesOf(info, 8);
  auto lifts = doublesOf(info, 9);
  auto levels = bytesOf(info, 10);
  const size_t fits = groups.count / groups.size;
  need(env, scales.ElementLength() >= fits && lifts.ElementLength() >= fits, "scales and lifts: one for each group");
  need(env, levels.ElementLength() >= groups.count, "levels must be as many as x");
  searchOf(info).affine(groups, how, scales.Data(), lifts.Data(), levels.Data());
}

/** (x, weights, groupSize, top, scales, inverses) */
void FitScale(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  need(env, info.Length() == 6, "fitScale takes 6 arguments");
  const auto groups = groupsOf(env, floatsOf(info, 0), doublesOf(info, 1),
                               numberOf(info, 2).Uint32Value());
  auto scales = doublesOf(info, 4);
  auto inverses = doublesOf(info, 5);
  const size_t fits = groups.count / groups.size;
  need(env, scales.ElementLength() >= fits && inverses.ElementLength() >= fits, "one scale for each group");
  searchOf(info).scale(groups, numberOf(info, 3).DoubleValue(), scales.Data(), inverses.Data());
}

/** (x, groupSize, top, scales) */
void FitByDescent(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  need(env, info.Length() == 4, "fitByDescent takes 4 arguments");
  const auto x = floatsOf(info, 0);
  const quern::Groups groups = {x.Data(), nullptr, x.ElementLength(), numberOf(info, 1).Uint32Value()};
  needGroups(env, groups);
  auto scales = doublesOf(info, 3);
  need(env, scales.ElementLength() >= groups.count / groups.size, "one scale for each group");
  searchOf(info).descent(groups, numberOf(info, 2).DoubleValue(), scales.Data());
}

/** (x, weights, groupSize, curve, nearest, scales) */
void FitCurve(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  need(env, info.Length() == 6, "fitCurve takes 6 arguments");
  const auto groups = groupsOf(env, floatsOf(info, 0), doublesOf(info, 1),
                               numberOf(info, 2).Uint32Value());
  const auto values = doublesOf(info, 3);
  const auto nearest = bytesOf(info, 4);
  auto scales = doublesOf(info, 5);
  need(env, values.ElementLength() == 16 && nearest.ElementLength() == 512, "a curve has 16 values and 512 steps");
  need(env, scales.ElementLength() >= groups.count / groups.size, "one scale for each group");
  searchOf(info).curve(groups, {values.Data(), nearest.Data()}, scales.Data());
}

Napi::Object functionsOf(Napi::Env env, const quern::Search& search) {
  void* data = const_cast<quern::Search*>(&search);
  auto functions = Napi::Object::New(env);
  functions.Set("fitAffine", Napi::Function::New(env, FitAffine, "fitAffine", data));
  functions.Set("fitScale", Napi::Function::New(env, FitScale, "fitScale", data));
  functions.Set("fitByDescent", Napi::Function::New(env, FitByDescent, "fitByDescent", data));
  functions.Set("fitCurve", Napi::Function::New(env, FitCurve, "fitCurve", data));
  return functions;
}

/** An object with one set of functions per instruction set of this machine. */
Napi::Object Init(Napi::Env env, Napi::Object exports) {
  exports.Set("baseline", functionsOf(env, quern::baseline));
#ifdef QUERN_X86
  if (quern::hasAvx2()) exports.Set("avx2", functionsOf(env, quern::avx2));
#endif
  return exports;
}

}  // namespace

NODE_API_MODULE(quant, Init)

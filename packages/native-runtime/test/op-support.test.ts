import { coreOps, fusedOps } from '@quern/core';
import { nativeCoreOps, nativeFusedOps } from '../src/generated/ops.js';
import { fullManifest, plainManifest } from '../src/index.js';
import { claims } from '../src/op-support.js';

const full = fullManifest(() => [], undefined, ['moe']);

test('the generated lists are the op table, in its order', () => {
  expect(nativeCoreOps).toEqual(Object.keys(coreOps));
  expect(nativeFusedOps).toEqual(Object.keys(fusedOps));
});

test('a manifest claims every op of the native code but those left out', () => {
  expect(Object.keys(plainManifest.ops)).toEqual([...nativeCoreOps]);
  expect(Object.keys(full.ops)).toEqual([...nativeCoreOps]);
  expect(Object.keys(full.fused ?? {})).toEqual(nativeFusedOps.filter((op) => op !== 'moe'));
});

test('the floats of a claim are f32 and those that the op takes', () => {
  expect(full.ops.cast?.dtypes).toEqual(['f32', 'f16', 'bf16']);
  expect(full.ops.kvAppend?.dtypes).toEqual(['f32']); // its caches have other types, its slots are integers
  expect(full.ops.embed?.dtypes).toEqual(['f32']); // its tensors are integers
});

test('with a core of another version, ops that it does not know are not claimed', () => {
  const { tanh, cast } = coreOps;
  expect(Object.keys(claims(['tanh', 'later'], { tanh, cast }, () => ({})))).toEqual(['tanh']);
});

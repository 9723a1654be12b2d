import type { Manifest } from '@quern/core';
import { fullManifest } from '@quern/native-runtime';
import { ggufFormats } from './formats.js';

/** GPTQ matrices with columns reordered by group (act-order): `linear` reorders its input to match. */
const orderedGptq = 'gptq';

/** Block sizes (tokens) with which attention is as fast as with one block. */
export const blockSizes: readonly number[] = [8, 16, 32, 64, 128, 256];

/** Every core op and every fused op. */
export const manifest: Manifest = fullManifest((op) => [
  ...ggufFormats,
  ...(op === 'linear' ? [orderedGptq] : []),
]);

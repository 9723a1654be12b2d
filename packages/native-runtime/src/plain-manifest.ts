import { cacheDtypes, denseFormats, type Manifest } from '@quern/core';
import { coreClaims, takes } from './op-support.js';

/** Capabilities of the plain ops (native/quern/plain), which are all core ops: f32, dense weights, caches of all types. */
export const plainManifest: Manifest = {
  ops: coreClaims((op) => ({
    ...{ weightFormats: denseFormats, cacheDtypes },
    ...takes(op),
  })),
};

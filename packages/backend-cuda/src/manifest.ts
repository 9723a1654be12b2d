import { denseFormats, type Manifest, type OpSupport } from '@quern/core';
import { plainManifest } from '@quern/native-runtime';
import { ggufFormats } from './formats.js';

/** Ops with matrix weights, in any format. The other ops take vectors; vectors are dense. */
const matrixOps: ReadonlySet<string> = new Set(['embed', 'linear', 'conv1d', 'expertLinear']);

const supportOf = (op: string, plain: OpSupport): OpSupport => ({
  ...plain,
  weightFormats: matrixOps.has(op) ? [...denseFormats, ...ggufFormats] : denseFormats,
});

/** Every core op. */
export const manifest: Manifest = {
  ops: Object.fromEntries(
    Object.entries(plainManifest.ops).map(([op, plain]) => [op, supportOf(op, plain as OpSupport)]),
  ) as Manifest['ops'],
};

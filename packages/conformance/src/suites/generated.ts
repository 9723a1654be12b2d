import { type CoreOpName, coreOps } from '@quern/core';
import type { Suite } from '../case.js';
import { generate } from '../ops/generate.js';
import { coreCase } from '../ops/op-case.js';

/** Every op on seeded shapes: odd sizes, one row, no rows, more than a vector register. */
export const generated: Suite = (lab) =>
  (Object.keys(coreOps) as CoreOpName[]).flatMap((name) =>
    generate(name, lab.seed).map((sample) => coreCase(lab, 'generated', coreOps[name], sample)),
  );

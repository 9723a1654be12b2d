import { type AnyOp, type FusedOpName, fusedOps } from '@quern/core';
import type { Case, Suite } from '../case.js';
import type { Lab } from '../lab.js';
import { beyondClaim } from '../ops/claim.js';
import { checkOutcome, type OpCase } from '../ops/expect.js';
import { generate } from '../ops/generate.js';
import { plainForms } from '../ops/plain-forms.js';
import { proveCase, type RecordCase, runCase } from '../ops/run-op.js';

const recordPlainly =
  (name: FusedOpName): RecordCase =>
  (step, bound, { attributes }) =>
    plainForms[name](step, bound.values, attributes);

/**
 * The plain form on a backend that may fuse, or the record of `ask`. The fused kernel must run, and its result must
 * equal its definition and the plain ops.
 */
export function fusedCase(
  lab: Lab,
  suite: string,
  name: FusedOpName,
  sample: OpCase,
  ask = recordPlainly(name),
): Case {
  const op: AnyOp = fusedOps[name];
  const label = `${name}: ${sample.name}`;
  const notSupported = beyondClaim(op, lab.support(name), sample.operands);
  if (notSupported) return { suite, name: label, notSupported };
  return {
    suite,
    name: label,
    async run() {
      const note = lab.noteOf(op, sample);
      const fused = await proveCase(await lab.guarded([name]), op, sample, ask, 'whole', note);
      const plain = await runCase(await lab.guarded(false), op, sample, recordPlainly(name));
      checkOutcome(op, sample, fused, plain);
    },
  };
}

/** Every fused op of the rewrites and the manifest, on its samples and on generated shapes. */
export const fused: Suite = (lab) =>
  (Object.keys(fusedOps) as FusedOpName[]).flatMap((name) => {
    if (!lab.support(name))
      return [{ suite: 'fused', name, notSupported: `the manifest does not claim '${name}'` }];
    if (name === 'moe') return []; // recorded by name: see suite moeFused
    const cases = [...fusedOps[name].samples(), ...generate(name, lab.seed)];
    return cases.map((sample) => fusedCase(lab, 'fused', name, sample));
  });

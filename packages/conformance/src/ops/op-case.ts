import type { AnyOp } from '@quern/core';
import type { Case } from '../case.js';
import type { Lab } from '../lab.js';
import type { Binding } from './bind.js';
import { beyondClaim } from './claim.js';
import type { OpCase } from './expect.js';
import { proveCase, recordItself } from './run-op.js';

/** A case that runs one core op, unfused, against its definition. */
export function coreCase(
  lab: Lab,
  suite: string,
  op: AnyOp,
  sample: OpCase,
  binding: Binding = 'whole',
): Case {
  const name = `${op.name}: ${sample.name}`;
  const notSupported = beyondClaim(op, lab.support(op.name), sample.operands);
  if (notSupported) return { suite, name, notSupported };
  return {
    suite,
    name,
    async run() {
      const backend = await lab.guarded(false);
      await proveCase(backend, op, sample, recordItself(op), binding, lab.noteOf(op, sample));
    },
  };
}

import type { Collective } from './capability/collective.js';
import type { MoeFused } from './capability/moe-fused.js';
import { collectiveOps, reductions } from './collectives/index.js';
import { showShape } from './dtype.js';
import { fusedOps } from './fusions/index.js';
import { badShape } from './op/check.js';
import { record } from './op/record.js';

/** MoeFused.moe as one record. */
export const recordMoe: MoeFused['moe'] = (x, experts, residual, { experts: count, chosen, renormalise }) => {
  if (experts.router.shape[0] !== count)
    throw badShape(
      'moe',
      `router must have shape [${count}, D] (MoeRouting); got ${showShape(experts.router.shape)}`,
    );
  const attributes = { chosen, renormalise: renormalise ? 1 : 0 };
  return record(x, fusedOps.moe, { x, ...experts, residual }, attributes);
};

/** Collective.allReduce and allGather as one record each. */
export const recordCollective = (worldSize: number): Pick<Collective, 'allReduce' | 'allGather'> => ({
  allReduce: (x, by) => record(x, collectiveOps.allReduce, { x }, { by: reductions[by] }),
  allGather: (x) => record(x, collectiveOps.allGather, { x }, { worldSize }),
});

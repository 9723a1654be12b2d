import { type CollectiveOpName, collectiveOps } from './collectives/index.js';
import type { Driver, OpSupport } from './driver.js';
import type { DType } from './dtype.js';
import { BackendError } from './error.js';
import { type FusedOpName, fusedOps } from './fusions/index.js';
import { fills } from './generated/ops.js';
import { needKnownOps } from './known-names.js';
import { kvElements } from './kv/kv-cache.js';
import type { AnyOp } from './op/define-op.js';
import { type CoreOpName, coreOps } from './ops/index.js';
import { type Filled, filledHoles } from './plan/fill.js';
import type { PlanOperand } from './plan/plan.js';
import { denseFormats } from './weight.js';

const bad = (driver: Driver, message: string) =>
  new BackendError('BAD_DRIVER', `driver '${driver.name}': ${message}`);

/** Support of the ops that core fills. */
const ofFilled: OpSupport = { dtypes: ['f32'] };

/** Claims of a driver for an op. */
export const supportOf = ({ manifest }: Pick<Driver, 'manifest'>, name: string): OpSupport | undefined =>
  manifest.ops[name as CoreOpName] ??
  manifest.fused?.[name as FusedOpName] ??
  manifest.collective?.[name as CollectiveOpName];

/** The holes in a driver's manifest, and how core fills them. */
export const filledOf = (driver: Driver): Filled => filledHoles((op) => supportOf(driver, op) !== undefined);

/** Whether the op takes buffers of this dtype. */
const takesBuffer = ({ operands }: AnyOp, dtype: DType) =>
  Object.values(operands).some(({ kind, dtypes }) => kind === 'buffer' && dtypes?.includes(dtype));

/** Whether the op has such an operand, without those that joined it later and that the driver does not take. */
const has = (op: AnyOp, kind: string, { takes }: Pick<OpSupport, 'takes'> = {}) =>
  Object.entries(op.operands).some(
    ([name, rule]) => rule.kind === kind && (!rule.claimed || takes?.includes(name)),
  );

/** Minimum support of a core op on any backend: f32, dense weights, caches in f32 and f16. */
function needCore(driver: Driver, op: AnyOp): void {
  const support = supportOf(driver, op.name);
  if (!support && op.name in fills) return;
  if (!support) throw bad(driver, `the manifest has no entry for the core op '${op.name}'`);
  if (!support.dtypes.includes('f32')) throw bad(driver, `'${op.name}' must support f32`);
  for (const format of has(op, 'weight', support) ? denseFormats : [])
    if (!support.weightFormats?.includes(format))
      throw bad(driver, `'${op.name}' must support ${format} weights`);
  for (const dtype of ['f32', 'f16'] as const)
    if (takesBuffer(op, dtype) && !support.cacheDtypes?.includes(dtype))
      throw bad(driver, `'${op.name}' must support ${dtype} caches`);
}

/** The op supports every declared cache dtype. */
function needCaches(driver: Driver, op: AnyOp): void {
  const support = supportOf(driver, op.name);
  if (!support) return;
  for (const dtype of driver.capabilities?.kvQuant?.dtypes ?? [])
    if (takesBuffer(op, kvElements[dtype]) && !support.cacheDtypes?.includes(kvElements[dtype]))
      throw bad(
        driver,
        `it declares ${dtype} caches, but '${op.name}' does not support ${kvElements[dtype]}`,
      );
}

function needKernels(driver: Driver): void {
  if (!('kernels' in driver)) return;
  const { ops, fused, collective } = driver.manifest;
  const names = [ops, fused ?? {}, collective ?? {}].flatMap((claims) => Object.keys(claims));
  for (const name of names)
    if (typeof (driver.kernels as Readonly<Record<string, unknown>>)[name] !== 'function')
      throw bad(driver, `the manifest claims '${name}', but there is no kernel for it`);
}

/** Bf16 claims of an op name only its f32 operands. */
function needBf16(driver: Driver, op: AnyOp): void {
  const support = supportOf(driver, op.name);
  for (const name of Object.keys(support?.rounds ?? {}))
    if (!op.operands[name]?.dtypes?.includes('f32'))
      throw bad(driver, `'${op.name}' rounds '${name}', which is not an f32 operand of '${op.name}'`);
  if (support?.stores?.some((dtype) => dtype !== 'bf16'))
    throw bad(driver, `'${op.name}' stores ${support.stores}; outputs can be stored in bf16 alone`);
}

/** Throws BAD_DRIVER if the manifest claims too little or too much. */
export function needManifest(driver: Driver): void {
  needKnownOps(driver);
  for (const op of Object.values(coreOps)) needCore(driver, op);
  for (const op of [...Object.values(coreOps), ...Object.values(fusedOps)]) {
    needCaches(driver, op);
    needBf16(driver, op);
  }
  if (!('kernels' in driver) && !('executor' in driver))
    throw bad(driver, 'it has neither kernels nor an executor');
  if ('executor' in driver && driver.capabilities?.graph && !driver.executor.capture)
    throw bad(driver, "it declares 'graph', but its executor has no capture");
  if (driver.capabilities?.quantGptq && !driver.loadGptq)
    throw bad(driver, "it declares 'quantGptq', but has no loadGptq");
  if (driver.capabilities?.moeFused && !driver.manifest.fused?.moe)
    throw bad(driver, "it declares 'moeFused', but lacks 'moe' in its manifest");
  needCollective(driver);
  needKernels(driver);
}

/** A driver with `collective` has all collective ops; any other driver has none. */
function needCollective({ manifest, capabilities, ...driver }: Driver): void {
  const declared = capabilities?.collective !== undefined;
  for (const name of Object.keys(collectiveOps))
    if (Boolean(manifest.collective?.[name as CollectiveOpName]?.dtypes.includes('f32')) !== declared)
      throw new BackendError(
        'BAD_DRIVER',
        `driver '${driver.name}': it ${declared ? "declares 'collective', but lacks" : 'claims'} '${name}'${declared ? '' : ", but does not declare 'collective'"}`,
      );
}

/** Why a driver cannot compute an op with these operands; undefined when it can. */
function obstacle(
  { operands: rules }: AnyOp,
  support: OpSupport | undefined,
  operands: readonly (PlanOperand | undefined)[],
): string | undefined {
  if (!support) return 'it has no kernel for it';
  const unclaimed = Object.keys(rules).find(
    (name, i) => operands[i] && rules[name]!.claimed && !support.takes?.includes(name),
  );
  if (unclaimed) return `no kernel takes '${unclaimed}'`;
  for (const operand of operands) {
    if (operand?.kind === 'weight' && !support.weightFormats?.includes(operand.format))
      return `no kernel takes ${operand.format} weights`;
    if (operand?.kind === 'buffer' && !support.cacheDtypes?.includes(operand.dtype))
      return `no kernel takes ${operand.dtype} caches`;
    if (operand?.kind === 'tensor' && operand.dtype !== 'i32' && !support.dtypes.includes(operand.dtype))
      return `no kernel takes ${operand.dtype}`;
  }
  return undefined;
}

export const supportsOp = (
  driver: Driver,
  op: AnyOp,
  operands: readonly (PlanOperand | undefined)[],
): boolean => obstacle(op, supportOf(driver, op.name), operands) === undefined;

/** Support of an op that models may record: the driver's, or core's if core fills the op. */
const recordable = (driver: Driver, { name }: AnyOp): OpSupport | undefined =>
  supportOf(driver, name) ?? (name in filledOf(driver) ? ofFilled : undefined);

/** Throws UNSUPPORTED with the reason. */
export function needOpSupport(
  driver: Driver,
  op: AnyOp,
  operands: readonly (PlanOperand | undefined)[],
): void {
  const why = obstacle(op, recordable(driver, op), operands);
  if (why) throw new BackendError('UNSUPPORTED', `[${op.name}] backend '${driver.name}' cannot: ${why}`);
}

import { elementCount } from '../dtype.js';
import type { Plan, PlanOp, PlanOperand, Storage, TensorOperand } from './plan.js';

/** Who makes and who uses each storage of a plan. */
export class PlanGraph {
  readonly ops: readonly PlanOp[];
  /** By storage id. */
  private readonly makers: (number | undefined)[];
  private readonly readers: (number[] | undefined)[];

  constructor({ ops, storages }: Plan) {
    this.ops = ops;
    this.makers = new Array(storages.length);
    this.readers = new Array(storages.length);
    for (let i = 0; i < ops.length; i++) {
      for (const { storage } of ops[i]!.outputs) this.makers[storage.id] = i;
      for (const operand of ops[i]!.operands)
        if (operand?.kind === 'tensor') this.addReader(operand.storage, i);
    }
  }

  /** Ops that read a tensor's storage, in order. */
  users(tensor: TensorOperand): readonly number[] {
    return this.readers[tensor.storage.id] ?? [];
  }

  /** The op `name` that made all of `value`, if there is one. Another shape of the same elements is the same value. */
  maker(value: PlanOperand | undefined, name: string): number | undefined {
    if (value?.kind !== 'tensor') return undefined;
    const index = this.makers[value.storage.id];
    const op = index === undefined ? undefined : this.ops[index];
    return op?.op.name === name && op.outputs.some((output) => sameValue(output, value)) ? index : undefined;
  }

  /** As `maker`, for a value that nothing but `user` needs: fusing may make it disappear. */
  soleMaker(value: PlanOperand | undefined, name: string, user: number): number | undefined {
    if (value?.kind !== 'tensor' || value.storage.kept) return undefined;
    const users = this.users(value);
    return users.length === 1 && users[0] === user ? this.maker(value, name) : undefined;
  }

  private addReader({ id }: Storage, index: number): void {
    const known = this.readers[id];
    if (!known) this.readers[id] = [index];
    else if (known[known.length - 1] !== index) known.push(index);
  }
}

/** The same elements, perhaps in another shape. */
export function sameValue(a: PlanOperand | undefined, b: PlanOperand | undefined): boolean {
  if (a?.kind !== 'tensor' || b?.kind !== 'tensor') return false;
  return (
    a.storage === b.storage &&
    a.byteOffset === b.byteOffset &&
    elementCount(a.shape) === elementCount(b.shape)
  );
}

import { elementCount } from '../dtype.js';
import type { Plan, PlanOp, PlanOperand, Storage, TensorOperand } from './plan.js';

const none = -1;

/** The maker and the readers of each storage of a plan. */
export class PlanGraph {
  readonly ops: readonly PlanOp[];
  /** By storage id: the op that makes it, or none. */
  private readonly makers: Int32Array;
  /** By storage id: index of its first entry in `readers` and `next`, or none. */
  private readonly firstReader: Int32Array;
  /** Ops that read, and the index of the next reader of the same storage. */
  private readonly readers: number[] = [];
  private readonly next: number[] = [];

  constructor({ ops, storages }: Plan) {
    this.ops = ops;
    this.makers = new Int32Array(storages.length).fill(none);
    this.firstReader = new Int32Array(storages.length).fill(none);
    for (let i = ops.length - 1; i >= 0; i--) {
      for (const { storage } of ops[i]!.outputs) this.makers[storage.id] = i;
      for (const operand of ops[i]!.operands)
        if (operand?.kind === 'tensor') this.addReader(operand.storage, i);
    }
  }

  /** Ops that read a tensor's storage, in order. */
  users({ storage }: TensorOperand): readonly number[] {
    const users: number[] = [];
    for (let entry = this.firstReader[storage.id]!; entry !== none; entry = this.next[entry]!)
      users.push(this.readers[entry]!);
    return users;
  }

  /** The op `name` that made all of `value`, if any. A reshaped value is the same value. */
  maker(value: PlanOperand | undefined, name: string): number | undefined {
    if (value?.kind !== 'tensor') return undefined;
    const index = this.makers[value.storage.id]!;
    const op = this.ops[index]; // undefined if no op made it
    return op?.op.name === name && op.outputs.some((output) => sameValue(output, value)) ? index : undefined;
  }

  /** As `maker`, for a value with `user` as its only reader: fusing may remove the value. */
  soleMaker(value: PlanOperand | undefined, name: string, user: number): number | undefined {
    if (value?.kind !== 'tensor' || value.storage.kept) return undefined;
    const users = this.users(value);
    return users.length === 1 && users[0] === user ? this.maker(value, name) : undefined;
  }

  /** Ops must be added from the last to the first. */
  private addReader({ id }: Storage, index: number): void {
    const first = this.firstReader[id]!;
    if (first !== none && this.readers[first] === index) return; // the op reads the storage twice
    this.firstReader[id] = this.readers.length;
    this.readers.push(index);
    this.next.push(first);
  }
}

/** The same elements, in any shape. */
export function sameValue(a: PlanOperand | undefined, b: PlanOperand | undefined): boolean {
  if (a?.kind !== 'tensor' || b?.kind !== 'tensor') return false;
  return (
    a.storage === b.storage &&
    a.byteOffset === b.byteOffset &&
    elementCount(a.shape) === elementCount(b.shape)
  );
}

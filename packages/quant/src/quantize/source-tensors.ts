import type { TensorInfo } from '../gguf/gguf-file.js';
import type { QuantizedTensor } from './write-quantized.js';

/** What files of before stacks call the matrix of an expert: blk.0.ffn_gate.7.weight. */
const apart = /^(blk\.\d+\.ffn_(?:gate|up|down))\.(\d+)\.weight$/;

/**
 * The tensors of a GGUF file as sources of another. The matrices of experts become stacks, which today's readers want, where
 * they are as many as the highest number says, and alike.
 */
export function sourceTensors(tensors: readonly TensorInfo[]): readonly QuantizedTensor[] {
  const stacks = stacksOf(tensors);
  const done = new Set<string>();
  return tensors.flatMap((tensor) => {
    const name = apart.exec(tensor.name)?.[1];
    const stack = name === undefined ? undefined : stacks.get(name);
    if (!stack) return [sourceOf(tensor.name, tensor.shape, [tensor])];
    if (done.has(name!)) return [];
    done.add(name!);
    return [sourceOf(`${name}_exps.weight`, [stack.length, ...tensor.shape], stack)];
  });
}

const sourceOf = (name: string, shape: readonly number[], parts: readonly TensorInfo[]): QuantizedTensor => ({
  name,
  shape,
  from: parts[0]!.format,
  to: parts[0]!.format,
  parts: parts.map(({ path, offset, byteLength }) => ({ path, offset, byteLength })),
});

/** The experts of each name in their order. */
function stacksOf(tensors: readonly TensorInfo[]): ReadonlyMap<string, readonly TensorInfo[]> {
  const found = new Map<string, { expert: number; tensor: TensorInfo }[]>();
  for (const tensor of tensors) {
    const [, name, expert] = apart.exec(tensor.name) ?? [];
    if (name === undefined) continue;
    const list = found.get(name) ?? [];
    found.set(name, list);
    list.push({ expert: Number(expert), tensor });
  }
  const stacks = new Map<string, readonly TensorInfo[]>();
  for (const [name, list] of found) {
    list.sort((a, b) => a.expert - b.expert);
    const first = list[0]!.tensor;
    const alike = ({ shape, format }: TensorInfo) =>
      `${shape}` === `${first.shape}` && format === first.format;
    if (list.every(({ expert, tensor }, i) => expert === i && alike(tensor)))
      stacks.set(
        name,
        list.map(({ tensor }) => tensor),
      );
  }
  return stacks;
}

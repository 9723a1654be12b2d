import type { TensorInfo } from '../gguf/gguf-file.js';
import type { QuantizedTensor } from './write-quantized.js';

/** Name of an expert's matrix in old files without stacks: blk.0.ffn_gate.7.weight. */
const apart = /^(blk\.\d+\.ffn_(?:gate|up|down))\.(\d+)\.weight$/;

/**
 * The tensors of a GGUF file as sources for another file. Separate matrices of experts become stacks, as current
 * readers expect, if they are complete (0 to the highest number) and have the same shape and format.
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

/** The experts of each name, in order. */
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

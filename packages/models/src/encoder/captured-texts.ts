import type { CapturedGraph, Graph, Tensor } from '@quern/core';
import type { EncodedText, EncoderArrays, EncoderInputs, EncoderModel } from './encoder-model.js';

/** What is computed of texts. */
export type EncoderHead = 'embed' | 'classify';

/** Most captured steps that are kept. */
const mostKept = 32;

/** Most rows that those have together, for their activations stay in memory. */
const mostRowsKept = 4096;

/** So many batches are looked back upon for one of the same size. */
const remembered = 256;

interface CapturedBatch {
  /** Tokens of all texts. */
  readonly rows: number;
  readonly graph: CapturedGraph;
  readonly inputs: EncoderInputs;
  readonly y: Tensor;
}

/**
 * Computes texts with steps that are captured: one serves all batches of as many texts and tokens, and costs no recording, no
 * preparing and no memory of its own each time. A step serves one call at a time; calls that overlap get one each.
 */
export class CapturedTexts {
  /** By what they compute, the one used longest ago first. */
  private readonly idle = new Map<string, CapturedBatch>();

  /** Of the last batches, the latest last. */
  private readonly seen = new Set<string>();

  private disposed = false;

  constructor(
    private readonly model: EncoderModel,
    private readonly capability: Graph,
  ) {}

  /** Whether a batch of that size has come before: then capturing it pays. */
  comesAgain(head: EncoderHead, texts: readonly EncodedText[]): boolean {
    const key = keyOf(head, texts);
    const again = this.seen.delete(key);
    this.seen.add(key);
    const [oldest] = this.seen;
    if (this.seen.size > remembered) this.seen.delete(oldest!);
    return again;
  }

  /** [S, width of the head]. Rejects with ModelError BAD_ARGUMENT, MISSING_WEIGHT; BackendError ABORTED, OUT_OF_MEMORY, DISPOSED. */
  async compute(
    head: EncoderHead,
    texts: readonly EncodedText[],
    signal: AbortSignal | undefined,
  ): Promise<Float32Array> {
    const arrays = this.model.arrays(texts);
    const key = keyOf(head, texts);
    const batch = this.take(key) ?? (await this.capture(head, arrays));
    try {
      for (const name of ['ids', 'positions', 'segments', 'cuSeqlens'] as const)
        batch.graph.write(batch.inputs[name], arrays[name]);
      await batch.graph.replay(signal ? { signal } : {});
      return Float32Array.from(batch.graph.read(batch.y) as Float32Array);
    } finally {
      this.keep(key, batch);
    }
  }

  /** Steps of calls that are under way are freed when these end. */
  dispose(): void {
    this.disposed = true;
    for (const { graph } of this.idle.values()) graph.dispose();
    this.idle.clear();
  }

  private take(key: string): CapturedBatch | undefined {
    const batch = this.idle.get(key);
    this.idle.delete(key);
    return batch;
  }

  private keep(key: string, batch: CapturedBatch): void {
    this.idle.get(key)?.graph.dispose(); // of a call that overlapped
    this.idle.delete(key);
    if (this.disposed) batch.graph.dispose();
    if (batch.graph.disposed) return;
    this.idle.set(key, batch);
    for (const oldest of this.idle.keys()) {
      if (this.idle.size <= mostKept && this.idleRows() <= mostRowsKept) return;
      this.take(oldest)?.graph.dispose();
    }
  }

  private idleRows(): number {
    return [...this.idle.values()].reduce((sum, { rows }) => sum + rows, 0);
  }

  private async capture(head: EncoderHead, arrays: EncoderArrays): Promise<CapturedBatch> {
    const step = this.model.backend.step();
    const inputs = this.model.inputs(step, arrays);
    const y = head === 'embed' ? this.model.embedInputs(inputs) : this.model.classifyInputs(inputs);
    step.keep(y);
    const graph = await this.capability.capture(step);
    return { rows: arrays.ids.length, graph, inputs, y };
  }
}

/** Equal where one captured step serves both. */
const keyOf = (head: EncoderHead, texts: readonly EncodedText[]): string =>
  `${head} ${rowsOf(texts)} ${texts.length}`;

/** Tokens of all texts. */
export const rowsOf = (texts: readonly EncodedText[]): number =>
  texts.reduce((sum, { ids }) => sum + ids.length, 0);

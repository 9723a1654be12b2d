import type { OffloadedBlock } from '../prefix-block.js';

/** An evicted block. */
export interface KeptBlock {
  readonly block: OffloadedBlock;
  readonly values: Uint8Array;
}

/** Evicted blocks in host memory, by name. The least recently stored ones go first. */
export class MemoryBlocks {
  private readonly blocks = new Map<string, KeptBlock>();
  /** Bytes of all values. */
  bytes = 0;

  constructor(private readonly mostBytes: number) {}

  has(name: string): boolean {
    return this.blocks.has(name);
  }

  get(name: string): KeptBlock | undefined {
    return this.blocks.get(name);
  }

  put(kept: KeptBlock): void {
    const {
      block: { name },
      values,
    } = kept;
    this.delete(name);
    for (const oldest of this.blocks.keys()) {
      if (this.bytes + values.length <= this.mostBytes) break;
      this.delete(oldest);
    }
    if (this.bytes + values.length > this.mostBytes) return;
    this.blocks.set(name, kept);
    this.bytes += values.length;
  }

  delete(name: string): void {
    this.bytes -= this.blocks.get(name)?.values.length ?? 0;
    this.blocks.delete(name);
  }
}

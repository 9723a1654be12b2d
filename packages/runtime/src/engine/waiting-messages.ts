import { RuntimeError } from '../error.js';
import type { BlockManager } from './block-manager.js';
import type { Lease } from './lease.js';

export const longWait = (blockManager: BlockManager, lease: Lease, before: number): string =>
  `a call waits for room in the cache: ${wants(blockManager, lease, before)}`;

export const busy = (blockManager: BlockManager, lease: Lease, before: number, ms: number): RuntimeError =>
  new RuntimeError('BUSY', `no room in the cache within ${ms} ms: ${wants(blockManager, lease, before)}`);

export const queueFull = ({ blocks, freeBlocks }: BlockManager, waiting: number): RuntimeError =>
  new RuntimeError(
    'BUSY',
    `${waiting} ${waiting === 1 ? 'call waits' : 'calls wait'} for room in the cache already, as many as \`maxQueue\` (--max-queue) allows (${freeBlocks} of ${blocks} ` +
      'blocks are free): call again later, or load the model with more `sequences` (--sequences on the command line)',
  );

/** What the call waits for, which calls hold the blocks, and advice. */
function wants(
  { blocks, blockSize, freeBlocks, holders }: BlockManager,
  lease: Lease,
  before: number,
): string {
  const needed = Math.ceil((lease.tokens.length + 1) / blockSize) * blockSize;
  const held = (blocks - freeBlocks) * blockSize;
  const calls = holders.size === 1 ? '1 call holds' : `${holders.size} calls hold`;
  return (
    `it needs ${needed} tokens of context, and ${calls} ${held} of ${blocks * blockSize}` +
    `${before > 0 ? `, with ${before} more before it` : ''}. What helps: read generations to their end or leave ` +
    'their loops; more `sequences` when the model is loaded (--sequences on the command line)'
  );
}

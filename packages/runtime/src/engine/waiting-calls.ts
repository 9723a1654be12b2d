import { giveNotice, type NoticeListener } from '../notice.js';
import type { BlockManager } from './block-manager.js';
import { callersBefore } from './callers.js';
import { aborted, type Member } from './member.js';
import { type WaitEvents, watchWait } from './wait.js';
import { busy, longWait, queueFull } from './waiting-messages.js';

export interface WaitingOptions {
  readonly blockManager: BlockManager;
  /** Most callers that wait for room; more reject with BUSY. */
  readonly maxQueue: number;
  readonly onNotice: NoticeListener;
}

/** Whether a request waits for blocks. */
const waits = ({ lease, ended }: Member): boolean => !lease.started && !ended;

/** The requests of a scheduler that wait for blocks, in their order. */
export const waitingOf = (members: readonly Member[]): readonly Member[] => members.filter(waits);

/** Bounds the queue and the time of requests that wait for blocks. */
export class WaitingCalls {
  /** @param onEnd called when a wait has ended without blocks */
  constructor(
    private readonly options: WaitingOptions,
    private readonly onEnd: () => void,
  ) {}

  /** Blocks are short: `waiting` wait for them, the first `maxQueue` of them. A call that was preempted is never refused. */
  watch(waiting: readonly Member[]): void {
    const { maxQueue, blockManager } = this.options;
    const places = callersBefore(waiting);
    for (const [i, member] of waiting.entries()) {
      const place = places[i]!;
      if (place >= maxQueue && member.lease.startedAt === 0) member.fail(queueFull(blockManager, maxQueue));
      else if (member.lease.patience === 0) member.fail(busy(blockManager, member.lease, place, 0));
      else if (!member.stopWaiting) member.stopWaiting = this.watchOne(member, place);
    }
  }

  /** @param place number of calls that wait before this one */
  private watchOne(member: Member, place: number): () => void {
    const { blockManager, onNotice } = this.options;
    const { lease, request } = member;
    const end = (error: Error): void => {
      member.fail(error);
      this.onEnd();
    };
    const events: WaitEvents = {
      onAbort: () => end(aborted()),
      onLong: () => lease.turn === 0 && giveNotice(onNotice, longWait(blockManager, lease, place)),
      onTimeout: (ms) => end(busy(blockManager, lease, place, ms)),
    };
    return watchWait({ signal: request.signal, maxWaitMs: lease.patience }, events);
  }
}

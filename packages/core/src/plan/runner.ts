import type { ByteRange, CapturedPlan, PlanChain, PlanExecutor, PlanIo } from '../driver.js';
import type { EncodedPlan } from './encode.js';

/** Runs a prepared plan. */
export interface Runner {
  /** Passes the plan to the driver for replays. Absent: the driver keeps no plans. */
  capture?(chain: PlanChain | undefined): Promise<void>;
  /** The device has the plan when the call returns, unless the host computes some ops in between (`inParts`). */
  run(dirty: readonly ByteRange[], control: Int32Array): Promise<void>;
  readonly inParts?: boolean;
  readonly runChain?: CapturedPlan['replayChain'];
  dispose(): void;
}

/** A plan for a driver that takes whole plans. */
export class ExecutorRunner implements Runner {
  private kept: CapturedPlan | undefined;

  constructor(
    private readonly executor: PlanExecutor,
    private readonly encoded: EncodedPlan,
    private readonly io: PlanIo,
  ) {}

  async capture(chain: PlanChain | undefined): Promise<void> {
    this.kept = await this.executor.capture!(this.encoded, this.io, chain);
  }

  run(dirty: readonly ByteRange[], control: Int32Array): Promise<void> {
    return this.kept ? this.kept.replay(dirty, control) : this.executor.execute(this.encoded, this.io);
  }

  get runChain(): CapturedPlan['replayChain'] {
    const { kept } = this;
    return kept?.replayChain?.bind(kept);
  }

  dispose(): void {
    this.kept?.dispose();
  }
}

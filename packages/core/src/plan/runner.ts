import type { CapturedPlan } from '../driver.js';

/** What computes a prepared plan. */
export interface Runner {
  run(): Promise<void>;
  runChain?: CapturedPlan['replayChain'];
  dispose(): void;
}

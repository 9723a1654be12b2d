import type { Lab } from './lab.js';

/** One thing to prove. `run` throws if the driver is wrong. */
export interface RunnableCase {
  readonly suite: string;
  readonly name: string;
  run(lab: Lab): Promise<void>;
}

/** One thing that the driver does not claim. */
export interface UnsupportedCase {
  readonly suite: string;
  readonly name: string;
  readonly notSupported: string;
}

export type Case = RunnableCase | UnsupportedCase;

/** Lists the cases of one suite for a driver. */
export type Suite = (lab: Lab) => readonly Case[];

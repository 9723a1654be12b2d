import type { Lab } from './lab.js';

/** One thing to prove. `run` throws where the driver is wrong. */
export interface RunnableCase {
  readonly suite: string;
  readonly name: string;
  run(lab: Lab): Promise<void>;
}

/** One thing that the driver does not claim to do. */
export interface UnsupportedCase {
  readonly suite: string;
  readonly name: string;
  readonly notSupported: string;
}

export type Case = RunnableCase | UnsupportedCase;

/** Lists the cases of one suite for the driver at hand. */
export type Suite = (lab: Lab) => readonly Case[];

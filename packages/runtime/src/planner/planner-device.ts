import { type Backend, checkArgument, type DeviceProfile, type Filled } from '@quern/core';
import { describeModel, type ModelCosts, type ModelDescription, type ModelFile } from '@quern/models';

import { badArgument } from '../error.js';
import { backendRule } from '../model/load-options.js';
import type { StepBytes } from './rehearse-steps.js';

/** What the planner must know of a model, whichever backend computes it. */
export type PlannedModel = Pick<ModelDescription, 'architecture' | 'config'>;

/** A backend, and the model as it would lie on it. */
export interface PlannerDevice {
  /** The backend's name; of several instances of one backend, each has a name of its own. */
  readonly backend: string;
  readonly profile: DeviceProfile;
  /** Bytes free now. */
  readonly freeMemory: number;
  /** What the weights take on this device: as in the file where it reads their format, else as f32. */
  readonly costs: ModelCosts;
  /** Formats of the model that the device does not read: such weights are decoded. */
  readonly decoded: readonly string[];
  /** Ops that its driver lacks, and how core computes them. Absent: none. */
  readonly filled?: Filled;
  /** What the model's largest steps take on it, as recorded by `rehearseSteps`. Absent: the planner estimates. */
  readonly steps?: StepBytes | undefined;
}

/**
 * @param name in place of the backend's own
 * @throws ModelError MISSING_WEIGHT, BAD_WEIGHT_SHAPE or UNKNOWN_FORMAT; BAD_ARGUMENT of it and of RuntimeError
 */
export function plannerDevice(backend: Backend, file: ModelFile, name?: string): PlannerDevice {
  checkArgument('plannerDevice', 'backend', backend, backendRule, badArgument);
  const { costs, decoded } = describeModel(file, backend);
  const { profile, filled } = backend;
  const freeMemory = backend.freeMemory();
  return { backend: name ?? backend.name, profile, freeMemory, costs, decoded, filled };
}

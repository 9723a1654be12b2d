import { type Backend, checkArgument, type DeviceProfile, type Filled } from '@quern/core';
import { describeModel, type ModelCosts, type ModelDescription, type ModelFile } from '@quern/models';

import { badArgument } from '../error.js';
import { backendRule } from '../model/load-options.js';
import type { StepBytes } from './rehearse-steps.js';

/** The planner's facts about a model, independent of the backend. */
export type PlannedModel = Pick<ModelDescription, 'architecture' | 'config'>;

/** A backend, and the model's size on it. */
export interface PlannerDevice {
  /** The backend's name; unique even among instances of one backend. */
  readonly backend: string;
  readonly profile: DeviceProfile;
  /** Bytes free now. */
  readonly freeMemory: number;
  /** Bytes of the weights on this device: as in the file where the device reads their format, else as f32. */
  readonly costs: ModelCosts;
  /** Formats that the device does not read: such weights are decoded. */
  readonly decoded: readonly string[];
  /** Ops missing in the driver, and how core computes them. Absent: none. */
  readonly filled?: Filled;
  /** Bytes of the model's largest steps on the device, from `rehearseSteps`. Absent: the planner estimates. */
  readonly steps?: StepBytes | undefined;
}

/**
 * @param name replaces the backend's name
 * @throws ModelError MISSING_WEIGHT, BAD_WEIGHT_SHAPE, UNKNOWN_FORMAT or BAD_ARGUMENT; RuntimeError BAD_ARGUMENT
 */
export function plannerDevice(backend: Backend, file: ModelFile, name?: string): PlannerDevice {
  checkArgument('plannerDevice', 'backend', backend, backendRule, badArgument);
  const { costs, decoded } = describeModel(file, backend);
  const { profile, filled } = backend;
  const freeMemory = backend.freeMemory();
  return { backend: name ?? backend.name, profile, freeMemory, costs, decoded, filled };
}

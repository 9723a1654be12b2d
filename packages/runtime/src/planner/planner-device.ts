import { type Backend, checkArgument, type DeviceProfile, type Filled } from '@quern/core';
import { describeModel, type ModelDescription, type ModelFile } from '@quern/models';

import { badArgument } from '../error.js';
import { backendRule } from '../model/load-options.js';

/** What the planner must know of a model, whichever backend computes it. */
export type PlannedModel = Pick<ModelDescription, 'architecture' | 'config' | 'activeParameters'>;

/** A backend, and the model as it would lie on it. */
export interface PlannerDevice {
  /** The backend's name. */
  readonly backend: string;
  readonly profile: DeviceProfile;
  /** Bytes free now. */
  readonly freeMemory: number;
  /** Bytes of the model's weights on this device: as in the file where it reads their format, else as f32. */
  readonly weightBytes: number;
  /** Bytes of weights that one decoded token reads. */
  readonly bytesPerToken: number;
  /** Ops that its driver lacks, and how core computes them. Absent: none. */
  readonly filled?: Filled;
}

/** @throws ModelError MISSING_WEIGHT, BAD_WEIGHT_SHAPE or UNKNOWN_FORMAT; BAD_ARGUMENT of it and of RuntimeError */
export function plannerDevice(backend: Backend, file: ModelFile): PlannerDevice {
  checkArgument('plannerDevice', 'backend', backend, backendRule, badArgument);
  const { weightBytes, bytesPerToken } = describeModel(file, backend);
  const { name, profile, filled } = backend;
  return { backend: name, profile, freeMemory: backend.freeMemory(), weightBytes, bytesPerToken, filled };
}

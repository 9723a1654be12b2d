export { adviceFor, nearestName } from './nearest-name.js';
export type { Rule } from './rule.js';
export * as rules from './rule.js';
export {
  type AnySchema,
  checkArgument,
  checkOptions,
  type Defined,
  type Option,
  pickOptions,
  type Refuse,
  type Schema,
  type WithDefaults,
  withDefaults,
} from './schema.js';
export { showValue } from './show-value.js';

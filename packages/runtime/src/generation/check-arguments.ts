import { type OutputUnit, type SchemaDraft, Validator } from '@cfworker/json-schema';
import { rules } from '@quern/core';
import { stringifyJson } from '@quern/grammar';
import { RuntimeError } from '../error.js';
import { isStandard } from '../structured/json-schema.js';
import type { OutputSchema } from '../structured/options.js';

/** What is wrong with a value, and where in it: `city.name: …`. */
type Fault = string;

/** The arguments as `run` gets them, or their faults. */
export type CheckedArguments = { readonly value: unknown } | { readonly faults: readonly Fault[] };

/** Checks the arguments of a tool's calls. */
export type CheckArguments = (args: object) => CheckedArguments | Promise<CheckedArguments>;

/** Most faults in one message. */
const mostFaults = 4;

/**
 * The check of a tool's arguments. It throws where the schema itself is wrong: an unknown `$ref`, a pattern that is none.
 * @param parameters as given by the caller @param jsonSchema the JSON schema of them
 */
export function argumentsCheck(parameters: unknown, jsonSchema: unknown): CheckArguments {
  const standard = parameters as OutputSchema | undefined;
  if (standard !== undefined && isStandard(standard))
    return async (args) => outcomeOf(args, await standard['~standard'].validate(args));
  if (!rules.isObject(jsonSchema)) return (value) => ({ value });
  let validator: Validator | undefined;
  return (value) => {
    validator ??= new Validator(plain(jsonSchema), draftOf(jsonSchema), false);
    const { valid, errors } = validator.validate(value);
    return valid ? { value } : { faults: leaves(errors).map(faultOf) };
  };
}

/** A schema whose numbers are float64, as those of the arguments are. */
const plain = (schema: object): object => JSON.parse(stringifyJson(schema) ?? '{}') as object;

/** @throws RuntimeError BAD_CALL, with the first faults */
export function needArguments(name: string, checked: CheckedArguments): unknown {
  if ('value' in checked) return checked.value;
  const { faults } = checked;
  const more = faults.length > mostFaults ? `; and ${faults.length - mostFaults} more` : '';
  throw new RuntimeError(
    'BAD_CALL',
    `the arguments of '${name}' do not fit its parameters: ${faults.slice(0, mostFaults).join('; ')}${more}`,
  );
}

/** The result of a standard schema. */
function outcomeOf(args: object, result: unknown): CheckedArguments {
  if (!rules.isObject(result)) return { value: args };
  if (!Array.isArray(result.issues)) return { value: result.value };
  const issues: readonly { readonly message: string; readonly path?: readonly unknown[] }[] = result.issues;
  return { faults: issues.map(({ path = [], message }) => placed(path.map(keyOf), message)) };
}

const keyOf = (part: unknown): string => String(rules.isObject(part) ? part.key : part);

const placed = (path: readonly string[], message: string): Fault =>
  path.length > 0 ? `${path.join('.')}: ${message}` : message;

/** Of the validator's faults those that have no closer one: an object is at fault because its field is. */
const leaves = (errors: readonly OutputUnit[]): OutputUnit[] =>
  errors.filter(
    ({ keyword, keywordLocation }) =>
      keyword !== 'additionalProperties' &&
      !errors.some((other) => other.keywordLocation.startsWith(`${keywordLocation}/`)),
  );

function faultOf({ keyword, instanceLocation, error }: OutputUnit): Fault {
  const path = instanceLocation.split('/').slice(1);
  return placed(
    path.map((key) => decodeURIComponent(key).replaceAll('~1', '/').replaceAll('~0', '~')),
    keyword === 'false' ? 'is not allowed' : error.replace(/\.$/, ''),
  );
}

const drafts: readonly (readonly [string, SchemaDraft])[] = [
  ['draft-04', '4'],
  ['draft-06', '7'],
  ['draft-07', '7'],
  ['2019-09', '2019-09'],
];

const draftOf = ({ $schema }: Readonly<Record<string, unknown>>): SchemaDraft =>
  drafts.find(([name]) => String($schema).includes(name))?.[1] ?? '2020-12';

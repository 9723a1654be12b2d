import { RuntimeError } from '../../error.js';
import type { AnswerTool } from './call-output.js';

type Keywords = Readonly<Record<string, unknown>>;

/** An argument of a tool, where a family writes arguments one by one. */
export interface Member {
  readonly name: string;
  readonly schema: Keywords;
  readonly required: boolean;
}

const record = (value: unknown): Keywords =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};

const refuse = ({ name }: AnswerTool, why: string) =>
  new RuntimeError('BAD_GRAMMAR', `tools, '${name}': ${why}`);

/** As in OpenAI's API: a tool without `parameters` has no arguments. */
const noParameters: Keywords = { type: 'object', additionalProperties: false };

/**
 * The schema of a tool's arguments, which are an object.
 * @throws RuntimeError BAD_GRAMMAR for a schema of something else
 */
export function objectSchema(tool: AnswerTool): Keywords {
  const schema = record(tool.parameters ?? noParameters);
  const { type = 'object' } = schema;
  const types: readonly unknown[] = Array.isArray(type) ? type : [type];
  if (!types.includes('object'))
    throw refuse(tool, `arguments are an object, but the type of their schema is ${JSON.stringify(type)}`);
  return { ...schema, type: 'object' };
}

/** Keywords that say something of an object as a whole. */
const ofTheWhole =
  'allOf anyOf oneOf not if const enum minProperties maxProperties patternProperties propertyNames dependentRequired dependentSchemas dependencies $ref $dynamicRef'.split(
    ' ',
  );

/**
 * The arguments of a tool one by one, in the order of their schema.
 * @throws RuntimeError BAD_GRAMMAR for schemas that say more than that of their members
 */
export function membersOf(tool: AnswerTool): Member[] {
  const schema = withoutReference(tool, objectSchema(tool));
  const whole = ofTheWhole.find((key) => key in schema);
  if (whole !== undefined)
    throw refuse(
      tool,
      `this family of calls writes arguments one by one, so ${whole} of the whole cannot be enforced; say it of properties`,
    );
  const { properties, required, additionalProperties = true, $defs, definitions } = schema;
  const needed = (Array.isArray(required) ? required : []).map(String);
  const own = record(properties);
  const others = needed.filter((name) => !Object.hasOwn(own, name));
  const named: Keywords = {
    ...own,
    ...Object.fromEntries(others.map((name) => [name, additionalProperties])),
  };
  const shared = { ...($defs !== undefined && { $defs }), ...(definitions !== undefined && { definitions }) };
  const impossible = needed.find((name) => named[name] === false);
  if (impossible !== undefined) throw refuse(tool, `'${impossible}' is required, but not allowed`);
  return Object.entries(named)
    .filter(([, each]) => each !== false)
    .map(([name, each]) => ({
      name,
      schema: { ...record(each), ...shared },
      required: needed.includes(name),
    }));
}

/** A schema whose whole is a reference to one of its own definitions, as generators of recursive schemas write. */
function withoutReference(tool: AnswerTool, schema: Keywords): Keywords {
  const { $ref, ...others } = schema;
  const [, where = '', name = ''] = /^#\/(\$defs|definitions)\/([^/~%]+)$/.exec(String($ref)) ?? [];
  const target = record(schema[where])[name];
  return target === undefined
    ? schema
    : objectSchema({ ...tool, parameters: { ...record(target), ...others } });
}

/** @throws RuntimeError BAD_GRAMMAR for names that a family cannot write */
export function needNames(tool: AnswerTool, names: readonly string[], pattern: RegExp, family: string): void {
  const odd = names.find((name) => !pattern.test(name));
  if (odd !== undefined)
    throw refuse(tool, `calls of the family ${family} cannot have the name ${JSON.stringify(odd)}`);
}

import { JsonNumber } from '@quern/runtime';

/** Fields whose objects are shown to the model or to the client again: their numbers keep all digits. */
const shown: ReadonlySet<string> = new Set([
  'parameters',
  'input_schema',
  'schema',
  'json_schema',
  'guided_json',
  'json',
  'chat_template_kwargs',
  'arguments', // Ollama's, as objects
  'format', // Ollama's: a schema
]);

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof JsonNumber);

const keeps = (name: string, value: unknown, { type }: Readonly<Record<string, unknown>>): boolean =>
  isObject(value) && (shown.has(name) || (name === 'input' && type === 'tool_use'));

/** A body of `parseJson` with JavaScript's numbers in every other field. */
export function withPlainNumbers(value: unknown): unknown {
  if (typeof value === 'bigint' || value instanceof JsonNumber) return Number(value);
  if (Array.isArray(value)) {
    const items = value.map(withPlainNumbers);
    return items.some((item, i) => item !== value[i]) ? items : value;
  }
  if (!isObject(value)) return value;
  const entries = Object.entries(value);
  const plain = entries.map(([name, each]) => (keeps(name, each, value) ? each : withPlainNumbers(each)));
  const isSame = entries.every(([, each], i) => each === plain[i]);
  return isSame ? value : Object.fromEntries(entries.map(([name], i) => [name, plain[i]]));
}

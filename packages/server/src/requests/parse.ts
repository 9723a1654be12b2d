import { parseJson } from '@quern/runtime';
import type * as z from 'zod';
import type { Call } from '../context.js';
import { ApiError, badField } from '../errors.js';
import { faultWords } from './fault-words.js';
import { isJson } from './json-type.js';
import { withPlainNumbers } from './plain-numbers.js';

/** Deepest nesting of a JSON body. */
const mostDepth = 64;

/**
 * Whether a browser sent the request. A page of another origin can send any text without asking first, but only with
 * these types: without one, as plain text, or as a form. With JSON's type its browser asks the server first (see
 * `cors`).
 */
function isOfBrowser({ headers }: Request): boolean {
  return (
    ['origin', 'referer', 'sec-fetch-site', 'cookie'].some((name) => headers.has(name)) ||
    /^mozilla\//i.test(headers.get('user-agent') ?? '')
  );
}

/** What programs say of any text: nothing, the form type as `curl -d` does, or plain text as `fetch` does. */
const anyText = /^((application\/x-www-form-urlencoded|text\/plain)\s*(;.*)?)?$/is;

/** @throws ApiError 415 */
function needJsonType(request: Request): void {
  if (isJson(request)) return;
  const type = request.headers.get('content-type');
  const told = type === null ? 'a body without a content-type' : `a body of the type ${type}`;
  if (!anyText.test(type ?? ''))
    throw new ApiError(415, `${told}: send JSON, as application/json`, null, 'bad_media_type');
  if (isOfBrowser(request))
    throw new ApiError(415, `a browser sent ${told}: send application/json`, null, 'bad_media_type');
}

/** The JSON object of a request's body. @throws ApiError 400, 413, 415 */
export async function readJson(request: Request): Promise<unknown> {
  needJsonType(request);
  const text = await request.text();
  try {
    const value = parseJson(text);
    if (depthOf(value) > mostDepth)
      throw badField('', `the body is nested deeper than ${mostDepth} levels`, 'too_deep');
    return withPlainNumbers(value);
  } catch (error) {
    if (error instanceof ApiError) throw error;
    throw badField('', `the body is not JSON: ${(error as Error).message}`, 'invalid_json');
  }
}

/** Levels of nesting, without recursion; stops beyond `mostDepth`. */
function depthOf(value: unknown): number {
  let level: unknown[] = [value];
  let depth = 0;
  while (level.length > 0 && depth <= mostDepth) {
    level = level.flatMap((each) => (typeof each === 'object' && each !== null ? Object.values(each) : []));
    depth++;
  }
  return depth;
}

/**
 * A request's body, checked. The error names the first wrong field. Fields that the schema lacks are left out and
 * counted, or refused (`HandlerOptions.strict`).
 * @throws ApiError 400
 */
export function parse<Output>(schema: z.ZodType<Output>, body: unknown, call: FieldRules): Output {
  const result = schema.safeParse(body, { error: faultWords });
  if (result.success) return result.data;
  const { issues } = result.error;
  const unknown = unknownFields(issues);
  if (call.strict || unknown.length === 0) throw toError(issues[0]!);
  const known = schema.safeParse(without(body, unknown), { error: faultWords });
  if (!known.success) throw toError(known.error.issues[0]!);
  call.ignore([...new Set(unknown.map(nameOf))]);
  return known.data;
}

/** What a call does with fields that no route reads. */
export type FieldRules = Pick<Call, 'strict' | 'ignore'>;

type Path = readonly PropertyKey[];

/** Paths of fields that the schema lacks. Of a union: those of an alternative that fits but for them. */
const unknownFields = (issues: readonly z.core.$ZodIssue[], at: Path = []): readonly Path[] =>
  issues.flatMap((issue) => {
    const path = [...at, ...issue.path];
    if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => [...path, key]);
    if (issue.code !== 'invalid_union') return [];
    const fitting = issue.errors.find((each) => each.every(isOfUnknownFields));
    return fitting ? unknownFields(fitting, path) : [];
  });

const isOfUnknownFields = (issue: z.core.$ZodIssue): boolean =>
  issue.code === 'unrecognized_keys' ||
  (issue.code === 'invalid_union' &&
    issue.errors.some((each) => each.length > 0 && each.every(isOfUnknownFields)));

/** The value without some of its fields; what has none of them is the same object. */
function without(value: unknown, fields: readonly Path[]): unknown {
  if (fields.length === 0 || typeof value !== 'object' || value === null) return value;
  const within = new Map<PropertyKey, Path[] | 'all'>();
  for (const [key, ...rest] of fields) {
    const found = within.get(key!);
    if (rest.length === 0) within.set(key!, 'all');
    else if (!found) within.set(key!, [rest]);
    else if (found !== 'all') found.push(rest);
  }
  const inner = (key: PropertyKey, each: unknown) => {
    const paths = within.get(key);
    return paths === 'all' ? undefined : without(each, paths ?? []);
  };
  if (Array.isArray(value)) return value.map((each, index) => inner(index, each));
  const kept = Object.entries(value).filter(([key]) => within.get(key) !== 'all');
  return Object.fromEntries(kept.map(([key, each]) => [key, inner(key, each)]));
}

/** As in `messages.*.name`. */
const nameOf = (path: Path): string =>
  path.map((key) => (typeof key === 'number' ? '*' : String(key))).join('.');

function toError(issue: z.core.$ZodIssue): ApiError {
  const path = issue.path.map(String).join('.');
  if (issue.code === 'unrecognized_keys') {
    const name = [...issue.path.map(String), issue.keys[0]!].join('.');
    return badField(name, `unknown parameter: '${name}'`, 'unknown_parameter');
  }
  const { at, message } = deepest(issue);
  return badField(path, at === '' ? wholeBody(message) : `${at}: ${message}`, 'invalid_value');
}

const wholeBody = (message: string): string =>
  message.startsWith('must ') ? `the body ${message}` : message;

/** The place and the words of a fault; of a union, those of the alternative that fits best: whose fault lies deepest. */
function deepest(issue: z.core.$ZodIssue): Fault {
  const all = issue.code === 'invalid_union' ? issue.errors.flat() : [];
  const best = all.reduce<z.core.$ZodIssue | undefined>(
    (found, each) => (each.path.length > (found?.path.length ?? 0) ? each : found),
    undefined,
  );
  const path = [...issue.path, ...(best?.path ?? [])];
  return { at: path.map(String).join('.'), message: (best ?? issue).message };
}

interface Fault {
  /** As in `messages.0.name`; '': the whole body. */
  readonly at: string;
  readonly message: string;
}

import { parseJson } from '@quern/runtime';
import type { z } from 'zod';
import { ApiError, badField } from '../errors.js';
import { withPlainNumbers } from './plain-numbers.js';

/** Deepest nesting of a JSON body. */
const mostDepth = 64;

/**
 * Whether a browser sent the request. A page of another origin can send any text without asking first, but only with
 * these types: without one, or as a form. With JSON's type its browser asks the server first (see `cors`).
 */
function isOfBrowser({ headers }: Request): boolean {
  return (
    ['origin', 'referer', 'sec-fetch-site', 'cookie'].some((name) => headers.has(name)) ||
    /^mozilla\//i.test(headers.get('user-agent') ?? '')
  );
}

const jsonType = /^[^;,]*[/+]json\s*(;|$)/i;
const formType = /^application\/x-www-form-urlencoded\s*(;|$)/i; // what `curl -d` says of any text

/** @throws ApiError 415 */
function needJsonType(request: Request): void {
  const type = request.headers.get('content-type');
  if (type !== null && jsonType.test(type)) return;
  const told = type === null ? 'a body without a content-type' : `a body of the type ${type}`;
  if (type !== null && !formType.test(type))
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

/** A request's body, checked. The error names the first wrong field. @throws ApiError 400 */
export function parse<Output>(schema: z.ZodType<Output>, body: unknown): Output {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw toError(issue!);
}

function toError(issue: z.core.$ZodIssue): ApiError {
  const path = issue.path.map(String).join('.');
  if (issue.code === 'unrecognized_keys') {
    const name = [...issue.path.map(String), issue.keys[0]!].join('.');
    return badField(name, `unknown parameter: '${name}'`, 'unknown_parameter');
  }
  const message = issue.code === 'invalid_union' ? unionMessage(issue) : issue.message;
  return badField(path, path === '' ? message : `${path}: ${message}`, 'invalid_value');
}

/** The message of the alternative that fits best: the one whose fault lies deepest. */
function unionMessage(issue: z.core.$ZodIssueInvalidUnion): string {
  const all = issue.errors.flat();
  const deepest = all.reduce<(typeof all)[number] | undefined>(
    (best, each) => (!best || each.path.length > best.path.length ? each : best),
    undefined,
  );
  if (!deepest || deepest.path.length === 0) return issue.message;
  return `${deepest.path.join('.')}: ${deepest.message}`;
}

import { randomUUID } from 'node:crypto';
import { stringifyJson } from '@quern/runtime';
import type { Context, Hono } from 'hono';
import { ownerOf } from '../access.js';
import type { ServerContext } from '../context.js';
import { ApiError, badField } from '../errors.js';
import { type Item, idOfItem, shownItem } from '../requests/response-items.js';
import type { StoredAnswer } from '../stored-answers.js';
import { asInput, type endedResponse } from './response-object.js';

/** An answer with its conversation; items without an id get one. */
export const storedAnswer = (
  response: ReturnType<typeof endedResponse>,
  input: readonly Item[],
): StoredAnswer => ({ response, input: input.map(withId), output: response.output.map(asInput) });

const prefixes: Readonly<Record<string, string>> = {
  message: 'msg',
  reasoning: 'rs',
  function_call: 'fc',
  custom_tool_call: 'ctc',
  function_call_output: 'fco',
  custom_tool_call_output: 'ctco',
};

function withId(item: Item): Item {
  if (typeof idOfItem(item) === 'string') return item;
  const id = `${prefixes[item.type] ?? 'item'}_${randomUUID()}`;
  return item.type === 'other' ? { ...item, raw: { ...item.raw, id } } : { ...item, id };
}

/** @throws ApiError 404 */
export function noAnswer(id: string): never {
  throw new ApiError(
    404,
    `previous response with id '${id}' not found: ${lasting}`,
    'previous_response_id',
    'previous_response_not_found',
  );
}

/** @throws ApiError 404 */
export function noItem(id: string, index: number): never {
  throw new ApiError(
    404,
    `item with id '${id}' not found: ${lasting}`,
    `input.${index}.id`,
    'item_not_found',
  );
}

const lasting =
  'this server keeps the last answers of each key until it ends, but those with store: false; send the whole conversation as input';

/** The routes of stored answers. */
export function addStoredResponses(app: Hono, { answers }: ServerContext): void {
  const found = (c: Context): StoredAnswer => {
    const id = c.req.param('id') ?? '';
    const answer = answers.find(ownerOf(c.req.raw.headers), id);
    if (!answer)
      throw new ApiError(404, `response with id '${id}' not found: ${lasting}`, null, 'response_not_found');
    return answer;
  };
  app.get('/v1/responses/:id', (c) => {
    const { response } = found(c);
    if (c.req.query('stream') === 'true')
      throw badField('stream', 'a stored response is not streamed again: leave stream out');
    return json(response);
  });
  app.delete('/v1/responses/:id', (c) => {
    const { id } = found(c).response;
    answers.delete(ownerOf(c.req.raw.headers), id);
    return Response.json({ id, object: 'response', deleted: true });
  });
  app.get('/v1/responses/:id/input_items', (c) => json(listOf(found(c).input, c.req.query())));
  app.post('/v1/responses/:id/cancel', (c) => {
    found(c);
    throw badField(
      '',
      'only background responses can be cancelled, and this server has none',
      'not_cancellable',
    );
  });
}

const json = (value: unknown): Response =>
  new Response(stringifyJson(value), { headers: { 'content-type': 'application/json' } });

const maxListed = 100;

/** A page of items, the newest first unless `order` says `asc`. @throws ApiError 400 */
function listOf(items: readonly Item[], { order = 'desc', after, limit = '20' }: Record<string, string>) {
  const most = Number(limit);
  if (!Number.isInteger(most) || most < 1 || most > maxListed)
    throw badField('limit', `limit is ${limit}; it must be a whole number from 1 to ${maxListed}`);
  if (order !== 'asc' && order !== 'desc')
    throw badField('order', `order is ${order}; it must be asc or desc`);
  const ordered = order === 'asc' ? items : [...items].reverse();
  const begin = after === undefined ? 0 : ordered.findIndex((item) => idOfItem(item) === after) + 1;
  if (after !== undefined && begin === 0)
    throw badField('after', `after is ${after}, which is no id of an item`);
  const data = ordered.slice(begin, begin + most);
  return {
    object: 'list',
    data: data.map(shownItem),
    first_id: data[0] ? idOfItem(data[0]) : null,
    last_id: data.length > 0 ? idOfItem(data.at(-1)!) : null,
    has_more: begin + most < ordered.length,
  };
}

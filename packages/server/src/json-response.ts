import { stringifyJson } from '@quern/runtime';

/** `Response.json`, with all digits of numbers that the request or the model wrote. */
export const jsonResponse = (body: object): Response =>
  new Response(stringifyJson(body), { headers: { 'content-type': 'application/json' } });

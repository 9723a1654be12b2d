import { createHash, timingSafeEqual } from 'node:crypto';
import { ApiError } from './errors.js';

const digest = (key: string): Buffer => createHash('sha256').update(key).digest();

/** The key that a request gives: `Authorization: Bearer KEY`, or Anthropic's `x-api-key`. */
const givenKey = (headers: Headers): string | null =>
  /^Bearer (.+)$/i.exec(headers.get('authorization') ?? '')?.[1] ?? headers.get('x-api-key');

/** Whose answers a request may refer to: those of the same key. */
export const ownerOf = (headers: Headers): string => digest(givenKey(headers) ?? '').toString('base64');

/** Checks the key of a request. */
export class Access {
  private readonly keys: readonly Buffer[];

  constructor(keys: readonly string[] = []) {
    this.keys = keys.map(digest);
  }

  /** Takes the same time for every wrong key. @throws ApiError 401 */
  need(headers: Headers): void {
    if (this.keys.length === 0) return;
    const given = givenKey(headers);
    if (!given) throw new ApiError(401, 'send a key: "Authorization: Bearer KEY"', null, 'missing_api_key');
    const own = digest(given);
    const fits = this.keys.map((key) => timingSafeEqual(key, own));
    if (!fits.includes(true)) throw new ApiError(401, 'the key is wrong', null, 'invalid_api_key');
  }
}

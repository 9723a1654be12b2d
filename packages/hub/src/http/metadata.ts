import type { Followed } from './client.js';

/** What the headers of a file say of its content. */
export interface Metadata {
  readonly hash: string | undefined;
  readonly size: number | undefined;
}

/** The name of a blob in the cache: hexadecimal, or the ETag of a mirror. It becomes a file's name. */
const isTag = (text: string): boolean => /^[\w-][\w.-]{0,127}$/.test(text);

const bare = (tag: string): string => tag.replace(/^W\//, '').replace(/^"(.*)"$/, '$1');

const first = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value[0] : value;

/**
 * The Hub names content and size of a file in `x-linked-etag` and `x-linked-size` beside a redirect to its storage, or in
 * `etag` and `content-length` if it sends the file itself. The storage's own ETag names nothing.
 */
export function metadataOf({ hops }: Followed): Metadata {
  const linked = hops.find((headers) => headers['x-linked-etag'] !== undefined);
  const headers = linked ?? (hops.length === 1 ? hops[0]! : {});
  const tag = bare(first(headers['x-linked-etag'] ?? headers.etag) ?? '');
  const size = first(headers['x-linked-size']) ?? (linked ? undefined : wholeSize(headers));
  return {
    hash: isTag(tag) ? tag : undefined,
    size: size !== undefined && /^\d+$/.test(size) ? Number(size) : undefined,
  };
}

/** The size of the whole file: of `content-range` where the answer is a range. */
function wholeSize(headers: Followed['headers']): string | undefined {
  const range = headers['content-range'];
  return range === undefined ? headers['content-length'] : /\/(\d+)$/.exec(range)?.[1];
}

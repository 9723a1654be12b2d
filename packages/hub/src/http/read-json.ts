import { aborted, HubError } from '../error.js';
import { brokenConnection, type Subject, shownUrl } from './faults.js';
import type { Answer } from './transport.js';

/** Listings of repositories with 10,000 files have 3 MB. */
const maxBytes = 64 * 2 ** 20;

/** The JSON of a body. @throws Passing where the connection breaks; HubError BAD_ANSWER, ABORTED */
export async function readJson(
  { url, body }: Answer,
  subject: Subject,
  signal: AbortSignal | undefined,
): Promise<unknown> {
  const text = await readText(body, url).catch((error: unknown) => {
    if (signal?.aborted) throw aborted(signal);
    throw error instanceof HubError ? error : brokenConnection(subject, url, error);
  });
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new HubError(
      'BAD_ANSWER',
      `${shownUrl(url)} answers with no JSON: check HF_ENDPOINT (${subject.endpoint})`,
      { cause },
    );
  }
}

async function readText(body: Answer['body'], url: URL): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes)
      throw new HubError('BAD_ANSWER', `${shownUrl(url)} answers with more than ${maxBytes} bytes of JSON`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

import { once } from 'node:events';
import { connect } from 'node:net';

export interface RawAnswer {
  readonly status: number;
  readonly headers: string;
  readonly body: string;
}

/** Sends exactly these lines over a socket; the server closes it. */
export async function raw(
  port: number,
  lines: readonly string[],
  body = '',
  host = '127.0.0.1',
): Promise<RawAnswer> {
  const socket = connect({ port, host });
  let answer = '';
  socket.setEncoding('utf8').on('data', (data) => {
    answer += data;
  });
  socket.write([...lines, 'connection: close', '', body].join('\r\n'));
  await once(socket, 'close');
  const end = answer.indexOf('\r\n\r\n');
  const status = Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]);
  return { status, headers: answer.slice(0, end).toLowerCase(), body: answer.slice(end + 4) };
}

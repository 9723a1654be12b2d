// The scanner `npx compatcanary` against a running server: it asks what OpenAI's clients ask, streamed and not.
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { loadDemo, serving } from './serving.js';

const scanner = join(createRequire(import.meta.url).resolve('compatcanary'), '../cli.js');

interface Report {
  readonly score: number;
  readonly summary: { readonly passes: number };
  readonly results: readonly { readonly id: string; readonly status: string; readonly summary: string }[];
}

/** What the scanner reports of a server. Its own timeout, 30 s, is short for a busy machine. */
async function scan(url: string): Promise<Report> {
  const asked = ['--base-url', `${url}/v1`, '--model', 'demo', '--timeout', '600'];
  const flags = [...asked, '--format', 'json', '--fail-on', 'never'];
  const child = spawn(process.execPath, [scanner, 'scan', ...flags], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return JSON.parse(await text(child.stdout));
}

test('compatcanary finds nothing that fails', async () => {
  const model = await loadDemo(4, { chatTemplate: 'chatml', context: 2048 });
  const server = await serving(model);
  try {
    const report = await scan(server.url);
    const failed = report.results.filter(({ status }) => status !== 'pass');
    expect(failed).toEqual([]);
    expect(report).toMatchObject({ score: 100, summary: { passes: 7 } });
  } finally {
    await server.close();
    model.dispose();
  }
}, 600_000);

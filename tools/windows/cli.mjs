// The command line in node.exe: a story, and a server that answers a request. Both must give the text that Node gives here.
import { copyFileSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../setup.mjs';
import { askServer } from './server.mjs';
import { cache, environment, fetchNode, inWine, run, windows, wine } from './wine.mjs';

export const app = join(cache, 'app');
const cli = join(app, 'dist/cli.js');
const prompt = 'Once upon a time';
const greedy = ['--raw', '--max-tokens', '40', '--temperature', '0'];
const local = join(root, 'packages/backend-cpu/build/Release/backend_cpu.node');

/** Quern's command line with all packages as files: wine does not follow the links of node_modules. */
export function installCli() {
  rmSync(app, { recursive: true, force: true });
  const flat = ['--prod', '--legacy', '--config.node-linker=hoisted'];
  run('npx', ['--yes', 'pnpm@12.21.0', '--dir', root, '--filter', 'quern', 'deploy', ...flat, app]);
}

/** A copy of the demo model behind a path beyond ASCII, longer than the 260 characters of old programs. */
export function farModel() {
  const folder = join(cache, 'größe-量', 'l'.repeat(200), 'm'.repeat(90));
  const file = join(folder, 'demo.gguf');
  mkdirSync(folder, { recursive: true });
  copyFileSync(join(root, 'packages/demo-model/model/quern-demo.gguf'), file);
  return inWine(file);
}

/** The text of an answer, without the line of figures. */
const textOf = (output) => output.replace(/\n\d+ tokens on cpu: .*/s, '');

export function tellStory(addon, model = 'demo') {
  const here = textOf(run('node', [cli, 'run', 'demo', prompt, ...greedy], { QUERN_CPU_BINARY: local }));
  const args = [inWine(cli), 'run', model, prompt, ...greedy];
  const there = textOf(windows(fetchNode(), args, { QUERN_CPU_BINARY: inWine(addon) }));
  return { same: there === here && here.length > prompt.length, text: there };
}

/** The text that `quern serve demo` completes the prompt with. */
export async function completion(addon) {
  const env = { ...environment, QUERN_CPU_BINARY: inWine(addon) };
  const body = { model: 'demo', prompt, max_tokens: 40, temperature: 0 };
  const { status, text } = await askServer([wine, fetchNode(), inWine(cli)], env, body);
  return { status, text: `${prompt}${text}` };
}

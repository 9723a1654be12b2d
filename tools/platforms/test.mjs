// Inspects and runs the addons of a platform: `node tools/platforms.mjs --test`.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { inspectBinary } from '../../packages/native-runtime/dist/index.js';
import { root } from '../setup.mjs';
import * as check from './check.mjs';
import { faultOfFacts, needs } from './faults.mjs';
import { host } from './host.mjs';
import { addonFile } from './platforms.mjs';
import { keepResult } from './results.mjs';

/** Bytes, and the system that an addon needs. Throws where its headers are not those of the platform. */
function inspected(name, platform) {
  const path = join(root, 'packages', name, 'npm', platform, addonFile(name));
  if (!existsSync(path)) return undefined;
  const facts = inspectBinary(path);
  const fault = faultOfFacts(facts, platform);
  if (fault) throw new Error(`${path}: ${fault}`);
  return { bytes: facts.bytes, needs: needs(facts) };
}

/** Short checks first. */
const checks = {
  'backend-cpu': {
    story: check.demoStory,
    serve: check.served,
    kit: check.conformance,
    native: check.nativeTests,
  },
  quant: { searches: check.quantSearches },
  'backend-cuda': { refusal: check.refusal },
  'backend-metal': {}, // .github/workflows/mac.yml
};

/** Checks that need no runtime for modules. */
const withoutRuntime = ['native'];

/** The result of a check; a failure is one, too. */
async function resultOf(act, machine, platform) {
  try {
    return await act(machine, platform);
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
    return { failed: error.message.split('\n')[0].replaceAll(root, '') };
  }
}

/** [name, check] of an addon that can run on a machine. */
const possible = (name, machine) =>
  Object.entries(checks[name]).filter(([what]) => machine.runtime || withoutRuntime.includes(what));

/** Inspects the staged addon of a package, runs it where this machine can, and keeps each result as it comes. */
export async function test(name, platform) {
  const addon = inspected(name, platform);
  if (!addon) return console.log(`${name}-${platform}: not built`);
  const machine = host(platform);
  const can = typeof machine === 'string' ? [] : possible(name, machine);
  const none = typeof machine === 'string' ? machine : 'not run: no JavaScript runtime of this platform here';
  const result = { ...addon, how: can.length > 0 ? machine.how : none };
  keepResult(name, platform, result);
  for (const [what, act] of can) {
    result[what] = await resultOf(act, machine, platform);
    console.log(`${name}-${platform} ${what}: ${JSON.stringify(result[what])}`);
    keepResult(name, platform, result);
  }
}

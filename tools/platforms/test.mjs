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

const checks = {
  'backend-cpu': {
    native: check.nativeTests,
    kit: check.conformance,
    story: check.demoStory,
    serve: check.served,
  },
  quant: { searches: check.quantSearches },
};

/** Checks without a runtime for modules. */
const withoutRuntime = ['native'];

/** Runs the checks of an addon, one after another; a failure is a result. */
async function run(name, platform, machine) {
  const results = {};
  for (const [what, act] of Object.entries(checks[name])) {
    if (!machine.runtime && !withoutRuntime.includes(what)) continue;
    try {
      results[what] = await act(machine, platform);
    } catch (error) {
      results[what] = { failed: error.message.split('\n')[0].replaceAll(root, '') };
      console.error(error.message);
      process.exitCode = 1;
    }
    console.log(`${name}-${platform} ${what}: ${JSON.stringify(results[what])}`);
  }
  return results;
}

/** Inspects the staged addon of a package, runs it where this machine can, and keeps what came out. */
export async function test(name, platform) {
  const addon = inspected(name, platform);
  if (!addon) return console.log(`${name}-${platform}: not built`);
  const machine = host(platform);
  const how = typeof machine === 'string' ? machine : machine.how;
  const ran = typeof machine === 'string' ? {} : await run(name, platform, machine);
  keepResult(name, platform, { ...addon, how, ...ran });
}

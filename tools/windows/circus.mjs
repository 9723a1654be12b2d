// Runs the tests of one file, bundled behind this one by bundle.mjs: jest-circus alone, for Jest itself does not run under wine. Prints
// each failure, then one line of counts; exits with 1 if a test failed or none ran.
import { jestExpect as expect } from '@jest/expect';
import * as circus from 'jest-circus';

const { afterAll, afterEach, beforeAll, beforeEach, describe, it, test } = circus;
Object.assign(globalThis, { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, test });
globalThis.setNativeEnvironment = (name, value) => {
  if (value === undefined) delete process.env[name];
  else process.env[name] = value;
};
globalThis[Symbol.for('TEST_TIMEOUT_SYMBOL')] = 600_000; // ms; wine is slow

circus.resetState();
console.warn = (...texts) => console.log(`note: ${texts.join(' ')}`);

const verbose = process.env.QUERN_VERBOSE !== undefined;
if (verbose)
  circus.addEventHandler((event) => {
    if (event.name === 'test_start') process.stderr.write(`${event.test.name}\n`);
  });

/** Imports the file with the tests, runs them, and reports. */
export async function runTests(name, load) {
  await load();
  const { testResults, unhandledErrors } = await circus.run();
  const of = (status) => testResults.filter((each) => each.status === status).length;
  for (const { testPath, errors } of testResults)
    if (errors.length > 0) console.log(`FAIL ${testPath.slice(1).join(' › ')}\n${errors.join('\n')}`);
  for (const error of unhandledErrors) console.log(`FAIL ${name}: ${error}`);
  const failed = testResults.filter(({ errors }) => errors.length > 0).length + unhandledErrors.length;
  const passed = testResults.length - failed - of('skip') - of('todo');
  const ok = failed === 0 && passed > 0;
  console.log(`${ok ? 'PASS' : 'FAIL'} ${name}: ${passed} passed, ${failed} failed, ${of('skip')} skipped`);
  process.exit(ok ? 0 : 1);
}
